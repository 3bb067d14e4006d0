/*
 * The export as an object that says where the reports are and where they come from, and the
 * beginning that both ways of making one have in common.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "export-internal.h"

void nvtxa__job_end(nvtxa__job *job) {
  nvtxa_export_unref(job->made);
  free(job->shown_stats);
  free(job->shown_trace);
  nvtxa__close(&job->run);
}

static nvtxa_status take_options(nvtxa__job *job, const nvtxa_export_options *options,
                                 nvtxa_error **reterr) {
  nvtxa_status status = nvtxa__options_copy(&job->options, sizeof job->options, options, reterr);
  if (status == NVTXA_OK && job->options.hooks != NULL) {
    status =
        nvtxa__options_copy(&job->hooks_copy, sizeof job->hooks_copy, job->options.hooks, reterr);
    job->hooks = &job->hooks_copy;
  }
  return status;
}

nvtxa_status nvtxa__job_begin(nvtxa__job *job, const char *run_dir,
                              const nvtxa_export_options *options, nvtxa_export **ret_export,
                              nvtxa_error **reterr) {
  *job = (nvtxa__job){.run_dir = run_dir,
                      .options = NVTXA_EXPORT_OPTIONS_INIT,
                      .hooks_copy = NVTXA_HOOKS_INIT,
                      .run = -1};
  if (run_dir == NULL || ret_export == NULL) {
    return nvtxa__invalid(reterr, run_dir == NULL ? "run_dir is NULL" : "ret_export is NULL");
  }
  nvtxa_status status = take_options(job, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  job->shown_trace = nvtxa__join(run_dir, NVTXA__TRACE_FILE);
  job->shown_stats = nvtxa__join(run_dir, NVTXA__STATS_DIR);
  job->made = calloc(1, sizeof *job->made);
  if (job->made != NULL) {
    nvtxa__ref_init(&job->made->ref);
    job->made->record.trace.size_bytes = -1;
  }
  if (job->shown_trace == NULL || job->shown_stats == NULL || job->made == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  job->run = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (job->run < 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = run_dir,
                                       .errnum = errno,
                                       .hint = "Give the directory that holds manifest.yaml and "
                                               "trace.nsys-rep."},
                       "cannot open the run directory");
  }
  return NVTXA_OK;
}

int nvtxa__job_set_report(nvtxa__job *job, nvtxa_report report, const char *file) {
  nvtxa__arena *arena = &job->made->arena;
  char *relative = nvtxa__join(NVTXA__STATS_DIR, file);
  char *path = relative == NULL ? NULL : nvtxa__join(job->run_dir, relative);
  char *kept_relative = path == NULL ? NULL : nvtxa__arena_copy(arena, relative, strlen(relative));
  char *kept_path = path == NULL ? NULL : nvtxa__arena_copy(arena, path, strlen(path));
  free(path);
  free(relative);
  job->made->reports[report].path = kept_path;
  job->made->reports[report].relative = nvtxa__text(kept_relative);
  return kept_relative == NULL || kept_path == NULL ? -1 : 0;
}

void nvtxa__job_hand_over(nvtxa__job *job, nvtxa_export **ret_export) {
  *ret_export = job->made;
  job->made = NULL;
}

/* ---- the object ---- */

nvtxa_export *nvtxa_export_ref(const nvtxa_export *exported) {
  nvtxa_export *own = (nvtxa_export *)exported; /* only the count changes */
  if (own != NULL) {
    nvtxa__ref_take(&own->ref);
  }
  return own;
}

void nvtxa_export_unref(nvtxa_export *exported) {
  if (exported != NULL && nvtxa__ref_drop(&exported->ref)) {
    nvtxa__warnings_free(&exported->warnings);
    nvtxa__arena_free(&exported->arena);
    free(exported);
  }
}

bool nvtxa_export_is_fresh(const nvtxa_export *exported) {
  return exported->fresh;
}

nvtxa_text nvtxa_export_nsys_version(const nvtxa_export *exported) {
  return exported->record.nsys_version;
}

const char *nvtxa_export_report_path(const nvtxa_export *exported, nvtxa_report report) {
  return exported->reports[report].path;
}

nvtxa_text nvtxa_export_report_relative_path(const nvtxa_export *exported, nvtxa_report report) {
  return exported->reports[report].relative;
}

nvtxa_text nvtxa_export_trace_sha256(const nvtxa_export *exported) {
  const char *digest = exported->record.trace.sha256;
  return nvtxa__text(digest[0] == '\0' ? NULL : digest);
}

int64_t nvtxa_export_trace_size(const nvtxa_export *exported) {
  return exported->record.trace.size_bytes;
}

size_t nvtxa_export_warning_count(const nvtxa_export *exported) {
  return exported->warnings.count;
}

nvtxa_warning nvtxa_export_warning(const nvtxa_export *exported, size_t index) {
  return exported->warnings.items[index];
}
