/*
 * The object: labels found by what they say, their totals, and the operations.
 */
#include <stdlib.h>

#include "gpu-internal.h"

nvtxa_gpu_work *nvtxa__gpu_work_new(void) {
  nvtxa_gpu_work *work = calloc(1, sizeof *work);
  if (work != NULL) {
    nvtxa__ref_init(&work->ref);
  }
  return work;
}

static void work_free(nvtxa_gpu_work *work) {
  nvtxa__packed *const columns[] = {
      &work->start_ns,     &work->duration_ns,    &work->label,
      &work->device,       &work->bytes,          &work->graph_node,
      &work->call,         &work->calls.start_ns, &work->calls.duration_ns,
      &work->calls.thread, &work->calls.range,
  };
  for (size_t i = 0; i < NVTXA__COUNT(columns); i++) {
    nvtxa__packed_free(columns[i]);
  }
  for (size_t i = 0; i < NVTXA__CELLS; i++) {
    nvtxa__packed_free(&work->cells[i]);
  }
  nvtxa__intern_free(&work->texts);
  nvtxa__intern_free(&work->label_keys);
  free(work->sums);
  free(work->sorted);
  free(work->rank);
  free(work->threads);
  free(work->devices);
  free(work->copy_kinds);
  free(work->untimed);
  free(work);
}

nvtxa_gpu_work *nvtxa_gpu_work_ref(const nvtxa_gpu_work *work) {
  nvtxa_gpu_work *own = (nvtxa_gpu_work *)work; /* only the count changes */
  if (own != NULL) {
    nvtxa__ref_take(&own->ref);
  }
  return own;
}

void nvtxa_gpu_work_unref(nvtxa_gpu_work *work) {
  if (work != NULL && nvtxa__ref_drop(&work->ref)) {
    work_free(work);
  }
}

/* ---- labels ---- */

int nvtxa__gpu_text_of(nvtxa_gpu_work *work, nvtxa_text text, uint32_t *ret) {
  if (text.data == NULL) {
    *ret = NVTXA__NO_TEXT;
    return 0;
  }
  if (nvtxa__utf8_valid(text.data, text.length) == text.length) {
    return nvtxa__intern_add(&work->texts, text.data, text.length, ret);
  }
  char *clean = nvtxa__alloc(text.length, 3);
  if (clean == NULL) {
    return -1;
  }
  size_t length = nvtxa__utf8_replace(clean, text.data, text.length);
  int result = nvtxa__intern_add(&work->texts, clean, length, ret);
  free(clean);
  return result;
}

int nvtxa__gpu_label_of(nvtxa_gpu_work *work, nvtxa_gpu_kind kind, nvtxa_text first,
                        nvtxa_text second, uint32_t *ret) {
  nvtxa__gpu_label label = {.kind = kind};
  size_t known = work->label_keys.count;
  if (nvtxa__gpu_text_of(work, first, &label.first) != 0 ||
      nvtxa__gpu_text_of(work, second, &label.second) != 0 ||
      nvtxa__intern_add(&work->label_keys, (const char *)&label, sizeof label, ret) != 0) {
    return -1;
  }
  if (*ret < known) {
    return 0;
  }
  if (nvtxa__reserve(&work->sums, &work->sum_capacity, known + 1, sizeof *work->sums) != 0) {
    return -1;
  }
  work->sums[*ret] = (nvtxa__gpu_sum){0, 0, 0};
  return 0;
}

bool nvtxa__gpu_count(nvtxa_gpu_work *work, uint32_t label, const nvtxa__gpu_sum *more) {
  nvtxa__gpu_sum *sum = &work->sums[label];
  return !__builtin_add_overflow(sum->instances, more->instances, &sum->instances) &&
         !__builtin_add_overflow(sum->duration_ns, more->duration_ns, &sum->duration_ns) &&
         !__builtin_add_overflow(sum->bytes, more->bytes, &sum->bytes);
}

static const char *const kind_names[] = {"kernels", "memory transfers", "memory sets", "graphs"};

static const char too_large_hint[] =
    "A total of more than 292 years, or of 8 EiB: is the trace right?";

/* Whatever part of the operations is summed up later fits, too. */
static nvtxa_status check_totals(const nvtxa_gpu_work *work, const char *file,
                                 nvtxa_error **reterr) {
  nvtxa__gpu_sum totals[NVTXA_GPU_KIND_COUNT] = {{0, 0, 0}};
  for (size_t i = 0; i < work->label_keys.count; i++) {
    const nvtxa__gpu_sum *more = &work->sums[i];
    uint32_t kind = nvtxa__gpu_label_at(work, (uint32_t)i)->kind;
    nvtxa__gpu_sum *total = &totals[kind];
    const char *quantity =
        __builtin_add_overflow(total->duration_ns, more->duration_ns, &total->duration_ns)
            ? "durations"
        : __builtin_add_overflow(total->bytes, more->bytes, &total->bytes)             ? "sizes"
        : __builtin_add_overflow(total->instances, more->instances, &total->instances) ? "instances"
                                                                                       : NULL;
    if (quantity != NULL) {
      return nvtxa__fail(reterr, NVTXA_ERROR_OVERFLOW,
                         &(nvtxa__where){.file = file, .hint = too_large_hint},
                         "the %s of all %s pass 64 bits in sum", quantity, kind_names[kind]);
    }
  }
  return NVTXA_OK;
}

nvtxa_status nvtxa__gpu_too_large(const nvtxa_gpu_work *work, uint32_t label, const char *file,
                                  nvtxa_error **reterr) {
  const nvtxa__gpu_label *what = nvtxa__gpu_label_at(work, label);
  char quoted[NVTXA__QUOTED];
  nvtxa_text name = what->kind == NVTXA_GPU_KERNEL ? work->texts.texts[what->first]
                                                   : nvtxa__text(kind_names[what->kind]);
  return nvtxa__fail(reterr, NVTXA_ERROR_OVERFLOW,
                     &(nvtxa__where){.file = file, .hint = too_large_hint},
                     "the durations or sizes of '%s' pass 64 bits in sum",
                     nvtxa__quote(quoted, name.data, name.length));
}

static nvtxa_text text_at(const nvtxa_gpu_work *work, uint32_t text) {
  return text == NVTXA__NO_TEXT ? (nvtxa_text){NULL, 0} : work->texts.texts[text];
}

/* No text comes before any. */
static int compare_texts(const nvtxa_gpu_work *work, uint32_t a, uint32_t b) {
  if (a == b || a == NVTXA__NO_TEXT || b == NVTXA__NO_TEXT) {
    return (a != b) * (a == NVTXA__NO_TEXT ? -1 : 1);
  }
  return nvtxa__text_compare(work->texts.texts[a], work->texts.texts[b]);
}

static int compare_labels(const void *a, const void *b, void *user) {
  const nvtxa_gpu_work *work = user;
  const nvtxa__gpu_label *x = nvtxa__gpu_label_at(work, *(const uint32_t *)a);
  const nvtxa__gpu_label *y = nvtxa__gpu_label_at(work, *(const uint32_t *)b);
  if (x->kind != y->kind) {
    return x->kind < y->kind ? -1 : 1;
  }
  int order = compare_texts(work, x->first, y->first);
  return order != 0 ? order : compare_texts(work, x->second, y->second);
}

nvtxa_status nvtxa__gpu_work_finish(nvtxa_gpu_work *work, const char *file, nvtxa_error **reterr) {
  size_t count = work->label_keys.count;
  work->sorted = nvtxa__alloc(count + 1, sizeof *work->sorted);
  work->rank = nvtxa__alloc(count + 1, sizeof *work->rank);
  if (work->sorted == NULL || work->rank == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < count; i++) {
    work->sorted[i] = (uint32_t)i;
    work->first_of_kind[nvtxa__gpu_label_at(work, (uint32_t)i)->kind + 1]++;
  }
  for (size_t kind = 0; kind < NVTXA_GPU_KIND_COUNT; kind++) {
    work->first_of_kind[kind + 1] += work->first_of_kind[kind];
  }
  if (count > 0) {
    qsort_r(work->sorted, count, sizeof *work->sorted, compare_labels, work);
  }
  for (size_t i = 0; i < count; i++) {
    work->rank[work->sorted[i]] = (uint32_t)i;
  }
  return check_totals(work, file, reterr);
}

/* ---- reading ---- */

nvtxa_gpu_amount nvtxa__gpu_amount(const nvtxa_gpu_work *work, uint32_t label,
                                   const nvtxa__gpu_sum *sum) {
  const nvtxa__gpu_label *what = nvtxa__gpu_label_at(work, label);
  bool kernel = what->kind == NVTXA_GPU_KERNEL;
  return (nvtxa_gpu_amount){
      .size = sizeof(nvtxa_gpu_amount),
      .kind = (nvtxa_gpu_kind)what->kind,
      .name = text_at(work, kernel ? what->first : NVTXA__NO_TEXT),
      .source_memory_kind = text_at(work, kernel ? NVTXA__NO_TEXT : what->first),
      .destination_memory_kind = text_at(work, what->second),
      .instances = sum->instances,
      .cumulative_duration_ns = sum->duration_ns,
      .total_bytes = sum->bytes,
  };
}

uint64_t nvtxa__gpu_nameless_kernels(const nvtxa_gpu_work *work) {
  if (nvtxa_gpu_work_amount_count(work, NVTXA_GPU_KERNEL) == 0) {
    return 0;
  }
  uint32_t first = work->sorted[0]; /* no name comes before any */
  return work->texts.texts[nvtxa__gpu_label_at(work, first)->first].length == 0
             ? work->sums[first].instances
             : 0;
}

size_t nvtxa_gpu_work_amount_count(const nvtxa_gpu_work *work, nvtxa_gpu_kind kind) {
  return work == NULL || (unsigned)kind >= NVTXA_GPU_KIND_COUNT
             ? 0
             : work->first_of_kind[kind + 1] - work->first_of_kind[kind];
}

nvtxa_status nvtxa_gpu_work_amount(const nvtxa_gpu_work *work, nvtxa_gpu_kind kind, size_t index,
                                   nvtxa_gpu_amount *ret_amount) {
  if (index >= nvtxa_gpu_work_amount_count(work, kind)) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  uint32_t label = work->sorted[work->first_of_kind[kind] + index];
  nvtxa_gpu_amount amount = nvtxa__gpu_amount(work, label, &work->sums[label]);
  return nvtxa__result_copy(ret_amount, &amount, sizeof amount);
}

bool nvtxa_gpu_work_has_operations(const nvtxa_gpu_work *work) {
  return work != NULL && work->has_operations;
}

size_t nvtxa_gpu_work_operation_count(const nvtxa_gpu_work *work) {
  return work == NULL ? 0 : work->count;
}

nvtxa_status nvtxa_gpu_work_operation(const nvtxa_gpu_work *work, size_t index,
                                      nvtxa_gpu_operation *ret_operation) {
  if (work == NULL || index >= work->count) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  const nvtxa__gpu_sum none = {0, 0, 0};
  nvtxa_gpu_amount what =
      nvtxa__gpu_amount(work, (uint32_t)nvtxa__packed_get(&work->label, index), &none);
  uint32_t call = (uint32_t)nvtxa__packed_get(&work->call, index);
  nvtxa_gpu_operation result = {
      .size = sizeof result,
      .kind = what.kind,
      .name = what.name,
      .source_memory_kind = what.source_memory_kind,
      .destination_memory_kind = what.destination_memory_kind,
      .bytes = nvtxa__packed_get(&work->bytes, index),
      .device_id = work->devices[nvtxa__packed_get(&work->device, index)].id,
      .start_ns = nvtxa__packed_get(&work->start_ns, index),
      .duration_ns = nvtxa__packed_get(&work->duration_ns, index),
      .graph_node = nvtxa__packed_get(&work->graph_node, index) != 0,
      .attribution = NVTXA_GPU_LAUNCH_MISSING,
  };
  if (call != NVTXA__NO_CALL) {
    int64_t range = nvtxa__packed_get(&work->calls.range, call);
    result.attribution = range < 0 ? NVTXA_GPU_OUTSIDE_RANGES : NVTXA_GPU_IN_RANGE;
    result.range = range < 0 ? 0 : (size_t)range;
    result.launch_start_ns = nvtxa__packed_get(&work->calls.start_ns, call);
  }
  return nvtxa__result_copy(ret_operation, &result, sizeof result);
}
