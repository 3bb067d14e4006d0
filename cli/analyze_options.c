/*
 * The options of `nvtxa analyze`: reading them, refusing what makes no sense, and --help.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "analyze_options.h"
#include "cli.h"
#include "usage.h"

static const char command[] = "nvtxa analyze";

static const char help[] =
    "Usage: nvtxa analyze [options] RUN_DIR\n"
    "\n"
    "Turn a run directory into analysis.json: its trace is exported by nsys, and the NVTX\n"
    "ranges of the two reports are summed up by iteration and by scope. Host-inclusive,\n"
    "host-exclusive and GPU-projected times are kept apart; a readable summary is printed.\n"
    "\n"
    "Options:\n"
    "      --nsys PATH      the nsys program (default: nsys on PATH)\n"
    "      --no-export      do not run nsys: read the reports already in RUN_DIR/stats\n"
    "  -o, --output FILE    write the analysis to FILE, or with - to standard output,\n"
    "                       without a summary (default: RUN_DIR/analysis.json)\n"
    "      --strict         exit with status 3 if there is any warning; the analysis is\n"
    "                       written all the same\n"
    "      --timeout SECONDS\n"
    "                       give up when nsys has taken this long in all; 0 is no limit,\n"
    "                       fractions are allowed (default: 3600)\n"
    "  -q, --quiet          print no summary; warnings and errors still go to standard error\n"
    "  -v, --verbose        log to standard error what is run, read and written; given\n"
    "                       twice, also what nsys prints\n"
    "      --progress WHEN  show what nsys is at, on standard error: auto (if that is a\n"
    "                       terminal), always or never (default: auto; with -q: never)\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "Reads:   RUN_DIR/manifest.yaml, RUN_DIR/trace.nsys-rep; with --no-export, RUN_DIR/stats\n"
    "Writes:  RUN_DIR/stats/nsys_<report>.csv and export.json (not with --no-export),\n"
    "         RUN_DIR/analysis.json or FILE\n"
    "\n"
    "Exit status:\n"
    "  0    done\n"
    "  1    the run cannot be analysed, or the result cannot be written\n"
    "  2    the command line is wrong\n"
    "  3    done, with warnings, and --strict was given\n"
    "  130  interrupted; an earlier analysis is as it was\n"
    "\n"
    "Examples:\n"
    "  nvtxa analyze runs/smoke\n"
    "  nvtxa analyze --no-export -o - runs/smoke | python3 -m json.tool\n";

enum { OPTION_NSYS = 256, OPTION_NO_EXPORT, OPTION_STRICT, OPTION_TIMEOUT, OPTION_PROGRESS };

static const struct option long_options[] = {
    {"nsys", required_argument, NULL, OPTION_NSYS},
    {"no-export", no_argument, NULL, OPTION_NO_EXPORT},
    {"output", required_argument, NULL, 'o'},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"progress", required_argument, NULL, OPTION_PROGRESS},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

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

static int parse_timeout(analyze_options *options, const char *text) {
  if (text[0] == '-') {
    return cli_bad_usage(command, "--timeout '%s' is negative", text);
  }
  if (!parse_seconds(text, &options->timeout_ns)) {
    bool digits_only = text[0] != '\0' && text[strspn(text, "0123456789.")] == '\0' &&
                       strchr(text, '.') == strrchr(text, '.') && strcmp(text, ".") != 0;
    return cli_bad_usage(command,
                         digits_only ? "--timeout '%s' is too large; 0 is no limit"
                                     : "--timeout '%s' is not a number of seconds",
                         text);
  }
  if (options->timeout_ns == 0) {
    options->timeout_ns = -1;
  }
  return -1;
}

static int parse_progress(analyze_options *options, const char *text) {
  static const char *const names[] = {"auto", "always", "never"};
  static const cli_progress values[] = {CLI_PROGRESS_AUTO, CLI_PROGRESS_ALWAYS, CLI_PROGRESS_NEVER};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(text, names[i]) == 0) {
      options->progress = values[i];
      return -1;
    }
  }
  return cli_bad_usage(command, "--progress '%s' is not auto, always or never", text);
}

static int parse_text(const char **ret, const char *option) {
  *ret = optarg;
  return optarg[0] != '\0' ? -1 : cli_bad_usage(command, "%s '' names nothing", option);
}

static int parse_option(analyze_options *options, int option, char *const *argv) {
  switch (option) {
    case OPTION_NSYS:
      return parse_text(&options->nsys, "--nsys");
    case 'o':
      return parse_text(&options->output, "--output");
    case OPTION_NO_EXPORT:
      options->no_export = true;
      return -1;
    case OPTION_STRICT:
      options->strict = true;
      return -1;
    case OPTION_TIMEOUT:
      return parse_timeout(options, optarg);
    case 'q':
      options->quiet = true;
      return -1;
    case 'v':
      options->verbosity++;
      return -1;
    case OPTION_PROGRESS:
      return parse_progress(options, optarg);
    case 'h':
      fputs(help, stdout);
      return CLI_DONE;
    case 'V':
      printf("nvtxa %s\n", nvtxa_version());
      return CLI_DONE;
    default:
      return cli_bad_option(option, argv, long_options, command);
  }
}

static int parse_run_dir(analyze_options *options, int argc, char **argv) {
  if (optind == argc) {
    return cli_bad_usage(command, "no run directory given");
  }
  if (optind + 1 < argc) {
    return cli_bad_usage(command, "one run directory at a time: '%s' is one too many",
                         argv[optind + 1]);
  }
  options->run_dir = argv[optind];
  if (options->run_dir[0] == '\0') {
    return cli_bad_usage(command, "the run directory '' names nothing");
  }
  return -1;
}

int analyze_options_parse(analyze_options *options, int argc, char **argv) {
  int option;
  bool progress_given = false;
  *options = (analyze_options){.progress = CLI_PROGRESS_AUTO};
  optind = 0; /* glibc: start anew, main() has used getopt as well */
  opterr = 0;
  while ((option = getopt_long(argc, argv, ":o:qvhV", long_options, NULL)) != -1) {
    int status = parse_option(options, option, argv);
    if (status >= 0) {
      return status;
    }
    progress_given |= option == OPTION_PROGRESS;
  }
  if (options->quiet && !progress_given) {
    options->progress = CLI_PROGRESS_NEVER;
  }
  return parse_run_dir(options, argc, argv);
}
