/*
 * Sorting rows, mostly by time. What an export holds is in order but for near neighbours, as a
 * rule, and an insertion sort ends soon; where it does not, a radix sort takes over, whose time
 * does not depend on the order that it finds.
 */
#include <stdlib.h>
#include <string.h>

#include "base-internal.h"

enum { DIGIT_BITS = 11, BUCKETS = 1 << DIGIT_BITS };

/* Stable. False where it takes too many moves; the items are then in some order. */
static bool insertion_sort(uint32_t *items, size_t count, const nvtxa__packed *keys) {
  size_t moves = 8 * count;
  for (size_t i = 1; i < count; i++) {
    uint32_t item = items[i];
    int64_t key = nvtxa__packed_get(keys, item);
    size_t at = i;
    while (at > 0 && nvtxa__packed_get(keys, items[at - 1]) > key && moves > 0) {
      items[at] = items[at - 1];
      at--;
      moves--;
    }
    items[at] = item;
    if (moves == 0) {
      return false;
    }
  }
  return true;
}

/* The keys' distances from the lowest, and the highest of them. */
static uint64_t span_of(const uint32_t *items, size_t count, const nvtxa__packed *keys,
                        int64_t *lowest) {
  int64_t highest = nvtxa__packed_get(keys, items[0]);
  *lowest = highest;
  for (size_t i = 1; i < count; i++) {
    int64_t key = nvtxa__packed_get(keys, items[i]);
    *lowest = key < *lowest ? key : *lowest;
    highest = key > highest ? key : highest;
  }
  return (uint64_t)highest - (uint64_t)*lowest;
}

static size_t bucket_of(const nvtxa__packed *keys, uint32_t item, int64_t lowest, unsigned shift) {
  uint64_t distance = (uint64_t)nvtxa__packed_get(keys, item) - (uint64_t)lowest;
  return distance >> shift & (BUCKETS - 1);
}

/* Stable, digit by digit from the lowest. 0 or -1. */
static int radix_sort(uint32_t *items, size_t count, const nvtxa__packed *keys) {
  int64_t lowest;
  uint64_t span = span_of(items, count, keys, &lowest);
  uint32_t *other = nvtxa__alloc(count, sizeof *other);
  size_t *first = malloc(BUCKETS * sizeof *first);
  uint32_t *from = items;
  uint32_t *to = other;
  int result = other == NULL || first == NULL ? -1 : 0;
  for (unsigned shift = 0; result == 0 && shift < 64 && span >> shift != 0; shift += DIGIT_BITS) {
    size_t before = 0;
    memset(first, 0, BUCKETS * sizeof *first);
    for (size_t i = 0; i < count; i++) {
      first[bucket_of(keys, from[i], lowest, shift)]++;
    }
    for (size_t b = 0; b < BUCKETS; b++) {
      size_t here = first[b];
      first[b] = before;
      before += here;
    }
    for (size_t i = 0; i < count; i++) {
      to[first[bucket_of(keys, from[i], lowest, shift)]++] = from[i];
    }
    uint32_t *swap = from;
    from = to;
    to = swap;
  }
  if (result == 0 && from != items) {
    memcpy(items, from, count * sizeof *items);
  }
  free(other);
  free(first);
  return result;
}

int nvtxa__sort_by_key(uint32_t *items, size_t count, const nvtxa__packed *keys,
                       nvtxa__compare_fn compare, void *user) {
  if (!insertion_sort(items, count, keys) && radix_sort(items, count, keys) != 0) {
    return -1;
  }
  for (size_t first = 0, last; first < count && compare != NULL; first = last) {
    bool sorted = true;
    int64_t key = nvtxa__packed_get(keys, items[first]);
    for (last = first + 1; last < count && nvtxa__packed_get(keys, items[last]) == key; last++) {
      sorted = sorted && compare(&items[last - 1], &items[last], user) <= 0;
    }
    if (!sorted) {
      qsort_r(items + first, last - first, sizeof *items, compare, user);
    }
  }
  return 0;
}

size_t nvtxa__count_below(const int64_t *sorted, size_t count, int64_t key) {
  size_t low = 0;
  size_t high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (sorted[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ---- orders ---- */

int nvtxa__order_make(uint32_t **ret_order, size_t count, const nvtxa__packed *keys,
                      nvtxa__compare_fn compare, void *user) {
  bool sorted = true;
  *ret_order = NULL;
  for (size_t i = 1; i < count && sorted; i++) {
    int64_t before = nvtxa__packed_get(keys, i - 1);
    int64_t key = nvtxa__packed_get(keys, i);
    uint32_t pair[2] = {(uint32_t)(i - 1), (uint32_t)i};
    sorted = before < key ||
             (before == key && (compare == NULL || compare(&pair[0], &pair[1], user) <= 0));
  }
  if (sorted) {
    return 0;
  }
  uint32_t *order = nvtxa__alloc(count, sizeof *order);
  if (order == NULL) {
    return -1;
  }
  for (size_t i = 0; i < count; i++) {
    order[i] = (uint32_t)i;
  }
  *ret_order = order;
  return nvtxa__sort_by_key(order, count, keys, compare, user);
}

/* ---- items of several threads ---- */

void nvtxa__shares_free(nvtxa__shares *shares) {
  free(shares->items);
  free(shares->first);
  *shares = (nvtxa__shares){NULL, NULL};
}

int nvtxa__shares_make(nvtxa__shares *shares, size_t count, const uint32_t *order,
                       const nvtxa__packed *thread, size_t thread_count, const bool *wanted) {
  size_t *first = nvtxa__alloc_zero(thread_count + 2, sizeof *first);
  *shares = (nvtxa__shares){NULL, first};
  if (first == NULL) {
    return -1;
  }
  /* Counted two places on, summed up, and then advanced while they are dealt out: at last first[t]
   * is where thread t begins. */
  for (size_t i = 0; i < count; i++) {
    size_t t = (size_t)nvtxa__packed_get(thread, i);
    first[t + 2] += wanted[t];
  }
  for (size_t t = 2; t <= thread_count + 1; t++) {
    first[t] += first[t - 1];
  }
  shares->items = nvtxa__alloc(first[thread_count + 1] + 1, sizeof *shares->items);
  if (shares->items == NULL) {
    return -1;
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t item = nvtxa__ordered(order, i);
    size_t t = (size_t)nvtxa__packed_get(thread, item);
    if (wanted[t]) {
      shares->items[first[t + 1]++] = item;
    }
  }
  return 0;
}

int nvtxa__shares_sort(nvtxa__shares *shares, size_t count, const nvtxa__packed *keys,
                       const nvtxa__packed *thread, size_t thread_count, const bool *wanted) {
  uint32_t *order;
  int result = nvtxa__order_make(&order, count, keys, NULL, NULL);
  *shares = (nvtxa__shares){NULL, NULL};
  if (result == 0) {
    result = nvtxa__shares_make(shares, count, order, thread, thread_count, wanted);
  }
  free(order);
  return result;
}
