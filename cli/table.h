/*
 * Tables for a person, laid out by libsmartcols, and the durations in them.
 */
#ifndef NVTXA_CLI_TABLE_H
#define NVTXA_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What stands between two columns takes this many. */
#define CLI_TABLE_GAP 3

typedef struct cli_table cli_table;

/* The first column is flush left and at least `first_columns` wide, the others are flush right.
 * Texts are shown as they are: escape them before. NULL when out of memory. */
cli_table *cli_table_new(const char *const *headers, size_t count, size_t first_columns,
                         bool bold_headers);

/* A row: one cell for each header. False when out of memory. */
bool cli_table_add(cli_table *table, const char *const *cells);

/* Print it. False when out of memory. */
bool cli_table_print(cli_table *table, FILE *stream);

void cli_table_free(cli_table *table);

/* A duration in the unit that leaves one to three digits before the point: "138.1 us". */
enum { CLI_CELL = 32 };
void cli_format_duration(char cell[CLI_CELL], double ns);

#endif
