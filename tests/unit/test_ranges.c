/* ranges/: reading CSV reports in every dialect, refusing damaged ones, and the hierarchy. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranges/ranges-internal.h"
#include "report-headers.h"

static nvtxa_ranges *read_text(const char *text, size_t length, nvtxa_report report,
                               nvtxa_quoting quoting) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges *ranges = NULL;
  nvtxa_error *error = NULL;
  options.quoting = quoting;
  nvtxa_status status = nvtxa_ranges_read_buffer(text, length, report, &options, &ranges, &error);
  cr_assert_eq(status, NVTXA_OK, "line %d: %s\n%s", error ? (int)nvtxa_error_line(error) : 0,
               error ? nvtxa_error_message(error) : "", text);
  return ranges;
}

static nvtxa_ranges *read_host(const char *text) {
  return read_text(text, strlen(text), NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_QUOTING_AUTO);
}

static nvtxa_range get(const nvtxa_ranges *ranges, size_t index) {
  nvtxa_range range = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_get(ranges, index, &range), NVTXA_OK);
  return range;
}

static void expect_name(const nvtxa_ranges *ranges, size_t index, const char *name, size_t length) {
  nvtxa_range range = get(ranges, index);
  cr_expect(range.name.length == length && memcmp(range.name.data, name, length) == 0,
            "range %zu is named '%.*s', not '%.*s'", index, (int)range.name.length, range.name.data,
            (int)length, name);
}

/* What a refused report says. */
static void expect_refused(const char *text, nvtxa_report report, nvtxa_status wanted,
                           uint64_t line, const char *field, const char *part) {
  nvtxa_ranges *ranges = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_ranges_read_buffer(text, strlen(text), report, NULL, &ranges, &error);
  cr_assert_eq(status, wanted, "got %s: %s", nvtxa_status_name(status),
               error ? nvtxa_error_message(error) : text);
  cr_expect_eq(nvtxa_error_status(error), wanted);
  cr_expect_eq(nvtxa_error_line(error), line, "line %d of:\n%s", (int)nvtxa_error_line(error),
               text);
  cr_expect(strstr(nvtxa_error_message(error), part) != NULL, "'%s' lacks '%s'",
            nvtxa_error_message(error), part);
  if (field != NULL) {
    cr_assert_not_null(nvtxa_error_field(error));
    cr_expect_str_eq(nvtxa_error_field(error), field);
  }
  cr_expect_null(ranges);
  nvtxa_error_free(error);
}

/* ---- names in every dialect ---- */

/* How a name stands in a host report, at level 1: in the Name and NameTree columns. */
typedef struct dialect_case {
  const char *name_field;
  const char *tree_field;
  const char *name;
} dialect_case;

static const dialect_case nsys_names[] = {
    {"plain", "--plain", "plain"},
    {"say \"hi\"", "--say \"hi\"", "say \"hi\""},
    {"\"hi\"", "--\"hi\"", "\"hi\""},
    {"\"both, \"of\" them\"", "\"--both, \"of\" them\"", "both, \"of\" them"},
    {"line\nbreak", "--line\nbreak", "line\nbreak"},
    {"cr\r\nlf", "--cr\r\nlf", "cr\r\nlf"},
    {"\",\"", "\"--,\"", ","},
    {"\",,\n\"", "\"--,,\n\"", ",,\n"},
    {"\"", "--\"", "\""},
    {"\"\"", "--\"\"", "\"\""},
    {"\"\"\"", "--\"\"\"", "\"\"\""},
    {"\n", "--\n", "\n"},
    {"a\n", "--a\n", "a\n"},
    {"\"a\",\"b\"", "\"--a\",\"b\"", "a\",\"b"},
    {"\"{\"json\": [1,2]}\"", "\"--{\"json\": [1,2]}\"", "{\"json\": [1,2]}"},
    {"\"x\",4242,4242,1,0,2,1,:1:2,\"--x\"\"", "\"--x\",4242,4242,1,0,2,1,:1:2,\"--x\"\"",
     "x\",4242,4242,1,0,2,1,:1:2,\"--x\""},
    {"--dashes", "----dashes", "--dashes"},
    {"None", "--None", "None"},
    {"", "--", ""},
    {"back\\slash", "--back\\slash", "back\\slash"},
};

static const dialect_case rfc_names[] = {
    {"plain", "--plain", "plain"},
    {"\"say \"\"hi\"\"\"", "\"--say \"\"hi\"\"\"", "say \"hi\""},
    {"\"a,b\"", "\"--a,b\"", "a,b"},
    {"\"line\nbreak\"", "\"--line\nbreak\"", "line\nbreak"},
    {"\"\"\"\"", "\"--\"\"\"", "\""},
    {"\",\"", "\"--,\"", ","},
    {"\"a,\"\"b\"", "\"--a,\"\"b\"", "a,\"b"},
};

static char *host_report(const char *name_field, const char *tree_field) {
  char *text = NULL;
  cr_assert_gt(asprintf(&text,
                        HOST_HEADER "\n1000,2000,1000,300,700,root,4242,4242,0,2,1,,:1,root\n"
                                    "1100,1200,100,0,100,%s,4242,4242,1,0,2,1,:1:2,%s\n"
                                    "1300,1500,200,0,200,last,4242,4242,1,0,3,1,:1:3,--last\n",
                        name_field, tree_field),
               0);
  return text;
}

static void expect_dialect(const dialect_case *c, nvtxa_quoting quoting) {
  char *text = host_report(c->name_field, c->tree_field);
  nvtxa_ranges *ranges = read_text(text, strlen(text), NVTXA_REPORT_PUSHPOP_TRACE, quoting);
  cr_assert_eq(nvtxa_ranges_count(ranges), 3, "%zu ranges in:\n%s", nvtxa_ranges_count(ranges),
               text);
  expect_name(ranges, 1, c->name, strlen(c->name));
  expect_name(ranges, 2, "last", 4);
  cr_expect_eq(nvtxa_ranges_warning_count(ranges), 0);
  nvtxa_ranges_unref(ranges);
  free(text);
}

Test(ranges, names_as_old_nsys_writes_them) {
  for (size_t i = 0; i < NVTXA__COUNT(nsys_names); i++) {
    expect_dialect(&nsys_names[i], NVTXA_QUOTING_AUTO);
    expect_dialect(&nsys_names[i], NVTXA_QUOTING_NSYS);
  }
}

Test(ranges, names_as_rfc_4180_writes_them) {
  for (size_t i = 0; i < NVTXA__COUNT(rfc_names); i++) {
    expect_dialect(&rfc_names[i], NVTXA_QUOTING_AUTO);
  }
}

/* `a,""b` from old nsys and `a,"b` from RFC 4180 are written alike: the caller knows which it is.
 */
Test(ranges, quoting_settles_what_the_text_cannot) {
  static const dialect_case old = {"\"a,\"\"b\"", "\"--a,\"\"b\"", "a,\"\"b"};
  expect_dialect(&old, NVTXA_QUOTING_NSYS);
}

/* A report that another program saved again has other quoting than the version of nsys says. */
Test(ranges, rfc_4180_is_read_where_nsys_quoting_was_expected) {
  static const dialect_case saved[] = {
      {"\"say \"\"hi\"\"\"", "\"--say \"\"hi\"\"\"", "say \"hi\""},
      {"\"line\nbreak\"", "\"--line\nbreak\"", "line\nbreak"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(saved); i++) {
    expect_dialect(&saved[i], NVTXA_QUOTING_NSYS);
  }
}

static nvtxa_ranges *read_gpu_name(const char *field, nvtxa_quoting quoting) {
  char *text = NULL;
  cr_assert_gt(asprintf(&text,
                        GPU_HEADER "\n%s,100,50,80,40,PushPop,7,8,3,0,0,1,,:1\n"
                                   "next,200,50,180,40,PushPop,7,8,3,0,0,2,,:2\n",
                        field),
               0);
  nvtxa_ranges *ranges = read_text(text, strlen(text), NVTXA_REPORT_GPU_PROJ_TRACE, quoting);
  cr_assert_eq(nvtxa_ranges_count(ranges), 2, "%s", text);
  free(text);
  return ranges;
}

Test(ranges, gpu_names_have_no_name_tree) {
  static const char *const cases[][2] = {
      {"\"say \"\"hi\"\"\"", "say \"hi\""},
      {"\"a,b\"", "a,b"},
      {"say \"hi\"", "say \"hi\""},
      {"\"", "\""},
      {"\"\"", "\"\""},
      {"\",\"", ","},
      {"\",,\n\"", ",,\n"},
      {"line\nbreak", "line\nbreak"},
      {"\"both, \"of\" them\"", "both, \"of\" them"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    nvtxa_ranges *ranges = read_gpu_name(cases[i][0], NVTXA_QUOTING_AUTO);
    expect_name(ranges, 0, cases[i][1], strlen(cases[i][1]));
    expect_name(ranges, 1, "next", 4);
    nvtxa_ranges_unref(ranges);
  }
}

/* A writer that puts quotes around every text field has none that belong to a name. */
Test(ranges, quotes_around_every_text) {
  static const char text[] =
      GPU_HEADER "\n\"root\",100,50,80,40,\"PushPop\",7,8,3,0,0,1,\"\",\":1\"\n";
  nvtxa_ranges *ranges =
      read_text(text, sizeof text - 1, NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_QUOTING_AUTO);
  expect_name(ranges, 0, "root", 4);
  nvtxa_ranges_unref(ranges);
}

/* ---- streams: what is read does not depend on where the input is cut ---- */

static char *write_temporary(const char *data, size_t length) {
  char *path = strdup("/tmp/nvtxa-test-XXXXXX");
  int fd = mkstemp(path);
  cr_assert_geq(fd, 0);
  cr_assert_eq(write(fd, data, length), (ssize_t)length);
  close(fd);
  return path;
}

Test(ranges, long_records_and_many) {
  nvtxa__buffer text = {0};
  static const char *const fields[][2] = {
      {"\"a, \"b\"", "\"--a, \"b\""}, {"x\ny", "--x\ny"}, {"plain", "--plain"}};
  nvtxa__buffer_printf(&text,
                       HOST_HEADER "\n0,1000000,1000000,0,1000000,root,1,1,0,0,1,,:1,root\n");
  for (int i = 2; i < 9000; i++) {
    const char *const *field = fields[i % 3];
    nvtxa__buffer_printf(&text, "%d,%d,10,0,10,%s,1,1,1,0,%d,1,:1:%d", i * 20, i * 20 + 10,
                         field[0], i, i);
    for (int k = 0; k < (i == 4000 ? 200000 : i % 7); k++) {
      nvtxa__buffer_add(&text, ":123456", 7); /* a deep RangeStack */
    }
    nvtxa__buffer_printf(&text, ",%s\n", field[1]);
  }
  char *path = write_temporary(text.data, text.length);
  nvtxa_ranges *streamed = NULL;
  nvtxa_ranges *whole =
      read_text(text.data, text.length, NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_QUOTING_AUTO);
  cr_assert_eq(nvtxa_ranges_read_file(path, NVTXA_REPORT_PUSHPOP_TRACE, NULL, &streamed, NULL),
               NVTXA_OK);
  cr_assert_eq(nvtxa_ranges_count(whole), 8999);
  cr_assert_eq(nvtxa_ranges_count(streamed), 8999);
  for (size_t i = 0; i < 8999; i++) {
    nvtxa_range a = get(whole, i);
    nvtxa_range b = get(streamed, i);
    cr_assert(nvtxa__text_equal(a.name, b.name) && a.range_id == b.range_id, "row %zu", i);
  }
  unlink(path);
  free(path);
  nvtxa__buffer_free(&text);
  nvtxa_ranges_unref(whole);
  nvtxa_ranges_unref(streamed);
}

/* An unclosed quote must not be looked for through the whole file, record after record. */
Test(ranges, many_names_that_begin_with_a_quote) {
  nvtxa__buffer text = {0};
  nvtxa__buffer_printf(&text, HOST_HEADER "\n");
  for (int i = 0; i < 20000; i++) {
    nvtxa__buffer_printf(&text, "%d,%d,1,0,1,\"open,1,1,0,0,%d,,:%d,\"open\n", i * 2, i * 2 + 1, i,
                         i);
  }
  nvtxa_ranges *ranges =
      read_text(text.data, text.length, NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_QUOTING_AUTO);
  cr_expect_eq(nvtxa_ranges_count(ranges), 20000);
  expect_name(ranges, 19999, "\"open", 5);
  nvtxa_ranges_unref(ranges);
  nvtxa__buffer_free(&text);
}

/* A line break may begin a name, and an empty line may be nothing at all. */
Test(ranges, empty_lines_and_names_that_begin_with_one) {
  static const char gpu[] = GPU_HEADER "\n\nfoo,100,50,80,40,PushPop,7,8,3,0,0,1,,:1\n\n\n";
  nvtxa_ranges *ranges =
      read_text(gpu, sizeof gpu - 1, NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_QUOTING_AUTO);
  cr_assert_eq(nvtxa_ranges_count(ranges), 1);
  expect_name(ranges, 0, "\nfoo", 4);
  nvtxa_ranges_unref(ranges);
  ranges = read_host(HOST_HEADER "\r\n\r\n10,30,20,0,20,a,1,1,0,0,1,,:1,a\r\n\r\n\r");
  cr_assert_eq(nvtxa_ranges_count(ranges), 1);
  nvtxa_ranges_unref(ranges);
}

/* The line break of a last empty line may fall on the border of two reads. */
Test(ranges, empty_last_lines_at_any_place) {
  nvtxa__buffer text = {0};
  nvtxa__buffer_printf(&text, HOST_HEADER "\r\n");
  for (int i = 0; text.length < (1 << 18) - 200; i++) {
    nvtxa__buffer_printf(&text, "%d,%d,1,0,1,a,1,1,0,0,%d,,:%d,a\r\n", i * 2, i * 2 + 1, i, i);
  }
  size_t rows = text.length;
  for (size_t i = 0; i < 300; i++) {
    text.length = rows;
    nvtxa__buffer_printf(&text, "-9,-8,1,0,1,%0*d,1,1,0,0,-9,,:-9,%0*d\r\n\r\n", (int)i + 1, 0,
                         (int)i + 1, 0);
    char *path = write_temporary(text.data, text.length);
    nvtxa_ranges *ranges = NULL;
    cr_assert_eq(nvtxa_ranges_read_file(path, NVTXA_REPORT_PUSHPOP_TRACE, NULL, &ranges, NULL),
                 NVTXA_OK, "%zu", i);
    nvtxa_ranges_unref(ranges);
    unlink(path);
    free(path);
  }
  nvtxa__buffer_free(&text);
}

Test(ranges, quoting_by_version) {
  static const struct {
    const char *version;
    nvtxa_quoting quoting;
  } cases[] = {
      {"NVIDIA Nsight Systems version 2022.4.2.1-df9881f", NVTXA_QUOTING_NSYS},
      {"NVIDIA Nsight Systems version 2024.4.1", NVTXA_QUOTING_NSYS},
      {"NVIDIA Nsight Systems version 2024.5.1", NVTXA_QUOTING_AUTO},
      {"NVIDIA Nsight Systems version 2025.1.3", NVTXA_QUOTING_AUTO},
      {"version", NVTXA_QUOTING_AUTO},
      {NULL, NVTXA_QUOTING_AUTO},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    cr_expect_eq(nvtxa_ranges_quoting_of(nvtxa__text(cases[i].version)), cases[i].quoting, "%zu",
                 i);
  }
}

/* ---- headers ---- */

#define ROW "10,30,20,0,20,a,1,1,0,0,1,,:1,a"

Test(ranges, byte_order_mark_crlf_and_blank_lines) {
  nvtxa_ranges *ranges = read_host("\xEF\xBB\xBF" HOST_HEADER "\r\n" ROW "\r\n\r\n");
  cr_expect_eq(nvtxa_ranges_count(ranges), 1);
  expect_name(ranges, 0, "a", 1);
  nvtxa_ranges_unref(ranges);
  ranges = read_host(HOST_HEADER "\n" ROW); /* no final line break */
  cr_expect_eq(nvtxa_ranges_count(ranges), 1);
  nvtxa_ranges_unref(ranges);
}

Test(ranges, columns_in_any_order_with_others) {
  nvtxa_ranges *ranges = read_host(
      "New,RangeId,Name,ParentId,NumChild,Lvl,TID,PID,DurNonChild (ns),DurChild (ns),Duration "
      "(ns),End (ns),Start (ns)\nx,5,\"a,b\",,0,0,2,1,20,0,20,30,10\n");
  nvtxa_range range = get(ranges, 0);
  expect_name(ranges, 0, "a,b", 3);
  cr_expect(range.range_id == 5 && range.thread_id == 2 && range.process_id == 1 &&
            range.start_ns == 10 && range.duration_ns == 20 && range.child_total_ns == 0 &&
            range.exclusive_ns == 20 && !range.has_parent);
  nvtxa_ranges_unref(ranges);
}

Test(ranges, empty_reports_are_empty_tables) {
  static const char *const texts[] = {"", GPU_HEADER, GPU_HEADER "\n", "\xEF\xBB\xBF"};
  for (size_t i = 0; i < NVTXA__COUNT(texts); i++) {
    nvtxa_ranges *ranges =
        read_text(texts[i], strlen(texts[i]), NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_QUOTING_AUTO);
    cr_expect_eq(nvtxa_ranges_count(ranges), 0);
    nvtxa_ranges_unref(ranges);
  }
}

Test(ranges, headers_that_are_refused) {
  expect_refused("Name,Duration (ns)\na,1\n", NVTXA_REPORT_PUSHPOP_TRACE,
                 NVTXA_ERROR_REPORT_COLUMNS, 1, NULL, "'Start (ns)', 'End (ns)'");
  expect_refused("Name,Duration (ns)\na,1\n", NVTXA_REPORT_PUSHPOP_TRACE,
                 NVTXA_ERROR_REPORT_COLUMNS, 1, NULL, "'RangeId'");
  expect_refused("Start (ms),End (ms)\n", NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_ERROR_REPORT_COLUMNS, 1,
                 NULL, "Start (ms),End (ms)");
  expect_refused("Start:ts_ns,End:ts_ns\n", NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_ERROR_REPORT_COLUMNS,
                 1, NULL, "Start:ts_ns");
  expect_refused(ROW "\n", NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_ERROR_REPORT_COLUMNS, 1, NULL,
                 "10,30,20");
  expect_refused("\"Name\nx", NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_ERROR_REPORT_SYNTAX, 1, NULL,
                 "never closed");
}

/* ---- damaged records: the line, the column and the value ---- */

Test(ranges, damaged_records) {
  static const struct {
    const char *row;
    nvtxa_status status;
    const char *field;
    const char *part;
  } cases[] = {
      {"1,2,3", NVTXA_ERROR_REPORT_SYNTAX, NULL, "too few fields: 3"},
      {"10,30,20,0,20,a,1,1,0,0,2,,:1,a,b", NVTXA_ERROR_REPORT_SYNTAX, NULL, "too many fields: 15"},
      {"10,30,2x0,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "Duration (ns)", "'2x0'"},
      {"10,30,,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "Duration (ns)", "''"},
      {"10,30,99999999999999999999,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE,
       "Duration (ns)", "'99999999999999999999'"},
      {"10,30,9223372036854775808,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE,
       "Duration (ns)", "'9223372036854775808'"},
      {"10,30,20.0,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "Duration (ns)", "'20.0'"},
      {"10,30,+20,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "Duration (ns)", "'+20'"},
      {"10,30, 20,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "Duration (ns)", "' 20'"},
      {"10,31,20,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "End (ns)", "'31'"},
      {"10,-10,-20,0,-20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "Duration (ns)", "negative"},
      {"10,30,20,5,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "DurNonChild (ns)", "'20'"},
      {"10,30,20,0,20,a,1,1,0,-1,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "NumChild", "'-1'"},
      {"10,30,20,0,20,a,1,1,0,0,None,,:1,a", NVTXA_ERROR_REPORT_VALUE, "RangeId", "'None'"},
      {"10,30,20,0,20,a,1,1,0,0,2,-,:1,a", NVTXA_ERROR_REPORT_VALUE, "ParentId", "'-'"},
      {"10,30,20,0,20,\"a", NVTXA_ERROR_REPORT_SYNTAX, NULL, "never closed"},
      {"\"1,000\",\"1,020\",20,0,20,a,1,1,0,0,2,,:1,a", NVTXA_ERROR_REPORT_VALUE, "Start (ns)",
       "'1,000'"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    char *text = NULL;
    cr_assert_gt(asprintf(&text, HOST_HEADER "\n" ROW "\n%s\n", cases[i].row), 0);
    expect_refused(text, NVTXA_REPORT_PUSHPOP_TRACE, cases[i].status, 3, cases[i].field,
                   cases[i].part);
    free(text);
  }
}

Test(ranges, a_report_that_ends_in_the_middle_of_a_record) {
  static const char text[] = HOST_HEADER "\n" ROW "\n40,50,10,0,10,name,1,1,0,0,2,,:2,na";
  expect_refused(text, NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_ERROR_REPORT_SYNTAX, 3, NULL,
                 "in the middle of a record");
}

Test(ranges, lines_are_counted_through_names_with_line_breaks) {
  expect_refused(HOST_HEADER
                 "\n10,30,20,0,20,a\nb,1,1,0,0,1,,:1,a\nb\n10,3x,20,0,20,c,1,1,0,0,2,,:2,c\n",
                 NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_ERROR_REPORT_VALUE, 5, "End (ns)", "'3x'");
}

Test(ranges, two_ranges_with_one_key) {
  expect_refused(HOST_HEADER "\n" ROW "\n40,50,10,0,10,b,1,1,0,0,1,,:1,b\n",
                 NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_ERROR_REPORT_VALUE, 0, "RangeId",
                 "pid 1, tid 1, range 1");
}

Test(ranges, gpu_values_that_contradict) {
  expect_refused(GPU_HEADER "\na,1,-1,1,1,PushPop,1,1,1,0,0,1,,:1\n", NVTXA_REPORT_GPU_PROJ_TRACE,
                 NVTXA_ERROR_REPORT_VALUE, 2, "Projected Duration (ns)", "negative");
  expect_refused(GPU_HEADER "\na,1,1,,1,PushPop,1,1,1,0,0,1,,:1\n", NVTXA_REPORT_GPU_PROJ_TRACE,
                 NVTXA_ERROR_REPORT_VALUE, 2, "Orig Start (ns)", "''");
  expect_refused(GPU_HEADER "\na,1,1,1,1,PushPop,1,1,-4,0,0,1,,:1\n", NVTXA_REPORT_GPU_PROJ_TRACE,
                 NVTXA_ERROR_REPORT_VALUE, 2, "NumGPUOps", "'-4'");
}

/* ---- what is kept apart, replaced, missing ---- */

Test(ranges, gpu_work_outside_every_range) {
  static const char *const rows[] = {
      ",900,500,,,,4242,4299,164,,0,,,\n",
      "None,900,500,None,None,None,4242,4299,164,None,0,None,None,None\n",
  };
  for (size_t i = 0; i < NVTXA__COUNT(rows); i++) {
    nvtxa__buffer text = {0};
    nvtxa__buffer_printf(&text, GPU_HEADER "\n%sa,1,2,1,2,PushPop,1,1,3,0,0,0,,:0\n", rows[i]);
    nvtxa_ranges *ranges =
        read_text(text.data, text.length, NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_QUOTING_AUTO);
    cr_expect_eq(nvtxa_ranges_count(ranges), 1);
    cr_expect_eq(nvtxa_ranges_unattributed_operations(ranges), 164);
    cr_assert_eq(nvtxa_ranges_warning_count(ranges), 1);
    cr_expect_eq(nvtxa_ranges_warning(ranges, 0).kind, NVTXA_WARNING_UNATTRIBUTED_GPU_WORK);
    nvtxa_ranges_unref(ranges);
    nvtxa__buffer_free(&text);
  }
}

Test(ranges, a_gpu_row_that_lost_its_place_is_a_range) {
  static const char text[] = GPU_HEADER
      "\nroot,100,50,80,40,PushPop,7,8,3,0,0,1,,:1\nlost,100,50,90,10,PushPop,7,8,3,,0,2,,\n";
  nvtxa_ranges *ranges =
      read_text(text, sizeof text - 1, NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_QUOTING_AUTO);
  cr_assert_eq(nvtxa_ranges_count(ranges), 2);
  cr_expect(get(ranges, 1).has_parent && get(ranges, 1).parent_id == 1);
  nvtxa_ranges_unref(ranges);
}

Test(ranges, bytes_that_are_not_utf8_are_replaced) {
  static const char text[] = HOST_HEADER
      "\n10,30,20,0,20,caf\xE9,1,1,0,0,1,,:1,caf\xE9\n"
      "40,50,10,0,10,z\xF0\x9F\x9Ay\0z,1,1,0,0,2,,:2,x\n";
  nvtxa_ranges *ranges =
      read_text(text, sizeof text - 1, NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_QUOTING_AUTO);
  expect_name(ranges, 0, "caf\xEF\xBF\xBD", 6);
  expect_name(ranges, 1, "z\xEF\xBF\xBDy\0z", 7);
  cr_assert_eq(nvtxa_ranges_warning_count(ranges), 1);
  cr_expect_eq(nvtxa_ranges_warning(ranges, 0).kind, NVTXA_WARNING_BYTES_REPLACED);
  cr_expect_not_null(strstr(nvtxa_ranges_warning(ranges, 0).text.data, "2 ranges"));
  nvtxa_ranges_unref(ranges);
}

/* A row whose parent is not there: for its sake, all declared parents are looked up. */
#define ELSEWHERE "500,600,100,0,100,e,1,2,1,0,9,77,:77:9,--e\n"

Test(ranges, missing_rows_are_told) {
  static const char text[] = HOST_HEADER
      "\n0,100,100,90,10,a,1,1,0,3,1,,:1,a\n"
      "10,20,10,0,10,b,1,1,1,0,2,1,:1:2,--b\n"
      "30,40,10,0,10,c,1,1,1,0,3,1,:1:3,--c\n" ELSEWHERE;
  for (size_t without = 0; without <= sizeof ELSEWHERE - 1; without += sizeof ELSEWHERE - 1) {
    nvtxa_ranges *ranges =
        read_text(text, sizeof text - 1 - without, NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_QUOTING_AUTO);
    cr_assert_eq(nvtxa_ranges_warning_count(ranges), 1);
    cr_expect_eq(nvtxa_ranges_warning(ranges, 0).kind, NVTXA_WARNING_ROWS_MISSING);
    cr_expect_eq(get(ranges, 0).child_total_ns, 90, "what is declared stays");
    nvtxa_ranges_unref(ranges);
  }
}

/* ---- hierarchy ---- */

Test(ranges, wrong_parents_are_computed_again) {
  nvtxa_ranges *ranges = read_host(HOST_HEADER
                                   "\n0,100,100,10,90,a,1,1,0,1,1,None,:1,a\n"
                                   "10,50,40,0,40,b,1,1,0,0,2,None,:2,b\n"
                                   "60,90,30,60,-30,c,1,1,1,1,3,1,:1:3,--c\n"
                                   "70,80,10,0,10,d,1,1,1,0,4,1,:1:4,--d\n");
  cr_assert_eq(nvtxa_ranges_warning_count(ranges), 1, "the wrong child counts are no missing rows");
  cr_expect_eq(nvtxa_ranges_warning(ranges, 0).kind, NVTXA_WARNING_PARENTS_RECOMPUTED);
  cr_expect_not_null(strstr(nvtxa_ranges_warning(ranges, 0).text.data, "2 of 4 ranges"));
  cr_expect(get(ranges, 1).has_parent && get(ranges, 1).parent_id == 1);
  cr_expect(get(ranges, 3).has_parent && get(ranges, 3).parent_id == 3);
  cr_expect_eq(get(ranges, 0).child_total_ns, 70);
  cr_expect_eq(get(ranges, 0).exclusive_ns, 30);
  cr_expect_eq(get(ranges, 2).exclusive_ns, 20);
  nvtxa_ranges_unref(ranges);
}

/* The parents are right and all there, but not the time that the children are said to take. */
Test(ranges, wrong_child_times_are_computed_again) {
  static const struct {
    const char *times;
    int children;
    const char *further;
  } declared[] = {{"130,-30", 1, ""},
                  {"10,90", 1, ""},
                  {"10,90", 0, ""},
                  {"130,-30", 1, ELSEWHERE},
                  {"10,90", 1, ELSEWHERE}};
  for (size_t i = 0; i < NVTXA__COUNT(declared); i++) {
    char *text = NULL;
    cr_assert_gt(asprintf(&text,
                          HOST_HEADER "\n0,100,100,%s,a,1,1,0,%d,1,,:1,a\n"
                                      "10,60,50,0,50,b,1,1,1,0,2,1,:1:2,--b\n%s",
                          declared[i].times, declared[i].children, declared[i].further),
                 0);
    nvtxa_ranges *ranges = read_host(text);
    cr_assert_eq(nvtxa_ranges_warning_count(ranges), 1);
    cr_expect_eq(nvtxa_ranges_warning(ranges, 0).kind, NVTXA_WARNING_PARENTS_RECOMPUTED);
    cr_expect_eq(get(ranges, 0).exclusive_ns, 50);
    nvtxa_ranges_unref(ranges);
    free(text);
  }
}

/* nsys 2022.x gets parents of the GPU report wrong as well. */
Test(ranges, wrong_parents_of_gpu_ranges) {
  static const char text[] = GPU_HEADER
      "\na,1,90,0,100,PushPop,1,1,2,0,1,1,None,:1\n"
      "b,1,40,10,50,PushPop,1,1,1,0,0,2,None,:2\n";
  nvtxa_ranges *ranges =
      read_text(text, sizeof text - 1, NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_QUOTING_NSYS);
  cr_assert_eq(nvtxa_ranges_warning_count(ranges), 1);
  cr_expect_null(strstr(nvtxa_ranges_warning(ranges, 0).text.data, "exclusive"));
  cr_expect(get(ranges, 1).has_parent && get(ranges, 1).parent_id == 1);
  nvtxa_ranges_unref(ranges);
}

/* Domains overlap without nesting on one thread; nsys takes the shortest that encloses. */
Test(ranges, overlapping_domains_agree_with_nsys) {
  nvtxa_ranges *ranges = read_host(HOST_HEADER
                                   "\n0,100,100,130,-30,a,1,1,0,2,1,,:1,a\n"
                                   "10,70,60,10,50,A:x,1,1,1,1,2,1,:1:2,--A:x\n"
                                   "20,90,70,0,70,B:y,1,1,1,0,3,1,:1:3,--B:y\n"
                                   "30,40,10,0,10,c,1,1,2,0,4,2,:1:2:4,----c\n");
  cr_expect_eq(nvtxa_ranges_warning_count(ranges), 0);
  cr_expect_eq(get(ranges, 0).exclusive_ns, -30);
  nvtxa_ranges_unref(ranges);
}

Test(ranges, equal_and_empty_ranges) {
  nvtxa_ranges *ranges = read_host(HOST_HEADER
                                   "\n10,90,80,80,0,a,1,1,0,1,2,,:2,a\n"
                                   "10,90,80,0,80,b,1,1,1,0,3,2,:2:3,--b\n"
                                   "95,95,0,0,0,c,1,1,0,0,4,,:4,c\n");
  cr_expect_eq(nvtxa_ranges_warning_count(ranges), 0);
  nvtxa_ranges_unref(ranges);
}

Test(ranges, a_parent_that_is_not_there_is_no_disagreement) {
  nvtxa_ranges *ranges = read_host(HOST_HEADER
                                   "\n0,100,100,0,100,a,1,1,0,0,1,,:1,a\n"
                                   "10,50,40,0,40,b,1,1,2,0,2,77,:1:77:2,----b\n");
  cr_expect_eq(nvtxa_ranges_warning_count(ranges), 0);
  cr_expect(get(ranges, 1).has_parent && get(ranges, 1).parent_id == 77);
  cr_expect_eq(nvtxa__range_parent(ranges, 1), NVTXA__UNKNOWN_PARENT);
  nvtxa_ranges_unref(ranges);
}

Test(ranges, cycles_are_refused) {
  expect_refused(HOST_HEADER
                 "\n0,100,100,0,100,a,1,1,0,0,1,2,:1,a\n"
                 "10,50,40,0,40,b,1,1,1,0,2,1,:1:2,--b\n",
                 NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_ERROR_HIERARCHY_CYCLE, 0, "ParentId",
                 "(pid 1, tid 1)");
  expect_refused(HOST_HEADER "\n0,100,100,0,100,a,1,1,0,0,1,1,:1,a\n", NVTXA_REPORT_PUSHPOP_TRACE,
                 NVTXA_ERROR_HIERARCHY_CYCLE, 0, "ParentId", "range 1");
}

/* The definition, word for word, in quadratic time. */
static bool is_right_parent(const nvtxa_range *all, size_t count, size_t child,
                            const nvtxa_range *p) {
  const nvtxa_range *c = &all[child];
  int64_t best = INT64_MAX;
  for (size_t i = 0; i < count; i++) {
    bool encloses = i != child && all[i].thread_id == c->thread_id &&
                    all[i].start_ns <= c->start_ns &&
                    all[i].start_ns + all[i].duration_ns >= c->start_ns + c->duration_ns;
    bool equal = all[i].start_ns == c->start_ns && all[i].duration_ns == c->duration_ns;
    if (encloses && (!equal || all[i].range_id < c->range_id) && all[i].duration_ns < best) {
      best = all[i].duration_ns;
    }
  }
  if (p == NULL) {
    return best == INT64_MAX;
  }
  bool equal = p->start_ns == c->start_ns && p->duration_ns == c->duration_ns;
  return p->thread_id == c->thread_id && p->start_ns <= c->start_ns &&
         p->start_ns + p->duration_ns >= c->start_ns + c->duration_ns && p->duration_ns == best &&
         (!equal || p->range_id < c->range_id);
}

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static nvtxa_ranges *build(nvtxa_report report, nvtxa_hierarchy hierarchy, const nvtxa_range *rows,
                           size_t count) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges_builder *builder = NULL;
  nvtxa_ranges *ranges = NULL;
  options.hierarchy = hierarchy;
  cr_assert_eq(nvtxa_ranges_builder_new(report, &options, &builder, NULL), NVTXA_OK);
  for (size_t i = 0; i < count; i++) {
    cr_assert_eq(nvtxa_ranges_builder_add(builder, &rows[i], NULL), NVTXA_OK);
  }
  cr_assert_eq(nvtxa_ranges_builder_finish(builder, &ranges, NULL), NVTXA_OK);
  nvtxa_ranges_builder_free(builder);
  return ranges;
}

Test(ranges, parents_from_times_follow_the_definition) {
  enum { COUNT = 60 };
  uint64_t state = 20240817;
  for (int round = 0; round < 400; round++) {
    nvtxa_range all[COUNT];
    int64_t span = round % 2 == 0 ? 12 : 200; /* few points in time: many equal bounds */
    for (size_t i = 0; i < COUNT; i++) {
      all[i] = (nvtxa_range){
          .size = sizeof all[i],
          .name = {"x", 1},
          .thread_id = (int64_t)(next_random(&state) % 2),
          .range_id = (int64_t)i,
          .start_ns = (int64_t)(next_random(&state) % (uint64_t)span),
          .duration_ns = (int64_t)(next_random(&state) % (uint64_t)span),
      };
      if (round % 4 >= 2) { /* dyadic intervals always nest */
        int64_t length = (int64_t)1 << (next_random(&state) % 6);
        all[i].duration_ns = length;
        all[i].start_ns = (int64_t)(next_random(&state) % 64) / length * length;
      }
    }
    nvtxa_ranges *ranges =
        build(NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_HIERARCHY_FROM_TIMES, all, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
      nvtxa_range range = get(ranges, i);
      const nvtxa_range *parent = range.has_parent ? &all[range.parent_id] : NULL;
      cr_assert(is_right_parent(all, COUNT, i, parent), "round %d, range %zu", round, i);
    }
    nvtxa_ranges_unref(ranges);
  }
}

/* A table's own parents, declared, give the table again, whether they are looked up or not. */
Test(ranges, declared_parents_that_are_right_stay) {
  enum { COUNT = 600 };
  nvtxa_range rows[COUNT + 1];
  uint64_t state = 7;
  for (size_t i = 0; i < COUNT; i++) {
    int64_t length = (int64_t)1 << (next_random(&state) % 12); /* dyadic: they nest */
    rows[i] = (nvtxa_range){
        .size = sizeof rows[i],
        .name = {"x", 1},
        .thread_id = (int64_t)(i % 3),
        .range_id = (int64_t)((i * 7) % COUNT / 3), /* each on all threads */
        .start_ns = (int64_t)(next_random(&state) % 4096) / length * length,
        .duration_ns = length,
    };
  }
  nvtxa_ranges *found = build(NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_HIERARCHY_FROM_TIMES, rows, COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    rows[i] = get(found, i);
  }
  rows[COUNT] = (nvtxa_range){.size = sizeof *rows,
                              .name = {"e", 1},
                              .thread_id = 9,
                              .range_id = 9,
                              .has_parent = true,
                              .parent_id = COUNT};
  for (size_t count = COUNT; count <= COUNT + 1; count++) {
    nvtxa_ranges *declared =
        build(NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_HIERARCHY_DECLARED, rows, count);
    cr_expect_eq(nvtxa_ranges_warning_count(declared), 0);
    for (size_t i = 0; i < count; i++) {
      nvtxa_range range = get(declared, i);
      cr_assert(range.has_parent == rows[i].has_parent && range.parent_id == rows[i].parent_id &&
                    range.exclusive_ns == rows[i].exclusive_ns,
                "range %zu of %zu", i, count);
      cr_assert(i == COUNT || nvtxa__range_parent(declared, i) == nvtxa__range_parent(found, i));
    }
    nvtxa_ranges_unref(declared);
  }
  nvtxa_ranges_unref(found);
}

/* ---- rows by their keys ---- */

enum { KEYS = 1000 };

/* Look for what is beside each key, or for the key itself; each fourth time on another thread. */
static void expect_keys_found(const nvtxa_ranges *ranges, const nvtxa_range *rows, size_t step,
                              int64_t beside) {
  size_t near = 0;
  for (size_t i = 0; i < KEYS; i++) {
    const nvtxa_range *row = &rows[i * step % KEYS];
    nvtxa__thread thread = {row->process_id, row->thread_id + (i % 4 == 3)};
    int64_t id = (int64_t)((uint64_t)row->range_id + (uint64_t)beside);
    size_t right = 0;
    while (right < KEYS &&
           (rows[right].range_id != id || rows[right].thread_id != thread.thread_id)) {
      right++;
    }
    cr_assert_eq(nvtxa__ranges_find(ranges, thread, id, &near),
                 right < KEYS ? right : NVTXA__NO_PARENT, "id %lld", (long long)id);
  }
}

Test(ranges, rows_are_found_by_their_keys) {
  enum { ASCENDING, DENSE, APART, EXTREME, REPEATED, WAYS };
  for (int way = 0; way < WAYS; way++) {
    nvtxa_range rows[KEYS];
    for (int64_t i = 0; i < KEYS; i++) {
      int64_t mixed = i * 7 % KEYS;
      const int64_t ids[] = {i * 3 - 500, mixed * 3 - 500, mixed * 1000003,
                             i == 3   ? INT64_MAX
                             : i == 5 ? INT64_MIN
                                      : mixed,
                             mixed / 2};
      rows[i] = (nvtxa_range){.size = sizeof *rows,
                              .name = {"x", 1},
                              .thread_id = way == REPEATED ? mixed % 2 : 4,
                              .range_id = ids[way],
                              .start_ns = 2 * i};
    }
    nvtxa_ranges *ranges = build(NVTXA_REPORT_PUSHPOP_TRACE, NVTXA_HIERARCHY_DECLARED, rows, KEYS);
    cr_expect_eq(ranges->ascending, way == ASCENDING);
    cr_expect_eq(ranges->row_of_id != NULL, way == DENSE);
    cr_expect_eq(ranges->keys.slots != NULL, way > DENSE);
    for (int64_t beside = -1; beside <= 1; beside++) {
      expect_keys_found(ranges, rows, 1, beside);
      expect_keys_found(ranges, rows, KEYS - 1, beside);
      expect_keys_found(ranges, rows, 37, beside);
    }
    nvtxa_ranges_unref(ranges);
  }
}

/* In a table of GPU ranges, a key may have several rows. */
Test(ranges, the_first_of_rows_with_one_key_is_found) {
  nvtxa_range rows[3];
  size_t near = 0;
  for (int64_t i = 0; i < 3; i++) {
    rows[i] = (nvtxa_range){.size = sizeof *rows, .name = {"x", 1}, .range_id = 5 + i / 2};
  }
  nvtxa_ranges *ranges = build(NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_HIERARCHY_FROM_TIMES, rows, 3);
  cr_expect_eq(nvtxa__ranges_find(ranges, (nvtxa__thread){0, 0}, 5, &near), 0);
  cr_expect_eq(nvtxa__ranges_find(ranges, (nvtxa__thread){0, 0}, 6, &near), 2);
  nvtxa_ranges_unref(ranges);
}

/* ---- building ---- */

Test(ranges, builder_refuses_what_cannot_be) {
  nvtxa_ranges_builder *builder = NULL;
  nvtxa_ranges *ranges = NULL;
  nvtxa_range range = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_builder_new(NVTXA_REPORT_PUSHPOP_TRACE, NULL, &builder, NULL),
               NVTXA_OK);
  range.duration_ns = range.exclusive_ns = 5;
  cr_expect_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  range.name = (nvtxa_text){"a", 1};
  cr_expect_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_OK);
  range.start_ns = INT64_MAX;
  cr_expect_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  range.start_ns = 0;
  range.duration_ns = -1;
  cr_expect_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  range.duration_ns = 5;
  range.exclusive_ns = 4;
  cr_expect_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  range.size = 3;
  cr_expect_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_assert_eq(nvtxa_ranges_builder_finish(builder, &ranges, NULL), NVTXA_OK);
  cr_expect_eq(nvtxa_ranges_builder_finish(builder, &ranges, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_ranges_count(ranges), 1);
  nvtxa_ranges_builder_free(builder);
  nvtxa_ranges_unref(ranges);
}

Test(ranges, files_that_cannot_be_read) {
  nvtxa_ranges *ranges = NULL;
  nvtxa_error *error = NULL;
  cr_expect_eq(nvtxa_ranges_read_file("/nonexistent/x.csv", NVTXA_REPORT_PUSHPOP_TRACE, NULL,
                                      &ranges, &error),
               NVTXA_ERROR_REPORT_MISSING);
  cr_expect_str_eq(nvtxa_error_file(error), "/nonexistent/x.csv");
  nvtxa_error_free(error);
  error = NULL;
  cr_expect_eq(nvtxa_ranges_read_file("/", NVTXA_REPORT_PUSHPOP_TRACE, NULL, &ranges, &error),
               NVTXA_ERROR_IO);
  nvtxa_error_free(error);
}

Test(ranges, cancelled) {
  static volatile sig_atomic_t cancel = 1;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges *ranges = NULL;
  hooks.cancel = &cancel;
  options.hooks = &hooks;
  char *path = write_temporary(HOST_HEADER "\n" ROW "\n", sizeof HOST_HEADER + sizeof ROW);
  cr_expect_eq(nvtxa_ranges_read_file(path, NVTXA_REPORT_PUSHPOP_TRACE, &options, &ranges, NULL),
               NVTXA_ERROR_CANCELLED);
  unlink(path);
  free(path);
}
