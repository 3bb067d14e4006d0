/* Reports written beside the analysis. */
#include "keeper.h"

#include "signals.h"
#include "terminal.h"

static void keep(void *user) {
  keeper *k = user;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT; /* no log: the terminal is the other thread's */
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  hooks.cancel = &k->stop;
  options.hooks = &hooks;
  k->status = nvtxa_stats_keep(k->exported, k->host, k->gpu, &options, &k->error);
}

void keeper_start(keeper *k, const nvtxa_export *exported, const nvtxa_ranges *host,
                  const nvtxa_ranges *gpu) {
  *k = (keeper){.exported = exported, .host = host, .gpu = gpu};
  cli_worker_start(&k->worker, keep, k);
}

static void stop_if(keeper *k, bool wanted) {
  if (wanted) {
    __atomic_store_n(&k->stop, 1, __ATOMIC_RELAXED);
  }
}

/* The library looks at `stop`; a signal sets another flag. */
static void watch(void *user) {
  stop_if(user, cli_interrupted);
}

nvtxa_status keeper_end(keeper *k, nvtxa_status analysed, nvtxa_error **error) {
  stop_if(k, analysed == NVTXA_ERROR_LIMIT || analysed == NVTXA_ERROR_OUT_OF_MEMORY ||
                 analysed == NVTXA_ERROR_CANCELLED);
  cli_worker_wait(&k->worker, watch);
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
