/*
 * Stray iterations by their parent's name. A row tells only its parent's id: the ids are collected
 * and sorted first, then each row is held against them.
 */
#include "strays.h"

#include <stdlib.h>
#include <string.h>

#include "host_range.h"
#include "list.h"

/* A range with stray iterations directly below it. */
typedef struct parent {
  cli_range_key key;
  size_t count;
  nvtxa_text name;
} parent;

typedef struct parents {
  parent *items;
  size_t count;
  size_t capacity;
} parents;

static int by_key(const void *a, const void *b) {
  return cli_key_compare(&((const parent *)a)->key, &((const parent *)b)->key);
}

static bool add(parents *all, const nvtxa_range *range) {
  parent *room = cli_list_room(all->items, &all->capacity, all->count, sizeof *room);
  if (room == NULL) {
    return false;
  }
  all->items = room;
  all->items[all->count++] = (parent){.key = cli_key_of_parent(range), .count = 1};
  return true;
}

/* Whether what follows the last colon is the name of an iteration. */
static bool is_in_domain(nvtxa_text name) {
  const char *colon = name.length == 0 ? NULL : memrchr(name.data, ':', name.length);
  int64_t index;
  return colon != NULL &&
         cli_iteration_index((nvtxa_text){colon + 1, name.length - 1 - (size_t)(colon - name.data)},
                             &index);
}

static bool collect(cli_strays *strays, parents *all, const nvtxa_ranges *host) {
  bool done = true;
  for (size_t row = 0; row < nvtxa_ranges_count(host) && done; row++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    int64_t index;
    nvtxa_ranges_get(host, row, &range);
    nvtxa_text name = cli_range_name(&range);
    if (cli_iteration_index(name, &index)) {
      strays->outermost += !range.has_parent;
      done = !range.has_parent || add(all, &range);
    } else if (is_in_domain(name)) {
      strays->in_domain = strays->in_domains++ == 0 ? name : strays->in_domain;
    }
  }
  return done;
}

/* Of those with one key, one is left. */
static void merge(parents *all) {
  size_t kept = 0;
  qsort(all->items, all->count, sizeof *all->items, by_key);
  for (size_t i = 1; i < all->count; i++) {
    if (by_key(&all->items[kept], &all->items[i]) == 0) {
      all->items[kept].count++;
    } else {
      all->items[++kept] = all->items[i];
    }
  }
  all->count = kept + 1;
}

static void find_names(parents *all, const nvtxa_ranges *host) {
  for (size_t row = 0; row < nvtxa_ranges_count(host); row++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    nvtxa_ranges_get(host, row, &range);
    const parent wanted = {.key = cli_key_of(&range)};
    parent *found = bsearch(&wanted, all->items, all->count, sizeof *all->items, by_key);
    if (found != NULL) {
      found->name = cli_range_name(&range);
    }
  }
}

static int by_name(const void *a, const void *b) {
  return cli_name_compare(((const parent *)a)->name, ((const parent *)b)->name);
}

static int by_count(const void *a, const void *b) {
  const cli_stray *x = a;
  const cli_stray *y = b;
  int order = (x->count < y->count) - (x->count > y->count);
  return order != 0 ? order : cli_name_compare(x->parent, y->parent);
}

static bool group(cli_strays *strays, parents *all) {
  qsort(all->items, all->count, sizeof *all->items, by_name);
  strays->below = calloc(all->count, sizeof *strays->below);
  if (strays->below == NULL) {
    return false;
  }
  for (size_t i = 0; i < all->count; i++) {
    if (i == 0 || by_name(&all->items[i - 1], &all->items[i]) != 0) {
      strays->below[strays->count++].parent = all->items[i].name;
    }
    strays->below[strays->count - 1].count += all->items[i].count;
  }
  qsort(strays->below, strays->count, sizeof *strays->below, by_count);
  return true;
}

bool cli_strays_find(cli_strays *strays, const nvtxa_ranges *host) {
  parents all = {0};
  *strays = (cli_strays){0};
  bool done = collect(strays, &all, host);
  if (done && all.count > 0) {
    merge(&all);
    find_names(&all, host);
    done = group(strays, &all);
  }
  free(all.items);
  return done;
}

void cli_strays_free(cli_strays *strays) {
  free(strays->below);
  *strays = (cli_strays){0};
}
