/*
 * A few ranges for nsys to see, with something to do in each, since none of them takes long.
 */
#include "probe.h"

#include <time.h>

#include <nvtxa/harness.h>

static void work(void) {
  const struct timespec millisecond = {.tv_sec = 0, .tv_nsec = 1000000};
  nanosleep(&millisecond, NULL);
}

bool cli_probe_is_built(void) {
  return true;
}

void cli_probe_run(void) {
  NVTXA_CAPTURE_RANGE("profile-target") {
    for (int i = 0; i < 2; i++) {
      NVTXA_ITERATION(i) {
        work();
      }
    }
  }
}
