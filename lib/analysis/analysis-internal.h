/*
 * The parts of an analysis: the capture range (capture.c), the iterations (iterations.c), where
 * each range stands (places.c, with scopes.c), groups and their numbers (groups.c, with summary.c),
 * what the GPU did for each (gpu-work.c), warnings (warnings.c, with validated.c), put together by
 * analysis.c.
 */
#ifndef NVTXA_ANALYSIS_INTERNAL_H
#define NVTXA_ANALYSIS_INTERNAL_H

#include "gpu/gpu-internal.h"
#include "ranges/ranges-internal.h"

#include <nvtxa/analysis.h>

/* ---- summary.c ---- */

/* Summarise `count` > 0 durations. They are reordered. False where the total does not fit. */
bool nvtxa__summarize(int64_t *values, size_t count, nvtxa_summary *ret,
                      nvtxa_percentiles *ret_percentiles);

/* ---- scopes.c ---- */

#define NVTXA__NO_SCOPE UINT32_MAX

/* A tree of names: a scope is a node, its tuple the names from the root to it. */
typedef struct nvtxa__scope {
  uint32_t parent; /* NVTXA__NO_SCOPE at the top */
  uint32_t name;   /* id in `names` */
  uint32_t depth;  /* length of its tuple, from 1 */
  size_t length;   /* in bytes, of the tuple joined by dots */
} nvtxa__scope;

typedef struct nvtxa__scopes {
  nvtxa__scope *items;
  size_t count;
  size_t capacity;
  nvtxa__table table;  /* by parent and name */
  nvtxa__intern names; /* normalized */
} nvtxa__scopes;

/* The scope `name` (an id in scopes->names) below `parent`. 0 or -1. */
int nvtxa__scope_add(nvtxa__scopes *scopes, uint32_t parent, uint32_t name, uint32_t *ret_scope);
nvtxa_text nvtxa__scope_name(const nvtxa__scopes *scopes,
                             uint32_t scope); /* the last of its names */
void nvtxa__scopes_free(nvtxa__scopes *scopes);

/* Names of a report, normalized: without one leading colon. */
nvtxa_text nvtxa__normalized(nvtxa_text name);

/* ---- where ranges stand ---- */

/* A place where ranges stand. All iterations stand at one. */
typedef struct nvtxa__place {
  uint32_t scope;
  uint8_t context; /* nvtxa_context */
  bool iteration;  /* that of the iterations, which are in no group; the rest does not count */
} nvtxa__place;

/* The host row of an iteration, and its position among the iterations. */
typedef struct nvtxa__iteration_row {
  uint32_t row;
  uint32_t position;
} nvtxa__iteration_row;

typedef struct nvtxa__places {
  nvtxa__place *items;
  size_t count;
  size_t capacity;
  nvtxa__table table; /* by what is above and by name */
  uint32_t (*keys)[2];
  size_t key_capacity;
  nvtxa__packed host; /* by row: its place */
  nvtxa__packed gpu;
} nvtxa__places;

/* A group in the making and when done. */
typedef struct nvtxa__group {
  uint32_t number; /* in the order in which they were made */
  uint32_t scope;
  uint8_t context;
  uint32_t style; /* id in the GPU table's styles; 0 for host groups */
  nvtxa_text name;
  uint32_t *path; /* its names, outermost first: ids in scopes.names */
  uint64_t instances;
  nvtxa_summary first;  /* host: inclusive; GPU: projected */
  nvtxa_summary second; /* host: exclusive */
  nvtxa_percentiles first_percentiles;
  nvtxa_percentiles second_percentiles;
  int64_t sum;        /* host: child total; GPU: host total */
  int64_t operations; /* GPU */
} nvtxa__group;

typedef struct nvtxa__groups {
  nvtxa__group *items;
  size_t count;
} nvtxa__groups;

struct nvtxa_analysis {
  nvtxa__refcount ref;
  nvtxa_manifest *manifest;
  nvtxa_ranges *host;
  nvtxa_ranges *gpu;
  nvtxa_export *exported;
  const nvtxa_hooks *hooks; /* while it is made */
  size_t thread_count;      /* likewise */

  uint32_t capture_row; /* in host */
  nvtxa__scopes scopes;
  nvtxa__places places; /* freed once the groups are made */

  nvtxa_iteration *iterations;          /* sorted by index */
  nvtxa__iteration_row *iteration_rows; /* sorted by row */
  size_t iteration_count;
  nvtxa_iteration_summary summary;

  nvtxa__groups host_groups;
  nvtxa__groups gpu_groups;

  nvtxa_gpu_work *gpu_work;  /* or NULL */
  uint32_t *gpu_group;       /* by row of the GPU table: position of its group; while it is made */
  nvtxa__gpu_tally tally;    /* buckets: the GPU groups, then the iterations */
  nvtxa_gpu_device *devices; /* by id */
  size_t device_count;

  nvtxa__arena names; /* rendered scopes */
  nvtxa__warnings warnings;
};

/* capture.c: find the one capture range, or say what is there instead. */
nvtxa_status nvtxa__find_capture_range(nvtxa_analysis *analysis, nvtxa_error **reterr);

/* iterations.c */
bool nvtxa__iteration_index(nvtxa_text normalized, int64_t *ret_index);
nvtxa_status nvtxa__find_iterations(nvtxa_analysis *analysis, nvtxa_error **reterr);
nvtxa_status nvtxa__summarize_iterations(nvtxa_analysis *analysis, nvtxa_error **reterr);

nvtxa_status nvtxa__join_projections(nvtxa_analysis *analysis, nvtxa_error **reterr);

/* The position of the iteration of a host row, which is one. */
uint32_t nvtxa__iteration_position(const nvtxa_analysis *analysis, uint32_t host_row);

/* The host row with the key of a GPU row, or NVTXA__NO_PARENT. *near as for nvtxa__ranges_find().
 */
static inline uint32_t nvtxa__host_row(const nvtxa_analysis *analysis, size_t gpu_row,
                                       size_t *near) {
  const nvtxa_ranges *gpu = analysis->gpu;
  return gpu->base == analysis->host
             ? (uint32_t)nvtxa__packed_get(&gpu->base_row, gpu_row)
             : nvtxa__ranges_find(analysis->host, nvtxa__range_thread(gpu, gpu_row),
                                  nvtxa__range_id(gpu, gpu_row), near);
}

/* places.c */
nvtxa_status nvtxa__find_places(nvtxa_analysis *analysis, nvtxa_error **reterr);
void nvtxa__places_free(nvtxa__places *places);

/* groups.c: host_groups and gpu_groups. */
nvtxa_status nvtxa__make_groups(nvtxa_analysis *analysis, nvtxa_error **reterr);

/* gpu-work.c: what the GPU did for the groups and iterations. */
nvtxa_status nvtxa__count_gpu_work(nvtxa_analysis *analysis, nvtxa_error **reterr);

static inline bool nvtxa__has_gpu_operations(const nvtxa_analysis *analysis) {
  return analysis->gpu_work != NULL && analysis->gpu_work->has_operations;
}

/* validated.c: whether the line that `nsys --version` prints is of a validated version, and which
 * those are: "2022.4, 2023.4 and 2025.1". */
#define NVTXA__FAMILIES 64
bool nvtxa__is_validated(nvtxa_text version);
const char *nvtxa__validated_families(char buffer[NVTXA__FAMILIES]);

/* warnings.c */
int nvtxa__collect_warnings(nvtxa_analysis *analysis);

#endif
