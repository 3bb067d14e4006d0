/*
 * export.json: what the reports in stats/ were made from, and by what. Written with an export; read
 * where reports are taken as they are, and then believed in nothing that was not checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export-internal.h"

enum { SCHEMA_VERSION = 1, SIZE_LIMIT = 1 << 26, TEXT_LIMIT = 4096 };

/* ---- writing ---- */

/* JSON text is UTF-8, a path need not be: what is not is replaced. NULL when out of memory. */
static json_t *text_json(nvtxa_text text) {
  if (text.data == NULL) {
    return json_null();
  }
  char *clean = malloc(3 * text.length + 1);
  if (clean == NULL) {
    return NULL;
  }
  size_t length = nvtxa__utf8_replace(clean, text.data, text.length);
  json_t *value = json_stringn(clean, length);
  free(clean);
  return value;
}

static json_t *reports_json(const nvtxa__provenance *provenance) {
  json_t *reports = json_object();
  for (size_t report = 0; report < provenance->report_count; report++) {
    json_t *one = json_pack("{s:o, s:I}", "file", text_json(provenance->reports[report].file),
                            "size_bytes", (json_int_t)provenance->reports[report].size_bytes);
    const char *name = nvtxa__report_name((nvtxa_report)report, NVTXA__NAMING_NEW);
    if (json_object_set_new(reports, name, one) != 0) {
      json_decref(reports);
      return NULL;
    }
  }
  return reports;
}

static json_t *trace_json(const nvtxa__trace *trace) {
  return trace->size_bytes < 0 ? json_null()
                               : json_pack("{s:s, s:I, s:I, s:s}", "path", NVTXA__TRACE_FILE, /**/
                                           "size_bytes", (json_int_t)trace->size_bytes,       /**/
                                           "modified_ns", (json_int_t)trace->modified_ns,     /**/
                                           "sha256", trace->sha256);
}

static json_t *unmeasured_json(const nvtxa__provenance *provenance) {
  json_t *ids = json_array();
  for (size_t i = 0; i < provenance->unmeasured_count; i++) {
    if (json_array_append_new(ids, json_integer(provenance->unmeasured[i])) != 0) {
      json_decref(ids);
      return NULL;
    }
  }
  return ids;
}

static json_t *provenance_json(const nvtxa__provenance *provenance) {
  return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",                  /**/
                   "schema_version", SCHEMA_VERSION,                                 /**/
                   "engine", nvtxa_engine_name(provenance->engine),                  /**/
                   "nsys_version", text_json(provenance->nsys_version),              /**/
                   "nsys_path", text_json(provenance->nsys_path),                    /**/
                   "export_schema_version", text_json(provenance->schema_version),   /**/
                   "export_product_version", text_json(provenance->product_version), /**/
                   "trace", trace_json(&provenance->trace),                          /**/
                   "unmeasured_range_ids", unmeasured_json(provenance),              /**/
                   "reports", reports_json(provenance));
}

struct production {
  const nvtxa__provenance *provenance;
  const char *shown_path;
};

static nvtxa_status produce(void *user, nvtxa__write_fn sink, void *sink_user,
                            nvtxa_error **reterr) {
  const struct production *production = user;
  json_t *root = provenance_json(production->provenance);
  char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS);
  json_decref(root);
  if (text == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  int errnum = sink(sink_user, text, strlen(text));
  errnum = errnum != 0 ? errnum : sink(sink_user, "\n", 1);
  free(text);
  return errnum == 0
             ? NVTXA_OK
             : nvtxa__fail(reterr, NVTXA_ERROR_IO,
                           &(nvtxa__where){.file = production->shown_path, .errnum = errnum},
                           "cannot write this file");
}

nvtxa_status nvtxa__provenance_write(int directory, const char *shown_path,
                                     const nvtxa__provenance *provenance, nvtxa_error **reterr) {
  struct production production = {provenance, shown_path};
  return nvtxa__file_replace(directory, NVTXA__PROVENANCE_FILE, shown_path, true, produce,
                             &production, reterr);
}

/* ---- reading ---- */

struct reading {
  nvtxa__arena *arena;
  char *reason; /* NVTXA__REASON bytes; "" as long as all is well */
  bool out_of_memory;
};

static bool wrong(struct reading *reading, const char *key, const char *what) {
  snprintf(reading->reason, NVTXA__REASON, "is damaged: '%s' %s", key, what);
  return false;
}

/* One line of text without control characters, which would reach a terminal. */
static bool take_text(struct reading *reading, const json_t *value, const char *key,
                      nvtxa_text *ret) {
  if (!json_is_string(value)) {
    return wrong(reading, key, "is not a string");
  }
  const char *data = json_string_value(value);
  size_t length = json_string_length(value);
  bool control = false;
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)data[i];
    control = control || byte < 0x20 || byte == 0x7F ||
              (byte == 0xC2 && (unsigned char)data[i + 1] < 0xA0);
  }
  if (control || length == 0 || length > TEXT_LIMIT) {
    return wrong(reading, key, "is not a line of text");
  }
  *ret = (nvtxa_text){nvtxa__arena_copy(reading->arena, data, length), length};
  reading->out_of_memory = ret->data == NULL;
  return !reading->out_of_memory;
}

static bool take_integer(struct reading *reading, const json_t *value, const char *key,
                         int64_t minimum, int64_t *ret) {
  if (!json_is_integer(value) || json_integer_value(value) < minimum) {
    return wrong(reading, key, "is not such a number");
  }
  *ret = json_integer_value(value);
  return true;
}

static bool take_trace(struct reading *reading, const json_t *value, nvtxa__trace *trace) {
  nvtxa_text digest;
  if (json_is_null(value)) {
    trace->size_bytes = -1;
    return true;
  }
  if (!json_is_object(value)) {
    return wrong(reading, "trace", "is not an object");
  }
  if (!take_integer(reading, json_object_get(value, "size_bytes"), "trace.size_bytes", 0,
                    &trace->size_bytes) ||
      !take_integer(reading, json_object_get(value, "modified_ns"), "trace.modified_ns", INT64_MIN,
                    &trace->modified_ns) ||
      !take_text(reading, json_object_get(value, "sha256"), "trace.sha256", &digest)) {
    return false;
  }
  if (digest.length != NVTXA__SHA256_HEX - 1 ||
      strspn(digest.data, "0123456789abcdef") != digest.length) {
    return wrong(reading, "trace.sha256", "is not 64 hexadecimal digits");
  }
  memcpy(trace->sha256, digest.data, NVTXA__SHA256_HEX);
  return true;
}

static bool take_report(struct reading *reading, const json_t *reports, nvtxa_report report,
                        nvtxa__provenance *provenance) {
  const char *name = nvtxa__report_name(report, NVTXA__NAMING_NEW);
  const json_t *value = json_object_get(reports, name);
  nvtxa_text *file = &provenance->reports[report].file;
  char key[64];
  if (!json_is_object(value)) {
    snprintf(key, sizeof key, "reports.%s", name);
    return wrong(reading, key, "is not an object");
  }
  snprintf(key, sizeof key, "reports.%s.size_bytes", name);
  if (!take_integer(reading, json_object_get(value, "size_bytes"), key, 0,
                    &provenance->reports[report].size_bytes)) {
    return false;
  }
  snprintf(key, sizeof key, "reports.%s.file", name);
  if (!take_text(reading, json_object_get(value, "file"), key, file)) {
    return false;
  }
  /* A received run directory must not lead out of its stats/. */
  if (strchr(file->data, '/') != NULL || strcmp(file->data, ".") == 0 ||
      strcmp(file->data, "..") == 0) {
    return wrong(reading, key, "is not the name of a file in stats/");
  }
  return true;
}

/* Those of ranges, and those of GPU work where there are entries for them. */
static bool take_reports(struct reading *reading, const json_t *reports,
                         nvtxa__provenance *provenance) {
  provenance->report_count = NVTXA__RANGE_REPORTS;
  for (int report = NVTXA__RANGE_REPORTS; report < NVTXA__EXPORTED_REPORTS; report++) {
    const char *name = nvtxa__report_name((nvtxa_report)report, NVTXA__NAMING_NEW);
    if (json_object_get(reports, name) != NULL) {
      provenance->report_count = NVTXA__EXPORTED_REPORTS;
    }
  }
  for (size_t report = 0; report < provenance->report_count; report++) {
    if (!take_report(reading, reports, (nvtxa_report)report, provenance)) {
      return false;
    }
  }
  return true;
}

/* Text or null. A key that is not there counts as null. */
static bool take_text_or_null(struct reading *reading, const json_t *root, const char *key,
                              nvtxa_text *ret) {
  const json_t *value = json_object_get(root, key);
  return value == NULL || json_is_null(value) || take_text(reading, value, key, ret);
}

static bool take_engine(struct reading *reading, const json_t *value, nvtxa_engine *ret) {
  static const nvtxa_engine engines[] = {NVTXA_ENGINE_NSYS, NVTXA_ENGINE_NATIVE};
  *ret = NVTXA_ENGINE_NSYS;
  for (size_t i = 0; i < NVTXA__COUNT(engines) && value != NULL; i++) {
    const char *name = nvtxa_engine_name(engines[i]);
    if (json_is_string(value) && strcmp(json_string_value(value), name) == 0) {
      *ret = engines[i];
      return true;
    }
  }
  return value == NULL || wrong(reading, "engine", "is neither \"nsys\" nor \"native\"");
}

static bool take_unmeasured(struct reading *reading, const json_t *value,
                            nvtxa__provenance *provenance) {
  size_t count = json_array_size(value); /* 0 for none at all */
  if (value != NULL && !json_is_array(value)) {
    return wrong(reading, "unmeasured_range_ids", "is not an array");
  }
  int64_t *ids = nvtxa__arena_alloc(reading->arena, (count + 1) * sizeof *ids);
  if (ids == NULL) {
    reading->out_of_memory = true;
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    if (!take_integer(reading, json_array_get(value, i), "unmeasured_range_ids", INT64_MIN,
                      &ids[i])) {
      return false;
    }
  }
  provenance->unmeasured = ids;
  provenance->unmeasured_count = count;
  return true;
}

static bool take_provenance(struct reading *reading, const json_t *root,
                            nvtxa__provenance *provenance) {
  int64_t schema_version;
  const json_t *version = json_object_get(root, "nsys_version");
  if (!json_is_object(root)) {
    return wrong(reading, "the document", "is not an object");
  }
  if (!take_integer(reading, json_object_get(root, "schema_version"), "schema_version", 1,
                    &schema_version)) {
    return false;
  }
  if (schema_version != SCHEMA_VERSION) {
    snprintf(reading->reason, NVTXA__REASON,
             "has schema_version %lld, which this version does not know",
             (long long)schema_version);
    return false;
  }
  if (!json_is_null(version) &&
      !take_text(reading, version, "nsys_version", &provenance->nsys_version)) {
    return false;
  }
  /* Where nsys was is for a person to read; nothing here depends on it. */
  const json_t *nsys_path = json_object_get(root, "nsys_path");
  if (!json_is_string(nsys_path) && !json_is_null(nsys_path)) {
    return wrong(reading, "nsys_path", "is not a string");
  }
  if (!take_unmeasured(reading, json_object_get(root, "unmeasured_range_ids"), provenance) ||
      !take_engine(reading, json_object_get(root, "engine"), &provenance->engine) ||
      !take_text_or_null(reading, root, "export_schema_version", &provenance->schema_version) ||
      !take_text_or_null(reading, root, "export_product_version", &provenance->product_version)) {
    return false;
  }
  return take_trace(reading, json_object_get(root, "trace"), &provenance->trace) &&
         take_reports(reading, json_object_get(root, "reports"), provenance);
}

/* The file's bytes, or a reason why there are none; false is an error that the caller cannot help.
 */
static bool load(int directory, const char *shown_path, char **ret_data, size_t *ret_length,
                 char reason[NVTXA__REASON], nvtxa_error **reterr) {
  struct stat info;
  nvtxa_error *error = NULL;
  if (fstatat(directory, NVTXA__PROVENANCE_FILE, &info, 0) != 0 && errno == ENOENT) {
    snprintf(reason, NVTXA__REASON, "is absent");
    return true;
  }
  nvtxa_status status = nvtxa__file_read(directory, NVTXA__PROVENANCE_FILE, shown_path, SIZE_LIMIT,
                                         ret_data, ret_length, &error);
  if (status == NVTXA_ERROR_OUT_OF_MEMORY) {
    nvtxa__out_of_memory(reterr);
    return false;
  }
  if (status != NVTXA_OK) {
    snprintf(reason, NVTXA__REASON, "cannot be used: %s", nvtxa_error_message(error));
  }
  nvtxa_error_free(error);
  return true;
}

nvtxa_status nvtxa__provenance_read(int directory, const char *shown_path, nvtxa__arena *arena,
                                    nvtxa__provenance *provenance, bool *ret_found,
                                    char reason[NVTXA__REASON], nvtxa_error **reterr) {
  struct reading reading = {.arena = arena, .reason = reason};
  json_error_t where;
  char *data = NULL;
  size_t length = 0;
  reason[0] = '\0';
  *ret_found = false;
  *provenance = (nvtxa__provenance){0};
  if (!load(directory, shown_path, &data, &length, reason, reterr)) {
    return NVTXA_ERROR_OUT_OF_MEMORY;
  }
  if (data == NULL) {
    return NVTXA_OK;
  }
  json_t *root = json_loadb(data, length, JSON_REJECT_DUPLICATES, &where);
  free(data);
  if (root == NULL && json_error_code(&where) == json_error_out_of_memory) {
    return nvtxa__out_of_memory(reterr);
  }
  if (root == NULL) {
    /* Not jansson's own words: they quote the content, which is anybody's. */
    snprintf(reason, NVTXA__REASON, "is damaged: no valid JSON in line %d", where.line);
    return NVTXA_OK;
  }
  *ret_found = take_provenance(&reading, root, provenance);
  json_decref(root);
  if (!*ret_found) {
    *provenance = (nvtxa__provenance){0};
  }
  return reading.out_of_memory ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}
