/**
 * @file export.h
 * From a run directory's trace to something that ranges can be read from: an SQLite export or the
 * two reports, made by `nsys`; or to what an earlier export left there.
 *
 * A run directory holds `manifest.yaml` and `trace.nsys-rep`. The reports stand in `stats/` as
 * `nsys_<report>.csv` beside `export.json`, which says what they were made from. docs/artifacts.md
 * describes each file.
 *
 * There are two engines. With NVTXA_ENGINE_NSYS, nsys computes the two reports and the ranges are
 * read from them. With NVTXA_ENGINE_NATIVE, nsys only exports the trace to SQLite and this library
 * computes the ranges from that: faster by far, and right where nsys is wrong (docs/engines.md).
 */
#ifndef NVTXA_EXPORT_H
#define NVTXA_EXPORT_H

#include <nvtxa/base.h>

NVTXA_BEGIN_DECLS

/** What the ranges of one trace can be read from, and where that comes from. Immutable; reference
 * counted. */
typedef struct nvtxa_export nvtxa_export;

/** Who computes the ranges. */
typedef enum nvtxa_engine {
  NVTXA_ENGINE_AUTO = 0,  /**< native where the export's schema is known, else nsys */
  NVTXA_ENGINE_NSYS = 1,  /**< nsys, in its two reports */
  NVTXA_ENGINE_NATIVE = 2 /**< this library, from the SQLite export */
} nvtxa_engine;

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
  nvtxa_engine engine;      /**< default NVTXA_ENGINE_AUTO */
  /** Where nvtxa_export_trace() makes its private directory. Default "/tmp". */
  const char *temporary_directory;
  /** Reports that NVTXA_ENGINE_NATIVE computes will be kept with nvtxa_stats_keep(): the export
   * then tells where they stand. Default: they are not, and it tells of none. */
  bool keep_reports;
  /** With NVTXA_ENGINE_NSYS: have nsys make the two reports of GPU work as well, cuda_gpu_kern_sum
   * and cuda_gpu_trace, where it offers both. Default: it does not. */
  bool gpu_reports;
} nvtxa_export_options;

/** The defaults. */
#define NVTXA_EXPORT_OPTIONS_INIT \
  { sizeof(nvtxa_export_options), NULL, NULL, 0, NULL, NVTXA_ENGINE_AUTO, NULL, false, false }

/**
 * Export `run_dir/trace.nsys-rep` anew.
 *
 * nsys runs with an argument vector (no shell), in a fresh private directory below
 * `run_dir/stats/`: first `--version`, then one `export` to SQLite. With NVTXA_ENGINE_NSYS follow
 * `stats --help-reports` and a `stats` for each report from that one export (range ids join only
 * within one export). Success is what nsys wrote, not its exit status.
 *
 * Asked for with `options->gpu_reports`, there are no reports of GPU work where nsys does not offer
 * both, or cannot make them of this trace; a NVTXA_LOG_NOTICE says so. Empty ones mean that there
 * was no such work.
 *
 * With NVTXA_ENGINE_NSYS the reports are put into `stats/` and the private directory is removed
 * before this returns; files in `stats/` are replaced only when all are whole, and on failure they
 * are what they were. With NVTXA_ENGINE_NATIVE the private directory with the SQLite export lives
 * as long as the returned object, and nothing lands in `stats/`; see nvtxa_stats_keep() for that.
 *
 * Where there is no nsys, `run_dir/trace.sqlite` is taken if it is not older than the trace; a
 * NVTXA_LOG_NOTICE says so. That is not done if NVTXA_ENGINE_NSYS is asked for or `options->nsys`
 * is given. nvtxa_export_engine() tells what NVTXA_ENGINE_AUTO came to.
 *
 * @param run_dir     the run directory
 * @param options     NULL for the defaults
 * @param ret_export  gets the export; the caller owns one reference
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_TRACE_MISSING, NVTXA_ERROR_NSYS_NOT_FOUND, NVTXA_ERROR_NSYS_FAILED,
 *         NVTXA_ERROR_NSYS_TIMEOUT, NVTXA_ERROR_NSYS_NO_REPORT, NVTXA_ERROR_REPORT_EMPTY (the trace
 *         has no NVTX push/pop range), NVTXA_ERROR_SQLITE_DAMAGED, NVTXA_ERROR_SQLITE_TABLE,
 *         NVTXA_ERROR_LIMIT, NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO, NVTXA_ERROR_INVALID_ARGUMENT,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe; two exports of one run directory at a time each leave whole files, the last one's.
 * Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_export_run(const char *run_dir, const nvtxa_export_options *options,
                                        nvtxa_export **ret_export, nvtxa_error **reterr);

/**
 * Export one trace that need not lie in a run directory, for NVTXA_ENGINE_NATIVE: `options->engine`
 * is not used, and neither is `options->keep_reports`. As nvtxa_export_run() otherwise, but that an
 * nsys is always needed; the private directory is made in `options->temporary_directory`.
 *
 * @param trace_path  the `.nsys-rep` file
 * @param options     NULL for the defaults
 * @param ret_export  gets the export; the caller owns one reference
 * @param reterr      gets the error, or NULL
 * @return as nvtxa_export_run()
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_export_trace(const char *trace_path,
                                          const nvtxa_export_options *options,
                                          nvtxa_export **ret_export, nvtxa_error **reterr);

/**
 * Take what lies in the run directory already; nsys is not needed.
 *
 * With NVTXA_ENGINE_NSYS these are the reports in `run_dir/stats/`, under either naming, and those
 * of GPU work where there are both; `export.json` says which they are, which engine made them, and
 * of which trace. A warning is given where the trace is absent, where it is not the one the reports
 * were made from, or where nothing says so. With NVTXA_ENGINE_NATIVE it is `run_dir/trace.sqlite`,
 * with a warning where that is older than the trace. NVTXA_ENGINE_AUTO takes the reports where
 * there are any, else `trace.sqlite`.
 *
 * @param run_dir     the run directory
 * @param options     NULL for the defaults; only `engine`, `keep_reports` and `hooks` are used
 * @param ret_export  gets the export; the caller owns one reference
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_REPORT_MISSING, NVTXA_ERROR_SQLITE_MISSING,
 *         NVTXA_ERROR_SQLITE_DAMAGED, NVTXA_ERROR_SQLITE_TABLE, NVTXA_ERROR_LIMIT,
 *         NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO, NVTXA_ERROR_INVALID_ARGUMENT,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_export_open(const char *run_dir, const nvtxa_export_options *options,
                                         nvtxa_export **ret_export, nvtxa_error **reterr);

/** Take another reference. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_export *nvtxa_export_ref(const nvtxa_export *exported);

/** Give a reference back; the last one frees, and removes the private directory if there is one.
 * Files in the run directory stay. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API void nvtxa_export_unref(nvtxa_export *exported);

/** Whether nsys exported the trace in this call (nvtxa_export_run(), nvtxa_export_trace()).
 * Thread-safe. Since 0.1. */
NVTXA_API bool nvtxa_export_is_fresh(const nvtxa_export *exported);

/**
 * The line that `nsys --version` printed when the reports were made, such as "NVIDIA Nsight Systems
 * version 2025.1.3"; no text where it is not known. Borrowed. Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_text nvtxa_export_nsys_version(const nvtxa_export *exported);

/**
 * Who computed, or will compute, the ranges: NVTXA_ENGINE_NSYS or NVTXA_ENGINE_NATIVE. Reports that
 * lie in `stats/` are taken for nsys's where nothing says who made them. Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_engine nvtxa_export_engine(const nvtxa_export *exported);

/** An engine's name: "auto", "nsys", "native".
 * @return static text; "unknown" for any other number. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_engine_name(nvtxa_engine engine);

/** The SQLite export to read the ranges from, ready to open; NULL where they are read from the
 * reports. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_export_sqlite_path(const nvtxa_export *exported);

/** That file relative to the run directory; no text where it is a private one or there is none.
 * Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_export_sqlite_relative_path(const nvtxa_export *exported);

/** The version of the SQLite export's schema, such as "3.7.2"; no text where it is not known.
 * Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_export_schema_version(const nvtxa_export *exported);

/** The version of the product that wrote the SQLite export, such as "2023.4.4.54"; no text where
 * it is not known. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_export_product_version(const nvtxa_export *exported);

/** A report's file, `run_dir` included; NULL where there is none, such as for a number that is no
 * report's. Where the ranges are read from an SQLite export, it is where nvtxa_stats_keep() puts
 * it, if that was announced (`keep_reports`). Borrowed. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_export_report_path(const nvtxa_export *exported, nvtxa_report report);

/** A report's file, relative to the run directory; no text where there is none. Borrowed.
 * Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_export_report_relative_path(const nvtxa_export *exported,
                                                       nvtxa_report report);

/**
 * SHA-256 of the trace that the export or the reports were made from, 64 lower-case hex digits; no
 * text where it is not known. Borrowed. Thread-safe. Since 0.1.
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
