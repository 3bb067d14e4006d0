/*
 * The text of a JSON document, as a stream. Layout, integers, and strings and floats that are as
 * simple are written here; the rest is jansson's, floats with as few digits as read back the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json-internal.h"

/* ---- pieces ---- */

static void send(nvtxa__json_writer *writer, const char *data, size_t length) {
  if (writer->status == NVTXA_OK && length > 0) {
    writer->errnum = writer->write(writer->user, data, length);
    writer->status = writer->errnum == 0 ? NVTXA_OK : NVTXA_ERROR_IO;
  }
}

static void flush(nvtxa__json_writer *writer) {
  send(writer, writer->data, writer->used);
  writer->used = 0;
}

static void put(nvtxa__json_writer *writer, const char *data, size_t length) {
  if (length > sizeof writer->data - writer->used) {
    flush(writer);
  }
  if (length > sizeof writer->data) {
    send(writer, data, length);
    return;
  }
  memcpy(writer->data + writer->used, data, length);
  writer->used += length;
}

static void put_string(nvtxa__json_writer *writer, const char *string) {
  put(writer, string, strlen(string));
}

static void put_newline(nvtxa__json_writer *writer) {
  static const char spaces[] = "\n                                        ";
  size_t missing = 2 * (size_t)writer->depth;
  size_t part = missing < sizeof spaces - 2 ? missing : sizeof spaces - 2;
  put(writer, spaces, 1 + part);
  for (missing -= part; missing > 0; missing -= part) {
    part = missing < sizeof spaces - 2 ? missing : sizeof spaces - 2;
    put(writer, spaces + 1, part);
  }
}

/* What stands between the text so far and the next key, or the next value without one. */
static void put_separator(nvtxa__json_writer *writer) {
  if (writer->keyed || writer->depth == 0) {
    writer->keyed = false;
    return;
  }
  if (writer->filled) {
    put(writer, ",", 1);
  }
  put_newline(writer);
  writer->filled = true;
}

void nvtxa__json_start(nvtxa__json_writer *writer, nvtxa_json_write_fn write, void *user,
                       const nvtxa_hooks *hooks) {
  writer->write = write;
  writer->user = user;
  writer->hooks = hooks;
  writer->status = NVTXA_OK;
  writer->errnum = 0;
  writer->depth = 0;
  writer->filled = false;
  writer->keyed = false;
  writer->used = 0;
  writer->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (writer->c_locale == (locale_t)0) {
    writer->status = NVTXA_ERROR_OUT_OF_MEMORY;
  }
}

nvtxa_status nvtxa__json_finish(nvtxa__json_writer *writer) {
  put(writer, "\n", 1);
  flush(writer);
  if (writer->c_locale != (locale_t)0) {
    freelocale(writer->c_locale);
  }
  return writer->status;
}

void nvtxa__json_fail(nvtxa__json_writer *writer, nvtxa_status status) {
  if (writer->status == NVTXA_OK) {
    writer->status = status;
  }
}

/* ---- containers ---- */

void nvtxa__json_open(nvtxa__json_writer *writer, char bracket) {
  put_separator(writer);
  put(writer, &bracket, 1);
  writer->depth++;
  writer->filled = false;
}

void nvtxa__json_close(nvtxa__json_writer *writer, char bracket) {
  writer->depth--;
  if (writer->filled) {
    put_newline(writer);
  }
  put(writer, &bracket, 1);
  writer->filled = true; /* its container now has a member, this one */
}

void nvtxa__json_key(nvtxa__json_writer *writer, const char *key) {
  put_separator(writer);
  put(writer, "\"", 1);
  put_string(writer, key);
  put(writer, "\": ", 3);
  writer->keyed = true;
}

void nvtxa__json_key_text(nvtxa__json_writer *writer, nvtxa_text key) {
  nvtxa__json_text(writer, key);
  put(writer, ": ", 2);
  writer->keyed = true;
}

/* ---- scalars ---- */

static int put_piece(const char *data, size_t length, void *user) {
  put(user, data, length);
  return 0;
}

/* Let jansson write a scalar. */
static void put_scalar(nvtxa__json_writer *writer, json_t *json) {
  if (json == NULL || json_dump_callback(json, put_piece, writer, JSON_ENCODE_ANY) != 0) {
    nvtxa__json_fail(writer, NVTXA_ERROR_OUT_OF_MEMORY);
  }
}

static void put_replaced(nvtxa__json_writer *writer, nvtxa_text text) {
  char *valid = text.length > SIZE_MAX / 3 ? NULL : malloc(text.length * 3);
  if (valid == NULL) {
    nvtxa__json_fail(writer, NVTXA_ERROR_OUT_OF_MEMORY);
    return;
  }
  json_t *json = json_stringn_nocheck(valid, nvtxa__utf8_replace(valid, text.data, text.length));
  put_scalar(writer, json);
  json_decref(json);
  free(valid);
}

void nvtxa__json_null(nvtxa__json_writer *writer) {
  put_separator(writer);
  put(writer, "null", 4);
}

/* Whether a text stands in JSON as it is. */
static bool is_plain(nvtxa_text text) {
  for (size_t i = 0; i < text.length; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c < 0x20 || c > 0x7E || c == '"' || c == '\\') {
      return false;
    }
  }
  return true;
}

void nvtxa__json_text(nvtxa__json_writer *writer, nvtxa_text text) {
  if (text.data == NULL) {
    nvtxa__json_null(writer);
    return;
  }
  put_separator(writer);
  if (is_plain(text)) {
    put(writer, "\"", 1);
    put(writer, text.data, text.length);
    put(writer, "\"", 1);
    return;
  }
  if (nvtxa__utf8_valid(text.data, text.length) != text.length) {
    put_replaced(writer, text);
    return;
  }
  json_t *json = json_stringn_nocheck(text.data, text.length);
  put_scalar(writer, json);
  json_decref(json);
}

void nvtxa__json_integer(nvtxa__json_writer *writer, int64_t value) {
  char digits[NVTXA__DIGITS];
  put_separator(writer);
  put(writer, digits, nvtxa__put_integer(digits, value));
}

void nvtxa__json_count(nvtxa__json_writer *writer, uint64_t value) {
  char digits[32];
  if (value <= INT64_MAX) {
    nvtxa__json_integer(writer, (int64_t)value);
    return;
  }
  snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
  put_separator(writer);
  put_string(writer, digits);
}

/* The number in jansson's form, which always has a decimal point or an exponent; the length, or 0
 * where memory runs out. */
static size_t format_real(const json_t *json, size_t precision, char *text, size_t size) {
  size_t length =
      json_dumpb(json, text, size - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(precision));
  text[length < size ? length : 0] = '\0';
  return strlen(text);
}

/* 17 digits read back as the same number, always; 15 or 16 mostly do, and look like the number that
 * was meant. Needs the C locale. */
static size_t format_shortest(double value, char *text, size_t size) {
  json_t *json = json_real(value);
  size_t length = 0;
  for (size_t precision = 15; json != NULL && precision <= 17; precision++) {
    length = format_real(json, precision, text, size);
    if (length == 0 || strtod(text, NULL) == value) {
      break;
    }
  }
  json_decref(json);
  return length;
}

/* Medians and the like: with one decimal all is said. Returns the length, or 0 for a value that
 * needs more. */
static size_t format_tenths(double value, char *text) {
  const double few = 1e14; /* up to here 15 digits do */
  double tenfold = value * 10;
  if (!(value > -few && value < few) || tenfold != floor(tenfold) || tenfold / 10 != value ||
      (value == 0 && signbit(value))) {
    return 0;
  }
  int64_t tenths = (int64_t)tenfold;
  size_t length = 0;
  if (tenths < 0) {
    text[length++] = '-';
    tenths = -tenths;
  }
  length += nvtxa__put_integer(text + length, tenths / 10);
  text[length++] = '.';
  text[length++] = (char)('0' + tenths % 10);
  return length;
}

void nvtxa__json_real(nvtxa__json_writer *writer, double value) {
  char text[64];
  if (!isfinite(value)) {
    nvtxa__json_null(writer);
    return;
  }
  put_separator(writer);
  size_t tenths = format_tenths(value, text);
  if (tenths > 0) {
    put(writer, text, tenths);
    return;
  }
  if (writer->status != NVTXA_OK) {
    return;
  }
  /* Of this thread alone, and put back before the caller's function can run. */
  locale_t callers = uselocale(writer->c_locale);
  size_t length = format_shortest(value, text, sizeof text);
  uselocale(callers);
  if (length == 0) {
    nvtxa__json_fail(writer, NVTXA_ERROR_OUT_OF_MEMORY);
  }
  put(writer, text, length);
}

/* ---- a value that jansson holds ---- */

static int compare_keys(const void *left, const void *right) {
  return nvtxa__text_compare(*(const nvtxa_text *)left, *(const nvtxa_text *)right);
}

static void put_members(nvtxa__json_writer *writer, const json_t *object) {
  size_t count = json_object_size(object);
  size_t i = 0;
  nvtxa_text *keys = calloc(count + 1, sizeof *keys);
  if (keys == NULL) {
    nvtxa__json_fail(writer, NVTXA_ERROR_OUT_OF_MEMORY);
    return;
  }
  json_t *members = (json_t *)object; /* iterating does not change it */
  for (void *at = json_object_iter(members); at != NULL; at = json_object_iter_next(members, at)) {
    keys[i++] = (nvtxa_text){json_object_iter_key(at), json_object_iter_key_len(at)};
  }
  qsort(keys, count, sizeof *keys, compare_keys);
  for (i = 0; i < count; i++) {
    nvtxa__json_key_text(writer, keys[i]);
    nvtxa__json_value(writer, json_object_getn(object, keys[i].data, keys[i].length));
  }
  free(keys);
}

static void put_container(nvtxa__json_writer *writer, const json_t *value) {
  bool object = json_is_object(value);
  nvtxa__json_open(writer, object ? '{' : '[');
  if (object) {
    put_members(writer, value);
  }
  for (size_t i = 0; i < json_array_size(value); i++) {
    nvtxa__json_value(writer, json_array_get(value, i));
  }
  nvtxa__json_close(writer, object ? '}' : ']');
}

void nvtxa__json_value(nvtxa__json_writer *writer, const json_t *value) {
  switch (json_typeof(value)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
      put_container(writer, value);
      break;
    case JSON_STRING:
      nvtxa__json_text(writer, (nvtxa_text){json_string_value(value), json_string_length(value)});
      break;
    case JSON_INTEGER:
      nvtxa__json_integer(writer, json_integer_value(value));
      break;
    case JSON_REAL:
      nvtxa__json_real(writer, json_real_value(value));
      break;
    default:
      put_separator(writer);
      put_string(writer, json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
      break;
  }
}
