/**
 * @file harness.h
 * For a program that is to be profiled: two macros that mark the capture range and the iterations,
 * as the analysis wants them.
 *
 * @code
 * NVTXA_CAPTURE_RANGE("profile-target") {
 *   for (int i = 0; i < n; i++) {
 *     NVTXA_ITERATION(i) {
 *       work();
 *     }
 *   }
 * }
 * @endcode
 *
 * Each macro opens a push/pop range for the statement after it, usually a block, and closes it
 * however that is left: at its end, by `break`, `continue`, `return` or `goto`, in C++ by an
 * exception. (C that an exception passes through needs `-fexceptions`. What never comes back, such
 * as `exit` and `longjmp`, leaves the range open.)
 *
 * In C++, `break` and `continue` in the statement do what they would do without the macro. In C
 * the macros are loops of their own, which makes a difference:
 *
 * | in C | does |
 * | --- | --- |
 * | `break` in NVTXA_CAPTURE_RANGE | leaves the marked statement only, no loop around it |
 * | `break` in NVTXA_ITERATION | what it would do without the macro |
 * | `continue` in either | leaves the marked statement only; what stands behind it is still run |
 *
 * A loop inside the marked statement is not concerned. Where an iteration's block is all that its
 * loop does, C and C++ come to the same.
 *
 * Compilers that warn take the macros for the `if` or the loop that they are. Put braces around one
 * that stands below an `if`; and end a function that returns from inside one with a `return`.
 *
 * The header is by itself: it needs the headers of NVTX 3 and nothing of this library, neither
 * another header nor anything at link time, and nvtxa.h does not include it. C11 by gcc or clang,
 * or C++17. Some versions of NVTX's header want `-std=gnu11` or `-D_GNU_SOURCE` as well, and glibc
 * before 2.34 wants `-ldl`.
 *
 * Where no tool listens, a range costs a few nanoseconds. There is no state but NVTX's: the macros
 * may be used on any number of threads, each of which has a stack of ranges of its own. A statement
 * must end on the thread on which it began.
 */
#ifndef NVTXA_HARNESS_H
#define NVTXA_HARNESS_H

#include <stdint.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>

/** @cond internal */

/* The functions return 0, so that they can be the value that a variable begins with. They are C and
 * C++, and free of casts that a compiler of either may warn about. */

static inline int nvtxa__open_capture_range(const char *name) {
  nvtxEventAttributes_t attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  /* Registered each time: a tool knows the text again and gives the same handle, in less time than
   * it takes to record a range. So nothing has to be kept, for which threads would have to agree.
   */
  attributes.message.registered = nvtxDomainRegisterStringA(NULL, name);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  if (attributes.message.registered == NULL) { /* no tool, or one that does not do this */
    attributes.message.ascii = name;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  }
  nvtxRangePushEx(&attributes);
  return 0;
}

static inline int nvtxa__push_iteration(int negative, uint64_t magnitude) {
  static const char prefix[] = "iteration ";
  char name[sizeof "iteration -18446744073709551615"];
  char *at = name + sizeof name;
  *--at = '\0';
  do {
    *--at = "0123456789"[magnitude % 10];
    magnitude /= 10;
  } while (magnitude != 0);
  if (negative) {
    *--at = '-';
  }
  at -= sizeof prefix - 1;
  memcpy(at, prefix, sizeof prefix - 1);
  nvtxRangePushA(at);
  return 0;
}

#define NVTXA__JOIN_WORDS(a, b) a##b
#define NVTXA__JOIN(a, b)       NVTXA__JOIN_WORDS(a, b)

#ifdef __cplusplus

static inline int nvtxa__open_iteration(unsigned long long index) {
  return nvtxa__push_iteration(0, index);
}

static inline int nvtxa__open_iteration(long long index) {
  const uint64_t bits = static_cast<uint64_t>(index);
  return nvtxa__push_iteration(index < 0, index < 0 ? 0 - bits : bits);
}

/* One for each type that integers are promoted to: a floating-point index is ambiguous. */
static inline int nvtxa__open_iteration(unsigned long index) {
  return nvtxa__push_iteration(0, index);
}

static inline int nvtxa__open_iteration(unsigned index) {
  return nvtxa__push_iteration(0, index);
}

static inline int nvtxa__open_iteration(long index) {
  return nvtxa__open_iteration(static_cast<long long>(index));
}

static inline int nvtxa__open_iteration(int index) {
  return nvtxa__open_iteration(static_cast<long long>(index));
}

struct nvtxa__scope {
  explicit nvtxa__scope(int) {
  }
  nvtxa__scope(const nvtxa__scope &) = delete;
  nvtxa__scope &operator=(const nvtxa__scope &) = delete;
  ~nvtxa__scope() {
    nvtxRangePop();
  }
};

/* The statement is the `else`, so that no `else` of the user's can get in here. */
#define NVTXA__CAPTURE_RANGE(name, scope)                           \
  if (nvtxa__scope scope{nvtxa__open_capture_range(name)}; false) { \
  } else

#define NVTXA__ITERATION(index, scope, label)                    \
  if (nvtxa__scope scope{nvtxa__open_iteration(index)}; false) { \
  } else

#elif defined(__GNUC__)

static inline int nvtxa__open_unsigned_iteration(uint64_t index) {
  return nvtxa__push_iteration(0, index);
}

static inline int nvtxa__open_signed_iteration(int64_t index) {
  const uint64_t bits = (uint64_t)index;
  return nvtxa__push_iteration(index < 0, index < 0 ? 0 - bits : bits);
}

#define nvtxa__open_iteration(index)                            \
  _Generic((index), unsigned long                               \
           : nvtxa__open_unsigned_iteration, unsigned long long \
           : nvtxa__open_unsigned_iteration, default            \
           : nvtxa__open_signed_iteration)(index)

static inline void nvtxa__close(const int *scope) {
  (void)scope;
  nvtxRangePop();
}

#define NVTXA__SCOPE(scope) int scope __attribute__((__cleanup__(nvtxa__close)))

enum { NVTXA__OPEN, NVTXA__INSIDE, NVTXA__DONE };

/* Names of variables and labels stand in no parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */

/* Only `for` declares a variable for the one statement that follows. */
#define NVTXA__CAPTURE_RANGE(name, scope)                                           \
  for (NVTXA__SCOPE(scope) = nvtxa__open_capture_range(name); scope != NVTXA__DONE; \
       scope = NVTXA__DONE)

/* A `break` leaves the inner loop without its last expression. Then the outer loop comes round
 * again and hands the `break` on to where no loop of this macro is around it. */
#define NVTXA__ITERATION(index, scope, label)                                       \
  if (0) {                                                                          \
  label:                                                                            \
    break; /* for which a loop, or switch, must be around the macro */              \
  } else                                                                            \
    for (NVTXA__SCOPE(scope) = nvtxa__open_iteration(index); scope != NVTXA__DONE;) \
      if (scope == NVTXA__INSIDE)                                                   \
        goto label;                                                                 \
      else                                                                          \
        for (scope = NVTXA__INSIDE; scope == NVTXA__INSIDE; scope = NVTXA__DONE)

/* NOLINTEND(bugprone-macro-parentheses) */

#else
#error "nvtxa/harness.h: in C, this needs the attribute `cleanup` of gcc and clang"
#endif

/** @endcond */

/**
 * Mark the statement that follows as the capture range. The name is registered with NVTX as a
 * string of the default domain, which is what `nsys profile --capture-range=nvtx
 * --nvtx-capture=NAME@*` looks for. It should be the outermost range of its thread.
 *
 * @param name  `const char *`: the manifest's `capture_range`
 *
 * Thread-safe. Since 0.1.
 */
#define NVTXA_CAPTURE_RANGE(name) \
  NVTXA__CAPTURE_RANGE(name, NVTXA__JOIN(nvtxa__capture_range_, __LINE__))

/**
 * Mark the statement that follows as one iteration, a range called `iteration N` with N in decimal.
 * In C it must stand inside a loop (or switch) of the function, to which `break` goes; and at most
 * one of these on a line.
 *
 * @param index  an integer, up to 64 bits with or without a sign; it is evaluated once. A negative
 *               one gives `iteration -1`, which is an ordinary range to the analysis, and so is an
 *               index beyond INT64_MAX.
 *
 * Thread-safe. Since 0.1.
 */
#define NVTXA_ITERATION(index)                                      \
  NVTXA__ITERATION(index, NVTXA__JOIN(nvtxa__iteration_, __LINE__), \
                   NVTXA__JOIN(nvtxa__break_, __LINE__))

#endif
