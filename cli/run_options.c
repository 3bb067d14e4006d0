/*
 * What a run is, from the command line into the manifest.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "list.h"
#include "run_options.h"
#include "terminal.h"
#include "usage.h"

/* A count: digits alone, and not beyond 64 bits. */
static int parse_count(const cli_common_options *common, const char *option, int64_t *ret) {
  int64_t value = 0;
  size_t digits = strspn(optarg, "0123456789");
  if (digits == 0 || optarg[digits] != '\0') {
    return cli_bad_usage(common->command, "%s '%s' is not a number", option, optarg);
  }
  for (size_t i = 0; i < digits; i++) {
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, optarg[i] - '0', &value)) {
      return cli_bad_usage(common->command, "%s '%s' is too large", option, optarg);
    }
  }
  *ret = value;
  return -1;
}

/* A name that may become a directory's. */
static int parse_name(const cli_common_options *common, const char *option, const char **ret) {
  if (strchr(optarg, '/') != NULL || strcmp(optarg, ".") == 0 || strcmp(optarg, "..") == 0) {
    return cli_bad_usage(common->command, "%s '%s' cannot be the name of a directory", option,
                         optarg);
  }
  return cli_text_option(common, ret, option);
}

/* Keys that have an option of their own, or that only the recording knows. */
static int check_key(const cli_common_options *common, const char *text, size_t length) {
  static const struct {
    const char *key;
    const char *instead;
  } keys[] = {
      {"capture_range", "give --capture-range"},
      {"profile_name", "give --profile"},
      {"run_id", "give --run-id"},
      {"device", "give --device"},
      {"workload.iterations", "give --iterations"},
      {"workload.warmup", "give --warmup"},
      {"command_line", "the recording writes it"},
      {"expected_trace_path", "the recording writes it"},
      {"exit_status", "the recording writes it"},
      {"nsys_version", "the recording writes it"},
  };
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    size_t own = strlen(keys[i].key);
    bool below = length > own && text[own] == '.';
    if ((length == own || below) && strncmp(keys[i].key, text, own) == 0) {
      return cli_bad_usage(common->command, "--set '%s': %s", keys[i].key, keys[i].instead);
    }
  }
  return -1;
}

static int parse_set(run_options *options, const cli_common_options *common) {
  const char *equals = strchr(optarg, '=');
  if (equals == NULL || equals == optarg) {
    return cli_bad_usage(common->command, "--set '%s' is not KEY=VALUE", optarg);
  }
  int status = check_key(common, optarg, (size_t)(equals - optarg));
  if (status >= 0) {
    return status;
  }
  const char **set =
      cli_list_room(options->set, &options->set_capacity, options->set_count, sizeof *set);
  if (set == NULL) {
    cli_complain(NULL, NULL, "out of memory");
    return CLI_FAILED;
  }
  options->set = set;
  options->set[options->set_count++] = optarg;
  return -1;
}

int run_options_take(run_options *options, const cli_common_options *common, int option) {
  switch (option) {
    case RUN_OPTION_CAPTURE_RANGE:
      return cli_text_option(common, &options->capture_range, "--capture-range");
    case RUN_OPTION_PROFILE:
      return parse_name(common, "--profile", &options->profile);
    case RUN_OPTION_RUN_ID:
      return parse_name(common, "--run-id", &options->run_id);
    case RUN_OPTION_DEVICE:
      return cli_text_option(common, &options->device, "--device");
    case RUN_OPTION_ITERATIONS:
      return parse_count(common, "--iterations", &options->iterations);
    case RUN_OPTION_WARMUP:
      return parse_count(common, "--warmup", &options->warmup);
    case RUN_OPTION_SET:
      return parse_set(options, common);
    case RUN_OPTION_FORCE:
      options->force = true;
      return -1;
    default:
      return CLI_NOT_MINE;
  }
}

/* ---- into the manifest ---- */

static nvtxa_status set_text(nvtxa_manifest_draft *manifest, const char *key, const char *text,
                             nvtxa_error **error) {
  return text == NULL ? NVTXA_OK : nvtxa_manifest_draft_set_text(manifest, key, text, error);
}

static nvtxa_status set_count(nvtxa_manifest_draft *manifest, const char *key, int64_t count,
                              nvtxa_error **error) {
  return count < 0 ? NVTXA_OK : nvtxa_manifest_draft_set_integer(manifest, key, count, error);
}

static nvtxa_status set_pair(nvtxa_manifest_draft *manifest, const char *pair,
                             nvtxa_error **error) {
  const char *equals = strchr(pair, '=');
  char *key = strndup(pair, (size_t)(equals - pair));
  nvtxa_status status = key == NULL
                            ? NVTXA_ERROR_OUT_OF_MEMORY
                            : nvtxa_manifest_draft_set_value(manifest, key, equals + 1, error);
  free(key);
  return status;
}

int run_options_apply(const run_options *options, const cli_common_options *common,
                      nvtxa_manifest_draft *manifest) {
  nvtxa_error *error = NULL;
  nvtxa_status status = set_text(manifest, "profile_name", options->profile, &error);
  if (status == NVTXA_OK) {
    status = set_text(manifest, "run_id", options->run_id, &error);
  }
  if (status == NVTXA_OK) {
    status = set_text(manifest, "device", options->device, &error);
  }
  if (status == NVTXA_OK) {
    status = set_count(manifest, "workload.iterations", options->iterations, &error);
  }
  if (status == NVTXA_OK) {
    status = set_count(manifest, "workload.warmup", options->warmup, &error);
  }
  for (size_t i = 0; i < options->set_count && status == NVTXA_OK; i++) {
    status = set_pair(manifest, options->set[i], &error);
  }
  int result = status == NVTXA_OK ? -1 : CLI_FAILED;
  if (status == NVTXA_ERROR_MANIFEST_VALUE) {
    result = cli_bad_usage(common->command, "the manifest's %s", nvtxa_error_message(error));
  } else if (status != NVTXA_OK) {
    cli_complain(NULL, NULL, "out of memory");
  }
  nvtxa_error_free(error);
  return result;
}

void run_options_free(run_options *options) {
  free(options->set);
}
