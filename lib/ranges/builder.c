/*
 * A table made row by row, for the rows of a CSV report and for a caller's own.
 */
#include <stdlib.h>
#include <string.h>

#include "ranges-internal.h"

struct nvtxa_ranges_builder {
  nvtxa_ranges *ranges; /* NULL once it was finished */
  bool failed;          /* a row is there in part only: out of memory */
  nvtxa_hierarchy hierarchy;
  const char *file;              /* where the rows come from, or NULL */
  nvtxa__packed declared_parent; /* by row; 0 for a root */
  nvtxa__packed has_parent;
  nvtxa__packed child_counts; /* declared, by row, for host ranges; -1 where not known */
  size_t open_count;
  nvtxa__table threads; /* indexes of ranges->threads */
  size_t thread_capacity;
  uint32_t last_thread;  /* rows of a thread come in runs */
  size_t replaced_count; /* rows whose name was not UTF-8 */
  nvtxa__buffer replaced;
};

/* ---- building ---- */

nvtxa_status nvtxa_ranges_builder_new(nvtxa_report report, const nvtxa_ranges_options *options,
                                      nvtxa_ranges_builder **ret_builder, nvtxa_error **reterr) {
  nvtxa_ranges_options own = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (ret_builder == NULL || (unsigned)report >= NVTXA__RANGE_REPORTS ||
      (unsigned)own.hierarchy > NVTXA_HIERARCHY_FROM_TIMES ||
      (unsigned)own.quoting > NVTXA_QUOTING_NSYS) {
    return nvtxa__invalid(reterr, "report, options or ret_builder");
  }
  nvtxa_ranges_builder *builder = calloc(1, sizeof *builder);
  nvtxa_ranges *ranges = nvtxa__ranges_new(report);
  if (builder == NULL || ranges == NULL) {
    free(builder);
    nvtxa__ranges_free(ranges);
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__packed *const declared[] = {&builder->declared_parent, &builder->has_parent,
                                     &builder->child_counts};
  if (nvtxa__packed_together(declared, NVTXA__COUNT(declared)) != 0) {
    free(builder);
    nvtxa__ranges_free(ranges);
    return nvtxa__out_of_memory(reterr);
  }
  builder->ranges = ranges;
  builder->hierarchy = own.hierarchy;
  *ret_builder = builder;
  return NVTXA_OK;
}

void nvtxa_ranges_builder_free(nvtxa_ranges_builder *builder) {
  if (builder == NULL) {
    return;
  }
  nvtxa__ranges_free(builder->ranges);
  nvtxa__packed_free(&builder->declared_parent);
  nvtxa__packed_free(&builder->has_parent);
  nvtxa__packed_free(&builder->child_counts);
  nvtxa__table_free(&builder->threads);
  nvtxa__buffer_free(&builder->replaced);
  free(builder);
}

void nvtxa__builder_set_source(nvtxa_ranges_builder *builder, const char *file) {
  builder->file = file;
}

bool nvtxa__builder_add_unattributed(nvtxa_ranges_builder *builder,
                                     const nvtxa__unattributed *more) {
  nvtxa__unattributed *sum = &builder->ranges->unattributed;
  if (sum->operations == 0) {
    *sum = *more;
    return true;
  }
  sum->start_ns = more->start_ns < sum->start_ns ? more->start_ns : sum->start_ns;
  sum->end_ns = more->end_ns > sum->end_ns ? more->end_ns : sum->end_ns;
  return !__builtin_add_overflow(sum->operations, more->operations, &sum->operations);
}

static uint64_t hash_thread(const void *owner, uint32_t index) {
  return nvtxa__hash(&((const nvtxa_ranges *)owner)->threads[index], sizeof(nvtxa__thread));
}

static bool intern_thread(nvtxa_ranges_builder *builder, nvtxa__thread thread, uint32_t *ret) {
  nvtxa_ranges *ranges = builder->ranges;
  if (ranges->thread_count > 0 &&
      nvtxa__same_thread(ranges->threads[builder->last_thread], thread)) {
    *ret = builder->last_thread;
    return true;
  }
  if (nvtxa__table_reserve(&builder->threads, ranges->thread_count + 1, hash_thread, ranges) != 0) {
    return false;
  }
  size_t slot;
  uint32_t index =
      nvtxa__table_first(&builder->threads, nvtxa__hash(&thread, sizeof thread), &slot);
  while (index != NVTXA__NO_ITEM && !nvtxa__same_thread(ranges->threads[index], thread)) {
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

int nvtxa__builder_name(nvtxa_ranges_builder *builder, nvtxa_text name, uint32_t *ret,
                        bool *ret_replaced) {
  *ret_replaced = nvtxa__utf8_valid(name.data, name.length) != name.length;
  if (*ret_replaced) {
    builder->replaced.length = 0;
    if (name.length > SIZE_MAX / 3 ||
        nvtxa__reserve(&builder->replaced.data, &builder->replaced.capacity, name.length * 3, 1) !=
            0) {
      return -1;
    }
    name.length = nvtxa__utf8_replace(builder->replaced.data, name.data, name.length);
    name.data = builder->replaced.data;
  }
  return nvtxa__intern_add(&builder->ranges->names, name.data, name.length, ret);
}

int nvtxa__builder_style(nvtxa_ranges_builder *builder, nvtxa_text style, uint32_t *ret) {
  return nvtxa__intern_add(&builder->ranges->styles, style.data, style.length, ret);
}

nvtxa_status nvtxa__builder_add_row(nvtxa_ranges_builder *builder, const nvtxa__builder_row *row,
                                    nvtxa_error **reterr) {
  nvtxa_ranges *ranges = builder->ranges;
  uint32_t thread;
  if (builder->failed) {
    return nvtxa__out_of_memory(reterr);
  }
  if (ranges->count == NVTXA__MAX_ROWS) {
    return nvtxa__fail(reterr, NVTXA_ERROR_LIMIT, &(nvtxa__where){.file = builder->file},
                       "more than %zu ranges, the limit for one report", NVTXA__MAX_ROWS);
  }
  if (!intern_thread(builder, row->thread, &thread)) {
    return nvtxa__out_of_memory(reterr);
  }
  int result = nvtxa__packed_add(&ranges->name, row->name);
  result |= nvtxa__packed_add(&ranges->thread, thread);
  result |= nvtxa__packed_add(&ranges->range_id, row->range_id);
  result |= nvtxa__packed_add(&builder->declared_parent, row->parent_id);
  result |= nvtxa__packed_add(&builder->has_parent, row->has_parent);
  result |= nvtxa__packed_add(&ranges->start_ns, row->start_ns);
  result |= nvtxa__packed_add(&ranges->duration_ns, row->duration_ns);
  result |= nvtxa__packed_add(&ranges->open, row->open);
  if (ranges->report == NVTXA_REPORT_PUSHPOP_TRACE) {
    result |= nvtxa__packed_add(&ranges->child_total_ns, row->child_total_ns);
    result |= nvtxa__packed_add(&builder->child_counts, row->child_count);
  } else {
    result |= nvtxa__packed_add(&ranges->style, row->style);
    result |= nvtxa__packed_add(&ranges->projected_start_ns, row->projected_start_ns);
    result |= nvtxa__packed_add(&ranges->projected_duration_ns, row->projected_duration_ns);
    result |= nvtxa__packed_add(&ranges->gpu_operation_count, row->gpu_operation_count);
  }
  builder->open_count += row->open;
  builder->replaced_count += row->replaced;
  ranges->count++;
  builder->failed = result != 0;
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
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
  nvtxa__builder_row row = {
      .has_parent = own.has_parent,
      .open = own.open,
      .thread = {own.process_id, own.thread_id},
      .range_id = own.range_id,
      .parent_id = own.parent_id,
      .start_ns = own.start_ns,
      .duration_ns = own.duration_ns,
      .child_total_ns = own.child_total_ns,
      .child_count = -1,
      .projected_start_ns = own.projected_start_ns,
      .projected_duration_ns = own.projected_duration_ns,
      .gpu_operation_count = own.gpu_operation_count,
  };
  if (own.style.data == NULL) {
    own.style = nvtxa__text("");
  }
  if (nvtxa__builder_name(builder, own.name, &row.name, &row.replaced) != 0 ||
      (!host && nvtxa__builder_style(builder, own.style, &row.style) != 0)) {
    return nvtxa__out_of_memory(reterr);
  }
  return nvtxa__builder_add_row(builder, &row, reterr);
}

/* ---- finishing ---- */

/* The rows of the declared parents. */
static void resolve_parents(const nvtxa_ranges_builder *builder, uint32_t *parents) {
  const nvtxa_ranges *ranges = builder->ranges;
  size_t near = 0;
  uint32_t last = NVTXA__NO_PARENT; /* rows of one parent come in runs */
  for (size_t row = 0; row < ranges->count; row++) {
    if (nvtxa__packed_get(&builder->has_parent, row) == 0) {
      parents[row] = NVTXA__NO_PARENT;
      continue;
    }
    int64_t id = nvtxa__packed_get(&builder->declared_parent, row);
    nvtxa__thread thread = nvtxa__range_thread(ranges, row);
    if (last >= ranges->count || nvtxa__range_id(ranges, last) != id ||
        !nvtxa__same_thread(nvtxa__range_thread(ranges, last), thread)) {
      last = nvtxa__ranges_find(ranges, thread, id, &near);
    }
    parents[row] = last == NVTXA__NO_PARENT ? NVTXA__UNKNOWN_PARENT : last;
  }
}

/* Whether the declared parents are those that were found, which needs no looking up. */
static bool are_found(const nvtxa_ranges_builder *builder, const uint32_t *found) {
  const nvtxa_ranges *ranges = builder->ranges;
  for (size_t row = 0; row < ranges->count; row++) {
    bool has_parent = nvtxa__packed_get(&builder->has_parent, row) != 0;
    if (has_parent != (found[row] != NVTXA__NO_PARENT) ||
        (has_parent && nvtxa__range_id(ranges, found[row]) !=
                           nvtxa__packed_get(&builder->declared_parent, row))) {
      return false;
    }
  }
  return true;
}

/* Hold what was declared against what was found; `parent` is what was found, and gets what is to be
 * used. */
static nvtxa_status check_declared(nvtxa_ranges_builder *builder, uint32_t *parent,
                                   bool *ret_adopted, nvtxa_error **reterr) {
  nvtxa_ranges *ranges = builder->ranges;
  uint32_t *declared = parent;
  if (!are_found(builder, parent)) {
    declared = nvtxa__alloc(ranges->count + 1, sizeof *declared);
    if (declared == NULL) {
      return nvtxa__out_of_memory(reterr);
    }
    resolve_parents(builder, declared);
  }
  nvtxa_status status = nvtxa__hierarchy_check(ranges, declared, parent, &builder->child_counts,
                                               builder->file, ret_adopted, reterr);
  if (declared != parent) {
    if (status == NVTXA_OK && !*ret_adopted) {
      memcpy(parent, declared, ranges->count * sizeof *parent);
    }
    free(declared);
  }
  return status;
}

static nvtxa_status set_hierarchy(nvtxa_ranges_builder *builder, nvtxa_error **reterr) {
  nvtxa_ranges *ranges = builder->ranges;
  bool adopted = true;
  nvtxa_status status = NVTXA_OK;
  uint32_t *parent = nvtxa__alloc(ranges->count + 1, sizeof *parent);
  if (parent == NULL || nvtxa__hierarchy_find(ranges, parent) != 0) {
    status = nvtxa__out_of_memory(reterr);
  } else if (builder->hierarchy == NVTXA_HIERARCHY_DECLARED) {
    status = check_declared(builder, parent, &adopted, reterr);
  }
  if (status == NVTXA_OK &&
      nvtxa__ranges_set_parents(ranges, parent, &builder->declared_parent) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK && adopted) {
    status = nvtxa__hierarchy_sum(ranges, builder->file, reterr);
  }
  free(parent);
  return status;
}

nvtxa_status nvtxa_ranges_builder_finish(nvtxa_ranges_builder *builder, nvtxa_ranges **ret_ranges,
                                         nvtxa_error **reterr) {
  if (builder == NULL || builder->ranges == NULL || ret_ranges == NULL) {
    return nvtxa__invalid(reterr, "builder (finished already?) or ret_ranges");
  }
  nvtxa_ranges *ranges = builder->ranges;
  nvtxa_status status = NVTXA_OK;
  if (builder->failed || nvtxa__ranges_finish(ranges) != 0 ||
      nvtxa__packed_finish(&builder->declared_parent) != 0 ||
      nvtxa__packed_finish(&builder->has_parent) != 0 ||
      nvtxa__packed_finish(&builder->child_counts) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__ranges_index(ranges, builder->file, reterr);
  }
  if (status == NVTXA_OK) {
    status = set_hierarchy(builder, reterr);
  }
  if (status == NVTXA_OK &&
      nvtxa__ranges_warn(ranges, builder->replaced_count, builder->open_count) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  builder->ranges = NULL;
  if (status != NVTXA_OK) {
    nvtxa__ranges_free(ranges);
    return status;
  }
  *ret_ranges = ranges;
  return NVTXA_OK;
}
