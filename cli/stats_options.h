/*
 * The command line of `nvtxa stats`.
 */
#ifndef NVTXA_CLI_STATS_OPTIONS_H
#define NVTXA_CLI_STATS_OPTIONS_H

#include <nvtxa/nvtxa.h>

#include "common_options.h"

typedef struct stats_options {
  cli_common_options common;
  const char *file;
  const char *output; /* what file names begin with; "-": standard output */
  nvtxa_stats_format format;
  bool force_overwrite;
  size_t count;
  struct {
    nvtxa_report report;
    const char *name; /* as it was asked for: old names stay */
  } reports[NVTXA_REPORT_COUNT];
} stats_options;

/* The name of a format, which is that of its files as well. */
const char *stats_format_name(nvtxa_stats_format format);

/* Returns -1 to go on, or the exit status where there is nothing more to do. */
int stats_options_parse(stats_options *options, int argc, char **argv);

#endif
