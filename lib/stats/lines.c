/* What a report shows of a row's ancestors: how many there are, and which. */
#include <stdlib.h>
#include <string.h>

#include "stats-internal.h"

#define UNKNOWN_LEVEL UINT32_MAX

/* Count up to an ancestor whose level is known, then hand the levels down the same way. A row may
 * stand before its parent. */
static void find_level(nvtxa__lines *lines, uint32_t row) {
  size_t count = lines->ranges->count;
  uint32_t steps = 0;
  uint32_t known = row;
  while (known < count && lines->level[known] == UNKNOWN_LEVEL) {
    known = nvtxa__range_parent(lines->ranges, known);
    steps++;
  }
  uint32_t level = (known < count ? lines->level[known] + 1 : 0) + steps;
  for (uint32_t r = row; r != known && r < count; r = nvtxa__range_parent(lines->ranges, r)) {
    lines->level[r] = --level;
  }
}

int nvtxa__lines_make(nvtxa__lines *lines, const nvtxa_ranges *ranges) {
  size_t count = ranges->count;
  uint32_t deepest = 0;
  *lines = (nvtxa__lines){
      .ranges = ranges,
      .level = nvtxa__alloc(count + 1, sizeof *lines->level),
      .child_count = nvtxa__alloc_zero(count + 1, sizeof *lines->child_count),
  };
  if (lines->level == NULL || lines->child_count == NULL) {
    return -1;
  }
  memset(lines->level, 0xFF, count * sizeof *lines->level); /* UNKNOWN_LEVEL */
  for (size_t row = 0; row < count; row++) {
    find_level(lines, (uint32_t)row);
    deepest = lines->level[row] > deepest ? lines->level[row] : deepest;
    uint32_t parent = nvtxa__range_parent(ranges, row);
    if (parent < count) {
      lines->child_count[parent]++;
    }
  }
  lines->rows = nvtxa__alloc((size_t)deepest + 1, sizeof *lines->rows);
  lines->ends = nvtxa__alloc((size_t)deepest + 1, sizeof *lines->ends);
  return lines->rows == NULL || lines->ends == NULL ? -1 : 0;
}

void nvtxa__lines_free(nvtxa__lines *lines) {
  free(lines->level);
  free(lines->child_count);
  free(lines->rows);
  free(lines->ends);
  nvtxa__buffer_free(&lines->text);
}

/* Add a row's id at `level` of the line. 0 or -1. */
static int add(nvtxa__lines *lines, size_t level) {
  char part[NVTXA__DIGITS + 1] = ":";
  size_t length =
      1 + nvtxa__put_integer(part + 1, nvtxa__range_id(lines->ranges, lines->rows[level]));
  if (nvtxa__buffer_add(&lines->text, part, length) != 0) {
    return -1;
  }
  lines->ends[level] = lines->text.length;
  return 0;
}

nvtxa_text nvtxa__lines_stack(nvtxa__lines *lines, uint32_t row) {
  size_t level = (size_t)lines->level[row] + 1;
  size_t kept = 0;
  /* Rows of one thread follow one another down and up: as a rule the parent is still there. */
  for (uint32_t r = row; level > 0; r = nvtxa__range_parent(lines->ranges, r)) {
    level--;
    if (level < lines->depth && lines->rows[level] == r) {
      kept = level + 1;
      break;
    }
    lines->rows[level] = r;
  }
  lines->text.length = kept == 0 ? 0 : lines->ends[kept - 1];
  lines->depth = (size_t)lines->level[row] + 1;
  for (level = kept; level < lines->depth; level++) {
    if (add(lines, level) != 0) {
      lines->depth = 0;
      return (nvtxa_text){NULL, 0};
    }
  }
  return (nvtxa_text){lines->text.data, lines->text.length};
}
