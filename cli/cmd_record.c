/*
 * `nvtxa record`: a command under nsys, and a run directory of it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nvtxa/nvtxa.h>

#include "analyze.h"
#include "cli.h"
#include "failure.h"
#include "record_options.h"
#include "signals.h"
#include "terminal.h"
#include "text.h"

static const char unread_facts[] =
    "The command's facts were left there; trace and manifest are there without them.";

static void print_arguments(const nvtxa_record *record) {
  nvtxa_text line = nvtxa_record_command_line(record);
  fwrite(line.data, 1, line.length, stdout);
  fputs("\n", stdout);
}

static void announce(const record_options *options) {
  if (!options->common.quiet) {
    fputs("nvtxa: recorded ", stderr);
    cli_put_string(stderr, options->run_dir);
    fputs("\n", stderr);
  }
}

static void tell_failure(int exit_status) {
  const int number = exit_status - 128; /* of the signal, if it was one */
  if (number > 0 && number <= SIGRTMAX) {
    cli_complain(NULL, NULL, "the command ended with status %d, as by signal %d (%s)", exit_status,
                 number, strsignal(number));
  } else {
    cli_complain(NULL, NULL, "the command ended with status %d", exit_status);
  }
}

static int go_on(const record_options *options) {
  const analyze_options analysis = {.common = options->common, .run_dir = options->run_dir};
  fflush(stderr);
  return analyze_run(&analysis);
}

/* The run was recorded, or not: what to say, and the exit status. */
static int conclude(const record_options *options, nvtxa_status status, const nvtxa_error *error,
                    const nvtxa_record_result *result) {
  cli_terminal_clear();
  if (status == NVTXA_OK) {
    announce(options);
  } else if (error != NULL && status != NVTXA_ERROR_CANCELLED) {
    bool facts = result->ran && nvtxa_error_file(error) != NULL &&
                 strstr(nvtxa_error_file(error), "manifest-extra.yaml") != NULL;
    cli_print_error(error, facts ? unread_facts : NULL);
  }
  if (result->interrupted || status == NVTXA_ERROR_CANCELLED) {
    cli_complain(NULL, NULL, "interrupted");
    return CLI_INTERRUPTED;
  }
  if (result->ran && result->exit_status != 0) {
    tell_failure(result->exit_status);
    return result->exit_status;
  }
  if (status != NVTXA_OK) {
    return status == NVTXA_ERROR_COMMAND_NOT_FOUND ? CLI_NOT_FOUND : CLI_FAILED;
  }
  return options->analyze ? go_on(options) : CLI_DONE;
}

static int run(const record_options *options, nvtxa_record *record) {
  nvtxa_record_result result = NVTXA_RECORD_RESULT_INIT;
  nvtxa_error *error = NULL;
  int status = run_options_apply(&options->run, &options->common, nvtxa_record_manifest(record));
  if (status >= 0) {
    return status;
  }
  if (options->print_command) {
    print_arguments(record);
    return CLI_DONE;
  }
  fflush(stdout);
  nvtxa_status recorded = nvtxa_record_run(record, &result, &error);
  status = conclude(options, recorded, error, &result);
  nvtxa_error_free(error);
  return status;
}

static nvtxa_status plan(const record_options *options, const nvtxa_hooks *hooks,
                         nvtxa_record **record, nvtxa_error **error) {
  nvtxa_record_options planned = NVTXA_RECORD_OPTIONS_INIT;
  planned.capture_range = options->run.capture_range;
  planned.trace = options->trace;
  planned.nsys = options->common.nsys;
  planned.nsys_arguments = options->nsys_arguments;
  planned.environment = environ;
  planned.force = options->run.force;
  planned.hooks = hooks;
  return nvtxa_record_new(options->run_dir, (const char *const *)options->command, &planned, record,
                          error);
}

int cmd_record(int argc, char **argv) {
  record_options options;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_record *record = NULL;
  nvtxa_error *error = NULL;
  int status = record_options_parse(&options, argc, argv);
  if (status < 0) {
    cli_signals_catch();
    cli_terminal_watch(&hooks, options.common.verbosity, CLI_PROGRESS_NEVER);
    hooks.cancel = &cli_interrupted;
    if (plan(&options, &hooks, &record, &error) == NVTXA_OK) {
      status = run(&options, record);
    } else {
      status = cli_failed(error, NULL);
    }
  }
  nvtxa_error_free(error);
  nvtxa_record_free(record);
  record_options_free(&options);
  return status;
}
