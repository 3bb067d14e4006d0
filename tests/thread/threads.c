/*
 * Tables that several threads make, and that several threads share: what comes of it is what one
 * thread makes. A program with its own main, since ThreadSanitizer cannot start under Criterion.
 *
 *   threads FILE.sqlite
 *
 * The export should be large: its reports are to have several parts each, as they are divided by
 * default.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtxa/nvtxa.h>

#include "../readings.h"

enum { THREADS = 4, LARGE = 3 << 20 /* bytes */ };

/* All threads share these. */
static const char *path;
static nvtxa_manifest *manifest;
static source sources[NVTXA__RANGE_REPORTS]; /* the reports */
static reading from_export;
static reading from_reports;
static char *right_json;
static volatile sig_atomic_t cancel;

static void must(bool right, const char *what) {
  if (!right) {
    fprintf(stderr, "threads: %s\n", what);
    exit(1);
  }
}

static void must_be_same(const reading *a, const reading *b, const char *what) {
  const char *difference = different_readings(a, b);
  if (difference != NULL) {
    fprintf(stderr, "threads: %s: %s differs\n", what, difference);
    exit(1);
  }
}

/* 0 is the default number of threads, in all that follows. */
static reading read_export(size_t thread_count) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  reading r = {.error = NULL};
  options.thread_count = thread_count;
  r.status = nvtxa_ranges_read_sqlite(path, &options, &r.tables[0], &r.tables[1], &r.error);
  return r;
}

static int add(void *buffer, const char *data, size_t length) {
  return nvtxa__buffer_add(buffer, data, length) == 0 ? 0 : ENOMEM;
}

static char *analyze(const reading *tables, size_t thread_count) {
  nvtxa_analysis_options options = NVTXA_ANALYSIS_OPTIONS_INIT;
  nvtxa_analysis *analysis = NULL;
  nvtxa_json *json = NULL;
  nvtxa_error *error = NULL;
  char *text = NULL;
  size_t length;
  options.thread_count = thread_count;
  if (nvtxa_analysis_new(manifest, tables->tables[0], tables->tables[1], &options, &analysis,
                         &error) == NVTXA_OK) {
    (void)nvtxa_json_new(analysis, NULL, &json, &error);
  }
  must(json != NULL, error == NULL ? "no analysis" : nvtxa_error_message(error));
  must(nvtxa_json_to_text(json, &text, &length, NULL) == NVTXA_OK, "no text");
  nvtxa_json_unref(json);
  nvtxa_analysis_unref(analysis);
  return text;
}

static reading reference_to(const reading *r) {
  return (reading){
      .tables = {nvtxa_ranges_ref(r->tables[0]), nvtxa_ranges_ref(r->tables[1])},
  };
}

/* ---- what each thread does ---- */

static void read_reports(nvtxa__division division) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  reading r = read_divided(sources, NVTXA__RANGE_REPORTS, &options, division);
  must_be_same(&from_reports, &r, "reports");
  reading_free(&r);
}

static void analyze_again(const reading *tables) {
  char *json = analyze(tables, 0);
  must(strcmp(json, right_json) == 0, "another analysis");
  nvtxa_free(json);
}

static void read_export_again(void) {
  reading r = read_export(0);
  must_be_same(&from_export, &r, "the export");
  reading_free(&r);
}

/* A thread, and its references to the tables that all have. */
typedef struct sharer {
  pthread_t thread;
  size_t number;
  reading tables;
} sharer;

static void *share(void *user) {
  sharer *s = user;
  analyze_again(&s->tables);
  if (s->number % 2 == 0) {
    read_reports((nvtxa__division){3, 1 << 16});
  } else {
    read_export_again();
  }
  reading_free(&s->tables);
  return NULL;
}

static void *set_cancel(void *unused) {
  (void)unused;
  __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* ---- from one thread to many ---- */

static void make_reports(nvtxa__buffer texts[NVTXA__RANGE_REPORTS]) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  from_export = read_export(1);
  must(from_export.status == NVTXA_OK, "cannot read the export");
  for (int kind = 0; kind < NVTXA__RANGE_REPORTS; kind++) {
    must(nvtxa_stats_write(from_export.tables[kind], NULL, add, &texts[kind], NULL) == NVTXA_OK,
         "cannot write a report");
    must(texts[kind].length > LARGE, "the export is too small");
    sources[kind] = (source){
        .kind = (nvtxa_report)kind, .text = texts[kind].data, .length = texts[kind].length};
  }
  from_reports = read_divided(sources, NVTXA__RANGE_REPORTS, &options, UNDIVIDED);
  must(from_reports.status == NVTXA_OK, "cannot read the reports");
}

static void read_in_parts(void) {
  static const nvtxa__division divisions[] = {{0, 0}, {4, 0}, {8, 1 << 14}};
  for (size_t i = 0; i < NVTXA__COUNT(divisions); i++) {
    read_reports(divisions[i]);
  }
}

static void share_tables(void) {
  sharer sharers[THREADS];
  for (size_t i = 0; i < THREADS; i++) {
    sharers[i] = (sharer){.number = i, .tables = reference_to(&from_export)};
    must(pthread_create(&sharers[i].thread, NULL, share, &sharers[i]) == 0, "no thread");
  }
  for (size_t i = 0; i < THREADS; i++) {
    pthread_join(sharers[i].thread, NULL);
  }
}

/* GPU work is tallied by two threads, and does not depend on it. */
static void tally_gpu_work(void) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  reading r = {.status = NVTXA_OK};
  options.gpu_detail = NVTXA_GPU_DETAIL_OPERATIONS;
  must(nvtxa_ranges_read_sqlite(path, &options, &r.tables[0], &r.tables[1], NULL) == NVTXA_OK,
       "cannot read GPU work");
  char *alone = analyze(&r, 1);
  char *together = analyze(&r, 0);
  must(strcmp(alone, together) == 0, "other GPU work");
  must(strcmp(alone, right_json) != 0, "no GPU work");
  nvtxa_free(alone);
  nvtxa_free(together);
  reading_free(&r);
}

/* Another thread stops it, at whatever moment that is. */
static void cancel_reading(void) {
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  pthread_t thread;
  hooks.cancel = &cancel;
  options.hooks = &hooks;
  must(pthread_create(&thread, NULL, set_cancel, NULL) == 0, "no thread");
  reading r = read_divided(sources, NVTXA__RANGE_REPORTS, &options, (nvtxa__division){4, 1 << 14});
  pthread_join(thread, NULL);
  if (r.status == NVTXA_ERROR_CANCELLED) {
    must(r.error != NULL && r.tables[0] == NULL && r.tables[1] == NULL, "half a reading");
  } else {
    must_be_same(&from_reports, &r, "reports that were not cancelled in time");
  }
  reading_free(&r);
}

int main(int argc, char **argv) {
  static const char yaml[] = "capture_range: profile-target\nworkload: {iterations: 3}\n";
  nvtxa__buffer texts[NVTXA__RANGE_REPORTS] = {{0}};
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE.sqlite\n", argv[0]);
    return 2;
  }
  path = argv[1];
  must(nvtxa_manifest_read_buffer(yaml, sizeof yaml - 1, &manifest, NULL) == NVTXA_OK, "yaml");
  make_reports(texts);
  right_json = analyze(&from_reports, 1);
  read_in_parts();
  share_tables();
  tally_gpu_work();
  cancel_reading();
  nvtxa_free(right_json);
  reading_free(&from_export);
  reading_free(&from_reports);
  nvtxa_manifest_unref(manifest);
  for (size_t i = 0; i < NVTXA__RANGE_REPORTS; i++) {
    nvtxa__buffer_free(&texts[i]);
  }
  return 0;
}
