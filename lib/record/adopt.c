/*
 * A run directory for a trace that is there already: a copy of the trace and its manifest.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record-internal.h"

struct source {
  const nvtxa_record *record;
  const char *path;
  int fd;
};

static nvtxa_status copy(void *user, nvtxa__write_fn sink, void *sink_user, nvtxa_error **reterr) {
  const struct source *source = user;
  const nvtxa_hooks *hooks = &source->record->hooks;
  char data[65536];
  nvtxa__activity activity;
  nvtxa__activity_start(&activity, hooks, "copying the trace");
  for (;;) {
    ssize_t got = read(source->fd, data, sizeof data);
    int errnum = got < 0 && errno != EINTR ? errno : 0;
    if (nvtxa__cancelled(hooks)) {
      return nvtxa__cancel_error(reterr);
    }
    errnum = errnum == 0 && got > 0 ? sink(sink_user, data, (size_t)got) : errnum;
    if (errnum != 0) {
      return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                         &(nvtxa__where){.file = source->path, .errnum = errnum},
                         "cannot copy the trace");
    }
    if (got == 0) {
      return NVTXA_OK;
    }
    nvtxa__activity_tick(&activity);
  }
}

/* Whether it is the run directory's own trace. */
static bool lies_there(const char *run_dir, const struct source *source) {
  struct stat own;
  struct stat given;
  char *path = nvtxa__join(run_dir, NVTXA__TRACE_FILE);
  bool same = path != NULL && stat(path, &own) == 0 && fstat(source->fd, &given) == 0 &&
              own.st_dev == given.st_dev && own.st_ino == given.st_ino;
  free(path);
  return same;
}

static nvtxa_status open_source(struct source *source, nvtxa_error **reterr) {
  struct stat info;
  if (stat(source->path, &info) != 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING,
                       &(nvtxa__where){.file = source->path,
                                       .errnum = errno,
                                       .hint = "Give the .nsys-rep file that nsys wrote."},
                       "cannot look at the trace");
  }
  if (S_ISREG(info.st_mode) && info.st_size == 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING, &(nvtxa__where){.file = source->path},
                       "the trace is empty");
  }
  return nvtxa__file_open(AT_FDCWD, source->path, source->path, &source->fd, reterr);
}

static nvtxa_status place(struct source *source, const nvtxa__rundir *rundir,
                          nvtxa_error **reterr) {
  char *shown = nvtxa__join(rundir->path, NVTXA__TRACE_FILE);
  nvtxa_status status = shown == NULL ? nvtxa__out_of_memory(reterr)
                                      : nvtxa__file_replace(rundir->fd, NVTXA__TRACE_FILE, shown,
                                                            true, copy, source, reterr);
  free(shown);
  return status;
}

/* The trace that lies in its run directory must not be set aside: only a manifest is in the way. */
static nvtxa_status check_own(const nvtxa_record *record, nvtxa_error **reterr) {
  char *manifest = nvtxa__join(record->run_dir, NVTXA__MANIFEST_FILE);
  if (manifest == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  struct stat info;
  bool there = lstat(manifest, &info) == 0;
  free(manifest);
  return !there || record->force ? NVTXA_OK
                                 : nvtxa__fail(reterr, NVTXA_ERROR_RUN_EXISTS,
                                               &(nvtxa__where){.file = record->run_dir,
                                                               .hint = "Replace it with --force."},
                                               "there is a manifest.yaml beside the trace already");
}

static nvtxa_status adopt_own(const nvtxa_record *record, nvtxa_error **reterr) {
  nvtxa__rundir rundir = {.path = record->run_dir, .fd = -1};
  nvtxa_status status = check_own(record, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  rundir.fd = open(record->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  status = rundir.fd < 0 ? nvtxa__fail(reterr, NVTXA_ERROR_IO,
                                       &(nvtxa__where){.file = record->run_dir, .errnum = errno},
                                       "cannot open the run directory")
                         : nvtxa__record_write_manifest(record, &rundir, reterr);
  nvtxa__close(&rundir.fd);
  return status;
}

/* With an earlier run that is replaced, the trace would go as well. */
static nvtxa_status refuse_neighbour(const nvtxa_record *record, const struct source *source,
                                     nvtxa_error **reterr) {
  struct stat own;
  struct stat parent;
  const char *slash = strrchr(source->path, '/');
  char *directory =
      slash == NULL ? strdup(".") : strndup(source->path, (size_t)(slash + 1 - source->path));
  if (directory == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  bool same = stat(record->run_dir, &own) == 0 && stat(directory, &parent) == 0 &&
              own.st_dev == parent.st_dev && own.st_ino == parent.st_ino;
  free(directory);
  return !same ? NVTXA_OK
               : nvtxa__fail(reterr, NVTXA_ERROR_RUN_EXISTS,
                             &(nvtxa__where){.file = source->path,
                                             .hint = "Rename it to trace.nsys-rep, or name another "
                                                     "run directory."},
                             "the trace lies in the run directory, under another name");
}

static nvtxa_status adopt_copy(const nvtxa_record *record, struct source *source,
                               nvtxa_error **reterr) {
  nvtxa__rundir rundir;
  nvtxa_status status = refuse_neighbour(record, source, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  status = nvtxa__rundir_open(&rundir, record->run_dir, record->force, reterr);
  if (status == NVTXA_OK) {
    status = place(source, &rundir, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__record_write_manifest(record, &rundir, reterr);
    if (status != NVTXA_OK) {
      unlinkat(rundir.fd, NVTXA__TRACE_FILE, 0); /* the one it was copied from is there */
    }
  }
  if (status == NVTXA_OK) {
    nvtxa__rundir_forget_earlier(&rundir);
  }
  nvtxa__rundir_close(&rundir, &record->hooks);
  return status;
}

nvtxa_status nvtxa_record_adopt(nvtxa_record *record, const char *trace_path,
                                nvtxa_error **reterr) {
  struct source source = {record, trace_path, -1};
  if (trace_path == NULL) {
    return nvtxa__invalid(reterr, "trace_path is NULL");
  }
  nvtxa_status status = nvtxa__record_begin(record, reterr);
  if (status == NVTXA_OK) {
    status = open_source(&source, reterr);
  }
  if (status == NVTXA_OK) {
    status = lies_there(record->run_dir, &source) ? adopt_own(record, reterr)
                                                  : adopt_copy(record, &source, reterr);
  }
  nvtxa__close(&source.fd);
  return status;
}
