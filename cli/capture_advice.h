/*
 * What to do next to have a trace analysed: which capture range to give, or what keeps its ranges
 * from being one.
 */
#ifndef NVTXA_CLI_CAPTURE_ADVICE_H
#define NVTXA_CLI_CAPTURE_ADVICE_H

#include "roots.h"

/* Print it. `host` is the table that the roots are of, `file` what it was read from. False when out
 * of memory. */
bool cli_advise_capture(const cli_roots *roots, const nvtxa_ranges *host, const char *file);

#endif
