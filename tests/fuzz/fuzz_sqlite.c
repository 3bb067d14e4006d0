/*
 * Any bytes as an SQLite export: read, and all reports written. What comes of it may be an error,
 * but nothing else that a sanitizer or a timeout would notice.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <nvtxa/nvtxa.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* SQLite opens files by name. One is enough for all inputs. */
static char path[] = "/tmp/nvtxa-fuzz-XXXXXX";

static void remove_file(void) {
  unlink(path);
}

static int count_bytes(void *user, const char *data, size_t length) {
  (void)data;
  *(size_t *)user += length;
  return 0;
}

static void write_report(const nvtxa_ranges *ranges, nvtxa_report report,
                         nvtxa_stats_format format) {
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  nvtxa_error *error = NULL;
  size_t length = 0;
  options.report = report;
  options.format = format;
  if (nvtxa_stats_write(ranges, &options, count_bytes, &length, &error) != NVTXA_OK) {
    nvtxa_error_free(error);
  } else if (length == 0) {
    abort(); /* a report has a header or brackets at least */
  }
}

static void read_export(void) {
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_ranges_read_sqlite(path, NULL, &host, &gpu, &error);
  if ((status == NVTXA_OK) != (error == NULL) || (status == NVTXA_OK) != (host != NULL) ||
      (status == NVTXA_OK) != (gpu != NULL)) {
    abort(); /* tables or an error, never both */
  }
  if (status == NVTXA_OK) {
    write_report(host, NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_STATS_CSV);
    write_report(gpu, NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_STATS_JSON);
  }
  nvtxa_error_free(error);
  nvtxa_ranges_unref(host);
  nvtxa_ranges_unref(gpu);
}

static void read_gpu_work(void) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges *gpu = NULL;
  nvtxa_error *error = NULL;
  options.gpu_detail = NVTXA_GPU_DETAIL_TRACE;
  nvtxa_status status = nvtxa_ranges_read_sqlite(path, &options, NULL, &gpu, &error);
  if ((status == NVTXA_OK) != (error == NULL) || (status == NVTXA_OK) != (gpu != NULL)) {
    abort();
  }
  if (status == NVTXA_OK) {
    write_report(gpu, NVTXA_REPORT_CUDA_GPU_KERN_SUM, NVTXA_STATS_CSV);
    write_report(gpu, NVTXA_REPORT_CUDA_GPU_TRACE, NVTXA_STATS_JSON);
    write_report(gpu, NVTXA_REPORT_NVTX_KERN_SUM, NVTXA_STATS_TSV);
  }
  nvtxa_error_free(error);
  nvtxa_ranges_unref(gpu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int fd = -1;
  if (fd < 0) {
    fd = mkstemp(path);
    atexit(remove_file);
  }
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) {
    abort();
  }
  read_export();
  read_gpu_work();
  return 0;
}
