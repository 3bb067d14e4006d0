/*
 * Which interval encloses which. The parent is the shortest interval of the thread that encloses
 * the interval (bounds included); of intervals with the same bounds, the one with the lower id is
 * the outer. On one thread ranges normally nest, and a stack finds the parent. Ranges of different
 * NVTX domains, and start/end ranges, may overlap without nesting; threads that have such ranges
 * take a slower way that is right for any set of intervals.
 */
#include <stdlib.h>
#include <string.h>

#include "nesting-internal.h"

nvtxa__intervals nvtxa__intervals_of(const nvtxa_ranges *ranges) {
  return (nvtxa__intervals){
      .count = ranges->count,
      .thread_count = ranges->thread_count,
      .thread = ranges->thread,
      .start_ns = ranges->start_ns,
      .duration_ns = ranges->duration_ns,
      .id = ranges->range_id,
  };
}

/* ---- the order in which a thread's intervals are visited: outer before inner ---- */

/* Of intervals that start together. */
static int compare_intervals(const void *a, const void *b, void *user) {
  const nvtxa__intervals *intervals = user;
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  if (intervals->duration_ns[x] != intervals->duration_ns[y]) {
    return intervals->duration_ns[x] > intervals->duration_ns[y] ? -1 : 1;
  }
  return (intervals->id[x] > intervals->id[y]) - (intervals->id[x] < intervals->id[y]);
}

int nvtxa__order_intervals(nvtxa__order *order, const nvtxa__intervals *intervals) {
  return nvtxa__order_make(order, intervals->count, intervals->thread, intervals->thread_count,
                           intervals->start_ns, compare_intervals, (void *)intervals);
}

/* ---- intervals that nest: a stack ---- */

typedef struct sweep {
  const nvtxa__intervals *intervals;
  const uint32_t *order; /* the intervals of one thread, outer before inner */
  size_t count;
  uint32_t *parent; /* by interval: what is found */
  uint32_t *work;   /* room for `count` of them */
} sweep;

static bool shorter(const nvtxa__intervals *intervals, uint32_t a, uint32_t b) {
  return b == NVTXA__NO_PARENT || intervals->duration_ns[a] < intervals->duration_ns[b];
}

/* False where two intervals overlap without nesting; what was found then is not to be used. */
static bool sweep_nested(const sweep *s) {
  const nvtxa__intervals *intervals = s->intervals;
  uint32_t *stack = s->work;
  size_t depth = 0;
  /* A range of no length encloses nothing but may lie on the border of two: the shortest of those
   * that ended just where the present range starts. */
  uint32_t touching = NVTXA__NO_PARENT;
  for (size_t i = 0; i < s->count; i++) {
    uint32_t item = s->order[i];
    int64_t start_ns = intervals->start_ns[item];
    int64_t end_ns = nvtxa__interval_end_ns(intervals, item);
    if (touching != NVTXA__NO_PARENT && nvtxa__interval_end_ns(intervals, touching) != start_ns) {
      touching = NVTXA__NO_PARENT;
    }
    while (depth > 0 && nvtxa__interval_end_ns(intervals, stack[depth - 1]) < end_ns) {
      uint32_t ended = stack[--depth];
      int64_t ended_ns = nvtxa__interval_end_ns(intervals, ended);
      if (ended_ns > start_ns) {
        return false;
      }
      if (ended_ns == start_ns && shorter(intervals, ended, touching)) {
        touching = ended;
      }
    }
    uint32_t parent = depth > 0 ? stack[depth - 1] : NVTXA__NO_PARENT;
    if (end_ns == start_ns && touching != NVTXA__NO_PARENT &&
        shorter(intervals, touching, parent)) {
      parent = touching;
    }
    s->parent[item] = parent;
    stack[depth++] = item;
  }
  return true;
}

/* ---- intervals that overlap: the shortest of those that began before and end after ---- */

/* Whether the range at position `a` of the order is a closer parent than the one at `b`: it is
 * shorter or, of ranges of one length, comes later. */
static bool closer(const sweep *s, uint32_t a, uint32_t b) {
  if (b == NVTXA__NO_PARENT || a == NVTXA__NO_PARENT) {
    return b == NVTXA__NO_PARENT;
  }
  int64_t a_ns = s->intervals->duration_ns[s->order[a]];
  int64_t b_ns = s->intervals->duration_ns[s->order[b]];
  return a_ns != b_ns ? a_ns < b_ns : a > b;
}

/* A Fenwick tree over the ranks of the ends, latest end first: each node holds the position of the
 * closest parent of its part. Ranges enter in the order of their starts, so that all that are in
 * the tree began before the present one. */
static int sweep_overlapping(const sweep *s) {
  int64_t *ends = nvtxa__alloc(s->count, sizeof *ends);
  uint32_t *tree = s->work; /* node i, from 1, at i - 1 */
  if (ends == NULL) {
    return -1;
  }
  for (size_t i = 0; i < s->count; i++) {
    ends[i] = nvtxa__interval_end_ns(s->intervals, s->order[i]);
    tree[i] = NVTXA__NO_PARENT;
  }
  qsort(ends, s->count, sizeof *ends, nvtxa__compare_int64);
  for (size_t i = 0; i < s->count; i++) {
    uint32_t item = s->order[i];
    size_t rank =
        s->count - nvtxa__count_below(ends, s->count, nvtxa__interval_end_ns(s->intervals, item));
    uint32_t found = NVTXA__NO_PARENT;
    for (size_t node = rank; node > 0; node -= node & (~node + 1)) {
      found = closer(s, tree[node - 1], found) ? tree[node - 1] : found;
    }
    s->parent[item] = found == NVTXA__NO_PARENT ? NVTXA__NO_PARENT : s->order[found];
    for (size_t node = rank; node <= s->count; node += node & (~node + 1)) {
      tree[node - 1] = closer(s, (uint32_t)i, tree[node - 1]) ? (uint32_t)i : tree[node - 1];
    }
  }
  free(ends);
  return 0;
}

/* ---- all threads ---- */

int nvtxa__find_parents(const nvtxa__intervals *intervals, const nvtxa__order *order,
                        uint32_t *parent, bool *nested) {
  int result = 0;
  uint32_t *work = nvtxa__alloc(intervals->count + 1, sizeof *work);
  for (size_t t = 0; t < intervals->thread_count && result == 0 && work != NULL; t++) {
    size_t first = order->first[t];
    sweep thread = {intervals, order->items + first, order->first[t + 1] - first, parent, work};
    bool nests = sweep_nested(&thread);
    if (!nests) {
      result = sweep_overlapping(&thread);
    }
    if (nested != NULL) {
      nested[t] = nests;
    }
  }
  free(work);
  return work == NULL ? -1 : result;
}
