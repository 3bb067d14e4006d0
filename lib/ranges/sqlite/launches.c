/*
 * The CUDA API calls that launched GPU operations: CUPTI_ACTIVITY_KIND_RUNTIME joined to the
 * operations by correlation id and process. Two processes may use the same correlation ids. Calls
 * that launched nothing are not kept; what one call launched is one operation here, from the first
 * start to the last end.
 */
#include <stdlib.h>
#include <string.h>

#include "sqlite-internal.h"

static const char call_table[] = "CUPTI_ACTIVITY_KIND_RUNTIME";

enum call_column { CALL_START, CALL_END, CALL_CORRELATION, CALL_THREAD };
static const nvtxa__column call_columns[] = {
    [CALL_START] = {"start", false},
    [CALL_END] = {"end", false},
    [CALL_CORRELATION] = {"correlationId", false},
    [CALL_THREAD] = {"globalTid", false},
};

typedef struct reading {
  nvtxa__launches *launches;
  nvtxa__operation_rows rows; /* those with a key: as they stand, then one for each key, sorted */
  size_t near;                /* where the last key was found: calls and operations go in step */
} reading;

static int compare_keys(nvtxa__key a, nvtxa__key b) {
  return a.correlation != b.correlation ? (a.correlation > b.correlation ? 1 : -1)
                                        : (a.process > b.process) - (a.process < b.process);
}

static nvtxa__key key_of(const nvtxa__keyed *k, size_t i) {
  return (nvtxa__key){nvtxa__packed_get(&k->correlation, i), nvtxa__packed_get(&k->process, i)};
}

/* ---- operations ---- */

/* Of operations with one correlation id: by process, then as they stand. */
static int compare_processes(const void *a, const void *b, void *user) {
  const nvtxa__keyed *k = user;
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  int order = compare_keys(key_of(k, x), key_of(k, y));
  return order != 0 ? order : (x > y) - (x < y);
}

/* Whether each operation has its key alone, and keys ascend. */
static bool are_distinct(const nvtxa__keyed *k) {
  for (size_t i = 1; i < k->count; i++) {
    if (compare_keys(key_of(k, i - 1), key_of(k, i)) >= 0) {
      return false;
    }
  }
  return true;
}

/* One operation for each key: from the first start to the last end. `merged` gets by operation
 * which it became. */
static int merge(const nvtxa__keyed *from, const uint32_t *order, nvtxa__keyed *to,
                 uint32_t *merged) {
  int result = 0;
  for (size_t i = 0, next; i < from->count && result == 0; i = next) {
    uint32_t item = nvtxa__ordered(order, i);
    nvtxa__key own = key_of(from, item);
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = INT64_MIN;
    for (next = i; next < from->count; next++) {
      item = nvtxa__ordered(order, next);
      if (compare_keys(key_of(from, item), own) != 0) {
        break;
      }
      int64_t begun_ns = nvtxa__packed_get(&from->start_ns, item);
      int64_t ended_ns = begun_ns + nvtxa__packed_get(&from->duration_ns, item);
      start_ns = begun_ns < start_ns ? begun_ns : start_ns;
      end_ns = ended_ns > end_ns ? ended_ns : end_ns;
      merged[item] = (uint32_t)to->count;
    }
    result = nvtxa__packed_add(&to->correlation, own.correlation);
    result |= nvtxa__packed_add(&to->process, own.process);
    result |= nvtxa__packed_add(&to->start_ns, start_ns);
    result |= nvtxa__packed_add(&to->duration_ns, end_ns - start_ns);
    to->count++;
  }
  return result | nvtxa__keyed_finish(to);
}

static int sort_operations(nvtxa__keyed *keyed, uint32_t **ret_merged) {
  nvtxa__keyed merged = {.count = 0};
  uint32_t *order = NULL;
  if (are_distinct(keyed)) {
    return 0;
  }
  *ret_merged = nvtxa__alloc(keyed->count, sizeof **ret_merged);
  int result = *ret_merged == NULL ? -1
                                   : nvtxa__order_make(&order, keyed->count, &keyed->correlation,
                                                       compare_processes, keyed);
  if (result == 0) {
    result = merge(keyed, order, &merged, *ret_merged);
  }
  free(order);
  nvtxa__keyed_free(keyed);
  *keyed = merged;
  return result;
}

/* ---- calls ---- */

static bool is_below(const void *operations, size_t operation, const void *wanted) {
  return compare_keys(key_of(operations, operation), *(const nvtxa__key *)wanted) < 0;
}

/* The operation with a key, or NVTXA__NO_ITEM. */
static uint32_t find(reading *r, nvtxa__key wanted) {
  const nvtxa__keyed *operations = &r->rows.keyed;
  r->near = nvtxa__search(operations->count, r->near, is_below, operations, &wanted);
  return r->near < operations->count && compare_keys(key_of(operations, r->near), wanted) == 0
             ? (uint32_t)r->near
             : NVTXA__NO_ITEM;
}

static bool take_call(void *user, nvtxa__row *row) {
  reading *r = user;
  nvtxa__launches *launches = r->launches;
  nvtxa__calls *calls = &launches->calls;
  bool has_correlation;
  bool has_thread;
  nvtxa__key wanted;
  int64_t global_tid = 0;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t thread;
  if (!nvtxa__row_integer_or_null(row, CALL_CORRELATION, &has_correlation, &wanted.correlation) ||
      !nvtxa__row_integer_or_null(row, CALL_THREAD, &has_thread, &global_tid)) {
    return false;
  }
  if (!has_correlation || !has_thread) {
    return true;
  }
  uint32_t process = nvtxa__number_of(&r->rows.processes, NVTXA__GLOBAL_PID(global_tid));
  wanted.process = process;
  uint32_t operation = process == NVTXA__NO_ITEM ? NVTXA__NO_ITEM : find(r, wanted);
  if (operation == NVTXA__NO_ITEM) {
    return true;
  }
  if (calls->count == NVTXA__MAX_ROWS) {
    return nvtxa__row_limit(row, NVTXA__MAX_ROWS);
  }
  if (!nvtxa__row_time(row, CALL_START, &start_ns) || !nvtxa__row_time(row, CALL_END, &end_ns)) {
    return false;
  }
  int result = nvtxa__number(&launches->threads, global_tid, &thread);
  result |= result == 0 ? nvtxa__packed_add(&calls->thread, thread) : 0;
  result |= nvtxa__packed_add(&calls->start_ns, start_ns);
  result |= nvtxa__packed_add(&calls->duration_ns, end_ns - start_ns);
  result |= nvtxa__packed_add(&calls->operation, operation);
  uint8_t *count = &launches->operations.calls[operation];
  *count = *count == 0 ? 1 : 2;
  calls->count++;
  return result == 0 || nvtxa__row_out_of_memory(row);
}

static int finish_calls(nvtxa__calls *calls) {
  int result = nvtxa__packed_finish(&calls->thread);
  result |= nvtxa__packed_finish(&calls->start_ns);
  result |= nvtxa__packed_finish(&calls->duration_ns);
  return result | nvtxa__packed_finish(&calls->operation);
}

/* Whether of two calls with one correlation id one counts before the other: it began first, or
 * ended first, or its thread has the lower id. What is the same in all of that is one call to
 * everybody. */
static bool is_before(const nvtxa__launches *launches, uint32_t a, uint32_t b) {
  const nvtxa__calls *calls = &launches->calls;
  int64_t a_ns = nvtxa__packed_get(&calls->start_ns, a);
  int64_t b_ns = nvtxa__packed_get(&calls->start_ns, b);
  if (a_ns == b_ns) {
    a_ns = nvtxa__packed_get(&calls->duration_ns, a);
    b_ns = nvtxa__packed_get(&calls->duration_ns, b);
  }
  if (a_ns != b_ns) {
    return a_ns < b_ns;
  }
  return launches->threads.ids[nvtxa__packed_get(&calls->thread, a)] <
         launches->threads.ids[nvtxa__packed_get(&calls->thread, b)];
}

/* Of the calls that launched an operation, the first. */
static int find_first_calls(nvtxa__launches *launches) {
  const nvtxa__calls *calls = &launches->calls;
  uint32_t *first = nvtxa__alloc(launches->operations.count + 1, sizeof *first);
  if (first == NULL) {
    return -1;
  }
  memset(first, 0xFF, (launches->operations.count + 1) * sizeof *first); /* NVTXA__NO_CALL */
  for (size_t call = 0; call < calls->count; call++) {
    size_t operation = (size_t)nvtxa__packed_get(&calls->operation, call);
    if (first[operation] == NVTXA__NO_CALL ||
        is_before(launches, (uint32_t)call, first[operation])) {
      first[operation] = (uint32_t)call;
    }
  }
  launches->first_call = first;
  return 0;
}

/* ---- the tables ---- */

static nvtxa_status read_calls(reading *r, nvtxa__database *database, nvtxa_error **reterr) {
  nvtxa__calls *calls = &r->launches->calls;
  nvtxa__packed *const columns[] = {&calls->thread, &calls->start_ns, &calls->duration_ns};
  bool has = false;
  nvtxa_status status = nvtxa__database_has_table(database, call_table, &has, reterr);
  if (status == NVTXA_OK && nvtxa__packed_together(columns, NVTXA__COUNT(columns)) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK && has && r->rows.keyed.count > 0) {
    status = nvtxa__database_scan(database, call_table, call_columns, NVTXA__COUNT(call_columns),
                                  take_call, r, reterr);
  }
  return status == NVTXA_OK && finish_calls(calls) != 0 ? nvtxa__out_of_memory(reterr) : status;
}

static nvtxa_status read_operations(reading *r, nvtxa__database *database, nvtxa_error **reterr) {
  nvtxa__operations *operations = &r->launches->operations;
  nvtxa__keyed *keyed = &r->rows.keyed;
  nvtxa_status status = nvtxa__operations_read(&r->rows, database, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (sort_operations(keyed, &r->launches->merged) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  operations->calls = nvtxa__alloc_zero(keyed->count + 1, 1);
  return operations->calls == NULL ? nvtxa__out_of_memory(reterr) : NVTXA_OK;
}

/* What was read goes where it is needed. */
static void hand_over(reading *r) {
  nvtxa__operations *operations = &r->launches->operations;
  nvtxa__keyed *keyed = &r->rows.keyed;
  operations->count = keyed->count;
  operations->start_ns = keyed->start_ns;
  operations->duration_ns = keyed->duration_ns;
  keyed->start_ns = (nvtxa__packed){0};
  keyed->duration_ns = (nvtxa__packed){0};
  r->launches->items = r->rows.items;
  r->rows.items = (nvtxa__items){0};
}

/* With detail: what is still to be looked up. */
static nvtxa_status begin_work(nvtxa__launches *launches, nvtxa__database *database,
                               nvtxa_error **reterr) {
  launches->work = nvtxa__gpu_work_new();
  if (launches->work == NULL || find_first_calls(launches) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  launches->work->has_cells = launches->detail == NVTXA_GPU_DETAIL_TRACE;
  return nvtxa__operations_name(&launches->items, launches->work->has_cells, database,
                                launches->work, &launches->labels, reterr);
}

nvtxa_status nvtxa__launches_read(nvtxa__launches *launches, nvtxa__database *database,
                                  nvtxa_error **reterr) {
  reading r = {.launches = launches, .rows = {.detail = launches->detail}};
  nvtxa_status status = read_operations(&r, database, reterr);
  if (status == NVTXA_OK) {
    status = read_calls(&r, database, reterr);
  }
  if (status == NVTXA_OK) {
    hand_over(&r);
  }
  nvtxa__operation_rows_free(&r.rows);
  return status == NVTXA_OK && launches->detail != NVTXA_GPU_DETAIL_NONE
             ? begin_work(launches, database, reterr)
             : status;
}

void nvtxa__launches_free(nvtxa__launches *launches) {
  nvtxa__packed_free(&launches->operations.start_ns);
  nvtxa__packed_free(&launches->operations.duration_ns);
  free(launches->operations.calls);
  nvtxa__calls_free(&launches->calls);
  nvtxa__numbering_free(&launches->threads);
  nvtxa__items_free(&launches->items);
  free(launches->merged);
  free(launches->first_call);
  free(launches->labels);
  nvtxa_gpu_work_unref(launches->work);
  *launches = (nvtxa__launches){0};
}
