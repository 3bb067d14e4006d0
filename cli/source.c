/* Traces are told by their names, and exported into a private directory below TMPDIR. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source.h"

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text);
  size_t end_length = strlen(end);
  return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_trace(const char *file) {
  return ends_with(file, ".nsys-rep") || ends_with(file, ".qdrep");
}

const char *cli_temporary_directory(void) {
  const char *given = getenv("TMPDIR");
  return given != NULL && given[0] != '\0' ? given : NULL;
}

nvtxa_status cli_source_open(const char *file, const cli_common_options *common,
                             const nvtxa_hooks *hooks, nvtxa_export **ret_exported,
                             const char **ret_path, nvtxa_error **reterr) {
  nvtxa_export_options options = NVTXA_EXPORT_OPTIONS_INIT;
  *ret_exported = NULL;
  *ret_path = file;
  if (!is_trace(file)) {
    return NVTXA_OK;
  }
  options.nsys = common->nsys;
  options.environment = environ;
  options.timeout_ns = common->timeout_ns;
  options.hooks = hooks;
  options.temporary_directory = cli_temporary_directory();
  nvtxa_status status = nvtxa_export_trace(file, &options, ret_exported, reterr);
  if (status == NVTXA_OK) {
    *ret_path = nvtxa_export_sqlite_path(*ret_exported);
  }
  return status;
}
