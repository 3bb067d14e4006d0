/**
 * @file record.h
 * A run recorded: a command under `nsys profile`, and the manifest that tells what it was. Or a
 * trace that exists already, given the manifest that it lacks.
 *
 * The run directory is there before nsys starts, for nsys writes elsewhere when it is missing. The
 * command's standard streams are the caller's own; what nsys prints is logged.
 */
#ifndef NVTXA_RECORD_H
#define NVTXA_RECORD_H

#include <nvtxa/base.h>
#include <nvtxa/manifest.h>

NVTXA_BEGIN_DECLS

/** A run to be recorded. Not shared. */
typedef struct nvtxa_record nvtxa_record;

/** The variable with the file to which the command may write facts for the manifest, as YAML. */
#define NVTXA_MANIFEST_EXTRA "NVTXA_MANIFEST_EXTRA"

/** How to record. Start from NVTXA_RECORD_OPTIONS_INIT; zero or NULL means the default. */
typedef struct nvtxa_record_options {
  size_t size; /**< sizeof(nvtxa_record_options) */
  /** The name of the NVTX range around what is measured, without its domain; nsys captures from its
   * push to its pop. Default "profile-target". */
  const char *capture_range;
  /** What nsys traces: the value of its option --trace. Default "cuda,nvtx". */
  const char *trace;
  /** The nsys program: a path if it holds a slash, else looked up on the PATH of `environment`.
   * Default "nsys". */
  const char *nsys;
  /** Further arguments of `nsys profile`, NULL-terminated. An option given here takes the place of
   * the one that would be given otherwise; with -c or --capture-range, all that is about the
   * capture range is left to these. */
  const char *const *nsys_arguments;
  /** The environment of nsys and the command, NULL-terminated, as in environ(7).
   * Default: PATH=/usr/local/bin:/usr/bin:/bin alone. */
  char *const *environment;
  /** Replace a run that is recorded there. Default: refuse. */
  bool force;
  const nvtxa_hooks *hooks; /**< log, progress, cancel; borrowed until the record is freed */
} nvtxa_record_options;

/** The defaults. */
#define NVTXA_RECORD_OPTIONS_INIT \
  { sizeof(nvtxa_record_options), NULL, NULL, NULL, NULL, NULL, false, NULL }

/** What became of a recording. */
typedef struct nvtxa_record_result {
  size_t size;      /**< sizeof(nvtxa_record_result) */
  bool ran;         /**< nsys ran the command, to the end of both */
  int exit_status;  /**< of nsys, which is the command's: 128 + N where signal N ended that */
  bool interrupted; /**< the cancel flag was set meanwhile */
} nvtxa_record_result;

/** A result with all members zero. */
#define NVTXA_RECORD_RESULT_INIT \
  { sizeof(nvtxa_record_result), false, 0, false }

/**
 * Plan to record a run. Nothing is made or started yet.
 *
 * @param run_dir     the run directory
 * @param command     the command and its arguments, NULL-terminated; NULL: none, for
 *                    nvtxa_record_adopt()
 * @param options     NULL for the defaults; its strings are copied, but for `environment`, which is
 *                    borrowed until the record is freed
 * @param ret_record  gets the record; the caller frees it with nvtxa_record_free()
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_RECORD_ARGUMENT (a capture range, nsys argument or path that cannot
 *         be given to nsys), NVTXA_ERROR_IO, NVTXA_ERROR_INVALID_ARGUMENT,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_record_new(const char *run_dir, const char *const *command,
                                        const nvtxa_record_options *options,
                                        nvtxa_record **ret_record, nvtxa_error **reterr);

/**
 * The manifest as far as it is known: what is set in it before the run stands, whatever the command
 * says in its own file. `capture_range`, `command_line` and `expected_trace_path` are set already;
 * nvtxa_record_run() adds `nsys_version`, `exit_status` where that is not 0, and, where nothing is
 * said about them, `target` and `git_commit` (of the current directory, with `git_dirty`).
 * Borrowed from the record. Safe on distinct objects. Since 0.1.
 */
NVTXA_API nvtxa_manifest_draft *nvtxa_record_manifest(nvtxa_record *record);

/**
 * The arguments that nsys will get, its name first, NULL-terminated; NULL where there is no
 * command. Borrowed from the record. Safe on distinct objects. Since 0.1.
 */
NVTXA_API const char *const *nvtxa_record_arguments(const nvtxa_record *record);

/**
 * The same as one would type it: a POSIX shell makes the same arguments of it. Control characters
 * but for line breaks are spelled with printf. Borrowed from the record. No text where there is no
 * command. Safe on distinct objects. Since 0.1.
 */
NVTXA_API nvtxa_text nvtxa_record_command_line(const nvtxa_record *record);

/**
 * Record: make the run directory, run nsys with the command, write manifest.yaml beside the trace.
 *
 * The command's exit status is no error of this call. Where nsys leaves no trace, there is an
 * error, whatever the exit status was; the run directory is then removed if it was made here and is
 * empty. A run that was recorded there before (`force`) is only removed once the new one is
 * complete.
 *
 * When the cancel flag is set, nsys gets SIGINT once, ends the command and writes the trace of what
 * it saw, which is waited for; while it writes a trace anyhow it is left alone. A flag of 3 or more
 * ends it at once, without a trace.
 *
 * @param record      the record; it is used up, whatever comes of it, and can only be freed
 * @param ret_result  gets what became of it, also on failure; `size` must be set. NULL is allowed
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_RUN_EXISTS, NVTXA_ERROR_COMMAND_NOT_FOUND,
 *         NVTXA_ERROR_NSYS_NOT_FOUND, NVTXA_ERROR_NSYS_FAILED, NVTXA_ERROR_TRACE_MISSING,
 *         NVTXA_ERROR_MANIFEST_SYNTAX, NVTXA_ERROR_MANIFEST_VALUE or NVTXA_ERROR_LIMIT (the
 *         command's own facts; all else is there), NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO,
 *         NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Safe on distinct objects; one at a time in a run directory. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_record_run(nvtxa_record *record, nvtxa_record_result *ret_result,
                                        nvtxa_error **reterr);

/**
 * Make a run directory for a trace that exists already: a copy of it as trace.nsys-rep, unless it
 * lies there under that name, and manifest.yaml.
 *
 * @param record      the record; it is used up, whatever comes of it, and can only be freed
 * @param trace_path  the trace
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_RUN_EXISTS, NVTXA_ERROR_TRACE_MISSING, NVTXA_ERROR_MANIFEST_VALUE,
 *         NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO, NVTXA_ERROR_INVALID_ARGUMENT,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Safe on distinct objects; one at a time in a run directory. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_record_adopt(nvtxa_record *record, const char *trace_path,
                                          nvtxa_error **reterr);

/** Free a record. NULL is allowed. Safe on distinct objects. Since 0.1. */
NVTXA_API void nvtxa_record_free(nvtxa_record *record);

NVTXA_END_DECLS

#endif
