/*
 * Both tables from an SQLite export. Ranges and launches are read at the same time, each over a
 * connection of its own; then the ranges are arranged, nested and projected, and become rows.
 */
#include <stdlib.h>
#include <string.h>

#include "sqlite-internal.h"

typedef struct reading {
  const char *path;
  nvtxa_hooks hooks;
  nvtxa__activity activity;
  bool want_host;
  bool want_gpu;
  nvtxa__events events;
  nvtxa__export_versions versions;
  /* The launches, read on another thread. */
  nvtxa__task task;
  nvtxa_hooks quiet; /* of the hooks, only cancelling */
  nvtxa__launches launches;
  nvtxa_status launches_status;
  nvtxa_error *launches_error;
  /* By event. */
  uint32_t *parent;
  nvtxa__projection projection;
} reading;

/* ---- reading ---- */

static void read_launches(void *user) {
  reading *r = user;
  nvtxa__database database;
  nvtxa_status status =
      nvtxa__database_open(&database, r->path, &r->quiet, NULL, &r->launches_error);
  if (status == NVTXA_OK) {
    status = nvtxa__launches_read(&r->launches, &database, &r->launches_error);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__database_check_unchanged(&database, &r->launches_error);
  }
  nvtxa__database_close(&database);
  r->launches_status = status;
}

static nvtxa_status read_events(reading *r, nvtxa_error **reterr) {
  nvtxa__database database;
  nvtxa_status status = nvtxa__database_open(&database, r->path, &r->hooks, &r->activity, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__database_versions(&database, &r->versions, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__events_read(&r->events, &database, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__database_check_unchanged(&database, reterr);
  }
  nvtxa__database_close(&database);
  return status;
}

/* ---- nested and projected ---- */

/* How the events lie on their threads. */
typedef struct nesting {
  nvtxa__intervals intervals;
  nvtxa__order order;
  bool *nested; /* by thread */
} nesting;

static int nest(reading *r, nesting *n) {
  nvtxa__events *events = &r->events;
  n->intervals = (nvtxa__intervals){events->count,    events->threads.count, events->thread,
                                    events->start_ns, events->duration_ns,   events->row_id};
  n->nested = nvtxa__alloc_zero(events->threads.count + 1, sizeof *n->nested);
  r->parent = nvtxa__alloc(events->count + 1, sizeof *r->parent);
  if (n->nested == NULL || r->parent == NULL ||
      nvtxa__order_intervals(&n->order, &n->intervals) != 0) {
    return -1;
  }
  return nvtxa__find_parents(&n->intervals, &n->order, r->parent, n->nested);
}

static void nesting_free(nesting *n) {
  nvtxa__order_free(&n->order);
  free(n->nested);
}

static int project(reading *r, const nesting *n) {
  nvtxa__launches *launches = &r->launches;
  const nvtxa__numbering *threads = &r->events.threads;
  uint32_t *call_thread = nvtxa__alloc(threads->count + 1, sizeof *call_thread);
  if (call_thread == NULL) {
    return -1;
  }
  for (size_t t = 0; t < threads->count; t++) {
    call_thread[t] = nvtxa__number_of(&launches->threads, threads->ids[t]);
  }
  launches->calls.thread_count = launches->threads.count;
  int result = nvtxa__project(&r->projection, &n->intervals, &n->order, r->parent, n->nested,
                              call_thread, &launches->calls, &launches->operations);
  free(call_thread);
  if (result == 0 && r->projection.outside.operations > 0) {
    uint32_t thread = launches->calls.thread[r->projection.outside_call];
    int64_t global_tid = launches->threads.ids[thread];
    r->projection.outside.thread = (nvtxa__thread){NVTXA__PID(global_tid), NVTXA__TID(global_tid)};
  }
  return result;
}

/* ---- rows ---- */

/* The numbers of the events' names in a table, given as they are met. */
typedef struct naming {
  const nvtxa__events *events;
  nvtxa_ranges *ranges;
  uint32_t *number; /* by name of the events */
  size_t replaced;
  size_t missing;
} naming;

static int naming_begin(naming *n, const nvtxa__events *events, nvtxa_ranges *ranges) {
  *n = (naming){.events = events, .ranges = ranges};
  n->number = nvtxa__alloc(events->name_count + 1, sizeof *n->number);
  if (n->number != NULL) {
    memset(n->number, 0xFF, (events->name_count + 1) * sizeof *n->number);
  }
  return n->number == NULL ? -1 : 0;
}

static int give_name(naming *n, uint32_t name, uint32_t *ret) {
  uint8_t flags = n->events->name_flags[name];
  n->replaced += (flags & NVTXA__NAME_REPLACED) != 0;
  n->missing += (flags & NVTXA__NAME_MISSING) != 0;
  if (n->number[name] == UINT32_MAX) {
    nvtxa_text text = n->events->names[name];
    if (nvtxa__intern_add(&n->ranges->names, text.data, text.length, &n->number[name]) != 0) {
      return -1;
    }
  }
  *ret = n->number[name];
  return 0;
}

static int copy_threads(nvtxa_ranges *ranges, const nvtxa__numbering *threads) {
  ranges->threads = nvtxa__alloc(threads->count + 1, sizeof *ranges->threads);
  if (ranges->threads == NULL) {
    return -1;
  }
  for (size_t t = 0; t < threads->count; t++) {
    ranges->threads[t] = (nvtxa__thread){NVTXA__PID(threads->ids[t]), NVTXA__TID(threads->ids[t])};
  }
  ranges->thread_count = threads->count;
  return 0;
}

static int warn(const reading *r, nvtxa_ranges *ranges, const naming *n, size_t backward) {
  const char *report = nvtxa__report_name(ranges->report, NVTXA__NAMING_NEW);
  if (nvtxa__ranges_warn(ranges, n->replaced) != 0) {
    return -1;
  }
  if (backward > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_BACKWARD_RANGES,
                  "%zu range%s of %s ended before %s started, by the export's clock; they have no "
                  "length and count in no summary.",
                  backward, backward == 1 ? "" : "s", report, backward == 1 ? "it" : "they") != 0) {
    return -1;
  }
  if (n->missing > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_NAMES_MISSING,
                  "The names of %zu range%s of %s are not in the export's StringIds; the text "
                  "beside was taken, or none.",
                  n->missing, n->missing == 1 ? "" : "s", report) != 0) {
    return -1;
  }
  /* Of the export as a whole: said once, with the host ranges where they are wanted. */
  if ((ranges->report == NVTXA_REPORT_PUSHPOP_TRACE || !r->want_host) &&
      !nvtxa__schema_is_known(r->versions.schema)) {
    return r->versions.schema[0] == '\0'
               ? nvtxa__warn(&ranges->warnings, NVTXA_WARNING_SQLITE_SCHEMA,
                             "The SQLite export does not say which schema it follows; reading it "
                             "is validated for schema 3.")
               : nvtxa__warn(&ranges->warnings, NVTXA_WARNING_SQLITE_SCHEMA,
                             "The SQLite export follows schema %s; reading it is validated for "
                             "schema 3.",
                             r->versions.schema);
  }
  return 0;
}

/* Backward ranges are not measured either, but are warned of apart from those that never ended.
 * `rows` holds the table's events; NULL: it has all of them. */
static void mark_backward(const nvtxa__events *events, nvtxa_ranges *ranges, const uint32_t *rows) {
  for (size_t row = 0; row < ranges->count; row++) {
    uint8_t flags = events->flags[rows == NULL ? row : rows[row]];
    ranges->open[row] = ranges->open[row] || (flags & NVTXA__BACKWARD) != 0;
  }
}

/* ---- GPU-projected ranges ---- */

/* Row ids differ, so nothing needs telling apart. */
static int compare_nothing(const void *a, const void *b, void *unused) {
  (void)a;
  (void)b;
  (void)unused;
  return 0;
}

static int fill_gpu(const reading *r, nvtxa_ranges *gpu, naming *n, const uint32_t *rows,
                    uint32_t *row_of, size_t *ret_backward) {
  const nvtxa__events *events = &r->events;
  const nvtxa__projection *p = &r->projection;
  uint32_t styles[2];
  if (nvtxa__intern_add(&gpu->styles, "PushPop", 7, &styles[0]) != 0 ||
      nvtxa__intern_add(&gpu->styles, "StartEnd", 8, &styles[1]) != 0) {
    return -1;
  }
  for (size_t row = 0; row < gpu->count; row++) {
    row_of[rows[row]] = (uint32_t)row;
  }
  for (size_t row = 0; row < gpu->count; row++) {
    uint32_t event = rows[row];
    uint32_t parent = r->parent[event];
    if (give_name(n, events->name[event], &gpu->name[row]) != 0) {
      return -1;
    }
    gpu->thread[row] = events->thread[event];
    gpu->range_id[row] = events->row_id[event];
    /* What encloses a projected range encloses its calls, and is projected as well. */
    gpu->parent[row] = parent == NVTXA__NO_PARENT ? NVTXA__NO_PARENT : row_of[parent];
    gpu->parent_id[row] = parent == NVTXA__NO_PARENT ? 0 : events->row_id[parent];
    gpu->start_ns[row] = events->start_ns[event];
    gpu->duration_ns[row] = events->duration_ns[event];
    gpu->open[row] = (events->flags[event] & NVTXA__OPEN) != 0;
    *ret_backward += (events->flags[event] & NVTXA__BACKWARD) != 0;
    gpu->style[row] = styles[(events->flags[event] & NVTXA__START_END) != 0];
    gpu->projected_start_ns[row] = p->start_ns[event];
    gpu->projected_duration_ns[row] = p->end_ns[event] - p->start_ns[event];
    gpu->gpu_operation_count[row] = p->operations[event];
  }
  return 0;
}

static nvtxa_status make_gpu(const reading *r, nvtxa_ranges **ret_gpu, nvtxa_error **reterr) {
  const nvtxa__events *events = &r->events;
  nvtxa_ranges *gpu = nvtxa__ranges_new(NVTXA_REPORT_GPU_PROJ_TRACE);
  naming n = {.number = NULL};
  uint32_t *rows = nvtxa__alloc(events->count + 1, sizeof *rows);
  uint32_t *row_of = nvtxa__alloc(events->count + 1, sizeof *row_of);
  nvtxa_status status = NVTXA_OK;
  size_t backward = 0;
  int result = -1;
  if (gpu == NULL || rows == NULL || row_of == NULL || naming_begin(&n, events, gpu) != 0 ||
      copy_threads(gpu, &events->threads) != 0) {
    goto out;
  }
  for (size_t i = 0; i < events->count; i++) {
    rows[gpu->count] = (uint32_t)i;
    gpu->count += r->projection.operations[i] > 0;
  }
  gpu->unattributed = r->projection.outside;
  /* nsys means to sort by the projected start; what it does is to sort by the range id. */
  if (nvtxa__sort_by_key(rows, gpu->count, events->row_id, compare_nothing, NULL) == 0 &&
      nvtxa__ranges_resize(gpu, gpu->count + 1) == 0 &&
      fill_gpu(r, gpu, &n, rows, row_of, &backward) == 0) {
    status = nvtxa__ranges_index(gpu, r->path, reterr);
    result = status == NVTXA_OK ? warn(r, gpu, &n, backward) : 0;
    mark_backward(events, gpu, rows);
  }
out:
  free(n.number);
  free(rows);
  free(row_of);
  if (result != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  if (status != NVTXA_OK) {
    nvtxa__ranges_free(gpu);
    return status;
  }
  *ret_gpu = gpu;
  return NVTXA_OK;
}

/* ---- host ranges ---- */

/* The events' columns are the table's as well, for the time being. */
static int share_columns(const nvtxa__events *events, nvtxa_ranges *host) {
  host->count = events->count;
  host->name = nvtxa__alloc(host->count + 1, sizeof *host->name);
  host->open = nvtxa__alloc(host->count + 1, sizeof *host->open);
  host->parent = nvtxa__alloc(host->count + 1, sizeof *host->parent);
  host->parent_id = nvtxa__alloc(host->count + 1, sizeof *host->parent_id);
  host->child_total_ns = nvtxa__alloc(host->count + 1, sizeof *host->child_total_ns);
  host->thread = events->thread;
  host->range_id = events->row_id;
  host->start_ns = events->start_ns;
  host->duration_ns = events->duration_ns;
  return host->name == NULL || host->open == NULL || host->parent == NULL ||
                 host->parent_id == NULL || host->child_total_ns == NULL
             ? -1
             : 0;
}

/* Now they are the table's alone, or (`keep` is false) the events' again. */
static void part_columns(nvtxa__events *events, nvtxa_ranges *host, bool keep) {
  if (keep) {
    events->thread = NULL;
    events->row_id = NULL;
    events->start_ns = NULL;
    events->duration_ns = NULL;
  } else {
    host->thread = NULL;
    host->range_id = NULL;
    host->start_ns = NULL;
    host->duration_ns = NULL;
  }
}

/* `parent` is NULL where parents are to be found anew. */
static nvtxa_status fill_host(const reading *r, nvtxa_ranges *host, const uint32_t *parent,
                              naming *n, nvtxa_error **reterr) {
  const nvtxa__events *events = &r->events;
  size_t backward = 0;
  for (size_t row = 0; row < host->count; row++) {
    if (give_name(n, events->name[row], &host->name[row]) != 0) {
      return nvtxa__out_of_memory(reterr);
    }
    host->open[row] = (events->flags[row] & NVTXA__OPEN) != 0;
    host->parent[row] = NVTXA__NO_PARENT;
    backward += (events->flags[row] & NVTXA__BACKWARD) != 0;
  }
  nvtxa_status status = nvtxa__ranges_index(host, r->path, reterr);
  if (status == NVTXA_OK) {
    status = parent != NULL
                 ? nvtxa__hierarchy_adopt(host, parent, r->path, reterr)
                 : nvtxa__hierarchy_set(host, NVTXA_HIERARCHY_FROM_TIMES, NULL, r->path, reterr);
  }
  if (status == NVTXA_OK && warn(r, host, n, backward) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  mark_backward(events, host, NULL);
  return status;
}

/* The table, whose columns are still shared. On failure nothing is. */
static nvtxa_status make_host(reading *r, const uint32_t *parent, nvtxa_ranges **ret_host,
                              nvtxa_error **reterr) {
  nvtxa_ranges *host = nvtxa__ranges_new(NVTXA_REPORT_PUSHPOP_TRACE);
  naming n = {.number = NULL};
  nvtxa_status status;
  if (host == NULL || naming_begin(&n, &r->events, host) != 0 ||
      copy_threads(host, &r->events.threads) != 0 || share_columns(&r->events, host) != 0) {
    status = nvtxa__out_of_memory(reterr);
  } else {
    status = fill_host(r, host, parent, &n, reterr);
  }
  free(n.number);
  if (status == NVTXA_OK) {
    *ret_host = host;
  } else if (host != NULL) {
    part_columns(&r->events, host, false);
    nvtxa__ranges_free(host);
  }
  return status;
}

/* ---- both ---- */

/* Wait for the launches. Their error counts where there was none before. */
static nvtxa_status await_launches(reading *r, nvtxa_status status, nvtxa_error **reterr) {
  if (!r->want_gpu) {
    return status;
  }
  nvtxa__task_wait(&r->task);
  if (status == NVTXA_OK && r->launches_status != NVTXA_OK) {
    return nvtxa__pass_on(reterr, r->launches_status, r->launches_error);
  }
  nvtxa_error_free(r->launches_error);
  return status;
}

static nvtxa_status project_and_make_gpu(reading *r, const nesting *n, nvtxa_ranges **ret_gpu,
                                         nvtxa_error **reterr) {
  if (project(r, n) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa__launches_free(&r->launches);
  return nvtxa__cancelled(&r->hooks) ? nvtxa__cancel_error(reterr) : make_gpu(r, ret_gpu, reterr);
}

/* All that the launches are not needed for. */
static nvtxa_status prepare(reading *r, nesting *n, nvtxa_ranges **ret_host, nvtxa_error **reterr) {
  nvtxa_status status = read_events(r, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (nvtxa__events_arrange(&r->events) != 0 || nest(r, n) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  /* Where there are no others, the host ranges are all the ranges. */
  return r->want_host && r->events.start_end_count == 0 ? make_host(r, r->parent, ret_host, reterr)
                                                        : NVTXA_OK;
}

/* Each table that is wanted, or none. */
static nvtxa_status compute(reading *r, nvtxa_ranges **ret_host, nvtxa_ranges **ret_gpu,
                            nvtxa_error **reterr) {
  nesting n = {.nested = NULL};
  if (r->want_gpu) {
    nvtxa__task_start(&r->task, read_launches, r);
  }
  nvtxa_status status = await_launches(r, prepare(r, &n, ret_host, reterr), reterr);
  if (status == NVTXA_OK && r->want_gpu) {
    status = project_and_make_gpu(r, &n, ret_gpu, reterr);
  }
  nesting_free(&n);
  nvtxa__projection_free(&r->projection);
  if (status == NVTXA_OK && r->want_host && *ret_host == NULL) {
    /* The parents that were found may be start/end ranges. */
    status = nvtxa__events_drop_start_end(&r->events) == 0 ? make_host(r, NULL, ret_host, reterr)
                                                           : nvtxa__out_of_memory(reterr);
  }
  if (*ret_host != NULL) {
    part_columns(&r->events, *ret_host, status == NVTXA_OK);
  }
  return status;
}

nvtxa_status nvtxa_ranges_read_sqlite(const char *path, const nvtxa_ranges_options *options,
                                      nvtxa_ranges **ret_host, nvtxa_ranges **ret_gpu,
                                      nvtxa_error **reterr) {
  nvtxa_ranges_options own = NVTXA_RANGES_OPTIONS_INIT;
  reading r = {.path = path,
               .hooks = NVTXA_HOOKS_INIT,
               .quiet = NVTXA_HOOKS_INIT,
               .want_host = ret_host != NULL,
               .want_gpu = ret_gpu != NULL};
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__options_copy(&r.hooks, sizeof r.hooks, own.hooks, reterr);
  }
  if (status != NVTXA_OK) {
    return status;
  }
  if (path == NULL || (!r.want_host && !r.want_gpu)) {
    return nvtxa__invalid(reterr, "path, or neither table is wanted");
  }
  r.quiet.cancel = r.hooks.cancel;
  nvtxa__log(&r.hooks, NVTXA_LOG_INFO, "reading %s", path);
  nvtxa__activity_start(&r.activity, &r.hooks, "reading the SQLite export");
  status = compute(&r, &host, &gpu, reterr);
  nvtxa__events_free(&r.events);
  nvtxa__launches_free(&r.launches);
  free(r.parent);
  if (status != NVTXA_OK) {
    nvtxa__ranges_free(host);
    nvtxa__ranges_free(gpu);
    return status;
  }
  if (r.want_host) {
    *ret_host = host;
  }
  if (r.want_gpu) {
    *ret_gpu = gpu;
  }
  return NVTXA_OK;
}
