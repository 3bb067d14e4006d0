/* Searching what is in order, from near to far. */
#include "base-internal.h"

size_t nvtxa__search(size_t count, size_t near, nvtxa__before_fn comes_before, const void *owner,
                     const void *sought) {
  size_t low = near < count ? near : 0;
  size_t high = low;
  size_t step = 1;
  if (count == 0) {
    return 0;
  }
  if (comes_before(owner, low, sought)) {
    do {
      low = high;
      high = count - high > step ? high + step : count;
      step *= 2;
    } while (high < count && comes_before(owner, high, sought));
    low++;
  } else {
    while (low > 0 && !comes_before(owner, low, sought)) {
      high = low;
      low = low > step ? low - step : 0;
      step *= 2;
    }
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (comes_before(owner, middle, sought)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
