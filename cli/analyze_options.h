/*
 * The command line of `nvtxa analyze`.
 */
#ifndef NVTXA_CLI_ANALYZE_OPTIONS_H
#define NVTXA_CLI_ANALYZE_OPTIONS_H

#include <nvtxa/nvtxa.h>

#include "common_options.h"

typedef struct analyze_options {
  cli_common_options common;
  const char *run_dir;
  const char *output; /* NULL: analysis.json in the run directory; "-": standard output */
  nvtxa_engine engine;
  bool no_export;
  bool no_reports;
  bool no_gpu_work;
  size_t kernel_limit; /* for each scope and iteration; 0: the default */
  bool strict;
} analyze_options;

/* Returns -1 to go on, or the exit status where there is nothing more to do: --help and --version
 * were printed, an error was complained of. */
int analyze_options_parse(analyze_options *options, int argc, char **argv);

#endif
