/*
 * The object: a run that is planned. What it takes is checked and copied here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record-internal.h"

static const char default_capture_range[] = "profile-target";

static const char *keep(nvtxa_record *record, const char *text, const char *fallback) {
  const char *kept = text == NULL ? fallback : text;
  return nvtxa__arena_copy(&record->arena, kept, strlen(kept));
}

/* Numbers of one digit, which every shell can redirect, that nobody wants passed on: free here, or
 * closed in a child anyhow. */
static int free_number(int below) {
  for (int number = below - 1; number > STDERR_FILENO; number--) {
    int flags = fcntl(number, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0) {
      return number;
    }
  }
  return below - 1;
}

/* *ret_path gets the run directory's trace, without its ending, as an absolute path (malloc). */
static nvtxa_status find_output(const char *run_dir, char **ret_path, nvtxa_error **reterr) {
  char *here = run_dir[0] == '/' ? strdup("/") : getcwd(NULL, 0);
  char *directory = here == NULL        ? NULL
                    : run_dir[0] == '/' ? strdup(run_dir)
                                        : nvtxa__join(here, run_dir);
  int errnum = errno;
  *ret_path = directory == NULL ? NULL : nvtxa__join(directory, "trace");
  free(directory);
  if (here == NULL && errnum != ENOMEM) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.errnum = errnum},
                       "cannot find out the current directory");
  }
  free(here);
  return *ret_path == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}

/* ---- the manifest ---- */

/* The keys in the order of reading; what is not known yet is null or empty. */
static const char outline[] =
    "{profile_name: null, run_id: null, target: {}, record_ids: [],"
    " capture_range: null, workload: {}, cuda: {}, device: null,"
    " git_commit: null, command_line: null, expected_trace_path: null,"
    " nsys_version: null}";

static nvtxa_status begin_manifest(nvtxa_record *record, const char *const *command,
                                   nvtxa_error **reterr) {
  nvtxa_status status = nvtxa_manifest_draft_new(&record->manifest, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa_manifest_draft_fill_in(record->manifest, outline, strlen(outline), NULL, NULL,
                                          reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa_manifest_draft_set_text(record->manifest, "capture_range", record->capture_range,
                                           reterr);
  }
  char *trace = nvtxa__join(record->run_dir, NVTXA__TRACE_FILE);
  if (status == NVTXA_OK && trace == NULL) {
    status = nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__draft_set_bytes(record->manifest, "expected_trace_path", trace, reterr);
  }
  free(trace);
  nvtxa__buffer line = {0};
  if (status == NVTXA_OK && command != NULL) {
    status = nvtxa__program_quote(&line, command) != 0
                 ? nvtxa__out_of_memory(reterr)
                 : nvtxa__draft_set_bytes(record->manifest, "command_line", line.data, reterr);
  }
  nvtxa__buffer_free(&line);
  return status;
}

/* ---- making it ---- */

static nvtxa_status make_arguments(nvtxa_record *record, const char *const *command,
                                   const nvtxa_record_options *options, nvtxa_error **reterr) {
  char *output;
  nvtxa_status status = find_output(record->run_dir, &output, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  record->foreground.output_fd = free_number(10);
  record->foreground.error_fd = free_number(record->foreground.output_fd);
  const nvtxa__recipe recipe = {
      .nsys = record->nsys,
      .trace = options->trace == NULL ? "cuda,nvtx" : options->trace,
      .capture_range = record->capture_range,
      .nsys_arguments = options->nsys_arguments,
      .output = output,
      .command = command,
      .output_fd = record->foreground.output_fd,
      .error_fd = record->foreground.error_fd,
  };
  status = nvtxa__arguments_make(&record->arguments, &recipe, &record->hooks, reterr);
  free(output);
  if (status == NVTXA_OK &&
      nvtxa__program_quote(&record->command_line, record->arguments.items) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  return status;
}

static nvtxa_status fill(nvtxa_record *record, const char *run_dir, const char *const *command,
                         const nvtxa_record_options *options, nvtxa_error **reterr) {
  record->run_dir = keep(record, run_dir, "");
  record->nsys = keep(record, options->nsys, "nsys");
  record->capture_range = keep(record, options->capture_range, default_capture_range);
  record->program = command == NULL ? NULL : keep(record, command[0], "");
  record->environment = options->environment;
  record->force = options->force;
  if (record->run_dir == NULL || record->nsys == NULL || record->capture_range == NULL ||
      (command != NULL && record->program == NULL)) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_status status =
      command == NULL ? NVTXA_OK : make_arguments(record, command, options, reterr);
  return status == NVTXA_OK ? begin_manifest(record, command, reterr) : status;
}

nvtxa_status nvtxa_record_new(const char *run_dir, const char *const *command,
                              const nvtxa_record_options *options, nvtxa_record **ret_record,
                              nvtxa_error **reterr) {
  nvtxa_record_options own = NVTXA_RECORD_OPTIONS_INIT;
  if (run_dir == NULL || *run_dir == '\0' || ret_record == NULL) {
    return nvtxa__invalid(reterr, "run_dir is NULL or empty, or ret_record is NULL");
  }
  if (command != NULL && (command[0] == NULL || *command[0] == '\0')) {
    return nvtxa__invalid(reterr, "command is empty");
  }
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  nvtxa_record *record = status == NVTXA_OK ? calloc(1, sizeof *record) : NULL;
  if (status != NVTXA_OK || record == NULL) {
    return status != NVTXA_OK ? status : nvtxa__out_of_memory(reterr);
  }
  record->hooks = (nvtxa_hooks)NVTXA_HOOKS_INIT;
  status = nvtxa__options_copy(&record->hooks, sizeof record->hooks, own.hooks, reterr);
  if (status == NVTXA_OK) {
    status = fill(record, run_dir, command, &own, reterr);
  }
  if (status != NVTXA_OK) {
    nvtxa_record_free(record);
    return status;
  }
  *ret_record = record;
  return NVTXA_OK;
}

void nvtxa_record_free(nvtxa_record *record) {
  if (record != NULL) {
    nvtxa_manifest_draft_free(record->manifest);
    nvtxa__buffer_free(&record->command_line);
    nvtxa__arguments_free(&record->arguments);
    nvtxa__arena_free(&record->arena);
    free(record);
  }
}

nvtxa_manifest_draft *nvtxa_record_manifest(nvtxa_record *record) {
  return record->manifest;
}

const char *const *nvtxa_record_arguments(const nvtxa_record *record) {
  return record->arguments.items;
}

nvtxa_text nvtxa_record_command_line(const nvtxa_record *record) {
  return (nvtxa_text){record->command_line.data, record->command_line.length};
}

/* ---- for run.c and adopt.c ---- */

nvtxa_status nvtxa__record_begin(nvtxa_record *record, nvtxa_error **reterr) {
  if (record == NULL || record->used) {
    return nvtxa__invalid(reterr, "record is NULL, or was used already");
  }
  record->used = true;
  return NVTXA_OK;
}

nvtxa_status nvtxa__record_write_manifest(const nvtxa_record *record, const nvtxa__rundir *rundir,
                                          nvtxa_error **reterr) {
  char *shown = nvtxa__join(record->run_dir, NVTXA__MANIFEST_FILE);
  nvtxa_status status = shown == NULL ? nvtxa__out_of_memory(reterr)
                                      : nvtxa__draft_write(record->manifest, rundir->fd,
                                                           NVTXA__MANIFEST_FILE, shown, reterr);
  if (status == NVTXA_OK) {
    nvtxa__log_file(&record->hooks, "wrote", shown, NULL);
  }
  free(shown);
  return status;
}
