/**
 * @file stats.h
 * Tables of ranges written as the reports that `nsys stats` makes of them: same names, columns and
 * rows, as nsys 2025.1 has them where they are right.
 */
#ifndef NVTXA_STATS_H
#define NVTXA_STATS_H

#include <nvtxa/ranges.h>

NVTXA_BEGIN_DECLS

/** What a report is written as. */
typedef enum nvtxa_stats_format {
  NVTXA_STATS_CSV = 0, /**< comma-separated, quoted as RFC 4180 has it; lines end in LF */
  NVTXA_STATS_TSV = 1, /**< tab-separated, quoted like CSV where a field holds a tab */
  NVTXA_STATS_JSON = 2 /**< an array of objects, one a row */
} nvtxa_stats_format;

/** How to write. Start from NVTXA_STATS_OPTIONS_INIT; zero or NULL means the default. */
typedef struct nvtxa_stats_options {
  size_t size;               /**< sizeof(nvtxa_stats_options) */
  nvtxa_stats_format format; /**< default NVTXA_STATS_CSV */
  const nvtxa_hooks *hooks;  /**< log, progress, cancel; borrowed during the call */
  /** Which report: the default, 0, is the table's own. A table of GPU-projected ranges that brings
   * the GPU work along (`gpu_detail`) can also be written as NVTXA_REPORT_CUDA_GPU_KERN_SUM,
   * NVTXA_REPORT_NVTX_KERN_SUM and, with NVTXA_GPU_DETAIL_TRACE, NVTXA_REPORT_CUDA_GPU_TRACE. Its
   * sizes are in bytes. */
  nvtxa_report report;
} nvtxa_stats_options;

/** The defaults. */
#define NVTXA_STATS_OPTIONS_INIT \
  { sizeof(nvtxa_stats_options), NVTXA_STATS_CSV, NULL, NVTXA_REPORT_PUSHPOP_TRACE }

/** Gets the next piece of a report. Returns 0, or an errno that ends the writing. */
typedef int (*nvtxa_stats_write_fn)(void *user, const char *data, size_t length);

/**
 * Write a table as its report, piece by piece. The columns RangeStack and NameTree grow with the
 * depth of nesting, so that the report may be far larger than the table.
 *
 * @param ranges   the table
 * @param options  NULL for the defaults
 * @param write    gets the pieces
 * @param user     handed to `write`
 * @param reterr   gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_IO (`write` failed), NVTXA_ERROR_CANCELLED, NVTXA_ERROR_OVERFLOW
 *         (kernels under ranges inside each other pass 64 bits in sum),
 *         NVTXA_ERROR_INVALID_ARGUMENT (also: a report that the table cannot be written as; the
 *         error says what it lacks), NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_stats_write(const nvtxa_ranges *ranges,
                                         const nvtxa_stats_options *options,
                                         nvtxa_stats_write_fn write, void *user,
                                         nvtxa_error **reterr);

/**
 * Write a table as its report into a file, which is replaced when the report is whole; on failure
 * an old file stays and nothing else is left. The file is not synced to the disk: it can be made
 * again. As nvtxa_stats_write() otherwise.
 *
 * @param ranges   the table
 * @param options  NULL for the defaults
 * @param path     the file
 * @param reterr   gets the error, or NULL
 * @return as nvtxa_stats_write()
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_stats_write_file(const nvtxa_ranges *ranges,
                                              const nvtxa_stats_options *options, const char *path,
                                              nvtxa_error **reterr);

/**
 * Keep both tables as CSV reports in the run directory of an export: `stats/nsys_<report>.csv`,
 * with an `export.json` that says what they were made from. All files are replaced, or none. The
 * two reports are written at the same time, on a further thread.
 *
 * @param exported    the export that the tables were read from, of a run directory
 * @param host        its table of NVTXA_REPORT_PUSHPOP_TRACE
 * @param gpu         its table of NVTXA_REPORT_GPU_PROJ_TRACE
 * @param options     NULL for the defaults; only `hooks` is used
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_IO, NVTXA_ERROR_CANCELLED, NVTXA_ERROR_INVALID_ARGUMENT (also: an
 *         export of no run directory, or one made without `keep_reports`),
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_stats_keep(const nvtxa_export *exported, const nvtxa_ranges *host,
                                        const nvtxa_ranges *gpu, const nvtxa_stats_options *options,
                                        nvtxa_error **reterr);

NVTXA_END_DECLS

#endif
