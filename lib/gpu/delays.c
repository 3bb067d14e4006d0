/*
 * How long the operations of each share waited to start: percentiles of all their delays, which are
 * laid side by side for that.
 */
#include <stdlib.h>

#include "gpu-internal.h"

/* Delays of the operations of some shares. */
typedef struct delays {
  const nvtxa__ranking *ranking;
  const uint32_t *count; /* by share: how many operations */
  size_t begin;          /* the shares */
  size_t end;
  size_t *first; /* by share: where its delays begin; one more at the end */
  int64_t *values;
} delays;

/* Whether the innermost operations of a bucket are all that it has: then the delays are the same as
 * well. */
static bool is_same_as_inclusive(const uint32_t *count, size_t share) {
  return share % NVTXA__TALLIES == NVTXA__INNERMOST && count[share] == count[share - 1];
}

static size_t delay_count(const uint32_t *count, size_t share) {
  return is_same_as_inclusive(count, share) ? 0 : count[share];
}

/* Something to do with an operation's delay for a share of it. */
typedef void (*visit_fn)(void *user, size_t share, int64_t delay_ns);

static void count_one(void *user, size_t share, int64_t delay_ns) {
  (void)delay_ns;
  ((uint32_t *)user)[share]++;
}

/* Filling moves where a share begins to where it ends, which is where the next one begins. */
static void put_one(void *user, size_t share, int64_t delay_ns) {
  delays *d = user;
  if (share >= d->begin && share < d->end && !is_same_as_inclusive(d->count, share)) {
    d->values[d->first[share + 1]++] = delay_ns;
  }
}

static inline nvtxa_status visit_all(const nvtxa__ranking *r, visit_fn visit, void *user,
                                     nvtxa_error **reterr) {
  const nvtxa_gpu_work *work = r->work;
  const nvtxa__gpu_sets *sets = r->sets;
  for (size_t i = 0; i < work->count; i++) {
    uint32_t call = (uint32_t)nvtxa__packed_get(&work->call, i);
    if (call == NVTXA__NO_CALL) {
      continue;
    }
    int64_t delay_ns =
        nvtxa__packed_get(&work->start_ns, i) - nvtxa__packed_get(&work->calls.start_ns, call);
    if (sets->own[call] != NVTXA__NO_BUCKET) {
      visit(user, (size_t)sets->own[call] * NVTXA__TALLIES + NVTXA__INNERMOST, delay_ns);
    }
    for (uint32_t node = sets->of_call[call]; node != 0; node = sets->items[node].parent) {
      visit(user, (size_t)sets->items[node].bucket * NVTXA__TALLIES + NVTXA__INCLUSIVE, delay_ns);
    }
    if (i % NVTXA__LOOK_EVERY == 0 && nvtxa__cancelled(r->hooks)) {
      return nvtxa__cancel_error(reterr);
    }
  }
  return NVTXA_OK;
}

static void rank(const delays *d) {
  nvtxa__gpu_delay *found = d->ranking->tally->delays;
  for (size_t i = d->begin; i < d->end; i++) {
    int64_t *values = d->values + d->first[i];
    size_t count = d->first[i + 1] - d->first[i];
    size_t reached = 0;
    if (count > 0) {
      found[i].median_ns = nvtxa__percentile(values, count, &reached, 50);
      found[i].p99_ns = nvtxa__percentile(values, count, &reached, 99);
    } else if (i % NVTXA__TALLIES == NVTXA__INNERMOST) {
      found[i] = found[i - 1];
    }
  }
}

/* The shares from `begin` on that there is room for, one bucket at least, and where their delays
 * begin. Returns how many delays they have. */
static size_t choose_shares(delays *d, size_t share_count, size_t room) {
  size_t count = 0;
  for (d->end = d->begin; d->end < share_count; d->end++) {
    size_t more = delay_count(d->count, d->end);
    if (d->end % NVTXA__TALLIES == NVTXA__INCLUSIVE && d->end > d->begin && count + more > room) {
      break;
    }
    d->first[d->end + 1] = count;
    count += more;
  }
  return count;
}

/* A part of the shares at a time: what is side by side is wide. */
static nvtxa_status rank_parts(delays *d, nvtxa_error **reterr) {
  enum { FEW_VALUES = 1 << 22, MOST_PARTS = 8 };
  size_t share_count = d->ranking->tally->share_count;
  nvtxa_status status = NVTXA_OK;
  size_t all = 0;
  for (size_t i = 0; i < share_count; i++) {
    all += delay_count(d->count, i);
  }
  size_t room = all / MOST_PARTS > FEW_VALUES ? all / MOST_PARTS : FEW_VALUES;
  for (; status == NVTXA_OK && d->begin < share_count; d->begin = d->end) {
    d->values = nvtxa__alloc(choose_shares(d, share_count, room) + 1, sizeof *d->values);
    status = d->values == NULL ? nvtxa__out_of_memory(reterr)
                               : visit_all(d->ranking, put_one, d, reterr);
    if (status == NVTXA_OK) {
      d->first[d->begin] = 0;
      rank(d);
    }
    free(d->values);
  }
  return status;
}

void nvtxa__rank_delays(void *user) {
  nvtxa__ranking *r = user;
  size_t share_count = r->tally->share_count;
  uint32_t *count = nvtxa__alloc_zero(share_count + 1, sizeof *count);
  delays d = {
      .ranking = r, .count = count, .first = nvtxa__alloc(share_count + 2, sizeof *d.first)};
  r->status = count == NULL || d.first == NULL ? nvtxa__out_of_memory(&r->error)
                                               : visit_all(r, count_one, count, &r->error);
  if (r->status == NVTXA_OK) {
    r->status = rank_parts(&d, &r->error);
  }
  free(count);
  free(d.first);
}
