/*
 * A hash table of small numbers. What a number stands for, its hash and what it equals are known to
 * the owner alone; here is only where each is found. Open addressing, at most half full.
 */
#include <stdlib.h>

#include "base-internal.h"

int nvtxa__table_grow(nvtxa__table *table, size_t items, nvtxa__table_hash_fn hash,
                      const void *owner) {
  size_t slot_count = table->slot_count == 0 ? 64 : table->slot_count;
  while (slot_count < items * 2) {
    slot_count *= 2;
  }
  nvtxa__table grown = {nvtxa__alloc_zero(slot_count, sizeof *grown.slots), slot_count};
  if (grown.slots == NULL) {
    return -1;
  }
  for (size_t old = 0; old < table->slot_count; old++) {
    if (table->slots[old] != 0) {
      uint32_t item = table->slots[old] - 1;
      size_t slot;
      uint32_t other = nvtxa__table_first(&grown, hash(owner, item), &slot);
      while (other != NVTXA__NO_ITEM) {
        other = nvtxa__table_next(&grown, &slot);
      }
      nvtxa__table_put(&grown, slot, item);
    }
  }
  free(table->slots);
  *table = grown;
  return 0;
}

void nvtxa__table_free(nvtxa__table *table) {
  free(table->slots);
  *table = (nvtxa__table){0};
}
