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

static bool has(const char *data, size_t length, const char *part) {
  return memmem(data, length, part, strlen(part)) != NULL;
}

static void keep_once(char kept[NVTXA__EXCERPT], const char *data, size_t length) {
  if (kept[0] == '\0') {
    nvtxa__excerpt(kept, NVTXA__EXCERPT, data, length);
  }
}

/* Between the end of the capture and a whole trace, an interrupt would lose it. Where nsys waits
 * for the end of the command, nothing comes after that; else the command may still run. */
static void watch_writing(nvtxa__signs *signs, const char *data, size_t length) {
  bool whole = has(data, length, "[1/1]") && has(data, length, "100%");
  if (has(data, length, signs->started ? "Capture range ended" : "Generating")) {
    signs->foreground->busy = true;
  } else if (whole && signs->started) {
    signs->foreground->busy = false;
  }
}

void nvtxa__outcome_watch(void *user, const char *data, size_t length) {
  static const char *const usual[] = {"Generat", "Capture range", "[1/1]", ".nsys-rep"};
  nvtxa__signs *signs = user;
  bool known = length == 0;
  for (size_t i = 0; i < NVTXA__COUNT(usual); i++) {
    known = known || has(data, length, usual[i]);
  }
  signs->odd = signs->odd || !known;
  signs->started = signs->started || has(data, length, "Capture range started");
  if (has(data, length, "mporter")) {
    keep_once(signs->importer, data, length);
  }
  if (has(data, length, "Failed to create")) {
    keep_once(signs->not_written, data, length);
  }
  if (signs->foreground != NULL) {
    watch_writing(signs, data, length);
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

static nvtxa_status never_entered(const nvtxa__outcome *outcome, const char *shown,
                                  const char *printed, nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  const char *range = outcome->capture_range;
  bool odd = outcome->signs->odd;
  return nvtxa__fail(
      reterr, NVTXA_ERROR_TRACE_MISSING,
      &(nvtxa__where){
          .file = shown,
          .hint = "Does the command push a range of that name, in a process that it starts itself? "
                  "To see which ranges there are, capture all of it (--nsys-arg "
                  "--capture-range=none) and list them with nvtxa ranges."},
      "nsys left no trace: the capture range '%s' was never entered%s%s%s%s",
      nvtxa__quote(quoted, range, strlen(range)),
      outcome->interrupted ? " before the interrupt" : "", odd ? " (nsys said: " : "",
      odd ? printed : "", odd ? ")" : "");
}

static nvtxa_status nothing(const nvtxa__outcome *outcome, const char *shown,
                            nvtxa_error **reterr) {
  char text[NVTXA__OUTPUT_TEXT];
  const char *printed = nvtxa__output_text(outcome->output, text);
  if (strstr(printed, "usage: nsys") != NULL) {
    return nvtxa__fail(reterr, NVTXA_ERROR_NSYS_FAILED,
                       &(nvtxa__where){.hint = "Look at what is given to it (--print-command)."},
                       "nsys did not accept its command line: %s", printed);
  }
  if (outcome->result->disk_was_full) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = outcome->rundir->path,
                                       .errnum = ENOSPC,
                                       .hint = "Free some space there, or record elsewhere."},
                       "nsys left no trace, and the disk had no room left while it worked");
  }
  if (outcome->waited && !outcome->signs->started && outcome->output->error[0] == '\0') {
    return never_entered(outcome, shown, printed, reterr);
  }
  return nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING,
                     &(nvtxa__where){.file = shown, .hint = trace_hint}, "nsys left no trace%s: %s",
                     outcome->interrupted ? " after the interrupt" : "",
                     printed[0] == '\0' ? "it said nothing" : printed);
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
  } else if (outcome->signs->not_written[0] != '\0') {
    /* What is there came from elsewhere: an earlier nsys that outlived its recording. */
    *ret_any = false;
    status =
        nvtxa__fail(reterr, NVTXA_ERROR_TRACE_MISSING,
                    &(nvtxa__where){.file = shown, .hint = "Record again, into another directory."},
                    "another program wrote a trace here meanwhile, and nsys left none: %s",
                    outcome->signs->not_written);
  }
  free(shown);
  return status;
}
