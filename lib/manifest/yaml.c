/*
 * YAML text to a tree of nodes. libfyaml finds the structure, event by event; what a manifest may
 * be is decided here: one document with a mapping at its root, scalar keys, none of them twice,
 * bounded depth, aliases that expand to a bounded size and never into themselves.
 */
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "manifest-internal.h"

/* What is known of a text that is an anchor's name, a key or both. */
struct name {
  const nvtxa__yaml_node *anchored; /* the node that last had this anchor */
  size_t mapping;                   /* number of the mapping that last had this key */
  uint64_t line;                    /* of that key */
};

struct reader {
  const char *data;
  size_t length;
  const char *file;
  nvtxa_error **reterr;
  nvtxa__arena *arena;
  struct fy_diag *diag;
  struct fy_parser *parser;
  struct fy_event *event; /* the current one */
  uint64_t line;          /* of the last token that has a place */
  uint64_t last_line;     /* of the text */
  nvtxa__intern intern;
  struct name *names; /* by id of `intern` */
  size_t name_capacity;
  size_t mapping_count;
  size_t alias_nodes; /* what the aliases so far stand for */
  size_t alias_bytes;
  char printed[NVTXA__QUOTED]; /* the first thing that libfyaml would have printed */
};

/* ---- errors ---- */

#define FAIL(reader, status_, line_, ...)  \
  nvtxa__fail((reader)->reterr, (status_), \
              &(nvtxa__where){.file = (reader)->file, .line = (line_)}, __VA_ARGS__)

static const char *quote_text(char buffer[NVTXA__QUOTED], nvtxa_text text) {
  return nvtxa__quote(buffer, text.data, text.length);
}

static void keep_printed(struct fy_diag *diag, void *user, const char *data, size_t length) {
  (void)diag;
  struct reader *reader = user;
  if (reader->printed[0] == '\0') {
    const char *end = memchr(data, '\n', length);
    nvtxa__quote(reader->printed, data, end == NULL ? length : (size_t)(end - data));
  }
}

static const struct fy_diag_error *first_found(struct reader *reader) {
  void *start = NULL;
  return fy_diag_errors_iterate(reader->diag, &start);
}

/* The parser has stopped, or has gone on where it should not: say what it found first. */
static nvtxa_status parser_error(struct reader *reader) {
  char quoted[NVTXA__QUOTED];
  const struct fy_diag_error *found = first_found(reader);
  if (found == NULL || found->msg == NULL) {
    return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, reader->line, "not valid YAML: %s",
                reader->printed[0] != '\0' ? reader->printed : "the parser gave up");
  }
  /* At the end of the text libfyaml counts a line that is not there. */
  uint64_t line = found->line < 1 ? 0 : (uint64_t)found->line;
  return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX,
              line > reader->last_line ? reader->last_line : line, "not valid YAML: %s",
              nvtxa__quote(quoted, found->msg, strlen(found->msg)));
}

/* ---- names: anchors and keys ---- */

static struct name *find_name(struct reader *reader, nvtxa_text text) {
  uint32_t id;
  size_t known = reader->intern.count;
  if (nvtxa__intern_add(&reader->intern, text.data, text.length, &id) != 0 ||
      nvtxa__reserve(&reader->names, &reader->name_capacity, (size_t)id + 1,
                     sizeof *reader->names) != 0) {
    return NULL;
  }
  if (id == known) {
    reader->names[id] = (struct name){0};
  }
  return &reader->names[id];
}

/* By then each mapping inside has had its turn, so the numbers do not mix. One look at each key. */
static nvtxa_status check_keys(struct reader *reader, const nvtxa__yaml_node *mapping) {
  char quoted[NVTXA__QUOTED];
  size_t number = ++reader->mapping_count;
  for (const nvtxa__yaml_item *item = mapping->items; item != NULL; item = item->next) {
    struct name *name = find_name(reader, item->key->text);
    if (name == NULL) {
      return nvtxa__out_of_memory(reader->reterr);
    }
    if (name->mapping == number) {
      quote_text(quoted, item->key->text);
      return nvtxa__fail(reader->reterr, NVTXA_ERROR_MANIFEST_SYNTAX,
                         &(nvtxa__where){
                             .file = reader->file,
                             .line = item->key->line,
                             .field = quoted,
                             .hint = "Remove one of the two.",
                         },
                         "duplicate key '%s', first on line %llu", quoted,
                         (unsigned long long)name->line);
    }
    name->mapping = number;
    name->line = item->key->line;
  }
  return NVTXA_OK;
}

/* ---- events ---- */

/* Go to the next event. There is always one after any but the last, or an error. */
static nvtxa_status advance(struct reader *reader) {
  fy_parser_event_free(reader->parser, reader->event);
  reader->event = fy_parser_parse(reader->parser);
  return reader->event == NULL ? parser_error(reader) : NVTXA_OK;
}

static void note_line(struct reader *reader, struct fy_token *token) {
  const struct fy_mark *mark = token == NULL ? NULL : fy_token_start_mark(token);
  if (mark != NULL && mark->line >= 0) {
    reader->line = (uint64_t)mark->line + 1;
  }
}

/* An absent token has the empty text; false if memory runs out. */
static bool token_text(struct fy_token *token, nvtxa_text *ret) {
  *ret = nvtxa__text("");
  if (token != NULL) {
    ret->data = fy_token_get_text(token, &ret->length);
  }
  return ret->data != NULL;
}

static nvtxa__yaml_node *new_node(struct reader *reader, nvtxa__yaml_type type) {
  nvtxa__yaml_node *node = nvtxa__arena_alloc(reader->arena, sizeof *node);
  if (node != NULL) {
    *node = (nvtxa__yaml_node){.type = type, .line = reader->line, .expanded_nodes = 1};
  }
  return node;
}

static nvtxa_status set_anchor(struct reader *reader, struct fy_token *anchor,
                               const nvtxa__yaml_node *node) {
  nvtxa_text text;
  if (anchor == NULL) {
    return NVTXA_OK;
  }
  struct name *name = token_text(anchor, &text) ? find_name(reader, text) : NULL;
  if (name == NULL) {
    return nvtxa__out_of_memory(reader->reterr);
  }
  name->anchored = node;
  return NVTXA_OK;
}

/* ---- tags ---- */

/* The name in the core schema's own tag of each type. */
static const char *const tag_names[] = {
    [NVTXA__YAML_NULL] = "null",   [NVTXA__YAML_BOOL] = "bool",  [NVTXA__YAML_INT] = "int",
    [NVTXA__YAML_FLOAT] = "float", [NVTXA__YAML_STRING] = "str", [NVTXA__YAML_SEQUENCE] = "seq",
    [NVTXA__YAML_MAPPING] = "map",
};

/* The core schema's type that a tag names; false for any other tag, which is as good as none. */
static bool core_type(nvtxa_text tag, nvtxa__yaml_type *ret) {
  static const char prefix[] = "tag:yaml.org,2002:";
  const size_t prefix_length = sizeof prefix - 1;
  if (tag.length < prefix_length || memcmp(tag.data, prefix, prefix_length) != 0) {
    return false;
  }
  nvtxa_text name = {tag.data + prefix_length, tag.length - prefix_length};
  for (size_t i = 0; i < NVTXA__COUNT(tag_names); i++) {
    if (nvtxa__text_is(name, tag_names[i])) {
      *ret = (nvtxa__yaml_type)i;
      return true;
    }
  }
  return false;
}

/* Give a node the type that its tag names, if it can have it. */
static nvtxa_status apply_tag(const struct reader *reader, struct fy_token *token,
                              nvtxa__yaml_node *node) {
  char quoted[NVTXA__QUOTED];
  nvtxa_text tag;
  nvtxa__yaml_type type;
  bool scalar = node->type < NVTXA__YAML_SEQUENCE;
  if (token == NULL) {
    return NVTXA_OK;
  }
  if (!token_text(token, &tag)) {
    return nvtxa__out_of_memory(reader->reterr);
  }
  if (nvtxa__text_is(tag, "!")) {
    node->type = scalar ? NVTXA__YAML_STRING : node->type;
    return NVTXA_OK;
  }
  if (!core_type(tag, &type)) {
    return NVTXA_OK;
  }
  if (scalar && !nvtxa__yaml_matches(type, node->text)) {
    return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, node->line, "tag !!%s on '%s'",
                tag_names[type], quote_text(quoted, node->text));
  }
  if (!scalar && type != node->type) {
    return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, node->line, "tag !!%s on %s", tag_names[type],
                nvtxa__yaml_type_name(node->type));
  }
  node->type = type;
  return NVTXA_OK;
}

/* ---- nodes ---- */

static nvtxa_status read_node(struct reader *reader, unsigned depth, const nvtxa__yaml_node **ret);

/* What libfyaml 0.7.12 misreads is refused: better no text than a wrong one. */

/* Two quotes, each written as two, in a row or with nothing but a line break between them: what
 * follows is dropped, or the break is kept. `i` is behind the opening quote. */
static const char *misread_single_quoted(const char *data, size_t length, size_t i) {
  while (i + 1 < length) {
    if (data[i] != '\'') {
      i++;
      continue;
    }
    if (data[i + 1] != '\'') {
      break; /* the closing quote */
    }
    i += 2;
    size_t next = i;
    bool broken = false;
    while (next < length && memchr(" \t\n", data[next], 3) != NULL) {
      broken = broken || data[next] == '\n';
      next++;
    }
    if ((next == i || broken) && next + 2 <= length && memcmp(data + next, "''", 2) == 0) {
      return "two quotes in a row inside single quotes";
    }
  }
  return NULL;
}

/* How many backslashes stand at the end of a line, spaces and tabs aside: *ret_end is where. */
static size_t count_backslashes(const char *data, size_t start, size_t end, size_t *ret_end) {
  size_t run = 0;
  while (end > start && (data[end - 1] == ' ' || data[end - 1] == '\t')) {
    end--;
  }
  *ret_end = end;
  while (end - run > start && data[end - run - 1] == '\\') {
    run++;
  }
  return run;
}

/* Escapes at the end of a line but for the one backslash that joins it to the next, and blank lines
 * after such a one: spaces and breaks get lost, or bytes come from nowhere. */
static const char *misread_double_quoted(const char *data, size_t length, size_t i) {
  size_t start = i;
  bool joined = false;
  while (i < length && data[i] != '"') {
    size_t next = data[i] == '\\' ? i + 2 : i + 1;
    for (; i < next && i < length; i++) {
      if (data[i] != '\n') {
        continue;
      }
      size_t end;
      size_t run = count_backslashes(data, start, i, &end);
      if ((run > 0 && end < i) || (run > 1 && run % 2 == 1) || (joined && end == start)) {
        return "an escape or a blank line at the end of a line inside double quotes";
      }
      joined = run % 2 == 1;
      start = i + 1;
    }
  }
  return NULL;
}

static nvtxa_status refuse_misread(const struct reader *reader, struct fy_token *token) {
  const struct fy_mark *mark = token == NULL ? NULL : fy_token_start_mark(token);
  enum fy_scalar_style style = token == NULL ? FYSS_PLAIN : fy_token_scalar_style(token);
  const char *what = NULL;
  if (mark != NULL && style == FYSS_SINGLE_QUOTED) {
    what = misread_single_quoted(reader->data, reader->length, mark->input_pos);
  } else if (mark != NULL && style == FYSS_DOUBLE_QUOTED) {
    what = misread_double_quoted(reader->data, reader->length, mark->input_pos);
  }
  return what == NULL ? NVTXA_OK
                      : nvtxa__fail(reader->reterr, NVTXA_ERROR_MANIFEST_SYNTAX,
                                    &(nvtxa__where){
                                        .file = reader->file,
                                        .line = reader->line,
                                        .hint = "Write the text in double quotes, on one line.",
                                    },
                                    "%s, which the YAML library misreads", what);
}

static nvtxa_status read_scalar(struct reader *reader, const nvtxa__yaml_node **ret) {
  struct fy_token *token = reader->event->scalar.value;
  nvtxa_text text;
  note_line(reader, token);
  nvtxa_status status = refuse_misread(reader, token);
  if (status != NVTXA_OK) {
    return status;
  }
  nvtxa__yaml_node *node = new_node(reader, NVTXA__YAML_STRING);
  if (node == NULL || !token_text(token, &text) ||
      (node->text.data = nvtxa__arena_copy(reader->arena, text.data, text.length)) == NULL) {
    return nvtxa__out_of_memory(reader->reterr);
  }
  node->text.length = text.length;
  node->expanded_bytes = text.length;
  if (token == NULL || fy_token_scalar_style(token) == FYSS_PLAIN) {
    node->type = nvtxa__yaml_resolve(node->text);
  }
  *ret = node;
  status = set_anchor(reader, reader->event->scalar.anchor, node);
  return status != NVTXA_OK ? status : apply_tag(reader, reader->event->scalar.tag, node);
}

/* Sizes are those of the expanded document, so a few nested aliases are found too large before
 * anything is expanded. */
static nvtxa_status read_alias(struct reader *reader, unsigned depth,
                               const nvtxa__yaml_node **ret) {
  char quoted[NVTXA__QUOTED];
  nvtxa_text text;
  note_line(reader, reader->event->alias.anchor);
  struct name *name =
      token_text(reader->event->alias.anchor, &text) ? find_name(reader, text) : NULL;
  if (name == NULL) {
    return nvtxa__out_of_memory(reader->reterr);
  }
  const nvtxa__yaml_node *node = name->anchored;
  if (node == NULL || node->open) {
    return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, reader->line,
                node == NULL ? "alias *%s without an anchor before it"
                             : "alias *%s inside the node that it stands for",
                quote_text(quoted, text));
  }
  reader->alias_nodes += node->expanded_nodes;
  reader->alias_bytes += node->expanded_bytes;
  if (reader->alias_nodes > NVTXA__YAML_ALIAS_LIMIT ||
      reader->alias_bytes > NVTXA__YAML_SIZE_LIMIT) {
    return FAIL(reader, NVTXA_ERROR_LIMIT, reader->line,
                "aliases that expand to more than %d nodes or %zu bytes", NVTXA__YAML_ALIAS_LIMIT,
                NVTXA__YAML_SIZE_LIMIT);
  }
  if (depth + node->height > NVTXA__YAML_DEPTH_LIMIT) {
    return FAIL(reader, NVTXA_ERROR_LIMIT, reader->line, "nested deeper than %d levels",
                NVTXA__YAML_DEPTH_LIMIT);
  }
  *ret = node;
  return NVTXA_OK;
}

static nvtxa_status check_key(const struct reader *reader, const nvtxa__yaml_node *key) {
  if (key->type >= NVTXA__YAML_SEQUENCE) {
    return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, key->line, "a key that is %s, not a scalar",
                nvtxa__yaml_type_name(key->type));
  }
  if (memchr(key->text.data, '\0', key->text.length) != NULL) {
    return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, key->line, "a key with a NUL character");
  }
  return NVTXA_OK;
}

/* Read an element or a pair, whose first event is the current one. */
static nvtxa_status read_item(struct reader *reader, bool mapping, unsigned depth,
                              nvtxa__yaml_item *item) {
  nvtxa_status status = NVTXA_OK;
  if (mapping) {
    status = read_node(reader, depth, &item->key);
    if (status == NVTXA_OK) {
      status = check_key(reader, item->key);
    }
    if (status == NVTXA_OK) {
      status = advance(reader);
    }
  }
  return status != NVTXA_OK ? status : read_node(reader, depth, &item->value);
}

static void add_size(nvtxa__yaml_node *collection, const nvtxa__yaml_node *part) {
  if (part != NULL) {
    collection->expanded_nodes += part->expanded_nodes;
    collection->expanded_bytes += part->expanded_bytes;
    if (collection->height <= part->height) {
      collection->height = part->height + 1;
    }
  }
}

static nvtxa_status read_items(struct reader *reader, unsigned depth, nvtxa__yaml_node *node) {
  bool mapping = node->type == NVTXA__YAML_MAPPING;
  nvtxa__yaml_item **end = &node->items;
  for (;;) {
    nvtxa_status status = advance(reader);
    if (status != NVTXA_OK || reader->event->type == FYET_SEQUENCE_END ||
        reader->event->type == FYET_MAPPING_END) {
      return status;
    }
    nvtxa__yaml_item *item = nvtxa__arena_alloc(reader->arena, sizeof *item);
    if (item == NULL) {
      return nvtxa__out_of_memory(reader->reterr);
    }
    *item = (nvtxa__yaml_item){0};
    status = read_item(reader, mapping, depth, item);
    if (status != NVTXA_OK) {
      return status;
    }
    *end = item;
    end = &item->next;
    node->item_count++;
    add_size(node, item->key);
    add_size(node, item->value);
  }
}

static nvtxa_status read_collection(struct reader *reader, unsigned depth,
                                    const nvtxa__yaml_node **ret) {
  const struct fy_event *event = reader->event;
  bool mapping = event->type == FYET_MAPPING_START;
  note_line(reader,
            mapping ? event->mapping_start.mapping_start : event->sequence_start.sequence_start);
  if (depth >= NVTXA__YAML_DEPTH_LIMIT) {
    return FAIL(reader, NVTXA_ERROR_LIMIT, reader->line, "nested deeper than %d levels",
                NVTXA__YAML_DEPTH_LIMIT);
  }
  nvtxa__yaml_node *node = new_node(reader, mapping ? NVTXA__YAML_MAPPING : NVTXA__YAML_SEQUENCE);
  if (node == NULL) {
    return nvtxa__out_of_memory(reader->reterr);
  }
  *ret = node;
  node->height = 1;
  node->open = true;
  nvtxa_status status = set_anchor(
      reader, mapping ? event->mapping_start.anchor : event->sequence_start.anchor, node);
  if (status == NVTXA_OK) {
    status =
        apply_tag(reader, mapping ? event->mapping_start.tag : event->sequence_start.tag, node);
  }
  if (status == NVTXA_OK) {
    status = read_items(reader, depth + 1, node);
  }
  node->open = false;
  return status == NVTXA_OK && mapping ? check_keys(reader, node) : status;
}

/* Read the node whose first event is the current one, inside `depth` collections. */
static nvtxa_status read_node(struct reader *reader, unsigned depth, const nvtxa__yaml_node **ret) {
  switch (reader->event->type) {
    case FYET_ALIAS:
      return read_alias(reader, depth, ret);
    case FYET_SCALAR:
      return read_scalar(reader, ret);
    case FYET_MAPPING_START:
    case FYET_SEQUENCE_START:
      return read_collection(reader, depth, ret);
    default:
      return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, reader->line, "not valid YAML: no content");
  }
}

/* ---- the document ---- */

/* The stream's start and the document's; the event is then the first of the document's node. */
static nvtxa_status start_document(struct reader *reader) {
  nvtxa_status status = NVTXA_OK;
  for (int i = 0; status == NVTXA_OK && i < 3; i++) {
    status = advance(reader);
    if (status == NVTXA_OK && reader->event->type == FYET_STREAM_END) {
      return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, 0,
                  "there is no YAML document, where a mapping is needed");
    }
  }
  return status;
}

/* The document's end and the stream's. */
static nvtxa_status end_document(struct reader *reader) {
  nvtxa_status status = advance(reader);
  if (status == NVTXA_OK) {
    status = advance(reader);
  }
  if (status == NVTXA_OK && reader->event->type != FYET_STREAM_END) {
    note_line(reader, reader->event->document_start.document_start);
    return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, reader->line,
                "a second YAML document begins, where there must be one");
  }
  /* libfyaml only warns of a directive that it does not know, even where it cuts a text short. */
  return status == NVTXA_OK && first_found(reader) != NULL ? parser_error(reader) : status;
}

static nvtxa_status read_document(struct reader *reader, const nvtxa__yaml_node **ret) {
  nvtxa_status status = start_document(reader);
  if (status == NVTXA_OK) {
    status = read_node(reader, 0, ret);
  }
  if (status == NVTXA_OK) {
    status = end_document(reader);
  }
  if (status == NVTXA_OK && *ret != NULL && (*ret)->type != NVTXA__YAML_MAPPING) {
    return FAIL(reader, NVTXA_ERROR_MANIFEST_SYNTAX, (*ret)->line,
                "the document is %s, not a mapping", nvtxa__yaml_type_name((*ret)->type));
  }
  return status;
}

/* libfyaml prints to standard error unless it has a diagnostic object that does not. */
static bool open_parser(struct reader *reader) {
  struct fy_diag_cfg diag_config;
  fy_diag_cfg_default(&diag_config);
  diag_config.fp = NULL;
  diag_config.output_fn = keep_printed;
  diag_config.user = reader;
  diag_config.level = FYET_ERROR;
  diag_config.colorize = false;
  diag_config.show_type = false;
  reader->diag = fy_diag_create(&diag_config);
  if (reader->diag == NULL) {
    return false;
  }
  fy_diag_set_collect_errors(reader->diag, true);
  struct fy_parse_cfg config = {
      /* Sloppy: a closing bracket may stand at the left margin, as other readers allow. */
      .flags = FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE | FYPCF_SLOPPY_FLOW_INDENTATION,
      .diag = reader->diag,
  };
  reader->parser = fy_parser_create(&config);
  return reader->parser != NULL &&
         fy_parser_set_string(reader->parser, reader->data, reader->length) == 0;
}

static void close_parser(struct reader *reader) {
  if (reader->parser != NULL) {
    fy_parser_event_free(reader->parser, reader->event);
    fy_parser_destroy(reader->parser);
  }
  fy_diag_destroy(reader->diag);
  nvtxa__intern_free(&reader->intern);
  free(reader->names);
}

/* A copy in which every line ends in LF, as YAML has it (5.4); libfyaml keeps some CR LF in quotes.
 */
static char *with_line_feeds(const char *data, size_t *length) {
  char *copy = malloc(*length + 1);
  size_t used = 0;
  for (size_t i = 0; copy != NULL && i < *length; i++) {
    bool crlf = data[i] == '\r' && i + 1 < *length && data[i + 1] == '\n';
    if (!crlf) {
      copy[used++] = data[i] == '\r' ? '\n' : data[i];
    }
  }
  *length = used;
  return copy;
}

nvtxa_status nvtxa__yaml_read(const char *data, size_t length, const char *file, nvtxa__yaml *ret,
                              nvtxa_error **reterr) {
  nvtxa__arena arena = {0};
  struct reader reader = {.file = file, .reterr = reterr, .arena = &arena};
  const nvtxa__yaml_node *root = NULL;
  nvtxa_status status = nvtxa__yaml_check_text(data, length, file, &reader.last_line, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  char *text = with_line_feeds(data, &length);
  reader.data = text;
  reader.length = length;
  status = text != NULL && open_parser(&reader) ? read_document(&reader, &root)
                                                : nvtxa__out_of_memory(reterr);
  close_parser(&reader);
  free(text);
  if (status != NVTXA_OK) {
    nvtxa__arena_free(&arena);
    return status;
  }
  *ret = (nvtxa__yaml){.root = root, .arena = arena};
  return NVTXA_OK;
}

void nvtxa__yaml_free(nvtxa__yaml *yaml) {
  nvtxa__arena_free(&yaml->arena);
}

const nvtxa__yaml_node *nvtxa__yaml_get(const nvtxa__yaml_node *mapping, const char *key) {
  for (const nvtxa__yaml_item *item = mapping->items; item != NULL; item = item->next) {
    if (nvtxa__text_is(item->key->text, key)) {
      return item->value;
    }
  }
  return NULL;
}
