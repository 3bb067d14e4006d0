/*
 * `nvtxa doctor`: what stands in the way of recording and analysing here, one line a check.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <nvtxa/nvtxa.h>

#include "cli.h"
#include "doctor_options.h"
#include "failure.h"
#include "probe.h"
#include "signals.h"
#include "source.h"
#include "terminal.h"
#include "text.h"

/* ---- what was found ---- */

enum { VERDICT_COLUMNS = 9, CHECK_COLUMNS = 11 };

static const char *colour_of(nvtxa_verdict verdict) {
  return verdict == NVTXA_VERDICT_PROBLEM ? CLI_RED : CLI_YELLOW;
}

static void print_finding(const nvtxa_finding *finding, bool colour) {
  colour = colour && finding->verdict != NVTXA_VERDICT_OK;
  printf("%s%-*s%s%-*s", colour ? colour_of(finding->verdict) : "", VERDICT_COLUMNS,
         nvtxa_verdict_name(finding->verdict), colour ? CLI_PLAIN : "", CHECK_COLUMNS,
         nvtxa_check_name(finding->check));
  cli_put_text(stdout, finding->text.data, finding->text.length);
  if (finding->remedy.data != NULL) {
    fputs(": ", stdout);
    cli_put_text(stdout, finding->remedy.data, finding->remedy.length);
  }
  putchar('\n');
}

static int print_findings(const doctor_options *options, const nvtxa_doctor *doctor) {
  bool colour = cli_wants_colour(stdout);
  for (size_t i = 0; i < nvtxa_doctor_count(doctor); i++) {
    nvtxa_finding finding = NVTXA_FINDING_INIT;
    nvtxa_doctor_get(doctor, i, &finding);
    if (!options->common.quiet || finding.verdict != NVTXA_VERDICT_OK) {
      print_finding(&finding, colour);
    }
  }
  return nvtxa_doctor_worst(doctor) == NVTXA_VERDICT_PROBLEM ? CLI_FAILED : CLI_DONE;
}

/* ---- examining ---- */

/* This program's own file; false where the system does not tell. */
static bool find_myself(char path[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = '\0';
  return length > 0;
}

static nvtxa_status examine(const doctor_options *options, nvtxa_doctor **ret_doctor,
                            nvtxa_error **error) {
  char myself[PATH_MAX];
  const char *const probe[] = {myself, "doctor", "--push-ranges", NULL};
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_doctor_options what = NVTXA_DOCTOR_OPTIONS_INIT;
  cli_terminal_watch(&hooks, options->common.verbosity, options->common.progress);
  hooks.cancel = &cli_interrupted;
  what.nsys = options->common.nsys;
  what.environment = environ;
  what.directory = options->directory;
  what.temporary_directory = cli_temporary_directory();
  what.hooks = &hooks;
  what.probe = cli_probe_is_built() && find_myself(myself) ? probe : NULL;
  nvtxa_status status = nvtxa_doctor_examine(&what, ret_doctor, error);
  cli_terminal_clear();
  return status;
}

static int push_ranges(void) {
  if (!cli_probe_is_built()) {
    cli_complain(NULL, "Build it where <nvtx3/nvToolsExt.h> is found.",
                 "this was built without the headers of NVTX, and pushes no ranges");
    return CLI_FAILED;
  }
  cli_probe_run();
  return CLI_DONE;
}

int cmd_doctor(int argc, char **argv) {
  doctor_options options;
  nvtxa_doctor *doctor = NULL;
  nvtxa_error *error = NULL;
  int status = doctor_options_parse(&options, argc, argv);
  if (status >= 0) {
    return status;
  }
  if (options.push_ranges) {
    return push_ranges();
  }
  cli_signals_catch();
  status = examine(&options, &doctor, &error) == NVTXA_OK ? print_findings(&options, doctor)
                                                          : cli_failed(error, NULL);
  nvtxa_error_free(error);
  nvtxa_doctor_unref(doctor);
  return status;
}
