/*
 * A manifest in the making: a tree that grows key by key, is filled in from a YAML text, and is
 * written only once it reads back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "manifest-internal.h"

struct nvtxa_manifest_draft {
  nvtxa__arena arena;
  nvtxa__yaml_node root;
};

/* All nodes of a draft were made here, in its arena; only what reads them has them constant. */
static nvtxa__yaml_node *own(const nvtxa__yaml_node *node) {
  return (nvtxa__yaml_node *)node;
}

nvtxa_status nvtxa_manifest_draft_new(nvtxa_manifest_draft **ret_draft, nvtxa_error **reterr) {
  if (ret_draft == NULL) {
    return nvtxa__invalid(reterr, "ret_draft is NULL");
  }
  nvtxa_manifest_draft *draft = calloc(1, sizeof *draft);
  if (draft == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  draft->root.type = NVTXA__YAML_MAPPING;
  *ret_draft = draft;
  return NVTXA_OK;
}

void nvtxa_manifest_draft_free(nvtxa_manifest_draft *draft) {
  if (draft != NULL) {
    nvtxa__arena_free(&draft->arena);
    free(draft);
  }
}

/* ---- nodes ---- */

static nvtxa__yaml_node *new_node(nvtxa_manifest_draft *draft, nvtxa__yaml_type type) {
  nvtxa__yaml_node *node = nvtxa__arena_alloc(&draft->arena, sizeof *node);
  if (node != NULL) {
    *node = (nvtxa__yaml_node){.type = type};
  }
  return node;
}

static nvtxa__yaml_node *new_scalar(nvtxa_manifest_draft *draft, nvtxa__yaml_type type,
                                    nvtxa_text text) {
  nvtxa__yaml_node *node = new_node(draft, type);
  if (node == NULL ||
      (node->text.data = nvtxa__arena_copy(&draft->arena, text.data, text.length)) == NULL) {
    return NULL;
  }
  node->text.length = text.length;
  return node;
}

/* Behind the last item. NULL when out of memory. */
static nvtxa__yaml_item *add_item(nvtxa_manifest_draft *draft, nvtxa__yaml_node *collection,
                                  const nvtxa__yaml_node *key, const nvtxa__yaml_node *value) {
  nvtxa__yaml_item **end = &collection->items;
  while (*end != NULL) {
    end = &(*end)->next;
  }
  *end = nvtxa__arena_alloc(&draft->arena, sizeof **end);
  if (*end != NULL) {
    **end = (nvtxa__yaml_item){.key = key, .value = value};
    collection->item_count++;
  }
  return *end;
}

/* With aliases expanded. NULL when out of memory. */
static nvtxa__yaml_node *copy_node(nvtxa_manifest_draft *draft, const nvtxa__yaml_node *node) {
  if (node->type < NVTXA__YAML_SEQUENCE) {
    return new_scalar(draft, node->type, node->text);
  }
  nvtxa__yaml_node *copy = new_node(draft, node->type);
  nvtxa__yaml_item **end = copy == NULL ? NULL : &copy->items;
  for (const nvtxa__yaml_item *item = node->items; item != NULL && end != NULL; item = item->next) {
    nvtxa__yaml_item *made = nvtxa__arena_alloc(&draft->arena, sizeof *made);
    const nvtxa__yaml_node *value = copy_node(draft, item->value);
    const nvtxa__yaml_node *key =
        item->key == NULL ? NULL : new_scalar(draft, item->key->type, item->key->text);
    if (made == NULL || value == NULL || (item->key != NULL && key == NULL)) {
      return NULL;
    }
    *made = (nvtxa__yaml_item){.key = key, .value = value};
    *end = made;
    end = &made->next;
  }
  if (copy != NULL) {
    copy->item_count = node->item_count;
  }
  return copy;
}

static bool same_text(const nvtxa__yaml_node *a, const nvtxa__yaml_node *b) {
  return a->type == b->type && (a->type == NVTXA__YAML_NULL || nvtxa__text_equal(a->text, b->text));
}

static bool same_node(const nvtxa__yaml_node *a, const nvtxa__yaml_node *b) {
  if (a->type < NVTXA__YAML_SEQUENCE) {
    return same_text(a, b);
  }
  bool same = a->type == b->type && a->item_count == b->item_count;
  const nvtxa__yaml_item *other = b->items;
  for (const nvtxa__yaml_item *item = a->items; item != NULL && same; item = item->next) {
    same = (item->key == NULL || same_text(item->key, other->key)) &&
           same_node(item->value, other->value);
    other = other->next;
  }
  return same;
}

static nvtxa__yaml_item *find_item(const nvtxa__yaml_node *mapping, nvtxa_text key) {
  nvtxa__yaml_item *item = mapping->items;
  while (item != NULL && !nvtxa__text_equal(item->key->text, key)) {
    item = item->next;
  }
  return item;
}

/* Nothing that could be lost: null, {} or []. */
static bool is_void(const nvtxa__yaml_node *node) {
  return node->type == NVTXA__YAML_NULL ||
         (node->type >= NVTXA__YAML_SEQUENCE && node->items == NULL);
}

/* Keys whose value the analysis takes as one text. */
static bool is_identity(nvtxa_text key) {
  static const char *const keys[] = {"capture_range", "profile_name", "run_id", "device",
                                     "git_commit"};
  for (size_t i = 0; i < NVTXA__COUNT(keys); i++) {
    if (nvtxa__text_is(key, keys[i])) {
      return true;
    }
  }
  return false;
}

/* ---- setting a key ---- */

static nvtxa_status bad_key(const char *key, const char *why, nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  nvtxa__quote(quoted, key, strlen(key));
  return nvtxa__fail(reterr, NVTXA_ERROR_MANIFEST_VALUE,
                     &(nvtxa__where){.field = quoted,
                                     .hint = "A key is a name, or names joined by dots: the "
                                             "mappings on the way to it (workload.seed)."},
                     "'%s' %s", quoted, why);
}

static nvtxa_status check_key(const char *key, nvtxa_error **reterr) {
  size_t depth = 1;
  if (nvtxa__utf8_valid(key, strlen(key)) != strlen(key)) {
    return bad_key(key, "is not UTF-8", reterr);
  }
  for (const char *dot = strchr(key, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
    depth++;
  }
  bool empty =
      key[0] == '\0' || key[0] == '.' || key[strlen(key) - 1] == '.' || strstr(key, "..") != NULL;
  nvtxa_text first = {key, strcspn(key, ".")};
  if (!empty && key[first.length] == '.' && is_identity(first)) {
    return bad_key(key, "would make several values of what has one", reterr);
  }
  return empty                             ? bad_key(key, "has an empty name", reterr)
         : depth > NVTXA__YAML_DEPTH_LIMIT ? bad_key(key, "is nested too deep", reterr)
                                           : NVTXA_OK;
}

/* The pair of a key in a mapping, which is made where it is not there. NULL when out of memory. */
static nvtxa__yaml_item *find_or_add(nvtxa_manifest_draft *draft, nvtxa__yaml_node *mapping,
                                     nvtxa_text key) {
  nvtxa__yaml_item *item = find_item(mapping, key);
  if (item == NULL) {
    const nvtxa__yaml_node *made = new_scalar(draft, NVTXA__YAML_STRING, key);
    const nvtxa__yaml_node *value = new_node(draft, NVTXA__YAML_NULL);
    item = made == NULL || value == NULL ? NULL : add_item(draft, mapping, made, value);
  }
  return item;
}

/* The pair of a key that was checked, with all that leads to it. NULL: *ret_status says why. */
static nvtxa__yaml_item *reach(nvtxa_manifest_draft *draft, const char *key,
                               nvtxa_status *ret_status, nvtxa_error **reterr) {
  nvtxa__yaml_node *mapping = &draft->root;
  for (const char *name = key;; name++) {
    nvtxa_text part = {name, strcspn(name, ".")};
    nvtxa__yaml_item *item = find_or_add(draft, mapping, part);
    name += part.length;
    if (item != NULL && *name == '\0') {
      return item;
    }
    if (item != NULL && item->value->type == NVTXA__YAML_NULL) {
      item->value = new_node(draft, NVTXA__YAML_MAPPING);
    }
    if (item == NULL || item->value == NULL) {
      *ret_status = nvtxa__out_of_memory(reterr);
      return NULL;
    }
    if (item->value->type != NVTXA__YAML_MAPPING) {
      *ret_status = bad_key(key, "leads through a value that is no mapping", reterr);
      return NULL;
    }
    mapping = own(item->value);
  }
}

static nvtxa_status set_scalar(nvtxa_manifest_draft *draft, const char *key, nvtxa__yaml_type type,
                               const char *text, nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  nvtxa_status status = check_key(key, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (nvtxa__utf8_valid(text, strlen(text)) != strlen(text)) {
    return nvtxa__fail(reterr, NVTXA_ERROR_MANIFEST_VALUE, &(nvtxa__where){.field = key},
                       "'%s' is not UTF-8, and YAML holds nothing else",
                       nvtxa__quote(quoted, text, strlen(text)));
  }
  nvtxa__yaml_item *item = reach(draft, key, &status, reterr);
  if (item == NULL) {
    return status;
  }
  if (item->value->type >= NVTXA__YAML_SEQUENCE && !is_void(item->value)) {
    return bad_key(key, "stands for several values, not for one", reterr);
  }
  const nvtxa__yaml_node *value = new_scalar(draft, type, nvtxa__text(text));
  if (value == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  item->value = value;
  return NVTXA_OK;
}

static nvtxa_status check_arguments(const nvtxa_manifest_draft *draft, const char *key,
                                    const char *text, nvtxa_error **reterr) {
  return draft == NULL  ? nvtxa__invalid(reterr, "draft is NULL")
         : key == NULL  ? nvtxa__invalid(reterr, "key is NULL")
         : text == NULL ? nvtxa__invalid(reterr, "text is NULL")
                        : NVTXA_OK;
}

nvtxa_status nvtxa_manifest_draft_set_text(nvtxa_manifest_draft *draft, const char *key,
                                           const char *text, nvtxa_error **reterr) {
  nvtxa_status status = check_arguments(draft, key, text, reterr);
  return status != NVTXA_OK ? status : set_scalar(draft, key, NVTXA__YAML_STRING, text, reterr);
}

nvtxa_status nvtxa__draft_set_bytes(nvtxa_manifest_draft *draft, const char *key, const char *bytes,
                                    nvtxa_error **reterr) {
  size_t length = strlen(bytes);
  char *text = malloc(3 * length + 1);
  if (text == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  text[nvtxa__utf8_replace(text, bytes, length)] = '\0';
  nvtxa_status status = set_scalar(draft, key, NVTXA__YAML_STRING, text, reterr);
  free(text);
  return status;
}

nvtxa_status nvtxa_manifest_draft_set_integer(nvtxa_manifest_draft *draft, const char *key,
                                              int64_t value, nvtxa_error **reterr) {
  char digits[NVTXA__DIGITS + 1];
  digits[nvtxa__put_integer(digits, value)] = '\0';
  nvtxa_status status = check_arguments(draft, key, digits, reterr);
  return status != NVTXA_OK ? status : set_scalar(draft, key, NVTXA__YAML_INT, digits, reterr);
}

/* What a text is that shall come back in the same characters, from JSON as well. */
static nvtxa__yaml_type type_of(const char *text) {
  nvtxa__yaml_node node = {.text = nvtxa__text(text)};
  nvtxa__buffer json = {0};
  node.type = nvtxa__yaml_resolve(node.text);
  bool kept = node.type != NVTXA__YAML_STRING && nvtxa__yaml_to_json(&node, &json) == 0 &&
              json.data != NULL && strcmp(json.data, text) == 0 && node.type != NVTXA__YAML_NULL;
  nvtxa__buffer_free(&json);
  return kept ? node.type : NVTXA__YAML_STRING;
}

nvtxa_status nvtxa_manifest_draft_set_value(nvtxa_manifest_draft *draft, const char *key,
                                            const char *text, nvtxa_error **reterr) {
  nvtxa_status status = check_arguments(draft, key, text, reterr);
  return status != NVTXA_OK ? status : set_scalar(draft, key, type_of(text), text, reterr);
}

bool nvtxa__draft_lacks(const nvtxa_manifest_draft *draft, const char *key) {
  const nvtxa__yaml_item *item = find_item(&draft->root, nvtxa__text(key));
  return item == NULL || is_void(item->value);
}

/* ---- filling in ---- */

struct filling {
  nvtxa_manifest_draft *draft;
  const char *file;
  const nvtxa_hooks *hooks;
};

static void note_kept(const struct filling *filling, const nvtxa__yaml_item *own_item,
                      const nvtxa__yaml_node *other) {
  char key[NVTXA__QUOTED];
  char stays[NVTXA__QUOTED];
  const nvtxa__yaml_node *value = own_item->value;
  bool scalar = value->type < NVTXA__YAML_SEQUENCE;
  nvtxa__quote(key, own_item->key->text.data, own_item->key->text.length);
  nvtxa__log(filling->hooks, NVTXA_LOG_NOTICE,
             "%s:%llu: the manifest's '%s' stays%s%s, whatever this file says",
             filling->file == NULL ? "the text" : filling->file, (unsigned long long)other->line,
             key, scalar ? " " : "",
             scalar ? nvtxa__quote(stays, value->text.data, value->text.length) : "");
}

/* Bounded by the depth of what was read. 0 or -1. */
static int fill_in(const struct filling *filling, nvtxa__yaml_node *mapping,
                   const nvtxa__yaml_node *other) {
  for (const nvtxa__yaml_item *item = other->items; item != NULL; item = item->next) {
    nvtxa__yaml_item *own_item = find_item(mapping, item->key->text);
    if (own_item != NULL && own_item->value->type == NVTXA__YAML_MAPPING &&
        item->value->type == NVTXA__YAML_MAPPING) {
      if (fill_in(filling, own(own_item->value), item->value) != 0) {
        return -1;
      }
    } else if (own_item != NULL && !is_void(own_item->value)) {
      if (!is_void(item->value) && !same_node(own_item->value, item->value)) {
        note_kept(filling, own_item, item->value);
      }
    } else {
      const nvtxa__yaml_node *value = copy_node(filling->draft, item->value);
      const nvtxa__yaml_node *key = new_scalar(filling->draft, item->key->type, item->key->text);
      if (value == NULL || key == NULL) {
        return -1;
      }
      if (own_item != NULL) {
        own_item->value = value;
      } else if (add_item(filling->draft, mapping, key, value) == NULL) {
        return -1;
      }
    }
  }
  return 0;
}

/* More keys would take the YAML library a time that grows with their square. */
enum { KEYS_LIMIT = 1000 };

/* Whether a text can be taken as it is, before anything of it is. Bounded as fill_in() is. */
static nvtxa_status check_filling(const struct filling *filling, const nvtxa__yaml_node *node,
                                  bool root, nvtxa_error **reterr) {
  nvtxa_status status = NVTXA_OK;
  if (node->type == NVTXA__YAML_MAPPING && node->item_count > KEYS_LIMIT) {
    return nvtxa__fail(
        reterr, NVTXA_ERROR_LIMIT, &(nvtxa__where){.file = filling->file, .line = node->line},
        "a mapping with more than %d keys, the limit for what is filled in", KEYS_LIMIT);
  }
  for (const nvtxa__yaml_item *item = node->items; item != NULL && status == NVTXA_OK;
       item = item->next) {
    if (root && item->value->type >= NVTXA__YAML_SEQUENCE && is_identity(item->key->text)) {
      return nvtxa__fail(
          reterr, NVTXA_ERROR_MANIFEST_VALUE,
          &(nvtxa__where){
              .file = filling->file, .line = item->key->line, .field = item->key->text.data},
          "'%s' is %s, and has to be one value", item->key->text.data,
          nvtxa__yaml_type_name(item->value->type));
    }
    status = check_filling(filling, item->value, false, reterr);
  }
  return status;
}

nvtxa_status nvtxa_manifest_draft_fill_in(nvtxa_manifest_draft *draft, const char *data,
                                          size_t length, const char *file, const nvtxa_hooks *hooks,
                                          nvtxa_error **reterr) {
  nvtxa__yaml yaml;
  nvtxa_hooks hooks_copy = NVTXA_HOOKS_INIT;
  nvtxa_status status = check_arguments(draft, "", data, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__options_copy(&hooks_copy, sizeof hooks_copy, hooks, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__yaml_read(data, length, file, &yaml, reterr);
  }
  if (status != NVTXA_OK) {
    return status;
  }
  const struct filling filling = {draft, file, &hooks_copy};
  status = check_filling(&filling, yaml.root, true, reterr);
  if (status == NVTXA_OK && fill_in(&filling, &draft->root, yaml.root) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  nvtxa__yaml_free(&yaml);
  return status;
}

/* ---- writing ---- */

/* A manifest that nobody can read, or that says something else, is worth an error now. */
static nvtxa_status check_text(const nvtxa_manifest_draft *draft, const nvtxa__buffer *text,
                               nvtxa_error **reterr) {
  nvtxa__yaml yaml;
  nvtxa_manifest *manifest;
  nvtxa_status status = nvtxa_manifest_read_buffer(text->data, text->length, &manifest, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  nvtxa_manifest_unref(manifest);
  status = nvtxa__yaml_read(text->data, text->length, NULL, &yaml, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  bool same = same_node(&draft->root, yaml.root);
  nvtxa__yaml_free(&yaml);
  return same ? NVTXA_OK
              : nvtxa__fail(reterr, NVTXA_ERROR_MANIFEST_VALUE, NULL,
                            "the YAML library writes a text of this manifest so that it reads back "
                            "as another one");
}

static nvtxa_status make_text(const nvtxa_manifest_draft *draft, nvtxa__buffer *text,
                              nvtxa_error **reterr) {
  return nvtxa__yaml_emit(&draft->root, text) != 0 || text->data == NULL
             ? nvtxa__out_of_memory(reterr)
             : check_text(draft, text, reterr);
}

nvtxa_status nvtxa_manifest_draft_to_text(const nvtxa_manifest_draft *draft, char **ret_text,
                                          size_t *ret_length, nvtxa_error **reterr) {
  nvtxa__buffer text = {0};
  if (draft == NULL || ret_text == NULL || ret_length == NULL) {
    return nvtxa__invalid(reterr, "draft, ret_text or ret_length is NULL");
  }
  nvtxa_status status = make_text(draft, &text, reterr);
  if (status != NVTXA_OK) {
    nvtxa__buffer_free(&text);
    return status;
  }
  *ret_text = text.data;
  *ret_length = text.length;
  return NVTXA_OK;
}

struct production {
  const nvtxa__buffer *text;
  const char *path;
};

static nvtxa_status produce(void *user, nvtxa__write_fn sink, void *sink_user,
                            nvtxa_error **reterr) {
  const struct production *production = user;
  int errnum = sink(sink_user, production->text->data, production->text->length);
  return errnum == 0 ? NVTXA_OK
                     : nvtxa__fail(reterr, NVTXA_ERROR_IO,
                                   &(nvtxa__where){.file = production->path, .errnum = errnum},
                                   "cannot write this file");
}

nvtxa_status nvtxa__draft_write(const nvtxa_manifest_draft *draft, int directory, const char *name,
                                const char *shown_path, nvtxa_error **reterr) {
  nvtxa__buffer text = {0};
  nvtxa_status status = make_text(draft, &text, reterr);
  if (status == NVTXA_OK) {
    struct production production = {&text, shown_path};
    status = nvtxa__file_replace(directory, name, shown_path, true, produce, &production, reterr);
  }
  nvtxa__buffer_free(&text);
  return status;
}
