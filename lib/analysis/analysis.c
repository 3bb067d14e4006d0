/*
 * An analysis, step by step: capture range, iterations, where each range stands, projections,
 * groups, warnings. Afterwards it is only read.
 */
#include <stdlib.h>

#include "analysis-internal.h"

static void analysis_free(nvtxa_analysis *analysis) {
  nvtxa_manifest_unref(analysis->manifest);
  nvtxa_ranges_unref(analysis->host);
  nvtxa_ranges_unref(analysis->gpu);
  nvtxa_export_unref(analysis->exported);
  nvtxa__scopes_free(&analysis->scopes);
  nvtxa__places_free(&analysis->places);
  free(analysis->iterations);
  free(analysis->iteration_rows);
  free(analysis->host_groups.items);
  free(analysis->gpu_groups.items);
  free(analysis->gpu_group);
  free(analysis->devices);
  nvtxa__gpu_tally_free(&analysis->tally);
  nvtxa_gpu_work_unref(analysis->gpu_work);
  nvtxa__arena_free(&analysis->names);
  nvtxa__warnings_free(&analysis->warnings);
  free(analysis);
}

nvtxa_analysis *nvtxa_analysis_ref(const nvtxa_analysis *analysis) {
  nvtxa_analysis *shared = (nvtxa_analysis *)analysis;
  if (shared != NULL) {
    nvtxa__ref_take(&shared->ref);
  }
  return shared;
}

void nvtxa_analysis_unref(nvtxa_analysis *analysis) {
  if (analysis != NULL && nvtxa__ref_drop(&analysis->ref)) {
    analysis_free(analysis);
  }
}

/* ---- making ---- */

static nvtxa_status step_warnings(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  return nvtxa__collect_warnings(analysis) == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

static nvtxa_status run(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  static nvtxa_status (*const steps[])(nvtxa_analysis *, nvtxa_error **) = {
      nvtxa__find_capture_range, nvtxa__find_iterations, nvtxa__find_places,
      nvtxa__join_projections,   nvtxa__make_groups,     nvtxa__summarize_iterations,
      nvtxa__count_gpu_work,     step_warnings,
  };
  for (size_t i = 0; i < NVTXA__COUNT(steps); i++) {
    if (nvtxa__cancelled(analysis->hooks)) {
      return nvtxa__cancel_error(reterr);
    }
    nvtxa_status status = steps[i](analysis, reterr);
    if (status != NVTXA_OK) {
      return status;
    }
  }
  /* What was only needed on the way. */
  nvtxa__places_free(&analysis->places);
  free(analysis->iteration_rows);
  analysis->iteration_rows = NULL;
  free(analysis->gpu_group);
  analysis->gpu_group = NULL;
  analysis->hooks = NULL;
  return NVTXA_OK;
}

nvtxa_status nvtxa_analysis_new(const nvtxa_manifest *manifest, const nvtxa_ranges *host,
                                const nvtxa_ranges *gpu, const nvtxa_analysis_options *options,
                                nvtxa_analysis **ret_analysis, nvtxa_error **reterr) {
  nvtxa_analysis_options own = NVTXA_ANALYSIS_OPTIONS_INIT;
  nvtxa__activity activity;
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (manifest == NULL || host == NULL || gpu == NULL || ret_analysis == NULL ||
      host->report != NVTXA_REPORT_PUSHPOP_TRACE || gpu->report != NVTXA_REPORT_GPU_PROJ_TRACE) {
    return nvtxa__invalid(reterr, "manifest, host, gpu or ret_analysis");
  }
  if (own.gpu_work != NULL && own.gpu_work != gpu->work && own.gpu_work->has_operations) {
    return nvtxa__invalid(reterr, "options->gpu_work has operations of another table");
  }
  nvtxa_analysis *analysis = calloc(1, sizeof *analysis);
  if (analysis == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__ref_init(&analysis->ref);
  analysis->manifest = nvtxa_manifest_ref(manifest);
  analysis->host = nvtxa_ranges_ref(host);
  analysis->gpu = nvtxa_ranges_ref(gpu);
  analysis->exported = nvtxa_export_ref(own.exported);
  analysis->gpu_work = nvtxa_gpu_work_ref(own.gpu_work == NULL ? gpu->work : own.gpu_work);
  analysis->hooks = own.hooks;
  analysis->thread_count = own.thread_count;
  nvtxa__activity_start(&activity, own.hooks, "aggregating by scope");
  status = run(analysis, reterr);
  if (status != NVTXA_OK) {
    analysis_free(analysis);
    return status;
  }
  *ret_analysis = analysis;
  return NVTXA_OK;
}

/* ---- reading ---- */

const char *nvtxa_context_name(nvtxa_context context) {
  static const char *const names[] = {
      [NVTXA_CONTEXT_CAPTURE] = "capture",
      [NVTXA_CONTEXT_ITERATION] = "iteration",
      [NVTXA_CONTEXT_BETWEEN] = "between",
      [NVTXA_CONTEXT_OUTSIDE] = "outside",
  };
  return (size_t)context < NVTXA__COUNT(names) ? names[context] : "unknown";
}

const nvtxa_manifest *nvtxa_analysis_manifest(const nvtxa_analysis *analysis) {
  return analysis->manifest;
}

const nvtxa_export *nvtxa_analysis_export(const nvtxa_analysis *analysis) {
  return analysis->exported;
}

size_t nvtxa_analysis_iteration_count(const nvtxa_analysis *analysis) {
  return analysis->iteration_count;
}

nvtxa_status nvtxa_analysis_iteration(const nvtxa_analysis *analysis, size_t position,
                                      nvtxa_iteration *ret_iteration) {
  if (analysis == NULL || position >= analysis->iteration_count) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  return nvtxa__result_copy(ret_iteration, &analysis->iterations[position], sizeof *ret_iteration);
}

nvtxa_status nvtxa_analysis_iteration_summary(const nvtxa_analysis *analysis,
                                              nvtxa_iteration_summary *ret_summary) {
  if (analysis == NULL) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  return nvtxa__result_copy(ret_summary, &analysis->summary, sizeof *ret_summary);
}

/* Name `depth` of a group's scope. */
static nvtxa_text path_part(const nvtxa_analysis *analysis, const nvtxa__groups *groups,
                            size_t position, size_t depth) {
  const nvtxa__scopes *scopes = &analysis->scopes;
  if (position >= groups->count || depth >= scopes->items[groups->items[position].scope].depth) {
    return (nvtxa_text){NULL, 0};
  }
  return scopes->names.texts[groups->items[position].path[depth]];
}

size_t nvtxa_analysis_host_group_count(const nvtxa_analysis *analysis) {
  return analysis->host_groups.count;
}

nvtxa_status nvtxa_analysis_host_group(const nvtxa_analysis *analysis, size_t position,
                                       nvtxa_host_group *ret_group) {
  if (analysis == NULL || position >= analysis->host_groups.count) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  const nvtxa__group *group = &analysis->host_groups.items[position];
  nvtxa_host_group result = {
      .size = sizeof result,
      .name = group->name,
      .path_length = analysis->scopes.items[group->scope].depth,
      .context = (nvtxa_context)group->context,
      .instances = group->instances,
      .inclusive = group->first,
      .exclusive = group->second,
      .child_total_ns = group->sum,
      .inclusive_percentiles = group->first_percentiles,
      .exclusive_percentiles = group->second_percentiles,
  };
  return nvtxa__result_copy(ret_group, &result, sizeof result);
}

nvtxa_text nvtxa_analysis_host_path(const nvtxa_analysis *analysis, size_t position, size_t depth) {
  return path_part(analysis, &analysis->host_groups, position, depth);
}

size_t nvtxa_analysis_gpu_group_count(const nvtxa_analysis *analysis) {
  return analysis->gpu_groups.count;
}

nvtxa_status nvtxa_analysis_gpu_group(const nvtxa_analysis *analysis, size_t position,
                                      nvtxa_gpu_group *ret_group) {
  if (analysis == NULL || position >= analysis->gpu_groups.count) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  const nvtxa__group *group = &analysis->gpu_groups.items[position];
  nvtxa_gpu_group result = {
      .size = sizeof result,
      .name = group->name,
      .path_length = analysis->scopes.items[group->scope].depth,
      .context = (nvtxa_context)group->context,
      .style = analysis->gpu->styles.texts[group->style],
      .instances = group->instances,
      .projected = group->first,
      .host_total_ns = group->sum,
      .gpu_operation_count = group->operations,
      .projected_percentiles = group->first_percentiles,
  };
  return nvtxa__result_copy(ret_group, &result, sizeof result);
}

nvtxa_text nvtxa_analysis_gpu_path(const nvtxa_analysis *analysis, size_t position, size_t depth) {
  return path_part(analysis, &analysis->gpu_groups, position, depth);
}

int64_t nvtxa_analysis_unattributed_operations(const nvtxa_analysis *analysis) {
  return analysis->gpu->unattributed.operations;
}

const nvtxa_gpu_work *nvtxa_analysis_gpu_work(const nvtxa_analysis *analysis) {
  return analysis->gpu_work;
}

size_t nvtxa_analysis_gpu_device_count(const nvtxa_analysis *analysis) {
  return analysis->device_count;
}

nvtxa_status nvtxa_analysis_gpu_device(const nvtxa_analysis *analysis, size_t position,
                                       nvtxa_gpu_device *ret_device) {
  if (analysis == NULL || position >= analysis->device_count) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  return nvtxa__result_copy(ret_device, &analysis->devices[position], sizeof *ret_device);
}

static const nvtxa_gpu_share *share_of(const nvtxa_analysis *analysis, size_t bucket,
                                       nvtxa_gpu_attributed attributed) {
  if (!nvtxa__has_gpu_operations(analysis) || (unsigned)attributed > NVTXA_GPU_INNERMOST) {
    return NULL;
  }
  return nvtxa__gpu_share_of(
      &analysis->tally, bucket,
      attributed == NVTXA_GPU_INCLUSIVE ? NVTXA__INCLUSIVE : NVTXA__INNERMOST);
}

const nvtxa_gpu_share *nvtxa_analysis_gpu_group_share(const nvtxa_analysis *analysis,
                                                      size_t position,
                                                      nvtxa_gpu_attributed attributed) {
  return analysis == NULL || position >= analysis->gpu_groups.count
             ? NULL
             : share_of(analysis, position, attributed);
}

const nvtxa_gpu_share *nvtxa_analysis_iteration_share(const nvtxa_analysis *analysis,
                                                      size_t position,
                                                      nvtxa_gpu_attributed attributed) {
  return analysis == NULL || position >= analysis->iteration_count
             ? NULL
             : share_of(analysis, analysis->gpu_groups.count + position, attributed);
}

size_t nvtxa_analysis_warning_count(const nvtxa_analysis *analysis) {
  return analysis->warnings.count;
}

nvtxa_warning nvtxa_analysis_warning(const nvtxa_analysis *analysis, size_t index) {
  return analysis->warnings.items[index];
}
