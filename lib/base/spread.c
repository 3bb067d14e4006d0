/*
 * The sample standard deviation of durations that are seen one by one. It is computed from exact
 * integers, so that long durations which differ little keep their digits.
 */
#include <math.h>

#include "base-internal.h"

__extension__ typedef __int128 signed_wide;

/* n(n-1) times the sample variance is n * sum(d^2) - sum(d)^2, for d the distance from any fixed
 * value: here the mean rounded down, which keeps the numbers small. All of it in integers, unless
 * durations differ by so much (months of nanoseconds) that doubles lose nothing that counts. */
void nvtxa__spread_begin(nvtxa__spread *spread, int64_t count, int64_t total_ns) {
  *spread = (nvtxa__spread){.count = count, .total_ns = total_ns, .exact = true};
  if (count > 0) {
    spread->mean_ns = total_ns / count - (total_ns % count < 0);
  }
}

void nvtxa__spread_add(nvtxa__spread *spread, int64_t duration_ns) {
  signed_wide distance = (signed_wide)duration_ns - spread->mean_ns;
  nvtxa__wide magnitude = (nvtxa__wide)(distance < 0 ? -distance : distance);
  nvtxa__wide square;
  spread->exact = spread->exact && !__builtin_mul_overflow(magnitude, magnitude, &square) &&
                  !__builtin_add_overflow(spread->squares, square, &spread->squares);
  spread->rough += (double)distance * (double)distance;
}

double nvtxa__spread_deviation(const nvtxa__spread *spread) {
  int64_t n = spread->count;
  if (n < 2) {
    return 0;
  }
  signed_wide rest =
      (signed_wide)spread->total_ns - (signed_wide)spread->mean_ns * n; /* sum(d): 0..n-1 */
  nvtxa__wide scaled;
  bool exact = spread->exact && !__builtin_mul_overflow(spread->squares, (nvtxa__wide)n, &scaled);
  double numerator = exact ? (double)(scaled - (nvtxa__wide)(rest * rest))
                           : spread->rough * (double)n - (double)rest * (double)rest;
  return sqrt(numerator / ((double)n * (double)(n - 1)));
}
