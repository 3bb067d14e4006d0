/*
 * Recording: nsys is found and asked, the run directory made, nsys run with the command in it, and
 * the manifest written beside the trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record-internal.h"

struct work {
  nvtxa_record *record;
  char *nsys; /* absolute */
  char **environment;
  nvtxa__facts facts;
  nvtxa__rundir rundir;
  nvtxa__output output;
  nvtxa__result result;
  nvtxa__signs signs;
};

/* ---- before it ---- */

static nvtxa_status find_command(const nvtxa_record *record, nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  char *path = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa__program_find(record->program, record->environment, &path, &error);
  bool found = status == NVTXA_OK && access(path, X_OK) == 0;
  int errnum = status == NVTXA_OK && !found ? errno : 0;
  free(path);
  if (found) {
    return NVTXA_OK;
  }
  if (status != NVTXA_OK && status != NVTXA_ERROR_NSYS_NOT_FOUND) {
    return nvtxa__pass_on(reterr, status, error);
  }
  nvtxa_error_free(error);
  return nvtxa__fail(
      reterr, NVTXA_ERROR_COMMAND_NOT_FOUND,
      &(nvtxa__where){.errnum = errnum, .hint = "The command to record comes last, after --."},
      "there is no program '%s' to run",
      nvtxa__quote(quoted, record->program, strlen(record->program)));
}

/* The version is part of the manifest, and an nsys that cannot tell it cannot record either. */
static nvtxa_status ask_version(const struct work *work, nvtxa_error **reterr) {
  static const int64_t time_ns = 60000000000;
  nvtxa_record *record = work->record;
  nvtxa__nsys nsys = {.child = {.hooks = &record->hooks,
                                .program = work->nsys,
                                .environment = work->environment,
                                .directory = work->rundir.fd,
                                .timeout_ns = time_ns,
                                .deadline_ns = nvtxa__now_ns() + time_ns}};
  nvtxa_status status = nvtxa__nsys_ask_version(&nsys, reterr);
  if (status == NVTXA_OK && nsys.version.data != NULL) {
    status =
        nvtxa_manifest_draft_set_text(record->manifest, "nsys_version", nsys.version.data, reterr);
  }
  nvtxa__buffer_free(&nsys.version);
  return status;
}

/* The caller's environment, and where the command may write facts. */
static nvtxa_status make_environment(struct work *work, char *variable, nvtxa_error **reterr) {
  static char *fallback[] = {(char *)"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
  char *const *given = work->record->environment == NULL ? fallback : work->record->environment;
  size_t length = strlen(NVTXA_MANIFEST_EXTRA);
  size_t count = 0;
  while (given[count] != NULL) {
    count++;
  }
  work->environment = calloc(count + 2, sizeof *work->environment);
  if (work->environment == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    bool replaced = strncmp(given[i], NVTXA_MANIFEST_EXTRA, length) == 0 && given[i][length] == '=';
    if (!replaced) {
      work->environment[used++] = given[i];
    }
  }
  work->environment[used] = variable;
  return NVTXA_OK;
}

/* ---- the run ---- */

static nvtxa_status run_nsys(struct work *work, nvtxa_error **reterr) {
  nvtxa_record *record = work->record;
  const nvtxa__child child = {
      .hooks = &record->hooks,
      .program = work->nsys,
      .environment = work->environment,
      .directory = work->rundir.fd,
      .foreground = &record->foreground,
      .timeout_ns = -1,
      .deadline_ns = INT64_MAX,
  };
  work->output =
      (nvtxa__output){.hooks = &record->hooks, .line = nvtxa__outcome_watch, .user = &work->signs};
  return nvtxa__child_run(&child, record->arguments.items, "nsys: recording", &work->output,
                          &work->result, reterr);
}

static void tell(const struct work *work, nvtxa_record_result *result) {
  bool by_signal = work->result.ending == NVTXA__ENDED_BY_SIGNAL;
  result->ran = true;
  result->exit_status = by_signal ? 128 + work->result.code : work->result.code;
  result->interrupted = work->record->foreground.interrupted;
}

/* ---- after it ---- */

/* The first of two failures is the one to tell; the second is logged. */
static nvtxa_status first_of(const struct work *work, nvtxa_status first, nvtxa_status second,
                             nvtxa_error *second_error, nvtxa_error **reterr) {
  if (first == NVTXA_OK) {
    return nvtxa__pass_on(reterr, second, second_error);
  }
  if (second_error != NULL) {
    nvtxa__log(&work->record->hooks, NVTXA_LOG_NOTICE, "and: %s",
               nvtxa_error_message(second_error));
  }
  nvtxa_error_free(second_error);
  return first;
}

/* What is known goes into the manifest, even where the command's own facts cannot be read. */
static nvtxa_status write_manifest(const struct work *work, int exit_status, nvtxa_error **reterr) {
  nvtxa_record *record = work->record;
  nvtxa_error *error = NULL;
  nvtxa_status extra =
      nvtxa__facts_take_extra(&work->rundir, &record->hooks, record->manifest, reterr);
  nvtxa_status status =
      nvtxa__facts_fill_in(&work->facts, record->program, record->manifest, &error);
  if (status == NVTXA_OK && exit_status != 0) {
    status = nvtxa_manifest_draft_set_integer(record->manifest, "exit_status", exit_status, &error);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__record_write_manifest(record, &work->rundir, &error);
  }
  return status == NVTXA_OK ? extra : first_of(work, extra, status, error, reterr);
}

static nvtxa_status finish(struct work *work, int exit_status, nvtxa_error **reterr) {
  const nvtxa__outcome outcome = {
      .rundir = &work->rundir,
      .capture_range = work->record->capture_range,
      .output = &work->output,
      .result = &work->result,
      .signs = &work->signs,
  };
  bool any;
  nvtxa_error *error = NULL;
  nvtxa_status judged = nvtxa__outcome_judge(&outcome, &any, reterr);
  if (!any) {
    unlinkat(work->rundir.fd, NVTXA__EXTRA_FILE, 0);
    return judged;
  }
  nvtxa_status written = write_manifest(work, exit_status, &error);
  if (judged == NVTXA_OK && (written == NVTXA_OK || written == NVTXA_ERROR_MANIFEST_SYNTAX)) {
    nvtxa__rundir_forget_earlier(&work->rundir);
  }
  return written == NVTXA_OK ? judged : first_of(work, judged, written, error, reterr);
}

/* ---- all of it ---- */

static nvtxa_status record_in(struct work *work, nvtxa_record_result *result,
                              nvtxa_error **reterr) {
  char *variable = NULL;
  char *directory = realpath(work->rundir.path, NULL);
  nvtxa_status status = NVTXA_OK;
  nvtxa__buffer text = {0};
  if (directory == NULL ||
      nvtxa__buffer_printf(&text, NVTXA_MANIFEST_EXTRA "=%s/" NVTXA__EXTRA_FILE, directory) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  variable = text.data;
  free(directory);
  if (status == NVTXA_OK) {
    status = make_environment(work, variable, reterr);
  }
  if (status == NVTXA_OK) {
    status = ask_version(work, reterr);
  }
  if (status == NVTXA_OK) {
    nvtxa__facts_ask_git(&work->facts, &work->record->hooks, work->record->environment);
    status = run_nsys(work, reterr);
  }
  if (status == NVTXA_OK) {
    tell(work, result);
    status = finish(work, result->exit_status, reterr);
  }
  free(work->environment);
  nvtxa__buffer_free(&text);
  return status;
}

static nvtxa_status run(nvtxa_record *record, nvtxa_record_result *result, nvtxa_error **reterr) {
  struct work *work = calloc(1, sizeof *work);
  if (work == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  work->record = record;
  nvtxa_status status = nvtxa__program_find(record->nsys, record->environment, &work->nsys, reterr);
  if (status == NVTXA_OK) {
    status = find_command(record, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__rundir_open(&work->rundir, record->run_dir, record->force, reterr);
    if (status == NVTXA_OK) {
      status = record_in(work, result, reterr);
    }
    nvtxa__rundir_close(&work->rundir, &record->hooks);
  }
  nvtxa__facts_free(&work->facts);
  free(work->nsys);
  free(work);
  return status;
}

nvtxa_status nvtxa_record_run(nvtxa_record *record, nvtxa_record_result *ret_result,
                              nvtxa_error **reterr) {
  nvtxa_record_result result = NVTXA_RECORD_RESULT_INIT;
  nvtxa_status status = nvtxa__record_begin(record, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (record->program == NULL) {
    return nvtxa__invalid(reterr, "the record was made without a command");
  }
  status = run(record, &result, reterr);
  if (ret_result != NULL) {
    nvtxa_status copied = nvtxa__result_copy(ret_result, &result, sizeof result);
    return copied == NVTXA_OK ? status : nvtxa__invalid(reterr, "ret_result->size is not set");
  }
  return status;
}
