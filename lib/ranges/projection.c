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
  uint32_t first; /* the operation that started first; NVTXA__NO_ITEM: there is none */
  uint32_t last;  /* and the one that ended last */
  int64_t count;
} sum;

typedef struct work {
  const nvtxa__nesting *nesting;
  const nvtxa__calls *calls;
  const nvtxa__operations *operations;
  const uint32_t *lane; /* by thread of the calls: the intervals' */
  nvtxa__projection *projection;
  uint32_t *call_order; /* by start */
  bool *simple_lane;    /* by thread of the intervals: whether a stack will do */
  uint8_t *outside;     /* by operation: whether it was counted outside; made when needed */
} work;

void nvtxa__calls_free(nvtxa__calls *calls) {
  nvtxa__packed_free(&calls->thread);
  nvtxa__packed_free(&calls->start_ns);
  nvtxa__packed_free(&calls->duration_ns);
  nvtxa__packed_free(&calls->operation);
  *calls = (nvtxa__calls){0};
}

void nvtxa__projection_free(nvtxa__projection *projection) {
  free(projection->first);
  free(projection->last);
  free(projection->count);
  free(projection->innermost);
  free(projection->simple_call_thread);
  *projection = (nvtxa__projection){0};
}

static int64_t operation_start_ns(const work *job, uint32_t operation) {
  return nvtxa__packed_get(&job->operations->start_ns, operation);
}

static int64_t operation_end_ns(const work *job, uint32_t operation) {
  return nvtxa__operation_end_ns(job->operations, operation);
}

static int64_t call_start_ns(const work *job, uint32_t call) {
  return nvtxa__packed_get(&job->calls->start_ns, call);
}

static int64_t call_end_ns(const work *job, uint32_t call) {
  return call_start_ns(job, call) + nvtxa__packed_get(&job->calls->duration_ns, call);
}

static uint32_t call_operation(const work *job, uint32_t call) {
  return (uint32_t)nvtxa__packed_get(&job->calls->operation, call);
}

static size_t call_thread(const work *job, uint32_t call) {
  return (size_t)nvtxa__packed_get(&job->calls->thread, call);
}

/* Take the operations `first` to `last` into a span. */
static void widen(const work *job, uint32_t *span_first, uint32_t *span_last, uint32_t first,
                  uint32_t last) {
  if (*span_first == NVTXA__NO_ITEM ||
      operation_start_ns(job, first) < operation_start_ns(job, *span_first)) {
    *span_first = first;
  }
  if (*span_last == NVTXA__NO_ITEM ||
      operation_end_ns(job, last) > operation_end_ns(job, *span_last)) {
    *span_last = last;
  }
}

static void add_to_interval(const work *job, uint32_t interval, sum more) {
  nvtxa__projection *p = job->projection;
  if (more.count > 0) {
    widen(job, &p->first[interval], &p->last[interval], more.first, more.last);
    p->count[interval] += (uint32_t)more.count;
  }
}

static sum sum_of_call(const work *job, uint32_t call) {
  uint32_t operation = call_operation(job, call);
  return (sum){operation, operation, 1};
}

/* Whether a call stands for the work outside rather than the one that does so far: its operation
 * started first; of those that started together, the call did, or stands first in the export. */
static bool is_first_outside(const work *job, uint32_t call) {
  uint32_t other = (uint32_t)job->projection->outside_call;
  int64_t start_ns = operation_start_ns(job, call_operation(job, call));
  if (job->projection->outside.operations == 0 || start_ns != job->projection->outside.start_ns) {
    return job->projection->outside.operations == 0 || start_ns < job->projection->outside.start_ns;
  }
  int64_t own_ns = call_start_ns(job, call);
  int64_t other_ns = call_start_ns(job, other);
  return own_ns != other_ns ? own_ns < other_ns : call < other;
}

/* A call that no interval encloses. Its operation counts once, whatever calls it has. */
static int add_outside(work *job, uint32_t call) {
  nvtxa__unattributed *outside = &job->projection->outside;
  uint32_t operation = call_operation(job, call);
  int64_t start_ns = operation_start_ns(job, operation);
  int64_t end_ns = operation_end_ns(job, operation);
  bool first = outside->operations == 0;
  if (is_first_outside(job, call)) {
    outside->start_ns = start_ns;
    job->projection->outside_call = call;
  }
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
  outside->end_ns = first || end_ns > outside->end_ns ? end_ns : outside->end_ns;
  outside->operations++;
  return 0;
}

/* ---- intervals that nest ---- */

/* The innermost interval of the stack that ends no earlier than `end_ns`. The ends only grow
 * towards the bottom. */
static uint32_t innermost(const nvtxa__stack *stack, int64_t end_ns) {
  size_t low = 0;
  size_t high = stack->depth;
  if (high > 0 && stack->items[high - 1].end_ns >= end_ns) {
    return stack->items[high - 1].item;
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (stack->items[middle].end_ns >= end_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? NVTXA__NO_PARENT : stack->items[low - 1].item;
}

static int enter(const work *job, nvtxa__stack *stacks, uint32_t interval) {
  const nvtxa__intervals *intervals = &job->nesting->intervals;
  size_t lane = (size_t)nvtxa__packed_get(intervals->thread, interval);
  nvtxa__stack *stack = &stacks[lane];
  if (!job->simple_lane[lane]) {
    return 0;
  }
  int64_t end_ns = nvtxa__interval_end_ns(intervals, interval);
  while (stack->depth > 0 && stack->items[stack->depth - 1].end_ns < end_ns) {
    stack->depth--;
  }
  return nvtxa__stack_push(stack, interval, end_ns);
}

static int take_call(work *job, const nvtxa__stack *stacks, uint32_t call) {
  uint32_t lane = job->lane[call_thread(job, call)];
  if (lane == NVTXA__NO_ITEM) {
    return add_outside(job, call);
  }
  if (!job->simple_lane[lane]) {
    return 0;
  }
  uint32_t interval = innermost(&stacks[lane], call_end_ns(job, call));
  if (interval == NVTXA__NO_PARENT) {
    return add_outside(job, call);
  }
  add_to_interval(job, interval, sum_of_call(job, call));
  if (job->projection->innermost != NULL) {
    job->projection->innermost[call] = interval;
  }
  return 0;
}

/* Intervals and calls of all threads by their starts. */
static int sweep(work *job) {
  const nvtxa__intervals *intervals = &job->nesting->intervals;
  int result = 0;
  size_t next = 0;
  nvtxa__stack *stacks = nvtxa__alloc_zero(intervals->thread_count + 1, sizeof *stacks);
  if (stacks == NULL) {
    return -1;
  }
  for (size_t i = 0; i < job->calls->count && result == 0; i++) {
    uint32_t call = nvtxa__ordered(job->call_order, i);
    int64_t start_ns = call_start_ns(job, call);
    while (next < intervals->count && result == 0) {
      uint32_t interval = nvtxa__ordered(job->nesting->order, next);
      if (nvtxa__interval_start_ns(intervals, interval) > start_ns) {
        break;
      }
      result = enter(job, stacks, interval);
      next++;
    }
    result = result == 0 ? take_call(job, stacks, call) : result;
  }
  nvtxa__stacks_free(stacks, intervals->thread_count);
  return result;
}

/* Inner before outer: each hands up what it has got when all below it have done so. */
static void hand_up(const work *job) {
  const nvtxa__projection *p = job->projection;
  const nvtxa__intervals *intervals = &job->nesting->intervals;
  for (size_t i = intervals->count; i-- > 0;) {
    uint32_t interval = nvtxa__ordered(job->nesting->order, i);
    uint32_t parent = nvtxa__parent(&job->nesting->above, interval);
    if (p->count[interval] > 0 && parent != NVTXA__NO_PARENT &&
        job->simple_lane[nvtxa__packed_get(intervals->thread, interval)]) {
      add_to_interval(job, parent,
                      (sum){p->first[interval], p->last[interval], p->count[interval]});
    }
  }
}

/* ---- any intervals ---- */

/* One thread of them. */
typedef struct share {
  const uint32_t *intervals; /* outer before inner */
  size_t interval_count;
  const uint32_t *calls; /* by start */
  size_t call_count;
} share;

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

static void tree_widen(tree *t, const work *job, size_t rank, uint32_t operation) {
  for (size_t node = rank; node <= t->count; node += node & (~node + 1)) {
    sum *s = &t->nodes[node - 1];
    widen(job, &s->first, &s->last, operation, operation);
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
  uint32_t operation = call_operation(job, call);
  uint32_t *best = &t->best[operation];
  uint32_t rank = (uint32_t)rank_of(t, call_end_ns(job, call));
  tree_widen(t, job, rank, operation);
  if (*best == 0 || rank < *best) {
    if (*best != 0) {
      tree_count(t, *best, -1);
    }
    tree_count(t, rank, 1);
    *best = rank;
  }
}

static sum tree_sum(const tree *t, const work *job, size_t rank) {
  sum all = {NVTXA__NO_ITEM, NVTXA__NO_ITEM, 0};
  for (size_t node = rank; node > 0; node -= node & (~node + 1)) {
    const sum *s = &t->nodes[node - 1];
    if (s->first != NVTXA__NO_ITEM) {
      widen(job, &all.first, &all.last, s->first, s->last);
    }
    all.count += s->count;
  }
  return all;
}

static int add_all_outside(work *job, const share *lane) {
  const nvtxa__intervals *intervals = &job->nesting->intervals;
  size_t next = 0;
  int64_t latest_ns = INT64_MIN;
  for (size_t i = 0; i < lane->call_count; i++) {
    uint32_t call = lane->calls[i];
    int64_t start_ns = call_start_ns(job, call);
    for (; next < lane->interval_count &&
           nvtxa__interval_start_ns(intervals, lane->intervals[next]) <= start_ns;
         next++) {
      int64_t end_ns = nvtxa__interval_end_ns(intervals, lane->intervals[next]);
      latest_ns = end_ns > latest_ns ? end_ns : latest_ns;
    }
    if ((next == 0 || latest_ns < call_end_ns(job, call)) && add_outside(job, call) != 0) {
      return -1;
    }
  }
  return 0;
}

/* Which interval each call belongs to. */
static int find_innermost(const work *job, const share *lane) {
  const nvtxa__intervals *intervals = &job->nesting->intervals;
  nvtxa__closest closest;
  int result = nvtxa__closest_init(&closest, intervals, lane->intervals, lane->interval_count);
  for (size_t i = 0; i < lane->call_count && result == 0; i++) {
    uint32_t call = lane->calls[i];
    while (closest.entered < lane->interval_count &&
           nvtxa__interval_start_ns(intervals, lane->intervals[closest.entered]) <=
               call_start_ns(job, call)) {
      nvtxa__closest_enter(&closest);
    }
    job->projection->innermost[call] = nvtxa__closest_find(&closest, call_end_ns(job, call));
  }
  nvtxa__closest_free(&closest);
  return result;
}

static int project_any(work *job, const share *lane, uint32_t *best) {
  const nvtxa__intervals *intervals = &job->nesting->intervals;
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
    t.ends[i] = call_end_ns(job, lane->calls[i]);
    t.nodes[i] = (sum){NVTXA__NO_ITEM, NVTXA__NO_ITEM, 0};
    t.best[call_operation(job, lane->calls[i])] = 0;
  }
  qsort(t.ends, t.count, sizeof *t.ends, nvtxa__compare_int64);
  size_t next = lane->call_count;
  for (size_t i = lane->interval_count; i-- > 0;) {
    uint32_t interval = lane->intervals[i];
    int64_t start_ns = nvtxa__interval_start_ns(intervals, interval);
    while (next > 0 && call_start_ns(job, lane->calls[next - 1]) >= start_ns) {
      tree_add(&t, job, lane->calls[--next]);
    }
    size_t rank = rank_of(&t, nvtxa__interval_end_ns(intervals, interval));
    add_to_interval(job, interval, tree_sum(&t, job, rank));
  }
  result = add_all_outside(job, lane);
out:
  free(t.ends);
  free(t.nodes);
  return result;
}

/* The threads that a stack does not do for: wanted_lane and wanted_call, by thread. */
static int project_others(work *job, const bool *wanted_lane, const bool *wanted_call) {
  const nvtxa__intervals *intervals = &job->nesting->intervals;
  const nvtxa__calls *calls = job->calls;
  nvtxa__shares lanes = {NULL, NULL};
  nvtxa__shares called = {NULL, NULL};
  uint32_t *best = nvtxa__alloc(job->operations->count + 1, sizeof *best);
  int result = -1;
  if (best == NULL ||
      nvtxa__shares_make(&lanes, intervals->count, job->nesting->order, intervals->thread,
                         intervals->thread_count, wanted_lane) != 0 ||
      nvtxa__shares_make(&called, calls->count, job->call_order, &calls->thread,
                         calls->thread_count, wanted_call) != 0) {
    goto out;
  }
  result = 0;
  for (size_t c = 0; c < calls->thread_count && result == 0; c++) {
    if (wanted_call[c]) {
      size_t t = job->lane[c];
      share lane = {
          .intervals = lanes.items + lanes.first[t],
          .interval_count = lanes.first[t + 1] - lanes.first[t],
          .calls = called.items + called.first[c],
          .call_count = called.first[c + 1] - called.first[c],
      };
      result = project_any(job, &lane, best);
      if (result == 0 && job->projection->innermost != NULL) {
        result = find_innermost(job, &lane);
      }
    }
  }
out:
  nvtxa__shares_free(&lanes);
  nvtxa__shares_free(&called);
  free(best);
  return result;
}

/* ---- all threads ---- */

/* Find out where the stack will do: an instant may touch two intervals that do not enclose each
 * other, and an operation with several calls must not be counted twice on its way up. Returns
 * whether there are other threads. */
static bool tell_apart(work *job, bool *wanted_lane, bool *wanted_call) {
  const nvtxa__calls *calls = job->calls;
  bool any = false;
  for (size_t t = 0; t < job->nesting->intervals.thread_count; t++) {
    job->simple_lane[t] = job->nesting->nested[t];
  }
  for (size_t call = 0; call < calls->count; call++) {
    uint32_t lane = job->lane[nvtxa__packed_get(&calls->thread, call)];
    if (lane != NVTXA__NO_ITEM &&
        (nvtxa__packed_get(&calls->duration_ns, call) <= 0 ||
         job->operations->calls[call_operation(job, (uint32_t)call)] > 1)) {
      job->simple_lane[lane] = false;
    }
  }
  for (size_t c = 0; c < calls->thread_count; c++) {
    wanted_call[c] = job->lane[c] != NVTXA__NO_ITEM && !job->simple_lane[job->lane[c]];
    if (wanted_call[c]) {
      wanted_lane[job->lane[c]] = true;
      any = true;
    }
  }
  return any;
}

static int project_all(work *job) {
  size_t lane_count = job->nesting->intervals.thread_count;
  int result = -1;
  bool *wanted_lane = nvtxa__alloc_zero(lane_count + 1, sizeof *wanted_lane);
  bool *wanted_call = nvtxa__alloc_zero(job->calls->thread_count + 1, sizeof *wanted_call);
  job->simple_lane = nvtxa__alloc_zero(lane_count + 1, sizeof *job->simple_lane);
  if (wanted_lane != NULL && wanted_call != NULL && job->simple_lane != NULL &&
      nvtxa__order_make(&job->call_order, job->calls->count, &job->calls->start_ns, NULL, NULL) ==
          0) {
    bool others = tell_apart(job, wanted_lane, wanted_call);
    for (size_t c = 0; c < job->calls->thread_count && job->projection->innermost != NULL; c++) {
      job->projection->simple_call_thread[c] = !wanted_call[c];
    }
    result = sweep(job);
    hand_up(job);
    if (result == 0 && others) {
      result = project_others(job, wanted_lane, wanted_call);
    }
  }
  free(wanted_lane);
  free(wanted_call);
  free(job->simple_lane);
  free(job->call_order);
  return result;
}

int nvtxa__project(nvtxa__projection *projection, const nvtxa__nesting *nesting,
                   const uint32_t *lane, const nvtxa__calls *calls,
                   const nvtxa__operations *operations, bool want_innermost) {
  size_t count = nesting->intervals.count;
  work job = {
      .nesting = nesting,
      .calls = calls,
      .operations = operations,
      .lane = lane,
      .projection = projection,
  };
  int result = -1;
  *projection = (nvtxa__projection){
      .first = nvtxa__alloc(count + 1, sizeof *projection->first),
      .last = nvtxa__alloc(count + 1, sizeof *projection->last),
      .count = nvtxa__alloc_zero(count + 1, sizeof *projection->count),
  };
  if (want_innermost) {
    projection->innermost = nvtxa__alloc(calls->count + 1, sizeof *projection->innermost);
    projection->simple_call_thread =
        nvtxa__alloc_zero(calls->thread_count + 1, sizeof *projection->simple_call_thread);
  }
  if (projection->first != NULL && projection->last != NULL && projection->count != NULL &&
      (!want_innermost ||
       (projection->innermost != NULL && projection->simple_call_thread != NULL))) {
    memset(projection->first, 0xFF, (count + 1) * sizeof *projection->first); /* NVTXA__NO_ITEM */
    memset(projection->last, 0xFF, (count + 1) * sizeof *projection->last);
    if (want_innermost) { /* NVTXA__NO_PARENT */
      memset(projection->innermost, 0xFF, (calls->count + 1) * sizeof *projection->innermost);
    }
    result = project_all(&job);
  }
  free(job.outside);
  return result;
}
