/*
 * CSV reports, from their text to tables of ranges or to sums of GPU work: which column is which
 * (columns.c), one record after the other (cursor.c), what a record says (rows.c), and several
 * threads at it (feed.c). report.c puts it together for ranges, gpu-reports.c for GPU work.
 */
#ifndef NVTXA_REPORT_INTERNAL_H
#define NVTXA_REPORT_INTERNAL_H

#include "csv-internal.h"
#include "gpu/gpu-internal.h"
#include "ranges/ranges-internal.h"
#include "scan-internal.h"

/* ---- a report (columns.c, report.c) ---- */

typedef struct nvtxa__known_column {
  const char *name;
  nvtxa__csv_kind kind;
} nvtxa__known_column;

enum nvtxa__host_column {
  NVTXA__HOST_START,
  NVTXA__HOST_END,
  NVTXA__HOST_DURATION,
  NVTXA__HOST_CHILD,
  NVTXA__HOST_EXCLUSIVE,
  NVTXA__HOST_NAME,
  NVTXA__HOST_PID,
  NVTXA__HOST_TID,
  NVTXA__HOST_LEVEL,
  NVTXA__HOST_CHILD_COUNT,
  NVTXA__HOST_RANGE,
  NVTXA__HOST_PARENT,
  NVTXA__HOST_COLUMNS
};

enum nvtxa__gpu_column {
  NVTXA__GPU_NAME,
  NVTXA__GPU_PROJECTED_START,
  NVTXA__GPU_PROJECTED_DURATION,
  NVTXA__GPU_START,
  NVTXA__GPU_DURATION,
  NVTXA__GPU_STYLE,
  NVTXA__GPU_PID,
  NVTXA__GPU_TID,
  NVTXA__GPU_OPERATIONS,
  NVTXA__GPU_LEVEL,
  NVTXA__GPU_CHILD_COUNT,
  NVTXA__GPU_RANGE,
  NVTXA__GPU_PARENT,
  NVTXA__GPU_COLUMNS
};

/* Of the summary of kernels, which may have several rows for a name. */
enum nvtxa__kernel_column {
  NVTXA__KERNEL_DURATION,
  NVTXA__KERNEL_INSTANCES,
  NVTXA__KERNEL_NAME,
};

/* Of the trace of GPU operations. */
enum nvtxa__operation_column {
  NVTXA__OPERATION_DURATION,
  NVTXA__OPERATION_GRID,
  NVTXA__OPERATION_BYTES,
  NVTXA__OPERATION_SOURCE,
  NVTXA__OPERATION_DESTINATION,
  NVTXA__OPERATION_NAME,
};

enum { NVTXA__REPORT_COLUMNS = NVTXA__GPU_COLUMNS }; /* of any, at most */

/* What reading needs to know of a report. It is the same for all threads. */
typedef struct nvtxa__report {
  nvtxa_report kind;
  const char *shown; /* file name for errors */
  int fd;            /* -1: the text is in memory */
  const char *text;
  uint64_t size; /* of the text, in bytes */
  const nvtxa_hooks *hooks;
  uint64_t begin;                     /* of the rows: behind the header */
  uint64_t line;                      /* there */
  const nvtxa__known_column *columns; /* those needed */
  size_t column_count;
  size_t place[NVTXA__REPORT_COLUMNS];    /* where each needed column stands in a record */
  size_t integers[NVTXA__REPORT_COLUMNS]; /* those of them that hold integers */
  size_t integer_count;
  nvtxa__csv_layout layout;
} nvtxa__report;

/* Find the needed columns in a header; `header` is its text. */
nvtxa_status nvtxa__columns_map(nvtxa__report *report, const nvtxa__csv_record *record,
                                nvtxa_text header, nvtxa_error **reterr);

/* Open a file. nvtxa__report_close() is due in any case. */
nvtxa_status nvtxa__report_open(nvtxa__report *report, const char *path, nvtxa_report kind,
                                const nvtxa_hooks *hooks, nvtxa_error **reterr);

/* Read the header, if the report is not empty altogether: then there are no rows either. */
nvtxa_status nvtxa__report_begin(nvtxa__report *report, nvtxa_quoting quoting,
                                 const nvtxa_hooks *hooks, nvtxa_error **reterr);

/* All was read; what is still being written is no report yet. */
nvtxa_status nvtxa__report_end(const nvtxa__report *report, nvtxa_error **reterr);
void nvtxa__report_close(nvtxa__report *report);

/* ---- records (cursor.c) ---- */

/* A place in a report's text, and the record that stands there. */
typedef struct nvtxa__cursor {
  const nvtxa__report *report;
  size_t longest; /* record, in bytes, for which to read on */
  uint64_t line;  /* of what is at `start` */
  nvtxa__csv_record record;
  bool is_line; /* it is a line without quotes, found by its marks */

  /* A window of the text. */
  const char *data;
  char *window; /* where the text is in a file: `data` */
  size_t capacity;
  uint64_t offset; /* in the text, of `data` */
  size_t start;    /* of what is not read yet */
  size_t filled;

  /* Separators from `marked` on. */
  nvtxa__scan_fn scan;
  uint32_t *marks;
  size_t mark_count;
  size_t next_mark;
  size_t marked;
} nvtxa__cursor;

enum { NVTXA__LONGEST_RECORD = 64 << 20 }; /* named in ranges.h */

void nvtxa__cursor_init(nvtxa__cursor *cursor);
void nvtxa__cursor_free(nvtxa__cursor *cursor);

/* Go to a place in a report, to read records of up to `longest` bytes from there. */
void nvtxa__cursor_go(nvtxa__cursor *cursor, const nvtxa__report *report, uint64_t offset,
                      uint64_t line, size_t longest);
static inline uint64_t nvtxa__cursor_offset(const nvtxa__cursor *cursor) {
  return cursor->offset + cursor->start;
}

/* Step over the byte-order mark, if there is one. */
nvtxa_status nvtxa__cursor_skip_bom(nvtxa__cursor *cursor, nvtxa_error **reterr);

/* Go on to where a line begins. */
nvtxa_status nvtxa__cursor_to_line(nvtxa__cursor *cursor, nvtxa_error **reterr);

/* Read the record here. *ret_done: there is none, the text ends. A header is read before its
 * columns are known. */
nvtxa_status nvtxa__cursor_read(nvtxa__cursor *cursor, bool *ret_done, nvtxa_error **reterr);
nvtxa_status nvtxa__cursor_read_header(nvtxa__cursor *cursor, bool *ret_done, nvtxa_error **reterr);

/* Step over the record that was read. */
void nvtxa__cursor_advance(nvtxa__cursor *cursor);

/* An error at the record here. `field` and `hint` may be NULL. */
nvtxa_status nvtxa__cursor_fail(const nvtxa__cursor *cursor, nvtxa_status status, const char *field,
                                const char *hint, nvtxa_error **reterr, const char *format, ...)
    NVTXA__PRINTF(6, 7);

extern const char nvtxa__damaged[]; /* a hint: the report is damaged */

/* ---- rows (rows.c) ---- */

/* What a record says. Its texts point into the cursor. */
typedef struct nvtxa__said {
  nvtxa__builder_row *row; /* the caller's; gets all but the numbers of the texts */
  nvtxa_text name;
  nvtxa_text style;
  bool unattributed; /* GPU work outside every range: only `outside` counts */
  nvtxa__unattributed outside;
} nvtxa__said;

nvtxa_status nvtxa__row_read(const nvtxa__cursor *cursor, nvtxa__said *said, nvtxa_error **reterr);

/* What a record says of GPU work: of kernels of one name, or of one transfer or set. */
typedef struct nvtxa__said_work {
  bool elsewhere; /* a kernel in the trace: nothing counts, since the summary has it */
  nvtxa_gpu_kind kind;
  nvtxa_text first; /* as nvtxa__gpu_label_of() takes them */
  nvtxa_text second;
  nvtxa__gpu_sum sum;
} nvtxa__said_work;

nvtxa_status nvtxa__work_row_read(const nvtxa__cursor *cursor, nvtxa__said_work *said,
                                  nvtxa_error **reterr);

/* An error about a cell of the record: what it holds, and then `what`. */
nvtxa_status nvtxa__cell_fail(const nvtxa__cursor *cursor, nvtxa_status status, size_t column,
                              const char *what, nvtxa_error **reterr);

/* ---- threads (feed.c) ---- */

/* A report and the table that is made of it. */
typedef struct nvtxa__feed {
  nvtxa__report report;
  nvtxa_ranges_builder *builder;
  nvtxa_ranges *ranges; /* the table, once it is done */
  nvtxa_status status;
  nvtxa_error *error;
} nvtxa__feed;

/* How to divide the work; what comes of it is the same for every value. */
typedef struct nvtxa__division {
  size_t thread_count; /* 0: as many as there are processors, up to a limit */
  size_t part_size;    /* bytes of text that a thread takes at a time; 0: the default */
} nvtxa__division;

/* Read the reports to their ends, and finish their tables. `activity` is shown as it goes. The
 * status and the error of each are its own. */
nvtxa_status nvtxa__feeds_read(nvtxa__feed *feeds, size_t count, nvtxa__division division,
                               nvtxa__activity *activity, nvtxa_error **reterr);

/* ---- GPU work from reports (gpu-reports.c) ---- */

/* The kernels of one report and the transfers and sets of another. The reports are open, or in
 * memory, and the caller closes them. */
nvtxa_status nvtxa__gpu_reports_read(nvtxa__report *kern_sum, nvtxa__report *gpu_trace,
                                     nvtxa_quoting quoting, const nvtxa_hooks *hooks,
                                     nvtxa_gpu_work **ret_work, nvtxa_error **reterr);

/* The same, of files. */
nvtxa_status nvtxa__gpu_report_files_read(const char *kern_sum_path, const char *gpu_trace_path,
                                          nvtxa_quoting quoting, const nvtxa_hooks *hooks,
                                          nvtxa_gpu_work **ret_work, nvtxa_error **reterr);

/* ---- tables from reports (report.c) ---- */

/* What the caller wants. */
nvtxa__division nvtxa__division_of(const nvtxa_ranges_options *options);

/* Make a table of each report, and close them. */
nvtxa_status nvtxa__reports_read(nvtxa__feed *feeds, size_t count,
                                 const nvtxa_ranges_options *options, nvtxa__division division,
                                 nvtxa_ranges *ret_ranges[], nvtxa_error **reterr);

#endif
