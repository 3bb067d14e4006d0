/*
 * Kernels by name, and cuda_gpu_kern_sum: a row a name, the largest total first.
 */
#include <stdlib.h>

#include "stats-internal.h"

/* ---- kernels by name ---- */

static int compare_durations(const void *a, const void *b) {
  int64_t x_ns = ((const nvtxa__kernel *)a)->duration_ns;
  int64_t y_ns = ((const nvtxa__kernel *)b)->duration_ns;
  return (x_ns > y_ns) - (x_ns < y_ns);
}

static uint32_t label_of(const nvtxa_gpu_work *work, size_t operation) {
  return (uint32_t)nvtxa__packed_get(&work->label, operation);
}

static bool is_kernel(const nvtxa_gpu_work *work, uint32_t label) {
  return nvtxa__gpu_label_at(work, label)->kind == NVTXA_GPU_KERNEL;
}

/* Where each label's kernels begin, one place on: dealing them out moves it to the right place. */
static void make_room(nvtxa__kernels *kernels, const nvtxa_gpu_work *work) {
  for (size_t i = 0; i < work->count; i++) {
    uint32_t label = label_of(work, i);
    kernels->first[label + 2] += is_kernel(work, label);
  }
  for (size_t label = 1; label <= work->label_keys.count; label++) {
    kernels->first[label + 1] += kernels->first[label];
  }
}

int nvtxa__kernels_make(nvtxa__kernels *kernels, const nvtxa_gpu_work *work) {
  size_t label_count = work->label_keys.count;
  *kernels = (nvtxa__kernels){.first = nvtxa__alloc_zero(label_count + 2, sizeof(size_t))};
  if (kernels->first == NULL) {
    return -1;
  }
  make_room(kernels, work);
  kernels->items = nvtxa__alloc(kernels->first[label_count + 1] + 1, sizeof *kernels->items);
  if (kernels->items == NULL) {
    return -1;
  }
  for (size_t i = 0; i < work->count; i++) {
    uint32_t label = label_of(work, i);
    if (is_kernel(work, label)) {
      kernels->items[kernels->first[label + 1]++] =
          (nvtxa__kernel){nvtxa__packed_get(&work->duration_ns, i), (uint32_t)i};
    }
  }
  for (size_t label = 0; label < label_count; label++) {
    size_t first = kernels->first[label];
    qsort(kernels->items + first, kernels->first[label + 1] - first, sizeof *kernels->items,
          compare_durations);
  }
  return 0;
}

void nvtxa__kernels_free(nvtxa__kernels *kernels) {
  free(kernels->items);
  free(kernels->first);
  *kernels = (nvtxa__kernels){NULL, NULL};
}

/* ---- the report ---- */

static const char *const columns[] = {"Time (%)", "Total Time (ns)", "Instances",
                                      NVTXA__TALLY_COLUMNS, "Name"};

/* The kernels of one name. */
typedef struct kernel_line {
  uint32_t label;
  uint32_t rank; /* of the name, in byte order */
  nvtxa__tally tally;
} kernel_line;

static int compare_lines(const void *a, const void *b) {
  const kernel_line *x = a;
  const kernel_line *y = b;
  if (x->tally.total_ns != y->tally.total_ns) {
    return x->tally.total_ns > y->tally.total_ns ? -1 : 1;
  }
  if (x->tally.count != y->tally.count) {
    return x->tally.count < y->tally.count ? -1 : 1;
  }
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Whether the total fits. */
static bool sum_up(kernel_line *line, const nvtxa__kernels *kernels) {
  size_t last = kernels->first[line->label + 1];
  for (size_t i = kernels->first[line->label]; i < last; i++) {
    if (!nvtxa__tally_count(&line->tally, kernels->items[i].duration_ns)) {
      return false;
    }
  }
  for (size_t i = kernels->first[line->label]; i < last; i++) {
    nvtxa__tally_add(&line->tally, kernels->items[i].duration_ns);
  }
  return true;
}

static nvtxa_status make_lines(kernel_line *lines, size_t *ret_count, const nvtxa__kernels *kernels,
                               const nvtxa_gpu_work *work, nvtxa_error **reterr) {
  *ret_count = 0;
  for (size_t label = 0; label < work->label_keys.count; label++) {
    kernel_line *next = &lines[*ret_count];
    if (kernels->first[label] == kernels->first[label + 1]) {
      continue;
    }
    *next = (kernel_line){.label = (uint32_t)label, .rank = work->rank[label]};
    if (!sum_up(next, kernels)) {
      return nvtxa__gpu_too_large(work, next->label, NULL, reterr);
    }
    ++*ret_count;
  }
  qsort(lines, *ret_count, sizeof *lines, compare_lines);
  return NVTXA_OK;
}

static void put_line(nvtxa__cells *cells, const kernel_line *line, double all_ns, nvtxa_text name) {
  if (all_ns > 0) {
    nvtxa__cell_tenths(cells, (double)line->tally.total_ns * 100 / all_ns);
  } else {
    nvtxa__cell_empty(cells); /* a share of nothing */
  }
  nvtxa__cell_integer(cells, line->tally.total_ns);
  nvtxa__cell_integer(cells, (int64_t)line->tally.count);
  nvtxa__cells_put_tally(cells, &line->tally);
  nvtxa__cell_text(cells, name, nvtxa__cell_is_quoted(cells, name), 0);
  nvtxa__cells_end_row(cells);
}

static nvtxa_status put_report(nvtxa__cells *cells, const nvtxa_ranges *ranges,
                               nvtxa_error **reterr) {
  const nvtxa_gpu_work *work = ranges->work;
  nvtxa__kernels kernels;
  size_t count = 0;
  double all_ns = 0;
  kernel_line *lines = nvtxa__alloc(work->label_keys.count + 1, sizeof *lines);
  int made = nvtxa__kernels_make(&kernels, work);
  nvtxa_status status = lines == NULL || made != 0
                            ? nvtxa__out_of_memory(reterr)
                            : make_lines(lines, &count, &kernels, work, reterr);
  for (size_t i = 0; i < count; i++) {
    all_ns += (double)lines[i].tally.total_ns;
  }
  for (size_t i = 0; i < count && status == NVTXA_OK && cells->status == NVTXA_OK; i++) {
    uint32_t name = nvtxa__gpu_label_at(work, lines[i].label)->first;
    put_line(cells, &lines[i], all_ns, work->texts.texts[name]);
  }
  nvtxa__kernels_free(&kernels);
  free(lines);
  return status;
}

const nvtxa__stats_report nvtxa__cuda_gpu_kern_sum = {columns, NVTXA__COUNT(columns),
                                                      NVTXA__NEEDS_OPERATIONS, put_report};
