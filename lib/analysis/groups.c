/*
 * Ranges aggregated: one group for each scope in each context (and style, for GPU records). Rows
 * are dealt out to groups first; then each group's durations lie side by side and are summarised.
 * The two tables are worked on at the same time.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis-internal.h"

#define NO_GROUP UINT32_MAX

/* Rendered scopes of one analysis may take this many bytes in all: deep nesting makes them long. */
static const size_t longest_names = (size_t)1 << 28;

/* How many durations are laid side by side at a time, at least. */
enum { FEW_VALUES = 1 << 20 };

/* Fewer rows are not worth a further thread. */
enum { MANY_ROWS = 1 << 14 };

typedef struct grouping {
  nvtxa_analysis *analysis;
  const nvtxa_ranges *ranges;
  const nvtxa__packed *places; /* by row */
  bool host;
  nvtxa__groups *groups;
  size_t capacity;
  nvtxa__table table;
  uint32_t *latest; /* by place: the group found for it last, or NO_GROUP */
  nvtxa_status status;
  nvtxa_error *error;
} grouping;

typedef enum measure { INCLUSIVE, EXCLUSIVE, PROJECTED } measure;

/* One measure of all groups of a table. */
typedef struct measuring {
  grouping *table;
  measure which;
  size_t *first; /* by group: where its values begin; one more at the end */
  int64_t *values;
  nvtxa_status status;
  nvtxa_error *error;
} measuring;

/* ---- dealing out ---- */

static uint64_t hash_key(const nvtxa__group *group) {
  uint32_t key[3] = {group->scope, group->context, group->style};
  return nvtxa__hash(key, sizeof key);
}

static uint64_t hash_group(const void *owner, uint32_t group) {
  return hash_key(&((const grouping *)owner)->groups->items[group]);
}

static bool is_group_of(const nvtxa__group *group, const nvtxa__place *place, uint32_t style) {
  return group->scope == place->scope && group->context == place->context && group->style == style;
}

/* The group of the rows of a style that stand at `place`; or NO_GROUP, and *slot is where it
 * belongs. The table must have room. */
static uint32_t look_up(const grouping *g, const nvtxa__place *place, uint32_t style,
                        size_t *slot) {
  nvtxa__group wanted = {.scope = place->scope, .context = place->context, .style = style};
  uint32_t found = nvtxa__table_first(&g->table, hash_key(&wanted), slot);
  while (found != NVTXA__NO_ITEM && !is_group_of(&g->groups->items[found], place, style)) {
    found = nvtxa__table_next(&g->table, slot);
  }
  return found;
}

/* The same, made where there is none. 0 or -1. */
static int find_group(grouping *g, const nvtxa__place *place, uint32_t style, uint32_t *ret) {
  size_t slot;
  if (nvtxa__table_reserve(&g->table, g->groups->count + 1, hash_group, g) != 0) {
    return -1;
  }
  *ret = look_up(g, place, style, &slot);
  if (*ret != NO_GROUP) {
    return 0;
  }
  if (nvtxa__reserve(&g->groups->items, &g->capacity, g->groups->count + 1,
                     sizeof *g->groups->items) != 0) {
    return -1;
  }
  *ret = (uint32_t)g->groups->count;
  g->groups->items[g->groups->count++] = (nvtxa__group){
      .number = *ret, .scope = place->scope, .context = place->context, .style = style};
  nvtxa__table_put(&g->table, slot, *ret);
  return 0;
}

static nvtxa_status too_large(const grouping *g, const nvtxa__group *group, const char *what,
                              nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  nvtxa_text name = nvtxa__scope_name(&g->analysis->scopes, group->scope);
  return nvtxa__fail(reterr, NVTXA_ERROR_OVERFLOW,
                     &(nvtxa__where){
                         .hint = "A total of more than 292 years: are the report's times right?",
                     },
                     "%s of the ranges named '%s' pass 64 bits in sum", what,
                     nvtxa__quote(quoted, name.data, name.length));
}

/* Where a row stands; NULL for one that is in no group. */
static inline const nvtxa__place *place_of(const grouping *g, size_t row, uint32_t *ret_number,
                                           uint32_t *ret_style) {
  *ret_number = (uint32_t)nvtxa__packed_get(g->places, row);
  const nvtxa__place *place = &g->analysis->places.items[*ret_number];
  if (place->iteration || nvtxa__range_is_open(g->ranges, row)) {
    return NULL;
  }
  *ret_style = g->host ? 0 : nvtxa__range_style(g->ranges, row);
  return place;
}

static inline bool is_latest(const grouping *g, uint32_t number, uint32_t style) {
  uint32_t latest = g->latest[number];
  return latest != NO_GROUP && g->groups->items[latest].style == style;
}

/* The group of a row, once all rows were dealt out; NO_GROUP for one that is in none. Several
 * threads may ask. */
static inline uint32_t group_of(const grouping *g, size_t row) {
  uint32_t number;
  uint32_t style;
  size_t slot;
  const nvtxa__place *place = place_of(g, row, &number, &style);
  return place == NULL                 ? NO_GROUP
         : is_latest(g, number, style) ? g->latest[number]
                                       : look_up(g, place, style, &slot);
}

static nvtxa_status deal_out(grouping *g, nvtxa_error **reterr) {
  const nvtxa_ranges *ranges = g->ranges;
  for (size_t row = 0; row < ranges->count; row++) {
    uint32_t number;
    uint32_t style;
    const nvtxa__place *place = place_of(g, row, &number, &style);
    if (place == NULL) {
      continue;
    }
    if (!is_latest(g, number, style) && find_group(g, place, style, &g->latest[number]) != 0) {
      return nvtxa__out_of_memory(reterr);
    }
    nvtxa__group *group = &g->groups->items[g->latest[number]];
    group->instances++;
    int64_t more =
        g->host ? nvtxa__range_child_total_ns(ranges, row) : nvtxa__range_duration_ns(ranges, row);
    if (__builtin_add_overflow(group->sum, more, &group->sum)) {
      return too_large(g, group, g->host ? "the children's times" : "the host times", reterr);
    }
    if (!g->host && __builtin_add_overflow(group->operations,
                                           nvtxa__packed_get(&ranges->gpu_operation_count, row),
                                           &group->operations)) {
      return too_large(g, group, "the operation counts", reterr);
    }
  }
  return NVTXA_OK;
}

/* ---- numbers ---- */

static int64_t measured(const nvtxa_ranges *ranges, size_t row, measure which) {
  return which == PROJECTED ? nvtxa__packed_get(&ranges->projected_duration_ns, row)
         : which == INCLUSIVE
             ? nvtxa__range_duration_ns(ranges, row)
             : nvtxa__range_duration_ns(ranges, row) - nvtxa__range_child_total_ns(ranges, row);
}

/* Lay the durations of the groups from `begin` on, before `end`, side by side. */
static void gather(measuring *m, size_t begin, size_t end) {
  const grouping *g = m->table;
  m->first[begin + 1] = 0;
  for (size_t i = begin; i + 1 < end; i++) {
    m->first[i + 2] = m->first[i + 1] + g->groups->items[i].instances;
  }
  /* Filling moves where a group begins to where it ends, which is where the next one begins. */
  for (size_t row = 0; row < g->ranges->count; row++) {
    uint32_t number = group_of(g, row);
    if (number >= begin && number < end) {
      m->values[m->first[number + 1]++] = measured(g->ranges, row, m->which);
    }
  }
  m->first[begin] = 0;
}

/* As many groups from `begin` on as there is room for, one at least. */
static size_t next_groups(const grouping *g, size_t begin, size_t room) {
  size_t end = begin;
  size_t count = 0;
  do {
    count += g->groups->items[end++].instances;
  } while (end < g->groups->count && g->groups->items[end].instances + count <= room);
  return end;
}

/* A part of the groups at a time: durations side by side are wide, and all of them many. */
static nvtxa_status summarize(measuring *m, size_t room, nvtxa_error **reterr) {
  const grouping *g = m->table;
  for (size_t begin = 0, end; begin < g->groups->count; begin = end) {
    end = next_groups(g, begin, room);
    gather(m, begin, end);
    for (size_t i = begin; i < end; i++) {
      nvtxa__group *group = &g->groups->items[i];
      bool second = m->which == EXCLUSIVE;
      if (!nvtxa__summarize(m->values + m->first[i], group->instances,
                            second ? &group->second : &group->first,
                            second ? &group->second_percentiles : &group->first_percentiles)) {
        return too_large(g, group, "the durations", reterr);
      }
    }
  }
  return NVTXA_OK;
}

/* What is the most that a part of the groups has. */
static size_t most_values(const grouping *g, size_t room) {
  size_t most = 0;
  size_t all = 0;
  for (size_t i = 0; i < g->groups->count; i++) {
    size_t count = g->groups->items[i].instances;
    most = count > most ? count : most;
    all += count;
  }
  most = most > room ? most : room;
  return most < all ? most : all;
}

static void measure_all(measuring *m) {
  const grouping *g = m->table;
  size_t room = g->ranges->count / 4 > FEW_VALUES ? g->ranges->count / 4 : FEW_VALUES;
  m->first = nvtxa__alloc_zero(g->groups->count + 2, sizeof *m->first);
  m->values = nvtxa__alloc(most_values(g, room) + 1, sizeof *m->values);
  m->status = m->first == NULL || m->values == NULL ? nvtxa__out_of_memory(&m->error)
                                                    : summarize(m, room, &m->error);
  free(m->first);
  free(m->values);
}

/* ---- order ---- */

/* Tuples name by name: at the first that differs; else the shorter tuple comes first. */
static int compare_scopes(const nvtxa__scopes *scopes, uint32_t a, uint32_t b) {
  const nvtxa__scope *items = scopes->items;
  uint32_t a_depth = items[a].depth;
  uint32_t b_depth = items[b].depth;
  int order = (a_depth > b_depth) - (a_depth < b_depth);
  for (; a_depth > b_depth; a_depth--) {
    a = items[a].parent;
  }
  for (; b_depth > a_depth; b_depth--) {
    b = items[b].parent;
  }
  while (a != b) {
    if (items[a].parent == items[b].parent) {
      return nvtxa__text_compare(nvtxa__scope_name(scopes, a), nvtxa__scope_name(scopes, b));
    }
    a = items[a].parent;
    b = items[b].parent;
  }
  return order;
}

static int compare_groups(const void *a, const void *b, void *user) {
  const nvtxa_analysis *analysis = user;
  const nvtxa__group *x = a;
  const nvtxa__group *y = b;
  int order = x->scope == y->scope ? 0 : compare_scopes(&analysis->scopes, x->scope, y->scope);
  if (order == 0) {
    order = (int)x->context - (int)y->context;
  }
  if (order == 0 && x->style != y->style) {
    const nvtxa__intern *styles = &analysis->gpu->styles;
    order = nvtxa__text_compare(styles->texts[x->style], styles->texts[y->style]);
  }
  return order;
}

/* ---- names ---- */

/* Before anything is rendered: does it all fit? */
static nvtxa_status check_names(const grouping *g, size_t *used, nvtxa_error **reterr) {
  const nvtxa__scope *scopes = g->analysis->scopes.items;
  for (size_t i = 0; i < g->groups->count; i++) {
    const nvtxa__scope *scope = &scopes[g->groups->items[i].scope];
    if (scope->length > longest_names - *used) {
      return nvtxa__fail(reterr, NVTXA_ERROR_LIMIT, NULL,
                         "the names of all scopes together pass %zu bytes, the limit; ranges nest "
                         "%u deep",
                         longest_names, (unsigned)scope->depth);
    }
    *used += scope->length;
  }
  return NVTXA_OK;
}

/* The names of a scope joined by dots, written from the last to the first. */
static int render_name(nvtxa_analysis *analysis, nvtxa__group *group) {
  const nvtxa__scopes *scopes = &analysis->scopes;
  size_t length = scopes->items[group->scope].length;
  size_t depth = scopes->items[group->scope].depth;
  char *name = nvtxa__arena_alloc(&analysis->names, length + 1);
  group->path = nvtxa__arena_alloc(&analysis->names, depth * sizeof *group->path);
  if (name == NULL || group->path == NULL) {
    return -1;
  }
  size_t at = length;
  name[at] = '\0';
  for (uint32_t s = group->scope; s != NVTXA__NO_SCOPE; s = scopes->items[s].parent) {
    nvtxa_text part = nvtxa__scope_name(scopes, s);
    group->path[--depth] = scopes->items[s].name;
    at -= part.length;
    if (part.length > 0) {
      memcpy(name + at, part.data, part.length);
    }
    if (at > 0) {
      name[--at] = '.';
    }
  }
  group->name = (nvtxa_text){name, length};
  return 0;
}

/* ---- one table ---- */

static void deal_out_table(void *user) {
  grouping *g = user;
  size_t place_count = g->analysis->places.count;
  g->latest = nvtxa__alloc(place_count + 1, sizeof *g->latest);
  if (g->latest == NULL) {
    g->status = nvtxa__out_of_memory(&g->error);
    return;
  }
  memset(g->latest, 0xFF, place_count * sizeof *g->latest); /* NO_GROUP */
  g->status = deal_out(g, &g->error);
}

static nvtxa_status name_and_sort(grouping *g, size_t *used, nvtxa_error **reterr) {
  nvtxa_status status = check_names(g, used, reterr);
  for (size_t i = 0; i < g->groups->count && status == NVTXA_OK; i++) {
    if (render_name(g->analysis, &g->groups->items[i]) != 0) {
      status = nvtxa__out_of_memory(reterr);
    }
  }
  if (status == NVTXA_OK && g->groups->count > 0) {
    qsort_r(g->groups->items, g->groups->count, sizeof *g->groups->items, compare_groups,
            g->analysis);
  }
  return status;
}

/* ---- both ---- */

typedef struct both {
  grouping host;
  grouping gpu;
  measuring inclusive;
  measuring exclusive;
  measuring projected;
} both;

/* A further thread's part: about as much as the inclusive times alone. */
static void measure_others(void *user) {
  both *b = user;
  measure_all(&b->projected);
  measure_all(&b->exclusive);
}

/* The first that failed gives the error. */
static nvtxa_status settle(nvtxa_status status, nvtxa_status more, nvtxa_error *error,
                           nvtxa_error **reterr) {
  if (status == NVTXA_OK && more != NVTXA_OK) {
    return nvtxa__pass_on(reterr, more, error);
  }
  nvtxa_error_free(error);
  return status;
}

static nvtxa_status count_up(both *b, nvtxa_error **reterr) {
  bool worth_a_thread = b->host.ranges->count + b->gpu.ranges->count >= MANY_ROWS &&
                        b->host.analysis->thread_count != 1;
  nvtxa__task task;
  nvtxa__task_begin(&task, deal_out_table, &b->gpu, worth_a_thread);
  deal_out_table(&b->host);
  nvtxa__task_wait(&task);
  nvtxa_status status = settle(NVTXA_OK, b->host.status, b->host.error, reterr);
  status = settle(status, b->gpu.status, b->gpu.error, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  nvtxa__task_begin(&task, measure_others, b, worth_a_thread);
  measure_all(&b->inclusive);
  nvtxa__task_wait(&task);
  status = settle(NVTXA_OK, b->inclusive.status, b->inclusive.error, reterr);
  status = settle(status, b->exclusive.status, b->exclusive.error, reterr);
  return settle(status, b->projected.status, b->projected.error, reterr);
}

/* ---- which rows a GPU group is of ---- */

/* By row of the GPU table: the number of its group, or NO_GROUP. As long as the groups stand as
 * they were made. */
static int number_rows(const grouping *g, uint32_t **ret_rows) {
  uint32_t *rows = nvtxa__alloc(g->ranges->count + 1, sizeof *rows);
  *ret_rows = rows;
  for (size_t row = 0; row < g->ranges->count && rows != NULL; row++) {
    rows[row] = group_of(g, row);
  }
  return rows == NULL ? -1 : 0;
}

/* From the groups' numbers to their positions, once they are sorted. */
static int follow_sorting(const grouping *g, uint32_t *rows) {
  uint32_t *position = nvtxa__alloc(g->groups->count + 1, sizeof *position);
  if (position == NULL) {
    return -1;
  }
  for (size_t i = 0; i < g->groups->count; i++) {
    position[g->groups->items[i].number] = (uint32_t)i;
  }
  for (size_t row = 0; row < g->ranges->count; row++) {
    rows[row] = rows[row] == NO_GROUP ? NO_GROUP : position[rows[row]];
  }
  free(position);
  return 0;
}

nvtxa_status nvtxa__make_groups(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  both b = {
      .host =
          {
              .analysis = analysis,
              .ranges = analysis->host,
              .places = &analysis->places.host,
              .host = true,
              .groups = &analysis->host_groups,
          },
      .gpu =
          {
              .analysis = analysis,
              .ranges = analysis->gpu,
              .places = &analysis->places.gpu,
              .groups = &analysis->gpu_groups,
          },
      .inclusive = {.table = &b.host, .which = INCLUSIVE},
      .exclusive = {.table = &b.host, .which = EXCLUSIVE},
      .projected = {.table = &b.gpu, .which = PROJECTED},
  };
  grouping *const tables[] = {&b.host, &b.gpu};
  size_t used = 0;
  nvtxa_status status = count_up(&b, reterr);
  if (status == NVTXA_OK && nvtxa__has_gpu_operations(analysis) &&
      number_rows(&b.gpu, &analysis->gpu_group) != 0) {
    status = nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < NVTXA__COUNT(tables); i++) {
    if (status == NVTXA_OK) {
      status = name_and_sort(tables[i], &used, reterr);
    }
    nvtxa__table_free(&tables[i]->table);
    free(tables[i]->latest);
  }
  return status == NVTXA_OK && analysis->gpu_group != NULL &&
                 follow_sorting(&b.gpu, analysis->gpu_group) != 0
             ? nvtxa__out_of_memory(reterr)
             : status;
}
