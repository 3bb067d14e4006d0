/*
 * A program whose trace holds a name that is not UTF-8: one Latin-1 byte. Profiled by
 * test_real_nsys.py, where it makes nsys stop half way through a report, at exit status 0.
 */
#include <nvtx3/nvToolsExt.h>

int main(void) {
  nvtxRangePushA("profile-target");
  nvtxRangePushA("iteration 0");
  nvtxRangePushA("caf\xe9");
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePop();
  return 0;
}
