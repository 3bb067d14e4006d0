/* Durations in numbers. The sum is exact. */

#include "analysis-internal.h"

static double deviation(const int64_t *values, size_t count, int64_t total) {
  nvtxa__spread spread;
  nvtxa__spread_begin(&spread, (int64_t)count, total);
  for (size_t i = 0; i < count; i++) {
    nvtxa__spread_add(&spread, values[i]);
  }
  return nvtxa__spread_deviation(&spread);
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
