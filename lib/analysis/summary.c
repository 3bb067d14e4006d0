/*
 * Durations in numbers. The sum is exact. The deviation is computed from exact integers as well, so
 * that long durations which differ little keep their digits.
 */
#include <math.h>

#include "analysis-internal.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

/* n(n-1) times the sample variance is n * sum(d^2) - sum(d)^2, for d the distance from any fixed
 * value: here the mean rounded down, which keeps the numbers small. All of it in integers, unless
 * durations differ by so much (months of nanoseconds) that doubles lose nothing that counts. */
static double deviation(const int64_t *values, size_t count, int64_t total) {
  if (count < 2) {
    return 0;
  }
  int64_t n = (int64_t)count;
  int64_t mean = total / n - (total % n < 0);
  wide rest = (wide)total - (wide)mean * n; /* sum(d), in 0 .. n-1 */
  unsigned_wide squares = 0;
  double rough = 0;
  bool exact = true;
  for (size_t i = 0; i < count; i++) {
    wide distance = (wide)values[i] - mean;
    unsigned_wide magnitude = (unsigned_wide)(distance < 0 ? -distance : distance);
    unsigned_wide square;
    exact = exact && !__builtin_mul_overflow(magnitude, magnitude, &square) &&
            !__builtin_add_overflow(squares, square, &squares);
    rough += (double)distance * (double)distance;
  }
  unsigned_wide scaled;
  exact = exact && !__builtin_mul_overflow(squares, (unsigned_wide)n, &scaled);
  double numerator = exact ? (double)(scaled - (unsigned_wide)(rest * rest))
                           : rough * (double)n - (double)rest * (double)rest;
  return sqrt(numerator / ((double)n * (double)(n - 1)));
}

/* The median has been found: `first` is its rank. */
static nvtxa_percentiles percentiles(int64_t *values, size_t count, double median, size_t first) {
  nvtxa_percentiles result = {.p50_ns = median};
  result.p90_ns = nvtxa__percentile(values, count, &first, 90);
  result.p95_ns = nvtxa__percentile(values, count, &first, 95);
  result.p99_ns = nvtxa__percentile(values, count, &first, 99);
  return result;
}

bool nvtxa__summarize(int64_t *values, size_t count, nvtxa_summary *ret,
                      nvtxa_percentiles *ret_percentiles) {
  size_t rank = 0;
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
      .median_ns = nvtxa__percentile(values, count, &rank, 50),
      .stddev_ns = deviation(values, count, total),
  };
  *ret_percentiles = percentiles(values, count, ret->median_ns, rank);
  return true;
}
