/* The columns of the reports, and where a header has them. */
#include <stdlib.h>
#include <string.h>

#include "report-internal.h"

static const nvtxa__known_column host_columns[] = {
    [NVTXA__HOST_START] = {"Start (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_END] = {"End (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_DURATION] = {"Duration (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_CHILD] = {"DurChild (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_EXCLUSIVE] = {"DurNonChild (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_NAME] = {"Name", NVTXA__CSV_NAME},
    [NVTXA__HOST_PID] = {"PID", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_TID] = {"TID", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_LEVEL] = {"Lvl", NVTXA__CSV_LEVEL},
    [NVTXA__HOST_CHILD_COUNT] = {"NumChild", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_RANGE] = {"RangeId", NVTXA__CSV_INTEGER},
    [NVTXA__HOST_PARENT] = {"ParentId", NVTXA__CSV_MAYBE},
};

/* Cells that are empty in the row for GPU work outside every range are MAYBE. NumChild is not held
 * against the rows: the report leaves ranges out that it counts as children. */
static const nvtxa__known_column gpu_columns[] = {
    [NVTXA__GPU_NAME] = {"Name", NVTXA__CSV_NAME},
    [NVTXA__GPU_PROJECTED_START] = {"Projected Start (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__GPU_PROJECTED_DURATION] = {"Projected Duration (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__GPU_START] = {"Orig Start (ns)", NVTXA__CSV_MAYBE},
    [NVTXA__GPU_DURATION] = {"Orig Duration (ns)", NVTXA__CSV_MAYBE},
    [NVTXA__GPU_STYLE] = {"Style", NVTXA__CSV_WORD},
    [NVTXA__GPU_PID] = {"PID", NVTXA__CSV_INTEGER},
    [NVTXA__GPU_TID] = {"TID", NVTXA__CSV_INTEGER},
    [NVTXA__GPU_OPERATIONS] = {"NumGPUOps", NVTXA__CSV_INTEGER},
    [NVTXA__GPU_LEVEL] = {"Lvl", NVTXA__CSV_LEVEL},
    [NVTXA__GPU_CHILD_COUNT] = {"NumChild", NVTXA__CSV_MAYBE},
    [NVTXA__GPU_RANGE] = {"RangeId", NVTXA__CSV_MAYBE},
    [NVTXA__GPU_PARENT] = {"ParentId", NVTXA__CSV_MAYBE},
};

static const nvtxa__known_column kernel_columns[] = {
    [NVTXA__KERNEL_DURATION] = {"Total Time (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__KERNEL_INSTANCES] = {"Instances", NVTXA__CSV_INTEGER},
    [NVTXA__KERNEL_NAME] = {"Name", NVTXA__CSV_NAME},
};

/* Kernels have a grid, transfers and sets have bytes. */
static const nvtxa__known_column operation_columns[] = {
    [NVTXA__OPERATION_DURATION] = {"Duration (ns)", NVTXA__CSV_INTEGER},
    [NVTXA__OPERATION_GRID] = {"GrdX", NVTXA__CSV_MAYBE},
    [NVTXA__OPERATION_BYTES] = {"Bytes (B)", NVTXA__CSV_MAYBE},
    [NVTXA__OPERATION_SOURCE] = {"SrcMemKd", NVTXA__CSV_WORD},
    [NVTXA__OPERATION_DESTINATION] = {"DstMemKd", NVTXA__CSV_WORD},
    [NVTXA__OPERATION_NAME] = {"Name", NVTXA__CSV_NAME},
};

/* Those needed, by report. Of other reports none are: they are not read. */
static const struct {
  const nvtxa__known_column *columns;
  size_t count;
} needed[NVTXA_REPORT_COUNT] = {
    [NVTXA_REPORT_PUSHPOP_TRACE] = {host_columns, NVTXA__COUNT(host_columns)},
    [NVTXA_REPORT_GPU_PROJ_TRACE] = {gpu_columns, NVTXA__COUNT(gpu_columns)},
    [NVTXA_REPORT_CUDA_GPU_KERN_SUM] = {kernel_columns, NVTXA__COUNT(kernel_columns)},
    [NVTXA_REPORT_CUDA_GPU_TRACE] = {operation_columns, NVTXA__COUNT(operation_columns)},
};

/* Columns that are not needed but help to tell where a record ends. */
static const nvtxa__known_column helpful_columns[] = {
    {"NameTree", NVTXA__CSV_NAME_TREE},
    {"RangeStack", NVTXA__CSV_WORD},
};

static bool field_is(nvtxa__csv_field field, const char *name) {
  return nvtxa__text_is((nvtxa_text){field.data, field.length}, name);
}

static bool holds(const char *header, size_t length, const char *text) {
  return memmem(header, length, text, strlen(text)) != NULL;
}

static const char *why_refused(nvtxa_report kind, const char *header, size_t length) {
  static const char *const units[] = {"(us)", "(ms)", "(s)", "(usec)", "(msec)", "(sec)"};
  for (size_t i = 0; i < NVTXA__COUNT(units); i++) {
    if (holds(header, length, units[i])) {
      return "Times must be in nanoseconds: make the report without --timeunit.";
    }
  }
  if (kind == NVTXA_REPORT_CUDA_GPU_TRACE && holds(header, length, "Bytes (") &&
      !holds(header, length, "Bytes (B)")) {
    return "Sizes must be in bytes, since others are rounded: make the report with `--format "
           "csv:mem=B`.";
  }
  if (holds(header, length, ":ts_ns") || holds(header, length, ":dur_ns")) {
    return "This is what the report's script prints by itself: make the report with `nsys stats "
           "--format csv`.";
  }
  return "The first line must be the header that `nsys stats --format csv` writes.";
}

static nvtxa_status refuse(const nvtxa__report *r, nvtxa_text header, size_t missing_count,
                           const nvtxa__buffer *missing, nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  size_t length = header.length;
  while (length > 0 && (header.data[length - 1] == '\n' || header.data[length - 1] == '\r')) {
    length--;
  }
  const char *report = nvtxa__report_name(r->kind, NVTXA__NAMING_NEW);
  const nvtxa__where where = {
      .file = r->shown,
      .line = 1,
      .hint = why_refused(r->kind, header.data, length),
  };
  nvtxa__quote(quoted, header.data, length);
  return missing_count == r->column_count
             ? nvtxa__fail(reterr, NVTXA_ERROR_REPORT_COLUMNS, &where,
                           "%s: the first line is no header of this report; it reads '%s'", report,
                           quoted)
             : nvtxa__fail(reterr, NVTXA_ERROR_REPORT_COLUMNS, &where,
                           "%s: the header lacks %s; it reads '%s'", report, missing->data, quoted);
}

nvtxa_status nvtxa__columns_map(nvtxa__report *r, const nvtxa__csv_record *header, nvtxa_text text,
                                nvtxa_error **reterr) {
  nvtxa__buffer missing = {0};
  size_t missing_count = 0;
  nvtxa_status status = NVTXA_OK;
  r->columns = needed[r->kind].columns;
  r->column_count = needed[r->kind].count;
  r->layout.column_count = header->count;
  r->layout.kinds = nvtxa__alloc_zero(header->count, sizeof *r->layout.kinds);
  if (r->layout.kinds == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < header->count; i++) {
    r->layout.header_quoted = r->layout.header_quoted || header->fields[i].quoted;
    for (size_t k = 0; k < NVTXA__COUNT(helpful_columns); k++) {
      if (field_is(header->fields[i], helpful_columns[k].name)) {
        r->layout.kinds[i] = helpful_columns[k].kind;
      }
    }
  }
  for (size_t k = 0; k < r->column_count; k++) {
    size_t i = 0;
    while (i < header->count && !field_is(header->fields[i], r->columns[k].name)) {
      i++;
    }
    nvtxa__csv_kind kind = r->columns[k].kind;
    r->place[k] = i;
    if (kind != NVTXA__CSV_NAME && kind != NVTXA__CSV_WORD) {
      r->integers[r->integer_count++] = k;
    }
    missing_count += i == header->count;
    if (i < header->count) {
      r->layout.kinds[i] = r->columns[k].kind;
    } else if (nvtxa__buffer_printf(&missing, "%s'%s'", missing.length == 0 ? "" : ", ",
                                    r->columns[k].name) != 0) {
      status = nvtxa__out_of_memory(reterr);
    }
  }
  if (status == NVTXA_OK && missing.length > 0) {
    status = refuse(r, text, missing_count, &missing, reterr);
  }
  nvtxa__buffer_free(&missing);
  return status;
}
