/**
 * @file doctor.h
 * What stands in the way of recording and analysing on this machine, and what to do about it.
 *
 * One examination makes a list of findings, each about one thing: nsys and its version, the reports
 * that it offers, whether ranges come back from a capture, CPU sampling, and the two directories
 * that are written to. What cannot be tried is a finding, no error.
 */
#ifndef NVTXA_DOCTOR_H
#define NVTXA_DOCTOR_H

#include <nvtxa/base.h>

NVTXA_BEGIN_DECLS

/** What an examination found. Immutable; reference counted. */
typedef struct nvtxa_doctor nvtxa_doctor;

/** What a finding is about. The numbers are stable. */
typedef enum nvtxa_check {
  NVTXA_CHECK_NSYS = 1,     /**< whether there is an nsys that can be run, and where */
  NVTXA_CHECK_VERSION = 2,  /**< its version, and whether that is a validated one */
  NVTXA_CHECK_REPORTS = 3,  /**< the reports that it offers, under either of their names */
  NVTXA_CHECK_CAPTURE = 4,  /**< whether ranges that a program pushes come back from a capture */
  NVTXA_CHECK_SAMPLING = 5, /**< whether the kernel lets nsys sample the CPU */
  NVTXA_CHECK_DISK = 6,     /**< the directory where runs will be recorded */
  NVTXA_CHECK_TEMPORARY = 7 /**< the directory for temporary files */
} nvtxa_check;

/** How a check came out. A larger number is worse. */
typedef enum nvtxa_verdict {
  NVTXA_VERDICT_OK = 0,      /**< nothing is in the way */
  NVTXA_VERDICT_NOTE = 1,    /**< something is limited; recording and analysing work */
  NVTXA_VERDICT_UNKNOWN = 2, /**< it could not be tried; the text says why */
  NVTXA_VERDICT_PROBLEM = 3  /**< something has to be done first */
} nvtxa_verdict;

/** One finding. */
typedef struct nvtxa_finding {
  size_t size;           /**< sizeof(nvtxa_finding); NVTXA_FINDING_INIT sets it */
  nvtxa_check check;     /**< what it is about */
  nvtxa_verdict verdict; /**< how it came out */
  /** What is the case, on one line. What it quotes (paths, what nsys printed) is shortened, and
   * control characters in it are escaped. */
  nvtxa_text text;
  nvtxa_text remedy; /**< what to do about it, as a clause; no text where there is nothing to do */
} nvtxa_finding;

/** A finding with all members zero. */
#define NVTXA_FINDING_INIT                                                \
  {                                                                       \
    sizeof(nvtxa_finding), (nvtxa_check)0, NVTXA_VERDICT_OK, {NULL, 0}, { \
      NULL, 0                                                             \
    }                                                                     \
  }

/** What to examine. Start from NVTXA_DOCTOR_OPTIONS_INIT; zero or NULL means the default. */
typedef struct nvtxa_doctor_options {
  size_t size; /**< sizeof(nvtxa_doctor_options) */
  /** The nsys program: a path if it holds a slash, else looked up on the PATH of `environment`.
   * Default "nsys". */
  const char *nsys;
  /** The environment of nsys and of `probe`, NULL-terminated, as in environ(7). Variables that make
   * nsys or Python run code from elsewhere are left out.
   * Default: PATH=/usr/local/bin:/usr/bin:/bin alone. */
  char *const *environment;
  /** Where runs will be recorded. It need not exist yet. Default: the current directory. */
  const char *directory;
  /** The directory for temporary files: nsys stages captures there (TMPDIR in `environment` tells
   * it so), and so does the check of a capture. Default "/tmp". */
  const char *temporary_directory;
  const nvtxa_hooks *hooks; /**< log, progress, cancel; borrowed during the call */
  /** A command and its arguments, NULL-terminated, that is recorded to see whether ranges come
   * back. It shall do what the macros of harness.h do for a capture range `profile-target` with
   * `iteration 0` and `iteration 1` in it, and end. It runs without input, in a directory of its
   * own, and what it prints is logged. The program is looked up like `nsys`. Default: that check
   * is NVTXA_VERDICT_UNKNOWN. */
  const char *const *probe;
} nvtxa_doctor_options;

/** The defaults. */
#define NVTXA_DOCTOR_OPTIONS_INIT \
  { sizeof(nvtxa_doctor_options), NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * Examine this machine: one finding a check, in the order of nvtxa_check. Where there is no nsys
 * that can be run, the checks that need it are left out.
 *
 * nsys is run for its version and for the reports on offer. `probe` is recorded as
 * nvtxa_record_run() would, but with NVTX traced alone, in a private directory below the temporary
 * one, which is removed whatever comes of it; then the trace is exported and its ranges are read.
 * nsys now and then loses the ranges of a short program on a busy machine, so up to three
 * recordings are tried. Each call of nsys may take a minute. In the two directories a file of
 * 64 KiB is written and removed.
 *
 * @param options     NULL for the defaults
 * @param ret_doctor  gets what was found; the caller owns one reference
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_CANCELLED, NVTXA_ERROR_INVALID_ARGUMENT,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_doctor_examine(const nvtxa_doctor_options *options,
                                            nvtxa_doctor **ret_doctor, nvtxa_error **reterr);

/** Take another reference. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_doctor *nvtxa_doctor_ref(const nvtxa_doctor *doctor);

/** Give a reference back; the last one frees. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API void nvtxa_doctor_unref(nvtxa_doctor *doctor);

/** How many findings there are. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_doctor_count(const nvtxa_doctor *doctor);

/**
 * Finding `index`.
 *
 * @param doctor       what was found
 * @param index        from 0, below nvtxa_doctor_count()
 * @param ret_finding  gets the finding; `size` must be set. Its texts are borrowed from the doctor
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_doctor_get(const nvtxa_doctor *doctor, size_t index,
                                        nvtxa_finding *ret_finding);

/** The worst verdict among the findings. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_verdict nvtxa_doctor_worst(const nvtxa_doctor *doctor);

/** A check's name: "nsys", "version", "reports", "capture", "sampling", "disk", "temporary".
 * @return static text; "unknown" for any other number. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_check_name(nvtxa_check check);

/** A verdict's name: "ok", "note", "unknown", "PROBLEM".
 * @return static text; "unknown" for any other number. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_verdict_name(nvtxa_verdict verdict);

NVTXA_END_DECLS

#endif
