/* manifest/: what a manifest says, what it may look like, and what is refused. */
#include <criterion/criterion.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nvtxa/manifest.h>

#include "manifest/manifest-internal.h"

#define CAPTURE "capture_range: profile-target\n"

/* ---- help ---- */

static nvtxa_manifest *read_bytes(const char *text, size_t length) {
  nvtxa_manifest *manifest = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_manifest_read_buffer(text, length, &manifest, &error);
  cr_assert_eq(status, NVTXA_OK, "line %d: %s\n%.200s", error ? (int)nvtxa_error_line(error) : 0,
               error ? nvtxa_error_message(error) : "", text);
  cr_assert_null(error);
  return manifest;
}

static nvtxa_manifest *read_text(const char *text) {
  return read_bytes(text, strlen(text));
}

static void expect_text(nvtxa_text got, const char *wanted, const char *context) {
  if (wanted == NULL) {
    cr_expect_null(got.data, "'%s' where no text is wanted: %s", got.data, context);
    return;
  }
  cr_assert_not_null(got.data, "no text where '%s' is wanted: %s", wanted, context);
  cr_expect_eq(got.length, strlen(wanted), "length %zu: %s", got.length, context);
  cr_expect_str_eq(got.data, wanted, "'%s', not '%s': %s", got.data, wanted, context);
}

/* What a refused manifest says. A line of 0 is "none". */
static void expect_refused_bytes(const char *text, size_t length, nvtxa_status wanted,
                                 uint64_t line, const char *part) {
  nvtxa_manifest *manifest = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_manifest_read_buffer(text, length, &manifest, &error);
  cr_assert_eq(status, wanted, "got %s (%s) for:\n%.200s", nvtxa_status_name(status),
               error ? nvtxa_error_message(error) : "", text);
  cr_expect_null(manifest);
  cr_expect_eq(nvtxa_error_status(error), wanted);
  cr_expect_eq(nvtxa_error_line(error), line, "line %d of:\n%.200s", (int)nvtxa_error_line(error),
               text);
  cr_expect_not_null(strstr(nvtxa_error_message(error), part), "'%s' lacks '%s'",
                     nvtxa_error_message(error), part);
  nvtxa_error_free(error);
  /* A caller that wants only the status. */
  cr_expect_eq(nvtxa_manifest_read_buffer(text, length, &manifest, NULL), wanted);
}

static void expect_refused(const char *text, nvtxa_status wanted, uint64_t line, const char *part) {
  expect_refused_bytes(text, strlen(text), wanted, line, part);
}

static void expect_workload(const char *yaml, const char *json) {
  char text[4096];
  snprintf(text, sizeof text, CAPTURE "workload: %s\n", yaml);
  nvtxa_manifest *manifest = read_text(text);
  expect_text(nvtxa_manifest_workload_json(manifest), json, yaml);
  nvtxa_manifest_unref(manifest);
}

/* A text of `prefix`, `count` times `unit` and `suffix`; the caller frees it. */
static char *repeat(const char *prefix, const char *unit, size_t count, const char *suffix) {
  nvtxa__buffer buffer = {0};
  nvtxa__buffer_add(&buffer, prefix, strlen(prefix));
  for (size_t i = 0; i < count; i++) {
    nvtxa__buffer_add(&buffer, unit, strlen(unit));
  }
  nvtxa__buffer_add(&buffer, suffix, strlen(suffix));
  return buffer.data;
}

/* ---- a whole manifest ---- */

static const char whole[] =
    "capture_range: profile-target\n"
    "command_line: development/profiling/main.py --config smoke_config.yaml\n"
    "cuda:\n"
    "  synchronize_each_iteration: false\n"
    "  synchronize_after_warmup: true\n"
    "data_source:\n"
    "  description:\n"
    "    record_count: 2\n"
    "device: cuda:0\n"
    "git_commit: 61e9540\n"
    "output_summaries:\n"
    "- shape: [4, 4]\n"
    "profile_name: smoke-tensor\n"
    "record_ids:\n"
    "- dummy-0\n"
    "- dummy-1\n"
    "run_id: 20260829T101500Z\n"
    "target:\n"
    "  import_path: null\n"
    "workload:\n"
    "  warmup: 1\n"
    "  iterations: 3\n"
    "  record_loading: eager\n";

Test(manifest, whole) {
  int64_t iterations = -1;
  nvtxa_manifest *manifest = read_text(whole);
  expect_text(nvtxa_manifest_capture_range(manifest), "profile-target", "");
  expect_text(nvtxa_manifest_profile_name(manifest), "smoke-tensor", "");
  expect_text(nvtxa_manifest_run_id(manifest), "20260829T101500Z", "");
  expect_text(nvtxa_manifest_device(manifest), "cuda:0", "");
  expect_text(nvtxa_manifest_git_commit(manifest), "61e9540", "");
  cr_expect_eq(nvtxa_manifest_record_count(manifest), 2);
  cr_expect(nvtxa_manifest_iterations(manifest, &iterations));
  cr_expect_eq(iterations, 3);
  expect_text(nvtxa_manifest_workload_json(manifest),
              "{\"iterations\":3,\"record_loading\":\"eager\",\"warmup\":1}", "");
  expect_text(nvtxa_manifest_cuda_json(manifest),
              "{\"synchronize_after_warmup\":true,\"synchronize_each_iteration\":false}", "");
  cr_expect_eq(nvtxa_manifest_warning_count(manifest), 0);
  nvtxa_manifest_unref(manifest);
}

Test(manifest, almost_nothing) {
  int64_t iterations = -1;
  nvtxa_manifest *manifest = read_text(CAPTURE);
  expect_text(nvtxa_manifest_capture_range(manifest), "profile-target", "");
  expect_text(nvtxa_manifest_profile_name(manifest), NULL, "");
  expect_text(nvtxa_manifest_run_id(manifest), NULL, "");
  expect_text(nvtxa_manifest_device(manifest), NULL, "");
  expect_text(nvtxa_manifest_git_commit(manifest), NULL, "");
  cr_expect_eq(nvtxa_manifest_record_count(manifest), 0);
  cr_expect_not(nvtxa_manifest_iterations(manifest, &iterations));
  cr_expect_eq(iterations, -1);
  cr_expect_not(nvtxa_manifest_iterations(manifest, NULL));
  expect_text(nvtxa_manifest_workload_json(manifest), "{}", "");
  expect_text(nvtxa_manifest_cuda_json(manifest), "{}", "");
  cr_expect_eq(nvtxa_manifest_warning_count(manifest), 0);
  nvtxa_manifest_unref(manifest);
}

Test(manifest, digest_is_of_the_bytes) {
  nvtxa_manifest *manifest = read_text("capture_range: x\n");
  expect_text(nvtxa_manifest_sha256(manifest),
              "c554f3205714b5cdead9df38af0ed7234dec7fd99b230137a8b1ddeab1b453d2", "");
  nvtxa_manifest_unref(manifest);
}

Test(manifest, references) {
  nvtxa_manifest *manifest = read_text(CAPTURE);
  nvtxa_manifest *again = nvtxa_manifest_ref(manifest);
  cr_expect_eq(again, manifest);
  nvtxa_manifest_unref(manifest);
  expect_text(nvtxa_manifest_capture_range(again), "profile-target", "");
  nvtxa_manifest_unref(again);
  nvtxa_manifest_unref(NULL);
  cr_expect_null(nvtxa_manifest_ref(NULL));
}

Test(manifest, wrong_calls) {
  nvtxa_manifest *manifest = NULL;
  cr_expect_eq(nvtxa_manifest_read_buffer(NULL, 1, &manifest, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_manifest_read_buffer("", 0, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_manifest_read_buffer(NULL, 0, &manifest, NULL), NVTXA_ERROR_MANIFEST_SYNTAX);
  cr_expect_eq(nvtxa_manifest_read_file(NULL, &manifest, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_manifest_read_file("x", NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
}

/* ---- identity ---- */

static const struct {
  const char *yaml;
  const char *text; /* NULL: none */
} identities[] = {
    {"61e9540", "61e9540"},
    {"0192117", "0192117"},
    {"12345678", "12345678"},
    {"1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"},
    {"4225332178759948e04347560002921719079454", "4225332178759948e04347560002921719079454"},
    {"0x1F", "0x1F"},
    {"0o17", "0o17"},
    {"1_000", "1_000"},
    {"1e5", "1e5"},
    {".5e3", ".5e3"},
    {"null", NULL},
    {"Null", NULL},
    {"NULL", NULL},
    {"~", NULL},
    {"", NULL},
    {"!!null ''", NULL},
    {"\"\"", ""},
    {"''", ""},
    {"\"null\"", "null"},
    {"'~'", "~"},
    {"!!str", ""},
    {"!!str null", "null"},
    {"\"61e9540\"", "61e9540"},
    {"!!str 61e9540", "61e9540"},
    {"!!int 0x1F", "0x1F"},
    {"!commit 12e3", "12e3"},
    {"true", "true"},
    {"nULL", "nULL"},
    {"-.INF", "-.INF"},
    {"2026-08-29", "2026-08-29"},
    {"  spaced  out   # a comment", "spaced  out"},
    {"'it''s ''so'' '", "it's 'so' "},
    {"\"\\u00e9 \\U0001F600 \\x41\"", "\xC3\xA9 \xF0\x9F\x98\x80 A"},
    {"|-\n  two\n  lines", "two\nlines"},
    {">\n  folded\n  text", "folded text\n"},
    {"plain\n  over two lines", "plain over two lines"},
};

Test(manifest, identity_is_text_as_written) {
  for (size_t i = 0; i < NVTXA__COUNT(identities); i++) {
    char text[512];
    const char *yaml = identities[i].yaml;
    snprintf(text, sizeof text,
             CAPTURE "git_commit: %s\nrun_id: %s\ndevice: %s\nprofile_name: %s\n", yaml, yaml, yaml,
             yaml);
    nvtxa_manifest *manifest = read_text(text);
    expect_text(nvtxa_manifest_git_commit(manifest), identities[i].text, yaml);
    expect_text(nvtxa_manifest_run_id(manifest), identities[i].text, yaml);
    expect_text(nvtxa_manifest_device(manifest), identities[i].text, yaml);
    expect_text(nvtxa_manifest_profile_name(manifest), identities[i].text, yaml);
    cr_expect_eq(nvtxa_manifest_warning_count(manifest), 0);
    nvtxa_manifest_unref(manifest);
  }
}

Test(manifest, identity_must_be_a_scalar) {
  static const char *const keys[] = {"profile_name", "run_id", "device", "git_commit"};
  for (size_t i = 0; i < NVTXA__COUNT(keys); i++) {
    char text[128];
    nvtxa_manifest *manifest = NULL;
    nvtxa_error *error = NULL;
    snprintf(text, sizeof text, CAPTURE "%s: [a]\n", keys[i]);
    expect_refused(text, NVTXA_ERROR_MANIFEST_VALUE, 2, keys[i]);
    expect_refused(text, NVTXA_ERROR_MANIFEST_VALUE, 2, "a sequence");
    cr_expect_neq(nvtxa_manifest_read_buffer(text, strlen(text), &manifest, &error), NVTXA_OK);
    cr_expect_str_eq(nvtxa_error_field(error), keys[i]);
    nvtxa_error_free(error);
    snprintf(text, sizeof text, CAPTURE "%s: {a: b}\n", keys[i]);
    expect_refused(text, NVTXA_ERROR_MANIFEST_VALUE, 2, "a mapping");
  }
}

Test(manifest, texts_hold_nul) {
  nvtxa_manifest *manifest = read_text("capture_range: \"a\\0b\"\nrun_id: \"\\0\"\n");
  nvtxa_text capture = nvtxa_manifest_capture_range(manifest);
  cr_expect_eq(capture.length, 3);
  cr_expect_arr_eq(capture.data, "a\0b", 4);
  cr_expect_eq(nvtxa_manifest_run_id(manifest).length, 1);
  nvtxa_manifest_unref(manifest);
}

/* ---- capture_range ---- */

static const struct {
  const char *yaml;
  const char *found; /* what the message says it is */
  const char *hint;
} wrong_captures[] = {
    {"123", "an integer, '123'", "quotes"},
    {"0x10", "an integer, '0x10'", "quotes"},
    {"true", "a boolean, 'true'", "quotes"},
    {"1.5", "a floating-point number, '1.5'", "quotes"},
    {".nan", "a floating-point number, '.nan'", "quotes"},
    {"", "null", "NVTX range"},
    {"~", "null", "NVTX range"},
    {"[a]", "a sequence", "NVTX range"},
    {"{a: b}", "a mapping", "NVTX range"},
};

Test(manifest, capture_range_must_be_a_string) {
  for (size_t i = 0; i < NVTXA__COUNT(wrong_captures); i++) {
    char text[128];
    nvtxa_manifest *manifest = NULL;
    nvtxa_error *error = NULL;
    snprintf(text, sizeof text, "a: 1\ncapture_range: %s\n", wrong_captures[i].yaml);
    expect_refused(text, NVTXA_ERROR_MANIFEST_VALUE, 2, "capture_range");
    expect_refused(text, NVTXA_ERROR_MANIFEST_VALUE, 2, wrong_captures[i].found);
    cr_expect_neq(nvtxa_manifest_read_buffer(text, strlen(text), &manifest, &error), NVTXA_OK);
    cr_expect_str_eq(nvtxa_error_field(error), "capture_range");
    cr_expect_not_null(strstr(nvtxa_error_hint(error), wrong_captures[i].hint), "%s: %s",
                       wrong_captures[i].yaml, nvtxa_error_hint(error));
    nvtxa_error_free(error);
  }
  expect_refused("a: 1\n", NVTXA_ERROR_MANIFEST_VALUE, 0, "capture_range is missing");
  expect_refused("{}\n", NVTXA_ERROR_MANIFEST_VALUE, 0, "capture_range is missing");
}

Test(manifest, capture_range_may_look_like_anything_in_quotes) {
  static const char *const texts[] = {"\"123\"", "'123'", "!!str 123", "|-\n  123"};
  for (size_t i = 0; i < NVTXA__COUNT(texts); i++) {
    char text[64];
    snprintf(text, sizeof text, "capture_range: %s\n", texts[i]);
    nvtxa_manifest *manifest = read_text(text);
    expect_text(nvtxa_manifest_capture_range(manifest), "123", texts[i]);
    nvtxa_manifest_unref(manifest);
  }
}

/* ---- record_ids ---- */

static const struct {
  const char *yaml;
  uint64_t count;
  const char *found; /* NULL: no warning */
} record_ids[] = {
    {"[]", 0, NULL},
    {"[a, b, [c, d]]", 3, NULL},
    {"\n- 1\n- ~\n- {a: b}", 3, NULL},
    {"null", 0, NULL},
    {"", 0, NULL},
    {"abc", 0, "a string, 'abc'"},
    {"\"\"", 0, "a string, ''"},
    {"3", 0, "an integer, '3'"},
    {"{a: b}", 0, "a mapping"},
    {"\"\\e[31m\"", 0, "a string, '\\x1B[31m'"},
};

Test(manifest, record_ids) {
  for (size_t i = 0; i < NVTXA__COUNT(record_ids); i++) {
    char text[128];
    snprintf(text, sizeof text, CAPTURE "record_ids: %s\n", record_ids[i].yaml);
    nvtxa_manifest *manifest = read_text(text);
    cr_expect_eq(nvtxa_manifest_record_count(manifest), record_ids[i].count, "%s", text);
    cr_assert_eq(nvtxa_manifest_warning_count(manifest), record_ids[i].found != NULL, "%s", text);
    if (record_ids[i].found != NULL) {
      char wanted[256];
      snprintf(wanted, sizeof wanted,
               "record_ids in line 2 of the manifest is %s, not a sequence, so record_count is 0.",
               record_ids[i].found);
      nvtxa_warning warning = nvtxa_manifest_warning(manifest, 0);
      cr_expect_eq(warning.kind, NVTXA_WARNING_MANIFEST_RECORD_IDS);
      expect_text(warning.text, wanted, text);
    }
    nvtxa_manifest_unref(manifest);
  }
}

/* ---- workload.iterations ---- */

static const struct {
  const char *yaml;
  int64_t iterations; /* -1: none declared */
  const char *found;
} iterations[] = {
    {"0", 0, NULL},
    {"3", 3, NULL},
    {"+3", 3, NULL},
    {"-0", 0, NULL},
    {"007", 7, NULL},
    {"0x10", 16, NULL},
    {"0o17", 15, NULL},
    {"!!int \"3\"", 3, NULL},
    {"3000000000", 3000000000, NULL},
    {"9007199254740993", 9007199254740993, NULL},
    {"9223372036854775807", INT64_MAX, NULL},
    {"0x7fffffffffffffff", INT64_MAX, NULL},
    {"-1", -1, "an integer, '-1'"},
    {"18446744073709551616", -1, "an integer, '18446744073709551616'"},
    {"9223372036854775808", -1, "an integer, '9223372036854775808'"},
    {"0x8000000000000000", -1, "an integer, '0x8000000000000000'"},
    {"0o1000000000000000000000", -1, "an integer, '0o1000000000000000000000'"},
    {"3.0", -1, "a floating-point number, '3.0'"},
    {"1e3", -1, "a floating-point number, '1e3'"},
    {".inf", -1, "a floating-point number, '.inf'"},
    {"true", -1, "a boolean, 'true'"},
    {"\"3\"", -1, "a string, '3'"},
    {"!!str 3", -1, "a string, '3'"},
    {"1_000", -1, "a string, '1_000'"},
    {"0b11", -1, "a string, '0b11'"},
    {"-0x1", -1, "a string, '-0x1'"},
    {"null", -1, "null"},
    {"", -1, "null"},
    {"[3]", -1, "a sequence"},
    {"{n: 3}", -1, "a mapping"},
};

Test(manifest, workload_iterations) {
  for (size_t i = 0; i < NVTXA__COUNT(iterations); i++) {
    char text[128];
    int64_t got = -1;
    snprintf(text, sizeof text, CAPTURE "workload:\n  iterations: %s\n", iterations[i].yaml);
    nvtxa_manifest *manifest = read_text(text);
    cr_expect_eq(nvtxa_manifest_iterations(manifest, &got), iterations[i].found == NULL, "%s",
                 text);
    cr_expect_eq(got, iterations[i].iterations, "%lld for %s", (long long)got, text);
    cr_assert_eq(nvtxa_manifest_warning_count(manifest), iterations[i].found != NULL, "%s", text);
    if (iterations[i].found != NULL) {
      char wanted[256];
      snprintf(wanted, sizeof wanted,
               "workload.iterations in line 3 of the manifest is %s where a count from 0 to "
               "9223372036854775807 belongs, so the set of iterations was not checked.",
               iterations[i].found);
      nvtxa_warning warning = nvtxa_manifest_warning(manifest, 0);
      cr_expect_eq(warning.kind, NVTXA_WARNING_MANIFEST_ITERATIONS);
      expect_text(warning.text, wanted, text);
    }
    nvtxa_manifest_unref(manifest);
  }
}

Test(manifest, warnings_in_order) {
  nvtxa_manifest *manifest = read_text(CAPTURE "record_ids: x\nworkload: {iterations: y}\n");
  cr_assert_eq(nvtxa_manifest_warning_count(manifest), 2);
  cr_expect_eq(nvtxa_manifest_warning(manifest, 0).kind, NVTXA_WARNING_MANIFEST_ITERATIONS);
  cr_expect_eq(nvtxa_manifest_warning(manifest, 1).kind, NVTXA_WARNING_MANIFEST_RECORD_IDS);
  nvtxa_manifest_unref(manifest);
}

/* ---- workload and cuda as JSON ---- */

static const struct {
  const char *yaml;
  const char *json;
} values[] = {
    {"null", "null"},
    {"~", "null"},
    {"Null", "null"},
    {"true", "true"},
    {"True", "true"},
    {"FALSE", "false"},
    {"yes", "\"yes\""},
    {"on", "\"on\""},
    {"nUll", "\"nUll\""},
    {"0", "0"},
    {"-0", "0"},
    {"007", "7"},
    {"-12", "-12"},
    {"+5", "5"},
    {"0x1f", "31"},
    {"0xG", "\"0xG\""},
    {"0x", "\"0x\""},
    {"0o17", "15"},
    {"0o8", "\"0o8\""},
    {"0b1", "\"0b1\""},
    {"9007199254740993", "9007199254740993"},
    {"9223372036854775807", "9223372036854775807"},
    {"9223372036854775808", "\"9223372036854775808\""},
    {"-9223372036854775808", "-9223372036854775808"},
    {"-9223372036854775809", "\"-9223372036854775809\""},
    {"18446744073709551616", "\"18446744073709551616\""},
    {"0x8000000000000000", "\"0x8000000000000000\""},
    {"1.5", "1.5"},
    {"1.", "1.0"},
    {".5", "0.5"},
    {"-.5", "-0.5"},
    {"+1.5e+3", "1500.0"},
    {"1e3", "1000.0"},
    {"1e22", "1e22"},
    {"1e-7", "1e-7"},
    {"0.1", "0.1"},
    {"4709517.9385", "4709517.9385"},
    {"0.30000000000000004", "0.30000000000000004"},
    {"1.7976931348623157e308", "1.7976931348623157e308"},
    {"4.9406564584124654e-324", "4.94065645841247e-324"},
    {"-0.0", "-0.0"},
    {"1e999", "\"1e999\""},
    {"-1e999", "\"-1e999\""},
    {".inf", "\".inf\""},
    {"-.INF", "\"-.INF\""},
    {"+.Inf", "\"+.Inf\""},
    {".nan", "\".nan\""},
    {".NaN", "\".NaN\""},
    {"-.nan", "\"-.nan\""},
    {".", "\".\""},
    {"e5", "\"e5\""},
    {"1e", "\"1e\""},
    {"1e+", "\"1e+\""},
    {"1.5.2", "\"1.5.2\""},
    {"+", "\"+\""},
    {"1_000", "\"1_000\""},
    {"12:30:45", "\"12:30:45\""},
    {"2026-08-26", "\"2026-08-26\""},
    {"\"1\"", "\"1\""},
    {"'true'", "\"true\""},
    {"!!str 1", "\"1\""},
    {"!!int \"0x10\"", "16"},
    {"!!float 3", "3.0"},
    {"!!float .inf", "\".inf\""},
    {"!!bool \"true\"", "true"},
    {"!!null \"\"", "null"},
    {"!<tag:yaml.org,2002:str> 1", "\"1\""},
    {"!!binary aGk=", "\"aGk=\""},
    {"!mine 3", "3"},
    {"!mine [1, !mine 2]", "[1,2]"},
    {"!!seq [1]", "[1]"},
    {"!!map {b: 1, a: 2}", "{\"a\":2,\"b\":1}"},
    {"[]", "[]"},
    {"{}", "{}"},
    {"{? : 1}", "{\"\":1}"},
    {"{1: a, 0x1: b, true: c, ~: d}", "{\"0x1\":\"b\",\"1\":\"a\",\"true\":\"c\",\"~\":\"d\"}"},
    {"{<<: {a: 1}, a: 2}", "{\"<<\":{\"a\":1},\"a\":2}"},
    {"{z: 1, Z: 2, \xC3\xA9: 3, aa: 4, a: 5}", "{\"Z\":2,\"a\":5,\"aa\":4,\"z\":1,\"\xC3\xA9\":3}"},
    {"\"a\\0b\\x01\\e/\\\"\\\\\"", "\"a\\u0000b\\u0001\\u001B/\\\"\\\\\""},
    {"\"\\u00e9\\U0001F600\"", "\"\xC3\xA9\xF0\x9F\x98\x80\""},
    {"\"a\xE2\x80\xA8 b\xC2\x85\x7F\"", "\"a\xE2\x80\xA8 b\xC2\x85\x7F\""},
    {"\"\\L\\P\\N\"", "\"\xE2\x80\xA8\xE2\x80\xA9\xC2\x85\""},
};

Test(manifest, values_as_json) {
  for (size_t i = 0; i < NVTXA__COUNT(values); i++) {
    char yaml[256];
    char json[256];
    snprintf(yaml, sizeof yaml, "{v: %s}", values[i].yaml);
    snprintf(json, sizeof json, "{\"v\":%s}", values[i].json);
    expect_workload(yaml, json);
  }
}

Test(manifest, a_float_that_needs_17_digits_beside_others) {
  expect_workload("{a: 0.5, b: 5e-324, c: 0.30000000000000004}",
                  "{\"a\":0.5,\"b\":4.9406564584124654e-324,\"c\":0.30000000000000004}");
}

Test(manifest, what_is_no_mapping_is_empty) {
  static const char *const others[] = {"", "null", "[1]", "text", "3"};
  for (size_t i = 0; i < NVTXA__COUNT(others); i++) {
    expect_workload(others[i], "{}");
  }
}

Test(manifest, aliases) {
  nvtxa_manifest *manifest = read_text(
      "name: &name profile-target\n"
      "shared: &shared {iterations: 2, list: &list [1, 2]}\n"
      "capture_range: *name\n"
      "workload: *shared\n"
      "cuda: {a: *list, *name : 1, b: *shared}\n"
      "again: &list [a, b, c]\n"
      "record_ids: *list\n");
  int64_t count = -1;
  expect_text(nvtxa_manifest_capture_range(manifest), "profile-target", "");
  cr_expect(nvtxa_manifest_iterations(manifest, &count));
  cr_expect_eq(count, 2);
  expect_text(nvtxa_manifest_workload_json(manifest), "{\"iterations\":2,\"list\":[1,2]}", "");
  expect_text(nvtxa_manifest_cuda_json(manifest),
              "{\"a\":[1,2],\"b\":{\"iterations\":2,\"list\":[1,2]},\"profile-target\":1}", "");
  cr_expect_eq(nvtxa_manifest_record_count(manifest), 3);
  nvtxa_manifest_unref(manifest);
}

Test(manifest, locale_with_a_decimal_comma) {
  /* Where none is installed the test still shows that the caller's locale is put back. */
  static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fa_IR.UTF-8"};
  locale_t comma = (locale_t)0;
  for (size_t i = 0; i < NVTXA__COUNT(names) && comma == (locale_t)0; i++) {
    comma = newlocale(LC_ALL_MASK, names[i], (locale_t)0);
  }
  if (comma == (locale_t)0) {
    comma = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  }
  locale_t before = uselocale(comma);
  expect_workload("{a: 1.5, b: .25e1}", "{\"a\":1.5,\"b\":2.5}");
  cr_expect_eq(uselocale(before), comma);
  freelocale(comma);
}

/* ---- the shape of the text ---- */

static const char *const same_texts[] = {
    "capture_range: x\nworkload: {iterations: 2}\n",
    "capture_range: x\r\nworkload:\r\n  iterations: 2\r\n",
    "capture_range: x\rworkload:\r  iterations: 2\r",
    "\xEF\xBB\xBF"
    "capture_range: x\nworkload: {iterations: 2}",
    "\xEF\xBB\xBF"
    "capture_range: x\r\nworkload:\r\n  iterations: 2\r\n",
    "---\ncapture_range: x\nworkload: {iterations: 2}\n",
    "%YAML 1.2\n---\ncapture_range: x\nworkload: {iterations: 2}\n...\n",
    "%YAML 1.1\n---\ncapture_range: x\nworkload: {iterations: 2}\n",
    "%TAG !y! tag:yaml.org,2002:\n---\ncapture_range: !y!str x\nworkload: {iterations: 2}\n",
    "# a comment\n\n{\"capture_range\":\"x\",\"workload\":{\"iterations\":2}}\n\n\n",
    "{\n\"capture_range\": \"x\",\n\"workload\": {\n\t\"iterations\": 2\n}\n}\n",
    "workload: {\n  iterations: 2,\n}\ncapture_range: >-\n  x\n",
    "'workload':\n    \"iterations\": 2\n? capture_range\n: x\n",
};

Test(manifest, ways_to_write_it) {
  for (size_t i = 0; i < NVTXA__COUNT(same_texts); i++) {
    nvtxa_manifest *manifest = read_text(same_texts[i]);
    expect_text(nvtxa_manifest_capture_range(manifest), "x", same_texts[i]);
    expect_text(nvtxa_manifest_workload_json(manifest), "{\"iterations\":2}", same_texts[i]);
    nvtxa_manifest_unref(manifest);
  }
}

static const struct {
  const char *text;
  uint64_t line;
  const char *part;
} syntax_errors[] = {
    /* not one document */
    {"", 0, "no YAML document"},
    {"# nothing\n", 0, "no YAML document"},
    {"\xEF\xBB\xBF", 0, "no YAML document"},
    {"---\n", 0, "null, not a mapping"},
    {"null\n", 1, "null, not a mapping"},
    {"- a\n- b\n", 1, "a sequence, not a mapping"},
    {"text\n", 1, "a string, not a mapping"},
    {"12\n", 1, "an integer, not a mapping"},
    {CAPTURE "---\na: 1\n", 2, "second YAML document"},
    {CAPTURE "...\na: 1\n", 1, "second YAML document"},
    {CAPTURE "...\n---\na: 1\n", 3, "second YAML document"},
    {CAPTURE "---\n", 2, "second YAML document"},
    /* not YAML */
    {"a: [1, 2\nb: {", 2, "not valid YAML"},
    {CAPTURE "a: 'open\n", 2, "closing quote"},
    {CAPTURE "a: \"\\q\"\n", 2, "escape"},
    {CAPTURE "\tb: 1\n", 1, "not valid YAML"},
    {CAPTURE "  b: 1\n", 1, "not valid YAML"},
    {CAPTURE "b\n", 2, "not valid YAML"},
    {CAPTURE "b: @x\n", 2, "cannot start with '@'"},
    {CAPTURE "b: !a!b c\n", 2, "tag"},
    {CAPTURE "b: |\n\n%cut\n", 4, "directive"},
    {CAPTURE "b: 'a''''b'\n", 2, "two quotes in a row"},
    {"%YAML 2.0\n---\n" CAPTURE, 0, "version number 2.0"},
    {"%OTHER 2.0\n---\n" CAPTURE, 1, "directive"},
    /* characters */
    {CAPTURE "a: b\n\nc: \xFF\n", 4, "UTF-8"},
    {CAPTURE "a: \xED\xA0\x80\n", 2, "UTF-8"},
    {"\xFF\xFEx\n", 1, "UTF-8"},
    {"\xEF\xBB\xBF"
     "a: b\r\n\r\nc: \xC3(\n",
     3, "UTF-8"},
    {CAPTURE "a: \x1B[31m\n", 2, "control character"},
    /* keys */
    {"workload:\n  iterations: 3\n  warmup: 1\n  iterations: 30\n", 4,
     "duplicate key 'iterations', first on line 2"},
    {CAPTURE "workload: {a: 1}\nx: y\nworkload: {b: 2}\n", 4,
     "duplicate key 'workload', first on line 2"},
    {CAPTURE "a: {b: [{c: 1,\n \"c\": 2}]}\n", 3, "duplicate key 'c', first on line 2"},
    {CAPTURE "a: 1\n'a': 2\n", 3, "duplicate key 'a'"},
    {CAPTURE "1: 1\n\"1\": 2\n", 3, "duplicate key '1'"},
    {CAPTURE "\"\\e\": 1\n\"\\x1B\": 2\n", 3, "duplicate key '\\x1B'"},
    {CAPTURE "a: &k b\n*k : 3\nb: 4\n", 4, "duplicate key 'b', first on line 2"},
    {CAPTURE "? \n: 1\n\"\": 2\n", 4, "duplicate key ''"},
    {CAPTURE "a: {b: 1}\nc: {b: 1, d: {b: 2}, b: 3}\n", 3, "duplicate key 'b'"},
    {CAPTURE "[a]: 1\n", 2, "a key that is a sequence"},
    {CAPTURE "? {a: b}\n: 1\n", 2, "a key that is a mapping"},
    {CAPTURE "a: &l [b]\n*l : 1\n", 2, "a key that is a sequence"},
    {CAPTURE "workload: {\"a\\0\": 1}\n", 2, "a key with a NUL"},
    /* aliases */
    {CAPTURE "a: *b\n", 2, "alias *b without an anchor"},
    {CAPTURE "a: *b\nb: &b 1\n", 2, "alias *b without an anchor"},
    {CAPTURE "a: &a [*a]\n", 2, "alias *a inside the node"},
    {CAPTURE "a: &a\n  b: &b\n    - *a\n", 4, "alias *a inside the node"},
    {"&a\n" CAPTURE "a: *a\n", 3, "alias *a inside the node"},
    /* tags */
    {CAPTURE "a: !!int abc\n", 2, "tag !!int on 'abc'"},
    {CAPTURE "a: !!int 1.5\n", 2, "tag !!int on '1.5'"},
    {CAPTURE "a: !!float x\n", 2, "tag !!float on 'x'"},
    {CAPTURE "a: !!bool 1\n", 2, "tag !!bool on '1'"},
    {CAPTURE "a: !!null 0\n", 2, "tag !!null on '0'"},
    {CAPTURE "a: !!map x\n", 2, "tag !!map on 'x'"},
    {CAPTURE "a: !!seq {}\n", 2, "tag !!seq on a mapping"},
    {CAPTURE "a: !!map []\n", 2, "tag !!map on a sequence"},
    {CAPTURE "a: !!str [x]\n", 2, "tag !!str on a sequence"},
};

Test(manifest, syntax_errors) {
  for (size_t i = 0; i < NVTXA__COUNT(syntax_errors); i++) {
    expect_refused(syntax_errors[i].text, NVTXA_ERROR_MANIFEST_SYNTAX, syntax_errors[i].line,
                   syntax_errors[i].part);
  }
}

Test(manifest, nul_in_the_text) {
  static const char text[] = CAPTURE "a: \0b\nc: d\n";
  expect_refused_bytes(text, sizeof text - 1, NVTXA_ERROR_MANIFEST_SYNTAX, 2, "control character");
}

/* ---- limits ---- */

/* A limit that does not work makes these run for ever, or nearly so. */
#define NO_HANG .timeout = 300

Test(manifest, alias_bomb, NO_HANG) {
  nvtxa__buffer text = {0};
  nvtxa__buffer_printf(&text, CAPTURE "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
  for (int i = 1; i < 20; i++) {
    nvtxa__buffer_printf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
                         i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
  }
  expect_refused_bytes(text.data, text.length, NVTXA_ERROR_LIMIT, 7, "100000 nodes");
  nvtxa__buffer_free(&text);
}

Test(manifest, aliases_up_to_the_limit, NO_HANG) {
  char *most = repeat(CAPTURE "a: &a x\nrecord_ids:\n", "- *a\n", 100000, "");
  nvtxa_manifest *manifest = read_text(most);
  cr_expect_eq(nvtxa_manifest_record_count(manifest), 100000);
  nvtxa_manifest_unref(manifest);
  free(most);
  char *more = repeat(CAPTURE "a: &a x\nrecord_ids:\n", "- *a\n", 100001, "");
  expect_refused(more, NVTXA_ERROR_LIMIT, 100004, "100000 nodes");
  free(more);
}

Test(manifest, aliases_of_much_text, NO_HANG) {
  char *letters = repeat(CAPTURE "a: &a \"", "0123456789abcdef", 65535, "\"\nworkload:\n");
  char *text = repeat(letters, "  - *a\n", 17, "");
  expect_refused(text, NVTXA_ERROR_LIMIT, 20, "16777216 bytes");
  free(text);
  free(letters);
}

Test(manifest, depth, NO_HANG) {
  char *open = repeat(CAPTURE "workload: {a: ", "[", 62, "");
  char *deepest = repeat(open, "]", 62, "}\n");
  nvtxa_manifest *manifest = read_text(deepest);
  cr_expect_eq(nvtxa_manifest_workload_json(manifest).length, 6 + 2 * 62);
  nvtxa_manifest_unref(manifest);
  free(deepest);
  free(open);

  open = repeat(CAPTURE "workload: {a: ", "[", 63, "");
  char *deeper = repeat(open, "]", 63, "}\n");
  expect_refused(deeper, NVTXA_ERROR_LIMIT, 2, "deeper than 64 levels");
  free(deeper);
  free(open);

  char *flow = repeat(CAPTURE "a: ", "[", 1000000, "");
  expect_refused(flow, NVTXA_ERROR_LIMIT, 2, "deeper than 64 levels");
  free(flow);
  char *block = repeat(CAPTURE "a:\n", "- ", 500000, "x\n");
  expect_refused(block, NVTXA_ERROR_LIMIT, 3, "deeper than 64 levels");
  free(block);
}

Test(manifest, depth_through_aliases, NO_HANG) {
  nvtxa__buffer text = {0};
  nvtxa__buffer_printf(&text, CAPTURE "a0: &a0 [x]\n");
  for (int i = 1; i < 64; i++) {
    nvtxa__buffer_printf(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
  }
  expect_refused_bytes(text.data, text.length, NVTXA_ERROR_LIMIT, 65, "deeper than 64 levels");
  nvtxa__buffer_free(&text);
}

Test(manifest, size, NO_HANG) {
  const size_t limit = (size_t)16 << 20;
  char *text = repeat(CAPTURE, "# 45678\n", limit / 8, "");
  nvtxa_manifest_unref(read_bytes(text, limit));
  expect_refused_bytes(text, limit + 1, NVTXA_ERROR_LIMIT, 0, "more than 16777216");
  free(text);
}

Test(manifest, long_lines, NO_HANG) {
  const size_t limit = (size_t)1 << 20;
  char *most = repeat(CAPTURE "a: '", "x", limit - 6, "'\n");
  nvtxa_manifest_unref(read_text(most));
  free(most);
  char *more = repeat(CAPTURE "a: '", "x", limit - 5, "'\n");
  expect_refused(more, NVTXA_ERROR_LIMIT, 2, "bytes in a line: more than 1048576");
  free(more);
}

Test(manifest, blank_lines, NO_HANG) {
  char *most = repeat(CAPTURE "a: |\n b", "\n", 257, " c\n");
  nvtxa_manifest_unref(read_text(most));
  free(most);
  char *more = repeat(CAPTURE "a: |\n b", "\n", 258, " c\n");
  expect_refused(more, NVTXA_ERROR_LIMIT, 260, "blank lines in a row: more than 256");
  free(more);
}

Test(manifest, escapes_in_tags, NO_HANG) {
  char *text = repeat(CAPTURE "a: !", "%41", 80000, " b\n");
  expect_refused(text, NVTXA_ERROR_LIMIT, 2, "escapes in a tag: more than 256");
  free(text);
  /* A text may have as many as it likes. */
  text = repeat(CAPTURE "a: x", "%41", 80000, "!\n");
  nvtxa_manifest_unref(read_text(text));
  free(text);
}

Test(manifest, directives, NO_HANG) {
  nvtxa__buffer text = {0};
  for (int i = 0; i < 20000; i++) {
    nvtxa__buffer_printf(&text, "%%TAG !a%d! tag:x,%d:\n", i, i);
  }
  nvtxa__buffer_printf(&text, "---\n" CAPTURE);
  expect_refused_bytes(text.data, text.length, NVTXA_ERROR_LIMIT, 65, "directives: more than 64");
  nvtxa__buffer_free(&text);
  char *prefix = repeat("%TAG !a! ", "x", 2000, "\n---\n" CAPTURE);
  expect_refused(prefix, NVTXA_ERROR_LIMIT, 1, "bytes in a directive: more than 1024");
  free(prefix);
}

Test(manifest, many_keys, NO_HANG) {
  nvtxa__buffer text = {0};
  nvtxa__buffer_printf(&text, CAPTURE "workload:\n");
  for (int i = 0; i < 100000; i++) {
    nvtxa__buffer_printf(&text, "  k%d: %d\n", i, i);
  }
  nvtxa_manifest *manifest = read_bytes(text.data, text.length);
  cr_expect_eq(strncmp(nvtxa_manifest_workload_json(manifest).data, "{\"k0\":0,\"k1\":1,", 15), 0);
  nvtxa_manifest_unref(manifest);
  nvtxa__buffer_printf(&text, "  k77777: 0\n");
  expect_refused_bytes(text.data, text.length, NVTXA_ERROR_MANIFEST_SYNTAX, 100003,
                       "duplicate key 'k77777', first on line 77780");
  nvtxa__buffer_free(&text);
}

/* ---- files ---- */

static char *make_directory(void) {
  static char path[64];
  strcpy(path, "/tmp/nvtxa-manifest-XXXXXX");
  cr_assert_not_null(mkdtemp(path));
  return path;
}

static void expect_file_refused(const char *path, nvtxa_status wanted, int errnum,
                                const char *part) {
  nvtxa_manifest *manifest = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_manifest_read_file(path, &manifest, &error);
  cr_assert_eq(status, wanted, "got %s for %s", nvtxa_status_name(status), path);
  cr_expect_eq(nvtxa_error_status(error), wanted);
  cr_expect_eq(nvtxa_error_errno(error), errnum);
  cr_expect_str_eq(nvtxa_error_file(error), path);
  cr_expect_not_null(strstr(nvtxa_error_message(error), part), "'%s' lacks '%s'",
                     nvtxa_error_message(error), part);
  nvtxa_error_free(error);
  cr_expect_eq(nvtxa_manifest_read_file(path, &manifest, NULL), wanted);
  cr_expect_null(manifest);
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  cr_assert_not_null(file);
  fputs(text, file);
  fclose(file);
}

Test(manifest, files) {
  const char *directory = make_directory();
  char path[128];
  char below[160];
  nvtxa_manifest *manifest = NULL;
  snprintf(path, sizeof path, "%s/manifest.yaml", directory);
  snprintf(below, sizeof below, "%s/manifest.yaml", path);
  expect_file_refused(path, NVTXA_ERROR_MANIFEST_MISSING, ENOENT, "no manifest");
  expect_file_refused(directory, NVTXA_ERROR_IO, 0, "not a regular file");
  write_file(path, "a: b\na: c\n");
  expect_file_refused(path, NVTXA_ERROR_MANIFEST_SYNTAX, 0, "duplicate key 'a'");
  expect_file_refused(below, NVTXA_ERROR_MANIFEST_MISSING, ENOTDIR, "no manifest");
  write_file(path, "- a\n");
  expect_file_refused(path, NVTXA_ERROR_MANIFEST_SYNTAX, 0, "mapping");
  write_file(path, "");
  expect_file_refused(path, NVTXA_ERROR_MANIFEST_SYNTAX, 0, "no YAML document");
  write_file(path, "capture_range: 1\n");
  expect_file_refused(path, NVTXA_ERROR_MANIFEST_VALUE, 0, "capture_range");
  char *large = repeat(CAPTURE "#", "x", (size_t)16 << 20, "");
  write_file(path, large);
  expect_file_refused(path, NVTXA_ERROR_LIMIT, 0, "16777216");
  free(large);
  write_file(path, whole);
  cr_assert_eq(nvtxa_manifest_read_file(path, &manifest, NULL), NVTXA_OK);
  expect_text(nvtxa_manifest_profile_name(manifest), "smoke-tensor", "");
  nvtxa_manifest_unref(manifest);
  unlink(path);
  rmdir(directory);
}

Test(manifest, a_missing_file_says_what_to_do) {
  nvtxa_manifest *manifest = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_manifest_read_file("/nonexistent/manifest.yaml", &manifest, &error);
  cr_assert_eq(status, NVTXA_ERROR_MANIFEST_MISSING);
  cr_expect_not_null(strstr(nvtxa_error_hint(error), "manifest.yaml beside trace.nsys-rep"));
  cr_expect_not_null(nvtxa_error_cause(error));
  nvtxa_error_free(error);
}

/* ---- nothing but results ---- */

Test(manifest, prints_nothing) {
  int saved = dup(STDERR_FILENO);
  FILE *caught = tmpfile();
  fflush(stderr);
  dup2(fileno(caught), STDERR_FILENO);
  for (size_t i = 0; i < NVTXA__COUNT(syntax_errors); i++) {
    nvtxa_manifest *manifest = NULL;
    nvtxa_manifest_read_buffer(syntax_errors[i].text, strlen(syntax_errors[i].text), &manifest,
                               NULL);
  }
  fflush(stderr);
  off_t printed = lseek(STDERR_FILENO, 0, SEEK_END);
  dup2(saved, STDERR_FILENO);
  close(saved);
  fclose(caught);
  cr_expect_eq(printed, 0);
}

/* libfyaml 0.7.12 reads these wrongly, each in its own way. */
Test(manifest, what_the_yaml_library_misreads_is_refused) {
  static const char *const misread[] = {
      "'a''''b'",       "'''''a'",          "'\n  ''\n  '''",  /* quotes in single quotes */
      "\"a\\ \n  b\"",  "\"a\\\\\\\n  b\"", "\"a\\\\ \n  b\"", /* escapes at the end of a line */
      "\"a\\\n\n  b\"",
  };
  static const char *const fine[][2] = {
      {"'it''s'", "it's"},          {"'a '' '' b'", "a ' ' b"},     {"'''a'''", "'a'"},
      {"\"a\\\n  b\"", "ab"},       {"\"a\\\\\n  b\"", "a\\ b"},    {"\"a\n  b\"", "a b"},
      {"\"a\r\n\r\n  b\"", "a\nb"}, {"\"a \\\" \\\\\"", "a \" \\"},
  };
  char text[200];
  for (size_t i = 0; i < sizeof misread / sizeof misread[0]; i++) {
    snprintf(text, sizeof text, CAPTURE "run_id: %s\n", misread[i]);
    expect_refused_bytes(text, strlen(text), NVTXA_ERROR_MANIFEST_SYNTAX, 2,
                         "which the YAML library misreads");
  }
  for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
    snprintf(text, sizeof text, CAPTURE "run_id: %s\n", fine[i][0]);
    nvtxa_manifest *manifest = read_text(text);
    expect_text(nvtxa_manifest_run_id(manifest), fine[i][1], fine[i][0]);
    nvtxa_manifest_unref(manifest);
  }
}
