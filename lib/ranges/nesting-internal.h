/*
 * Intervals on threads: their order (order.c), which encloses which (nesting.c), and what the calls
 * inside each of them launched on the GPU (projection.c). Bounds are included, so that an interval
 * encloses one of the same bounds.
 */
#ifndef NVTXA_NESTING_INTERNAL_H
#define NVTXA_NESTING_INTERNAL_H

#include "ranges-internal.h"

/* Borrowed columns, one entry an interval. */
typedef struct nvtxa__intervals {
  size_t count;
  size_t thread_count;
  const uint32_t *thread;
  const int64_t *start_ns;
  const int64_t *duration_ns; /* >= 0 */
  const int64_t *id;          /* of equal intervals the one with the lower id is the outer */
} nvtxa__intervals;

static inline int64_t nvtxa__interval_end_ns(const nvtxa__intervals *intervals, size_t i) {
  return intervals->start_ns[i] + intervals->duration_ns[i];
}

nvtxa__intervals nvtxa__intervals_of(const nvtxa_ranges *ranges);

/* ---- order.c ---- */

typedef int (*nvtxa__compare_fn)(const void *a, const void *b, void *user);

/* Sort items, which are indexes of `keys`: by key, those of one key by `compare`. 0 or -1. */
int nvtxa__sort_by_key(uint32_t *items, size_t count, const int64_t *keys,
                       nvtxa__compare_fn compare, void *user);

/* How many of the sorted keys are below `key`. */
size_t nvtxa__count_below(const int64_t *sorted, size_t count, int64_t key);

/* Items of several threads, thread by thread. */
typedef struct nvtxa__order {
  uint32_t *items; /* those of thread t from first[t] on, before first[t + 1] */
  size_t *first;
} nvtxa__order;

/* Deal `count` items out to their threads and sort each thread's. 0 or -1; nvtxa__order_free() is
 * due whatever comes of it. */
int nvtxa__order_make(nvtxa__order *order, size_t count, const uint32_t *thread,
                      size_t thread_count, const int64_t *keys, nvtxa__compare_fn compare,
                      void *user);
void nvtxa__order_free(nvtxa__order *order);

/* ---- nesting.c ---- */

/* The intervals of each thread, outer before inner: by start, then the longer, then the lower id.
 */
int nvtxa__order_intervals(nvtxa__order *order, const nvtxa__intervals *intervals);

/* The parent of each interval: the shortest of its thread that encloses it, or NVTXA__NO_PARENT.
 * `nested`, one entry a thread, gets whether its intervals nest: no two overlap without one
 * enclosing the other. NULL is allowed. 0 or -1. */
int nvtxa__find_parents(const nvtxa__intervals *intervals, const nvtxa__order *order,
                        uint32_t *parent, bool *nested);

/* ---- projection.c ---- */

/* What one correlation id of one process did on the GPU. */
typedef struct nvtxa__operations {
  size_t count;
  int64_t *start_ns; /* first start */
  int64_t *end_ns;   /* last end */
  uint8_t *calls;    /* how many calls have the id: 0, 1, or 2 for more */
} nvtxa__operations;

/* Calls that launched something. */
typedef struct nvtxa__calls {
  size_t count;
  size_t thread_count; /* they number their threads themselves */
  uint32_t *thread;
  int64_t *start_ns;
  int64_t *end_ns;
  uint32_t *operation;
} nvtxa__calls;

/* By interval: the span of what the calls inside it launched. */
typedef struct nvtxa__projection {
  int64_t *start_ns;
  int64_t *end_ns;
  uint32_t *operations; /* distinct correlation ids; 0: none, and the rest does not count */
  /* What calls launched that no interval encloses. */
  nvtxa__unattributed outside; /* without the thread */
  size_t outside_call;         /* the one that started it first */
} nvtxa__projection;

/* `parent` and `nested` as nvtxa__find_parents() gave them; `call_thread` holds by thread of the
 * intervals the calls' number for it, or NVTXA__NO_ITEM. 0 or -1; nvtxa__projection_free() is due
 * whatever comes of it. */
int nvtxa__project(nvtxa__projection *projection, const nvtxa__intervals *intervals,
                   const nvtxa__order *order, const uint32_t *parent, const bool *nested,
                   const uint32_t *call_thread, const nvtxa__calls *calls,
                   const nvtxa__operations *operations);
void nvtxa__projection_free(nvtxa__projection *projection);

#endif
