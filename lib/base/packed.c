/*
 * Columns of integers in little room. Times, ids and names of neighbouring rows differ by little: a
 * block of values is kept as its lowest one and the distances from it, each in as many bytes as the
 * largest of them takes. A value is found in one step all the same, wherever it stands.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base-internal.h"

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

/* Pack the first `count` values of the block in the making. 0 or -1. */
static int close_block(nvtxa__packed *column, size_t count) {
  size_t number = (column->count - 1) / NVTXA__PACKED_ROWS;
  int64_t lowest = column->open[0];
  int64_t highest = column->open[0];
  if (nvtxa__reserve(&column->blocks, &column->block_capacity, number + 1,
                     sizeof *column->blocks) != 0) {
    return -1;
  }
  for (size_t i = 1; i < count; i++) {
    lowest = column->open[i] < lowest ? column->open[i] : lowest;
    highest = column->open[i] > highest ? column->open[i] : highest;
  }
  size_t width = bytes_for((uint64_t)highest - (uint64_t)lowest);
  /* A value is read as eight bytes, and those behind it masked out. */
  unsigned char *bytes = nvtxa__arena_alloc(&column->arena, count * width + sizeof(uint64_t));
  if (bytes == NULL) {
    return -1;
  }
  memset(bytes, 0, sizeof(uint64_t));
  for (size_t i = 0; i < count && width > 0; i++) {
    uint64_t distance = htole64((uint64_t)column->open[i] - (uint64_t)lowest);
    memcpy(bytes + i * width, &distance, sizeof distance);
  }
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
  int result = rest == 0 ? 0 : close_block(column, rest);
  free(column->open);
  column->open = NULL;
  return result;
}

void nvtxa__packed_free(nvtxa__packed *column) {
  free(column->blocks);
  free(column->open);
  nvtxa__arena_free(&column->arena);
  *column = (nvtxa__packed){0};
}

int nvtxa__packed_pick(nvtxa__packed *ret, const nvtxa__packed *from, const uint32_t *rows,
                       size_t count) {
  *ret = (nvtxa__packed){0};
  for (size_t i = 0; i < count; i++) {
    if (nvtxa__packed_add(ret, nvtxa__packed_get(from, rows[i])) != 0) {
      return -1;
    }
  }
  return nvtxa__packed_finish(ret);
}
