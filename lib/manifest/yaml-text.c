/*
 * The text of a manifest before it is parsed: the characters it may hold, and bounds on what makes
 * libfyaml (0.7.12) slow or large. Each bound is far above what a manifest has, and with them the
 * time that any text takes grows with its length alone.
 */
#include <string.h>

#include "manifest-internal.h"

/* libfyaml reads a line of brackets to its end before it says how deep they nest, and takes
 * hundreds of bytes for each. */
#define LINE_LIMIT ((size_t)1 << 20)

/* It compares each directive with all before it, and copies a tag's prefix at each use. */
#define DIRECTIVES_LIMIT     ((size_t)64)
#define DIRECTIVE_SIZE_LIMIT ((size_t)1024)

/* At each blank line within a scalar it looks over all that follow it. */
#define BLANK_LINES_LIMIT ((size_t)256)

/* It decodes a tag anew at each %41 in it. Whatever could be a tag counts: the percent signs in a
 * word, after an exclamation mark. */
#define TAG_ESCAPES_LIMIT ((size_t)256)

struct scan {
  const char *file;
  nvtxa_error **reterr;
  uint64_t line;
  size_t directives;
  size_t blank_lines; /* in a row */
};

static nvtxa_status beyond(const struct scan *scan, const char *what, size_t limit) {
  return nvtxa__fail(scan->reterr, NVTXA_ERROR_LIMIT,
                     &(nvtxa__where){.file = scan->file, .line = scan->line},
                     "%s: more than %zu, the limit for a manifest", what, limit);
}

/* The length of the line that starts `data`, its break (LF, CR LF or CR) included. */
static size_t line_length(const char *data, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (data[i] == '\n' || (data[i] == '\r' && (i + 1 == length || data[i + 1] != '\n'))) {
      return i + 1;
    }
  }
  return length;
}

static bool is_space(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* libfyaml lets control characters through and takes a NUL for the end of the text. */
static nvtxa_status check_characters(const struct scan *scan, const char *data, size_t length) {
  nvtxa__where where = {.file = scan->file, .line = scan->line};
  size_t valid = nvtxa__utf8_valid(data, length);
  if (valid != length) {
    where.hint = "Save the file as UTF-8.";
    return nvtxa__fail(scan->reterr, NVTXA_ERROR_MANIFEST_SYNTAX, &where,
                       "byte 0x%02X is not UTF-8", (unsigned)(unsigned char)data[valid]);
  }
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)data[i] < 0x20 && !is_space(data[i])) {
      where.hint = "Remove it, or write it as an escape in double quotes.";
      return nvtxa__fail(scan->reterr, NVTXA_ERROR_MANIFEST_SYNTAX, &where,
                         "not valid YAML: control character 0x%02X", (unsigned)data[i]);
    }
  }
  return NVTXA_OK;
}

/* The most percent signs that a word of the line has after an exclamation mark. */
static size_t most_tag_escapes(const char *data, size_t length) {
  size_t most = 0;
  size_t escapes = 0;
  bool tag = false;
  for (size_t i = 0; i < length; i++) {
    if (is_space(data[i])) {
      tag = false;
      escapes = 0;
    }
    tag = tag || data[i] == '!';
    escapes += tag && data[i] == '%';
    most = escapes > most ? escapes : most;
  }
  return most;
}

static bool is_blank(const char *data, size_t length) {
  while (length > 0 && is_space(data[length - 1])) {
    length--;
  }
  return length == 0;
}

static nvtxa_status check_line(struct scan *scan, const char *data, size_t length) {
  scan->line++;
  scan->directives += data[0] == '%';
  scan->blank_lines = is_blank(data, length) ? scan->blank_lines + 1 : 0;
  if (length > LINE_LIMIT) {
    return beyond(scan, "bytes in a line", LINE_LIMIT);
  }
  if (scan->directives > DIRECTIVES_LIMIT) {
    return beyond(scan, "directives", DIRECTIVES_LIMIT);
  }
  if (data[0] == '%' && length > DIRECTIVE_SIZE_LIMIT) {
    return beyond(scan, "bytes in a directive", DIRECTIVE_SIZE_LIMIT);
  }
  if (scan->blank_lines > BLANK_LINES_LIMIT) {
    return beyond(scan, "blank lines in a row", BLANK_LINES_LIMIT);
  }
  if (most_tag_escapes(data, length) > TAG_ESCAPES_LIMIT) {
    return beyond(scan, "escapes in a tag", TAG_ESCAPES_LIMIT);
  }
  return check_characters(scan, data, length);
}

nvtxa_status nvtxa__yaml_check_text(const char *data, size_t length, const char *file,
                                    uint64_t *ret_lines, nvtxa_error **reterr) {
  struct scan scan = {.file = file, .reterr = reterr};
  if (length > NVTXA__YAML_SIZE_LIMIT) {
    return beyond(&scan, "bytes", NVTXA__YAML_SIZE_LIMIT);
  }
  while (length > 0) {
    size_t step = line_length(data, length);
    nvtxa_status status = check_line(&scan, data, step);
    if (status != NVTXA_OK) {
      return status;
    }
    data += step;
    length -= step;
  }
  *ret_lines = scan.line;
  return NVTXA_OK;
}
