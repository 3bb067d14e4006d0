/* Durations in numbers. The sum is exact. */
#include <stdlib.h>

#include "analysis-internal.h"

__extension__ typedef __int128 wide;

static double deviation(const int64_t *values, size_t count, int64_t total) {
  nvtxa__spread spread;
  nvtxa__spread_begin(&spread, (int64_t)count, total);
  for (size_t i = 0; i < count; i++) {
    nvtxa__spread_add(&spread, values[i]);
  }
  return nvtxa__spread_deviation(&spread);
}

/* ---- the middle, without sorting all ---- */

static void swap(int64_t *a, int64_t *b) {
  int64_t kept = *a;
  *a = *b;
  *b = kept;
}

static int64_t median_of_three(int64_t a, int64_t b, int64_t c) {
  int64_t low = a < b ? a : b;
  int64_t high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

/* Reorder so that the value of rank `rank` stands in its place, none larger before it and none
 * smaller behind. Where the pivots are bad again and again, sort. */
static void select_rank(int64_t *values, size_t count, size_t rank) {
  size_t first = 0;
  size_t last = count - 1;
  for (int rounds = 0; last - first > 16; rounds++) {
    if (rounds == 64) {
      break;
    }
    int64_t pivot =
        median_of_three(values[first], values[first + (last - first) / 2], values[last]);
    size_t low = first;
    size_t high = last;
    while (true) {
      while (values[low] < pivot) {
        low++;
      }
      while (values[high] > pivot) {
        high--;
      }
      if (low >= high) {
        break;
      }
      swap(&values[low++], &values[high--]);
    }
    /* Up to `high` nothing is larger than the pivot, from there on nothing smaller. */
    if (rank <= high) {
      last = high;
    } else {
      first = high + 1;
    }
  }
  qsort(values + first, last - first + 1, sizeof *values, nvtxa__compare_int64);
}

static double middle(int64_t *values, size_t count) {
  select_rank(values, count, count / 2);
  int64_t upper = values[count / 2];
  if (count % 2 == 1) {
    return (double)upper;
  }
  int64_t lower = values[0];
  for (size_t i = 1; i < count / 2; i++) {
    lower = values[i] > lower ? values[i] : lower;
  }
  return (double)((wide)lower + upper) / 2;
}

bool nvtxa__summarize(int64_t *values, size_t count, nvtxa_summary *ret) {
  int64_t total = 0;
  int64_t minimum = values[0];
  int64_t maximum = values[0];
  for (size_t i = 0; i < count; i++) {
    if (__builtin_add_overflow(total, values[i], &total)) {
      return false;
    }
    minimum = values[i] < minimum ? values[i] : minimum;
    maximum = values[i] > maximum ? values[i] : maximum;
  }
  *ret = (nvtxa_summary){
      .total_ns = total,
      .minimum_ns = minimum,
      .maximum_ns = maximum,
      .mean_ns = (double)total / (double)count,
      .median_ns = middle(values, count),
      .stddev_ns = deviation(values, count, total),
  };
  return true;
}
