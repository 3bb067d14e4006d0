/* The warnings of an analysis, in the order in which analysis.json has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis-internal.h"

/* How many entries a list in a warning shows. */
enum { MOST_LISTED = 20 };

/* Of nsys's reports only: how they look and what is wrong in them depends on the version. */
static int warn_of_version(nvtxa_analysis *analysis) {
  char families[NVTXA__FAMILIES];
  nvtxa_text version = {NULL, 0};
  if (analysis->exported != NULL &&
      nvtxa_export_engine(analysis->exported) == NVTXA_ENGINE_NATIVE) {
    return 0;
  }
  if (analysis->exported != NULL) {
    version = nvtxa_export_nsys_version(analysis->exported);
  }
  if (version.data == NULL) {
    return nvtxa__warn(
        &analysis->warnings, NVTXA_WARNING_NSYS_VERSION,
        "Could not determine the Nsight Systems version; report parsing is validated "
        "against Nsight Systems %s.",
        nvtxa__validated_families(families));
  }
  return nvtxa__is_validated(version)
             ? 0
             : nvtxa__warn(&analysis->warnings, NVTXA_WARNING_NSYS_VERSION,
                           "%s has not been validated; report parsing is validated against Nsight "
                           "Systems %s.",
                           version.data, nvtxa__validated_families(families));
}

/* ---- lists of iteration indexes ---- */

typedef struct index_list {
  int64_t shown[MOST_LISTED];
  uint64_t count;
} index_list;

static void list_add(index_list *list, int64_t index) {
  if (list->count < MOST_LISTED) {
    list->shown[list->count] = index;
  }
  list->count++;
}

static int warn_of_indexes(nvtxa_analysis *analysis, nvtxa_warning_kind kind, const char *what,
                           const index_list *list) {
  nvtxa__buffer text = {0};
  int result = 0;
  for (size_t i = 0; i < MOST_LISTED && i < list->count && result == 0; i++) {
    result = nvtxa__buffer_printf(&text, "%s%lld", i == 0 ? "" : ", ", (long long)list->shown[i]);
  }
  if (result == 0 && list->count > MOST_LISTED) {
    result = nvtxa__buffer_printf(&text, ", and %llu more",
                                  (unsigned long long)(list->count - MOST_LISTED));
  }
  if (result == 0 && list->count > 0) {
    result = nvtxa__warn(&analysis->warnings, kind, "%s: [%s].", what, text.data);
  }
  nvtxa__buffer_free(&text);
  return result;
}

/* The declared indexes that were not found, without walking through all that were declared. */
static void list_missing(const nvtxa_analysis *analysis, int64_t declared, index_list *list) {
  size_t found = 0;
  for (int64_t index = 0; index < declared && list->count < MOST_LISTED; index++) {
    if (found < analysis->iteration_count && analysis->iterations[found].index == index) {
      found++;
    } else {
      list_add(list, index);
    }
  }
  uint64_t present = 0;
  for (size_t i = 0; i < analysis->iteration_count; i++) {
    present += analysis->iterations[i].index < declared;
  }
  list->count = (uint64_t)declared - present;
}

/* ---- iterations that stand elsewhere ---- */

typedef struct stray {
  int64_t index;
  uint32_t row;
} stray;

static int compare_strays(const void *a, const void *b) {
  const stray *x = a;
  const stray *y = b;
  return x->index != y->index ? (x->index > y->index ? 1 : -1)
                              : (x->row > y->row) - (x->row < y->row);
}

static int compare_index(const void *key, const void *item) {
  int64_t x = *(const int64_t *)key;
  int64_t y = ((const nvtxa_iteration *)item)->index;
  return (x > y) - (x < y);
}

static bool is_missing(const nvtxa_analysis *analysis, int64_t declared, int64_t index) {
  return index < declared && (analysis->iteration_count == 0 ||
                              bsearch(&index, analysis->iterations, analysis->iteration_count,
                                      sizeof *analysis->iterations, compare_index) == NULL);
}

static int collect_strays(const nvtxa_analysis *analysis, int64_t declared, stray **ret_strays,
                          size_t *ret_count) {
  const nvtxa_ranges *host = analysis->host;
  size_t capacity = 0;
  for (size_t row = 0; row < host->count; row++) {
    int64_t index;
    if (!nvtxa__iteration_index(nvtxa__normalized(nvtxa__range_text(host, row)), &index) ||
        !is_missing(analysis, declared, index)) {
      continue;
    }
    if (nvtxa__reserve(ret_strays, &capacity, *ret_count + 1, sizeof **ret_strays) != 0) {
      return -1;
    }
    (*ret_strays)[(*ret_count)++] = (stray){index, (uint32_t)row};
  }
  return 0;
}

static int warn_of_strays(nvtxa_analysis *analysis, int64_t declared) {
  const nvtxa_ranges *host = analysis->host;
  stray *strays = NULL;
  size_t count = 0;
  nvtxa__buffer text = {0};
  int result = collect_strays(analysis, declared, &strays, &count);
  if (result != 0 || count == 0) {
    goto out;
  }
  qsort(strays, count, sizeof *strays, compare_strays);
  for (size_t i = 0; i < count && i < MOST_LISTED && result == 0; i++) {
    nvtxa__thread thread = nvtxa__range_thread(host, strays[i].row);
    result = nvtxa__buffer_printf(&text, "%siteration %lld (pid %lld, tid %lld, range %lld)",
                                  i == 0 ? "" : ", ", (long long)strays[i].index,
                                  (long long)thread.process_id, (long long)thread.thread_id,
                                  (long long)nvtxa__range_id(host, strays[i].row));
  }
  if (result == 0 && count > MOST_LISTED) {
    result = nvtxa__buffer_printf(&text, ", and %zu more", count - MOST_LISTED);
  }
  if (result == 0) {
    result =
        nvtxa__warn(&analysis->warnings, NVTXA_WARNING_ITERATIONS_ELSEWHERE,
                    "Ranges named like the missing iterations stand elsewhere: %s.", text.data);
  }
out:
  free(strays);
  nvtxa__buffer_free(&text);
  return result;
}

/* ---- the analysis's own ---- */

static bool gpu_has_capture_range(const nvtxa_analysis *analysis) {
  const nvtxa_ranges *host = analysis->host;
  uint32_t row = analysis->capture_row;
  size_t near = 0;
  return nvtxa__ranges_find(analysis->gpu, nvtxa__range_thread(host, row),
                            nvtxa__range_id(host, row), &near) != NVTXA__NO_PARENT;
}

static int warn_of_iterations(nvtxa_analysis *analysis) {
  index_list missing = {.count = 0};
  index_list unexpected = {.count = 0};
  index_list no_host = {.count = 0};
  index_list no_gpu = {.count = 0};
  int64_t declared = 0;
  bool is_declared = nvtxa_manifest_iterations(analysis->manifest, &declared);
  if (is_declared) {
    list_missing(analysis, declared, &missing);
  }
  for (size_t i = 0; i < analysis->iteration_count; i++) {
    const nvtxa_iteration *iteration = &analysis->iterations[i];
    if (is_declared && iteration->index >= declared) {
      list_add(&unexpected, iteration->index);
    }
    if (!iteration->has_host) {
      list_add(&no_host, iteration->index);
    }
    if (!iteration->has_gpu_projection) {
      list_add(&no_gpu, iteration->index);
    }
  }
  char quoted[NVTXA__QUOTED];
  nvtxa_text capture = nvtxa_manifest_capture_range(analysis->manifest);
  if (warn_of_indexes(analysis, NVTXA_WARNING_MISSING_ITERATIONS,
                      "Missing expected iteration indexes", &missing) != 0 ||
      warn_of_indexes(analysis, NVTXA_WARNING_UNEXPECTED_ITERATIONS, "Unexpected iteration indexes",
                      &unexpected) != 0 ||
      warn_of_indexes(analysis, NVTXA_WARNING_MISSING_HOST_RANGES,
                      "Missing host ranges for iterations", &no_host) != 0 ||
      warn_of_indexes(analysis, NVTXA_WARNING_MISSING_GPU_PROJECTIONS,
                      "Missing GPU projections for iterations", &no_gpu) != 0) {
    return -1;
  }
  if (!gpu_has_capture_range(analysis) &&
      nvtxa__warn(&analysis->warnings, NVTXA_WARNING_NO_GPU_CAPTURE_RANGE,
                  "GPU projection report does not contain capture range '%s'.",
                  nvtxa__quote(quoted, capture.data, capture.length)) != 0) {
    return -1;
  }
  return missing.count == 0 ? 0 : warn_of_strays(analysis, declared);
}

/* ---- those of the inputs ---- */

/* Both reports' warnings, kind by kind. */
static int copy_reports_warnings(nvtxa_analysis *analysis) {
  static const nvtxa_warning_kind kinds[] = {
      NVTXA_WARNING_PARENTS_RECOMPUTED, NVTXA_WARNING_ROWS_MISSING,
      NVTXA_WARNING_BYTES_REPLACED,     NVTXA_WARNING_UNATTRIBUTED_GPU_WORK,
      NVTXA_WARNING_OPEN_RANGES,        NVTXA_WARNING_BACKWARD_RANGES,
      NVTXA_WARNING_NAMES_MISSING,      NVTXA_WARNING_SQLITE_SCHEMA,
  };
  const nvtxa_ranges *const tables[] = {analysis->host, analysis->gpu};
  for (size_t k = 0; k < NVTXA__COUNT(kinds); k++) {
    for (size_t t = 0; t < NVTXA__COUNT(tables); t++) {
      for (size_t i = 0; i < tables[t]->warnings.count; i++) {
        if (tables[t]->warnings.items[i].kind == kinds[k] &&
            nvtxa__warn_copy(&analysis->warnings, tables[t]->warnings.items[i]) != 0) {
          return -1;
        }
      }
    }
  }
  return 0;
}

/* ---- what the GPU did that nothing counts ---- */

static int warn_of_gpu_work(nvtxa_analysis *analysis) {
  unsigned long long missing = 0;
  unsigned long long untimed = 0;
  for (size_t i = 0; i < analysis->device_count; i++) {
    missing += analysis->devices[i].launch_missing;
    untimed += analysis->devices[i].untimed;
  }
  if (missing > 0 &&
      nvtxa__warn(
          &analysis->warnings, NVTXA_WARNING_LAUNCH_MISSING,
          "The trace does not hold the calls that launched %llu GPU operation%s; no scope and no "
          "iteration counts %s.",
          missing, missing == 1 ? "" : "s", missing == 1 ? "it" : "them") != 0) {
    return -1;
  }
  return untimed == 0 ? 0
                      : nvtxa__warn(&analysis->warnings, NVTXA_WARNING_UNTIMED_GPU_WORK,
                                    "The trace has no times for %llu CUDA graph%s; no scope and no "
                                    "iteration counts %s.",
                                    untimed, untimed == 1 ? "" : "s", untimed == 1 ? "it" : "them");
}

int nvtxa__collect_warnings(nvtxa_analysis *analysis) {
  if (warn_of_version(analysis) != 0 || warn_of_iterations(analysis) != 0 ||
      copy_reports_warnings(analysis) != 0) {
    return -1;
  }
  for (size_t i = 0; i < nvtxa_manifest_warning_count(analysis->manifest); i++) {
    if (nvtxa__warn_copy(&analysis->warnings, nvtxa_manifest_warning(analysis->manifest, i)) != 0) {
      return -1;
    }
  }
  const nvtxa_export *exported = analysis->exported;
  for (size_t i = 0; exported != NULL && i < nvtxa_export_warning_count(exported); i++) {
    if (nvtxa__warn_copy(&analysis->warnings, nvtxa_export_warning(exported, i)) != 0) {
      return -1;
    }
  }
  return warn_of_gpu_work(analysis);
}
