/*
 * Wrong command lines: what getopt_long() saw, in words, with the nearest right one.
 */
#ifndef NVTXA_CLI_USAGE_H
#define NVTXA_CLI_USAGE_H

#include <getopt.h>
#include <stddef.h>

/* The candidate that `word` was most likely meant to be; NULL where none is near. */
const char *cli_nearest(const char *word, const char *const *candidates, size_t count);

/* Complain about what getopt_long() answered '?' or ':' to, with opterr off. `command` is what
 * precedes --help in the hint, such as "nvtxa analyze". Returns CLI_USAGE. */
int cli_bad_option(int answer, char *const *argv, const struct option *options,
                   const char *command);

/* Complain about anything else on the command line. Returns CLI_USAGE. */
int cli_bad_usage(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
