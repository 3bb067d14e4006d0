/*
 * What the GPU did for each scope of a run: how many operations, how long the GPU was busy with
 * them, which kernel took longest, and where the operations went that no scope counts.
 *
 *   06_gpu_work RUN_DIR
 *
 * RUN_DIR holds manifest.yaml and trace.sqlite. No nsys is needed.
 */
#include <inttypes.h>
#include <stdio.h>

#include <nvtxa/nvtxa.h>

/* What was launched inside the scope's ranges, those below them included. */
static void print_scope(const nvtxa_analysis *analysis, size_t position) {
  nvtxa_gpu_group group = {.size = sizeof group};
  nvtxa_gpu_times times = {.size = sizeof times};
  nvtxa_gpu_amount kernel = {.size = sizeof kernel};
  const nvtxa_gpu_share *share =
      nvtxa_analysis_gpu_group_share(analysis, position, NVTXA_GPU_INCLUSIVE);
  nvtxa_analysis_gpu_group(analysis, position, &group); /* cannot fail: it is below the count */
  nvtxa_gpu_share_times(share, &times);
  printf("%s %s: %" PRIu64 " operations, busy for %" PRId64 " ns of a span of %" PRId64 " ns\n",
         nvtxa_context_name(group.context), group.name.data, times.operations, times.busy_ns,
         times.span_ns);
  /* The first kernel is that with the largest cumulative duration. */
  if (nvtxa_gpu_share_amount(share, NVTXA_GPU_KERNEL, 0, &kernel) == NVTXA_OK) {
    printf("  mostly %s: %" PRIu64 " times, %" PRId64 " ns in sum\n", kernel.name.data,
           kernel.instances, kernel.cumulative_duration_ns);
  }
}

static void print_device(const nvtxa_analysis *analysis, size_t position) {
  nvtxa_gpu_device device = {.size = sizeof device};
  nvtxa_analysis_gpu_device(analysis, position, &device);
  printf("device %" PRId64 ": %" PRIu64 " operations, %" PRIu64
         " of them in a scope or iteration\n",
         device.device_id, device.operations, device.attributed);
}

static nvtxa_status analyse(const char *run_dir, const nvtxa_manifest *manifest,
                            nvtxa_analysis **ret_analysis, nvtxa_error **error) {
  nvtxa_export_options export_options = NVTXA_EXPORT_OPTIONS_INIT;
  nvtxa_ranges_options ranges_options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_export *exported = NULL;
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  export_options.engine = NVTXA_ENGINE_NATIVE; /* reports do not tell of single operations */
  ranges_options.gpu_detail = NVTXA_GPU_DETAIL_OPERATIONS;
  nvtxa_status status = nvtxa_export_open(run_dir, &export_options, &exported, error);
  if (status == NVTXA_OK) {
    status = nvtxa_ranges_read_export(exported, &ranges_options, &host, &gpu, error);
  }
  if (status == NVTXA_OK) {
    nvtxa_analysis_options options = NVTXA_ANALYSIS_OPTIONS_INIT;
    options.exported = exported;
    status = nvtxa_analysis_new(manifest, host, gpu, &options, ret_analysis, error);
  }
  nvtxa_ranges_unref(host);
  nvtxa_ranges_unref(gpu);
  nvtxa_export_unref(exported);
  return status;
}

int main(int argc, char **argv) {
  nvtxa_manifest *manifest = NULL;
  nvtxa_analysis *analysis = NULL;
  nvtxa_error *error = NULL;
  char path[4096];
  if (argc != 2 || snprintf(path, sizeof path, "%s/manifest.yaml", argv[1]) >= (int)sizeof path) {
    fprintf(stderr, "usage: %s RUN_DIR\n", argv[0]);
    return 2;
  }
  nvtxa_status status = nvtxa_manifest_read_file(path, &manifest, &error);
  if (status == NVTXA_OK) {
    status = analyse(argv[1], manifest, &analysis, &error);
  }
  if (status == NVTXA_OK) {
    for (size_t i = 0; i < nvtxa_analysis_gpu_group_count(analysis); i++) {
      print_scope(analysis, i);
    }
    for (size_t i = 0; i < nvtxa_analysis_gpu_device_count(analysis); i++) {
      print_device(analysis, i);
    }
  } else {
    fprintf(stderr, "%s: %s\n", argv[1], nvtxa_error_message(error));
    nvtxa_error_free(error);
  }
  nvtxa_analysis_unref(analysis);
  nvtxa_manifest_unref(manifest);
  return status == NVTXA_OK ? 0 : 1;
}
