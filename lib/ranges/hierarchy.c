/*
 * The hierarchy of a table. Parent ids that a report declares are held against its times, since
 * nsys 2022.x finds parents with 32-bit floats and gets some wrong; where one is wrong, or where
 * the caller asks for it, the hierarchy is computed from the times alone.
 */
#include <stdlib.h>
#include <string.h>

#include "nesting-internal.h"

/* ---- what was declared ---- */

/* Follow the parents up from each row. `state` marks rows as on the present way or as done. */
static nvtxa_status refuse_cycles(const nvtxa_ranges *ranges, const uint32_t *parent,
                                  const char *file, nvtxa_error **reterr) {
  enum { UNSEEN, ON_WAY, DONE };
  unsigned char *state = nvtxa__alloc_zero(ranges->count + 1, 1);
  nvtxa_status status = NVTXA_OK;
  if (state == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t first = 0; first < ranges->count && status == NVTXA_OK; first++) {
    size_t row = first;
    while (row < ranges->count && state[row] == UNSEEN) {
      state[row] = ON_WAY;
      row = parent[row]; /* beyond count where there is no parent */
    }
    if (row < ranges->count && state[row] == ON_WAY) {
      nvtxa__thread thread = nvtxa__range_thread(ranges, row);
      status = nvtxa__fail(
          reterr, NVTXA_ERROR_HIERARCHY_CYCLE,
          &(nvtxa__where){
              .file = file,
              .field = "ParentId",
              .hint = "The report is damaged or was edited.",
          },
          "Cycle among the parent ids: range %lld (pid %lld, tid %lld) is among its own ancestors",
          (long long)nvtxa__range_id(ranges, row), (long long)thread.process_id,
          (long long)thread.thread_id);
    }
    for (row = first; row < ranges->count && state[row] == ON_WAY; row = parent[row]) {
      state[row] = DONE;
    }
  }
  free(state);
  return status;
}

/* What a report says of its rows' children, held against the rows that it has. */
typedef struct declared_children {
  size_t lacking; /* rows that declare more children than there are */
  size_t wrong;   /* rows whose children are all there, but not with the total that is declared */
} declared_children;

/* The children of one row, in sum. */
typedef struct family {
  uint64_t total_ns;
  uint32_t count;
} family;

/* The children of all rows that have any, by one set of parents: few rows do. */
typedef struct families {
  uint32_t *number; /* by row: in `items`; NVTXA__NO_ITEM: none */
  family *items;
  size_t count;
  size_t capacity;
} families;

static void families_free(families *f) {
  free(f->number);
  free(f->items);
}

static int families_make(families *f, const nvtxa_ranges *ranges, const uint32_t *parent) {
  *f = (families){.number = nvtxa__alloc(ranges->count + 1, sizeof *f->number)};
  if (f->number == NULL) {
    return -1;
  }
  memset(f->number, 0xFF, ranges->count * sizeof *f->number); /* NVTXA__NO_ITEM */
  for (size_t row = 0; row < ranges->count; row++) {
    if (parent[row] >= ranges->count) {
      continue;
    }
    uint32_t *number = &f->number[parent[row]];
    if (*number == NVTXA__NO_ITEM) {
      if (nvtxa__reserve(&f->items, &f->capacity, f->count + 1, sizeof *f->items) != 0) {
        return -1;
      }
      *number = (uint32_t)f->count;
      f->items[f->count++] = (family){0, 0};
    }
    f->items[*number].count++;
    f->items[*number].total_ns += (uint64_t)nvtxa__range_duration_ns(ranges, row);
  }
  return 0;
}

static family family_of(const families *f, size_t row) {
  return f->number[row] == NVTXA__NO_ITEM ? (family){0, 0} : f->items[f->number[row]];
}

/* Children count by the declared parents and by the times: a report whose parents are wrong has its
 * counts wrong with them. 0 or -1. */
static int check_children(const nvtxa_ranges *ranges, const uint32_t *declared,
                          const uint32_t *found, const nvtxa__packed *child_counts,
                          declared_children *ret) {
  families by_declared = {.number = NULL};
  families by_times = {.number = NULL};
  int result = -1;
  *ret = (declared_children){0};
  if (child_counts->count == 0) {
    return 0;
  }
  if (families_make(&by_declared, ranges, declared) != 0 ||
      (declared != found && families_make(&by_times, ranges, found) != 0)) {
    goto out;
  }
  for (size_t row = 0; row < ranges->count; row++) {
    int64_t count = nvtxa__packed_get(child_counts, row);
    family own = family_of(&by_declared, row);
    family timed = declared == found ? own : family_of(&by_times, row);
    ret->lacking += count > own.count && count > timed.count;
    ret->wrong += count >= 0 && count <= own.count &&
                  own.total_ns != (uint64_t)nvtxa__range_child_total_ns(ranges, row);
  }
  result = 0;
out:
  families_free(&by_declared);
  families_free(&by_times);
  return result;
}

/* Whether a declared parent is as good as the one that was found: it encloses the row, and nothing
 * shorter does. A parent that is not in the report cannot be held against anything. */
static bool agrees(const nvtxa_ranges *ranges, size_t row, uint32_t declared, uint32_t found) {
  if (declared == found || declared == NVTXA__UNKNOWN_PARENT) {
    return true;
  }
  return declared != NVTXA__NO_PARENT && found != NVTXA__NO_PARENT &&
         nvtxa__range_duration_ns(ranges, declared) == nvtxa__range_duration_ns(ranges, found) &&
         nvtxa__range_start_ns(ranges, declared) <= nvtxa__range_start_ns(ranges, row) &&
         nvtxa__range_end_ns(ranges, declared) >= nvtxa__range_end_ns(ranges, row);
}

/* ---- what is used ---- */

static nvtxa_status sum_overflows(const nvtxa_ranges *ranges, size_t row, const char *file,
                                  nvtxa_error **reterr) {
  return nvtxa__fail(reterr, NVTXA_ERROR_OVERFLOW, &(nvtxa__where){.file = file},
                     "the children of range %lld take more than 64 bits of nanoseconds in sum",
                     (long long)nvtxa__range_id(ranges, row));
}

nvtxa_status nvtxa__hierarchy_sum(nvtxa_ranges *ranges, const char *file, nvtxa_error **reterr) {
  if (ranges->report != NVTXA_REPORT_PUSHPOP_TRACE) {
    return NVTXA_OK;
  }
  nvtxa_status status = NVTXA_OK;
  int64_t *totals = nvtxa__alloc_zero(ranges->count + 1, sizeof *totals);
  nvtxa__packed_free(&ranges->child_total_ns);
  if (totals == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t row = 0; row < ranges->count && status == NVTXA_OK; row++) {
    uint32_t parent = nvtxa__range_parent(ranges, row);
    if (parent < ranges->count &&
        __builtin_add_overflow(totals[parent], nvtxa__range_duration_ns(ranges, row),
                               &totals[parent])) {
      status = sum_overflows(ranges, parent, file, reterr);
    }
  }
  int result = 0;
  for (size_t row = 0; row < ranges->count && status == NVTXA_OK && result == 0; row++) {
    result = nvtxa__packed_add(&ranges->child_total_ns, totals[row]);
  }
  free(totals);
  if (status == NVTXA_OK && (result != 0 || nvtxa__packed_finish(&ranges->child_total_ns) != 0)) {
    status = nvtxa__out_of_memory(reterr);
  }
  return status;
}

static int warn(nvtxa_ranges *ranges, size_t wrong, size_t lacking) {
  bool host = ranges->report == NVTXA_REPORT_PUSHPOP_TRACE;
  const char *report = nvtxa__report_name(ranges->report, NVTXA__NAMING_NEW);
  if (wrong > 0 &&
      nvtxa__warn(
          &ranges->warnings, NVTXA_WARNING_PARENTS_RECOMPUTED,
          "The parent ids or child times of %zu of %zu ranges of %s disagree with the times, "
          "for which nsys 2022.x is known; the report's hierarchy%s was computed from the "
          "times.",
          wrong, ranges->count, report, host ? " (with child and exclusive times)" : "") != 0) {
    return -1;
  }
  if (lacking > 0 &&
      nvtxa__warn(
          &ranges->warnings, NVTXA_WARNING_ROWS_MISSING,
          "Rows are missing from %s: %zu range%s more children than the report holds; scopes "
          "and totals may be incomplete.",
          report, lacking, lacking == 1 ? " declares" : "s declare") != 0) {
    return -1;
  }
  return 0;
}

int nvtxa__hierarchy_find(const nvtxa_ranges *ranges, uint32_t *parent) {
  nvtxa__intervals intervals = nvtxa__intervals_of(ranges);
  bool *nested = nvtxa__alloc_zero(ranges->thread_count + 1, sizeof *nested);
  uint32_t *order = NULL;
  int result = nested == NULL ? -1 : nvtxa__order_intervals(&intervals, &order);
  if (result == 0) {
    result = nvtxa__find_parents(&intervals, order, parent, nested);
  }
  free(nested);
  free(order);
  return result;
}

nvtxa_status nvtxa__hierarchy_check(nvtxa_ranges *ranges, const uint32_t *declared,
                                    const uint32_t *found, const nvtxa__packed *child_counts,
                                    const char *file, bool *ret_wrong, nvtxa_error **reterr) {
  size_t wrong = 0;
  declared_children children;
  if (declared != found) {
    nvtxa_status status = refuse_cycles(ranges, declared, file, reterr);
    if (status != NVTXA_OK) {
      return status;
    }
    for (size_t row = 0; row < ranges->count; row++) {
      wrong += !agrees(ranges, row, declared[row], found[row]);
    }
  }
  if (check_children(ranges, declared, found, child_counts, &children) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  /* Wrong parents bring wrong totals with them: those ranges are counted once. */
  wrong = wrong > 0 ? wrong : children.wrong;
  *ret_wrong = wrong > 0;
  return warn(ranges, wrong, children.lacking) == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}
