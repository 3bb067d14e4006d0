/*
 * The projection of intervals onto the GPU: an interval's span goes from the first start to the
 * last end of the operations launched by the calls that it encloses.
 *
 * On a thread whose intervals nest, the intervals that enclose a call are the innermost one and its
 * ancestors: a stack finds the innermost, and what it gathers is handed up. Elsewhere, each
 * interval asks for the calls that start no earlier and end no later, by a sweep over the starts
 * and a tree over the ends.
 */
#include <stdlib.h>
#include <string.h>

#include "nesting-internal.h"

/* What a set of operations amounts to. */
typedef struct sum {
  int64_t start_ns;
  int64_t end_ns;
  int64_t count; /* 0: the rest does not count */
} sum;

typedef struct work {
  const nvtxa__intervals *intervals;
  const nvtxa__calls *calls;
  const nvtxa__operations *operations;
  const uint32_t *parent;
  const bool *nested;
  const uint32_t *call_thread;
  nvtxa__projection *projection;
  uint8_t *outside; /* by operation: whether it was counted outside; made when needed */
} work;

/* One thread of it. */
typedef struct share {
  const uint32_t *intervals; /* outer before inner */
  size_t interval_count;
  const uint32_t *calls; /* by start */
  size_t call_count;
} share;

void nvtxa__projection_free(nvtxa__projection *projection) {
  free(projection->start_ns);
  free(projection->end_ns);
  free(projection->operations);
  *projection = (nvtxa__projection){0};
}

static void widen(int64_t *start_ns, int64_t *end_ns, bool first, int64_t more_start_ns,
                  int64_t more_end_ns) {
  *start_ns = first || more_start_ns < *start_ns ? more_start_ns : *start_ns;
  *end_ns = first || more_end_ns > *end_ns ? more_end_ns : *end_ns;
}

static void add_to_interval(nvtxa__projection *p, uint32_t interval, const sum *more) {
  if (more->count > 0) {
    widen(&p->start_ns[interval], &p->end_ns[interval], p->operations[interval] == 0,
          more->start_ns, more->end_ns);
    p->operations[interval] += (uint32_t)more->count;
  }
}

static sum sum_of_call(const work *job, uint32_t call) {
  uint32_t operation = job->calls->operation[call];
  return (sum){job->operations->start_ns[operation], job->operations->end_ns[operation], 1};
}

/* A call that no interval encloses. Its operation counts once, whatever calls it has. */
static int add_outside(work *job, uint32_t call) {
  nvtxa__unattributed *outside = &job->projection->outside;
  uint32_t operation = job->calls->operation[call];
  sum more = sum_of_call(job, call);
  if (job->operations->calls[operation] > 1) {
    if (job->outside == NULL) {
      job->outside = nvtxa__alloc_zero(job->operations->count, 1);
    }
    if (job->outside == NULL) {
      return -1;
    }
    if (job->outside[operation] != 0) {
      return 0;
    }
    job->outside[operation] = 1;
  }
  if (outside->operations == 0 || more.start_ns < outside->start_ns) {
    job->projection->outside_call = call;
  }
  widen(&outside->start_ns, &outside->end_ns, outside->operations == 0, more.start_ns, more.end_ns);
  outside->operations++;
  return 0;
}

/* ---- intervals that nest ---- */

/* The innermost interval of the stack that ends no earlier than `end_ns`. The ends only grow
 * towards the bottom. */
static uint32_t innermost(const nvtxa__intervals *intervals, const uint32_t *stack, size_t depth,
                          int64_t end_ns) {
  size_t low = 0;
  size_t high = depth;
  if (depth > 0 && nvtxa__interval_end_ns(intervals, stack[depth - 1]) >= end_ns) {
    return stack[depth - 1];
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (nvtxa__interval_end_ns(intervals, stack[middle]) >= end_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? NVTXA__NO_PARENT : stack[low - 1];
}

/* `stack` has room for the lane's intervals. */
static int project_nested(work *job, const share *lane, uint32_t *stack) {
  const nvtxa__intervals *intervals = job->intervals;
  const nvtxa__calls *calls = job->calls;
  nvtxa__projection *p = job->projection;
  size_t depth = 0;
  size_t next = 0;
  for (size_t i = 0; i < lane->call_count; i++) {
    uint32_t call = lane->calls[i];
    while (next < lane->interval_count &&
           intervals->start_ns[lane->intervals[next]] <= calls->start_ns[call]) {
      uint32_t interval = lane->intervals[next++];
      int64_t end_ns = nvtxa__interval_end_ns(intervals, interval);
      while (depth > 0 && nvtxa__interval_end_ns(intervals, stack[depth - 1]) < end_ns) {
        depth--;
      }
      stack[depth++] = interval;
    }
    uint32_t interval = innermost(intervals, stack, depth, calls->end_ns[call]);
    if (interval != NVTXA__NO_PARENT) {
      sum more = sum_of_call(job, call);
      add_to_interval(p, interval, &more);
    } else if (add_outside(job, call) != 0) {
      return -1;
    }
  }
  /* Inner before outer: each hands up what it has got when all below it have done so. */
  for (size_t i = lane->interval_count; i-- > 0;) {
    uint32_t interval = lane->intervals[i];
    uint32_t parent = job->parent[interval];
    if (p->operations[interval] > 0 && parent != NVTXA__NO_PARENT) {
      add_to_interval(p, parent,
                      &(sum){p->start_ns[interval], p->end_ns[interval], p->operations[interval]});
    }
  }
  return 0;
}

/* ---- any intervals ---- */

/* A Fenwick tree over the ranks of the calls' ends: the sum over all that end up to a rank. */
typedef struct tree {
  int64_t *ends; /* sorted */
  sum *nodes;    /* node i, from 1, at i - 1 */
  size_t count;
  uint32_t *best; /* by operation: the lowest rank at which it was counted; 0: none */
} tree;

/* How many calls end up to `end_ns`. Times lie far from the last integer. */
static size_t rank_of(const tree *t, int64_t end_ns) {
  return nvtxa__count_below(t->ends, t->count, end_ns + 1);
}

static void tree_widen(tree *t, size_t rank, const sum *more) {
  for (size_t node = rank; node <= t->count; node += node & (~node + 1)) {
    sum *s = &t->nodes[node - 1];
    widen(&s->start_ns, &s->end_ns, s->start_ns == INT64_MAX, more->start_ns, more->end_ns);
  }
}

static void tree_count(tree *t, size_t rank, int64_t change) {
  for (size_t node = rank; node <= t->count; node += node & (~node + 1)) {
    t->nodes[node - 1].count += change;
  }
}

/* An operation with several calls counts at the one that ends first, where it does so for every
 * interval that encloses any of those entered so far. */
static void tree_add(tree *t, const work *job, uint32_t call) {
  sum more = sum_of_call(job, call);
  uint32_t *best = &t->best[job->calls->operation[call]];
  uint32_t rank = (uint32_t)rank_of(t, job->calls->end_ns[call]);
  tree_widen(t, rank, &more);
  if (*best == 0 || rank < *best) {
    if (*best != 0) {
      tree_count(t, *best, -1);
    }
    tree_count(t, rank, 1);
    *best = rank;
  }
}

static sum tree_sum(const tree *t, size_t rank) {
  sum all = {INT64_MAX, INT64_MIN, 0};
  for (size_t node = rank; node > 0; node -= node & (~node + 1)) {
    const sum *s = &t->nodes[node - 1];
    if (s->start_ns != INT64_MAX) {
      widen(&all.start_ns, &all.end_ns, all.start_ns == INT64_MAX, s->start_ns, s->end_ns);
    }
    all.count += s->count;
  }
  return all;
}

static int add_all_outside(work *job, const share *lane) {
  const nvtxa__intervals *intervals = job->intervals;
  const nvtxa__calls *calls = job->calls;
  size_t next = 0;
  int64_t latest_ns = INT64_MIN;
  for (size_t i = 0; i < lane->call_count; i++) {
    uint32_t call = lane->calls[i];
    for (; next < lane->interval_count &&
           intervals->start_ns[lane->intervals[next]] <= calls->start_ns[call];
         next++) {
      int64_t end_ns = nvtxa__interval_end_ns(intervals, lane->intervals[next]);
      latest_ns = end_ns > latest_ns ? end_ns : latest_ns;
    }
    if ((next == 0 || latest_ns < calls->end_ns[call]) && add_outside(job, call) != 0) {
      return -1;
    }
  }
  return 0;
}

static int project_any(work *job, const share *lane, uint32_t *best) {
  const nvtxa__intervals *intervals = job->intervals;
  const nvtxa__calls *calls = job->calls;
  int result = -1;
  tree t = {
      .ends = nvtxa__alloc(lane->call_count + 1, sizeof *t.ends),
      .nodes = nvtxa__alloc(lane->call_count + 1, sizeof *t.nodes),
      .count = lane->call_count,
      .best = best,
  };
  if (t.ends == NULL || t.nodes == NULL) {
    goto out;
  }
  for (size_t i = 0; i < lane->call_count; i++) {
    t.ends[i] = calls->end_ns[lane->calls[i]];
    t.nodes[i] = (sum){INT64_MAX, INT64_MIN, 0};
    t.best[calls->operation[lane->calls[i]]] = 0;
  }
  qsort(t.ends, t.count, sizeof *t.ends, nvtxa__compare_int64);
  size_t next = lane->call_count;
  for (size_t i = lane->interval_count; i-- > 0;) {
    uint32_t interval = lane->intervals[i];
    while (next > 0 && calls->start_ns[lane->calls[next - 1]] >= intervals->start_ns[interval]) {
      tree_add(&t, job, lane->calls[--next]);
    }
    size_t rank = rank_of(&t, nvtxa__interval_end_ns(intervals, interval));
    sum found = tree_sum(&t, rank);
    add_to_interval(job->projection, interval, &found);
  }
  result = add_all_outside(job, lane);
out:
  free(t.ends);
  free(t.nodes);
  return result;
}

/* ---- all threads ---- */

/* Whether the stack will do: an instant may touch two intervals that do not enclose each other, and
 * an operation with several calls must not be counted twice on its way up. */
static bool is_simple(const work *job, const share *lane) {
  for (size_t i = 0; i < lane->call_count; i++) {
    uint32_t call = lane->calls[i];
    if (job->calls->end_ns[call] <= job->calls->start_ns[call] ||
        job->operations->calls[job->calls->operation[call]] > 1) {
      return false;
    }
  }
  return true;
}

static int compare_numbers(const void *a, const void *b, void *unused) {
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  (void)unused;
  return (x > y) - (x < y);
}

/* What the calls of a thread without intervals launched lies outside. */
static int add_rest_outside(work *job, const nvtxa__order *calls) {
  int result = -1;
  bool *met = nvtxa__alloc_zero(job->calls->thread_count + 1, sizeof *met);
  if (met == NULL) {
    return -1;
  }
  for (size_t t = 0; t < job->intervals->thread_count; t++) {
    if (job->call_thread[t] != NVTXA__NO_ITEM) {
      met[job->call_thread[t]] = true;
    }
  }
  for (size_t t = 0; t < job->calls->thread_count; t++) {
    for (size_t i = calls->first[t]; i < calls->first[t + 1] && !met[t]; i++) {
      if (add_outside(job, calls->items[i]) != 0) {
        goto out;
      }
    }
  }
  result = 0;
out:
  free(met);
  return result;
}

static int project_threads(work *job, const nvtxa__order *order, const nvtxa__order *calls) {
  int result = 0;
  uint32_t *best = NULL;
  uint32_t *stack = nvtxa__alloc(job->intervals->count + 1, sizeof *stack);
  if (stack == NULL) {
    return -1;
  }
  for (size_t t = 0; t < job->intervals->thread_count && result == 0; t++) {
    uint32_t c = job->call_thread[t];
    if (c == NVTXA__NO_ITEM) {
      continue;
    }
    share lane = {
        .intervals = order->items + order->first[t],
        .interval_count = order->first[t + 1] - order->first[t],
        .calls = calls->items + calls->first[c],
        .call_count = calls->first[c + 1] - calls->first[c],
    };
    if (job->nested[t] && is_simple(job, &lane)) {
      result = project_nested(job, &lane, stack);
      continue;
    }
    best = best != NULL ? best : nvtxa__alloc(job->operations->count + 1, sizeof *best);
    result = best == NULL ? -1 : project_any(job, &lane, best);
  }
  free(stack);
  free(best);
  return result == 0 ? add_rest_outside(job, calls) : result;
}

int nvtxa__project(nvtxa__projection *projection, const nvtxa__intervals *intervals,
                   const nvtxa__order *order, const uint32_t *parent, const bool *nested,
                   const uint32_t *call_thread, const nvtxa__calls *calls,
                   const nvtxa__operations *operations) {
  work job = {
      .intervals = intervals,
      .calls = calls,
      .operations = operations,
      .parent = parent,
      .nested = nested,
      .call_thread = call_thread,
      .projection = projection,
  };
  nvtxa__order by_thread = {NULL, NULL};
  int result = -1;
  *projection = (nvtxa__projection){
      .start_ns = nvtxa__alloc(intervals->count + 1, sizeof *projection->start_ns),
      .end_ns = nvtxa__alloc(intervals->count + 1, sizeof *projection->end_ns),
      .operations = nvtxa__alloc_zero(intervals->count + 1, sizeof *projection->operations),
  };
  if (projection->start_ns != NULL && projection->end_ns != NULL &&
      projection->operations != NULL &&
      nvtxa__order_make(&by_thread, calls->count, calls->thread, calls->thread_count,
                        calls->start_ns, compare_numbers, NULL) == 0) {
    result = project_threads(&job, order, &by_thread);
  }
  nvtxa__order_free(&by_thread);
  free(job.outside);
  return result;
}
