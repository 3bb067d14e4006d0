/*
 * What is read from an SQLite export: NVTX ranges (events.c), GPU operations (operations.c, with
 * operation-names.c) and the CUDA calls that launched them (launches.c); threads are known by
 * number (numbering.c), and names are looked up (strings.c). The ranges are arranged as a report
 * has them (arrange.c), what is known of the operations becomes GPU work (work.c), and sqlite.c
 * makes tables of it all.
 */
#ifndef NVTXA_SQLITE_INTERNAL_H
#define NVTXA_SQLITE_INTERNAL_H

#include "database/database-internal.h"
#include "gpu/gpu-internal.h"
#include "ranges/nesting-internal.h"

/* Of a serialized thread id: the process and the thread as nsys's reports have them, and what
 * tells the processes of operations and of domains apart. */
#define NVTXA__PID(global_tid)          ((global_tid) >> 24 & 0xFFFFFF)
#define NVTXA__TID(global_tid)          ((global_tid)&0xFFFFFF)
#define NVTXA__GLOBAL_PID(global_tid)   ((global_tid) & ~(int64_t)0xFFFFFF)
#define NVTXA__DOMAIN_OWNER(global_tid) ((global_tid)&0x0000FFFFFF000000)

/* ---- numbering.c ---- */

/* Numbers for ids, such as the serialized ones of threads, from 0 in the order of first sight. */
typedef struct nvtxa__numbering {
  int64_t *ids;
  size_t count;
  size_t capacity;
  nvtxa__table table;
  uint32_t last; /* the same id comes in runs */
} nvtxa__numbering;

int nvtxa__number(nvtxa__numbering *numbering, int64_t id, uint32_t *ret); /* 0 or -1 */
/* The number of an id, or NVTXA__NO_ITEM. */
uint32_t nvtxa__number_of(nvtxa__numbering *numbering, int64_t id);
void nvtxa__numbering_free(nvtxa__numbering *numbering);

/* ---- strings.c ---- */

typedef struct nvtxa__strings {
  int64_t *ids; /* sorted, each once */
  size_t count;
  nvtxa_text *texts; /* no text: not found */
  nvtxa__arena arena;
} nvtxa__strings;

/* Which ids are needed, in any order; the array is taken over. nvtxa__strings_free() is due. */
void nvtxa__strings_begin(nvtxa__strings *strings, int64_t *ids, size_t count);
/* Look them up in a table with the columns `id` and `column`; none is found where it is not there.
 */
nvtxa_status nvtxa__strings_read(nvtxa__strings *strings, nvtxa__database *database,
                                 const char *table, const char *column, nvtxa_error **reterr);
nvtxa_text nvtxa__strings_find(const nvtxa__strings *strings, int64_t id);
void nvtxa__strings_free(nvtxa__strings *strings);

/* ---- events.c ---- */

/* Flags of an event. */
enum {
  NVTXA__START_END = 1, /* a start/end range, else a push/pop range */
  NVTXA__OPEN = 2,      /* without an end */
  NVTXA__BACKWARD = 4   /* ended before it started: no length */
};

/* Flags of a name. */
enum { NVTXA__NAME_REPLACED = 1, NVTXA__NAME_MISSING = 2 };

/* Push/pop ranges, and start/end ranges that end on their own thread. */
typedef struct nvtxa__events {
  size_t count;
  nvtxa__packed row_id;
  nvtxa__packed start_ns;
  nvtxa__packed duration_ns;
  nvtxa__packed thread; /* in `threads` */
  nvtxa__packed name;   /* in `names` */
  nvtxa__packed flags;
  nvtxa__numbering threads; /* by serialized thread id */
  nvtxa_text *names;        /* with the domain's: "domain:text" */
  uint8_t *name_flags;
  size_t name_count;
  nvtxa__arena arena;   /* of the names */
  int64_t last_push_ns; /* last timestamp of push/pop ranges, where open ones end in their report */
  int64_t last_ns;      /* and of all ranges, for the report of projections */
  size_t start_end_count;
  size_t open_count;
} nvtxa__events;

/* In the order of the rows; open events have the duration 0. Unless they are needed, there need not
 * be any. nvtxa__events_free() is due whatever comes of it. */
nvtxa_status nvtxa__events_read(nvtxa__events *events, nvtxa__database *database, bool needed,
                                nvtxa_error **reterr);
void nvtxa__events_free(nvtxa__events *events);

/* ---- arrange.c ---- */

/* Give open events the end of the report of projections, and sort all by start and duration. 0 or
 * -1. */
int nvtxa__events_arrange(nvtxa__events *events);

/* Drop the start/end ranges, give open events the end of the report of push/pop ranges, and sort
 * again. 0 or -1. */
int nvtxa__events_drop_start_end(nvtxa__events *events);

/* ---- operations.c ---- */

/* What an operation and the calls that launched it have in common. */
typedef struct nvtxa__key {
  int64_t correlation;
  int64_t process;
} nvtxa__key;

/* Operations that have a key. */
typedef struct nvtxa__keyed {
  size_t count;
  nvtxa__packed correlation;
  nvtxa__packed process; /* in `processes` */
  nvtxa__packed start_ns;
  nvtxa__packed duration_ns;
} nvtxa__keyed;

/* What a label of GPU work is made from: kind, and what it has in `first` and `second`, by id;
 * NVTXA__NO_CELL for an id that is NULL. */
typedef struct nvtxa__label_source {
  int64_t kind;
  int64_t first;
  int64_t second;
} nvtxa__label_source;

/* All operations, one by one, as GPU work has them. */
typedef struct nvtxa__items {
  size_t count;
  nvtxa__packed start_ns;
  nvtxa__packed duration_ns;
  nvtxa__packed label; /* in `labels` */
  nvtxa__packed device;
  nvtxa__packed bytes;
  nvtxa__packed graph_node;
  nvtxa__packed keyed; /* which of those that have a key; -1: none of them */
  nvtxa__packed cells[NVTXA__CELLS];
  nvtxa__intern labels; /* each an nvtxa__label_source */
  nvtxa__numbering devices;
  uint64_t *untimed; /* by device: graphs without times */
  size_t untimed_capacity;
} nvtxa__items;

typedef struct nvtxa__operation_rows {
  nvtxa_gpu_detail detail;
  nvtxa__keyed keyed;
  nvtxa__numbering processes;
  nvtxa__items items; /* empty without detail */
} nvtxa__operation_rows;

/* Of all tables of operations. nvtxa__operation_rows_free() is due whatever comes of it. */
nvtxa_status nvtxa__operations_read(nvtxa__operation_rows *rows, nvtxa__database *database,
                                    nvtxa_error **reterr);
void nvtxa__operation_rows_free(nvtxa__operation_rows *rows);

int nvtxa__keyed_finish(nvtxa__keyed *keyed); /* 0 or -1 */
void nvtxa__keyed_free(nvtxa__keyed *keyed);
void nvtxa__items_free(nvtxa__items *items);

/* ---- operation-names.c ---- */

/* Look up names, and put them into `work`: labels, of which *ret_labels (to be freed) gets the
 * numbers there by those here, devices and, `with_cells`, kinds of copies. */
nvtxa_status nvtxa__operations_name(const nvtxa__items *items, bool with_cells,
                                    nvtxa__database *database, nvtxa_gpu_work *work,
                                    uint32_t **ret_labels, nvtxa_error **reterr);

/* ---- launches.c ---- */

typedef struct nvtxa__launches {
  nvtxa_gpu_detail detail; /* set beforehand */
  nvtxa__operations operations;
  nvtxa__calls calls;       /* their threads as numbers in `threads` */
  nvtxa__numbering threads; /* by serialized thread id */
  /* With detail: */
  nvtxa__items items;
  uint32_t *merged;     /* by operation that has a key: which of `operations`; NULL: the same */
  uint32_t *first_call; /* by operation: the first that launched it, or NVTXA__NO_CALL */
  uint32_t *labels;     /* by label of the items: that of `work` */
  nvtxa_gpu_work *work; /* in the making: work.c puts the operations in */
} nvtxa__launches;

nvtxa_status nvtxa__launches_read(nvtxa__launches *launches, nvtxa__database *database,
                                  nvtxa_error **reterr);
void nvtxa__launches_free(nvtxa__launches *launches);

/* ---- work.c ---- */

/* Finish the GPU work of launches that were projected, and give it away. `row_of` holds the events'
 * rows in the table of GPU-projected ranges, `lane` the events' threads by thread of the calls.
 * What the launches hold is used up. */
nvtxa_status nvtxa__work_make(nvtxa__launches *launches, const nvtxa__projection *projection,
                              const uint32_t *row_of, const uint32_t *lane, const char *path,
                              nvtxa_gpu_work **ret_work, nvtxa_error **reterr);

#endif
