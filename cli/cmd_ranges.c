/*
 * `nvtxa ranges`: the root ranges of a trace by name, so that a person finds the one to give as the
 * capture range.
 */
#include <stdio.h>

#include <nvtxa/nvtxa.h>

#include "capture_advice.h"
#include "cli.h"
#include "failure.h"
#include "ranges_options.h"
#include "roots.h"
#include "roots_table.h"
#include "signals.h"
#include "source.h"
#include "terminal.h"

static nvtxa_status read_host_ranges(const ranges_options *options, nvtxa_ranges **ret_host,
                                     nvtxa_error **error) {
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_ranges_options how = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_export *exported;
  const char *path;
  hooks.cancel = &cli_interrupted;
  cli_terminal_watch(&hooks, options->common.verbosity, options->common.progress);
  how.hooks = &hooks;
  nvtxa_status status =
      cli_source_open(options->file, &options->common, &hooks, &exported, &path, error);
  if (status == NVTXA_OK) {
    status = nvtxa_ranges_read_sqlite(path, &how, ret_host, NULL, error);
  }
  nvtxa_export_unref(exported);
  cli_terminal_clear();
  return status;
}

static bool show(const ranges_options *options, const nvtxa_ranges *host) {
  cli_roots roots;
  bool done = cli_roots_find(&roots, host) && cli_roots_print(&roots, options->limit);
  if (done && !options->common.quiet) {
    putchar('\n');
    done = cli_advise_capture(&roots, host, options->file);
  }
  cli_roots_free(&roots);
  return done;
}

static int list(const ranges_options *options, const nvtxa_ranges *host) {
  for (size_t i = 0; i < nvtxa_ranges_warning_count(host); i++) {
    cli_print_warning(nvtxa_ranges_warning(host, i).text);
  }
  if (nvtxa_ranges_count(host) == 0) {
    cli_complain(options->file,
                 "Record with --trace=nvtx and NSYS_NVTX_PROFILER_REGISTER_ONLY=0, and mark ranges "
                 "with push and pop (nvtxRangePushA, nvtxRangePop), not with start and end.",
                 "no NVTX push/pop range in it");
    return CLI_FAILED;
  }
  return show(options, host) ? CLI_DONE : cli_failed(NULL, NULL);
}

int cmd_ranges(int argc, char **argv) {
  ranges_options options;
  nvtxa_ranges *host = NULL;
  nvtxa_error *error = NULL;
  int status = ranges_options_parse(&options, argc, argv);
  if (status >= 0) {
    return status;
  }
  cli_signals_catch();
  status = read_host_ranges(&options, &host, &error) == NVTXA_OK ? list(&options, host)
                                                                 : cli_failed(error, NULL);
  nvtxa_error_free(error);
  nvtxa_ranges_unref(host);
  return status;
}
