/* Texts that other tables refer to by id: those that are needed, looked up in one scan. */
#include <stdlib.h>

#include "sqlite-internal.h"

void nvtxa__strings_begin(nvtxa__strings *strings, int64_t *ids, size_t count) {
  *strings = (nvtxa__strings){.ids = ids};
  qsort(ids, count, sizeof *ids, nvtxa__compare_int64);
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || ids[i] != ids[strings->count - 1]) {
      ids[strings->count++] = ids[i];
    }
  }
}

void nvtxa__strings_free(nvtxa__strings *strings) {
  free(strings->ids);
  free(strings->texts);
  nvtxa__arena_free(&strings->arena);
  *strings = (nvtxa__strings){0};
}

static const int64_t *find(const nvtxa__strings *strings, int64_t id) {
  return strings->count == 0
             ? NULL
             : bsearch(&id, strings->ids, strings->count, sizeof id, nvtxa__compare_int64);
}

nvtxa_text nvtxa__strings_find(const nvtxa__strings *strings, int64_t id) {
  const int64_t *found = find(strings, id);
  return found == NULL ? (nvtxa_text){NULL, 0} : strings->texts[found - strings->ids];
}

static bool take(void *user, nvtxa__row *row) {
  nvtxa__strings *strings = user;
  int64_t id;
  if (!nvtxa__row_integer(row, 0, &id)) {
    return false;
  }
  const int64_t *found = find(strings, id);
  nvtxa_text text = found == NULL ? (nvtxa_text){NULL, 0} : nvtxa__row_text(row, 1);
  if (text.data == NULL) {
    return true;
  }
  char *copy = nvtxa__arena_copy(&strings->arena, text.data, text.length);
  strings->texts[found - strings->ids] = (nvtxa_text){copy, text.length};
  return copy != NULL || nvtxa__row_out_of_memory(row);
}

nvtxa_status nvtxa__strings_read(nvtxa__strings *strings, nvtxa__database *database,
                                 const char *table, const char *column, nvtxa_error **reterr) {
  const nvtxa__column columns[] = {{"id", false}, {column, false}};
  bool has = false;
  strings->texts = nvtxa__alloc_zero(strings->count + 1, sizeof *strings->texts);
  if (strings->texts == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  if (strings->count == 0) {
    return NVTXA_OK;
  }
  nvtxa_status status = nvtxa__database_has_table(database, table, &has, reterr);
  return status != NVTXA_OK || !has
             ? status
             : nvtxa__database_scan(database, table, columns, NVTXA__COUNT(columns), take, strings,
                                    reterr);
}
