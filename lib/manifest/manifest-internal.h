/*
 * Inside the manifest module: the YAML text (yaml-text.c) as a tree of nodes (yaml.c), what its
 * scalars mean (core-schema.c), its form as JSON text (yaml-json.c), and the way back to YAML text
 * (yaml-emit.c). manifest.c is a manifest that was read, draft.c one that is being made.
 */
#ifndef NVTXA_MANIFEST_INTERNAL_H
#define NVTXA_MANIFEST_INTERNAL_H

#include <nvtxa/manifest.h>

#include "base/base-internal.h"

#define NVTXA__YAML_SIZE_LIMIT  ((size_t)16 << 20) /* bytes of a document, or of aliased text */
#define NVTXA__YAML_DEPTH_LIMIT 64                 /* collections around a node */
#define NVTXA__YAML_ALIAS_LIMIT 100000             /* nodes that the aliases stand for, in all */

/* The types of the core schema. */
typedef enum nvtxa__yaml_type {
  NVTXA__YAML_NULL,
  NVTXA__YAML_BOOL,
  NVTXA__YAML_INT,
  NVTXA__YAML_FLOAT,
  NVTXA__YAML_STRING,
  NVTXA__YAML_SEQUENCE,
  NVTXA__YAML_MAPPING
} nvtxa__yaml_type;

typedef struct nvtxa__yaml_node nvtxa__yaml_node;

/* An element of a sequence, or a pair of a mapping. */
typedef struct nvtxa__yaml_item {
  const nvtxa__yaml_node *key; /* a scalar; NULL in a sequence */
  const nvtxa__yaml_node *value;
  struct nvtxa__yaml_item *next;
} nvtxa__yaml_item;

/* A node. An alias is the node it stands for, so nodes may be shared; they never form a cycle. */
struct nvtxa__yaml_node {
  nvtxa__yaml_type type;
  uint64_t line;
  nvtxa_text text;         /* of a scalar, whatever its type: as written; NUL-terminated */
  nvtxa__yaml_item *items; /* of a collection */
  size_t item_count;
  /* With every alias expanded, this node included. A scalar has height 0. */
  size_t expanded_nodes;
  size_t expanded_bytes;
  unsigned height;
  bool open; /* only while its content is being read */
};

/* ---- core-schema.c ---- */

/* The type of a plain scalar without a tag. */
nvtxa__yaml_type nvtxa__yaml_resolve(nvtxa_text text);

/* Whether the text is a form of `type`, a scalar type. Any text is a string; decimal integers are
 * floats too. */
bool nvtxa__yaml_matches(nvtxa__yaml_type type, nvtxa_text text);

/* The value of a text that is an integer; false where it does not fit. */
bool nvtxa__yaml_int64(nvtxa_text text, int64_t *ret);

/* The value of a NUL-terminated text that is a float; maybe not finite. Needs the C locale. */
double nvtxa__yaml_double(nvtxa_text text);

/* The type in words, with its article: "an integer". */
const char *nvtxa__yaml_type_name(nvtxa__yaml_type type);

/* ---- yaml-text.c ---- */

/* Whether the text may be given to libfyaml. *ret_lines gets the number of its lines. */
nvtxa_status nvtxa__yaml_check_text(const char *data, size_t length, const char *file,
                                    uint64_t *ret_lines, nvtxa_error **reterr);

/* ---- yaml.c ---- */

typedef struct nvtxa__yaml {
  const nvtxa__yaml_node *root; /* a mapping */
  nvtxa__arena arena;
} nvtxa__yaml;

/* Read the one document of a text. `file` is for errors and may be NULL. On failure there is
 * nothing to free. */
nvtxa_status nvtxa__yaml_read(const char *data, size_t length, const char *file, nvtxa__yaml *ret,
                              nvtxa_error **reterr);
void nvtxa__yaml_free(nvtxa__yaml *yaml);

/* The value of a key, or NULL. */
const nvtxa__yaml_node *nvtxa__yaml_get(const nvtxa__yaml_node *mapping, const char *key);

/* ---- yaml-json.c ---- */

/* Add a node to `ret` as compact JSON with sorted keys. Only an allocation can fail: 0 or -1. */
int nvtxa__yaml_to_json(const nvtxa__yaml_node *node, nvtxa__buffer *ret);

/* ---- yaml-emit.c ---- */

/* Add a mapping to `ret` as a YAML document. Only an allocation can fail: 0 or -1. */
int nvtxa__yaml_emit(const nvtxa__yaml_node *root, nvtxa__buffer *ret);

/* ---- draft.c ---- */

/* Whether nothing is said under a key of the root. */
bool nvtxa__draft_lacks(const nvtxa_manifest_draft *draft, const char *key);

/* Set a key to a text from the system; bytes that are not UTF-8 are replaced. */
nvtxa_status nvtxa__draft_set_bytes(nvtxa_manifest_draft *draft, const char *key, const char *bytes,
                                    nvtxa_error **reterr);

/* Write it over `name` in an open directory, if it reads back the same. */
nvtxa_status nvtxa__draft_write(const nvtxa_manifest_draft *draft, int directory, const char *name,
                                const char *shown_path, nvtxa_error **reterr);

#endif
