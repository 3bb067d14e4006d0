/*
 * `nvtxa analyze`: manifest -> export -> ranges -> analysis -> json, and what the user sees of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nvtxa/nvtxa.h>

#include "analyze.h"
#include "cli.h"
#include "failure.h"
#include "keeper.h"
#include "output.h"
#include "signals.h"
#include "summary.h"
#include "terminal.h"

/* What one analysis is made of; all released together. */
struct work {
  const analyze_options *options;
  nvtxa_hooks hooks;
  nvtxa_manifest *manifest;
  nvtxa_export *exported;
  nvtxa_ranges *host;
  nvtxa_ranges *gpu;
  nvtxa_analysis *analysis;
  nvtxa_json *json;
};

/* A mistyped directory deserves better than "no manifest". */
static bool check_run_dir(const char *run_dir) {
  struct stat info;
  if (stat(run_dir, &info) != 0) {
    cli_complain(run_dir, NULL, "cannot read the run directory: %s", strerror(errno));
    return false;
  }
  if (!S_ISDIR(info.st_mode)) {
    cli_complain(run_dir, "Give the directory that holds manifest.yaml and trace.nsys-rep.",
                 "not a directory");
    return false;
  }
  return true;
}

static nvtxa_status read_manifest(struct work *work, nvtxa_error **error) {
  const char *run_dir = work->options->run_dir;
  const char *slash = run_dir[strlen(run_dir) - 1] == '/' ? "" : "/";
  char *path;
  if (asprintf(&path, "%s%smanifest.yaml", run_dir, slash) < 0) {
    return NVTXA_ERROR_OUT_OF_MEMORY;
  }
  cli_log("reading", path);
  nvtxa_status status = nvtxa_manifest_read_file(path, &work->manifest, error);
  free(path);
  return status;
}

static nvtxa_status get_export(struct work *work, nvtxa_error **error) {
  nvtxa_export_options options = NVTXA_EXPORT_OPTIONS_INIT;
  options.nsys = work->options->common.nsys;
  options.environment = environ;
  options.timeout_ns = work->options->common.timeout_ns;
  options.hooks = &work->hooks;
  options.engine = work->options->engine;
  options.keep_reports = !work->options->no_reports;
  options.gpu_reports = !work->options->no_gpu_work;
  if (work->options->no_export) {
    return nvtxa_export_open(work->options->run_dir, &options, &work->exported, error);
  }
  return nvtxa_export_run(work->options->run_dir, &options, &work->exported, error);
}

static nvtxa_status read_ranges(struct work *work, nvtxa_error **error) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  options.hooks = &work->hooks;
  options.gpu_detail =
      work->options->no_gpu_work ? NVTXA_GPU_DETAIL_NONE : NVTXA_GPU_DETAIL_OPERATIONS;
  return nvtxa_ranges_read_export(work->exported, &options, &work->host, &work->gpu, error);
}

static nvtxa_status aggregate(struct work *work, nvtxa_error **error) {
  nvtxa_analysis_options options = NVTXA_ANALYSIS_OPTIONS_INIT;
  options.exported = work->exported;
  options.hooks = &work->hooks;
  return nvtxa_analysis_new(work->manifest, work->host, work->gpu, &options, &work->analysis,
                            error);
}

static nvtxa_status analyse(struct work *work, nvtxa_error **error) {
  keeper reports;
  nvtxa_status status = read_manifest(work, error);
  if (status == NVTXA_OK) {
    status = get_export(work, error);
  }
  if (status == NVTXA_OK) {
    status = read_ranges(work, error);
  }
  if (status != NVTXA_OK) {
    return status;
  }
  bool keeps = nvtxa_export_sqlite_path(work->exported) != NULL && !work->options->no_reports;
  if (keeps) {
    keeper_start(&reports, work->exported, work->host, work->gpu);
  }
  status = aggregate(work, error);
  if (keeps) {
    nvtxa_status kept = keeper_end(&reports, status, status == NVTXA_OK ? error : NULL);
    status = status == NVTXA_OK ? kept : status;
  }
  if (status == NVTXA_OK) {
    nvtxa_json_options json_options = NVTXA_JSON_OPTIONS_INIT;
    json_options.hooks = &work->hooks;
    json_options.kernel_limit = work->options->kernel_limit;
    status = nvtxa_json_new(work->analysis, &json_options, &work->json, error);
  }
  return status;
}

static void release(struct work *work) {
  nvtxa_json_unref(work->json);
  nvtxa_analysis_unref(work->analysis);
  nvtxa_ranges_unref(work->gpu);
  nvtxa_ranges_unref(work->host);
  nvtxa_export_unref(work->exported);
  nvtxa_manifest_unref(work->manifest);
}

static void print_warnings(const nvtxa_analysis *analysis) {
  for (size_t i = 0; i < nvtxa_analysis_warning_count(analysis); i++) {
    cli_print_warning(nvtxa_analysis_warning(analysis, i).text);
  }
}

/* The analysis is there: show its warnings, write it, sum it up. */
static int deliver(const struct work *work, const cli_output *output) {
  size_t warnings = nvtxa_analysis_warning_count(work->analysis);
  print_warnings(work->analysis);
  if (!cli_output_write(output, work->json)) {
    return cli_interrupted ? CLI_INTERRUPTED : CLI_FAILED;
  }
  cli_log("wrote", output->path == NULL ? "standard output" : output->path);
  if (output->path != NULL && !work->options->common.quiet) {
    if (!cli_summary_print(work->analysis)) {
      cli_complain(NULL, NULL, "out of memory");
      return CLI_FAILED;
    }
    cli_output_announce(output);
  }
  if (work->options->strict && warnings > 0) {
    cli_complain(NULL, NULL, "%zu warning%s, and --strict was given", warnings,
                 warnings == 1 ? "" : "s");
    return CLI_WARNINGS;
  }
  return CLI_DONE;
}

/* Whether what failed may be about GPU work alone, which can be left out: the names of its tables
 * and reports are in the message, or the file is one of its reports. */
static bool may_be_gpu_work(const nvtxa_error *error) {
  static const char *const names[] = {"CUPTI_ACTIVITY_KIND_", "ENUM_CUDA_",
                                      "TARGET_INFO_GPU",      "cuda_gpu_",
                                      "gpukernsum",           "gputrace"};
  nvtxa_status status = nvtxa_error_status(error);
  const char *file = nvtxa_error_file(error);
  const char *base = file == NULL || strrchr(file, '/') == NULL ? "" : strrchr(file, '/');
  bool any = status == NVTXA_ERROR_OVERFLOW;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    any = any || strstr(nvtxa_error_message(error), names[i]) != NULL ||
          strstr(base, names[i]) != NULL;
  }
  return any && status != NVTXA_ERROR_CAPTURE_RANGE;
}

/* What the library cannot say: which option would help. */
static const char *advice(const struct work *work, nvtxa_status status, const nvtxa_error *error) {
  bool made = status <= NVTXA_ERROR_REPORT_COLUMNS && status >= NVTXA_ERROR_HIERARCHY_CYCLE &&
              status != NVTXA_ERROR_SQLITE_TABLE;
  bool kept = status == NVTXA_ERROR_IO && work->analysis != NULL && work->json == NULL;
  if (!work->options->no_gpu_work && may_be_gpu_work(error)) {
    return "If only GPU work needs that: with --no-gpu-work the ranges are analysed without it.";
  }
  if (status == NVTXA_ERROR_NSYS_NOT_FOUND) {
    return "With --no-export, reports in stats/ or trace.sqlite will do.";
  }
  return work->options->no_export && made ? "Run without --no-export to have nsys make it again."
         : kept                           ? "With --no-reports, nothing is written to stats/."
                                          : NULL;
}

static int run(const analyze_options *options, const cli_output *output) {
  struct work work = {.options = options, .hooks = NVTXA_HOOKS_INIT};
  nvtxa_error *error = NULL;
  int result;
  work.hooks.cancel = &cli_interrupted;
  cli_terminal_watch(&work.hooks, options->common.verbosity, options->common.progress);
  nvtxa_status status = analyse(&work, &error);
  cli_terminal_clear();
  if (status == NVTXA_OK && !cli_interrupted) {
    result = deliver(&work, output);
  } else {
    result = cli_failed(error, error == NULL ? NULL : advice(&work, status, error));
  }
  nvtxa_error_free(error);
  release(&work);
  return result;
}

int analyze_run(const analyze_options *options) {
  cli_output output = {NULL, NULL};
  int status = CLI_FAILED;
  if (check_run_dir(options->run_dir) &&
      cli_output_open(&output, options->output, options->run_dir)) {
    status = run(options, &output);
  }
  cli_output_close(&output);
  return status;
}

int cmd_analyze(int argc, char **argv) {
  analyze_options options;
  int status = analyze_options_parse(&options, argc, argv);
  if (status < 0) {
    cli_signals_catch();
    status = analyze_run(&options);
  }
  return status;
}
