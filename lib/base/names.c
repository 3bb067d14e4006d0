/* Names: of the reports and their files under both of nsys's namings, and of paths. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base-internal.h"

static const char *const names[NVTXA_REPORT_COUNT][NVTXA__NAMING_COUNT] = {
    [NVTXA_REPORT_PUSHPOP_TRACE] = {"nvtx_pushpop_trace", "nvtxpptrace"},
    [NVTXA_REPORT_GPU_PROJ_TRACE] = {"nvtx_gpu_proj_trace", "nvtxgpuproj"},
    [NVTXA_REPORT_CUDA_GPU_KERN_SUM] = {"cuda_gpu_kern_sum", "gpukernsum"},
    [NVTXA_REPORT_CUDA_GPU_TRACE] = {"cuda_gpu_trace", "gputrace"},
    [NVTXA_REPORT_NVTX_KERN_SUM] = {"nvtx_kern_sum", "nvtxkernsum"},
};

const char *nvtxa_report_name(nvtxa_report report) {
  return (unsigned)report < NVTXA_REPORT_COUNT ? names[report][NVTXA__NAMING_NEW] : NULL;
}

bool nvtxa_report_by_name(const char *name, nvtxa_report *ret_report) {
  for (int report = 0; report < NVTXA_REPORT_COUNT; report++) {
    for (int naming = 0; naming < NVTXA__NAMING_COUNT; naming++) {
      if (name != NULL && strcmp(name, names[report][naming]) == 0) {
        *ret_report = (nvtxa_report)report;
        return true;
      }
    }
  }
  return false;
}

const char *nvtxa__report_name(nvtxa_report report, int naming) {
  return names[report][naming];
}

const char *nvtxa__report_file(char buffer[NVTXA__REPORT_FILE], nvtxa_report report, int naming) {
  snprintf(buffer, NVTXA__REPORT_FILE, "nsys_%s.csv", names[report][naming]);
  return buffer;
}

char *nvtxa__join(const char *directory, const char *name) {
  size_t length = strlen(directory);
  const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
  char *path;
  return asprintf(&path, "%s%s%s", directory, slash, name) < 0 ? NULL : path;
}

void nvtxa__close(int *fd) {
  int errnum = errno;
  if (*fd >= 0) {
    close(*fd);
  }
  *fd = -1;
  errno = errnum;
}
