/*
 * Reports that were computed here, kept in stats/ beside an export.json: written into a private
 * directory, both at the same time, and landed together.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "export-internal.h"

typedef struct writing {
  const nvtxa__private *private;
  nvtxa__write_report_fn write;
  void *user;
  nvtxa_report report;
  char file[NVTXA__REPORT_FILE];
  nvtxa_status status;
  nvtxa_error *error;
} writing;

static void write_one(void *user) {
  writing *w = user;
  w->status = w->write(w->user, w->report, w->private->fd, w->file, &w->error);
}

static nvtxa_status write_both(const nvtxa__private *private, nvtxa__write_report_fn write,
                               void *user, writing *both, nvtxa_error **reterr) {
  nvtxa__task tasks[NVTXA__RANGE_REPORTS];
  nvtxa_status status = NVTXA_OK;
  for (int report = 0; report < NVTXA__RANGE_REPORTS; report++) {
    both[report] =
        (writing){.private = private, .write = write, .user = user, .report = (nvtxa_report)report};
    nvtxa__report_file(both[report].file, (nvtxa_report)report, NVTXA__NAMING_NEW);
  }
  for (int report = 1; report < NVTXA__RANGE_REPORTS; report++) {
    nvtxa__task_begin(&tasks[report], write_one, &both[report], true);
  }
  write_one(&both[0]);
  for (int report = 1; report < NVTXA__RANGE_REPORTS; report++) {
    nvtxa__task_wait(&tasks[report]);
  }
  for (int report = 0; report < NVTXA__RANGE_REPORTS; report++) {
    if (both[report].status != NVTXA_OK && status == NVTXA_OK) {
      status = nvtxa__pass_on(reterr, both[report].status, both[report].error);
    } else {
      nvtxa_error_free(both[report].error);
    }
  }
  return status;
}

nvtxa_status nvtxa__export_keep(const nvtxa_export *exported, const int64_t *unmeasured,
                                size_t unmeasured_count, const nvtxa_hooks *hooks,
                                nvtxa__write_report_fn write, void *user, nvtxa_error **reterr) {
  nvtxa__private private;
  writing both[NVTXA__RANGE_REPORTS];
  nvtxa__provenance provenance = exported->provenance;
  provenance.unmeasured = unmeasured;
  provenance.unmeasured_count = unmeasured_count;
  provenance.report_count = NVTXA__RANGE_REPORTS;
  nvtxa_status status =
      nvtxa__private_make(&private, exported->run, exported->shown_stats, hooks, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  status = write_both(&private, write, user, both, reterr);
  for (int report = 0; report < NVTXA__RANGE_REPORTS && status == NVTXA_OK; report++) {
    struct stat info;
    provenance.reports[report].file = nvtxa__text(both[report].file);
    if (fstatat(private.fd, both[report].file, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      status = nvtxa__fail(reterr, NVTXA_ERROR_IO,
                           &(nvtxa__where){.file = exported->shown_stats, .errnum = errno},
                           "cannot look at a report that was just written");
    } else {
      provenance.reports[report].size_bytes = info.st_size;
    }
  }
  if (status == NVTXA_OK && nvtxa__cancelled(hooks)) {
    status = nvtxa__cancel_error(reterr);
  }
  if (status == NVTXA_OK) {
    /* They can be computed again, so nobody shall wait for the disk. */
    status = nvtxa__land(&private, &provenance, false, reterr);
  }
  nvtxa__private_remove(&private);
  return status;
}
