/*
 * The command line of `nvtxa ranges`.
 */
#ifndef NVTXA_CLI_RANGES_OPTIONS_H
#define NVTXA_CLI_RANGES_OPTIONS_H

#include <stddef.h>

#include "common_options.h"

typedef struct ranges_options {
  cli_common_options common;
  const char *file;
  size_t limit; /* how many names to list */
} ranges_options;

/* Returns -1 to go on, or the exit status where there is nothing more to do. */
int ranges_options_parse(ranges_options *options, int argc, char **argv);

#endif
