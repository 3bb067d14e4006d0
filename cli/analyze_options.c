/*
 * The options of `nvtxa analyze`: reading them, refusing what makes no sense, and --help.
 */
#include <getopt.h>
#include <string.h>

#include "analyze_options.h"
#include "cli.h"
#include "usage.h"

static const char command[] = "nvtxa analyze";

static const char help[] =
    "Usage: nvtxa analyze [options] RUN_DIR\n"
    "\n"
    "Turn a run directory into analysis.json: nsys exports its trace, and the NVTX ranges are\n"
    "summed up by iteration and by scope. Host-inclusive, host-exclusive and GPU-projected\n"
    "times are kept apart; a readable summary is printed.\n"
    "\n"
    "Options:\n"
    "      --engine WHICH   who computes the ranges: native (nvtxa, from the SQLite export),\n"
    "                       nsys (nsys, in its two reports) or auto (native where the\n"
    "                       export's schema is known, else nsys; the default)\n"
    "      --nsys PATH      the nsys program (default: nsys on PATH)\n"
    "      --no-export      do not run nsys: read the reports already in RUN_DIR/stats or,\n"
    "                       with --engine native or where there are none,\n"
    "                       RUN_DIR/trace.sqlite\n"
    "      --no-reports     leave out the reports that the native engine writes to\n"
    "                       RUN_DIR/stats\n"
    "      --no-gpu-work    leave out what the GPU did: kernels, transfers, busy and idle time\n"
    "      --kernels N      how many kernels to name for each scope and iteration, the\n"
    "                       largest first, or all (default: 10)\n"
    "  -o, --output FILE    write the analysis to FILE, or with - to standard output,\n"
    "                       without a summary (default: RUN_DIR/analysis.json)\n"
    "      --strict         exit with status 3 if there is any warning; the analysis is\n"
    "                       written all the same\n"
    "      --timeout SECONDS\n"
    "                       give up when nsys has taken this long in all; 0 is no limit,\n"
    "                       fractions are allowed (default: 3600)\n"
    "  -q, --quiet          print no summary; warnings and errors still go to standard error\n"
    "  -v, --verbose        log to standard error what is run, read and written; given\n"
    "                       twice, also what nsys prints\n"
    "      --progress WHEN  show what is being done, on standard error: auto (if that is a\n"
    "                       terminal), always or never (default: auto; with -q: never)\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "Reads:   RUN_DIR/manifest.yaml, RUN_DIR/trace.nsys-rep; with --no-export, or where there\n"
    "         is no nsys, RUN_DIR/trace.sqlite; with --no-export, RUN_DIR/stats\n"
    "Writes:  RUN_DIR/stats/nsys_<report>.csv and export.json (not where they are read),\n"
    "         RUN_DIR/analysis.json or FILE\n"
    "\n"
    "Exit status:\n"
    "  0    done\n"
    "  1    the run cannot be analysed, or the result cannot be written\n"
    "  2    the command line is wrong\n"
    "  3    done, with warnings, and --strict was given\n"
    "  130  interrupted; an earlier analysis is as it was\n"
    "\n"
    "Examples:\n"
    "  nvtxa analyze runs/smoke\n"
    "  nvtxa analyze --no-export -o - runs/smoke | python3 -m json.tool\n";

enum {
  OPTION_ENGINE = CLI_OPTION_OWN,
  OPTION_NO_EXPORT,
  OPTION_NO_REPORTS,
  OPTION_NO_GPU_WORK,
  OPTION_KERNELS,
  OPTION_STRICT
};

static const struct option long_options[] = {
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {"no-export", no_argument, NULL, OPTION_NO_EXPORT},
    {"no-reports", no_argument, NULL, OPTION_NO_REPORTS},
    {"no-gpu-work", no_argument, NULL, OPTION_NO_GPU_WORK},
    {"kernels", required_argument, NULL, OPTION_KERNELS},
    {"output", required_argument, NULL, 'o'},
    {"strict", no_argument, NULL, OPTION_STRICT},
    CLI_COMMON_LONG_OPTIONS,
};

static int parse_engine(analyze_options *options, const char *text) {
  for (int engine = NVTXA_ENGINE_AUTO; engine <= NVTXA_ENGINE_NATIVE; engine++) {
    if (strcmp(text, nvtxa_engine_name((nvtxa_engine)engine)) == 0) {
      options->engine = (nvtxa_engine)engine;
      return -1;
    }
  }
  return cli_bad_usage(command, "--engine '%s' is not auto, nsys or native", text);
}

static int take_option(void *user, int option) {
  analyze_options *options = user;
  switch (option) {
    case OPTION_ENGINE:
      return parse_engine(options, optarg);
    case 'o':
      return cli_text_option(&options->common, &options->output, "--output");
    case OPTION_NO_EXPORT:
      options->no_export = true;
      return -1;
    case OPTION_NO_REPORTS:
      options->no_reports = true;
      return -1;
    case OPTION_NO_GPU_WORK:
      options->no_gpu_work = true;
      return -1;
    case OPTION_KERNELS:
      return cli_count_option(&options->common, &options->kernel_limit, "--kernels");
    case OPTION_STRICT:
      options->strict = true;
      return -1;
    default:
      return CLI_NOT_MINE;
  }
}

int analyze_options_parse(analyze_options *options, int argc, char **argv) {
  const cli_command_line line = {
      .letters = ":o:" CLI_COMMON_LETTERS,
      .options = long_options,
      .help = help,
      .argument = "run directory",
      .take = take_option,
      .user = options,
  };
  *options = (analyze_options){.common = {.command = command}};
  return cli_read_command_line(&options->common, &line, argc, argv, &options->run_dir);
}
