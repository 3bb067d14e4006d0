/*
 * The CUDA API calls that launched GPU operations: CUPTI_ACTIVITY_KIND_RUNTIME joined to kernels,
 * copies and fills by correlation id and process. Two processes may use the same correlation ids.
 * Calls that launched nothing are not kept, and neither are operations one by one.
 */
#include <stdlib.h>

#include "sqlite-internal.h"

static const char *const operation_tables[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"};
static const char call_table[] = "CUPTI_ACTIVITY_KIND_RUNTIME";

enum operation_column { OP_START, OP_END, OP_CORRELATION, OP_PROCESS };
static const nvtxa__column operation_columns[] = {
    [OP_START] = {"start", false},
    [OP_END] = {"end", false},
    [OP_CORRELATION] = {"correlationId", false},
    [OP_PROCESS] = {"globalPid", false},
};

enum call_column { CALL_START, CALL_END, CALL_CORRELATION, CALL_THREAD };
static const nvtxa__column call_columns[] = {
    [CALL_START] = {"start", false},
    [CALL_END] = {"end", false},
    [CALL_CORRELATION] = {"correlationId", false},
    [CALL_THREAD] = {"globalTid", false},
};

/* What an operation is found by. */
typedef struct key {
  int64_t correlation;
  int64_t process;
} key;

typedef struct keyed {
  size_t count;
  nvtxa__packed correlation;
  nvtxa__packed process; /* in `processes` of the reading */
  nvtxa__packed start_ns;
  nvtxa__packed duration_ns;
} keyed;

typedef struct reading {
  nvtxa__launches *launches;
  keyed operations; /* one by one, as their rows stand; then one for each key, sorted by it */
  nvtxa__numbering processes;
  size_t near; /* where the last key was found: calls and operations go in step */
} reading;

static int compare_keys(key a, key b) {
  return a.correlation != b.correlation ? (a.correlation > b.correlation ? 1 : -1)
                                        : (a.process > b.process) - (a.process < b.process);
}

static key key_of(const keyed *k, size_t i) {
  return (key){nvtxa__packed_get(&k->correlation, i), nvtxa__packed_get(&k->process, i)};
}

/* ---- operations ---- */

static bool take_operation(void *user, nvtxa__row *row) {
  reading *r = user;
  keyed *operations = &r->operations;
  int64_t correlation;
  int64_t process;
  bool has_correlation;
  bool has_process;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t number;
  if (!nvtxa__row_time(row, OP_START, &start_ns) || !nvtxa__row_time(row, OP_END, &end_ns) ||
      !nvtxa__row_integer_or_null(row, OP_CORRELATION, &has_correlation, &correlation) ||
      !nvtxa__row_integer_or_null(row, OP_PROCESS, &has_process, &process)) {
    return false;
  }
  if (end_ns < start_ns) {
    return nvtxa__row_refuse(row, OP_END, "is before the operation's start");
  }
  if (!has_correlation || !has_process) {
    return true; /* no call can have launched it */
  }
  if (operations->count == NVTXA__MAX_ROWS) {
    return nvtxa__row_limit(row, NVTXA__MAX_ROWS);
  }
  int result = nvtxa__number(&r->processes, process, &number);
  result |= result == 0 ? nvtxa__packed_add(&operations->process, number) : 0;
  result |= nvtxa__packed_add(&operations->correlation, correlation);
  result |= nvtxa__packed_add(&operations->start_ns, start_ns);
  result |= nvtxa__packed_add(&operations->duration_ns, end_ns - start_ns);
  operations->count++;
  return result == 0 || nvtxa__row_out_of_memory(row);
}

static int keyed_finish(keyed *k) {
  int result = nvtxa__packed_finish(&k->correlation);
  result |= nvtxa__packed_finish(&k->process);
  result |= nvtxa__packed_finish(&k->start_ns);
  return result | nvtxa__packed_finish(&k->duration_ns);
}

static void keyed_free(keyed *k) {
  nvtxa__packed_free(&k->correlation);
  nvtxa__packed_free(&k->process);
  nvtxa__packed_free(&k->start_ns);
  nvtxa__packed_free(&k->duration_ns);
}

/* Of operations with one correlation id: by process, then as they stand. */
static int compare_processes(const void *a, const void *b, void *user) {
  const keyed *k = user;
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  int order = compare_keys(key_of(k, x), key_of(k, y));
  return order != 0 ? order : (x > y) - (x < y);
}

/* Whether each operation has its key alone, and keys ascend. */
static bool are_distinct(const keyed *k) {
  for (size_t i = 1; i < k->count; i++) {
    if (compare_keys(key_of(k, i - 1), key_of(k, i)) >= 0) {
      return false;
    }
  }
  return true;
}

/* One operation for each key: from the first start to the last end. */
static int merge(const keyed *from, const uint32_t *order, keyed *to) {
  int result = 0;
  for (size_t i = 0, next; i < from->count && result == 0; i = next) {
    uint32_t item = nvtxa__ordered(order, i);
    key own = key_of(from, item);
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
    }
    result = nvtxa__packed_add(&to->correlation, own.correlation);
    result |= nvtxa__packed_add(&to->process, own.process);
    result |= nvtxa__packed_add(&to->start_ns, start_ns);
    result |= nvtxa__packed_add(&to->duration_ns, end_ns - start_ns);
    to->count++;
  }
  return result | keyed_finish(to);
}

static int sort_operations(keyed *operations) {
  keyed merged = {.count = 0};
  uint32_t *order;
  if (keyed_finish(operations) != 0) {
    return -1;
  }
  if (are_distinct(operations)) {
    return 0;
  }
  int result = nvtxa__order_make(&order, operations->count, &operations->correlation,
                                 compare_processes, operations);
  if (result == 0) {
    result = merge(operations, order, &merged);
  }
  free(order);
  keyed_free(operations);
  *operations = merged;
  return result;
}

/* ---- calls ---- */

static bool is_below(const void *operations, size_t operation, const void *wanted) {
  return compare_keys(key_of(operations, operation), *(const key *)wanted) < 0;
}

/* The operation with a key, or NVTXA__NO_ITEM. */
static uint32_t find(reading *r, key wanted) {
  const keyed *operations = &r->operations;
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
  key wanted;
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
  uint32_t process = nvtxa__number_of(&r->processes, NVTXA__GLOBAL_PID(global_tid));
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

/* ---- the tables ---- */

static nvtxa_status read_operations(reading *r, nvtxa__database *database, const char *table,
                                    nvtxa_error **reterr) {
  bool has;
  nvtxa_status status = nvtxa__database_has_table(database, table, &has, reterr);
  if (status != NVTXA_OK || !has) {
    return status;
  }
  return nvtxa__database_scan(database, table, operation_columns, NVTXA__COUNT(operation_columns),
                              take_operation, r, reterr);
}

static nvtxa_status read_calls(reading *r, nvtxa__database *database, nvtxa_error **reterr) {
  bool has;
  nvtxa_status status = nvtxa__database_has_table(database, call_table, &has, reterr);
  if (status != NVTXA_OK || !has) {
    return status;
  }
  return nvtxa__database_scan(database, call_table, call_columns, NVTXA__COUNT(call_columns),
                              take_call, r, reterr);
}

nvtxa_status nvtxa__launches_read(nvtxa__launches *launches, nvtxa__database *database,
                                  nvtxa_error **reterr) {
  reading r = {.launches = launches};
  nvtxa__operations *operations = &launches->operations;
  nvtxa__calls *calls = &launches->calls;
  nvtxa__packed *const keys[] = {&r.operations.correlation, &r.operations.process};
  nvtxa__packed *const times[] = {&r.operations.start_ns, &r.operations.duration_ns};
  nvtxa__packed *const of_calls[] = {&calls->thread, &calls->start_ns, &calls->duration_ns,
                                     &calls->operation};
  nvtxa_status status = NVTXA_OK;
  if (nvtxa__packed_together(keys, NVTXA__COUNT(keys)) != 0 ||
      nvtxa__packed_together(times, NVTXA__COUNT(times)) != 0 ||
      nvtxa__packed_together(of_calls, NVTXA__COUNT(of_calls)) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < NVTXA__COUNT(operation_tables) && status == NVTXA_OK; i++) {
    status = read_operations(&r, database, operation_tables[i], reterr);
  }
  if (status == NVTXA_OK) {
    operations->calls =
        sort_operations(&r.operations) == 0 ? nvtxa__alloc_zero(r.operations.count + 1, 1) : NULL;
    status = operations->calls != NULL ? NVTXA_OK : nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK && r.operations.count > 0) {
    status = read_calls(&r, database, reterr);
  }
  if (status == NVTXA_OK && finish_calls(&launches->calls) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK) {
    operations->count = r.operations.count;
    operations->start_ns = r.operations.start_ns;
    operations->duration_ns = r.operations.duration_ns;
    r.operations.start_ns = (nvtxa__packed){0};
    r.operations.duration_ns = (nvtxa__packed){0};
  }
  keyed_free(&r.operations);
  nvtxa__numbering_free(&r.processes);
  return status;
}

void nvtxa__launches_free(nvtxa__launches *launches) {
  nvtxa__packed_free(&launches->operations.start_ns);
  nvtxa__packed_free(&launches->operations.duration_ns);
  free(launches->operations.calls);
  nvtxa__calls_free(&launches->calls);
  nvtxa__numbering_free(&launches->threads);
  *launches = (nvtxa__launches){0};
}
