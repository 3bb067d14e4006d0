/*
 * The options of `nvtxa doctor`: reading them, and --help.
 */
#include "doctor_options.h"

#include <getopt.h>

static const char command[] = "nvtxa doctor";

static const char help[] =
    "Usage: nvtxa doctor [options] [RUNS_DIR]\n"
    "\n"
    "Say what stands in the way of recording and analysing on this machine, one line a check,\n"
    "with what to do about it: nsys, its version, the reports that it offers, a small capture\n"
    "that is made and read back, CPU sampling, the disk of RUNS_DIR (where runs will be\n"
    "recorded; default: the current directory) and the one of TMPDIR.\n"
    "\n"
    "Options:\n"
    "      --nsys PATH      the nsys program (default: nsys on PATH)\n"
    "      --push-ranges    only push and pop three NVTX ranges and exit: this is what the small\n"
    "                       capture is a recording of\n"
    "  -q, --quiet          print only what is not ok\n"
    "  -v, --verbose        log to standard error what is run and read; given twice, also\n"
    "                       what nsys prints\n"
    "      --progress WHEN  show what is being done, on standard error: auto (if that is a\n"
    "                       terminal), always or never (default: auto; with -q: never)\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "Each line begins with ok, note (something is limited), unknown (it could not be tried) or\n"
    "PROBLEM.\n"
    "\n"
    "Exit status:\n"
    "  0    there is no PROBLEM\n"
    "  1    there is one\n"
    "  2    the command line is wrong\n"
    "  130  interrupted\n"
    "\n"
    "Examples:\n"
    "  nvtxa doctor\n"
    "  nvtxa doctor --quiet runs\n";

enum { OPTION_PUSH_RANGES = CLI_OPTION_OWN };

static const struct option long_options[] = {
    {"nsys", required_argument, NULL, CLI_OPTION_NSYS},
    {"push-ranges", no_argument, NULL, OPTION_PUSH_RANGES},
    CLI_BASIC_LONG_OPTIONS,
};

static int take_option(void *user, int option) {
  doctor_options *options = user;
  if (option != OPTION_PUSH_RANGES) {
    return CLI_NOT_MINE;
  }
  options->push_ranges = true;
  return -1;
}

int doctor_options_parse(doctor_options *options, int argc, char **argv) {
  const cli_command_line line = {
      .letters = ":" CLI_BASIC_LETTERS,
      .options = long_options,
      .help = help,
      .argument = "directory",
      .argument_optional = true,
      .take = take_option,
      .user = options,
  };
  *options = (doctor_options){.common = {.command = command}};
  return cli_read_command_line(&options->common, &line, argc, argv, &options->directory);
}
