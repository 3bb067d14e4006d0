/*
 * The measured iterations: direct children of the capture range named `iteration N`. A range of
 * that name anywhere else is an ordinary range.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis-internal.h"

bool nvtxa__iteration_index(nvtxa_text normalized, int64_t *ret_index) {
  static const char prefix[] = "iteration ";
  const size_t length = sizeof prefix - 1;
  return normalized.length > length && memcmp(normalized.data, prefix, length) == 0 &&
         normalized.data[length] != '-' &&
         nvtxa__parse_int64(normalized.data + length, normalized.length - length, ret_index);
}

typedef struct found_iteration {
  int64_t index;
  uint32_t row;
} found_iteration;

static int compare_found(const void *a, const void *b) {
  const found_iteration *x = a;
  const found_iteration *y = b;
  return x->index != y->index ? (x->index > y->index ? 1 : -1)
                              : (x->row > y->row) - (x->row < y->row);
}

static int compare_rows(const void *a, const void *b) {
  const nvtxa__iteration_row *x = a;
  const nvtxa__iteration_row *y = b;
  return (x->row > y->row) - (x->row < y->row);
}

static nvtxa_status duplicate(const nvtxa_analysis *analysis, const found_iteration *pair,
                              nvtxa_error **reterr) {
  const nvtxa_ranges *host = analysis->host;
  return nvtxa__fail(reterr, NVTXA_ERROR_DUPLICATE_ITERATION,
                     &(nvtxa__where){
                         .hint = "Each iteration needs an index of its own; `iteration 00` is "
                                 "index 0 as well.",
                     },
                     "iteration %lld stands twice below the capture range: ranges %lld and %lld",
                     (long long)pair[0].index, (long long)nvtxa__range_id(host, pair[0].row),
                     (long long)nvtxa__range_id(host, pair[1].row));
}

static int collect(const nvtxa_analysis *analysis, found_iteration **ret_found, size_t *ret_count) {
  const nvtxa_ranges *host = analysis->host;
  size_t capacity = 0;
  *ret_found = NULL;
  *ret_count = 0;
  for (size_t row = 0; row < host->count; row++) {
    int64_t index;
    if (nvtxa__range_parent(host, row) != analysis->capture_row ||
        !nvtxa__iteration_index(nvtxa__normalized(nvtxa__range_text(host, row)), &index)) {
      continue;
    }
    if (nvtxa__reserve(ret_found, &capacity, *ret_count + 1, sizeof **ret_found) != 0) {
      return -1;
    }
    (*ret_found)[(*ret_count)++] = (found_iteration){index, (uint32_t)row};
  }
  if (*ret_count > 0) {
    qsort(*ret_found, *ret_count, sizeof **ret_found, compare_found);
  }
  return 0;
}

nvtxa_status nvtxa__find_iterations(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  const nvtxa_ranges *host = analysis->host;
  found_iteration *found;
  size_t count;
  nvtxa_status status = NVTXA_OK;
  if (collect(analysis, &found, &count) != 0) {
    status = nvtxa__out_of_memory(reterr);
    goto out;
  }
  analysis->iterations = nvtxa__alloc_zero(count + 1, sizeof *analysis->iterations);
  analysis->iteration_rows = nvtxa__alloc_zero(count + 1, sizeof *analysis->iteration_rows);
  if (analysis->iterations == NULL || analysis->iteration_rows == NULL) {
    status = nvtxa__out_of_memory(reterr);
    goto out;
  }
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && found[i].index == found[i - 1].index) {
      status = duplicate(analysis, &found[i - 1], reterr);
      goto out;
    }
    uint32_t row = found[i].row;
    nvtxa_iteration iteration = {
        .size = sizeof iteration,
        .index = found[i].index,
        .has_host = !nvtxa__range_is_open(host, row),
    };
    if (iteration.has_host) {
      iteration.inclusive_ns = nvtxa__range_duration_ns(host, row);
      iteration.child_total_ns = nvtxa__range_child_total_ns(host, row);
      iteration.exclusive_ns = iteration.inclusive_ns - iteration.child_total_ns;
    }
    analysis->iterations[i] = iteration;
    analysis->iteration_rows[i] = (nvtxa__iteration_row){row, (uint32_t)i};
  }
  analysis->iteration_count = count;
  qsort(analysis->iteration_rows, count, sizeof *analysis->iteration_rows, compare_rows);
out:
  free(found);
  return status;
}

/* ---- their GPU projections: the GPU records with their keys ---- */

uint32_t nvtxa__iteration_position(const nvtxa_analysis *analysis, uint32_t host_row) {
  const nvtxa__iteration_row wanted = {.row = host_row};
  const nvtxa__iteration_row *found =
      bsearch(&wanted, analysis->iteration_rows, analysis->iteration_count,
              sizeof *analysis->iteration_rows, compare_rows);
  return found->position;
}

nvtxa_status nvtxa__join_projections(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  const nvtxa_ranges *gpu = analysis->gpu;
  size_t near = 0;
  for (size_t row = 0; row < gpu->count; row++) {
    const nvtxa__place *place =
        &analysis->places.items[nvtxa__packed_get(&analysis->places.gpu, row)];
    if (!place->iteration) {
      continue;
    }
    uint32_t host_row = nvtxa__host_row(analysis, row, &near);
    nvtxa_iteration *iteration =
        &analysis->iterations[nvtxa__iteration_position(analysis, host_row)];
    if (iteration->has_gpu_projection) {
      return nvtxa__fail(reterr, NVTXA_ERROR_DUPLICATE_ITERATION,
                         &(nvtxa__where){
                             .hint = "Range ids join only within one export: was the GPU report "
                                     "put together from several?",
                         },
                         "iteration %lld has two GPU projections (range %lld)",
                         (long long)iteration->index, (long long)nvtxa__range_id(gpu, row));
    }
    iteration->has_gpu_projection = true;
    iteration->projected_ns = nvtxa__packed_get(&gpu->projected_duration_ns, row);
    iteration->host_range_total_ns = nvtxa__range_duration_ns(gpu, row);
    iteration->gpu_operation_count = nvtxa__packed_get(&gpu->gpu_operation_count, row);
  }
  return NVTXA_OK;
}

/* ---- the iterations in sum ---- */

typedef enum measure { HOST_INCLUSIVE, HOST_EXCLUSIVE, GPU_PROJECTED } measure;

static size_t gather(const nvtxa_analysis *analysis, measure which, int64_t *values) {
  size_t count = 0;
  for (size_t i = 0; i < analysis->iteration_count; i++) {
    const nvtxa_iteration *iteration = &analysis->iterations[i];
    /* What an iteration launched that did not end is a part of its work only. */
    if (iteration->has_host && (which != GPU_PROJECTED || iteration->has_gpu_projection)) {
      values[count++] = which == GPU_PROJECTED    ? iteration->projected_ns
                        : which == HOST_EXCLUSIVE ? iteration->exclusive_ns
                                                  : iteration->inclusive_ns;
    }
  }
  return count;
}

nvtxa_status nvtxa__summarize_iterations(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  nvtxa_iteration_summary *summary = &analysis->summary;
  struct {
    measure which;
    uint64_t *count;
    nvtxa_summary *result;
    nvtxa_percentiles *percentiles;
  } const parts[] = {
      {HOST_INCLUSIVE, &summary->host_iterations, &summary->host_inclusive,
       &summary->host_inclusive_percentiles},
      {HOST_EXCLUSIVE, &summary->host_iterations, &summary->host_exclusive,
       &summary->host_exclusive_percentiles},
      {GPU_PROJECTED, &summary->gpu_projected_iterations, &summary->gpu_projected,
       &summary->gpu_projected_percentiles},
  };
  nvtxa_status status = NVTXA_OK;
  int64_t *values = nvtxa__alloc(analysis->iteration_count + 1, sizeof *values);
  if (values == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  summary->size = sizeof *summary;
  summary->iterations = analysis->iteration_count;
  for (size_t i = 0; i < NVTXA__COUNT(parts) && status == NVTXA_OK; i++) {
    size_t count = gather(analysis, parts[i].which, values);
    *parts[i].count = count;
    if (count > 0 && !nvtxa__summarize(values, count, parts[i].result, parts[i].percentiles)) {
      status = nvtxa__fail(reterr, NVTXA_ERROR_OVERFLOW, NULL,
                           "the iterations take more than 64 bits of nanoseconds in sum");
    }
  }
  free(values);
  return status;
}
