/*
 * Where each range stands: its scope and its context, by its parents. A GPU record stands where the
 * host record with its key stands; only one that has none is placed by the GPU report's own
 * parents.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis-internal.h"

#define UNPLACED UINT32_MAX /* a row that has no place yet */

/* What stands above, where it is not a place that gives its scope: in the keys of places. */
enum above { BELOW_NOTHING, BELOW_CAPTURE, BELOW_ITERATION, FIRST_PLACE };

typedef struct placing {
  nvtxa_analysis *analysis;
  const nvtxa_ranges *ranges;
  uint32_t *place;    /* by row */
  uint32_t *name_ids; /* by name id of the table: id in scopes.names */
  uint32_t *way;      /* rows between the one in hand and its nearest placed ancestor */
  size_t way_capacity;
} placing;

void nvtxa__places_free(nvtxa__places *places) {
  free(places->items);
  free(places->keys);
  nvtxa__table_free(&places->table);
  nvtxa__packed_free(&places->host);
  nvtxa__packed_free(&places->gpu);
  *places = (nvtxa__places){0};
}

/* The normalized names of a table as names of scopes. */
static int map_names(nvtxa__scopes *scopes, const nvtxa__intern *names, uint32_t *name_ids) {
  for (size_t id = 0; id < names->count; id++) {
    nvtxa_text name = nvtxa__normalized(names->texts[id]);
    if (nvtxa__intern_add(&scopes->names, name.data, name.length, &name_ids[id]) != 0) {
      return -1;
    }
  }
  return 0;
}

/* ---- places ---- */

static int add_place(nvtxa__places *places, nvtxa__place place, uint32_t *ret) {
  if (places->count >= UINT32_MAX - FIRST_PLACE ||
      nvtxa__reserve(&places->items, &places->capacity, places->count + 1, sizeof *places->items) !=
          0) {
    return -1;
  }
  *ret = (uint32_t)places->count;
  places->items[places->count++] = place;
  return 0;
}

static uint64_t hash_place(const void *owner, uint32_t place) {
  const uint32_t *key = ((const nvtxa__places *)owner)->keys[place];
  return nvtxa__hash_pair(key[0], key[1]);
}

/* The place of a range of a name below `parent`, a place or UNPLACED for none. */
static int place_below(placing *p, uint32_t parent, uint32_t name, uint32_t *ret) {
  nvtxa__places *places = &p->analysis->places;
  nvtxa__place place = {.context = NVTXA_CONTEXT_OUTSIDE};
  uint32_t key[2] = {BELOW_NOTHING, name};
  uint32_t above = NVTXA__NO_SCOPE;
  size_t slot;
  if (parent != UNPLACED) {
    const nvtxa__place *up = &places->items[parent];
    if (up->iteration) {
      key[0] = BELOW_ITERATION;
      place.context = NVTXA_CONTEXT_ITERATION;
    } else if (up->context == NVTXA_CONTEXT_CAPTURE) {
      key[0] = BELOW_CAPTURE;
      place.context = NVTXA_CONTEXT_BETWEEN;
    } else {
      key[0] = FIRST_PLACE + parent;
      place.context = up->context;
      above = up->scope;
    }
  }
  if (nvtxa__table_reserve(&places->table, places->count + 1, hash_place, places) != 0) {
    return -1;
  }
  *ret = nvtxa__table_first(&places->table, nvtxa__hash_pair(key[0], key[1]), &slot);
  for (; *ret != NVTXA__NO_ITEM; *ret = nvtxa__table_next(&places->table, &slot)) {
    if (places->keys[*ret][0] == key[0] && places->keys[*ret][1] == key[1]) {
      return 0;
    }
  }
  if (nvtxa__scope_add(&p->analysis->scopes, above, name, &place.scope) != 0 ||
      add_place(places, place, ret) != 0 ||
      nvtxa__reserve(&places->keys, &places->key_capacity, places->count, sizeof *places->keys) !=
          0) {
    return -1;
  }
  memcpy(places->keys[*ret], key, sizeof key);
  nvtxa__table_put(&places->table, slot, *ret);
  return 0;
}

/* ---- rows ---- */

/* Place every row that is not placed yet. */
static int place_rest(placing *p) {
  for (size_t first = 0; first < p->ranges->count; first++) {
    size_t length = 0;
    uint32_t row = (uint32_t)first;
    while (row < p->ranges->count && p->place[row] == UNPLACED) {
      if (nvtxa__reserve(&p->way, &p->way_capacity, length + 1, sizeof *p->way) != 0) {
        return -1;
      }
      p->way[length++] = row;
      row = nvtxa__range_parent(p->ranges, row);
    }
    uint32_t place = row < p->ranges->count ? p->place[row] : UNPLACED;
    while (length > 0) {
      uint32_t next = p->way[--length];
      uint32_t name = p->name_ids[nvtxa__range_name(p->ranges, next)];
      if (place_below(p, place, name, &p->place[next]) != 0) {
        return -1;
      }
      place = p->place[next];
    }
  }
  return 0;
}

static int place_host(placing *p) {
  nvtxa_analysis *analysis = p->analysis;
  nvtxa__place capture = {.context = NVTXA_CONTEXT_CAPTURE};
  nvtxa__place iteration = {.iteration = true};
  uint32_t all;
  uint32_t name = p->name_ids[nvtxa__range_name(analysis->host, analysis->capture_row)];
  memset(p->place, 0xFF, p->ranges->count * sizeof *p->place); /* UNPLACED */
  if (nvtxa__scope_add(&analysis->scopes, NVTXA__NO_SCOPE, name, &capture.scope) != 0 ||
      add_place(&analysis->places, capture, &p->place[analysis->capture_row]) != 0 ||
      add_place(&analysis->places, iteration, &all) != 0) {
    return -1;
  }
  for (size_t i = 0; i < analysis->iteration_count; i++) {
    p->place[analysis->iteration_rows[i].row] = all;
  }
  return place_rest(p);
}

static int place_gpu(placing *p) {
  const nvtxa_ranges *gpu = p->ranges;
  size_t near = 0;
  for (size_t row = 0; row < gpu->count; row++) {
    uint32_t same = nvtxa__host_row(p->analysis, row, &near);
    p->place[row] = same == NVTXA__NO_PARENT
                        ? UNPLACED
                        : (uint32_t)nvtxa__packed_get(&p->analysis->places.host, same);
  }
  return place_rest(p);
}

static int place(nvtxa_analysis *analysis, const nvtxa_ranges *ranges, nvtxa__packed *places) {
  placing p = {
      .analysis = analysis,
      .ranges = ranges,
      .place = nvtxa__alloc(ranges->count + 1, sizeof *p.place),
      .name_ids = nvtxa__alloc(nvtxa__range_names(ranges)->count + 1, sizeof *p.name_ids),
  };
  int result = -1;
  if (p.place != NULL && p.name_ids != NULL &&
      map_names(&analysis->scopes, nvtxa__range_names(ranges), p.name_ids) == 0) {
    result = ranges == analysis->host ? place_host(&p) : place_gpu(&p);
  }
  for (size_t row = 0; row < ranges->count && result == 0; row++) {
    result = nvtxa__packed_add(places, p.place[row]);
  }
  free(p.place);
  free(p.name_ids);
  free(p.way);
  return result | nvtxa__packed_finish(places);
}

nvtxa_status nvtxa__find_places(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  return place(analysis, analysis->host, &analysis->places.host) == 0 &&
                 place(analysis, analysis->gpu, &analysis->places.gpu) == 0
             ? NVTXA_OK
             : nvtxa__out_of_memory(reterr);
}
