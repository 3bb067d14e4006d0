/*
 * The five largest scopes inside the iterations, by host-inclusive and by GPU-projected time.
 * Scopes nest and GPU spans overlap, so neither column adds up; a share is given of host time only,
 * where both sides are the same measure on the same clock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scopes.h"
#include "table.h"
#include "text.h"

enum { TOP = 5, CELLS = 4, NAME_AT_LEAST = 16 };

struct row {
  size_t position; /* of the group in the analysis */
  int64_t total_ns;
  char *name; /* made to fit */
  char cells[CELLS][CLI_CELL];
};

/* The largest groups of one measure, the largest first. */
struct top {
  const char *headers[1 + CELLS];
  size_t count;  /* rows filled */
  size_t groups; /* groups there are */
  struct row rows[TOP];
};

/* Insert, keeping the order; of equal totals the earlier group stays in front. */
static void offer(struct top *top, size_t position, int64_t total_ns) {
  size_t i = top->count;
  top->groups++;
  while (i > 0 && top->rows[i - 1].total_ns < total_ns) {
    i--;
  }
  if (i == TOP) {
    return;
  }
  size_t kept = top->count < TOP ? top->count : TOP - 1;
  memmove(top->rows + i + 1, top->rows + i, (kept - i) * sizeof top->rows[0]);
  top->rows[i] = (struct row){.position = position, .total_ns = total_ns};
  top->count = kept + 1;
}

/* ---- host ---- */

static nvtxa_host_group host_group(const nvtxa_analysis *analysis, size_t position) {
  nvtxa_host_group group = {.size = sizeof group};
  nvtxa_analysis_host_group(analysis, position, &group);
  return group;
}

static void fill_host(struct top *top, const nvtxa_analysis *analysis,
                      const nvtxa_iteration_summary *sum) {
  double whole = sum->host_iterations > 0 ? (double)sum->host_inclusive.total_ns : 0;
  for (size_t i = 0; i < nvtxa_analysis_host_group_count(analysis); i++) {
    nvtxa_host_group group = host_group(analysis, i);
    if (group.context == NVTXA_CONTEXT_ITERATION) {
      offer(top, i, group.inclusive.total_ns);
    }
  }
  for (size_t i = 0; i < top->count; i++) {
    struct row *row = &top->rows[i];
    nvtxa_host_group group = host_group(analysis, row->position);
    snprintf(row->cells[0], CLI_CELL, "%" PRIu64, group.instances);
    cli_format_duration(row->cells[1], (double)group.inclusive.total_ns);
    cli_format_duration(row->cells[2], group.inclusive.mean_ns);
    if (whole > 0) {
      snprintf(row->cells[3], CLI_CELL, "%.1f %%", 100 * (double)group.inclusive.total_ns / whole);
    } else {
      snprintf(row->cells[3], CLI_CELL, "-");
    }
  }
}

static bool name_host(struct top *top, const nvtxa_analysis *analysis, size_t columns) {
  for (size_t i = 0; i < top->count; i++) {
    nvtxa_text name = host_group(analysis, top->rows[i].position).name;
    top->rows[i].name = cli_fit_text(name.data, name.length, columns);
    if (top->rows[i].name == NULL) {
      return false;
    }
  }
  return true;
}

/* ---- GPU ---- */

static nvtxa_gpu_group gpu_group(const nvtxa_analysis *analysis, size_t position) {
  nvtxa_gpu_group group = {.size = sizeof group};
  nvtxa_analysis_gpu_group(analysis, position, &group);
  return group;
}

static void fill_gpu(struct top *top, const nvtxa_analysis *analysis) {
  for (size_t i = 0; i < nvtxa_analysis_gpu_group_count(analysis); i++) {
    nvtxa_gpu_group group = gpu_group(analysis, i);
    if (group.context == NVTXA_CONTEXT_ITERATION) {
      offer(top, i, group.projected.total_ns);
    }
  }
  for (size_t i = 0; i < top->count; i++) {
    struct row *row = &top->rows[i];
    nvtxa_gpu_group group = gpu_group(analysis, row->position);
    snprintf(row->cells[0], CLI_CELL, "%" PRIu64, group.instances);
    snprintf(row->cells[1], CLI_CELL, "%" PRId64, group.gpu_operation_count);
    cli_format_duration(row->cells[2], (double)group.projected.total_ns);
    cli_format_duration(row->cells[3], group.projected.mean_ns);
  }
}

static bool is_push_pop(nvtxa_text style) {
  return style.length == strlen("PushPop") && memcmp(style.data, "PushPop", style.length) == 0;
}

/* A scope may stand there once a style: the unusual ones are named. */
static bool name_gpu(struct top *top, const nvtxa_analysis *analysis, size_t columns) {
  for (size_t i = 0; i < top->count; i++) {
    nvtxa_gpu_group group = gpu_group(analysis, top->rows[i].position);
    bool usual = is_push_pop(group.style);
    char *style = cli_fit_text(group.style.data, group.style.length, NAME_AT_LEAST / 2);
    size_t taken = usual || style == NULL ? 0 : strlen(" ()") + cli_text_columns(style);
    char *name = cli_fit_text(group.name.data, group.name.length, columns - taken);
    bool done = style != NULL && name != NULL;
    if (done && asprintf(&top->rows[i].name, usual ? "%s" : "%s (%s)", name, style) < 0) {
      top->rows[i].name = NULL;
      done = false;
    }
    free(style);
    free(name);
    if (!done) {
      return false;
    }
  }
  return true;
}

/* ---- both ---- */

/* How wide everything but the names is. */
static size_t other_columns(const struct top *top) {
  size_t sum = 0;
  for (size_t cell = 0; cell < CELLS; cell++) {
    size_t widest = strlen(top->headers[cell + 1]);
    for (size_t i = 0; i < top->count; i++) {
      size_t length = strlen(top->rows[i].cells[cell]);
      widest = length > widest ? length : widest;
    }
    sum += CLI_TABLE_GAP + widest;
  }
  return sum;
}

static size_t widest_name(const struct top *top, size_t widest) {
  for (size_t i = 0; i < top->count; i++) {
    size_t columns = cli_text_columns(top->rows[i].name);
    widest = columns > widest ? columns : widest;
  }
  return widest;
}

static bool print_top(const struct top *top, size_t name_columns, bool colour) {
  if (top->count == 0) {
    printf("%s   none inside the iterations\n", top->headers[0]);
    return true;
  }
  cli_table *table = cli_table_new(top->headers, 1 + CELLS, 2 + name_columns, colour);
  bool done = table != NULL;
  for (size_t i = 0; i < top->count && done; i++) {
    char *name = NULL;
    const struct row *row = &top->rows[i];
    done = asprintf(&name, "  %s", row->name) >= 0;
    if (done) {
      const char *cells[] = {name, row->cells[0], row->cells[1], row->cells[2], row->cells[3]};
      done = cli_table_add(table, cells);
      free(name);
    }
  }
  done = done && cli_table_print(table, stdout);
  cli_table_free(table);
  return done;
}

static void print_note(const struct top *host, const struct top *gpu) {
  if (host->count < host->groups || gpu->count < gpu->groups) {
    printf("Largest %zu of %zu host and %zu of %zu GPU scopes. ", host->count, host->groups,
           gpu->count, gpu->groups);
  }
  if (host->count + gpu->count > 0) {
    printf("Scopes overlap: they do not add up.\n");
  }
}

bool cli_scopes_print(const nvtxa_analysis *analysis, const nvtxa_iteration_summary *sum,
                      size_t columns, bool colour) {
  struct top host = {.headers = {"host scope", "calls", "total", "mean", "share of iterations"}};
  struct top gpu = {.headers = {"GPU scope", "calls", "ops", "total", "mean"}};
  fill_host(&host, analysis, sum);
  fill_gpu(&gpu, analysis);
  size_t host_rest = other_columns(&host);
  size_t gpu_rest = other_columns(&gpu);
  size_t rest = 2 + (host_rest > gpu_rest ? host_rest : gpu_rest);
  size_t room = columns > rest + NAME_AT_LEAST ? columns - rest : NAME_AT_LEAST;
  bool done = name_host(&host, analysis, room) && name_gpu(&gpu, analysis, room);
  if (done) {
    size_t name_columns = widest_name(&gpu, widest_name(&host, strlen("host scope")));
    done = print_top(&host, name_columns, colour);
    printf("\n");
    done = done && print_top(&gpu, name_columns, colour);
    print_note(&host, &gpu);
  }
  for (size_t i = 0; i < TOP; i++) {
    free(host.rows[i].name);
    free(gpu.rows[i].name);
  }
  return done;
}
