/* json/: the text layer by itself, then whole documents. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json/json-internal.h"

/* ---- help ---- */

/* Keeps what it is given; fails with EPIPE once `capacity` bytes have come. */
struct sink {
  nvtxa__buffer text;
  size_t capacity;
  size_t calls;
  size_t longest;
};

static int take(void *user, const char *data, size_t length) {
  struct sink *sink = user;
  sink->calls++;
  sink->longest = length > sink->longest ? length : sink->longest;
  if (sink->capacity > 0 && sink->text.length + length > sink->capacity) {
    return EPIPE;
  }
  return nvtxa__buffer_add(&sink->text, data, length) == 0 ? 0 : ENOMEM;
}

static void expect_written(struct sink *sink, nvtxa__json_writer *writer, const char *wanted) {
  cr_assert_eq(nvtxa__json_finish(writer), NVTXA_OK);
  cr_expect_str_eq(sink->text.data, wanted, "got:\n%s\nnot:\n%s", sink->text.data, wanted);
  cr_expect_eq(sink->text.length, strlen(wanted));
  nvtxa__buffer_free(&sink->text);
}

static nvtxa_text text_of(const char *string) {
  return nvtxa__text(string);
}

/* ---- the writer: layout ---- */

Test(json, empty_containers) {
  nvtxa__json_writer writer;
  struct sink sink = {0};
  nvtxa__json_start(&writer, take, &sink, NULL);
  nvtxa__json_open(&writer, '{');
  nvtxa__json_close(&writer, '}');
  expect_written(&sink, &writer, "{}\n");
  nvtxa__json_start(&writer, take, &sink, NULL);
  nvtxa__json_open(&writer, '[');
  nvtxa__json_close(&writer, ']');
  expect_written(&sink, &writer, "[]\n");
}

Test(json, layout) {
  nvtxa__json_writer writer;
  struct sink sink = {0};
  nvtxa__json_start(&writer, take, &sink, NULL);
  nvtxa__json_open(&writer, '{');
  nvtxa__json_key(&writer, "a");
  nvtxa__json_open(&writer, '[');
  nvtxa__json_close(&writer, ']');
  nvtxa__json_key(&writer, "b");
  nvtxa__json_open(&writer, '[');
  nvtxa__json_integer(&writer, 1);
  nvtxa__json_open(&writer, '{');
  nvtxa__json_close(&writer, '}');
  nvtxa__json_open(&writer, '[');
  nvtxa__json_text(&writer, text_of("x"));
  nvtxa__json_null(&writer);
  nvtxa__json_close(&writer, ']');
  nvtxa__json_close(&writer, ']');
  nvtxa__json_key_text(&writer, text_of("c\"\n"));
  nvtxa__json_open(&writer, '{');
  nvtxa__json_key(&writer, "d");
  nvtxa__json_real(&writer, 0.5);
  nvtxa__json_close(&writer, '}');
  nvtxa__json_close(&writer, '}');
  expect_written(&sink, &writer,
                 "{\n"
                 "  \"a\": [],\n"
                 "  \"b\": [\n"
                 "    1,\n"
                 "    {},\n"
                 "    [\n"
                 "      \"x\",\n"
                 "      null\n"
                 "    ]\n"
                 "  ],\n"
                 "  \"c\\\"\\n\": {\n"
                 "    \"d\": 0.5\n"
                 "  }\n"
                 "}\n");
}

static const char *const values[] = {
    "null",
    "[null, true, false, 0, -1, 9223372036854775807, -9223372036854775808]",
    "[0.1, 0.5, 1e22, -0.0, 4096.0, 0.30000000000000004]",
    "{\"b\": {\"y\": [[], {}, [[1]]], \"x\": {}}, \"a\": \"\\u0000/\\u001F\\\"\\\\\", \"B\": []}",
    "[\"\xC3\xA9\xF0\x9F\x98\x80\xE2\x80\xA8\x7F\"]",
    "{\"\xC3\xA9\": 1, \"z\": 2, \"aa\": 3, \"a\": 4, \"\": 5}",
};

/* jansson itself is the reference; 17 digits are its own way with floats. */
Test(json, values_as_jansson_writes_them) {
  for (size_t i = 0; i < NVTXA__COUNT(values); i++) {
    nvtxa__json_writer writer;
    struct sink sink = {0};
    json_t *value = json_loads(values[i], JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    cr_assert_not_null(value);
    nvtxa__json_start(&writer, take, &sink, NULL);
    nvtxa__json_value(&writer, value);
    cr_assert_eq(nvtxa__json_finish(&writer), NVTXA_OK);
    size_t flags = JSON_ENCODE_ANY | JSON_INDENT(2) | JSON_SORT_KEYS;
    char *same = json_dumps(value, i == 2 ? flags | JSON_REAL_PRECISION(15) : flags);
    if (i == 2) { /* the one float among them that needs 17 */
      memcpy(strstr(same, "0.3\n"), "0.3\0", 4);
      cr_expect_eq(strncmp(sink.text.data, same, strlen(same)), 0, "%s", sink.text.data);
      cr_expect_not_null(strstr(sink.text.data, "  0.30000000000000004\n]\n"));
    } else {
      cr_expect_eq(strncmp(sink.text.data, same, strlen(same)), 0, "%s", sink.text.data);
      cr_expect_str_eq(sink.text.data + strlen(same), "\n");
    }
    free(same);
    json_decref(value);
    nvtxa__buffer_free(&sink.text);
  }
}

/* ---- the writer: scalars ---- */

static void expect_real(double value, const char *wanted) {
  nvtxa__json_writer writer;
  struct sink sink = {0};
  nvtxa__json_start(&writer, take, &sink, NULL);
  nvtxa__json_real(&writer, value);
  cr_assert_eq(nvtxa__json_finish(&writer), NVTXA_OK);
  cr_expect_eq(sink.text.data[sink.text.length - 1], '\n');
  sink.text.data[sink.text.length - 1] = '\0';
  if (wanted != NULL) {
    cr_expect_str_eq(sink.text.data, wanted);
  } else {
    double back = strtod(sink.text.data, NULL);
    cr_expect_arr_eq(&back, &value, sizeof value, "%.17g gives %s", value, sink.text.data);
    cr_expect_not_null(strpbrk(sink.text.data, ".e"), "%s looks like an integer", sink.text.data);
  }
  nvtxa__buffer_free(&sink.text);
}

Test(json, reals) {
  expect_real(0.0, "0.0");
  expect_real(-0.0, "-0.0");
  expect_real(4096, "4096.0");
  expect_real(0.1, "0.1");
  expect_real(-285021.5, "-285021.5");
  expect_real(4709517.9385, "4709517.9385");
  expect_real(4709517.9384999998, "4709517.9385");
  expect_real(0.1 + 0.2, "0.30000000000000004");
  expect_real(1.0 / 3, "0.3333333333333333");
  expect_real(207849.08858231734, "207849.08858231734");
  expect_real(123456789012345.0, "123456789012345.0");
  expect_real(9007199254740993.0, "9007199254740992.0");
  expect_real(1e22, "1e22");
  expect_real(1e-7, "1e-7");
  expect_real(DBL_MAX, "1.7976931348623157e308");
  expect_real(5e-324, "4.94065645841247e-324");
  expect_real((double)NAN, "null");
  expect_real((double)INFINITY, "null");
  expect_real(-(double)INFINITY, "null");
}

Test(json, reals_read_back_equal) {
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < 20000; i++) {
    double value;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    memcpy(&value, &state, sizeof value);
    if (isfinite(value)) {
      expect_real(value, NULL);
    }
    expect_real((double)(state >> 20) / 7, NULL);
    expect_real((double)(state >> 30), NULL);
  }
}

Test(json, integers) {
  nvtxa__json_writer writer;
  struct sink sink = {0};
  nvtxa__json_start(&writer, take, &sink, NULL);
  nvtxa__json_open(&writer, '[');
  nvtxa__json_integer(&writer, INT64_MIN);
  nvtxa__json_integer(&writer, INT64_MAX);
  nvtxa__json_integer(&writer, 0);
  nvtxa__json_count(&writer, UINT64_MAX);
  nvtxa__json_close(&writer, ']');
  expect_written(&sink, &writer,
                 "[\n  -9223372036854775808,\n  9223372036854775807,\n  0,\n"
                 "  18446744073709551615\n]\n");
}

Test(json, texts) {
  nvtxa__json_writer writer;
  struct sink sink = {0};
  nvtxa__json_start(&writer, take, &sink, NULL);
  nvtxa__json_open(&writer, '[');
  nvtxa__json_text(&writer, text_of(NULL));
  nvtxa__json_text(&writer, text_of(""));
  nvtxa__json_text(&writer, (nvtxa_text){"a\0b", 3});
  nvtxa__json_text(&writer, text_of("/ \"quoted\" \\ \b\f\n\r\t\x1F\x7F"));
  nvtxa__json_text(&writer, text_of("\xC3\xA9 \xE6\xB1\x89 \xF0\x9F\x98\x80 \xE2\x80\xA8"));
  nvtxa__json_text(&writer, text_of("a\xFF\xE6\xB1z\xED\xA0\x80"));
  nvtxa__json_close(&writer, ']');
  expect_written(&sink, &writer,
                 "[\n"
                 "  null,\n"
                 "  \"\",\n"
                 "  \"a\\u0000b\",\n"
                 "  \"/ \\\"quoted\\\" \\\\ \\b\\f\\n\\r\\t\\u001F\x7F\",\n"
                 "  \"\xC3\xA9 \xE6\xB1\x89 \xF0\x9F\x98\x80 \xE2\x80\xA8\",\n"
                 "  \"a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"\n"
                 "]\n");
}

Test(json, texts_of_any_length) {
  char *letters = malloc(20000);
  cr_assert_not_null(letters);
  memset(letters, 'x', 20000);
  for (size_t length = 4080; length <= 20000; length += length < 4110 ? 1 : 5000) {
    nvtxa__json_writer writer;
    struct sink sink = {0};
    nvtxa__json_start(&writer, take, &sink, NULL);
    nvtxa__json_text(&writer, (nvtxa_text){letters, length});
    cr_assert_eq(nvtxa__json_finish(&writer), NVTXA_OK);
    cr_expect_eq(sink.text.length, length + 3);
    cr_expect_eq(memcmp(sink.text.data + 1, letters, length), 0);
    cr_expect_eq(strcmp(sink.text.data + length + 1, "\"\n"), 0);
    nvtxa__buffer_free(&sink.text);
  }
  free(letters);
}

/* Where no locale with a decimal comma is installed, this shows that the locale is put back. */
Test(json, locale_with_a_decimal_comma) {
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "fa_IR.UTF-8", "C"};
  for (size_t i = 0; i < NVTXA__COUNT(names); i++) {
    locale_t locale = newlocale(LC_ALL_MASK, names[i], (locale_t)0);
    if (locale != (locale_t)0) {
      nvtxa__json_writer writer;
      struct sink sink = {0};
      locale_t before = uselocale(locale);
      nvtxa__json_start(&writer, take, &sink, NULL);
      nvtxa__json_real(&writer, 1.25);
      expect_written(&sink, &writer, "1.25\n");
      cr_expect_eq(uselocale(before), locale);
      freelocale(locale);
    }
  }
}

/* ---- the writer: failures ---- */

Test(json, first_failure_stays) {
  nvtxa__json_writer writer;
  struct sink sink = {.capacity = 5000};
  nvtxa__json_start(&writer, take, &sink, NULL);
  nvtxa__json_open(&writer, '[');
  for (int i = 0; i < 100000; i++) {
    nvtxa__json_real(&writer, 0.1);
    nvtxa__json_text(&writer, text_of("text"));
  }
  nvtxa__json_close(&writer, ']');
  cr_expect_eq(writer.status, NVTXA_ERROR_IO);
  nvtxa__json_fail(&writer, NVTXA_ERROR_OUT_OF_MEMORY);
  cr_expect_eq(nvtxa__json_finish(&writer), NVTXA_ERROR_IO);
  cr_expect_eq(writer.errnum, EPIPE);
  cr_expect_eq(sink.calls, 2);
  nvtxa__buffer_free(&sink.text);
}

Test(json, failure_from_elsewhere) {
  nvtxa__json_writer writer;
  struct sink sink = {0};
  nvtxa__json_start(&writer, take, &sink, NULL);
  nvtxa__json_fail(&writer, NVTXA_OK);
  cr_expect_eq(writer.status, NVTXA_OK);
  nvtxa__json_open(&writer, '[');
  nvtxa__json_fail(&writer, NVTXA_ERROR_OUT_OF_MEMORY);
  nvtxa__json_close(&writer, ']');
  cr_expect_eq(nvtxa__json_finish(&writer), NVTXA_ERROR_OUT_OF_MEMORY);
  cr_expect_eq(sink.calls, 0);
}

/* ---- documents ---- */

static nvtxa_ranges *finish(nvtxa_ranges_builder *builder) {
  nvtxa_ranges *ranges = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_ranges_builder_finish(builder, &ranges, &error);
  cr_assert_eq(status, NVTXA_OK, "%s", error ? nvtxa_error_message(error) : "");
  nvtxa_ranges_builder_free(builder);
  return ranges;
}

/* A range of process 42 and thread 42, of either report. A parent of 0 is none. */
static void add(nvtxa_ranges_builder *builder, nvtxa_range range) {
  range.size = sizeof range;
  range.process_id = 42;
  range.thread_id = 42;
  range.has_parent = range.parent_id != 0;
  cr_assert_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_OK);
}

static nvtxa_ranges_builder *build(nvtxa_report report) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges_builder *builder = NULL;
  options.hierarchy =
      report == NVTXA_REPORT_PUSHPOP_TRACE ? NVTXA_HIERARCHY_FROM_TIMES : NVTXA_HIERARCHY_DECLARED;
  cr_assert_eq(nvtxa_ranges_builder_new(report, &options, &builder, NULL), NVTXA_OK);
  return builder;
}

static nvtxa_range host(int64_t id, const char *name, int64_t start_ns, int64_t end_ns) {
  return (nvtxa_range){.range_id = id,
                       .name = text_of(name),
                       .start_ns = start_ns,
                       .duration_ns = end_ns - start_ns};
}

static nvtxa_range gpu(int64_t id, int64_t parent_id, const char *name, int64_t projected_ns,
                       int64_t host_ns, int64_t operations) {
  return (nvtxa_range){.range_id = id,
                       .parent_id = parent_id,
                       .name = text_of(name),
                       .duration_ns = host_ns,
                       .style = text_of("PushPop"),
                       .projected_duration_ns = projected_ns,
                       .gpu_operation_count = operations};
}

static nvtxa_ranges *two_iterations(bool last_is_open) {
  nvtxa_ranges_builder *builder = build(NVTXA_REPORT_PUSHPOP_TRACE);
  nvtxa_range second = host(5, "iteration 1", 300, 500);
  second.open = last_is_open;
  add(builder, host(1, ":target", 0, 1000));
  add(builder, host(2, "iteration 0", 100, 201));
  add(builder, host(3, "say \"hi\"", 110, 130));
  add(builder, host(4, "say \"hi\"", 140, 165));
  add(builder, second);
  return finish(builder);
}

static nvtxa_ranges *projections(size_t count) {
  nvtxa_ranges_builder *builder = build(NVTXA_REPORT_GPU_PROJ_TRACE);
  if (count > 0) {
    add(builder, gpu(1, 0, ":target", 700, 1000, 9));
    add(builder, gpu(2, 1, "iteration 0", 60, 101, 4));
    add(builder, gpu(3, 2, "say \"hi\"", 15, 20, 1));
  }
  return finish(builder);
}

static nvtxa_analysis *analyse_with(const char *manifest_text, nvtxa_ranges *host_ranges,
                                    nvtxa_ranges *gpu_ranges, const nvtxa_export *exported) {
  nvtxa_analysis_options options = NVTXA_ANALYSIS_OPTIONS_INIT;
  nvtxa_manifest *manifest = NULL;
  nvtxa_analysis *analysis = NULL;
  nvtxa_error *error = NULL;
  options.exported = exported;
  cr_assert_eq(nvtxa_manifest_read_buffer(manifest_text, strlen(manifest_text), &manifest, &error),
               NVTXA_OK, "%s", error ? nvtxa_error_message(error) : "");
  nvtxa_status status =
      nvtxa_analysis_new(manifest, host_ranges, gpu_ranges, &options, &analysis, &error);
  cr_assert_eq(status, NVTXA_OK, "%s", error ? nvtxa_error_message(error) : "");
  nvtxa_manifest_unref(manifest);
  nvtxa_ranges_unref(host_ranges);
  nvtxa_ranges_unref(gpu_ranges);
  return analysis;
}

/* The document, which alone keeps the analysis. */
static nvtxa_json *document_of(nvtxa_analysis *analysis) {
  nvtxa_json *json = NULL;
  cr_assert_eq(nvtxa_json_new(analysis, NULL, &json, NULL), NVTXA_OK);
  nvtxa_analysis_unref(analysis);
  return json;
}

static char *text_and_free(nvtxa_json *json) {
  char *text = NULL;
  size_t length = 0;
  cr_assert_eq(nvtxa_json_to_text(json, &text, &length, NULL), NVTXA_OK);
  cr_assert_eq(length, strlen(text));
  nvtxa_json_unref(json);
  return text;
}

static const char manifest_text[] =
    "capture_range: target\n"
    "profile_name: smoke\n"
    "run_id: 2026-08-26\n"
    "git_commit: 0123456\n"
    "record_ids: [a, b]\n"
    "cuda: {synchronize: true}\n"
    "workload: {warmup: 0.1, iterations: 2, names: [\"\xC3\xA9\", {}, []], big: 1e999}\n";

static const char golden[] =
    "{\n"
    "  \"capture_gpu_work\": null,\n"
    "  \"gpu_devices\": null,\n"
    "  \"gpu_projected_ranges\": [\n"
    "    {\n"
    "      \"context\": \"iteration\",\n"
    "      \"gpu_operation_count\": 1,\n"
    "      \"gpu_work\": null,\n"
    "      \"host_total_ns\": 20,\n"
    "      \"instances\": 1,\n"
    "      \"name\": \"say \\\"hi\\\"\",\n"
    "      \"path\": [\n"
    "        \"say \\\"hi\\\"\"\n"
    "      ],\n"
    "      \"projected\": {\n"
    "        \"maximum_ns\": 15,\n"
    "        \"mean_ns\": 15.0,\n"
    "        \"median_ns\": 15.0,\n"
    "        \"minimum_ns\": 15,\n"
    "        \"p50_ns\": 15.0,\n"
    "        \"p90_ns\": 15.0,\n"
    "        \"p95_ns\": 15.0,\n"
    "        \"p99_ns\": 15.0,\n"
    "        \"stddev_ns\": 0.0,\n"
    "        \"total_ns\": 15\n"
    "      },\n"
    "      \"style\": \"PushPop\"\n"
    "    },\n"
    "    {\n"
    "      \"context\": \"capture\",\n"
    "      \"gpu_operation_count\": 9,\n"
    "      \"gpu_work\": null,\n"
    "      \"host_total_ns\": 1000,\n"
    "      \"instances\": 1,\n"
    "      \"name\": \"target\",\n"
    "      \"path\": [\n"
    "        \"target\"\n"
    "      ],\n"
    "      \"projected\": {\n"
    "        \"maximum_ns\": 700,\n"
    "        \"mean_ns\": 700.0,\n"
    "        \"median_ns\": 700.0,\n"
    "        \"minimum_ns\": 700,\n"
    "        \"p50_ns\": 700.0,\n"
    "        \"p90_ns\": 700.0,\n"
    "        \"p95_ns\": 700.0,\n"
    "        \"p99_ns\": 700.0,\n"
    "        \"stddev_ns\": 0.0,\n"
    "        \"total_ns\": 700\n"
    "      },\n"
    "      \"style\": \"PushPop\"\n"
    "    }\n"
    "  ],\n"
    "  \"host_ranges\": [\n"
    "    {\n"
    "      \"child_total_ns\": 0,\n"
    "      \"context\": \"iteration\",\n"
    "      \"exclusive\": {\n"
    "        \"maximum_ns\": 25,\n"
    "        \"mean_ns\": 22.5,\n"
    "        \"median_ns\": 22.5,\n"
    "        \"minimum_ns\": 20,\n"
    "        \"p50_ns\": 22.5,\n"
    "        \"p90_ns\": 24.5,\n"
    "        \"p95_ns\": 24.75,\n"
    "        \"p99_ns\": 24.95,\n"
    "        \"stddev_ns\": 3.5355339059327378,\n"
    "        \"total_ns\": 45\n"
    "      },\n"
    "      \"inclusive\": {\n"
    "        \"maximum_ns\": 25,\n"
    "        \"mean_ns\": 22.5,\n"
    "        \"median_ns\": 22.5,\n"
    "        \"minimum_ns\": 20,\n"
    "        \"p50_ns\": 22.5,\n"
    "        \"p90_ns\": 24.5,\n"
    "        \"p95_ns\": 24.75,\n"
    "        \"p99_ns\": 24.95,\n"
    "        \"stddev_ns\": 3.5355339059327378,\n"
    "        \"total_ns\": 45\n"
    "      },\n"
    "      \"instances\": 2,\n"
    "      \"name\": \"say \\\"hi\\\"\",\n"
    "      \"path\": [\n"
    "        \"say \\\"hi\\\"\"\n"
    "      ]\n"
    "    },\n"
    "    {\n"
    "      \"child_total_ns\": 301,\n"
    "      \"context\": \"capture\",\n"
    "      \"exclusive\": {\n"
    "        \"maximum_ns\": 699,\n"
    "        \"mean_ns\": 699.0,\n"
    "        \"median_ns\": 699.0,\n"
    "        \"minimum_ns\": 699,\n"
    "        \"p50_ns\": 699.0,\n"
    "        \"p90_ns\": 699.0,\n"
    "        \"p95_ns\": 699.0,\n"
    "        \"p99_ns\": 699.0,\n"
    "        \"stddev_ns\": 0.0,\n"
    "        \"total_ns\": 699\n"
    "      },\n"
    "      \"inclusive\": {\n"
    "        \"maximum_ns\": 1000,\n"
    "        \"mean_ns\": 1000.0,\n"
    "        \"median_ns\": 1000.0,\n"
    "        \"minimum_ns\": 1000,\n"
    "        \"p50_ns\": 1000.0,\n"
    "        \"p90_ns\": 1000.0,\n"
    "        \"p95_ns\": 1000.0,\n"
    "        \"p99_ns\": 1000.0,\n"
    "        \"stddev_ns\": 0.0,\n"
    "        \"total_ns\": 1000\n"
    "      },\n"
    "      \"instances\": 1,\n"
    "      \"name\": \"target\",\n"
    "      \"path\": [\n"
    "        \"target\"\n"
    "      ]\n"
    "    }\n"
    "  ],\n"
    "  \"iteration_summary\": {\n"
    "    \"gpu_projected\": {\n"
    "      \"maximum_ns\": 60,\n"
    "      \"mean_ns\": 60.0,\n"
    "      \"median_ns\": 60.0,\n"
    "      \"minimum_ns\": 60,\n"
    "      \"p50_ns\": 60.0,\n"
    "      \"p90_ns\": 60.0,\n"
    "      \"p95_ns\": 60.0,\n"
    "      \"p99_ns\": 60.0,\n"
    "      \"stddev_ns\": 0.0,\n"
    "      \"total_ns\": 60\n"
    "    },\n"
    "    \"gpu_projected_iterations\": 1,\n"
    "    \"host_exclusive\": {\n"
    "      \"maximum_ns\": 200,\n"
    "      \"mean_ns\": 128.0,\n"
    "      \"median_ns\": 128.0,\n"
    "      \"minimum_ns\": 56,\n"
    "      \"p50_ns\": 128.0,\n"
    "      \"p90_ns\": 185.6,\n"
    "      \"p95_ns\": 192.8,\n"
    "      \"p99_ns\": 198.56,\n"
    "      \"stddev_ns\": 101.82337649086284,\n"
    "      \"total_ns\": 256\n"
    "    },\n"
    "    \"host_inclusive\": {\n"
    "      \"maximum_ns\": 200,\n"
    "      \"mean_ns\": 150.5,\n"
    "      \"median_ns\": 150.5,\n"
    "      \"minimum_ns\": 101,\n"
    "      \"p50_ns\": 150.5,\n"
    "      \"p90_ns\": 190.1,\n"
    "      \"p95_ns\": 195.05,\n"
    "      \"p99_ns\": 199.01,\n"
    "      \"stddev_ns\": 70.0035713374682,\n"
    "      \"total_ns\": 301\n"
    "    },\n"
    "    \"host_iterations\": 2,\n"
    "    \"iterations\": 2\n"
    "  },\n"
    "  \"iterations\": [\n"
    "    {\n"
    "      \"gpu_projection\": {\n"
    "        \"gpu_operation_count\": 4,\n"
    "        \"host_range_total_ns\": 101,\n"
    "        \"projected_ns\": 60\n"
    "      },\n"
    "      \"gpu_work\": null,\n"
    "      \"host\": {\n"
    "        \"child_total_ns\": 45,\n"
    "        \"exclusive_ns\": 56,\n"
    "        \"inclusive_ns\": 101\n"
    "      },\n"
    "      \"index\": 0\n"
    "    },\n"
    "    {\n"
    "      \"gpu_projection\": null,\n"
    "      \"gpu_work\": null,\n"
    "      \"host\": {\n"
    "        \"child_total_ns\": 0,\n"
    "        \"exclusive_ns\": 200,\n"
    "        \"inclusive_ns\": 200\n"
    "      },\n"
    "      \"index\": 1\n"
    "    }\n"
    "  ],\n"
    "  \"provenance\": {\n"
    "    \"engine\": null,\n"
    "    \"export_path\": null,\n"
    "    \"export_product_version\": null,\n"
    "    \"export_schema_version\": null,\n"
    "    \"manifest_path\": \"manifest.yaml\",\n"
    "    \"manifest_sha256\": \"%s\",\n"
    "    \"nsys_version\": \"unknown\",\n"
    "    \"reports\": {\n"
    "      \"cuda_gpu_kern_sum\": null,\n"
    "      \"cuda_gpu_trace\": null,\n"
    "      \"nvtx_gpu_proj_trace\": null,\n"
    "      \"nvtx_pushpop_trace\": null\n"
    "    },\n"
    "    \"reports_origin\": null,\n"
    "    \"trace_path\": \"trace.nsys-rep\",\n"
    "    \"trace_sha256\": null,\n"
    "    \"trace_size_bytes\": null\n"
    "  },\n"
    "  \"run\": {\n"
    "    \"capture_range\": \"target\",\n"
    "    \"cuda\": {\n"
    "      \"synchronize\": true\n"
    "    },\n"
    "    \"device\": null,\n"
    "    \"git_commit\": \"0123456\",\n"
    "    \"profile_name\": \"smoke\",\n"
    "    \"record_count\": 2,\n"
    "    \"run_id\": \"2026-08-26\",\n"
    "    \"workload\": {\n"
    "      \"big\": \"1e999\",\n"
    "      \"iterations\": 2,\n"
    "      \"names\": [\n"
    "        \"\xC3\xA9\",\n"
    "        {},\n"
    "        []\n"
    "      ],\n"
    "      \"warmup\": 0.1\n"
    "    }\n"
    "  },\n"
    "  \"schema_version\": 2,\n"
    "  \"unattributed_gpu_operation_count\": 0,\n"
    "  \"warnings\": [\n"
    "%s"
    "  ]\n"
    "}\n";

/* The warnings' own text is the analysis's affair. */
static char *golden_text(const nvtxa_analysis *analysis) {
  char digest[NVTXA__SHA256_HEX];
  nvtxa__buffer warnings = {0};
  char *text = NULL;
  nvtxa__sha256(manifest_text, strlen(manifest_text), digest);
  size_t count = nvtxa_analysis_warning_count(analysis);
  for (size_t i = 0; i < count; i++) {
    nvtxa__buffer_printf(&warnings, "    \"%s\"%s\n", nvtxa_analysis_warning(analysis, i).text.data,
                         i + 1 < count ? "," : "");
  }
  cr_assert_gt(asprintf(&text, golden, digest, warnings.data), 0);
  nvtxa__buffer_free(&warnings);
  return text;
}

Test(json, document) {
  nvtxa_analysis *analysis =
      analyse_with(manifest_text, two_iterations(false), projections(3), NULL);
  cr_assert_gt(nvtxa_analysis_warning_count(analysis), 0);
  char *wanted = golden_text(analysis);
  char *text = text_and_free(document_of(analysis));
  cr_expect_str_eq(text, wanted, "%s", text);
  nvtxa_free(text);
  free(wanted);
}

Test(json, without_gpu_work) {
  nvtxa_analysis *analysis =
      analyse_with("capture_range: target\n", two_iterations(true), projections(0), NULL);
  char *text = text_and_free(document_of(analysis));
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  json_t *summary = json_object_get(json, "iteration_summary");
  json_t *last = json_array_get(json_object_get(json, "iterations"), 1);
  cr_expect_eq(json_array_size(json_object_get(json, "gpu_projected_ranges")), 0);
  cr_expect_not_null(strstr(text, "\n  \"gpu_projected_ranges\": [],\n"));
  cr_expect(json_is_null(json_object_get(summary, "gpu_projected")));
  cr_expect_eq(json_integer_value(json_object_get(summary, "gpu_projected_iterations")), 0);
  cr_expect_eq(json_integer_value(json_object_get(summary, "host_iterations")), 1);
  cr_expect_eq(json_integer_value(json_object_get(summary, "iterations")), 2);
  cr_expect(json_is_null(json_object_get(last, "host")));
  cr_expect(json_is_null(json_object_get(last, "gpu_projection")));
  cr_expect_eq(json_object_size(json_object_get(json_object_get(json, "run"), "workload")), 0);
  json_decref(json);
  nvtxa_free(text);
}

/* ---- order, and memory ---- */

/* jansson keeps the keys of an object in the order in which it read them. */
static void expect_sorted(json_t *value) {
  const char *key;
  const char *before = NULL;
  size_t index;
  json_t *member;
  json_object_foreach(value, key, member) {
    cr_expect(before == NULL || strcmp(before, key) < 0, "'%s' before '%s'", before, key);
    before = key;
    expect_sorted(member);
  }
  json_array_foreach(value, index, member) {
    expect_sorted(member);
  }
}

static nvtxa_ranges *many_groups(size_t count) {
  nvtxa_ranges_builder *builder = build(NVTXA_REPORT_PUSHPOP_TRACE);
  add(builder, host(1, "target", 0, 100000000));
  add(builder, host(2, "iteration 0", 10, 99999999));
  for (size_t i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "step %zu", i);
    add(builder, host(3 + (int64_t)i, name, 20 + 100 * (int64_t)i, 70 + 100 * (int64_t)i));
  }
  return finish(builder);
}

Test(json, keys_are_in_byte_order) {
  nvtxa_analysis *analysis = analyse_with(
      "capture_range: target\n"
      "cuda: {Z: {b: 1, a: 2}, a: [{d: 1, c: 2}], \xC3\xA9: 1, _: 2, A: 3, aa: 4, '': 5}\n",
      two_iterations(false), projections(3), NULL);
  char *text = text_and_free(document_of(analysis));
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  cr_assert_not_null(json);
  expect_sorted(json);
  json_decref(json);
  nvtxa_free(text);
}

Test(json, written_in_pieces_however_long) {
  nvtxa_analysis *analysis =
      analyse_with("capture_range: target\n", many_groups(3000), projections(0), NULL);
  cr_assert_eq(nvtxa_analysis_host_group_count(analysis), 3001);
  nvtxa_json *json = document_of(analysis);
  struct sink first = {0};
  struct sink second = {0};
  cr_assert_eq(nvtxa_json_write(json, take, &first, NULL), NVTXA_OK);
  cr_assert_eq(nvtxa_json_write(json, take, &second, NULL), NVTXA_OK);
  cr_expect_gt(first.text.length, 1000000);
  cr_expect_leq(first.longest, 4096);
  cr_expect_str_eq(first.text.data, second.text.data);
  char *text = text_and_free(json);
  cr_expect_str_eq(first.text.data, text);
  nvtxa_free(text);
  nvtxa__buffer_free(&first.text);
  nvtxa__buffer_free(&second.text);
}

/* ---- where it comes from ---- */

static void write_file(const char *directory, const char *name, const char *text) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "w");
  cr_assert_not_null(file, "%s", path);
  cr_assert_geq(fputs(text, file), 0);
  cr_assert_eq(fclose(file), 0);
}

static void remove_file(const char *directory, const char *name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  unlink(path);
}

/* The provenance of an analysis over this export, or over none. */
static json_t *provenance_of(const nvtxa_export *exported) {
  nvtxa_analysis *analysis =
      analyse_with("capture_range: target\n", two_iterations(false), projections(3), exported);
  char *text = text_and_free(document_of(analysis));
  json_t *json = json_loads(text, 0, NULL);
  json_t *provenance = json_incref(json_object_get(json, "provenance"));
  json_decref(json);
  nvtxa_free(text);
  return provenance;
}

Test(json, provenance_of_reports_found) {
  char run[] = "/tmp/nvtxa-json-XXXXXX";
  char stats[64];
  nvtxa_export *exported = NULL;
  cr_assert_not_null(mkdtemp(run));
  snprintf(stats, sizeof stats, "%s/stats", run);
  cr_assert_eq(mkdir(stats, 0777), 0);
  write_file(stats, "nsys_nvtxpptrace.csv", "a\n");
  write_file(stats, "nsys_nvtxgpuproj.csv", "a\n");
  cr_assert_eq(nvtxa_export_open(run, NULL, &exported, NULL), NVTXA_OK);
  json_t *provenance = provenance_of(exported);
  json_t *reports = json_object_get(provenance, "reports");
  cr_expect_str_eq(json_string_value(json_object_get(provenance, "reports_origin")), "existing");
  cr_expect_str_eq(json_string_value(json_object_get(provenance, "nsys_version")), "unknown");
  cr_expect_str_eq(json_string_value(json_object_get(reports, "nvtx_pushpop_trace")),
                   "stats/nsys_nvtxpptrace.csv");
  cr_expect_str_eq(json_string_value(json_object_get(reports, "nvtx_gpu_proj_trace")),
                   "stats/nsys_nvtxgpuproj.csv");
  cr_expect(json_is_null(json_object_get(provenance, "trace_sha256")));
  cr_expect(json_is_null(json_object_get(provenance, "trace_size_bytes")));
  json_decref(provenance);
  nvtxa_export_unref(exported);
  remove_file(stats, "nsys_nvtxpptrace.csv");
  remove_file(stats, "nsys_nvtxgpuproj.csv");
  rmdir(stats);
  rmdir(run);
}

Test(json, provenance_of_reports_made) {
  char run[] = "/tmp/nvtxa-json-XXXXXX";
  char stats[64];
  char nsys[PATH_MAX];
  char digest[NVTXA__SHA256_HEX];
  const char *source = getenv("NVTXA_SOURCE_ROOT");
  nvtxa_export_options options = NVTXA_EXPORT_OPTIONS_INIT;
  nvtxa_export *exported = NULL;
  nvtxa_error *error = NULL;
  cr_assert_not_null(mkdtemp(run));
  snprintf(stats, sizeof stats, "%s/stats", run);
  snprintf(nsys, sizeof nsys, "%s/testdata/fake-nsys", source == NULL ? "." : source);
  write_file(run, "trace.nsys-rep", "a trace");
  options.nsys = nsys;
  nvtxa_status status = nvtxa_export_run(run, &options, &exported, &error);
  cr_assert_eq(status, NVTXA_OK, "%s", error ? nvtxa_error_message(error) : "");
  json_t *provenance = provenance_of(exported);
  json_t *reports = json_object_get(provenance, "reports");
  nvtxa__sha256("a trace", 7, digest);
  cr_expect_str_eq(json_string_value(json_object_get(provenance, "reports_origin")), "exported");
  cr_expect_str_eq(json_string_value(json_object_get(provenance, "nsys_version")),
                   nvtxa_export_nsys_version(exported).data);
  cr_expect_str_eq(json_string_value(json_object_get(provenance, "trace_sha256")), digest);
  cr_expect_eq(json_integer_value(json_object_get(provenance, "trace_size_bytes")), 7);
  cr_expect_str_eq(json_string_value(json_object_get(reports, "nvtx_pushpop_trace")),
                   "stats/nsys_nvtx_pushpop_trace.csv");
  json_decref(provenance);
  nvtxa_export_unref(exported);
  remove_file(stats, "nsys_nvtx_pushpop_trace.csv");
  remove_file(stats, "nsys_nvtx_gpu_proj_trace.csv");
  remove_file(stats, "export.json");
  remove_file(run, "trace.nsys-rep");
  rmdir(stats);
  rmdir(run);
}

/* ---- where it goes ---- */

static nvtxa_json *small_document(void) {
  return document_of(
      analyse_with("capture_range: target\n", two_iterations(false), projections(3), NULL));
}

static char *read_whole(const char *path) {
  char *text = NULL;
  size_t length = 0;
  cr_assert_eq(nvtxa__file_read(AT_FDCWD, path, path, (size_t)1 << 24, &text, &length, NULL),
               NVTXA_OK);
  return text;
}

Test(json, file_is_replaced) {
  char directory[] = "/tmp/nvtxa-json-XXXXXX";
  char path[64];
  cr_assert_not_null(mkdtemp(directory));
  snprintf(path, sizeof path, "%s/analysis.json", directory);
  write_file(directory, "analysis.json", "old");
  nvtxa_json *json = small_document();
  cr_assert_eq(nvtxa_json_write_file(json, path, NULL), NVTXA_OK);
  cr_assert_eq(nvtxa_json_write_file(json, path, NULL), NVTXA_OK);
  char *written = read_whole(path);
  char *text = text_and_free(json);
  cr_expect_str_eq(written, text);
  free(written);
  nvtxa_free(text);
  unlink(path);
  cr_expect_eq(rmdir(directory), 0, "something else was left there");
}

Test(json, file_that_cannot_be_written) {
  nvtxa_error *error = NULL;
  nvtxa_json *json = small_document();
  cr_assert_eq(nvtxa_json_write_file(json, "/nonexistent/analysis.json", &error), NVTXA_ERROR_IO);
  cr_expect_eq(nvtxa_error_errno(error), ENOENT);
  cr_expect_str_eq(nvtxa_error_file(error), "/nonexistent/analysis.json");
  nvtxa_error_free(error);
  cr_expect_eq(nvtxa_json_write_file(json, "/nonexistent/analysis.json", NULL), NVTXA_ERROR_IO);
  nvtxa_json_unref(json);
}

/* At any place where the receiver stops: its errno comes back, and it is not called again. */
Test(json, receiver_that_stops) {
  nvtxa_json *json =
      document_of(analyse_with("capture_range: target\n", many_groups(100), projections(0), NULL));
  for (size_t capacity = 1; capacity < 40000; capacity += 3001) {
    struct sink sink = {.capacity = capacity};
    nvtxa_error *error = NULL;
    cr_assert_eq(nvtxa_json_write(json, take, &sink, &error), NVTXA_ERROR_IO);
    cr_expect_eq(nvtxa_error_errno(error), EPIPE);
    cr_expect_null(nvtxa_error_file(error));
    cr_expect_eq(sink.calls, capacity / 4096 + 1);
    nvtxa_error_free(error);
    nvtxa__buffer_free(&sink.text);
  }
  nvtxa_json_unref(json);
}

Test(json, references) {
  nvtxa_json *json = small_document();
  nvtxa_json *again = nvtxa_json_ref(json);
  cr_expect_eq(again, json);
  nvtxa_json_unref(json);
  nvtxa_free(text_and_free(again));
  nvtxa_json_unref(NULL);
  cr_expect_null(nvtxa_json_ref(NULL));
}

Test(json, wrong_calls) {
  nvtxa_json *json = small_document();
  char *text = NULL;
  cr_expect_eq(nvtxa_json_new(NULL, NULL, &json, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_json_write(NULL, take, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_json_write(json, NULL, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_json_write_file(NULL, "x", NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_json_write_file(json, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_json_to_text(NULL, &text, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_json_to_text(json, NULL, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_assert_eq(nvtxa_json_to_text(json, &text, NULL, NULL), NVTXA_OK);
  nvtxa_free(text);
  nvtxa_json_unref(json);
}

Test(json, a_set_cancel_flag_ends_the_writing) {
  static volatile sig_atomic_t cancel = 1;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_json_options options = NVTXA_JSON_OPTIONS_INIT;
  nvtxa_json *json = NULL;
  nvtxa_error *error = NULL;
  char *text = NULL;
  hooks.cancel = &cancel;
  options.hooks = &hooks;
  nvtxa_analysis *analysis =
      analyse_with("capture_range: target\n", many_groups(100), projections(0), NULL);
  cr_assert_eq(nvtxa_json_new(analysis, &options, &json, NULL), NVTXA_OK);
  cr_expect_eq(nvtxa_json_to_text(json, &text, NULL, &error), NVTXA_ERROR_CANCELLED);
  cr_expect_eq(nvtxa_error_status(error), NVTXA_ERROR_CANCELLED);
  nvtxa_error_free(error);
  nvtxa_json_unref(json);
  nvtxa_analysis_unref(analysis);
}
