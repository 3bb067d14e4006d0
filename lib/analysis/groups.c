/*
 * Ranges aggregated: one group for each scope in each context (and style, for GPU records). Rows
 * are dealt out to groups first; then each group's durations lie side by side and are summarised.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis-internal.h"

#define NO_GROUP UINT32_MAX

/* Rendered scopes of one analysis may take this many bytes in all: deep nesting makes them long. */
static const size_t longest_names = (size_t)1 << 28;

typedef struct grouping {
  nvtxa_analysis *analysis;
  const nvtxa_ranges *ranges;
  const nvtxa__place *places;
  bool host;
  nvtxa__groups *groups;
  size_t capacity;
  nvtxa__table table;
  uint32_t *latest;   /* by scope: the group found for it last, or NO_GROUP */
  uint32_t *group_of; /* by row */
  size_t *first;      /* by group: where its values begin; one more at the end */
  int64_t *values;
} grouping;

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

/* The group of a row that stands at `place`, if it is that of the last row of this scope. */
static inline bool find_latest(const grouping *g, const nvtxa__place *place, uint32_t style,
                               uint32_t *ret_group) {
  *ret_group = g->latest[place->scope];
  return *ret_group != NO_GROUP && is_group_of(&g->groups->items[*ret_group], place, style);
}

/* The group of a row that stands at `place`. */
static int find_group(grouping *g, const nvtxa__place *place, uint32_t style, uint32_t *ret_group) {
  nvtxa__group wanted = {.scope = place->scope, .context = place->context, .style = style};
  if (nvtxa__table_reserve(&g->table, g->groups->count + 1, hash_group, g) != 0) {
    return -1;
  }
  size_t slot;
  uint32_t found = nvtxa__table_first(&g->table, hash_key(&wanted), &slot);
  for (; found != NVTXA__NO_ITEM; found = nvtxa__table_next(&g->table, &slot)) {
    if (is_group_of(&g->groups->items[found], place, style)) {
      *ret_group = found;
      return 0;
    }
  }
  if (nvtxa__reserve(&g->groups->items, &g->capacity, g->groups->count + 1,
                     sizeof *g->groups->items) != 0) {
    return -1;
  }
  *ret_group = (uint32_t)g->groups->count;
  g->groups->items[g->groups->count++] = wanted;
  nvtxa__table_put(&g->table, slot, *ret_group);
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

static nvtxa_status deal_out(grouping *g, nvtxa_error **reterr) {
  const nvtxa_ranges *ranges = g->ranges;
  for (size_t row = 0; row < ranges->count; row++) {
    g->group_of[row] = NO_GROUP;
    if (g->places[row].iteration || ranges->open[row]) {
      continue;
    }
    uint32_t style = g->host ? 0 : ranges->style[row];
    const nvtxa__place *place = &g->places[row];
    if (!find_latest(g, place, style, &g->group_of[row])) {
      if (find_group(g, place, style, &g->group_of[row]) != 0) {
        return nvtxa__out_of_memory(reterr);
      }
      g->latest[place->scope] = g->group_of[row];
    }
    nvtxa__group *group = &g->groups->items[g->group_of[row]];
    group->instances++;
    int64_t more = g->host ? ranges->child_total_ns[row] : ranges->duration_ns[row];
    if (__builtin_add_overflow(group->sum, more, &group->sum)) {
      return too_large(g, group, g->host ? "the children's times" : "the host times", reterr);
    }
    if (!g->host && __builtin_add_overflow(group->operations, ranges->gpu_operation_count[row],
                                           &group->operations)) {
      return too_large(g, group, "the operation counts", reterr);
    }
  }
  return NVTXA_OK;
}

/* ---- numbers ---- */

typedef enum measure { INCLUSIVE, EXCLUSIVE, PROJECTED } measure;

/* Lay the durations of each group side by side. */
static void gather(grouping *g, measure which) {
  const nvtxa_ranges *ranges = g->ranges;
  for (size_t i = 0; i < g->groups->count; i++) {
    g->first[i + 1] = g->first[i] + g->groups->items[i].instances;
  }
  for (size_t row = ranges->count; row-- > 0;) {
    if (g->group_of[row] != NO_GROUP) {
      g->values[--g->first[g->group_of[row] + 1]] =
          which == PROJECTED   ? ranges->projected_duration_ns[row]
          : which == INCLUSIVE ? ranges->duration_ns[row]
                               : ranges->duration_ns[row] - ranges->child_total_ns[row];
    }
  }
}

static nvtxa_status summarize(grouping *g, measure which, nvtxa_error **reterr) {
  gather(g, which);
  /* Filling moved each group's end to its beginning. */
  for (size_t i = 0; i < g->groups->count; i++) {
    nvtxa__group *group = &g->groups->items[i];
    nvtxa_summary *result = which == EXCLUSIVE ? &group->second : &group->first;
    if (!nvtxa__summarize(g->values + g->first[i + 1], group->instances, result)) {
      return too_large(g, group, "the durations", reterr);
    }
  }
  return NVTXA_OK;
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

static nvtxa_status make(grouping *g, size_t *used, nvtxa_error **reterr) {
  nvtxa_status status = deal_out(g, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  g->first = nvtxa__alloc_zero(g->groups->count + 1, sizeof *g->first);
  if (g->first == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  status = summarize(g, g->host ? INCLUSIVE : PROJECTED, reterr);
  if (status == NVTXA_OK && g->host) {
    status = summarize(g, EXCLUSIVE, reterr);
  }
  if (status == NVTXA_OK) {
    status = check_names(g, used, reterr);
  }
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

static nvtxa_status group_table(nvtxa_analysis *analysis, const nvtxa_ranges *ranges,
                                const nvtxa__place *places, nvtxa__groups *groups, size_t *used,
                                nvtxa_error **reterr) {
  grouping g = {
      .analysis = analysis,
      .ranges = ranges,
      .places = places,
      .host = ranges->report == NVTXA_REPORT_PUSHPOP_TRACE,
      .groups = groups,
      .latest = nvtxa__alloc(analysis->scopes.count + 1, sizeof *g.latest),
      .group_of = nvtxa__alloc(ranges->count + 1, sizeof *g.group_of),
      .values = nvtxa__alloc(ranges->count + 1, sizeof *g.values),
  };
  nvtxa_status status = NVTXA_OK;
  if (g.latest == NULL || g.group_of == NULL || g.values == NULL) {
    status = nvtxa__out_of_memory(reterr);
  } else {
    memset(g.latest, 0xFF, analysis->scopes.count * sizeof *g.latest); /* NO_GROUP */
    status = make(&g, used, reterr);
  }
  nvtxa__table_free(&g.table);
  free(g.latest);
  free(g.group_of);
  free(g.first);
  free(g.values);
  return status;
}

nvtxa_status nvtxa__make_groups(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  size_t used = 0;
  nvtxa_status status = group_table(analysis, analysis->host, analysis->host_places,
                                    &analysis->host_groups, &used, reterr);
  if (status == NVTXA_OK) {
    status = group_table(analysis, analysis->gpu, analysis->gpu_places, &analysis->gpu_groups,
                         &used, reterr);
  }
  return status;
}
