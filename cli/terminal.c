/*
 * Messages and progress on standard error. The library's callbacks end here, in the middle of its
 * work, so nothing in this file allocates or fails: what cannot be printed is lost.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal.h"
#include "text.h"

enum { LONGEST_LINE = 256 };

static struct {
  bool is_terminal;
  bool colour;
  int verbosity;
  char shown[LONGEST_LINE]; /* the last line of progress, so as to show only what is new */
  size_t line_columns;      /* of the one that stands on the screen; 0: none */
} terminal;

void cli_terminal_init(void) {
  /* A message goes out whole rather than byte by byte, as standard error would have it. */
  static char buffer[4096];
  setvbuf(stderr, buffer, _IOLBF, sizeof buffer);
  terminal.is_terminal = isatty(STDERR_FILENO) == 1;
  terminal.colour = cli_wants_colour(stderr);
}

bool cli_wants_colour(FILE *stream) {
  const char *no_color = getenv("NO_COLOR");
  const char *term = getenv("TERM");
  if (no_color != NULL && no_color[0] != '\0') {
    return false;
  }
  return isatty(fileno(stream)) == 1 && term != NULL && strcmp(term, "dumb") != 0;
}

size_t cli_stream_columns(FILE *stream) {
  struct winsize size;
  if (isatty(fileno(stream)) != 1) {
    return 100;
  }
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void cli_terminal_clear(void) {
  if (terminal.line_columns > 0) {
    fprintf(stderr, "\r%*s\r", (int)terminal.line_columns, "");
    fflush(stderr);
    terminal.line_columns = 0;
    terminal.shown[0] = '\0';
  }
}

/* ---- messages ---- */

static void begin(const char *colour, const char *kind) {
  cli_terminal_clear();
  fputs(terminal.colour ? colour : "", stderr);
  fputs(kind, stderr);
  fputs(terminal.colour ? CLI_PLAIN : "", stderr);
  fputs(" ", stderr);
}

static void put_place(const char *file, uint64_t line) {
  if (file != NULL) {
    cli_put_string(stderr, file);
    if (line > 0) {
      fprintf(stderr, ":%llu", (unsigned long long)line);
    }
    fputs(": ", stderr);
  }
}

/* `more` is said in the same breath. Both may be NULL. */
static void put_hint(const char *hint, const char *more) {
  if (hint == NULL && more == NULL) {
    return;
  }
  fputs("  ", stderr);
  cli_put_string(stderr, hint == NULL ? "" : hint);
  fputs(hint == NULL || more == NULL ? "" : " ", stderr);
  cli_put_string(stderr, more == NULL ? "" : more);
  fputs("\n", stderr);
}

void cli_complain(const char *file, const char *hint, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  begin(CLI_RED, "nvtxa:");
  put_place(file, 0);
  cli_put_string(stderr, message);
  fputs("\n", stderr);
  put_hint(hint, NULL);
}

/* The column of a report or the key of a manifest, unless the message names it anyway. */
static void put_field(const nvtxa_error *error) {
  const char *field = nvtxa_error_field(error);
  const char *message = nvtxa_error_message(error);
  nvtxa_status status = nvtxa_error_status(error);
  char quoted[256];
  if (field == NULL) {
    return;
  }
  snprintf(quoted, sizeof quoted, "'%s'", field);
  if (strstr(message, quoted) != NULL || strncmp(message, field, strlen(field)) == 0) {
    return;
  }
  bool manifest = status <= NVTXA_ERROR_MANIFEST_MISSING && status > NVTXA_ERROR_TRACE_MISSING;
  fprintf(stderr, "%s '", manifest ? "key" : "column");
  cli_put_string(stderr, field);
  fputs("': ", stderr);
}

static void put_error(const nvtxa_error *error, const char *advice) {
  put_place(nvtxa_error_file(error), nvtxa_error_line(error));
  put_field(error);
  cli_put_string(stderr, nvtxa_error_message(error));
  fputs("\n", stderr);
  put_hint(nvtxa_error_hint(error), advice);
}

void cli_print_error(const nvtxa_error *error, const char *advice) {
  begin(CLI_RED, "nvtxa:");
  put_error(error, advice);
  while ((error = nvtxa_error_cause(error)) != NULL) {
    fputs("  caused by: ", stderr);
    put_error(error, NULL);
  }
}

void cli_print_warning(nvtxa_text text) {
  begin(CLI_YELLOW, "nvtxa: warning:");
  cli_put_text(stderr, text.data, text.length);
  fputs("\n", stderr);
}

/* ---- what the library tells while it works ---- */

void cli_log(const char *what, const char *path) {
  if (terminal.verbosity >= 1) {
    cli_terminal_clear();
    fprintf(stderr, "nvtxa: %s ", what);
    cli_put_string(stderr, path);
    fputs("\n", stderr);
  }
}

static void log_message(void *user, nvtxa_log_level level, const char *message) {
  (void)user;
  static const int needed[] = {[NVTXA_LOG_DEBUG] = 2, [NVTXA_LOG_INFO] = 1, [NVTXA_LOG_NOTICE] = 0};
  if (terminal.verbosity >= needed[level]) {
    cli_terminal_clear();
    fputs("nvtxa: ", stderr);
    cli_put_string(stderr, message);
    fputs("\n", stderr);
  }
}

/* Rewrite the line: what is shorter than before is filled up with spaces. */
static void rewrite_line(const char *line) {
  size_t columns = cli_text_columns(line);
  size_t rest = terminal.line_columns > columns ? terminal.line_columns - columns : 0;
  fputs("\r", stderr);
  cli_put_string(stderr, line);
  fprintf(stderr, "%*s", (int)rest, "");
  fflush(stderr);
  terminal.line_columns = columns + rest;
}

static void show_progress(void *user, const nvtxa_progress *progress) {
  char line[LONGEST_LINE];
  long long seconds = (long long)(progress->elapsed_ns / 1000000000);
  (void)user;
  if (terminal.is_terminal && seconds > 0) {
    snprintf(line, sizeof line, "%s (%lld s)", progress->activity, seconds);
  } else {
    snprintf(line, sizeof line, "%s", progress->activity);
  }
  if (strcmp(line, terminal.shown) == 0) {
    return;
  }
  if (!terminal.is_terminal) {
    fprintf(stderr, "%s\n", line);
  } else if (cli_text_columns(line) < cli_stream_columns(stderr)) {
    rewrite_line(line); /* a line that wraps could not be rewritten */
  }
  memcpy(terminal.shown, line, sizeof line);
}

void cli_terminal_watch(nvtxa_hooks *hooks, int verbosity, cli_progress progress) {
  terminal.verbosity = verbosity;
  bool shown =
      progress == CLI_PROGRESS_ALWAYS || (progress == CLI_PROGRESS_AUTO && terminal.is_terminal);
  hooks->log = log_message;
  hooks->progress = shown ? show_progress : NULL;
}
