/*
 * Any bytes as a CSV report, of either kind and with either quoting. Its separators are the same
 * for both scanners and a plain loop, its records are the same with marks and without, and its
 * table or its error are the same for one thread and for three that read it in small parts.
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  compare_scanners((const char *)data, size);
  for (int kind = 0; kind < NVTXA__RANGE_REPORTS; kind++) {
    source s = {.kind = (nvtxa_report)kind, .text = (const char *)data, .length = size};
    compare_readings(&s, NVTXA_QUOTING_AUTO);
    compare_readings(&s, NVTXA_QUOTING_NSYS);
  }
  return 0;
}
