/*
 * nvtx_kern_sum: kernels by the ranges around the calls that launched them. A row is of the kernels
 * of one name under the ranges of one name and style, on one thread. Each kernel counts once for
 * each range: twice, where two ranges of one name enclose its call.
 *
 * Kernels are gone through name by name, in two rounds: the first counts, the second has the counts
 * and sees the durations in order, so that no duration need be kept.
 */
#include <stdlib.h>

#include "stats-internal.h"

static const char *const columns[] = {
    "NVTX Range",         "Style",      "PID", "TID", "NVTX Inst", "Kern Inst", "Total Time (ns)",
    NVTXA__TALLY_COLUMNS, "Kernel Name"};

/* What the ranges of a row have in common, or the kernels outside every range: a name and a style
 * of the table, or one of these for both. */
#define OUTSIDE UINT32_MAX       /* no range encloses the launching call */
#define MISSING (UINT32_MAX - 1) /* nor is there such a call, and so no thread */

typedef struct launch_origin {
  int64_t process_id;
  int64_t thread_id;
  uint32_t name;
  uint32_t style;
} launch_origin;

/* A row in the making. */
typedef struct kernel_group {
  uint32_t origin; /* in `origins` */
  uint32_t label;  /* the kernels' */
  uint32_t last_kernel;
  uint64_t ranges;
  uint64_t kernels;
  nvtxa__tally tally;
} kernel_group;

typedef struct writing {
  nvtxa__cells *cells;
  const nvtxa_ranges *ranges;
  const nvtxa_gpu_work *work;
  nvtxa__kernels kernels;
  nvtxa__enclosing enclosing;
  nvtxa__intern origins;      /* as bytes */
  uint32_t *origin_of_row;    /* by range of the table */
  uint32_t *origin_of_thread; /* by thread of the calls: outside every range */
  uint32_t origin_of_missing;
  kernel_group *groups; /* by label */
  size_t group_count;
  size_t group_capacity;
  uint32_t *group_of;   /* by origin: the last group */
  uint32_t *label_seen; /* by range: the last label that was counted in it */
  /* In hand: */
  nvtxa__kernel kernel;
  uint32_t label;
  uint32_t steps; /* so far: the cancel flag is looked at now and then */
  nvtxa_status status;
} writing;

/* ---- origins ---- */

static launch_origin origin_at(const writing *w, uint32_t number) {
  launch_origin result;
  memcpy(&result, w->origins.texts[number].data, sizeof result);
  return result;
}

static int add_origin(writing *w, int64_t process_id, int64_t thread_id, uint32_t name,
                      uint32_t style, uint32_t *ret) {
  const launch_origin key = {process_id, thread_id, name, style};
  return nvtxa__intern_add(&w->origins, (const char *)&key, sizeof key, ret);
}

static int add_origins(writing *w) {
  int result = add_origin(w, 0, 0, MISSING, MISSING, &w->origin_of_missing);
  for (size_t t = 0; t < w->work->thread_count && result == 0; t++) {
    const nvtxa__gpu_thread *thread = &w->work->threads[t];
    result = add_origin(w, thread->process_id, thread->thread_id, OUTSIDE, OUTSIDE,
                        &w->origin_of_thread[t]);
  }
  for (size_t row = 0; row < w->ranges->count && result == 0; row++) {
    nvtxa__thread thread = nvtxa__range_thread(w->ranges, row);
    result = add_origin(w, thread.process_id, thread.thread_id, nvtxa__range_name(w->ranges, row),
                        nvtxa__range_style(w->ranges, row), &w->origin_of_row[row]);
  }
  return result;
}

static uint32_t *no_items(size_t count) {
  uint32_t *items = nvtxa__alloc(count + 1, sizeof *items);
  if (items != NULL) {
    memset(items, 0xFF, (count + 1) * sizeof *items); /* NVTXA__NO_ITEM */
  }
  return items;
}

static int prepare(writing *w) {
  size_t count = w->ranges->count;
  w->origin_of_row = nvtxa__alloc(count + 1, sizeof *w->origin_of_row);
  w->origin_of_thread = nvtxa__alloc(w->work->thread_count + 1, sizeof *w->origin_of_thread);
  w->label_seen = no_items(count);
  if (w->origin_of_row == NULL || w->origin_of_thread == NULL || w->label_seen == NULL ||
      add_origins(w) != 0) {
    return -1;
  }
  w->group_of = no_items(w->origins.count);
  return w->group_of == NULL || nvtxa__kernels_make(&w->kernels, w->work) != 0
             ? -1
             : nvtxa__enclosing_make(&w->enclosing, w->ranges);
}

/* ---- counting ---- */

static bool fail(writing *w, nvtxa_status status) {
  w->status = status;
  return false;
}

static bool is_cancelled(writing *w) {
  if (w->steps++ % (1 << 16) != 0 || !nvtxa__cancelled(w->cells->hooks)) {
    return false;
  }
  w->status = NVTXA_ERROR_CANCELLED;
  return true;
}

/* The group of an origin with the label in hand; NULL: out of memory. Valid until the next call. */
static kernel_group *group_at(writing *w, uint32_t origin) {
  uint32_t known = w->group_of[origin];
  if (known != NVTXA__NO_ITEM && w->groups[known].label == w->label) {
    return &w->groups[known];
  }
  if (w->group_count == NVTXA__NO_ITEM ||
      nvtxa__reserve(&w->groups, &w->group_capacity, w->group_count + 1, sizeof *w->groups)) {
    w->status = NVTXA_ERROR_OUT_OF_MEMORY;
    return NULL;
  }
  kernel_group *fresh = &w->groups[w->group_count];
  *fresh = (kernel_group){.origin = origin, .label = w->label, .last_kernel = NVTXA__NO_ITEM};
  w->group_of[origin] = (uint32_t)w->group_count++;
  return fresh;
}

static bool count_kernel(writing *w, kernel_group *group) {
  group->kernels += group->last_kernel != w->kernel.operation;
  group->last_kernel = w->kernel.operation;
  return nvtxa__tally_count(&group->tally, w->kernel.duration_ns) || fail(w, NVTXA_ERROR_OVERFLOW);
}

/* The kernel in hand, in a range. */
static bool count_in_range(void *user, uint32_t row) {
  writing *w = user;
  kernel_group *group = is_cancelled(w) ? NULL : group_at(w, w->origin_of_row[row]);
  if (group == NULL) {
    return false;
  }
  group->ranges += w->label_seen[row] != w->label;
  w->label_seen[row] = w->label;
  return count_kernel(w, group);
}

static bool count_outside(writing *w, uint32_t origin) {
  kernel_group *group = is_cancelled(w) ? NULL : group_at(w, origin);
  return group != NULL && count_kernel(w, group);
}

static bool add_to(writing *w, uint32_t origin) {
  nvtxa__tally_add(&w->groups[w->group_of[origin]].tally, w->kernel.duration_ns);
  return !is_cancelled(w);
}

static bool add_in_range(void *user, uint32_t row) {
  writing *w = user;
  return add_to(w, w->origin_of_row[row]);
}

/* ---- rounds ---- */

typedef struct one_round {
  nvtxa__visit_fn in_range;
  bool (*outside)(writing *w, uint32_t origin);
} one_round;

static bool take_kernel(writing *w, const one_round *round) {
  const nvtxa__gpu_calls *calls = &w->work->calls;
  uint32_t call = (uint32_t)nvtxa__packed_get(&w->work->call, w->kernel.operation);
  if (call == NVTXA__NO_CALL) {
    return round->outside(w, w->origin_of_missing);
  }
  if (nvtxa__packed_get(&calls->range, call) < 0) {
    return round->outside(w, w->origin_of_thread[nvtxa__packed_get(&calls->thread, call)]);
  }
  return nvtxa__enclosing_visit(&w->enclosing, call, round->in_range, w);
}

/* All kernels of the label in hand. */
static bool go_round(writing *w, const one_round *round) {
  for (size_t i = w->kernels.first[w->label]; i < w->kernels.first[w->label + 1]; i++) {
    w->kernel = w->kernels.items[i];
    if (!take_kernel(w, round)) {
      return false;
    }
  }
  return true;
}

static nvtxa_status make_groups(writing *w, nvtxa_error **reterr) {
  static const one_round counting = {count_in_range, count_outside};
  static const one_round adding = {add_in_range, add_to};
  for (size_t label = 0; label < w->work->label_keys.count; label++) {
    w->label = (uint32_t)label;
    if (!go_round(w, &counting) || !go_round(w, &adding)) {
      break;
    }
  }
  return w->status == NVTXA_OK                ? NVTXA_OK
         : w->status == NVTXA_ERROR_CANCELLED ? nvtxa__cancel_error(reterr)
         : w->status == NVTXA_ERROR_OUT_OF_MEMORY
             ? nvtxa__out_of_memory(reterr)
             : nvtxa__gpu_too_large(w->work, w->label, NULL, reterr);
}

/* ---- order ---- */

static nvtxa_text name_of(const writing *w, const launch_origin *origin) {
  return origin->name >= MISSING ? (nvtxa_text){"", 0}
                                 : nvtxa__range_names(w->ranges)->texts[origin->name];
}

static nvtxa_text style_of(const writing *w, const launch_origin *origin) {
  return origin->style >= MISSING ? (nvtxa_text){"", 0} : w->ranges->styles.texts[origin->style];
}

static int compare_integers(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

/* Rows of no thread come before those of any. */
static int compare_threads(const launch_origin *a, const launch_origin *b) {
  if ((a->name == MISSING) != (b->name == MISSING)) {
    return a->name == MISSING ? -1 : 1;
  }
  int order = compare_integers(a->process_id, b->process_id);
  return order != 0 ? order : compare_integers(a->thread_id, b->thread_id);
}

/* By range name, process and thread, and then the largest total first, as nsys means to have them;
 * of equal ones by style and by the kernel's name, as it has them. */
static int compare_groups(const void *a, const void *b, void *user) {
  const writing *w = user;
  const kernel_group *x = a;
  const kernel_group *y = b;
  launch_origin x_from = origin_at(w, x->origin);
  launch_origin y_from = origin_at(w, y->origin);
  int order = nvtxa__text_compare(name_of(w, &x_from), name_of(w, &y_from));
  order = order != 0 ? order : compare_threads(&x_from, &y_from);
  order = order != 0 ? order : compare_integers(y->tally.total_ns, x->tally.total_ns);
  order = order != 0 ? order : nvtxa__text_compare(style_of(w, &x_from), style_of(w, &y_from));
  return order != 0 ? order : compare_integers(w->work->rank[x->label], w->work->rank[y->label]);
}

/* ---- rows ---- */

static void put_text(nvtxa__cells *cells, nvtxa_text text) {
  if (text.length == 0) {
    nvtxa__cell_empty(cells);
  } else {
    nvtxa__cell_text(cells, text, nvtxa__cell_is_quoted(cells, text), 0);
  }
}

static void put_group(const writing *w, const kernel_group *group) {
  nvtxa__cells *cells = w->cells;
  launch_origin origin = origin_at(w, group->origin);
  put_text(cells, name_of(w, &origin));
  put_text(cells, style_of(w, &origin));
  if (origin.name == MISSING) {
    nvtxa__cell_empty(cells);
    nvtxa__cell_empty(cells);
  } else {
    nvtxa__cell_integer(cells, origin.process_id);
    nvtxa__cell_integer(cells, origin.thread_id);
  }
  nvtxa__cell_integer(cells, (int64_t)group->ranges);
  nvtxa__cell_integer(cells, (int64_t)group->kernels);
  nvtxa__cell_integer(cells, group->tally.total_ns);
  nvtxa__cells_put_tally(cells, &group->tally);
  put_text(cells, w->work->texts.texts[nvtxa__gpu_label_at(w->work, group->label)->first]);
  nvtxa__cells_end_row(cells);
}

static nvtxa_status put_report(nvtxa__cells *cells, const nvtxa_ranges *ranges,
                               nvtxa_error **reterr) {
  writing w = {.cells = cells, .ranges = ranges, .work = ranges->work};
  nvtxa_status status = prepare(&w) == 0 ? make_groups(&w, reterr) : nvtxa__out_of_memory(reterr);
  if (status == NVTXA_OK && w.group_count > 0) {
    qsort_r(w.groups, w.group_count, sizeof *w.groups, compare_groups, &w);
  }
  for (size_t i = 0; i < w.group_count && status == NVTXA_OK && cells->status == NVTXA_OK; i++) {
    put_group(&w, &w.groups[i]);
  }
  nvtxa__kernels_free(&w.kernels);
  nvtxa__enclosing_free(&w.enclosing);
  nvtxa__intern_free(&w.origins);
  free(w.origin_of_row);
  free(w.origin_of_thread);
  free(w.groups);
  free(w.group_of);
  free(w.label_seen);
  return status;
}

const nvtxa__stats_report nvtxa__nvtx_kern_sum = {columns, NVTXA__COUNT(columns),
                                                  NVTXA__NEEDS_OPERATIONS, put_report};
