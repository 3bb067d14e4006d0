/*
 * An nsys SQLite export, opened so that nothing in it is executed and nothing in it is changed
 * (database.c), and its tables read row by row, their columns found by name (scan.c). What the
 * tables mean is for others to know.
 */
#ifndef NVTXA_DATABASE_INTERNAL_H
#define NVTXA_DATABASE_INTERNAL_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "base/base-internal.h"

/* ---- database.c ---- */

#define NVTXA__VERSION_TEXT 32

typedef struct nvtxa__database {
  sqlite3 *handle;
  const char *path;          /* borrowed, for messages */
  const nvtxa_hooks *hooks;  /* borrowed */
  nvtxa__activity *activity; /* borrowed; NULL: none to show */
  struct stat opened;        /* what the file was when it was opened */
} nvtxa__database;

/* Open read-only. One connection is used by one thread at a time. nvtxa__database_close() is due
 * whatever comes of it. */
nvtxa_status nvtxa__database_open(nvtxa__database *database, const char *path,
                                  const nvtxa_hooks *hooks, nvtxa__activity *activity,
                                  nvtxa_error **reterr);
void nvtxa__database_close(nvtxa__database *database);

/* Fails where the file is no longer what it was when it was opened. */
nvtxa_status nvtxa__database_check_unchanged(const nvtxa__database *database, nvtxa_error **reterr);

/* The error for what SQLite answered, NVTXA_OK for what is none. */
nvtxa_status nvtxa__database_failed(const nvtxa__database *database, int answer,
                                    nvtxa_error **reterr);

/* What the export says of itself; "" where it does not. */
typedef struct nvtxa__export_versions {
  char schema[NVTXA__VERSION_TEXT];  /* "3.7.2" */
  char product[NVTXA__VERSION_TEXT]; /* "2023.4.4.54" */
} nvtxa__export_versions;

nvtxa_status nvtxa__database_versions(nvtxa__database *database, nvtxa__export_versions *ret,
                                      nvtxa_error **reterr);

/* Open, read the versions, close. */
nvtxa_status nvtxa__export_versions_of(const char *path, const nvtxa_hooks *hooks,
                                       nvtxa__export_versions *ret, nvtxa_error **reterr);

/* Whether the schema is of a major version that the tests hold this library against. */
bool nvtxa__schema_is_known(const char *schema_version);

/* ---- scan.c ---- */

/* The SQL function through which the rows come. */
#define NVTXA__TAKE_FUNCTION "nvtxa_take"

enum { NVTXA__MOST_COLUMNS = 24 };

/* Whether there is a table of that name. A view or a virtual table in its place is an error. */
nvtxa_status nvtxa__database_has_table(nvtxa__database *database, const char *table, bool *ret_has,
                                       nvtxa_error **reterr);

typedef struct nvtxa__column {
  const char *name; /* NULL: a column that the table does not have */
  bool optional;    /* where the table lacks it, every cell is NULL */
} nvtxa__column;

/* A row in hand; its cells are numbered as the columns were asked for. */
typedef struct nvtxa__row nvtxa__row;

/* Take a row. False ends the scan; the error was made by a function below. */
typedef bool (*nvtxa__row_fn)(void *user, nvtxa__row *row);

/* A table that is there, row by row, in the order of the row ids. */
nvtxa_status nvtxa__database_scan(nvtxa__database *database, const char *table,
                                  const nvtxa__column *columns, size_t count, nvtxa__row_fn take,
                                  void *user, nvtxa_error **reterr);

struct nvtxa__row {
  sqlite3_value **cells; /* the row id, then the columns */
  const nvtxa__database *database;
  const char *table;
  const nvtxa__column *columns;
  nvtxa__row_fn take;
  void *user;
  nvtxa_status status; /* once a row was refused */
  nvtxa_error **reterr;
};

/* Refuse the row for a cell: "NVTX_EVENTS, row 7, column 'start': 'x' WHAT". Returns false. */
bool nvtxa__row_refuse(nvtxa__row *row, size_t column, const char *what);
/* Refuse it for lack of memory or for more rows than numbers can tell. Returns false. */
bool nvtxa__row_out_of_memory(nvtxa__row *row);
bool nvtxa__row_limit(nvtxa__row *row, size_t limit);

bool nvtxa__row_odd_integer(nvtxa__row *row, size_t column, int64_t *ret);

static inline int64_t nvtxa__row_id(const nvtxa__row *row) {
  return sqlite3_value_int64(row->cells[0]);
}

/* An integer; a number that is stored as a real one is taken where nothing is lost. False: refused.
 */
static inline bool nvtxa__row_integer(nvtxa__row *row, size_t column, int64_t *ret) {
  sqlite3_value *cell = row->cells[column + 1];
  if (sqlite3_value_type(cell) != SQLITE_INTEGER) {
    return nvtxa__row_odd_integer(row, column, ret);
  }
  *ret = sqlite3_value_int64(cell);
  return true;
}

/* The same, or *ret_has is false for NULL. */
static inline bool nvtxa__row_integer_or_null(nvtxa__row *row, size_t column, bool *ret_has,
                                              int64_t *ret) {
  int type = sqlite3_value_type(row->cells[column + 1]);
  *ret_has = type != SQLITE_NULL;
  if (type == SQLITE_INTEGER) {
    *ret = sqlite3_value_int64(row->cells[column + 1]);
    return true;
  }
  return type == SQLITE_NULL || nvtxa__row_odd_integer(row, column, ret);
}

/* The same for a time in nanoseconds, which is refused where a difference of two might not fit 64
 * bits. */
bool nvtxa__row_time(nvtxa__row *row, size_t column, int64_t *ret);
bool nvtxa__row_time_or_null(nvtxa__row *row, size_t column, bool *ret_has, int64_t *ret);

/* The bytes of a text or blob; a number as text; no text for NULL. Valid until the row is left. */
nvtxa_text nvtxa__row_text(nvtxa__row *row, size_t column);

#endif
