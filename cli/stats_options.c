/*
 * The options of `nvtxa stats`. They are those of `nsys stats` where it has them.
 */
#include "stats_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "usage.h"

static const char command[] = "nvtxa stats";

static const char help[] =
    "Usage: nvtxa stats [options] FILE.sqlite|FILE.nsys-rep\n"
    "\n"
    "Write reports of `nsys stats`: the same names, columns, rows and file names, as nsys 2025.1\n"
    "has them where they are right, but computed here, in a fraction of the time. An SQLite\n"
    "export is read as it is; a trace is exported first, by nsys, into a private directory.\n"
    "\n"
    "Reports (and what nsys before 2023.2 called them):\n"
    "  nvtx_pushpop_trace   (nvtxpptrace)  host push/pop ranges\n"
    "  nvtx_gpu_proj_trace  (nvtxgpuproj)  ranges projected onto the GPU\n"
    "  cuda_gpu_kern_sum    (gpukernsum)   kernels by name\n"
    "  cuda_gpu_trace       (gputrace)     kernels, copies and fills, one by one; sizes in bytes\n"
    "  nvtx_kern_sum        (nvtxkernsum)  kernels by the ranges that launched them\n"
    "\n"
    "Options:\n"
    "  -r, --report NAME    a report; may be given several times, or with several names\n"
    "                       between commas (default: the first two)\n"
    "  -f, --format FORMAT  csv, tsv or json (default: csv)\n"
    "  -o, --output BASE    write to BASE_<report>.<format>; - is standard output, . is\n"
    "                       FILE without its extension (default: -)\n"
    "      --force-overwrite\n"
    "                       replace files that are there already\n"
    "      --nsys PATH      the nsys program (default: nsys on PATH)\n"
    "      --timeout SECONDS\n"
    "                       give up when nsys has taken this long in all; 0 is no limit,\n"
    "                       fractions are allowed (default: 3600)\n"
    "  -q, --quiet          do not say which files were written\n"
    "  -v, --verbose        log to standard error what is run, read and written; given\n"
    "                       twice, also what nsys prints\n"
    "      --progress WHEN  show what is being done, on standard error: auto (if that is a\n"
    "                       terminal), always or never (default: auto; with -q: never)\n"
    "  -h, --help           print this help and exit\n"
    "  -V, --version        print the version and exit\n"
    "\n"
    "--force-export is taken for nsys's sake: a trace is always exported anew.\n"
    "\n"
    "Exit status:\n"
    "  0    done\n"
    "  1    the file cannot be read, or a report cannot be written\n"
    "  2    the command line is wrong\n"
    "  130  interrupted; files are whole or as they were\n"
    "\n"
    "Examples:\n"
    "  nvtxa stats -r nvtx_pushpop_trace trace.sqlite\n"
    "  nvtxa stats -r nvtx_gpu_proj_trace -f json -o gpu trace.nsys-rep\n"
    "  nvtxa stats -r cuda_gpu_kern_sum,nvtx_kern_sum trace.sqlite\n";

enum { OPTION_FORCE_OVERWRITE = CLI_OPTION_OWN, OPTION_FORCE_EXPORT };

static const struct option long_options[] = {
    {"report", required_argument, NULL, 'r'},
    {"format", required_argument, NULL, 'f'},
    {"output", required_argument, NULL, 'o'},
    {"force-overwrite", optional_argument, NULL, OPTION_FORCE_OVERWRITE},
    {"force-export", optional_argument, NULL, OPTION_FORCE_EXPORT},
    CLI_COMMON_LONG_OPTIONS,
};

const char *stats_format_name(nvtxa_stats_format format) {
  static const char *const names[] = {
      [NVTXA_STATS_CSV] = "csv", [NVTXA_STATS_TSV] = "tsv", [NVTXA_STATS_JSON] = "json"};
  return names[format];
}

static int parse_format(stats_options *options, const char *text) {
  for (int format = NVTXA_STATS_CSV; format <= NVTXA_STATS_JSON; format++) {
    if (strcmp(text, stats_format_name((nvtxa_stats_format)format)) == 0) {
      options->format = (nvtxa_stats_format)format;
      return -1;
    }
  }
  return cli_bad_usage(command, "--format '%s' is not csv, tsv or json", text);
}

/* "a, b and c"; cut where there is no room. */
static void list_names(char *out, size_t size, const char *const *names, size_t count) {
  size_t length = 0;
  out[0] = '\0';
  for (size_t i = 0; i < count && length < size; i++) {
    const char *before = i == 0 ? "" : i + 1 < count ? ", " : " and ";
    length += (size_t)snprintf(out + length, size - length, "%s%s", before, names[i]);
  }
}

static int unknown_report(const char *name) {
  const char *names[NVTXA_REPORT_COUNT];
  char list[256];
  for (int report = 0; report < NVTXA_REPORT_COUNT; report++) {
    names[report] = nvtxa_report_name((nvtxa_report)report);
  }
  const char *nearest = cli_nearest(name, names, NVTXA_REPORT_COUNT);
  if (nearest != NULL) {
    return cli_bad_usage(command, "unknown report '%s'; did you mean '%s'?", name, nearest);
  }
  list_names(list, sizeof list, names, NVTXA_REPORT_COUNT);
  return cli_bad_usage(command, "unknown report '%s'; there are %s", name, list);
}

static int add_report(stats_options *options, const char *name) {
  nvtxa_report report;
  if (!nvtxa_report_by_name(name, &report)) {
    return unknown_report(name);
  }
  for (size_t i = 0; i < options->count; i++) {
    if (options->reports[i].report == report) {
      return cli_bad_usage(command, "report '%s' is asked for twice", name);
    }
  }
  options->reports[options->count].report = report;
  options->reports[options->count].name = name;
  options->count++;
  return -1;
}

/* `names` is cut up at its commas. */
static int parse_reports(stats_options *options, char *names) {
  int status = -1;
  char *rest = names;
  while (status < 0 && rest != NULL) {
    char *name = strsep(&rest, ",");
    status = add_report(options, name);
  }
  return status;
}

/* As nsys has it: alone, or with =true or =false. */
static int parse_flag(bool *ret, const char *option) {
  if (optarg != NULL && strcmp(optarg, "true") != 0 && strcmp(optarg, "false") != 0) {
    return cli_bad_usage(command, "%s=%s is neither true nor false", option, optarg);
  }
  *ret = optarg == NULL || strcmp(optarg, "true") == 0;
  return -1;
}

static int parse_output(stats_options *options) {
  if (optarg[0] == '@') {
    return cli_bad_usage(command,
                         "--output '%s' would be a command to nsys, which is not run here; a file "
                         "of that name is './%s'",
                         optarg, optarg);
  }
  return cli_text_option(&options->common, &options->output, "--output");
}

static int take_option(void *user, int option) {
  stats_options *options = user;
  bool unused;
  switch (option) {
    case 'r':
      return parse_reports(options, optarg);
    case 'f':
      return parse_format(options, optarg);
    case 'o':
      return parse_output(options);
    case OPTION_FORCE_OVERWRITE:
      return parse_flag(&options->force_overwrite, "--force-overwrite");
    case OPTION_FORCE_EXPORT:
      return parse_flag(&unused, "--force-export");
    default:
      return CLI_NOT_MINE;
  }
}

int stats_options_parse(stats_options *options, int argc, char **argv) {
  const cli_command_line line = {
      .letters = ":r:f:o:" CLI_COMMON_LETTERS,
      .options = long_options,
      .help = help,
      .argument = "file",
      .take = take_option,
      .user = options,
  };
  *options = (stats_options){.common = {.command = command}, .output = "-"};
  int status = cli_read_command_line(&options->common, &line, argc, argv, &options->file);
  if (options->count == 0) {
    add_report(options, nvtxa_report_name(NVTXA_REPORT_PUSHPOP_TRACE));
    add_report(options, nvtxa_report_name(NVTXA_REPORT_GPU_PROJ_TRACE));
  }
  return status;
}
