/*
 * GPU work in sum from two reports: kernels from cuda_gpu_kern_sum, transfers and sets from
 * cuda_gpu_trace. One row after the other is counted and forgotten, so that memory grows with what
 * differs and not with how often.
 */
#include "report-internal.h"

enum { ROWS_BETWEEN = 4096 }; /* looks at the clock and at the cancel flag */

/* The column whose sum passes 64 bits. The rows of a trace count one each: they are too few. */
static size_t overflowing(nvtxa_report kind, int64_t sum_ns, int64_t more_ns) {
  bool kernels = kind == NVTXA_REPORT_CUDA_GPU_KERN_SUM;
  if (__builtin_add_overflow(sum_ns, more_ns, &sum_ns)) {
    return kernels ? NVTXA__KERNEL_DURATION : NVTXA__OPERATION_DURATION;
  }
  return kernels ? NVTXA__KERNEL_INSTANCES : NVTXA__OPERATION_BYTES;
}

static nvtxa_status count_row(const nvtxa__cursor *cursor, nvtxa_gpu_work *work,
                              nvtxa_error **reterr) {
  nvtxa__said_work said;
  uint32_t label;
  nvtxa_status status = nvtxa__work_row_read(cursor, &said, reterr);
  if (status != NVTXA_OK || said.elsewhere) {
    return status;
  }
  if (nvtxa__gpu_label_of(work, said.kind, said.first, said.second, &label) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  int64_t before_ns = work->sums[label].duration_ns;
  if (!nvtxa__gpu_count(work, label, &said.sum)) {
    return nvtxa__cell_fail(cursor, NVTXA_ERROR_OVERFLOW,
                            overflowing(cursor->report->kind, before_ns, said.sum.duration_ns),
                            "makes the sum pass 64 bits", reterr);
  }
  return NVTXA_OK;
}

static nvtxa_status count_rows(const nvtxa__report *report, nvtxa__activity *activity,
                               nvtxa_gpu_work *work, nvtxa_error **reterr) {
  nvtxa__cursor cursor;
  nvtxa_status status = NVTXA_OK;
  bool done = false;
  nvtxa__cursor_init(&cursor);
  nvtxa__cursor_go(&cursor, report, report->begin, report->line, NVTXA__LONGEST_RECORD);
  for (size_t row = 0; status == NVTXA_OK; row++) {
    if (row % ROWS_BETWEEN == 0) {
      nvtxa__activity_tick(activity);
      status = nvtxa__cancelled(report->hooks) ? nvtxa__cancel_error(reterr) : NVTXA_OK;
    }
    if (status == NVTXA_OK) {
      status = nvtxa__cursor_read(&cursor, &done, reterr);
    }
    if (status != NVTXA_OK || done) {
      break;
    }
    status = count_row(&cursor, work, reterr);
    nvtxa__cursor_advance(&cursor);
  }
  nvtxa__cursor_free(&cursor);
  return status;
}

nvtxa_status nvtxa__gpu_reports_read(nvtxa__report *kern_sum, nvtxa__report *gpu_trace,
                                     nvtxa_quoting quoting, const nvtxa_hooks *hooks,
                                     nvtxa_gpu_work **ret_work, nvtxa_error **reterr) {
  nvtxa__report *const reports[] = {kern_sum, gpu_trace};
  nvtxa__activity activity;
  nvtxa_status status = NVTXA_OK;
  nvtxa_gpu_work *work = nvtxa__gpu_work_new();
  if (work == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__activity_start(&activity, hooks, "reading the reports of GPU work");
  for (size_t i = 0; i < NVTXA__COUNT(reports) && status == NVTXA_OK; i++) {
    status = nvtxa__report_begin(reports[i], quoting, hooks, reterr);
    if (status == NVTXA_OK) {
      status = count_rows(reports[i], &activity, work, reterr);
    }
    if (status == NVTXA_OK) {
      status = nvtxa__report_end(reports[i], reterr);
    }
  }
  if (status == NVTXA_OK) {
    status = nvtxa__gpu_work_finish(work, kern_sum->shown, reterr);
  }
  if (status != NVTXA_OK) {
    nvtxa_gpu_work_unref(work);
    return status;
  }
  *ret_work = work;
  return NVTXA_OK;
}

/* ---- files ---- */

nvtxa_status nvtxa__gpu_report_files_read(const char *kern_sum_path, const char *gpu_trace_path,
                                          nvtxa_quoting quoting, const nvtxa_hooks *hooks,
                                          nvtxa_gpu_work **ret_work, nvtxa_error **reterr) {
  nvtxa__report kern_sum;
  nvtxa__report gpu_trace = {.fd = -1};
  nvtxa_status status =
      nvtxa__report_open(&kern_sum, kern_sum_path, NVTXA_REPORT_CUDA_GPU_KERN_SUM, hooks, reterr);
  if (status == NVTXA_OK) {
    status =
        nvtxa__report_open(&gpu_trace, gpu_trace_path, NVTXA_REPORT_CUDA_GPU_TRACE, hooks, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__gpu_reports_read(&kern_sum, &gpu_trace, quoting, hooks, ret_work, reterr);
  }
  nvtxa__report_close(&kern_sum);
  nvtxa__report_close(&gpu_trace);
  return status;
}

nvtxa_status nvtxa_gpu_work_read_reports(const char *kern_sum_path, const char *gpu_trace_path,
                                         nvtxa_text nsys_version, const nvtxa_hooks *hooks,
                                         nvtxa_gpu_work **ret_work, nvtxa_error **reterr) {
  if (kern_sum_path == NULL || gpu_trace_path == NULL || ret_work == NULL) {
    return nvtxa__invalid(reterr, "kern_sum_path, gpu_trace_path or ret_work is NULL");
  }
  return nvtxa__gpu_report_files_read(kern_sum_path, gpu_trace_path,
                                      nvtxa_ranges_quoting_of(nsys_version), hooks, ret_work,
                                      reterr);
}
