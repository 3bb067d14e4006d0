/*
 * Complaints about the command line. getopt_long()'s own are not used: they go past the room that
 * prints, and have no hint.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "terminal.h"
#include "usage.h"

enum { LONGEST_WORD = 64 };

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* How many letters to insert, delete or change to get from one word to the other (Levenshtein). */
static size_t edit_distance(const char *a, const char *b) {
  size_t row[LONGEST_WORD + 1];
  size_t length = strlen(b);
  for (size_t j = 0; j <= length; j++) {
    row[j] = j;
  }
  for (size_t i = 0; a[i] != '\0'; i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < length; j++) {
      size_t change = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = smaller(change, smaller(row[j], row[j + 1]) + 1);
    }
  }
  return row[length];
}

const char *cli_nearest(const char *word, const char *const *candidates, size_t count) {
  const char *nearest = NULL;
  size_t best = strlen(word) / 2 + 1; /* further away than that is another word */
  for (size_t i = 0; i < count; i++) {
    if (strlen(candidates[i]) > LONGEST_WORD) {
      continue;
    }
    size_t distance = edit_distance(word, candidates[i]);
    if (distance < best) {
      nearest = candidates[i];
      best = distance;
    }
  }
  return nearest;
}

static const char *nearest_option(const char *name, size_t length, const struct option *options) {
  const char *names[32];
  char word[LONGEST_WORD + 1];
  size_t count = 0;
  while (options[count].name != NULL && count < sizeof names / sizeof names[0]) {
    names[count] = options[count].name;
    count++;
  }
  snprintf(word, sizeof word, "%.*s", (int)smaller(length, LONGEST_WORD), name);
  return cli_nearest(word, names, count);
}

static const char *option_name(int value, const struct option *options) {
  for (; options->name != NULL; options++) {
    if (options->val == value) {
      return options->name;
    }
  }
  return "?";
}

int cli_bad_option(int answer, char *const *argv, const struct option *options,
                   const char *command) {
  const char *argument = argv[optind - 1];
  if (answer == ':') {
    return cli_bad_usage(command, "option '--%s' needs a value", option_name(optopt, options));
  }
  if (strncmp(argument, "--", 2) != 0) {
    return cli_bad_usage(command, "unknown option '-%c'", optopt);
  }
  int length = (int)strcspn(argument, "=");
  if (optopt != 0) {
    return cli_bad_usage(command, "option '%.*s' takes no value", length, argument);
  }
  const char *nearest = nearest_option(argument + 2, (size_t)length - 2, options);
  if (nearest != NULL) {
    return cli_bad_usage(command, "unknown option '%.*s'; did you mean '--%s'?", length, argument,
                         nearest);
  }
  return cli_bad_usage(command, "unknown option '%.*s'", length, argument);
}

int cli_bad_usage(const char *command, const char *format, ...) {
  char message[512];
  char hint[64];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  snprintf(hint, sizeof hint, "Try '%s --help'.", command);
  cli_complain(NULL, hint, "%s", message);
  return CLI_USAGE;
}
