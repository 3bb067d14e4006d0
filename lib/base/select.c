/* Values by their rank, without sorting all of them. */
#include <stdlib.h>

#include "base-internal.h"

__extension__ typedef __int128 wide;

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

static void insertion_sort(int64_t *values, size_t count) {
  for (size_t i = 1; i < count; i++) {
    int64_t value = values[i];
    size_t at = i;
    for (; at > 0 && values[at - 1] > value; at--) {
      values[at] = values[at - 1];
    }
    values[at] = value;
  }
}

/* Reorder the values from `first` on, none of which is smaller than one before, so that the value
 * of rank `rank` stands in its place, none larger before it and none smaller behind. Where the
 * pivots are bad again and again, sort. */
static void select_rank(int64_t *values, size_t count, size_t first, size_t rank) {
  enum { FEW = 16, MOST_ROUNDS = 64 };
  size_t last = count - 1;
  for (int rounds = 0; last - first > FEW; rounds++) {
    if (rounds == MOST_ROUNDS) {
      qsort(values + first, last - first + 1, sizeof *values, nvtxa__compare_int64);
      return;
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
  insertion_sort(values + first, last - first + 1);
}

double nvtxa__percentile(int64_t *values, size_t count, size_t *first, unsigned percent) {
  wide hundredfold = (wide)(count - 1) * percent;
  size_t rank = (size_t)(hundredfold / 100);
  int rest = (int)(hundredfold % 100);
  select_rank(values, count, *first, rank);
  *first = rank;
  if (rest == 0) {
    return (double)values[rank];
  }
  int64_t next = values[rank + 1];
  for (size_t i = rank + 2; i < count; i++) {
    next = values[i] < next ? values[i] : next;
  }
  return rest == 50 ? (double)((wide)values[rank] + next) / 2
                    : (double)values[rank] + (double)((wide)next - values[rank]) * rest / 100;
}
