/*
 * The calls of nsys: its version, the reports it offers, one export to SQLite, each report from
 * that.
 *
 * nsys exits 0 for nearly everything. A step has succeeded when it exits 0, printed no error, and
 * left a fresh file that can be believed. What an empty report means is read from the line that
 * nsys prints for it:
 *   ... PROCESSED      the report has rows
 *   ... SKIPPED: X does not contain CUDA API data.     none, and this is why
 *   ...                none: the data is there, but no row came of it (start/end ranges alone, GPU
 *                      work outside every range); 2022.4 and 2023.4 print no verdict then
 *   ... SKIPPED: X file does not contain TARGET_INFO_GPU table.
 *                      unknown: what is lacking is to be joined with GPU work, and is not that work
 * A script that fails prints ERROR, and one that crashes takes nsys with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export-internal.h"

enum { VERSION_LIMIT = 256 };

/* ---- failures ---- */

/* What a reader can do about the failures that are known. The first that fits. */
static const struct {
  const char *text;
  const char *hint;
} hints[] = {
    {"disk is full", "Free some space on the disk that holds the run directory."},
    {"No space left", "Free some space on the disk that holds the run directory."},
    {"Could not decode to UTF-8",
     "A range's name holds bytes that are not UTF-8, at which nsys stops. Make the program push "
     "valid UTF-8 and capture again."},
    {"constraint failed",
     "A range ends before it starts, at which nsys stops. Capture again, or use another nsys."},
    {"Exportation error",
     "The trace is damaged, cut short or newer than this nsys. Copy or capture it again, or use "
     "the nsys that captured it (--nsys PATH)."},
};

static const char *hint_for(const char *text) {
  for (size_t i = 0; i < NVTXA__COUNT(hints); i++) {
    if (strstr(text, hints[i].text) != NULL) {
      return hints[i].hint;
    }
  }
  return "See all that nsys prints in the log (-vv), or try the nsys that captured the trace "
         "(--nsys PATH).";
}

/* "exit status 3" and the like; "" for an exit status of 0. */
static void describe_end(const nvtxa__result *result, char *buffer, size_t size) {
  const char *name = result->ending == NVTXA__ENDED_BY_SIGNAL ? sigabbrev_np(result->code) : NULL;
  buffer[0] = '\0';
  if (name != NULL) {
    snprintf(buffer, size, " (killed by signal %d, SIG%s)", result->code, name);
  } else if (result->ending == NVTXA__ENDED_BY_SIGNAL) {
    snprintf(buffer, size, " (killed by signal %d)", result->code);
  } else if (result->code != 0) {
    snprintf(buffer, size, " (exit status %d)", result->code);
  }
}

static nvtxa_status failed(const nvtxa__nsys *nsys, const nvtxa__output *output,
                           const nvtxa__result *result, const char *doing, const char *otherwise,
                           nvtxa_error **reterr) {
  char end[64];
  char buffer[NVTXA__OUTPUT_TEXT];
  const char *text = nvtxa__output_text(output, buffer);
  describe_end(result, end, sizeof end);
  if (text[0] == '\0') {
    text = "it printed nothing";
  }
  return nvtxa__fail(reterr, NVTXA_ERROR_NSYS_FAILED,
                     &(nvtxa__where){.file = nsys->subject, .hint = hint_for(text)},
                     "nsys failed %s%s: %s%s%s", doing, end, otherwise == NULL ? "" : otherwise,
                     otherwise == NULL ? "" : "; ", text);
}

/* Fails if nobody can say how the command ended. */
static nvtxa_status check_seen(const nvtxa__nsys *nsys, const nvtxa__result *result,
                               const char *doing, nvtxa_error **reterr) {
  if (result->ending != NVTXA__ENDED_UNSEEN) {
    return NVTXA_OK;
  }
  return nvtxa__fail(
      reterr, NVTXA_ERROR_NSYS_FAILED,
      &(nvtxa__where){.file = nsys->subject,
                      .hint = "Do not ignore SIGCHLD, nor wait for children that are not yours, "
                              "while an export runs."},
      "the exit status of nsys was lost %s: this process ignores SIGCHLD, or another part of it "
      "collects every child",
      doing);
}

/* Fails unless the command exited with 0 and printed no error, on a disk with room. */
static nvtxa_status check(const nvtxa__nsys *nsys, const nvtxa__output *output,
                          const nvtxa__result *result, const char *doing, nvtxa_error **reterr) {
  nvtxa_status status = check_seen(nsys, result, doing, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (result->ending != NVTXA__ENDED_BY_EXIT || result->code != 0 || output->error[0] != '\0') {
    return failed(nsys, output, result, doing, NULL, reterr);
  }
  /* Writes that fail for want of space go unnoticed by nsys 2022.4 and 2023.4: "PROCESSED", exit
   * status 0, and a report that ends anywhere. */
  int errnum = result->disk_was_full ? ENOSPC : nvtxa__private_probe(nsys->private);
  if (errnum != 0) {
    return nvtxa__fail(
        reterr, NVTXA_ERROR_IO,
        &(nvtxa__where){.file = nsys->private->shown_parent,
                        .errnum = errnum,
                        .hint = "Free some space there, or analyse a copy elsewhere."},
        "the disk had no room left while nsys wrote to it, %s", doing);
  }
  return NVTXA_OK;
}

static nvtxa_status run(nvtxa__nsys *nsys, const char *const *argv, const char *activity,
                        nvtxa__output *output, nvtxa__result *result, nvtxa_error **reterr) {
  output->hooks = nsys->child.hooks;
  return nvtxa__child_run(&nsys->child, argv, activity, output, result, reterr);
}

/* ---- version ---- */

struct version {
  nvtxa__buffer *text;
  bool out_of_memory;
};

/* Keep the first line that has a version in it and nothing odd. */
static void version_line(void *user, const char *data, size_t length) {
  struct version *version = user;
  while (length > 0 && (data[0] == ' ' || data[0] == '\t')) {
    data++;
    length--;
  }
  while (length > 0 && (data[length - 1] == ' ' || data[length - 1] == '\t')) {
    length--;
  }
  bool odd = length > VERSION_LIMIT || nvtxa__utf8_valid(data, length) != length;
  for (size_t i = 0; i < length; i++) {
    odd = odd || (unsigned char)data[i] < 0x20 || data[i] == 0x7F;
  }
  if (version->text->data == NULL && !odd && memmem(data, length, "version", 7) != NULL &&
      nvtxa__buffer_add(version->text, data, length) != 0) {
    version->out_of_memory = true;
  }
}

nvtxa_status nvtxa__nsys_ask_version(nvtxa__nsys *nsys, nvtxa_error **reterr) {
  const char *const argv[] = {nsys->child.program, "--version", NULL};
  struct version version = {&nsys->version, false};
  nvtxa__output output = {.line = version_line, .user = &version};
  nvtxa__result result;
  nvtxa_status status = run(nsys, argv, "nsys: asking for its version", &output, &result, reterr);
  if (status == NVTXA_OK && version.out_of_memory) {
    return nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK && (result.ending != NVTXA__ENDED_BY_EXIT || result.code != 0)) {
    nvtxa__buffer_free(&nsys->version); /* unknown, which is for a warning and not for an error */
  }
  return status;
}

/* ---- reports on offer ---- */

struct offers {
  size_t count;
  bool offered[NVTXA__EXPORTED_REPORTS][NVTXA__NAMING_COUNT];
};

/* "  cuda_gpu_sum[:nvtx-name][:base|:mangled] -- CUDA Summary (API/Kernels/MemOps)" */
static void offer_line(void *user, const char *data, size_t length) {
  struct offers *offers = user;
  size_t start = 0;
  while (start < length && data[start] == ' ') {
    start++;
  }
  size_t end = start;
  while (end < length && strchr("[: ", data[end]) == NULL) {
    end++;
  }
  if (start == 0 || end == start || memmem(data + end, length - end, " -- ", 4) == NULL) {
    return;
  }
  offers->count++;
  nvtxa_text name = {data + start, end - start};
  for (int report = 0; report < NVTXA__EXPORTED_REPORTS; report++) {
    for (int naming = 0; naming < NVTXA__NAMING_COUNT; naming++) {
      if (nvtxa__text_is(name, nvtxa__report_name((nvtxa_report)report, naming))) {
        offers->offered[report][naming] = true;
      }
    }
  }
}

/* The first naming under which each is on offer. */
static void take_offers(nvtxa__nsys *nsys, const struct offers *offers,
                        bool ret_offered[NVTXA__EXPORTED_REPORTS]) {
  for (int report = 0; report < NVTXA__EXPORTED_REPORTS; report++) {
    int naming = 0;
    while (naming < NVTXA__NAMING_COUNT && !offers->offered[report][naming]) {
      naming++;
    }
    ret_offered[report] = naming < NVTXA__NAMING_COUNT;
    nsys->naming[report] = ret_offered[report] ? naming : NVTXA__NAMING_NEW;
  }
}

static const char *shown_version(const nvtxa__nsys *nsys) {
  return nsys->version.data == NULL ? "of unknown version" : nsys->version.data;
}

static nvtxa_status not_offered(const nvtxa__nsys *nsys, nvtxa_report report,
                                nvtxa_error **reterr) {
  return nvtxa__fail(
      reterr, NVTXA_ERROR_NSYS_NO_REPORT,
      &(nvtxa__where){.hint = "Use a full installation of Nsight Systems 2022.4 or later (--nsys "
                              "PATH)."},
      "this nsys (%s) does not offer the report %s, nor %s as older ones call it",
      shown_version(nsys), nvtxa__report_name(report, NVTXA__NAMING_NEW),
      nvtxa__report_name(report, NVTXA__NAMING_OLD));
}

static nvtxa_status choose_reports(nvtxa__nsys *nsys, const bool offered[NVTXA__EXPORTED_REPORTS],
                                   nvtxa_error **reterr) {
  for (int report = 0; report < NVTXA__RANGE_REPORTS; report++) {
    if (!offered[report]) {
      return not_offered(nsys, (nvtxa_report)report, reterr);
    }
  }
  nsys->report_count = NVTXA__RANGE_REPORTS;
  if (!nsys->gpu_reports) {
    return NVTXA_OK;
  }
  if (offered[NVTXA_REPORT_CUDA_GPU_KERN_SUM] && offered[NVTXA_REPORT_CUDA_GPU_TRACE]) {
    nsys->report_count = NVTXA__EXPORTED_REPORTS;
  } else {
    nvtxa__log(nsys->child.hooks, NVTXA_LOG_NOTICE,
               "this nsys (%s) does not offer both reports of GPU work, %s and %s: the export has "
               "neither",
               shown_version(nsys),
               nvtxa__report_name(NVTXA_REPORT_CUDA_GPU_KERN_SUM, NVTXA__NAMING_NEW),
               nvtxa__report_name(NVTXA_REPORT_CUDA_GPU_TRACE, NVTXA__NAMING_NEW));
  }
  return NVTXA_OK;
}

nvtxa_status nvtxa__nsys_list_reports(nvtxa__nsys *nsys, bool ret_offered[NVTXA__EXPORTED_REPORTS],
                                      nvtxa_error **reterr) {
  static const char doing[] = "listing its reports";
  const char *const argv[] = {nsys->child.program, "stats", "--help-reports", NULL};
  struct offers offers = {0};
  nvtxa__output output = {.line = offer_line, .user = &offers};
  nvtxa__result result = {0};
  nvtxa_status status = run(nsys, argv, "nsys: listing its reports", &output, &result, reterr);
  if (status == NVTXA_OK) {
    status = check_seen(nsys, &result, doing, reterr);
  }
  /* A whole list comes at exit status 1 from 2022.4 and 2023.4, so that says nothing. */
  bool broken = result.ending != NVTXA__ENDED_BY_EXIT || output.error[0] != '\0';
  if (status == NVTXA_OK && (broken || offers.count == 0)) {
    status = failed(nsys, &output, &result, doing, broken ? NULL : "it listed none", reterr);
  }
  if (status == NVTXA_OK) {
    take_offers(nsys, &offers, ret_offered);
  }
  return status;
}

nvtxa_status nvtxa__nsys_ask_reports(nvtxa__nsys *nsys, nvtxa_error **reterr) {
  bool offered[NVTXA__EXPORTED_REPORTS];
  nvtxa_status status = nvtxa__nsys_list_reports(nsys, offered, reterr);
  return status != NVTXA_OK ? status : choose_reports(nsys, offered, reterr);
}

/* ---- the export ---- */

/* The size of a regular file that nsys was to leave; -1: there is none; -2: it is something else.
 */
static int64_t left_file(const nvtxa__nsys *nsys, const char *name) {
  struct stat info;
  if (fstatat(nsys->private->fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return -1;
  }
  return S_ISREG(info.st_mode) ? info.st_size : -2;
}

nvtxa_status nvtxa__nsys_export(nvtxa__nsys *nsys, nvtxa_error **reterr) {
  static const char doing[] = "exporting the trace";
  const char *const argv[] = {nsys->child.program,      "export",
                              "--type=sqlite",          "--quiet=true",
                              "--force-overwrite=true", ("--output=" NVTXA__EXPORT_FILE),
                              nsys->trace_path,         NULL};
  nvtxa__output output = {0};
  nsys->subject = nsys->shown_trace;
  nvtxa__result result;
  nvtxa_status status = run(nsys, argv, "nsys: exporting the trace", &output, &result, reterr);
  if (status == NVTXA_OK) {
    status = check(nsys, &output, &result, doing, reterr);
  }
  if (status == NVTXA_OK && left_file(nsys, NVTXA__EXPORT_FILE) <= 0) {
    status = failed(nsys, &output, &result, doing, "it left no SQLite export", reterr);
  }
  return status;
}

/* ---- a report ---- */

/* What nsys says of an export that has nothing for a report. Of GPU work it may lack something
 * else, whatever there was of that. */
static const char lacks[] = "does not contain";
static const char *const lacks_rows[NVTXA__EXPORTED_REPORTS] = {
    [NVTXA_REPORT_PUSHPOP_TRACE] = lacks,
    [NVTXA_REPORT_GPU_PROJ_TRACE] = lacks,
    [NVTXA_REPORT_CUDA_GPU_KERN_SUM] = "does not contain CUDA kernel data",
    [NVTXA_REPORT_CUDA_GPU_TRACE] = "does not contain GPU trace data",
};

/* nsys said why the report has no rows, or made it without a verdict (see above). Without any CUDA
 * call there is no GPU work, whatever else is lacking as well. */
static bool is_known_empty(const nvtxa__nsys *nsys, nvtxa_report report,
                           const nvtxa__output *output, int64_t size) {
  if (output->skipped[0] != '\0') {
    return strstr(output->skipped, nsys->no_cuda ? lacks : lacks_rows[report]) != NULL;
  }
  return size == 0 && output->processing && !output->processed;
}

static nvtxa_status no_rows(const nvtxa__nsys *nsys, const nvtxa__output *output, const char *name,
                            nvtxa_error **reterr) {
  bool skipped = output->skipped[0] != '\0';
  bool renamed = nsys->naming[NVTXA_REPORT_PUSHPOP_TRACE] != NVTXA__NAMING_NEW;
  return nvtxa__fail(
      reterr, NVTXA_ERROR_REPORT_EMPTY,
      &(nvtxa__where){
          .file = nsys->shown_trace,
          .hint =
              "The trace holds no NVTX push/pop range. Was it captured with --trace=nvtx and, for "
              "a capture range, NSYS_NVTX_PROFILER_REGISTER_ONLY=0? A program that ends in "
              "abort() or _exit() loses its ranges, and start/end ranges do not count.",
      },
      "the report nvtx_pushpop_trace%s%s%s has no rows: %s", renamed ? " (here " : "",
      renamed ? name : "", renamed ? ")" : "",
      skipped ? output->skipped : "nsys found NVTX data in the trace, but no push/pop range");
}

/* Nothing at all where an empty report belongs: make the file, so that each export lands it. */
static nvtxa_status create_empty(const nvtxa__nsys *nsys, const char *file, nvtxa_error **reterr) {
  int fd =
      openat(nsys->private->fd, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = nsys->private->shown_parent, .errnum = errno},
                       "cannot create %s", file);
  }
  nvtxa__close(&fd);
  return NVTXA_OK;
}

/* One of the two says little without the other. */
static nvtxa_status do_without_gpu_reports(nvtxa__nsys *nsys, nvtxa_report report,
                                           const char *why) {
  nsys->report_count = NVTXA__RANGE_REPORTS;
  nvtxa__log(nsys->child.hooks, NVTXA_LOG_NOTICE,
             "nsys cannot make %s of this trace, so the export has neither report of GPU work: %s",
             nvtxa__report_name(report, NVTXA__NAMING_NEW), why);
  return NVTXA_OK;
}

static nvtxa_status judge_empty(nvtxa__nsys *nsys, nvtxa_report report, const char *file,
                                int64_t size, const nvtxa__output *output,
                                const nvtxa__result *result, const char *doing,
                                nvtxa_error **reterr) {
  bool known = is_known_empty(nsys, report, output, size);
  if (!known && strstr(output->skipped, lacks) != NULL) {
    return do_without_gpu_reports(nsys, report, output->skipped);
  }
  if (!known) {
    return failed(nsys, output, result, doing,
                  size == 0 ? "the report is empty and it did not say why" : "it left no report",
                  reterr);
  }
  if (report == NVTXA_REPORT_PUSHPOP_TRACE) {
    return no_rows(nsys, output, nvtxa__report_name(report, nsys->naming[report]), reterr);
  }
  nsys->no_cuda =
      nsys->no_cuda || strstr(output->skipped, "does not contain CUDA API data") != NULL;
  nsys->size_bytes[report] = 0;
  return size < 0 ? create_empty(nsys, file, reterr) : NVTXA_OK;
}

static nvtxa_status judge_report(nvtxa__nsys *nsys, nvtxa_report report,
                                 const nvtxa__output *output, const nvtxa__result *result,
                                 const char *doing, nvtxa_error **reterr) {
  char file[NVTXA__REPORT_FILE];
  nvtxa__report_file(file, report, nsys->naming[report]);
  int64_t size = left_file(nsys, file);
  if (size == -2) {
    return failed(nsys, output, result, doing, "what it left is not a regular file", reterr);
  }
  if (size > 0) {
    /* A version that prints no such lines at all is taken at its exit status. */
    bool whole = output->skipped[0] == '\0' && (output->processed || !output->processing);
    nsys->size_bytes[report] = size;
    return whole ? NVTXA_OK
                 : failed(nsys, output, result, doing, "it did not say that it was done", reterr);
  }
  return judge_empty(nsys, report, file, size, output, result, doing, reterr);
}

nvtxa_status nvtxa__nsys_report(nvtxa__nsys *nsys, nvtxa_report report, nvtxa_error **reterr) {
  char option[64];
  char activity[64];
  char doing[64];
  const char *name = nvtxa__report_name(report, NVTXA__NAMING_NEW);
  bool in_bytes = report == NVTXA_REPORT_CUDA_GPU_TRACE; /* else sizes are rounded to MB */
  const char *const argv[] = {nsys->child.program,
                              "stats",
                              option,
                              in_bytes ? "--format=csv:mem=B" : "--format=csv",
                              "--output=nsys",
                              "--force-overwrite=true",
                              NVTXA__EXPORT_FILE,
                              NULL};
  nvtxa__output output = {0};
  nvtxa__result result;
  snprintf(option, sizeof option, "--report=%s", nvtxa__report_name(report, nsys->naming[report]));
  snprintf(activity, sizeof activity, "nsys: making %s", name);
  snprintf(doing, sizeof doing, "making the report %s", name);
  nvtxa_status status = run(nsys, argv, activity, &output, &result, reterr);
  /* 2022.4 does not look whether it has what it joins with. */
  if (status == NVTXA_OK && report > NVTXA_REPORT_GPU_PROJ_TRACE &&
      strstr(output.error, "no such table") != NULL) {
    return do_without_gpu_reports(nsys, report, output.error);
  }
  if (status == NVTXA_OK) {
    status = check(nsys, &output, &result, doing, reterr);
  }
  return status != NVTXA_OK ? status : judge_report(nsys, report, &output, &result, doing, reterr);
}
