/* Both tables from whatever an export holds. */
#include "ranges-internal.h"

static nvtxa_status read_reports(const nvtxa_export *exported, nvtxa_ranges_options *options,
                                 nvtxa_ranges **ret_host, nvtxa_ranges **ret_gpu,
                                 nvtxa_error **reterr) {
  nvtxa_ranges *host;
  /* What this library wrote is RFC 4180, whatever nsys the trace came from. */
  options->quoting = nvtxa_export_engine(exported) == NVTXA_ENGINE_NATIVE
                         ? NVTXA_QUOTING_AUTO
                         : nvtxa_ranges_quoting_of(nvtxa_export_nsys_version(exported));
  nvtxa_status status =
      nvtxa_ranges_read_file(nvtxa_export_report_path(exported, NVTXA_REPORT_PUSHPOP_TRACE),
                             NVTXA_REPORT_PUSHPOP_TRACE, options, &host, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  status = nvtxa_ranges_read_file(nvtxa_export_report_path(exported, NVTXA_REPORT_GPU_PROJ_TRACE),
                                  NVTXA_REPORT_GPU_PROJ_TRACE, options, ret_gpu, reterr);
  if (status != NVTXA_OK) {
    nvtxa_ranges_unref(host);
    return status;
  }
  *ret_host = host;
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
