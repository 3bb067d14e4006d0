/*
 * The table of ranges: made by builder.c or sqlite.c, then only read. Names, styles and threads are
 * kept once and known by number.
 */
#include <stdlib.h>
#include <string.h>

#include "ranges-internal.h"

void nvtxa__ranges_free(nvtxa_ranges *ranges) {
  if (ranges == NULL) {
    return;
  }
  free(ranges->name);
  free(ranges->thread);
  free(ranges->range_id);
  free(ranges->parent_id);
  free(ranges->parent);
  free(ranges->start_ns);
  free(ranges->duration_ns);
  free(ranges->open);
  free(ranges->child_total_ns);
  free(ranges->style);
  free(ranges->projected_start_ns);
  free(ranges->projected_duration_ns);
  free(ranges->gpu_operation_count);
  free(ranges->threads);
  nvtxa__table_free(&ranges->keys);
  free(ranges->row_of_id);
  nvtxa__intern_free(&ranges->names);
  nvtxa__intern_free(&ranges->styles);
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
  if (ranges != NULL) {
    nvtxa__ref_init(&ranges->ref);
    ranges->report = report;
  }
  return ranges;
}

static bool resize(void *pointer_to_column, size_t rows, size_t item_size) {
  void *column;
  memcpy(&column, pointer_to_column, sizeof column);
  column = nvtxa__alloc_again(column, rows, item_size);
  if (column == NULL) {
    return false;
  }
  memcpy(pointer_to_column, &column, sizeof column);
  return true;
}

int nvtxa__ranges_resize(nvtxa_ranges *r, size_t rows) {
#define RESIZE(column) resize(&(column), rows, sizeof *(column))
  bool done = RESIZE(r->name) && RESIZE(r->thread) && RESIZE(r->range_id) && RESIZE(r->parent_id) &&
              RESIZE(r->parent) && RESIZE(r->start_ns) && RESIZE(r->duration_ns) && RESIZE(r->open);
  if (r->report == NVTXA_REPORT_PUSHPOP_TRACE) {
    done = done && RESIZE(r->child_total_ns);
  } else {
    done = done && RESIZE(r->style) && RESIZE(r->projected_start_ns) &&
           RESIZE(r->projected_duration_ns) && RESIZE(r->gpu_operation_count);
  }
#undef RESIZE
  return done ? 0 : -1;
}

/* ---- range keys ----
 *
 * Range ids are row numbers of one export: as a rule no two rows of a table share one and there are
 * few gaps. Then an array leads from id to row; else a hash table does. */

static uint64_t hash_key(nvtxa__thread thread, int64_t range_id) {
  int64_t key[3] = {thread.process_id, thread.thread_id, range_id};
  return nvtxa__hash(key, sizeof key);
}

static uint64_t hash_row(const void *owner, uint32_t row) {
  const nvtxa_ranges *ranges = owner;
  return hash_key(ranges->threads[ranges->thread[row]], ranges->range_id[row]);
}

static bool row_has_key(const nvtxa_ranges *ranges, uint32_t row, nvtxa__thread thread,
                        int64_t range_id) {
  return ranges->range_id[row] == range_id &&
         nvtxa__same_thread(ranges->threads[ranges->thread[row]], thread);
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

uint32_t nvtxa__ranges_find(const nvtxa_ranges *ranges, nvtxa__thread thread, int64_t range_id) {
  uint32_t row = NVTXA__NO_ITEM;
  size_t slot;
  if (ranges->row_of_id != NULL) {
    uint64_t at = (uint64_t)range_id - (uint64_t)ranges->first_id;
    row = at < ranges->id_span ? ranges->row_of_id[at] : NVTXA__NO_ITEM;
    row =
        row != NVTXA__NO_ITEM && row_has_key(ranges, row, thread, range_id) ? row : NVTXA__NO_ITEM;
  } else if (ranges->count > 0) {
    row = find_key(ranges, thread, range_id, &slot);
  }
  return row == NVTXA__NO_ITEM ? NVTXA__NO_PARENT : row;
}

/* 1: done; 0: ids repeat or lie too far apart; -1: out of memory. */
static int index_densely(nvtxa_ranges *ranges) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (size_t row = 0; row < ranges->count; row++) {
    first = ranges->range_id[row] < first ? ranges->range_id[row] : first;
    last = ranges->range_id[row] > last ? ranges->range_id[row] : last;
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
    uint32_t *place = &ranges->row_of_id[(uint64_t)ranges->range_id[row] - (uint64_t)first];
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
  nvtxa__thread thread = ranges->threads[ranges->thread[row]];
  return nvtxa__fail(reterr, NVTXA_ERROR_REPORT_VALUE,
                     &(nvtxa__where){
                         .file = file,
                         .field = "RangeId",
                         .hint = "Range ids join only within one export: was the report put "
                                 "together from several?",
                     },
                     "two ranges have the key pid %lld, tid %lld, range %lld",
                     (long long)thread.process_id, (long long)thread.thread_id,
                     (long long)ranges->range_id[row]);
}

nvtxa_status nvtxa__ranges_index(nvtxa_ranges *ranges, const char *file, nvtxa_error **reterr) {
  int dense = index_densely(ranges);
  if (dense != 0) {
    return dense > 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
  }
  if (nvtxa__table_reserve(&ranges->keys, ranges->count, hash_row, ranges) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t row = 0; row < ranges->count; row++) {
    size_t slot;
    nvtxa__thread thread = ranges->threads[ranges->thread[row]];
    if (find_key(ranges, thread, ranges->range_id[row], &slot) == NVTXA__NO_ITEM) {
      nvtxa__table_put(&ranges->keys, slot, (uint32_t)row);
    } else if (ranges->report == NVTXA_REPORT_PUSHPOP_TRACE) {
      return duplicate_key(ranges, row, file, reterr);
    }
  }
  return NVTXA_OK;
}

/* ---- warnings ---- */

static const char *plural(size_t count) {
  return count == 1 ? "" : "s";
}

int nvtxa__ranges_warn(nvtxa_ranges *ranges, size_t replaced_count) {
  const char *report = nvtxa__report_name(ranges->report, NVTXA__NAMING_NEW);
  size_t open = 0;
  for (size_t row = 0; row < ranges->count; row++) {
    open += ranges->open[row];
  }
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
  if (open > 0 && nvtxa__warn(&ranges->warnings, NVTXA_WARNING_OPEN_RANGES,
                              "%zu range%s of %s had not ended when the trace did; they keep their "
                              "place in the hierarchy but count in no summary.",
                              open, plural(open), report) != 0) {
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
  nvtxa__thread thread = ranges->threads[ranges->thread[index]];
  nvtxa_range range = {
      .size = sizeof range,
      .name = ranges->names.texts[ranges->name[index]],
      .process_id = thread.process_id,
      .thread_id = thread.thread_id,
      .range_id = ranges->range_id[index],
      .has_parent = ranges->parent[index] != NVTXA__NO_PARENT,
      .start_ns = ranges->start_ns[index],
      .duration_ns = ranges->duration_ns[index],
      .open = ranges->open[index],
  };
  range.parent_id = range.has_parent ? ranges->parent_id[index] : 0;
  if (ranges->report == NVTXA_REPORT_PUSHPOP_TRACE) {
    range.child_total_ns = ranges->child_total_ns[index];
    range.exclusive_ns = range.duration_ns - range.child_total_ns;
  } else {
    range.style = ranges->styles.texts[ranges->style[index]];
    range.projected_start_ns = ranges->projected_start_ns[index];
    range.projected_duration_ns = ranges->projected_duration_ns[index];
    range.gpu_operation_count = ranges->gpu_operation_count[index];
  }
  return nvtxa__result_copy(ret_range, &range, sizeof range);
}

int64_t nvtxa_ranges_unattributed_operations(const nvtxa_ranges *ranges) {
  return ranges->unattributed.operations;
}

size_t nvtxa_ranges_warning_count(const nvtxa_ranges *ranges) {
  return ranges->warnings.count;
}

nvtxa_warning nvtxa_ranges_warning(const nvtxa_ranges *ranges, size_t index) {
  return ranges->warnings.items[index];
}
