/*
 * What `nvtxa doctor` records to see whether ranges come back: this program, started as
 * `nvtxa doctor --push-ranges`. probe.c pushes them; no_probe.c stands in its place where this was
 * built without the headers of NVTX.
 */
#ifndef NVTXA_CLI_PROBE_H
#define NVTXA_CLI_PROBE_H

#include <stdbool.h>

/* Whether there is one. */
bool cli_probe_is_built(void);

/* Push the capture range `profile-target` with two iterations in it, and pop them. */
void cli_probe_run(void);

#endif
