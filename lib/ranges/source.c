/* Both tables, and the GPU work, from whatever an export holds. */
#include <stdlib.h>
#include <string.h>

#include "csv/report-internal.h"
#include "export/export-internal.h"

/* Mark the ranges of which export.json knows that their durations are no measures. The table was
 * just made and is nobody else's yet. 0 or -1. */
static int mark_unmeasured(nvtxa_ranges *ranges, const nvtxa__provenance *provenance) {
  size_t count = 0;
  int result = 0;
  int64_t *ids = malloc((provenance->unmeasured_count + 1) * sizeof *ids);
  if (ids == NULL) {
    return -1;
  }
  if (provenance->unmeasured_count > 0) {
    memcpy(ids, provenance->unmeasured, provenance->unmeasured_count * sizeof *ids);
    qsort(ids, provenance->unmeasured_count, sizeof *ids, nvtxa__compare_int64);
    nvtxa__packed_free(&ranges->open);
    for (size_t row = 0; row < ranges->count && result == 0; row++) {
      int64_t id = nvtxa__range_id(ranges, row);
      bool open = bsearch(&id, ids, provenance->unmeasured_count, sizeof *ids,
                          nvtxa__compare_int64) != NULL;
      result = nvtxa__packed_add(&ranges->open, open);
      count += open;
    }
    result |= nvtxa__packed_finish(&ranges->open);
  }
  free(ids);
  return result != 0 || count == 0
             ? result
             : nvtxa__warn(&ranges->warnings, NVTXA_WARNING_OPEN_RANGES,
                           "%zu range%s of %s had no measured end in the trace, as export.json "
                           "says; they keep their place in the hierarchy but count in no summary.",
                           count, count == 1 ? "" : "s",
                           nvtxa__report_name(ranges->report, NVTXA__NAMING_NEW));
}

static nvtxa_status open_both(const nvtxa_export *exported, const nvtxa_hooks *hooks,
                              nvtxa__feed feeds[NVTXA__RANGE_REPORTS], nvtxa_error **reterr) {
  for (int kind = 0; kind < NVTXA__RANGE_REPORTS; kind++) {
    const char *path = nvtxa_export_report_path(exported, (nvtxa_report)kind);
    feeds[kind] = (nvtxa__feed){.builder = NULL};
    nvtxa_status status =
        nvtxa__report_open(&feeds[kind].report, path, (nvtxa_report)kind, hooks, reterr);
    if (status != NVTXA_OK) {
      for (; kind >= 0; kind--) {
        nvtxa__report_close(&feeds[kind].report);
      }
      return status;
    }
  }
  return NVTXA_OK;
}

/* The GPU work, where it is wanted and the export has its reports. */
static nvtxa_status read_work(const nvtxa_export *exported, const nvtxa_ranges_options *options,
                              nvtxa_gpu_work **ret_work, nvtxa_error **reterr) {
  if (options->gpu_detail == NVTXA_GPU_DETAIL_NONE) {
    return NVTXA_OK;
  }
  const char *kern_sum = nvtxa_export_report_path(exported, NVTXA_REPORT_CUDA_GPU_KERN_SUM);
  const char *gpu_trace = nvtxa_export_report_path(exported, NVTXA_REPORT_CUDA_GPU_TRACE);
  return kern_sum == NULL || gpu_trace == NULL
             ? NVTXA_OK
             : nvtxa__gpu_report_files_read(kern_sum, gpu_trace, options->quoting, options->hooks,
                                            ret_work, reterr);
}

static nvtxa_status read_reports(const nvtxa_export *exported, nvtxa_ranges_options *options,
                                 nvtxa_ranges **ret_host, nvtxa_ranges **ret_gpu,
                                 nvtxa_error **reterr) {
  nvtxa__feed feeds[NVTXA__RANGE_REPORTS];
  nvtxa_ranges *tables[NVTXA__RANGE_REPORTS];
  /* What this library wrote is RFC 4180, whatever nsys the trace came from. */
  options->quoting = nvtxa_export_engine(exported) == NVTXA_ENGINE_NATIVE
                         ? NVTXA_QUOTING_AUTO
                         : nvtxa_ranges_quoting_of(nvtxa_export_nsys_version(exported));
  nvtxa_status status = open_both(exported, options->hooks, feeds, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__reports_read(feeds, NVTXA__RANGE_REPORTS, options, nvtxa__division_of(options),
                                 tables, reterr);
  }
  if (status != NVTXA_OK) {
    return status;
  }
  nvtxa_ranges *host = tables[NVTXA_REPORT_PUSHPOP_TRACE];
  nvtxa_ranges *gpu = tables[NVTXA_REPORT_GPU_PROJ_TRACE];
  status = mark_unmeasured(host, &exported->provenance) != 0 ||
                   mark_unmeasured(gpu, &exported->provenance) != 0
               ? nvtxa__out_of_memory(reterr)
               : read_work(exported, options, &gpu->work, reterr);
  if (status != NVTXA_OK) {
    nvtxa_ranges_unref(host);
    nvtxa_ranges_unref(gpu);
    return status;
  }
  *ret_host = host;
  *ret_gpu = gpu;
  return NVTXA_OK;
}

nvtxa_status nvtxa_ranges_read_export(const nvtxa_export *exported,
                                      const nvtxa_ranges_options *options, nvtxa_ranges **ret_host,
                                      nvtxa_ranges **ret_gpu, nvtxa_error **reterr) {
  nvtxa_ranges_options own = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (exported == NULL || ret_host == NULL || ret_gpu == NULL) {
    return nvtxa__invalid(reterr, "exported, ret_host or ret_gpu");
  }
  const char *sqlite_path = nvtxa_export_sqlite_path(exported);
  if (sqlite_path != NULL) {
    return nvtxa_ranges_read_sqlite(sqlite_path, &own, ret_host, ret_gpu, reterr);
  }
  if (nvtxa_export_report_path(exported, NVTXA_REPORT_PUSHPOP_TRACE) == NULL) {
    return nvtxa__invalid(reterr, "an export that holds neither reports nor an SQLite export");
  }
  return read_reports(exported, &own, ret_host, ret_gpu, reterr);
}
