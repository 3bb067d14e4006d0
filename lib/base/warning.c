/* A list of warnings, each with its kind and its sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base-internal.h"

/* Takes `data` over. */
static int append(nvtxa__warnings *warnings, nvtxa_warning_kind kind, char *data, size_t length) {
  if (data == NULL || nvtxa__reserve(&warnings->items, &warnings->capacity, warnings->count + 1,
                                     sizeof *warnings->items) != 0) {
    free(data);
    return -1;
  }
  warnings->items[warnings->count++] = (nvtxa_warning){kind, {data, length}};
  return 0;
}

int nvtxa__warn(nvtxa__warnings *warnings, nvtxa_warning_kind kind, const char *format, ...) {
  va_list arguments;
  char *text = NULL;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  return length < 0 ? -1 : append(warnings, kind, text, (size_t)length);
}

int nvtxa__warn_copy(nvtxa__warnings *warnings, nvtxa_warning warning) {
  char *copy = malloc(warning.text.length + 1);
  if (copy != NULL) {
    memcpy(copy, warning.text.data, warning.text.length + 1);
  }
  return append(warnings, warning.kind, copy, warning.text.length);
}

void nvtxa__warnings_free(nvtxa__warnings *warnings) {
  for (size_t i = 0; i < warnings->count; i++) {
    free((char *)warnings->items[i].text.data);
  }
  free(warnings->items);
  *warnings = (nvtxa__warnings){0};
}
