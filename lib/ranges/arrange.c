/*
 * Events arranged as a report has them: open ones ended where nsys ends them, all sorted by start
 * and duration, with or without the start/end ranges.
 */
#include <stdlib.h>
#include <string.h>

#include "sqlite-internal.h"

/* Of events that start together: the order of nsys's report. */
static int compare_events(const void *a, const void *b, void *user) {
  const nvtxa__events *events = user;
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  if (events->duration_ns[x] != events->duration_ns[y]) {
    return events->duration_ns[x] < events->duration_ns[y] ? -1 : 1;
  }
  return (events->row_id[x] > events->row_id[y]) - (events->row_id[x] < events->row_id[y]);
}

/* Move the items of a column to where `order` has them; `spare` has room for all. */
static void permute(void *column, size_t item_size, const uint32_t *order, size_t count,
                    void *spare) {
  const char *from = column;
  char *to = spare;
  for (size_t i = 0; i < count; i++) {
    memcpy(to + i * item_size, from + order[i] * item_size, item_size);
  }
  memcpy(column, spare, count * item_size);
}

/* Give open events the end that nsys gives them. */
static void end_open(nvtxa__events *events, int64_t last_ns) {
  for (size_t i = 0; i < events->count; i++) {
    if (events->flags[i] & NVTXA__OPEN) {
      events->duration_ns[i] = last_ns - events->start_ns[i];
    }
  }
}

static int sort_events(nvtxa__events *events) {
  int result = -1;
  uint32_t *order = nvtxa__alloc(events->count + 1, sizeof *order);
  void *spare = NULL;
  if (order == NULL) {
    return -1;
  }
  bool sorted = true;
  for (size_t i = 0; i < events->count; i++) {
    order[i] = (uint32_t)i;
  }
  if (nvtxa__sort_by_key(order, events->count, events->start_ns, compare_events, events) != 0) {
    goto out;
  }
  for (size_t i = 0; i < events->count && sorted; i++) {
    sorted = order[i] == i;
  }
  if (!sorted) {
    spare = nvtxa__alloc(events->count, sizeof(int64_t));
    if (spare == NULL) {
      goto out;
    }
    permute(events->row_id, sizeof *events->row_id, order, events->count, spare);
    permute(events->start_ns, sizeof *events->start_ns, order, events->count, spare);
    permute(events->duration_ns, sizeof *events->duration_ns, order, events->count, spare);
    permute(events->thread, sizeof *events->thread, order, events->count, spare);
    permute(events->name, sizeof *events->name, order, events->count, spare);
    permute(events->flags, sizeof *events->flags, order, events->count, spare);
  }
  result = 0;
out:
  free(order);
  free(spare);
  return result;
}

int nvtxa__events_arrange(nvtxa__events *events) {
  end_open(events, events->last_ns);
  return sort_events(events);
}

int nvtxa__events_drop_start_end(nvtxa__events *events) {
  size_t count = 0;
  for (size_t i = 0; i < events->count; i++) {
    if (!(events->flags[i] & NVTXA__START_END)) {
      events->row_id[count] = events->row_id[i];
      events->start_ns[count] = events->start_ns[i];
      events->duration_ns[count] = events->duration_ns[i];
      events->thread[count] = events->thread[i];
      events->name[count] = events->name[i];
      events->flags[count] = events->flags[i];
      count++;
    }
  }
  events->count = count;
  /* Open ranges now end earlier, which may be where others end. */
  end_open(events, events->last_push_ns);
  return sort_events(events);
}
