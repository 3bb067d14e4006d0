/* Threads, with signals kept away from them. */
#include "worker.h"

#include <signal.h>
#include <time.h>

static void *run(void *worker_pointer) {
  cli_worker *worker = worker_pointer;
  worker->run(worker->user);
  return NULL;
}

void cli_worker_start(cli_worker *worker, void (*run_fn)(void *user), void *user) {
  sigset_t all;
  sigset_t before;
  *worker = (cli_worker){.run = run_fn, .user = user};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  worker->running = pthread_create(&worker->thread, NULL, run, worker) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static struct timespec soon(void) {
  struct timespec when;
  clock_gettime(CLOCK_REALTIME, &when);
  when.tv_nsec += 50000000;
  if (when.tv_nsec >= 1000000000) {
    when.tv_sec++;
    when.tv_nsec -= 1000000000;
  }
  return when;
}

void cli_worker_wait(cli_worker *worker, void (*watch)(void *user)) {
  if (!worker->running) {
    worker->run(worker->user);
    return;
  }
  struct timespec until;
  do {
    if (watch != NULL) {
      watch(worker->user);
    }
    until = soon();
  } while (pthread_timedjoin_np(worker->thread, NULL, &until) != 0);
}
