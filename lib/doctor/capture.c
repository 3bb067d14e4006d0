/*
 * A capture tried: a program of known ranges is recorded with the arguments that any recording
 * gets, the trace exported, and its ranges read back. nsys reports success for nearly everything,
 * so that alone shows that it works.
 */
#include <stdio.h>
#include <stdlib.h>

#include "doctor-internal.h"

#include "analysis/analysis-internal.h"
#include "record/record-internal.h"

/* On a busy machine, nsys now and then loses all that a short program did. */
enum { ATTEMPTS = 3 };

static const char capture_range[] = "profile-target";
static const char *const expected[] = {capture_range, "iteration 0", "iteration 1"};

/* One of the attempts, in a directory of its own. */
struct attempt {
  const nvtxa__examination *examination;
  const char *const *command; /* its program absolute */
  nvtxa__private private;
  char *directory; /* `private`, as an absolute path */
  size_t found;    /* how many of the expected ranges came back */
};

static nvtxa_status make_directory(struct attempt *attempt, nvtxa_error **reterr) {
  const nvtxa__examination *examination = attempt->examination;
  const char *given = examination->options.temporary_directory;
  nvtxa_status status =
      nvtxa__private_make_in(&attempt->private, given, examination->hooks, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  char *parent = realpath(given, NULL);
  attempt->directory = parent == NULL ? NULL : nvtxa__join(parent, attempt->private.name);
  free(parent);
  return attempt->directory == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}

/* ---- the recording ---- */

static nvtxa_status run_nsys(const struct attempt *attempt, const nvtxa__arguments *arguments,
                             nvtxa_error **reterr) {
  const nvtxa__examination *examination = attempt->examination;
  const nvtxa__rundir rundir = {.path = attempt->directory, .fd = attempt->private.fd};
  const nvtxa__child child = {
      .hooks = examination->hooks,
      .program = examination->nsys,
      .environment = examination->environment,
      .directory = attempt->private.fd,
      .timeout_ns = nvtxa__call_ns,
      .deadline_ns = nvtxa__now_ns() + nvtxa__call_ns,
  };
  nvtxa__signs signs = {0};
  nvtxa__output output = {
      .hooks = examination->hooks, .line = nvtxa__outcome_watch, .user = &signs};
  nvtxa__result result;
  nvtxa_status status = nvtxa__child_run(&child, arguments->items, "nsys: recording a few ranges",
                                         &output, &result, reterr);
  const nvtxa__outcome outcome = {.rundir = &rundir,
                                  .capture_range = capture_range,
                                  .waited = arguments->wait_for_range,
                                  .output = &output,
                                  .result = &result,
                                  .signs = &signs};
  bool any;
  return status == NVTXA_OK ? nvtxa__outcome_judge(&outcome, &any, reterr) : status;
}

static nvtxa_status record(const struct attempt *attempt, nvtxa_error **reterr) {
  nvtxa__arguments arguments = {0};
  char *output = nvtxa__join(attempt->directory, "trace");
  if (output == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  const nvtxa__recipe recipe = {
      .nsys = attempt->examination->nsys,
      .trace = "nvtx",
      .capture_range = capture_range,
      .output = output,
      .command = attempt->command,
      .output_fd = 9, /* neither is open: what it prints goes where nsys prints */
      .error_fd = 8,
  };
  nvtxa_status status =
      nvtxa__arguments_make(&arguments, &recipe, attempt->examination->hooks, reterr);
  if (status == NVTXA_OK) {
    status = run_nsys(attempt, &arguments, reterr);
  }
  nvtxa__arguments_free(&arguments);
  free(output);
  return status;
}

/* ---- what came back ---- */

static bool is_there(const nvtxa_ranges *host, const char *name) {
  size_t row = 0;
  while (row < host->count &&
         !nvtxa__text_is(nvtxa__normalized(nvtxa__range_text(host, row)), name)) {
    row++;
  }
  return row < host->count;
}

static nvtxa_status count_ranges(struct attempt *attempt, const char *path, nvtxa_error **reterr) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges *host = NULL;
  nvtxa_error *error = NULL;
  options.hooks = attempt->examination->hooks;
  nvtxa_status status = nvtxa_ranges_read_sqlite(path, &options, &host, NULL, &error);
  if (status == NVTXA_ERROR_SQLITE_TABLE) { /* none at all leaves no table */
    nvtxa_error_free(error);
    return NVTXA_OK;
  }
  if (status != NVTXA_OK) {
    return nvtxa__pass_on(reterr, status, error);
  }
  for (size_t i = 0; i < NVTXA__COUNT(expected); i++) {
    attempt->found += is_there(host, expected[i]);
  }
  nvtxa_ranges_unref(host);
  return NVTXA_OK;
}

static nvtxa_status read_back(struct attempt *attempt, nvtxa_error **reterr) {
  const nvtxa__examination *examination = attempt->examination;
  nvtxa_export_options options = NVTXA_EXPORT_OPTIONS_INIT;
  nvtxa_export *exported = NULL;
  options.nsys = examination->nsys;
  options.environment = examination->environment;
  options.timeout_ns = nvtxa__call_ns;
  options.hooks = examination->hooks;
  options.temporary_directory = attempt->directory;
  char *trace = nvtxa__join(attempt->directory, NVTXA__TRACE_FILE);
  nvtxa_status status = trace == NULL ? nvtxa__out_of_memory(reterr)
                                      : nvtxa_export_trace(trace, &options, &exported, reterr);
  if (status == NVTXA_OK) {
    status = count_ranges(attempt, nvtxa_export_sqlite_path(exported), reterr);
  }
  nvtxa_export_unref(exported);
  free(trace);
  return status;
}

/* *ret_staged: there was a directory to do it in. */
static nvtxa_status try_once(struct attempt *attempt, bool *ret_staged, nvtxa_error **reterr) {
  attempt->directory = NULL;
  attempt->found = 0;
  nvtxa_status status = make_directory(attempt, reterr);
  *ret_staged = status == NVTXA_OK;
  if (status == NVTXA_OK) {
    status = record(attempt, reterr);
  }
  if (status == NVTXA_OK) {
    status = read_back(attempt, reterr);
  }
  nvtxa__private_remove(&attempt->private);
  free(attempt->directory);
  return status;
}

/* ---- the verdict ---- */

static nvtxa_status not_tried(nvtxa_doctor *doctor, const char *remedy, nvtxa_error *error,
                              nvtxa_error **reterr) {
  return nvtxa__doctor_add_error(doctor, NVTXA_CHECK_CAPTURE, NVTXA_VERDICT_UNKNOWN, remedy, reterr,
                                 "not tried: ", error);
}

static nvtxa_status judge(nvtxa_doctor *doctor, size_t found, int attempts, nvtxa_error *error,
                          nvtxa_error **reterr) {
  static const char look[] = "see what nsys prints (-v -v), or try another one (--nsys PATH)";
  bool all = found == NVTXA__COUNT(expected);
  if (error != NULL) {
    return nvtxa__doctor_add_error(doctor, NVTXA_CHECK_CAPTURE, NVTXA_VERDICT_PROBLEM, look, reterr,
                                   "", error);
  }
  char which[32] = "";
  if (attempts > 1) {
    snprintf(which, sizeof which, " (attempt %d)", attempts);
  }
  return nvtxa__doctor_add(doctor, NVTXA_CHECK_CAPTURE,
                           all ? NVTXA_VERDICT_OK : NVTXA_VERDICT_PROBLEM, all ? NULL : look,
                           reterr, "%zu of %zu NVTX ranges came back%s", found,
                           NVTXA__COUNT(expected), which);
}

static nvtxa_status try_command(const nvtxa__examination *examination, const char *const *command,
                                nvtxa_error **reterr) {
  struct attempt attempt = {.examination = examination, .command = command};
  nvtxa_error *error = NULL;
  nvtxa_status status;
  bool staged;
  int attempts = 0;
  do {
    nvtxa_error_free(error);
    error = NULL;
    status = try_once(&attempt, &staged, &error);
    attempts++;
  } while (attempts < ATTEMPTS && staged && !nvtxa__doctor_is_over(status) &&
           status != NVTXA_ERROR_NSYS_TIMEOUT && status != NVTXA_ERROR_RECORD_ARGUMENT &&
           attempt.found < NVTXA__COUNT(expected));
  if (!staged && !nvtxa__doctor_is_over(status)) { /* which is a finding of its own */
    nvtxa_error_free(error);
    return nvtxa__doctor_add(examination->made, NVTXA_CHECK_CAPTURE, NVTXA_VERDICT_UNKNOWN, NULL,
                             reterr,
                             "not tried: the directory for temporary files cannot be written to");
  }
  if (status == NVTXA_ERROR_RECORD_ARGUMENT) {
    return not_tried(examination->made, "set TMPDIR to a directory with a plain name", error,
                     reterr);
  }
  return judge(examination->made, attempt.found, attempts, error, reterr);
}

/* Its program as an absolute path: it runs in another directory. */
static nvtxa_status examine_command(const nvtxa__examination *examination, char *program,
                                    nvtxa_error **reterr) {
  const char *const *given = examination->options.probe;
  size_t count = 0;
  while (given[count] != NULL) {
    count++;
  }
  const char **command = calloc(count + 1, sizeof *command);
  if (command == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  memcpy(command, given, count * sizeof *command);
  command[0] = program;
  nvtxa_status status = try_command(examination, command, reterr);
  free(command);
  return status;
}

nvtxa_status nvtxa__examine_capture(const nvtxa__examination *examination, nvtxa_error **reterr) {
  const char *const *given = examination->options.probe;
  static const char by_hand[] =
      "record a program of your own (nvtxa record --run-dir DIR -- COMMAND), and see whether "
      "nvtxa ranges DIR/trace.nsys-rep lists its ranges";
  char *program = NULL;
  nvtxa_error *error = NULL;
  if (given == NULL) {
    return nvtxa__doctor_add(examination->made, NVTXA_CHECK_CAPTURE, NVTXA_VERDICT_UNKNOWN, by_hand,
                             reterr,
                             "not tried: there is no program of known ranges (nvtxa has one where "
                             "it was built with the headers of NVTX)");
  }
  nvtxa_status status =
      nvtxa__command_find(given[0], examination->options.environment, &program, &error);
  status = status != NVTXA_OK ? not_tried(examination->made, by_hand, error, reterr)
                              : examine_command(examination, program, reterr);
  free(program);
  return status;
}
