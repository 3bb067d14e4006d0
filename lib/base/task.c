/* Work on a further thread, where one can be had. */
#include <pthread.h>
#include <signal.h>

#include "base-internal.h"

static void *run(void *task_pointer) {
  nvtxa__task *task = task_pointer;
  task->run(task->user);
  return NULL;
}

void nvtxa__task_begin(nvtxa__task *task, void (*run_fn)(void *user), void *user,
                       bool further_thread) {
  sigset_t all;
  sigset_t before;
  *task = (nvtxa__task){.run = run_fn, .user = user};
  if (!further_thread) {
    return;
  }
  /* Signals are for the threads that the caller made. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  task->started = pthread_create(&task->thread, NULL, run, task) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void nvtxa__task_wait(nvtxa__task *task) {
  if (task->started) {
    pthread_join(task->thread, NULL);
  } else {
    task->run(task->user);
  }
}
