/*
 * Tables by libsmartcols. It counts columns by the locale; what it would do to texts itself
 * (cutting, escaping) is switched off, because it depends on where standard output goes.
 */
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>

#include "table.h"
#include "terminal.h"

struct cli_table {
  struct libscols_table *scols;
  size_t count;
};

static bool add_column(struct libscols_table *scols, const char *header, size_t columns, int flags,
                       bool bold) {
  struct libscols_column *column = scols_table_new_column(scols, header, (double)columns, flags);
  if (column == NULL) {
    return false;
  }
  return !bold || scols_cell_set_color(scols_column_get_header(column), CLI_BOLD) == 0;
}

cli_table *cli_table_new(const char *const *headers, size_t count, size_t first_columns,
                         bool bold_headers) {
  cli_table *table = calloc(1, sizeof *table);
  if (table == NULL) {
    return NULL;
  }
  table->count = count;
  table->scols = scols_new_table();
  bool done = table->scols != NULL && scols_table_set_column_separator(table->scols, "   ") == 0 &&
              scols_table_set_termforce(table->scols, SCOLS_TERMFORCE_NEVER) == 0 &&
              scols_table_enable_noencoding(table->scols, 1) == 0 &&
              scols_table_enable_minout(table->scols, 1) == 0 &&
              scols_table_enable_colors(table->scols, bold_headers) == 0;
  for (size_t i = 0; i < count && done; i++) {
    done = add_column(table->scols, headers[i], i == 0 ? first_columns : 0,
                      i == 0 ? 0 : SCOLS_FL_RIGHT, bold_headers);
  }
  if (!done) {
    cli_table_free(table);
    return NULL;
  }
  return table;
}

bool cli_table_add(cli_table *table, const char *const *cells) {
  struct libscols_line *line = scols_table_new_line(table->scols, NULL);
  bool done = line != NULL;
  for (size_t i = 0; i < table->count && done; i++) {
    done = scols_line_set_data(line, i, cells[i]) == 0;
  }
  return done;
}

bool cli_table_print(cli_table *table, FILE *stream) {
  return scols_table_set_stream(table->scols, stream) == 0 && scols_print_table(table->scols) == 0;
}

void cli_table_free(cli_table *table) {
  if (table != NULL) {
    scols_unref_table(table->scols);
    free(table);
  }
}

void cli_format_duration(char cell[CLI_CELL], double ns) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  size_t unit = 0;
  /* 999.95 would print as 1000.0 */
  while (unit < 3 && ns >= 999.95) {
    ns /= 1000;
    unit++;
  }
  snprintf(cell, CLI_CELL, "%.1f %s", ns, units[unit]);
}
