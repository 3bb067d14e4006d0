/*
 * Intervals on threads: which encloses which (nesting.c), and what the calls inside each of them
 * launched on the GPU (projection.c). Bounds are included, so that an interval
 * encloses one of the same bounds.
 */
#ifndef NVTXA_NESTING_INTERNAL_H
#define NVTXA_NESTING_INTERNAL_H

#include "ranges-internal.h"

/* Borrowed columns, one entry an interval. */
typedef struct nvtxa__intervals {
  size_t count;
  size_t thread_count;
  const nvtxa__packed *thread;
  const nvtxa__packed *start_ns;
  const nvtxa__packed *duration_ns; /* >= 0 */
  const nvtxa__packed *id;          /* of equal intervals the one with the lower id is the outer */
} nvtxa__intervals;

static inline int64_t nvtxa__interval_start_ns(const nvtxa__intervals *intervals, size_t i) {
  return nvtxa__packed_get(intervals->start_ns, i);
}

static inline int64_t nvtxa__interval_duration_ns(const nvtxa__intervals *intervals, size_t i) {
  return nvtxa__packed_get(intervals->duration_ns, i);
}

static inline int64_t nvtxa__interval_end_ns(const nvtxa__intervals *intervals, size_t i) {
  return nvtxa__interval_start_ns(intervals, i) + nvtxa__interval_duration_ns(intervals, i);
}

nvtxa__intervals nvtxa__intervals_of(const nvtxa_ranges *ranges);

/* ---- nesting.c ---- */

/* Outer before inner: by start, then the longer, then the lower id. As nvtxa__order_make(). */
int nvtxa__order_intervals(const nvtxa__intervals *intervals, uint32_t **ret_order);

/* The parent of each interval: the shortest of its thread that encloses it, or NVTXA__NO_PARENT.
 * `nested`, one entry a thread, gets whether its intervals nest: no two overlap without one
 * enclosing the other. 0 or -1. */
int nvtxa__find_parents(const nvtxa__intervals *intervals, const uint32_t *order, uint32_t *parent,
                        bool *nested);

/* One thread's intervals, which enter in their order, and the closest that encloses something: a
 * Fenwick tree over the ranks of the ends, latest end first. Each node holds the position of the
 * closest parent of its part. */
typedef struct nvtxa__closest {
  const nvtxa__intervals *intervals;
  const uint32_t *order; /* outer before inner */
  size_t count;
  size_t entered;
  int64_t *ends;  /* sorted */
  uint32_t *tree; /* node i, from 1, at i - 1 */
} nvtxa__closest;

/* 0 or -1; nvtxa__closest_free() is due whatever comes of it. */
int nvtxa__closest_init(nvtxa__closest *closest, const nvtxa__intervals *intervals,
                        const uint32_t *order, size_t count);
void nvtxa__closest_free(nvtxa__closest *closest);

/* Let the next interval enter. */
void nvtxa__closest_enter(nvtxa__closest *closest);

/* Of those that entered, the shortest that ends no earlier (of those of one length, the one that
 * entered last), or NVTXA__NO_PARENT. */
uint32_t nvtxa__closest_find(const nvtxa__closest *closest, int64_t end_ns);

/* The open intervals of one thread, the innermost last. */
typedef struct nvtxa__open_interval {
  int64_t end_ns;
  uint32_t item;
} nvtxa__open_interval;

typedef struct nvtxa__stack {
  nvtxa__open_interval *items;
  size_t depth;
  size_t capacity;
} nvtxa__stack;

int nvtxa__stack_push(nvtxa__stack *stack, uint32_t item, int64_t end_ns); /* 0 or -1 */
void nvtxa__stacks_free(nvtxa__stack *stacks, size_t count);

/* ---- projection.c ---- */

/* What one correlation id of one process did on the GPU. */
typedef struct nvtxa__operations {
  size_t count;
  nvtxa__packed start_ns;    /* first start */
  nvtxa__packed duration_ns; /* from there to the last end */
  uint8_t *calls;            /* how many calls have the id: 0, 1, or 2 for more */
} nvtxa__operations;

static inline int64_t nvtxa__operation_end_ns(const nvtxa__operations *operations, size_t i) {
  return nvtxa__packed_get(&operations->start_ns, i) +
         nvtxa__packed_get(&operations->duration_ns, i);
}

/* Calls that launched something. */
typedef struct nvtxa__calls {
  size_t count;
  size_t thread_count; /* they number their threads themselves */
  nvtxa__packed thread;
  nvtxa__packed start_ns;
  nvtxa__packed duration_ns; /* as recorded: may be negative */
  nvtxa__packed operation;
} nvtxa__calls;

void nvtxa__calls_free(nvtxa__calls *calls);

/* By interval: what the calls inside it launched. */
typedef struct nvtxa__projection {
  uint32_t *first; /* the operation that started first */
  uint32_t *last;  /* and the one that ended last */
  uint32_t *count; /* of distinct correlation ids; 0: none, and the rest does not count */
  /* What calls launched that no interval encloses. */
  nvtxa__unattributed outside; /* without the thread */
  size_t outside_call;         /* the one that started it first */
  /* By call: the innermost interval that encloses it, or NVTXA__NO_PARENT. NULL: not wanted. */
  uint32_t *innermost;
  bool *simple_call_thread; /* by thread of the calls, with `innermost`: what encloses its calls are
                               the innermost interval and the ancestors of that */
} nvtxa__projection;

/* How the intervals lie. */
typedef struct nvtxa__nesting {
  nvtxa__intervals intervals;
  uint32_t *order;     /* outer before inner */
  nvtxa__packed above; /* the parents */
  bool *nested;        /* by thread */
} nvtxa__nesting;

/* `lane` holds by thread of the calls the intervals' number for it, or NVTXA__NO_ITEM. 0 or -1;
 * nvtxa__projection_free() is due whatever comes of it. */
int nvtxa__project(nvtxa__projection *projection, const nvtxa__nesting *nesting,
                   const uint32_t *lane, const nvtxa__calls *calls,
                   const nvtxa__operations *operations, bool want_innermost);
void nvtxa__projection_free(nvtxa__projection *projection);

#endif
