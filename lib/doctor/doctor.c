/*
 * The object: findings, in the order of the checks. What they say is kept short enough for a line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "doctor-internal.h"

enum { LONGEST_TEXT = 400 };

/* ---- findings ---- */

/* Cut where a character ends. */
static nvtxa_text keep_short(nvtxa_doctor *doctor, const char *text, size_t length) {
  static const char ellipsis[] = "...";
  char shorter[LONGEST_TEXT + sizeof ellipsis];
  if (length > LONGEST_TEXT) {
    size_t kept = nvtxa__utf8_valid(text, LONGEST_TEXT);
    memcpy(shorter, text, kept);
    memcpy(shorter + kept, ellipsis, sizeof ellipsis);
    text = shorter;
    length = kept + sizeof ellipsis - 1;
  }
  return (nvtxa_text){nvtxa__arena_copy(&doctor->arena, text, length), length};
}

nvtxa_status nvtxa__doctor_add(nvtxa_doctor *doctor, nvtxa_check check, nvtxa_verdict verdict,
                               const char *remedy, nvtxa_error **reterr, const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_finding finding = NVTXA_FINDING_INIT;
  finding.check = check;
  finding.verdict = verdict;
  finding.text = keep_short(doctor, text, (size_t)length);
  finding.remedy = nvtxa__text(remedy);
  free(text);
  if (finding.text.data == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  doctor->findings[doctor->count++] = finding;
  return NVTXA_OK;
}

bool nvtxa__doctor_is_over(nvtxa_status status) {
  return status == NVTXA_ERROR_CANCELLED || status == NVTXA_ERROR_OUT_OF_MEMORY;
}

nvtxa_status nvtxa__doctor_add_error(nvtxa_doctor *doctor, nvtxa_check check, nvtxa_verdict verdict,
                                     const char *remedy, nvtxa_error **reterr, const char *before,
                                     nvtxa_error *error) {
  nvtxa_status status = nvtxa_error_status(error);
  if (nvtxa__doctor_is_over(status)) {
    return nvtxa__pass_on(reterr, status, error);
  }
  status = nvtxa__doctor_add(doctor, check, verdict, remedy, reterr, "%s%s", before,
                             nvtxa_error_message(error));
  nvtxa_error_free(error);
  return status;
}

/* ---- examining ---- */

static nvtxa_status take_options(nvtxa__examination *examination,
                                 const nvtxa_doctor_options *options, nvtxa_error **reterr) {
  nvtxa_doctor_options *own = &examination->options;
  nvtxa_status status = nvtxa__options_copy(own, sizeof *own, options, reterr);
  if (status == NVTXA_OK && own->hooks != NULL) {
    status = nvtxa__options_copy(&examination->hooks_copy, sizeof examination->hooks_copy,
                                 own->hooks, reterr);
    examination->hooks = &examination->hooks_copy;
  }
  own->nsys = own->nsys == NULL ? "nsys" : own->nsys;
  own->directory = own->directory == NULL ? "." : own->directory;
  own->temporary_directory = own->temporary_directory == NULL ? "/tmp" : own->temporary_directory;
  if (status == NVTXA_OK && (*own->directory == '\0' || *own->temporary_directory == '\0' ||
                             (own->probe != NULL && own->probe[0] == NULL))) {
    status = nvtxa__invalid(reterr, "a directory or the probe in options is empty");
  }
  return status;
}

static nvtxa_status examine(nvtxa__examination *examination, nvtxa_error **reterr) {
  examination->environment = nvtxa__program_environment(examination->options.environment);
  if (examination->environment == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_status status = nvtxa__examine_tool(examination, reterr);
  if (status == NVTXA_OK && examination->nsys != NULL) {
    status = nvtxa__examine_capture(examination, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__examine_sampling(examination, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__examine_places(examination, reterr);
  }
  if (status == NVTXA_OK && nvtxa__cancelled(examination->hooks)) {
    status = nvtxa__cancel_error(reterr);
  }
  return status;
}

nvtxa_status nvtxa_doctor_examine(const nvtxa_doctor_options *options, nvtxa_doctor **ret_doctor,
                                  nvtxa_error **reterr) {
  nvtxa__examination examination = {.options = NVTXA_DOCTOR_OPTIONS_INIT,
                                    .hooks_copy = NVTXA_HOOKS_INIT};
  if (ret_doctor == NULL) {
    return nvtxa__invalid(reterr, "ret_doctor is NULL");
  }
  nvtxa_status status = take_options(&examination, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  examination.made = calloc(1, sizeof *examination.made);
  if (examination.made == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__ref_init(&examination.made->ref);
  status = examine(&examination, reterr);
  free(examination.environment);
  free(examination.nsys);
  if (status != NVTXA_OK) {
    nvtxa_doctor_unref(examination.made);
    return status;
  }
  *ret_doctor = examination.made;
  return NVTXA_OK;
}

/* ---- reading ---- */

nvtxa_doctor *nvtxa_doctor_ref(const nvtxa_doctor *doctor) {
  nvtxa_doctor *shared = (nvtxa_doctor *)doctor;
  if (shared != NULL) {
    nvtxa__ref_take(&shared->ref);
  }
  return shared;
}

void nvtxa_doctor_unref(nvtxa_doctor *doctor) {
  if (doctor != NULL && nvtxa__ref_drop(&doctor->ref)) {
    nvtxa__arena_free(&doctor->arena);
    free(doctor);
  }
}

size_t nvtxa_doctor_count(const nvtxa_doctor *doctor) {
  return doctor->count;
}

nvtxa_status nvtxa_doctor_get(const nvtxa_doctor *doctor, size_t index,
                              nvtxa_finding *ret_finding) {
  if (doctor == NULL || index >= doctor->count) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  return nvtxa__result_copy(ret_finding, &doctor->findings[index], sizeof *ret_finding);
}

nvtxa_verdict nvtxa_doctor_worst(const nvtxa_doctor *doctor) {
  nvtxa_verdict worst = NVTXA_VERDICT_OK;
  for (size_t i = 0; i < doctor->count; i++) {
    worst = doctor->findings[i].verdict > worst ? doctor->findings[i].verdict : worst;
  }
  return worst;
}

const char *nvtxa_check_name(nvtxa_check check) {
  static const char *const names[] = {
      [NVTXA_CHECK_NSYS] = "nsys",          [NVTXA_CHECK_VERSION] = "version",
      [NVTXA_CHECK_REPORTS] = "reports",    [NVTXA_CHECK_CAPTURE] = "capture",
      [NVTXA_CHECK_SAMPLING] = "sampling",  [NVTXA_CHECK_DISK] = "disk",
      [NVTXA_CHECK_TEMPORARY] = "temporary"};
  size_t number = (size_t)check;
  return number < NVTXA__COUNT(names) && names[number] != NULL ? names[number] : "unknown";
}

const char *nvtxa_verdict_name(nvtxa_verdict verdict) {
  static const char *const names[] = {"ok", "note", "unknown", "PROBLEM"};
  return (size_t)verdict < NVTXA__COUNT(names) ? names[verdict] : "unknown";
}
