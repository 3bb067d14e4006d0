/*
 * nvtx_pushpop_trace and nvtx_gpu_proj_trace: a row a range, in the order of the table.
 */
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
  nvtxa__cells *cells;
  nvtxa__lines lines;
  bool *quoted; /* by name: whether it must stand in quotes */
} writing;

static void put_name(writing *r, size_t row, size_t dashes) {
  uint32_t name = nvtxa__range_name(r->ranges, row);
  nvtxa_text text = nvtxa__range_names(r->ranges)->texts[name];
  nvtxa__cell_text(r->cells, text, r->quoted[name], text.length == 0 ? 0 : dashes);
}

static void put_thread(writing *r, nvtxa__thread thread) {
  nvtxa__cell_integer(r->cells, thread.process_id);
  nvtxa__cell_integer(r->cells, thread.thread_id);
}

/* RangeId, ParentId and RangeStack. */
static void put_ids(writing *r, size_t row) {
  nvtxa__cell_integer(r->cells, nvtxa__range_id(r->ranges, row));
  if (nvtxa__range_parent(r->ranges, row) == NVTXA__NO_PARENT) {
    nvtxa__cell_empty(r->cells);
  } else {
    nvtxa__cell_integer(r->cells, nvtxa__range_parent_id(r->ranges, row));
  }
  nvtxa_text stack = nvtxa__lines_stack(&r->lines, (uint32_t)row);
  if (stack.data == NULL) {
    r->cells->status = NVTXA_ERROR_OUT_OF_MEMORY;
    return;
  }
  nvtxa__cell_plain(r->cells, stack.data, stack.length);
}

static void put_host_row(writing *r, size_t row) {
  const nvtxa_ranges *ranges = r->ranges;
  int64_t duration_ns = nvtxa__range_duration_ns(ranges, row);
  nvtxa__cell_integer(r->cells, nvtxa__range_start_ns(ranges, row));
  nvtxa__cell_integer(r->cells, nvtxa__range_end_ns(ranges, row));
  nvtxa__cell_integer(r->cells, duration_ns);
  nvtxa__cell_integer(r->cells, nvtxa__range_child_total_ns(ranges, row));
  nvtxa__cell_integer(r->cells, duration_ns - nvtxa__range_child_total_ns(ranges, row));
  put_name(r, row, 0);
  put_thread(r, nvtxa__range_thread(ranges, row));
  nvtxa__cell_integer(r->cells, r->lines.level[row]);
  nvtxa__cell_integer(r->cells, r->lines.child_count[row]);
  put_ids(r, row);
  put_name(r, row, r->lines.level[row]);
  nvtxa__cells_end_row(r->cells);
}

static void put_gpu_row(writing *r, size_t row) {
  const nvtxa_ranges *ranges = r->ranges;
  nvtxa_text style = ranges->styles.texts[nvtxa__range_style(ranges, row)];
  put_name(r, row, 0);
  nvtxa__cell_integer(r->cells, nvtxa__packed_get(&ranges->projected_start_ns, row));
  nvtxa__cell_integer(r->cells, nvtxa__packed_get(&ranges->projected_duration_ns, row));
  nvtxa__cell_integer(r->cells, nvtxa__range_start_ns(ranges, row));
  nvtxa__cell_integer(r->cells, nvtxa__range_duration_ns(ranges, row));
  nvtxa__cell_text(r->cells, style, nvtxa__cell_is_quoted(r->cells, style), 0);
  put_thread(r, nvtxa__range_thread(ranges, row));
  nvtxa__cell_integer(r->cells, nvtxa__packed_get(&ranges->gpu_operation_count, row));
  nvtxa__cell_integer(r->cells, r->lines.level[row]);
  nvtxa__cell_integer(r->cells, r->lines.child_count[row]);
  put_ids(r, row);
  nvtxa__cells_end_row(r->cells);
}

/* The one row for GPU work that no range encloses: nsys has it first. */
static void put_unattributed(writing *r) {
  const nvtxa__unattributed *outside = &r->ranges->unattributed;
  nvtxa__cell_empty(r->cells);
  nvtxa__cell_integer(r->cells, outside->start_ns);
  nvtxa__cell_integer(r->cells, outside->end_ns - outside->start_ns);
  for (int i = 0; i < 3; i++) {
    nvtxa__cell_empty(r->cells);
  }
  put_thread(r, outside->thread);
  nvtxa__cell_integer(r->cells, outside->operations);
  nvtxa__cell_empty(r->cells);
  nvtxa__cell_integer(r->cells, 0);
  for (int i = 0; i < 3; i++) {
    nvtxa__cell_empty(r->cells);
  }
  nvtxa__cells_end_row(r->cells);
}

static void put_host(writing *r) {
  for (size_t row = 0; row < r->ranges->count && r->cells->status == NVTXA_OK; row++) {
    put_host_row(r, row);
  }
}

static void put_gpu(writing *r) {
  if (r->ranges->unattributed.operations > 0) {
    put_unattributed(r);
  }
  for (size_t row = 0; row < r->ranges->count && r->cells->status == NVTXA_OK; row++) {
    put_gpu_row(r, row);
  }
}

/* ---- the whole ---- */

static int prepare(writing *r) {
  size_t count = nvtxa__range_names(r->ranges)->count;
  r->quoted = malloc(count + 1);
  if (r->quoted == NULL || nvtxa__lines_make(&r->lines, r->ranges) != 0) {
    return -1;
  }
  for (size_t name = 0; name < count; name++) {
    r->quoted[name] = nvtxa__cell_is_quoted(r->cells, nvtxa__range_names(r->ranges)->texts[name]);
  }
  return 0;
}

static nvtxa_status put_report(nvtxa__cells *cells, const nvtxa_ranges *ranges,
                               void (*put_rows)(writing *), nvtxa_error **reterr) {
  writing r = {.ranges = ranges, .cells = cells};
  nvtxa_status status = NVTXA_OK;
  if (prepare(&r) != 0) {
    status = nvtxa__out_of_memory(reterr);
  } else {
    put_rows(&r);
  }
  nvtxa__lines_free(&r.lines);
  free(r.quoted);
  return status;
}

static nvtxa_status put_pushpop_trace(nvtxa__cells *cells, const nvtxa_ranges *ranges,
                                      nvtxa_error **reterr) {
  return put_report(cells, ranges, put_host, reterr);
}

static nvtxa_status put_gpu_proj_trace(nvtxa__cells *cells, const nvtxa_ranges *ranges,
                                       nvtxa_error **reterr) {
  return put_report(cells, ranges, put_gpu, reterr);
}

const nvtxa__stats_report nvtxa__pushpop_trace = {host_columns, NVTXA__COUNT(host_columns),
                                                  NVTXA__NEEDS_HOST_RANGES, put_pushpop_trace};
const nvtxa__stats_report nvtxa__gpu_proj_trace = {gpu_columns, NVTXA__COUNT(gpu_columns),
                                                   NVTXA__NEEDS_GPU_RANGES, put_gpu_proj_trace};
