/*
 * nsys itself: found and asked. It runs in the root directory, from which nobody but root can have
 * it take report scripts.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "doctor-internal.h"

#include "analysis/analysis-internal.h"
#include "export/export-internal.h"

static const char get_nsys[] = "install Nsight Systems, or say where it is (--nsys PATH)";

/* ---- version ---- */

static nvtxa_status add_version(nvtxa_doctor *doctor, const nvtxa__buffer *version,
                                nvtxa_error **reterr) {
  char families[NVTXA__FAMILIES];
  char quoted[NVTXA__EXCERPT];
  nvtxa__validated_families(families);
  if (version->data == NULL) {
    return nvtxa__doctor_add(doctor, NVTXA_CHECK_VERSION, NVTXA_VERDICT_UNKNOWN,
                             "see that it is the nsys of Nsight Systems (--nsys PATH)", reterr,
                             "nsys --version tells none");
  }
  nvtxa__excerpt(quoted, sizeof quoted, version->data, version->length);
  if (nvtxa__is_validated((nvtxa_text){version->data, version->length})) {
    return nvtxa__doctor_add(doctor, NVTXA_CHECK_VERSION, NVTXA_VERDICT_OK, NULL, reterr, "%s",
                             quoted);
  }
  return nvtxa__doctor_add(doctor, NVTXA_CHECK_VERSION, NVTXA_VERDICT_NOTE,
                           "hold a first result against what you know, or use one of those", reterr,
                           "%s, which is not among those that are validated, %s", quoted, families);
}

/* ---- reports ---- */

static nvtxa_status list_reports(const bool reports[NVTXA__EXPORTED_REPORTS], bool wanted,
                                 nvtxa__buffer *list, nvtxa_error **reterr) {
  int result = nvtxa__buffer_add(list, "", 0);
  for (int report = 0; report < NVTXA__EXPORTED_REPORTS && result == 0; report++) {
    if (reports[report] == wanted) {
      result = nvtxa__buffer_printf(list, "%s%s", list->length == 0 ? "" : ", ",
                                    nvtxa_report_name((nvtxa_report)report));
    }
  }
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

/* Without reports, this library computes the ranges itself. */
static nvtxa_status add_reports(nvtxa_doctor *doctor, const bool offered[NVTXA__EXPORTED_REPORTS],
                                nvtxa_error **reterr) {
  bool of_ranges = offered[NVTXA_REPORT_PUSHPOP_TRACE] && offered[NVTXA_REPORT_GPU_PROJ_TRACE];
  bool of_gpu_work =
      offered[NVTXA_REPORT_CUDA_GPU_KERN_SUM] && offered[NVTXA_REPORT_CUDA_GPU_TRACE];
  bool all = of_ranges && of_gpu_work;
  nvtxa__buffer list = {0};
  nvtxa_status status = list_reports(offered, all, &list, reterr);
  if (status == NVTXA_OK && all) {
    status = nvtxa__doctor_add(doctor, NVTXA_CHECK_REPORTS, NVTXA_VERDICT_OK, NULL, reterr, "%s",
                               list.data);
  } else if (status == NVTXA_OK) {
    status = nvtxa__doctor_add(
        doctor, NVTXA_CHECK_REPORTS, NVTXA_VERDICT_NOTE,
        "for that engine, use a full installation of Nsight Systems 2022.4 or later (--nsys PATH)",
        reterr, "%s not offered, so --engine nsys %s", list.data,
        of_ranges ? "tells nothing of GPU work" : "cannot be used");
  }
  nvtxa__buffer_free(&list);
  return status;
}

static nvtxa_status examine_reports(nvtxa__nsys *nsys, nvtxa_doctor *doctor, nvtxa_error **reterr) {
  bool offered[NVTXA__EXPORTED_REPORTS];
  nvtxa_error *error = NULL;
  nsys->child.deadline_ns = nvtxa__now_ns() + nvtxa__call_ns;
  if (nvtxa__nsys_list_reports(nsys, offered, &error) == NVTXA_OK) {
    return add_reports(doctor, offered, reterr);
  }
  return nvtxa__doctor_add_error(
      doctor, NVTXA_CHECK_REPORTS, NVTXA_VERDICT_NOTE,
      "without them, --engine nsys cannot be used; see what nsys stats --help-reports prints",
      reterr, "", error);
}

/* ---- all of it ---- */

static nvtxa_status ask(nvtxa__examination *examination, nvtxa__nsys *nsys, char *program,
                        nvtxa_error **reterr) {
  nvtxa_doctor *doctor = examination->made;
  char shown[NVTXA__EXCERPT];
  nvtxa_error *error = NULL;
  if (nvtxa__nsys_ask_version(nsys, &error) != NVTXA_OK) {
    return nvtxa__doctor_add_error(doctor, NVTXA_CHECK_NSYS, NVTXA_VERDICT_PROBLEM, get_nsys,
                                   reterr, "", error);
  }
  examination->nsys = program;
  nvtxa__excerpt(shown, sizeof shown, program, strlen(program));
  nvtxa_status status =
      nvtxa__doctor_add(doctor, NVTXA_CHECK_NSYS, NVTXA_VERDICT_OK, NULL, reterr, "%s", shown);
  if (status == NVTXA_OK) {
    status = add_version(doctor, &nsys->version, reterr);
  }
  return status == NVTXA_OK ? examine_reports(nsys, doctor, reterr) : status;
}

nvtxa_status nvtxa__examine_tool(nvtxa__examination *examination, nvtxa_error **reterr) {
  char *program = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa__program_find(examination->options.nsys,
                                            examination->options.environment, &program, &error);
  if (status != NVTXA_OK) {
    return nvtxa__doctor_add_error(examination->made, NVTXA_CHECK_NSYS, NVTXA_VERDICT_PROBLEM,
                                   get_nsys, reterr, "", error);
  }
  nvtxa__nsys nsys = {
      .child = {.hooks = examination->hooks,
                .program = program,
                .environment = examination->environment,
                .directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                .timeout_ns = nvtxa__call_ns,
                .deadline_ns = nvtxa__now_ns() + nvtxa__call_ns},
      .subject = program,
  };
  status = ask(examination, &nsys, program, reterr);
  nvtxa__buffer_free(&nsys.version);
  nvtxa__close(&nsys.child.directory);
  if (examination->nsys == NULL) {
    free(program);
  }
  return status;
}
