/* Scopes: tuples of names, kept as a tree so that each is one small number. */
#include <stdlib.h>

#include "analysis-internal.h"

nvtxa_text nvtxa__normalized(nvtxa_text name) {
  bool colon = name.length > 0 && name.data[0] == ':';
  return (nvtxa_text){name.data + colon, name.length - colon};
}

static size_t hash_scope(uint32_t parent, uint32_t name) {
  uint32_t key[2] = {parent, name};
  return nvtxa__hash(key, sizeof key);
}

static int grow_slots(nvtxa__scopes *scopes) {
  size_t count = scopes->slot_count == 0 ? 64 : scopes->slot_count * 2;
  uint32_t *slots = calloc(count, sizeof *slots);
  if (slots == NULL) {
    return -1;
  }
  for (size_t scope = 0; scope < scopes->count; scope++) {
    size_t slot = hash_scope(scopes->items[scope].parent, scopes->items[scope].name) & (count - 1);
    while (slots[slot] != 0) {
      slot = (slot + 1) & (count - 1);
    }
    slots[slot] = (uint32_t)scope + 1;
  }
  free(scopes->slots);
  scopes->slots = slots;
  scopes->slot_count = count;
  return 0;
}

int nvtxa__scope_add(nvtxa__scopes *scopes, uint32_t parent, uint32_t name, uint32_t *ret_scope) {
  if (scopes->count * 2 >= scopes->slot_count && grow_slots(scopes) != 0) {
    return -1;
  }
  size_t mask = scopes->slot_count - 1;
  size_t slot = hash_scope(parent, name) & mask;
  for (; scopes->slots[slot] != 0; slot = (slot + 1) & mask) {
    uint32_t scope = scopes->slots[slot] - 1;
    if (scopes->items[scope].parent == parent && scopes->items[scope].name == name) {
      *ret_scope = scope;
      return 0;
    }
  }
  if (nvtxa__reserve(&scopes->items, &scopes->capacity, scopes->count + 1, sizeof *scopes->items) !=
      0) {
    return -1;
  }
  uint32_t scope = (uint32_t)scopes->count++;
  nvtxa__scope added = {parent, name, 1, scopes->names.texts[name].length};
  if (parent != NVTXA__NO_SCOPE) {
    added.depth += scopes->items[parent].depth;
    added.length += scopes->items[parent].length + 1;
  }
  scopes->items[scope] = added;
  scopes->slots[slot] = scope + 1;
  *ret_scope = scope;
  return 0;
}

nvtxa_text nvtxa__scope_name(const nvtxa__scopes *scopes, uint32_t scope) {
  return scopes->names.texts[scopes->items[scope].name];
}

void nvtxa__scopes_free(nvtxa__scopes *scopes) {
  free(scopes->items);
  free(scopes->slots);
  nvtxa__intern_free(&scopes->names);
}
