/*
 * The options that say what a run is: those of the subcommands that write a manifest.
 */
#ifndef NVTXA_CLI_RUN_OPTIONS_H
#define NVTXA_CLI_RUN_OPTIONS_H

#include <stddef.h>

#include <nvtxa/nvtxa.h>

#include "common_options.h"

typedef struct run_options {
  const char *capture_range; /* NULL: the library's default */
  const char *profile;
  const char *run_id;
  const char *device;
  int64_t iterations; /* below 0: not declared */
  int64_t warmup;
  const char **set; /* as they were given: KEY=VALUE */
  size_t set_count;
  size_t set_capacity;
  bool force;
} run_options;

#define RUN_OPTIONS_INIT \
  { NULL, NULL, NULL, NULL, -1, -1, NULL, 0, 0, false }

/* Values for getopt_long(); those of a subcommand's own begin at RUN_OPTION_OWN. */
enum {
  RUN_OPTION_CAPTURE_RANGE = CLI_OPTION_OWN,
  RUN_OPTION_PROFILE,
  RUN_OPTION_RUN_ID,
  RUN_OPTION_DEVICE,
  RUN_OPTION_ITERATIONS,
  RUN_OPTION_WARMUP,
  RUN_OPTION_SET,
  RUN_OPTION_FORCE,
  RUN_OPTION_OWN
};

/* Rows of a table for getopt_long(). */
#define RUN_LONG_OPTIONS                                                \
  {"capture-range", required_argument, NULL, RUN_OPTION_CAPTURE_RANGE}, \
      {"profile", required_argument, NULL, RUN_OPTION_PROFILE},         \
      {"run-id", required_argument, NULL, RUN_OPTION_RUN_ID},           \
      {"device", required_argument, NULL, RUN_OPTION_DEVICE},           \
      {"iterations", required_argument, NULL, RUN_OPTION_ITERATIONS},   \
      {"warmup", required_argument, NULL, RUN_OPTION_WARMUP},           \
      {"set", required_argument, NULL, RUN_OPTION_SET}, {               \
    "force", no_argument, NULL, RUN_OPTION_FORCE                        \
  }

/* Their lines of --help. */
#define RUN_OPTIONS_HELP                                                                     \
  "      --iterations N   how many iterations are measured: the ranges \"iteration 0\" to\n" \
  "                       \"iteration N-1\" are expected (workload.iterations)\n"            \
  "      --warmup N       how many are not measured, before them (workload.warmup)\n"        \
  "      --device D       where it runs, such as cuda:0\n"                                   \
  "      --set KEY=VALUE  any other key of the manifest; dots lead into mappings\n"          \
  "                       (workload.batch_size=8). A number, true or false is one where\n"   \
  "                       it is written in its plain form; all else is text\n"

/* Take an option with its value in `optarg`: -1 to go on, the exit status, or CLI_NOT_MINE. */
int run_options_take(run_options *options, const cli_common_options *common, int option);

/* Put them into the manifest. -1, or the exit status where that was complained of. */
int run_options_apply(const run_options *options, const cli_common_options *common,
                      nvtxa_manifest_draft *manifest);

void run_options_free(run_options *options);

#endif
