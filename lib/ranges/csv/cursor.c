/*
 * One record after the other, from any place of a report on. Most records are lines without quotes
 * and with the right number of fields, which read the same in every way of reading: where their
 * separators stand is marked for many lines at once. The others are for csv.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report-internal.h"

enum {
  READ_SIZE = 1 << 17, /* bytes */
  MARKED = 1 << 14,    /* bytes whose separators are marked at a time */
};

const char nvtxa__damaged[] = "The report is damaged or was edited.";

void nvtxa__cursor_init(nvtxa__cursor *cursor) {
  *cursor = (nvtxa__cursor){.scan = nvtxa__scan_choose()};
}

void nvtxa__cursor_free(nvtxa__cursor *cursor) {
  nvtxa__csv_record_free(&cursor->record);
  free(cursor->window);
  free(cursor->marks);
}

nvtxa_status nvtxa__cursor_fail(const nvtxa__cursor *cursor, nvtxa_status status, const char *field,
                                const char *hint, nvtxa_error **reterr, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return nvtxa__fail(reterr, status,
                     &(nvtxa__where){
                         .file = cursor->report->shown,
                         .line = cursor->line,
                         .field = field,
                         .hint = hint,
                     },
                     "%s", message);
}

/* ---- the window ---- */

void nvtxa__cursor_go(nvtxa__cursor *cursor, const nvtxa__report *report, uint64_t offset,
                      uint64_t line, size_t longest) {
  cursor->report = report;
  cursor->longest = longest;
  cursor->line = line;
  cursor->offset = offset;
  cursor->start = 0;
  cursor->filled = 0;
  cursor->mark_count = 0;
  cursor->next_mark = 0;
}

static bool is_at_end(const nvtxa__cursor *cursor) {
  return cursor->offset + cursor->filled == cursor->report->size;
}

static size_t rest_of(const nvtxa__cursor *cursor) {
  return cursor->filled - cursor->start;
}

static nvtxa_status read_more(nvtxa__cursor *cursor, size_t wanted, nvtxa_error **reterr) {
  const nvtxa__report *report = cursor->report;
  size_t room = cursor->filled + wanted;
  if (room > cursor->capacity && nvtxa__reserve(&cursor->window, &cursor->capacity, room, 1) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  cursor->data = cursor->window;
  ssize_t got;
  do {
    got = pread(report->fd, cursor->window + cursor->filled, wanted,
                (off_t)(cursor->offset + cursor->filled));
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = report->shown, .errnum = got < 0 ? errno : 0},
                       got < 0 ? "cannot read" : "it changed while it was read");
  }
  cursor->filled += (size_t)got;
  return NVTXA_OK;
}

static nvtxa_status too_long(const nvtxa__cursor *cursor, nvtxa_error **reterr) {
  return nvtxa__cursor_fail(cursor, NVTXA_ERROR_LIMIT, NULL, nvtxa__damaged, reterr,
                            "a record of more than %d bytes, the limit for one record",
                            NVTXA__LONGEST_RECORD);
}

/* Get more of the text behind what is in the window; there is more. */
static nvtxa_status fill(nvtxa__cursor *cursor, nvtxa_error **reterr) {
  const nvtxa__report *report = cursor->report;
  if (nvtxa__cancelled(report->hooks)) {
    return nvtxa__cancel_error(reterr);
  }
  if (report->fd >= 0 && cursor->start > 0) {
    memmove(cursor->window, cursor->window + cursor->start, rest_of(cursor));
  }
  cursor->offset += cursor->start;
  cursor->filled -= cursor->start;
  cursor->start = 0;
  cursor->mark_count = 0;
  cursor->next_mark = 0;
  if (cursor->filled >= cursor->longest) {
    return too_long(cursor, reterr);
  }
  /* Twice as much as there is, so that a long record is not looked at again for each little piece;
   * up to the limit, which then lies at the same place wherever the window began. */
  size_t wanted = cursor->filled > READ_SIZE ? cursor->filled : READ_SIZE;
  size_t room = cursor->longest - cursor->filled;
  wanted = room < wanted ? room : wanted;
  uint64_t left = report->size - cursor->offset - cursor->filled;
  wanted = left < wanted ? (size_t)left : wanted;
  if (report->fd >= 0) {
    return read_more(cursor, wanted, reterr);
  }
  cursor->data = report->text + cursor->offset;
  cursor->filled += wanted;
  return NVTXA_OK;
}

nvtxa_status nvtxa__cursor_skip_bom(nvtxa__cursor *cursor, nvtxa_error **reterr) {
  nvtxa_status status = NVTXA_OK;
  while (!is_at_end(cursor) && rest_of(cursor) < 3 && status == NVTXA_OK) {
    status = fill(cursor, reterr);
  }
  if (status == NVTXA_OK && rest_of(cursor) >= 3 &&
      memcmp(cursor->data + cursor->start, "\xEF\xBB\xBF", 3) == 0) {
    cursor->start += 3;
  }
  return status;
}

nvtxa_status nvtxa__cursor_to_line(nvtxa__cursor *cursor, nvtxa_error **reterr) {
  for (;;) {
    size_t rest = rest_of(cursor);
    const char *found = rest == 0 ? NULL : memchr(cursor->data + cursor->start, '\n', rest);
    if (found != NULL) {
      cursor->start = (size_t)(found - cursor->data) + 1;
      return NVTXA_OK;
    }
    cursor->start = cursor->filled;
    if (is_at_end(cursor)) {
      return NVTXA_OK;
    }
    nvtxa_status status = fill(cursor, reterr);
    if (status != NVTXA_OK) {
      return status;
    }
  }
}

/* ---- lines without quotes ---- */

/* Mark the separators of the next lines. 0 or -1. */
static int mark(nvtxa__cursor *cursor) {
  size_t length = rest_of(cursor) < MARKED ? rest_of(cursor) : MARKED;
  if (cursor->marks == NULL) {
    cursor->marks = malloc((MARKED + NVTXA__SCAN_SPARE) * sizeof *cursor->marks);
    if (cursor->marks == NULL) {
      return -1;
    }
  }
  cursor->marked = cursor->start;
  cursor->next_mark = 0;
  cursor->mark_count = cursor->scan(cursor->data + cursor->start, length, cursor->marks);
  return 0;
}

/* Whether the record is a line without quotes and with as many fields as there are columns; it is
 * read then. */
static bool read_line(nvtxa__cursor *cursor) {
  nvtxa__csv_record *record = &cursor->record;
  size_t count = cursor->report->layout.column_count;
  cursor->is_line = false;
  if (rest_of(cursor) == 0 ||
      (cursor->mark_count - cursor->next_mark < count && mark(cursor) != 0)) {
    return false;
  }
  if (cursor->mark_count - cursor->next_mark < count ||
      nvtxa__reserve(&record->fields, &record->capacity, count, sizeof *record->fields) != 0) {
    return false;
  }
  const char *data = cursor->data + cursor->marked;
  const uint32_t *marks = cursor->marks + cursor->next_mark;
  size_t start = cursor->start - cursor->marked;
  for (size_t i = 0; i < count; i++) {
    if (data[marks[i]] != (i + 1 < count ? ',' : '\n')) {
      return false;
    }
    record->fields[i] = (nvtxa__csv_field){data + start, marks[i] - start, false};
    start = marks[i] + 1;
  }
  nvtxa__csv_field *last = &record->fields[count - 1];
  last->length -= last->length > 0 && last->data[last->length - 1] == '\r';
  record->count = count;
  record->consumed = start - (cursor->start - cursor->marked);
  cursor->is_line = true;
  return true;
}

/* ---- records ---- */

static nvtxa_status bad_record(const nvtxa__cursor *cursor, nvtxa_error **reterr) {
  const nvtxa__csv_record *record = &cursor->record;
  if (!record->miscounted) {
    return nvtxa__cursor_fail(cursor, NVTXA_ERROR_REPORT_SYNTAX, NULL, nvtxa__damaged, reterr, "%s",
                              record->problem);
  }
  return nvtxa__cursor_fail(cursor, NVTXA_ERROR_REPORT_SYNTAX, NULL, nvtxa__damaged, reterr,
                            "%s: %zu where the header has %zu", record->problem, record->count,
                            cursor->report->layout.column_count);
}

/* Editors leave empty lines, at the end above all. They are no records; but a line break may be the
 * first character of a name, so this is asked only when there is no record to be read. Then none
 * begins at the empty lines that follow, either: its name would only have fewer line breaks. */
static bool skip_blank_lines(nvtxa__cursor *cursor) {
  size_t before = cursor->start;
  for (;;) {
    const char *data = cursor->data + cursor->start;
    size_t length = rest_of(cursor);
    size_t step = 0;
    if (length >= 1 && data[0] == '\n') {
      step = 1;
    } else if (length >= 2 && memcmp(data, "\r\n", 2) == 0) {
      step = 2;
    } else if (is_at_end(cursor) && length == 1 && data[0] == '\r') {
      step = 1;
    }
    if (step == 0) {
      return cursor->start > before;
    }
    cursor->start += step;
    cursor->line++;
  }
}

/* The next record; `layout` is NULL for a header. *ret_done: there is none. */
static nvtxa_status read_record(nvtxa__cursor *cursor, const nvtxa__csv_layout *layout,
                                bool *ret_done, nvtxa_error **reterr) {
  *ret_done = false;
  for (;;) {
    size_t length = rest_of(cursor);
    bool final = is_at_end(cursor);
    if (length == 0 && final) {
      *ret_done = true;
      return NVTXA_OK;
    }
    nvtxa__csv_result result = length == 0 ? NVTXA__CSV_MORE
                                           : nvtxa__csv_read(layout, cursor->data + cursor->start,
                                                             length, final, &cursor->record);
    if (result == NVTXA__CSV_RECORD) {
      return cursor->record.consumed <= NVTXA__LONGEST_RECORD ? NVTXA_OK : too_long(cursor, reterr);
    }
    if (result == NVTXA__CSV_MEMORY) {
      return nvtxa__out_of_memory(reterr);
    }
    if (result == NVTXA__CSV_BAD && layout != NULL && skip_blank_lines(cursor)) {
      continue;
    }
    if (result == NVTXA__CSV_BAD) {
      return bad_record(cursor, reterr);
    }
    nvtxa_status status = fill(cursor, reterr);
    if (status != NVTXA_OK) {
      return status;
    }
  }
}

nvtxa_status nvtxa__cursor_read_header(nvtxa__cursor *cursor, bool *ret_done,
                                       nvtxa_error **reterr) {
  return read_record(cursor, NULL, ret_done, reterr);
}

nvtxa_status nvtxa__cursor_read(nvtxa__cursor *cursor, bool *ret_done, nvtxa_error **reterr) {
  *ret_done = false;
  return read_line(cursor) ? NVTXA_OK
                           : read_record(cursor, &cursor->report->layout, ret_done, reterr);
}

void nvtxa__cursor_advance(nvtxa__cursor *cursor) {
  if (cursor->is_line) {
    cursor->line++;
    cursor->start += cursor->record.consumed;
    cursor->next_mark += cursor->record.count;
    return;
  }
  const char *data = cursor->data + cursor->start;
  const char *end = data + cursor->record.consumed;
  while ((data = memchr(data, '\n', (size_t)(end - data))) != NULL) {
    cursor->line++;
    data++;
  }
  cursor->start += cursor->record.consumed;
  while (cursor->next_mark < cursor->mark_count &&
         cursor->marked + cursor->marks[cursor->next_mark] < cursor->start) {
    cursor->next_mark++;
  }
}
