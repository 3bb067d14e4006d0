/* Scopes: tuples of names, kept as a tree so that each is one small number. */
#include <stdlib.h>

#include "analysis-internal.h"

nvtxa_text nvtxa__normalized(nvtxa_text name) {
  bool colon = name.length > 0 && name.data[0] == ':';
  return (nvtxa_text){name.data + colon, name.length - colon};
}

static uint64_t hash_scope(const void *owner, uint32_t scope) {
  const nvtxa__scope *item = &((const nvtxa__scopes *)owner)->items[scope];
  return nvtxa__hash_pair(item->parent, item->name);
}

int nvtxa__scope_add(nvtxa__scopes *scopes, uint32_t parent, uint32_t name, uint32_t *ret_scope) {
  if (nvtxa__table_reserve(&scopes->table, scopes->count + 1, hash_scope, scopes) != 0) {
    return -1;
  }
  size_t slot;
  uint32_t scope = nvtxa__table_first(&scopes->table, nvtxa__hash_pair(parent, name), &slot);
  for (; scope != NVTXA__NO_ITEM; scope = nvtxa__table_next(&scopes->table, &slot)) {
    if (scopes->items[scope].parent == parent && scopes->items[scope].name == name) {
      *ret_scope = scope;
      return 0;
    }
  }
  if (nvtxa__reserve(&scopes->items, &scopes->capacity, scopes->count + 1, sizeof *scopes->items) !=
      0) {
    return -1;
  }
  scope = (uint32_t)scopes->count++;
  nvtxa__scope added = {parent, name, 1, scopes->names.texts[name].length};
  if (parent != NVTXA__NO_SCOPE) {
    added.depth += scopes->items[parent].depth;
    added.length += scopes->items[parent].length + 1;
  }
  scopes->items[scope] = added;
  nvtxa__table_put(&scopes->table, slot, scope);
  *ret_scope = scope;
  return 0;
}

nvtxa_text nvtxa__scope_name(const nvtxa__scopes *scopes, uint32_t scope) {
  return scopes->names.texts[scopes->items[scope].name];
}

void nvtxa__scopes_free(nvtxa__scopes *scopes) {
  free(scopes->items);
  nvtxa__table_free(&scopes->table);
  nvtxa__intern_free(&scopes->names);
}
