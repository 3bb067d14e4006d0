/*
 * The command line of `nvtxa doctor`.
 */
#ifndef NVTXA_CLI_DOCTOR_OPTIONS_H
#define NVTXA_CLI_DOCTOR_OPTIONS_H

#include "common_options.h"

typedef struct doctor_options {
  cli_common_options common;
  const char *directory; /* NULL: the library's default */
  bool push_ranges;      /* be what is recorded */
} doctor_options;

/* Returns -1 to go on, or the exit status where there is nothing more to do. */
int doctor_options_parse(doctor_options *options, int argc, char **argv);

#endif
