/**
 * @file gpu.h
 * What the GPU did: its operations, and what any number of them amount to.
 *
 * An operation is a kernel, a memory transfer (a copy), a memory set (a fill), or a whole CUDA
 * graph where the trace holds graphs as a whole (`--cuda-graph-trace=graph`). Where it holds the
 * nodes of graphs, each node is a kernel, transfer or set like any other, and is counted as a node
 * besides.
 *
 * Units: nanoseconds on the clock of the trace, bytes. docs/gpu-work.md defines each measure.
 */
#ifndef NVTXA_GPU_H
#define NVTXA_GPU_H

#include <nvtxa/base.h>

NVTXA_BEGIN_DECLS

/** The GPU work of one trace: totals over all of it and, where it was read from an SQLite export,
 * each operation. Immutable; shared by reference count. */
typedef struct nvtxa_gpu_work nvtxa_gpu_work;

/** What an operation is. */
typedef enum nvtxa_gpu_kind {
  NVTXA_GPU_KERNEL = 0,          /**< a kernel */
  NVTXA_GPU_MEMORY_TRANSFER = 1, /**< a copy of memory */
  NVTXA_GPU_MEMORY_SET = 2,      /**< a fill of memory */
  NVTXA_GPU_GRAPH = 3            /**< a CUDA graph, run as a whole */
} nvtxa_gpu_kind;

/** How many kinds of operation there are. */
#define NVTXA_GPU_KIND_COUNT 4

/** Equal operations in sum: kernels of one name, transfers between the same kinds of memory, sets
 * of one kind of memory, or graphs. */
typedef struct nvtxa_gpu_amount {
  size_t size;                        /**< sizeof(nvtxa_gpu_amount) */
  nvtxa_gpu_kind kind;                /**< what they are */
  nvtxa_text name;                    /**< kernels: their name, templates and arguments included */
  nvtxa_text source_memory_kind;      /**< transfers: such as "Pageable", "Pinned", "Device" */
  nvtxa_text destination_memory_kind; /**< transfers likewise; sets: what was set, or no text */
  uint64_t instances;                 /**< how many operations */
  int64_t cumulative_duration_ns;     /**< sum of their durations, whether they overlap or not */
  int64_t total_bytes;                /**< transfers and sets: sum of their sizes */
} nvtxa_gpu_amount;

/** Why an operation has no range, if it has none. */
typedef enum nvtxa_gpu_attribution {
  NVTXA_GPU_IN_RANGE = 0,       /**< it has: the call that launched it is inside a range */
  NVTXA_GPU_OUTSIDE_RANGES = 1, /**< no range encloses the call that launched it */
  NVTXA_GPU_LAUNCH_MISSING = 2  /**< the trace has no call with its correlation id and process */
} nvtxa_gpu_attribution;

/** One operation. */
typedef struct nvtxa_gpu_operation {
  size_t size;                        /**< sizeof(nvtxa_gpu_operation) */
  nvtxa_gpu_kind kind;                /**< what it is */
  nvtxa_text name;                    /**< a kernel's name */
  nvtxa_text source_memory_kind;      /**< as in nvtxa_gpu_amount */
  nvtxa_text destination_memory_kind; /**< as in nvtxa_gpu_amount */
  int64_t bytes;                      /**< a transfer's or set's size */
  int64_t device_id;                  /**< the device, as the trace numbers them */
  int64_t start_ns;                   /**< when it started */
  int64_t duration_ns;                /**< how long it took, >= 0 */
  bool graph_node;                    /**< it ran as a node of a CUDA graph */
  nvtxa_gpu_attribution attribution;  /**< whether and why not the next two count */
  size_t range;                       /**< the innermost range that encloses the call that launched
                                           it: its index in the table of GPU-projected ranges;
                                           counts with NVTXA_GPU_IN_RANGE */
  int64_t launch_start_ns;            /**< when that call began; counts with NVTXA_GPU_IN_RANGE and
                                           NVTXA_GPU_OUTSIDE_RANGES */
} nvtxa_gpu_operation;

/**
 * Read the totals from two reports that nsys wrote: kernels from `cuda_gpu_kern_sum`, transfers and
 * sets from `cuda_gpu_trace`, which must have sizes in bytes (`--format csv:mem=B`). Single
 * operations are not read. A report without rows means that there was no such work.
 *
 * @param kern_sum_path  the report cuda_gpu_kern_sum, or gpukernsum as older versions call it
 * @param gpu_trace_path the report cuda_gpu_trace, or gputrace
 * @param nsys_version   what `nsys --version` prints, for how the reports quote; may be no text
 * @param hooks          log, progress, cancel; NULL for none
 * @param ret_work       gets the totals; the caller owns one reference
 * @param reterr         gets the error, or NULL; it names the file, the line and the column
 * @return NVTXA_OK; NVTXA_ERROR_REPORT_MISSING, NVTXA_ERROR_REPORT_COLUMNS (also: sizes that are
 *         rounded to another unit), NVTXA_ERROR_REPORT_SYNTAX, NVTXA_ERROR_REPORT_VALUE (also: a
 *         copy without a kind of memory), NVTXA_ERROR_LIMIT, NVTXA_ERROR_OVERFLOW,
 *         NVTXA_ERROR_CANCELLED, NVTXA_ERROR_IO, NVTXA_ERROR_INVALID_ARGUMENT,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_gpu_work_read_reports(const char *kern_sum_path,
                                                   const char *gpu_trace_path,
                                                   nvtxa_text nsys_version,
                                                   const nvtxa_hooks *hooks,
                                                   nvtxa_gpu_work **ret_work, nvtxa_error **reterr);

/** Take another reference. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_gpu_work *nvtxa_gpu_work_ref(const nvtxa_gpu_work *work);

/** Give a reference back; the last one frees. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API void nvtxa_gpu_work_unref(nvtxa_gpu_work *work);

/** How many amounts of a kind there are over the whole trace; 0 for no such kind. Whole graphs are
 * known only from an SQLite export. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_gpu_work_amount_count(const nvtxa_gpu_work *work, nvtxa_gpu_kind kind);

/**
 * Amount `index` of a kind, over the whole trace: kernels by name, transfers by source and
 * destination, sets by kind of memory, all in byte order.
 *
 * @param work        the work
 * @param kind        which kind
 * @param index       from 0, below the count
 * @param ret_amount  gets it; `size` must be set. Its texts are borrowed from the work
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_gpu_work_amount(const nvtxa_gpu_work *work, nvtxa_gpu_kind kind,
                                             size_t index, nvtxa_gpu_amount *ret_amount);

/** Whether single operations are known: they are where the work was read from an SQLite export.
 * Thread-safe. Since 0.1. */
NVTXA_API bool nvtxa_gpu_work_has_operations(const nvtxa_gpu_work *work);

/** How many single operations are known. Graphs for which no times were collected are not among
 * them; see nvtxa_gpu_device. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_gpu_work_operation_count(const nvtxa_gpu_work *work);

/**
 * Operation `index`, in the order of their starts.
 *
 * @param work           the work
 * @param index          from 0, below the count
 * @param ret_operation  gets it; `size` must be set. Its texts are borrowed from the work
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_gpu_work_operation(const nvtxa_gpu_work *work, size_t index,
                                                nvtxa_gpu_operation *ret_operation);

/* ---- what a set of operations amounts to ---- */

/** What the operations of one scope, or of one iteration, amount to. Part of an analysis, and
 * borrowed from it. */
typedef struct nvtxa_gpu_share nvtxa_gpu_share;

/** The times of operations taken together, on one device or on all. */
typedef struct nvtxa_gpu_times {
  size_t size;            /**< sizeof(nvtxa_gpu_times) */
  uint64_t operations;    /**< how many there are; where it is 0, all is */
  int64_t span_ns;        /**< from the first start to the last end */
  int64_t busy_ns;        /**< how much of that at least one of them was running */
  int64_t idle_ns;        /**< and how much none: span less busy */
  int64_t largest_gap_ns; /**< the longest time on end within the span that none was */
  int64_t
      copy_compute_overlap_ns; /**< how long a transfer was running, and a kernel or graph too */
} nvtxa_gpu_times;

/** How long operations waited: from the begin of the call that launched each to its own start. */
typedef struct nvtxa_gpu_launch_delay {
  size_t size;         /**< sizeof(nvtxa_gpu_launch_delay) */
  uint64_t operations; /**< of how many; where it is 0, the rest does not count */
  double median_ns;    /**< middle value, or the mean of the middle two */
  double p99_ns;       /**< 99th percentile, interpolated as in nvtxa_percentiles */
} nvtxa_gpu_launch_delay;

/** The times on all devices: one that is busy is enough. `size` must be set.
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_status nvtxa_gpu_share_times(const nvtxa_gpu_share *share,
                                             nvtxa_gpu_times *ret_times);

/** On how many devices the operations ran. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_gpu_share_device_count(const nvtxa_gpu_share *share);

/**
 * The times on one device, in the order of their ids.
 *
 * @param share          the share
 * @param index          from 0, below the count
 * @param ret_device_id  gets which device it is
 * @param ret_times      gets the times; `size` must be set
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_gpu_share_device_times(const nvtxa_gpu_share *share, size_t index,
                                                    int64_t *ret_device_id,
                                                    nvtxa_gpu_times *ret_times);

/** How long the operations waited. `size` must be set.
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_status nvtxa_gpu_share_launch_delay(const nvtxa_gpu_share *share,
                                                    nvtxa_gpu_launch_delay *ret_delay);

/** How many of the operations ran as nodes of CUDA graphs. Thread-safe. Since 0.1. */
NVTXA_API uint64_t nvtxa_gpu_share_graph_nodes(const nvtxa_gpu_share *share);

/** How many amounts of a kind there are; 0 for no such kind. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_gpu_share_amount_count(const nvtxa_gpu_share *share, nvtxa_gpu_kind kind);

/**
 * Amount `index` of a kind: the largest cumulative duration first, then in byte order.
 *
 * @param share       the share
 * @param kind        which kind
 * @param index       from 0, below the count
 * @param ret_amount  gets it; `size` must be set. Its texts are borrowed from the analysis
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_gpu_share_amount(const nvtxa_gpu_share *share, nvtxa_gpu_kind kind,
                                              size_t index, nvtxa_gpu_amount *ret_amount);

NVTXA_END_DECLS

#endif
