/*
 * Where each range stands: its scope and its context, by its parents. A GPU record stands where the
 * host record with its key stands; only one that has none is placed by the GPU report's own
 * parents.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis-internal.h"

/* `scope` of a row that has no place yet; a scope id never gets there (there are fewer rows). */
#define UNPLACED (UINT32_MAX - 1)

typedef struct placing {
  nvtxa__scopes *scopes;
  const nvtxa_ranges *ranges;
  nvtxa__place *places;
  uint32_t *name_ids; /* by name id of the table: id in scopes->names */
  uint32_t *way;      /* rows between the one in hand and its nearest placed ancestor */
} placing;

/* The normalized names of a table as names of scopes. */
static int map_names(nvtxa__scopes *scopes, const nvtxa_ranges *ranges, uint32_t *name_ids) {
  for (size_t id = 0; id < ranges->names.count; id++) {
    nvtxa_text name = nvtxa__normalized(ranges->names.texts[id]);
    if (nvtxa__intern_add(&scopes->names, name.data, name.length, &name_ids[id]) != 0) {
      return -1;
    }
  }
  return 0;
}

/* Place a row whose parent has its place or that has none. */
static int place_below(placing *p, uint32_t row) {
  uint32_t parent = p->ranges->parent[row];
  uint32_t above = NVTXA__NO_SCOPE;
  nvtxa_context context = NVTXA_CONTEXT_OUTSIDE;
  if (parent < p->ranges->count) {
    const nvtxa__place *up = &p->places[parent];
    if (up->iteration) {
      context = NVTXA_CONTEXT_ITERATION;
    } else if (up->context == NVTXA_CONTEXT_CAPTURE) {
      context = NVTXA_CONTEXT_BETWEEN;
    } else {
      context = up->context;
      above = up->scope;
    }
  }
  p->places[row].context = (uint8_t)context;
  return nvtxa__scope_add(p->scopes, above, p->name_ids[p->ranges->name[row]],
                          &p->places[row].scope);
}

/* Place every row that is not placed yet. */
static int place_rest(placing *p) {
  for (size_t first = 0; first < p->ranges->count; first++) {
    size_t length = 0;
    uint32_t row = (uint32_t)first;
    while (row < p->ranges->count && p->places[row].scope == UNPLACED) {
      p->way[length++] = row;
      row = p->ranges->parent[row];
    }
    while (length > 0) {
      if (place_below(p, p->way[--length]) != 0) {
        return -1;
      }
    }
  }
  return 0;
}

static int place_host(nvtxa_analysis *analysis, placing *p) {
  const nvtxa_ranges *host = analysis->host;
  uint32_t capture = analysis->capture_row;
  for (size_t row = 0; row < host->count; row++) {
    p->places[row] = (nvtxa__place){.scope = UNPLACED};
  }
  p->places[capture].context = NVTXA_CONTEXT_CAPTURE;
  if (nvtxa__scope_add(p->scopes, NVTXA__NO_SCOPE, p->name_ids[host->name[capture]],
                       &p->places[capture].scope) != 0) {
    return -1;
  }
  for (size_t i = 0; i < analysis->iteration_count; i++) {
    p->places[analysis->iteration_rows[i]] = (nvtxa__place){
        .scope = (uint32_t)i,
        .iteration = true,
    };
  }
  return place_rest(p);
}

static int place_gpu(const nvtxa_analysis *analysis, placing *p) {
  const nvtxa_ranges *gpu = analysis->gpu;
  for (size_t row = 0; row < gpu->count; row++) {
    uint32_t same =
        nvtxa__ranges_find(analysis->host, gpu->threads[gpu->thread[row]], gpu->range_id[row]);
    p->places[row] =
        same == NVTXA__NO_PARENT ? (nvtxa__place){.scope = UNPLACED} : analysis->host_places[same];
  }
  return place_rest(p);
}

static nvtxa__place *place(nvtxa_analysis *analysis, const nvtxa_ranges *ranges) {
  placing p = {
      .scopes = &analysis->scopes,
      .ranges = ranges,
      .places = nvtxa__alloc_zero(ranges->count + 1, sizeof *p.places),
      .name_ids = nvtxa__alloc(ranges->names.count + 1, sizeof *p.name_ids),
      .way = nvtxa__alloc(ranges->count + 1, sizeof *p.way),
  };
  int result = -1;
  if (p.places != NULL && p.name_ids != NULL && p.way != NULL &&
      map_names(p.scopes, ranges, p.name_ids) == 0) {
    result = ranges == analysis->host ? place_host(analysis, &p) : place_gpu(analysis, &p);
  }
  free(p.name_ids);
  free(p.way);
  if (result != 0) {
    free(p.places);
    return NULL;
  }
  return p.places;
}

nvtxa_status nvtxa__find_places(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  analysis->host_places = place(analysis, analysis->host);
  if (analysis->host_places != NULL) {
    analysis->gpu_places = place(analysis, analysis->gpu);
  }
  return analysis->gpu_places == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}
