/*
 * Reports taken as they lie in stats/, for a machine without nsys. export.json says which they are
 * and of which trace; what it says is checked against the files, and each doubt becomes a warning.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export-internal.h"

struct search {
  int stats; /* -1: there is none */
  bool present[NVTXA__EXPORTED_REPORTS][NVTXA__NAMING_COUNT];
  char reason[NVTXA__REASON]; /* why export.json does not say which the reports are */
};

/* The size of a regular file, or -1. */
static int64_t file_size(int directory, const char *name) {
  struct stat info;
  if (directory < 0 || fstatat(directory, name, &info, 0) != 0 || !S_ISREG(info.st_mode)) {
    return -1;
  }
  return info.st_size;
}

/* A link is followed here: reading does no harm, and shared results may lie elsewhere. */
static nvtxa_status open_stats(const nvtxa__job *job, struct search *search, nvtxa_error **reterr) {
  search->stats = openat(job->run, NVTXA__STATS_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (search->stats < 0 && errno != ENOENT && errno != ENOTDIR) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = job->shown_stats, .errnum = errno},
                       "cannot open the directory of the reports");
  }
  return NVTXA_OK;
}

/* ---- with export.json ---- */

static nvtxa_status read_provenance(nvtxa__job *job, struct search *search, bool *ret_found,
                                    nvtxa_error **reterr) {
  nvtxa__provenance *provenance = &job->made->provenance;
  char *shown_path = nvtxa__join(job->shown_stats, NVTXA__PROVENANCE_FILE);
  if (shown_path == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_status status = nvtxa__provenance_read(search->stats, shown_path, &job->made->arena,
                                               provenance, ret_found, search->reason, reterr);
  free(shown_path);
  for (size_t report = 0; report < provenance->report_count && *ret_found; report++) {
    nvtxa_text file = provenance->reports[report].file;
    if (file_size(search->stats, file.data) < 0) {
      char quoted[NVTXA__QUOTED];
      snprintf(search->reason, sizeof search->reason, "names %s, which is not there",
               nvtxa__quote(quoted, file.data, file.length));
      *ret_found = false;
    }
  }
  if (!*ret_found) {
    *provenance = (nvtxa__provenance){.engine = NVTXA_ENGINE_NSYS, .trace = {.size_bytes = -1}};
  }
  return status;
}

/* 0 or -1. */
static int warn_of_changed_reports(nvtxa__job *job, const struct search *search) {
  const nvtxa__provenance *provenance = &job->made->provenance;
  for (size_t report = 0; report < provenance->report_count; report++) {
    char quoted[NVTXA__QUOTED];
    nvtxa_text file = provenance->reports[report].file;
    long long now = file_size(search->stats, file.data);
    long long then = provenance->reports[report].size_bytes;
    if (now != then &&
        nvtxa__warn(&job->made->warnings, NVTXA_WARNING_REPORTS_OF_ANOTHER_TRACE,
                    "stats/%s was changed after it was made (%lld bytes, not the %lld that "
                    "export.json gives), so the result may describe another trace.",
                    nvtxa__quote(quoted, file.data, file.length), now, then) != 0) {
      return -1;
    }
  }
  return 0;
}

static nvtxa_status take_recorded(nvtxa__job *job, const struct search *search,
                                  nvtxa_error **reterr) {
  const nvtxa__provenance *provenance = &job->made->provenance;
  for (size_t report = 0; report < provenance->report_count; report++) {
    if (nvtxa__job_set_report(job, (nvtxa_report)report, provenance->reports[report].file.data) !=
        0) {
      return nvtxa__out_of_memory(reterr);
    }
  }
  return warn_of_changed_reports(job, search) == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

/* ---- without ---- */

static void look_for_reports(struct search *search) {
  for (int report = 0; report < NVTXA__EXPORTED_REPORTS; report++) {
    for (int naming = 0; naming < NVTXA__NAMING_COUNT; naming++) {
      char file[NVTXA__REPORT_FILE];
      nvtxa__report_file(file, (nvtxa_report)report, naming);
      search->present[report][naming] = file_size(search->stats, file) >= 0;
    }
  }
}

static nvtxa_status missing(const nvtxa__job *job, nvtxa_report report, nvtxa_error **reterr) {
  char file[NVTXA__REPORT_FILE];
  char old_file[NVTXA__REPORT_FILE];
  return nvtxa__fail(
      reterr, NVTXA_ERROR_REPORT_MISSING,
      &(nvtxa__where){
          .file = job->shown_stats,
          .hint = report == NVTXA_REPORT_PUSHPOP_TRACE
                      ? "Run without --no-export to have nsys make it, or copy the stats/ of the "
                        "machine that did."
                      : "Run without --no-export to have nsys make it, or copy the whole stats/ of "
                        "the machine that did: an empty file says that there was no GPU work, a "
                        "missing one says nothing.",
      },
      "there is no report %s here, nor %s as older versions of nsys call it",
      nvtxa__report_file(file, report, NVTXA__NAMING_NEW),
      nvtxa__report_file(old_file, report, NVTXA__NAMING_OLD));
}

/* Both of one naming where there are both, since range ids join only within one export; the new one
 * first. */
static int choose_naming(const struct search *search, nvtxa_report report) {
  for (int naming = 0; naming < NVTXA__NAMING_COUNT; naming++) {
    if (search->present[NVTXA_REPORT_PUSHPOP_TRACE][naming] &&
        search->present[NVTXA_REPORT_GPU_PROJ_TRACE][naming]) {
      return naming;
    }
  }
  return search->present[report][NVTXA__NAMING_NEW] ? NVTXA__NAMING_NEW : NVTXA__NAMING_OLD;
}

/* Which files were taken, where there was a choice; "" where there was none. */
static void describe_choice(const struct search *search, const char *const *taken, char *buffer,
                            size_t size) {
  bool choice = false;
  for (int report = 0; report < NVTXA__RANGE_REPORTS; report++) {
    choice = choice || (search->present[report][NVTXA__NAMING_NEW] &&
                        search->present[report][NVTXA__NAMING_OLD]);
  }
  buffer[0] = '\0';
  if (choice) {
    snprintf(buffer, size, "; reports lie there under old and new names, and %s and %s were taken",
             taken[NVTXA_REPORT_PUSHPOP_TRACE], taken[NVTXA_REPORT_GPU_PROJ_TRACE]);
  }
}

/* Those of GPU work need not be there. Under other names than those of ranges, or one alone, they
 * are of another export. */
static nvtxa_status take_gpu_reports(nvtxa__job *job, const struct search *search,
                                     nvtxa_error **reterr) {
  int naming = choose_naming(search, NVTXA_REPORT_PUSHPOP_TRACE);
  bool kernels = search->present[NVTXA_REPORT_CUDA_GPU_KERN_SUM][naming];
  bool operations = search->present[NVTXA_REPORT_CUDA_GPU_TRACE][naming];
  bool there =
      naming == choose_naming(search, NVTXA_REPORT_GPU_PROJ_TRACE) && kernels && operations;
  if (kernels != operations) {
    nvtxa__log(job->hooks, NVTXA_LOG_NOTICE,
               "%s holds one report of GPU work without the other, %s: not taking it",
               job->shown_stats,
               nvtxa__report_name(
                   kernels ? NVTXA_REPORT_CUDA_GPU_TRACE : NVTXA_REPORT_CUDA_GPU_KERN_SUM, naming));
  }
  for (int report = NVTXA__RANGE_REPORTS; report < NVTXA__EXPORTED_REPORTS && there; report++) {
    char file[NVTXA__REPORT_FILE];
    nvtxa__report_file(file, (nvtxa_report)report, naming);
    if (nvtxa__job_set_report(job, (nvtxa_report)report, file) != 0) {
      return nvtxa__out_of_memory(reterr);
    }
  }
  return NVTXA_OK;
}

static nvtxa_status take_unidentified(nvtxa__job *job, struct search *search,
                                      nvtxa_error **reterr) {
  char files[NVTXA__RANGE_REPORTS][NVTXA__REPORT_FILE];
  const char *taken[NVTXA__RANGE_REPORTS];
  char choice[256];
  look_for_reports(search);
  for (int report = 0; report < NVTXA__RANGE_REPORTS; report++) {
    if (!search->present[report][NVTXA__NAMING_NEW] &&
        !search->present[report][NVTXA__NAMING_OLD]) {
      return missing(job, (nvtxa_report)report, reterr);
    }
    taken[report] = nvtxa__report_file(files[report], (nvtxa_report)report,
                                       choose_naming(search, (nvtxa_report)report));
    if (nvtxa__job_set_report(job, (nvtxa_report)report, taken[report]) != 0) {
      return nvtxa__out_of_memory(reterr);
    }
  }
  describe_choice(search, taken, choice, sizeof choice);
  if (nvtxa__warn(&job->made->warnings, NVTXA_WARNING_REPORTS_UNIDENTIFIED,
                  "Nothing says which trace the reports in stats/ were made from (export.json %s), "
                  "so the result may describe another run%s.",
                  search->reason, choice) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  return take_gpu_reports(job, search, reterr);
}

/* ---- the trace beside them ---- */

static nvtxa_status warn_of_no_trace(nvtxa__job *job, const char *what, nvtxa_error **reterr) {
  int result =
      nvtxa__warn(&job->made->warnings, NVTXA_WARNING_TRACE_ABSENT,
                  "trace.nsys-rep %s, so that the reports in stats/ were made from it could "
                  "not be checked.",
                  what);
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

static nvtxa_status warn_of_other_trace(nvtxa__job *job, const char *what, nvtxa_error **reterr) {
  int result = nvtxa__warn(&job->made->warnings, NVTXA_WARNING_REPORTS_OF_ANOTHER_TRACE,
                           "The reports in stats/ were made from another trace than the "
                           "trace.nsys-rep beside them (%s), so the result describes that one.",
                           what);
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

/* Compare the trace with what export.json says: by size, then time, and by digest where a copy has
 * the size but another time. */
static nvtxa_status compare_trace(nvtxa__job *job, int fd, nvtxa_error **reterr) {
  const nvtxa__trace *then = &job->made->provenance.trace;
  nvtxa__trace now = {0};
  nvtxa_error *error = NULL;
  if (nvtxa__trace_stat(fd, &now) != 0) {
    return warn_of_no_trace(job, "cannot be read", reterr);
  }
  if (now.size_bytes != then->size_bytes) {
    return warn_of_other_trace(job, "its size is another", reterr);
  }
  if (now.modified_ns == then->modified_ns) {
    return NVTXA_OK;
  }
  nvtxa_status status = nvtxa__trace_identify(fd, job->shown_trace, job->hooks, &now, &error);
  if (status == NVTXA_ERROR_CANCELLED) {
    nvtxa_error_free(error);
    return nvtxa__cancel_error(reterr);
  }
  nvtxa_error_free(error);
  if (status != NVTXA_OK) {
    return warn_of_no_trace(job, "cannot be read", reterr);
  }
  return strcmp(now.sha256, then->sha256) == 0
             ? NVTXA_OK
             : warn_of_other_trace(job, "its SHA-256 is another", reterr);
}

/* `identified`: there is an export.json to compare the trace with. */
static nvtxa_status check_trace(nvtxa__job *job, bool identified, nvtxa_error **reterr) {
  nvtxa_error *error = NULL;
  int fd = -1;
  nvtxa_status status = nvtxa__trace_open(job->run, job->shown_trace, &fd, &error);
  nvtxa_error_free(error);
  if (status == NVTXA_ERROR_OUT_OF_MEMORY) {
    return nvtxa__out_of_memory(reterr);
  }
  if (status != NVTXA_OK) {
    return warn_of_no_trace(
        job, status == NVTXA_ERROR_TRACE_MISSING ? "is absent" : "cannot be read", reterr);
  }
  status = identified ? compare_trace(job, fd, reterr) : NVTXA_OK;
  nvtxa__close(&fd);
  return status;
}

/* export.json may know who made the reports but not of which trace. */
static nvtxa_status warn_of_unknown_trace(nvtxa__job *job, nvtxa_error **reterr) {
  int result = nvtxa__warn(&job->made->warnings, NVTXA_WARNING_REPORTS_UNIDENTIFIED,
                           "Nothing says which trace the reports in stats/ were made from (they "
                           "were computed from a trace.sqlite), so the result may describe another "
                           "run.");
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

static nvtxa_status open_reports(nvtxa__job *job, struct search *search, nvtxa_error **reterr) {
  bool recorded = false;
  nvtxa_status status = read_provenance(job, search, &recorded, reterr);
  if (status == NVTXA_OK) {
    status = recorded ? take_recorded(job, search, reterr) : take_unidentified(job, search, reterr);
  }
  bool identified = recorded && job->made->provenance.trace.size_bytes >= 0;
  if (status == NVTXA_OK && recorded && !identified) {
    status = warn_of_unknown_trace(job, reterr);
  }
  return status == NVTXA_OK ? check_trace(job, identified, reterr) : status;
}

static bool has_reports(struct search *search) {
  look_for_reports(search);
  for (int naming = 0; naming < NVTXA__NAMING_COUNT; naming++) {
    if (search->present[NVTXA_REPORT_PUSHPOP_TRACE][naming]) {
      return true;
    }
  }
  return false;
}

static nvtxa_status open_sqlite(nvtxa__job *job, nvtxa_error **reterr) {
  nvtxa__beside beside = nvtxa__job_sqlite_beside(job);
  if (beside == NVTXA__NONE_BESIDE) {
    return nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_MISSING,
                       &(nvtxa__where){.file = job->shown_sqlite,
                                       .hint = "Make it with `nsys export --type sqlite`."},
                       "there is no such SQLite export");
  }
  if (beside == NVTXA__OLDER_BESIDE &&
      nvtxa__warn(&job->made->warnings, NVTXA_WARNING_SQLITE_OLDER,
                  "trace.sqlite is older than the trace.nsys-rep beside it, so the result may "
                  "describe another run.") != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  return nvtxa__job_take_sqlite(job, reterr);
}

nvtxa_status nvtxa_export_open(const char *run_dir, const nvtxa_export_options *options,
                               nvtxa_export **ret_export, nvtxa_error **reterr) {
  nvtxa__job job;
  struct search search = {.stats = -1};
  nvtxa_status status = nvtxa__job_begin(&job, run_dir, options, ret_export, reterr);
  if (status == NVTXA_OK) {
    status = open_stats(&job, &search, reterr);
  }
  if (status == NVTXA_OK) {
    nvtxa_engine engine = job.options.engine;
    bool native =
        engine == NVTXA_ENGINE_NATIVE || (engine == NVTXA_ENGINE_AUTO && !has_reports(&search) &&
                                          nvtxa__job_sqlite_beside(&job) != NVTXA__NONE_BESIDE);
    status = native             ? open_sqlite(&job, reterr)
             : search.stats < 0 ? missing(&job, NVTXA_REPORT_PUSHPOP_TRACE, reterr)
                                : open_reports(&job, &search, reterr);
  }
  if (status == NVTXA_OK && nvtxa__cancelled(job.hooks)) {
    status = nvtxa__cancel_error(reterr);
  }
  if (status == NVTXA_OK) {
    nvtxa__job_hand_over(&job, ret_export);
  }
  nvtxa__close(&search.stats);
  nvtxa__job_end(&job);
  return status;
}
