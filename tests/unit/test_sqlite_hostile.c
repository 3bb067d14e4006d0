/* ranges/: SQLite files that are damaged, being written, or made to do harm. Each is one clear
 * error or the right answer, and neither the file nor its directory is changed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sqlite-export.h"

#include <nvtxa/stats.h>

/* A row that is right in every table. */
#define GOOD                                                                           \
  SCHEMA "INSERT INTO StringIds VALUES (1, 'top');" EVENTS(                            \
      "(0, 99, 59, NULL, " TID_A ", NULL, 1, 0), (10, 50, 59, 'in', " TID_A ", " TID_A \
      ", NULL, 3), (0, NULL, 75, 'lib', " TID_A ", NULL, NULL, 3)")                    \
      CALLS("(11, 12, " TID_A ", 1)") KERNELS("(60, 65, 1, " PID_A ")")
static const char good_host[] = "1<- 0+99 40 :top\n2<1 10+40 0 lib:in\n";
static const char good_gpu[] = "1<- 0+99 PushPop 60+5 x1 :top\n2<1 10+40 PushPop 60+5 x1 lib:in\n";

/* ---- what lies in a directory ---- */

static char *contents(const char *path, size_t *ret_length) {
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s", path);
  nvtxa__buffer data = {0};
  char part[4096];
  size_t length;
  while ((length = fread(part, 1, sizeof part, file)) > 0) {
    nvtxa__buffer_add(&data, part, length);
  }
  fclose(file);
  *ret_length = data.length;
  return data.data;
}

static void replace(const char *path, const char *data, size_t length) {
  FILE *file = fopen(path, "wb");
  cr_assert_not_null(file);
  cr_assert(length == 0 || fwrite(data, 1, length, file) == length);
  fclose(file);
}

static int skip_dots(const struct dirent *entry) {
  return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Names and bytes of all files. */
static nvtxa__buffer listing(const char *directory) {
  nvtxa__buffer all = {0};
  nvtxa__buffer_printf(&all, "files:");
  struct dirent **entries = NULL;
  int count = scandir(directory, &entries, skip_dots, alphasort);
  cr_assert_geq(count, 0);
  for (int i = 0; i < count; i++) {
    char path[320];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
    cr_assert_eq(stat(path, &status), 0);
    nvtxa__buffer_printf(&all, "%s %lld:", entries[i]->d_name, (long long)status.st_mtim.tv_nsec);
    if (S_ISREG(status.st_mode)) {
      size_t length;
      char *data = contents(path, &length);
      nvtxa__buffer_add(&all, data == NULL ? "" : data, length);
      free(data);
    }
    free(entries[i]);
  }
  free(entries);
  return all;
}

static void expect_same(const char *directory, nvtxa__buffer *before) {
  nvtxa__buffer after = listing(directory);
  cr_expect(before->length == after.length && memcmp(before->data, after.data, after.length) == 0,
            "%s was changed", directory);
  nvtxa__buffer_free(before);
  nvtxa__buffer_free(&after);
}

static void expect_refused(const sample *s, const char *path, nvtxa_status wanted,
                           const char *parts) {
  nvtxa__buffer before = listing(s->directory);
  expect_error(path, wanted, parts);
  expect_same(s->directory, &before);
}

static void expect_good(const sample *s) {
  nvtxa__buffer before = listing(s->directory);
  tables t = tables_read(s->path);
  expect_table(t.host, good_host, "");
  expect_table(t.gpu, good_gpu, "");
  tables_free(&t);
  expect_same(s->directory, &before);
}

static int drop_piece(void *user, const char *data, size_t length) {
  (void)data;
  *(size_t *)user += length;
  return 0;
}

/* Tables or an error, and never both; what is a table can be written. */
static void expect_either(const char *path) {
  tables t = {NULL, NULL};
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_ranges_read_sqlite(path, NULL, &t.host, &t.gpu, &error);
  if (status != NVTXA_OK) {
    cr_assert(error != NULL && t.host == NULL && t.gpu == NULL);
    cr_expect_eq(nvtxa_error_status(error), status);
    cr_expect_gt(strlen(nvtxa_error_message(error)), 0);
    nvtxa_error_free(error);
    return;
  }
  size_t length = 0;
  cr_assert(error == NULL && t.host != NULL && t.gpu != NULL);
  cr_expect_eq(nvtxa_stats_write(t.host, NULL, drop_piece, &length, NULL), NVTXA_OK);
  cr_expect_eq(nvtxa_stats_write(t.gpu, NULL, drop_piece, &length, NULL), NVTXA_OK);
  tables_free(&t);
}

/* ---- what is no database ---- */

Test(sqlite_hostile, other_files) {
  static const struct {
    const char *data;
    size_t length;
  } files[] = {
      {"", 0},
      {"x", 1},
      {"Start (ns),End (ns)\n1,2\n", 24},
      {"SQLite format 3", 15},
      {"SQLite format 3\0", 16},
      {"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20", 24},
      {"SQLite format 2\0\x10\0\1\1\0\x40\x20\x20", 24},
  };
  sample s = sample_empty();
  for (size_t i = 0; i < NVTXA__COUNT(files); i++) {
    replace(s.path, files[i].data, files[i].length);
    expect_refused(&s, s.path, NVTXA_ERROR_SQLITE_DAMAGED, "");
  }
  sample_free(&s);
}

Test(sqlite_hostile, no_files) {
  sample s = sample_empty();
  char path[96];
  expect_refused(&s, s.path, NVTXA_ERROR_SQLITE_MISSING, "no such");
  expect_refused(&s, s.directory, NVTXA_ERROR_IO, "not a regular file");
  snprintf(path, sizeof path, "%s/fifo", s.directory);
  cr_assert_eq(mkfifo(path, 0600), 0);
  expect_refused(&s, path, NVTXA_ERROR_IO, "not a regular file"); /* nobody will ever write */
  unlink(path);
  cr_assert_eq(symlink("nowhere", path), 0);
  expect_error(path, NVTXA_ERROR_SQLITE_MISSING, "no such");
  unlink(path);
  cr_expect_eq(rmdir(s.directory), 0);
  expect_error("/dev/null", NVTXA_ERROR_IO, "not a regular file");
  nvtxa_ranges *host = NULL;
  cr_expect_neq(nvtxa_ranges_read_sqlite("", NULL, &host, NULL, NULL), NVTXA_OK);
  cr_expect_neq(nvtxa_ranges_read_sqlite(":memory:", NULL, &host, NULL, NULL), NVTXA_OK);
}

/* Names are names, whatever SQLite may take for a URI or for a database of no file. */
Test(sqlite_hostile, odd_names) {
  static const char *const names[] = {
      "file:trace.sqlite?mode=memory", "file:", ":memory:", "a?b=c#d%41", "-trace", " ", "\xFF\n",
  };
  sample s = sample_new(GOOD);
  cr_assert_eq(chdir(s.directory), 0);
  for (size_t i = 0; i < NVTXA__COUNT(names); i++) {
    cr_assert_eq(rename(i == 0 ? "trace.sqlite" : names[i - 1], names[i]), 0);
    nvtxa__buffer before = listing(s.directory);
    tables t = tables_read(names[i]);
    expect_table(t.host, good_host, "");
    tables_free(&t);
    expect_same(s.directory, &before);
  }
  unlink(names[NVTXA__COUNT(names) - 1]);
  cr_expect_eq(rmdir(s.directory), 0);
}

/* ---- what is damaged ---- */

/* Small pages, so that there are trees of them. */
#define MUCH                                                                                   \
  "PRAGMA page_size = 512;" SCHEMA                                                             \
  "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199) INSERT INTO " \
  "NVTX_EVENTS SELECT i * 10, i * 10 + 5 * (i % 7), 59 + i % 2, printf('%.*c', i * 3, "        \
  "'n'), " TID_A                                                                               \
  ", NULL, CASE i % 3 WHEN 0 THEN i END, i % 4 FROM n;"                                        \
  "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO "  \
  "StringIds SELECT i * 2, printf('%.*c', 1000, 's') FROM n;"                                  \
  "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start, start + 1, globalTid, rowid FROM "    \
  "NVTX_EVENTS; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + 9, start + 20, "         \
  "rowid, " PID_A " FROM NVTX_EVENTS;"

Test(sqlite_hostile, truncated) {
  sample s = sample_new(MUCH);
  size_t length;
  char *data = contents(s.path, &length);
  for (size_t cut = 0; cut < length; cut += cut < 600 ? 37 : 389) {
    replace(s.path, data, cut);
    /* Not whole is not right, wherever it ends. */
    nvtxa_ranges *host = NULL;
    nvtxa_ranges *gpu = NULL;
    nvtxa_error *error = NULL;
    nvtxa_status status = nvtxa_ranges_read_sqlite(s.path, NULL, &host, &gpu, &error);
    cr_assert_eq(status, NVTXA_ERROR_SQLITE_DAMAGED, "cut at %zu of %zu: %s", cut, length,
                 nvtxa_status_name(status));
    nvtxa_error_free(error);
  }
  free(data);
  sample_free(&s);
}

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005U + 1442695040888963407U;
  return *state >> 33;
}

Test(sqlite_hostile, changed_bytes) {
  enum { ROUNDS = 800 };
  sample s = sample_new(MUCH);
  size_t length;
  uint64_t state = 7;
  char *data = contents(s.path, &length);
  char *changed = malloc(length);
  cr_assert_not_null(changed);
  for (int round = 0; round < ROUNDS; round++) {
    const size_t nears[] = {100, 512, 2048, length};
    size_t near = nears[round % 4];
    memcpy(changed, data, length);
    for (uint64_t n = (uint64_t)1 << next_random(&state) % 6; n > 0; n--) {
      size_t at = next_random(&state) % near;
      uint64_t byte = next_random(&state);
      changed[at] =
          (char)(byte % 2 == 0 ? (unsigned char)changed[at] ^ 1U << round % 8 : byte >> 8);
    }
    replace(s.path, changed, length);
    expect_either(s.path);
  }
  free(changed);
  free(data);
  sample_free(&s);
}

/* Whole pages of something else: of another table, of zeros, of noise. */
Test(sqlite_hostile, changed_pages) {
  enum { PAGE = 512 };
  sample s = sample_new(MUCH);
  size_t length;
  uint64_t state = 8;
  char *data = contents(s.path, &length);
  char *changed = malloc(length);
  cr_assert_not_null(changed);
  size_t pages = length / PAGE;
  for (size_t page = 1; page < pages; page += 1 + page / 40) {
    for (int kind = 0; kind < 3; kind++) {
      memcpy(changed, data, length);
      for (size_t i = 0; i < PAGE; i++) {
        changed[page * PAGE + i] = kind == 0 ? '\0' : (char)next_random(&state);
      }
      if (kind == 2) {
        memcpy(changed + page * PAGE, data + next_random(&state) % (pages - 1) * PAGE + PAGE, PAGE);
      }
      replace(s.path, changed, length);
      expect_either(s.path);
    }
  }
  free(changed);
  free(data);
  sample_free(&s);
}

/* ---- cells ---- */

typedef struct value_case {
  const char *table;
  const char *column;
  int nullable;
} value_case;

/* Every column of numbers, and whether NULL has a meaning there. */
static const value_case number_columns[] = {
    {"NVTX_EVENTS", "start", 0},
    {"NVTX_EVENTS", "end", 1},
    {"NVTX_EVENTS", "eventType", 0},
    {"NVTX_EVENTS", "globalTid", 0},
    {"NVTX_EVENTS", "textId", 1},
    {"NVTX_EVENTS", "domainId", 1},
    {"StringIds", "id", 0},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "start", 0},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "end", 0},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "correlationId", 1},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "globalPid", 1},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start", 0},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "end", 0},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId", 1},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid", 1},
};

/* The same tables without a type and without a constraint. */
#define UNTYPED                                                                                 \
  VERSION_TABLE                                                                                 \
  "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, endGlobalTid, textId, "    \
  "domainId); CREATE TABLE StringIds (id, value);"                                              \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId);"            \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId, globalPid);"             \
  "INSERT INTO StringIds VALUES (1, 'top');" EVENTS("(0, 99, 59, NULL, " TID_A ", NULL, 1, 0)") \
      CALLS("(11, 12, " TID_A ", 1)") KERNELS("(60, 65, 1, " PID_A ")")

static void expect_value_refused(const char *good, size_t length, const sample *s,
                                 const value_case *c, const char *value, const char *shown) {
  char sql[256];
  char parts[128];
  replace(s->path, good, length);
  snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s", c->table, c->column, value);
  sample_run(s, sql);
  snprintf(parts, sizeof parts, "%s, row 1|column '%s'|%s", c->table, c->column, shown);
  expect_refused(s, s->path, NVTXA_ERROR_SQLITE_VALUE, parts);
}

Test(sqlite_hostile, values_that_are_no_numbers) {
  static const char *const values[][2] = {
      {"'soon'", "'soon'"},
      {"'12'", "'12'"},
      {"''", "''"},
      {"x'00FF'", "a blob"},
      {"x''", "a blob"},
      {"1.5", "'1.5'"},
      {"1e300", "'1.0e+300'"},
      {"9e999", "'Inf'"},
      {"-9e999", "'-Inf'"},
      {"9007199254740994.0", "'9.00719925474099e+15'"},
      {"char(27) || '[31m'", "'\\x1B[31m'"},
  };
  sample s = sample_new(UNTYPED);
  size_t length;
  char *good = contents(s.path, &length);
  for (size_t i = 0; i < NVTXA__COUNT(number_columns); i++) {
    for (size_t k = 0; k < NVTXA__COUNT(values); k++) {
      expect_value_refused(good, length, &s, &number_columns[i], values[k][0], values[k][1]);
    }
    if (!number_columns[i].nullable) {
      expect_value_refused(good, length, &s, &number_columns[i], "NULL", "NULL");
    }
  }
  free(good);
  sample_free(&s);
}

Test(sqlite_hostile, times_that_are_too_far) {
  static const char *const values[][2] = {
      {"9223372036854775807", "'9223372036854775807'"},
      {"-9223372036854775807 - 1", "'-9223372036854775808'"},
      {"4611686018427387904", "'4611686018427387904'"},
      {"-4611686018427387904", "'-4611686018427387904'"},
  };
  sample s = sample_new(UNTYPED);
  size_t length;
  char *good = contents(s.path, &length);
  for (size_t i = 0; i < NVTXA__COUNT(number_columns); i++) {
    bool is_time = strcmp(number_columns[i].column, "start") == 0 ||
                   strcmp(number_columns[i].column, "end") == 0;
    for (size_t k = 0; k < NVTXA__COUNT(values) && is_time; k++) {
      expect_value_refused(good, length, &s, &number_columns[i], values[k][0], values[k][1]);
    }
  }
  free(good);
  sample_free(&s);
}

Test(sqlite_hostile, operations_that_end_before_they_start) {
  sample s = sample_new(UNTYPED "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 59;");
  expect_refused(&s, s.path, NVTXA_ERROR_SQLITE_VALUE,
                 "CUPTI_ACTIVITY_KIND_KERNEL, row 1|column 'end'|'59'|before");
  sample_free(&s);
}

/* As tools leave them that know no column of integers with gaps. */
Test(sqlite_hostile, integers_stored_as_reals) {
  sample s = sample_new(UNTYPED);
  for (size_t i = 0; i < NVTXA__COUNT(number_columns); i++) {
    char sql[256];
    const value_case *c = &number_columns[i];
    snprintf(sql, sizeof sql, "UPDATE %s SET %s = CAST(%s AS REAL)", c->table, c->column,
             c->column);
    sample_run(&s, sql);
  }
  tables t = tables_read(s.path);
  expect_table(t.host, "1<- 0+99 0 :top\n", "");
  expect_table(t.gpu, "1<- 0+99 PushPop 60+5 x1 :top\n", "");
  tables_free(&t);
  sample_free(&s);
}

/* The furthest times, all differences of which still fit. */
Test(sqlite_hostile, furthest_times) {
  tables t =
      tables_of(SCHEMA RANGES("(-4611686018427387903, 4611686018427387903, 'a'), "
                              "(-4611686018427387903, NULL, 'b'), "
                              "(4611686018427387903, 4611686018427387903, 'c')"));
  expect_table(t.host,
               "1<- -4611686018427387903+9223372036854775806 9223372036854775806 :a\n"
               "2*<1 -4611686018427387903+9223372036854775806 0 :b\n"
               "3<2 4611686018427387903+0 0 :c\n",
               " 24");
  tables_free(&t);
  /* Children side by side may take more than fits. */
  sample s =
      sample_new(SCHEMA RANGES("(-4611686018427387903, 4611686018427387903, 'a'), "
                               "(-4611686018427387902, 3000000000000000000, 'b'), "
                               "(-4611686018427387901, 3000000000000000001, 'c')"));
  expect_refused(&s, s.path, NVTXA_ERROR_OVERFLOW, "64 bits");
  sample_free(&s);
}

Test(sqlite_hostile, furthest_row_ids) {
  tables t = tables_of(
      SCHEMA
      "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, text, globalTid) VALUES "
      "(9223372036854775807, 0, 9, 59, 'max', " TID_A
      "), (-9223372036854775808, 0, 9, 59, "
      "'min', " TID_A "), (0, 0, 9, 59, 'zero', " TID_A
      ");"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (rowid, start, end, globalTid, "
      "correlationId) VALUES (9223372036854775807, 1, 2, " TID_A
      ", -1);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (rowid, start, end, correlationId, globalPid) "
      "VALUES (9223372036854775807, 20, 25, -1, " PID_A ");");
  expect_table(t.host,
               "-9223372036854775808<- 0+9 9 :min\n0<-9223372036854775808 0+9 9 :zero\n"
               "9223372036854775807<0 0+9 0 :max\n",
               "");
  expect_table(t.gpu,
               "-9223372036854775808<- 0+9 PushPop 20+5 x1 :min\n"
               "0<-9223372036854775808 0+9 PushPop 20+5 x1 :zero\n"
               "9223372036854775807<0 0+9 PushPop 20+5 x1 :max\n",
               "");
  tables_free(&t);
}

Test(sqlite_hostile, cells_that_are_too_large) {
  sample s = sample_new(SCHEMA EVENTS("(0, 9, 59, zeroblob(67108863), " TID_A ", NULL, NULL, 0)"));
  tables_free(&(tables[]){tables_read(s.path)}[0]);
  sample_run(&s, "UPDATE NVTX_EVENTS SET text = zeroblob(70000000)");
  expect_error(s.path, NVTXA_ERROR_LIMIT, "67108864");
  sample_free(&s);
}

/* ---- what would be executed ---- */

#define HIDDEN GOOD "ALTER TABLE NVTX_EVENTS RENAME TO hidden;"

Test(sqlite_hostile, tables_that_are_none) {
  static const struct {
    const char *sql;
    const char *parts;
  } cases[] = {
      {HIDDEN "CREATE VIEW NVTX_EVENTS AS SELECT * FROM hidden;", "NVTX_EVENTS|view"},
      {HIDDEN "CREATE VIEW nvtx_events AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
              "FROM n) SELECT i AS start, i AS end, 59 AS eventType, 1 AS globalTid FROM n;",
       "NVTX_EVENTS|view"},
      {GOOD
       "ALTER TABLE StringIds RENAME TO hidden; CREATE VIEW StringIds AS SELECT * FROM hidden;",
       "StringIds|view"},
      {GOOD "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME RENAME TO hidden; CREATE VIEW "
            "CUPTI_ACTIVITY_KIND_RUNTIME AS SELECT * FROM hidden;",
       "CUPTI_ACTIVITY_KIND_RUNTIME|view"},
      {GOOD "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO hidden; CREATE VIEW "
            "CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM hidden;",
       "CUPTI_ACTIVITY_KIND_KERNEL|view"},
      {GOOD "ALTER TABLE META_DATA_EXPORT RENAME TO hidden; CREATE VIEW META_DATA_EXPORT AS SELECT "
            "* FROM hidden;",
       "META_DATA_EXPORT|view"},
      {HIDDEN "CREATE TABLE NVTX_EVENTS (start INTEGER, length INTEGER, eventType INTEGER, "
              "globalTid INTEGER, end INTEGER GENERATED ALWAYS AS (start + length) VIRTUAL);",
       "NVTX_EVENTS|computed"},
      {HIDDEN "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid "
              "INTEGER, more TEXT GENERATED ALWAYS AS (start + 1) STORED);",
       "NVTX_EVENTS|computed"},
      /* A row id that is computed, from which nothing may be read beforehand either. */
      {HIDDEN "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid "
              "INTEGER, rowid INTEGER AS (start + 1));"
              "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid) VALUES (1, 2, 59, 3);",
       "NVTX_EVENTS|computed"},
      /* All names of the row id are taken: there is no telling which row is meant. */
      {HIDDEN "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, globalTid "
              "INTEGER, rowid INTEGER, _rowid_ TEXT, oid REAL);"
              "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid) VALUES (1, 2, 59, 3);",
       "NVTX_EVENTS|row id"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    sample s = sample_new(cases[i].sql);
    expect_refused(&s, s.path, NVTXA_ERROR_SQLITE_TABLE, cases[i].parts);
    sample_free(&s);
  }
}

Test(sqlite_hostile, tables_without_row_ids) {
  sample s = sample_new(HIDDEN
                        "CREATE TABLE NVTX_EVENTS (start INTEGER PRIMARY KEY, end INTEGER, "
                        "eventType INTEGER, globalTid INTEGER) WITHOUT ROWID;");
  expect_refused(&s, s.path, NVTXA_ERROR_SQLITE_DAMAGED, "rowid");
  sample_free(&s);
}

/* A module may not be there in the SQLite that the tests are built with. */
static bool try_sql(const sample *s, const char *sql) {
  sqlite3 *database = NULL;
  cr_assert_eq(sqlite3_open(s->path, &database), SQLITE_OK);
  bool done = sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK;
  sqlite3_close(database);
  return done;
}

static const char *const virtual_tables[] = {
    "CREATE VIRTUAL TABLE NVTX_EVENTS USING rtree(eventType, start, end, globalTid, endGlobalTid);",
    "CREATE VIRTUAL TABLE NVTX_EVENTS USING rtree_i32(eventType, start, end, globalTid, textId);",
    "CREATE VIRTUAL TABLE NVTX_EVENTS USING fts3(start, end, eventType, globalTid, text);",
    "CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(start, end, eventType, globalTid, text);",
    "CREATE VIRTUAL TABLE NVTX_EVENTS USING dbstat;",
};

Test(sqlite_hostile, virtual_tables_are_not_read) {
  for (size_t i = 0; i < NVTXA__COUNT(virtual_tables); i++) {
    sample s = sample_new(HIDDEN);
    if (try_sql(&s, virtual_tables[i])) {
      expect_refused(&s, s.path, NVTXA_ERROR_SQLITE_TABLE, "NVTX_EVENTS|virtual table");
    }
    sample_free(&s);
  }
}

/* The schema says of itself what it likes: here, that what is no table has a root page. */
#define FORGE(set)                                             \
  "PRAGMA writable_schema = ON; UPDATE sqlite_master SET " set \
  " WHERE name = 'NVTX_EVENTS' COLLATE NOCASE;"

static void expect_never_read(const sample *s) {
  tables t = {NULL, NULL};
  nvtxa_error *error = NULL;
  nvtxa__buffer before = listing(s->directory);
  nvtxa_status status = nvtxa_ranges_read_sqlite(s->path, NULL, &t.host, &t.gpu, &error);
  cr_expect(status == NVTXA_ERROR_SQLITE_DAMAGED || status == NVTXA_ERROR_SQLITE_TABLE ||
                status == NVTXA_ERROR_SQLITE_COLUMN,
            "%s: %s", nvtxa_status_name(status), error ? nvtxa_error_message(error) : "");
  cr_expect_eq(status == NVTXA_OK, error == NULL);
  nvtxa_error_free(error);
  tables_free(&t);
  expect_same(s->directory, &before);
}

Test(sqlite_hostile, virtual_tables_with_a_root_page) {
  for (size_t i = 0; i < NVTXA__COUNT(virtual_tables); i++) {
    sample s = sample_new(HIDDEN);
    if (try_sql(&s, virtual_tables[i])) {
      try_sql(&s,
              "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid) VALUES (1, 2, 59, 3)");
      sample_run(&s, FORGE("rootpage = 3"));
      expect_never_read(&s);
    }
    sample_free(&s);
  }
}

Test(sqlite_hostile, forged_schemas) {
  static const char *const forged[] = {
      HIDDEN "CREATE VIEW NVTX_EVENTS AS SELECT * FROM hidden;" FORGE("rootpage = 3"),
      HIDDEN
      "CREATE VIEW NVTX_EVENTS AS SELECT * FROM hidden;" FORGE("type = 'table', rootpage = 3"),
      GOOD FORGE("rootpage = 0"),
      GOOD FORGE("rootpage = -1"),
      GOOD FORGE("rootpage = 1"),
      GOOD FORGE("rootpage = 4000000000"),
      GOOD FORGE("rootpage = 'x'"),
      GOOD FORGE("sql = NULL"),
      GOOD FORGE("sql = 'SELECT 1'"),
      GOOD FORGE("sql = 'CREATE TABLE NVTX_EVENTS (x'"),
      GOOD FORGE("sql = 'CREATE VIEW NVTX_EVENTS AS SELECT load_extension(''x'')'"),
      GOOD FORGE("sql = 'CREATE TABLE NVTX_EVENTS (start, end)'"),
      /* Another kind of tree than the schema says. */
      GOOD "CREATE INDEX other ON NVTX_EVENTS (start);" FORGE(
          "rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'other')"),
  };
  for (size_t i = 0; i < NVTXA__COUNT(forged); i++) {
    sample s = sample_new(forged[i]);
    nvtxa__buffer before = listing(s.directory);
    expect_either(s.path);
    expect_same(s.directory, &before);
    sample_free(&s);
  }
}

/* None of it changes what is read, nor its order. */
Test(sqlite_hostile, what_does_not_matter) {
  static const char *const more[] = {
      "CREATE TRIGGER harm AFTER INSERT ON NVTX_EVENTS BEGIN DELETE FROM NVTX_EVENTS; END;",
      "CREATE INDEX backwards ON NVTX_EVENTS (start DESC, end, eventType, text, globalTid, "
      "endGlobalTid, textId, domainId); CREATE INDEX computed ON NVTX_EVENTS (abs(start)); CREATE "
      "INDEX part ON NVTX_EVENTS (text) WHERE text LIKE 'i%'; ANALYZE;",
      "ALTER TABLE NVTX_EVENTS ADD COLUMN rowid INTEGER DEFAULT 77; ALTER TABLE NVTX_EVENTS ADD "
      "COLUMN OID TEXT DEFAULT 'x';",
      "ALTER TABLE NVTX_EVENTS ADD COLUMN _ROWID_ INTEGER DEFAULT 77;",
      "CREATE TABLE \"a\"\") FROM x; --\" (x); CREATE TABLE \"NVTX_EVENTS \" (y); CREATE TABLE "
      "\"NVTX_EVENTS\"\"\" (z); CREATE VIEW NVTX_EVENT AS SELECT 1;",
      "CREATE VIEW broken AS SELECT * FROM nowhere;",
      "PRAGMA application_id = 7; PRAGMA user_version = 8;",
      "PRAGMA auto_vacuum = FULL; VACUUM;",
      "PRAGMA page_size = 65536; VACUUM;",
      "ALTER TABLE NVTX_EVENTS RENAME TO old; CREATE TABLE NVTX_EVENTS (start INT, end INT, "
      "eventType INT, text TEXT COLLATE NOCASE, globalTid INT, endGlobalTid INT, textId INT, "
      "domainId INT, CHECK (start < end)) STRICT; INSERT INTO NVTX_EVENTS SELECT start, "
      "coalesce(end, 1), eventType, text, globalTid, endGlobalTid, textId, domainId FROM old;",
  };
  for (size_t i = 0; i < NVTXA__COUNT(more); i++) {
    sample s = sample_new(GOOD);
    sample_run(&s, more[i]);
    expect_good(&s);
    sample_free(&s);
  }
}

/* A column whose collation only its maker has. */
Test(sqlite_hostile, unknown_collations) {
  sample s = sample_new(GOOD FORGE("sql = replace(sql, 'text TEXT', 'text TEXT COLLATE nowhere')"));
  expect_good(&s);
  sample_free(&s);
}

/* ---- what is being written ---- */

Test(sqlite_hostile, wal) {
  sample s = sample_new(GOOD "PRAGMA journal_mode = WAL; INSERT INTO StringIds VALUES (9, 'x');");
  cr_assert_eq(access(s.path, F_OK), 0);
  expect_refused(&s, s.path, NVTXA_ERROR_SQLITE_DAMAGED, "WAL mode");
  /* With its writer still there. */
  sqlite3 *writer = NULL;
  cr_assert_eq(sqlite3_open(s.path, &writer), SQLITE_OK);
  cr_assert_eq(sqlite3_exec(writer, "DELETE FROM StringIds", NULL, NULL, NULL), SQLITE_OK);
  expect_error(s.path, NVTXA_ERROR_SQLITE_DAMAGED, "WAL mode");
  sqlite3_close(writer);
  sample_run(&s, "PRAGMA journal_mode = DELETE");
  sample_run(&s, "INSERT OR REPLACE INTO StringIds VALUES (1, 'top')");
  expect_good(&s);
  sample_free(&s);
}

/* Whoever wrote it died half-way; what it was before stands in the journal. */
Test(sqlite_hostile, hot_journal) {
  sample s = sample_new(MUCH);
  sample torn = sample_empty();
  char journal[80];
  char torn_journal[80];
  sqlite3 *writer = NULL;
  snprintf(journal, sizeof journal, "%s-journal", s.path);
  snprintf(torn_journal, sizeof torn_journal, "%s-journal", torn.path);
  size_t old_length;
  char *old = contents(s.path, &old_length);
  cr_assert_eq(sqlite3_open(s.path, &writer), SQLITE_OK);
  cr_assert_eq(sqlite3_exec(writer,
                            "PRAGMA cache_size = 2; PRAGMA cache_spill = 1; BEGIN; UPDATE "
                            "NVTX_EVENTS SET start = start + 1, text = text || 'x'",
                            NULL, NULL, NULL),
               SQLITE_OK);
  size_t length;
  size_t journal_length;
  char *data = contents(s.path, &length);
  char *journal_data = contents(journal, &journal_length);
  cr_assert(journal_length > 512 && (length != old_length || memcmp(data, old, length) != 0),
            "nothing was spilled");
  replace(torn.path, data, length);
  replace(torn_journal, journal_data, journal_length);
  expect_refused(&torn, torn.path, NVTXA_ERROR_SQLITE_DAMAGED, "journal");
  sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_close(writer);
  /* One that is not hot: there is nothing in it. */
  replace(torn.path, old, old_length);
  replace(torn_journal, "", 0);
  nvtxa__buffer before = listing(torn.directory);
  expect_either(torn.path);
  expect_same(torn.directory, &before);
  unlink(torn_journal);
  free(old);
  free(data);
  free(journal_data);
  sample_free(&torn);
  sample_free(&s);
}

/* Holds the lock until `released` ends. */
static void hold_lock(const char *path, int ready, int released) {
  sqlite3 *writer = NULL;
  char byte = 'x';
  if (sqlite3_open(path, &writer) == SQLITE_OK &&
      sqlite3_exec(writer, "BEGIN EXCLUSIVE; DELETE FROM NVTX_EVENTS", NULL, NULL, NULL) ==
          SQLITE_OK &&
      write(ready, &byte, 1) == 1 && read(released, &byte, 1) >= 0) {
    sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL);
  }
  sqlite3_close(writer);
}

Test(sqlite_hostile, locked_by_another_process) {
  sample s = sample_new(GOOD);
  int ready[2];
  int released[2];
  char byte;
  cr_assert(pipe(ready) == 0 && pipe(released) == 0);
  pid_t child = fork();
  cr_assert_geq(child, 0);
  if (child == 0) {
    close(released[1]);
    hold_lock(s.path, ready[1], released[0]);
    _exit(0);
  }
  close(ready[1]);
  close(released[0]);
  cr_assert_eq(read(ready[0], &byte, 1), 1);
  expect_error(s.path, NVTXA_ERROR_SQLITE_DAMAGED, "locked");
  close(released[1]);
  cr_assert_eq(waitpid(child, NULL, 0), child);
  close(ready[0]);
  expect_good(&s);
  sample_free(&s);
}

Test(sqlite_hostile, locked_by_this_process) {
  sample s = sample_new(GOOD);
  sqlite3 *writer = NULL;
  cr_assert_eq(sqlite3_open(s.path, &writer), SQLITE_OK);
  cr_assert_eq(sqlite3_exec(writer, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
  expect_error(s.path, NVTXA_ERROR_SQLITE_DAMAGED, "locked");
  cr_assert_eq(sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(writer);
  expect_good(&s);
  sample_free(&s);
}

Test(sqlite_hostile, read_only_directory) {
  sample s = sample_new(GOOD);
  cr_assert_eq(chmod(s.path, 0400), 0);
  cr_assert_eq(chmod(s.directory, 0500), 0);
  expect_good(&s);
  cr_assert_eq(chmod(s.directory, 0700), 0);
  sample_free(&s);
}
