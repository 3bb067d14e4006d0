/* ranges/: CSV reports whose separators are marked, and which several threads read in parts: what
 * comes of a report does not depend on how. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../readings.h"
#include "report-headers.h"

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* After a test, what it expects counts for nothing; but that it ends so does. */
static void abort_at_leak(void) {
  if (__lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0) {
    abort();
  }
}

TestSuite(csv, .fini = abort_at_leak);

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* ---- marks ---- */

static size_t scan_plainly(const char *data, size_t length, uint32_t *marks) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++) {
    if (data[i] == ',' || data[i] == '"' || data[i] == '\n') {
      marks[count++] = (uint32_t)i;
    }
  }
  return count;
}

/* `data` is at the end of its memory, and so is the room for the marks. */
static void expect_marks(nvtxa__scan_fn scan, const char *data, size_t length) {
  uint32_t right[256];
  uint32_t *marks = malloc((length + NVTXA__SCAN_SPARE) * sizeof *marks);
  cr_assert_not_null(marks);
  size_t count = scan(data, length, marks);
  cr_assert_eq(count, scan_plainly(data, length, right), "of %zu bytes", length);
  cr_assert_eq(memcmp(marks, right, count * sizeof *marks), 0, "of %zu bytes", length);
  free(marks);
}

Test(csv, both_scanners_find_all_separators) {
  /* Separators in every number, and bytes that are one of them but for a bit. */
  static const char *const alphabets[] = {
      ",\"\n",
      "x",
      "abc0123456789 ,\n",
      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,\"\n",
      ",\"\n\xAC\xA2\x8A-+.(#! &2*\v\b\x0E\x1A\x7F\xFF\x01\x80lbJ",
  };
  uint64_t random = 1;
  for (size_t a = 0; a < NVTXA__COUNT(alphabets); a++) {
    for (size_t length = 0; length <= 200; length++) {
      for (size_t before = 0; before < 64; before++) {
        char *block = malloc(before + length + 1);
        char *data = block + 1 + before;
        cr_assert_not_null(block);
        for (size_t i = 0; i < length; i++) {
          data[i] = alphabets[a][next_random(&random) % (strlen(alphabets[a]) + (a == 4))];
        }
        expect_marks(nvtxa__scan_portable, data, length);
        if (nvtxa__scan_has_avx2()) {
          expect_marks(nvtxa__scan_avx2, data, length);
        }
        free(block);
      }
    }
  }
  cr_expect(nvtxa__scan_choose() == nvtxa__scan_portable || nvtxa__scan_has_avx2());
}

/* ---- one report, read in many ways ---- */

/* So many parts at most, so that a test of a long report is short. */
enum { MOST_PARTS = 2000 };

static void expect_same_divided(const source *sources, size_t count, nvtxa_quoting quoting,
                                const nvtxa_hooks *hooks, const reading *right) {
  static const size_t part_sizes[] = {1, 7, 64, 300, 4096, 100000, 0};
  static const size_t thread_counts[] = {1, 2, 5};
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  options.quoting = quoting;
  options.hooks = hooks;
  for (size_t p = 0; p < NVTXA__COUNT(part_sizes); p++) {
    if (part_sizes[p] != 0 && sources[0].length / part_sizes[p] > MOST_PARTS) {
      continue;
    }
    for (size_t t = 0; t < NVTXA__COUNT(thread_counts); t++) {
      reading got = read_divided(sources, count, &options,
                                 (nvtxa__division){thread_counts[t], part_sizes[p]});
      const char *difference = different_readings(right, &got);
      cr_assert_null(difference, "%s, in parts of %zu for %zu threads: '%s', not '%s', of\n%.2000s",
                     difference, part_sizes[p], thread_counts[t],
                     got.error == NULL ? "" : nvtxa_error_message(got.error),
                     right->error == NULL ? "" : nvtxa_error_message(right->error),
                     sources[0].text);
      reading_free(&got);
    }
  }
}

static int file_of(const char *text, size_t length) {
  int fd = memfd_create("report", MFD_CLOEXEC);
  cr_assert_geq(fd, 1);
  cr_assert_eq(write(fd, text, length), (ssize_t)length);
  return fd;
}

/* Read from memory and from files, undivided and in parts; gives what came of the first. */
static reading read_in_all_ways(const source *sources, size_t count, nvtxa_quoting quoting) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  source files[NVTXA__RANGE_REPORTS];
  options.quoting = quoting;
  reading right = read_divided(sources, count, &options, UNDIVIDED);
  for (size_t i = 0; i < count; i++) {
    files[i] = sources[i];
    files[i].fd = file_of(sources[i].text, sources[i].length);
    cr_assert_null(different_records(&sources[i], quoting), "%s", sources[i].text);
    cr_assert_null(different_records(&files[i], quoting), "%s", sources[i].text);
  }
  expect_same_divided(sources, count, quoting, NULL, &right);
  expect_same_divided(files, count, quoting, NULL, &right);
  for (size_t i = 0; i < count; i++) {
    close(files[i].fd);
  }
  return right;
}

static source source_of(nvtxa_report kind, const char *text, size_t length) {
  return (source){.kind = kind, .text = text, .length = length};
}

static void expect_count(nvtxa_report kind, const char *text, size_t length, size_t count) {
  source s = source_of(kind, text, length);
  reading got = read_in_all_ways(&s, 1, NVTXA_QUOTING_AUTO);
  cr_assert_eq(got.status, NVTXA_OK, "%s in\n%s",
               got.error == NULL ? "" : nvtxa_error_message(got.error), text);
  cr_expect_eq(nvtxa_ranges_count(got.tables[0]), count, "%s", text);
  reading_free(&got);
}

/* `line` and `part` are where the error is, and a part of its message. */
static void expect_refused(const source *sources, size_t count, nvtxa_report kind,
                           nvtxa_status status, uint64_t line, const char *part) {
  reading got = read_in_all_ways(sources, count, NVTXA_QUOTING_AUTO);
  cr_assert_eq(got.status, status, "%s", nvtxa_status_name(got.status));
  cr_expect_str_eq(nvtxa_error_file(got.error), nvtxa_report_name(kind));
  cr_expect_eq(nvtxa_error_line(got.error), line, "%d", (int)nvtxa_error_line(got.error));
  cr_expect_not_null(strstr(nvtxa_error_message(got.error), part), "%s",
                     nvtxa_error_message(got.error));
  reading_free(&got);
}

/* ---- reports as nsys writes them ---- */

/* How a report is written. */
enum {
  OLD = 1, /* as nsys before 2024.5: quotes for commas alone, none doubled */
  CRLF = 2,
  BOM = 4,
  BLANK_LINES = 8,
  CUT = 16, /* without the last line break */
};

/* Each name holds something that a division could fall over; lines of two read as records. */
#define HOST_WITHIN "a\n7,9,2,0,2,fake,1,1,1,0,999,1,:999,--fake\nb"
#define GPU_WITHIN  "a\nfake,7,2,7,2,PushPop,1,1,1,0,0,999,,:999\nb"
static const char *const names[] = {
    "plain",   "a,b",          "say \"hi\"", "line\nbreak", HOST_WITHIN,
    "\"",      "cr\r\nlf",     ",",          "\n",          "",
    ",,\n",    "last\n\n\n\n", "\"quoted\"", "\"\"",        "both, \"of\" them",
    "caf\xE9", "\r",           "1,2,3\n,,",  GPU_WITHIN,    "plain",
    "a\"b,",   "end",
};

static void add_name(nvtxa__buffer *text, int shape, const char *dashes, const char *name) {
  bool quoted = strpbrk(name, (shape & OLD) != 0 ? "," : ",\"\r\n") != NULL;
  nvtxa__buffer_printf(text, "%s%s", quoted ? "\"" : "", dashes);
  for (; *name != '\0'; name++) {
    nvtxa__buffer_printf(text, *name == '"' && (shape & OLD) == 0 ? "\"\"" : "%c", *name);
  }
  nvtxa__buffer_printf(text, "%s", quoted ? "\"" : "");
}

static void end_line(nvtxa__buffer *text, int shape) {
  nvtxa__buffer_printf(text, "%s", (shape & CRLF) != 0 ? "\r\n" : "\n");
}

static void begin_report(nvtxa__buffer *text, nvtxa_report kind, int shape) {
  nvtxa__buffer_printf(text, "%s%s", (shape & BOM) != 0 ? "\xEF\xBB\xBF" : "",
                       kind == NVTXA_REPORT_PUSHPOP_TRACE ? HOST_HEADER : GPU_HEADER);
  end_line(text, shape);
}

/* Row `i` of `count`: a root, and all others in it. */
static void add_row(nvtxa__buffer *text, nvtxa_report kind, int shape, int i, int count,
                    const char *name) {
  const char *nothing = (shape & OLD) != 0 ? "None" : "";
  bool root = i == 0;
  int start = i * 20;
  int duration = root ? count * 20 : 10;
  if (kind == NVTXA_REPORT_PUSHPOP_TRACE) {
    int child = root ? (count - 1) * 10 : 0;
    nvtxa__buffer_printf(text, "%d,%d,%d,%d,%d,", start, start + duration, duration, child,
                         duration - child);
    add_name(text, shape, "", name);
    nvtxa__buffer_printf(text, ",1,%d,%d,%d,%d,%s,:%d,", 1, !root, root ? count - 1 : 0, i + 1,
                         root ? nothing : "1", i + 1);
    add_name(text, shape, root ? "" : "--", name);
  } else {
    add_name(text, shape, "", name);
    nvtxa__buffer_printf(text, ",%d,5,%d,%d,%s,1,1,%d,%d,%d,%d,%s,:%d", start + 3, start, duration,
                         i % 5 == 4 ? "StartEnd" : "PushPop", i + 1, !root, root ? count - 1 : 0,
                         i + 1, root ? nothing : "1", i + 1);
  }
  end_line(text, shape);
}

static const char *name_of(nvtxa_report kind, int shape, int i) {
  const char *name = names[(size_t)i % NVTXA__COUNT(names)];
  /* What could be two rows is none. */
  bool ambiguous = (shape & OLD) != 0 && kind == NVTXA_REPORT_GPU_PROJ_TRACE && name == names[18];
  return ambiguous ? "no" : name;
}

static nvtxa__buffer make_report(nvtxa_report kind, int shape, int count) {
  nvtxa__buffer text = {0};
  begin_report(&text, kind, shape);
  for (int i = 0; i < count; i++) {
    add_row(&text, kind, shape, i, count, name_of(kind, shape, i));
    /* Before a name, which may begin with a line break, a blank line is a part of it. */
    for (int k = 0; (shape & BLANK_LINES) != 0 && k < i % 4; k++) {
      if (kind == NVTXA_REPORT_PUSHPOP_TRACE || i + 1 == count) {
        end_line(&text, shape);
      }
    }
  }
  text.length -= (shape & CUT) != 0;
  return text;
}

static void expect_names(const nvtxa_ranges *ranges, int shape, int count) {
  cr_assert_eq(nvtxa_ranges_count(ranges), (size_t)count);
  for (int i = 0; i < count; i++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    const char *name = name_of(ranges->report, shape, i);
    char valid[256];
    size_t length = nvtxa__utf8_replace(valid, name, strlen(name));
    cr_assert_eq(nvtxa_ranges_get(ranges, (size_t)i, &range), NVTXA_OK);
    cr_expect(nvtxa__text_equal(range.name, (nvtxa_text){valid, length}),
              "range %d is named '%.*s', not '%s'", i, (int)range.name.length, range.name.data,
              name);
  }
  cr_expect_eq(nvtxa_ranges_warning_count(ranges), count > 15, "one name is not UTF-8");
}

static void expect_shape(nvtxa_report kind, int shape, int count) {
  nvtxa__buffer text = make_report(kind, shape, count);
  nvtxa_quoting quoting = (shape & OLD) != 0 ? NVTXA_QUOTING_NSYS : NVTXA_QUOTING_AUTO;
  source s = source_of(kind, text.data, text.length);
  reading got = read_in_all_ways(&s, 1, quoting);
  cr_assert_eq(got.status, NVTXA_OK, "%s", got.error == NULL ? "" : nvtxa_error_message(got.error));
  expect_names(got.tables[0], shape, count);
  reading_free(&got);
  /* When the quoting is not known, some of it cannot be read, or as something else. */
  if (count < 100) {
    got = read_in_all_ways(&s, 1, (shape & OLD) != 0 ? NVTXA_QUOTING_AUTO : NVTXA_QUOTING_NSYS);
    reading_free(&got);
  }
  nvtxa__buffer_free(&text);
}

Test(csv, names_in_every_dialect) {
  static const int shapes[] = {
      0, OLD, CRLF, OLD | CRLF, BOM | CUT, OLD | BLANK_LINES, BLANK_LINES | CRLF | CUT};
  for (int kind = 0; kind < NVTXA__RANGE_REPORTS; kind++) {
    for (size_t i = 0; i < NVTXA__COUNT(shapes); i++) {
      expect_shape((nvtxa_report)kind, shapes[i], (int)NVTXA__COUNT(names));
    }
  }
}

/* So long that it is read into the window, and marked, many times. */
Test(csv, long_reports) {
  for (int kind = 0; kind < NVTXA__RANGE_REPORTS; kind++) {
    expect_shape((nvtxa_report)kind, 0, 3000);
    expect_shape((nvtxa_report)kind, OLD | CRLF, 3000);
  }
}

Test(csv, reports_of_few_bytes) {
  static const struct {
    const char *text;
    size_t count;
  } cases[] = {
      {"", 0},
      {"\xEF\xBB\xBF", 0},
      {HOST_HEADER, 0},
      {HOST_HEADER "\r\n", 0},
      {HOST_HEADER "\n\n\r\n\n\r", 0},
      {HOST_HEADER "\n10,30,20,0,20,a,1,1,0,0,1,,:1,a", 1},
      {HOST_HEADER "\n10,30,20,0,20,\"a\nb\",1,1,0,0,1,,:1,\"a\nb\"", 1},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    expect_count(NVTXA_REPORT_PUSHPOP_TRACE, cases[i].text, strlen(cases[i].text), cases[i].count);
  }
  static const char nul[] = HOST_HEADER "\n10,30,20,0,20,a\0b,1,1,0,0,1,,:1,a\0b\n";
  expect_count(NVTXA_REPORT_PUSHPOP_TRACE, nul, sizeof nul - 1, 1);
}

/* A record may cover parts whole, and be longer than what a thread reads ahead. */
Test(csv, a_name_longer_than_parts) {
  nvtxa__buffer text = {0};
  char *name = malloc(300001);
  cr_assert_not_null(name);
  for (size_t i = 0; i < 300000; i++) {
    name[i] = "abc\n"[i % 4];
  }
  name[300000] = '\0';
  begin_report(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0);
  for (int i = 0; i < 5; i++) {
    add_row(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0, i, 5, i == 2 ? name : "short");
  }
  expect_count(NVTXA_REPORT_GPU_PROJ_TRACE, text.data, text.length, 5);
  nvtxa__buffer_free(&text);
  free(name);
}

/* Empty lines are many at the end of a report, or they are the name. Neither may take long: that
 * this test ends is what it tests. */
Test(csv, long_runs_of_line_breaks) {
  enum { LENGTH = 1500000 };
  nvtxa__buffer text = {0};
  char *name = malloc(LENGTH + 1);
  cr_assert_not_null(name);
  memset(name, '\n', LENGTH);
  name[LENGTH] = '\0';
  for (int kind = 0; kind < NVTXA__RANGE_REPORTS; kind++) {
    text.length = 0;
    begin_report(&text, (nvtxa_report)kind, 0);
    for (int i = 0; i < 5; i++) {
      add_row(&text, (nvtxa_report)kind, 0, i, 5, i == 2 ? name : "short");
    }
    nvtxa__buffer_add(&text, name, LENGTH);
    expect_count((nvtxa_report)kind, text.data, text.length, 5);
  }
  nvtxa__buffer_free(&text);
  free(name);
}

/* The limit for one record is the same at any place of it, and for any division. */
Test(csv, records_up_to_the_limit) {
  enum { ROWS = 3000 };
  static const struct {
    size_t part_size;
    size_t over; /* bytes more than the limit */
  } cases[] = {{0, 0}, {0, 1}, {100000, 1}};
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa__buffer text = {0};
  begin_report(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0);
  for (int i = 0; i < ROWS; i++) {
    add_row(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0, i, ROWS, "short");
  }
  size_t end = text.length + NVTXA__LONGEST_RECORD;
  cr_assert_eq(nvtxa__reserve(&text.data, &text.capacity, end + 1, 1), 0);
  add_row(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0, ROWS, ROWS, "long");
  memset(text.data + text.length - 1, ':', end + 1 - text.length); /* a deep RangeStack */
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    text.data[end - 1] = ':';
    text.data[end - 1 + cases[i].over] = '\n';
    source s = source_of(NVTXA_REPORT_GPU_PROJ_TRACE, text.data, end + cases[i].over);
    reading got = read_divided(&s, 1, &options, (nvtxa__division){1, cases[i].part_size});
    cr_expect_eq(got.status, cases[i].over == 0 ? NVTXA_OK : NVTXA_ERROR_LIMIT, "%s in case %zu",
                 nvtxa_status_name(got.status), i);
    cr_expect(got.error == NULL || nvtxa_error_line(got.error) == ROWS + 2);
    reading_free(&got);
  }
  nvtxa__buffer_free(&text);
}

/* A quote that is never closed is looked for as far as a record may reach, for any division. */
Test(csv, a_quote_never_closed_before_the_limit) {
  enum { ROWS = 3000, BEHIND = 112000000 };
  static const size_t part_sizes[] = {0, 100000};
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa__buffer text = {0};
  begin_report(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0);
  for (int i = 0; i < ROWS; i++) {
    add_row(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0, i, ROWS, "short");
  }
  nvtxa__buffer_printf(&text, "a,1,1,1,2,PushPop,1,1,1,0,0,7,,\"");
  size_t end = text.length + BEHIND;
  cr_assert_eq(nvtxa__reserve(&text.data, &text.capacity, end, 1), 0);
  memset(text.data + text.length, 'x', BEHIND);
  for (size_t i = 0; i < NVTXA__COUNT(part_sizes); i++) {
    source s = source_of(NVTXA_REPORT_GPU_PROJ_TRACE, text.data, end);
    reading got = read_divided(&s, 1, &options, (nvtxa__division){1, part_sizes[i]});
    cr_expect_eq(got.status, NVTXA_ERROR_LIMIT, "%s in parts of %zu", nvtxa_status_name(got.status),
                 part_sizes[i]);
    cr_expect_eq(nvtxa_error_line(got.error), ROWS + 2);
    reading_free(&got);
  }
  nvtxa__buffer_free(&text);
}

/* A thread forgets names when they are many, and meets them again. */
Test(csv, more_names_than_a_thread_knows) {
  enum { COUNT = 50000, NAMES = 40009 }; /* squares are half of the names */
  nvtxa__buffer text = {0};
  begin_report(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0);
  for (int i = 0; i < COUNT; i++) {
    char name[32];
    snprintf(name, sizeof name, "name %d", (int)((int64_t)i * i % NAMES));
    add_row(&text, NVTXA_REPORT_GPU_PROJ_TRACE, 0, i, COUNT, name);
  }
  source s = source_of(NVTXA_REPORT_GPU_PROJ_TRACE, text.data, text.length);
  reading got = read_in_all_ways(&s, 1, NVTXA_QUOTING_AUTO);
  cr_assert_eq(got.status, NVTXA_OK);
  for (int i = 0; i < COUNT; i++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    cr_assert_eq(nvtxa_ranges_get(got.tables[0], (size_t)i, &range), NVTXA_OK);
    cr_assert_eq(atoi(range.name.data + 5), (int64_t)i * i % NAMES, "row %d", i);
  }
  reading_free(&got);
  nvtxa__buffer_free(&text);
}

/* ---- what is wrong ---- */

static const struct {
  const char *row;
  nvtxa_status status;
  const char *part;
} bad_rows[] = {
    {"1,2,3", NVTXA_ERROR_REPORT_SYNTAX, "too few fields: 3"},
    {"10,30,20,0,20,a,1,1,0,0,2,,:1,a,b", NVTXA_ERROR_REPORT_SYNTAX, "too many fields: 15"},
    {"10,30,2x0,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "'2x0'"},
    {"10,30,20,0,20,\"a\",1,1,0,0,2,,:1,\"a\"b", NVTXA_ERROR_REPORT_SYNTAX, "closing quote"},
    {"10,30,20,0,20,\"open,1,1,0,0,2,,:1,open", NVTXA_ERROR_REPORT_SYNTAX, "never closed"},
};

/* The first of two errors is told, with its line, which others with line breaks come before. */
Test(csv, errors_in_any_row) {
  enum { COUNT = 16 };
  for (size_t b = 0; b < NVTXA__COUNT(bad_rows); b++) {
    for (int at = 0; at < COUNT; at += 5) {
      nvtxa__buffer text = {0};
      uint64_t line = 1;
      begin_report(&text, NVTXA_REPORT_PUSHPOP_TRACE, 0);
      for (int i = 0; i < COUNT; i++) {
        if (i == at || (i == at + 5 && b < 3)) {
          for (size_t k = 0; i == at && k < text.length; k++) {
            line += text.data[k] == '\n';
          }
          nvtxa__buffer_printf(&text, "%s\n", bad_rows[b].row);
        }
        add_row(&text, NVTXA_REPORT_PUSHPOP_TRACE, 0, i, COUNT,
                i < at ? name_of(NVTXA_REPORT_PUSHPOP_TRACE, 0, i) : "plain");
      }
      source s = source_of(NVTXA_REPORT_PUSHPOP_TRACE, text.data, text.length);
      expect_refused(&s, 1, s.kind, bad_rows[b].status, line, bad_rows[b].part);
      nvtxa__buffer_free(&text);
    }
  }
}

#define HOST_ROW                   "10,30,20,0,20,a,1,1,0,0,1,,:1,a\n"
#define GPU_ROW                    "a,1,2,1,2,PushPop,1,1,3,0,0,0,,:0\n"
#define OUTSIDE(operations, start) "," start ",500,,,,42,43," operations ",,0,,,\n"

/* There are never more marks than there is room for. */
Test(csv, a_row_of_commas) {
  nvtxa__buffer text = {0};
  nvtxa__buffer_printf(&text, HOST_HEADER "\n" HOST_ROW);
  for (size_t i = 0; i < 40000; i++) {
    nvtxa__buffer_add(&text, ",", 1);
  }
  source s = source_of(NVTXA_REPORT_PUSHPOP_TRACE, text.data, text.length);
  expect_refused(&s, 1, s.kind, NVTXA_ERROR_REPORT_SYNTAX, 3, "too many fields: 40001");
  nvtxa__buffer_free(&text);
}

Test(csv, work_outside_every_range_in_several_rows) {
  static const char text[] = GPU_HEADER "\n" OUTSIDE("0", "7") OUTSIDE("3", "900")
      GPU_ROW OUTSIDE("5", "100") OUTSIDE("4", "2000");
  source s = source_of(NVTXA_REPORT_GPU_PROJ_TRACE, text, sizeof text - 1);
  reading got = read_in_all_ways(&s, 1, NVTXA_QUOTING_AUTO);
  cr_assert_eq(got.status, NVTXA_OK);
  cr_expect_eq(nvtxa_ranges_unattributed_operations(got.tables[0]), 12);
  cr_expect_eq(got.tables[0]->unattributed.start_ns, 100);
  cr_expect_eq(got.tables[0]->unattributed.end_ns, 2500);
  reading_free(&got);
}

/* What is wrong with a sum is told in its turn as well. */
Test(csv, work_outside_every_range_beyond_64_bits) {
  static const char sum[] = "makes the sum pass 64 bits";
  static const struct {
    const char *text;
    uint64_t line;
    const char *part;
  } cases[] = {
      {GPU_HEADER "\n" OUTSIDE("9223372036854775807", "1") GPU_ROW OUTSIDE("0", "1")
           OUTSIDE("1", "1") GPU_ROW,
       5, sum},
      {GPU_HEADER "\n1,2\n" OUTSIDE("9223372036854775807", "1") OUTSIDE("1", "1"), 2, "too few"},
      {GPU_HEADER "\n" OUTSIDE("9223372036854775807", "1") OUTSIDE("1", "1") "1,2\n", 3, sum},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    source s = source_of(NVTXA_REPORT_GPU_PROJ_TRACE, cases[i].text, strlen(cases[i].text));
    expect_refused(&s, 1, s.kind, NVTXA_ERROR_REPORT_VALUE - (i == 1 ? -1 : 0), cases[i].line,
                   cases[i].part);
  }
}

/* Whichever is met first: the host's error is told. */
Test(csv, two_reports_at_once) {
  static const struct {
    const char *text;
    uint64_t line; /* 0: of no line */
    const char *part;
  } hosts[] = {
      {HOST_HEADER "\n" HOST_ROW, 0, NULL},
      {HOST_HEADER "\n" HOST_ROW "\n\n\n1,2,3\n", 6, "too few fields: 3"},
      {HOST_HEADER "\n" HOST_ROW HOST_ROW, 0, "two ranges have the key"},
      {"a,b\n", 1, "no header of this report"},
  };
  static const struct {
    const char *text;
    uint64_t line;
    const char *part;
  } gpus[] = {
      {GPU_HEADER "\n" GPU_ROW, 0, NULL},
      {GPU_HEADER "\n1,2\n" GPU_ROW GPU_ROW, 2, "too few fields: 2"},
      {"a,b\n", 1, "no header of this report"},
  };
  for (size_t h = 0; h < NVTXA__COUNT(hosts); h++) {
    for (size_t g = 0; g < NVTXA__COUNT(gpus); g++) {
      source both[] = {
          source_of(NVTXA_REPORT_PUSHPOP_TRACE, hosts[h].text, strlen(hosts[h].text)),
          source_of(NVTXA_REPORT_GPU_PROJ_TRACE, gpus[g].text, strlen(gpus[g].text)),
      };
      reading got = read_in_all_ways(both, 2, NVTXA_QUOTING_AUTO);
      bool host_fails = hosts[h].part != NULL;
      const char *part = host_fails ? hosts[h].part : gpus[g].part;
      cr_assert_eq(got.status == NVTXA_OK, part == NULL);
      if (part == NULL) {
        cr_expect_eq(nvtxa_ranges_count(got.tables[0]), 1);
        cr_expect_eq(nvtxa_ranges_count(got.tables[1]), 1);
      } else {
        cr_expect_not_null(strstr(nvtxa_error_message(got.error), part));
        cr_expect_str_eq(nvtxa_error_file(got.error), nvtxa_report_name(both[!host_fails].kind));
        cr_expect_eq(nvtxa_error_line(got.error), host_fails ? hosts[h].line : gpus[g].line);
      }
      reading_free(&got);
    }
  }
}

/* A file that others made shorter since its size was asked for. */
Test(csv, a_file_that_became_shorter) {
  nvtxa__buffer text = make_report(NVTXA_REPORT_PUSHPOP_TRACE, 0, 20);
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  for (size_t left = 0; left < text.length; left += 61) {
    source s = source_of(NVTXA_REPORT_PUSHPOP_TRACE, text.data, text.length);
    s.fd = file_of(text.data, left);
    reading got = read_divided(&s, 1, &options, UNDIVIDED);
    cr_assert_eq(got.status, NVTXA_ERROR_IO, "%s after %zu bytes", nvtxa_status_name(got.status),
                 left);
    cr_expect_str_eq(nvtxa_error_message(got.error), "it changed while it was read");
    expect_same_divided(&s, 1, NVTXA_QUOTING_AUTO, NULL, &got);
    reading_free(&got);
    close(s.fd);
  }
  nvtxa__buffer_free(&text);
}

/* And one that is still written to. */
Test(csv, a_file_that_grew) {
  nvtxa__buffer text = make_report(NVTXA_REPORT_PUSHPOP_TRACE, 0, 20);
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  source s = source_of(NVTXA_REPORT_PUSHPOP_TRACE, text.data, text.length);
  s.fd = file_of(text.data, text.length);
  cr_assert_eq(write(s.fd, "1", 1), 1);
  reading got = read_divided(&s, 1, &options, UNDIVIDED);
  cr_expect_eq(got.status, NVTXA_ERROR_IO);
  cr_expect_str_eq(nvtxa_error_message(got.error), "it changed while it was read");
  expect_same_divided(&s, 1, NVTXA_QUOTING_AUTO, NULL, &got);
  reading_free(&got);
  close(s.fd);
  nvtxa__buffer_free(&text);
}

/* The flag is set before, or when reading has begun. */
static volatile sig_atomic_t cancel;

static void set_cancel(void *user, const nvtxa_progress *progress) {
  (void)user, (void)progress;
  cancel = 1;
}

Test(csv, cancelled) {
  nvtxa__buffer text = make_report(NVTXA_REPORT_PUSHPOP_TRACE, 0, 20);
  source s = source_of(NVTXA_REPORT_PUSHPOP_TRACE, text.data, text.length);
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  hooks.cancel = &cancel;
  options.hooks = &hooks;
  cancel = 1;
  reading right = read_divided(&s, 1, &options, UNDIVIDED);
  cr_assert_eq(right.status, NVTXA_ERROR_CANCELLED);
  expect_same_divided(&s, 1, NVTXA_QUOTING_AUTO, &hooks, &right);
  hooks.progress = set_cancel;
  for (size_t part_size = 1; part_size < 4096; part_size *= 4) {
    cancel = 0;
    reading got = read_divided(&s, 1, &options, (nvtxa__division){2, part_size});
    cr_expect_null(different_readings(&right, &got));
    reading_free(&got);
  }
  reading_free(&right);
  nvtxa__buffer_free(&text);
}
