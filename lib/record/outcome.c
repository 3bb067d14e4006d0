/*
 * What nsys left. It exits with the command's status whether there is a trace or not, so what lies
 * in the run directory tells, and what it printed says why.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record-internal.h"

static const char trace_hint[] =
    "See what nsys prints with -v -v, or try the command without recording it.";

void nvtxa__outcome_watch(void *user, const char *data, size_t length) {
  nvtxa__signs *signs = user;
  static const char entered[] = "Capture range started";
  static const char importer[] = "mporter";
  signs->started = signs->started || memmem(data, length, entered, sizeof entered - 1) != NULL;
  if (signs->importer[0] == '\0' && memmem(data, length, importer, sizeof importer - 1) != NULL) {
    nvtxa__excerpt(signs->importer, sizeof signs->importer, data, length);
  }
}

/* Beside numbered traces, which each need a directory of their own. */
static nvtxa_status numbered(const nvtxa__outcome *outcome, const nvtxa__leftovers *left,
                             const char *shown, nvtxa_error **reterr) {
  nvtxa__buffer hint = {0};
  const char *const argv[] = {"nvtxa",
                              "init",
                              "NEW_DIR",
                              "--trace",
                              left->names[0],
                              "--capture-range",
                              outcome->capture_range,
                              NULL};
  int result = nvtxa__buffer_printf(&hint, "Each one is a run of its own. In the run directory: ");
  result = result == 0 ? nvtxa__program_quote(&hint, argv) : result;
  nvtxa_status status = result != 0 ? nvtxa__out_of_memory(reterr)
                                    : nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING,
                                                  &(nvtxa__where){.file = shown, .hint = hint.data},
                                                  "nsys numbered the traces, as it does with "
                                                  "--capture-range-end=repeat: there %s %zu",
                                                  left->reports == 1 ? "is" : "are", left->reports);
  nvtxa__buffer_free(&hint);
  return status;
}

static nvtxa_status not_imported(const nvtxa__outcome *outcome, const char *shown,
                                 nvtxa_error **reterr) {
  char text[NVTXA__OUTPUT_TEXT];
  const char *printed = outcome->signs->importer[0] != '\0'
                            ? outcome->signs->importer
                            : nvtxa__output_text(outcome->output, text);
  return nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING,
                     &(nvtxa__where){.file = shown,
                                     .hint = "Import the .qdstrm file as trace.nsys-rep, with this "
                                             "nsys or a newer one (nsys import, or "
                                             "QdstrmImporter). The manifest is there already."},
                     "nsys captured the run but could not make a trace of it, only a .qdstrm file "
                     "is left: %s",
                     printed);
}

/* A command line that nsys did not like, a command that it could not start. */
static bool nsys_complained(const nvtxa__outcome *outcome) {
  char text[NVTXA__OUTPUT_TEXT];
  return outcome->result->code != 0 && !outcome->signs->started &&
         strstr(nvtxa__output_text(outcome->output, text), "usage: nsys") != NULL;
}

static nvtxa_status nothing(const nvtxa__outcome *outcome, const char *shown,
                            nvtxa_error **reterr) {
  char text[NVTXA__OUTPUT_TEXT];
  char quoted[NVTXA__QUOTED];
  const char *range = outcome->capture_range;
  const char *printed = nvtxa__output_text(outcome->output, text);
  if (nsys_complained(outcome)) {
    return nvtxa__fail(reterr, NVTXA_ERROR_NSYS_FAILED,
                       &(nvtxa__where){.hint = "Look at what is given to it (--print-command)."},
                       "nsys did not accept its command line: %s", printed);
  }
  if (outcome->signs->started || outcome->output->error[0] != '\0') {
    return nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING,
                       &(nvtxa__where){.file = shown, .hint = trace_hint}, "nsys left no trace: %s",
                       printed[0] == '\0' ? "it said nothing" : printed);
  }
  return nvtxa__fail(
      reterr, NVTXA_ERROR_TRACE_MISSING,
      &(nvtxa__where){
          .file = shown,
          .hint = "Does the command push a range of that name, in a process that it starts itself? "
                  "To see which ranges there are, capture all of it (--nsys-arg "
                  "--capture-range=none) and list them with nvtxa ranges."},
      "nsys left no trace: the capture range '%s' was never entered",
      nvtxa__quote(quoted, range, strlen(range)));
}

static nvtxa_status explain(const nvtxa__outcome *outcome, const nvtxa__leftovers *left,
                            const char *shown, nvtxa_error **reterr) {
  return left->reports > 0 ? numbered(outcome, left, shown, reterr)
         : left->count > 0 ? not_imported(outcome, shown, reterr)
                           : nothing(outcome, shown, reterr);
}

static nvtxa_status judge_absence(const nvtxa__outcome *outcome, const char *shown, bool *ret_any,
                                  nvtxa_error **reterr) {
  nvtxa__leftovers left = {0};
  nvtxa_status status = nvtxa__leftovers_list(outcome->rundir->fd, &left) != 0
                            ? nvtxa__out_of_memory(reterr)
                            : explain(outcome, &left, shown, reterr);
  *ret_any = left.count > 0;
  nvtxa__leftovers_free(&left);
  return status;
}

nvtxa_status nvtxa__outcome_judge(const nvtxa__outcome *outcome, bool *ret_any,
                                  nvtxa_error **reterr) {
  struct stat info;
  char *shown = nvtxa__join(outcome->rundir->path, NVTXA__TRACE_FILE);
  nvtxa_status status = NVTXA_OK;
  *ret_any = true;
  if (shown == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  if (fstatat(outcome->rundir->fd, NVTXA__TRACE_FILE, &info, 0) != 0) {
    status = judge_absence(outcome, shown, ret_any, reterr);
  } else if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    status =
        nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING,
                    &(nvtxa__where){.file = shown, .hint = trace_hint}, "nsys left an empty trace");
  }
  free(shown);
  return status;
}
