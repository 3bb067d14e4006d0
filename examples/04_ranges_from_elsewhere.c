/*
 * Ranges that nsys never saw: a tracer of your own fills the tables, the library does the rest.
 *
 *   04_ranges_from_elsewhere      prints the analysis as JSON
 *
 * Here the ranges are three made-up iterations without a GPU. With NVTXA_HIERARCHY_FROM_TIMES only
 * start, duration and thread are given: what encloses what is worked out from the times.
 */
#include <stdio.h>
#include <string.h>

#include <nvtxa/nvtxa.h>

static const char manifest_text[] =
    "profile_name: from-elsewhere\n"
    "capture_range: profile-target\n"
    "workload: {iterations: 3}\n";

static nvtxa_status add(nvtxa_ranges_builder *builder, const char *name, int64_t start_ns,
                        int64_t duration_ns, nvtxa_error **error) {
  static int64_t next_id; /* ids need only differ within a thread */
  nvtxa_range range = NVTXA_RANGE_INIT;
  range.name = (nvtxa_text){name, strlen(name)}; /* the builder copies it */
  range.process_id = 1;
  range.thread_id = 1;
  range.range_id = ++next_id;
  range.start_ns = start_ns;
  range.duration_ns = duration_ns;
  return nvtxa_ranges_builder_add(builder, &range, error);
}

static nvtxa_status add_iteration(nvtxa_ranges_builder *builder, int index, nvtxa_error **error) {
  int64_t start = 1000 + index * 10000;
  char name[32];
  snprintf(name, sizeof name, "iteration %d", index);
  nvtxa_status status = add(builder, name, start, 8000, error);
  if (status == NVTXA_OK) {
    status = add(builder, "load", start + 500, 2000, error);
  }
  if (status == NVTXA_OK) {
    status = add(builder, "compute", start + 3000, 4000 + index * 100, error);
  }
  return status;
}

static nvtxa_status build_host(nvtxa_ranges **ret, nvtxa_error **error) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  options.hierarchy = NVTXA_HIERARCHY_FROM_TIMES;
  nvtxa_ranges_builder *builder = NULL;
  nvtxa_status status =
      nvtxa_ranges_builder_new(NVTXA_REPORT_PUSHPOP_TRACE, &options, &builder, error);
  if (status == NVTXA_OK) {
    status = add(builder, "profile-target", 0, 40000, error);
  }
  for (int index = 0; status == NVTXA_OK && index < 3; index++) {
    status = add_iteration(builder, index, error);
  }
  if (status == NVTXA_OK) {
    status = nvtxa_ranges_builder_finish(builder, ret, error);
  }
  nvtxa_ranges_builder_free(builder);
  return status;
}

/* No GPU work is an empty table, which is not the same as no table. */
static nvtxa_status build_gpu(nvtxa_ranges **ret, nvtxa_error **error) {
  return nvtxa_ranges_read_buffer("", 0, NVTXA_REPORT_GPU_PROJ_TRACE, NULL, ret, error);
}

/* Gets the document in pieces; a socket or a log would do as well. */
static int write_piece(void *user, const char *data, size_t length) {
  return fwrite(data, 1, length, (FILE *)user) == length ? 0 : 5; /* EIO */
}

int main(void) {
  nvtxa_manifest *manifest = NULL;
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  nvtxa_analysis *analysis = NULL;
  nvtxa_json *json = NULL;
  nvtxa_error *error = NULL;

  if (nvtxa_manifest_read_buffer(manifest_text, strlen(manifest_text), &manifest, &error) ==
          NVTXA_OK &&
      build_host(&host, &error) == NVTXA_OK && build_gpu(&gpu, &error) == NVTXA_OK &&
      nvtxa_analysis_new(manifest, host, gpu, NULL, &analysis, &error) == NVTXA_OK &&
      nvtxa_json_new(analysis, NULL, &json, &error) == NVTXA_OK) {
    (void)nvtxa_json_write(json, write_piece, stdout, &error);
  }

  int exit_status = error == NULL ? 0 : 1;
  if (error != NULL) {
    fprintf(stderr, "%s\n", nvtxa_error_message(error));
  }
  nvtxa_error_free(error);
  nvtxa_json_unref(json);
  nvtxa_analysis_unref(analysis);
  nvtxa_ranges_unref(gpu);
  nvtxa_ranges_unref(host);
  nvtxa_manifest_unref(manifest);
  return exit_status;
}
