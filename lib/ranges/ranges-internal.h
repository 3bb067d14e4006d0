/*
 * The table of ranges as its neighbours see it: a struct of packed columns, one value a row.
 * analysis/ and stats/ read them by the functions below; only ranges/ writes them.
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

/* A row whose parent id no row of the table carries. */
typedef struct nvtxa__stray {
  uint32_t row;
  int64_t parent_id;
} nvtxa__stray;

struct nvtxa_ranges {
  nvtxa__refcount ref;
  nvtxa_report report;
  size_t count;

  /* GPU-projected ranges that are host ranges as well may leave what both have to the host table,
   * which is `base` then: names, threads, ids, starts, durations, and whether they are open. */
  nvtxa_ranges *base;
  nvtxa__packed base_row; /* by row: its row there */

  /* By row, for both reports. */
  nvtxa__packed name;   /* id in `names`: the raw name */
  nvtxa__packed thread; /* index in `threads` */
  nvtxa__packed range_id;
  nvtxa__packed above; /* see nvtxa__range_parent() */
  nvtxa__packed start_ns;
  nvtxa__packed duration_ns;
  nvtxa__packed open; /* 0 or 1 */

  /* By row, for host ranges; else empty. Exclusive time is duration less this. */
  nvtxa__packed child_total_ns;

  /* By row, for GPU-projected ranges; else empty. */
  nvtxa__packed style; /* id in `styles` */
  nvtxa__packed projected_start_ns;
  nvtxa__packed projected_duration_ns;
  nvtxa__packed gpu_operation_count;

  nvtxa__intern names;
  nvtxa__intern styles;
  nvtxa__thread *threads;
  size_t thread_count;
  nvtxa__stray *strays; /* by row */
  size_t stray_count;

  /* Rows by their range keys, one way or another: ids that ascend are searched, others looked up in
   * an array or in a hash table. */
  bool ascending;
  uint32_t *row_of_id; /* by range id less `first_id`, `id_span` of them; or NULL */
  int64_t first_id;
  uint64_t id_span;
  nvtxa__table keys;

  nvtxa__unattributed unattributed;
  nvtxa_gpu_work *work; /* or NULL */
  nvtxa__warnings warnings;
};

/* ---- cells of a table ---- */

/* The table that holds a row's times and names, and *row there. */
static inline const nvtxa_ranges *nvtxa__holder(const nvtxa_ranges *ranges, size_t *row) {
  if (ranges->base == NULL) {
    return ranges;
  }
  *row = (size_t)nvtxa__packed_get(&ranges->base_row, *row);
  return ranges->base;
}

static inline const nvtxa_ranges *nvtxa__holder_of(const nvtxa_ranges *ranges) {
  return ranges->base == NULL ? ranges : ranges->base;
}

/* The raw names, which rows know by number. */
static inline const nvtxa__intern *nvtxa__range_names(const nvtxa_ranges *ranges) {
  return &nvtxa__holder_of(ranges)->names;
}

static inline uint32_t nvtxa__range_name(const nvtxa_ranges *ranges, size_t row) {
  const nvtxa_ranges *holder = nvtxa__holder(ranges, &row);
  return (uint32_t)nvtxa__packed_get(&holder->name, row);
}

static inline nvtxa_text nvtxa__range_text(const nvtxa_ranges *ranges, size_t row) {
  return nvtxa__range_names(ranges)->texts[nvtxa__range_name(ranges, row)];
}

static inline nvtxa__thread nvtxa__range_thread(const nvtxa_ranges *ranges, size_t row) {
  const nvtxa_ranges *holder = nvtxa__holder(ranges, &row);
  return holder->threads[nvtxa__packed_get(&holder->thread, row)];
}

/* The same by its number among the holder's. */
static inline uint32_t nvtxa__range_lane(const nvtxa_ranges *ranges, size_t row) {
  const nvtxa_ranges *holder = nvtxa__holder(ranges, &row);
  return (uint32_t)nvtxa__packed_get(&holder->thread, row);
}

static inline int64_t nvtxa__range_id(const nvtxa_ranges *ranges, size_t row) {
  const nvtxa_ranges *holder = nvtxa__holder(ranges, &row);
  return nvtxa__packed_get(&holder->range_id, row);
}

static inline int64_t nvtxa__range_start_ns(const nvtxa_ranges *ranges, size_t row) {
  const nvtxa_ranges *holder = nvtxa__holder(ranges, &row);
  return nvtxa__packed_get(&holder->start_ns, row);
}

static inline int64_t nvtxa__range_duration_ns(const nvtxa_ranges *ranges, size_t row) {
  const nvtxa_ranges *holder = nvtxa__holder(ranges, &row);
  return nvtxa__packed_get(&holder->duration_ns, row);
}

static inline int64_t nvtxa__range_end_ns(const nvtxa_ranges *ranges, size_t row) {
  return nvtxa__range_start_ns(ranges, row) + nvtxa__range_duration_ns(ranges, row);
}

static inline bool nvtxa__range_is_open(const nvtxa_ranges *ranges, size_t row) {
  const nvtxa_ranges *holder = nvtxa__holder(ranges, &row);
  return nvtxa__packed_get(&holder->open, row) != 0;
}

static inline int64_t nvtxa__range_child_total_ns(const nvtxa_ranges *ranges, size_t row) {
  return nvtxa__packed_get(&ranges->child_total_ns, row);
}

static inline uint32_t nvtxa__range_style(const nvtxa_ranges *ranges, size_t row) {
  return (uint32_t)nvtxa__packed_get(&ranges->style, row);
}

/* Parents are kept as how many rows further up they stand: 0 for a root, and further than any table
 * reaches for a parent that is in none of its rows. */
#define NVTXA__ABOVE_STRAY ((int64_t)1 << 32)

static inline int64_t nvtxa__above(size_t row, uint32_t parent) {
  return parent == NVTXA__NO_PARENT        ? 0
         : parent == NVTXA__UNKNOWN_PARENT ? NVTXA__ABOVE_STRAY
                                           : (int64_t)row - parent;
}

static inline uint32_t nvtxa__parent(const nvtxa__packed *above, size_t row) {
  int64_t rows = nvtxa__packed_get(above, row);
  return rows == 0                    ? NVTXA__NO_PARENT
         : rows == NVTXA__ABOVE_STRAY ? NVTXA__UNKNOWN_PARENT
                                      : (uint32_t)((int64_t)row - rows);
}

/* Make such a column of the parents by row. 0 or -1. */
int nvtxa__pack_parents(nvtxa__packed *above, const uint32_t *parent, size_t count);

/* The parent's row, NVTXA__NO_PARENT or NVTXA__UNKNOWN_PARENT. Never a cycle. */
static inline uint32_t nvtxa__range_parent(const nvtxa_ranges *ranges, size_t row) {
  return nvtxa__parent(&ranges->above, row);
}

/* Its range id; 0 for a root. */
int64_t nvtxa__range_parent_id(const nvtxa_ranges *ranges, size_t row);

/* The row with a range key, or NVTXA__NO_PARENT. Where rows are looked up one after the other,
 * *near is 0 at first and then keeps the place, to begin with the next time. */
uint32_t nvtxa__ranges_find(const nvtxa_ranges *ranges, nvtxa__thread thread, int64_t range_id,
                            size_t *near);

/* ---- inside ranges/: the table (ranges.c) ---- */

nvtxa_ranges *nvtxa__ranges_new(nvtxa_report report); /* NULL: out of memory */
void nvtxa__ranges_free(nvtxa_ranges *ranges);

/* The columns that were filled row by row are whole. 0 or -1. */
int nvtxa__ranges_finish(nvtxa_ranges *ranges);

/* Index the rows by their keys. Host ranges join by key, so theirs must differ; of GPU rows with
 * one key the first is found. `file` is for the error and may be NULL. */
nvtxa_status nvtxa__ranges_index(nvtxa_ranges *ranges, const char *file, nvtxa_error **reterr);

/* The rows of the threads that are wanted, by nvtxa__range_lane(), each thread's by start. 0 or -1;
 * nvtxa__shares_free() is due whatever comes of it. */
int nvtxa__ranges_by_thread(const nvtxa_ranges *ranges, const bool *wanted, nvtxa__shares *shares);

/* Make `above` of the parents by row. `stray_ids` holds the ids of the parents that are
 * NVTXA__UNKNOWN_PARENT. 0 or -1. */
int nvtxa__ranges_set_parents(nvtxa_ranges *ranges, const uint32_t *parent,
                              const nvtxa__packed *stray_ids);

/* The warnings about the table as a whole, behind those of the hierarchy. `replaced_count` rows had
 * a name that is not UTF-8, `open_count` had not ended. 0 or -1. */
int nvtxa__ranges_warn(nvtxa_ranges *ranges, size_t replaced_count, size_t open_count);

/* ---- inside ranges/: row by row (builder.c) ---- */

/* A row, its texts as numbers. What the table's report does not have is 0. */
typedef struct nvtxa__builder_row {
  uint32_t name;
  uint32_t style;
  bool replaced; /* bytes of the name were */
  bool has_parent;
  bool open;
  nvtxa__thread thread;
  int64_t range_id;
  int64_t parent_id;
  int64_t start_ns;
  int64_t duration_ns;
  int64_t child_total_ns;
  int64_t child_count; /* declared, or -1 where it is not known */
  int64_t projected_start_ns;
  int64_t projected_duration_ns;
  int64_t gpu_operation_count;
} nvtxa__builder_row;

/* The numbers of texts. *ret_replaced: the name was not UTF-8. 0 or -1. */
int nvtxa__builder_name(nvtxa_ranges_builder *builder, nvtxa_text name, uint32_t *ret,
                        bool *ret_replaced);
int nvtxa__builder_style(nvtxa_ranges_builder *builder, nvtxa_text style, uint32_t *ret);

nvtxa_status nvtxa__builder_add_row(nvtxa_ranges_builder *builder, const nvtxa__builder_row *row,
                                    nvtxa_error **reterr);
/* Whether the sum still fits. */
bool nvtxa__builder_add_unattributed(nvtxa_ranges_builder *builder,
                                     const nvtxa__unattributed *more);

/* Where the rows come from, for errors and warnings; borrowed until the builder is finished. */
void nvtxa__builder_set_source(nvtxa_ranges_builder *builder, const char *file);

/* ---- inside ranges/: which encloses which (hierarchy.c, with nesting.c) ----
 *
 * `parent` is by row; `file` may be NULL. */

/* Hold the parents that were declared against those found from the times; they may be one array,
 * where all are the same. *ret_wrong: they, or the children's times, are wrong, and what was found
 * is to be used. `child_counts` holds the declared number of children, or -1. */
nvtxa_status nvtxa__hierarchy_check(nvtxa_ranges *ranges, const uint32_t *declared,
                                    const uint32_t *found, const nvtxa__packed *child_counts,
                                    const char *file, bool *ret_wrong, nvtxa_error **reterr);

/* Find the parents from the times alone. 0 or -1. */
int nvtxa__hierarchy_find(const nvtxa_ranges *ranges, uint32_t *parent);

/* Sum up the children of host ranges by their parents: `child_total_ns` anew. */
nvtxa_status nvtxa__hierarchy_sum(nvtxa_ranges *ranges, const char *file, nvtxa_error **reterr);

#endif
