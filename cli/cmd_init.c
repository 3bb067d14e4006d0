/*
 * `nvtxa init`: a run directory for a trace that exists already.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <nvtxa/nvtxa.h>

#include "cli.h"
#include "failure.h"
#include "run_options.h"
#include "signals.h"
#include "terminal.h"
#include "text.h"
#include "usage.h"

static const char command[] = "nvtxa init";

static const char help[] =
    "Usage: nvtxa init [options] --trace FILE.nsys-rep --capture-range NAME RUN_DIR\n"
    "\n"
    "Make a run directory for a trace that exists already: a copy of the trace, unless it\n"
    "lies there as trace.nsys-rep, and a manifest that tells what was run.\n"
    "\n"
    "Options:\n"
    "      --trace FILE     the trace that nsys wrote\n"
    "      --capture-range NAME\n"
    "                       the NVTX range around what is measured: nvtxa ranges FILE lists\n"
    "                       them\n"
    "      --profile NAME   what was profiled (profile_name)\n"
    "      --run-id ID      which run it is (run_id)\n" RUN_OPTIONS_HELP
    "      --force          replace a run that is in RUN_DIR\n"
    "  -q, --quiet          print nothing\n"
    "  -v, --verbose        log to standard error what is read and written\n"
    "      --progress WHEN  show what is being done, on standard error: auto (if that is a\n"
    "                       terminal), always or never (default: auto; with -q: never)\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "Writes:  RUN_DIR/trace.nsys-rep, RUN_DIR/manifest.yaml\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 the command line is wrong, 130 interrupted\n"
    "\n"
    "Example:\n"
    "  nvtxa init runs/old --trace report1.nsys-rep --capture-range train --iterations 10\n";

enum { OPTION_TRACE = RUN_OPTION_OWN };

static const struct option long_options[] = {
    {"trace", required_argument, NULL, OPTION_TRACE},
    RUN_LONG_OPTIONS,
    CLI_BASIC_LONG_OPTIONS,
};

struct init_options {
  cli_common_options common;
  run_options run;
  const char *run_dir;
  const char *trace;
};

static int take_option(void *user, int option) {
  struct init_options *options = user;
  return option == OPTION_TRACE ? cli_text_option(&options->common, &options->trace, "--trace")
                                : run_options_take(&options->run, &options->common, option);
}

static int parse(struct init_options *options, int argc, char **argv) {
  const cli_command_line line = {
      .letters = ":" CLI_BASIC_LETTERS,
      .options = long_options,
      .help = help,
      .argument = "run directory",
      .take = take_option,
      .user = options,
  };
  int status = cli_read_command_line(&options->common, &line, argc, argv, &options->run_dir);
  if (status >= 0) {
    return status;
  }
  return options->trace == NULL ? cli_bad_usage(command, "no --trace given")
         : options->run.capture_range == NULL
             ? cli_bad_usage(command, "no --capture-range given; nvtxa ranges lists what there is")
             : -1;
}

static nvtxa_status adopt(const struct init_options *options, nvtxa_record *record, int *ret_result,
                          nvtxa_error **error) {
  *ret_result = run_options_apply(&options->run, &options->common, nvtxa_record_manifest(record));
  return *ret_result >= 0 ? NVTXA_OK : nvtxa_record_adopt(record, options->trace, error);
}

static int run(const struct init_options *options) {
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_record_options record_options = NVTXA_RECORD_OPTIONS_INIT;
  nvtxa_record *record = NULL;
  nvtxa_error *error = NULL;
  int result = -1;
  hooks.cancel = &cli_interrupted;
  cli_terminal_watch(&hooks, options->common.verbosity, options->common.progress);
  record_options.capture_range = options->run.capture_range;
  record_options.force = options->run.force;
  record_options.hooks = &hooks;
  nvtxa_status status = nvtxa_record_new(options->run_dir, NULL, &record_options, &record, &error);
  if (status == NVTXA_OK) {
    status = adopt(options, record, &result, &error);
  }
  cli_terminal_clear();
  if (status != NVTXA_OK) {
    result = cli_failed(error, NULL);
  } else if (result < 0) {
    result = CLI_DONE;
    if (!options->common.quiet) {
      fputs("Made run directory: ", stdout);
      cli_put_string(stdout, options->run_dir);
      fputs("\n", stdout);
    }
  }
  nvtxa_error_free(error);
  nvtxa_record_free(record);
  return result;
}

int cmd_init(int argc, char **argv) {
  struct init_options options = {.common = {.command = command}, .run = RUN_OPTIONS_INIT};
  int status = parse(&options, argc, argv);
  if (status < 0) {
    cli_signals_catch();
    status = run(&options);
  }
  run_options_free(&options.run);
  return status;
}
