/* record/ and the manifests that it writes: what is set reads back the same, and what nsys gets.
 * How commands are run is tried by the tests of the command, with a stand-in and with a real nsys.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtxa/record.h>

#include "record/record-internal.h"

/* ---- drafts ---- */

static nvtxa_manifest_draft *new_draft(void) {
  nvtxa_manifest_draft *draft = NULL;
  cr_assert_eq(nvtxa_manifest_draft_new(&draft, NULL), NVTXA_OK);
  return draft;
}

static char *text_of(const nvtxa_manifest_draft *draft) {
  char *text = NULL;
  size_t length = 0;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_manifest_draft_to_text(draft, &text, &length, &error);
  cr_assert_eq(status, NVTXA_OK, "%s", error == NULL ? "" : nvtxa_error_message(error));
  cr_assert_eq(strlen(text), length);
  return text;
}

static void expect_draft(const nvtxa_manifest_draft *draft, const char *expected) {
  char *text = text_of(draft);
  cr_expect_str_eq(text, expected);
  nvtxa_free(text);
}

Test(record_draft, is_written_as_it_was_set) {
  nvtxa_manifest_draft *draft = new_draft();
  nvtxa_manifest_draft_set_text(draft, "workload.model.name", "yes", NULL);
  nvtxa_manifest_draft_set_text(draft, "capture_range", "a: b", NULL);
  nvtxa_manifest_draft_set_integer(draft, "workload.iterations", INT64_MIN, NULL);
  nvtxa_manifest_draft_set_value(draft, "workload.seed", "8", NULL);
  nvtxa_manifest_draft_set_value(draft, "workload.rate", "0.5", NULL);
  nvtxa_manifest_draft_set_value(draft, "workload.id", "08", NULL);
  nvtxa_manifest_draft_set_value(draft, "workload.none", "null", NULL);
  nvtxa_manifest_draft_set_value(draft, "workload.on", "true", NULL);
  nvtxa_manifest_draft_set_text(draft, "capture_range", "two\nlines ", NULL);
  expect_draft(draft,
               "workload:\n"
               "  model:\n"
               "    name: \"yes\"\n"
               "  iterations: -9223372036854775808\n"
               "  seed: 8\n"
               "  rate: 0.5\n"
               "  id: \"08\"\n"
               "  none: \"null\"\n"
               "  \"on\": true\n"
               "capture_range: \"two\\nlines \"\n");
  nvtxa_manifest_draft_free(draft);
  nvtxa_manifest_draft_free(NULL);
}

/* Characters that YAML, its writers and its readers treat in a way of their own. */
static const char *const pieces[] = {" ",
                                     "  ",
                                     "\n",
                                     "\r",
                                     "\t",
                                     "'",
                                     "\"",
                                     "\\",
                                     "#",
                                     ":",
                                     "- ",
                                     "? ",
                                     "{",
                                     "]",
                                     "&",
                                     "*",
                                     "!",
                                     "|",
                                     ">",
                                     "%",
                                     "@",
                                     "`",
                                     "~",
                                     ",",
                                     "a",
                                     "N",
                                     "0",
                                     "\x01",
                                     "\x1b",
                                     "\x7f",
                                     "",
                                     "=",
                                     "<<",
                                     "---",
                                     "...",
                                     "\xC2\x85",
                                     "\xC2\x9B",
                                     "\xC3\xA9",
                                     "\xE2\x80\xA8",
                                     "\xE2\x80\xA9",
                                     "\xEF\xBB\xBF",
                                     "\xEF\xBF\xBE",
                                     "\xF0\x9F\x9A\x80"};

static void compose(char *text, unsigned *seed) {
  text[0] = '\0';
  for (int i = rand_r(seed) % 6; i > 0; i--) {
    strcat(text, pieces[(size_t)rand_r(seed) % NVTXA__COUNT(pieces)]);
  }
}

/* Each text is read back by the library itself before it is given: what is held here as well is
 * that none of them is refused, and what another reader finds. */
Test(record_draft, any_text_comes_back) {
  unsigned seed = 20261130;
  for (int i = 0; i < 3000; i++) {
    nvtxa_manifest_draft *draft = new_draft();
    nvtxa_manifest *manifest = NULL;
    char range[64];
    char id[64];
    char key[80] = "workload.k";
    compose(range, &seed);
    compose(id, &seed);
    compose(key + strlen(key), &seed);
    for (char *dot = strchr(key + 9, '.'); dot != NULL; dot = strchr(dot, '.')) {
      *dot = '_';
    }
    cr_assert_eq(nvtxa_manifest_draft_set_text(draft, "capture_range", range, NULL), NVTXA_OK);
    cr_assert_eq(nvtxa_manifest_draft_set_text(draft, "run_id", id, NULL), NVTXA_OK);
    cr_assert_eq(nvtxa_manifest_draft_set_text(draft, key, range, NULL), NVTXA_OK);
    char *text = text_of(draft);
    cr_assert_eq(nvtxa_manifest_read_buffer(text, strlen(text), &manifest, NULL), NVTXA_OK);
    cr_expect_str_eq(nvtxa_manifest_capture_range(manifest).data, range, "%s", text);
    cr_expect_str_eq(nvtxa_manifest_run_id(manifest).data, id, "%s", text);
    for (const char *at = text; *at != '\0'; at++) {
      cr_assert((unsigned char)*at >= 0x20 || *at == '\n', "a raw control character: %s", text);
    }
    nvtxa_manifest_unref(manifest);
    nvtxa_free(text);
    nvtxa_manifest_draft_free(draft);
  }
}

static void expect_refused(nvtxa_manifest_draft *draft, const char *key, const char *text,
                           const char *part) {
  nvtxa_error *error = NULL;
  cr_expect_eq(nvtxa_manifest_draft_set_text(draft, key, text, &error), NVTXA_ERROR_MANIFEST_VALUE,
               "%s", key);
  cr_expect_not_null(strstr(nvtxa_error_message(error), part), "'%s' lacks '%s'",
                     nvtxa_error_message(error), part);
  nvtxa_error_free(error);
}

Test(record_draft, refuses_what_it_cannot_hold) {
  nvtxa_manifest_draft *draft = new_draft();
  char deep[200];
  char *text;
  size_t length;
  memset(deep, 'd', sizeof deep);
  for (size_t i = 1; i < sizeof deep; i += 2) {
    deep[i] = '.';
  }
  deep[sizeof deep - 1] = '\0';
  deep[sizeof deep - 2] = 'd';
  nvtxa_manifest_draft_set_text(draft, "a", "1", NULL);
  nvtxa_manifest_draft_set_text(draft, "m.k", "1", NULL);
  expect_refused(draft, "", "x", "empty name");
  expect_refused(draft, "b.", "x", "empty name");
  expect_refused(draft, ".b", "x", "empty name");
  expect_refused(draft, "b\xff", "x", "is not UTF-8");
  expect_refused(draft, "b", "x\xff", "'x\\xFF' is not UTF-8");
  expect_refused(draft, "a.b", "x", "no mapping");
  expect_refused(draft, "m", "x", "several values");
  expect_refused(draft, deep, "x", "too deep");
  cr_expect_eq(nvtxa_manifest_draft_set_text(draft, "a", NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_manifest_draft_set_text(draft, NULL, "", NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_manifest_draft_set_integer(NULL, "a", 1, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_manifest_draft_new(NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  /* Nothing of it is there, and it is no manifest yet. */
  cr_expect_eq(nvtxa_manifest_draft_to_text(draft, &text, &length, NULL),
               NVTXA_ERROR_MANIFEST_VALUE);
  nvtxa_manifest_draft_set_text(draft, "capture_range", "c", NULL);
  expect_draft(draft, "a: \"1\"\nm:\n  k: \"1\"\ncapture_range: c\n");
  nvtxa_manifest_draft_free(draft);
}

static void keep_notice(void *user, nvtxa_log_level level, const char *message) {
  nvtxa__buffer *notices = user;
  cr_expect_eq(level, NVTXA_LOG_NOTICE);
  nvtxa__buffer_printf(notices, "%s\n", message);
}

Test(record_draft, is_filled_in) {
  static const char more[] =
      "capture_range: other\n"
      "workload: {iterations: 49, seed: &s [1, two], again: *s}\n"
      "cuda: {a: 1}\n"
      "list: [x]\n"
      "device: ~\n"
      "hex: 0x1F\n";
  nvtxa_manifest_draft *draft = new_draft();
  nvtxa__buffer notices = {0};
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  hooks.log = keep_notice;
  hooks.user = &notices;
  nvtxa_manifest_draft_fill_in(draft, "{cuda: {}, list: [], device: cpu}", 33, NULL, NULL, NULL);
  nvtxa_manifest_draft_set_text(draft, "capture_range", "mine", NULL);
  nvtxa_manifest_draft_set_integer(draft, "workload.iterations", 50, NULL);
  cr_assert_eq(nvtxa_manifest_draft_fill_in(draft, more, strlen(more), "more.yaml", &hooks, NULL),
               NVTXA_OK);
  expect_draft(draft,
               "cuda:\n"
               "  a: 1\n"
               "list:\n"
               "- x\n"
               "device: cpu\n"
               "capture_range: mine\n"
               "workload:\n"
               "  iterations: 50\n"
               "  seed:\n"
               "  - 1\n"
               "  - two\n"
               "  again:\n"
               "  - 1\n"
               "  - two\n"
               "hex: 0x1F\n");
  cr_expect_str_eq(notices.data,
                   "more.yaml:1: the manifest's 'capture_range' stays mine, whatever this file "
                   "says\n"
                   "more.yaml:2: the manifest's 'iterations' stays 50, whatever this file says\n");
  cr_expect_eq(nvtxa_manifest_draft_fill_in(draft, "a: [", 4, NULL, NULL, NULL),
               NVTXA_ERROR_MANIFEST_SYNTAX);
  nvtxa__buffer_free(&notices);
  nvtxa_manifest_draft_free(draft);
}

/* ---- records ---- */

/* What stands between `profile` and the shell that starts the command. */
static void expect_options(const nvtxa_record_options *options, const char *expected) {
  static const char *const command[] = {"./train", "--fast", NULL};
  nvtxa_record *record = NULL;
  cr_assert_eq(nvtxa_record_new("/runs/r", command, options, &record, NULL), NVTXA_OK);
  const char *const *arguments = nvtxa_record_arguments(record);
  nvtxa__buffer text = {0};
  cr_assert_str_eq(arguments[1], "profile");
  size_t i = 2;
  for (; strcmp(arguments[i], "/bin/sh") != 0; i++) {
    nvtxa__buffer_printf(&text, "%s\n", arguments[i]);
  }
  cr_expect_str_eq(text.data, expected);
  cr_expect_str_eq(arguments[i + 4], "./train");
  cr_expect_str_eq(arguments[i + 5], "--fast");
  cr_expect_null(arguments[i + 6]);
  nvtxa__buffer_free(&text);
  nvtxa_record_free(record);
}

Test(record, gives_way_to_the_callers_options) {
  nvtxa_record_options options = NVTXA_RECORD_OPTIONS_INIT;
  expect_options(NULL,
                 "--trace=cuda,nvtx\n--sample=none\n--cpuctxsw=none\n--capture-range=nvtx\n"
                 "--nvtx-capture=profile-target@*\n--capture-range-end=stop\n-e\n"
                 "NSYS_NVTX_PROFILER_REGISTER_ONLY=0\n--output=/runs/r/trace\n");
  options.nsys_arguments = (const char *const[]){"-t",
                                                 "osrt",
                                                 "-s",
                                                 "cpu",
                                                 "--cpuctxsw=none",
                                                 "-p",
                                                 "a@b",
                                                 "--capture-range-end=repeat:2",
                                                 "-eA=1",
                                                 "--wait",
                                                 "all",
                                                 NULL};
  expect_options(&options,
                 "--capture-range=nvtx\n-t\nosrt\n-s\ncpu\n--cpuctxsw=none\n-p\na@b\n"
                 "--capture-range-end=repeat:2\n-eA=1,NSYS_NVTX_PROFILER_REGISTER_ONLY=0\n--wait\n"
                 "all\n--output=/runs/r/trace\n");
  options.nsys_arguments = (const char *const[]){
      "--capture-range=none", "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=1", NULL};
  options.trace = "nvtx";
  expect_options(&options,
                 "--trace=nvtx\n--sample=none\n--cpuctxsw=none\n--capture-range=none\n"
                 "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=1\n--output=/runs/r/trace\n");
}

static void expect_no_record(const char *run_dir, const char *const *command,
                             const nvtxa_record_options *options, nvtxa_status status) {
  nvtxa_record *record = NULL;
  nvtxa_error *error = NULL;
  cr_expect_eq(nvtxa_record_new(run_dir, command, options, &record, &error), status);
  cr_expect_null(record);
  cr_expect_eq(nvtxa_error_status(error), status);
  nvtxa_error_free(error);
}

Test(record, refuses_wrong_calls) {
  static const char *const command[] = {"true", NULL};
  static const char *const nothing[] = {NULL};
  nvtxa_record_options options = NVTXA_RECORD_OPTIONS_INIT;
  nvtxa_record *record = NULL;
  expect_no_record(NULL, command, NULL, NVTXA_ERROR_INVALID_ARGUMENT);
  expect_no_record("", command, NULL, NVTXA_ERROR_INVALID_ARGUMENT);
  expect_no_record("r", nothing, NULL, NVTXA_ERROR_INVALID_ARGUMENT);
  expect_no_record("r&d", command, NULL, NVTXA_ERROR_RECORD_ARGUMENT);
  options.capture_range = "\xff";
  expect_no_record("r", command, &options, NVTXA_ERROR_RECORD_ARGUMENT);
  options.capture_range = "";
  expect_no_record("r", command, &options, NVTXA_ERROR_RECORD_ARGUMENT);
  cr_expect_eq(nvtxa_record_new("r", command, NULL, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_assert_eq(nvtxa_record_new("r", NULL, NULL, &record, NULL), NVTXA_OK);
  cr_expect_null(nvtxa_record_arguments(record));
  cr_expect_null(nvtxa_record_command_line(record).data);
  cr_expect_eq(nvtxa_record_run(record, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_record_adopt(record, "trace", NULL), NVTXA_ERROR_INVALID_ARGUMENT,
               "it is used up");
  cr_expect_eq(nvtxa_record_run(NULL, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  nvtxa_record_free(record);
  nvtxa_record_free(NULL);
}
