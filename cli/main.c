/*
 * nvtxa: finds the subcommand in a table and runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nvtxa/nvtxa.h>

#include "cli.h"
#include "output.h"
#include "signals.h"
#include "terminal.h"
#include "text.h"
#include "usage.h"

static int cmd_help(int argc, char **argv);

static const cli_command commands[] = {
    {"record", "run a command under nsys and make a run directory of it", cmd_record},
    {"init", "make a run directory for a trace that exists already", cmd_init},
    {"analyze", "turn a run directory into analysis.json", cmd_analyze},
    {"ranges", "list the ranges that could be the capture range", cmd_ranges},
    {"stats", "write the reports of nsys stats, computed here", cmd_stats},
    {"doctor", "say what stands in the way of recording and analysing here", cmd_doctor},
    {"help", "explain nvtxa, or one command", cmd_help},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static const cli_command *find_command(const char *name) {
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    if (strcmp(name, commands[i].name) == 0) {
      return &commands[i];
    }
  }
  return NULL;
}

static int unknown_command(const char *name) {
  const char *names[COMMAND_COUNT];
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    names[i] = commands[i].name;
  }
  const char *nearest = cli_nearest(name, names, COMMAND_COUNT);
  if (nearest == NULL) {
    return cli_bad_usage("nvtxa", "unknown command '%s'", name);
  }
  return cli_bad_usage("nvtxa", "unknown command '%s'; did you mean '%s'?", name, nearest);
}

static void print_help(void) {
  fputs(
      "Usage: nvtxa COMMAND [options] ...\n"
      "       nvtxa help [COMMAND]\n"
      "\n"
      "Analyses the NVTX ranges of NVIDIA Nsight Systems traces, by iteration and scope.\n"
      "What it finds goes to a JSON file that scripts can rely on, and to a short summary.\n"
      "\n"
      "Commands:\n",
      stdout);
  for (size_t i = 0; i < COMMAND_COUNT; i++) {
    printf("  %-10s  %s\n", commands[i].name, commands[i].summary);
  }
  fputs(
      "\n"
      "Options:\n"
      "  -h, --help     print this help and exit\n"
      "  -V, --version  print the version and exit\n"
      "\n"
      "Exit status: 0 done, 1 failed, 2 the command line is wrong; more in each command's help.\n"
      "\n"
      "Example:\n"
      "  nvtxa analyze runs/smoke\n",
      stdout);
}

static int cmd_help(int argc, char **argv) {
  bool asks_itself = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                                  strcmp(argv[1], "help") == 0);
  if (argc > 2) {
    return cli_bad_usage("nvtxa", "help on one command at a time: '%s' is one too many", argv[2]);
  }
  if (argc < 2 || asks_itself) {
    print_help();
    return CLI_DONE;
  }
  const cli_command *command = find_command(argv[1]);
  if (command == NULL) {
    return unknown_command(argv[1]);
  }
  char help_option[] = "--help";
  char *arguments[] = {argv[1], help_option, NULL};
  return command->run(2, arguments);
}

/* The program's own options end at the command. */
static int run_command(int argc, char **argv) {
  static const struct option options[] = {
      {"help", no_argument, NULL, 'h'},
      {"version", no_argument, NULL, 'V'},
      {NULL, 0, NULL, 0},
  };
  opterr = 0;
  int option = getopt_long(argc, argv, "+:hV", options, NULL);
  if (option == 'V') {
    printf("nvtxa %s\n", nvtxa_version());
    return CLI_DONE;
  }
  if (option == 'h') {
    print_help();
    return CLI_DONE;
  }
  cli_text_init();
  cli_terminal_init();
  if (option != -1) {
    return cli_bad_option(option, argv, options, "nvtxa");
  }
  if (optind == argc) {
    return cli_bad_usage("nvtxa", "no command given");
  }
  const cli_command *command = find_command(argv[optind]);
  if (command == NULL) {
    return unknown_command(argv[optind]);
  }
  return command->run(argc - optind, argv + optind);
}

/* A file opened later must not get the number of a standard stream that was closed: what is printed
 * would end up in it. The stand-ins are opened the wrong way round, so that using them still fails.
 */
static bool fill_standard_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
        open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  if (!fill_standard_streams()) {
    return CLI_FAILED;
  }
  cli_signals_child();
  cli_signals_pipe();
  int status = run_command(argc, argv);
  bool written = cli_close_stdout();
  return written || (status != CLI_DONE && status != CLI_WARNINGS) ? status : CLI_FAILED;
}
