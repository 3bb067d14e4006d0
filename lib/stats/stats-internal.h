/*
 * Reports as text: cells put one by one into blocks in the chosen format (cells.c). Each report is
 * a description with a function that puts its rows: those of ranges (range-traces.c, with levels
 * and stacks from lines.c). stats.c writes any of them.
 */
#ifndef NVTXA_STATS_INTERNAL_H
#define NVTXA_STATS_INTERNAL_H

#include <string.h>

#include <nvtxa/stats.h>

#include "export/export-internal.h"
#include "gpu/gpu-internal.h"
#include "ranges/ranges-internal.h"

/* ---- numbers ---- */

#define NVTXA__DIGITS 20 /* of any 64-bit integer, sign included */

extern const char nvtxa__digit_pairs[201]; /* "00" to "99" */

static inline size_t nvtxa__count_digits(uint64_t value) {
  size_t digits = 1;
  while (value >= 10000) {
    value /= 10000;
    digits += 4;
  }
  return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* Write a number. Returns how many characters it took, at most NVTXA__DIGITS. */
static inline size_t nvtxa__put_integer(char *out, int64_t value) {
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  size_t length = nvtxa__count_digits(rest) + (value < 0);
  char *at = out + length;
  *out = '-';
  while (rest >= 100) {
    at -= 2;
    memcpy(at, nvtxa__digit_pairs + rest % 100 * 2, 2);
    rest /= 100;
  }
  if (rest >= 10) {
    memcpy(at - 2, nvtxa__digit_pairs + rest * 2, 2);
  } else {
    at[-1] = (char)('0' + rest);
  }
  return length;
}

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

#endif
