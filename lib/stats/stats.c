/*
 * The two reports: their columns, row by row, in the order of the table.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "stats-internal.h"

static const char *const host_columns[] = {
    "Start (ns)", "End (ns)", "Duration (ns)", "DurChild (ns)", "DurNonChild (ns)",
    "Name",       "PID",      "TID",           "Lvl",           "NumChild",
    "RangeId",    "ParentId", "RangeStack",    "NameTree"};
static const char *const gpu_columns[] = {"Name",
                                          "Projected Start (ns)",
                                          "Projected Duration (ns)",
                                          "Orig Start (ns)",
                                          "Orig Duration (ns)",
                                          "Style",
                                          "PID",
                                          "TID",
                                          "NumGPUOps",
                                          "Lvl",
                                          "NumChild",
                                          "RangeId",
                                          "ParentId",
                                          "RangeStack"};

typedef struct writing {
  const nvtxa_ranges *ranges;
  nvtxa__cells cells;
  nvtxa__lines lines;
  bool *quoted; /* by name: whether it must stand in quotes */
} writing;

static void put_name(writing *r, size_t row, size_t dashes) {
  uint32_t name = nvtxa__range_name(r->ranges, row);
  nvtxa_text text = nvtxa__range_names(r->ranges)->texts[name];
  nvtxa__cell_text(&r->cells, text, r->quoted[name], text.length == 0 ? 0 : dashes);
}

static void put_thread(writing *r, nvtxa__thread thread) {
  nvtxa__cell_integer(&r->cells, thread.process_id);
  nvtxa__cell_integer(&r->cells, thread.thread_id);
}

/* RangeId, ParentId and RangeStack. */
static void put_ids(writing *r, size_t row) {
  nvtxa__cell_integer(&r->cells, nvtxa__range_id(r->ranges, row));
  if (nvtxa__range_parent(r->ranges, row) == NVTXA__NO_PARENT) {
    nvtxa__cell_empty(&r->cells);
  } else {
    nvtxa__cell_integer(&r->cells, nvtxa__range_parent_id(r->ranges, row));
  }
  nvtxa_text stack = nvtxa__lines_stack(&r->lines, (uint32_t)row);
  if (stack.data == NULL) {
    r->cells.status = NVTXA_ERROR_OUT_OF_MEMORY;
    return;
  }
  nvtxa__cell_plain(&r->cells, stack.data, stack.length);
}

static void put_host_row(writing *r, size_t row) {
  const nvtxa_ranges *ranges = r->ranges;
  int64_t duration_ns = nvtxa__range_duration_ns(ranges, row);
  nvtxa__cell_integer(&r->cells, nvtxa__range_start_ns(ranges, row));
  nvtxa__cell_integer(&r->cells, nvtxa__range_end_ns(ranges, row));
  nvtxa__cell_integer(&r->cells, duration_ns);
  nvtxa__cell_integer(&r->cells, nvtxa__range_child_total_ns(ranges, row));
  nvtxa__cell_integer(&r->cells, duration_ns - nvtxa__range_child_total_ns(ranges, row));
  put_name(r, row, 0);
  put_thread(r, nvtxa__range_thread(ranges, row));
  nvtxa__cell_integer(&r->cells, r->lines.level[row]);
  nvtxa__cell_integer(&r->cells, r->lines.child_count[row]);
  put_ids(r, row);
  put_name(r, row, r->lines.level[row]);
  nvtxa__cells_end_row(&r->cells);
}

static void put_gpu_row(writing *r, size_t row) {
  const nvtxa_ranges *ranges = r->ranges;
  nvtxa_text style = ranges->styles.texts[nvtxa__range_style(ranges, row)];
  put_name(r, row, 0);
  nvtxa__cell_integer(&r->cells, nvtxa__packed_get(&ranges->projected_start_ns, row));
  nvtxa__cell_integer(&r->cells, nvtxa__packed_get(&ranges->projected_duration_ns, row));
  nvtxa__cell_integer(&r->cells, nvtxa__range_start_ns(ranges, row));
  nvtxa__cell_integer(&r->cells, nvtxa__range_duration_ns(ranges, row));
  nvtxa__cell_text(&r->cells, style, nvtxa__cell_is_quoted(&r->cells, style), 0);
  put_thread(r, nvtxa__range_thread(ranges, row));
  nvtxa__cell_integer(&r->cells, nvtxa__packed_get(&ranges->gpu_operation_count, row));
  nvtxa__cell_integer(&r->cells, r->lines.level[row]);
  nvtxa__cell_integer(&r->cells, r->lines.child_count[row]);
  put_ids(r, row);
  nvtxa__cells_end_row(&r->cells);
}

/* The one row for GPU work that no range encloses: nsys has it first. */
static void put_unattributed(writing *r) {
  const nvtxa__unattributed *outside = &r->ranges->unattributed;
  nvtxa__cell_empty(&r->cells);
  nvtxa__cell_integer(&r->cells, outside->start_ns);
  nvtxa__cell_integer(&r->cells, outside->end_ns - outside->start_ns);
  for (int i = 0; i < 3; i++) {
    nvtxa__cell_empty(&r->cells);
  }
  put_thread(r, outside->thread);
  nvtxa__cell_integer(&r->cells, outside->operations);
  nvtxa__cell_empty(&r->cells);
  nvtxa__cell_integer(&r->cells, 0);
  for (int i = 0; i < 3; i++) {
    nvtxa__cell_empty(&r->cells);
  }
  nvtxa__cells_end_row(&r->cells);
}

static void put_host(writing *r) {
  for (size_t row = 0; row < r->ranges->count && r->cells.status == NVTXA_OK; row++) {
    put_host_row(r, row);
  }
}

static void put_gpu(writing *r) {
  if (r->ranges->unattributed.operations > 0) {
    put_unattributed(r);
  }
  for (size_t row = 0; row < r->ranges->count && r->cells.status == NVTXA_OK; row++) {
    put_gpu_row(r, row);
  }
}

/* ---- one report ---- */

static int prepare(writing *r) {
  size_t count = nvtxa__range_names(r->ranges)->count;
  r->quoted = malloc(count + 1);
  if (r->quoted == NULL || nvtxa__lines_make(&r->lines, r->ranges) != 0) {
    return -1;
  }
  for (size_t name = 0; name < count; name++) {
    r->quoted[name] = nvtxa__cell_is_quoted(&r->cells, nvtxa__range_names(r->ranges)->texts[name]);
  }
  return 0;
}

/* `file` is for the error and may be NULL. */
static nvtxa_status write_report(const nvtxa_ranges *ranges, const nvtxa_stats_options *options,
                                 nvtxa_stats_write_fn write, void *user, const char *file,
                                 nvtxa_error **reterr) {
  bool host = ranges->report == NVTXA_REPORT_PUSHPOP_TRACE;
  writing r = {
      .ranges = ranges,
      .cells = {.format = options->format, .write = write, .user = user, .hooks = options->hooks}};
  nvtxa__cells_begin(&r.cells, host ? host_columns : gpu_columns,
                     host ? NVTXA__COUNT(host_columns) : NVTXA__COUNT(gpu_columns));
  if (r.cells.status == NVTXA_OK && prepare(&r) != 0) {
    r.cells.status = NVTXA_ERROR_OUT_OF_MEMORY;
  }
  if (r.cells.status == NVTXA_OK) {
    (host ? put_host : put_gpu)(&r);
  }
  nvtxa__cells_end(&r.cells);
  nvtxa__lines_free(&r.lines);
  free(r.quoted);
  switch (r.cells.status) {
    case NVTXA_OK:
      return NVTXA_OK;
    case NVTXA_ERROR_OUT_OF_MEMORY:
      return nvtxa__out_of_memory(reterr);
    case NVTXA_ERROR_CANCELLED:
      return nvtxa__cancel_error(reterr);
    default:
      return nvtxa__fail(reterr, r.cells.status,
                         &(nvtxa__where){.file = file, .errnum = r.cells.errnum},
                         "cannot write the report");
  }
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

nvtxa_status nvtxa_stats_write(const nvtxa_ranges *ranges, const nvtxa_stats_options *options,
                               nvtxa_stats_write_fn write, void *user, nvtxa_error **reterr) {
  nvtxa_stats_options own;
  nvtxa_status status = take_options(&own, options, ranges, reterr);
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
  nvtxa_status status = take_options(&own, options, ranges, reterr);
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
  keeping.shown = exported->shown_stats;
  status = nvtxa__export_keep(exported, unmeasured, count, keeping.options.hooks, write_kept,
                              &keeping, reterr);
  free(unmeasured);
  return status;
}
