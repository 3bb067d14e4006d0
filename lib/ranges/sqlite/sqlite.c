/*
 * Both tables from an SQLite export. Ranges and launches are read at the same time, each over a
 * connection of its own; then the ranges are arranged, nested and projected, and become rows.
 */
#include <stdlib.h>
#include <string.h>

#include "sqlite-internal.h"

typedef struct reading {
  const char *path;
  size_t thread_count;
  nvtxa_hooks hooks;
  nvtxa__activity activity;
  bool want_host;
  bool want_gpu;
  bool shared; /* what both tables have is kept in that of the host ranges */
  nvtxa__events events;
  nvtxa__export_versions versions;
  /* The launches, read on another thread. */
  nvtxa__task task;
  nvtxa_hooks quiet; /* of the hooks, only cancelling */
  nvtxa__launches launches;
  nvtxa_status launches_status;
  nvtxa_error *launches_error;
  uint32_t *lane; /* by thread of the launches: that of the events, or NVTXA__NO_ITEM */
  /* By event. */
  nvtxa__nesting nesting;
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
    bool needed = r->want_host || r->launches.detail == NVTXA_GPU_DETAIL_NONE;
    status = nvtxa__events_read(&r->events, &database, needed, reterr);
  }
  if (status == NVTXA_OK) {
    status = nvtxa__database_check_unchanged(&database, reterr);
  }
  nvtxa__database_close(&database);
  return status;
}

/* ---- nested and projected ---- */

static void nesting_free(nvtxa__nesting *nesting) {
  free(nesting->order);
  free(nesting->nested);
  nvtxa__packed_free(&nesting->above);
  *nesting = (nvtxa__nesting){.order = NULL};
}

/* How the events lie on their threads. */
static int nest(reading *r) {
  const nvtxa__events *events = &r->events;
  nvtxa__nesting *n = &r->nesting;
  int result = -1;
  n->intervals = (nvtxa__intervals){events->count,     events->threads.count, &events->thread,
                                    &events->start_ns, &events->duration_ns,  &events->row_id};
  n->nested = nvtxa__alloc_zero(events->threads.count + 1, sizeof *n->nested);
  uint32_t *parent = nvtxa__alloc(events->count + 1, sizeof *parent);
  if (n->nested != NULL && parent != NULL &&
      nvtxa__order_intervals(&n->intervals, &n->order) == 0 &&
      nvtxa__find_parents(&n->intervals, n->order, parent, n->nested) == 0) {
    result = nvtxa__pack_parents(&n->above, parent, events->count);
  }
  free(parent);
  return result;
}

static int project(reading *r) {
  nvtxa__launches *launches = &r->launches;
  nvtxa__numbering *threads = &r->events.threads;
  launches->calls.thread_count = launches->threads.count;
  uint32_t *lane = nvtxa__alloc(launches->threads.count + 1, sizeof *lane);
  if (lane == NULL) {
    return -1;
  }
  for (size_t t = 0; t < launches->threads.count; t++) {
    lane[t] = nvtxa__number_of(threads, launches->threads.ids[t]);
  }
  r->lane = lane;
  int result = nvtxa__project(&r->projection, &r->nesting, lane, &launches->calls,
                              &launches->operations, r->launches.detail != NVTXA_GPU_DETAIL_NONE);
  if (result == 0 && r->projection.outside.operations > 0) {
    size_t thread = (size_t)nvtxa__packed_get(&launches->calls.thread, r->projection.outside_call);
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
  size_t open;
  size_t backward;
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
  if (n->number[name] == UINT32_MAX) {
    nvtxa_text text = n->events->names[name];
    if (nvtxa__intern_add(&n->ranges->names, text.data, text.length, &n->number[name]) != 0) {
      return -1;
    }
  }
  *ret = n->number[name];
  return 0;
}

/* Count what there is to warn of. Backward ranges are not measured either, but are warned of apart
 * from those that never ended. `rows` holds a table's events; NULL: it has all of them. */
static void count_oddities(naming *n, const uint32_t *rows) {
  const nvtxa__events *events = n->events;
  for (size_t row = 0; row < n->ranges->count; row++) {
    size_t event = nvtxa__ordered(rows, row);
    int64_t flags = nvtxa__packed_get(&events->flags, event);
    uint8_t name_flags = events->name_flags[nvtxa__packed_get(&events->name, event)];
    n->open += (flags & NVTXA__OPEN) != 0;
    n->backward += (flags & NVTXA__BACKWARD) != 0;
    n->replaced += (name_flags & NVTXA__NAME_REPLACED) != 0;
    n->missing += (name_flags & NVTXA__NAME_MISSING) != 0;
  }
}

/* The names, and which ranges have no measured end; `rows` likewise. */
static int fill_names(naming *n, const uint32_t *rows) {
  const nvtxa__events *events = n->events;
  for (size_t row = 0; row < n->ranges->count; row++) {
    size_t event = nvtxa__ordered(rows, row);
    int64_t flags = nvtxa__packed_get(&events->flags, event);
    uint32_t number;
    if (give_name(n, (uint32_t)nvtxa__packed_get(&events->name, event), &number) != 0 ||
        nvtxa__packed_add(&n->ranges->name, number) != 0 ||
        nvtxa__packed_add(&n->ranges->open, (flags & (NVTXA__OPEN | NVTXA__BACKWARD)) != 0) != 0) {
      return -1;
    }
  }
  return nvtxa__packed_finish(&n->ranges->name) | nvtxa__packed_finish(&n->ranges->open);
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

static int warn(const reading *r, nvtxa_ranges *ranges, const naming *n) {
  const char *report = nvtxa__report_name(ranges->report, NVTXA__NAMING_NEW);
  if (nvtxa__ranges_warn(ranges, n->replaced, n->open) != 0) {
    return -1;
  }
  if (n->backward > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_BACKWARD_RANGES,
                  "%zu range%s of %s ended before %s started, by the export's clock; they have no "
                  "length and count in no summary.",
                  n->backward, n->backward == 1 ? "" : "s", report,
                  n->backward == 1 ? "it" : "they") != 0) {
    return -1;
  }
  if (n->missing > 0 &&
      nvtxa__warn(&ranges->warnings, NVTXA_WARNING_NAMES_MISSING,
                  "The names of %zu range%s of %s are not in the export's StringIds; the text "
                  "beside was taken, or none.",
                  n->missing, n->missing == 1 ? "" : "s", report) != 0) {
    return -1;
  }
  uint64_t nameless = nvtxa__gpu_nameless_kernels(ranges->work);
  if (nameless > 0 && nvtxa__warn(&ranges->warnings, NVTXA_WARNING_NAMES_MISSING,
                                  "The names of %llu kernel%s are not in the export's StringIds.",
                                  (unsigned long long)nameless, nameless == 1 ? "" : "s") != 0) {
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

/* ---- GPU-projected ranges ---- */

/* Row ids differ, so nothing needs telling apart. */
static int compare_nothing(const void *a, const void *b, void *unused) {
  (void)a;
  (void)b;
  (void)unused;
  return 0;
}

/* The events that are projected. nsys means to sort by the projected start; what it does is to sort
 * by the range id. */
static int projected_rows(const reading *r, uint32_t **ret_rows, size_t *ret_count) {
  const nvtxa__events *events = &r->events;
  uint32_t *rows = nvtxa__alloc(events->count + 1, sizeof *rows);
  *ret_rows = rows;
  *ret_count = 0;
  if (rows == NULL) {
    return -1;
  }
  for (size_t i = 0; i < events->count; i++) {
    rows[*ret_count] = (uint32_t)i;
    *ret_count += r->projection.count[i] > 0;
  }
  return nvtxa__sort_by_key(rows, *ret_count, &events->row_id, compare_nothing, NULL);
}

static int fill_projection(const reading *r, nvtxa_ranges *gpu, const uint32_t *rows) {
  const nvtxa__projection *p = &r->projection;
  const nvtxa__operations *operations = &r->launches.operations;
  int result = 0;
  for (size_t row = 0; row < gpu->count && result == 0; row++) {
    uint32_t event = rows[row];
    int64_t start_ns = nvtxa__packed_get(&operations->start_ns, p->first[event]);
    int64_t end_ns = nvtxa__operation_end_ns(operations, p->last[event]);
    result = nvtxa__packed_add(&gpu->projected_start_ns, start_ns);
    result |= nvtxa__packed_add(&gpu->projected_duration_ns, end_ns - start_ns);
    result |= nvtxa__packed_add(&gpu->gpu_operation_count, p->count[event]);
  }
  return result | nvtxa__packed_finish(&gpu->projected_start_ns) |
         nvtxa__packed_finish(&gpu->projected_duration_ns) |
         nvtxa__packed_finish(&gpu->gpu_operation_count);
}

/* The rows of the events. */
static uint32_t *find_rows(const reading *r, const uint32_t *rows, size_t count) {
  uint32_t *row_of = nvtxa__alloc(r->events.count + 1, sizeof *row_of);
  for (size_t row = 0; row < count && row_of != NULL; row++) {
    row_of[rows[row]] = (uint32_t)row;
  }
  return row_of;
}

/* What encloses a projected range encloses its calls, and is projected as well. */
static int fill_parents(const reading *r, nvtxa_ranges *gpu, const uint32_t *rows) {
  uint32_t *row_of = find_rows(r, rows, gpu->count);
  int result = row_of == NULL ? -1 : 0;
  for (size_t row = 0; row < gpu->count && result == 0; row++) {
    uint32_t parent = nvtxa__parent(&r->nesting.above, rows[row]);
    parent = parent == NVTXA__NO_PARENT ? NVTXA__NO_PARENT : row_of[parent];
    result = nvtxa__packed_add(&gpu->above, nvtxa__above(row, parent));
  }
  free(row_of);
  return result | nvtxa__packed_finish(&gpu->above);
}

static int fill_styles(const nvtxa__events *events, nvtxa_ranges *gpu, const uint32_t *rows) {
  uint32_t styles[2];
  int result = nvtxa__intern_add(&gpu->styles, "PushPop", 7, &styles[0]) |
               nvtxa__intern_add(&gpu->styles, "StartEnd", 8, &styles[1]);
  for (size_t row = 0; row < gpu->count && result == 0; row++) {
    int64_t flags = nvtxa__packed_get(&events->flags, rows[row]);
    result = nvtxa__packed_add(&gpu->style, styles[(flags & NVTXA__START_END) != 0]);
  }
  return result | nvtxa__packed_finish(&gpu->style);
}

/* What host ranges have as well: copied, or left to their table. */
static int fill_times(reading *r, nvtxa_ranges *gpu, naming *n, const uint32_t *rows) {
  const nvtxa__events *events = &r->events;
  if (!r->shared) {
    return copy_threads(gpu, &events->threads) |
           nvtxa__packed_pick(&gpu->thread, &events->thread, rows, gpu->count) |
           nvtxa__packed_pick(&gpu->range_id, &events->row_id, rows, gpu->count) |
           nvtxa__packed_pick(&gpu->start_ns, &events->start_ns, rows, gpu->count) |
           nvtxa__packed_pick(&gpu->duration_ns, &events->duration_ns, rows, gpu->count) |
           fill_names(n, rows);
  }
  for (size_t row = 0; row < gpu->count; row++) {
    if (nvtxa__packed_add(&gpu->base_row, rows[row]) != 0) {
      return -1;
    }
  }
  return nvtxa__packed_finish(&gpu->base_row);
}

/* The GPU work, where it is wanted. */
static nvtxa_status fill_work(reading *r, nvtxa_ranges *gpu, const uint32_t *rows,
                              nvtxa_error **reterr) {
  if (r->launches.detail == NVTXA_GPU_DETAIL_NONE) {
    return NVTXA_OK;
  }
  uint32_t *row_of = find_rows(r, rows, gpu->count);
  nvtxa_status status = row_of == NULL ? nvtxa__out_of_memory(reterr)
                                       : nvtxa__work_make(&r->launches, &r->projection, row_of,
                                                          r->lane, r->path, &gpu->work, reterr);
  free(row_of);
  return status;
}

/* Of each row that has been projected; what was needed for that alone goes when it was used. */
static nvtxa_status fill_gpu(reading *r, nvtxa_ranges *gpu, naming *n, nvtxa_error **reterr) {
  uint32_t *rows;
  int result = projected_rows(r, &rows, &gpu->count);
  if (result == 0) {
    result = fill_projection(r, gpu, rows);
  }
  gpu->unattributed = r->projection.outside;
  nvtxa_status status =
      result == 0 ? fill_work(r, gpu, rows, reterr) : nvtxa__out_of_memory(reterr);
  nvtxa__projection_free(&r->projection);
  nvtxa__launches_free(&r->launches);
  if (status == NVTXA_OK) {
    result = fill_times(r, gpu, n, rows) | fill_parents(r, gpu, rows) |
             fill_styles(&r->events, gpu, rows);
    count_oddities(n, rows);
    status = result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
  }
  free(rows);
  return status;
}

/* The table, which may still lack its base, and its index. */
static nvtxa_status make_gpu(reading *r, nvtxa_ranges **ret_gpu, nvtxa_error **reterr) {
  naming n = {.number = NULL};
  *ret_gpu = nvtxa__ranges_new(NVTXA_REPORT_GPU_PROJ_TRACE);
  nvtxa_status status = *ret_gpu == NULL || naming_begin(&n, &r->events, *ret_gpu) != 0
                            ? nvtxa__out_of_memory(reterr)
                            : fill_gpu(r, *ret_gpu, &n, reterr);
  if (status == NVTXA_OK && warn(r, *ret_gpu, &n) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  free(n.number);
  return status;
}

/* ---- host ranges ---- */

static void move(nvtxa__packed *to, nvtxa__packed *from) {
  nvtxa__packed_free(to);
  *to = *from;
  *from = (nvtxa__packed){0};
}

/* The events' columns become the table's. */
static nvtxa_status fill_host(reading *r, nvtxa_ranges *host, naming *n, nvtxa_error **reterr) {
  nvtxa__events *events = &r->events;
  host->count = events->count;
  if (fill_names(n, NULL) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  count_oddities(n, NULL);
  move(&host->thread, &events->thread);
  move(&host->range_id, &events->row_id);
  move(&host->start_ns, &events->start_ns);
  move(&host->duration_ns, &events->duration_ns);
  move(&host->above, &r->nesting.above);
  nvtxa_status status = nvtxa__ranges_index(host, r->path, reterr);
  return status == NVTXA_OK ? nvtxa__hierarchy_sum(host, r->path, reterr) : status;
}

static nvtxa_status make_host(reading *r, nvtxa_ranges **ret_host, nvtxa_error **reterr) {
  nvtxa_ranges *host = nvtxa__ranges_new(NVTXA_REPORT_PUSHPOP_TRACE);
  naming n = {.number = NULL};
  nvtxa_status status;
  if (host == NULL || naming_begin(&n, &r->events, host) != 0 ||
      copy_threads(host, &r->events.threads) != 0) {
    status = nvtxa__out_of_memory(reterr);
  } else {
    status = fill_host(r, host, &n, reterr);
  }
  if (status == NVTXA_OK && warn(r, host, &n) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  free(n.number);
  if (status != NVTXA_OK) {
    nvtxa__ranges_free(host);
    return status;
  }
  *ret_host = host;
  return NVTXA_OK;
}

/* The parents that were found may be start/end ranges, which are no host ranges. */
static int leave_push_pop(reading *r) {
  if (r->events.start_end_count == 0) {
    return 0;
  }
  nesting_free(&r->nesting);
  return nvtxa__events_drop_start_end(&r->events) == 0 ? nest(r) : -1;
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

/* All that the launches are not needed for. */
static nvtxa_status prepare(reading *r, nvtxa_error **reterr) {
  nvtxa_status status = read_events(r, reterr);
  return status != NVTXA_OK                                       ? status
         : nvtxa__events_arrange(&r->events) != 0 || nest(r) != 0 ? nvtxa__out_of_memory(reterr)
                                                                  : NVTXA_OK;
}

static nvtxa_status project_and_make_gpu(reading *r, nvtxa_ranges **ret_gpu, nvtxa_error **reterr) {
  if (project(r) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  if (r->launches.detail == NVTXA_GPU_DETAIL_NONE) {
    nvtxa__calls_free(&r->launches.calls);
  }
  nvtxa__packed_free(&r->launches.calls.operation);
  return nvtxa__cancelled(&r->hooks) ? nvtxa__cancel_error(reterr) : make_gpu(r, ret_gpu, reterr);
}

/* Each table that is wanted, or some of them and an error. */
static nvtxa_status compute(reading *r, nvtxa_ranges **ret_host, nvtxa_ranges **ret_gpu,
                            nvtxa_error **reterr) {
  if (r->want_gpu) {
    nvtxa__task_begin(&r->task, read_launches, r, r->thread_count != 1);
  }
  nvtxa_status status = await_launches(r, prepare(r, reterr), reterr);
  r->shared = r->want_host && r->events.start_end_count == 0;
  if (status == NVTXA_OK && r->want_gpu) {
    status = project_and_make_gpu(r, ret_gpu, reterr);
  }
  if (status == NVTXA_OK && r->want_host) {
    status = leave_push_pop(r) == 0 ? make_host(r, ret_host, reterr) : nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK && r->want_gpu) {
    (*ret_gpu)->base = r->shared ? nvtxa_ranges_ref(*ret_host) : NULL;
    status = nvtxa__ranges_index(*ret_gpu, r->path, reterr);
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
  if (path == NULL || (!r.want_host && !r.want_gpu) ||
      (unsigned)own.gpu_detail > NVTXA_GPU_DETAIL_TRACE) {
    return nvtxa__invalid(reterr, "path, options->gpu_detail, or neither table is wanted");
  }
  r.quiet.cancel = r.hooks.cancel;
  r.thread_count = own.thread_count;
  r.launches.detail = own.gpu_detail;
  nvtxa__log(&r.hooks, NVTXA_LOG_INFO, "reading %s", path);
  nvtxa__activity_start(&r.activity, &r.hooks, "reading the SQLite export");
  status = compute(&r, &host, &gpu, reterr);
  nvtxa__events_free(&r.events);
  nvtxa__launches_free(&r.launches);
  nvtxa__projection_free(&r.projection);
  nesting_free(&r.nesting);
  free(r.lane);
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
