/*
 * manifest.yaml as an object: the keys that the analysis uses, taken out of the YAML tree and held
 * against what they have to be. Other keys may be there and are not looked at.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include <nvtxa/manifest.h>

#include "manifest-internal.h"

struct nvtxa_manifest {
  nvtxa__refcount ref;
  nvtxa__arena arena; /* holds the texts */
  nvtxa_text capture_range;
  nvtxa_text profile_name;
  nvtxa_text run_id;
  nvtxa_text device;
  nvtxa_text git_commit;
  uint64_t record_count;
  bool has_iterations;
  int64_t iterations;
  nvtxa_text workload_json;
  nvtxa_text cuda_json;
  char sha256[NVTXA__SHA256_HEX];
  nvtxa__warnings warnings;
};

/* What is taken from where, and where complaints go. */
struct reading {
  nvtxa_manifest *manifest;
  const nvtxa__yaml_node *root;
  const char *file;
  nvtxa_error **reterr;
};

static nvtxa_status copy_text(const struct reading *reading, nvtxa_text text, nvtxa_text *ret) {
  char *copy = nvtxa__arena_copy(&reading->manifest->arena, text.data, text.length);
  if (copy == NULL) {
    return nvtxa__out_of_memory(reading->reterr);
  }
  *ret = (nvtxa_text){copy, text.length};
  return NVTXA_OK;
}

/* A node for a message: "a sequence", "null", "an integer '12'". */
#define DESCRIBED (NVTXA__QUOTED + 40)
static const char *describe(char buffer[DESCRIBED], const nvtxa__yaml_node *node) {
  char quoted[NVTXA__QUOTED];
  const char *name = nvtxa__yaml_type_name(node->type);
  if (node->type == NVTXA__YAML_NULL || node->type >= NVTXA__YAML_SEQUENCE) {
    snprintf(buffer, DESCRIBED, "%s", name);
  } else {
    snprintf(buffer, DESCRIBED, "%s, '%s'", name,
             nvtxa__quote(quoted, node->text.data, node->text.length));
  }
  return buffer;
}

static nvtxa_status read_capture_range(const struct reading *reading) {
  char described[DESCRIBED];
  const nvtxa__yaml_node *node = nvtxa__yaml_get(reading->root, "capture_range");
  nvtxa__where where = {.file = reading->file, .field = "capture_range"};
  if (node == NULL) {
    where.hint =
        "Add capture_range: the name of the NVTX range that encloses the measured iterations.";
    return nvtxa__fail(reading->reterr, NVTXA_ERROR_MANIFEST_VALUE, &where,
                       "capture_range is missing");
  }
  if (node->type != NVTXA__YAML_STRING) {
    where.line = node->line;
    where.hint = node->type == NVTXA__YAML_NULL || node->type >= NVTXA__YAML_SEQUENCE
                     ? "Give the name of the NVTX range that encloses the measured iterations."
                     : "If that is the name of the range, put it in quotes.";
    return nvtxa__fail(reading->reterr, NVTXA_ERROR_MANIFEST_VALUE, &where,
                       "capture_range must be a string, but is %s", describe(described, node));
  }
  return copy_text(reading, node->text, &reading->manifest->capture_range);
}

/* Identity is text, whatever it looks like: a commit 12e4567 is no number. */
static nvtxa_status read_identity(const struct reading *reading, const char *key, nvtxa_text *ret) {
  char described[DESCRIBED];
  const nvtxa__yaml_node *node = nvtxa__yaml_get(reading->root, key);
  if (node == NULL || node->type == NVTXA__YAML_NULL) {
    return NVTXA_OK;
  }
  if (node->type >= NVTXA__YAML_SEQUENCE) {
    return nvtxa__fail(reading->reterr, NVTXA_ERROR_MANIFEST_VALUE,
                       &(nvtxa__where){.file = reading->file, .line = node->line, .field = key},
                       "%s must be text or null, but is %s", key, describe(described, node));
  }
  return copy_text(reading, node->text, ret);
}

static nvtxa_status read_record_ids(const struct reading *reading) {
  char described[DESCRIBED];
  const nvtxa__yaml_node *node = nvtxa__yaml_get(reading->root, "record_ids");
  if (node == NULL || node->type == NVTXA__YAML_NULL) {
    return NVTXA_OK;
  }
  if (node->type == NVTXA__YAML_SEQUENCE) {
    reading->manifest->record_count = node->item_count;
    return NVTXA_OK;
  }
  return nvtxa__warn(&reading->manifest->warnings, NVTXA_WARNING_MANIFEST_RECORD_IDS,
                     "record_ids in line %llu of the manifest is %s, not a sequence, so "
                     "record_count is 0.",
                     (unsigned long long)node->line, describe(described, node)) == 0
             ? NVTXA_OK
             : nvtxa__out_of_memory(reading->reterr);
}

static nvtxa_status read_iterations(const struct reading *reading,
                                    const nvtxa__yaml_node *workload) {
  char described[DESCRIBED];
  nvtxa_manifest *manifest = reading->manifest;
  const nvtxa__yaml_node *node = nvtxa__yaml_get(workload, "iterations");
  if (node == NULL) {
    return NVTXA_OK;
  }
  if (node->type == NVTXA__YAML_INT && nvtxa__yaml_int64(node->text, &manifest->iterations) &&
      manifest->iterations >= 0) {
    manifest->has_iterations = true;
    return NVTXA_OK;
  }
  return nvtxa__warn(&manifest->warnings, NVTXA_WARNING_MANIFEST_ITERATIONS,
                     "workload.iterations in line %llu of the manifest is %s where a count from "
                     "0 to 9223372036854775807 belongs, so the set of iterations was not checked.",
                     (unsigned long long)node->line, describe(described, node)) == 0
             ? NVTXA_OK
             : nvtxa__out_of_memory(reading->reterr);
}

/* A mapping as JSON text; {} for anything else. */
static nvtxa_status read_mapping(const struct reading *reading, const nvtxa__yaml_node *node,
                                 nvtxa_text *ret) {
  nvtxa__buffer json = {0};
  nvtxa_status status;
  if (node == NULL || node->type != NVTXA__YAML_MAPPING) {
    *ret = nvtxa__text("{}");
    return NVTXA_OK;
  }
  status = nvtxa__yaml_to_json(node, &json) == 0
               ? copy_text(reading, (nvtxa_text){json.data, json.length}, ret)
               : nvtxa__out_of_memory(reading->reterr);
  nvtxa__buffer_free(&json);
  return status;
}

static nvtxa_status read_workload(const struct reading *reading) {
  const nvtxa__yaml_node *node = nvtxa__yaml_get(reading->root, "workload");
  nvtxa_status status = read_mapping(reading, node, &reading->manifest->workload_json);
  if (status != NVTXA_OK || node == NULL || node->type != NVTXA__YAML_MAPPING) {
    return status;
  }
  return read_iterations(reading, node);
}

static nvtxa_status read_keys(const struct reading *reading) {
  nvtxa_manifest *manifest = reading->manifest;
  const struct {
    const char *key;
    nvtxa_text *text;
  } identity[] = {
      {"profile_name", &manifest->profile_name},
      {"run_id", &manifest->run_id},
      {"device", &manifest->device},
      {"git_commit", &manifest->git_commit},
  };
  nvtxa_status status = read_capture_range(reading);
  for (size_t i = 0; status == NVTXA_OK && i < NVTXA__COUNT(identity); i++) {
    status = read_identity(reading, identity[i].key, identity[i].text);
  }
  if (status == NVTXA_OK) {
    status = read_workload(reading);
  }
  if (status == NVTXA_OK) {
    status = read_mapping(reading, nvtxa__yaml_get(reading->root, "cuda"), &manifest->cuda_json);
  }
  return status == NVTXA_OK ? read_record_ids(reading) : status;
}

static nvtxa_status read_text(const char *data, size_t length, const char *file,
                              nvtxa_manifest **ret_manifest, nvtxa_error **reterr) {
  nvtxa__yaml yaml;
  nvtxa_status status = nvtxa__yaml_read(data, length, file, &yaml, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  nvtxa_manifest *manifest = calloc(1, sizeof *manifest);
  if (manifest == NULL) {
    status = nvtxa__out_of_memory(reterr);
  } else {
    nvtxa__ref_init(&manifest->ref);
    nvtxa__sha256(data, length, manifest->sha256);
    status = read_keys(&(struct reading){manifest, yaml.root, file, reterr});
  }
  nvtxa__yaml_free(&yaml);
  if (status != NVTXA_OK) {
    nvtxa_manifest_unref(manifest);
    return status;
  }
  *ret_manifest = manifest;
  return NVTXA_OK;
}

nvtxa_status nvtxa_manifest_read_buffer(const char *data, size_t length,
                                        nvtxa_manifest **ret_manifest, nvtxa_error **reterr) {
  if ((data == NULL && length > 0) || ret_manifest == NULL) {
    return nvtxa__invalid(reterr, "NULL");
  }
  return read_text(length == 0 ? "" : data, length, NULL, ret_manifest, reterr);
}

/* Read the file's bytes; one that is not there has a status of its own. */
static nvtxa_status load(const char *path, char **ret_data, size_t *ret_length,
                         nvtxa_error **reterr) {
  nvtxa_error *error = NULL;
  nvtxa_status status =
      nvtxa__file_read(AT_FDCWD, path, path, NVTXA__YAML_SIZE_LIMIT, ret_data, ret_length, &error);
  if (status == NVTXA_OK) {
    return status;
  }
  int errnum = nvtxa_error_errno(error);
  if (errnum == ENOENT || errnum == ENOTDIR) {
    return nvtxa__fail(reterr, NVTXA_ERROR_MANIFEST_MISSING,
                       &(nvtxa__where){
                           .file = path,
                           .errnum = errnum,
                           .hint = "A run directory holds manifest.yaml beside trace.nsys-rep.",
                           .cause = error,
                       },
                       "there is no manifest");
  }
  if (reterr == NULL) {
    nvtxa_error_free(error);
  } else {
    *reterr = error;
  }
  return status;
}

nvtxa_status nvtxa_manifest_read_file(const char *path, nvtxa_manifest **ret_manifest,
                                      nvtxa_error **reterr) {
  char *data;
  size_t length;
  if (path == NULL || ret_manifest == NULL) {
    return nvtxa__invalid(reterr, "NULL");
  }
  nvtxa_status status = load(path, &data, &length, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  status = read_text(data, length, path, ret_manifest, reterr);
  free(data);
  return status;
}

nvtxa_manifest *nvtxa_manifest_ref(const nvtxa_manifest *manifest) {
  nvtxa_manifest *counted = (nvtxa_manifest *)manifest;
  if (counted != NULL) {
    nvtxa__ref_take(&counted->ref);
  }
  return counted;
}

void nvtxa_manifest_unref(nvtxa_manifest *manifest) {
  if (manifest != NULL && nvtxa__ref_drop(&manifest->ref)) {
    nvtxa__warnings_free(&manifest->warnings);
    nvtxa__arena_free(&manifest->arena);
    free(manifest);
  }
}

nvtxa_text nvtxa_manifest_capture_range(const nvtxa_manifest *manifest) {
  return manifest->capture_range;
}

nvtxa_text nvtxa_manifest_profile_name(const nvtxa_manifest *manifest) {
  return manifest->profile_name;
}

nvtxa_text nvtxa_manifest_run_id(const nvtxa_manifest *manifest) {
  return manifest->run_id;
}

nvtxa_text nvtxa_manifest_device(const nvtxa_manifest *manifest) {
  return manifest->device;
}

nvtxa_text nvtxa_manifest_git_commit(const nvtxa_manifest *manifest) {
  return manifest->git_commit;
}

uint64_t nvtxa_manifest_record_count(const nvtxa_manifest *manifest) {
  return manifest->record_count;
}

bool nvtxa_manifest_iterations(const nvtxa_manifest *manifest, int64_t *ret_iterations) {
  if (manifest->has_iterations && ret_iterations != NULL) {
    *ret_iterations = manifest->iterations;
  }
  return manifest->has_iterations;
}

nvtxa_text nvtxa_manifest_workload_json(const nvtxa_manifest *manifest) {
  return manifest->workload_json;
}

nvtxa_text nvtxa_manifest_cuda_json(const nvtxa_manifest *manifest) {
  return manifest->cuda_json;
}

nvtxa_text nvtxa_manifest_sha256(const nvtxa_manifest *manifest) {
  return nvtxa__text(manifest->sha256);
}

size_t nvtxa_manifest_warning_count(const nvtxa_manifest *manifest) {
  return manifest->warnings.count;
}

nvtxa_warning nvtxa_manifest_warning(const nvtxa_manifest *manifest, size_t index) {
  return manifest->warnings.items[index];
}
