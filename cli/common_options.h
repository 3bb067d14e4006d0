/*
 * The options that the subcommands which run nsys have in common.
 */
#ifndef NVTXA_CLI_COMMON_OPTIONS_H
#define NVTXA_CLI_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "terminal.h"

typedef struct cli_common_options {
  const char *command; /* what precedes --help in hints, such as "nvtxa analyze" */
  const char *nsys;    /* NULL: the library's default */
  bool quiet;
  int verbosity;
  int64_t timeout_ns; /* as the library has it: 0 is its default, below 0 no limit */
  cli_progress progress;
  bool progress_given;
} cli_common_options;

/* Values for getopt_long(). Those of a subcommand's own begin at CLI_OPTION_OWN. */
enum { CLI_OPTION_NSYS = 256, CLI_OPTION_TIMEOUT, CLI_OPTION_PROGRESS, CLI_OPTION_OWN };

/* Rows of a table for getopt_long(), and letters for it. */
#define CLI_BASIC_LONG_OPTIONS                                                 \
  {"quiet", no_argument, NULL, 'q'}, {"verbose", no_argument, NULL, 'v'},      \
      {"progress", required_argument, NULL, CLI_OPTION_PROGRESS},              \
      {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, { \
    NULL, 0, NULL, 0                                                           \
  }
#define CLI_BASIC_LETTERS "qvhV"
#define CLI_COMMON_LONG_OPTIONS                       \
  {"nsys", required_argument, NULL, CLI_OPTION_NSYS}, \
      {"timeout", required_argument, NULL, CLI_OPTION_TIMEOUT}, CLI_BASIC_LONG_OPTIONS
#define CLI_COMMON_LETTERS CLI_BASIC_LETTERS

struct option;

/* A command line: what there is to read, and who takes what is not in common. */
typedef struct cli_command_line {
  const char *letters; /* for getopt_long(), with CLI_COMMON_LETTERS */
  const struct option *options;
  const char *help; /* printed for --help */
  /* What the one argument is, such as "run directory"; NULL: any number of them, from `optind` on.
   */
  const char *argument;
  bool argument_optional;
  /* Take an option with its value in `optarg`. Returns -1 to go on, or the exit status; or
   * CLI_NOT_MINE. */
  int (*take)(void *user, int option);
  void *user;
} cli_command_line;

enum { CLI_NOT_MINE = -2 };

/* Read all of it. Returns -1 to go on, with the one argument in *ret_argument, or the exit status
 * where there is nothing more to do: --help and --version were printed, an error was complained of.
 */
int cli_read_command_line(cli_common_options *common, const cli_command_line *line, int argc,
                          char **argv, const char **ret_argument);

/* A value that must not be empty: -1, or the exit status. */
int cli_text_option(const cli_common_options *common, const char **ret, const char *option);

/* A value that is a number from 1 on, or `all`, which gives SIZE_MAX: -1, or the exit status. */
int cli_count_option(const cli_common_options *common, size_t *ret, const char *option);

#endif
