/*
 * The options of `nvtxa record`: reading them, refusing what makes no sense, and --help.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"
#include "list.h"
#include "record_options.h"
#include "terminal.h"
#include "usage.h"

static const char command[] = "nvtxa record";

static const char help[] =
    "Usage: nvtxa record [options] [--] COMMAND [ARGUMENT]...\n"
    "\n"
    "Run COMMAND under nsys and make a run directory of it: the trace and, beside it, a\n"
    "manifest that tells what was run. nsys captures from the push of the capture range to\n"
    "its pop. The standard streams and the exit status of COMMAND are passed through.\n"
    "\n"
    "Where to:\n"
    "      --run-dir DIR    the run directory, which is made if need be; or\n"
    "      --output-dir DIR with --profile: DIR/NAME/runs/ID is the run directory\n"
    "      --profile NAME   what is profiled (profile_name)\n"
    "      --run-id ID      this run (run_id; default: the time in UTC)\n"
    "      --force          replace a run that is recorded there\n"
    "\n"
    "What it is:\n"
    "      --capture-range NAME\n"
    "                       the NVTX range around what is measured (default: "
    "profile-target)\n" RUN_OPTIONS_HELP
    "\n"
    "How it is recorded:\n"
    "      --trace LIST     what nsys traces (default: cuda,nvtx)\n"
    "      --nsys PATH      the nsys program (default: nsys on PATH)\n"
    "      --nsys-arg ARG   a further argument for nsys profile; an option given here takes\n"
    "                       the place of nvtxa's own\n"
    "      --print-command  print what would be run, for a POSIX shell, and do nothing\n"
    "      --analyze        go on to nvtxa analyze, if COMMAND succeeds\n"
    "  -q, --quiet          do not say where the run was recorded; print no summary\n"
    "  -v, --verbose        log to standard error what is run, read and written; given\n"
    "                       twice, also what nsys prints\n"
    "      --progress WHEN  for --analyze: auto, always or never, as there\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "COMMAND may write facts for the manifest, as YAML, to the file that the environment\n"
    "variable NVTXA_MANIFEST_EXTRA names. What is given here stands against them.\n"
    "An interrupt (Ctrl-C) is passed on to nsys once: it ends COMMAND and keeps what was\n"
    "captured. The third one gives up.\n"
    "\n"
    "Writes:  RUN_DIR/trace.nsys-rep, RUN_DIR/manifest.yaml\n"
    "\n"
    "Exit status: that of COMMAND (128 + N where signal N ended it) unless it is 0; else\n"
    "  0    done\n"
    "  1    the run could not be recorded: no trace, for instance; or not analysed\n"
    "  2    the command line is wrong\n"
    "  127  COMMAND was not found\n"
    "  130  interrupted\n"
    "\n"
    "Examples:\n"
    "  nvtxa record --run-dir runs/smoke --iterations 10 --analyze -- ./train\n"
    "  nvtxa record --output-dir out --profile resnet --print-command -- ./train\n";

enum {
  OPTION_RUN_DIR = RUN_OPTION_OWN,
  OPTION_OUTPUT_DIR,
  OPTION_TRACE,
  OPTION_NSYS_ARG,
  OPTION_PRINT_COMMAND,
  OPTION_ANALYZE
};

static const struct option long_options[] = {
    {"run-dir", required_argument, NULL, OPTION_RUN_DIR},
    {"output-dir", required_argument, NULL, OPTION_OUTPUT_DIR},
    {"trace", required_argument, NULL, OPTION_TRACE},
    {"nsys-arg", required_argument, NULL, OPTION_NSYS_ARG},
    {"print-command", no_argument, NULL, OPTION_PRINT_COMMAND},
    {"analyze", no_argument, NULL, OPTION_ANALYZE},
    {"nsys", required_argument, NULL, CLI_OPTION_NSYS},
    RUN_LONG_OPTIONS,
    CLI_BASIC_LONG_OPTIONS,
};

static int add_nsys_argument(record_options *options) {
  size_t count = options->nsys_argument_count;
  const char **arguments = cli_list_room(options->nsys_arguments, &options->nsys_argument_capacity,
                                         count + 1, sizeof *arguments);
  if (arguments == NULL) {
    cli_complain(NULL, NULL, "out of memory");
    return CLI_FAILED;
  }
  options->nsys_arguments = arguments;
  arguments[count] = optarg;
  arguments[count + 1] = NULL;
  options->nsys_argument_count++;
  return -1;
}

static int take_option(void *user, int option) {
  record_options *options = user;
  switch (option) {
    case OPTION_RUN_DIR:
      return cli_text_option(&options->common, &options->given_run_dir, "--run-dir");
    case OPTION_OUTPUT_DIR:
      return cli_text_option(&options->common, &options->output_dir, "--output-dir");
    case OPTION_TRACE:
      return cli_text_option(&options->common, &options->trace, "--trace");
    case OPTION_NSYS_ARG:
      return add_nsys_argument(options);
    case OPTION_PRINT_COMMAND:
      options->print_command = true;
      return -1;
    case OPTION_ANALYZE:
      options->analyze = true;
      return -1;
    default:
      return run_options_take(&options->run, &options->common, option);
  }
}

/* ---- where to ---- */

static bool is_there(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

/* OUTPUT_DIR/PROFILE/runs/ID; NULL when out of memory. */
static char *profile_run_dir(const record_options *options) {
  char *path;
  const char *slash = options->output_dir[strlen(options->output_dir) - 1] == '/' ? "" : "/";
  return asprintf(&path, "%s%s%s/runs/%s", options->output_dir, slash, options->run.profile,
                  options->run.run_id) < 0
             ? NULL
             : path;
}

/* The time, and where two runs begin in one second, a number as well. */
static void choose_id(record_options *options) {
  struct tm utc;
  time_t now = time(NULL);
  size_t length = strftime(options->id, sizeof options->id, "%Y%m%dT%H%M%SZ",
                           gmtime_r(&now, &utc) == NULL ? &(struct tm){0} : &utc);
  options->run.run_id = options->id;
  for (int number = 2; options->output_dir != NULL && number < 100; number++) {
    char *path = profile_run_dir(options);
    bool taken = path != NULL && is_there(path);
    free(path);
    if (!taken) {
      return;
    }
    snprintf(options->id + length, sizeof options->id - length, "-%d", number);
  }
}

static int choose_run_dir(record_options *options) {
  if (options->given_run_dir != NULL && options->output_dir != NULL) {
    return cli_bad_usage(command, "--run-dir and --output-dir both name a place: give one");
  }
  if (options->given_run_dir == NULL && options->output_dir == NULL) {
    return cli_bad_usage(command, "no --run-dir given, nor --output-dir");
  }
  if (options->output_dir != NULL && options->run.profile == NULL) {
    return cli_bad_usage(command, "--output-dir needs --profile NAME");
  }
  if (options->run.run_id == NULL) {
    choose_id(options);
  }
  options->run_dir =
      options->given_run_dir != NULL ? strdup(options->given_run_dir) : profile_run_dir(options);
  if (options->run_dir == NULL) {
    cli_complain(NULL, NULL, "out of memory");
    return CLI_FAILED;
  }
  return -1;
}

int record_options_parse(record_options *options, int argc, char **argv) {
  const cli_command_line line = {
      .letters = "+:" CLI_BASIC_LETTERS,
      .options = long_options,
      .help = help,
      .take = take_option,
      .user = options,
  };
  *options = (record_options){.common = {.command = command}, .run = RUN_OPTIONS_INIT};
  int status = cli_read_command_line(&options->common, &line, argc, argv, NULL);
  if (status >= 0) {
    return status;
  }
  if (optind == argc || argv[optind][0] == '\0') {
    return cli_bad_usage(command, "no command to record given");
  }
  options->command = argv + optind;
  return choose_run_dir(options);
}

void record_options_free(record_options *options) {
  free(options->run_dir);
  free(options->nsys_arguments);
  run_options_free(&options->run);
}
