/*
 * Work on a thread of its own, beside the main one, to which all signals go.
 */
#ifndef NVTXA_CLI_WORKER_H
#define NVTXA_CLI_WORKER_H

#include <pthread.h>
#include <stdbool.h>

typedef struct cli_worker {
  void (*run)(void *user);
  void *user;
  bool running; /* false: there was no thread to be had */
  pthread_t thread;
} cli_worker;

/* Begin. Without a thread, the work is done in cli_worker_wait(). */
void cli_worker_start(cli_worker *worker, void (*run)(void *user), void *user);

/* Wait until the work is done. `watch`, which may be NULL, is called now and then meanwhile. */
void cli_worker_wait(cli_worker *worker, void (*watch)(void *user));

#endif
