/**
 * @file base.h
 * What every module shares: status codes, errors, warnings, text, and the hooks through which a
 * caller watches and stops long work.
 *
 * The library never prints, exits, reads the environment or changes process-wide state. It keeps no
 * "last error": each call that can fail returns its own.
 */
#ifndef NVTXA_BASE_H
#define NVTXA_BASE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nvtxa/version.h>

#ifdef __cplusplus
#define NVTXA_BEGIN_DECLS extern "C" {
#define NVTXA_END_DECLS   }
#else
#define NVTXA_BEGIN_DECLS
#define NVTXA_END_DECLS
#endif

#if defined(__GNUC__)
#define NVTXA_API __attribute__((visibility("default")))
#else
#define NVTXA_API
#endif

NVTXA_BEGIN_DECLS

/**
 * What a call came to. Zero is success, a negative value an error with a stable number: a number is
 * never reused for another meaning. Positive values are reserved for the end of an iteration.
 */
typedef enum nvtxa_status {
  NVTXA_OK = 0,                          /**< done */
  NVTXA_ERROR_OUT_OF_MEMORY = -1,        /**< an allocation failed */
  NVTXA_ERROR_INVALID_ARGUMENT = -2,     /**< the call itself is wrong; a bug in the caller */
  NVTXA_ERROR_IO = -3,                   /**< a system call failed; nvtxa_error_errno() says why */
  NVTXA_ERROR_CANCELLED = -4,            /**< the cancel flag was set */
  NVTXA_ERROR_LIMIT = -5,                /**< a stated limit was exceeded; the message names it */
  NVTXA_ERROR_OVERFLOW = -6,             /**< a total does not fit 64 bits */
  NVTXA_ERROR_MANIFEST_MISSING = -10,    /**< the run directory has no manifest.yaml */
  NVTXA_ERROR_MANIFEST_SYNTAX = -11,     /**< not one YAML document, or not valid YAML */
  NVTXA_ERROR_MANIFEST_VALUE = -12,      /**< a required key is missing or has the wrong type */
  NVTXA_ERROR_TRACE_MISSING = -20,       /**< the run directory has no trace.nsys-rep */
  NVTXA_ERROR_NSYS_NOT_FOUND = -21,      /**< nsys could not be started */
  NVTXA_ERROR_NSYS_FAILED = -22,         /**< nsys failed, whatever its exit status was */
  NVTXA_ERROR_NSYS_TIMEOUT = -23,        /**< nsys took longer than the caller allowed */
  NVTXA_ERROR_NSYS_NO_REPORT = -24,      /**< this nsys does not offer a report that is needed */
  NVTXA_ERROR_RUN_EXISTS = -25,          /**< the run directory holds a recorded run already */
  NVTXA_ERROR_COMMAND_NOT_FOUND = -26,   /**< the command to record could not be found */
  NVTXA_ERROR_RECORD_ARGUMENT = -27,     /**< what nsys cannot be given: a name, path or option */
  NVTXA_ERROR_REPORT_MISSING = -30,      /**< there is no report file to read */
  NVTXA_ERROR_REPORT_EMPTY = -31,        /**< the host report has no rows */
  NVTXA_ERROR_REPORT_COLUMNS = -32,      /**< the report's header lacks a column */
  NVTXA_ERROR_REPORT_SYNTAX = -33,       /**< a record is damaged: too few fields, open quote */
  NVTXA_ERROR_REPORT_VALUE = -34,        /**< a field does not hold what its column promises */
  NVTXA_ERROR_SQLITE_MISSING = -35,      /**< there is no SQLite export to read */
  NVTXA_ERROR_SQLITE_DAMAGED = -36,      /**< no SQLite database, damaged, or being written */
  NVTXA_ERROR_SQLITE_TABLE = -37,        /**< the export lacks a table, or it is no plain table */
  NVTXA_ERROR_SQLITE_COLUMN = -38,       /**< a table of the export lacks a column */
  NVTXA_ERROR_SQLITE_VALUE = -39,        /**< a cell does not hold what its column promises */
  NVTXA_ERROR_HIERARCHY_CYCLE = -40,     /**< parent ids lead back to where they started */
  NVTXA_ERROR_CAPTURE_RANGE = -41,       /**< no capture range, or more than one */
  NVTXA_ERROR_DUPLICATE_ITERATION = -42, /**< two iterations, or two projections of one */
} nvtxa_status;

/**
 * The symbolic name of a status, such as "NVTXA_ERROR_IO"; "unknown status" for any other number.
 * @return static text. Thread-safe. Since 0.1.
 */
NVTXA_API const char *nvtxa_status_name(nvtxa_status status);

/**
 * The version of the library at run time, such as "0.1.0".
 * @return static text. Thread-safe. Since 0.1.
 */
NVTXA_API const char *nvtxa_version(void);

/**
 * A piece of text that somebody else owns: UTF-8, `length` bytes, which may include NUL bytes, and
 * a NUL byte after the last. `data` is NULL where there is no text (which is not the empty text).
 */
typedef struct nvtxa_text {
  const char *data; /**< the bytes, or NULL */
  size_t length;    /**< how many, without the final NUL */
} nvtxa_text;

/**
 * What went wrong, for a person: see the accessors below. Immutable.
 *
 * A function that takes `nvtxa_error **reterr` writes an error there if it fails and leaves it
 * alone if it succeeds. The caller then owns the error and frees it with nvtxa_error_free(). NULL
 * may be passed by a caller that only wants the status. An out-of-memory error needs no memory.
 */
typedef struct nvtxa_error nvtxa_error;

/** The status that the failed call returned. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_status nvtxa_error_status(const nvtxa_error *error);

/**
 * What happened, in one sentence without file name and line. It may quote the input as it stood:
 * control characters in what it quotes are escaped. Borrowed from the error. Thread-safe. Since
 * 0.1.
 */
NVTXA_API const char *nvtxa_error_message(const nvtxa_error *error);

/** What the reader can do about it, or NULL. Borrowed from the error. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_error_hint(const nvtxa_error *error);

/** The file concerned, or NULL. Borrowed from the error. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_error_file(const nvtxa_error *error);

/** The line in nvtxa_error_file(), from 1; 0 where there is none. Thread-safe. Since 0.1. */
NVTXA_API uint64_t nvtxa_error_line(const nvtxa_error *error);

/**
 * The report column or manifest key concerned, or NULL. Borrowed from the error.
 * Thread-safe. Since 0.1.
 */
NVTXA_API const char *nvtxa_error_field(const nvtxa_error *error);

/** The errno of the system call that failed; 0 where there is none. Thread-safe. Since 0.1. */
NVTXA_API int nvtxa_error_errno(const nvtxa_error *error);

/** The error behind this one, or NULL. Borrowed from the error. Thread-safe. Since 0.1. */
NVTXA_API const nvtxa_error *nvtxa_error_cause(const nvtxa_error *error);

/** Free an error and its causes. NULL is allowed. Safe on distinct objects. Since 0.1. */
NVTXA_API void nvtxa_error_free(nvtxa_error *error);

/** What a warning is about. The numbers are stable; docs/errors.md says what to do about each. */
typedef enum nvtxa_warning_kind {
  NVTXA_WARNING_NSYS_VERSION = 1,          /**< nsys version unknown or not validated */
  NVTXA_WARNING_MISSING_ITERATIONS = 2,    /**< declared iterations that no host range stands for */
  NVTXA_WARNING_UNEXPECTED_ITERATIONS = 3, /**< iterations that the manifest does not declare */
  NVTXA_WARNING_MISSING_HOST_RANGES = 4,   /**< iterations without a measured host range */
  NVTXA_WARNING_MISSING_GPU_PROJECTIONS = 5, /**< iterations without a GPU projection */
  NVTXA_WARNING_NO_GPU_CAPTURE_RANGE = 6,    /**< the capture range has no GPU projection */
  NVTXA_WARNING_ITERATIONS_ELSEWHERE = 7,    /**< ranges named like the missing iterations */
  NVTXA_WARNING_PARENTS_RECOMPUTED = 20,     /**< a report's parent ids disagreed with its times */
  NVTXA_WARNING_ROWS_MISSING = 21,           /**< ranges declare more children than there are */
  NVTXA_WARNING_BYTES_REPLACED = 22,         /**< names held bytes that are not UTF-8 */
  NVTXA_WARNING_UNATTRIBUTED_GPU_WORK = 23,  /**< GPU work that no range encloses */
  NVTXA_WARNING_OPEN_RANGES = 24,            /**< ranges that were still open at the end */
  NVTXA_WARNING_BACKWARD_RANGES = 25,        /**< ranges that end before they start */
  NVTXA_WARNING_NAMES_MISSING = 26,          /**< names that the export refers to but lacks */
  NVTXA_WARNING_UNTIMED_GPU_WORK = 27,       /**< CUDA graphs for which no times were collected */
  NVTXA_WARNING_LAUNCH_MISSING = 28,         /**< GPU work whose launching call is not there */
  NVTXA_WARNING_MANIFEST_ITERATIONS = 40,    /**< workload.iterations is not a count */
  NVTXA_WARNING_MANIFEST_RECORD_IDS = 41,    /**< record_ids is not a sequence */
  NVTXA_WARNING_TRACE_ABSENT = 60,           /**< the trace is not there to compare with */
  NVTXA_WARNING_REPORTS_UNIDENTIFIED = 61,   /**< nothing says which trace the reports are of */
  NVTXA_WARNING_REPORTS_OF_ANOTHER_TRACE = 62, /**< the reports belong to another trace */
  NVTXA_WARNING_SQLITE_SCHEMA = 63,            /**< the export's schema is not a known one */
  NVTXA_WARNING_SQLITE_OLDER = 64              /**< the SQLite export is older than the trace */
} nvtxa_warning_kind;

/** One warning: its kind, and a sentence that says it in full. */
typedef struct nvtxa_warning {
  nvtxa_warning_kind kind; /**< what it is about */
  nvtxa_text text;         /**< the sentence, as in analysis.json */
} nvtxa_warning;

/** How much a log message matters. */
typedef enum nvtxa_log_level {
  NVTXA_LOG_DEBUG = 0, /**< each line that nsys prints */
  NVTXA_LOG_INFO = 1,  /**< each command that is run, each file that is read or written */
  NVTXA_LOG_NOTICE = 2 /**< a choice that the user should know of */
} nvtxa_log_level;

/** Where long work stands. */
typedef struct nvtxa_progress {
  const char *activity; /**< what is being done, such as "nsys: exporting the trace" */
  int64_t elapsed_ns;   /**< how long this activity has taken so far, in nanoseconds */
} nvtxa_progress;

/**
 * How a caller watches and stops a call. All members may be NULL. The functions run on the calling
 * thread, inside the call; they must not call back into the library with the objects concerned.
 */
typedef struct nvtxa_hooks {
  size_t size; /**< sizeof(nvtxa_hooks); NVTXA_HOOKS_INIT sets it */
  /** Gets each log message: one line without a line break. */
  void (*log)(void *user, nvtxa_log_level level, const char *message);
  /** Called at the start of an activity and then at most ten times a second. */
  void (*progress)(void *user, const nvtxa_progress *progress);
  void *user; /**< passed to the two functions */
  /** Polled at least ten times a second, but for the sorting and nesting of some million ranges,
   * which may take half a second. Other than zero ends the call with NVTXA_ERROR_CANCELLED. A
   * signal handler or another thread may set it. */
  const volatile sig_atomic_t *cancel;
} nvtxa_hooks;

/** An nvtxa_hooks that does nothing. */
#define NVTXA_HOOKS_INIT \
  { sizeof(nvtxa_hooks), NULL, NULL, NULL, NULL }

/**
 * Free memory that the library gave to its caller, where the function's comment says so.
 * NULL is allowed. Thread-safe. Since 0.1.
 */
NVTXA_API void nvtxa_free(void *memory);

/** The nsys reports that are known here. Tables of ranges are of one of the first two. */
typedef enum nvtxa_report {
  NVTXA_REPORT_PUSHPOP_TRACE = 0,     /**< nvtx_pushpop_trace: host push/pop ranges */
  NVTXA_REPORT_GPU_PROJ_TRACE = 1,    /**< nvtx_gpu_proj_trace: GPU-projected ranges */
  NVTXA_REPORT_CUDA_GPU_KERN_SUM = 2, /**< cuda_gpu_kern_sum: kernels by name */
  NVTXA_REPORT_CUDA_GPU_TRACE = 3,    /**< cuda_gpu_trace: GPU operations, one by one */
  NVTXA_REPORT_NVTX_KERN_SUM = 4      /**< nvtx_kern_sum: kernels by range and name */
} nvtxa_report;

/** How many kinds of report there are. */
#define NVTXA_REPORT_COUNT 5

/** The name that nsys gives a report now, such as "nvtx_pushpop_trace".
 * @return static text; NULL for no such report. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_report_name(nvtxa_report report);

/**
 * Find a report by its name: the present one or the one before nsys 2023.2 ("nvtxpptrace").
 *
 * @param name        the name
 * @param ret_report  gets the report
 * @return whether there is one
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API bool nvtxa_report_by_name(const char *name, nvtxa_report *ret_report);

NVTXA_END_DECLS

#endif
