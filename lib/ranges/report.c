/*
 * A CSV report as a stream: the header tells which column is which, each record becomes a row of
 * the table under construction. Only a window of the text is in memory at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "csv-internal.h"
#include "ranges-internal.h"

enum {
  READ_SIZE = 1 << 18,
  LONGEST_RECORD = 64 << 20, /* bytes; named in ranges.h */
  RECORDS_A_TICK = 4096,
};

/* ---- columns ---- */

typedef struct known_column {
  const char *name;
  nvtxa__csv_kind kind;
} known_column;

enum host_column {
  HOST_START,
  HOST_END,
  HOST_DURATION,
  HOST_CHILD,
  HOST_EXCLUSIVE,
  HOST_NAME,
  HOST_PID,
  HOST_TID,
  HOST_LEVEL,
  HOST_CHILD_COUNT,
  HOST_RANGE,
  HOST_PARENT,
};

static const known_column host_columns[] = {
    [HOST_START] = {"Start (ns)", NVTXA__CSV_INTEGER},
    [HOST_END] = {"End (ns)", NVTXA__CSV_INTEGER},
    [HOST_DURATION] = {"Duration (ns)", NVTXA__CSV_INTEGER},
    [HOST_CHILD] = {"DurChild (ns)", NVTXA__CSV_INTEGER},
    [HOST_EXCLUSIVE] = {"DurNonChild (ns)", NVTXA__CSV_INTEGER},
    [HOST_NAME] = {"Name", NVTXA__CSV_NAME},
    [HOST_PID] = {"PID", NVTXA__CSV_INTEGER},
    [HOST_TID] = {"TID", NVTXA__CSV_INTEGER},
    [HOST_LEVEL] = {"Lvl", NVTXA__CSV_LEVEL},
    [HOST_CHILD_COUNT] = {"NumChild", NVTXA__CSV_INTEGER},
    [HOST_RANGE] = {"RangeId", NVTXA__CSV_INTEGER},
    [HOST_PARENT] = {"ParentId", NVTXA__CSV_MAYBE},
};

enum gpu_column {
  GPU_NAME,
  GPU_PROJECTED_START,
  GPU_PROJECTED_DURATION,
  GPU_START,
  GPU_DURATION,
  GPU_STYLE,
  GPU_PID,
  GPU_TID,
  GPU_OPERATIONS,
  GPU_LEVEL,
  GPU_CHILD_COUNT,
  GPU_RANGE,
  GPU_PARENT,
};

/* Cells that are empty in the row for GPU work outside every range are MAYBE. NumChild is not held
 * against the rows: the report leaves ranges out that it counts as children. */
static const known_column gpu_columns[] = {
    [GPU_NAME] = {"Name", NVTXA__CSV_NAME},
    [GPU_PROJECTED_START] = {"Projected Start (ns)", NVTXA__CSV_INTEGER},
    [GPU_PROJECTED_DURATION] = {"Projected Duration (ns)", NVTXA__CSV_INTEGER},
    [GPU_START] = {"Orig Start (ns)", NVTXA__CSV_MAYBE},
    [GPU_DURATION] = {"Orig Duration (ns)", NVTXA__CSV_MAYBE},
    [GPU_STYLE] = {"Style", NVTXA__CSV_WORD},
    [GPU_PID] = {"PID", NVTXA__CSV_INTEGER},
    [GPU_TID] = {"TID", NVTXA__CSV_INTEGER},
    [GPU_OPERATIONS] = {"NumGPUOps", NVTXA__CSV_INTEGER},
    [GPU_LEVEL] = {"Lvl", NVTXA__CSV_LEVEL},
    [GPU_CHILD_COUNT] = {"NumChild", NVTXA__CSV_MAYBE},
    [GPU_RANGE] = {"RangeId", NVTXA__CSV_MAYBE},
    [GPU_PARENT] = {"ParentId", NVTXA__CSV_MAYBE},
};

/* Columns that are not needed but help to tell where a record ends. */
static const known_column helpful_columns[] = {
    {"NameTree", NVTXA__CSV_NAME_TREE},
    {"RangeStack", NVTXA__CSV_WORD},
};

enum { MOST_COLUMNS = NVTXA__COUNT(gpu_columns) };

/* ---- versions ---- */

nvtxa_quoting nvtxa_ranges_quoting_of(nvtxa_text nsys_version) {
  int year;
  int minor;
  if (nsys_version.data == NULL) {
    return NVTXA_QUOTING_AUTO;
  }
  const char *number = nsys_version.data + strcspn(nsys_version.data, "0123456789");
  if (sscanf(number, "%4d.%4d", &year, &minor) != 2) {
    return NVTXA_QUOTING_AUTO;
  }
  return year < 2024 || (year == 2024 && minor < 5) ? NVTXA_QUOTING_NSYS : NVTXA_QUOTING_AUTO;
}

/* ---- the reader ---- */

typedef struct reader {
  nvtxa_ranges_builder *builder;
  nvtxa_report report;
  const nvtxa_hooks *hooks;
  const char *shown;           /* file name for errors */
  const known_column *columns; /* needed by this report */
  size_t column_count;
  size_t place[MOST_COLUMNS]; /* where each needed column stands in a record */
  nvtxa__csv_layout layout;
  nvtxa__csv_record record;

  int fd; /* -1: all input is in the window from the start */
  bool at_end;
  char *window; /* owned where fd >= 0 */
  size_t start; /* of what is not read yet */
  size_t filled;
  size_t capacity;
  uint64_t line; /* of what is at `start` */
} reader;

static nvtxa_status fail_at(const reader *r, nvtxa_status status, const char *field,
                            const char *hint, nvtxa_error **reterr, const char *format, ...)
    NVTXA__PRINTF(6, 7);

static nvtxa_status fail_at(const reader *r, nvtxa_status status, const char *field,
                            const char *hint, nvtxa_error **reterr, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return nvtxa__fail(reterr, status,
                     &(nvtxa__where){
                         .file = r->shown,
                         .line = r->line,
                         .field = field,
                         .hint = hint,
                     },
                     "%s", message);
}

static const char damaged[] = "The report is damaged or was edited.";

/* Get more of the input behind what is in the window. */
static nvtxa_status fill(reader *r, nvtxa_error **reterr) {
  if (nvtxa__cancelled(r->hooks)) {
    return nvtxa__cancel_error(reterr);
  }
  if (r->start > 0) {
    memmove(r->window, r->window + r->start, r->filled - r->start);
    r->filled -= r->start;
    r->start = 0;
  }
  if (r->filled > LONGEST_RECORD) {
    return fail_at(r, NVTXA_ERROR_LIMIT, NULL, damaged, reterr,
                   "a record of more than %d bytes, the limit for one record", LONGEST_RECORD);
  }
  /* Twice as much as there is, so that a long record is not looked at again for each little piece.
   */
  size_t wanted = r->filled + (r->filled > READ_SIZE ? r->filled : READ_SIZE);
  if (nvtxa__reserve(&r->window, &r->capacity, wanted, 1) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  ssize_t got;
  do {
    got = read(r->fd, r->window + r->filled, r->capacity - r->filled);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.file = r->shown, .errnum = errno},
                       "cannot read");
  }
  r->at_end = got == 0;
  r->filled += (size_t)got;
  return NVTXA_OK;
}

/* Step over the record that was read. */
static void advance(reader *r) {
  const char *data = r->window + r->start;
  const char *end = data + r->record.consumed;
  while ((data = memchr(data, '\n', (size_t)(end - data))) != NULL) {
    r->line++;
    data++;
  }
  r->start += r->record.consumed;
}

static nvtxa_status bad_record(const reader *r, nvtxa_error **reterr) {
  if (!r->record.miscounted) {
    return fail_at(r, NVTXA_ERROR_REPORT_SYNTAX, NULL, damaged, reterr, "%s", r->record.problem);
  }
  return fail_at(r, NVTXA_ERROR_REPORT_SYNTAX, NULL, damaged, reterr,
                 "%s: %zu where the header has %zu", r->record.problem, r->record.count,
                 r->layout.column_count);
}

/* Editors leave empty lines, at the end above all. They are no records; but a line break may be the
 * first character of a name, so this is asked only when there is no record to be read. */
static bool skip_blank_line(reader *r) {
  const char *data = r->window + r->start;
  size_t length = r->filled - r->start;
  size_t step = data[0] == '\n' ? 1 : length >= 2 && memcmp(data, "\r\n", 2) == 0 ? 2 : 0;
  if (step == 0 && r->at_end && length == 1 && data[0] == '\r') {
    step = 1;
  }
  r->start += step;
  r->line += step > 0;
  return step > 0;
}

/* The next record. *ret_done: there is none. */
static nvtxa_status next_record(reader *r, const nvtxa__csv_layout *layout, bool *ret_done,
                                nvtxa_error **reterr) {
  *ret_done = false;
  for (;;) {
    size_t length = r->filled - r->start;
    if (length == 0 && r->at_end) {
      *ret_done = true;
      return NVTXA_OK;
    }
    nvtxa__csv_result result =
        length == 0 ? NVTXA__CSV_MORE
                    : nvtxa__csv_read(layout, r->window + r->start, length, r->at_end, &r->record);
    if (result == NVTXA__CSV_RECORD) {
      return NVTXA_OK;
    }
    if (result == NVTXA__CSV_MEMORY) {
      return nvtxa__out_of_memory(reterr);
    }
    if (result == NVTXA__CSV_BAD && layout != NULL && skip_blank_line(r)) {
      continue;
    }
    if (result == NVTXA__CSV_BAD) {
      return bad_record(r, reterr);
    }
    nvtxa_status status = fill(r, reterr);
    if (status != NVTXA_OK) {
      return status;
    }
  }
}

/* ---- the header ---- */

static bool field_is(nvtxa__csv_field field, const char *name) {
  return nvtxa__text_is((nvtxa_text){field.data, field.length}, name);
}

static const char *why_refused(const char *header, size_t length) {
  static const char *const units[] = {"(us)", "(ms)", "(s)", "(usec)", "(msec)", "(sec)"};
  for (size_t i = 0; i < NVTXA__COUNT(units); i++) {
    if (memmem(header, length, units[i], strlen(units[i])) != NULL) {
      return "Times must be in nanoseconds: make the report without --timeunit.";
    }
  }
  if (memmem(header, length, ":ts_ns", 6) != NULL || memmem(header, length, ":dur_ns", 7) != NULL) {
    return "This is what the report's script prints by itself: make the report with `nsys stats "
           "--format csv`.";
  }
  return "The first line must be the header that `nsys stats --format csv` writes.";
}

static nvtxa_status refuse_header(const reader *r, size_t missing_count,
                                  const nvtxa__buffer *missing, nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  const char *header = r->window + r->start;
  size_t length = r->record.consumed;
  while (length > 0 && (header[length - 1] == '\n' || header[length - 1] == '\r')) {
    length--;
  }
  const char *report = nvtxa__report_name(r->report, NVTXA__NAMING_NEW);
  nvtxa__quote(quoted, header, length);
  return missing_count == r->column_count
             ? fail_at(r, NVTXA_ERROR_REPORT_COLUMNS, NULL, why_refused(header, length), reterr,
                       "%s: the first line is no header of this report; it reads '%s'", report,
                       quoted)
             : fail_at(r, NVTXA_ERROR_REPORT_COLUMNS, NULL, why_refused(header, length), reterr,
                       "%s: the header lacks %s; it reads '%s'", report, missing->data, quoted);
}

/* Which column is which. */
static nvtxa_status map_header(reader *r, nvtxa_error **reterr) {
  nvtxa__buffer missing = {0};
  size_t missing_count = 0;
  nvtxa_status status = NVTXA_OK;
  const nvtxa__csv_record *header = &r->record;
  r->layout.column_count = header->count;
  r->layout.kinds = nvtxa__alloc_zero(header->count, sizeof *r->layout.kinds);
  if (r->layout.kinds == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < header->count; i++) {
    r->layout.header_quoted = r->layout.header_quoted || header->fields[i].quoted;
    for (size_t k = 0; k < NVTXA__COUNT(helpful_columns); k++) {
      if (field_is(header->fields[i], helpful_columns[k].name)) {
        r->layout.kinds[i] = helpful_columns[k].kind;
      }
    }
  }
  for (size_t k = 0; k < r->column_count; k++) {
    size_t i = 0;
    while (i < header->count && !field_is(header->fields[i], r->columns[k].name)) {
      i++;
    }
    r->place[k] = i;
    missing_count += i == header->count;
    if (i < header->count) {
      r->layout.kinds[i] = r->columns[k].kind;
    } else if (nvtxa__buffer_printf(&missing, "%s'%s'", missing.length == 0 ? "" : ", ",
                                    r->columns[k].name) != 0) {
      status = nvtxa__out_of_memory(reterr);
    }
  }
  if (status == NVTXA_OK && missing.length > 0) {
    status = refuse_header(r, missing_count, &missing, reterr);
  }
  nvtxa__buffer_free(&missing);
  return status;
}

/* *ret_empty: the report has not even a header. */
static nvtxa_status read_header(reader *r, bool *ret_empty, nvtxa_error **reterr) {
  nvtxa_status status = NVTXA_OK;
  while (!r->at_end && r->filled < 3 && status == NVTXA_OK) {
    status = fill(r, reterr);
  }
  if (status == NVTXA_OK && r->filled >= 3 && memcmp(r->window, "\xEF\xBB\xBF", 3) == 0) {
    r->start = 3;
  }
  if (status == NVTXA_OK) {
    status = next_record(r, NULL, ret_empty, reterr);
  }
  if (status != NVTXA_OK || *ret_empty) {
    return status;
  }
  status = map_header(r, reterr);
  advance(r);
  return status;
}

/* ---- rows ---- */

static nvtxa__csv_field cell(const reader *r, size_t column) {
  return r->record.fields[r->place[column]];
}

static nvtxa_status bad_integer(const reader *r, size_t column, nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  nvtxa__csv_field field = cell(r, column);
  return fail_at(r, NVTXA_ERROR_REPORT_VALUE, r->columns[column].name, damaged, reterr,
                 "'%s' is not a 64-bit integer", nvtxa__quote(quoted, field.data, field.length));
}

/* The integers of a row, by column; those that may be nothing are left alone where they are. */
static nvtxa_status read_integers(const reader *r, int64_t values[MOST_COLUMNS],
                                  bool present[MOST_COLUMNS], nvtxa_error **reterr) {
  for (size_t k = 0; k < r->column_count; k++) {
    nvtxa__csv_kind kind = r->columns[k].kind;
    present[k] = false;
    values[k] = 0;
    if (kind == NVTXA__CSV_NAME || kind == NVTXA__CSV_WORD) {
      continue;
    }
    nvtxa__csv_field field = cell(r, k);
    if (nvtxa__parse_int64(field.data, field.length, &values[k])) {
      present[k] = true;
    } else if (kind == NVTXA__CSV_INTEGER || !nvtxa__csv_is_nothing(field)) {
      return bad_integer(r, k, reterr);
    }
  }
  return NVTXA_OK;
}

static nvtxa_status contradiction(const reader *r, size_t column, const char *what,
                                  nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  nvtxa__csv_field field = cell(r, column);
  return fail_at(r, NVTXA_ERROR_REPORT_VALUE, r->columns[column].name, damaged, reterr, "'%s' %s",
                 nvtxa__quote(quoted, field.data, field.length), what);
}

static nvtxa_status add_host_row(reader *r, nvtxa_error **reterr) {
  int64_t v[MOST_COLUMNS] = {0};
  bool present[MOST_COLUMNS] = {false};
  int64_t check;
  nvtxa_status status = read_integers(r, v, present, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (v[HOST_DURATION] < 0) {
    return contradiction(r, HOST_DURATION, "is negative", reterr);
  }
  if (__builtin_add_overflow(v[HOST_START], v[HOST_DURATION], &check) || check != v[HOST_END]) {
    return contradiction(r, HOST_END, "is not start plus duration", reterr);
  }
  if (__builtin_add_overflow(v[HOST_CHILD], v[HOST_EXCLUSIVE], &check) ||
      check != v[HOST_DURATION]) {
    return contradiction(r, HOST_EXCLUSIVE, "is not duration less child duration", reterr);
  }
  if (v[HOST_CHILD_COUNT] < 0) {
    return contradiction(r, HOST_CHILD_COUNT, "is negative", reterr);
  }
  nvtxa__csv_field name = cell(r, HOST_NAME);
  nvtxa_range range = {
      .name = {name.data, name.length},
      .process_id = v[HOST_PID],
      .thread_id = v[HOST_TID],
      .range_id = v[HOST_RANGE],
      .has_parent = present[HOST_PARENT],
      .parent_id = v[HOST_PARENT],
      .start_ns = v[HOST_START],
      .duration_ns = v[HOST_DURATION],
      .child_total_ns = v[HOST_CHILD],
  };
  return nvtxa__builder_add_row(r->builder, &range, v[HOST_CHILD_COUNT], reterr);
}

static nvtxa_status add_gpu_row(reader *r, nvtxa_error **reterr) {
  int64_t v[MOST_COLUMNS] = {0};
  bool present[MOST_COLUMNS] = {false};
  int64_t check;
  nvtxa_status status = read_integers(r, v, present, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (v[GPU_OPERATIONS] < 0) {
    return contradiction(r, GPU_OPERATIONS, "is negative", reterr);
  }
  if (!present[GPU_RANGE]) {
    nvtxa__unattributed more = {
        .operations = v[GPU_OPERATIONS],
        .start_ns = v[GPU_PROJECTED_START],
        .thread = {v[GPU_PID], v[GPU_TID]},
    };
    return !__builtin_add_overflow(more.start_ns, v[GPU_PROJECTED_DURATION], &more.end_ns) &&
                   nvtxa__builder_add_unattributed(r->builder, &more)
               ? NVTXA_OK
               : contradiction(r, GPU_OPERATIONS, "makes the sum pass 64 bits", reterr);
  }
  if (!present[GPU_START] || !present[GPU_DURATION]) {
    return bad_integer(r, present[GPU_START] ? GPU_DURATION : GPU_START, reterr);
  }
  if (v[GPU_PROJECTED_DURATION] < 0 || v[GPU_DURATION] < 0) {
    size_t column = v[GPU_DURATION] < 0 ? GPU_DURATION : GPU_PROJECTED_DURATION;
    return contradiction(r, column, "is negative", reterr);
  }
  if (__builtin_add_overflow(v[GPU_START], v[GPU_DURATION], &check) ||
      __builtin_add_overflow(v[GPU_PROJECTED_START], v[GPU_PROJECTED_DURATION], &check)) {
    return contradiction(r, GPU_DURATION, "ends beyond 64 bits", reterr);
  }
  nvtxa__csv_field name = cell(r, GPU_NAME);
  nvtxa__csv_field style = cell(r, GPU_STYLE);
  nvtxa_range range = {
      .name = {name.data, name.length},
      .process_id = v[GPU_PID],
      .thread_id = v[GPU_TID],
      .range_id = v[GPU_RANGE],
      .has_parent = present[GPU_PARENT],
      .parent_id = v[GPU_PARENT],
      .start_ns = v[GPU_START],
      .duration_ns = v[GPU_DURATION],
      .style = {style.data, style.length},
      .projected_start_ns = v[GPU_PROJECTED_START],
      .projected_duration_ns = v[GPU_PROJECTED_DURATION],
      .gpu_operation_count = v[GPU_OPERATIONS],
  };
  return nvtxa__builder_add_row(r->builder, &range, -1, reterr);
}

static nvtxa_status read_rows(reader *r, nvtxa_error **reterr) {
  nvtxa__activity activity;
  size_t records = 0;
  nvtxa__activity_start(&activity, r->hooks,
                        r->report == NVTXA_REPORT_PUSHPOP_TRACE
                            ? "reading the host ranges"
                            : "reading the GPU-projected ranges");
  for (;;) {
    bool done;
    nvtxa_status status = next_record(r, &r->layout, &done, reterr);
    if (status != NVTXA_OK || done) {
      return status;
    }
    status =
        r->report == NVTXA_REPORT_PUSHPOP_TRACE ? add_host_row(r, reterr) : add_gpu_row(r, reterr);
    if (status != NVTXA_OK) {
      return status;
    }
    advance(r);
    if (++records % RECORDS_A_TICK == 0) {
      nvtxa__activity_tick(&activity);
    }
  }
}

static nvtxa_status read_report(reader *r, const nvtxa_ranges_options *options,
                                nvtxa_ranges **ret_ranges, nvtxa_error **reterr) {
  bool empty;
  bool host = r->report == NVTXA_REPORT_PUSHPOP_TRACE;
  nvtxa_status status = nvtxa_ranges_builder_new(r->report, options, &r->builder, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  r->hooks = options == NULL ? NULL : options->hooks;
  r->layout.quoting = options == NULL ? NVTXA_QUOTING_AUTO : options->quoting;
  r->columns = host ? host_columns : gpu_columns;
  r->column_count = host ? NVTXA__COUNT(host_columns) : NVTXA__COUNT(gpu_columns);
  r->line = 1;
  nvtxa__builder_set_source(r->builder, r->shown);
  status = read_header(r, &empty, reterr);
  if (status == NVTXA_OK && !empty) {
    status = read_rows(r, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa_ranges_builder_finish(r->builder, ret_ranges, reterr);
  }
  nvtxa_ranges_builder_free(r->builder);
  nvtxa__csv_record_free(&r->record);
  free(r->layout.kinds);
  return status;
}

nvtxa_status nvtxa_ranges_read_file(const char *path, nvtxa_report report,
                                    const nvtxa_ranges_options *options, nvtxa_ranges **ret_ranges,
                                    nvtxa_error **reterr) {
  if (path == NULL || ret_ranges == NULL) {
    return nvtxa__invalid(reterr, "path or ret_ranges is NULL");
  }
  nvtxa_ranges_options own = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_error *cause = NULL;
  reader r = {.report = report, .shown = path};
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  status = nvtxa__file_open(AT_FDCWD, path, path, &r.fd, &cause);
  if (status != NVTXA_OK && cause != NULL && nvtxa_error_errno(cause) == ENOENT) {
    nvtxa_error_free(cause);
    return nvtxa__fail(reterr, NVTXA_ERROR_REPORT_MISSING, &(nvtxa__where){.file = path},
                       "there is no such report");
  }
  if (status != NVTXA_OK) {
    return nvtxa__pass_on(reterr, status, cause);
  }
  nvtxa__log(own.hooks, NVTXA_LOG_INFO, "reading %s", path);
  status = read_report(&r, &own, ret_ranges, reterr);
  free(r.window);
  close(r.fd);
  return status;
}

nvtxa_status nvtxa_ranges_read_buffer(const char *data, size_t length, nvtxa_report report,
                                      const nvtxa_ranges_options *options,
                                      nvtxa_ranges **ret_ranges, nvtxa_error **reterr) {
  if ((data == NULL && length > 0) || ret_ranges == NULL) {
    return nvtxa__invalid(reterr, "data or ret_ranges is NULL");
  }
  nvtxa_ranges_options own = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  reader r = {
      .report = report,
      .shown = (unsigned)report < NVTXA_REPORT_COUNT ? nvtxa__report_name(report, NVTXA__NAMING_NEW)
                                                     : NULL,
      .fd = -1,
      .at_end = true,
      .window = (char *)data,
      .filled = length,
  };
  return read_report(&r, &own, ret_ranges, reterr);
}
