/*
 * The trace: found in the run directory, or missed with an account of what lies there instead, and
 * identified by size, time and digest, so that reports can be held against it later.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export-internal.h"

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void nvtxa__leftovers_free(nvtxa__leftovers *found) {
  for (size_t i = 0; i < found->count; i++) {
    free(found->names[i]);
  }
  free(found->names);
}

static int leftovers_add(nvtxa__leftovers *found, const char *name) {
  bool report = nvtxa__ends_with(name, ".nsys-rep");
  if ((!report && !nvtxa__ends_with(name, ".qdstrm")) || strcmp(name, NVTXA__TRACE_FILE) == 0) {
    return 0;
  }
  char *copy = strdup(name);
  if (copy == NULL || nvtxa__reserve(&found->names, &found->capacity, found->count + 1,
                                     sizeof *found->names) != 0) {
    free(copy);
    return -1;
  }
  found->names[found->count++] = copy;
  found->reports += report;
  return 0;
}

int nvtxa__leftovers_list(int run, nvtxa__leftovers *found) {
  int result = 0;
  DIR *directory = nvtxa__directory_read(run);
  if (directory == NULL) {
    return 0;
  }
  struct dirent *entry;
  while (result == 0 && (entry = readdir(directory)) != NULL) {
    result = leftovers_add(found, entry->d_name);
  }
  closedir(directory);
  if (found->count > 1) {
    qsort(found->names, found->count, sizeof *found->names, compare_names);
  }
  return result;
}

static const char *missing_hint(const nvtxa__leftovers *found) {
  if (found->reports > 0) {
    return "nsys profile --capture-range-end=repeat numbers its reports. Give each one that is to "
           "be "
           "analysed a run directory of its own, as trace.nsys-rep.";
  }
  if (found->count > 0) {
    return "The import into a report failed when the trace was captured. Import the .qdstrm file "
           "again with a newer nsys (nsys import, or QdstrmImporter), as trace.nsys-rep.";
  }
  return "The harness that captures the run must write it there: nsys profile --output=trace ...";
}

static nvtxa_status missing(int run, const char *shown_trace, nvtxa_error **reterr) {
  enum { SHOWN = 20 };
  nvtxa__leftovers found = {0};
  nvtxa__buffer list = {0};
  nvtxa_status status = NVTXA_ERROR_OUT_OF_MEMORY;
  struct stat info;
  bool dangling = fstatat(run, NVTXA__TRACE_FILE, &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (nvtxa__leftovers_list(run, &found) != 0) {
    goto out;
  }
  for (size_t i = 0; i < found.count && i < SHOWN; i++) {
    char quoted[NVTXA__QUOTED];
    nvtxa__quote(quoted, found.names[i], strlen(found.names[i]));
    if (nvtxa__buffer_printf(&list, "%s%s", i == 0 ? "; there is " : ", ", quoted) != 0) {
      goto out;
    }
  }
  if (found.count > SHOWN &&
      nvtxa__buffer_printf(&list, " and %zu more", found.count - SHOWN) != 0) {
    goto out;
  }
  status = nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING,
                       &(nvtxa__where){.file = shown_trace, .hint = missing_hint(&found)}, "%s%s",
                       dangling ? "trace.nsys-rep is a symbolic link to a file that does not exist"
                                : "the run directory has no trace.nsys-rep",
                       list.data == NULL ? "" : list.data);
out:
  nvtxa__buffer_free(&list);
  nvtxa__leftovers_free(&found);
  return status == NVTXA_ERROR_OUT_OF_MEMORY ? nvtxa__out_of_memory(reterr) : status;
}

nvtxa_status nvtxa__trace_open(int run, const char *shown_trace, int *ret_fd,
                               nvtxa_error **reterr) {
  struct stat info;
  if (fstatat(run, NVTXA__TRACE_FILE, &info, 0) != 0) {
    return errno == ENOENT ? missing(run, shown_trace, reterr)
                           : nvtxa__fail(reterr, NVTXA_ERROR_IO,
                                         &(nvtxa__where){.file = shown_trace, .errnum = errno},
                                         "cannot look at the trace");
  }
  if (!S_ISREG(info.st_mode)) {
    return nvtxa__fail(
        reterr, NVTXA_ERROR_TRACE_MISSING,
        &(nvtxa__where){.file = shown_trace,
                        .hint = "The harness that captures the run must write the trace there."},
        "trace.nsys-rep is not a regular file");
  }
  return nvtxa__file_open(run, NVTXA__TRACE_FILE, shown_trace, ret_fd, reterr);
}

static int64_t modified_ns(const struct stat *info) {
  int64_t seconds_ns;
  int64_t ns;
  if (__builtin_mul_overflow((int64_t)info->st_mtim.tv_sec, 1000000000, &seconds_ns) ||
      __builtin_add_overflow(seconds_ns, (int64_t)info->st_mtim.tv_nsec, &ns)) {
    return INT64_MAX; /* later than 2262 */
  }
  return ns;
}

int nvtxa__trace_stat(int fd, nvtxa__trace *trace) {
  struct stat info;
  if (fstat(fd, &info) != 0) {
    return errno;
  }
  trace->size_bytes = info.st_size;
  trace->modified_ns = modified_ns(&info);
  return 0;
}

nvtxa_status nvtxa__trace_identify(int fd, const char *shown_trace, const nvtxa_hooks *hooks,
                                   nvtxa__trace *trace, nvtxa_error **reterr) {
  nvtxa__activity activity;
  nvtxa__activity_start(&activity, hooks, "reading the trace");
  nvtxa__log_file(hooks, "reading", shown_trace, NULL);
  int errnum = nvtxa__trace_stat(fd, trace);
  if (errnum != 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = shown_trace, .errnum = errnum},
                       "cannot look at the trace");
  }
  return nvtxa__sha256_fd(fd, shown_trace, hooks, trace->sha256, reterr);
}

nvtxa_status nvtxa__trace_check(int directory, const char *name, int fd, const char *shown_trace,
                                const nvtxa__trace *trace, nvtxa_error **reterr) {
  struct stat named;
  struct stat open;
  if (fstatat(directory, name, &named, 0) == 0 && fstat(fd, &open) == 0 &&
      named.st_dev == open.st_dev && named.st_ino == open.st_ino &&
      named.st_size == trace->size_bytes && modified_ns(&named) == trace->modified_ns) {
    return NVTXA_OK;
  }
  return nvtxa__fail(
      reterr, NVTXA_ERROR_IO,
      &(nvtxa__where){.file = shown_trace,
                      .hint = "Wait until the capture has ended, then run the analysis again."},
      "the trace was changed or replaced while nsys read it");
}
