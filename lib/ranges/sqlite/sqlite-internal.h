/*
 * What is read from an SQLite export: NVTX ranges (events.c) and the CUDA calls that launched GPU
 * operations (launches.c), their threads known by number (numbering.c). The ranges are arranged as
 * a report has them (arrange.c), and sqlite.c makes tables of it all.
 */
#ifndef NVTXA_SQLITE_INTERNAL_H
#define NVTXA_SQLITE_INTERNAL_H

#include "database/database-internal.h"
#include "ranges/nesting-internal.h"

/* Of a serialized thread id: the process and the thread as nsys's reports have them, and what
 * tells the processes of operations and of domains apart. */
#define NVTXA__PID(global_tid)          ((global_tid) >> 24 & 0xFFFFFF)
#define NVTXA__TID(global_tid)          ((global_tid)&0xFFFFFF)
#define NVTXA__GLOBAL_PID(global_tid)   ((global_tid) & ~(int64_t)0xFFFFFF)
#define NVTXA__DOMAIN_OWNER(global_tid) ((global_tid)&0x0000FFFFFF000000)

/* ---- numbering.c ---- */

/* Numbers for the serialized ids of threads, from 0 in the order of first sight. */
typedef struct nvtxa__numbering {
  int64_t *ids;
  size_t count;
  size_t capacity;
  nvtxa__table table;
  uint32_t last; /* rows of one thread come in runs */
} nvtxa__numbering;

int nvtxa__number(nvtxa__numbering *numbering, int64_t id, uint32_t *ret); /* 0 or -1 */
/* The number of an id, or NVTXA__NO_ITEM. */
uint32_t nvtxa__number_of(nvtxa__numbering *numbering, int64_t id);
void nvtxa__numbering_free(nvtxa__numbering *numbering);

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

/* In the order of the rows; open events have the duration 0. nvtxa__events_free() is due whatever
 * comes of it. */
nvtxa_status nvtxa__events_read(nvtxa__events *events, nvtxa__database *database,
                                nvtxa_error **reterr);
void nvtxa__events_free(nvtxa__events *events);

/* ---- arrange.c ---- */

/* Give open events the end of the report of projections, and sort all by start and duration. 0 or
 * -1. */
int nvtxa__events_arrange(nvtxa__events *events);

/* Drop the start/end ranges, give open events the end of the report of push/pop ranges, and sort
 * again. 0 or -1. */
int nvtxa__events_drop_start_end(nvtxa__events *events);

/* ---- launches.c ---- */

typedef struct nvtxa__launches {
  nvtxa__operations operations;
  nvtxa__calls calls;       /* their threads as numbers in `threads` */
  nvtxa__numbering threads; /* by serialized thread id */
} nvtxa__launches;

nvtxa_status nvtxa__launches_read(nvtxa__launches *launches, nvtxa__database *database,
                                  nvtxa_error **reterr);
void nvtxa__launches_free(nvtxa__launches *launches);

#endif
