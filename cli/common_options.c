/* Options in common: values read, what makes no sense refused. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtxa/nvtxa.h>

#include "cli.h"
#include "common_options.h"
#include "usage.h"

/* Decimal seconds to nanoseconds, with integers only: no locale, no rounding to zero. False where
 * the text is no number or does not fit. */
static bool parse_seconds(const char *text, int64_t *ret_ns) {
  const int64_t second = 1000000000;
  int64_t ns = 0;
  int64_t unit = second;
  size_t digits = strspn(text, "0123456789");
  size_t decimals = text[digits] == '.' ? strspn(text + digits + 1, "0123456789") : 0;
  size_t length = digits + (text[digits] == '.') + decimals;
  if (digits + decimals == 0 || text[length] != '\0') {
    return false;
  }
  for (size_t i = 0; i < digits; i++) {
    if (ns > (INT64_MAX / second - (text[i] - '0')) / 10) {
      return false;
    }
    ns = ns * 10 + (text[i] - '0');
  }
  ns *= second;
  for (size_t i = 0; i < decimals; i++) {
    char digit = text[digits + 1 + i];
    unit /= 10;
    /* What is below a nanosecond still is not zero: zero would mean no limit. */
    int64_t part = unit > 0 ? unit * (digit - '0') : (digit != '0' && ns == 0);
    if (ns > INT64_MAX - part) {
      return false;
    }
    ns += part;
  }
  *ret_ns = ns;
  return true;
}

static int parse_timeout(cli_common_options *common, const char *text) {
  if (text[0] == '-') {
    return cli_bad_usage(common->command, "--timeout '%s' is negative", text);
  }
  if (!parse_seconds(text, &common->timeout_ns)) {
    bool digits_only = text[0] != '\0' && text[strspn(text, "0123456789.")] == '\0' &&
                       strchr(text, '.') == strrchr(text, '.') && strcmp(text, ".") != 0;
    return cli_bad_usage(common->command,
                         digits_only ? "--timeout '%s' is too large; 0 is no limit"
                                     : "--timeout '%s' is not a number of seconds",
                         text);
  }
  if (common->timeout_ns == 0) {
    common->timeout_ns = -1;
  }
  return -1;
}

static int parse_progress(cli_common_options *common, const char *text) {
  static const char *const names[] = {"auto", "always", "never"};
  static const cli_progress values[] = {CLI_PROGRESS_AUTO, CLI_PROGRESS_ALWAYS, CLI_PROGRESS_NEVER};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(text, names[i]) == 0) {
      common->progress = values[i];
      return -1;
    }
  }
  return cli_bad_usage(common->command, "--progress '%s' is not auto, always or never", text);
}

int cli_text_option(const cli_common_options *common, const char **ret, const char *option) {
  *ret = optarg;
  return optarg[0] != '\0' ? -1 : cli_bad_usage(common->command, "%s '' names nothing", option);
}

int cli_count_option(const cli_common_options *common, size_t *ret, const char *option) {
  enum { MOST_DIGITS = 9 };
  size_t length = strspn(optarg, "0123456789");
  bool number = length > 0 && length <= MOST_DIGITS && optarg[length] == '\0';
  *ret = strcmp(optarg, "all") == 0 ? SIZE_MAX : number ? strtoul(optarg, NULL, 10) : 0;
  return *ret > 0 ? -1
                  : cli_bad_usage(common->command,
                                  "%s '%s' is neither a number from 1 to 999999999 nor all", option,
                                  optarg);
}

static int take_common(cli_common_options *common, const cli_command_line *line, int option,
                       char *const *argv) {
  switch (option) {
    case CLI_OPTION_NSYS:
      return cli_text_option(common, &common->nsys, "--nsys");
    case CLI_OPTION_TIMEOUT:
      return parse_timeout(common, optarg);
    case 'q':
      common->quiet = true;
      return -1;
    case 'v':
      common->verbosity++;
      return -1;
    case CLI_OPTION_PROGRESS:
      common->progress_given = true;
      return parse_progress(common, optarg);
    case 'h':
      fputs(line->help, stdout);
      return CLI_DONE;
    case 'V':
      printf("nvtxa %s\n", nvtxa_version());
      return CLI_DONE;
    default:
      return cli_bad_option(option, argv, line->options, common->command);
  }
}

static int take_argument(const cli_common_options *common, const cli_command_line *line, int argc,
                         char **argv, const char **ret_argument) {
  const char *what = line->argument;
  if (optind == argc) {
    return line->argument_optional ? -1 : cli_bad_usage(common->command, "no %s given", what);
  }
  if (optind + 1 < argc) {
    return cli_bad_usage(common->command, "one %s at a time: '%s' is one too many", what,
                         argv[optind + 1]);
  }
  *ret_argument = argv[optind];
  return argv[optind][0] != '\0' ? -1
                                 : cli_bad_usage(common->command, "the %s '' names nothing", what);
}

int cli_read_command_line(cli_common_options *common, const cli_command_line *line, int argc,
                          char **argv, const char **ret_argument) {
  int option;
  optind = 0; /* glibc: start anew, main() has used getopt as well */
  opterr = 0;
  while ((option = getopt_long(argc, argv, line->letters, line->options, NULL)) != -1) {
    int status = line->take(line->user, option);
    if (status == CLI_NOT_MINE) {
      status = take_common(common, line, option, argv);
    }
    if (status >= 0) {
      return status;
    }
  }
  if (common->quiet && !common->progress_given) {
    common->progress = CLI_PROGRESS_NEVER;
  }
  return line->argument == NULL ? -1 : take_argument(common, line, argc, argv, ret_argument);
}
