/* Shares, as their readers see them. */
#include "gpu-internal.h"

static nvtxa_gpu_times times_of(const nvtxa__gpu_run *run) {
  int64_t span_ns = run->end_ns - run->first_ns;
  return (nvtxa_gpu_times){
      .size = sizeof(nvtxa_gpu_times),
      .operations = run->operations,
      .span_ns = span_ns,
      .busy_ns = run->busy_ns,
      .idle_ns = span_ns - run->busy_ns,
      .largest_gap_ns = run->gap_ns,
      .copy_compute_overlap_ns = run->overlap_ns,
  };
}

nvtxa_status nvtxa_gpu_share_times(const nvtxa_gpu_share *share, nvtxa_gpu_times *ret_times) {
  if (share == NULL) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  nvtxa_gpu_times times = times_of(&share->run);
  return nvtxa__result_copy(ret_times, &times, sizeof times);
}

/* Of a work with a single device, parts are not kept by device. */
static bool is_on_single_device(const nvtxa_gpu_share *share) {
  return share->tally->work->device_count < 2;
}

size_t nvtxa_gpu_share_device_count(const nvtxa_gpu_share *share) {
  return share == NULL                ? 0
         : is_on_single_device(share) ? share->run.operations > 0
                                      : share->device_count;
}

nvtxa_status nvtxa_gpu_share_device_times(const nvtxa_gpu_share *share, size_t index,
                                          int64_t *ret_device_id, nvtxa_gpu_times *ret_times) {
  if (index >= nvtxa_gpu_share_device_count(share) || ret_device_id == NULL) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  const nvtxa__gpu_tally *tally = share->tally;
  const nvtxa__gpu_run *run = &share->run;
  size_t device = 0;
  if (!is_on_single_device(share)) {
    const nvtxa__gpu_part *part = &tally->devices.items[share->first_device + index];
    run = &part->of.run;
    device = part->number;
  }
  *ret_device_id = tally->work->devices[device].id;
  nvtxa_gpu_times times = times_of(run);
  return nvtxa__result_copy(ret_times, &times, sizeof times);
}

nvtxa_status nvtxa_gpu_share_launch_delay(const nvtxa_gpu_share *share,
                                          nvtxa_gpu_launch_delay *ret_delay) {
  if (share == NULL) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  /* What is in a share was launched by a call that is known. */
  const nvtxa__gpu_delay *found = &share->tally->delays[share - share->tally->shares];
  const nvtxa_gpu_launch_delay delay = {
      .size = sizeof delay,
      .operations = share->run.operations,
      .median_ns = found->median_ns,
      .p99_ns = found->p99_ns,
  };
  return nvtxa__result_copy(ret_delay, &delay, sizeof delay);
}

uint64_t nvtxa_gpu_share_graph_nodes(const nvtxa_gpu_share *share) {
  return share == NULL ? 0 : share->graph_nodes;
}

size_t nvtxa_gpu_share_amount_count(const nvtxa_gpu_share *share, nvtxa_gpu_kind kind) {
  return share == NULL || (unsigned)kind >= NVTXA_GPU_KIND_COUNT
             ? 0
             : share->first_of_kind[kind + 1] - share->first_of_kind[kind];
}

nvtxa_status nvtxa_gpu_share_amount(const nvtxa_gpu_share *share, nvtxa_gpu_kind kind, size_t index,
                                    nvtxa_gpu_amount *ret_amount) {
  if (index >= nvtxa_gpu_share_amount_count(share, kind)) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  const nvtxa__gpu_part *part = &share->tally->sums.items[share->first_of_kind[kind] + index];
  nvtxa_gpu_amount amount = nvtxa__gpu_amount(share->tally->work, part->number, &part->of.sum);
  return nvtxa__result_copy(ret_amount, &amount, sizeof amount);
}
