/*
 * Errors as objects: made where something fails, handed up, read by a person. Making one must not
 * fail in turn, so an error that cannot be allocated becomes the static out-of-memory error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base-internal.h"

struct nvtxa_error {
  nvtxa_status status;
  char *message;
  char *hint;
  char *file;
  uint64_t line;
  char *field;
  int errnum;
  nvtxa_error *cause;
};

static nvtxa_error out_of_memory = {
    .status = NVTXA_ERROR_OUT_OF_MEMORY,
    .message = (char *)"out of memory",
    .hint = (char *)"Close other programs, or use a machine with more memory.",
};

static const struct {
  nvtxa_status status;
  const char *name;
} status_names[] = {
#define NAME(status) \
  { status, #status }
    NAME(NVTXA_OK),
    NAME(NVTXA_ERROR_OUT_OF_MEMORY),
    NAME(NVTXA_ERROR_INVALID_ARGUMENT),
    NAME(NVTXA_ERROR_IO),
    NAME(NVTXA_ERROR_CANCELLED),
    NAME(NVTXA_ERROR_LIMIT),
    NAME(NVTXA_ERROR_OVERFLOW),
    NAME(NVTXA_ERROR_MANIFEST_MISSING),
    NAME(NVTXA_ERROR_MANIFEST_SYNTAX),
    NAME(NVTXA_ERROR_MANIFEST_VALUE),
    NAME(NVTXA_ERROR_TRACE_MISSING),
    NAME(NVTXA_ERROR_NSYS_NOT_FOUND),
    NAME(NVTXA_ERROR_NSYS_FAILED),
    NAME(NVTXA_ERROR_NSYS_TIMEOUT),
    NAME(NVTXA_ERROR_NSYS_NO_REPORT),
    NAME(NVTXA_ERROR_RUN_EXISTS),
    NAME(NVTXA_ERROR_COMMAND_NOT_FOUND),
    NAME(NVTXA_ERROR_RECORD_ARGUMENT),
    NAME(NVTXA_ERROR_REPORT_MISSING),
    NAME(NVTXA_ERROR_REPORT_EMPTY),
    NAME(NVTXA_ERROR_REPORT_COLUMNS),
    NAME(NVTXA_ERROR_REPORT_SYNTAX),
    NAME(NVTXA_ERROR_REPORT_VALUE),
    NAME(NVTXA_ERROR_SQLITE_MISSING),
    NAME(NVTXA_ERROR_SQLITE_DAMAGED),
    NAME(NVTXA_ERROR_SQLITE_TABLE),
    NAME(NVTXA_ERROR_SQLITE_COLUMN),
    NAME(NVTXA_ERROR_SQLITE_VALUE),
    NAME(NVTXA_ERROR_HIERARCHY_CYCLE),
    NAME(NVTXA_ERROR_CAPTURE_RANGE),
    NAME(NVTXA_ERROR_DUPLICATE_ITERATION),
#undef NAME
};

const char *nvtxa_status_name(nvtxa_status status) {
  for (size_t i = 0; i < NVTXA__COUNT(status_names); i++) {
    if (status_names[i].status == status) {
      return status_names[i].name;
    }
  }
  return "unknown status";
}

const char *nvtxa_version(void) {
  return NVTXA_VERSION_STRING;
}

static bool copy_string(char **ret, const char *string) {
  if (string == NULL) {
    return true;
  }
  *ret = strdup(string);
  return *ret != NULL;
}

NVTXA__PRINTF(1, 0)
static char *format_message(const char *format, va_list arguments, int errnum) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char storage[128];
  const char *reason = errnum == 0 ? "" : strerror_r(errnum, storage, sizeof storage);
  if (length < 0) {
    return NULL;
  }
  size_t size = (size_t)length + 2 + strlen(reason) + 1;
  char *message = malloc(size);
  if (message == NULL) {
    return NULL;
  }
  vsnprintf(message, size, format, arguments);
  if (errnum != 0) {
    snprintf(message + length, size - (size_t)length, ": %s", reason);
  }
  return message;
}

nvtxa_status nvtxa__fail(nvtxa_error **reterr, nvtxa_status status, const nvtxa__where *where,
                         const char *format, ...) {
  static const nvtxa__where nowhere;
  if (where == NULL) {
    where = &nowhere;
  }
  if (reterr == NULL) {
    nvtxa_error_free(where->cause);
    return status;
  }
  nvtxa_error *error = calloc(1, sizeof *error);
  if (error == NULL) {
    nvtxa_error_free(where->cause);
    *reterr = &out_of_memory;
    return status;
  }
  error->status = status;
  error->line = where->line;
  error->errnum = where->errnum;
  error->cause = where->cause;
  va_list arguments;
  va_start(arguments, format);
  error->message = format_message(format, arguments, where->errnum);
  va_end(arguments);
  if (error->message == NULL || !copy_string(&error->hint, where->hint) ||
      !copy_string(&error->file, where->file) || !copy_string(&error->field, where->field)) {
    nvtxa_error_free(error);
    error = &out_of_memory;
  }
  *reterr = error;
  return status;
}

nvtxa_status nvtxa__pass_on(nvtxa_error **reterr, nvtxa_status status, nvtxa_error *error) {
  if (reterr != NULL) {
    *reterr = error;
  } else {
    nvtxa_error_free(error);
  }
  return status;
}

nvtxa_status nvtxa__out_of_memory(nvtxa_error **reterr) {
  if (reterr != NULL) {
    *reterr = &out_of_memory;
  }
  return NVTXA_ERROR_OUT_OF_MEMORY;
}

nvtxa_status nvtxa__invalid(nvtxa_error **reterr, const char *what) {
  return nvtxa__fail(reterr, NVTXA_ERROR_INVALID_ARGUMENT, NULL, "invalid argument: %s", what);
}

nvtxa_status nvtxa__options_copy(void *own, size_t own_size, const void *given,
                                 nvtxa_error **reterr) {
  if (given == NULL) {
    return NVTXA_OK;
  }
  size_t given_size;
  memcpy(&given_size, given, sizeof given_size);
  if (given_size < sizeof given_size) {
    return nvtxa__invalid(reterr, "a struct whose size is not set");
  }
  const char *bytes = given;
  for (size_t i = own_size; i < given_size; i++) {
    if (bytes[i] != 0) {
      return nvtxa__invalid(reterr, "a struct with members that this version does not know");
    }
  }
  memcpy(own, given, given_size < own_size ? given_size : own_size);
  memcpy(own, &own_size, sizeof own_size);
  return NVTXA_OK;
}

nvtxa_status nvtxa__result_copy(void *given, const void *own, size_t own_size) {
  size_t given_size;
  if (given == NULL) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  memcpy(&given_size, given, sizeof given_size);
  if (given_size < sizeof given_size) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  size_t shared = given_size < own_size ? given_size : own_size;
  memset(given, 0, given_size);
  memcpy(given, own, shared);
  memcpy(given, &given_size, sizeof given_size);
  return NVTXA_OK;
}

nvtxa_status nvtxa_error_status(const nvtxa_error *error) {
  return error->status;
}

const char *nvtxa_error_message(const nvtxa_error *error) {
  return error->message;
}

const char *nvtxa_error_hint(const nvtxa_error *error) {
  return error->hint;
}

const char *nvtxa_error_file(const nvtxa_error *error) {
  return error->file;
}

uint64_t nvtxa_error_line(const nvtxa_error *error) {
  return error->line;
}

const char *nvtxa_error_field(const nvtxa_error *error) {
  return error->field;
}

int nvtxa_error_errno(const nvtxa_error *error) {
  return error->errnum;
}

const nvtxa_error *nvtxa_error_cause(const nvtxa_error *error) {
  return error->cause;
}

void nvtxa_error_free(nvtxa_error *error) {
  while (error != NULL && error != &out_of_memory) {
    nvtxa_error *cause = error->cause;
    free(error->message);
    free(error->hint);
    free(error->file);
    free(error->field);
    free(error);
    error = cause;
  }
}
