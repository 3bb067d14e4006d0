/*
 * Reports to whoever takes the pieces, to files, and to the run directory of an export.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "stats-internal.h"

static const nvtxa__stats_report *const reports[NVTXA_REPORT_COUNT] = {
    [NVTXA_REPORT_PUSHPOP_TRACE] = &nvtxa__pushpop_trace,
    [NVTXA_REPORT_GPU_PROJ_TRACE] = &nvtxa__gpu_proj_trace,
    [NVTXA_REPORT_CUDA_GPU_KERN_SUM] = &nvtxa__cuda_gpu_kern_sum,
    [NVTXA_REPORT_CUDA_GPU_TRACE] = &nvtxa__cuda_gpu_trace,
    [NVTXA_REPORT_NVTX_KERN_SUM] = &nvtxa__nvtx_kern_sum,
};

/* ---- one report ---- */

/* What became of the cells; `file` is for the error and may be NULL. */
static nvtxa_status end_cells(nvtxa__cells *cells, const char *file, nvtxa_error **reterr) {
  nvtxa__cells_end(cells);
  switch (cells->status) {
    case NVTXA_OK:
      return NVTXA_OK;
    case NVTXA_ERROR_OUT_OF_MEMORY:
      return nvtxa__out_of_memory(reterr);
    case NVTXA_ERROR_CANCELLED:
      return nvtxa__cancel_error(reterr);
    default:
      return nvtxa__fail(reterr, cells->status,
                         &(nvtxa__where){.file = file, .errnum = cells->errnum},
                         "cannot write the report");
  }
}

/* The table's own report stands for 0, and for no other. */
static nvtxa_report report_of(const nvtxa_stats_options *options, const nvtxa_ranges *ranges) {
  return (int)options->report == 0 ? ranges->report : options->report;
}

static nvtxa_status write_report(const nvtxa_ranges *ranges, const nvtxa_stats_options *options,
                                 nvtxa_stats_write_fn write, void *user, const char *file,
                                 nvtxa_error **reterr) {
  const nvtxa__stats_report *report = reports[report_of(options, ranges)];
  nvtxa__cells cells = {
      .format = options->format, .write = write, .user = user, .hooks = options->hooks};
  nvtxa__cells_begin(&cells, report->columns, report->column_count);
  nvtxa_status status = cells.status == NVTXA_OK ? report->put(&cells, ranges, reterr) : NVTXA_OK;
  if (status != NVTXA_OK) {
    cells.status = status; /* what is in the block need not be written */
    nvtxa__cells_end(&cells);
    return status;
  }
  return end_cells(&cells, file, reterr);
}

/* ---- what a table can be written as ---- */

/* What the table lacks for a report; NULL: nothing. */
static const char *lacking(nvtxa__stats_need need, const nvtxa_ranges *ranges) {
  if ((need == NVTXA__NEEDS_HOST_RANGES) != (ranges->report == NVTXA_REPORT_PUSHPOP_TRACE)) {
    return need == NVTXA__NEEDS_HOST_RANGES ? "a table of host ranges"
                                            : "a table of GPU-projected ranges";
  }
  const nvtxa_gpu_work *work = ranges->work;
  if (need >= NVTXA__NEEDS_OPERATIONS && work == NULL) {
    return "GPU work, which a table has if it is read with gpu_detail";
  }
  if (need >= NVTXA__NEEDS_OPERATIONS && !work->has_operations) {
    return "single GPU operations, which only an SQLite export has";
  }
  return need == NVTXA__NEEDS_CELLS && !work->has_cells
             ? "GPU work that is read with NVTXA_GPU_DETAIL_TRACE"
             : NULL;
}

static nvtxa_status check_report(const nvtxa_stats_options *options, const nvtxa_ranges *ranges,
                                 nvtxa_error **reterr) {
  nvtxa_report report = report_of(options, ranges);
  if ((unsigned)report >= NVTXA_REPORT_COUNT) {
    return nvtxa__invalid(reterr, "options->report");
  }
  const char *lacks = lacking(reports[report]->need, ranges);
  return lacks == NULL ? NVTXA_OK
                       : nvtxa__fail(reterr, NVTXA_ERROR_INVALID_ARGUMENT, NULL,
                                     "the report %s needs %s", nvtxa_report_name(report), lacks);
}

static nvtxa_status take_options(nvtxa_stats_options *own, const nvtxa_stats_options *options,
                                 const nvtxa_ranges *ranges, nvtxa_error **reterr) {
  *own = (nvtxa_stats_options)NVTXA_STATS_OPTIONS_INIT;
  nvtxa_status status = nvtxa__options_copy(own, sizeof *own, options, reterr);
  if (status == NVTXA_OK && (ranges == NULL || (unsigned)own->format > NVTXA_STATS_JSON)) {
    status = nvtxa__invalid(reterr, "ranges or options->format");
  }
  return status;
}

static nvtxa_status take_all(nvtxa_stats_options *own, const nvtxa_stats_options *options,
                             const nvtxa_ranges *ranges, nvtxa_error **reterr) {
  nvtxa_status status = take_options(own, options, ranges, reterr);
  return status == NVTXA_OK ? check_report(own, ranges, reterr) : status;
}

nvtxa_status nvtxa_stats_write(const nvtxa_ranges *ranges, const nvtxa_stats_options *options,
                               nvtxa_stats_write_fn write, void *user, nvtxa_error **reterr) {
  nvtxa_stats_options own;
  nvtxa_status status = take_all(&own, options, ranges, reterr);
  if (status == NVTXA_OK && write == NULL) {
    status = nvtxa__invalid(reterr, "write is NULL");
  }
  return status == NVTXA_OK ? write_report(ranges, &own, write, user, NULL, reterr) : status;
}

/* ---- to files ---- */

typedef struct report_file {
  const nvtxa_ranges *ranges;
  const nvtxa_stats_options *options;
  const char *shown;
} report_file;

static nvtxa_status produce(void *user, nvtxa__write_fn sink, void *sink_user,
                            nvtxa_error **reterr) {
  const report_file *t = user;
  return write_report(t->ranges, t->options, sink, sink_user, t->shown, reterr);
}

nvtxa_status nvtxa_stats_write_file(const nvtxa_ranges *ranges, const nvtxa_stats_options *options,
                                    const char *path, nvtxa_error **reterr) {
  nvtxa_stats_options own;
  nvtxa_status status = take_all(&own, options, ranges, reterr);
  if (status == NVTXA_OK && path == NULL) {
    status = nvtxa__invalid(reterr, "path is NULL");
  }
  report_file target = {ranges, &own, path};
  return status == NVTXA_OK
             ? nvtxa__file_replace(AT_FDCWD, path, path, false, produce, &target, reterr)
             : status;
}

typedef struct keeper {
  const nvtxa_ranges *tables[NVTXA__RANGE_REPORTS];
  nvtxa_stats_options options;
  const char *shown;
} keeper;

static nvtxa_status write_kept(void *user, nvtxa_report report, int directory, const char *file,
                               nvtxa_error **reterr) {
  const keeper *keeping = user;
  report_file target = {keeping->tables[report], &keeping->options, keeping->shown};
  return nvtxa__file_create(directory, file, keeping->shown, produce, &target, reterr);
}

/* What the reports cannot say: which durations are no measures. */
static int collect_unmeasured(const nvtxa_ranges *host, const nvtxa_ranges *gpu, int64_t **ret_ids,
                              size_t *ret_count) {
  const nvtxa_ranges *const tables[] = {host, gpu};
  size_t capacity = 0;
  *ret_ids = NULL;
  *ret_count = 0;
  for (size_t t = 0; t < NVTXA__COUNT(tables); t++) {
    for (size_t row = 0; row < tables[t]->count; row++) {
      if (!nvtxa__range_is_open(tables[t], row)) {
        continue;
      }
      if (nvtxa__reserve(ret_ids, &capacity, *ret_count + 1, sizeof **ret_ids) != 0) {
        free(*ret_ids);
        return -1;
      }
      (*ret_ids)[(*ret_count)++] = nvtxa__range_id(tables[t], row);
    }
  }
  return 0;
}

nvtxa_status nvtxa_stats_keep(const nvtxa_export *exported, const nvtxa_ranges *host,
                              const nvtxa_ranges *gpu, const nvtxa_stats_options *options,
                              nvtxa_error **reterr) {
  keeper keeping = {.tables = {host, gpu}};
  nvtxa_status status = take_options(&keeping.options, options, host, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (exported == NULL || gpu == NULL || host->report != NVTXA_REPORT_PUSHPOP_TRACE ||
      gpu->report != NVTXA_REPORT_GPU_PROJ_TRACE) {
    return nvtxa__invalid(reterr, "exported, host or gpu");
  }
  if (nvtxa_export_engine(exported) != NVTXA_ENGINE_NATIVE ||
      nvtxa_export_report_path(exported, NVTXA_REPORT_PUSHPOP_TRACE) == NULL) {
    return nvtxa__invalid(reterr, "an export whose reports are not to be kept");
  }
  int64_t *unmeasured;
  size_t count;
  if (collect_unmeasured(host, gpu, &unmeasured, &count) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  keeping.options.format = NVTXA_STATS_CSV;
  keeping.options.report = (nvtxa_report)0; /* of each table its own */
  keeping.shown = exported->shown_stats;
  status = nvtxa__export_keep(exported, unmeasured, count, keeping.options.hooks, write_kept,
                              &keeping, reterr);
  free(unmeasured);
  return status;
}
