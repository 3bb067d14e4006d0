/*
 * doctor/: what the checks make of a kernel and of disks that this machine does not have, what they
 * do without a probe or a short text, and calls that are wrong. The rest is tested with the
 * command.
 */
#include <criterion/criterion.h>

#include "doctor/doctor-internal.h"

static nvtxa_finding last(const nvtxa_doctor *doctor) {
  nvtxa_finding finding = NVTXA_FINDING_INIT;
  cr_assert_eq(nvtxa_doctor_get(doctor, nvtxa_doctor_count(doctor) - 1, &finding), NVTXA_OK);
  return finding;
}

static void expect_paranoia(const char *content, nvtxa_verdict verdict, const char *beginning) {
  nvtxa_doctor doctor = {.count = 0};
  cr_assert_eq(nvtxa__judge_paranoia(&doctor, content, NULL), NVTXA_OK);
  nvtxa_finding finding = last(&doctor);
  cr_expect_eq(finding.verdict, verdict, "%s", content);
  cr_expect_eq(strncmp(finding.text.data, beginning, strlen(beginning)), 0, "%s",
               finding.text.data);
  cr_expect_eq(finding.remedy.data != NULL, verdict == NVTXA_VERDICT_NOTE);
  nvtxa__arena_free(&doctor.arena);
}

static void expect_size(uint64_t bytes, const char *text, nvtxa_verdict verdict) {
  char buffer[NVTXA__SIZE_TEXT];
  cr_expect_str_eq(nvtxa__size_text(buffer, bytes), text);
  cr_expect_eq(nvtxa__judge_room(bytes), verdict, "%s", text);
}

Test(doctor, other_machines) {
  expect_paranoia("4\n", NVTXA_VERDICT_NOTE, "perf_event_paranoid is 4, so nsys does not sample");
  expect_paranoia("3\n", NVTXA_VERDICT_NOTE, "perf_event_paranoid is 3, so");
  expect_paranoia("2\n", NVTXA_VERDICT_OK, "perf_event_paranoid is 2");
  expect_paranoia("-1\n", NVTXA_VERDICT_OK, "perf_event_paranoid is -1");
  expect_paranoia("", NVTXA_VERDICT_UNKNOWN, "/proc/sys/kernel/perf_event_paranoid holds no");
  expect_size(0, "0 MB", NVTXA_VERDICT_PROBLEM);
  expect_size(12345678, "12 MB", NVTXA_VERDICT_PROBLEM);
  expect_size(99999999, "99 MB", NVTXA_VERDICT_PROBLEM);
  expect_size(100000000, "100 MB", NVTXA_VERDICT_NOTE);
  expect_size(999999999, "999 MB", NVTXA_VERDICT_NOTE);
  expect_size(1000000000, "1.0 GB", NVTXA_VERDICT_OK);
  expect_size(9999999999, "9.9 GB", NVTXA_VERDICT_OK);
  expect_size(10000000000, "10 GB", NVTXA_VERDICT_OK);
  expect_size(UINT64_MAX, "18446744073 GB", NVTXA_VERDICT_OK);
}

/* A text that is cut ends with a whole character. */
static void expect_cut(void) {
  char text[1001] = "x";
  nvtxa_doctor doctor = {.count = 0};
  for (size_t i = 1; i + 2 < sizeof text; i += 2) {
    memcpy(text + i, "\xC3\xBC", 3);
  }
  cr_assert_eq(
      nvtxa__doctor_add(&doctor, NVTXA_CHECK_DISK, NVTXA_VERDICT_OK, NULL, NULL, "%s", text),
      NVTXA_OK);
  nvtxa_text kept = last(&doctor).text;
  cr_expect_lt(kept.length, 410u);
  cr_expect_eq(nvtxa__utf8_valid(kept.data, kept.length), kept.length);
  cr_expect_str_eq(kept.data + kept.length - 5, "\xC3\xBC...");
  nvtxa__arena_free(&doctor.arena);
}

/* /bin/echo passes for an nsys: it exits with 0, and has nothing to tell. */
static void expect_without_probe(void) {
  nvtxa_doctor_options options = NVTXA_DOCTOR_OPTIONS_INIT;
  nvtxa_doctor *doctor = NULL;
  nvtxa_finding finding = NVTXA_FINDING_INIT;
  options.nsys = "/bin/echo";
  cr_assert_eq(nvtxa_doctor_examine(&options, &doctor, NULL), NVTXA_OK);
  nvtxa_doctor *shared = nvtxa_doctor_ref(doctor);
  nvtxa_doctor_unref(doctor);
  cr_assert_eq(nvtxa_doctor_count(shared), 7u);
  cr_assert_eq(nvtxa_doctor_get(shared, 3, &finding), NVTXA_OK);
  cr_expect_eq(finding.check, NVTXA_CHECK_CAPTURE);
  cr_expect_eq(finding.verdict, NVTXA_VERDICT_UNKNOWN);
  cr_expect_not_null(strstr(finding.text.data, "not tried: there is no program of known ranges"));
  cr_expect_not_null(strstr(finding.remedy.data, "nvtxa record"));
  cr_expect_eq(nvtxa_doctor_get(shared, 7, &finding), NVTXA_ERROR_INVALID_ARGUMENT);
  nvtxa_doctor_unref(shared);
}

static void expect_refused(nvtxa_doctor_options options) {
  nvtxa_doctor *doctor = NULL;
  nvtxa_error *error = NULL;
  cr_expect_eq(nvtxa_doctor_examine(&options, &doctor, &error), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_null(doctor);
  nvtxa_error_free(error);
}

Test(doctor, calls) {
  static const char *const nothing[] = {NULL};
  nvtxa_doctor_options defaults = NVTXA_DOCTOR_OPTIONS_INIT;
  nvtxa_doctor_options options = defaults;
  options.probe = nothing;
  expect_refused(options);
  options = defaults;
  options.directory = "";
  expect_refused(options);
  options = defaults;
  options.temporary_directory = "";
  expect_refused(options);
  options = defaults;
  options.size = 0;
  expect_refused(options);
  cr_expect_eq(nvtxa_doctor_examine(&defaults, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_str_eq(nvtxa_check_name((nvtxa_check)0), "unknown");
  cr_expect_str_eq(nvtxa_check_name((nvtxa_check)8), "unknown");
  cr_expect_str_eq(nvtxa_verdict_name((nvtxa_verdict)4), "unknown");
  nvtxa_doctor_unref(nvtxa_doctor_ref(NULL));
  expect_cut();
  expect_without_probe();
}
