/*
 * The export as an object that says where the reports are and where they come from, and the
 * beginning that both ways of making one have in common.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "export-internal.h"

void nvtxa__job_end(nvtxa__job *job) {
  nvtxa_export_unref(job->made);
  free(job->shown_sqlite);
  free(job->shown_trace);
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

nvtxa_status nvtxa__job_begin_bare(nvtxa__job *job, const nvtxa_export_options *options,
                                   nvtxa_export **ret_export, nvtxa_error **reterr) {
  *job =
      (nvtxa__job){.options = NVTXA_EXPORT_OPTIONS_INIT, .hooks_copy = NVTXA_HOOKS_INIT, .run = -1};
  if (ret_export == NULL) {
    return nvtxa__invalid(reterr, "ret_export is NULL");
  }
  nvtxa_status status = take_options(job, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if ((unsigned)job->options.engine > NVTXA_ENGINE_NATIVE) {
    return nvtxa__invalid(reterr, "options->engine");
  }
  job->made = calloc(1, sizeof *job->made);
  if (job->made == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__ref_init(&job->made->ref);
  job->made->run = -1;
  job->made->workplace.fd = -1;
  job->made->provenance.trace.size_bytes = -1;
  job->made->provenance.engine = NVTXA_ENGINE_NSYS;
  return NVTXA_OK;
}

nvtxa_status nvtxa__job_begin(nvtxa__job *job, const char *run_dir,
                              const nvtxa_export_options *options, nvtxa_export **ret_export,
                              nvtxa_error **reterr) {
  nvtxa_status status = nvtxa__job_begin_bare(job, options, ret_export, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (run_dir == NULL) {
    return nvtxa__invalid(reterr, "run_dir is NULL");
  }
  job->run_dir = run_dir;
  job->shown_trace = nvtxa__join(run_dir, NVTXA__TRACE_FILE);
  job->shown_sqlite = nvtxa__join(run_dir, NVTXA__SQLITE_FILE);
  char *shown_stats = nvtxa__join(run_dir, NVTXA__STATS_DIR);
  if (shown_stats != NULL) {
    job->made->shown_stats = nvtxa__arena_copy(&job->made->arena, shown_stats, strlen(shown_stats));
    job->shown_stats = job->made->shown_stats;
    free(shown_stats);
  }
  if (job->shown_trace == NULL || job->shown_sqlite == NULL || job->shown_stats == NULL) {
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
  job->made->run = job->run;
  return NVTXA_OK;
}

int nvtxa__job_set_versions(nvtxa__job *job, const nvtxa__export_versions *versions) {
  nvtxa__provenance *provenance = &job->made->provenance;
  const struct {
    const char *from;
    nvtxa_text *to;
  } texts[] = {{versions->schema, &provenance->schema_version},
               {versions->product, &provenance->product_version}};
  for (size_t i = 0; i < NVTXA__COUNT(texts); i++) {
    size_t length = strlen(texts[i].from);
    if (length > 0) {
      *texts[i].to = nvtxa__text(nvtxa__arena_copy(&job->made->arena, texts[i].from, length));
      if (texts[i].to->data == NULL) {
        return -1;
      }
    }
  }
  return 0;
}

int nvtxa__job_plan_reports(nvtxa__job *job) {
  for (int report = 0; report < NVTXA__RANGE_REPORTS && job->options.keep_reports; report++) {
    char file[NVTXA__REPORT_FILE];
    nvtxa__report_file(file, (nvtxa_report)report, NVTXA__NAMING_NEW);
    if (nvtxa__job_set_report(job, (nvtxa_report)report, file) != 0) {
      return -1;
    }
  }
  return 0;
}

/* ---- trace.sqlite ---- */

nvtxa__beside nvtxa__job_sqlite_beside(const nvtxa__job *job) {
  struct stat sqlite;
  struct stat trace;
  if (fstatat(job->run, NVTXA__SQLITE_FILE, &sqlite, 0) != 0) {
    return NVTXA__NONE_BESIDE;
  }
  if (fstatat(job->run, NVTXA__TRACE_FILE, &trace, 0) != 0) {
    return NVTXA__FRESH_BESIDE;
  }
  bool older = sqlite.st_mtim.tv_sec != trace.st_mtim.tv_sec
                   ? sqlite.st_mtim.tv_sec < trace.st_mtim.tv_sec
                   : sqlite.st_mtim.tv_nsec < trace.st_mtim.tv_nsec;
  return older ? NVTXA__OLDER_BESIDE : NVTXA__FRESH_BESIDE;
}

nvtxa_status nvtxa__job_take_sqlite(nvtxa__job *job, nvtxa_error **reterr) {
  nvtxa_export *made = job->made;
  nvtxa__export_versions versions;
  nvtxa_status status = nvtxa__export_versions_of(job->shown_sqlite, job->hooks, &versions, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  made->sqlite_path = nvtxa__arena_copy(&made->arena, job->shown_sqlite, strlen(job->shown_sqlite));
  made->sqlite_relative = nvtxa__text(NVTXA__SQLITE_FILE);
  made->provenance.engine = NVTXA_ENGINE_NATIVE;
  if (made->sqlite_path == NULL || nvtxa__job_set_versions(job, &versions) != 0 ||
      nvtxa__job_plan_reports(job) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  return NVTXA_OK;
}

/* ---- reports ---- */

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
  if (job->made->sqlite_path == NULL) {
    nvtxa__close(&job->made->run); /* nothing more will land there */
  }
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
    if (exported->workplace.fd >= 0) {
      nvtxa__private_remove(&exported->workplace);
    }
    nvtxa__close(&exported->run);
    nvtxa__warnings_free(&exported->warnings);
    nvtxa__arena_free(&exported->arena);
    free(exported);
  }
}

bool nvtxa_export_is_fresh(const nvtxa_export *exported) {
  return exported->fresh;
}

nvtxa_text nvtxa_export_nsys_version(const nvtxa_export *exported) {
  return exported->provenance.nsys_version;
}

const char *nvtxa_engine_name(nvtxa_engine engine) {
  static const char *const names[] = {
      [NVTXA_ENGINE_AUTO] = "auto",
      [NVTXA_ENGINE_NSYS] = "nsys",
      [NVTXA_ENGINE_NATIVE] = "native",
  };
  return (size_t)engine < NVTXA__COUNT(names) ? names[engine] : "unknown";
}

nvtxa_engine nvtxa_export_engine(const nvtxa_export *exported) {
  return exported->provenance.engine;
}

const char *nvtxa_export_sqlite_path(const nvtxa_export *exported) {
  return exported->sqlite_path;
}

nvtxa_text nvtxa_export_sqlite_relative_path(const nvtxa_export *exported) {
  return exported->sqlite_relative;
}

nvtxa_text nvtxa_export_schema_version(const nvtxa_export *exported) {
  return exported->provenance.schema_version;
}

nvtxa_text nvtxa_export_product_version(const nvtxa_export *exported) {
  return exported->provenance.product_version;
}

static bool is_exported(nvtxa_report report) {
  return (unsigned)report < NVTXA__EXPORTED_REPORTS;
}

const char *nvtxa_export_report_path(const nvtxa_export *exported, nvtxa_report report) {
  return is_exported(report) ? exported->reports[report].path : NULL;
}

nvtxa_text nvtxa_export_report_relative_path(const nvtxa_export *exported, nvtxa_report report) {
  return is_exported(report) ? exported->reports[report].relative : nvtxa__text(NULL);
}

nvtxa_text nvtxa_export_trace_sha256(const nvtxa_export *exported) {
  const char *digest = exported->provenance.trace.sha256;
  return nvtxa__text(digest[0] == '\0' ? NULL : digest);
}

int64_t nvtxa_export_trace_size(const nvtxa_export *exported) {
  return exported->provenance.trace.size_bytes;
}

size_t nvtxa_export_warning_count(const nvtxa_export *exported) {
  return exported->warnings.count;
}

nvtxa_warning nvtxa_export_warning(const nvtxa_export *exported, size_t index) {
  return exported->warnings.items[index];
}
