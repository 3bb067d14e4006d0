/*
 * Interning: a table of distinct texts, each kept once and known by a small number, so that the
 * rest of the library compares names by number. Open addressing, at most two thirds full.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base-internal.h"

uint64_t nvtxa__hash(const void *data, size_t length) {
  return XXH3_64bits(data, length);
}

static int grow_slots(nvtxa__intern *intern) {
  size_t count = intern->slot_count == 0 ? 64 : intern->slot_count * 2;
  uint32_t *slots = calloc(count, sizeof *slots);
  if (slots == NULL) {
    return -1;
  }
  for (size_t id = 0; id < intern->count; id++) {
    size_t slot = intern->hashes[id] & (count - 1);
    while (slots[slot] != 0) {
      slot = (slot + 1) & (count - 1);
    }
    slots[slot] = (uint32_t)id + 1;
  }
  free(intern->slots);
  intern->slots = slots;
  intern->slot_count = count;
  return 0;
}

static int grow_texts(nvtxa__intern *intern) {
  size_t capacity = intern->capacity;
  if (nvtxa__reserve(&intern->texts, &capacity, intern->count + 1, sizeof *intern->texts) != 0) {
    return -1;
  }
  uint64_t *hashes = realloc(intern->hashes, capacity * sizeof *hashes);
  if (hashes == NULL) {
    return -1;
  }
  intern->hashes = hashes;
  intern->capacity = capacity;
  return 0;
}

int nvtxa__intern_add(nvtxa__intern *intern, const char *data, size_t length, uint32_t *ret_id) {
  if (intern->count + 1 >= UINT32_MAX ||
      (intern->count * 3 >= intern->slot_count * 2 && grow_slots(intern) != 0) ||
      (intern->count == intern->capacity && grow_texts(intern) != 0)) {
    return -1;
  }
  uint64_t hash = nvtxa__hash(data, length);
  size_t slot = hash & (intern->slot_count - 1);
  for (; intern->slots[slot] != 0; slot = (slot + 1) & (intern->slot_count - 1)) {
    uint32_t id = intern->slots[slot] - 1;
    if (intern->hashes[id] == hash &&
        nvtxa__text_equal(intern->texts[id], (nvtxa_text){data, length})) {
      *ret_id = id;
      return 0;
    }
  }
  char *copy = nvtxa__arena_copy(&intern->arena, data, length);
  if (copy == NULL) {
    return -1;
  }
  uint32_t id = (uint32_t)intern->count++;
  intern->texts[id] = (nvtxa_text){copy, length};
  intern->hashes[id] = hash;
  intern->slots[slot] = id + 1;
  *ret_id = id;
  return 0;
}

void nvtxa__intern_free(nvtxa__intern *intern) {
  free(intern->texts);
  free(intern->hashes);
  free(intern->slots);
  nvtxa__arena_free(&intern->arena);
  *intern = (nvtxa__intern){0};
}
