/*
 * Interning: a table of distinct texts, each kept once and known by a small number, so that the
 * rest of the library compares names by number.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base-internal.h"

uint64_t nvtxa__hash(const void *data, size_t length) {
  return XXH3_64bits(data, length);
}

static uint64_t hash_id(const void *owner, uint32_t id) {
  return ((const nvtxa__intern *)owner)->hashes[id];
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
      nvtxa__table_reserve(&intern->table, intern->count + 1, hash_id, intern) != 0 ||
      (intern->count == intern->capacity && grow_texts(intern) != 0)) {
    return -1;
  }
  uint64_t hash = nvtxa__hash(data, length);
  size_t slot;
  uint32_t id = nvtxa__table_first(&intern->table, hash, &slot);
  for (; id != NVTXA__NO_ITEM; id = nvtxa__table_next(&intern->table, &slot)) {
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
  id = (uint32_t)intern->count++;
  intern->texts[id] = (nvtxa_text){copy, length};
  intern->hashes[id] = hash;
  nvtxa__table_put(&intern->table, slot, id);
  *ret_id = id;
  return 0;
}

void nvtxa__intern_free(nvtxa__intern *intern) {
  free(intern->texts);
  free(intern->hashes);
  nvtxa__table_free(&intern->table);
  nvtxa__arena_free(&intern->arena);
  *intern = (nvtxa__intern){0};
}
