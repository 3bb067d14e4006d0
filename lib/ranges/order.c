/*
 * Sorting rows, mostly by time. What an export holds is in order but for near neighbours, as a
 * rule, and an insertion sort ends soon; where it does not, a radix sort takes over, whose time
 * does not depend on the order that it finds.
 */
#include <stdlib.h>
#include <string.h>

#include "nesting-internal.h"

enum { DIGIT_BITS = 11, BUCKETS = 1 << DIGIT_BITS };

/* Stable. False where it takes too many moves; the items are then in some order. */
static bool insertion_sort(uint32_t *items, size_t count, const int64_t *keys) {
  size_t moves = 8 * count;
  for (size_t i = 1; i < count; i++) {
    uint32_t item = items[i];
    int64_t key = keys[item];
    size_t at = i;
    while (at > 0 && keys[items[at - 1]] > key && moves > 0) {
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
static uint64_t span_of(const uint32_t *items, size_t count, const int64_t *keys, int64_t *lowest) {
  int64_t highest = keys[items[0]];
  *lowest = highest;
  for (size_t i = 1; i < count; i++) {
    int64_t key = keys[items[i]];
    *lowest = key < *lowest ? key : *lowest;
    highest = key > highest ? key : highest;
  }
  return (uint64_t)highest - (uint64_t)*lowest;
}

/* Stable, digit by digit from the lowest. 0 or -1. */
static int radix_sort(uint32_t *items, size_t count, const int64_t *keys) {
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
      first[((uint64_t)keys[from[i]] - (uint64_t)lowest) >> shift & (BUCKETS - 1)]++;
    }
    for (size_t b = 0; b < BUCKETS; b++) {
      size_t here = first[b];
      first[b] = before;
      before += here;
    }
    for (size_t i = 0; i < count; i++) {
      to[first[((uint64_t)keys[from[i]] - (uint64_t)lowest) >> shift & (BUCKETS - 1)]++] = from[i];
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

int nvtxa__sort_by_key(uint32_t *items, size_t count, const int64_t *keys,
                       nvtxa__compare_fn compare, void *user) {
  if (!insertion_sort(items, count, keys) && radix_sort(items, count, keys) != 0) {
    return -1;
  }
  for (size_t first = 0, last; first < count; first = last) {
    bool sorted = true;
    for (last = first + 1; last < count && keys[items[last]] == keys[items[first]]; last++) {
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

/* ---- items of several threads ---- */

void nvtxa__order_free(nvtxa__order *order) {
  free(order->items);
  free(order->first);
  *order = (nvtxa__order){NULL, NULL};
}

int nvtxa__order_make(nvtxa__order *order, size_t count, const uint32_t *thread,
                      size_t thread_count, const int64_t *keys, nvtxa__compare_fn compare,
                      void *user) {
  *order = (nvtxa__order){
      .items = nvtxa__alloc(count + 1, sizeof *order->items),
      .first = nvtxa__alloc_zero(thread_count + 2, sizeof *order->first),
  };
  if (order->items == NULL || order->first == NULL) {
    return -1;
  }
  /* Counted two places on, summed up, and then advanced while they are dealt out: at last first[t]
   * is where thread t begins. */
  size_t *first = order->first;
  for (size_t i = 0; i < count; i++) {
    first[thread[i] + 2]++;
  }
  for (size_t t = 2; t <= thread_count; t++) {
    first[t] += first[t - 1];
  }
  for (size_t i = 0; i < count; i++) {
    order->items[first[thread[i] + 1]++] = (uint32_t)i;
  }
  int result = 0;
  for (size_t t = 0; t < thread_count && result == 0; t++) {
    result =
        nvtxa__sort_by_key(order->items + first[t], first[t + 1] - first[t], keys, compare, user);
  }
  return result;
}
