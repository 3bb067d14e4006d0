/*
 * The reports that the native engine leaves in stats/, written while the analysis goes on.
 */
#ifndef NVTXA_CLI_KEEPER_H
#define NVTXA_CLI_KEEPER_H

#include <signal.h>

#include <nvtxa/nvtxa.h>

#include "worker.h"

typedef struct keeper {
  const nvtxa_export *exported;
  const nvtxa_ranges *host;
  const nvtxa_ranges *gpu;
  cli_worker worker;
  volatile sig_atomic_t stop;
  nvtxa_status status;
  nvtxa_error *error;
} keeper;

/* Begin. keeper_end() is due. */
void keeper_start(keeper *keeper, const nvtxa_export *exported, const nvtxa_ranges *host,
                  const nvtxa_ranges *gpu);

/* Wait until they are written. They are also where the analysis failed (`analysed` is its status),
 * since they may show why; but not where it met a limit, as the reports would grow with it. `error`
 * may be NULL. */
nvtxa_status keeper_end(keeper *keeper, nvtxa_status analysed, nvtxa_error **error);

#endif
