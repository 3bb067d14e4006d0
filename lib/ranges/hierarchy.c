/*
 * Which range encloses which. Parent ids that a report declares are held against its times, since
 * nsys 2022.x finds parents with 32-bit floats and gets some wrong; where one is wrong, or where
 * the caller asks for it, the hierarchy is computed from the times alone.
 *
 * The parent by times is the shortest range of the thread that encloses the range (bounds
 * included); of ranges with the same start and end, the one with the lower id is the outer. On one
 * thread ranges normally nest, and a stack finds the parent. Ranges of different NVTX domains, and
 * start/end ranges, may overlap without nesting; threads that have such ranges take a slower way
 * that is right for any set of intervals.
 */
#include <stdlib.h>
#include <string.h>

#include "export/export-internal.h"
#include "ranges-internal.h"

/* ---- the order in which a thread's ranges are visited: outer before inner ---- */

static int compare_rows(const void *a, const void *b, void *user) {
  const nvtxa_ranges *ranges = user;
  uint32_t x = *(const uint32_t *)a;
  uint32_t y = *(const uint32_t *)b;
  if (ranges->thread[x] != ranges->thread[y]) {
    return ranges->thread[x] < ranges->thread[y] ? -1 : 1;
  }
  if (ranges->start_ns[x] != ranges->start_ns[y]) {
    return ranges->start_ns[x] < ranges->start_ns[y] ? -1 : 1;
  }
  if (ranges->duration_ns[x] != ranges->duration_ns[y]) {
    return ranges->duration_ns[x] > ranges->duration_ns[y] ? -1 : 1;
  }
  return (ranges->range_id[x] > ranges->range_id[y]) - (ranges->range_id[x] < ranges->range_id[y]);
}

/* ---- ranges that nest: a stack ---- */

typedef struct sweep {
  const nvtxa_ranges *ranges;
  const uint32_t *order; /* the rows of one thread, outer before inner */
  size_t count;
  uint32_t *parent; /* by row: what is found */
  uint32_t *work;   /* room for `count` rows */
} sweep;

static bool shorter(const nvtxa_ranges *ranges, uint32_t a, uint32_t b) {
  return b == NVTXA__NO_PARENT || ranges->duration_ns[a] < ranges->duration_ns[b];
}

/* False where two ranges overlap without nesting; what was found then is not to be used. */
static bool sweep_nested(const sweep *s) {
  const nvtxa_ranges *ranges = s->ranges;
  uint32_t *stack = s->work;
  size_t depth = 0;
  /* A range of no length encloses nothing but may lie on the border of two: the shortest of those
   * that ended just where the present range starts. */
  uint32_t touching = NVTXA__NO_PARENT;
  for (size_t i = 0; i < s->count; i++) {
    uint32_t row = s->order[i];
    int64_t start_ns = ranges->start_ns[row];
    int64_t end_ns = nvtxa__range_end_ns(ranges, row);
    if (touching != NVTXA__NO_PARENT && nvtxa__range_end_ns(ranges, touching) != start_ns) {
      touching = NVTXA__NO_PARENT;
    }
    while (depth > 0 && nvtxa__range_end_ns(ranges, stack[depth - 1]) < end_ns) {
      uint32_t ended = stack[--depth];
      int64_t ended_ns = nvtxa__range_end_ns(ranges, ended);
      if (ended_ns > start_ns) {
        return false;
      }
      if (ended_ns == start_ns && shorter(ranges, ended, touching)) {
        touching = ended;
      }
    }
    uint32_t parent = depth > 0 ? stack[depth - 1] : NVTXA__NO_PARENT;
    if (end_ns == start_ns && touching != NVTXA__NO_PARENT && shorter(ranges, touching, parent)) {
      parent = touching;
    }
    s->parent[row] = parent;
    stack[depth++] = row;
  }
  return true;
}

/* ---- ranges that overlap: the shortest of those that began before and end after ---- */

static int compare_ends(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* How many of the sorted `ends` are below `end_ns`. */
static size_t rank_of(const int64_t *ends, size_t count, int64_t end_ns) {
  size_t low = 0;
  size_t high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ends[middle] < end_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Whether the range at position `a` of the order is a closer parent than the one at `b`: it is
 * shorter or, of ranges of one length, comes later. */
static bool closer(const sweep *s, uint32_t a, uint32_t b) {
  if (b == NVTXA__NO_PARENT || a == NVTXA__NO_PARENT) {
    return b == NVTXA__NO_PARENT;
  }
  int64_t a_ns = s->ranges->duration_ns[s->order[a]];
  int64_t b_ns = s->ranges->duration_ns[s->order[b]];
  return a_ns != b_ns ? a_ns < b_ns : a > b;
}

/* A Fenwick tree over the ranks of the ends, latest end first: each node holds the position of the
 * closest parent of its part. Ranges enter in the order of their starts, so that all that are in
 * the tree began before the present one. */
static int sweep_overlapping(const sweep *s) {
  int64_t *ends = malloc(s->count * sizeof *ends);
  uint32_t *tree = s->work; /* node i, from 1, at i - 1 */
  if (ends == NULL) {
    return -1;
  }
  for (size_t i = 0; i < s->count; i++) {
    ends[i] = nvtxa__range_end_ns(s->ranges, s->order[i]);
    tree[i] = NVTXA__NO_PARENT;
  }
  qsort(ends, s->count, sizeof *ends, compare_ends);
  for (size_t i = 0; i < s->count; i++) {
    uint32_t row = s->order[i];
    size_t rank = s->count - rank_of(ends, s->count, nvtxa__range_end_ns(s->ranges, row));
    uint32_t found = NVTXA__NO_PARENT;
    for (size_t node = rank; node > 0; node -= node & (~node + 1)) {
      found = closer(s, tree[node - 1], found) ? tree[node - 1] : found;
    }
    s->parent[row] = found == NVTXA__NO_PARENT ? NVTXA__NO_PARENT : s->order[found];
    for (size_t node = rank; node <= s->count; node += node & (~node + 1)) {
      tree[node - 1] = closer(s, (uint32_t)i, tree[node - 1]) ? (uint32_t)i : tree[node - 1];
    }
  }
  free(ends);
  return 0;
}

/* Find the parent by times of every row. */
static int find_parents(const nvtxa_ranges *ranges, uint32_t *parent) {
  int result = -1;
  uint32_t *order = malloc((ranges->count + 1) * sizeof *order);
  uint32_t *work = calloc(ranges->count + 1, sizeof *work);
  if (order == NULL || work == NULL) {
    goto out;
  }
  for (size_t row = 0; row < ranges->count; row++) {
    order[row] = (uint32_t)row;
  }
  qsort_r(order, ranges->count, sizeof *order, compare_rows, (void *)ranges);
  for (size_t first = 0, last; first < ranges->count; first = last) {
    last = first + 1;
    while (last < ranges->count && ranges->thread[order[last]] == ranges->thread[order[first]]) {
      last++;
    }
    sweep thread = {ranges, order + first, last - first, parent, work};
    if (!sweep_nested(&thread) && sweep_overlapping(&thread) != 0) {
      goto out;
    }
  }
  result = 0;
out:
  free(order);
  free(work);
  return result;
}

/* ---- what was declared ---- */

/* Follow the parents up from each row. `state` marks rows as on the present way or as done. */
static nvtxa_status refuse_cycles(const nvtxa_ranges *ranges, const char *file,
                                  nvtxa_error **reterr) {
  enum { UNSEEN, ON_WAY, DONE };
  unsigned char *state = calloc(ranges->count + 1, 1);
  nvtxa_status status = NVTXA_OK;
  if (state == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t first = 0; first < ranges->count && status == NVTXA_OK; first++) {
    size_t row = first;
    while (row < ranges->count && state[row] == UNSEEN) {
      state[row] = ON_WAY;
      row = ranges->parent[row]; /* beyond count where there is no parent */
    }
    if (row < ranges->count && state[row] == ON_WAY) {
      nvtxa__thread thread = ranges->threads[ranges->thread[row]];
      status = nvtxa__fail(
          reterr, NVTXA_ERROR_HIERARCHY_CYCLE,
          &(nvtxa__where){
              .file = file,
              .field = "ParentId",
              .hint = "The report is damaged or was edited.",
          },
          "Cycle among the parent ids: range %lld (pid %lld, tid %lld) is among its own ancestors",
          (long long)ranges->range_id[row], (long long)thread.process_id,
          (long long)thread.thread_id);
    }
    for (row = first; row < ranges->count && state[row] == ON_WAY; row = ranges->parent[row]) {
      state[row] = DONE;
    }
  }
  free(state);
  return status;
}

static void count_children(const nvtxa_ranges *ranges, const uint32_t *parent, uint32_t *counts) {
  for (size_t row = 0; row < ranges->count; row++) {
    if (parent[row] < ranges->count) {
      counts[parent[row]]++;
    }
  }
}

/* What a report says of its rows' children, held against the rows that it has. */
typedef struct declared_children {
  size_t lacking; /* rows that declare more children than there are */
  size_t wrong;   /* rows whose children are all there, but not with the total that is declared */
} declared_children;

/* Children count by the declared parents and by the times: a report whose parents are wrong has its
 * counts wrong with them. 0 or -1. */
static int check_children(const nvtxa_ranges *ranges, const uint32_t *found,
                          const int32_t *child_counts, declared_children *ret) {
  *ret = (declared_children){0};
  if (child_counts == NULL) {
    return 0;
  }
  uint32_t *declared = calloc(ranges->count + 1, sizeof *declared);
  uint32_t *timed = calloc(ranges->count + 1, sizeof *timed);
  uint64_t *totals = calloc(ranges->count + 1, sizeof *totals);
  int result = -1;
  if (declared != NULL && timed != NULL && totals != NULL) {
    count_children(ranges, ranges->parent, declared);
    count_children(ranges, found, timed);
    for (size_t row = 0; row < ranges->count; row++) {
      if (ranges->parent[row] < ranges->count) {
        totals[ranges->parent[row]] += (uint64_t)ranges->duration_ns[row];
      }
    }
    for (size_t row = 0; row < ranges->count; row++) {
      int64_t count = child_counts[row];
      ret->lacking += count > declared[row] && count > timed[row];
      ret->wrong += count >= 0 && count <= declared[row] &&
                    totals[row] != (uint64_t)ranges->child_total_ns[row];
    }
    result = 0;
  }
  free(declared);
  free(timed);
  free(totals);
  return result;
}

/* Whether a declared parent is as good as the one that was found: it encloses the row, and nothing
 * shorter does. A parent that is not in the report cannot be held against anything. */
static bool agrees(const nvtxa_ranges *ranges, size_t row, uint32_t found) {
  uint32_t declared = ranges->parent[row];
  if (declared == found || declared == NVTXA__UNKNOWN_PARENT) {
    return true;
  }
  return declared != NVTXA__NO_PARENT && found != NVTXA__NO_PARENT &&
         ranges->duration_ns[declared] == ranges->duration_ns[found] &&
         ranges->start_ns[declared] <= ranges->start_ns[row] &&
         nvtxa__range_end_ns(ranges, declared) >= nvtxa__range_end_ns(ranges, row);
}

/* ---- what is used ---- */

/* Take `parent` for the hierarchy and sum the children anew. */
static nvtxa_status adopt(nvtxa_ranges *ranges, const uint32_t *parent, const char *file,
                          nvtxa_error **reterr) {
  memcpy(ranges->parent, parent, ranges->count * sizeof *parent);
  for (size_t row = 0; row < ranges->count; row++) {
    bool root = parent[row] == NVTXA__NO_PARENT;
    ranges->parent_id[row] = root ? 0 : ranges->range_id[parent[row]];
  }
  if (ranges->child_total_ns == NULL) {
    return NVTXA_OK;
  }
  memset(ranges->child_total_ns, 0, ranges->count * sizeof *ranges->child_total_ns);
  for (size_t row = 0; row < ranges->count; row++) {
    if (parent[row] != NVTXA__NO_PARENT &&
        __builtin_add_overflow(ranges->child_total_ns[parent[row]], ranges->duration_ns[row],
                               &ranges->child_total_ns[parent[row]])) {
      return nvtxa__fail(reterr, NVTXA_ERROR_OVERFLOW, &(nvtxa__where){.file = file},
                         "the children of range %lld take more than 64 bits of nanoseconds in sum",
                         (long long)ranges->range_id[parent[row]]);
    }
  }
  return NVTXA_OK;
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

/* Hold what was declared against `found`; adopt what was found where they differ. */
static nvtxa_status check_declared(nvtxa_ranges *ranges, const uint32_t *found,
                                   const int32_t *child_counts, const char *file,
                                   nvtxa_error **reterr) {
  size_t wrong = 0;
  declared_children children;
  nvtxa_status status = refuse_cycles(ranges, file, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  for (size_t row = 0; row < ranges->count; row++) {
    wrong += !agrees(ranges, row, found[row]);
  }
  if (check_children(ranges, found, child_counts, &children) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  /* Wrong parents bring wrong totals with them: those ranges are counted once. */
  wrong = wrong > 0 ? wrong : children.wrong;
  if (warn(ranges, wrong, children.lacking) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  return wrong == 0 ? NVTXA_OK : adopt(ranges, found, file, reterr);
}

nvtxa_status nvtxa__hierarchy_set(nvtxa_ranges *ranges, nvtxa_hierarchy hierarchy,
                                  const int32_t *child_counts, const char *file,
                                  nvtxa_error **reterr) {
  nvtxa_status status;
  uint32_t *found = malloc((ranges->count + 1) * sizeof *found);
  if (found == NULL || find_parents(ranges, found) != 0) {
    status = nvtxa__out_of_memory(reterr);
  } else if (hierarchy == NVTXA_HIERARCHY_FROM_TIMES) {
    status = adopt(ranges, found, file, reterr);
  } else {
    status = check_declared(ranges, found, child_counts, file, reterr);
  }
  free(found);
  return status;
}
