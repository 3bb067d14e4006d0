/* Cells in CSV, TSV or JSON, written in large blocks. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats-internal.h"

/* ---- blocks ---- */

void nvtxa__cells_flush(nvtxa__cells *cells) {
  if (cells->status == NVTXA_OK && cells->used > 0) {
    cells->errnum = cells->write(cells->user, cells->block, cells->used);
    cells->status = cells->errnum != 0               ? NVTXA_ERROR_IO
                    : nvtxa__cancelled(cells->hooks) ? NVTXA_ERROR_CANCELLED
                                                     : NVTXA_OK;
  }
  cells->used = 0;
}

static void put(nvtxa__cells *cells, const char *data, size_t length) {
  while (length > NVTXA__BLOCK - cells->used) {
    size_t part = NVTXA__BLOCK - cells->used;
    memcpy(cells->block + cells->used, data, part);
    cells->used = NVTXA__BLOCK;
    data += part;
    length -= part;
    nvtxa__cells_flush(cells);
  }
  memcpy(cells->block + cells->used, data, length);
  cells->used += length;
}

static void put_string(nvtxa__cells *cells, const char *string) {
  put(cells, string, strlen(string));
}

/* ---- texts ---- */

static void put_json_character(nvtxa__cells *cells, unsigned char c) {
  static const char digits[] = "0123456789abcdef";
  char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
  switch (c) {
    case '"':
    case '\\':
      escape[1] = (char)c;
      put(cells, escape, 2);
      break;
    case '\n':
      put(cells, "\\n", 2);
      break;
    case '\t':
      put(cells, "\\t", 2);
      break;
    default:
      put(cells, escape, sizeof escape);
      break;
  }
}

/* What the format cannot hold as it is gets doubled (quotes in CSV) or escaped (JSON). */
static void put_escaped(nvtxa__cells *cells, nvtxa_text text) {
  bool json = cells->format == NVTXA_STATS_JSON;
  size_t done = 0;
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (json && (c < 0x20 || c == '"' || c == '\\' || c == 0x7F)) {
      put(cells, text.data + done, i - done);
      put_json_character(cells, c);
      done = i + 1;
    } else if (!json && c == '"') {
      put(cells, text.data + done, i + 1 - done);
      done = i; /* once more */
    }
  }
  put(cells, text.data + done, text.length - done);
}

bool nvtxa__cell_is_quoted(const nvtxa__cells *cells, nvtxa_text text) {
  if (cells->format == NVTXA_STATS_JSON) {
    return true;
  }
  for (size_t i = 0; i < text.length; i++) {
    char c = text.data[i];
    if (c == cells->separator || c == '"' || c == '\n' || c == '\r') {
      return true;
    }
  }
  return false;
}

/* ---- cells ---- */

/* What stands before a cell. */
void nvtxa__cell_begin(nvtxa__cells *cells) {
  if (cells->format == NVTXA_STATS_JSON) {
    put_string(cells, cells->column == 0 ? (cells->any_row ? ",\n  {\n    \"" : "\n  {\n    \"")
                                         : ",\n    \"");
    put_string(cells, cells->columns[cells->column]);
    put_string(cells, "\": ");
  } else if (cells->column > 0) {
    put(cells, &cells->separator, 1);
  }
  cells->column++;
}

void nvtxa__cell_plain(nvtxa__cells *cells, const char *data, size_t length) {
  size_t quotes = cells->format == NVTXA_STATS_JSON;
  nvtxa__cell_begin(cells);
  put(cells, "\"", quotes);
  put(cells, data, length);
  put(cells, "\"", quotes);
}

void nvtxa__cell_empty(nvtxa__cells *cells) {
  nvtxa__cell_plain(cells, "", 0);
}

void nvtxa__cell_text(nvtxa__cells *cells, nvtxa_text text, bool quoted, size_t dashes) {
  nvtxa__cell_begin(cells);
  if (quoted) {
    put(cells, "\"", 1);
  }
  for (size_t i = 0; i < dashes; i++) {
    put(cells, "--", 2);
  }
  if (quoted) {
    put_escaped(cells, text);
    put(cells, "\"", 1);
  } else {
    put(cells, text.data, text.length);
  }
}

/* ---- numbers with decimals ---- */

/* In whole numbers, halves up. A half that no double can hold, such as 1000.65, lies less than half
 * of a unit of the product's last place off: multiplied, it is one. */
static int64_t tenths_of(double value) {
  double tenths = value * 10;
  return (int64_t)(tenths < 0x1p52 ? floor(tenths + 0.5) : tenths);
}

void nvtxa__cell_tenths(nvtxa__cells *cells, double value) {
  char text[NVTXA__DIGITS + 2];
  bool small = value < 0x1p59;
  int64_t tenths = small ? tenths_of(value) : 0; /* what is larger has none in a double */
  int64_t whole = small ? tenths / 10 : value < 0x1p63 ? (int64_t)value : INT64_MAX;
  size_t length = nvtxa__put_integer(text, whole);
  text[length] = '.';
  text[length + 1] = (char)('0' + tenths % 10);
  nvtxa__cell_begin(cells);
  put(cells, text, length + 2);
}

void nvtxa__cell_thousandths(nvtxa__cells *cells, double value) {
  char text[352]; /* of any double */
  size_t length = (size_t)snprintf(text, sizeof text, "%.3f", value);
  nvtxa__cell_begin(cells);
  put(cells, text, strspn(text, "0123456789"));
  put(cells, ".", 1); /* in place of the locale's */
  put(cells, text + length - 3, 3);
}

void nvtxa__cells_end_row(nvtxa__cells *cells) {
  put_string(cells, cells->format == NVTXA_STATS_JSON ? "\n  }" : "\n");
  cells->column = 0;
  cells->any_row = true;
}

/* ---- the whole ---- */

void nvtxa__cells_begin(nvtxa__cells *cells, const char *const *columns, size_t count) {
  cells->columns = columns;
  cells->separator = cells->format == NVTXA_STATS_TSV ? '\t' : ',';
  cells->block = malloc(NVTXA__BLOCK);
  if (cells->block == NULL) {
    cells->status = NVTXA_ERROR_OUT_OF_MEMORY;
    return;
  }
  if (cells->format == NVTXA_STATS_JSON) {
    put_string(cells, "[");
    return;
  }
  for (size_t i = 0; i < count; i++) {
    nvtxa__cell_plain(cells, columns[i], strlen(columns[i]));
  }
  nvtxa__cells_end_row(cells);
}

void nvtxa__cells_end(nvtxa__cells *cells) {
  if (cells->block != NULL) {
    if (cells->format == NVTXA_STATS_JSON) {
      put_string(cells, cells->any_row ? "\n]\n" : "]\n");
    }
    nvtxa__cells_flush(cells);
  }
  free(cells->block);
  cells->block = NULL;
}
