/*
 * Reports made anew: nsys is found, asked, and run over the trace in a private directory; what
 * comes of it lands in stats/ once all is whole.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export-internal.h"

static const int64_t default_timeout_ns = 3600000000000;

static int64_t deadline(int64_t timeout_ns) {
  int64_t at_ns;
  return timeout_ns < 0 || __builtin_add_overflow(nvtxa__now_ns(), timeout_ns, &at_ns) ? INT64_MAX
                                                                                       : at_ns;
}

/* The trace by an absolute path, as nsys runs elsewhere. Its own name is kept if it is a link. */
static nvtxa_status absolute_trace(const nvtxa__job *job, char **ret_path, nvtxa_error **reterr) {
  char *directory = realpath(job->run_dir, NULL);
  if (directory == NULL) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = job->run_dir, .errnum = errno},
                       "cannot find out the absolute path of the run directory");
  }
  *ret_path = nvtxa__join(directory, NVTXA__TRACE_FILE);
  free(directory);
  return *ret_path == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}

static nvtxa_status record_export(nvtxa__job *job, const nvtxa__nsys *nsys, nvtxa_error **reterr) {
  nvtxa__record *record = &job->made->record;
  nvtxa__arena *arena = &job->made->arena;
  const char *program = nsys->child.program;
  if (nsys->version.data != NULL) {
    record->nsys_version =
        nvtxa__text(nvtxa__arena_copy(arena, nsys->version.data, nsys->version.length));
  }
  record->nsys_path = nvtxa__text(nvtxa__arena_copy(arena, program, strlen(program)));
  bool lacking = record->nsys_path.data == NULL ||
                 (nsys->version.data != NULL && record->nsys_version.data == NULL);
  for (int report = 0; report < NVTXA_REPORT_COUNT; report++) {
    char file[NVTXA__REPORT_FILE];
    nvtxa__report_file(file, (nvtxa_report)report, nsys->naming[report]);
    record->reports[report].file = nvtxa__text(nvtxa__arena_copy(arena, file, strlen(file)));
    record->reports[report].size_bytes = nsys->size_bytes[report];
    lacking = lacking || record->reports[report].file.data == NULL ||
              nvtxa__job_set_report(job, (nvtxa_report)report, file) != 0;
  }
  return lacking ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}

/* All the calls of nsys, in a private directory that is there; `trace` is open and identified. */
static nvtxa_status export_in(nvtxa__job *job, nvtxa__nsys *nsys, int trace, nvtxa_error **reterr) {
  nvtxa_status status = nvtxa__nsys_ask(nsys, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__nsys_export(nsys, reterr);
  }
  if (status == NVTXA_OK) {
    status =
        nvtxa__trace_check(job->run, trace, job->shown_trace, &job->made->record.trace, reterr);
  }
  for (int report = 0; report < NVTXA_REPORT_COUNT && status == NVTXA_OK; report++) {
    status = nvtxa__nsys_report(nsys, (nvtxa_report)report, reterr);
  }
  if (status == NVTXA_OK) {
    status = record_export(job, nsys, reterr);
  }
  if (status == NVTXA_OK && nvtxa__cancelled(job->hooks)) {
    status = nvtxa__cancel_error(reterr);
  }
  return status != NVTXA_OK ? status : nvtxa__land(nsys->private, &job->made->record, reterr);
}

static nvtxa_status run_nsys(nvtxa__job *job, int trace, nvtxa_error **reterr) {
  nvtxa__private private;
  char *program = NULL;
  char *trace_path = NULL;
  char **environment = nvtxa__program_environment(job->options.environment);
  const char *name = job->options.nsys == NULL ? "nsys" : job->options.nsys;
  int64_t timeout_ns = job->options.timeout_ns == 0 ? default_timeout_ns : job->options.timeout_ns;
  nvtxa_status status = environment == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
  if (status == NVTXA_OK) {
    status = nvtxa__program_find(name, job->options.environment, &program, reterr);
  }
  if (status == NVTXA_OK) {
    status = absolute_trace(job, &trace_path, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__trace_identify(trace, job->shown_trace, job->hooks, &job->made->record.trace,
                                   reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__private_make(&private, job->run, job->shown_stats, job->hooks, reterr);
  }
  if (status == NVTXA_OK) {
    nvtxa__nsys nsys = {
        .child = {.hooks = job->hooks,
                  .program = program,
                  .environment = environment,
                  .directory = private.fd,
                  .timeout_ns = timeout_ns,
                  .deadline_ns = deadline(timeout_ns)},
        .trace_path = trace_path,
        .shown_trace = job->shown_trace,
        .private = &private,
    };
    status = export_in(job, &nsys, trace, reterr);
    nvtxa__buffer_free(&nsys.version);
    nvtxa__private_remove(&private);
  }
  free(trace_path);
  free(program);
  free(environment);
  return status;
}

nvtxa_status nvtxa_export_run(const char *run_dir, const nvtxa_export_options *options,
                              nvtxa_export **ret_export, nvtxa_error **reterr) {
  nvtxa__job job;
  int trace = -1;
  nvtxa_status status = nvtxa__job_begin(&job, run_dir, options, ret_export, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__trace_open(job.run, job.shown_trace, &trace, reterr);
  }
  if (status == NVTXA_OK) {
    status = run_nsys(&job, trace, reterr);
  }
  if (status == NVTXA_OK) {
    job.made->fresh = true;
    nvtxa__job_hand_over(&job, ret_export);
  }
  nvtxa__close(&trace);
  nvtxa__job_end(&job);
  return status;
}
