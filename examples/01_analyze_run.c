/*
 * The whole analysis inside your own program: what `nvtxa analyze RUN_DIR` does, by library calls.
 *
 *   01_analyze_run [--no-export] RUN_DIR OUTPUT
 *
 * Data goes one way, and each step hands an object to the next:
 *
 *   manifest.yaml ------------------------------.
 *   trace -> export -> two tables of ranges ----+--> analysis -> analysis.json
 *                                  `--> two reports in stats/
 *
 * Build it against an installed library with
 *   cc 01_analyze_run.c $(pkg-config --cflags --libs nvtxanalysis)
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtxa/nvtxa.h>

extern char **environ;

/* Ctrl-C sets this flag. The library looks at it while it works; it installs no handler itself. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

/* At most ten times a second while nsys works, which can take a while on a large trace. */
static void on_progress(void *user, const nvtxa_progress *progress) {
  (void)user;
  fprintf(stderr, "%s (%.1f s)\n", progress->activity, (double)progress->elapsed_ns / 1e9);
}

/* Everything that an error has to tell: where, what, what to do, and the errors behind it. */
static void print_error(const nvtxa_error *error) {
  for (const char *lead = ""; error != NULL; error = nvtxa_error_cause(error)) {
    fprintf(stderr, "%s%s: ", lead, nvtxa_status_name(nvtxa_error_status(error)));
    if (nvtxa_error_file(error) != NULL) {
      fprintf(stderr, "%s:", nvtxa_error_file(error));
      if (nvtxa_error_line(error) != 0) {
        fprintf(stderr, "%" PRIu64 ":", nvtxa_error_line(error));
      }
      fputc(' ', stderr);
    }
    if (nvtxa_error_field(error) != NULL) {
      fprintf(stderr, "'%s': ", nvtxa_error_field(error));
    }
    fprintf(stderr, "%s\n", nvtxa_error_message(error));
    if (nvtxa_error_hint(error) != NULL) {
      fprintf(stderr, "  %s\n", nvtxa_error_hint(error));
    }
    lead = "  because of ";
  }
}

static nvtxa_status analyze(const char *run_dir, bool use_nsys, const char *output,
                            const nvtxa_hooks *hooks, nvtxa_error **error) {
  nvtxa_manifest *manifest = NULL;
  nvtxa_export *exported = NULL;
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  nvtxa_analysis *analysis = NULL;
  nvtxa_json *json = NULL;
  char path[4096];
  snprintf(path, sizeof path, "%s/manifest.yaml", run_dir);

  /* 1. What was run. */
  nvtxa_status status = nvtxa_manifest_read_file(path, &manifest, error);

  /* 2. What the ranges can be read from: an SQLite export or two reports, made by nsys now or left
   * by an earlier export. The library reads no environment, so the program says which nsys gets. */
  nvtxa_export_options export_options = NVTXA_EXPORT_OPTIONS_INIT;
  export_options.environment = environ;
  export_options.hooks = hooks;
  export_options.keep_reports = true; /* in step 4 */
  if (status == NVTXA_OK) {
    status = use_nsys ? nvtxa_export_run(run_dir, &export_options, &exported, error)
                      : nvtxa_export_open(run_dir, &export_options, &exported, error);
  }

  /* 3. Two tables of ranges, from whichever it is. */
  nvtxa_ranges_options ranges_options = NVTXA_RANGES_OPTIONS_INIT;
  ranges_options.hooks = hooks;
  if (status == NVTXA_OK) {
    status = nvtxa_ranges_read_export(exported, &ranges_options, &host, &gpu, error);
  }

  /* 4. Ranges that were computed here are left in stats/ as reports, like those of nsys. */
  if (status == NVTXA_OK && nvtxa_export_sqlite_path(exported) != NULL) {
    nvtxa_stats_options stats_options = NVTXA_STATS_OPTIONS_INIT;
    stats_options.hooks = hooks;
    status = nvtxa_stats_keep(exported, host, gpu, &stats_options, error);
  }

  /* 5. Numbers. The export goes along so that the result can say where it comes from. */
  nvtxa_analysis_options analysis_options = NVTXA_ANALYSIS_OPTIONS_INIT;
  analysis_options.exported = exported;
  analysis_options.hooks = hooks;
  if (status == NVTXA_OK) {
    status = nvtxa_analysis_new(manifest, host, gpu, &analysis_options, &analysis, error);
  }

  /* 6. Warnings are part of a result: never drop them. Then the file, replaced as a whole. */
  if (status == NVTXA_OK) {
    for (size_t i = 0; i < nvtxa_analysis_warning_count(analysis); i++) {
      fprintf(stderr, "warning: %s\n", nvtxa_analysis_warning(analysis, i).text.data);
    }
    status = nvtxa_json_new(analysis, NULL, &json, error);
  }
  if (status == NVTXA_OK) {
    status = nvtxa_json_write_file(json, output, error);
  }

  /* Each object holds on to what it needs of the others: any order will do. NULL is allowed. */
  nvtxa_json_unref(json);
  nvtxa_analysis_unref(analysis);
  nvtxa_ranges_unref(host);
  nvtxa_ranges_unref(gpu);
  nvtxa_export_unref(exported);
  nvtxa_manifest_unref(manifest);
  return status;
}

int main(int argc, char **argv) {
  bool no_export = argc == 4 && strcmp(argv[1], "--no-export") == 0;
  if (argc != 3 && !no_export) {
    fprintf(stderr, "usage: %s [--no-export] RUN_DIR OUTPUT\n", argv[0]);
    return 2;
  }
  signal(SIGINT, on_interrupt);
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  hooks.progress = on_progress;
  hooks.cancel = &interrupted;

  nvtxa_error *error = NULL;
  nvtxa_status status = analyze(argv[argc - 2], !no_export, argv[argc - 1], &hooks, &error);
  if (status != NVTXA_OK) {
    print_error(error);
    nvtxa_error_free(error);
    return status == NVTXA_ERROR_CANCELLED ? 130 : 1;
  }
  printf("Wrote %s\n", argv[argc - 1]);
  return 0;
}
