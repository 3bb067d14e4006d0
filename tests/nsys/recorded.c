/*
 * What a command that is recorded may do, for test_record.py:
 *
 *   recorded exit N      two iterations, and exit status N
 *   recorded signal N    two iterations, and an end by signal N
 *   recorded other       ranges, but no capture range
 *   recorded repeat N    N capture ranges with two iterations each
 *   recorded fork        two iterations, and a child with ranges of its own meanwhile
 *   recorded wait FILE   iterations until something ends it; FILE is made once they have begun
 *
 * The environment variable CAPTURE_RANGE names the capture range, in the place of profile-target.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nvtxa/harness.h>

static void pause_ms(long ms) {
  nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void measure(int iterations) {
  const char *name = getenv("CAPTURE_RANGE");
  NVTXA_CAPTURE_RANGE(name == NULL ? "profile-target" : name) {
    for (int i = 0; i < iterations; i++) {
      NVTXA_ITERATION(i) {
        pause_ms(1);
      }
    }
  }
}

static void repeat(int times) {
  for (int i = 0; i < times; i++) {
    measure(2);
    pause_ms(200); /* nsys needs a while to begin anew */
  }
}

static void in_two_processes(void) {
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; i++) {
      nvtxRangePushA("of the child");
      pause_ms(1);
      nvtxRangePop();
    }
    _exit(0);
  }
  measure(2);
  waitpid(child, NULL, 0);
}

static void wait_for_the_end(const char *path) {
  NVTXA_CAPTURE_RANGE("profile-target") {
    for (int i = 0; i < 6000; i++) {
      NVTXA_ITERATION(i) {
        pause_ms(10);
      }
      if (i == 20) {
        fclose(fopen(path, "w"));
      }
    }
  }
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "exit";
  int number = argc > 2 ? atoi(argv[2]) : 0;
  if (strcmp(what, "other") == 0) {
    nvtxRangePushA("train");
    pause_ms(1);
    nvtxRangePop();
  } else if (strcmp(what, "repeat") == 0) {
    repeat(number);
  } else if (strcmp(what, "fork") == 0) {
    in_two_processes();
  } else if (strcmp(what, "wait") == 0) {
    wait_for_the_end(argv[2]);
  } else {
    measure(2);
  }
  printf("%s is done\n", what);
  if (strcmp(what, "signal") == 0) {
    fflush(stdout);
    kill(getpid(), number);
  }
  return strcmp(what, "exit") == 0 ? number : 0;
}
