/*
 * One row a name. Rows are formatted twice, to see how much room they leave for names and to add
 * them, so that a long table is not held twice.
 */
#include "roots_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "terminal.h"
#include "text.h"

/* Room for three parts of two 64-bit numbers each, and for how many more there are. */
enum { CELLS = 5, CELL = 192, PARTS = 3, NAME_AT_LEAST = 16 };

static const char *const headers[1 + CELLS] = {"  root range", "instances",  "threads",
                                               "total",        "iterations", "indexes"};

typedef struct line {
  char cells[CELLS][CELL];
} line;

/* ---- cells ---- */

/* "0..49" from a sorted list, "0..3, 5, 9 and 12 more" where it has many gaps. */
static void format_indexes(char cell[CELL], const cli_root *root) {
  size_t length = 0;
  size_t named = 0;
  size_t i = 0;
  for (int part = 0; part < PARTS && i < root->iterations; part++) {
    int64_t first = root->indexes[i];
    int64_t last = first;
    for (; i < root->iterations && root->indexes[i] - last <= 1; i++) {
      last = root->indexes[i];
    }
    named += (size_t)(last - first) + 1;
    length +=
        (size_t)snprintf(cell + length, CELL - length, "%s%" PRId64, part > 0 ? ", " : "", first);
    if (last > first) {
      length += (size_t)snprintf(cell + length, CELL - length, "..%" PRId64, last);
    }
  }
  if (named < root->distinct) {
    snprintf(cell + length, CELL - length, " and %zu more", root->distinct - named);
  }
}

static void format(line *shown, const cli_root *root) {
  snprintf(shown->cells[0], CELL, root->open > 0 ? "%zu (%zu open)" : "%zu", root->instances,
           root->open);
  snprintf(shown->cells[1], CELL, "%zu", root->threads);
  if (root->open < root->instances) {
    cli_format_duration(shown->cells[2], root->total_ns);
  } else {
    snprintf(shown->cells[2], CELL, "-");
  }
  snprintf(shown->cells[3], CELL, "%zu", root->iterations);
  if (root->iterations > 0) {
    format_indexes(shown->cells[4], root);
  } else {
    snprintf(shown->cells[4], CELL, "-");
  }
}

/* ---- the table ---- */

/* How many columns are left for names on a line of standard output. */
static size_t name_columns(const cli_roots *roots, size_t count) {
  size_t widest[CELLS];
  size_t columns = cli_stream_columns(stdout);
  size_t taken = 2;
  for (size_t cell = 0; cell < CELLS; cell++) {
    widest[cell] = strlen(headers[1 + cell]);
  }
  for (size_t i = 0; i < count; i++) {
    line shown;
    format(&shown, &roots->roots[i]);
    for (size_t cell = 0; cell < CELLS; cell++) {
      size_t length = strlen(shown.cells[cell]);
      widest[cell] = length > widest[cell] ? length : widest[cell];
    }
  }
  for (size_t cell = 0; cell < CELLS; cell++) {
    taken += CLI_TABLE_GAP + widest[cell];
  }
  return columns > taken + NAME_AT_LEAST ? columns - taken : NAME_AT_LEAST;
}

static bool add(cli_table *table, const cli_root *root, size_t columns) {
  char *fitted = cli_fit_text(root->name.data, root->name.length, columns);
  char *name = NULL;
  line shown;
  bool done = fitted != NULL &&
              asprintf(&name, "%s %s", cli_root_is_candidate(root) ? "*" : " ", fitted) >= 0;
  if (done) {
    format(&shown, root);
    const char *cells[1 + CELLS] = {name,           shown.cells[0], shown.cells[1],
                                    shown.cells[2], shown.cells[3], shown.cells[4]};
    done = cli_table_add(table, cells);
    free(name);
  }
  free(fitted);
  return done;
}

static bool print_table(const cli_roots *roots, size_t count) {
  size_t columns = name_columns(roots, count);
  cli_table *table = cli_table_new(headers, 1 + CELLS, 0, cli_wants_colour(stdout));
  bool done = table != NULL;
  for (size_t i = 0; i < count && done; i++) {
    done = add(table, &roots->roots[i], columns);
  }
  done = done && cli_table_print(table, stdout);
  cli_table_free(table);
  return done;
}

static void print_notes(const cli_roots *roots, size_t count) {
  bool candidates = false;
  bool open = false;
  for (size_t i = 0; i < count; i++) {
    candidates = candidates || cli_root_is_candidate(&roots->roots[i]);
    open = open || roots->roots[i].open > 0;
  }
  if (count < roots->count) {
    printf("and %zu more; --limit all lists them.\n", roots->count - count);
  }
  if (candidates) {
    printf("* could be the capture range.\n");
  }
  if (open) {
    printf("Open ranges have no measured end: no time is counted for them.\n");
  }
}

bool cli_roots_print(const cli_roots *roots, size_t limit) {
  size_t count = roots->count < limit ? roots->count : limit;
  if (!print_table(roots, count)) {
    return false;
  }
  print_notes(roots, count);
  return true;
}
