/*
 * The table of ranges: made by builder.c or sqlite.c, then only read. Names, styles and threads are
 * kept once and known by number.
 */
#include <stdlib.h>
#include <string.h>

#include "ranges-internal.h"

enum { COLUMNS = 13 };

static void columns_of(nvtxa_ranges *r, nvtxa__packed *columns[COLUMNS]) {
  nvtxa__packed *const all[COLUMNS] = {
      &r->base_row,
      &r->name,
      &r->thread,
      &r->range_id,
      &r->above,
      &r->start_ns,
      &r->duration_ns,
      &r->open,
      &r->child_total_ns,
      &r->style,
      &r->projected_start_ns,
      &r->projected_duration_ns,
      &r->gpu_operation_count,
  };
  memcpy(columns, all, sizeof all);
}

void nvtxa__ranges_free(nvtxa_ranges *ranges) {
  if (ranges == NULL) {
    return;
  }
  nvtxa__packed *columns[COLUMNS];
  columns_of(ranges, columns);
  for (size_t i = 0; i < COLUMNS; i++) {
    nvtxa__packed_free(columns[i]);
  }
  free(ranges->strays);
  nvtxa_ranges_unref(ranges->base);
  free(ranges->threads);
  nvtxa__table_free(&ranges->keys);
  free(ranges->row_of_id);
  nvtxa__intern_free(&ranges->names);
  nvtxa__intern_free(&ranges->styles);
  nvtxa_gpu_work_unref(ranges->work);
  nvtxa__warnings_free(&ranges->warnings);
  free(ranges);
}

nvtxa_ranges *nvtxa_ranges_ref(const nvtxa_ranges *ranges) {
  nvtxa_ranges *shared = (nvtxa_ranges *)ranges;
  if (shared != NULL) {
    nvtxa__ref_take(&shared->ref);
  }
  return shared;
}

void nvtxa_ranges_unref(nvtxa_ranges *ranges) {
  if (ranges != NULL && nvtxa__ref_drop(&ranges->ref)) {
    nvtxa__ranges_free(ranges);
  }
}

/* ---- columns ---- */

nvtxa_ranges *nvtxa__ranges_new(nvtxa_report report) {
  nvtxa_ranges *ranges = calloc(1, sizeof *ranges);
  if (ranges == NULL) {
    return NULL;
  }
  nvtxa__packed *columns[COLUMNS];
  columns_of(ranges, columns);
  if (nvtxa__packed_together(columns, COLUMNS) != 0) {
    free(ranges);
    return NULL;
  }
  nvtxa__ref_init(&ranges->ref);
  ranges->report = report;
  return ranges;
}

int nvtxa__ranges_finish(nvtxa_ranges *ranges) {
  nvtxa__packed *columns[COLUMNS];
  int result = 0;
  columns_of(ranges, columns);
  for (size_t i = 0; i < COLUMNS; i++) {
    result |= nvtxa__packed_finish(columns[i]);
  }
  return result;
}

int nvtxa__pack_parents(nvtxa__packed *above, const uint32_t *parent, size_t count) {
  for (size_t row = 0; row < count; row++) {
    if (nvtxa__packed_add(above, nvtxa__above(row, parent[row])) != 0) {
      return -1;
    }
  }
  return nvtxa__packed_finish(above);
}

int nvtxa__ranges_set_parents(nvtxa_ranges *ranges, const uint32_t *parent,
                              const nvtxa__packed *stray_ids) {
  size_t capacity = 0;
  for (size_t row = 0; row < ranges->count; row++) {
    if (parent[row] != NVTXA__UNKNOWN_PARENT) {
      continue;
    }
    if (nvtxa__reserve(&ranges->strays, &capacity, ranges->stray_count + 1,
                       sizeof *ranges->strays) != 0) {
      return -1;
    }
    ranges->strays[ranges->stray_count++] =
        (nvtxa__stray){(uint32_t)row, nvtxa__packed_get(stray_ids, row)};
  }
  return nvtxa__pack_parents(&ranges->above, parent, ranges->count);
}

static int compare_strays(const void *a, const void *b) {
  const nvtxa__stray *x = a;
  const nvtxa__stray *y = b;
  return (x->row > y->row) - (x->row < y->row);
}

int64_t nvtxa__range_parent_id(const nvtxa_ranges *ranges, size_t row) {
  uint32_t parent = nvtxa__range_parent(ranges, row);
  if (parent < ranges->count) {
    return nvtxa__range_id(ranges, parent);
  }
  if (parent == NVTXA__NO_PARENT) {
    return 0;
  }
  const nvtxa__stray *found = bsearch(&(nvtxa__stray){.row = (uint32_t)row}, ranges->strays,
                                      ranges->stray_count, sizeof *ranges->strays, compare_strays);
  return found->parent_id;
}

/* ---- range keys ----
 *
 * Range ids are row numbers of one export: as a rule no two rows of a table share one, there are
 * few gaps and they grow with the rows. Then rows are found by searching. Where they do not grow,
 * an array leads from id to row; where ids repeat or lie far apart, a hash table does. */

static uint64_t hash_key(nvtxa__thread thread, int64_t range_id) {
  int64_t key[3] = {thread.process_id, thread.thread_id, range_id};
  return nvtxa__hash(key, sizeof key);
}

static uint64_t hash_row(const void *owner, uint32_t row) {
  const nvtxa_ranges *ranges = owner;
  return hash_key(nvtxa__range_thread(ranges, row), nvtxa__range_id(ranges, row));
}

static bool row_has_key(const nvtxa_ranges *ranges, uint32_t row, nvtxa__thread thread,
                        int64_t range_id) {
  return nvtxa__range_id(ranges, row) == range_id &&
         nvtxa__same_thread(nvtxa__range_thread(ranges, row), thread);
}

/* The row with a key; or NVTXA__NO_ITEM, and *slot is where it belongs. */
static uint32_t find_key(const nvtxa_ranges *ranges, nvtxa__thread thread, int64_t range_id,
                         size_t *slot) {
  uint32_t row = nvtxa__table_first(&ranges->keys, hash_key(thread, range_id), slot);
  while (row != NVTXA__NO_ITEM && !row_has_key(ranges, row, thread, range_id)) {
    row = nvtxa__table_next(&ranges->keys, slot);
  }
  return row;
}

static bool is_below(const void *ranges, size_t row, const void *range_id) {
  return nvtxa__range_id(ranges, row) < *(const int64_t *)range_id;
}

uint32_t nvtxa__ranges_find(const nvtxa_ranges *ranges, nvtxa__thread thread, int64_t range_id,
                            size_t *near) {
  size_t slot;
  size_t row = ranges->count;
  if (ranges->count == 0) {
    return NVTXA__NO_PARENT;
  }
  if (ranges->ascending) {
    /* Rows are looked up in order, as a rule: it may be the very next. */
    row = *near + 1;
    if (row < ranges->count && row_has_key(ranges, (uint32_t)row, thread, range_id)) {
      *near = row;
      return (uint32_t)row;
    }
    row = *near = nvtxa__search(ranges->count, *near, is_below, ranges, &range_id);
  } else if (ranges->row_of_id != NULL) {
    uint64_t at = (uint64_t)range_id - (uint64_t)ranges->first_id;
    row = at < ranges->id_span ? ranges->row_of_id[at] : NVTXA__NO_ITEM;
  } else {
    row = find_key(ranges, thread, range_id, &slot);
  }
  return row < ranges->count && row_has_key(ranges, (uint32_t)row, thread, range_id)
             ? (uint32_t)row
             : NVTXA__NO_PARENT;
}

static bool ascend(const nvtxa_ranges *ranges) {
  for (size_t row = 1; row < ranges->count; row++) {
    if (nvtxa__range_id(ranges, row) <= nvtxa__range_id(ranges, row - 1)) {
      return false;
    }
  }
  return true;
}

/* 1: done; 0: ids repeat or lie too far apart; -1: out of memory. */
static int index_densely(nvtxa_ranges *ranges) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (size_t row = 0; row < ranges->count; row++) {
    int64_t id = nvtxa__range_id(ranges, row);
    first = id < first ? id : first;
    last = id > last ? id : last;
  }
  uint64_t span = (uint64_t)last - (uint64_t)first;
  if (ranges->count == 0 || span / 4 > ranges->count) {
    return 0;
  }
  ranges->row_of_id = nvtxa__alloc(span + 1, sizeof *ranges->row_of_id);
  if (ranges->row_of_id == NULL) {
    return -1;
  }
  memset(ranges->row_of_id, 0xFF, (span + 1) * sizeof *ranges->row_of_id); /* NVTXA__NO_ITEM */
  ranges->first_id = first;
  ranges->id_span = span + 1;
  for (size_t row = 0; row < ranges->count; row++) {
    uint32_t *place = &ranges->row_of_id[(uint64_t)nvtxa__range_id(ranges, row) - (uint64_t)first];
    if (*place != NVTXA__NO_ITEM) {
      free(ranges->row_of_id);
      ranges->row_of_id = NULL;
      return 0;
    }
    *place = (uint32_t)row;
  }
  return 1;
}

static nvtxa_status duplicate_key(const nvtxa_ranges *ranges, size_t row, const char *file,
                                  nvtxa_error **reterr) {
  nvtxa__thread thread = nvtxa__range_thread(ranges, row);
  return nvtxa__fail(reterr, NVTXA_ERROR_REPORT_VALUE,
                     &(nvtxa__where){
                         .file = file,
                         .field = "RangeId",
                         .hint = "Range ids join only within one export: was the report put "
                                 "together from several?",
                     },
                     "two ranges have the key pid %lld, tid %lld, range %lld",
                     (long long)thread.process_id, (long long)thread.thread_id,
                     (long long)nvtxa__range_id(ranges, row));
}

nvtxa_status nvtxa__ranges_index(nvtxa_ranges *ranges, const char *file, nvtxa_error **reterr) {
  ranges->ascending = ascend(ranges);
  int dense = ranges->ascending ? 1 : index_densely(ranges);
  if (dense != 0) {
    return dense > 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
  }
  if (nvtxa__table_reserve(&ranges->keys, ranges->count, hash_row, ranges) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t row = 0; row < ranges->count; row++) {
    size_t slot;
    nvtxa__thread thread = nvtxa__range_thread(ranges, row);
    if (find_key(ranges, thread, nvtxa__range_id(ranges, row), &slot) == NVTXA__NO_ITEM) {
      nvtxa__table_put(&ranges->keys, slot, (uint32_t)row);
    } else if (ranges->report == NVTXA_REPORT_PUSHPOP_TRACE) {
      return duplicate_key(ranges, row, file, reterr);
    }
  }
  return NVTXA_OK;
}

/* ---- warnings ---- */

int nvtxa__ranges_by_thread(const nvtxa_ranges *ranges, const bool *wanted, nvtxa__shares *shares) {
  nvtxa__packed start_ns = {0}; /* what the holder keeps may have more rows */
  nvtxa__packed lane = {0};
  int result = 0;
  *shares = (nvtxa__shares){NULL, NULL};
  for (size_t row = 0; row < ranges->count && result == 0; row++) {
    result = nvtxa__packed_add(&start_ns, nvtxa__range_start_ns(ranges, row));
    result |= nvtxa__packed_add(&lane, nvtxa__range_lane(ranges, row));
  }
  result |= nvtxa__packed_finish(&start_ns) | nvtxa__packed_finish(&lane);
  if (result == 0) {
    result = nvtxa__shares_sort(shares, ranges->count, &start_ns, &lane,
                                nvtxa__holder_of(ranges)->thread_count, wanted);
  }
  nvtxa__packed_free(&start_ns);
  nvtxa__packed_free(&lane);
  return result;
}

static const char *plural(size_t count) {
  return count == 1 ? "" : "s";
}

int nvtxa__ranges_warn(nvtxa_ranges *ranges, size_t replaced_count, size_t open_count) {
  const char *report = nvtxa__report_name(ranges->report, NVTXA__NAMING_NEW);
  if (replaced_count > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_BYTES_REPLACED,
                  "Bytes that are not UTF-8 were replaced by U+FFFD in the names of %zu range%s of "
                  "%s.",
                  replaced_count, plural(replaced_count), report) != 0) {
    return -1;
  }
  if (ranges->unattributed.operations > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_UNATTRIBUTED_GPU_WORK,
                  "%lld GPU operation%s launched outside every NVTX range; no scope and no "
                  "iteration counts them.",
                  (long long)ranges->unattributed.operations,
                  ranges->unattributed.operations == 1 ? " was" : "s were") != 0) {
    return -1;
  }
  if (open_count > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_OPEN_RANGES,
                  "%zu range%s of %s had not ended when the trace did; they keep their "
                  "place in the hierarchy but count in no summary.",
                  open_count, plural(open_count), report) != 0) {
    return -1;
  }
  return 0;
}

/* ---- reading ---- */

nvtxa_report nvtxa_ranges_report(const nvtxa_ranges *ranges) {
  return ranges->report;
}

size_t nvtxa_ranges_count(const nvtxa_ranges *ranges) {
  return ranges->count;
}

nvtxa_status nvtxa_ranges_get(const nvtxa_ranges *ranges, size_t index, nvtxa_range *ret_range) {
  if (ranges == NULL || index >= ranges->count) {
    return NVTXA_ERROR_INVALID_ARGUMENT;
  }
  nvtxa__thread thread = nvtxa__range_thread(ranges, index);
  nvtxa_range range = {
      .size = sizeof range,
      .name = nvtxa__range_text(ranges, index),
      .process_id = thread.process_id,
      .thread_id = thread.thread_id,
      .range_id = nvtxa__range_id(ranges, index),
      .has_parent = nvtxa__range_parent(ranges, index) != NVTXA__NO_PARENT,
      .parent_id = nvtxa__range_parent_id(ranges, index),
      .start_ns = nvtxa__range_start_ns(ranges, index),
      .duration_ns = nvtxa__range_duration_ns(ranges, index),
      .open = nvtxa__range_is_open(ranges, index),
  };
  if (ranges->report == NVTXA_REPORT_PUSHPOP_TRACE) {
    range.child_total_ns = nvtxa__range_child_total_ns(ranges, index);
    range.exclusive_ns = range.duration_ns - range.child_total_ns;
  } else {
    range.style = ranges->styles.texts[nvtxa__range_style(ranges, index)];
    range.projected_start_ns = nvtxa__packed_get(&ranges->projected_start_ns, index);
    range.projected_duration_ns = nvtxa__packed_get(&ranges->projected_duration_ns, index);
    range.gpu_operation_count = nvtxa__packed_get(&ranges->gpu_operation_count, index);
  }
  return nvtxa__result_copy(ret_range, &range, sizeof range);
}

int64_t nvtxa_ranges_unattributed_operations(const nvtxa_ranges *ranges) {
  return ranges->unattributed.operations;
}

const nvtxa_gpu_work *nvtxa_ranges_gpu_work(const nvtxa_ranges *ranges) {
  return ranges->work;
}

size_t nvtxa_ranges_warning_count(const nvtxa_ranges *ranges) {
  return ranges->warnings.count;
}

nvtxa_warning nvtxa_ranges_warning(const nvtxa_ranges *ranges, size_t index) {
  return ranges->warnings.items[index];
}
