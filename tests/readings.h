/*
 * CSV reports read in more ways than one, and whether the same comes of it: the work divided in
 * parts for several threads, and records found with the help of marks or without.
 */
#ifndef READINGS_H
#define READINGS_H

#include <stdlib.h>
#include <unistd.h>

#include "ranges/csv/report-internal.h"

/* A text to be read as a report. */
typedef struct source {
  nvtxa_report kind;
  const char *text;
  size_t length;
  int fd; /* of a file that holds the text; 0: it is read from memory */
} source;

/* The whole text at once. */
#define UNDIVIDED ((nvtxa__division){.thread_count = 1, .part_size = (size_t)1 << 40})

typedef struct reading {
  nvtxa_status status;
  nvtxa_error *error;
  nvtxa_ranges *tables[NVTXA__RANGE_REPORTS];
} reading;

static inline void reading_free(reading *r) {
  nvtxa_error_free(r->error);
  for (size_t i = 0; i < NVTXA__RANGE_REPORTS; i++) {
    nvtxa_ranges_unref(r->tables[i]);
  }
}

static inline nvtxa__feed feed_of(const source *s) {
  return (nvtxa__feed){
      .report =
          {
              .kind = s->kind,
              .shown = nvtxa_report_name(s->kind),
              .fd = s->fd == 0 ? -1 : dup(s->fd),
              .text = s->text,
              .size = s->length,
          },
  };
}

static inline reading read_divided(const source *sources, size_t count,
                                   const nvtxa_ranges_options *options, nvtxa__division division) {
  nvtxa__feed feeds[NVTXA__RANGE_REPORTS];
  reading r = {.error = NULL};
  for (size_t i = 0; i < count; i++) {
    feeds[i] = feed_of(&sources[i]);
  }
  r.status = nvtxa__reports_read(feeds, count, options, division, r.tables, &r.error);
  return r;
}

/* ---- differences: what differs, or NULL ---- */

static inline bool same_string(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static inline const char *different_errors(const nvtxa_error *a, const nvtxa_error *b) {
  if (a == NULL || b == NULL) {
    return a == b ? NULL : "one error";
  }
  return nvtxa_error_status(a) != nvtxa_error_status(b)                 ? "the errors' status"
         : !same_string(nvtxa_error_message(a), nvtxa_error_message(b)) ? "the errors' message"
         : !same_string(nvtxa_error_hint(a), nvtxa_error_hint(b))       ? "the errors' hint"
         : !same_string(nvtxa_error_file(a), nvtxa_error_file(b))       ? "the errors' file"
         : nvtxa_error_line(a) != nvtxa_error_line(b)                   ? "the errors' line"
         : !same_string(nvtxa_error_field(a), nvtxa_error_field(b))     ? "the errors' field"
         : nvtxa_error_errno(a) != nvtxa_error_errno(b)
             ? "the errors' errno"
             : different_errors(nvtxa_error_cause(a), nvtxa_error_cause(b));
}

static inline bool same_texts(const nvtxa__intern *a, const nvtxa__intern *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; i < a->count && same; i++) {
    same = nvtxa__text_equal(a->texts[i], b->texts[i]);
  }
  return same;
}

static inline bool same_range(const nvtxa_ranges *a, const nvtxa_ranges *b, size_t row) {
  nvtxa_range x = NVTXA_RANGE_INIT;
  nvtxa_range y = NVTXA_RANGE_INIT;
  return nvtxa_ranges_get(a, row, &x) == NVTXA_OK && nvtxa_ranges_get(b, row, &y) == NVTXA_OK &&
         nvtxa__text_equal(x.name, y.name) && x.process_id == y.process_id &&
         x.thread_id == y.thread_id && x.range_id == y.range_id && x.has_parent == y.has_parent &&
         x.parent_id == y.parent_id && x.start_ns == y.start_ns && x.duration_ns == y.duration_ns &&
         x.child_total_ns == y.child_total_ns && x.exclusive_ns == y.exclusive_ns &&
         x.open == y.open && nvtxa__text_equal(x.style, y.style) &&
         x.projected_start_ns == y.projected_start_ns &&
         x.projected_duration_ns == y.projected_duration_ns &&
         x.gpu_operation_count == y.gpu_operation_count &&
         nvtxa__range_parent(a, row) == nvtxa__range_parent(b, row);
}

/* Numbers of names count as well: they follow the rows. */
static inline const char *different_tables(const nvtxa_ranges *a, const nvtxa_ranges *b) {
  if (a == NULL || b == NULL) {
    return a == b ? NULL : "one table";
  }
  if (nvtxa_ranges_report(a) != nvtxa_ranges_report(b) ||
      nvtxa_ranges_count(a) != nvtxa_ranges_count(b)) {
    return "the number of rows";
  }
  for (size_t row = 0; row < nvtxa_ranges_count(a); row++) {
    if (!same_range(a, b, row)) {
      return "a row";
    }
  }
  if (!same_texts(&a->names, &b->names) || !same_texts(&a->styles, &b->styles)) {
    return "the names or their numbers";
  }
  if (a->unattributed.operations != b->unattributed.operations ||
      a->unattributed.start_ns != b->unattributed.start_ns ||
      a->unattributed.end_ns != b->unattributed.end_ns ||
      !nvtxa__same_thread(a->unattributed.thread, b->unattributed.thread)) {
    return "the work outside every range";
  }
  size_t warnings = nvtxa_ranges_warning_count(a);
  if (warnings != nvtxa_ranges_warning_count(b)) {
    return "the number of warnings";
  }
  for (size_t i = 0; i < warnings; i++) {
    nvtxa_warning x = nvtxa_ranges_warning(a, i);
    nvtxa_warning y = nvtxa_ranges_warning(b, i);
    if (x.kind != y.kind || !nvtxa__text_equal(x.text, y.text)) {
      return "a warning";
    }
  }
  return NULL;
}

static inline const char *different_readings(const reading *a, const reading *b) {
  const char *difference = a->status != b->status ? "the status" : NULL;
  if (difference == NULL) {
    difference = different_errors(a->error, b->error);
  }
  for (size_t i = 0; i < NVTXA__RANGE_REPORTS && difference == NULL; i++) {
    difference = different_tables(a->tables[i], b->tables[i]);
  }
  return difference;
}

/* ---- records with and without marks ---- */

static inline size_t mark_nothing(const char *data, size_t length, uint32_t *marks) {
  (void)data, (void)length, (void)marks;
  return 0;
}

static inline bool same_record(const nvtxa__cursor *a, const nvtxa__cursor *b) {
  bool same = a->line == b->line && nvtxa__cursor_offset(a) == nvtxa__cursor_offset(b) &&
              a->record.count == b->record.count && a->record.consumed == b->record.consumed;
  for (size_t i = 0; i < a->record.count && same; i++) {
    nvtxa__csv_field x = a->record.fields[i];
    nvtxa__csv_field y = b->record.fields[i];
    same = x.quoted == y.quoted &&
           nvtxa__text_equal((nvtxa_text){x.data, x.length}, (nvtxa_text){y.data, y.length});
  }
  return same;
}

/* Hold what the cursor makes of each record with marks of the separators against what csv.c alone
 * does. What is wrong with the header is for others to tell. */
static inline const char *different_records(const source *s, nvtxa_quoting quoting) {
  nvtxa__feed feed = feed_of(s);
  nvtxa__cursor marked;
  nvtxa__cursor plain;
  nvtxa_error *errors[2] = {NULL, NULL};
  const char *difference = NULL;
  bool done = true;
  bool plain_done = true;
  feed.report.layout.quoting = quoting;
  nvtxa__cursor_init(&marked);
  nvtxa__cursor_init(&plain);
  plain.scan = mark_nothing;
  nvtxa__cursor_go(&marked, &feed.report, 0, 1, NVTXA__LONGEST_RECORD);
  nvtxa_status status = nvtxa__cursor_skip_bom(&marked, NULL);
  if (status == NVTXA_OK) {
    status = nvtxa__cursor_read_header(&marked, &done, NULL);
  }
  if (status == NVTXA_OK && !done) {
    nvtxa_text text = {marked.data + marked.start, marked.record.consumed};
    status = nvtxa__columns_map(&feed.report, &marked.record, text, NULL);
  }
  if (status == NVTXA_OK && !done) {
    nvtxa__cursor_advance(&marked);
    nvtxa__cursor_go(&plain, &feed.report, nvtxa__cursor_offset(&marked), marked.line,
                     NVTXA__LONGEST_RECORD);
  }
  while (status == NVTXA_OK && !done && difference == NULL) {
    status = nvtxa__cursor_read(&marked, &done, &errors[0]);
    difference = nvtxa__cursor_read(&plain, &plain_done, &errors[1]) != status ? "the status"
                 : done != plain_done                                          ? "the end"
                 : status == NVTXA_OK && !done && !same_record(&marked, &plain)
                     ? "a record"
                     : different_errors(errors[0], errors[1]);
    if (status == NVTXA_OK && !done) {
      nvtxa__cursor_advance(&marked);
      nvtxa__cursor_advance(&plain);
    }
  }
  nvtxa_error_free(errors[0]);
  nvtxa_error_free(errors[1]);
  nvtxa__cursor_free(&marked);
  nvtxa__cursor_free(&plain);
  nvtxa__report_close(&feed.report);
  return difference;
}

#endif
