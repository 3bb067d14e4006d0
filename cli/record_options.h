/*
 * The command line of `nvtxa record`.
 */
#ifndef NVTXA_CLI_RECORD_OPTIONS_H
#define NVTXA_CLI_RECORD_OPTIONS_H

#include "run_options.h"

typedef struct record_options {
  cli_common_options common;
  run_options run;
  char *run_dir; /* made of --output-dir, --profile and --run-id, or as it was given */
  const char *trace;
  const char **nsys_arguments; /* NULL-terminated; NULL: none */
  size_t nsys_argument_count;
  size_t nsys_argument_capacity;
  bool print_command;
  bool analyze;
  char **command;            /* borrowed from argv; NULL-terminated */
  const char *given_run_dir; /* as they were given; one of the two is NULL */
  const char *output_dir;
  char id[32]; /* room for a run id of our own */
} record_options;

/* Returns -1 to go on, or the exit status where there is nothing more to do.
 * record_options_free() is due whatever comes of it. */
int record_options_parse(record_options *options, int argc, char **argv);
void record_options_free(record_options *options);

#endif
