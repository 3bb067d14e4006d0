/*
 * Signal handlers. A handler does nothing but count: everything else is done by whoever polls
 * it.
 */
#include <stddef.h>

#include "signals.h"

volatile sig_atomic_t cli_interrupted;

static void interrupt(int number) {
  (void)number;
  __atomic_fetch_add(&cli_interrupted, 1, __ATOMIC_RELAXED); /* other threads look at it */
}

static void nothing(int number) {
  (void)number;
}

static void catch_one(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  struct sigaction old;
  sigemptyset(&action.sa_mask);
  /* What the parent had us ignore (nohup, a shell's background job) stays ignored. */
  if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
    sigaction(number, &action, NULL);
  }
}

void cli_signals_child(void) {
  signal(SIGCHLD, SIG_DFL);
}

void cli_signals_pipe(void) {
  /* A handler rather than SIG_IGN, which nsys would inherit. */
  catch_one(SIGPIPE, nothing, SA_RESTART);
}

void cli_signals_catch(void) {
  /* Without SA_RESTART a write that waits for a reader ends too. */
  catch_one(SIGINT, interrupt, 0);
  catch_one(SIGTERM, interrupt, 0);
  catch_one(SIGHUP, interrupt, 0);
}
