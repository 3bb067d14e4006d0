/*
 * The table of ranges as its neighbours see it: a struct of arrays, one entry a row. analysis/
 * reads the arrays directly; only ranges/ writes them.
 */
#ifndef NVTXA_RANGES_INTERNAL_H
#define NVTXA_RANGES_INTERNAL_H

#include "base/base-internal.h"

#include <nvtxa/ranges.h>

/* Values of `parent` that are no row. */
#define NVTXA__NO_PARENT      UINT32_MAX       /* a root */
#define NVTXA__UNKNOWN_PARENT (UINT32_MAX - 1) /* a parent id that no row of the table carries */
#define NVTXA__MAX_ROWS       ((size_t)UINT32_MAX - 2)

typedef struct nvtxa__thread {
  int64_t process_id;
  int64_t thread_id;
} nvtxa__thread;

struct nvtxa_ranges {
  nvtxa__refcount ref;
  nvtxa_report report;
  size_t count;

  /* By row, for both reports. */
  uint32_t *name;   /* id in `names`: the raw name */
  uint32_t *thread; /* index in `threads` */
  int64_t *range_id;
  int64_t *parent_id; /* counts where parent is not NVTXA__NO_PARENT */
  uint32_t *parent;   /* row, or one of the two above; never a cycle */
  int64_t *start_ns;
  int64_t *duration_ns;
  bool *open;

  /* By row, for host ranges; else NULL. Exclusive time is duration less this. */
  int64_t *child_total_ns;

  /* By row, for GPU-projected ranges; else NULL. */
  uint32_t *style; /* id in `styles` */
  int64_t *projected_start_ns;
  int64_t *projected_duration_ns;
  int64_t *gpu_operation_count;

  nvtxa__intern names;
  nvtxa__intern styles;
  nvtxa__thread *threads;
  size_t thread_count;

  nvtxa__table keys; /* rows by their range keys */

  int64_t unattributed_operations;
  nvtxa__warnings warnings;
};

static inline int64_t nvtxa__range_end_ns(const nvtxa_ranges *ranges, size_t row) {
  return ranges->start_ns[row] + ranges->duration_ns[row];
}

/* The row with a range key, or NVTXA__NO_PARENT. */
uint32_t nvtxa__ranges_find(const nvtxa_ranges *ranges, nvtxa__thread thread, int64_t range_id);

/* ---- inside ranges/ ---- */

/* `declared_children` is the report's NumChild, or -1 where it is not known. */
nvtxa_status nvtxa__builder_add_row(nvtxa_ranges_builder *builder, const nvtxa_range *range,
                                    int64_t declared_children, nvtxa_error **reterr);
/* Whether the sum still fits. */
bool nvtxa__builder_add_unattributed(nvtxa_ranges_builder *builder, int64_t operations);

/* Where the rows come from, for errors and warnings; borrowed until the builder is finished. */
void nvtxa__builder_set_source(nvtxa_ranges_builder *builder, const char *file);

/* Set `parent` (hierarchy.c). `child_counts` holds the declared number of children by row, or -1,
 * or is NULL. With NVTXA_HIERARCHY_DECLARED, `parent_id` and `parent` (NVTXA__NO_PARENT for a root)
 * hold what was declared. `file` may be NULL. */
nvtxa_status nvtxa__hierarchy_set(nvtxa_ranges *ranges, nvtxa_hierarchy hierarchy,
                                  const int32_t *child_counts, const char *file,
                                  nvtxa_error **reterr);

#endif
