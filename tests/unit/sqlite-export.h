/*
 * Small SQLite exports for the tests: made from SQL in a directory of their own, read, and shown
 * row by row as text, so that a test compares one string.
 */
#ifndef SQLITE_EXPORT_H
#define SQLITE_EXPORT_H

#include <criterion/criterion.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranges/ranges-internal.h"

/* Serialized thread ids: A and B are threads of process 7, C is one of process 8. */
#define TID_A "117440519"
#define TID_B "117440520"
#define TID_C "134217736"
#define PID_A "117440512"
#define PID_C "134217728"

#define EVENTS_TABLE                                                                      \
  "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT " \
  "NULL, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
#define STRINGS_TABLE \
  "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
#define VERSION_TABLE                                      \
  "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);" \
  "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.7.2');"
#define CUDA_TABLES                                                        \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end " \
  "INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER);"           \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end "  \
  "INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER);"
#define SCHEMA VERSION_TABLE EVENTS_TABLE STRINGS_TABLE CUDA_TABLES

/* Push/pop ranges of thread A: "(start, end, text), ..." */
#define RANGES(rows)                                                         \
  "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) SELECT " \
  "column1, column2, 59, column3, " TID_A " FROM (VALUES " rows ");"
/* Any events: "(start, end, type, text, thread, end thread, text id, domain id), ..." */
#define EVENTS(rows) "INSERT INTO NVTX_EVENTS VALUES " rows ";"
/* "(start, end, thread, correlation id), ..." */
#define CALLS(rows) "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES " rows ";"
/* "(start, end, correlation id, process), ..." */
#define KERNELS(rows) "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES " rows ";"

/* Tables with all that is read of GPU work, and what its numbers stand for. */
#define GPU_TABLES                                                                               \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, "     \
  "globalTid INTEGER, correlationId INTEGER);"                                                   \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, "      \
  "deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, "              \
  "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, registersPerThread "         \
  "INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, "       \
  "blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId "        \
  "INTEGER);"                                                                                    \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, "      \
  "deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, "              \
  "correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind "          \
  "INTEGER, dstKind INTEGER, graphNodeId INTEGER);"                                              \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, "      \
  "deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, "              \
  "correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER, "    \
  "graphNodeId INTEGER);"                                                                        \
  "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, " \
  "correlationId INTEGER, globalPid INTEGER);"                                                   \
  "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);"                                        \
  "INSERT INTO TARGET_INFO_GPU VALUES (0, 'H100'), (1, 'A10, 24 GB');"                           \
  "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT);"                         \
  "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, '', 'Pageable'), (1, '', 'Pinned'), (2, '', "       \
  "'Device');"                                                                                   \
  "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT);"                      \
  "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, '', 'Host-to-Device'), (2, '', "                 \
  "'Device-to-Host');"
#define GPU_SCHEMA VERSION_TABLE EVENTS_TABLE STRINGS_TABLE GPU_TABLES

/* "(id, text), ..." */
#define STRINGS(rows) "INSERT INTO StringIds VALUES " rows ";"
/* Kernels of device 0 in such tables: "(start, end, correlation id, process, name id), ..." */
#define NAMED_KERNELS(rows)                                                                  \
  "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT column1, column2, 0, 1, NULL, 7, column3, " \
  "column4, column5, 32, 128, 2, 1, 256, 1, 1, 64, 1024, NULL FROM (VALUES " rows ");"
/* "(start, end, device, green context, correlation id, bytes, kind, source, destination), ..." */
#define COPIES(rows)                                                                          \
  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT column1, column2, column3, 1, column4, 13, " \
  "column5, " PID_A ", column6, column7, column8, column9, NULL FROM (VALUES " rows ");"
/* "(start, end, correlation id, bytes, kind of memory), ..." */
#define FILLS(rows)                                                                  \
  "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET SELECT column1, column2, 0, 1, NULL, 13, " \
  "column3, " PID_A ", 0, column4, column5, NULL FROM (VALUES " rows ");"
/* "(start, end, device, correlation id, process), ..." */
#define GRAPHS(rows) "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES " rows ";"

/* A file that is there until sample_free(). */
typedef struct sample {
  char directory[32];
  char path[64];
} sample;

static inline sample sample_empty(void) {
  sample s = {"/tmp/nvtxa-test-XXXXXX", ""};
  cr_assert_not_null(mkdtemp(s.directory));
  snprintf(s.path, sizeof s.path, "%s/trace.sqlite", s.directory);
  return s;
}

static inline void sample_run(const sample *s, const char *sql) {
  sqlite3 *database = NULL;
  char *message = NULL;
  cr_assert_eq(sqlite3_open(s->path, &database), SQLITE_OK);
  cr_assert_eq(sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_exec(database, sql, NULL, NULL, &message);
  cr_assert_null(message, "%s in:\n%.500s", message, sql);
  cr_assert_eq(sqlite3_close(database), SQLITE_OK);
}

static inline sample sample_new(const char *sql) {
  sample s = sample_empty();
  sample_run(&s, sql);
  return s;
}

static inline void sample_free(sample *s) {
  unlink(s->path);
  cr_expect_eq(rmdir(s->directory), 0, "something was left in %s", s->directory);
}

/* ---- tables ---- */

typedef struct tables {
  nvtxa_ranges *host;
  nvtxa_ranges *gpu;
} tables;

static inline tables tables_read(const char *path) {
  tables t = {NULL, NULL};
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_ranges_read_sqlite(path, NULL, &t.host, &t.gpu, &error);
  cr_assert_eq(status, NVTXA_OK, "%s: %s", nvtxa_status_name(status),
               error ? nvtxa_error_message(error) : "no error");
  cr_assert_null(error);
  cr_assert(t.host != NULL && t.gpu != NULL);
  return t;
}

static inline void tables_free(tables *t) {
  nvtxa_ranges_unref(t->host);
  nvtxa_ranges_unref(t->gpu);
}

static inline tables tables_of(const char *sql) {
  sample s = sample_new(sql);
  tables t = tables_read(s.path);
  sample_free(&s);
  return t;
}

/* The table of GPU-projected ranges alone, with GPU work. */
static inline nvtxa_ranges *gpu_table_read(const char *path, nvtxa_gpu_detail detail) {
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges *gpu = NULL;
  nvtxa_error *error = NULL;
  options.gpu_detail = detail;
  nvtxa_status status = nvtxa_ranges_read_sqlite(path, &options, NULL, &gpu, &error);
  cr_assert_eq(status, NVTXA_OK, "%s: %s", nvtxa_status_name(status),
               error ? nvtxa_error_message(error) : "no error");
  return gpu;
}

static inline nvtxa_ranges *gpu_table_of(const char *sql, nvtxa_gpu_detail detail) {
  sample s = sample_new(sql);
  nvtxa_ranges *gpu = gpu_table_read(s.path, detail);
  sample_free(&s);
  return gpu;
}

static inline void show_common(nvtxa__buffer *text, const nvtxa_range *range) {
  nvtxa__buffer_printf(text, "%lld%s<", (long long)range->range_id, range->open ? "*" : "");
  if (range->has_parent) {
    nvtxa__buffer_printf(text, "%lld", (long long)range->parent_id);
  } else {
    nvtxa__buffer_printf(text, "-");
  }
  nvtxa__buffer_printf(text, " %lld+%lld", (long long)range->start_ns,
                       (long long)range->duration_ns);
}

/* A table as text, a line a row: id, `*` where it was not measured, parent, start, duration; the
 * children's total for host ranges; style, projection and operations for the others; the name. The
 * caller frees it. */
static inline char *show(const nvtxa_ranges *ranges) {
  nvtxa__buffer text = {0};
  bool host = nvtxa_ranges_report(ranges) == NVTXA_REPORT_PUSHPOP_TRACE;
  for (size_t i = 0; i < nvtxa_ranges_count(ranges); i++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    cr_assert_eq(nvtxa_ranges_get(ranges, i, &range), NVTXA_OK);
    show_common(&text, &range);
    if (host) {
      nvtxa__buffer_printf(&text, " %lld ", (long long)range.child_total_ns);
      cr_expect_eq(range.exclusive_ns, range.duration_ns - range.child_total_ns);
    } else {
      nvtxa__buffer_printf(&text, " %.*s %lld+%lld x%lld ", (int)range.style.length,
                           range.style.data, (long long)range.projected_start_ns,
                           (long long)range.projected_duration_ns,
                           (long long)range.gpu_operation_count);
    }
    nvtxa__buffer_add(&text, range.name.data, range.name.length);
    nvtxa__buffer_add(&text, "\n", 1);
  }
  nvtxa__buffer_add(&text, "", 1);
  return text.data;
}

/* The kinds of a table's warnings, each behind a space. */
static inline void show_warnings(const nvtxa_ranges *ranges, char *out, size_t size) {
  size_t length = 0;
  out[0] = '\0';
  for (size_t i = 0; i < nvtxa_ranges_warning_count(ranges) && length < size; i++) {
    length += (size_t)snprintf(out + length, size - length, " %d",
                               (int)nvtxa_ranges_warning(ranges, i).kind);
  }
}

static inline void expect_table(const nvtxa_ranges *ranges, const char *wanted,
                                const char *wanted_warnings) {
  char warnings[64];
  char *text = show(ranges);
  show_warnings(ranges, warnings, sizeof warnings);
  cr_expect_str_eq(text, wanted, "got:\n%swanted:\n%s", text, wanted);
  cr_expect_str_eq(warnings, wanted_warnings, "warnings are '%s', not '%s', of:\n%s", warnings,
                   wanted_warnings, text);
  free(text);
}

/* ---- errors ---- */

/* Reading fails so, and the error names the file and says `parts`, which are set apart by '|'. */
static inline void expect_error(const char *path, nvtxa_status wanted, const char *parts) {
  tables t = {NULL, NULL};
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_ranges_read_sqlite(path, NULL, &t.host, &t.gpu, &error);
  cr_assert_eq(status, wanted, "got %s, not %s: %s", nvtxa_status_name(status),
               nvtxa_status_name(wanted), error ? nvtxa_error_message(error) : "no error");
  cr_assert_not_null(error);
  cr_expect_eq(nvtxa_error_status(error), wanted);
  cr_expect(t.host == NULL && t.gpu == NULL);
  cr_expect(nvtxa_error_file(error) != NULL && strcmp(nvtxa_error_file(error), path) == 0,
            "the error names no file: %s", nvtxa_error_message(error));
  char part[128];
  for (const char *at = parts; *at != '\0';) {
    size_t length = strcspn(at, "|");
    snprintf(part, sizeof part, "%.*s", (int)length, at);
    cr_expect(strstr(nvtxa_error_message(error), part) != NULL, "'%s' lacks '%s'",
              nvtxa_error_message(error), part);
    at += length + (at[length] == '|');
  }
  nvtxa_error_free(error);
}

#endif
