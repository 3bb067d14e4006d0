/*
 * CSV records as nsys and everybody else writes them.
 *
 * There are two ways to read a record. RFC 4180: a field in quotes may hold commas, line breaks and
 * doubled quotes. And nsys before 2024.5, which is not RFC 4180: it puts quotes around a field only
 * where it holds a comma, doubles none inside and quotes no line break, so that the name `say "hi"`
 * stands bare, `a,"b` stands as `"a,"b"`, and a name with a line break runs over the line. Such a
 * record can be read all the same, since the columns around the name are numbers and NameTree, the
 * last one, repeats the name. A name in the last column ends with its line: a bare one holds no
 * comma, and one in quotes goes on only to lines that begin no record.
 *
 * A line without quotes and with the right number of fields reads the same in both ways. For the
 * rest, RFC 4180 comes first unless the caller knows better, and a reading counts only if numbers
 * stand where numbers belong and NameTree repeats the name.
 */
#include "csv-internal.h"

#include <stdlib.h>
#include <string.h>

/* How far ahead one reading is tried before the other, so that an opening quote that is part of a
 * name does not swallow the file. Windows grow from here by doubling; they start at the record, so
 * what is read never depends on how the input was cut. */
enum { FIRST_WINDOW = 1 << 18 };

/* The longest name that is looked for in quotes with commas; nsys keeps names below 70,000 bytes.
 */
enum { LONGEST_WRAPPED_NAME = 1 << 17 };

bool nvtxa__csv_is_nothing(nvtxa__csv_field field) {
  return field.length == 0 || (field.length == 4 && memcmp(field.data, "None", 4) == 0);
}

void nvtxa__csv_record_free(nvtxa__csv_record *record) {
  free(record->fields);
  nvtxa__buffer_free(&record->scratch);
  *record = (nvtxa__csv_record){0};
}

static nvtxa__csv_result bad(nvtxa__csv_record *record, const char *problem) {
  record->problem = problem;
  record->miscounted = false;
  return NVTXA__CSV_BAD;
}

static bool add_field(nvtxa__csv_record *record, const char *data, size_t length, bool quoted) {
  if (nvtxa__reserve(&record->fields, &record->capacity, record->count + 1,
                     sizeof *record->fields) != 0) {
    return false;
  }
  record->fields[record->count++] = (nvtxa__csv_field){data, length, quoted};
  return true;
}

/* ---- RFC 4180 ---- */

/* The length of the line break at `at`: 1 or 2; 0 where there is none. */
static size_t line_break(const char *data, size_t length, size_t at) {
  if (at < length && data[at] == '\n') {
    return 1;
  }
  return at + 1 < length && data[at] == '\r' && data[at + 1] == '\n' ? 2 : 0;
}

/* A field in quotes that begins at *at; *at then stands behind its closing quote. */
static nvtxa__csv_result read_quoted(const char *data, size_t length, bool final, size_t *at,
                                     nvtxa__csv_record *record) {
  size_t start = *at + 1;
  size_t from = start;
  bool doubled = false;
  for (;;) {
    const char *quote = memchr(data + from, '"', length - from);
    if (quote == NULL) {
      return final ? bad(record, "a quote is never closed") : NVTXA__CSV_MORE;
    }
    size_t end = (size_t)(quote - data);
    if (end + 1 == length && !final) {
      return NVTXA__CSV_MORE;
    }
    if (end + 1 < length && data[end + 1] == '"') {
      doubled = true;
      from = end + 2;
      continue;
    }
    *at = end + 1;
    if (!doubled) {
      return add_field(record, data + start, end - start, true) ? NVTXA__CSV_RECORD
                                                                : NVTXA__CSV_MEMORY;
    }
    /* Its place in the scratch space, which may move: made a pointer by rebase(). */
    size_t offset = record->scratch.length;
    for (size_t i = start; i < end; i++) {
      const char *next = memchr(data + i, '"', end - i);
      size_t stop = next == NULL ? end : (size_t)(next - data) + 1;
      if (nvtxa__buffer_add(&record->scratch, data + i, stop - i) != 0) {
        return NVTXA__CSV_MEMORY;
      }
      i = stop; /* and one more: the second of two quotes */
    }
    return add_field(record, NULL, record->scratch.length - offset, true) ? NVTXA__CSV_RECORD
                                                                          : NVTXA__CSV_MEMORY;
  }
}

/* Point the fields that were copied into the scratch space there. */
static void rebase(nvtxa__csv_record *record) {
  size_t offset = 0;
  for (size_t i = 0; i < record->count; i++) {
    if (record->fields[i].data == NULL) {
      record->fields[i].data = record->scratch.data + offset;
      offset += record->fields[i].length;
    }
  }
}

static nvtxa__csv_result read_rfc4180(const char *data, size_t length, bool final,
                                      nvtxa__csv_record *record) {
  size_t at = 0;
  record->count = 0;
  record->scratch.length = 0;
  for (;;) {
    if (at < length && data[at] == '"') {
      nvtxa__csv_result result = read_quoted(data, length, final, &at, record);
      if (result != NVTXA__CSV_RECORD) {
        return result;
      }
    } else {
      size_t start = at;
      while (at < length && data[at] != ',' && data[at] != '\n') {
        at++;
      }
      size_t end = at;
      if (at < length && data[at] == '\n' && end > start && data[end - 1] == '\r') {
        end--;
        at--;
      }
      if (!add_field(record, data + start, end - start, false)) {
        return NVTXA__CSV_MEMORY;
      }
    }
    if (at < length && data[at] == ',') {
      at++;
      continue;
    }
    if (at >= length || (at + 1 == length && data[at] == '\r')) {
      record->consumed = length;
      rebase(record);
      return final ? NVTXA__CSV_RECORD : NVTXA__CSV_MORE;
    }
    size_t step = line_break(data, length, at);
    if (step == 0) {
      return bad(record, "text follows a closing quote");
    }
    record->consumed = at + step;
    rebase(record);
    return NVTXA__CSV_RECORD;
  }
}

/* ---- which reading ---- */

static bool fits(nvtxa__csv_kind kind, nvtxa__csv_field field) {
  int64_t number;
  switch (kind) {
    case NVTXA__CSV_INTEGER:
      return nvtxa__parse_int64(field.data, field.length, &number);
    case NVTXA__CSV_MAYBE:
    case NVTXA__CSV_LEVEL:
      return nvtxa__csv_is_nothing(field) || nvtxa__parse_int64(field.data, field.length, &number);
    case NVTXA__CSV_WORD:
      return memchr(field.data, '"', field.length) == NULL &&
             memchr(field.data, '\n', field.length) == NULL;
    default:
      return true;
  }
}

static bool needs_quotes(nvtxa__csv_field field) {
  for (size_t i = 0; i < field.length; i++) {
    if (strchr(",\"\r\n", field.data[i]) != NULL && field.data[i] != '\0') {
      return true;
    }
  }
  return false;
}

/* Whether NameTree is dashes and then the name. */
static bool repeats(nvtxa__csv_field tree, nvtxa__csv_field name) {
  if (tree.length < name.length ||
      memcmp(tree.data + tree.length - name.length, name.data, name.length) != 0) {
    return false;
  }
  for (size_t i = 0; i < tree.length - name.length; i++) {
    if (tree.data[i] != '-') {
      return false;
    }
  }
  return true;
}

/* Whether the record, read as RFC 4180, is what such a writer would write. */
static bool convincing(const nvtxa__csv_layout *layout, const nvtxa__csv_record *record) {
  const nvtxa__csv_field *name = NULL;
  const nvtxa__csv_field *tree = NULL;
  bool words_quoted = layout->header_quoted;
  for (size_t i = 0; i < record->count; i++) {
    const nvtxa__csv_field *field = &record->fields[i];
    if (!fits(layout->kinds[i], *field)) {
      return false;
    }
    if (layout->kinds[i] == NVTXA__CSV_NAME) {
      name = field;
    } else if (layout->kinds[i] == NVTXA__CSV_NAME_TREE) {
      tree = field;
    } else {
      words_quoted = words_quoted || field->quoted;
    }
  }
  if (name == NULL) {
    return true;
  }
  if (tree != NULL && !repeats(*tree, *name)) {
    return false;
  }
  /* A writer that puts quotes only where they are needed put these there as part of the name. */
  return words_quoted || !name->quoted || needs_quotes(*name);
}

/* ---- nsys before 2024.5 ---- */

/* A field that ends at a comma, of a kind that never holds one. */
static nvtxa__csv_result read_plain(const nvtxa__csv_layout *layout, const char *data,
                                    size_t length, bool final, size_t *at,
                                    nvtxa__csv_record *record) {
  const char *comma = memchr(data + *at, ',', length - *at);
  if (comma == NULL) {
    return final ? NVTXA__CSV_BAD : NVTXA__CSV_MORE;
  }
  nvtxa__csv_field field = {data + *at, (size_t)(comma - data) - *at, false};
  nvtxa__csv_kind kind = layout->kinds[record->count];
  if (kind == NVTXA__CSV_OTHER ? memchr(field.data, '\n', field.length) != NULL
                               : !fits(kind, field)) {
    return NVTXA__CSV_BAD;
  }
  *at = (size_t)(comma - data) + 1;
  return add_field(record, field.data, field.length, false) ? NVTXA__CSV_RECORD : NVTXA__CSV_MEMORY;
}

/* What must stand at `at`: MORE where the input is too short to tell. */
static nvtxa__csv_result expect(const char *data, size_t length, bool final, size_t *at,
                                const char *wanted, size_t wanted_length) {
  size_t have = length - *at < wanted_length ? length - *at : wanted_length;
  if (memcmp(data + *at, wanted, have) != 0) {
    return NVTXA__CSV_BAD;
  }
  if (have < wanted_length) {
    return final ? NVTXA__CSV_BAD : NVTXA__CSV_MORE;
  }
  *at += wanted_length;
  return NVTXA__CSV_RECORD;
}

/* NameTree: the record's last field, known to the byte once name and level are. */
static nvtxa__csv_result read_name_tree(const char *data, size_t length, bool final, size_t *at,
                                        nvtxa__csv_field name, int64_t level,
                                        nvtxa__csv_record *record) {
  nvtxa__csv_result result = NVTXA__CSV_RECORD;
  if (name.quoted) {
    result = expect(data, length, final, at, "\"", 1);
  }
  size_t start = *at;
  for (int64_t i = 0; i < level && result == NVTXA__CSV_RECORD; i++) {
    result = expect(data, length, final, at, "--", 2);
  }
  if (result == NVTXA__CSV_RECORD) {
    result = expect(data, length, final, at, name.data, name.length);
  }
  size_t end = *at;
  if (result == NVTXA__CSV_RECORD && name.quoted) {
    result = expect(data, length, final, at, "\"", 1);
  }
  if (result != NVTXA__CSV_RECORD) {
    return result;
  }
  return add_field(record, data + start, end - start, name.quoted) ? NVTXA__CSV_RECORD
                                                                   : NVTXA__CSV_MEMORY;
}

/* The last field, where it is not NameTree: to the end of the line. */
static nvtxa__csv_result read_last(const nvtxa__csv_layout *layout, const char *data, size_t length,
                                   bool final, size_t *at, nvtxa__csv_record *record) {
  const char *newline = memchr(data + *at, '\n', length - *at);
  if (newline == NULL && !final) {
    return NVTXA__CSV_MORE;
  }
  size_t end = newline == NULL ? length : (size_t)(newline - data);
  if (end > *at && data[end - 1] == '\r') {
    end--;
  }
  nvtxa__csv_field field = {data + *at, end - *at, false};
  if (memchr(field.data, ',', field.length) != NULL || !fits(layout->kinds[record->count], field)) {
    return NVTXA__CSV_BAD;
  }
  *at = end;
  return add_field(record, field.data, field.length, false) ? NVTXA__CSV_RECORD : NVTXA__CSV_MEMORY;
}

/* Everything behind the name, which ends just before the comma at `at`. */
static nvtxa__csv_result read_tail(const nvtxa__csv_layout *layout, const char *data, size_t length,
                                   bool final, size_t at, nvtxa__csv_field name,
                                   nvtxa__csv_record *record) {
  int64_t level = 0;
  nvtxa__csv_result result = expect(data, length, final, &at, ",", 1);
  if (result == NVTXA__CSV_RECORD && !add_field(record, name.data, name.length, name.quoted)) {
    result = NVTXA__CSV_MEMORY;
  }
  while (result == NVTXA__CSV_RECORD && record->count < layout->column_count) {
    nvtxa__csv_kind kind = layout->kinds[record->count];
    if (kind == NVTXA__CSV_NAME_TREE) {
      result = read_name_tree(data, length, final, &at, name, level, record);
    } else if (record->count + 1 == layout->column_count) {
      result = read_last(layout, data, length, final, &at, record);
    } else {
      result = read_plain(layout, data, length, final, &at, record);
    }
    if (result == NVTXA__CSV_RECORD && kind == NVTXA__CSV_LEVEL) {
      const nvtxa__csv_field *field = &record->fields[record->count - 1];
      (void)nvtxa__parse_int64(field->data, field->length, &level);
    }
  }
  if (result != NVTXA__CSV_RECORD) {
    return result;
  }
  size_t step = line_break(data, length, at);
  if (step == 0 && at < length && !(at + 1 == length && data[at] == '\r')) {
    return NVTXA__CSV_BAD;
  }
  if (step == 0 && !final) {
    return NVTXA__CSV_MORE;
  }
  record->consumed = step == 0 ? length : at + step;
  return NVTXA__CSV_RECORD;
}

/* A name that holds a comma stands in quotes. It ends where all that must follow a name does. */
static nvtxa__csv_result read_wrapped(const nvtxa__csv_layout *layout, const char *data,
                                      size_t length, bool final, size_t at,
                                      nvtxa__csv_record *record) {
  size_t before = record->count;
  size_t start = at + 1;
  size_t from = start;
  for (;;) {
    const char *quote = from < length ? memchr(data + from, '"', length - from) : NULL;
    if (quote == NULL) {
      return final ? NVTXA__CSV_BAD : NVTXA__CSV_MORE;
    }
    size_t end = (size_t)(quote - data);
    nvtxa__csv_field name = {data + start, end - start, true};
    from = end + 1;
    if (name.length > LONGEST_WRAPPED_NAME) {
      return NVTXA__CSV_BAD;
    }
    if (memchr(name.data, ',', name.length) == NULL) {
      continue;
    }
    record->count = before;
    nvtxa__csv_result result = read_tail(layout, data, length, final, end + 1, name, record);
    if (result != NVTXA__CSV_BAD) {
      return result;
    }
  }
}

/* ---- ... with the name last ---- */

/* A line of a text. */
typedef struct text_line {
  size_t end;  /* of what it holds */
  size_t next; /* behind its line break */
} text_line;

/* The line that begins at `at`: MORE where its end is not there yet, BAD where there is none. */
static nvtxa__csv_result find_line(const char *data, size_t length, bool final, size_t at,
                                   text_line *ret) {
  const char *newline = at < length ? memchr(data + at, '\n', length - at) : NULL;
  if (newline == NULL && !final) {
    return NVTXA__CSV_MORE;
  }
  if (at >= length) {
    return NVTXA__CSV_BAD;
  }
  ret->end = newline == NULL ? length : (size_t)(newline - data);
  ret->next = newline == NULL ? length : ret->end + 1;
  ret->end -= ret->end > at && data[ret->end - 1] == '\r';
  return NVTXA__CSV_RECORD;
}

/* Whether a line holds all that stands before a name in the last column. */
static bool begins_record(const nvtxa__csv_layout *layout, const char *line, size_t length) {
  for (size_t i = 0; i + 1 < layout->column_count; i++) {
    const char *comma = memchr(line, ',', length);
    if (comma == NULL ||
        !fits(layout->kinds[i], (nvtxa__csv_field){line, (size_t)(comma - line), false})) {
      return false;
    }
    length -= (size_t)(comma - line) + 1;
    line = comma + 1;
  }
  return true;
}

static nvtxa__csv_result end_with(const char *data, size_t length, bool quoted,
                                  const text_line *line, nvtxa__csv_record *record) {
  record->consumed = line->next;
  return add_field(record, data, length, quoted) ? NVTXA__CSV_RECORD : NVTXA__CSV_MEMORY;
}

/* A name in quotes, whose first line is given: it holds a comma and ends at a quote before a line's
 * end. Where a record begins before that, it was none. */
static nvtxa__csv_result read_last_wrapped(const nvtxa__csv_layout *layout, const char *data,
                                           size_t length, bool final, size_t at, text_line line,
                                           nvtxa__csv_record *record) {
  size_t start = at + 1;
  bool comma = false;
  for (;;) {
    size_t end = line.end;
    comma = comma || memchr(data + at, ',', end - at) != NULL;
    if (comma && end > start && data[end - 1] == '"') {
      return end_with(data + start, end - 1 - start, true, &line, record);
    }
    if (end - start > LONGEST_WRAPPED_NAME) {
      return NVTXA__CSV_BAD;
    }
    at = line.next;
    nvtxa__csv_result result = find_line(data, length, final, at, &line);
    if (result != NVTXA__CSV_RECORD) {
      return result;
    }
    if (begins_record(layout, data + at, line.end - at)) {
      return NVTXA__CSV_BAD;
    }
  }
}

static nvtxa__csv_result read_last_name(const nvtxa__csv_layout *layout, const char *data,
                                        size_t length, bool final, size_t at,
                                        nvtxa__csv_record *record) {
  text_line line;
  nvtxa__csv_result result = find_line(data, length, final, at, &line);
  if (result == NVTXA__CSV_BAD) {
    line = (text_line){length, length}; /* no text, and no line break behind it */
  } else if (result != NVTXA__CSV_RECORD) {
    return result;
  }
  result = NVTXA__CSV_BAD;
  if (at < line.end && data[at] == '"') {
    result = read_last_wrapped(layout, data, length, final, at, line, record);
  }
  if (result != NVTXA__CSV_BAD || memchr(data + at, ',', line.end - at) != NULL) {
    return result;
  }
  return end_with(data + at, line.end - at, false, &line, record);
}

/* The order of columns that nsys writes: nothing but plain columns around the name, and NameTree,
 * if there is one, last. */
static bool is_nsys_order(const nvtxa__csv_layout *layout) {
  bool named = false;
  for (size_t i = 0; i < layout->column_count; i++) {
    named = named || layout->kinds[i] == NVTXA__CSV_NAME;
    if (layout->kinds[i] == NVTXA__CSV_NAME_TREE && (!named || i + 1 != layout->column_count)) {
      return false;
    }
  }
  return named;
}

static nvtxa__csv_result read_nsys(const nvtxa__csv_layout *layout, const char *data, size_t length,
                                   bool final, nvtxa__csv_record *record) {
  size_t at = 0;
  record->count = 0;
  if (!is_nsys_order(layout)) {
    return NVTXA__CSV_BAD;
  }
  while (layout->kinds[record->count] != NVTXA__CSV_NAME) {
    nvtxa__csv_result result = read_plain(layout, data, length, final, &at, record);
    if (result != NVTXA__CSV_RECORD) {
      return result;
    }
  }
  if (record->count + 1 == layout->column_count) {
    return read_last_name(layout, data, length, final, at, record);
  }
  const char *comma = memchr(data + at, ',', length - at);
  if (comma == NULL) {
    return final ? NVTXA__CSV_BAD : NVTXA__CSV_MORE;
  }
  size_t before = record->count;
  size_t end = (size_t)(comma - data);
  nvtxa__csv_field name = {data + at, end - at, false};
  nvtxa__csv_result result = read_tail(layout, data, length, final, end, name, record);
  if (result == NVTXA__CSV_BAD && at < length && data[at] == '"') {
    record->count = before;
    result = read_wrapped(layout, data, length, final, at, record);
  }
  return result;
}

/* ---- the record ---- */

static nvtxa__csv_result count_fields(const nvtxa__csv_layout *layout, nvtxa__csv_record *record) {
  if (record->count == layout->column_count) {
    return NVTXA__CSV_RECORD;
  }
  (void)bad(record, record->count < layout->column_count ? "too few fields" : "too many fields");
  record->miscounted = true;
  return NVTXA__CSV_BAD;
}

/* Both readings of the first `length` bytes. `patient`: the window is not full yet, so that one
 * reading does not win only because the other needs more of it. */
static nvtxa__csv_result read_window(const nvtxa__csv_layout *layout, const char *data,
                                     size_t length, bool final, bool patient,
                                     nvtxa__csv_record *record) {
  nvtxa__csv_result nsys = NVTXA__CSV_BAD;
  if (layout->quoting == NVTXA_QUOTING_NSYS) {
    nsys = read_nsys(layout, data, length, final, record);
    if (nsys != NVTXA__CSV_BAD) {
      return nsys;
    }
  }
  nvtxa__csv_result rfc = read_rfc4180(data, length, final, record);
  if (rfc == NVTXA__CSV_MEMORY ||
      (rfc == NVTXA__CSV_RECORD && record->count == layout->column_count &&
       convincing(layout, record))) {
    return rfc;
  }
  if (layout->quoting != NVTXA_QUOTING_NSYS) {
    nsys = read_nsys(layout, data, length, final, record);
    if (nsys == NVTXA__CSV_MEMORY ||
        (nsys == NVTXA__CSV_RECORD && !(patient && rfc == NVTXA__CSV_MORE))) {
      return nsys;
    }
  }
  if (rfc == NVTXA__CSV_MORE || nsys == NVTXA__CSV_MORE) {
    return NVTXA__CSV_MORE;
  }
  /* Neither convinces: RFC 4180 it is, for its values or for its error. */
  rfc = read_rfc4180(data, length, final, record);
  return rfc == NVTXA__CSV_RECORD ? count_fields(layout, record) : rfc;
}

static nvtxa__csv_result read_record(const nvtxa__csv_layout *layout, const char *data,
                                     size_t length, bool final, nvtxa__csv_record *record) {
  const char *newline = memchr(data, '\n', length);
  size_t line = newline == NULL ? length : (size_t)(newline - data) + 1;
  if ((newline != NULL || final) && memchr(data, '"', line) == NULL) {
    nvtxa__csv_result result = read_rfc4180(data, line, true, record);
    if (result == NVTXA__CSV_MEMORY || record->count >= layout->column_count) {
      return result == NVTXA__CSV_RECORD ? count_fields(layout, record) : result;
    }
  }
  for (size_t window = FIRST_WINDOW;; window *= 2) {
    bool whole = window >= length;
    nvtxa__csv_result result = read_window(layout, data, whole ? length : window, whole && final,
                                           whole && !final && window > length, record);
    if (result != NVTXA__CSV_MORE || whole) {
      return result;
    }
  }
}

/* Whether a last record without a line break was cut short in NameTree. */
static bool is_cut(const nvtxa__csv_layout *layout, const nvtxa__csv_record *record) {
  const nvtxa__csv_field *name = NULL;
  for (size_t i = 0; i < record->count; i++) {
    if (layout->kinds[i] == NVTXA__CSV_NAME) {
      name = &record->fields[i];
    } else if (layout->kinds[i] == NVTXA__CSV_NAME_TREE) {
      return name != NULL && !repeats(record->fields[i], *name);
    }
  }
  return false;
}

nvtxa__csv_result nvtxa__csv_read(const nvtxa__csv_layout *layout, const char *data, size_t length,
                                  bool final, nvtxa__csv_record *record) {
  if (layout == NULL) {
    return read_rfc4180(data, length, final, record);
  }
  nvtxa__csv_result result = read_record(layout, data, length, final, record);
  if (result == NVTXA__CSV_RECORD && data[record->consumed - 1] != '\n' && is_cut(layout, record)) {
    return bad(record, "the report ends in the middle of a record");
  }
  return result;
}
