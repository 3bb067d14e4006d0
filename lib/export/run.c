/*
 * A trace exported anew: nsys is found, asked, and run over the trace in a private directory. What
 * comes of it is an SQLite export that lives there as long as the object does (native), or reports
 * that land in stats/ once all is whole (nsys).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "export-internal.h"

static const int64_t default_timeout_ns = 3600000000000;

static int64_t deadline(int64_t timeout_ns) {
  int64_t at_ns;
  return timeout_ns < 0 || __builtin_add_overflow(nvtxa__now_ns(), timeout_ns, &at_ns) ? INT64_MAX
                                                                                       : at_ns;
}

/* The trace as it is called, how it is reached, and open. */
typedef struct source {
  int directory; /* where `name` is looked up */
  const char *name;
  const char *shown;
  int fd;
  char *absolute; /* for nsys, which runs elsewhere; its own name is kept if it is a link */
} source;

/* What the calls of nsys need. */
typedef struct toolbox {
  char *program;
  char **environment;
} toolbox;

static nvtxa_status find_absolute(source *trace, const char *directory, const char *name,
                                  nvtxa_error **reterr) {
  char *resolved = realpath(directory, NULL);
  if (resolved == NULL) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.file = directory, .errnum = errno},
                       "cannot find out the absolute path of this directory");
  }
  trace->absolute = nvtxa__join(resolved, name);
  free(resolved);
  return trace->absolute == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}

/* ---- the object ---- */

static nvtxa_text keep_text(nvtxa__job *job, const char *data, size_t length) {
  return (nvtxa_text){data == NULL ? NULL : nvtxa__arena_copy(&job->made->arena, data, length),
                      length};
}

static nvtxa_status record_nsys(nvtxa__job *job, const nvtxa__nsys *nsys, nvtxa_error **reterr) {
  nvtxa__provenance *provenance = &job->made->provenance;
  const char *program = nsys->child.program;
  provenance->nsys_version = keep_text(job, nsys->version.data, nsys->version.length);
  provenance->nsys_path = keep_text(job, program, strlen(program));
  bool lacking = provenance->nsys_path.data == NULL ||
                 (nsys->version.data != NULL && provenance->nsys_version.data == NULL);
  return lacking ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}

static nvtxa_status record_reports(nvtxa__job *job, const nvtxa__nsys *nsys, nvtxa_error **reterr) {
  nvtxa__provenance *provenance = &job->made->provenance;
  provenance->report_count = nsys->report_count;
  for (size_t report = 0; report < nsys->report_count; report++) {
    char file[NVTXA__REPORT_FILE];
    nvtxa__report_file(file, (nvtxa_report)report, nsys->naming[report]);
    provenance->reports[report].file = keep_text(job, file, strlen(file));
    provenance->reports[report].size_bytes = nsys->size_bytes[report];
    if (provenance->reports[report].file.data == NULL ||
        nvtxa__job_set_report(job, (nvtxa_report)report, file) != 0) {
      return nvtxa__out_of_memory(reterr);
    }
  }
  return NVTXA_OK;
}

/* ---- the engines ---- */

static nvtxa_status make_reports(nvtxa__job *job, nvtxa__nsys *nsys, nvtxa_error **reterr) {
  /* Where it was known beforehand that they are needed, they were asked for beforehand. */
  nvtxa_status status =
      job->options.engine == NVTXA_ENGINE_NSYS ? NVTXA_OK : nvtxa__nsys_ask_reports(nsys, reterr);
  for (size_t report = 0; report < nsys->report_count && status == NVTXA_OK; report++) {
    status = nvtxa__nsys_report(nsys, (nvtxa_report)report, reterr);
  }
  if (status == NVTXA_OK) {
    status = record_reports(job, nsys, reterr);
  }
  if (status == NVTXA_OK && nvtxa__cancelled(job->hooks)) {
    status = nvtxa__cancel_error(reterr);
  }
  return status != NVTXA_OK ? status
                            : nvtxa__land(nsys->private, &job->made->provenance, true, reterr);
}

/* The private directory becomes the object's. */
static nvtxa_status keep_sqlite(nvtxa__job *job, nvtxa__private *private, const char *path,
                                nvtxa_error **reterr) {
  nvtxa_export *made = job->made;
  made->provenance.engine = NVTXA_ENGINE_NATIVE;
  made->sqlite_path = nvtxa__arena_copy(&made->arena, path, strlen(path));
  const char *shown =
      nvtxa__arena_copy(&made->arena, private->shown_parent, strlen(private->shown_parent));
  if (made->sqlite_path == NULL || shown == NULL ||
      (made->run >= 0 && nvtxa__job_plan_reports(job) != 0)) {
    return nvtxa__out_of_memory(reterr);
  }
  made->workplace = *private;
  made->workplace.shown_parent = shown;
  made->workplace.hooks = NULL;
  *private = (nvtxa__private){.fd = -1, .parent = -1, .lock = -1};
  return NVTXA_OK;
}

/* What the SQLite export says of itself decides who reads it. */
static nvtxa_status choose_engine(nvtxa__job *job, const char *path, nvtxa_engine *ret_engine,
                                  nvtxa_error **reterr) {
  nvtxa__export_versions versions;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa__export_versions_of(path, job->hooks, &versions, &error);
  *ret_engine = job->options.engine;
  if (status != NVTXA_OK &&
      (*ret_engine == NVTXA_ENGINE_NATIVE || status == NVTXA_ERROR_OUT_OF_MEMORY ||
       status == NVTXA_ERROR_CANCELLED)) {
    return nvtxa__pass_on(reterr, status, error);
  }
  nvtxa_error_free(error);
  if (*ret_engine == NVTXA_ENGINE_AUTO) {
    bool known = status == NVTXA_OK && nvtxa__schema_is_known(versions.schema);
    *ret_engine = known ? NVTXA_ENGINE_NATIVE : NVTXA_ENGINE_NSYS;
    nvtxa__log(job->hooks, NVTXA_LOG_INFO, "engine: %s (the export's schema is %s)",
               nvtxa_engine_name(*ret_engine), known ? versions.schema : "not a known one");
  }
  if (status == NVTXA_OK && nvtxa__job_set_versions(job, &versions) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  return NVTXA_OK;
}

static nvtxa_status use_export(nvtxa__job *job, nvtxa__nsys *nsys, nvtxa__private *private,
                               nvtxa_error **reterr) {
  nvtxa_engine engine = job->options.engine;
  char *directory = nvtxa__join(private->shown_parent, private->name);
  char *path = directory == NULL ? NULL : nvtxa__join(directory, NVTXA__EXPORT_FILE);
  nvtxa_status status =
      path == NULL ? nvtxa__out_of_memory(reterr) : choose_engine(job, path, &engine, reterr);
  if (status == NVTXA_OK) {
    status = engine == NVTXA_ENGINE_NATIVE ? keep_sqlite(job, private, path, reterr)
                                           : make_reports(job, nsys, reterr);
  }
  free(path);
  free(directory);
  return status;
}

/* ---- nsys at work ---- */

static nvtxa_status find_tools(nvtxa__job *job, toolbox *tools, nvtxa_error **reterr) {
  const char *name = job->options.nsys == NULL ? "nsys" : job->options.nsys;
  tools->environment = nvtxa__program_environment(job->options.environment);
  return tools->environment == NULL
             ? nvtxa__out_of_memory(reterr)
             : nvtxa__program_find(name, job->options.environment, &tools->program, reterr);
}

/* `private` is there; nvtxa__private_remove() is due whatever comes of it. */
static nvtxa_status work_in(nvtxa__job *job, const toolbox *tools, const source *trace,
                            nvtxa__private *private, nvtxa_error **reterr) {
  int64_t timeout_ns = job->options.timeout_ns == 0 ? default_timeout_ns : job->options.timeout_ns;
  nvtxa__nsys nsys = {
      .child = {.hooks = job->hooks,
                .program = tools->program,
                .environment = tools->environment,
                .directory = private->fd,
                .timeout_ns = timeout_ns,
                .deadline_ns = deadline(timeout_ns)},
      .trace_path = trace->absolute,
      .shown_trace = trace->shown,
      .private = private,
      .gpu_reports = job->options.gpu_reports,
  };
  nvtxa_status status = nvtxa__nsys_ask_version(&nsys, reterr);
  if (status == NVTXA_OK && job->options.engine == NVTXA_ENGINE_NSYS) {
    status = nvtxa__nsys_ask_reports(&nsys, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__nsys_export(&nsys, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__trace_check(trace->directory, trace->name, trace->fd, trace->shown,
                                &job->made->provenance.trace, reterr);
  }
  if (status == NVTXA_OK) {
    status = record_nsys(job, &nsys, reterr);
  }
  if (status == NVTXA_OK) {
    status = use_export(job, &nsys, private, reterr);
  }
  nvtxa__buffer_free(&nsys.version);
  return status;
}

static nvtxa_status work(nvtxa__job *job, const toolbox *tools, const source *trace,
                         nvtxa_error **reterr) {
  nvtxa__private private;
  const char *temporary = job->options.temporary_directory;
  nvtxa_status status = nvtxa__trace_identify(trace->fd, trace->shown, job->hooks,
                                              &job->made->provenance.trace, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  status = job->run >= 0
               ? nvtxa__private_make(&private, job->run, job->shown_stats, job->hooks, reterr)
               : nvtxa__private_make_in(&private, temporary == NULL ? "/tmp" : temporary,
                                        job->hooks, reterr);
  if (status == NVTXA_OK) {
    status = work_in(job, tools, trace, &private, reterr);
    if (private.fd >= 0) {
      nvtxa__private_remove(&private);
    }
  }
  if (status == NVTXA_OK) {
    job->made->fresh = true;
  }
  return status;
}

/* ---- without nsys ---- */

/* There is no nsys: an SQLite export that lies beside the trace will do, if it can be of it. */
static nvtxa_status do_without(nvtxa__job *job, nvtxa_error *cause, nvtxa_error **reterr) {
  nvtxa__beside beside = nvtxa__job_sqlite_beside(job);
  if (beside == NVTXA__NONE_BESIDE) {
    return nvtxa__pass_on(reterr, NVTXA_ERROR_NSYS_NOT_FOUND, cause);
  }
  if (beside == NVTXA__OLDER_BESIDE) {
    return nvtxa__fail(reterr, NVTXA_ERROR_NSYS_NOT_FOUND,
                       &(nvtxa__where){.file = job->shown_sqlite,
                                       .cause = cause,
                                       .hint = "If it is of this trace all the same, take it with "
                                               "--no-export --engine native."},
                       "there is no nsys here, and this SQLite export is older than the trace");
  }
  nvtxa_error_free(cause);
  nvtxa__log(job->hooks, NVTXA_LOG_NOTICE,
             "there is no nsys here: taking %s, which is not older than the trace",
             job->shown_sqlite);
  return nvtxa__job_take_sqlite(job, reterr);
}

static nvtxa_status run_job(nvtxa__job *job, const source *trace, nvtxa_error **reterr) {
  toolbox tools = {NULL, NULL};
  nvtxa_error *error = NULL;
  nvtxa_status status = find_tools(job, &tools, &error);
  /* An nsys that was asked for by name must be there. */
  bool can_do_without =
      job->run >= 0 && job->options.nsys == NULL && job->options.engine != NVTXA_ENGINE_NSYS;
  if (status == NVTXA_OK) {
    status = work(job, &tools, trace, reterr);
  } else if (status == NVTXA_ERROR_NSYS_NOT_FOUND && can_do_without) {
    status = do_without(job, error, reterr);
  } else {
    status = nvtxa__pass_on(reterr, status, error);
  }
  free(tools.program);
  free(tools.environment);
  return status;
}

/* ---- the two ways in ---- */

nvtxa_status nvtxa_export_run(const char *run_dir, const nvtxa_export_options *options,
                              nvtxa_export **ret_export, nvtxa_error **reterr) {
  nvtxa__job job;
  source trace = {.fd = -1, .name = NVTXA__TRACE_FILE};
  nvtxa_status status = nvtxa__job_begin(&job, run_dir, options, ret_export, reterr);
  if (status == NVTXA_OK) {
    trace.directory = job.run;
    trace.shown = job.shown_trace;
    status = nvtxa__trace_open(job.run, job.shown_trace, &trace.fd, reterr);
  }
  if (status == NVTXA_OK) {
    status = find_absolute(&trace, run_dir, NVTXA__TRACE_FILE, reterr);
  }
  if (status == NVTXA_OK) {
    status = run_job(&job, &trace, reterr);
  }
  if (status == NVTXA_OK) {
    nvtxa__job_hand_over(&job, ret_export);
  }
  free(trace.absolute);
  nvtxa__close(&trace.fd);
  nvtxa__job_end(&job);
  return status;
}

nvtxa_status nvtxa_export_trace(const char *trace_path, const nvtxa_export_options *options,
                                nvtxa_export **ret_export, nvtxa_error **reterr) {
  nvtxa__job job;
  source trace = {.fd = -1, .directory = AT_FDCWD, .name = trace_path, .shown = trace_path};
  char *directory = NULL;
  if (trace_path == NULL) {
    return nvtxa__invalid(reterr, "trace_path is NULL");
  }
  nvtxa_status status = nvtxa__job_begin_bare(&job, options, ret_export, reterr);
  if (status == NVTXA_OK) {
    job.options.engine = NVTXA_ENGINE_NATIVE;
    status = nvtxa__file_open(AT_FDCWD, trace_path, trace_path, &trace.fd, reterr);
  }
  if (status == NVTXA_OK) {
    const char *slash = strrchr(trace_path, '/');
    directory = slash == NULL ? strdup(".") : strndup(trace_path, (size_t)(slash + 1 - trace_path));
    status = directory == NULL
                 ? nvtxa__out_of_memory(reterr)
                 : find_absolute(&trace, directory, slash == NULL ? trace_path : slash + 1, reterr);
  }
  if (status == NVTXA_OK) {
    status = run_job(&job, &trace, reterr);
  }
  if (status == NVTXA_OK) {
    nvtxa__job_hand_over(&job, ret_export);
  }
  free(directory);
  free(trace.absolute);
  nvtxa__close(&trace.fd);
  nvtxa__job_end(&job);
  return status;
}
