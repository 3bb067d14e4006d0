/* Small numbers for the serialized ids of threads, so that columns hold those. */
#include <stdlib.h>

#include "sqlite-internal.h"

static uint64_t hash_number(const void *owner, uint32_t number) {
  return nvtxa__hash(&((const nvtxa__numbering *)owner)->ids[number], sizeof(int64_t));
}

static uint32_t find_number(const nvtxa__numbering *numbering, int64_t id, size_t *slot) {
  uint32_t number = nvtxa__table_first(&numbering->table, nvtxa__hash(&id, sizeof id), slot);
  while (number != NVTXA__NO_ITEM && numbering->ids[number] != id) {
    number = nvtxa__table_next(&numbering->table, slot);
  }
  return number;
}

int nvtxa__number(nvtxa__numbering *numbering, int64_t id, uint32_t *ret) {
  size_t slot;
  if (numbering->count > 0 && numbering->ids[numbering->last] == id) {
    *ret = numbering->last;
    return 0;
  }
  if (nvtxa__table_reserve(&numbering->table, numbering->count + 1, hash_number, numbering) != 0) {
    return -1;
  }
  uint32_t number = find_number(numbering, id, &slot);
  if (number == NVTXA__NO_ITEM) {
    if (nvtxa__reserve(&numbering->ids, &numbering->capacity, numbering->count + 1,
                       sizeof *numbering->ids) != 0) {
      return -1;
    }
    number = (uint32_t)numbering->count++;
    numbering->ids[number] = id;
    nvtxa__table_put(&numbering->table, slot, number);
  }
  numbering->last = number;
  *ret = number;
  return 0;
}

uint32_t nvtxa__number_of(nvtxa__numbering *numbering, int64_t id) {
  size_t slot;
  if (numbering->count == 0 || numbering->ids[numbering->last] == id) {
    return numbering->count == 0 ? NVTXA__NO_ITEM : numbering->last;
  }
  return find_number(numbering, id, &slot);
}

void nvtxa__numbering_free(nvtxa__numbering *numbering) {
  free(numbering->ids);
  nvtxa__table_free(&numbering->table);
}
