/*
 * The table of ranges: built row by row, finished once, then only read. Names, styles and threads
 * are kept once and known by number.
 */
#include <stdlib.h>
#include <string.h>

#include "export/export-internal.h"
#include "ranges-internal.h"

struct nvtxa_ranges_builder {
  nvtxa_ranges *ranges; /* NULL once it was finished */
  nvtxa_hierarchy hierarchy;
  const char *file;      /* where the rows come from, or NULL */
  size_t capacity;       /* of the columns, in rows */
  int32_t *child_counts; /* declared, by row; -1 where not known */
  nvtxa__table threads;  /* indexes of ranges->threads */
  size_t thread_capacity;
  uint32_t last_thread;  /* rows of a thread come in runs */
  size_t replaced_count; /* rows whose name was not UTF-8 */
  nvtxa__buffer replaced;
};

static void ranges_free(nvtxa_ranges *ranges) {
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
    ranges_free(ranges);
  }
}

/* ---- building ---- */

nvtxa_status nvtxa_ranges_builder_new(nvtxa_report report, const nvtxa_ranges_options *options,
                                      nvtxa_ranges_builder **ret_builder, nvtxa_error **reterr) {
  nvtxa_ranges_options own = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (ret_builder == NULL || (unsigned)report >= NVTXA_REPORT_COUNT ||
      (unsigned)own.hierarchy > NVTXA_HIERARCHY_FROM_TIMES ||
      (unsigned)own.quoting > NVTXA_QUOTING_NSYS) {
    return nvtxa__invalid(reterr, "report, options or ret_builder");
  }
  nvtxa_ranges_builder *builder = calloc(1, sizeof *builder);
  nvtxa_ranges *ranges = calloc(1, sizeof *ranges);
  if (builder == NULL || ranges == NULL) {
    free(builder);
    free(ranges);
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__ref_init(&ranges->ref);
  ranges->report = report;
  builder->ranges = ranges;
  builder->hierarchy = own.hierarchy;
  *ret_builder = builder;
  return NVTXA_OK;
}

void nvtxa_ranges_builder_free(nvtxa_ranges_builder *builder) {
  if (builder == NULL) {
    return;
  }
  if (builder->ranges != NULL) {
    ranges_free(builder->ranges);
  }
  free(builder->child_counts);
  nvtxa__table_free(&builder->threads);
  nvtxa__buffer_free(&builder->replaced);
  free(builder);
}

void nvtxa__builder_set_source(nvtxa_ranges_builder *builder, const char *file) {
  builder->file = file;
}

bool nvtxa__builder_add_unattributed(nvtxa_ranges_builder *builder, int64_t operations) {
  int64_t *sum = &builder->ranges->unattributed_operations;
  return !__builtin_add_overflow(*sum, operations, sum);
}

static bool resize(void *pointer_to_column, size_t rows, size_t item_size) {
  void *column;
  memcpy(&column, pointer_to_column, sizeof column);
  column = realloc(column, rows * item_size);
  if (column == NULL) {
    return false;
  }
  memcpy(pointer_to_column, &column, sizeof column);
  return true;
}

/* Give every column of this report room for `rows` rows. */
static bool resize_columns(nvtxa_ranges_builder *builder, size_t rows) {
  nvtxa_ranges *r = builder->ranges;
#define RESIZE(column) resize(&(column), rows, sizeof *(column))
  bool done = RESIZE(r->name) && RESIZE(r->thread) && RESIZE(r->range_id) && RESIZE(r->parent_id) &&
              RESIZE(r->parent) && RESIZE(r->start_ns) && RESIZE(r->duration_ns) && RESIZE(r->open);
  if (r->report == NVTXA_REPORT_PUSHPOP_TRACE) {
    done = done && RESIZE(r->child_total_ns) && RESIZE(builder->child_counts);
  } else {
    done = done && RESIZE(r->style) && RESIZE(r->projected_start_ns) &&
           RESIZE(r->projected_duration_ns) && RESIZE(r->gpu_operation_count);
  }
#undef RESIZE
  builder->capacity = done ? rows : builder->capacity;
  return done;
}

static uint64_t hash_thread(const void *owner, uint32_t index) {
  return nvtxa__hash(&((const nvtxa_ranges *)owner)->threads[index], sizeof(nvtxa__thread));
}

static bool same_thread(nvtxa__thread a, nvtxa__thread b) {
  return a.process_id == b.process_id && a.thread_id == b.thread_id;
}

static bool intern_thread(nvtxa_ranges_builder *builder, nvtxa__thread thread, uint32_t *ret) {
  nvtxa_ranges *ranges = builder->ranges;
  if (ranges->thread_count > 0 && same_thread(ranges->threads[builder->last_thread], thread)) {
    *ret = builder->last_thread;
    return true;
  }
  if (nvtxa__table_reserve(&builder->threads, ranges->thread_count + 1, hash_thread, ranges) != 0) {
    return false;
  }
  size_t slot;
  uint32_t index =
      nvtxa__table_first(&builder->threads, nvtxa__hash(&thread, sizeof thread), &slot);
  while (index != NVTXA__NO_ITEM && !same_thread(ranges->threads[index], thread)) {
    index = nvtxa__table_next(&builder->threads, &slot);
  }
  if (index == NVTXA__NO_ITEM) {
    if (nvtxa__reserve(&ranges->threads, &builder->thread_capacity, ranges->thread_count + 1,
                       sizeof *ranges->threads) != 0) {
      return false;
    }
    index = (uint32_t)ranges->thread_count++;
    ranges->threads[index] = thread;
    nvtxa__table_put(&builder->threads, slot, index);
  }
  builder->last_thread = index;
  *ret = index;
  return true;
}

static bool intern_name(nvtxa_ranges_builder *builder, nvtxa_text name, uint32_t *ret) {
  if (nvtxa__utf8_valid(name.data, name.length) != name.length) {
    builder->replaced.length = 0;
    if (name.length > SIZE_MAX / 3 ||
        nvtxa__reserve(&builder->replaced.data, &builder->replaced.capacity, name.length * 3, 1) !=
            0) {
      return false;
    }
    name.length = nvtxa__utf8_replace(builder->replaced.data, name.data, name.length);
    name.data = builder->replaced.data;
    builder->replaced_count++;
  }
  return nvtxa__intern_add(&builder->ranges->names, name.data, name.length, ret) == 0;
}

nvtxa_status nvtxa__builder_add_row(nvtxa_ranges_builder *builder, const nvtxa_range *range,
                                    int64_t declared_children, nvtxa_error **reterr) {
  nvtxa_ranges *ranges = builder->ranges;
  size_t row = ranges->count;
  if (row == NVTXA__MAX_ROWS) {
    return nvtxa__fail(reterr, NVTXA_ERROR_LIMIT, &(nvtxa__where){.file = builder->file},
                       "more than %zu ranges, the limit for one report", NVTXA__MAX_ROWS);
  }
  nvtxa__thread thread = {range->process_id, range->thread_id};
  if ((row == builder->capacity && !resize_columns(builder, row + row / 2 + 64)) ||
      !intern_name(builder, range->name, &ranges->name[row]) ||
      !intern_thread(builder, thread, &ranges->thread[row])) {
    return nvtxa__out_of_memory(reterr);
  }
  ranges->range_id[row] = range->range_id;
  ranges->parent_id[row] = range->parent_id;
  ranges->parent[row] = range->has_parent ? NVTXA__UNKNOWN_PARENT : NVTXA__NO_PARENT;
  ranges->start_ns[row] = range->start_ns;
  ranges->duration_ns[row] = range->duration_ns;
  ranges->open[row] = range->open;
  if (ranges->report == NVTXA_REPORT_PUSHPOP_TRACE) {
    ranges->child_total_ns[row] = range->child_total_ns;
    builder->child_counts[row] =
        declared_children > INT32_MAX ? INT32_MAX : (int32_t)declared_children;
  } else {
    if (nvtxa__intern_add(&ranges->styles, range->style.data, range->style.length,
                          &ranges->style[row]) != 0) {
      return nvtxa__out_of_memory(reterr);
    }
    ranges->projected_start_ns[row] = range->projected_start_ns;
    ranges->projected_duration_ns[row] = range->projected_duration_ns;
    ranges->gpu_operation_count[row] = range->gpu_operation_count;
  }
  ranges->count++;
  return NVTXA_OK;
}

nvtxa_status nvtxa_ranges_builder_add(nvtxa_ranges_builder *builder, const nvtxa_range *range,
                                      nvtxa_error **reterr) {
  nvtxa_range own = NVTXA_RANGE_INIT;
  int64_t end_ns;
  if (builder == NULL || builder->ranges == NULL || range == NULL) {
    return nvtxa__invalid(reterr, "builder (finished already?) or range");
  }
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, range, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  bool host = builder->ranges->report == NVTXA_REPORT_PUSHPOP_TRACE;
  if (builder->hierarchy == NVTXA_HIERARCHY_FROM_TIMES) {
    own.has_parent = false;
    own.child_total_ns = 0;
    own.exclusive_ns = own.duration_ns;
  }
  if (own.name.data == NULL || own.duration_ns < 0 || own.projected_duration_ns < 0 ||
      own.gpu_operation_count < 0 ||
      __builtin_add_overflow(own.start_ns, own.duration_ns, &end_ns) ||
      __builtin_add_overflow(own.projected_start_ns, own.projected_duration_ns, &end_ns) ||
      (host && own.exclusive_ns != own.duration_ns - own.child_total_ns)) {
    return nvtxa__invalid(reterr, "a range without a name, or whose times contradict each other");
  }
  if (own.style.data == NULL) {
    own.style = nvtxa__text("");
  }
  return nvtxa__builder_add_row(builder, &own, -1, reterr);
}

/* ---- range keys ---- */

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
         same_thread(ranges->threads[ranges->thread[row]], thread);
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
  size_t slot;
  uint32_t row = ranges->count == 0 ? NVTXA__NO_ITEM : find_key(ranges, thread, range_id, &slot);
  return row == NVTXA__NO_ITEM ? NVTXA__NO_PARENT : row;
}

static nvtxa_status duplicate_key(const nvtxa_ranges_builder *builder, size_t row,
                                  nvtxa_error **reterr) {
  const nvtxa_ranges *ranges = builder->ranges;
  nvtxa__thread thread = ranges->threads[ranges->thread[row]];
  return nvtxa__fail(reterr, NVTXA_ERROR_REPORT_VALUE,
                     &(nvtxa__where){
                         .file = builder->file,
                         .field = "RangeId",
                         .hint = "Range ids join only within one export: was the report put "
                                 "together from several?",
                     },
                     "two ranges have the key pid %lld, tid %lld, range %lld",
                     (long long)thread.process_id, (long long)thread.thread_id,
                     (long long)ranges->range_id[row]);
}

/* Index the rows by their keys. Host ranges join by key, so theirs must differ; of GPU rows with
 * one key the first is found. */
static nvtxa_status index_keys(nvtxa_ranges_builder *builder, nvtxa_error **reterr) {
  nvtxa_ranges *ranges = builder->ranges;
  if (nvtxa__table_reserve(&ranges->keys, ranges->count, hash_row, ranges) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t row = 0; row < ranges->count; row++) {
    size_t slot;
    nvtxa__thread thread = ranges->threads[ranges->thread[row]];
    if (find_key(ranges, thread, ranges->range_id[row], &slot) == NVTXA__NO_ITEM) {
      nvtxa__table_put(&ranges->keys, slot, (uint32_t)row);
    } else if (ranges->report == NVTXA_REPORT_PUSHPOP_TRACE) {
      return duplicate_key(builder, row, reterr);
    }
  }
  return NVTXA_OK;
}

static void resolve_parents(nvtxa_ranges *ranges) {
  for (size_t row = 0; row < ranges->count; row++) {
    if (ranges->parent[row] != NVTXA__NO_PARENT) {
      uint32_t parent =
          nvtxa__ranges_find(ranges, ranges->threads[ranges->thread[row]], ranges->parent_id[row]);
      ranges->parent[row] = parent == NVTXA__NO_PARENT ? NVTXA__UNKNOWN_PARENT : parent;
    }
  }
}

/* ---- finishing ---- */

static const char *plural(size_t count) {
  return count == 1 ? "" : "s";
}

/* The warnings about the table as a whole, behind those of the hierarchy. */
static int warn_about_rows(nvtxa_ranges_builder *builder) {
  nvtxa_ranges *ranges = builder->ranges;
  const char *report = nvtxa__report_name(ranges->report, NVTXA__NAMING_NEW);
  size_t open = 0;
  for (size_t row = 0; row < ranges->count; row++) {
    open += ranges->open[row];
  }
  if (builder->replaced_count > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_BYTES_REPLACED,
                  "Bytes that are not UTF-8 were replaced by U+FFFD in the names of %zu range%s of "
                  "%s.",
                  builder->replaced_count, plural(builder->replaced_count), report) != 0) {
    return -1;
  }
  if (ranges->unattributed_operations > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_UNATTRIBUTED_GPU_WORK,
                  "%lld GPU operation%s launched outside every NVTX range; no scope and no "
                  "iteration counts them.",
                  (long long)ranges->unattributed_operations,
                  ranges->unattributed_operations == 1 ? " was" : "s were") != 0) {
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

nvtxa_status nvtxa_ranges_builder_finish(nvtxa_ranges_builder *builder, nvtxa_ranges **ret_ranges,
                                         nvtxa_error **reterr) {
  if (builder == NULL || builder->ranges == NULL || ret_ranges == NULL) {
    return nvtxa__invalid(reterr, "builder (finished already?) or ret_ranges");
  }
  nvtxa_ranges *ranges = builder->ranges;
  nvtxa_status status = index_keys(builder, reterr);
  if (status == NVTXA_OK) {
    resolve_parents(ranges);
    status = nvtxa__hierarchy_set(ranges, builder->hierarchy, builder->child_counts, builder->file,
                                  reterr);
  }
  if (status == NVTXA_OK && warn_about_rows(builder) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK && ranges->count > 0) {
    (void)resize_columns(builder, ranges->count); /* gives back what is spare, if it can */
  }
  builder->ranges = NULL;
  if (status != NVTXA_OK) {
    ranges_free(ranges);
    return status;
  }
  *ret_ranges = ranges;
  return NVTXA_OK;
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
  return ranges->unattributed_operations;
}

size_t nvtxa_ranges_warning_count(const nvtxa_ranges *ranges) {
  return ranges->warnings.count;
}

nvtxa_warning nvtxa_ranges_warning(const nvtxa_ranges *ranges, size_t index) {
  return ranges->warnings.items[index];
}
