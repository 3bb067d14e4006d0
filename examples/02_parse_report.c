/*
 * One report alone: read a CSV file that `nsys stats` wrote and list the longest ranges in it. No
 * nsys, no run directory and no manifest is needed.
 *
 *   02_parse_report host|gpu REPORT.csv
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtxa/ranges.h>

enum { SHOWN = 5 };

/* A host range's time is its own duration; a GPU range's is its projection: the span from the first
 * start to the last end of the GPU work launched from inside it. The two are different measures. */
static int64_t time_of(const nvtxa_range *range, nvtxa_report report) {
  return report == NVTXA_REPORT_GPU_PROJ_TRACE ? range->projected_duration_ns : range->duration_ns;
}

/* Keep the SHOWN longest ranges, the longest first. */
static void keep_longest(nvtxa_range longest[SHOWN], size_t *count, const nvtxa_range *range,
                         nvtxa_report report) {
  size_t place = *count;
  while (place > 0 && time_of(&longest[place - 1], report) < time_of(range, report)) {
    place--;
  }
  if (place == SHOWN) {
    return;
  }
  if (*count < SHOWN) {
    (*count)++;
  }
  memmove(&longest[place + 1], &longest[place], (*count - place - 1) * sizeof *longest);
  longest[place] = *range;
}

static void print_table(const nvtxa_ranges *table) {
  nvtxa_report report = nvtxa_ranges_report(table);
  nvtxa_range longest[SHOWN];
  size_t count = 0;

  printf("%zu ranges\n", nvtxa_ranges_count(table));
  for (size_t i = 0; i < nvtxa_ranges_count(table); i++) {
    nvtxa_range range = NVTXA_RANGE_INIT; /* says which version of the struct this program knows */
    nvtxa_ranges_get(table, i, &range);
    keep_longest(longest, &count, &range, report);
  }

  for (size_t i = 0; i < count; i++) {
    const nvtxa_range *range = &longest[i];
    /* Names are raw here: `domain:text`. They may hold any character, so print what you trust. */
    printf("%12" PRId64 " ns  %s  (pid %" PRId64 ", tid %" PRId64 ", range %" PRId64 ")\n",
           time_of(range, report), range->name.data, range->process_id, range->thread_id,
           range->range_id);
  }

  if (nvtxa_ranges_unattributed_operations(table) > 0) {
    printf("%" PRId64 " GPU operations stand in no range\n",
           nvtxa_ranges_unattributed_operations(table));
  }
  for (size_t i = 0; i < nvtxa_ranges_warning_count(table); i++) {
    fprintf(stderr, "warning: %s\n", nvtxa_ranges_warning(table, i).text.data);
  }
}

int main(int argc, char **argv) {
  bool gpu = argc == 3 && strcmp(argv[1], "gpu") == 0;
  if (argc != 3 || (!gpu && strcmp(argv[1], "host") != 0)) {
    fprintf(stderr, "usage: %s host|gpu REPORT.csv\n", argv[0]);
    return 2;
  }

  nvtxa_ranges *table = NULL;
  nvtxa_error *error = NULL;
  nvtxa_report report = gpu ? NVTXA_REPORT_GPU_PROJ_TRACE : NVTXA_REPORT_PUSHPOP_TRACE;
  if (nvtxa_ranges_read_file(argv[2], report, NULL, &table, &error) != NVTXA_OK) {
    /* A damaged report is never read half: the error says which line and column stopped it. */
    fprintf(stderr, "%s:%" PRIu64 ": %s\n", argv[2], nvtxa_error_line(error),
            nvtxa_error_message(error));
    nvtxa_error_free(error);
    return 1;
  }
  print_table(table);
  nvtxa_ranges_unref(table);
  return 0;
}
