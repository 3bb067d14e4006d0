/**
 * @file analysis.h
 * Manifest and ranges to numbers: the measured iterations, found by hierarchy, and every range
 * aggregated by scope.
 *
 * Three measures are kept apart and never added, subtracted or divided by one another:
 * host-inclusive time, host-exclusive time (inclusive less the direct children), and GPU-projected
 * time (a span from a first start to a last end, gaps included). docs/measures.md says what each is
 * and is not.
 */
#ifndef NVTXA_ANALYSIS_H
#define NVTXA_ANALYSIS_H

#include <nvtxa/export.h>
#include <nvtxa/manifest.h>
#include <nvtxa/ranges.h>

NVTXA_BEGIN_DECLS

/** The result of an analysis. Immutable; shared by reference count. */
typedef struct nvtxa_analysis nvtxa_analysis;

/** How to analyse. Start from NVTXA_ANALYSIS_OPTIONS_INIT; NULL means the default. */
typedef struct nvtxa_analysis_options {
  size_t size; /**< sizeof(nvtxa_analysis_options) */
  /** Where the reports come from: nsys version, files, warnings. NULL for ranges that come from
   * elsewhere; the nsys version is then unknown. The analysis keeps a reference. */
  const nvtxa_export *exported;
  const nvtxa_hooks *hooks; /**< log, progress, cancel; borrowed during the call */
  /** How many threads may work, the caller's among them; default: two at most. The result does not
   * depend on it. */
  size_t thread_count;
  /** What the GPU did, from reports; the analysis keeps a reference. NULL: what the table of
   * GPU-projected ranges brings along, if anything. One with single operations must be that. */
  const nvtxa_gpu_work *gpu_work;
} nvtxa_analysis_options;

/** The defaults. */
#define NVTXA_ANALYSIS_OPTIONS_INIT \
  { sizeof(nvtxa_analysis_options), NULL, NULL, 0, NULL }

/** Where a range stands. */
typedef enum nvtxa_context {
  NVTXA_CONTEXT_CAPTURE = 0,   /**< the capture range itself */
  NVTXA_CONTEXT_ITERATION = 1, /**< below an iteration */
  NVTXA_CONTEXT_BETWEEN = 2,   /**< below the capture range, in no iteration */
  NVTXA_CONTEXT_OUTSIDE = 3    /**< anywhere else, other threads included */
} nvtxa_context;

/** A context's name in analysis.json: "capture", "iteration", "between", "outside".
 * @return static text; "unknown" for any other number. Thread-safe. Since 0.1. */
NVTXA_API const char *nvtxa_context_name(nvtxa_context context);

/** Durations in numbers, in nanoseconds. Sums are exact; stddev is the sample standard deviation,
 * with n - 1 in the denominator, and 0 for one value. */
typedef struct nvtxa_summary {
  int64_t total_ns;   /**< sum */
  int64_t minimum_ns; /**< smallest */
  int64_t maximum_ns; /**< largest */
  double mean_ns;     /**< total / instances */
  double median_ns;   /**< middle value, or the mean of the middle two */
  double stddev_ns;   /**< sample standard deviation */
} nvtxa_summary;

/** Percentiles of the durations of a summary, interpolated between the two nearest values where
 * none stands at the rank (n - 1) p / 100, counted from 0: Hyndman and Fan's definition 7. */
typedef struct nvtxa_percentiles {
  double p50_ns; /**< the median */
  double p90_ns; /**< 90th */
  double p95_ns; /**< 95th */
  double p99_ns; /**< 99th */
} nvtxa_percentiles;

/** All host ranges of one scope in one context (open ranges left out). */
typedef struct nvtxa_host_group {
  size_t size;             /**< sizeof(nvtxa_host_group) */
  nvtxa_text name;         /**< the scope, its names joined by dots */
  size_t path_length;      /**< how many names the scope has; see nvtxa_analysis_host_path() */
  nvtxa_context context;   /**< where the ranges stand */
  uint64_t instances;      /**< how many ranges */
  nvtxa_summary inclusive; /**< their host-inclusive times */
  nvtxa_summary exclusive; /**< their host-exclusive times */
  int64_t child_total_ns;  /**< sum of their direct children's inclusive times */
  nvtxa_percentiles inclusive_percentiles; /**< of `inclusive` */
  nvtxa_percentiles exclusive_percentiles; /**< of `exclusive` */
} nvtxa_host_group;

/** All GPU-projected ranges of one scope, in one context, of one style. */
typedef struct nvtxa_gpu_group {
  size_t size;             /**< sizeof(nvtxa_gpu_group) */
  nvtxa_text name;         /**< the scope, its names joined by dots */
  size_t path_length;      /**< how many names the scope has; see nvtxa_analysis_gpu_path() */
  nvtxa_context context;   /**< where the ranges stand */
  nvtxa_text style;        /**< "PushPop" or "StartEnd" */
  uint64_t instances;      /**< how many ranges */
  nvtxa_summary projected; /**< their projected spans */
  int64_t host_total_ns;   /**< sum of the same ranges' host durations; another clock's measure */
  int64_t gpu_operation_count;             /**< sum of their operation counts */
  nvtxa_percentiles projected_percentiles; /**< of `projected` */
} nvtxa_gpu_group;

/** One measured iteration. */
typedef struct nvtxa_iteration {
  size_t size;                 /**< sizeof(nvtxa_iteration) */
  int64_t index;               /**< N of `iteration N` */
  bool has_host;               /**< false where the range was still open when the trace ended */
  int64_t inclusive_ns;        /**< host-inclusive time */
  int64_t exclusive_ns;        /**< host-exclusive time */
  int64_t child_total_ns;      /**< sum of its direct children's inclusive times */
  bool has_gpu_projection;     /**< whether GPU work was launched from inside it */
  int64_t projected_ns;        /**< projected span */
  int64_t host_range_total_ns; /**< the range's host duration as the GPU report has it */
  int64_t gpu_operation_count; /**< operations, as the report counts them */
} nvtxa_iteration;

/** The iterations in sum. */
typedef struct nvtxa_iteration_summary {
  size_t size;                       /**< sizeof(nvtxa_iteration_summary) */
  uint64_t iterations;               /**< how many were found */
  uint64_t host_iterations;          /**< of which have host times: n of the next two */
  nvtxa_summary host_inclusive;      /**< counts where host_iterations > 0 */
  nvtxa_summary host_exclusive;      /**< counts where host_iterations > 0 */
  uint64_t gpu_projected_iterations; /**< of those, which have a projection: n of the next */
  nvtxa_summary gpu_projected;       /**< counts where gpu_projected_iterations > 0 */
  nvtxa_percentiles host_inclusive_percentiles; /**< of `host_inclusive` */
  nvtxa_percentiles host_exclusive_percentiles; /**< of `host_exclusive` */
  nvtxa_percentiles gpu_projected_percentiles;  /**< of `gpu_projected` */
} nvtxa_iteration_summary;

/** Which operations count as those of a scope or iteration. The two are never mixed: only the
 * second adds up. */
typedef enum nvtxa_gpu_attributed {
  /** Those launched inside its ranges, also inside ranges below them. */
  NVTXA_GPU_INCLUSIVE = 0,
  /** Those for which one of its ranges is the innermost that encloses the launching call. */
  NVTXA_GPU_INNERMOST = 1
} nvtxa_gpu_attributed;

/** The operations of one device, and where they went: each is in exactly one of the counts. */
typedef struct nvtxa_gpu_device {
  size_t size;             /**< sizeof(nvtxa_gpu_device) */
  int64_t device_id;       /**< which device */
  uint64_t operations;     /**< all that the trace holds of it */
  uint64_t attributed;     /**< in a scope or iteration: what NVTXA_GPU_INNERMOST adds up to */
  uint64_t in_open_ranges; /**< launched inside a range without a measured end, which is in no
                                scope's numbers */
  uint64_t outside_ranges; /**< see NVTXA_GPU_OUTSIDE_RANGES */
  uint64_t launch_missing; /**< see NVTXA_GPU_LAUNCH_MISSING */
  uint64_t untimed;        /**< CUDA graphs for which no times were collected; they are in no sum */
} nvtxa_gpu_device;

/**
 * Analyse.
 *
 * @param manifest      says which range is the capture range and how many iterations to expect
 * @param host          a table of NVTXA_REPORT_PUSHPOP_TRACE
 * @param gpu           a table of NVTXA_REPORT_GPU_PROJ_TRACE from the same export; may be empty
 * @param options       NULL for the defaults
 * @param ret_analysis  gets the analysis, which keeps references to its inputs; the caller owns one
 *                      reference to it
 * @param reterr        gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_REPORT_EMPTY (no host range at all), NVTXA_ERROR_CAPTURE_RANGE,
 *         NVTXA_ERROR_DUPLICATE_ITERATION,
 *         NVTXA_ERROR_OVERFLOW, NVTXA_ERROR_LIMIT, NVTXA_ERROR_CANCELLED,
 *         NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_analysis_new(const nvtxa_manifest *manifest, const nvtxa_ranges *host,
                                          const nvtxa_ranges *gpu,
                                          const nvtxa_analysis_options *options,
                                          nvtxa_analysis **ret_analysis, nvtxa_error **reterr);

/** Take another reference. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_analysis *nvtxa_analysis_ref(const nvtxa_analysis *analysis);

/** Give a reference back; the last one frees. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API void nvtxa_analysis_unref(nvtxa_analysis *analysis);

/** The manifest it was made from. Borrowed from the analysis. Thread-safe. Since 0.1. */
NVTXA_API const nvtxa_manifest *nvtxa_analysis_manifest(const nvtxa_analysis *analysis);

/** The export it was told of, or NULL. Borrowed from the analysis. Thread-safe. Since 0.1. */
NVTXA_API const nvtxa_export *nvtxa_analysis_export(const nvtxa_analysis *analysis);

/** How many iterations were found. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_analysis_iteration_count(const nvtxa_analysis *analysis);

/**
 * Iteration `position`, in the order of their indexes.
 *
 * @param analysis       the analysis
 * @param position       from 0, below the count
 * @param ret_iteration  gets it; `size` must be set
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_analysis_iteration(const nvtxa_analysis *analysis, size_t position,
                                                nvtxa_iteration *ret_iteration);

/**
 * The iterations in sum.
 *
 * @param analysis     the analysis
 * @param ret_summary  gets it; `size` must be set
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_analysis_iteration_summary(const nvtxa_analysis *analysis,
                                                        nvtxa_iteration_summary *ret_summary);

/** How many host groups there are. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_analysis_host_group_count(const nvtxa_analysis *analysis);

/**
 * Host group `position`: sorted by scope (name by name, byte order), then context.
 *
 * @param analysis   the analysis
 * @param position   from 0, below the count
 * @param ret_group  gets it; `size` must be set. Its texts are borrowed from the analysis
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_analysis_host_group(const nvtxa_analysis *analysis, size_t position,
                                                 nvtxa_host_group *ret_group);

/**
 * Name `depth` of a host group's scope, the outermost first; no text where either number is too
 * large. Borrowed. Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_text nvtxa_analysis_host_path(const nvtxa_analysis *analysis, size_t position,
                                              size_t depth);

/** How many GPU groups there are. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_analysis_gpu_group_count(const nvtxa_analysis *analysis);

/**
 * GPU group `position`: sorted by scope (name by name, byte order), then context, then style.
 *
 * @param analysis   the analysis
 * @param position   from 0, below the count
 * @param ret_group  gets it; `size` must be set. Its texts are borrowed from the analysis
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_analysis_gpu_group(const nvtxa_analysis *analysis, size_t position,
                                                nvtxa_gpu_group *ret_group);

/** As nvtxa_analysis_host_path(), for a GPU group. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_analysis_gpu_path(const nvtxa_analysis *analysis, size_t position,
                                             size_t depth);

/** GPU operations outside every range, counted apart. Thread-safe. Since 0.1. */
NVTXA_API int64_t nvtxa_analysis_unattributed_operations(const nvtxa_analysis *analysis);

/** What the GPU did in the whole trace, or NULL where that is not known. Borrowed from the
 * analysis. Thread-safe. Since 0.1. */
NVTXA_API const nvtxa_gpu_work *nvtxa_analysis_gpu_work(const nvtxa_analysis *analysis);

/** How many devices have operations; 0 where single operations are not known. Thread-safe.
 * Since 0.1. */
NVTXA_API size_t nvtxa_analysis_gpu_device_count(const nvtxa_analysis *analysis);

/**
 * Device `position`, in the order of their ids.
 *
 * @param analysis    the analysis
 * @param position    from 0, below the count
 * @param ret_device  gets it; `size` must be set
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_analysis_gpu_device(const nvtxa_analysis *analysis, size_t position,
                                                 nvtxa_gpu_device *ret_device);

/**
 * What the operations of GPU group `position` amount to; NULL where single operations are not known
 * or there is no such group. A scope that comes back has what it launched each time: its span holds
 * the time in between.
 *
 * Borrowed from the analysis. Thread-safe. Since 0.1.
 */
NVTXA_API const nvtxa_gpu_share *nvtxa_analysis_gpu_group_share(const nvtxa_analysis *analysis,
                                                                size_t position,
                                                                nvtxa_gpu_attributed attributed);

/** As nvtxa_analysis_gpu_group_share(), of iteration `position`. */
NVTXA_API const nvtxa_gpu_share *nvtxa_analysis_iteration_share(const nvtxa_analysis *analysis,
                                                                size_t position,
                                                                nvtxa_gpu_attributed attributed);

/** How many warnings there are, those of manifest, ranges and export included. Thread-safe.
 * Since 0.1. */
NVTXA_API size_t nvtxa_analysis_warning_count(const nvtxa_analysis *analysis);

/** Warning `index`, below the count. Borrowed from the analysis. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_warning nvtxa_analysis_warning(const nvtxa_analysis *analysis, size_t index);

NVTXA_END_DECLS

#endif
