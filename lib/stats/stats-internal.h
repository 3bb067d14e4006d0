/*
 * Reports as text: cells put one by one into blocks in the chosen format (cells.c), and what a
 * table does not hold but a report shows, such as levels and stacks (lines.c). stats.c puts the
 * columns of the reports together.
 */
#ifndef NVTXA_STATS_INTERNAL_H
#define NVTXA_STATS_INTERNAL_H

#include <string.h>

#include <nvtxa/stats.h>

#include "export/export-internal.h"
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

void nvtxa__cell_empty(nvtxa__cells *cells);
void nvtxa__cell_plain(nvtxa__cells *cells, const char *data, size_t length); /* never quoted */
/* Any text, behind `dashes` times "--". */
void nvtxa__cell_text(nvtxa__cells *cells, nvtxa_text text, bool quoted, size_t dashes);
void nvtxa__cells_end_row(nvtxa__cells *cells);

/* Whether a text must stand in quotes. */
bool nvtxa__cell_is_quoted(const nvtxa__cells *cells, nvtxa_text text);

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
