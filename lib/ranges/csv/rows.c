/* What a record of a report says, and whether that can be. */
#include "report-internal.h"

static nvtxa__csv_field cell(const nvtxa__cursor *r, size_t column) {
  return r->record.fields[r->report->place[column]];
}

nvtxa_status nvtxa__cell_fail(const nvtxa__cursor *r, nvtxa_status status, size_t column,
                              const char *what, nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  nvtxa__csv_field field = cell(r, column);
  return nvtxa__cursor_fail(r, status, r->report->columns[column].name, nvtxa__damaged, reterr,
                            "'%s' %s", nvtxa__quote(quoted, field.data, field.length), what);
}

static nvtxa_status contradiction(const nvtxa__cursor *r, size_t column, const char *what,
                                  nvtxa_error **reterr) {
  return nvtxa__cell_fail(r, NVTXA_ERROR_REPORT_VALUE, column, what, reterr);
}

static nvtxa_status bad_integer(const nvtxa__cursor *r, size_t column, nvtxa_error **reterr) {
  return contradiction(r, column, "is not a 64-bit integer", reterr);
}

/* The integers of a row, by column; 0 where one may be nothing and is. Inline, since that is most
 * of what a row takes. */
static inline nvtxa_status read_integers(const nvtxa__cursor *r,
                                         int64_t values[NVTXA__REPORT_COLUMNS],
                                         bool present[NVTXA__REPORT_COLUMNS],
                                         nvtxa_error **reterr) {
  const nvtxa__report *report = r->report;
  for (size_t i = 0; i < report->integer_count; i++) {
    size_t k = report->integers[i];
    values[k] = 0;
    nvtxa__csv_field field = cell(r, k);
    present[k] = nvtxa__parse_int64(field.data, field.length, &values[k]);
    if (!present[k] &&
        (report->columns[k].kind == NVTXA__CSV_INTEGER || !nvtxa__csv_is_nothing(field))) {
      return bad_integer(r, k, reterr);
    }
  }
  return NVTXA_OK;
}

static nvtxa_status read_host(const nvtxa__cursor *r, const int64_t *v, const bool *present,
                              nvtxa__said *said, nvtxa_error **reterr) {
  int64_t check;
  if (v[NVTXA__HOST_DURATION] < 0) {
    return contradiction(r, NVTXA__HOST_DURATION, "is negative", reterr);
  }
  if (__builtin_add_overflow(v[NVTXA__HOST_START], v[NVTXA__HOST_DURATION], &check) ||
      check != v[NVTXA__HOST_END]) {
    return contradiction(r, NVTXA__HOST_END, "is not start plus duration", reterr);
  }
  if (__builtin_add_overflow(v[NVTXA__HOST_CHILD], v[NVTXA__HOST_EXCLUSIVE], &check) ||
      check != v[NVTXA__HOST_DURATION]) {
    return contradiction(r, NVTXA__HOST_EXCLUSIVE, "is not duration less child duration", reterr);
  }
  if (v[NVTXA__HOST_CHILD_COUNT] < 0) {
    return contradiction(r, NVTXA__HOST_CHILD_COUNT, "is negative", reterr);
  }
  nvtxa__csv_field name = cell(r, NVTXA__HOST_NAME);
  said->unattributed = false;
  said->name = (nvtxa_text){name.data, name.length};
  said->style = (nvtxa_text){NULL, 0};
  *said->row = (nvtxa__builder_row){
      .thread = {v[NVTXA__HOST_PID], v[NVTXA__HOST_TID]},
      .range_id = v[NVTXA__HOST_RANGE],
      .has_parent = present[NVTXA__HOST_PARENT],
      .parent_id = v[NVTXA__HOST_PARENT],
      .start_ns = v[NVTXA__HOST_START],
      .duration_ns = v[NVTXA__HOST_DURATION],
      .child_total_ns = v[NVTXA__HOST_CHILD],
      .child_count = v[NVTXA__HOST_CHILD_COUNT],
  };
  return NVTXA_OK;
}

static nvtxa_status read_gpu(const nvtxa__cursor *r, const int64_t *v, const bool *present,
                             nvtxa__said *said, nvtxa_error **reterr) {
  int64_t check;
  if (v[NVTXA__GPU_OPERATIONS] < 0) {
    return contradiction(r, NVTXA__GPU_OPERATIONS, "is negative", reterr);
  }
  if (!present[NVTXA__GPU_RANGE]) {
    said->unattributed = true;
    said->outside = (nvtxa__unattributed){
        .operations = v[NVTXA__GPU_OPERATIONS],
        .start_ns = v[NVTXA__GPU_PROJECTED_START],
        .thread = {v[NVTXA__GPU_PID], v[NVTXA__GPU_TID]},
    };
    return __builtin_add_overflow(said->outside.start_ns, v[NVTXA__GPU_PROJECTED_DURATION],
                                  &said->outside.end_ns)
               ? contradiction(r, NVTXA__GPU_OPERATIONS, "makes the sum pass 64 bits", reterr)
               : NVTXA_OK;
  }
  if (!present[NVTXA__GPU_START] || !present[NVTXA__GPU_DURATION]) {
    return bad_integer(r, present[NVTXA__GPU_START] ? NVTXA__GPU_DURATION : NVTXA__GPU_START,
                       reterr);
  }
  if (v[NVTXA__GPU_PROJECTED_DURATION] < 0 || v[NVTXA__GPU_DURATION] < 0) {
    size_t column =
        v[NVTXA__GPU_DURATION] < 0 ? NVTXA__GPU_DURATION : NVTXA__GPU_PROJECTED_DURATION;
    return contradiction(r, column, "is negative", reterr);
  }
  if (__builtin_add_overflow(v[NVTXA__GPU_START], v[NVTXA__GPU_DURATION], &check) ||
      __builtin_add_overflow(v[NVTXA__GPU_PROJECTED_START], v[NVTXA__GPU_PROJECTED_DURATION],
                             &check)) {
    return contradiction(r, NVTXA__GPU_DURATION, "ends beyond 64 bits", reterr);
  }
  nvtxa__csv_field name = cell(r, NVTXA__GPU_NAME);
  nvtxa__csv_field style = cell(r, NVTXA__GPU_STYLE);
  said->unattributed = false;
  said->name = (nvtxa_text){name.data, name.length};
  said->style = (nvtxa_text){style.data, style.length};
  *said->row = (nvtxa__builder_row){
      .thread = {v[NVTXA__GPU_PID], v[NVTXA__GPU_TID]},
      .range_id = v[NVTXA__GPU_RANGE],
      .has_parent = present[NVTXA__GPU_PARENT],
      .parent_id = v[NVTXA__GPU_PARENT],
      .start_ns = v[NVTXA__GPU_START],
      .duration_ns = v[NVTXA__GPU_DURATION],
      .projected_start_ns = v[NVTXA__GPU_PROJECTED_START],
      .projected_duration_ns = v[NVTXA__GPU_PROJECTED_DURATION],
      .gpu_operation_count = v[NVTXA__GPU_OPERATIONS],
  };
  return NVTXA_OK;
}

nvtxa_status nvtxa__row_read(const nvtxa__cursor *cursor, nvtxa__said *said, nvtxa_error **reterr) {
  int64_t values[NVTXA__REPORT_COLUMNS];
  bool present[NVTXA__REPORT_COLUMNS];
  nvtxa_status status = read_integers(cursor, values, present, reterr);
  return status != NVTXA_OK ? status
         : cursor->report->kind == NVTXA_REPORT_PUSHPOP_TRACE
             ? read_host(cursor, values, present, said, reterr)
             : read_gpu(cursor, values, present, said, reterr);
}

/* ---- GPU work ---- */

static nvtxa_text text_of(nvtxa__csv_field field) {
  return (nvtxa_text){field.data, field.length};
}

static nvtxa_status read_kernels(const nvtxa__cursor *r, const int64_t *v, nvtxa__said_work *said,
                                 nvtxa_error **reterr) {
  if (v[NVTXA__KERNEL_DURATION] < 0) {
    return contradiction(r, NVTXA__KERNEL_DURATION, "is negative", reterr);
  }
  if (v[NVTXA__KERNEL_INSTANCES] < 0) {
    return contradiction(r, NVTXA__KERNEL_INSTANCES, "is negative", reterr);
  }
  *said = (nvtxa__said_work){
      .kind = NVTXA_GPU_KERNEL,
      .first = text_of(cell(r, NVTXA__KERNEL_NAME)),
      .sum = {(uint64_t)v[NVTXA__KERNEL_INSTANCES], v[NVTXA__KERNEL_DURATION], 0},
  };
  return NVTXA_OK;
}

/* A kind of memory, which may be nothing. */
static nvtxa_text memory_kind(const nvtxa__cursor *r, size_t column) {
  nvtxa__csv_field field = cell(r, column);
  return nvtxa__csv_is_nothing(field) ? (nvtxa_text){NULL, 0} : text_of(field);
}

/* Reports name the kind of memory that was set in the column of sources. */
static nvtxa_status read_memory(const nvtxa__cursor *r, nvtxa__said_work *said,
                                nvtxa_error **reterr) {
  nvtxa_text source = memory_kind(r, NVTXA__OPERATION_SOURCE);
  nvtxa_text destination = memory_kind(r, NVTXA__OPERATION_DESTINATION);
  if (nvtxa__text_is(text_of(cell(r, NVTXA__OPERATION_NAME)), "[CUDA memset]")) {
    said->kind = NVTXA_GPU_MEMORY_SET;
    said->second = source;
    return NVTXA_OK;
  }
  if (source.data == NULL || destination.data == NULL) {
    return contradiction(
        r, source.data == NULL ? NVTXA__OPERATION_SOURCE : NVTXA__OPERATION_DESTINATION,
        "is no kind of memory, and a transfer has two", reterr);
  }
  said->kind = NVTXA_GPU_MEMORY_TRANSFER;
  said->first = source;
  said->second = destination;
  return NVTXA_OK;
}

static nvtxa_status read_operation(const nvtxa__cursor *r, const int64_t *v, const bool *present,
                                   nvtxa__said_work *said, nvtxa_error **reterr) {
  *said = (nvtxa__said_work){
      .elsewhere = present[NVTXA__OPERATION_GRID],
      .sum = {1, v[NVTXA__OPERATION_DURATION], v[NVTXA__OPERATION_BYTES]},
  };
  if (said->sum.duration_ns < 0) {
    return contradiction(r, NVTXA__OPERATION_DURATION, "is negative", reterr);
  }
  if (said->elsewhere) {
    return NVTXA_OK;
  }
  if (!present[NVTXA__OPERATION_BYTES]) {
    return bad_integer(r, NVTXA__OPERATION_BYTES, reterr);
  }
  if (said->sum.bytes < 0) {
    return contradiction(r, NVTXA__OPERATION_BYTES, "is negative", reterr);
  }
  return read_memory(r, said, reterr);
}

nvtxa_status nvtxa__work_row_read(const nvtxa__cursor *cursor, nvtxa__said_work *said,
                                  nvtxa_error **reterr) {
  int64_t values[NVTXA__REPORT_COLUMNS] = {0};
  bool present[NVTXA__REPORT_COLUMNS] = {false};
  nvtxa_status status = read_integers(cursor, values, present, reterr);
  return status != NVTXA_OK ? status
         : cursor->report->kind == NVTXA_REPORT_CUDA_GPU_KERN_SUM
             ? read_kernels(cursor, values, said, reterr)
             : read_operation(cursor, values, present, said, reterr);
}
