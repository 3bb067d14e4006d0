/* Reports written on a thread of their own. */
#include "keeper.h"

#include <time.h>

#include "signals.h"
#include "terminal.h"

static void *keep(void *user) {
  keeper *k = user;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT; /* no log: the terminal is the other thread's */
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  hooks.cancel = &k->stop;
  options.hooks = &hooks;
  k->status = nvtxa_stats_keep(k->exported, k->host, k->gpu, &options, &k->error);
  return NULL;
}

void keeper_start(keeper *k, const nvtxa_export *exported, const nvtxa_ranges *host,
                  const nvtxa_ranges *gpu) {
  sigset_t all;
  sigset_t before;
  *k = (keeper){.exported = exported, .host = host, .gpu = gpu};
  /* Signals are for the main thread. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  k->running = pthread_create(&k->thread, NULL, keep, k) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_if(keeper *k, bool wanted) {
  if (wanted) {
    __atomic_store_n(&k->stop, 1, __ATOMIC_RELAXED);
  }
}

/* The library looks at `stop`; a signal sets another flag. */
static void wait_and_watch(keeper *k) {
  struct timespec until;
  do {
    stop_if(k, cli_interrupted);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    if (until.tv_nsec >= 1000000000) {
      until.tv_sec++;
      until.tv_nsec -= 1000000000;
    }
  } while (pthread_timedjoin_np(k->thread, NULL, &until) != 0);
}

nvtxa_status keeper_end(keeper *k, nvtxa_status analysed, nvtxa_error **error) {
  stop_if(k, analysed == NVTXA_ERROR_LIMIT || analysed == NVTXA_ERROR_OUT_OF_MEMORY ||
                 analysed == NVTXA_ERROR_CANCELLED);
  if (k->running) {
    wait_and_watch(k);
  } else if (!k->stop) {
    keep(k); /* no thread could be had */
  }
  if (k->status == NVTXA_OK) {
    cli_log("wrote", nvtxa_export_report_path(k->exported, NVTXA_REPORT_PUSHPOP_TRACE));
    cli_log("wrote", nvtxa_export_report_path(k->exported, NVTXA_REPORT_GPU_PROJ_TRACE));
  }
  if (error != NULL) {
    *error = k->error;
  } else {
    nvtxa_error_free(k->error);
  }
  return k->status;
}
