/**
 * @file ranges.h
 * The ranges of one report, as a table: from an SQLite export or a CSV report that nsys wrote, or
 * built row by row.
 *
 * Units: times are integer nanoseconds, on the clock of the trace. Names are UTF-8; bytes of a
 * report that are not are replaced by U+FFFD, with a warning.
 */
#ifndef NVTXA_RANGES_H
#define NVTXA_RANGES_H

#include <nvtxa/export.h>
#include <nvtxa/gpu.h>

NVTXA_BEGIN_DECLS

/** The ranges of one report. Immutable; shared by reference count. */
typedef struct nvtxa_ranges nvtxa_ranges;

/** How a report quotes its fields. */
typedef enum nvtxa_quoting {
  /** RFC 4180 where a record can be read so, else as nsys before 2024.5 writes it. */
  NVTXA_QUOTING_AUTO = 0,
  /** As nsys before 2024.5 writes it, where a record can be read so: quotes around a field for a
   * comma only, none doubled inside, none for a line break. Else RFC 4180. */
  NVTXA_QUOTING_NSYS = 1
} nvtxa_quoting;

/**
 * The quoting of the reports that a version of nsys writes.
 *
 * @param nsys_version  what `nsys --version` prints, as nvtxa_export_nsys_version() has it; may be
 * no text
 * @return NVTXA_QUOTING_NSYS for a version before 2024.5, else (unknown ones too)
 *         NVTXA_QUOTING_AUTO
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_quoting nvtxa_ranges_quoting_of(nvtxa_text nsys_version);

/** Where the hierarchy of a table comes from. */
typedef enum nvtxa_hierarchy {
  /** From the parent ids, which are held against the times: where one disagrees, the hierarchy,
   * child and exclusive times of the whole table are computed from the times, with a warning. */
  NVTXA_HIERARCHY_DECLARED = 0,
  /** From the times alone: the parent is the shortest range of the thread that encloses the range;
   * of ranges with the same start and end, the one with the lower id is the outer. */
  NVTXA_HIERARCHY_FROM_TIMES = 1
} nvtxa_hierarchy;

/** Whether a table of GPU-projected ranges shall bring the GPU work along. */
typedef enum nvtxa_gpu_detail {
  NVTXA_GPU_DETAIL_NONE = 0, /**< no */
  /** Yes: totals, and from an SQLite export each operation with its range. */
  NVTXA_GPU_DETAIL_OPERATIONS = 1,
  /** And, from an SQLite export, all that the report cuda_gpu_trace shows of each. */
  NVTXA_GPU_DETAIL_TRACE = 2
} nvtxa_gpu_detail;

/** How to read or build. Start from NVTXA_RANGES_OPTIONS_INIT; zero or NULL means the default. */
typedef struct nvtxa_ranges_options {
  size_t size;               /**< sizeof(nvtxa_ranges_options) */
  nvtxa_quoting quoting;     /**< for CSV; default NVTXA_QUOTING_AUTO */
  nvtxa_hierarchy hierarchy; /**< default NVTXA_HIERARCHY_DECLARED */
  const nvtxa_hooks *hooks;  /**< log, progress, cancel; borrowed during the call */
  /** How many threads may work, the caller's among them; default: for reports as many as there are
   * processors to run on, at most 8; for an SQLite export two. The result does not depend on it. */
  size_t thread_count;
  /** For nvtxa_ranges_read_sqlite() and nvtxa_ranges_read_export(); default NVTXA_GPU_DETAIL_NONE.
   */
  nvtxa_gpu_detail gpu_detail;
} nvtxa_ranges_options;

/** The defaults. */
#define NVTXA_RANGES_OPTIONS_INIT                                                        \
  {                                                                                      \
    sizeof(nvtxa_ranges_options), NVTXA_QUOTING_AUTO, NVTXA_HIERARCHY_DECLARED, NULL, 0, \
        NVTXA_GPU_DETAIL_NONE                                                            \
  }

/**
 * One range. Which members count depends on the report that the table is of: those marked "host"
 * are zero in a table of GPU-projected ranges and those marked "GPU" in one of host ranges.
 */
typedef struct nvtxa_range {
  size_t size;            /**< sizeof(nvtxa_range); NVTXA_RANGE_INIT sets it */
  nvtxa_text name;        /**< raw name: domain, colon and text; the default domain may be empty */
  int64_t process_id;     /**< with thread_id and range_id: the range key */
  int64_t thread_id;      /**< see process_id */
  int64_t range_id;       /**< unique within its thread and export */
  bool has_parent;        /**< whether parent_id counts */
  int64_t parent_id;      /**< the enclosing range's range_id, on the same thread */
  int64_t start_ns;       /**< when the range was pushed (or started) */
  int64_t duration_ns;    /**< host-inclusive time, >= 0 */
  int64_t child_total_ns; /**< host: sum of the direct children's durations */
  int64_t exclusive_ns;   /**< host: duration less child_total; below 0 where children overlap */
  bool open;              /**< no measured end: not ended when the trace was, or ended before it
                               started; the duration is no measure */
  nvtxa_text style;       /**< GPU: "PushPop" or "StartEnd", as the report has it */
  int64_t projected_start_ns;    /**< GPU: first start of the operations launched inside */
  int64_t projected_duration_ns; /**< GPU: from there to their last end; a span, with its gaps */
  int64_t gpu_operation_count;   /**< GPU: how many operations, as the report counts them */
} nvtxa_range;

/** A range with all members zero. */
#define NVTXA_RANGE_INIT \
  { sizeof(nvtxa_range), {NULL, 0}, 0, 0, 0, false, 0, 0, 0, 0, 0, false, {NULL, 0}, 0, 0, 0 }

/**
 * Read a CSV report from a file, as a stream: memory grows with the rows, not with their text.
 * Several threads read parts of a large one.
 *
 * Columns are found by name, in any order; others are ignored. The needed columns are listed in
 * docs/artifacts.md. A report in other units than nanoseconds, or without a header, is refused.
 * A report with no rows, or of zero bytes, is an empty table: for a GPU report that means no
 * attributable GPU work; an empty table of host ranges is refused by nvtxa_analysis_new().
 *
 * @param path        the file
 * @param report      which report it is
 * @param options     NULL for the defaults
 * @param ret_ranges  gets the table; the caller owns one reference
 * @param reterr      gets the error, or NULL; it names the file, the line and the column
 * @return NVTXA_OK; NVTXA_ERROR_REPORT_MISSING, NVTXA_ERROR_REPORT_COLUMNS,
 *         NVTXA_ERROR_REPORT_SYNTAX, NVTXA_ERROR_REPORT_VALUE, NVTXA_ERROR_HIERARCHY_CYCLE,
 *         NVTXA_ERROR_LIMIT (a record over 64 MiB, 2^32 - 2 ranges), NVTXA_ERROR_OVERFLOW,
 *         NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO, NVTXA_ERROR_INVALID_ARGUMENT,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_ranges_read_file(const char *path, nvtxa_report report,
                                              const nvtxa_ranges_options *options,
                                              nvtxa_ranges **ret_ranges, nvtxa_error **reterr);

/**
 * Read a CSV report from memory. As nvtxa_ranges_read_file(); the text is not kept.
 *
 * @param data        the CSV text, `length` bytes
 * @param length      its length in bytes
 * @param report      which report it is
 * @param options     NULL for the defaults
 * @param ret_ranges  gets the table; the caller owns one reference
 * @param reterr      gets the error, or NULL
 * @return as nvtxa_ranges_read_file()
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_ranges_read_buffer(const char *data, size_t length,
                                                nvtxa_report report,
                                                const nvtxa_ranges_options *options,
                                                nvtxa_ranges **ret_ranges, nvtxa_error **reterr);

/**
 * Compute both tables from an SQLite export, as `nsys export --type sqlite` writes it. The file is
 * opened read-only, only the needed columns of the needed tables are read, and nothing in it is
 * executed: no view, no trigger, no virtual table.
 *
 * Host ranges are the push/pop ranges. The parent is the shortest range of the thread that encloses
 * the range (of ranges with the same start and end, the one with the lower id is the outer). A GPU
 * range is every push/pop range, and every start/end range that ends on its own thread, that
 * encloses a CUDA API call whose correlation id, in the same process, a kernel, copy or fill has. A
 * range still open takes the last timestamp for its end and is marked `open`. The order of the rows
 * is that of nsys's reports; the range id is the row number in the export. docs/engines.md says
 * where this differs from nsys and why.
 *
 * With `options->gpu_detail` the table of GPU ranges brings the GPU work along, see
 * nvtxa_ranges_gpu_work(). The export then needs no NVTX data, unless the host ranges are wanted.
 *
 * Takes O(n log n) in ranges, calls and operations. Two threads work at most.
 *
 * @param path       the file
 * @param options    NULL for the defaults; only `hooks`, `thread_count` and `gpu_detail` are
 *                   used
 * @param ret_host   gets the table of NVTXA_REPORT_PUSHPOP_TRACE; the caller owns one reference.
 *                   NULL: not wanted
 * @param ret_gpu    gets the table of NVTXA_REPORT_GPU_PROJ_TRACE, empty where the export has no
 *                   CUDA data; the caller owns one reference. NULL: not wanted
 * @param reterr     gets the error, or NULL; it names the file, the table, the column and the row
 * @return NVTXA_OK; NVTXA_ERROR_SQLITE_MISSING, NVTXA_ERROR_SQLITE_DAMAGED,
 *         NVTXA_ERROR_SQLITE_TABLE, NVTXA_ERROR_SQLITE_COLUMN, NVTXA_ERROR_SQLITE_VALUE,
 *         NVTXA_ERROR_LIMIT (2^32 - 2 ranges, calls or operations; a cell over 64 MiB),
 *         NVTXA_ERROR_OVERFLOW, NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO,
 *         NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_ranges_read_sqlite(const char *path,
                                                const nvtxa_ranges_options *options,
                                                nvtxa_ranges **ret_host, nvtxa_ranges **ret_gpu,
                                                nvtxa_error **reterr);

/**
 * Read both tables from what an export holds: its SQLite export, or its reports, at the same time,
 * with the quoting of their engine. As nvtxa_ranges_read_sqlite() or twice nvtxa_ranges_read_file()
 * otherwise. With `options->gpu_detail`, the GPU work is read from the SQLite export, or from the
 * two reports of it where the export has them.
 *
 * @param exported  the export
 * @param options   NULL for the defaults; `quoting` is not used
 * @param ret_host  gets the host ranges; the caller owns one reference
 * @param ret_gpu   gets the GPU-projected ranges; the caller owns one reference
 * @param reterr    gets the error, or NULL
 * @return as those functions
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_ranges_read_export(const nvtxa_export *exported,
                                                const nvtxa_ranges_options *options,
                                                nvtxa_ranges **ret_host, nvtxa_ranges **ret_gpu,
                                                nvtxa_error **reterr);

/** A table in the making, for ranges that come from elsewhere. Not shared. */
typedef struct nvtxa_ranges_builder nvtxa_ranges_builder;

/**
 * Begin a table.
 *
 * @param report       which kind of ranges it will hold
 * @param options      NULL for the defaults
 * @param ret_builder  gets the builder; the caller frees it with nvtxa_ranges_builder_free()
 * @param reterr       gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_ranges_builder_new(nvtxa_report report,
                                                const nvtxa_ranges_options *options,
                                                nvtxa_ranges_builder **ret_builder,
                                                nvtxa_error **reterr);

/**
 * Add a range. It is copied. With NVTXA_HIERARCHY_FROM_TIMES, parent, child total and exclusive
 * time are computed when the table is finished and need not be given.
 *
 * @param builder  the builder
 * @param range    the range; its durations must not be negative, nor its end pass 64 bits
 * @param reterr   gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_LIMIT (2^32 - 2 ranges),
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Safe on distinct objects. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_ranges_builder_add(nvtxa_ranges_builder *builder,
                                                const nvtxa_range *range, nvtxa_error **reterr);

/**
 * Make the table. The builder is used up, whatever comes of it, and can only be freed.
 *
 * @param builder     the builder
 * @param ret_ranges  gets the table; the caller owns one reference
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_HIERARCHY_CYCLE, NVTXA_ERROR_REPORT_VALUE (two ranges with one
 * key), NVTXA_ERROR_OVERFLOW, NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Safe on distinct objects. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_ranges_builder_finish(nvtxa_ranges_builder *builder,
                                                   nvtxa_ranges **ret_ranges, nvtxa_error **reterr);

/** Free a builder. NULL is allowed. Safe on distinct objects. Since 0.1. */
NVTXA_API void nvtxa_ranges_builder_free(nvtxa_ranges_builder *builder);

/** Take another reference. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_ranges *nvtxa_ranges_ref(const nvtxa_ranges *ranges);

/** Give a reference back; the last one frees. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API void nvtxa_ranges_unref(nvtxa_ranges *ranges);

/** Which report the table is of. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_report nvtxa_ranges_report(const nvtxa_ranges *ranges);

/** How many ranges there are. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_ranges_count(const nvtxa_ranges *ranges);

/**
 * Range `index`, in the report's order.
 *
 * @param ranges     the table
 * @param index      from 0, below nvtxa_ranges_count()
 * @param ret_range  gets the range; `size` must be set. Its texts are borrowed from the table
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_ranges_get(const nvtxa_ranges *ranges, size_t index,
                                        nvtxa_range *ret_range);

/**
 * How many GPU operations the report counts outside every range (its row without a range); they are
 * in no range of the table. Thread-safe. Since 0.1.
 */
NVTXA_API int64_t nvtxa_ranges_unattributed_operations(const nvtxa_ranges *ranges);

/**
 * The GPU work that was read with the table of GPU-projected ranges; NULL where it was not asked
 * for, or the source has none of it. The ranges of its operations are rows of this table. Borrowed
 * from the table. Thread-safe. Since 0.1.
 */
NVTXA_API const nvtxa_gpu_work *nvtxa_ranges_gpu_work(const nvtxa_ranges *ranges);

/** How many warnings reading or building gave. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_ranges_warning_count(const nvtxa_ranges *ranges);

/** Warning `index`, below the count. Borrowed from the table. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_warning nvtxa_ranges_warning(const nvtxa_ranges *ranges, size_t index);

NVTXA_END_DECLS

#endif
