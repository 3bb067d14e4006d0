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

static inline bool nvtxa__same_thread(nvtxa__thread a, nvtxa__thread b) {
  return a.process_id == b.process_id && a.thread_id == b.thread_id;
}

/* GPU work that no range encloses: nsys has one row for it. */
typedef struct nvtxa__unattributed {
  int64_t operations;   /* 0: there is none, and the rest does not count */
  int64_t start_ns;     /* first start */
  int64_t end_ns;       /* last end */
  nvtxa__thread thread; /* of one of them */
} nvtxa__unattributed;

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

  /* Rows by their range keys, one way or the other. */
  uint32_t *row_of_id; /* by range id less `first_id`, `id_span` of them; or NULL */
  int64_t first_id;
  uint64_t id_span;
  nvtxa__table keys;

  nvtxa__unattributed unattributed;
  nvtxa__warnings warnings;
};

static inline int64_t nvtxa__range_end_ns(const nvtxa_ranges *ranges, size_t row) {
  return ranges->start_ns[row] + ranges->duration_ns[row];
}

/* The row with a range key, or NVTXA__NO_PARENT. */
uint32_t nvtxa__ranges_find(const nvtxa_ranges *ranges, nvtxa__thread thread, int64_t range_id);

/* ---- inside ranges/: the table (ranges.c) ---- */

nvtxa_ranges *nvtxa__ranges_new(nvtxa_report report); /* NULL: out of memory */
void nvtxa__ranges_free(nvtxa_ranges *ranges);

/* Give every column of the report room for `rows` > 0 rows. 0 or -1. */
int nvtxa__ranges_resize(nvtxa_ranges *ranges, size_t rows);

/* Index the rows by their keys. Host ranges join by key, so theirs must differ; of GPU rows with
 * one key the first is found. `file` is for the error and may be NULL. */
nvtxa_status nvtxa__ranges_index(nvtxa_ranges *ranges, const char *file, nvtxa_error **reterr);

/* The warnings about the table as a whole, behind those of the hierarchy. `replaced_count` rows had
 * a name that is not UTF-8. 0 or -1. */
int nvtxa__ranges_warn(nvtxa_ranges *ranges, size_t replaced_count);

/* ---- inside ranges/: row by row (builder.c) ---- */

/* `declared_children` is the report's NumChild, or -1 where it is not known. */
nvtxa_status nvtxa__builder_add_row(nvtxa_ranges_builder *builder, const nvtxa_range *range,
                                    int64_t declared_children, nvtxa_error **reterr);
/* Whether the sum still fits. */
bool nvtxa__builder_add_unattributed(nvtxa_ranges_builder *builder,
                                     const nvtxa__unattributed *more);

/* Where the rows come from, for errors and warnings; borrowed until the builder is finished. */
void nvtxa__builder_set_source(nvtxa_ranges_builder *builder, const char *file);

/* ---- inside ranges/: which encloses which (hierarchy.c, with nesting.c) ---- */

/* Set `parent`. `child_counts` holds the declared number of children by row, or -1, or is NULL.
 * With NVTXA_HIERARCHY_DECLARED, `parent_id` and `parent` (NVTXA__NO_PARENT for a root) hold what
 * was declared. `file` may be NULL. */
nvtxa_status nvtxa__hierarchy_set(nvtxa_ranges *ranges, nvtxa_hierarchy hierarchy,
                                  const int32_t *child_counts, const char *file,
                                  nvtxa_error **reterr);

/* Take what nvtxa__find_parents() found for the hierarchy and sum the children anew. */
nvtxa_status nvtxa__hierarchy_adopt(nvtxa_ranges *ranges, const uint32_t *parent, const char *file,
                                    nvtxa_error **reterr);

#endif
