/*
 * A tree of nodes as YAML text, in block style. A string is written plain only where no reader, of
 * YAML 1.1 or 1.2, can take it for anything else; any other is put in double quotes, on one line.
 */
#include <jansson.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "manifest-internal.h"

static bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '/';
}

static bool is_plain_byte(const char *at) {
  char byte = *at;
  bool inside = at[1] != '\0' && at[1] != ' ';
  return is_letter(byte) || (byte >= '0' && byte <= '9') ||
         (byte != '\0' && strchr(".+-", byte) != NULL) || ((byte == ':' || byte == ' ') && inside);
}

/* What YAML 1.1 takes for a boolean or null: other programs read manifests too. */
static bool is_word_of_old(const char *text) {
  static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  for (size_t i = 0; i < NVTXA__COUNT(words); i++) {
    if (strcasecmp(text, words[i]) == 0) {
      return true;
    }
  }
  return false;
}

static bool can_be_plain(nvtxa_text text) {
  bool plain = is_letter(text.data[0]) && !is_word_of_old(text.data);
  for (size_t i = 0; i < text.length && plain; i++) {
    plain = is_plain_byte(text.data + i);
  }
  return plain;
}

struct emission {
  struct fy_document *document;
  nvtxa__arena arena; /* of texts that its nodes refer to */
};

static int add_piece(const char *data, size_t length, void *user) {
  return nvtxa__buffer_add(user, data, length);
}

/* libfyaml (0.7.12) drops spaces at the ends of a string that it is given, but keeps those of a
 * quoted one that it reads. A JSON string is one. */
static struct fy_node *quoted_node(struct emission *emission, nvtxa_text text) {
  nvtxa__buffer json = {0};
  json_t *string = json_stringn_nocheck(text.data, text.length);
  bool made = string != NULL && json_dump_callback(string, add_piece, &json, JSON_ENCODE_ANY) == 0;
  const char *kept = made ? nvtxa__arena_copy(&emission->arena, json.data, json.length) : NULL;
  struct fy_node *node =
      kept == NULL ? NULL : fy_node_build_from_string(emission->document, kept, json.length);
  nvtxa__buffer_free(&json);
  json_decref(string);
  return node;
}

static struct fy_node *scalar_node(struct emission *emission, const nvtxa__yaml_node *node) {
  nvtxa_text text = node->type == NVTXA__YAML_NULL ? nvtxa__text("null") : node->text;
  return node->type == NVTXA__YAML_STRING && !can_be_plain(text)
             ? quoted_node(emission, text)
             : fy_node_create_scalar_copy(emission->document, text.data, text.length);
}

static struct fy_node *make_node(struct emission *emission, const nvtxa__yaml_node *node);

/* Takes both over. 0 or -1. */
static int append(struct fy_node *collection, struct fy_node *key, struct fy_node *value,
                  bool mapping) {
  int result = value == NULL ? -1
               : !mapping    ? fy_node_sequence_append(collection, value)
               : key == NULL ? -1
                             : fy_node_mapping_append(collection, key, value);
  if (result != 0) {
    fy_node_free(key);
    fy_node_free(value);
  }
  return result;
}

static struct fy_node *collection_node(struct emission *emission, const nvtxa__yaml_node *node) {
  bool mapping = node->type == NVTXA__YAML_MAPPING;
  struct fy_node *made = mapping ? fy_node_create_mapping(emission->document)
                                 : fy_node_create_sequence(emission->document);
  int result = made == NULL ? -1 : 0;
  for (const nvtxa__yaml_item *item = node->items; item != NULL && result == 0; item = item->next) {
    struct fy_node *key = mapping ? scalar_node(emission, item->key) : NULL;
    result = append(made, key, make_node(emission, item->value), mapping);
  }
  if (result != 0) {
    fy_node_free(made);
    return NULL;
  }
  return made;
}

/* Recursion is bounded by the depth limit of what is read, and of keys. */
static struct fy_node *make_node(struct emission *emission, const nvtxa__yaml_node *node) {
  return node->type < NVTXA__YAML_SEQUENCE ? scalar_node(emission, node)
                                           : collection_node(emission, node);
}

/* Characters that the library lets through, but that YAML does not let stand for themselves, or
 * that YAML 1.1 takes for a line break. The length of one in bytes, or 0. */
static size_t must_be_escaped(const char *at, unsigned *ret_character) {
  static const struct {
    const char *bytes;
    unsigned character;
  } others[] = {{"\xE2\x80\xA8", 0x2028},
                {"\xE2\x80\xA9", 0x2029},
                {"\xEF\xBB\xBF", 0xFEFF},
                {"\xEF\xBF\xBE", 0xFFFE},
                {"\xEF\xBF\xBF", 0xFFFF}};
  if (*at == 0x7F) {
    *ret_character = 0x7F;
    return 1;
  }
  if ((unsigned char)at[0] == 0xC2 && (unsigned char)at[1] < 0xA0) {
    *ret_character = (unsigned char)at[1];
    return 2;
  }
  for (size_t i = 0; i < NVTXA__COUNT(others); i++) {
    if (strncmp(at, others[i].bytes, strlen(others[i].bytes)) == 0) {
      *ret_character = others[i].character;
      return strlen(others[i].bytes);
    }
  }
  return 0;
}

/* They stand in double quotes, as nothing plain holds them. */
static int add_escaped(nvtxa__buffer *ret, const char *text) {
  int result = 0;
  while (*text != '\0' && result == 0) {
    unsigned character;
    size_t length = must_be_escaped(text, &character);
    result = length == 0 ? nvtxa__buffer_add(ret, text, 1)
                         : nvtxa__buffer_printf(ret, "\\u%04X", character);
    text += length == 0 ? 1 : length;
  }
  return result;
}

int nvtxa__yaml_emit(const nvtxa__yaml_node *root, nvtxa__buffer *ret) {
  const enum fy_emitter_cfg_flags flags = FYECF_WIDTH_INF | FYECF_MODE_BLOCK |
                                          FYECF_DOC_START_MARK_OFF | FYECF_DOC_END_MARK_OFF |
                                          FYECF_VERSION_DIR_OFF | FYECF_TAG_DIR_OFF;
  struct emission emission = {.document = fy_document_create(NULL)};
  struct fy_node *node = emission.document == NULL ? NULL : make_node(&emission, root);
  char *text = NULL;
  if (node != NULL && fy_document_set_root(emission.document, node) == 0) {
    text = fy_emit_document_to_string(emission.document, flags);
  }
  int result = text == NULL ? -1 : add_escaped(ret, text);
  free(text);
  fy_document_destroy(emission.document);
  nvtxa__arena_free(&emission.arena);
  return result;
}
