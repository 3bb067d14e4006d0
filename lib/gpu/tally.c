/*
 * What the operations of each bucket amount to. They are taken in the order of their starts, so
 * that the union of their intervals is known as it grows: one number says up to where it reaches.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu-internal.h"

typedef struct tallying {
  nvtxa__gpu_tally *tally;
  const nvtxa_gpu_work *work;
  const nvtxa__gpu_sets *sets;
  const nvtxa_hooks *hooks;
  /* Labels are summed up by set first, and then handed up. */
  nvtxa__gpu_parts by_set;
  uint32_t *last_of_set; /* the part found last; equal operations come in runs */
  uint32_t *last_of_bucket;
  uint32_t *last_of_share; /* by device; not where there is one */
} tallying;

/* ---- parts ---- */

static uint64_t hash_part(const void *owner, uint32_t part) {
  const nvtxa__gpu_part *p = &((const nvtxa__gpu_parts *)owner)->items[part];
  return nvtxa__hash_pair(p->share, p->number);
}

/* The part of a number in a share, made where there is none. 0 or -1. */
static int find_part(nvtxa__gpu_parts *parts, uint32_t share, uint32_t number, uint32_t *ret) {
  size_t slot;
  if (parts->count + 1 >= UINT32_MAX ||
      nvtxa__table_reserve(&parts->table, parts->count + 1, hash_part, parts) != 0) {
    return -1;
  }
  *ret = nvtxa__table_first(&parts->table, nvtxa__hash_pair(share, number), &slot);
  for (; *ret != NVTXA__NO_ITEM; *ret = nvtxa__table_next(&parts->table, &slot)) {
    if (parts->items[*ret].share == share && parts->items[*ret].number == number) {
      return 0;
    }
  }
  if (nvtxa__reserve(&parts->items, &parts->capacity, parts->count + 1, sizeof *parts->items) !=
      0) {
    return -1;
  }
  *ret = (uint32_t)parts->count++;
  parts->items[*ret] = (nvtxa__gpu_part){.share = share, .number = number};
  nvtxa__table_put(&parts->table, slot, *ret);
  return 0;
}

/* The same, looked for at `last` first, which keeps the place. */
static int find_part_near(nvtxa__gpu_parts *parts, uint32_t share, uint32_t number,
                          uint32_t *last) {
  return *last != NVTXA__NO_ITEM && parts->items[*last].number == number
             ? 0
             : find_part(parts, share, number, last);
}

static void parts_free(nvtxa__gpu_parts *parts) {
  free(parts->items);
  nvtxa__table_free(&parts->table);
  *parts = (nvtxa__gpu_parts){0};
}

/* Less than the sum over all operations, which fits. */
static void add_sum(nvtxa__gpu_sum *sum, const nvtxa__gpu_sum *more) {
  sum->instances += more->instances;
  sum->duration_ns += more->duration_ns;
  sum->bytes += more->bytes;
}

/* ---- times ---- */

/* One operation. */
typedef struct operation {
  uint32_t label;
  uint32_t kind;
  uint32_t device;
  bool graph_node;
  int64_t start_ns;
  int64_t end_ns;
  nvtxa__gpu_sum sum;
} operation;

static inline int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* How much of an operation, behind those of its own sort before it, others cover that reach up to
 * `other_ns`: they started no later, so that they cover all before that. */
static inline int64_t covered(const operation *op, int64_t own_ns, int64_t other_ns) {
  int64_t from_ns = later(op->start_ns, own_ns);
  int64_t to_ns = op->end_ns < other_ns ? op->end_ns : other_ns;
  return to_ns > from_ns ? to_ns - from_ns : 0;
}

static inline void run_add(nvtxa__gpu_run *run, const operation *op) {
  if (run->operations++ == 0) {
    run->first_ns = op->start_ns;
    run->end_ns = op->start_ns;
    run->compute_end_ns = INT64_MIN;
    run->copy_end_ns = INT64_MIN;
  }
  if (op->start_ns > run->end_ns) {
    run->gap_ns = later(run->gap_ns, op->start_ns - run->end_ns);
    run->busy_ns += op->end_ns - op->start_ns;
    run->end_ns = op->end_ns;
  } else if (op->end_ns > run->end_ns) {
    run->busy_ns += op->end_ns - run->end_ns;
    run->end_ns = op->end_ns;
  }
  if (op->kind == NVTXA_GPU_MEMORY_TRANSFER) {
    run->overlap_ns += covered(op, run->copy_end_ns, run->compute_end_ns);
    run->copy_end_ns = later(run->copy_end_ns, op->end_ns);
  } else if (op->kind != NVTXA_GPU_MEMORY_SET) {
    run->overlap_ns += covered(op, run->compute_end_ns, run->copy_end_ns);
    run->compute_end_ns = later(run->compute_end_ns, op->end_ns);
  }
}

/* ---- operations ---- */

static inline operation operation_at(const nvtxa_gpu_work *work, size_t i) {
  uint32_t label = (uint32_t)nvtxa__packed_get(&work->label, i);
  int64_t start_ns = nvtxa__packed_get(&work->start_ns, i);
  int64_t duration_ns = nvtxa__packed_get(&work->duration_ns, i);
  return (operation){
      .label = label,
      .kind = nvtxa__gpu_label_at(work, label)->kind,
      .device = (uint32_t)nvtxa__packed_get(&work->device, i),
      .graph_node = nvtxa__packed_get(&work->graph_node, i) != 0,
      .start_ns = start_ns,
      .end_ns = start_ns + duration_ns,
      .sum = {1, duration_ns, nvtxa__packed_get(&work->bytes, i)},
  };
}

/* Times and nodes; on a single device its times are those of all. */
static inline int add_to_share(tallying *t, uint32_t number, const operation *op) {
  nvtxa_gpu_share *share = &t->tally->shares[number];
  run_add(&share->run, op);
  share->graph_nodes += op->graph_node;
  if (t->work->device_count < 2) {
    return 0;
  }
  if (find_part_near(&t->tally->devices, number, op->device, &t->last_of_share[number]) != 0) {
    return -1;
  }
  run_add(&t->tally->devices.items[t->last_of_share[number]].of.run, op);
  return 0;
}

static int add_operation(tallying *t, uint32_t set, uint32_t own, const operation *op) {
  const nvtxa__gpu_set *sets = t->sets->items;
  int result = 0;
  if (own != NVTXA__NO_BUCKET) {
    uint32_t share = own * NVTXA__TALLIES + NVTXA__INNERMOST;
    if (add_to_share(t, share, op) != 0 ||
        find_part_near(&t->tally->sums, share, op->label, &t->last_of_bucket[own]) != 0) {
      return -1;
    }
    add_sum(&t->tally->sums.items[t->last_of_bucket[own]].of.sum, &op->sum);
  }
  if (set == 0) {
    return 0;
  }
  if (find_part_near(&t->by_set, set, op->label, &t->last_of_set[set]) != 0) {
    return -1;
  }
  add_sum(&t->by_set.items[t->last_of_set[set]].of.sum, &op->sum);
  for (uint32_t node = set; node != 0 && result == 0; node = sets[node].parent) {
    result = add_to_share(t, sets[node].bucket * NVTXA__TALLIES + NVTXA__INCLUSIVE, op);
  }
  return result;
}

static nvtxa_status add_all(tallying *t, nvtxa_error **reterr) {
  const nvtxa_gpu_work *work = t->work;
  for (size_t i = 0; i < work->count; i++) {
    uint32_t call = (uint32_t)nvtxa__packed_get(&work->call, i);
    if (call == NVTXA__NO_CALL) {
      continue;
    }
    const operation op = operation_at(work, i);
    if (add_operation(t, t->sets->of_call[call], t->sets->own[call], &op) != 0) {
      return nvtxa__out_of_memory(reterr);
    }
    if (i % NVTXA__LOOK_EVERY == 0 && nvtxa__cancelled(t->hooks)) {
      return nvtxa__cancel_error(reterr);
    }
  }
  return NVTXA_OK;
}

/* What was summed up by set belongs to each of its buckets. */
static int hand_up(tallying *t) {
  const nvtxa__gpu_set *sets = t->sets->items;
  for (size_t i = 0; i < t->by_set.count; i++) {
    const nvtxa__gpu_part *part = &t->by_set.items[i];
    for (uint32_t node = part->share; node != 0; node = sets[node].parent) {
      uint32_t share = sets[node].bucket * NVTXA__TALLIES + NVTXA__INCLUSIVE;
      uint32_t found;
      if (find_part(&t->tally->sums, share, part->number, &found) != 0) {
        return -1;
      }
      add_sum(&t->tally->sums.items[found].of.sum, &part->of.sum);
    }
  }
  return 0;
}

/* ---- parts by share ---- */

/* By share; sums by kind, the longest first, then as the work sorts them. */
static int compare_sums(const void *a, const void *b, void *user) {
  const nvtxa_gpu_work *work = user;
  const nvtxa__gpu_part *x = a;
  const nvtxa__gpu_part *y = b;
  uint32_t x_kind = nvtxa__gpu_label_at(work, x->number)->kind;
  uint32_t y_kind = nvtxa__gpu_label_at(work, y->number)->kind;
  if (x->share != y->share || x_kind != y_kind) {
    return x->share != y->share ? (x->share > y->share ? 1 : -1) : (x_kind > y_kind ? 1 : -1);
  }
  if (x->of.sum.duration_ns != y->of.sum.duration_ns) {
    return x->of.sum.duration_ns < y->of.sum.duration_ns ? 1 : -1;
  }
  return (work->rank[x->number] > work->rank[y->number]) -
         (work->rank[x->number] < work->rank[y->number]);
}

static int compare_devices(const void *a, const void *b, void *user) {
  const nvtxa_gpu_work *work = user;
  const nvtxa__gpu_part *x = a;
  const nvtxa__gpu_part *y = b;
  if (x->share != y->share) {
    return x->share > y->share ? 1 : -1;
  }
  int64_t x_id = work->devices[x->number].id;
  int64_t y_id = work->devices[y->number].id;
  return (x_id > y_id) - (x_id < y_id);
}

static void sort_parts(nvtxa__gpu_parts *parts, const nvtxa_gpu_work *work,
                       int (*compare)(const void *, const void *, void *)) {
  nvtxa__table_free(&parts->table); /* it knows them by their old places */
  if (parts->count > 0) {
    qsort_r(parts->items, parts->count, sizeof *parts->items, compare, (void *)work);
  }
}

/* Tell the shares which parts are theirs. */
static void deal_out(nvtxa__gpu_tally *tally) {
  size_t sum = 0;
  size_t device = 0;
  for (size_t i = 0; i < tally->share_count; i++) {
    nvtxa_gpu_share *share = &tally->shares[i];
    share->tally = tally;
    for (size_t kind = 0; kind < NVTXA_GPU_KIND_COUNT; kind++) {
      share->first_of_kind[kind] = sum;
      while (sum < tally->sums.count && tally->sums.items[sum].share == i &&
             nvtxa__gpu_label_at(tally->work, tally->sums.items[sum].number)->kind == kind) {
        sum++;
      }
    }
    share->first_of_kind[NVTXA_GPU_KIND_COUNT] = sum;
    share->first_device = device;
    while (device < tally->devices.count && tally->devices.items[device].share == i) {
      device++;
    }
    share->device_count = device - share->first_device;
  }
}

/* ---- the whole ---- */

static uint32_t *none_found(size_t count) {
  uint32_t *items = nvtxa__alloc(count + 1, sizeof *items);
  if (items != NULL) {
    memset(items, 0xFF, (count + 1) * sizeof *items); /* NVTXA__NO_ITEM */
  }
  return items;
}

static nvtxa_status tally_all(tallying *t, nvtxa_error **reterr) {
  t->last_of_set = none_found(t->sets->count);
  t->last_of_bucket = none_found(t->sets->bucket_count);
  t->last_of_share = none_found(t->work->device_count < 2 ? 0 : t->tally->share_count);
  if (t->last_of_set == NULL || t->last_of_bucket == NULL || t->last_of_share == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_status status = add_all(t, reterr);
  return status == NVTXA_OK && hand_up(t) != 0 ? nvtxa__out_of_memory(reterr) : status;
}

nvtxa_status nvtxa__gpu_tally_make(nvtxa__gpu_tally *tally, const nvtxa_gpu_work *work,
                                   const nvtxa__gpu_sets *sets, bool further_thread,
                                   const nvtxa_hooks *hooks, nvtxa_error **reterr) {
  tallying t = {.tally = tally, .work = work, .sets = sets, .hooks = hooks};
  nvtxa__ranking ranking = {.tally = tally, .work = work, .sets = sets, .hooks = hooks};
  nvtxa__task task;
  size_t share_count = sets->bucket_count * NVTXA__TALLIES;
  *tally = (nvtxa__gpu_tally){
      .work = work,
      .share_count = share_count,
      .shares = nvtxa__alloc_zero(share_count + 1, sizeof *tally->shares),
      .delays = nvtxa__alloc_zero(share_count + 1, sizeof *tally->delays),
  };
  if (tally->shares == NULL || tally->delays == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__task_begin(&task, nvtxa__rank_delays, &ranking, further_thread);
  nvtxa_status status = tally_all(&t, reterr);
  nvtxa__task_wait(&task);
  if (status == NVTXA_OK && ranking.status != NVTXA_OK) {
    status = nvtxa__pass_on(reterr, ranking.status, ranking.error);
  } else {
    nvtxa_error_free(ranking.error);
  }
  if (status == NVTXA_OK) {
    sort_parts(&tally->sums, work, compare_sums);
    sort_parts(&tally->devices, work, compare_devices);
    deal_out(tally);
  }
  parts_free(&t.by_set);
  free(t.last_of_set);
  free(t.last_of_bucket);
  free(t.last_of_share);
  return status;
}

void nvtxa__gpu_tally_free(nvtxa__gpu_tally *tally) {
  free(tally->shares);
  free(tally->delays);
  parts_free(&tally->sums);
  parts_free(&tally->devices);
  *tally = (nvtxa__gpu_tally){0};
}
