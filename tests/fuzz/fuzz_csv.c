/*
 * Any bytes as a CSV report, of any kind and with either quoting. Its separators are the same for
 * both scanners and a plain loop, its records are the same with marks and without, and its table or
 * its error are the same for one thread and for three that read it in small parts. Sums of GPU work
 * are in order, and none is negative.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../readings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool right) {
  if (!right) {
    abort();
  }
}

static void compare_scanners(const char *data, size_t size) {
  uint32_t *marks = malloc((size + NVTXA__SCAN_SPARE) * sizeof *marks);
  uint32_t *others = malloc((size + NVTXA__SCAN_SPARE) * sizeof *others);
  must(marks != NULL && others != NULL);
  size_t count = nvtxa__scan_portable(data, size, marks);
  size_t next = 0;
  for (size_t i = 0; i < size; i++) {
    bool marked = next < count && marks[next] == i;
    must(marked == (data[i] == ',' || data[i] == '"' || data[i] == '\n'));
    next += marked;
  }
  must(next == count);
  if (nvtxa__scan_has_avx2()) {
    must(nvtxa__scan_avx2(data, size, others) == count &&
         memcmp(marks, others, count * sizeof *marks) == 0);
  }
  free(marks);
  free(others);
}

static void compare_readings(const source *s, nvtxa_quoting quoting) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa__division parts = {.thread_count = 3, .part_size = 1 + s->length * 7 % 251};
  options.quoting = quoting;
  reading whole = read_divided(s, 1, &options, UNDIVIDED);
  must((whole.status == NVTXA_OK) == (whole.error == NULL) &&
       (whole.status == NVTXA_OK) == (whole.tables[0] != NULL));
  if (whole.status != NVTXA_ERROR_REPORT_COLUMNS) { /* else nothing is divided */
    reading divided = read_divided(s, 1, &options, parts);
    must(different_readings(&whole, &divided) == NULL);
    must(different_records(s, quoting) == NULL);
    reading_free(&divided);
  }
  reading_free(&whole);
}

static void check_amounts(const nvtxa_gpu_work *work, nvtxa_gpu_kind kind) {
  nvtxa_gpu_amount before = {.size = 0};
  for (size_t i = 0; i < nvtxa_gpu_work_amount_count(work, kind); i++) {
    nvtxa_gpu_amount amount = {.size = sizeof amount};
    must(nvtxa_gpu_work_amount(work, kind, i, &amount) == NVTXA_OK);
    must(amount.kind == kind && amount.cumulative_duration_ns >= 0 && amount.total_bytes >= 0);
    must((kind == NVTXA_GPU_KERNEL) == (amount.name.data != NULL));
    must(kind != NVTXA_GPU_KERNEL || i == 0 || nvtxa__text_compare(before.name, amount.name) < 0);
    before = amount;
  }
}

/* The text as one of the two reports, the other being empty. */
static void read_work(const source *s, nvtxa_quoting quoting) {
  bool kernels = s->kind == NVTXA_REPORT_CUDA_GPU_KERN_SUM;
  source none = {.kind = kernels ? NVTXA_REPORT_CUDA_GPU_TRACE : NVTXA_REPORT_CUDA_GPU_KERN_SUM,
                 .text = ""};
  nvtxa__report report = feed_of(s).report;
  nvtxa__report other = feed_of(&none).report;
  nvtxa_gpu_work *work = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa__gpu_reports_read(
      kernels ? &report : &other, kernels ? &other : &report, quoting, NULL, &work, &error);
  must((status == NVTXA_OK) == (error == NULL) && (status == NVTXA_OK) == (work != NULL));
  for (int kind = 0; kind < NVTXA_GPU_KIND_COUNT && work != NULL; kind++) {
    check_amounts(work, (nvtxa_gpu_kind)kind);
    must((kind == NVTXA_GPU_KERNEL) == kernels ||
         nvtxa_gpu_work_amount_count(work, (nvtxa_gpu_kind)kind) == 0);
  }
  if (status != NVTXA_ERROR_REPORT_COLUMNS) {
    must(different_records(s, quoting) == NULL);
  }
  nvtxa_error_free(error);
  nvtxa_gpu_work_unref(work);
  nvtxa__report_close(&report);
  nvtxa__report_close(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  compare_scanners((const char *)data, size);
  for (int kind = 0; kind < NVTXA__RANGE_REPORTS; kind++) {
    source s = {.kind = (nvtxa_report)kind, .text = (const char *)data, .length = size};
    compare_readings(&s, NVTXA_QUOTING_AUTO);
    compare_readings(&s, NVTXA_QUOTING_NSYS);
  }
  for (int kind = NVTXA__RANGE_REPORTS; kind < NVTXA__EXPORTED_REPORTS; kind++) {
    source s = {.kind = (nvtxa_report)kind, .text = (const char *)data, .length = size};
    read_work(&s, NVTXA_QUOTING_AUTO);
    read_work(&s, NVTXA_QUOTING_NSYS);
  }
  return 0;
}
