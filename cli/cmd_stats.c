/*
 * `nvtxa stats`: an SQLite export, or a trace that nsys exports first, written as the reports that
 * `nsys stats` makes of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nvtxa/nvtxa.h>

#include "cli.h"
#include "failure.h"
#include "output.h"
#include "signals.h"
#include "source.h"
#include "stats_options.h"
#include "terminal.h"
#include "text.h"
#include "worker.h"

/* What one call is made of; all released together. */
struct work {
  const stats_options *options;
  nvtxa_hooks hooks;
  char *paths[NVTXA_REPORT_COUNT]; /* NULL: standard output */
  nvtxa_export *exported;
  nvtxa_ranges *host;
  nvtxa_ranges *gpu; /* with GPU work, where a report needs that */
  bool read;
};

/* The table that a report is written of. */
static nvtxa_ranges *table_of(const struct work *work, size_t i) {
  return work->options->reports[i].report == NVTXA_REPORT_PUSHPOP_TRACE ? work->host : work->gpu;
}

/* ---- where the reports go ---- */

static bool choose_path(struct work *work, size_t i) {
  const stats_options *options = work->options;
  const char *base = options->output;
  size_t length = strlen(base);
  if (strcmp(base, ".") == 0) {
    const char *slash = strrchr(options->file, '/');
    const char *dot = strrchr(options->file, '.');
    base = options->file;
    length = dot == NULL || (slash != NULL && dot < slash) ? strlen(base) : (size_t)(dot - base);
  }
  if (asprintf(&work->paths[i], "%.*s_%s.%s", (int)length, base, options->reports[i].name,
               stats_format_name(options->format)) < 0) {
    work->paths[i] = NULL;
    cli_complain(NULL, NULL, "out of memory");
    return false;
  }
  return true;
}

/* Before anything is read: what cannot be written, or must not be. */
static bool check_path(const struct work *work, const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) {
    return true; /* that there is no such directory is said when it is written */
  }
  if (S_ISDIR(info.st_mode)) {
    cli_complain(path, NULL, "a directory is in the way of the report");
    return false;
  }
  if (!work->options->force_overwrite) {
    cli_complain(path, "Give --force-overwrite to replace it, or another --output.",
                 "the file is there already");
    return false;
  }
  return true;
}

static bool choose_paths(struct work *work) {
  if (strcmp(work->options->output, "-") == 0) {
    return true;
  }
  for (size_t i = 0; i < work->options->count; i++) {
    if (!choose_path(work, i) || !check_path(work, work->paths[i])) {
      return false;
    }
  }
  return true;
}

/* ---- reading ---- */

/* What must be read along for a report. */
static nvtxa_gpu_detail detail_for(nvtxa_report report) {
  switch (report) {
    case NVTXA_REPORT_CUDA_GPU_TRACE:
      return NVTXA_GPU_DETAIL_TRACE;
    case NVTXA_REPORT_CUDA_GPU_KERN_SUM:
    case NVTXA_REPORT_NVTX_KERN_SUM:
      return NVTXA_GPU_DETAIL_OPERATIONS;
    default:
      return NVTXA_GPU_DETAIL_NONE;
  }
}

static nvtxa_status read_tables(struct work *work, nvtxa_error **error) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  const char *path;
  bool want_host = false;
  bool want_gpu = false;
  options.hooks = &work->hooks;
  for (size_t i = 0; i < work->options->count; i++) {
    nvtxa_report report = work->options->reports[i].report;
    nvtxa_gpu_detail detail = detail_for(report);
    options.gpu_detail = detail > options.gpu_detail ? detail : options.gpu_detail;
    want_host = want_host || report == NVTXA_REPORT_PUSHPOP_TRACE;
    want_gpu = want_gpu || report != NVTXA_REPORT_PUSHPOP_TRACE;
  }
  nvtxa_status status = cli_source_open(work->options->file, &work->options->common, &work->hooks,
                                        &work->exported, &path, error);
  if (status != NVTXA_OK) {
    return status;
  }
  status = nvtxa_ranges_read_sqlite(path, &options, want_host ? &work->host : NULL,
                                    want_gpu ? &work->gpu : NULL, error);
  work->read = status == NVTXA_OK;
  return status;
}

/* ---- writing ---- */

static int write_piece(void *user, const char *data, size_t length) {
  return fwrite(data, 1, length, user) == length ? 0 : errno;
}

/* What a terminal would act on is escaped, line by line. */
static nvtxa_status write_terminal(const nvtxa_ranges *ranges, const nvtxa_stats_options *options,
                                   nvtxa_error **error) {
  char *text = NULL;
  size_t length = 0;
  FILE *memory = open_memstream(&text, &length);
  if (memory == NULL) {
    return NVTXA_ERROR_OUT_OF_MEMORY;
  }
  nvtxa_status status = nvtxa_stats_write(ranges, options, write_piece, memory, error);
  if (fclose(memory) != 0 && status == NVTXA_OK) {
    status = NVTXA_ERROR_OUT_OF_MEMORY;
  }
  for (size_t at = 0; at < length && status == NVTXA_OK;) {
    size_t part = strcspn(text + at, "\n\t");
    part = part > length - at ? length - at : part;
    cli_put_text(stdout, text + at, part);
    at += part;
    if (at < length) {
      putchar(text[at] == '\0' ? ' ' : text[at]);
      at++;
    }
  }
  free(text);
  return status;
}

static nvtxa_status print_one(const struct work *work, size_t i, nvtxa_error **error) {
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  const nvtxa_ranges *ranges = table_of(work, i);
  options.report = work->options->reports[i].report;
  options.format = work->options->format;
  options.hooks = &work->hooks;
  if (i > 0) {
    putchar('\n');
  }
  return isatty(STDOUT_FILENO) == 1
             ? write_terminal(ranges, &options, error)
             : nvtxa_stats_write(ranges, &options, write_piece, stdout, error);
}

/* A report on its way into a file. */
typedef struct writing {
  const struct work *work;
  size_t report;
  nvtxa_status status;
  nvtxa_error *error;
} writing;

static void write_file(void *user) {
  writing *w = user;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  hooks.cancel = &cli_interrupted;
  options.report = w->work->options->reports[w->report].report;
  options.format = w->work->options->format;
  options.hooks = &hooks;
  w->status = nvtxa_stats_write_file(table_of(w->work, w->report), &options,
                                     w->work->paths[w->report], &w->error);
}

/* All at the same time. */
static nvtxa_status write_files(const struct work *work, nvtxa_error **error) {
  writing reports[NVTXA_REPORT_COUNT];
  cli_worker workers[NVTXA_REPORT_COUNT];
  nvtxa_status status = NVTXA_OK;
  for (size_t i = 0; i < work->options->count; i++) {
    reports[i] = (writing){.work = work, .report = i};
    cli_worker_start(&workers[i], write_file, &reports[i]);
  }
  for (size_t i = 0; i < work->options->count; i++) {
    cli_worker_wait(&workers[i], NULL);
    if (reports[i].status != NVTXA_OK && status == NVTXA_OK) {
      status = reports[i].status;
      *error = reports[i].error;
    } else {
      nvtxa_error_free(reports[i].error);
    }
  }
  return status;
}

static void announce(const struct work *work) {
  for (size_t i = 0; i < work->options->count && work->paths[i] != NULL; i++) {
    fputs("Wrote report: ", stdout);
    cli_put_string(stdout, work->paths[i]);
    fputs("\n", stdout);
  }
}

/* ---- the whole ---- */

/* Whether a report shows ranges, so that what there is to warn of about them counts. */
static bool shows_ranges(nvtxa_report report) {
  return report != NVTXA_REPORT_CUDA_GPU_KERN_SUM && report != NVTXA_REPORT_CUDA_GPU_TRACE;
}

static void print_warnings_of(const nvtxa_ranges *ranges, bool about_ranges) {
  for (size_t w = 0; w < nvtxa_ranges_warning_count(ranges); w++) {
    nvtxa_warning warning = nvtxa_ranges_warning(ranges, w);
    if (about_ranges || warning.kind == NVTXA_WARNING_SQLITE_SCHEMA) {
      cli_print_warning(warning.text);
    }
  }
}

/* Those of each table once, where the first report of it stands. */
static void print_warnings(const struct work *work) {
  const stats_options *options = work->options;
  for (size_t i = 0; i < options->count; i++) {
    const nvtxa_ranges *ranges = table_of(work, i);
    bool first = true;
    bool about_ranges = false;
    for (size_t other = 0; other < options->count; other++) {
      if (table_of(work, other) == ranges) {
        first = first && other >= i;
        about_ranges = about_ranges || shows_ranges(options->reports[other].report);
      }
    }
    if (first) {
      print_warnings_of(ranges, about_ranges);
    }
  }
}

static nvtxa_status write_all(const struct work *work, nvtxa_error **error) {
  nvtxa_status status = NVTXA_OK;
  if (work->paths[0] != NULL) {
    return write_files(work, error);
  }
  for (size_t i = 0; i < work->options->count && status == NVTXA_OK; i++) {
    status = print_one(work, i, error);
  }
  return status;
}

static int failed(const struct work *work, nvtxa_status status, const nvtxa_error *error) {
  if (!cli_interrupted && status == NVTXA_ERROR_IO && work->read && work->paths[0] == NULL) {
    cli_stdout_failed(nvtxa_error_errno(error));
    return CLI_FAILED;
  }
  return cli_failed(error, NULL);
}

static int run(struct work *work) {
  nvtxa_error *error = NULL;
  int result = CLI_DONE;
  work->hooks.cancel = &cli_interrupted;
  cli_terminal_watch(&work->hooks, work->options->common.verbosity, work->options->common.progress);
  nvtxa_status status = read_tables(work, &error);
  cli_terminal_clear();
  if (status == NVTXA_OK) {
    print_warnings(work);
    status = write_all(work, &error);
  }
  if (status != NVTXA_OK) {
    result = failed(work, status, error);
  } else if (!work->options->common.quiet) {
    announce(work);
  }
  nvtxa_error_free(error);
  return result;
}

int cmd_stats(int argc, char **argv) {
  stats_options options;
  struct work work = {.options = &options, .hooks = NVTXA_HOOKS_INIT};
  int status = stats_options_parse(&options, argc, argv);
  if (status >= 0) {
    return status;
  }
  cli_signals_catch();
  status = choose_paths(&work) ? run(&work) : CLI_FAILED;
  for (size_t i = 0; i < NVTXA_REPORT_COUNT; i++) {
    free(work.paths[i]);
  }
  nvtxa_ranges_unref(work.host);
  nvtxa_ranges_unref(work.gpu);
  nvtxa_export_unref(work.exported);
  return status;
}
