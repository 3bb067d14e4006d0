/*
 * GPU work from an SQLite export: the operations in the order of their starts, each with the call
 * that launched it, and each call with the innermost range around it.
 */
#include <stdlib.h>

#include "sqlite-internal.h"

static void move(nvtxa__packed *to, nvtxa__packed *from) {
  *to = *from;
  *from = (nvtxa__packed){0};
}

/* A column in another order. */
static int arrange(nvtxa__packed *to, nvtxa__packed *from, const uint32_t *order, size_t count) {
  if (order == NULL) {
    move(to, from);
    return 0;
  }
  return nvtxa__packed_pick(to, from, order, count);
}

/* ---- operations ---- */

static uint32_t call_of(const nvtxa__launches *launches, uint32_t item) {
  int64_t keyed = nvtxa__packed_get(&launches->items.keyed, item);
  return keyed < 0 ? NVTXA__NO_CALL
                   : launches->first_call[launches->merged == NULL ? (uint32_t)keyed
                                                                   : launches->merged[keyed]];
}

static int add_calls_and_labels(nvtxa__launches *launches, const uint32_t *order) {
  nvtxa_gpu_work *work = launches->work;
  int result = 0;
  for (size_t i = 0; i < work->count && result == 0; i++) {
    uint32_t item = nvtxa__ordered(order, i);
    uint32_t label = launches->labels[nvtxa__packed_get(&launches->items.label, item)];
    result = nvtxa__packed_add(&work->label, label);
    result |= nvtxa__packed_add(&work->call, call_of(launches, item));
  }
  return result | nvtxa__packed_finish(&work->label) | nvtxa__packed_finish(&work->call);
}

static int add_operations(nvtxa__launches *launches) {
  nvtxa_gpu_work *work = launches->work;
  nvtxa__items *items = &launches->items;
  uint32_t *order = NULL;
  int result = nvtxa__order_make(&order, items->count, &items->start_ns, NULL, NULL);
  work->count = items->count;
  if (result == 0) {
    result = add_calls_and_labels(launches, order) |
             arrange(&work->start_ns, &items->start_ns, order, work->count) |
             arrange(&work->duration_ns, &items->duration_ns, order, work->count) |
             arrange(&work->device, &items->device, order, work->count) |
             arrange(&work->bytes, &items->bytes, order, work->count) |
             arrange(&work->graph_node, &items->graph_node, order, work->count);
  }
  for (size_t i = 0; i < NVTXA__CELLS && result == 0 && work->has_cells; i++) {
    result = arrange(&work->cells[i], &items->cells[i], order, work->count);
  }
  free(order);
  return result;
}

static nvtxa_status count(nvtxa_gpu_work *work, const char *path, nvtxa_error **reterr) {
  for (size_t i = 0; i < work->count; i++) {
    uint32_t label = (uint32_t)nvtxa__packed_get(&work->label, i);
    const nvtxa__gpu_sum one = {
        .instances = 1,
        .duration_ns = nvtxa__packed_get(&work->duration_ns, i),
        .bytes = nvtxa__packed_get(&work->bytes, i),
    };
    if (!nvtxa__gpu_count(work, label, &one)) {
      return nvtxa__gpu_too_large(work, label, path, reterr);
    }
  }
  return NVTXA_OK;
}

/* ---- calls ---- */

static int add_calls(nvtxa__launches *launches, const nvtxa__projection *projection,
                     const uint32_t *row_of) {
  nvtxa__gpu_calls *calls = &launches->work->calls;
  int result = 0;
  calls->count = launches->calls.count;
  move(&calls->start_ns, &launches->calls.start_ns);
  move(&calls->duration_ns, &launches->calls.duration_ns);
  move(&calls->thread, &launches->calls.thread);
  for (size_t i = 0; i < calls->count && result == 0; i++) {
    uint32_t event = projection->innermost[i];
    result =
        nvtxa__packed_add(&calls->range, event == NVTXA__NO_PARENT ? -1 : (int64_t)row_of[event]);
  }
  return result | nvtxa__packed_finish(&calls->range);
}

static int add_threads(nvtxa__launches *launches, const nvtxa__projection *projection,
                       const uint32_t *lane) {
  nvtxa_gpu_work *work = launches->work;
  const nvtxa__numbering *threads = &launches->threads;
  work->threads = nvtxa__alloc(threads->count + 1, sizeof *work->threads);
  if (work->threads == NULL) {
    return -1;
  }
  for (size_t t = 0; t < threads->count; t++) {
    work->threads[t] = (nvtxa__gpu_thread){
        .process_id = NVTXA__PID(threads->ids[t]),
        .thread_id = NVTXA__TID(threads->ids[t]),
        .lane = lane[t],
        .nested = projection->simple_call_thread[t],
    };
  }
  work->thread_count = threads->count;
  return 0;
}

nvtxa_status nvtxa__work_make(nvtxa__launches *launches, const nvtxa__projection *projection,
                              const uint32_t *row_of, const uint32_t *lane, const char *path,
                              nvtxa_gpu_work **ret_work, nvtxa_error **reterr) {
  nvtxa_gpu_work *work = launches->work;
  work->has_operations = true;
  if (add_operations(launches) != 0 || add_calls(launches, projection, row_of) != 0 ||
      add_threads(launches, projection, lane) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_status status = count(work, path, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__gpu_work_finish(work, path, reterr);
  }
  if (status == NVTXA_OK) {
    *ret_work = work;
    launches->work = NULL;
  }
  return status;
}
