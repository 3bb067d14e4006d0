/*
 * Where the analysis is written: a file that is replaced whole, a device or pipe, standard output.
 */
#ifndef NVTXA_CLI_OUTPUT_H
#define NVTXA_CLI_OUTPUT_H

#include <stdbool.h>

#include <nvtxa/nvtxa.h>

typedef struct cli_output {
  char *path;   /* as the user knows it; NULL: standard output */
  char *target; /* the file to replace; NULL: not a regular file, written in place */
} cli_output;

/* Decide, and see that it can be written before nsys works for minutes. `given` is the argument of
 * --output or NULL for analysis.json in the run directory. Complains and returns false otherwise.
 */
bool cli_output_open(cli_output *output, const char *given, const char *run_dir);

/* Write. Complains and returns false on failure; an old file then stays. */
bool cli_output_write(const cli_output *output, const nvtxa_json *json);

/* "Wrote analysis: PATH" on standard output. */
void cli_output_announce(const cli_output *output);

void cli_output_close(cli_output *output);

/* Complain that a write to standard output failed; it is not complained of again. */
void cli_stdout_failed(int errnum);

/* Flush and close standard output. Complains and returns false where something written to it was
 * lost. */
bool cli_close_stdout(void);

#endif
