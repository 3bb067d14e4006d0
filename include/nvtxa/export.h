/**
 * @file export.h
 * From a run directory's trace to the two reports, through `nsys`; or to the reports that an
 * earlier export left there.
 *
 * A run directory holds `manifest.yaml` and `trace.nsys-rep`. An export leaves in `stats/` the
 * reports as `nsys_<report>.csv`, under the names that this nsys gives them, and `export.json`,
 * which says what they were made from. docs/artifacts.md describes each file.
 */
#ifndef NVTXA_EXPORT_H
#define NVTXA_EXPORT_H

#include <nvtxa/base.h>

NVTXA_BEGIN_DECLS

/** The reports of one run directory and where they come from. Immutable; reference counted. */
typedef struct nvtxa_export nvtxa_export;

/** How to export. Start from NVTXA_EXPORT_OPTIONS_INIT; zero or NULL means the default. */
typedef struct nvtxa_export_options {
  size_t size; /**< sizeof(nvtxa_export_options) */
  /** The nsys program: a path if it holds a slash, else looked up on the PATH of `environment`.
   * Default "nsys". */
  const char *nsys;
  /** The environment of the child, NULL-terminated, as in environ(7). Variables that make nsys or
   * Python run code from elsewhere (NSYS_STATS_REPORT_PATH, PYTHONPATH and the like) are left out.
   * Default: PATH=/usr/local/bin:/usr/bin:/bin alone. */
  char *const *environment;
  /** Give up when nsys has taken this long in all, in nanoseconds; negative: never.
   * Default one hour. */
  int64_t timeout_ns;
  const nvtxa_hooks *hooks; /**< log, progress, cancel; borrowed during the call */
} nvtxa_export_options;

/** The defaults. */
#define NVTXA_EXPORT_OPTIONS_INIT \
  { sizeof(nvtxa_export_options), NULL, NULL, 0, NULL }

/**
 * Make both reports anew from `run_dir/trace.nsys-rep` and put them into `run_dir/stats/`.
 *
 * nsys runs with an argument vector (no shell), in a fresh private directory below `run_dir/stats/`
 * that is removed afterwards: first `--version`, then `stats --help-reports`, one `export` to
 * SQLite, and a `stats` for each report from that one export (range ids join only within one
 * export). Success is what nsys wrote, not its exit status. The files in `stats/` are replaced only
 * when all are whole; on failure they are what they were.
 *
 * @param run_dir     the run directory
 * @param options     NULL for the defaults
 * @param ret_export  gets the export; the caller owns one reference
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_TRACE_MISSING, NVTXA_ERROR_NSYS_NOT_FOUND, NVTXA_ERROR_NSYS_FAILED,
 *         NVTXA_ERROR_NSYS_TIMEOUT, NVTXA_ERROR_NSYS_NO_REPORT, NVTXA_ERROR_REPORT_EMPTY (the trace
 *         has no NVTX push/pop range), NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO,
 *         NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe; two exports of one run directory at a time each leave whole files, the last one's.
 * Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_export_run(const char *run_dir, const nvtxa_export_options *options,
                                        nvtxa_export **ret_export, nvtxa_error **reterr);

/**
 * Take the reports that `run_dir/stats/` already holds, under either naming; nsys is not needed.
 *
 * `export.json` says which they are and of which trace. A warning is given where the trace is
 * absent, where it is not the one the reports were made from, or where nothing says so.
 *
 * @param run_dir     the run directory
 * @param options     NULL for the defaults; only `hooks` is used
 * @param ret_export  gets the export; the caller owns one reference
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_REPORT_MISSING, NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO,
 *         NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_export_open(const char *run_dir, const nvtxa_export_options *options,
                                         nvtxa_export **ret_export, nvtxa_error **reterr);

/** Take another reference. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_export *nvtxa_export_ref(const nvtxa_export *exported);

/** Give a reference back; the last one frees. The files stay. NULL is allowed. Thread-safe.
 * Since 0.1. */
NVTXA_API void nvtxa_export_unref(nvtxa_export *exported);

/** Whether nsys made the reports in this call (nvtxa_export_run()). Thread-safe. Since 0.1. */
NVTXA_API bool nvtxa_export_is_fresh(const nvtxa_export *exported);

/**
 * The line that `nsys --version` printed when the reports were made, such as "NVIDIA Nsight Systems
 * version 2025.1.3"; no text where it is not known. Borrowed. Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_text nvtxa_export_nsys_version(const nvtxa_export *exported);

/** A report's file, `run_dir` included: ready to open. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_export_report_path(const nvtxa_export *exported, nvtxa_report report);

/** A report's file, relative to the run directory. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_export_report_relative_path(const nvtxa_export *exported,
                                                       nvtxa_report report);

/**
 * SHA-256 of the trace that the reports were made from, 64 lower-case hex digits; no text where it
 * is not known. Borrowed. Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_text nvtxa_export_trace_sha256(const nvtxa_export *exported);

/** That trace's size in bytes; -1 where it is not known. Thread-safe. Since 0.1. */
NVTXA_API int64_t nvtxa_export_trace_size(const nvtxa_export *exported);

/** How many warnings there are. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_export_warning_count(const nvtxa_export *exported);

/** Warning `index`, below the count. Borrowed from the export. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_warning nvtxa_export_warning(const nvtxa_export *exported, size_t index);

NVTXA_END_DECLS

#endif
