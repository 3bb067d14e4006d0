/*
 * Events arranged as a report has them: open ones ended where nsys ends them, all sorted by start
 * and duration, with or without the start/end ranges.
 */
#include <stdlib.h>

#include "sqlite-internal.h"

/* Of events that start together: the order of nsys's report. */
static int compare_events(const void *a, const void *b, void *user) {
  const nvtxa__events *events = user;
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  int64_t x_ns = nvtxa__packed_get(&events->duration_ns, x);
  int64_t y_ns = nvtxa__packed_get(&events->duration_ns, y);
  if (x_ns != y_ns) {
    return x_ns < y_ns ? -1 : 1;
  }
  int64_t x_id = nvtxa__packed_get(&events->row_id, x);
  int64_t y_id = nvtxa__packed_get(&events->row_id, y);
  return (x_id > y_id) - (x_id < y_id);
}

/* Keep of a column what `rows` says. 0 or -1. */
static int keep(nvtxa__packed *column, const uint32_t *rows, size_t count) {
  nvtxa__packed kept = {0};
  if (nvtxa__packed_pick(&kept, column, rows, count) != 0) {
    nvtxa__packed_free(&kept);
    return -1;
  }
  nvtxa__packed_free(column);
  *column = kept;
  return 0;
}

static int keep_rows(nvtxa__events *events, const uint32_t *rows, size_t count) {
  nvtxa__packed *const columns[] = {&events->row_id, &events->start_ns, &events->duration_ns,
                                    &events->thread, &events->name,     &events->flags};
  for (size_t i = 0; i < NVTXA__COUNT(columns); i++) {
    if (keep(columns[i], rows, count) != 0) {
      return -1;
    }
  }
  events->count = count;
  return 0;
}

/* Give open events the end that nsys gives them. 0 or -1. */
static int end_open(nvtxa__events *events, int64_t last_ns) {
  nvtxa__packed ended = {0};
  if (events->open_count == 0) {
    return 0;
  }
  for (size_t i = 0; i < events->count; i++) {
    bool open = (nvtxa__packed_get(&events->flags, i) & NVTXA__OPEN) != 0;
    int64_t duration_ns = open ? last_ns - nvtxa__packed_get(&events->start_ns, i)
                               : nvtxa__packed_get(&events->duration_ns, i);
    if (nvtxa__packed_add(&ended, duration_ns) != 0) {
      nvtxa__packed_free(&ended);
      return -1;
    }
  }
  nvtxa__packed_free(&events->duration_ns);
  events->duration_ns = ended;
  return nvtxa__packed_finish(&events->duration_ns);
}

static int sort_events(nvtxa__events *events) {
  uint32_t *order;
  int result = nvtxa__order_make(&order, events->count, &events->start_ns, compare_events, events);
  if (result == 0 && order != NULL) {
    result = keep_rows(events, order, events->count);
  }
  free(order);
  return result;
}

int nvtxa__events_arrange(nvtxa__events *events) {
  return end_open(events, events->last_ns) == 0 ? sort_events(events) : -1;
}

int nvtxa__events_drop_start_end(nvtxa__events *events) {
  size_t count = 0;
  uint32_t *rows = nvtxa__alloc(events->count + 1, sizeof *rows);
  if (rows == NULL) {
    return -1;
  }
  for (size_t i = 0; i < events->count; i++) {
    rows[count] = (uint32_t)i;
    count += (nvtxa__packed_get(&events->flags, i) & NVTXA__START_END) == 0;
  }
  int result = keep_rows(events, rows, count);
  free(rows);
  /* Open ranges now end earlier, which may be where others end. */
  return result == 0 && end_open(events, events->last_push_ns) == 0 ? sort_events(events) : -1;
}
