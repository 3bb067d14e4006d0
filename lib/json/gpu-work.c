/*
 * What the GPU did, in analysis.json: over the whole trace, by device, and for each scope and
 * iteration.
 */
#include "json-internal.h"

/* ---- amounts ---- */

static void put_kernel(nvtxa__json_writer *writer, const nvtxa_gpu_amount *amount) {
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "cumulative_duration_ns", integer, amount->cumulative_duration_ns);
  NVTXA__PUT(writer, "instances", count, amount->instances);
  NVTXA__PUT(writer, "name", text, amount->name);
  nvtxa__json_close(writer, '}');
}

static void put_memory_set(nvtxa__json_writer *writer, const nvtxa_gpu_amount *amount) {
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "cumulative_duration_ns", integer, amount->cumulative_duration_ns);
  NVTXA__PUT(writer, "instances", count, amount->instances);
  NVTXA__PUT(writer, "memory_kind", text, amount->destination_memory_kind);
  NVTXA__PUT(writer, "total_bytes", integer, amount->total_bytes);
  nvtxa__json_close(writer, '}');
}

static void put_memory_transfer(nvtxa__json_writer *writer, const nvtxa_gpu_amount *amount) {
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "cumulative_duration_ns", integer, amount->cumulative_duration_ns);
  NVTXA__PUT(writer, "destination_memory_kind", text, amount->destination_memory_kind);
  NVTXA__PUT(writer, "instances", count, amount->instances);
  NVTXA__PUT(writer, "source_memory_kind", text, amount->source_memory_kind);
  NVTXA__PUT(writer, "total_bytes", integer, amount->total_bytes);
  nvtxa__json_close(writer, '}');
}

typedef void (*put_amount_fn)(nvtxa__json_writer *writer, const nvtxa_gpu_amount *amount);

static const put_amount_fn put_amount[] = {
    [NVTXA_GPU_KERNEL] = put_kernel,
    [NVTXA_GPU_MEMORY_TRANSFER] = put_memory_transfer,
    [NVTXA_GPU_MEMORY_SET] = put_memory_set,
};

static void put_work_amounts(nvtxa__json_writer *writer, const char *key,
                             const nvtxa_gpu_work *work, nvtxa_gpu_kind kind) {
  nvtxa__json_key(writer, key);
  nvtxa__json_open(writer, '[');
  for (size_t i = 0; i < nvtxa_gpu_work_amount_count(work, kind); i++) {
    nvtxa_gpu_amount amount = {.size = sizeof amount};
    nvtxa__json_fail(writer, nvtxa_gpu_work_amount(work, kind, i, &amount));
    put_amount[kind](writer, &amount);
  }
  nvtxa__json_close(writer, ']');
}

/* Over the whole trace. */
void nvtxa__json_capture_work(nvtxa__json_writer *writer, const nvtxa_gpu_work *work) {
  nvtxa__json_key(writer, "capture_gpu_work");
  if (work == NULL) {
    nvtxa__json_null(writer);
    return;
  }
  nvtxa__json_open(writer, '{');
  put_work_amounts(writer, "kernels", work, NVTXA_GPU_KERNEL);
  put_work_amounts(writer, "memory_sets", work, NVTXA_GPU_MEMORY_SET);
  put_work_amounts(writer, "memory_transfers", work, NVTXA_GPU_MEMORY_TRANSFER);
  nvtxa__json_close(writer, '}');
}

static void put_device(nvtxa__json_writer *writer, const nvtxa_analysis *analysis,
                       size_t position) {
  nvtxa_gpu_device device = {.size = sizeof device};
  nvtxa__json_fail(writer, nvtxa_analysis_gpu_device(analysis, position, &device));
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "attributed", count, device.attributed);
  NVTXA__PUT(writer, "device_id", integer, device.device_id);
  NVTXA__PUT(writer, "in_open_ranges", count, device.in_open_ranges);
  NVTXA__PUT(writer, "launch_missing", count, device.launch_missing);
  NVTXA__PUT(writer, "operations", count, device.operations);
  NVTXA__PUT(writer, "outside_ranges", count, device.outside_ranges);
  NVTXA__PUT(writer, "untimed", count, device.untimed);
  nvtxa__json_close(writer, '}');
}

void nvtxa__json_devices(nvtxa__json_writer *writer, const nvtxa_analysis *analysis) {
  const nvtxa_gpu_work *work = nvtxa_analysis_gpu_work(analysis);
  nvtxa__json_key(writer, "gpu_devices");
  if (!nvtxa_gpu_work_has_operations(work)) {
    nvtxa__json_null(writer);
    return;
  }
  nvtxa__json_open(writer, '[');
  for (size_t i = 0; i < nvtxa_analysis_gpu_device_count(analysis); i++) {
    put_device(writer, analysis, i);
  }
  nvtxa__json_close(writer, ']');
}

/* ---- what it did for a scope or an iteration ---- */

static nvtxa_gpu_amount amount_at(nvtxa__json_writer *writer, const nvtxa_gpu_share *share,
                                  nvtxa_gpu_kind kind, size_t index) {
  nvtxa_gpu_amount amount = {.size = sizeof amount};
  nvtxa__json_fail(writer, nvtxa_gpu_share_amount(share, kind, index, &amount));
  return amount;
}

/* All of a kind in sum. */
static nvtxa_gpu_amount sum_of(nvtxa__json_writer *writer, const nvtxa_gpu_share *share,
                               nvtxa_gpu_kind kind) {
  nvtxa_gpu_amount sum = {.size = sizeof sum, .kind = kind};
  for (size_t i = 0; i < nvtxa_gpu_share_amount_count(share, kind); i++) {
    nvtxa_gpu_amount amount = amount_at(writer, share, kind, i);
    sum.instances += amount.instances;
    sum.cumulative_duration_ns += amount.cumulative_duration_ns;
    sum.total_bytes += amount.total_bytes;
  }
  return sum;
}

static void put_share_devices(nvtxa__json_writer *writer, const nvtxa_gpu_share *share) {
  nvtxa__json_key(writer, "devices");
  nvtxa__json_open(writer, '[');
  for (size_t i = 0; i < nvtxa_gpu_share_device_count(share); i++) {
    int64_t device_id = 0;
    nvtxa_gpu_times times = {.size = sizeof times};
    nvtxa__json_fail(writer, nvtxa_gpu_share_device_times(share, i, &device_id, &times));
    nvtxa__json_open(writer, '{');
    NVTXA__PUT(writer, "busy_ns", integer, times.busy_ns);
    NVTXA__PUT(writer, "copy_compute_overlap_ns", integer, times.copy_compute_overlap_ns);
    NVTXA__PUT(writer, "device_id", integer, device_id);
    NVTXA__PUT(writer, "idle_ns", integer, times.idle_ns);
    NVTXA__PUT(writer, "largest_gap_ns", integer, times.largest_gap_ns);
    NVTXA__PUT(writer, "operations", count, times.operations);
    NVTXA__PUT(writer, "span_ns", integer, times.span_ns);
    nvtxa__json_close(writer, '}');
  }
  nvtxa__json_close(writer, ']');
}

static void put_share_graphs(nvtxa__json_writer *writer, const nvtxa_gpu_share *share) {
  nvtxa_gpu_amount sum = sum_of(writer, share, NVTXA_GPU_GRAPH);
  NVTXA__PUT(writer, "graph_node_operations", count, nvtxa_gpu_share_graph_nodes(share));
  nvtxa__json_key(writer, "graphs");
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "cumulative_duration_ns", integer, sum.cumulative_duration_ns);
  NVTXA__PUT(writer, "instances", count, sum.instances);
  nvtxa__json_close(writer, '}');
}

static void put_share_kernels(nvtxa__json_writer *writer, const nvtxa_gpu_share *share,
                              size_t limit) {
  size_t count = nvtxa_gpu_share_amount_count(share, NVTXA_GPU_KERNEL);
  nvtxa_gpu_amount sum = sum_of(writer, share, NVTXA_GPU_KERNEL);
  nvtxa__json_key(writer, "kernels");
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "cumulative_duration_ns", integer, sum.cumulative_duration_ns);
  NVTXA__PUT(writer, "instances", count, sum.instances);
  nvtxa__json_key(writer, "largest");
  nvtxa__json_open(writer, '[');
  for (size_t i = 0; i < count && i < limit; i++) {
    nvtxa_gpu_amount amount = amount_at(writer, share, NVTXA_GPU_KERNEL, i);
    put_kernel(writer, &amount);
  }
  nvtxa__json_close(writer, ']');
  NVTXA__PUT(writer, "names", count, count);
  nvtxa__json_close(writer, '}');
}

static void put_share_delay(nvtxa__json_writer *writer, const nvtxa_gpu_share *share) {
  nvtxa_gpu_launch_delay delay = {.size = sizeof delay};
  nvtxa__json_fail(writer, nvtxa_gpu_share_launch_delay(share, &delay));
  nvtxa__json_key(writer, "launch_delay");
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "median_ns", real, delay.median_ns);
  NVTXA__PUT(writer, "p99_ns", real, delay.p99_ns);
  nvtxa__json_close(writer, '}');
}

static void put_share_amounts(nvtxa__json_writer *writer, const char *key,
                              const nvtxa_gpu_share *share, nvtxa_gpu_kind kind) {
  nvtxa__json_key(writer, key);
  nvtxa__json_open(writer, '[');
  for (size_t i = 0; i < nvtxa_gpu_share_amount_count(share, kind); i++) {
    nvtxa_gpu_amount amount = amount_at(writer, share, kind, i);
    put_amount[kind](writer, &amount);
  }
  nvtxa__json_close(writer, ']');
}

/* No operations are null, never zeros. */
static void put_share(nvtxa__json_writer *writer, const char *key, const nvtxa_gpu_share *share,
                      size_t kernel_limit) {
  nvtxa_gpu_times times = {.size = sizeof times};
  nvtxa__json_key(writer, key);
  nvtxa__json_fail(writer, nvtxa_gpu_share_times(share, &times));
  if (times.operations == 0) {
    nvtxa__json_null(writer);
    return;
  }
  nvtxa__json_open(writer, '{');
  NVTXA__PUT(writer, "busy_ns", integer, times.busy_ns);
  NVTXA__PUT(writer, "copy_compute_overlap_ns", integer, times.copy_compute_overlap_ns);
  put_share_devices(writer, share);
  put_share_graphs(writer, share);
  NVTXA__PUT(writer, "idle_ns", integer, times.idle_ns);
  put_share_kernels(writer, share, kernel_limit);
  NVTXA__PUT(writer, "largest_gap_ns", integer, times.largest_gap_ns);
  put_share_delay(writer, share);
  put_share_amounts(writer, "memory_sets", share, NVTXA_GPU_MEMORY_SET);
  put_share_amounts(writer, "memory_transfers", share, NVTXA_GPU_MEMORY_TRANSFER);
  NVTXA__PUT(writer, "operations", count, times.operations);
  NVTXA__PUT(writer, "span_ns", integer, times.span_ns);
  nvtxa__json_close(writer, '}');
}

void nvtxa__json_gpu_work(nvtxa__json_writer *writer, const nvtxa_analysis *analysis,
                          size_t position, nvtxa__share_fn share_at) {
  nvtxa__json_key(writer, "gpu_work");
  if (share_at(analysis, position, NVTXA_GPU_INCLUSIVE) == NULL) {
    nvtxa__json_null(writer);
    return;
  }
  nvtxa__json_open(writer, '{');
  put_share(writer, "inclusive", share_at(analysis, position, NVTXA_GPU_INCLUSIVE),
            writer->kernel_limit);
  put_share(writer, "innermost", share_at(analysis, position, NVTXA_GPU_INNERMOST),
            writer->kernel_limit);
  nvtxa__json_close(writer, '}');
}
