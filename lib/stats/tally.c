/* Durations in numbers, in room that does not grow with them. */
#include "stats-internal.h"

bool nvtxa__tally_count(nvtxa__tally *tally, int64_t duration_ns) {
  tally->count++;
  return !__builtin_add_overflow(tally->total_ns, duration_ns, &tally->total_ns);
}

void nvtxa__tally_add(nvtxa__tally *tally, int64_t duration_ns) {
  if (tally->added == 0) {
    tally->minimum_ns = duration_ns;
    nvtxa__spread_begin(&tally->spread, (int64_t)tally->count, tally->total_ns);
  }
  if (tally->added == (tally->count - 1) / 2) {
    tally->lower_ns = duration_ns;
  }
  if (tally->added == tally->count / 2) {
    tally->upper_ns = duration_ns;
  }
  tally->maximum_ns = duration_ns;
  nvtxa__spread_add(&tally->spread, duration_ns);
  tally->added++;
}

void nvtxa__cells_put_tally(nvtxa__cells *cells, const nvtxa__tally *tally) {
  nvtxa__cell_tenths(cells, (double)tally->total_ns / (double)tally->count);
  nvtxa__cell_tenths(cells, (double)tally->lower_ns / 2 + (double)tally->upper_ns / 2);
  nvtxa__cell_integer(cells, tally->minimum_ns);
  nvtxa__cell_integer(cells, tally->maximum_ns);
  nvtxa__cell_tenths(cells, nvtxa__spread_deviation(&tally->spread));
}
