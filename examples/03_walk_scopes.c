/*
 * Walk a finished analysis: each iteration, then the scopes below the iterations as a tree.
 *
 *   03_walk_scopes RUN_DIR        reads the reports in RUN_DIR/stats, or RUN_DIR/trace.sqlite
 *
 * A scope is a path of names, such as preprocessing / resize. The two ranges called `resize` in the
 * sample run are two scopes, because their paths differ. Its dotted name is for people; a program
 * compares paths, since a name may itself contain a dot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <nvtxa/nvtxa.h>

static void print_iterations(const nvtxa_analysis *analysis) {
  printf("iteration   host inclusive   host exclusive    GPU projected\n");
  for (size_t i = 0; i < nvtxa_analysis_iteration_count(analysis); i++) {
    nvtxa_iteration iteration = {.size = sizeof iteration};
    nvtxa_analysis_iteration(analysis, i, &iteration);
    printf("%9" PRId64, iteration.index);
    /* What was not measured has no number: never print it as 0. */
    if (iteration.has_host) {
      printf("%14" PRId64 " ns%14" PRId64 " ns", iteration.inclusive_ns, iteration.exclusive_ns);
    } else {
      printf("%17s%17s", "-", "-");
    }
    if (iteration.has_gpu_projection) {
      printf("%14" PRId64 " ns\n", iteration.projected_ns);
    } else {
      printf("%17s\n", "-");
    }
  }
}

/* Groups are sorted by path, a parent right before what is below it: a loop walks the tree. A
 * parent's time holds its children's, so the rows of this table do not add up to anything. */
static void print_host_scopes(const nvtxa_analysis *analysis) {
  printf("\nscope                     calls   mean inclusive   mean exclusive\n");
  for (size_t i = 0; i < nvtxa_analysis_host_group_count(analysis); i++) {
    nvtxa_host_group group = {.size = sizeof group};
    nvtxa_analysis_host_group(analysis, i, &group);
    if (group.context != NVTXA_CONTEXT_ITERATION) {
      continue; /* the capture range, work between iterations, other threads */
    }
    nvtxa_text last = nvtxa_analysis_host_path(analysis, i, group.path_length - 1);
    int indent = 2 * (int)(group.path_length - 1);
    printf("%*s%-*s%6" PRIu64 "%14.0f ns%14.0f ns\n", indent, "", 25 - indent, last.data,
           group.instances, group.inclusive.mean_ns, group.exclusive.mean_ns);
  }
}

/* The GPU's side of one scope, found by its path. */
static void print_gpu_scope(const nvtxa_analysis *analysis, const char *outer, const char *inner) {
  for (size_t i = 0; i < nvtxa_analysis_gpu_group_count(analysis); i++) {
    nvtxa_gpu_group group = {.size = sizeof group};
    nvtxa_analysis_gpu_group(analysis, i, &group);
    if (group.path_length == 2 &&
        strcmp(nvtxa_analysis_gpu_path(analysis, i, 0).data, outer) == 0 &&
        strcmp(nvtxa_analysis_gpu_path(analysis, i, 1).data, inner) == 0) {
      printf("\n%s on the GPU: a mean span of %.0f ns over %" PRIu64 " calls, %" PRId64
             " operations in all\n",
             group.name.data, group.projected.mean_ns, group.instances, group.gpu_operation_count);
    }
  }
}

/* From a run directory to its analysis, by what is there: nsys is not run. */
static nvtxa_status open_run(const char *run_dir, nvtxa_analysis **ret, nvtxa_error **error) {
  nvtxa_manifest *manifest = NULL;
  nvtxa_export *exported = NULL;
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  char path[4096];
  snprintf(path, sizeof path, "%s/manifest.yaml", run_dir);

  nvtxa_status status = nvtxa_manifest_read_file(path, &manifest, error);
  if (status == NVTXA_OK) {
    status = nvtxa_export_open(run_dir, NULL, &exported, error);
  }
  if (status == NVTXA_OK) {
    status = nvtxa_ranges_read_export(exported, NULL, &host, &gpu, error);
  }
  if (status == NVTXA_OK) {
    status = nvtxa_analysis_new(manifest, host, gpu, NULL, ret, error);
  }
  nvtxa_ranges_unref(gpu);
  nvtxa_ranges_unref(host);
  nvtxa_export_unref(exported);
  nvtxa_manifest_unref(manifest);
  return status;
}

int main(int argc, char **argv) {
  nvtxa_analysis *analysis = NULL;
  nvtxa_error *error = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: %s RUN_DIR\n", argv[0]);
    return 2;
  }
  if (open_run(argv[1], &analysis, &error) != NVTXA_OK) {
    fprintf(stderr, "%s\n", nvtxa_error_message(error));
    nvtxa_error_free(error);
    return 1;
  }
  print_iterations(analysis);
  print_host_scopes(analysis);
  print_gpu_scope(analysis, "postprocessing", "resize");
  nvtxa_analysis_unref(analysis);
  return 0;
}
