/*
 * Which interval encloses which. The parent is the shortest interval of the thread that encloses
 * the interval (bounds included); of intervals with the same bounds, the one with the lower id is
 * the outer. On one thread ranges normally nest, and a stack finds the parent. Ranges of different
 * NVTX domains, and start/end ranges, may overlap without nesting; threads that have such ranges
 * take a slower way that is right for any set of intervals.
 */
#include <stdlib.h>

#include "nesting-internal.h"

nvtxa__intervals nvtxa__intervals_of(const nvtxa_ranges *ranges) {
  return (nvtxa__intervals){
      .count = ranges->count,
      .thread_count = ranges->thread_count,
      .thread = &ranges->thread,
      .start_ns = &ranges->start_ns,
      .duration_ns = &ranges->duration_ns,
      .id = &ranges->range_id,
  };
}

/* ---- the order in which a thread's intervals are visited: outer before inner ---- */

/* Of intervals that start together. */
static int compare_intervals(const void *a, const void *b, void *user) {
  const nvtxa__intervals *intervals = user;
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  int64_t x_ns = nvtxa__interval_duration_ns(intervals, x);
  int64_t y_ns = nvtxa__interval_duration_ns(intervals, y);
  if (x_ns != y_ns) {
    return x_ns > y_ns ? -1 : 1;
  }
  int64_t x_id = nvtxa__packed_get(intervals->id, x);
  int64_t y_id = nvtxa__packed_get(intervals->id, y);
  return (x_id > y_id) - (x_id < y_id);
}

int nvtxa__order_intervals(const nvtxa__intervals *intervals, uint32_t **ret_order) {
  return nvtxa__order_make(ret_order, intervals->count, intervals->start_ns, compare_intervals,
                           (void *)intervals);
}

int nvtxa__stack_push(nvtxa__stack *stack, uint32_t item, int64_t end_ns) {
  if (nvtxa__reserve(&stack->items, &stack->capacity, stack->depth + 1, sizeof *stack->items) !=
      0) {
    return -1;
  }
  stack->items[stack->depth++] = (nvtxa__open_interval){end_ns, item};
  return 0;
}

void nvtxa__stacks_free(nvtxa__stack *stacks, size_t count) {
  for (size_t t = 0; stacks != NULL && t < count; t++) {
    free(stacks[t].items);
  }
  free(stacks);
}

/* ---- intervals that nest: a stack ---- */

static bool shorter(const nvtxa__intervals *intervals, uint32_t a, uint32_t b) {
  return b == NVTXA__NO_PARENT ||
         nvtxa__interval_duration_ns(intervals, a) < nvtxa__interval_duration_ns(intervals, b);
}

/* Take the next interval of a thread and find its parent. *nests becomes false where it overlaps
 * another without nesting; what was found for the thread is then not to be used. A range of no
 * length encloses nothing but may lie on the border of two: `touching` is the shortest of those
 * that ended just where the present range starts. 0 or -1. */
static int enter(const nvtxa__intervals *intervals, nvtxa__stack *stack, uint32_t *touching,
                 bool *nests, uint32_t item, uint32_t *ret_parent) {
  int64_t start_ns = nvtxa__interval_start_ns(intervals, item);
  int64_t end_ns = start_ns + nvtxa__interval_duration_ns(intervals, item);
  if (*touching != NVTXA__NO_PARENT && nvtxa__interval_end_ns(intervals, *touching) != start_ns) {
    *touching = NVTXA__NO_PARENT;
  }
  while (stack->depth > 0 && stack->items[stack->depth - 1].end_ns < end_ns) {
    nvtxa__open_interval ended = stack->items[--stack->depth];
    if (ended.end_ns > start_ns) {
      *nests = false;
      return 0;
    }
    if (ended.end_ns == start_ns && shorter(intervals, ended.item, *touching)) {
      *touching = ended.item;
    }
  }
  uint32_t parent = stack->depth > 0 ? stack->items[stack->depth - 1].item : NVTXA__NO_PARENT;
  if (end_ns == start_ns && *touching != NVTXA__NO_PARENT &&
      shorter(intervals, *touching, parent)) {
    parent = *touching;
  }
  *ret_parent = parent;
  return nvtxa__stack_push(stack, item, end_ns);
}

static int sweep_nested(const nvtxa__intervals *intervals, const uint32_t *order, uint32_t *parent,
                        bool *nested) {
  int result = -1;
  nvtxa__stack *stacks = nvtxa__alloc_zero(intervals->thread_count + 1, sizeof *stacks);
  uint32_t *touching = nvtxa__alloc(intervals->thread_count + 1, sizeof *touching);
  if (stacks == NULL || touching == NULL) {
    goto out;
  }
  for (size_t t = 0; t < intervals->thread_count; t++) {
    touching[t] = NVTXA__NO_PARENT;
    nested[t] = true;
  }
  result = 0;
  for (size_t i = 0; i < intervals->count && result == 0; i++) {
    uint32_t item = nvtxa__ordered(order, i);
    size_t t = (size_t)nvtxa__packed_get(intervals->thread, item);
    if (nested[t]) {
      result = enter(intervals, &stacks[t], &touching[t], &nested[t], item, &parent[item]);
    }
  }
out:
  nvtxa__stacks_free(stacks, intervals->thread_count);
  free(touching);
  return result;
}

/* ---- intervals that overlap: the shortest of those that began before and end after ---- */

/* Whether the interval at position `a` of the order is a closer parent than the one at `b`: it is
 * shorter or, of intervals of one length, comes later. */
static bool closer(const nvtxa__closest *c, uint32_t a, uint32_t b) {
  if (b == NVTXA__NO_PARENT || a == NVTXA__NO_PARENT) {
    return b == NVTXA__NO_PARENT;
  }
  int64_t a_ns = nvtxa__interval_duration_ns(c->intervals, c->order[a]);
  int64_t b_ns = nvtxa__interval_duration_ns(c->intervals, c->order[b]);
  return a_ns != b_ns ? a_ns < b_ns : a > b;
}

int nvtxa__closest_init(nvtxa__closest *c, const nvtxa__intervals *intervals, const uint32_t *order,
                        size_t count) {
  *c = (nvtxa__closest){
      .intervals = intervals,
      .order = order,
      .count = count,
      .ends = nvtxa__alloc(count + 1, sizeof *c->ends),
      .tree = nvtxa__alloc(count + 1, sizeof *c->tree),
  };
  if (c->ends == NULL || c->tree == NULL) {
    return -1;
  }
  for (size_t i = 0; i < count; i++) {
    c->ends[i] = nvtxa__interval_end_ns(intervals, order[i]);
    c->tree[i] = NVTXA__NO_PARENT;
  }
  qsort(c->ends, count, sizeof *c->ends, nvtxa__compare_int64);
  return 0;
}

void nvtxa__closest_free(nvtxa__closest *c) {
  free(c->ends);
  free(c->tree);
}

/* How many end no earlier: those of the tree up to this node. */
static size_t rank_of(const nvtxa__closest *c, int64_t end_ns) {
  return c->count - nvtxa__count_below(c->ends, c->count, end_ns);
}

void nvtxa__closest_enter(nvtxa__closest *c) {
  uint32_t position = (uint32_t)c->entered++;
  size_t rank = rank_of(c, nvtxa__interval_end_ns(c->intervals, c->order[position]));
  for (size_t node = rank; node <= c->count; node += node & (~node + 1)) {
    if (closer(c, position, c->tree[node - 1])) {
      c->tree[node - 1] = position;
    }
  }
}

uint32_t nvtxa__closest_find(const nvtxa__closest *c, int64_t end_ns) {
  uint32_t found = NVTXA__NO_PARENT;
  for (size_t node = rank_of(c, end_ns); node > 0; node -= node & (~node + 1)) {
    found = closer(c, c->tree[node - 1], found) ? c->tree[node - 1] : found;
  }
  return found == NVTXA__NO_PARENT ? NVTXA__NO_PARENT : c->order[found];
}

/* The parents of one thread's intervals. */
static int sweep_overlapping(const nvtxa__intervals *intervals, const uint32_t *order, size_t count,
                             uint32_t *parent) {
  nvtxa__closest c;
  int result = nvtxa__closest_init(&c, intervals, order, count);
  for (size_t i = 0; i < count && result == 0; i++) {
    parent[order[i]] = nvtxa__closest_find(&c, nvtxa__interval_end_ns(intervals, order[i]));
    nvtxa__closest_enter(&c);
  }
  nvtxa__closest_free(&c);
  return result;
}

/* ---- all threads ---- */

int nvtxa__find_parents(const nvtxa__intervals *intervals, const uint32_t *order, uint32_t *parent,
                        bool *nested) {
  size_t overlapping = 0;
  nvtxa__shares shares = {NULL, NULL};
  if (sweep_nested(intervals, order, parent, nested) != 0) {
    return -1;
  }
  bool *wanted = nvtxa__alloc(intervals->thread_count + 1, sizeof *wanted);
  if (wanted == NULL) {
    return -1;
  }
  for (size_t t = 0; t < intervals->thread_count; t++) {
    wanted[t] = !nested[t];
    overlapping += wanted[t];
  }
  int result = overlapping == 0
                   ? 0
                   : nvtxa__shares_make(&shares, intervals->count, order, intervals->thread,
                                        intervals->thread_count, wanted);
  for (size_t t = 0; t < intervals->thread_count && result == 0 && overlapping > 0; t++) {
    size_t first = shares.first[t];
    if (wanted[t]) {
      result =
          sweep_overlapping(intervals, shares.items + first, shares.first[t + 1] - first, parent);
    }
  }
  nvtxa__shares_free(&shares);
  free(wanted);
  return result;
}
