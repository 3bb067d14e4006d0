/*
 * The options of `nvtxa ranges`: reading them, and --help.
 */
#include "ranges_options.h"

#include <getopt.h>

static const char command[] = "nvtxa ranges";

static const char help[] =
    "Usage: nvtxa ranges [options] FILE.sqlite|FILE.nsys-rep\n"
    "\n"
    "List the root ranges of a trace by name, and say which of them could be the capture_range\n"
    "of a manifest: one that occurs once and has ranges called \"iteration N\" directly below it.\n"
    "Root ranges are the push/pop ranges that no other one of their thread encloses. An SQLite\n"
    "export is read as it is; a trace is exported first, by nsys, into a private directory.\n"
    "\n"
    "Options:\n"
    "      --limit N        how many names to list, or all (default: 20)\n"
    "      --nsys PATH      the nsys program (default: nsys on PATH)\n"
    "      --timeout SECONDS\n"
    "                       give up when nsys has taken this long in all; 0 is no limit,\n"
    "                       fractions are allowed (default: 3600)\n"
    "  -q, --quiet          print the table without what to do next\n"
    "  -v, --verbose        log to standard error what is run and read; given twice, also\n"
    "                       what nsys prints\n"
    "      --progress WHEN  show what is being done, on standard error: auto (if that is a\n"
    "                       terminal), always or never (default: auto; with -q: never)\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "Those with iterations come first, then those that took longest.\n"
    "\n"
    "Exit status:\n"
    "  0    done, whether or not one of them could be the capture range\n"
    "  1    the file cannot be read, or has no push/pop range\n"
    "  2    the command line is wrong\n"
    "  130  interrupted\n"
    "\n"
    "Examples:\n"
    "  nvtxa ranges trace.nsys-rep\n"
    "  nvtxa ranges --limit all trace.sqlite\n";

enum { OPTION_LIMIT = CLI_OPTION_OWN, DEFAULT_LIMIT = 20 };

static const struct option long_options[] = {
    {"limit", required_argument, NULL, OPTION_LIMIT},
    CLI_COMMON_LONG_OPTIONS,
};

static int take_option(void *user, int option) {
  ranges_options *options = user;
  return option == OPTION_LIMIT ? cli_count_option(&options->common, &options->limit, "--limit")
                                : CLI_NOT_MINE;
}

int ranges_options_parse(ranges_options *options, int argc, char **argv) {
  const cli_command_line line = {
      .letters = ":" CLI_COMMON_LETTERS,
      .options = long_options,
      .help = help,
      .argument = "file",
      .take = take_option,
      .user = options,
  };
  *options = (ranges_options){.common = {.command = command}, .limit = DEFAULT_LIMIT};
  return cli_read_command_line(&options->common, &line, argc, argv, &options->file);
}
