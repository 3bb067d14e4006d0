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
  work->signs.foreground = &record->foreground;
  work->output =
      (nvtxa__output){.hooks = &record->hooks, .line = nvtxa__outcome_watch, .user = &work->signs};
  return nvtxa__child_run(&child, record->arguments.items, "nsys: recording", &work->output,
                          &work->result, reterr);
}

static void tell(const struct work *work, nvtxa_record_result *result) {
  bool by_signal = work->result.ending == NVTXA__ENDED_BY_SIGNAL;
  result->ran = true;
  result->exit_status = by_signal ? 128 + work->result.code : work->result.code;
  result->interrupted = nvtxa__cancelled(&work->record->hooks);
}

/* ---- after it ---- */

/* Of what goes wrong, the first is told and the others are logged. */
struct failures {
  const nvtxa_hooks *hooks;
  nvtxa_status status;
  nvtxa_error *error;
};

static void note_failure(struct failures *failures, nvtxa_status status, nvtxa_error *error) {
  if (status == NVTXA_OK) {
    return;
  }
  if (failures->status == NVTXA_OK) {
    failures->status = status;
    failures->error = error;
    return;
  }
  if (error != NULL) {
    nvtxa__log(failures->hooks, NVTXA_LOG_NOTICE, "and: %s", nvtxa_error_message(error));
  }
  nvtxa_error_free(error);
}

static nvtxa_status lost_status(nvtxa_error **reterr) {
  return nvtxa__fail(
      reterr, NVTXA_ERROR_NSYS_FAILED,
      &(nvtxa__where){.hint = "Do not ignore SIGCHLD, nor wait for children that are not yours, "
                              "while a run is recorded."},
      "the exit status of the command was lost: this process ignores SIGCHLD, or collects every "
      "child elsewhere");
}

/* What is known goes into the manifest, even where the command's own facts cannot. Whether it is
 * there. */
static bool write_manifest(const struct work *work, int exit_status, struct failures *failures) {
  nvtxa_record *record = work->record;
  nvtxa_error *error = NULL;
  nvtxa_status status = NVTXA_OK;
  if (exit_status != 0) {
    status = nvtxa_manifest_draft_set_integer(record->manifest, "exit_status", exit_status, &error);
  }
  nvtxa_error *extra_error = NULL;
  nvtxa_status extra = status == NVTXA_OK ? nvtxa__facts_take_extra(&work->rundir, &record->hooks,
                                                                    record->manifest, &extra_error)
                                          : NVTXA_OK;
  if (status == NVTXA_OK) {
    status = nvtxa__facts_fill_in(&work->facts, record->program, record->manifest, &error);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__record_write_manifest(record, &work->rundir, &error);
  }
  if (status == NVTXA_OK && extra == NVTXA_OK) {
    unlinkat(work->rundir.fd, NVTXA__EXTRA_FILE, 0);
  }
  note_failure(failures, status, error);
  note_failure(failures, extra, extra_error);
  return status == NVTXA_OK;
}

static nvtxa_status finish(struct work *work, int exit_status, nvtxa_error **reterr) {
  const nvtxa_record *record = work->record;
  const nvtxa__outcome outcome = {
      .rundir = &work->rundir,
      .capture_range = record->capture_range,
      .waited = record->arguments.wait_for_range,
      .output = &work->output,
      .result = &work->result,
      .signs = &work->signs,
      .interrupted = nvtxa__cancelled(&record->hooks),
  };
  bool any;
  nvtxa_error *error = NULL;
  struct failures failures = {.hooks = &record->hooks};
  nvtxa_status judged = nvtxa__outcome_judge(&outcome, &any, &error);
  note_failure(&failures, judged, error);
  if (!any) {
    unlinkat(work->rundir.fd, NVTXA__EXTRA_FILE, 0);
  } else if (write_manifest(work, exit_status, &failures) && judged == NVTXA_OK) {
    nvtxa__rundir_forget_earlier(&work->rundir);
  }
  if (work->result.ending == NVTXA__ENDED_UNSEEN) {
    error = NULL;
    nvtxa_status lost = lost_status(&error);
    note_failure(&failures, lost, error);
  }
  return failures.status == NVTXA_OK ? NVTXA_OK
                                     : nvtxa__pass_on(reterr, failures.status, failures.error);
}

/* ---- all of it ---- */

/* "NVTXA_MANIFEST_EXTRA=..." with an absolute path: the command may change its directory. */
static nvtxa_status name_extra(const nvtxa__rundir *rundir, nvtxa__buffer *ret,
                               nvtxa_error **reterr) {
  char *directory = realpath(rundir->path, NULL);
  if (directory == NULL && errno != ENOMEM) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = rundir->path, .errnum = errno},
                       "cannot find out the absolute path of the run directory");
  }
  int result =
      directory == NULL
          ? -1
          : nvtxa__buffer_printf(ret, NVTXA_MANIFEST_EXTRA "=%s/" NVTXA__EXTRA_FILE, directory);
  free(directory);
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

static nvtxa_status record_in(struct work *work, nvtxa_record_result *result,
                              nvtxa_error **reterr) {
  nvtxa__buffer variable = {0};
  nvtxa_status status = name_extra(&work->rundir, &variable, reterr);
  if (status == NVTXA_OK) {
    work->environment = nvtxa__program_environment_with(work->record->environment,
                                                        NVTXA_MANIFEST_EXTRA, variable.data);
    status = work->environment == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
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
    result->ran = status != NVTXA_ERROR_NSYS_FAILED; /* else it was about nsys alone */
  }
  free(work->environment);
  nvtxa__buffer_free(&variable);
  return status;
}

static nvtxa_status run(nvtxa_record *record, nvtxa_record_result *result, nvtxa_error **reterr) {
  struct work *work = calloc(1, sizeof *work);
  if (work == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  work->record = record;
  char *command = NULL; /* only to see that it is there */
  nvtxa_status status = nvtxa__program_find(record->nsys, record->environment, &work->nsys, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__command_find(record->program, record->environment, &command, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__rundir_open(&work->rundir, record->run_dir, record->force, reterr);
    if (status == NVTXA_OK) {
      status = record_in(work, result, reterr);
    }
    nvtxa__rundir_close(&work->rundir, &record->hooks);
  }
  nvtxa__facts_free(&work->facts);
  free(command);
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
