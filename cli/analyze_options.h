/*
 * The command line of `nvtxa analyze`.
 */
#ifndef NVTXA_CLI_ANALYZE_OPTIONS_H
#define NVTXA_CLI_ANALYZE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "terminal.h"

typedef struct analyze_options {
  const char *run_dir;
  const char *nsys;   /* NULL: the library's default */
  const char *output; /* NULL: analysis.json in the run directory; "-": standard output */
  bool no_export;
  bool strict;
  bool quiet;
  int verbosity;
  int64_t timeout_ns; /* as the library has it: 0 is its default, below 0 no limit */
  cli_progress progress;
} analyze_options;

/* Returns -1 to go on, or the exit status where there is nothing more to do: --help and --version
 * were printed, an error was complained of. */
int analyze_options_parse(analyze_options *options, int argc, char **argv);

#endif
