/*
 * The CUDA API calls that launched GPU operations: CUPTI_ACTIVITY_KIND_RUNTIME joined to kernels,
 * copies and fills by correlation id and process. Two processes may use the same correlation ids.
 * Calls that launched nothing are not kept, and neither are operations one by one.
 */
#include <stdlib.h>
#include <string.h>

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

enum { NEIGHBOUR_BITS = 6 };

/* What an operation is found by. */
typedef struct key {
  int64_t correlation;
  int64_t process;
} key;

typedef struct reading {
  nvtxa__launches *launches;
  key *keys; /* by operation */
  nvtxa__table table;
  size_t operation_capacity;
  size_t call_capacity;
} reading;

/* Correlation ids count up: neighbours shall lie side by side in the table, as they are looked up
 * one after the other. */
static uint64_t hash_key(key k) {
  uint64_t place = (uint64_t)k.correlation & ((1 << NEIGHBOUR_BITS) - 1);
  k.correlation >>= NEIGHBOUR_BITS;
  return nvtxa__hash(&k, sizeof k) << NEIGHBOUR_BITS | place;
}

static uint64_t hash_operation(const void *owner, uint32_t operation) {
  return hash_key(((const reading *)owner)->keys[operation]);
}

/* The operation with a key; or NVTXA__NO_ITEM, and *slot is where it belongs. */
static uint32_t find(const reading *r, key wanted, size_t *slot) {
  uint32_t operation = nvtxa__table_first(&r->table, hash_key(wanted), slot);
  while (operation != NVTXA__NO_ITEM && (r->keys[operation].correlation != wanted.correlation ||
                                         r->keys[operation].process != wanted.process)) {
    operation = nvtxa__table_next(&r->table, slot);
  }
  return operation;
}

/* ---- operations ---- */

static int reserve_operations(reading *r, size_t needed) {
  nvtxa__operations *operations = &r->launches->operations;
  const nvtxa__column_room columns[] = {
      {&r->keys, sizeof *r->keys},
      {&operations->start_ns, sizeof *operations->start_ns},
      {&operations->end_ns, sizeof *operations->end_ns},
      {&operations->calls, sizeof *operations->calls},
  };
  if (nvtxa__table_reserve(&r->table, needed, hash_operation, r) != 0) {
    return -1;
  }
  return nvtxa__reserve_columns(columns, NVTXA__COUNT(columns), &r->operation_capacity, needed);
}

static bool take_operation(void *user, nvtxa__row *row) {
  reading *r = user;
  nvtxa__operations *operations = &r->launches->operations;
  key wanted;
  bool has_correlation;
  bool has_process;
  int64_t start_ns;
  int64_t end_ns;
  size_t slot;
  if (!nvtxa__row_time(row, OP_START, &start_ns) || !nvtxa__row_time(row, OP_END, &end_ns) ||
      !nvtxa__row_integer_or_null(row, OP_CORRELATION, &has_correlation, &wanted.correlation) ||
      !nvtxa__row_integer_or_null(row, OP_PROCESS, &has_process, &wanted.process)) {
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
  if (reserve_operations(r, operations->count + 1) != 0) {
    return nvtxa__row_out_of_memory(row);
  }
  uint32_t found = find(r, wanted, &slot);
  if (found == NVTXA__NO_ITEM) {
    found = (uint32_t)operations->count++;
    r->keys[found] = wanted;
    operations->start_ns[found] = start_ns;
    operations->end_ns[found] = end_ns;
    operations->calls[found] = 0;
    nvtxa__table_put(&r->table, slot, found);
    return true;
  }
  if (start_ns < operations->start_ns[found]) {
    operations->start_ns[found] = start_ns;
  }
  if (end_ns > operations->end_ns[found]) {
    operations->end_ns[found] = end_ns;
  }
  return true;
}

/* ---- calls ---- */

static int reserve_calls(reading *r, size_t needed) {
  nvtxa__calls *calls = &r->launches->calls;
  const nvtxa__column_room columns[] = {
      {&calls->start_ns, sizeof *calls->start_ns},
      {&calls->end_ns, sizeof *calls->end_ns},
      {&calls->thread, sizeof *calls->thread},
      {&calls->operation, sizeof *calls->operation},
  };
  return nvtxa__reserve_columns(columns, NVTXA__COUNT(columns), &r->call_capacity, needed);
}

static bool take_call(void *user, nvtxa__row *row) {
  reading *r = user;
  nvtxa__launches *launches = r->launches;
  nvtxa__calls *calls = &launches->calls;
  bool has_correlation;
  bool has_thread;
  key wanted;
  int64_t global_tid = 0;
  size_t slot;
  if (!nvtxa__row_integer_or_null(row, CALL_CORRELATION, &has_correlation, &wanted.correlation) ||
      !nvtxa__row_integer_or_null(row, CALL_THREAD, &has_thread, &global_tid)) {
    return false;
  }
  wanted.process = NVTXA__GLOBAL_PID(global_tid);
  uint32_t operation = has_correlation && has_thread ? find(r, wanted, &slot) : NVTXA__NO_ITEM;
  if (operation == NVTXA__NO_ITEM) {
    return true;
  }
  if (calls->count == NVTXA__MAX_ROWS) {
    return nvtxa__row_limit(row, NVTXA__MAX_ROWS);
  }
  if (reserve_calls(r, calls->count + 1) != 0 ||
      nvtxa__number(&launches->threads, global_tid, &calls->thread[calls->count]) != 0) {
    return nvtxa__row_out_of_memory(row);
  }
  calls->operation[calls->count] = operation;
  if (!nvtxa__row_time(row, CALL_START, &calls->start_ns[calls->count]) ||
      !nvtxa__row_time(row, CALL_END, &calls->end_ns[calls->count])) {
    return false;
  }
  uint8_t *count = &launches->operations.calls[operation];
  *count = *count == 0 ? 1 : 2;
  calls->count++;
  return true;
}

/* ---- the tables ---- */

static nvtxa_status read_operations(reading *r, nvtxa__database *database, const char *table,
                                    nvtxa_error **reterr) {
  bool has;
  nvtxa_status status = nvtxa__database_has_table(database, table, &has, reterr);
  if (status != NVTXA_OK || !has) {
    return status;
  }
  size_t more = nvtxa__database_rows_at_most(database, table);
  if (reserve_operations(r, r->launches->operations.count + more) != 0) {
    return nvtxa__out_of_memory(reterr);
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
  /* As a rule an operation has one call, and most calls have none. */
  size_t most = nvtxa__database_rows_at_most(database, call_table);
  size_t operations = r->launches->operations.count;
  if (reserve_calls(r, most < operations ? most : operations) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  return nvtxa__database_scan(database, call_table, call_columns, NVTXA__COUNT(call_columns),
                              take_call, r, reterr);
}

nvtxa_status nvtxa__launches_read(nvtxa__launches *launches, nvtxa__database *database,
                                  nvtxa_error **reterr) {
  reading r = {.launches = launches};
  nvtxa_status status = NVTXA_OK;
  for (size_t i = 0; i < NVTXA__COUNT(operation_tables) && status == NVTXA_OK; i++) {
    status = read_operations(&r, database, operation_tables[i], reterr);
  }
  if (status == NVTXA_OK && launches->operations.count > 0) {
    status = read_calls(&r, database, reterr);
  }
  free(r.keys);
  nvtxa__table_free(&r.table);
  return status;
}

void nvtxa__launches_free(nvtxa__launches *launches) {
  free(launches->operations.start_ns);
  free(launches->operations.end_ns);
  free(launches->operations.calls);
  free(launches->calls.thread);
  free(launches->calls.start_ns);
  free(launches->calls.end_ns);
  free(launches->calls.operation);
  nvtxa__numbering_free(&launches->threads);
  *launches = (nvtxa__launches){0};
}
