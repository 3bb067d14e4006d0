/*
 * analysis.json, schema version 2: which key holds what. The keys of each object are written in
 * byte order, and the groups one by one, so that nothing of the document is held in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "json-internal.h"

struct nvtxa_json {
  nvtxa__refcount ref;
  const nvtxa_analysis *analysis;
  nvtxa_hooks hooks;   /* a copy */
  size_t kernel_limit; /* how many kernels a scope or iteration names */
};

enum { MOST_KERNELS = 10 }; /* unless the caller wants another number */

static void put_summary(nvtxa__json_writer *writer, const char *key, const nvtxa_summary *summary,
                        const nvtxa_percentiles *percentiles) {
  nvtxa__json_key(writer, key);
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "maximum_ns", integer, summary->maximum_ns);
  NVTXA__PUT(writer, "mean_ns", real, summary->mean_ns);
  NVTXA__PUT(writer, "median_ns", real, summary->median_ns);
  NVTXA__PUT(writer, "minimum_ns", integer, summary->minimum_ns);
  NVTXA__PUT(writer, "p50_ns", real, percentiles->p50_ns);
  NVTXA__PUT(writer, "p90_ns", real, percentiles->p90_ns);
  NVTXA__PUT(writer, "p95_ns", real, percentiles->p95_ns);
  NVTXA__PUT(writer, "p99_ns", real, percentiles->p99_ns);
  NVTXA__PUT(writer, "stddev_ns", real, summary->stddev_ns);
  NVTXA__PUT(writer, "total_ns", integer, summary->total_ns);
  nvtxa__json_close(writer, '}');
}

/* ---- groups ---- */

typedef nvtxa_text (*path_fn)(const nvtxa_analysis *analysis, size_t position, size_t depth);

static void put_path(nvtxa__json_writer *writer, const nvtxa_analysis *analysis, size_t position,
                     size_t length, path_fn name_at) {
  nvtxa__json_key(writer, "path");
  nvtxa__json_open(writer, '[');
  for (size_t depth = 0; depth < length; depth++) {
    nvtxa__json_text(writer, name_at(analysis, position, depth));
  }
  nvtxa__json_close(writer, ']');
}

static void put_gpu_group(nvtxa__json_writer *writer, const nvtxa_analysis *analysis,
                          size_t position) {
  nvtxa_gpu_group group = {.size = sizeof group};
  nvtxa__json_fail(writer, nvtxa_analysis_gpu_group(analysis, position, &group));
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "context", text, nvtxa__text(nvtxa_context_name(group.context)));
  NVTXA__PUT(writer, "gpu_operation_count", integer, group.gpu_operation_count);
  nvtxa__json_gpu_work(writer, analysis, position, nvtxa_analysis_gpu_group_share);
  NVTXA__PUT(writer, "host_total_ns", integer, group.host_total_ns);
  NVTXA__PUT(writer, "instances", count, group.instances);
  NVTXA__PUT(writer, "name", text, group.name);
  put_path(writer, analysis, position, group.path_length, nvtxa_analysis_gpu_path);
  put_summary(writer, "projected", &group.projected, &group.projected_percentiles);
  NVTXA__PUT(writer, "style", text, group.style);
  nvtxa__json_close(writer, '}');
}

static void put_host_group(nvtxa__json_writer *writer, const nvtxa_analysis *analysis,
                           size_t position) {
  nvtxa_host_group group = {.size = sizeof group};
  nvtxa__json_fail(writer, nvtxa_analysis_host_group(analysis, position, &group));
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "child_total_ns", integer, group.child_total_ns);
  NVTXA__PUT(writer, "context", text, nvtxa__text(nvtxa_context_name(group.context)));
  put_summary(writer, "exclusive", &group.exclusive, &group.exclusive_percentiles);
  put_summary(writer, "inclusive", &group.inclusive, &group.inclusive_percentiles);
  NVTXA__PUT(writer, "instances", count, group.instances);
  NVTXA__PUT(writer, "name", text, group.name);
  put_path(writer, analysis, position, group.path_length, nvtxa_analysis_host_path);
  nvtxa__json_close(writer, '}');
}

/* ---- iterations ---- */

static void put_iteration_gpu(nvtxa__json_writer *writer, const nvtxa_iteration *iteration) {
  nvtxa__json_key(writer, "gpu_projection");
  if (!iteration->has_gpu_projection) {
    nvtxa__json_null(writer);
    return;
  }
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "gpu_operation_count", integer, iteration->gpu_operation_count);
  NVTXA__PUT(writer, "host_range_total_ns", integer, iteration->host_range_total_ns);
  NVTXA__PUT(writer, "projected_ns", integer, iteration->projected_ns);
  nvtxa__json_close(writer, '}');
}

static void put_iteration_host(nvtxa__json_writer *writer, const nvtxa_iteration *iteration) {
  nvtxa__json_key(writer, "host");
  if (!iteration->has_host) {
    nvtxa__json_null(writer);
    return;
  }
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "child_total_ns", integer, iteration->child_total_ns);
  NVTXA__PUT(writer, "exclusive_ns", integer, iteration->exclusive_ns);
  NVTXA__PUT(writer, "inclusive_ns", integer, iteration->inclusive_ns);
  nvtxa__json_close(writer, '}');
}

static void put_iteration(nvtxa__json_writer *writer, const nvtxa_analysis *analysis,
                          size_t position) {
  nvtxa_iteration iteration = {.size = sizeof iteration};
  nvtxa__json_fail(writer, nvtxa_analysis_iteration(analysis, position, &iteration));
  nvtxa__json_open(writer, '{');
  put_iteration_gpu(writer, &iteration);
  nvtxa__json_gpu_work(writer, analysis, position, nvtxa_analysis_iteration_share);
  put_iteration_host(writer, &iteration);
  NVTXA__PUT(writer, "index", integer, iteration.index);
  nvtxa__json_close(writer, '}');
}

/* A summary of no values is null, never zeros. */
static void put_summary_of(nvtxa__json_writer *writer, const char *key,
                           const nvtxa_summary *summary, const nvtxa_percentiles *percentiles,
                           uint64_t count) {
  if (count > 0) {
    put_summary(writer, key, summary, percentiles);
  } else {
    nvtxa__json_key(writer, key);
    nvtxa__json_null(writer);
  }
}

static void put_iteration_summary(nvtxa__json_writer *writer, const nvtxa_analysis *analysis) {
  nvtxa_iteration_summary summary = {.size = sizeof summary};
  nvtxa__json_fail(writer, nvtxa_analysis_iteration_summary(analysis, &summary));
  nvtxa__json_key(writer, "iteration_summary");
  nvtxa__json_open(writer, '{');
  put_summary_of(writer, "gpu_projected", &summary.gpu_projected,
                 &summary.gpu_projected_percentiles, summary.gpu_projected_iterations);
  NVTXA__PUT(writer, "gpu_projected_iterations", count, summary.gpu_projected_iterations);
  put_summary_of(writer, "host_exclusive", &summary.host_exclusive,
                 &summary.host_exclusive_percentiles, summary.host_iterations);
  put_summary_of(writer, "host_inclusive", &summary.host_inclusive,
                 &summary.host_inclusive_percentiles, summary.host_iterations);
  NVTXA__PUT(writer, "host_iterations", count, summary.host_iterations);
  NVTXA__PUT(writer, "iterations", count, summary.iterations);
  nvtxa__json_close(writer, '}');
}

/* ---- where it comes from ---- */

static nvtxa_text report_path(const nvtxa_export *exported, nvtxa_report report) {
  return exported == NULL ? nvtxa__text(NULL) : nvtxa_export_report_relative_path(exported, report);
}

/* Who made the reports when: nsys just now, this library just now, or anybody before. */
static const char *reports_origin(const nvtxa_export *exported) {
  if (exported == NULL ||
      nvtxa_export_report_relative_path(exported, NVTXA_REPORT_PUSHPOP_TRACE).data == NULL) {
    return NULL;
  }
  return nvtxa_export_sqlite_path(exported) != NULL ? "computed"
         : nvtxa_export_is_fresh(exported)          ? "exported"
                                                    : "existing";
}

/* The SQLite export that the ranges, or nsys's reports, were made from. */
static void put_sqlite(nvtxa__json_writer *writer, const nvtxa_export *exported) {
  const nvtxa_text none = {NULL, 0};
  NVTXA__PUT(writer, "export_path", text,
             exported == NULL ? none : nvtxa_export_sqlite_relative_path(exported));
  NVTXA__PUT(writer, "export_product_version", text,
             exported == NULL ? none : nvtxa_export_product_version(exported));
  NVTXA__PUT(writer, "export_schema_version", text,
             exported == NULL ? none : nvtxa_export_schema_version(exported));
}

static void put_trace(nvtxa__json_writer *writer, const nvtxa_export *exported) {
  NVTXA__PUT(writer, "trace_path", text, nvtxa__text("trace.nsys-rep"));
  NVTXA__PUT(writer, "trace_sha256", text,
             exported == NULL ? nvtxa__text(NULL) : nvtxa_export_trace_sha256(exported));
  nvtxa__json_key(writer, "trace_size_bytes");
  if (exported == NULL || nvtxa_export_trace_size(exported) < 0) {
    nvtxa__json_null(writer);
  } else {
    nvtxa__json_integer(writer, nvtxa_export_trace_size(exported));
  }
}

static void put_provenance(nvtxa__json_writer *writer, const nvtxa_analysis *analysis) {
  static const nvtxa_report reports[] = {
      /* by name */
      NVTXA_REPORT_CUDA_GPU_KERN_SUM, NVTXA_REPORT_CUDA_GPU_TRACE, NVTXA_REPORT_GPU_PROJ_TRACE,
      NVTXA_REPORT_PUSHPOP_TRACE};
  const nvtxa_export *exported = nvtxa_analysis_export(analysis);
  nvtxa_text version = exported == NULL ? nvtxa__text(NULL) : nvtxa_export_nsys_version(exported);
  nvtxa__json_key(writer, "provenance");
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(
      writer, "engine", text,
      nvtxa__text(exported == NULL ? NULL : nvtxa_engine_name(nvtxa_export_engine(exported))));
  put_sqlite(writer, exported);
  NVTXA__PUT(writer, "manifest_path", text, nvtxa__text("manifest.yaml"));
  NVTXA__PUT(writer, "manifest_sha256", text,
             nvtxa_manifest_sha256(nvtxa_analysis_manifest(analysis)));
  NVTXA__PUT(writer, "nsys_version", text, version.data == NULL ? nvtxa__text("unknown") : version);
  nvtxa__json_key(writer, "reports");
  nvtxa__json_open(writer, '{');
  for (size_t i = 0; i < NVTXA__COUNT(reports); i++) {
    NVTXA__PUT(writer, nvtxa_report_name(reports[i]), text, report_path(exported, reports[i]));
  }
  nvtxa__json_close(writer, '}');
  NVTXA__PUT(writer, "reports_origin", text, nvtxa__text(reports_origin(exported)));
  put_trace(writer, exported);
  nvtxa__json_close(writer, '}');
}

/* JSON text that the manifest module made, laid out as the rest of the document. */
static void put_mapping(nvtxa__json_writer *writer, const char *key, nvtxa_text compact) {
  /* Only for this thread, and while no function of the caller runs: floats have a decimal point. */
  locale_t callers = uselocale(writer->c_locale);
  json_t *value = json_loadb(compact.data, compact.length, JSON_ALLOW_NUL, NULL);
  uselocale(callers);
  nvtxa__json_key(writer, key);
  if (value == NULL) {
    nvtxa__json_fail(writer, NVTXA_ERROR_OUT_OF_MEMORY);
    return;
  }
  nvtxa__json_value(writer, value);
  json_decref(value);
}

static void put_run(nvtxa__json_writer *writer, const nvtxa_manifest *manifest) {
  nvtxa__json_key(writer, "run");
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "capture_range", text, nvtxa_manifest_capture_range(manifest));
  put_mapping(writer, "cuda", nvtxa_manifest_cuda_json(manifest));
  NVTXA__PUT(writer, "device", text, nvtxa_manifest_device(manifest));
  NVTXA__PUT(writer, "git_commit", text, nvtxa_manifest_git_commit(manifest));
  NVTXA__PUT(writer, "profile_name", text, nvtxa_manifest_profile_name(manifest));
  NVTXA__PUT(writer, "record_count", count, nvtxa_manifest_record_count(manifest));
  NVTXA__PUT(writer, "run_id", text, nvtxa_manifest_run_id(manifest));
  put_mapping(writer, "workload", nvtxa_manifest_workload_json(manifest));
  nvtxa__json_close(writer, '}');
}

/* ---- the document ---- */

typedef void (*put_fn)(nvtxa__json_writer *writer, const nvtxa_analysis *analysis, size_t position);

/* An array, item by item; no further than the first failure. */
static void put_array(nvtxa__json_writer *writer, const char *key, const nvtxa_analysis *analysis,
                      size_t count, put_fn put_item) {
  nvtxa__json_key(writer, key);
  nvtxa__json_open(writer, '[');
  for (size_t i = 0; i < count && writer->status == NVTXA_OK; i++) {
    put_item(writer, analysis, i);
    if (nvtxa__cancelled(writer->hooks)) {
      nvtxa__json_fail(writer, NVTXA_ERROR_CANCELLED);
    }
  }
  nvtxa__json_close(writer, ']');
}

static void put_warning(nvtxa__json_writer *writer, const nvtxa_analysis *analysis,
                        size_t position) {
  nvtxa__json_text(writer, nvtxa_analysis_warning(analysis, position).text);
}

static void put_document(nvtxa__json_writer *writer, const nvtxa_analysis *analysis) {
  nvtxa__json_open(writer, '{');
  nvtxa__json_capture_work(writer, nvtxa_analysis_gpu_work(analysis));
  nvtxa__json_devices(writer, analysis);
  put_array(writer, "gpu_projected_ranges", analysis, nvtxa_analysis_gpu_group_count(analysis),
            put_gpu_group);
  put_array(writer, "host_ranges", analysis, nvtxa_analysis_host_group_count(analysis),
            put_host_group);
  put_iteration_summary(writer, analysis);
  put_array(writer, "iterations", analysis, nvtxa_analysis_iteration_count(analysis),
            put_iteration);
  put_provenance(writer, analysis);
  put_run(writer, nvtxa_analysis_manifest(analysis));
  NVTXA__PUT(writer, "schema_version", integer, NVTXA_JSON_SCHEMA_VERSION);
  NVTXA__PUT(writer, "unattributed_gpu_operation_count", integer,
             nvtxa_analysis_unattributed_operations(analysis));
  put_array(writer, "warnings", analysis, nvtxa_analysis_warning_count(analysis), put_warning);
  nvtxa__json_close(writer, '}');
}

/* `file` is for the error and may be NULL. */
static nvtxa_status write_document(const nvtxa_json *json, const char *file,
                                   nvtxa_json_write_fn write, void *user, nvtxa_error **reterr) {
  nvtxa__json_writer writer;
  nvtxa__json_start(&writer, write, user, &json->hooks);
  if (writer.status == NVTXA_OK) {
    writer.kernel_limit = json->kernel_limit;
    put_document(&writer, json->analysis);
  }
  nvtxa_status status = nvtxa__json_finish(&writer);
  if (status == NVTXA_OK) {
    return status;
  }
  if (status == NVTXA_ERROR_OUT_OF_MEMORY) {
    return nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_ERROR_CANCELLED) {
    return nvtxa__cancel_error(reterr);
  }
  return nvtxa__fail(reterr, status,
                     &(nvtxa__where){
                         .file = file,
                         .errnum = writer.errnum,
                         .hint = file == NULL ? NULL : "Check that there is space left.",
                     },
                     "cannot write the analysis");
}

/* ---- the object ---- */

nvtxa_status nvtxa_json_new(const nvtxa_analysis *analysis, const nvtxa_json_options *options,
                            nvtxa_json **ret_json, nvtxa_error **reterr) {
  nvtxa_json_options own = NVTXA_JSON_OPTIONS_INIT;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  if (analysis == NULL || ret_json == NULL) {
    return nvtxa__invalid(reterr, "NULL");
  }
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__options_copy(&hooks, sizeof hooks, own.hooks, reterr);
  }
  if (status != NVTXA_OK) {
    return status;
  }
  nvtxa_json *json = malloc(sizeof *json);
  if (json == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__ref_init(&json->ref);
  json->analysis = nvtxa_analysis_ref(analysis);
  json->hooks = hooks;
  json->kernel_limit = own.kernel_limit == 0 ? MOST_KERNELS : own.kernel_limit;
  *ret_json = json;
  return NVTXA_OK;
}

nvtxa_json *nvtxa_json_ref(const nvtxa_json *json) {
  nvtxa_json *counted = (nvtxa_json *)json;
  if (counted != NULL) {
    nvtxa__ref_take(&counted->ref);
  }
  return counted;
}

void nvtxa_json_unref(nvtxa_json *json) {
  if (json != NULL && nvtxa__ref_drop(&json->ref)) {
    nvtxa_analysis_unref((nvtxa_analysis *)json->analysis);
    free(json);
  }
}

struct target {
  const nvtxa_json *json;
  const char *path;
};

static nvtxa_status produce(void *user, nvtxa__write_fn sink, void *sink_user,
                            nvtxa_error **reterr) {
  const struct target *target = user;
  return write_document(target->json, target->path, sink, sink_user, reterr);
}

nvtxa_status nvtxa_json_write_file(const nvtxa_json *json, const char *path, nvtxa_error **reterr) {
  if (json == NULL || path == NULL) {
    return nvtxa__invalid(reterr, "NULL");
  }
  struct target target = {json, path};
  return nvtxa__file_replace(AT_FDCWD, path, path, true, produce, &target, reterr);
}

nvtxa_status nvtxa_json_write(const nvtxa_json *json, nvtxa_json_write_fn write, void *user,
                              nvtxa_error **reterr) {
  if (json == NULL || write == NULL) {
    return nvtxa__invalid(reterr, "NULL");
  }
  return write_document(json, NULL, write, user, reterr);
}

static int add_piece(void *user, const char *data, size_t length) {
  return nvtxa__buffer_add(user, data, length) == 0 ? 0 : ENOMEM;
}

nvtxa_status nvtxa_json_to_text(const nvtxa_json *json, char **ret_text, size_t *ret_length,
                                nvtxa_error **reterr) {
  nvtxa__buffer buffer = {0};
  if (json == NULL || ret_text == NULL) {
    return nvtxa__invalid(reterr, "NULL");
  }
  nvtxa_status status = write_document(json, NULL, add_piece, &buffer, NULL);
  if (status != NVTXA_OK) {
    nvtxa__buffer_free(&buffer);
    /* Nothing else can go wrong with a buffer. */
    return status == NVTXA_ERROR_CANCELLED ? nvtxa__cancel_error(reterr)
                                           : nvtxa__out_of_memory(reterr);
  }
  *ret_text = buffer.data;
  if (ret_length != NULL) {
    *ret_length = buffer.length;
  }
  return NVTXA_OK;
}
