/*
 * GPU work as its neighbours see it: labels, which say what equal operations have in common, with
 * their totals, and the operations in packed columns (work.c). ranges/ makes it from reports or
 * from an SQLite export. What any sets of operations amount to is tallied (tally.c, with
 * delays.c) and then read as shares (share.c); analysis/ says which sets.
 */
#ifndef NVTXA_GPU_INTERNAL_H
#define NVTXA_GPU_INTERNAL_H

#include "base/base-internal.h"

#include <nvtxa/gpu.h>

#define NVTXA__NO_TEXT UINT32_MAX
#define NVTXA__NO_CALL UINT32_MAX

/* What equal operations have in common: ids in the work's `texts`, or NVTXA__NO_TEXT. */
typedef struct nvtxa__gpu_label {
  uint32_t kind;   /* nvtxa_gpu_kind */
  uint32_t first;  /* kernels: the name; transfers: the source's kind of memory */
  uint32_t second; /* transfers and sets: the destination's kind of memory */
} nvtxa__gpu_label;

/* Operations of one label in sum. */
typedef struct nvtxa__gpu_sum {
  uint64_t instances;
  int64_t duration_ns;
  int64_t bytes;
} nvtxa__gpu_sum;

/* A call that launched operations. */
typedef struct nvtxa__gpu_calls {
  size_t count;
  nvtxa__packed start_ns;
  nvtxa__packed duration_ns; /* as recorded: may be negative */
  nvtxa__packed thread;      /* in the work's `threads` */
  nvtxa__packed range;       /* row of the innermost enclosing range in the GPU table; -1: none */
} nvtxa__gpu_calls;

typedef struct nvtxa__gpu_thread {
  int64_t process_id;
  int64_t thread_id;
  uint32_t lane; /* thread of the GPU table, or NVTXA__NO_ITEM: it has no ranges */
  bool nested;   /* what encloses its calls are the innermost range and the ancestors of that */
} nvtxa__gpu_thread;

/* What a number stands for. */
typedef struct nvtxa__gpu_name {
  int64_t id;
  uint32_t text; /* in `texts` */
} nvtxa__gpu_name;

/* What only the report cuda_gpu_trace shows, by operation. A cell that the operation does not have,
 * or that is NULL, is NVTXA__NO_CELL. */
enum nvtxa__gpu_cell {
  NVTXA__CELL_CORRELATION,
  NVTXA__CELL_GRID_X,
  NVTXA__CELL_GRID_Y,
  NVTXA__CELL_GRID_Z,
  NVTXA__CELL_BLOCK_X,
  NVTXA__CELL_BLOCK_Y,
  NVTXA__CELL_BLOCK_Z,
  NVTXA__CELL_REGISTERS,
  NVTXA__CELL_STATIC_MEMORY,
  NVTXA__CELL_DYNAMIC_MEMORY,
  NVTXA__CELL_CONTEXT,
  NVTXA__CELL_GREEN_CONTEXT,
  NVTXA__CELL_STREAM,
  NVTXA__CELL_COPY_KIND, /* an id in `copy_kinds` */
  NVTXA__CELLS
};
#define NVTXA__NO_CELL INT64_MIN

struct nvtxa_gpu_work {
  nvtxa__refcount ref;
  nvtxa__intern texts; /* names of kernels, kinds of memory, names of devices */

  /* By label, in the order of first sight. */
  nvtxa__intern label_keys; /* nvtxa__gpu_label as bytes */
  nvtxa__gpu_sum *sums;
  size_t sum_capacity;

  /* The labels in the order of the public totals, once finished: by kind, then byte order. */
  uint32_t *sorted;
  uint32_t *rank;                                 /* by label: its place in `sorted` */
  size_t first_of_kind[NVTXA_GPU_KIND_COUNT + 1]; /* in `sorted` */

  /* Operations, by start; empty where they are not known one by one. */
  bool has_operations;
  bool has_cells;
  size_t count;
  nvtxa__packed start_ns;
  nvtxa__packed duration_ns;
  nvtxa__packed label;
  nvtxa__packed device; /* in `devices` */
  nvtxa__packed bytes;
  nvtxa__packed graph_node;          /* 0 or 1 */
  nvtxa__packed call;                /* in `calls`, or NVTXA__NO_CALL */
  nvtxa__packed cells[NVTXA__CELLS]; /* with has_cells */

  nvtxa__gpu_calls calls;
  nvtxa__gpu_thread *threads;
  size_t thread_count;
  nvtxa__gpu_name *devices; /* in no order */
  size_t device_count;
  nvtxa__gpu_name *copy_kinds; /* with has_cells */
  size_t copy_kind_count;
  uint64_t *untimed; /* by device: graphs without times, which are no operations here */
};

/* ---- work.c ---- */

nvtxa_gpu_work *nvtxa__gpu_work_new(void); /* NULL: out of memory */

/* The number of a text, as nvtxa__gpu_label_of() takes it. 0 or -1. */
int nvtxa__gpu_text_of(nvtxa_gpu_work *work, nvtxa_text text, uint32_t *ret);

/* The number of a label. Texts without data are none; invalid UTF-8 in them is replaced. 0 or -1.
 */
int nvtxa__gpu_label_of(nvtxa_gpu_work *work, nvtxa_gpu_kind kind, nvtxa_text first,
                        nvtxa_text second, uint32_t *ret);
static inline const nvtxa__gpu_label *nvtxa__gpu_label_at(const nvtxa_gpu_work *work,
                                                          uint32_t label) {
  return (const nvtxa__gpu_label *)(const void *)work->label_keys.texts[label].data;
}

/* Count operations under a label. False where a sum does not fit 64 bits. */
bool nvtxa__gpu_count(nvtxa_gpu_work *work, uint32_t label, const nvtxa__gpu_sum *more);

/* The error for a sum of that label. `file` is for the error and may be NULL. */
nvtxa_status nvtxa__gpu_too_large(const nvtxa_gpu_work *work, uint32_t label, const char *file,
                                  nvtxa_error **reterr);

/* All labels are there, and their sums. */
nvtxa_status nvtxa__gpu_work_finish(nvtxa_gpu_work *work, const char *file, nvtxa_error **reterr);

/* How many kernels have no name; 0 for no work. */
uint64_t nvtxa__gpu_nameless_kernels(const nvtxa_gpu_work *work);

/* A label with a sum, for the public. */
nvtxa_gpu_amount nvtxa__gpu_amount(const nvtxa_gpu_work *work, uint32_t label,
                                   const nvtxa__gpu_sum *sum);

/* ---- tally.c: what the operations of buckets amount to ----
 *
 * A bucket is whatever operations are counted for, such as a scope. What encloses a call is a set
 * of buckets, one of which may be the innermost. */

#define NVTXA__NO_BUCKET UINT32_MAX

/* A tree whose nodes are sets: a node's bucket and those of all nodes above it. Node 0 is the empty
 * set; a node comes after its parent. */
typedef struct nvtxa__gpu_set {
  uint32_t parent;
  uint32_t bucket;
} nvtxa__gpu_set;

typedef struct nvtxa__gpu_sets {
  nvtxa__gpu_set *items;
  size_t count;
  const uint32_t *of_call; /* the set that encloses it */
  const uint32_t *own;     /* by call: the innermost of them, or NVTXA__NO_BUCKET */
  size_t bucket_count;
} nvtxa__gpu_sets;

/* By bucket: one over what it encloses, one over what it is the innermost of. */
enum { NVTXA__INCLUSIVE, NVTXA__INNERMOST, NVTXA__TALLIES };

/* Times of operations that come in the order of their starts. */
typedef struct nvtxa__gpu_run {
  uint64_t operations;
  int64_t first_ns;
  int64_t end_ns; /* the latest so far; likewise of those two kinds */
  int64_t compute_end_ns;
  int64_t copy_end_ns;
  int64_t busy_ns;
  int64_t gap_ns;
  int64_t overlap_ns;
} nvtxa__gpu_run;

/* A part of something that belongs to a share: a label's sum, or a device's times. */
typedef struct nvtxa__gpu_part {
  uint32_t share;
  uint32_t number; /* of the label, or of the device */
  union {
    nvtxa__gpu_sum sum;
    nvtxa__gpu_run run;
  } of;
} nvtxa__gpu_part;

typedef struct nvtxa__gpu_parts {
  nvtxa__gpu_part *items;
  size_t count;
  size_t capacity;
  nvtxa__table table;
} nvtxa__gpu_parts;

struct nvtxa_gpu_share {
  const struct nvtxa__gpu_tally *tally;
  nvtxa__gpu_run run;
  uint64_t graph_nodes;
  size_t first_of_kind[NVTXA_GPU_KIND_COUNT + 1]; /* in the tally's sums */
  size_t first_device;                            /* in the tally's devices */
  size_t device_count;
};

/* Of a share that has operations. */
typedef struct nvtxa__gpu_delay {
  double median_ns;
  double p99_ns;
} nvtxa__gpu_delay;

typedef struct nvtxa__gpu_tally {
  const nvtxa_gpu_work *work; /* borrowed */
  nvtxa_gpu_share *shares;    /* by bucket and tally */
  nvtxa__gpu_delay *delays;   /* by share */
  size_t share_count;
  nvtxa__gpu_parts sums;
  nvtxa__gpu_parts devices;
} nvtxa__gpu_tally;

/* nvtxa__gpu_tally_free() is due whatever comes of it. The tally stays where it is: its shares
 * point to it. */
nvtxa_status nvtxa__gpu_tally_make(nvtxa__gpu_tally *tally, const nvtxa_gpu_work *work,
                                   const nvtxa__gpu_sets *sets, bool further_thread,
                                   const nvtxa_hooks *hooks, nvtxa_error **reterr);
void nvtxa__gpu_tally_free(nvtxa__gpu_tally *tally);

enum { NVTXA__LOOK_EVERY = 1 << 16 }; /* operations, for the cancel flag */

/* ---- delays.c ---- */

/* A further thread's part: the delays of a tally, which need nothing else of it. */
typedef struct nvtxa__ranking {
  nvtxa__gpu_tally *tally;
  const nvtxa_gpu_work *work;
  const nvtxa__gpu_sets *sets;
  const nvtxa_hooks *hooks;
  nvtxa_status status;
  nvtxa_error *error;
} nvtxa__ranking;

void nvtxa__rank_delays(void *ranking);

static inline const nvtxa_gpu_share *nvtxa__gpu_share_of(const nvtxa__gpu_tally *tally,
                                                         size_t bucket, size_t which) {
  return &tally->shares[bucket * NVTXA__TALLIES + which];
}

#endif
