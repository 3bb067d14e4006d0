/*
 * Columns of integers in little room. Times, ids and names of neighbouring rows differ by little: a
 * block of values is kept as its lowest one and the distances from it, each in as many bytes as the
 * largest of them takes. A value is found in one step all the same, wherever it stands.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base-internal.h"

/* What the blocks of some columns are taken from. */
struct nvtxa__pool {
  nvtxa__arena arena;
  size_t users; /* columns: of one object, so that one thread at a time counts them */
};

int nvtxa__packed_together(nvtxa__packed *const columns[], size_t count) {
  struct nvtxa__pool *pool = calloc(1, sizeof *pool);
  if (pool == NULL) {
    return -1;
  }
  pool->users = count;
  for (size_t i = 0; i < count; i++) {
    columns[i]->pool = pool;
  }
  return 0;
}

static size_t bytes_for(uint64_t distance) {
  size_t width = 0;
  while (distance >> (8 * width) != 0) {
    width++;
    if (width == sizeof distance) {
      break;
    }
  }
  return width;
}

/* Four lanes, so that one comparison need not wait for the other. */
static void find_span(const int64_t *values, size_t count, int64_t *ret_lowest,
                      int64_t *ret_highest) {
  enum { LANES = 4 };
  int64_t lowest[LANES];
  int64_t highest[LANES];
  for (size_t lane = 0; lane < LANES; lane++) {
    lowest[lane] = highest[lane] = values[0];
  }
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (size_t lane = 0; lane < LANES; lane++) {
      int64_t value = values[i + lane];
      lowest[lane] = value < lowest[lane] ? value : lowest[lane];
      highest[lane] = value > highest[lane] ? value : highest[lane];
    }
  }
  for (; i < count; i++) {
    lowest[0] = values[i] < lowest[0] ? values[i] : lowest[0];
    highest[0] = values[i] > highest[0] ? values[i] : highest[0];
  }
  for (size_t lane = 1; lane < LANES; lane++) {
    lowest[0] = lowest[lane] < lowest[0] ? lowest[lane] : lowest[0];
    highest[0] = highest[lane] > highest[0] ? highest[lane] : highest[0];
  }
  *ret_lowest = lowest[0];
  *ret_highest = highest[0];
}

static inline void write_values(unsigned char *bytes, size_t width, const int64_t *values,
                                size_t count, uint64_t lowest) {
  for (size_t i = 0; i < count; i++) {
    uint64_t distance = htole64((uint64_t)values[i] - lowest);
    memcpy(bytes + i * width, &distance, sizeof distance);
  }
}

/* The distances of values from the lowest, `width` bytes each; up to seven bytes more are written.
 * The usual widths are constants to the compiler. */
static void write_block(unsigned char *bytes, size_t width, const int64_t *values, size_t count,
                        uint64_t lowest) {
  switch (width) {
    case 0:
      memset(bytes, 0, sizeof(uint64_t));
      break;
    case 1:
      write_values(bytes, 1, values, count, lowest);
      break;
    case 2:
      write_values(bytes, 2, values, count, lowest);
      break;
    case 3:
      write_values(bytes, 3, values, count, lowest);
      break;
    default:
      write_values(bytes, width, values, count, lowest);
      break;
  }
}

/* Pack the first `count` values of the block in the making. 0 or -1. */
static int close_block(nvtxa__packed *column, size_t count) {
  nvtxa__packed *alone[] = {column};
  size_t number = (column->count - 1) / NVTXA__PACKED_ROWS;
  int64_t lowest;
  int64_t highest;
  if ((column->pool == NULL && nvtxa__packed_together(alone, 1) != 0) ||
      nvtxa__reserve(&column->blocks, &column->block_capacity, number + 1,
                     sizeof *column->blocks) != 0) {
    return -1;
  }
  find_span(column->open, count, &lowest, &highest);
  size_t width = bytes_for((uint64_t)highest - (uint64_t)lowest);
  /* A value is read as eight bytes, and those behind it masked out. */
  unsigned char *bytes = nvtxa__arena_alloc(&column->pool->arena, count * width + sizeof(uint64_t));
  if (bytes == NULL) {
    return -1;
  }
  write_block(bytes, width, column->open, count, (uint64_t)lowest);
  column->blocks[number] = (nvtxa__packed_block){
      .lowest = (uint64_t)lowest,
      .mask = width == sizeof(uint64_t) ? UINT64_MAX : ((uint64_t)1 << (8 * width)) - 1,
      .bytes = bytes,
      .width = width,
  };
  return 0;
}

int nvtxa__packed_add_slowly(nvtxa__packed *column, int64_t value) {
  size_t place = column->count % NVTXA__PACKED_ROWS;
  if (column->open == NULL) {
    column->open = malloc(NVTXA__PACKED_ROWS * sizeof *column->open);
    if (column->open == NULL) {
      return -1;
    }
  }
  column->open[place] = value;
  column->count++;
  return place + 1 < NVTXA__PACKED_ROWS ? 0 : close_block(column, NVTXA__PACKED_ROWS);
}

int nvtxa__packed_finish(nvtxa__packed *column) {
  size_t rest = column->count % NVTXA__PACKED_ROWS;
  int result = rest == 0 || column->open == NULL ? 0 : close_block(column, rest);
  free(column->open);
  column->open = NULL;
  return result;
}

void nvtxa__packed_free(nvtxa__packed *column) {
  free(column->blocks);
  free(column->open);
  if (column->pool != NULL && --column->pool->users == 0) {
    nvtxa__arena_free(&column->pool->arena);
    free(column->pool);
  }
  *column = (nvtxa__packed){0};
}

int nvtxa__packed_pick(nvtxa__packed *column, const nvtxa__packed *from, const uint32_t *rows,
                       size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (nvtxa__packed_add(column, nvtxa__packed_get(from, rows[i])) != 0) {
      return -1;
    }
  }
  return nvtxa__packed_finish(column);
}
