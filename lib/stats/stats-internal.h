/*
 * Reports as text: cells put one by one into blocks in the chosen format (cells.c). Each report is
 * a description with a function that puts its rows: those of ranges (range-traces.c, with levels
 * and stacks from lines.c), of kernels by name (kernels.c) and by range (range-kernels.c, with the
 * ranges around a call from enclosing.c), both in numbers from tally.c, and of GPU operations
 * (gpu-trace.c). stats.c writes any of them.
 */
#ifndef NVTXA_STATS_INTERNAL_H
#define NVTXA_STATS_INTERNAL_H

#include <string.h>

#include <nvtxa/stats.h>

#include "export/export-internal.h"
#include "gpu/gpu-internal.h"
#include "ranges/ranges-internal.h"

/* ---- cells.c ---- */

enum { NVTXA__BLOCK = 1 << 18, NVTXA__CELL_ROOM = 64 };

typedef struct nvtxa__cells {
  nvtxa_stats_format format;
  const char *const *columns; /* of a row, for JSON */
  char separator;
  nvtxa_stats_write_fn write;
  void *user;
  const nvtxa_hooks *hooks;
  char *block;
  size_t used;
  size_t column; /* the next one */
  bool any_row;
  nvtxa_status status;
  int errnum; /* that `write` gave */
} nvtxa__cells;

/* Begin a report with the header. nvtxa__cells_end() is due whatever comes of it; what goes wrong
 * is seen in `status`, and nothing is written from then on. */
void nvtxa__cells_begin(nvtxa__cells *cells, const char *const *columns, size_t count);
void nvtxa__cells_end(nvtxa__cells *cells);

/* One cell after the other, from the first column of a row to the last. */
void nvtxa__cell_begin(nvtxa__cells *cells);
void nvtxa__cells_flush(nvtxa__cells *cells);

static inline void nvtxa__cell_integer(nvtxa__cells *cells, int64_t value) {
  if (cells->format == NVTXA_STATS_JSON) {
    nvtxa__cell_begin(cells);
  }
  if (cells->used > NVTXA__BLOCK - NVTXA__CELL_ROOM) {
    nvtxa__cells_flush(cells);
  }
  char *out = cells->block + cells->used;
  if (cells->format != NVTXA_STATS_JSON) {
    *out = cells->separator;
    out += cells->column > 0;
    cells->column++;
  }
  out += nvtxa__put_integer(out, value);
  cells->used = (size_t)(out - cells->block);
}

/* A number >= 0 with one decimal or with three, whatever the locale. As nsys has it, tenths are
 * rounded half up, where a half that a double cannot hold is a half all the same, and thousandths
 * as printf() does. */
void nvtxa__cell_tenths(nvtxa__cells *cells, double value);
void nvtxa__cell_thousandths(nvtxa__cells *cells, double value);

void nvtxa__cell_empty(nvtxa__cells *cells);
void nvtxa__cell_plain(nvtxa__cells *cells, const char *data, size_t length); /* never quoted */
/* Any text, behind `dashes` times "--". */
void nvtxa__cell_text(nvtxa__cells *cells, nvtxa_text text, bool quoted, size_t dashes);
void nvtxa__cells_end_row(nvtxa__cells *cells);

/* Whether a text must stand in quotes. */
bool nvtxa__cell_is_quoted(const nvtxa__cells *cells, nvtxa_text text);

/* ---- reports ---- */

/* What a table must have to be written as a report. */
typedef enum nvtxa__stats_need {
  NVTXA__NEEDS_HOST_RANGES,
  NVTXA__NEEDS_GPU_RANGES,
  NVTXA__NEEDS_OPERATIONS, /* those, and GPU work with single operations */
  NVTXA__NEEDS_CELLS       /* that, and its cells */
} nvtxa__stats_need;

typedef struct nvtxa__stats_report {
  const char *const *columns;
  size_t column_count;
  nvtxa__stats_need need;
  /* Puts the rows. What goes wrong with the cells is seen in their status; anything else is what
   * it returns. */
  nvtxa_status (*put)(nvtxa__cells *cells, const nvtxa_ranges *ranges, nvtxa_error **reterr);
} nvtxa__stats_report;

extern const nvtxa__stats_report nvtxa__pushpop_trace;  /* range-traces.c */
extern const nvtxa__stats_report nvtxa__gpu_proj_trace; /* range-traces.c */
extern const nvtxa__stats_report nvtxa__cuda_gpu_kern_sum;
extern const nvtxa__stats_report nvtxa__cuda_gpu_trace;
extern const nvtxa__stats_report nvtxa__nvtx_kern_sum;

/* ---- lines.c ---- */

/* Of the rows of a table. */
typedef struct nvtxa__lines {
  const nvtxa_ranges *ranges;
  uint32_t *level;       /* ancestors in the table */
  uint32_t *child_count; /* direct children in the table */
  /* The line of ancestors of the last row that was asked for, outermost first. */
  uint32_t *rows;
  size_t *ends; /* of each one's part in `text` */
  size_t depth;
  nvtxa__buffer text; /* ":1:4:7" */
} nvtxa__lines;

int nvtxa__lines_make(nvtxa__lines *lines, const nvtxa_ranges *ranges); /* 0 or -1 */
void nvtxa__lines_free(nvtxa__lines *lines);

/* The range ids from the outermost ancestor to the row, each behind a colon. Valid until the next
 * call. No text: out of memory. */
nvtxa_text nvtxa__lines_stack(nvtxa__lines *lines, uint32_t row);

/* ---- tally.c ---- */

/* Durations in numbers, without keeping them: they are counted in any order, and then, when there
 * are no more of them, added again, the shortest first. */
typedef struct nvtxa__tally {
  uint64_t count;
  int64_t total_ns;
  /* Of those that were added: */
  uint64_t added;
  int64_t minimum_ns;
  int64_t lower_ns; /* the middle one, or the two */
  int64_t upper_ns;
  int64_t maximum_ns;
  nvtxa__spread spread;
} nvtxa__tally;

bool nvtxa__tally_count(nvtxa__tally *tally, int64_t duration_ns); /* whether the total fits */
void nvtxa__tally_add(nvtxa__tally *tally, int64_t duration_ns);

/* Their mean, median, minimum, maximum and deviation, a cell each; there must be one at least. */
void nvtxa__cells_put_tally(nvtxa__cells *cells, const nvtxa__tally *tally);
#define NVTXA__TALLY_COLUMNS "Avg (ns)", "Med (ns)", "Min (ns)", "Max (ns)", "StdDev (ns)"

/* ---- kernels.c ---- */

typedef struct nvtxa__kernel {
  int64_t duration_ns;
  uint32_t operation;
} nvtxa__kernel;

/* The kernels of GPU work by label, which is by name; those of one label the shortest first. */
typedef struct nvtxa__kernels {
  nvtxa__kernel *items;
  size_t *first; /* by label: where its kernels begin; those of other labels have none */
} nvtxa__kernels;

int nvtxa__kernels_make(nvtxa__kernels *kernels, const nvtxa_gpu_work *work); /* 0 or -1 */
void nvtxa__kernels_free(nvtxa__kernels *kernels);

/* ---- enclosing.c ---- */

/* A range of a thread whose ranges overlap, as a node of a tree. */
typedef struct nvtxa__range_node {
  int64_t start_ns;
  int64_t end_ns;
  int64_t latest_ns; /* the last end in the tree below it, itself included */
  uint32_t row;
} nvtxa__range_node;

/* Which rows of a table of GPU-projected ranges enclose a call that launched something. */
typedef struct nvtxa__enclosing {
  const nvtxa_ranges *ranges;
  nvtxa__shares rows;       /* of the threads whose ranges overlap */
  nvtxa__range_node *nodes; /* of those, one by one */
} nvtxa__enclosing;

typedef bool (*nvtxa__visit_fn)(void *user, uint32_t row); /* whether to go on */

/* The table must have GPU work. 0 or -1; nvtxa__enclosing_free() is due whatever comes of it. */
int nvtxa__enclosing_make(nvtxa__enclosing *enclosing, const nvtxa_ranges *ranges);
void nvtxa__enclosing_free(nvtxa__enclosing *enclosing);

/* Visit each range around a call, in any order. Takes logarithmic time for each. Whether all were
 * visited. */
bool nvtxa__enclosing_visit(const nvtxa__enclosing *enclosing, uint32_t call, nvtxa__visit_fn visit,
                            void *user);

#endif
