/*
 * The macros of nvtxa/harness.h: which ranges they open and close, whatever way their blocks are
 * left. C11 and C++17, with the stand-in for NVTX in stub/; harness.sh compiles and runs it.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include <nvtxa/harness.h>

#ifdef __cplusplus
enum { CPP = 1 };
#else
enum { CPP = 0 };
#endif

static int failed;

/* Hold what was written since the last time against what should have been. */
static void expect(int line, const char *wanted) {
  if (strcmp(stub_log, wanted) != 0) {
    printf("harness.c:%d:\n  is      %s\n  must be %s\n", line, stub_log, wanted);
    failed = 1;
  }
  stub_log[0] = '\0';
}

#define EXPECT(wanted) expect(__LINE__, wanted)

/* Something that is done inside a range, or outside of all. */
static void note(const char *text) {
  stub_write(" ", text);
}

static void ends(void) {
  NVTXA_CAPTURE_RANGE("target") {
    for (int i = 0; i < 3; i++) {
      NVTXA_ITERATION(i) {
        note("work");
      }
    }
  }
  EXPECT("[target(iteration 0 work)(iteration 1 work)(iteration 2 work))");

  /* clang-format off */
  NVTXA_CAPTURE_RANGE("target")
    for (int i = 0; i < 2; i++)
      NVTXA_ITERATION(i)
        note("bare");
  /* clang-format on */
  note("after");
  EXPECT("[target(iteration 0 bare)(iteration 1 bare)) after");

  for (int i = 0; i < 2; i++) {
    NVTXA_ITERATION(i) {
      NVTXA_CAPTURE_RANGE("inner") {
        for (int j = 7; j < 9; j++) {
          NVTXA_ITERATION(j) {
            note("work");
          }
        }
      }
    }
  }
  EXPECT(
      "(iteration 0[inner(iteration 7 work)(iteration 8 work)))"
      "(iteration 1[inner(iteration 7 work)(iteration 8 work)))");

  for (int i = 0; i < 2; i++) {
    if (i == 0) {
      NVTXA_ITERATION(i) {
        note("work");
      }
    } else {
      note("else");
    }
  }
  EXPECT("(iteration 0 work) else");
}

static void breaks(void) {
  NVTXA_CAPTURE_RANGE("target") {
    for (int i = 0; i < 9; i++) {
      NVTXA_ITERATION(i) {
        if (i == 1) {
          break;
        }
        note("work");
      }
      note("between");
    }
    note("end");
  }
  EXPECT("[target(iteration 0 work) between(iteration 1) end)");

  /* The innermost loop is the one that is left. */
  for (int i = 0; i < 2; i++) {
    NVTXA_ITERATION(i) {
      for (;;) {
        break;
      }
      note("work");
    }
  }
  EXPECT("(iteration 0 work)(iteration 1 work)");

  /* Or the switch. */
  for (int i = 0; i < 2; i++) {
    switch (i) {
      case 0:
        NVTXA_ITERATION(i) {
          break;
        }
        note("not here");
        break;
      default:
        note("default");
    }
    note("behind");
  }
  EXPECT("(iteration 0) behind default behind");

  for (int i = 0; i < 2; i++) {
    NVTXA_CAPTURE_RANGE("target") {
      if (i == 0) {
        break;
      }
      note("work");
    }
    note("behind");
  }
  EXPECT(CPP ? "[target)" : "[target) behind[target work) behind");
}

static void continues(void) {
  int i = 0;
  while (i < 3) {
    NVTXA_ITERATION(i++) {
      if (i == 2) {
        continue;
      }
      note("work");
    }
  }
  EXPECT("(iteration 0 work)(iteration 1)(iteration 2 work)");

  for (i = 0; i < 2; i++) {
    NVTXA_ITERATION(i) {
      if (i == 0) {
        continue;
      }
    }
    note("behind");
  }
  EXPECT(CPP ? "(iteration 0)(iteration 1) behind" : "(iteration 0) behind(iteration 1) behind");

  for (i = 0; i < 2; i++) {
    NVTXA_CAPTURE_RANGE("target") {
      if (i == 0) {
        continue;
      }
    }
    note("behind");
  }
  EXPECT(CPP ? "[target)[target) behind" : "[target) behind[target) behind");
}

static int find(int wanted) {
  NVTXA_CAPTURE_RANGE("target") {
    for (int i = 0;; i++) {
      NVTXA_ITERATION(i) {
        if (i == wanted) {
          return i;
        }
      }
    }
  }
  return -1;
}

static void returns(void) {
  note(find(1) == 1 ? "found" : "lost");
  EXPECT("[target(iteration 0)(iteration 1)) found");
}

static void jumps(void) {
  int round = 0;
  NVTXA_CAPTURE_RANGE("target") {
  again:
    for (int i = 0; i < 2; i++) {
      NVTXA_ITERATION(i) {
        if (round++ == 0) {
          goto again;
        }
        if (i == 1) {
          goto out;
        }
        goto here;
      here:
        note("work");
      }
    }
    note("not here");
  }
out:
  EXPECT("[target(iteration 0)(iteration 0 work)(iteration 1))");
}

static void throws(void) {
#ifdef __cplusplus
  try {
    NVTXA_CAPTURE_RANGE("target") {
      for (int i = 0; i < 3; i++) {
        NVTXA_ITERATION(i) {
          if (i == 1) {
            throw i;
          }
        }
      }
    }
  } catch (int) {
    note("caught");
  }
  EXPECT("[target(iteration 0)(iteration 1)) caught");
#endif
}

enum color { RED = -3, GREEN = 4 };

static void names(void) {
  const unsigned char byte = 255;
  const size_t size = 12;
  const enum color color = RED;
  for (bool once = true; once; once = false) {
    NVTXA_ITERATION(once) {
      NVTXA_ITERATION(byte) {
      }
      NVTXA_ITERATION(size) {
      }
      NVTXA_ITERATION(color) {
      }
      NVTXA_ITERATION(1000000u) {
      }
    }
  }
  EXPECT("(iteration 1(iteration 255)(iteration 12)(iteration -3)(iteration 1000000))");

  for (int once = 0; once < 1; once++) {
    NVTXA_ITERATION(-1) {
    }
    NVTXA_ITERATION(INT_MIN) {
    }
    NVTXA_ITERATION(INT64_MIN) {
    }
    NVTXA_ITERATION(INT64_MAX) {
    }
    NVTXA_ITERATION(LLONG_MIN) {
    }
    NVTXA_ITERATION(UINT64_MAX) {
    }
    NVTXA_ITERATION(10ull) {
    }
    NVTXA_ITERATION(99l) {
    }
  }
  EXPECT(
      "(iteration -1)(iteration -2147483648)(iteration -9223372036854775808)"
      "(iteration 9223372036854775807)(iteration -9223372036854775808)"
      "(iteration 18446744073709551615)(iteration 10)(iteration 99)");

  for (char name[] = "ab"; name[0] < 'c'; name[0]++) {
    NVTXA_CAPTURE_RANGE(name) {
    }
  }
  EXPECT("[ab)[bb)");

  stub_registers = 0;
  NVTXA_CAPTURE_RANGE("target") {
  }
  stub_registers = 1;
  EXPECT("(target)");
}

int main(void) {
  ends();
  breaks();
  continues();
  returns();
  jumps();
  throws();
  names();
  return failed;
}
