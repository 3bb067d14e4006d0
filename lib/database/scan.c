/*
 * Tables, row by row. The rows come through an aggregate function of our own rather than one by one
 * from sqlite3_step(): the values are the same, and a scan takes half the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database-internal.h"

static const char schema_hint[] =
    "The export is of a schema that is not known, or another tool made it.";

nvtxa_status nvtxa__database_has_table(nvtxa__database *database, const char *table, bool *ret_has,
                                       nvtxa_error **reterr) {
  sqlite3_stmt *statement = NULL;
  nvtxa_status status = NVTXA_OK;
  *ret_has = false;
  /* Views and virtual tables have no root page. */
  int answer =
      sqlite3_prepare_v2(database->handle,
                         "SELECT rootpage FROM sqlite_master WHERE type IN ('table', 'view') AND "
                         "name = ?1 COLLATE NOCASE",
                         -1, &statement, NULL);
  if (answer == SQLITE_OK) {
    answer = sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
  }
  if (answer == SQLITE_OK) {
    answer = sqlite3_step(statement);
  }
  if (answer == SQLITE_ROW) {
    *ret_has = sqlite3_column_int64(statement, 0) > 0;
    if (!*ret_has) {
      status = nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_TABLE,
                           &(nvtxa__where){.file = database->path,
                                           .field = table,
                                           .hint = "nsys writes plain tables. The file was made or "
                                                   "changed by something else."},
                           "%s is a view or a virtual table, which is not read", table);
    }
  } else {
    status = nvtxa__database_failed(database, answer, reterr);
  }
  sqlite3_finalize(statement);
  return status;
}

/* ---- the statement ---- */

/* What a table has of what is wanted of it. */
typedef struct layout {
  bool has[NVTXA__MOST_COLUMNS];
  const char *row_id; /* a name that no column has and hides; NULL: there is none left */
  bool computed;      /* some column is an expression */
} layout;

static nvtxa_status read_layout(const nvtxa__row *row, size_t count, layout *ret,
                                nvtxa_error **reterr) {
  static const char *const row_ids[] = {"rowid", "_rowid_", "oid"};
  enum { NAME = 1, HIDDEN = 6 };
  sqlite3_stmt *statement = NULL;
  bool taken[NVTXA__COUNT(row_ids)] = {false};
  char sql[96];
  snprintf(sql, sizeof sql, "PRAGMA table_xinfo(\"%s\")", row->table);
  *ret = (layout){.row_id = NULL};
  int answer = sqlite3_prepare_v2(row->database->handle, sql, -1, &statement, NULL);
  while (answer == SQLITE_OK && (answer = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(statement, NAME);
    answer = name == NULL ? SQLITE_NOMEM : SQLITE_OK;
    for (size_t i = 0; i < count && name != NULL; i++) {
      const char *wanted = row->columns[i].name;
      ret->has[i] = ret->has[i] || (wanted != NULL && strcasecmp(name, wanted) == 0);
    }
    for (size_t i = 0; i < NVTXA__COUNT(row_ids) && name != NULL; i++) {
      taken[i] = taken[i] || strcasecmp(name, row_ids[i]) == 0;
    }
    ret->computed = ret->computed || sqlite3_column_int(statement, HIDDEN) != 0;
  }
  sqlite3_finalize(statement);
  for (size_t i = NVTXA__COUNT(row_ids); i-- > 0;) {
    ret->row_id = taken[i] ? ret->row_id : row_ids[i];
  }
  return nvtxa__database_failed(row->database, answer, reterr);
}

/* NOT INDEXED keeps the order of the row ids. */
static nvtxa_status compose(const nvtxa__row *row, size_t count, nvtxa__buffer *sql,
                            nvtxa_error **reterr) {
  const nvtxa__where where = {
      .file = row->database->path, .field = row->table, .hint = schema_hint};
  layout found;
  nvtxa_status status = read_layout(row, count, &found, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  if (found.computed) {
    return nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_TABLE, &where,
                       "%s has computed columns, which are not evaluated", row->table);
  }
  if (found.row_id == NULL) {
    return nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_TABLE, &where,
                       "%s has columns of all names by which a row id is read", row->table);
  }
  int result = nvtxa__buffer_printf(sql, "SELECT " NVTXA__TAKE_FUNCTION "(%s", found.row_id);
  for (size_t i = 0; i < count; i++) {
    const nvtxa__column *column = &row->columns[i];
    if (!found.has[i] && !column->optional) {
      return nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_COLUMN, &where, "%s lacks the column '%s'",
                         row->table, column->name);
    }
    result |= found.has[i] ? nvtxa__buffer_printf(sql, ", \"%s\"", column->name)
                           : nvtxa__buffer_printf(sql, ", NULL");
  }
  result |= nvtxa__buffer_printf(sql, ") FROM \"%s\" NOT INDEXED", row->table);
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

/* ---- rows ---- */

static void take(sqlite3_context *context, int count, sqlite3_value **cells) {
  nvtxa__row *row = sqlite3_user_data(context);
  (void)count;
  row->cells = cells;
  if (!row->take(row->user, row)) {
    sqlite3_result_error(context, "refused", -1);
  }
}

static void end(sqlite3_context *context) {
  sqlite3_result_null(context);
}

static int run(nvtxa__database *database, const char *sql, nvtxa__row *row) {
  sqlite3_stmt *statement = NULL;
  int answer = sqlite3_create_function(database->handle, NVTXA__TAKE_FUNCTION, -1,
                                       SQLITE_UTF8 | SQLITE_DIRECTONLY, row, NULL, take, end);
  if (answer == SQLITE_OK) {
    answer = sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL);
  }
  if (answer == SQLITE_OK) {
    answer = sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return answer;
}

nvtxa_status nvtxa__database_scan(nvtxa__database *database, const char *table,
                                  const nvtxa__column *columns, size_t count, nvtxa__row_fn take_fn,
                                  void *user, nvtxa_error **reterr) {
  nvtxa__row row = {
      .database = database,
      .table = table,
      .columns = columns,
      .take = take_fn,
      .user = user,
      .reterr = reterr,
  };
  nvtxa__buffer sql = {0};
  nvtxa_status status = compose(&row, count, &sql, reterr);
  if (status == NVTXA_OK) {
    int answer = run(database, sql.data, &row);
    status = row.status != NVTXA_OK ? row.status : nvtxa__database_failed(database, answer, reterr);
  }
  nvtxa__buffer_free(&sql);
  return status;
}

/* ---- refusing ---- */

static const char *describe(nvtxa__row *row, size_t column, char quoted[NVTXA__QUOTED]) {
  switch (sqlite3_value_type(row->cells[column + 1])) {
    case SQLITE_NULL:
      return "NULL";
    case SQLITE_BLOB:
      return "a blob";
    default: {
      nvtxa_text text = nvtxa__row_text(row, column);
      return nvtxa__quote(quoted, text.data, text.length);
    }
  }
}

bool nvtxa__row_refuse(nvtxa__row *row, size_t column, const char *what) {
  char quoted[NVTXA__QUOTED];
  const char *name = row->columns[column].name;
  const char *value = describe(row, column, quoted);
  const char *quote = value == quoted ? "'" : "";
  row->status = nvtxa__fail(row->reterr, NVTXA_ERROR_SQLITE_VALUE,
                            &(nvtxa__where){.file = row->database->path,
                                            .field = name,
                                            .hint = "The export is damaged, or another tool "
                                                    "changed it."},
                            "%s, row %lld, column '%s': %s%s%s %s", row->table,
                            (long long)nvtxa__row_id(row), name, quote, value, quote, what);
  return false;
}

bool nvtxa__row_out_of_memory(nvtxa__row *row) {
  row->status = nvtxa__out_of_memory(row->reterr);
  return false;
}

bool nvtxa__row_limit(nvtxa__row *row, size_t limit) {
  row->status = nvtxa__fail(row->reterr, NVTXA_ERROR_LIMIT,
                            &(nvtxa__where){.file = row->database->path, .field = row->table},
                            "%s has more than %zu rows, the limit", row->table, limit);
  return false;
}

/* ---- cells ---- */

bool nvtxa__row_odd_integer(nvtxa__row *row, size_t column, int64_t *ret) {
  const double exact = 9007199254740992.0; /* 2^53: up to here a double holds every integer */
  sqlite3_value *cell = row->cells[column + 1];
  if (sqlite3_value_type(cell) == SQLITE_FLOAT) {
    double value = sqlite3_value_double(cell);
    if (value >= -exact && value <= exact && value == (double)(int64_t)value) {
      *ret = (int64_t)value;
      return true;
    }
  }
  return nvtxa__row_refuse(row, column, "is not a 64-bit integer");
}

static bool check_time(nvtxa__row *row, size_t column, int64_t time_ns) {
  const int64_t furthest_ns = (int64_t)1 << 62;
  return (time_ns > -furthest_ns && time_ns < furthest_ns) ||
         nvtxa__row_refuse(row, column, "is no timestamp in nanoseconds: it lies 146 years off");
}

bool nvtxa__row_time(nvtxa__row *row, size_t column, int64_t *ret) {
  return nvtxa__row_integer(row, column, ret) && check_time(row, column, *ret);
}

bool nvtxa__row_time_or_null(nvtxa__row *row, size_t column, bool *ret_has, int64_t *ret) {
  return nvtxa__row_integer_or_null(row, column, ret_has, ret) &&
         (!*ret_has || check_time(row, column, *ret));
}

nvtxa_text nvtxa__row_text(nvtxa__row *row, size_t column) {
  sqlite3_value *cell = row->cells[column + 1];
  const char *data;
  switch (sqlite3_value_type(cell)) {
    case SQLITE_NULL:
      return (nvtxa_text){NULL, 0};
    case SQLITE_BLOB:
      data = sqlite3_value_blob(cell);
      break;
    default:
      data = (const char *)sqlite3_value_text(cell);
      break;
  }
  /* An empty blob has no bytes, and neither has a text for which there was no memory. */
  return (nvtxa_text){data == NULL ? "" : data,
                      data == NULL ? 0 : (size_t)sqlite3_value_bytes(cell)};
}
