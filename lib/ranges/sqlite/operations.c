/*
 * GPU operations: kernels, copies, fills, and CUDA graphs that were traced as a whole. Times and
 * keys are always read. What else an operation is, is read where that is wanted, and texts that it
 * refers to by id are left to operation-names.c.
 */
#include <stdlib.h>
#include <string.h>

#include "sqlite-internal.h"

/* Columns that all tables have in this order. Those from OP_DEVICE on are read with detail. */
enum column {
  OP_START,
  OP_END,
  OP_CORRELATION,
  OP_PROCESS,
  OP_DEVICE,
  OP_GRAPH_NODE,
  OP_FIRST,  /* a kernel's name, a copy's source, a fill's memory */
  OP_SECOND, /* a copy's destination */
  OP_BYTES,
  OP_CELLS, /* the first of those that only the report of the trace shows */
  BARE_COLUMNS = OP_DEVICE
};

#define KEY_COLUMNS                                         \
  [OP_START] = {"start", false}, [OP_END] = {"end", false}, \
  [OP_CORRELATION] = {"correlationId", false}, [OP_PROCESS] = {"globalPid", false}
/* A column that no table has: every cell is NULL. */
#define NO_COLUMN \
  { NULL, true }

typedef struct operation_table {
  const char *name;
  nvtxa_gpu_kind kind;
  size_t column_count;
  nvtxa__column columns[NVTXA__MOST_COLUMNS];
  uint8_t cells[NVTXA__CELLS]; /* what the columns from OP_CELLS on are */
} operation_table;

static const operation_table tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     NVTXA_GPU_KERNEL,
     OP_CELLS + 12,
     {KEY_COLUMNS,
      [OP_DEVICE] = {"deviceId", false},
      [OP_GRAPH_NODE] = {"graphNodeId", true},
      [OP_FIRST] = {"demangledName", false},
      [OP_SECOND] = NO_COLUMN,
      [OP_BYTES] = NO_COLUMN,
      [OP_CELLS] = {"contextId", false},
      {"greenContextId", true},
      {"streamId", false},
      {"gridX", false},
      {"gridY", false},
      {"gridZ", false},
      {"blockX", false},
      {"blockY", false},
      {"blockZ", false},
      {"registersPerThread", false},
      {"staticSharedMemory", false},
      {"dynamicSharedMemory", false}},
     {NVTXA__CELL_CONTEXT, NVTXA__CELL_GREEN_CONTEXT, NVTXA__CELL_STREAM, NVTXA__CELL_GRID_X,
      NVTXA__CELL_GRID_Y, NVTXA__CELL_GRID_Z, NVTXA__CELL_BLOCK_X, NVTXA__CELL_BLOCK_Y,
      NVTXA__CELL_BLOCK_Z, NVTXA__CELL_REGISTERS, NVTXA__CELL_STATIC_MEMORY,
      NVTXA__CELL_DYNAMIC_MEMORY}},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     NVTXA_GPU_MEMORY_TRANSFER,
     OP_CELLS + 4,
     {KEY_COLUMNS,
      [OP_DEVICE] = {"deviceId", false},
      [OP_GRAPH_NODE] = {"graphNodeId", true},
      [OP_FIRST] = {"srcKind", false},
      [OP_SECOND] = {"dstKind", false},
      [OP_BYTES] = {"bytes", false},
      [OP_CELLS] = {"contextId", false},
      {"greenContextId", true},
      {"streamId", false},
      {"copyKind", false}},
     {NVTXA__CELL_CONTEXT, NVTXA__CELL_GREEN_CONTEXT, NVTXA__CELL_STREAM, NVTXA__CELL_COPY_KIND}},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     NVTXA_GPU_MEMORY_SET,
     OP_CELLS + 3,
     {KEY_COLUMNS,
      [OP_DEVICE] = {"deviceId", false},
      [OP_GRAPH_NODE] = {"graphNodeId", true},
      [OP_FIRST] = NO_COLUMN,
      [OP_SECOND] = {"memKind", true},
      [OP_BYTES] = {"bytes", false},
      [OP_CELLS] = {"contextId", false},
      {"greenContextId", true},
      {"streamId", false}},
     {NVTXA__CELL_CONTEXT, NVTXA__CELL_GREEN_CONTEXT, NVTXA__CELL_STREAM}},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     NVTXA_GPU_GRAPH,
     OP_CELLS,
     {KEY_COLUMNS, [OP_DEVICE] = {"deviceId", false}, [OP_GRAPH_NODE] = NO_COLUMN,
      [OP_FIRST] = NO_COLUMN, [OP_SECOND] = NO_COLUMN, [OP_BYTES] = NO_COLUMN},
     {0}},
};

typedef struct reading {
  nvtxa__operation_rows *rows;
  const operation_table *table;
  nvtxa__label_source last_source;
  uint32_t last_label;
} reading;

/* ---- operations that have a key ---- */

int nvtxa__keyed_finish(nvtxa__keyed *k) {
  int result = nvtxa__packed_finish(&k->correlation);
  result |= nvtxa__packed_finish(&k->process);
  result |= nvtxa__packed_finish(&k->start_ns);
  return result | nvtxa__packed_finish(&k->duration_ns);
}

void nvtxa__keyed_free(nvtxa__keyed *k) {
  nvtxa__packed_free(&k->correlation);
  nvtxa__packed_free(&k->process);
  nvtxa__packed_free(&k->start_ns);
  nvtxa__packed_free(&k->duration_ns);
  k->count = 0;
}

/* What every table has. */
typedef struct timed {
  int64_t start_ns;
  int64_t end_ns;
  bool has_key;
  int64_t correlation;
  int64_t process;
} timed;

static bool take_timed(nvtxa__row *row, timed *ret) {
  bool has_process;
  if (!nvtxa__row_time(row, OP_START, &ret->start_ns) ||
      !nvtxa__row_time(row, OP_END, &ret->end_ns) ||
      !nvtxa__row_integer_or_null(row, OP_CORRELATION, &ret->has_key, &ret->correlation) ||
      !nvtxa__row_integer_or_null(row, OP_PROCESS, &has_process, &ret->process)) {
    return false;
  }
  ret->has_key = ret->has_key && has_process; /* else no call can have launched it */
  return ret->end_ns >= ret->start_ns ||
         nvtxa__row_refuse(row, OP_END, "is before the operation's start");
}

static bool take_keyed(reading *r, nvtxa__row *row, const timed *when) {
  nvtxa__keyed *keyed = &r->rows->keyed;
  uint32_t number;
  if (keyed->count == NVTXA__MAX_ROWS) {
    return nvtxa__row_limit(row, NVTXA__MAX_ROWS);
  }
  int result = nvtxa__number(&r->rows->processes, when->process, &number);
  result |= result == 0 ? nvtxa__packed_add(&keyed->process, number) : 0;
  result |= nvtxa__packed_add(&keyed->correlation, when->correlation);
  result |= nvtxa__packed_add(&keyed->start_ns, when->start_ns);
  result |= nvtxa__packed_add(&keyed->duration_ns, when->end_ns - when->start_ns);
  keyed->count++;
  return result == 0 || nvtxa__row_out_of_memory(row);
}

/* ---- all that is known of an operation ---- */

static bool take_id(nvtxa__row *row, size_t column, int64_t *ret) {
  bool has;
  if (!nvtxa__row_integer_or_null(row, column, &has, ret)) {
    return false;
  }
  *ret = has ? *ret : NVTXA__NO_CELL;
  return true;
}

static bool take_label(reading *r, nvtxa__row *row, uint32_t *ret) {
  nvtxa__label_source source = {.kind = r->table->kind};
  if (!take_id(row, OP_FIRST, &source.first) || !take_id(row, OP_SECOND, &source.second)) {
    return false;
  }
  if (source.kind == NVTXA_GPU_MEMORY_TRANSFER &&
      (source.first == NVTXA__NO_CELL || source.second == NVTXA__NO_CELL)) {
    return nvtxa__row_refuse(row, source.first == NVTXA__NO_CELL ? OP_FIRST : OP_SECOND,
                             "is no kind of memory");
  }
  if (r->rows->items.labels.count == 0 ||
      memcmp(&source, &r->last_source, sizeof source) != 0) { /* equal ones come in runs */
    if (nvtxa__intern_add(&r->rows->items.labels, (const char *)&source, sizeof source,
                          &r->last_label) != 0) {
      return nvtxa__row_out_of_memory(row);
    }
    r->last_source = source;
  }
  *ret = r->last_label;
  return true;
}

/* Copies and fills have a size, which is never taken for 0. */
static bool take_bytes(const reading *r, nvtxa__row *row, int64_t *ret) {
  bool sized =
      r->table->kind == NVTXA_GPU_MEMORY_TRANSFER || r->table->kind == NVTXA_GPU_MEMORY_SET;
  *ret = 0;
  return !sized || (nvtxa__row_integer(row, OP_BYTES, ret) &&
                    (*ret >= 0 || nvtxa__row_refuse(row, OP_BYTES, "is negative")));
}

static bool take_device(reading *r, nvtxa__row *row, uint32_t *ret) {
  nvtxa__items *items = &r->rows->items;
  int64_t device;
  if (!nvtxa__row_integer(row, OP_DEVICE, &device)) {
    return false;
  }
  size_t known = items->devices.count;
  if (nvtxa__number(&items->devices, device, ret) != 0 ||
      nvtxa__reserve(&items->untimed, &items->untimed_capacity, items->devices.count,
                     sizeof *items->untimed) != 0) {
    return nvtxa__row_out_of_memory(row);
  }
  if (items->devices.count > known) {
    items->untimed[known] = 0;
  }
  return true;
}

static bool take_cells(reading *r, nvtxa__row *row, const timed *when) {
  nvtxa__items *items = &r->rows->items;
  int64_t cells[NVTXA__CELLS];
  for (size_t i = 0; i < NVTXA__CELLS; i++) {
    cells[i] = NVTXA__NO_CELL;
  }
  cells[NVTXA__CELL_CORRELATION] = when->has_key ? when->correlation : NVTXA__NO_CELL;
  for (size_t i = OP_CELLS; i < r->table->column_count; i++) {
    if (!take_id(row, i, &cells[r->table->cells[i - OP_CELLS]])) {
      return false;
    }
  }
  int result = 0;
  for (size_t i = 0; i < NVTXA__CELLS; i++) {
    result |= nvtxa__packed_add(&items->cells[i], cells[i]);
  }
  return result == 0 || nvtxa__row_out_of_memory(row);
}

static bool take_item(reading *r, nvtxa__row *row, const timed *when) {
  nvtxa__items *items = &r->rows->items;
  uint32_t label = 0;
  uint32_t device;
  int64_t bytes;
  int64_t node;
  if (items->count == NVTXA__MAX_ROWS) {
    return nvtxa__row_limit(row, NVTXA__MAX_ROWS);
  }
  if (!take_label(r, row, &label) || !take_device(r, row, &device) || !take_bytes(r, row, &bytes) ||
      !take_id(row, OP_GRAPH_NODE, &node)) {
    return false;
  }
  int64_t keyed = when->has_key ? (int64_t)r->rows->keyed.count - 1 : -1;
  int result = nvtxa__packed_add(&items->start_ns, when->start_ns);
  result |= nvtxa__packed_add(&items->duration_ns, when->end_ns - when->start_ns);
  result |= nvtxa__packed_add(&items->label, label);
  result |= nvtxa__packed_add(&items->device, device);
  result |= nvtxa__packed_add(&items->bytes, bytes);
  result |= nvtxa__packed_add(&items->graph_node, node != NVTXA__NO_CELL && node != 0);
  result |= nvtxa__packed_add(&items->keyed, keyed);
  items->count++;
  if (result != 0) {
    return nvtxa__row_out_of_memory(row);
  }
  return r->rows->detail != NVTXA_GPU_DETAIL_TRACE || take_cells(r, row, when);
}

/* CUPTI gives a graph whose times it could not collect 0 for both. */
static bool is_untimed(const reading *r, const timed *when) {
  return r->table->kind == NVTXA_GPU_GRAPH && when->start_ns == 0 && when->end_ns == 0;
}

static bool count_untimed(reading *r, nvtxa__row *row) {
  uint32_t device;
  if (!take_device(r, row, &device)) {
    return false;
  }
  r->rows->items.untimed[device]++;
  return true;
}

static bool take_operation(void *user, nvtxa__row *row) {
  reading *r = user;
  bool wanted = r->rows->detail != NVTXA_GPU_DETAIL_NONE;
  timed when;
  if (!take_timed(row, &when)) {
    return false;
  }
  if (is_untimed(r, &when)) {
    return !wanted || count_untimed(r, row);
  }
  return (!when.has_key || take_keyed(r, row, &when)) && (!wanted || take_item(r, row, &when));
}

/* ---- the tables ---- */

static nvtxa_status read_table(reading *r, nvtxa__database *database, nvtxa_error **reterr) {
  bool has;
  nvtxa_gpu_detail detail = r->rows->detail;
  nvtxa_status status = nvtxa__database_has_table(database, r->table->name, &has, reterr);
  if (status != NVTXA_OK || !has) {
    return status;
  }
  size_t count = detail == NVTXA_GPU_DETAIL_NONE         ? BARE_COLUMNS
                 : detail == NVTXA_GPU_DETAIL_OPERATIONS ? OP_CELLS
                                                         : r->table->column_count;
  return nvtxa__database_scan(database, r->table->name, r->table->columns, count, take_operation, r,
                              reterr);
}

static int begin(nvtxa__operation_rows *rows) {
  nvtxa__items *items = &rows->items;
  nvtxa__packed *const keys[] = {&rows->keyed.correlation, &rows->keyed.process};
  nvtxa__packed *const times[] = {&rows->keyed.start_ns, &rows->keyed.duration_ns};
  nvtxa__packed *const to_stay[] = {&items->start_ns, &items->duration_ns, &items->device,
                                    &items->bytes, &items->graph_node};
  nvtxa__packed *const to_go[] = {&items->label, &items->keyed};
  return nvtxa__packed_together(keys, NVTXA__COUNT(keys)) |
         nvtxa__packed_together(times, NVTXA__COUNT(times)) |
         nvtxa__packed_together(to_stay, NVTXA__COUNT(to_stay)) |
         nvtxa__packed_together(to_go, NVTXA__COUNT(to_go));
}

static int finish(nvtxa__operation_rows *rows) {
  nvtxa__items *items = &rows->items;
  int result = nvtxa__keyed_finish(&rows->keyed);
  nvtxa__packed *const columns[] = {&items->start_ns, &items->duration_ns, &items->label,
                                    &items->device,   &items->bytes,       &items->graph_node,
                                    &items->keyed};
  for (size_t i = 0; i < NVTXA__COUNT(columns); i++) {
    result |= nvtxa__packed_finish(columns[i]);
  }
  for (size_t i = 0; i < NVTXA__CELLS; i++) {
    result |= nvtxa__packed_finish(&items->cells[i]);
  }
  return result;
}

nvtxa_status nvtxa__operations_read(nvtxa__operation_rows *rows, nvtxa__database *database,
                                    nvtxa_error **reterr) {
  reading r = {.rows = rows};
  nvtxa_status status = begin(rows) == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
  for (size_t i = 0; i < NVTXA__COUNT(tables) && status == NVTXA_OK; i++) {
    r.table = &tables[i];
    status = read_table(&r, database, reterr);
  }
  if (status == NVTXA_OK && finish(rows) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  return status;
}

void nvtxa__items_free(nvtxa__items *items) {
  nvtxa__packed *const columns[] = {&items->start_ns, &items->duration_ns, &items->label,
                                    &items->device,   &items->bytes,       &items->graph_node,
                                    &items->keyed};
  for (size_t i = 0; i < NVTXA__COUNT(columns); i++) {
    nvtxa__packed_free(columns[i]);
  }
  for (size_t i = 0; i < NVTXA__CELLS; i++) {
    nvtxa__packed_free(&items->cells[i]);
  }
  nvtxa__intern_free(&items->labels);
  nvtxa__numbering_free(&items->devices);
  free(items->untimed);
  *items = (nvtxa__items){0};
}

void nvtxa__operation_rows_free(nvtxa__operation_rows *rows) {
  nvtxa__keyed_free(&rows->keyed);
  nvtxa__numbering_free(&rows->processes);
  nvtxa__items_free(&rows->items);
}
