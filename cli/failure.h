/*
 * How a subcommand ends where the library could not do what was asked.
 */
#ifndef NVTXA_CLI_FAILURE_H
#define NVTXA_CLI_FAILURE_H

#include <nvtxa/nvtxa.h>

/* Say why: interrupted, what the error says, or without one, that memory ran out. `advice` may be
 * NULL. Returns the exit status. */
int cli_failed(const nvtxa_error *error, const char *advice);

#endif
