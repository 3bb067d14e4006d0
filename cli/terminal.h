/*
 * Standard error and what a terminal can do: messages, the progress line, colour, width.
 * There is one of each in a process, so this room keeps its own state.
 */
#ifndef NVTXA_CLI_TERMINAL_H
#define NVTXA_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include <nvtxa/nvtxa.h>

typedef enum cli_progress {
  CLI_PROGRESS_AUTO,
  CLI_PROGRESS_ALWAYS,
  CLI_PROGRESS_NEVER
} cli_progress;

/* Look at the terminal. Call once, before any message. */
void cli_terminal_init(void);

/* Point the library's log and progress at standard error. `verbosity`: 0 logs nothing, 1 what is
 * run and which files are used, 2 each line that nsys prints as well. */
void cli_terminal_watch(nvtxa_hooks *hooks, int verbosity, cli_progress progress);

/* Log what the library does not: "nvtxa: WHAT PATH", from verbosity 1. */
void cli_log(const char *what, const char *path);

/* Take the progress line off the screen. */
void cli_terminal_clear(void);

/* "nvtxa: FILE: MESSAGE" and, below it, the hint. `file` and `hint` may be NULL. */
void cli_complain(const char *file, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void cli_print_error(const nvtxa_error *error, const char *advice); /* advice may be NULL */
void cli_print_warning(nvtxa_text text);

/* Whether a stream may get colour: a terminal that can, and NO_COLOR is not set. */
bool cli_wants_colour(FILE *stream);

/* How wide a line on this stream may be: the terminal's width, or 100 columns. */
size_t cli_stream_columns(FILE *stream);

#define CLI_BOLD   "\033[1m"
#define CLI_RED    "\033[1;31m"
#define CLI_YELLOW "\033[33m"
#define CLI_PLAIN  "\033[0m"

#endif
