/*
 * What the GPU did for each scope and each iteration: the ranges around a launching call say which
 * of them enclose it, and the operations are tallied by that.
 *
 * On a thread whose ranges nest, what encloses a call is the innermost range with its ancestors, so
 * that each row of the GPU table stands for a set. Where ranges overlap without nesting, the set of
 * a call is gathered by a sweep.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis-internal.h"

#define UNKNOWN_SET UINT32_MAX

enum { LOOK_EVERY = 1 << 14 }; /* calls, for the cancel flag */

/* Fewer operations are not worth a further thread. */
enum { MANY_OPERATIONS = 1 << 14 };

typedef struct attributing {
  nvtxa_analysis *analysis;
  const nvtxa_ranges *gpu;
  const nvtxa_gpu_work *work;
  uint32_t *bucket; /* by row: a group's or an iteration's, or NVTXA__NO_BUCKET */
  uint32_t *set;    /* by row: what it and its ancestors are */
  uint32_t *way;    /* rows between the one in hand and its nearest ancestor that has a set */
  size_t way_capacity;
  nvtxa__gpu_sets sets;
  size_t set_capacity;
  nvtxa__table table; /* of sets, by parent and bucket */
  uint32_t *latest;   /* by bucket: its set that was found last; they come in runs */
  uint32_t *of_call;
  uint32_t *own;
} attributing;

/* ---- buckets ---- */

/* A range without a measured end is in no group, but an iteration keeps its work. */
static void find_buckets(attributing *a) {
  nvtxa_analysis *analysis = a->analysis;
  size_t near = 0;
  a->bucket = analysis->gpu_group; /* no group is no bucket */
  analysis->gpu_group = NULL;
  for (size_t row = 0; row < a->gpu->count; row++) {
    size_t place = (size_t)nvtxa__packed_get(&analysis->places.gpu, row);
    if (analysis->places.items[place].iteration) {
      uint32_t host_row = nvtxa__host_row(analysis, row, &near);
      a->bucket[row] =
          (uint32_t)analysis->gpu_groups.count + nvtxa__iteration_position(analysis, host_row);
    }
  }
}

/* ---- sets ---- */

static uint64_t hash_set(const void *owner, uint32_t set) {
  const nvtxa__gpu_set *s = &((const nvtxa__gpu_sets *)owner)->items[set];
  return nvtxa__hash_pair(s->parent, s->bucket);
}

/* A set and one bucket more. 0 or -1. */
static int add_bucket(attributing *a, uint32_t parent, uint32_t bucket, uint32_t *ret) {
  nvtxa__gpu_sets *sets = &a->sets;
  size_t slot;
  *ret = a->latest[bucket];
  if (*ret != UNKNOWN_SET && sets->items[*ret].parent == parent) {
    return 0;
  }
  if (sets->count + 1 >= UNKNOWN_SET ||
      nvtxa__table_reserve(&a->table, sets->count + 1, hash_set, sets) != 0) {
    return -1;
  }
  *ret = nvtxa__table_first(&a->table, nvtxa__hash_pair(parent, bucket), &slot);
  while (*ret != NVTXA__NO_ITEM &&
         (sets->items[*ret].parent != parent || sets->items[*ret].bucket != bucket)) {
    *ret = nvtxa__table_next(&a->table, &slot);
  }
  if (*ret == NVTXA__NO_ITEM) {
    if (nvtxa__reserve(&sets->items, &a->set_capacity, sets->count + 1, sizeof *sets->items) != 0) {
      return -1;
    }
    *ret = (uint32_t)sets->count++;
    sets->items[*ret] = (nvtxa__gpu_set){parent, bucket};
    nvtxa__table_put(&a->table, slot, *ret);
  }
  a->latest[bucket] = *ret;
  return 0;
}

/* Whether a set has a bucket. Start/end ranges of one scope may enclose each other: with a push/pop
 * range between them, whose scope leaves out the outer one. */
static bool has_bucket(const attributing *a, uint32_t set, uint32_t bucket) {
  const nvtxa__gpu_set *sets = a->sets.items;
  uint32_t latest = a->latest[bucket];
  if (latest == UNKNOWN_SET || sets[latest].parent == set) {
    return false; /* nearly always; a set is only made where the bucket is new to it */
  }
  while (set != 0 && sets[set].bucket != bucket) {
    set = sets[set].parent;
  }
  return set != 0;
}

static int begin_sets(attributing *a) {
  size_t bucket_count = a->analysis->gpu_groups.count + a->analysis->iteration_count;
  a->sets.bucket_count = bucket_count;
  a->latest = nvtxa__alloc(bucket_count + 1, sizeof *a->latest);
  a->of_call = nvtxa__alloc_zero(a->work->calls.count + 1, sizeof *a->of_call);
  a->own = nvtxa__alloc(a->work->calls.count + 1, sizeof *a->own);
  a->sets.of_call = a->of_call;
  a->sets.own = a->own;
  if (a->latest == NULL || a->of_call == NULL || a->own == NULL ||
      nvtxa__reserve(&a->sets.items, &a->set_capacity, 1, sizeof *a->sets.items) != 0) {
    return -1;
  }
  memset(a->latest, 0xFF, (bucket_count + 1) * sizeof *a->latest); /* UNKNOWN_SET */
  a->sets.items[0] = (nvtxa__gpu_set){0, NVTXA__NO_BUCKET};
  a->sets.count = 1;
  return 0;
}

/* The set of each row, outer before inner. */
static int find_sets(attributing *a) {
  const nvtxa_ranges *gpu = a->gpu;
  a->set = nvtxa__alloc(gpu->count + 1, sizeof *a->set);
  if (a->set == NULL) {
    return -1;
  }
  memset(a->set, 0xFF, (gpu->count + 1) * sizeof *a->set); /* UNKNOWN_SET */
  for (size_t first = 0; first < gpu->count; first++) {
    size_t length = 0;
    uint32_t row = (uint32_t)first;
    while (row < gpu->count && a->set[row] == UNKNOWN_SET) {
      if (nvtxa__reserve(&a->way, &a->way_capacity, length + 1, sizeof *a->way) != 0) {
        return -1;
      }
      a->way[length++] = row;
      row = nvtxa__range_parent(gpu, row);
    }
    uint32_t set = row < gpu->count ? a->set[row] : 0;
    while (length > 0) {
      uint32_t next = a->way[--length];
      uint32_t bucket = a->bucket[next];
      if (bucket != NVTXA__NO_BUCKET && !has_bucket(a, set, bucket) &&
          add_bucket(a, set, bucket, &set) != 0) {
        return -1;
      }
      a->set[next] = set;
    }
  }
  return 0;
}

/* ---- calls on threads whose ranges nest ---- */

static bool is_nested(const attributing *a, size_t call) {
  return a->work->threads[nvtxa__packed_get(&a->work->calls.thread, call)].nested;
}

static void find_calls(attributing *a) {
  const nvtxa__gpu_calls *calls = &a->work->calls;
  for (size_t call = 0; call < calls->count; call++) {
    int64_t row = nvtxa__packed_get(&calls->range, call);
    a->own[call] = row < 0 ? NVTXA__NO_BUCKET : a->bucket[row];
    if (row >= 0 && is_nested(a, call)) {
      a->of_call[call] = a->set[row];
    }
  }
}

/* ---- calls on other threads ---- */

/* What has begun on a thread: buckets, and up to where their ranges reach. */
typedef struct active {
  uint32_t bucket;
  int64_t end_ns;
} active;

typedef struct sweep {
  attributing *a;
  active *items;
  size_t count;
  size_t capacity;
  uint32_t *place; /* by bucket: where it is in `items`, or NVTXA__NO_ITEM */
  uint32_t *found; /* buckets that enclose the call in hand */
  size_t found_capacity;
  int64_t backward_ns; /* how long before its start any call ends: its clock was turned back */
} sweep;

static int enter(sweep *s, uint32_t row) {
  uint32_t bucket = s->a->bucket[row];
  int64_t end_ns = nvtxa__range_end_ns(s->a->gpu, row);
  if (bucket == NVTXA__NO_BUCKET) {
    return 0;
  }
  if (s->place[bucket] != NVTXA__NO_ITEM) {
    active *there = &s->items[s->place[bucket]];
    there->end_ns = end_ns > there->end_ns ? end_ns : there->end_ns;
    return 0;
  }
  if (nvtxa__reserve(&s->items, &s->capacity, s->count + 1, sizeof *s->items) != 0) {
    return -1;
  }
  s->place[bucket] = (uint32_t)s->count;
  s->items[s->count++] = (active){bucket, end_ns};
  return 0;
}

static void leave(sweep *s, size_t at) {
  s->place[s->items[at].bucket] = NVTXA__NO_ITEM;
  s->items[at] = s->items[--s->count];
  if (at < s->count) {
    s->place[s->items[at].bucket] = (uint32_t)at;
  }
}

static int compare_buckets(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* All that has begun and reaches to the end of the call. What no later call can end in is past. */
static int take_call(sweep *s, uint32_t call) {
  const nvtxa__gpu_calls *calls = &s->a->work->calls;
  int64_t start_ns = nvtxa__packed_get(&calls->start_ns, call);
  int64_t end_ns = start_ns + nvtxa__packed_get(&calls->duration_ns, call);
  size_t found = 0;
  if (nvtxa__reserve(&s->found, &s->found_capacity, s->count + 1, sizeof *s->found) != 0) {
    return -1;
  }
  for (size_t i = 0; i < s->count;) {
    if (start_ns - s->items[i].end_ns > s->backward_ns) {
      leave(s, i);
      continue;
    }
    if (s->items[i].end_ns >= end_ns) {
      s->found[found++] = s->items[i].bucket;
    }
    i++;
  }
  qsort(s->found, found, sizeof *s->found, compare_buckets);
  uint32_t set = 0;
  for (size_t i = 0; i < found; i++) {
    if (add_bucket(s->a, set, s->found[i], &set) != 0) {
      return -1;
    }
  }
  s->a->of_call[call] = set;
  return 0;
}

static int64_t most_backward_ns(const nvtxa__gpu_calls *calls) {
  int64_t least_ns = 0;
  for (size_t i = 0; i < calls->count; i++) {
    int64_t duration_ns = nvtxa__packed_get(&calls->duration_ns, i);
    least_ns = duration_ns < least_ns ? duration_ns : least_ns;
  }
  return -least_ns;
}

/* One thread: its rows and calls by their starts. */
static nvtxa_status sweep_thread(sweep *s, const uint32_t *rows, size_t row_count,
                                 const uint32_t *calls, size_t call_count, nvtxa_error **reterr) {
  const attributing *a = s->a;
  size_t next = 0;
  while (s->count > 0) {
    leave(s, s->count - 1);
  }
  for (size_t i = 0; i < call_count; i++) {
    int64_t start_ns = nvtxa__packed_get(&a->work->calls.start_ns, calls[i]);
    for (; next < row_count && nvtxa__range_start_ns(a->gpu, rows[next]) <= start_ns; next++) {
      if (enter(s, rows[next]) != 0) {
        return nvtxa__out_of_memory(reterr);
      }
    }
    if (take_call(s, calls[i]) != 0) {
      return nvtxa__out_of_memory(reterr);
    }
    if (i % LOOK_EVERY == 0 && nvtxa__cancelled(a->analysis->hooks)) {
      return nvtxa__cancel_error(reterr);
    }
  }
  return NVTXA_OK;
}

/* The threads whose ranges do not nest, as calls and as rows number them. */
typedef struct loose {
  bool *call_thread;
  bool *lane;
  nvtxa__shares calls;
  nvtxa__shares rows;
} loose;

static int make_loose(const attributing *a, loose *l) {
  const nvtxa_gpu_work *work = a->work;
  size_t lane_count = nvtxa__holder_of(a->gpu)->thread_count;
  l->call_thread = nvtxa__alloc_zero(work->thread_count + 1, sizeof *l->call_thread);
  l->lane = nvtxa__alloc_zero(lane_count + 1, sizeof *l->lane);
  if (l->call_thread == NULL || l->lane == NULL) {
    return -1;
  }
  for (size_t t = 0; t < work->thread_count; t++) {
    l->call_thread[t] = !work->threads[t].nested;
    if (l->call_thread[t]) {
      l->lane[work->threads[t].lane] = true;
    }
  }
  int result = nvtxa__shares_sort(&l->calls, work->calls.count, &work->calls.start_ns,
                                  &work->calls.thread, work->thread_count, l->call_thread);
  return result == 0 ? nvtxa__ranges_by_thread(a->gpu, l->lane, &l->rows) : -1;
}

static nvtxa_status sweep_loose(attributing *a, const loose *l, nvtxa_error **reterr) {
  size_t bucket_count = a->sets.bucket_count;
  sweep s = {
      .a = a,
      .place = nvtxa__alloc(bucket_count + 1, sizeof *s.place),
      .backward_ns = most_backward_ns(&a->work->calls),
  };
  nvtxa_status status = s.place == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
  if (s.place != NULL) {
    memset(s.place, 0xFF, (bucket_count + 1) * sizeof *s.place); /* NVTXA__NO_ITEM */
  }
  for (size_t t = 0; t < a->work->thread_count && status == NVTXA_OK; t++) {
    if (l->call_thread[t]) {
      const size_t *rows = &l->rows.first[a->work->threads[t].lane];
      const size_t *calls = &l->calls.first[t];
      status = sweep_thread(&s, l->rows.items + rows[0], rows[1] - rows[0],
                            l->calls.items + calls[0], calls[1] - calls[0], reterr);
    }
  }
  free(s.items);
  free(s.place);
  free(s.found);
  return status;
}

static nvtxa_status find_loose_calls(attributing *a, nvtxa_error **reterr) {
  loose l = {.call_thread = NULL};
  bool any = false;
  for (size_t t = 0; t < a->work->thread_count; t++) {
    any = any || !a->work->threads[t].nested;
  }
  if (!any) {
    return NVTXA_OK;
  }
  nvtxa_status status =
      make_loose(a, &l) == 0 ? sweep_loose(a, &l, reterr) : nvtxa__out_of_memory(reterr);
  nvtxa__shares_free(&l.calls);
  nvtxa__shares_free(&l.rows);
  free(l.call_thread);
  free(l.lane);
  return status;
}

/* ---- devices ---- */

static int compare_devices(const void *a, const void *b) {
  int64_t x = ((const nvtxa_gpu_device *)a)->device_id;
  int64_t y = ((const nvtxa_gpu_device *)b)->device_id;
  return (x > y) - (x < y);
}

/* Where each operation went. */
static int count_devices(attributing *a) {
  const nvtxa_gpu_work *work = a->work;
  nvtxa_gpu_device *devices = nvtxa__alloc_zero(work->device_count + 1, sizeof *devices);
  if (devices == NULL) {
    return -1;
  }
  for (size_t i = 0; i < work->count; i++) {
    nvtxa_gpu_device *device = &devices[nvtxa__packed_get(&work->device, i)];
    uint32_t call = (uint32_t)nvtxa__packed_get(&work->call, i);
    if (call == NVTXA__NO_CALL) {
      device->launch_missing++;
    } else if (a->own[call] != NVTXA__NO_BUCKET) {
      device->attributed++;
    } else if (nvtxa__packed_get(&work->calls.range, call) >= 0) {
      device->in_open_ranges++;
    } else {
      device->outside_ranges++;
    }
  }
  for (size_t i = 0; i < work->device_count; i++) {
    nvtxa_gpu_device *device = &devices[i];
    device->size = sizeof *device;
    device->device_id = work->devices[i].id;
    device->untimed = work->untimed[i];
    device->operations = device->attributed + device->in_open_ranges + device->outside_ranges +
                         device->launch_missing + device->untimed;
  }
  if (work->device_count > 0) {
    qsort(devices, work->device_count, sizeof *devices, compare_devices);
  }
  a->analysis->devices = devices;
  a->analysis->device_count = work->device_count;
  return 0;
}

/* ---- the whole ---- */

static nvtxa_status attribute(attributing *a, nvtxa_error **reterr) {
  find_buckets(a);
  if (begin_sets(a) != 0 || find_sets(a) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  find_calls(a);
  nvtxa_status status = find_loose_calls(a, reterr);
  return status == NVTXA_OK && count_devices(a) != 0 ? nvtxa__out_of_memory(reterr) : status;
}

/* What only finding the sets needed. */
static void forget_rows(attributing *a) {
  free(a->bucket);
  free(a->set);
  free(a->way);
  nvtxa__table_free(&a->table);
  free(a->latest);
}

nvtxa_status nvtxa__count_gpu_work(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  attributing a = {.analysis = analysis, .gpu = analysis->gpu, .work = analysis->gpu_work};
  if (!nvtxa__has_gpu_operations(analysis)) {
    return NVTXA_OK;
  }
  bool further_thread = analysis->thread_count != 1 && a.work->count >= MANY_OPERATIONS;
  nvtxa_status status = attribute(&a, reterr);
  forget_rows(&a);
  if (status == NVTXA_OK) {
    status = nvtxa__gpu_tally_make(&analysis->tally, a.work, &a.sets, further_thread,
                                   analysis->hooks, reterr);
  }
  free(a.sets.items);
  free(a.of_call);
  free(a.own);
  return status;
}
