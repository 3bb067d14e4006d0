/*
 * A part of the manifest as JSON text. What JSON numbers cannot hold (integers beyond 64 bits,
 * floats that are not finite) stands as a string, as it was written.
 */
#include <jansson.h>
#include <locale.h>
#include <math.h>

#include "manifest-internal.h"

static json_t *scalar_to_json(const nvtxa__yaml_node *node) {
  int64_t integer;
  double real;
  switch (node->type) {
    case NVTXA__YAML_NULL:
      return json_null();
    case NVTXA__YAML_BOOL:
      return json_boolean(node->text.data[0] == 't' || node->text.data[0] == 'T');
    case NVTXA__YAML_INT:
      if (nvtxa__yaml_int64(node->text, &integer)) {
        return json_integer(integer);
      }
      break;
    case NVTXA__YAML_FLOAT:
      real = nvtxa__yaml_double(node->text);
      if (isfinite(real)) {
        return json_real(real);
      }
      break;
    default:
      break;
  }
  return json_stringn_nocheck(node->text.data, node->text.length);
}

static json_t *to_json(const nvtxa__yaml_node *node);

static json_t *collection_to_json(const nvtxa__yaml_node *node) {
  bool mapping = node->type == NVTXA__YAML_MAPPING;
  json_t *json = mapping ? json_object() : json_array();
  if (json == NULL) {
    return NULL;
  }
  for (const nvtxa__yaml_item *item = node->items; item != NULL; item = item->next) {
    json_t *value = to_json(item->value);
    int failed = value == NULL ? -1
                 : mapping     ? json_object_setn_new_nocheck(json, item->key->text.data,
                                                              item->key->text.length, value)
                               : json_array_append_new(json, value);
    if (failed) {
      json_decref(json);
      return NULL;
    }
  }
  return json;
}

/* Recursion is bounded: yaml.c lets nothing nest deeper than its limit, aliases expanded. */
static json_t *to_json(const nvtxa__yaml_node *node) {
  return node->type >= NVTXA__YAML_SEQUENCE ? collection_to_json(node) : scalar_to_json(node);
}

static int add_piece(const char *data, size_t length, void *user) {
  return nvtxa__buffer_add(user, data, length);
}

static int dump(const json_t *json, unsigned precision, nvtxa__buffer *buffer) {
  size_t flags = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(precision);
  buffer->length = 0;
  return json_dump_callback(json, add_piece, buffer, flags);
}

static bool reads_back_equal(const nvtxa__buffer *buffer, const json_t *json) {
  json_t *again = json_loadb(buffer->data, buffer->length, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
  bool equal = again != NULL && json_equal(json, again);
  json_decref(again);
  return equal;
}

/* 17 digits always read back as the same float, but make 0.10000000000000001 of 0.1. */
static int dump_shortest(const json_t *json, nvtxa__buffer *buffer) {
  for (unsigned precision = 15; precision < 17; precision++) {
    if (dump(json, precision, buffer) != 0) {
      return -1;
    }
    if (reads_back_equal(buffer, json)) {
      return 0;
    }
  }
  return dump(json, 17, buffer);
}

int nvtxa__yaml_to_json(const nvtxa__yaml_node *node, nvtxa__buffer *ret) {
  /* Of this thread alone, and only in here: the caller's locale may have another decimal point. */
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (c_locale == (locale_t)0) {
    return -1;
  }
  locale_t callers = uselocale(c_locale);
  json_t *json = to_json(node);
  int result = json == NULL ? -1 : dump_shortest(json, ret);
  json_decref(json);
  uselocale(callers);
  freelocale(c_locale);
  return result;
}
