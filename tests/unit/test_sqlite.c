/* ranges/ and stats/: what an SQLite export is read as, held against small exports, against a
 * reference that looks at all pairs, and as the reports written of it. */
#include <errno.h>

#include "sqlite-export.h"

#include <nvtxa/stats.h>

/* An export and both its tables, as sqlite-export.h shows them, with their warnings. A table that
 * is NULL is not looked at. */
typedef struct read_case {
  const char *sql;
  const char *host;
  const char *host_warnings;
  const char *gpu;
  const char *gpu_warnings;
} read_case;

static void expect_cases(const read_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    tables t = tables_of(cases[i].sql);
    if (cases[i].host != NULL) {
      expect_table(t.host, cases[i].host, cases[i].host_warnings);
    }
    if (cases[i].gpu != NULL) {
      expect_table(t.gpu, cases[i].gpu, cases[i].gpu_warnings);
    }
    tables_free(&t);
  }
}

/* ---- names ---- */

Test(sqlite, names_of_ranges) {
  static const read_case cases[] = {
      /* textId counts before text. */
      {SCHEMA "INSERT INTO StringIds VALUES (4, 'known');" EVENTS(
           "(0, 9, 59, 'stale', " TID_A ", NULL, 4, 0), (1, 2, 59, NULL, " TID_A ", NULL, 4, 0)"),
       "1<- 0+9 1 :known\n2<1 1+1 0 :known\n", "", "", ""},
      {SCHEMA EVENTS("(0, 9, 59, 'beside', " TID_A ", NULL, 5, 0), (1, 2, 59, NULL, " TID_A
                     ", NULL, 5, 0)"),
       "1<- 0+9 1 :beside\n2<1 1+1 0 \n", " 26", "", ""},
      /* An id that the table has, with nothing to it. */
      {VERSION_TABLE EVENTS_TABLE
       "CREATE TABLE StringIds (id, value); INSERT INTO StringIds VALUES (5, NULL), (6, "
       "'');" EVENTS("(0, 9, 59, 'x', " TID_A ", NULL, 5, 0), (1, 2, 59, 'y', " TID_A
                     ", NULL, 6, 0)"),
       "1<- 0+9 1 :x\n2<1 1+1 0 :\n", " 26", "", ""},
      {SCHEMA RANGES("(0, 9, NULL), (1, 2, '')"), "1<- 0+9 1 \n2<1 1+1 0 :\n", "", "", ""},
      {SCHEMA RANGES("(0, 9, CAST('bytes' AS BLOB)), (1, 2, x'')"),
       "1<- 0+9 1 :bytes\n2<1 1+1 0 :\n", "", "", ""},
      {VERSION_TABLE
       "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid);" RANGES("(0, 9, 12.5)"),
       "1<- 0+9 0 :12.5\n", "", "", ""},
      /* Two bytes that are none of UTF-8, the start of a longer one, half a pair, and a blob. */
      {SCHEMA RANGES("(0, 9, CAST(x'61FFFE62' AS TEXT)), (1, 8, CAST(x'61E282' AS TEXT)), "
                     "(2, 7, CAST(x'EDA080' AS TEXT)), (3, 6, x'C0AF')"),
       NULL, NULL, NULL, NULL},
      /* No table of strings, with and without an id that asks for it. */
      {VERSION_TABLE EVENTS_TABLE EVENTS("(0, 9, 59, 'a', " TID_A ", NULL, NULL, 0)"),
       "1<- 0+9 0 :a\n", "", "", ""},
      {VERSION_TABLE EVENTS_TABLE EVENTS("(0, 9, 59, 'a', " TID_A ", NULL, 1, 0)"),
       "1<- 0+9 0 :a\n", " 26", "", ""},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, names_that_are_not_utf8) {
  tables t =
      tables_of(SCHEMA RANGES("(0, 9, CAST(x'61FFFE62' AS TEXT)), (1, 8, x'61E282'),"
                              "(2, 7, 'fine')"));
  expect_table(t.host,
               "1<- 0+9 7 :a\xEF\xBF\xBD\xEF\xBF\xBD"
               "b\n2<1 1+7 5 :a\xEF\xBF\xBD\n3<2 2+5 0 :fine\n",
               " 22");
  cr_expect_not_null(strstr(nvtxa_ranges_warning(t.host, 0).text.data, "2 ranges"));
  tables_free(&t);
}

Test(sqlite, names_with_nul_bytes) {
  tables t = tables_of(SCHEMA RANGES("(0, 9, CAST(x'610062' AS TEXT)), (1, 8, x'610063')"));
  nvtxa_range range = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_get(t.host, 0, &range), NVTXA_OK);
  cr_expect(range.name.length == 4 && memcmp(range.name.data, ":a\0b", 5) == 0);
  cr_assert_eq(nvtxa_ranges_get(t.host, 1, &range), NVTXA_OK);
  cr_expect(range.name.length == 4 && memcmp(range.name.data, ":a\0c", 5) == 0);
  tables_free(&t);
}

/* A database in UTF-16 holds the same texts. */
Test(sqlite, names_in_utf16) {
  static const read_case cases[] = {
      {"PRAGMA encoding = 'UTF-16le';" SCHEMA
       "INSERT INTO StringIds VALUES (4, 'k\xC3\xBCnftig');" EVENTS(
           "(0, 9, 59, NULL, " TID_A ", NULL, 4, 0), (1, 2, 59, x'62', " TID_A ", NULL, NULL, 0)"),
       "1<- 0+9 1 :k\xC3\xBCnftig\n2<1 1+1 0 :b\n", "", "", ""},
      {"PRAGMA encoding = 'UTF-16be';" SCHEMA RANGES("(0, 9, '\xF0\x9F\x98\x80')"),
       "1<- 0+9 0 :\xF0\x9F\x98\x80\n", "", "", ""},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, names_of_domains) {
  static const read_case cases[] = {
      /* Named after its first use, and another time. */
      {SCHEMA EVENTS("(5, 9, 59, 'step', " TID_A ", NULL, NULL, 3), (20, NULL, 75, 'later', " TID_A
                     ", NULL, NULL, 3), (7, NULL, 75, 'lib', " TID_B ", NULL, NULL, 3)"),
       "1<- 5+4 0 lib:step\n", "", "", ""},
      /* Named at the same time: the first row. */
      {SCHEMA EVENTS("(0, NULL, 75, 'one', " TID_A ", NULL, NULL, 3), (0, NULL, 75, 'two', " TID_A
                     ", NULL, NULL, 3), (5, 9, 59, 'step', " TID_A ", NULL, NULL, 3)"),
       "3<- 5+4 0 one:step\n", "", "", ""},
      /* One id in two processes. */
      {SCHEMA EVENTS(
           "(0, NULL, 75, 'seven', " TID_A ", NULL, NULL, 3), (1, NULL, 75, 'eight', " TID_C
           ", NULL, NULL, 3), (5, 9, 59, 'x', " TID_A ", NULL, NULL, 3), (6, 9, 59, 'x', " TID_C
           ", NULL, NULL, 3), (7, 9, 59, 'x', " TID_B ", NULL, NULL, 3)"),
       "3<- 5+4 0 seven:x\n4<- 6+3 0 eight:x\n5<- 7+2 0 seven:x\n", "", "", ""},
      {SCHEMA "INSERT INTO StringIds VALUES (1, 'stored'), (2, 'text');" EVENTS(
           "(0, NULL, 75, NULL, " TID_A ", NULL, 1, 3), (5, 9, 59, NULL, " TID_A ", NULL, 2, 3)"),
       "2<- 5+4 0 stored:text\n", "", "", ""},
      /* Nobody named it; it has no text at all; the range has none, though the domain does. */
      {SCHEMA EVENTS("(5, 9, 59, 'x', " TID_A ", NULL, NULL, 3)"), "1<- 5+4 0 :x\n", "", "", ""},
      {SCHEMA EVENTS("(0, NULL, 75, NULL, " TID_A ", NULL, 77, 3), (5, 9, 59, 'x', " TID_A
                     ", NULL, NULL, 3)"),
       "2<- 5+4 0 :x\n", "", "", ""},
      {SCHEMA EVENTS("(0, NULL, 75, 'lib', " TID_A ", NULL, NULL, 3), (5, 9, 59, NULL, " TID_A
                     ", NULL, NULL, 3)"),
       "2<- 5+4 0 \n", "", "", ""},
      /* The same text in two domains is two names; no domain id is the default domain. */
      {SCHEMA EVENTS("(0, NULL, 75, 'lib', " TID_A ", NULL, NULL, 3), (5, 9, 59, 'x', " TID_A
                     ", NULL, NULL, 3), (6, 9, 59, 'x', " TID_A
                     ", NULL, NULL, 0), (7, 9, 59, 'x', " TID_A ", NULL, NULL, NULL)"),
       "2<- 5+4 3 lib:x\n3<2 6+3 2 :x\n4<3 7+2 0 :x\n", "", "", ""},
      {SCHEMA EVENTS("(0, NULL, 75, x'6CFF', " TID_A ", NULL, NULL, 3), (5, 9, 59, 'x', " TID_A
                     ", NULL, NULL, 3)"),
       "2<- 5+4 0 l\xEF\xBF\xBD:x\n", " 22", "", ""},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

/* ---- which events are ranges ---- */

Test(sqlite, kinds_of_events) {
  static const read_case cases[] = {
      /* Marks, categories, imported ranges, and types that nobody knows. */
      {SCHEMA EVENTS(
           "(0, 9, 59, 'a', " TID_A ", NULL, NULL, 0), (1, 9, 70, 'b', " TID_A
           ", NULL, NULL, 0), (2, 9, 60, 'c', " TID_A ", NULL, NULL, 0), (3, 9, 71, 'd', " TID_A
           ", NULL, NULL, 0), (4, NULL, 34, 'mark', " TID_A
           ", NULL, NULL, 0), (5, NULL, 33, 'category', NULL, NULL, NULL, 0), (6, 7, 99, 'x', "
           "NULL, NULL, 'no id', 'none'), (5, 6, -59, 'x', NULL, NULL, NULL, 0), "
           "(5, 6, 4294967355, 'x', NULL, NULL, NULL, 0)") CALLS("(6, 7, " TID_A ", 1)")
           KERNELS("(20, 25, 1, " PID_A ")"),
       "1<- 0+9 8 :a\n2<1 1+8 0 :b\n", "",
       "1<- 0+9 PushPop 20+5 x1 :a\n2<1 1+8 PushPop 20+5 x1 :b\n"
       "3<2 2+7 StartEnd 20+5 x1 :c\n4<3 3+6 StartEnd 20+5 x1 :d\n",
       ""},
      /* Of start/end ranges, those that end on another thread have no place. */
      {SCHEMA EVENTS("(0, 9, 60, 'own', " TID_A ", " TID_A ", NULL, 0), (1, 9, 60, 'shared', " TID_A
                     ", " TID_B ", NULL, 0), (2, 9, 71, 'unsaid', " TID_A ", NULL, NULL, 0)")
           CALLS("(6, 7, " TID_A ", 1)") KERNELS("(20, 25, 1, " PID_A ")"),
       "", "", "1<- 0+9 StartEnd 20+5 x1 :own\n3<1 2+7 StartEnd 20+5 x1 :unsaid\n", ""},
      /* What a push/pop range says of an end thread is nothing. */
      {SCHEMA EVENTS("(0, 9, 59, 'a', " TID_A ", " TID_B ", NULL, 0)"), "1<- 0+9 0 :a\n", "", "",
       ""},
      /* The upper bytes of a thread id tell threads apart but are not shown. */
      {SCHEMA EVENTS("(0, 9, 59, 'a', (1 << 48) | " TID_A
                     ", NULL, NULL, 0), (1, 8, 59, 'b', (2 << 48) | " TID_A
                     ", NULL, NULL, 0), (2, 7, 59, 'c', -1, NULL, NULL, 0)"),
       "1<- 0+9 0 :a\n2<- 1+7 0 :b\n3<- 2+5 0 :c\n", "", "", ""},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, threads_and_processes) {
  tables t =
      tables_of(SCHEMA EVENTS("(0, 9, 59, 'a', (281474976710656 | " TID_C
                              "), NULL, NULL, 0), (1, 2, 59, 'b', " TID_B ", NULL, NULL, 0)"));
  nvtxa_range range = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_get(t.host, 0, &range), NVTXA_OK);
  cr_expect(range.process_id == 8 && range.thread_id == 8);
  cr_assert_eq(nvtxa_ranges_get(t.host, 1, &range), NVTXA_OK);
  cr_expect(range.process_id == 7 && range.thread_id == 8);
  tables_free(&t);
}

/* ---- ranges that were not measured, and ties ---- */

Test(sqlite, open_ranges) {
  static const read_case cases[] = {
      {SCHEMA RANGES("(0, NULL, 'top'), (10, 50, 'a'), (20, NULL, 'left'), (30, 40, 'b')"),
       "1*<- 0+50 40 :top\n2<1 10+40 30 :a\n3*<2 20+30 10 :left\n4<3 30+10 0 :b\n", " 24", "", ""},
      /* On another thread, the last timestamp is the same. */
      {SCHEMA EVENTS("(0, NULL, 59, 'x', " TID_A ", NULL, NULL, 0), (10, 70, 59, 'y', " TID_C
                     ", NULL, NULL, 0)"),
       "1*<- 0+70 0 :x\n2<- 10+60 0 :y\n", " 24", "", ""},
      /* Nothing has an end; nothing has happened since. */
      {SCHEMA RANGES("(5, NULL, 'a'), (9, NULL, 'b')"), "1*<- 5+4 0 :a\n2*<1 9+0 0 :b\n", " 24", "",
       ""},
      {SCHEMA RANGES("(-9, NULL, 'a')"), "1*<- -9+0 0 :a\n", " 24", "", ""},
      /* A start/end range that ends later moves the end in the report that has such ranges. */
      {SCHEMA EVENTS("(0, NULL, 59, 'x', " TID_A ", NULL, NULL, 0), (10, 20, 59, 'y', " TID_A
                     ", NULL, NULL, 0), (15, 90, 60, 'z', " TID_A ", NULL, NULL, 0)")
           CALLS("(16, 18, " TID_A ", 1)") KERNELS("(20, 25, 1, " PID_A ")"),
       "1*<- 0+20 10 :x\n2<1 10+10 0 :y\n", " 24",
       "1*<- 0+90 PushPop 20+5 x1 :x\n2<1 10+10 PushPop 20+5 x1 :y\n"
       "3<1 15+75 StartEnd 20+5 x1 :z\n",
       " 24"},
      /* There it is longer than the range beside it; here it is just as long, and row 1 is first.
       */
      {SCHEMA EVENTS("(0, NULL, 59, 'x', " TID_A ", NULL, NULL, 0), (0, 20, 59, 'y', " TID_A
                     ", NULL, NULL, 0), (15, 90, 60, 'z', " TID_A ", NULL, NULL, 0)"),
       "1*<- 0+20 20 :x\n2<1 0+20 0 :y\n", " 24", "", ""},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, ranges_that_end_before_they_start) {
  static const read_case cases[] = {
      {SCHEMA RANGES("(0, 90, 'top'), (50, 49, 'back'), (60, 70, 'after')"),
       "1<- 0+90 10 :top\n2*<1 50+0 0 :back\n3<1 60+10 0 :after\n", " 25", "", ""},
      /* An end in the past is no last timestamp, but the start is one. */
      {SCHEMA RANGES("(0, NULL, 'top'), (50, -5, 'back'), (10, 20, 'in')"),
       "1*<- 0+50 10 :top\n3<1 10+10 0 :in\n2*<1 50+0 0 :back\n", " 24 25", "", ""},
      /* With a call of no length just there, it is in the other report as well, as little measured
       * as there. It did end, though. */
      {SCHEMA RANGES("(0, 90, 'top'), (50, 49, 'back')") CALLS("(50, 50, " TID_A ", 1)")
           KERNELS("(60, 65, 1, " PID_A ")"),
       "1<- 0+90 0 :top\n2*<1 50+0 0 :back\n", " 25",
       "1<- 0+90 PushPop 60+5 x1 :top\n2*<1 50+0 PushPop 60+5 x1 :back\n", " 25"},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, ranges_with_the_same_bounds) {
  static const read_case cases[] = {
      {SCHEMA RANGES("(0, 9, 'a'), (0, 9, 'b'), (2, 5, 'in'), (0, 9, 'c')"),
       "1<- 0+9 9 :a\n2<1 0+9 9 :b\n4<2 0+9 3 :c\n3<4 2+3 0 :in\n", "", "", ""},
      /* The row id counts, not the order in the file. */
      {SCHEMA "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, text, globalTid) VALUES "
              "(9, 0, 9, 59, 'inner', " TID_A "), (3, 0, 9, 59, 'outer', " TID_A ");",
       "3<- 0+9 9 :outer\n9<3 0+9 0 :inner\n", "", "", ""},
      {SCHEMA RANGES("(5, 5, 'a'), (5, 5, 'b'), (0, 5, 'before'), (5, 9, 'after')"),
       "3<- 0+5 0 :before\n1<4 5+0 0 :a\n2<1 5+0 0 :b\n4<- 5+4 0 :after\n", "", "", ""},
      /* An instant on a border belongs to the shorter one of its two sides. */
      {SCHEMA RANGES("(0, 100, 'top'), (20, 30, 'short'), (30, 90, 'long'), (30, 30, 'at')"),
       "1<- 0+100 70 :top\n2<1 20+10 0 :short\n4<2 30+0 0 :at\n3<1 30+60 0 :long\n", "", "", ""},
  };
  /* In the last case the children of `short` are none that take time. */
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, ranges_that_overlap) {
  static const read_case cases[] = {
      {SCHEMA RANGES("(0, 10, 'a'), (5, 15, 'b'), (6, 9, 'in both'), (11, 12, 'in b')"),
       "1<- 0+10 3 :a\n2<- 5+10 1 :b\n3<1 6+3 0 :in both\n4<2 11+1 0 :in b\n", NULL, "", ""},
      {SCHEMA RANGES("(0, 100, 'top'), (10, 60, 'a'), (40, 90, 'b'), (45, 50, 'in both')"), NULL,
       NULL, "", ""},
  };
  tables t = tables_of(cases[0].sql);
  char *text = show(t.host);
  /* Both are ten long, so that either will do. */
  char *either = strdup(text);
  char *parent = strstr(either, "3<");
  cr_assert_not_null(parent);
  cr_expect(parent[2] == '1' || parent[2] == '2');
  free(either);
  free(text);
  tables_free(&t);
  t = tables_of(cases[1].sql);
  nvtxa_range range = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_get(t.host, 0, &range), NVTXA_OK);
  cr_expect_eq(range.child_total_ns, 100);
  cr_expect_eq(range.exclusive_ns, 0);
  tables_free(&t);
}

Test(sqlite, children_that_take_longer_than_their_parent) {
  tables t = tables_of(SCHEMA RANGES("(0, 10, 'top'), (0, 8, 'a'), (2, 10, 'b')"));
  nvtxa_range range = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_get(t.host, 2, &range), NVTXA_OK);
  for (size_t i = 0; i < 3; i++) {
    cr_assert_eq(nvtxa_ranges_get(t.host, i, &range), NVTXA_OK);
    if (range.range_id == 1) {
      cr_expect_eq(range.exclusive_ns, -6);
    }
  }
  tables_free(&t);
}

/* ---- the export as a whole ---- */

Test(sqlite, versions_of_the_schema) {
  static const struct {
    const char *sql;
    const char *warnings;
  } cases[] = {
      {"CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT); INSERT INTO EXPORT_META_DATA VALUES "
       "('EXPORT_SCHEMA_VERSION', '3.0.1');",
       ""},
      {"CREATE TABLE META_DATA_EXPORT (value TEXT, more INTEGER, NAME TEXT); INSERT INTO "
       "META_DATA_EXPORT VALUES ('x', 1, 'OTHER'), ('3.15.0', 2, 'EXPORT_SCHEMA_VERSION');",
       ""},
      {"", " 63"},
      {"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);", " 63"},
      {"CREATE TABLE META_DATA_EXPORT (unlike INTEGER);", " 63"},
      {"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES "
       "('EXPORT_SCHEMA_VERSION', '4.0.0');",
       " 63"},
      {"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES "
       "('EXPORT_SCHEMA_VERSION', '30.1');",
       " 63"},
      {"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES "
       "('EXPORT_SCHEMA_VERSION', '3.1; rm -rf');",
       " 63"},
      {"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES "
       "('EXPORT_SCHEMA_VERSION', '3.11111111111111111111111111111111111');",
       " 63"},
      {"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT); INSERT INTO META_DATA_EXPORT VALUES "
       "('EXPORT_SCHEMA_VERSION', NULL);",
       " 63"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    sample s = sample_new(cases[i].sql);
    sample_run(&s, EVENTS_TABLE RANGES("(0, 9, 'a')"));
    tables t = tables_read(s.path);
    expect_table(t.host, "1<- 0+9 0 :a\n", cases[i].warnings);
    /* It is said once, with the table that is wanted. */
    expect_table(t.gpu, "", "");
    tables_free(&t);
    nvtxa_ranges *gpu = NULL;
    cr_assert_eq(nvtxa_ranges_read_sqlite(s.path, NULL, NULL, &gpu, NULL), NVTXA_OK);
    expect_table(gpu, "", cases[i].warnings);
    nvtxa_ranges_unref(gpu);
    sample_free(&s);
  }
}

Test(sqlite, columns_that_are_there_or_not) {
  static const read_case cases[] = {
      /* The fewest. */
      {VERSION_TABLE "CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid); INSERT INTO "
                     "NVTX_EVENTS VALUES (0, 9, 59, " TID_A "), (1, 2, 60, " TID_A ");",
       "1<- 0+9 0 \n", "", "", ""},
      /* In another order and case, among others. */
      {VERSION_TABLE
       "CREATE TABLE nvtx_events (TEXT, GLOBALTID, more, EventType, \"END\", sTaRt, DOMAINid); "
       "INSERT INTO NVTX_EVENTS VALUES ('a', " TID_A ", 'x', 59, 9, 0, 3), ('lib', " TID_A
       ", 'x', 75, NULL, 0, 3);",
       "1<- 0+9 0 lib:a\n", "", "", ""},
      /* The row id has a name of its own. */
      {VERSION_TABLE "CREATE TABLE NVTX_EVENTS (id INTEGER PRIMARY KEY, start, end, eventType, "
                     "globalTid); INSERT INTO NVTX_EVENTS VALUES (70, 0, 9, 59, " TID_A
                     "), (60, 1, 2, 59, " TID_A ");",
       "70<- 0+9 1 \n60<70 1+1 0 \n", "", "", ""},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, needed_columns) {
  static const struct {
    const char *sql;
    const char *parts;
  } cases[] = {
      {"CREATE TABLE NVTX_EVENTS (end, eventType, globalTid);", "NVTX_EVENTS|'start'"},
      {"CREATE TABLE NVTX_EVENTS (start, eventType, globalTid);", "NVTX_EVENTS|'end'"},
      {"CREATE TABLE NVTX_EVENTS (start, end, globalTid);", "NVTX_EVENTS|'eventType'"},
      {"CREATE TABLE NVTX_EVENTS (start, end, eventType);", "NVTX_EVENTS|'globalTid'"},
      {EVENTS_TABLE "CREATE TABLE StringIds (id);" EVENTS("(0, 9, 59, 'a', " TID_A ", NULL, 1, 0)"),
       "StringIds|'value'"},
      {EVENTS_TABLE "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, correlationId);",
       "CUPTI_ACTIVITY_KIND_MEMSET|'globalPid'"},
      {EVENTS_TABLE "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, correlationId, "
                    "globalPid); INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 1, 2, 3);"
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, correlationId);",
       "CUPTI_ACTIVITY_KIND_RUNTIME|'globalTid'"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    sample s = sample_new(cases[i].sql);
    expect_error(s.path, NVTXA_ERROR_SQLITE_COLUMN, cases[i].parts);
    sample_free(&s);
  }
}

Test(sqlite, exports_without_ranges) {
  sample s = sample_new(VERSION_TABLE CUDA_TABLES);
  expect_error(s.path, NVTXA_ERROR_SQLITE_TABLE, "no NVTX data|NVTX_EVENTS");
  sample_free(&s);
  static const read_case cases[] = {
      {SCHEMA, "", "", "", ""},
      {VERSION_TABLE EVENTS_TABLE, "", "", "", ""},
      {SCHEMA EVENTS("(0, NULL, 75, 'lib', " TID_A ", NULL, NULL, 3)"), "", "", "", ""},
      /* Operations without any range. */
      {SCHEMA CALLS("(6, 7, " TID_A ", 1)") KERNELS("(20, 25, 1, " PID_A ")"), "", "", "", " 23"},
      /* Calls without operations, operations without calls, and neither. */
      {VERSION_TABLE EVENTS_TABLE RANGES(
           "(0, 9, 'a')") "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, "
                          "correlationId);" CALLS("(6, 7, " TID_A ", 1)"),
       "1<- 0+9 0 :a\n", "", "", ""},
      {VERSION_TABLE EVENTS_TABLE RANGES(
           "(0, 9, 'a')") "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId, "
                          "globalPid);" KERNELS("(20, 25, 1, " PID_A ")"),
       "1<- 0+9 0 :a\n", "", "", ""},
      {VERSION_TABLE EVENTS_TABLE RANGES("(0, 9, 'a')"), "1<- 0+9 0 :a\n", "", "", ""},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, what_is_not_wanted) {
  sample s = sample_new(SCHEMA RANGES("(0, 9, 'a')") CALLS("(6, 7, " TID_A ", 1)")
                            KERNELS("(20, 25, 1, " PID_A ")"));
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  nvtxa_error *error = NULL;
  cr_assert_eq(nvtxa_ranges_read_sqlite(s.path, NULL, &host, NULL, NULL), NVTXA_OK);
  expect_table(host, "1<- 0+9 0 :a\n", "");
  cr_assert_eq(nvtxa_ranges_read_sqlite(s.path, NULL, NULL, &gpu, NULL), NVTXA_OK);
  expect_table(gpu, "1<- 0+9 PushPop 20+5 x1 :a\n", "");
  cr_expect_eq(nvtxa_ranges_read_sqlite(s.path, NULL, NULL, NULL, &error),
               NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_error_status(error), NVTXA_ERROR_INVALID_ARGUMENT);
  nvtxa_error_free(error);
  cr_expect_eq(nvtxa_ranges_read_sqlite(NULL, NULL, NULL, NULL, NULL),
               NVTXA_ERROR_INVALID_ARGUMENT);
  nvtxa_ranges_unref(host);
  nvtxa_ranges_unref(gpu);
  /* What only the other table needs is not looked at. */
  sample_run(&s, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon'");
  cr_assert_eq(nvtxa_ranges_read_sqlite(s.path, NULL, &host, NULL, NULL), NVTXA_OK);
  nvtxa_ranges_unref(host);
  sample_free(&s);
}

Test(sqlite, cancelled) {
  sample s = sample_new(SCHEMA RANGES("(0, 9, 'a')"));
  sig_atomic_t cancel = 1;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  nvtxa_error *error = NULL;
  hooks.cancel = &cancel;
  options.hooks = &hooks;
  cr_expect_eq(nvtxa_ranges_read_sqlite(s.path, &options, &host, &gpu, &error),
               NVTXA_ERROR_CANCELLED);
  cr_expect_eq(nvtxa_error_status(error), NVTXA_ERROR_CANCELLED);
  cr_expect(host == NULL && gpu == NULL);
  nvtxa_error_free(error);
  sample_free(&s);
}

/* ---- projections ---- */

Test(sqlite, projections) {
  static const read_case cases[] = {
      /* Several operations of one call, as of a graph: one correlation id, so one. */
      {SCHEMA RANGES("(0, 9, 'a')") CALLS("(1, 2, " TID_A ", 1), (3, 4, " TID_A ", 2)")
           KERNELS("(30, 35, 1, " PID_A "), (20, 22, 1, " PID_A "), (40, 41, 2, " PID_A ")"),
       NULL, NULL, "1<- 0+9 PushPop 20+21 x2 :a\n", ""},
      /* One correlation id in two processes. */
      {SCHEMA EVENTS("(0, 9, 59, 'a', " TID_A ", NULL, NULL, 0), (0, 9, 59, 'c', " TID_C
                     ", NULL, NULL, 0)") CALLS("(1, 2, " TID_A ", 1), (1, 2, " TID_C ", 1)")
           KERNELS("(30, 35, 1, " PID_A "), (50, 51, 1, " PID_C ")"),
       NULL, NULL, "1<- 0+9 PushPop 30+5 x1 :a\n2<- 0+9 PushPop 50+1 x1 :c\n", ""},
      /* Two calls have one id: it counts once in a range that encloses both. */
      {SCHEMA RANGES("(0, 99, 'top'), (1, 10, 'a'), (11, 20, 'b')")
           CALLS("(2, 3, " TID_A ", 1), (12, 13, " TID_A ", 1), (14, 15, " TID_A ", 2)")
               KERNELS("(30, 35, 1, " PID_A "), (40, 41, 2, " PID_A ")"),
       NULL, NULL,
       "1<- 0+99 PushPop 30+11 x2 :top\n2<1 1+9 PushPop 30+5 x1 :a\n"
       "3<1 11+9 PushPop 30+11 x2 :b\n",
       ""},
      /* Calls from another thread of the process than the operation's range. */
      {SCHEMA RANGES("(0, 9, 'a')") CALLS("(1, 2, " TID_B ", 1)") KERNELS("(30, 35, 1, " PID_A ")"),
       NULL, NULL, "", " 23"},
      /* A call that ends after the inner range belongs to the outer alone. */
      {SCHEMA RANGES("(0, 20, 'top'), (5, 10, 'in')") CALLS("(9, 11, " TID_A ", 1)")
           KERNELS("(30, 35, 1, " PID_A ")"),
       NULL, NULL, "1<- 0+20 PushPop 30+5 x1 :top\n", ""},
      /* Bounds are included. */
      {SCHEMA RANGES("(0, 20, 'top'), (5, 10, 'in')") CALLS("(5, 10, " TID_A ", 1)")
           KERNELS("(30, 35, 1, " PID_A ")"),
       NULL, NULL, "1<- 0+20 PushPop 30+5 x1 :top\n2<1 5+5 PushPop 30+5 x1 :in\n", ""},
      /* A call of no length on the border of two ranges is in both. */
      {SCHEMA RANGES("(0, 5, 'a'), (5, 10, 'b')") CALLS("(5, 5, " TID_A ", 1)")
           KERNELS("(30, 35, 1, " PID_A ")"),
       NULL, NULL, "1<- 0+5 PushPop 30+5 x1 :a\n2<- 5+5 PushPop 30+5 x1 :b\n", ""},
      /* Rows that cannot be joined. */
      {SCHEMA RANGES("(0, 9, 'a')")
           CALLS("(1, 2, " TID_A ", NULL), (1, 2, NULL, 1), (3, 4, " TID_A ", 1)")
               KERNELS("(30, 35, NULL, " PID_A "), (1, 99, 1, NULL), (40, 41, 1, " PID_A ")"),
       NULL, NULL, "1<- 0+9 PushPop 40+1 x1 :a\n", ""},
      /* Rows stand in the order of the range ids, not of the times. */
      {SCHEMA RANGES("(50, 60, 'late'), (10, 20, 'early')")
           CALLS("(51, 52, " TID_A ", 1), (11, 12, " TID_A ", 2)")
               KERNELS("(70, 75, 1, " PID_A "), (30, 35, 2, " PID_A ")"),
       "2<- 10+10 0 :early\n1<- 50+10 0 :late\n", "",
       "1<- 50+10 PushPop 70+5 x1 :late\n2<- 10+10 PushPop 30+5 x1 :early\n", ""},
      /* Ranges that launched nothing have no row, and their name no warning. */
      {SCHEMA RANGES("(0, 9, 'a'), (2, 3, x'FF'), (20, NULL, 'open')") CALLS("(1, 4, " TID_A ", 1)")
           KERNELS("(30, 35, 1, " PID_A ")"),
       NULL, NULL, "1<- 0+9 PushPop 30+5 x1 :a\n", ""},
  };
  expect_cases(cases, NVTXA__COUNT(cases));
}

Test(sqlite, three_kinds_of_operations) {
  tables t = tables_of(SCHEMA RANGES("(0, 9, 'a')") CALLS(
      "(1, 2, " TID_A ", 1), (3, 4, " TID_A ", 2), (5, 6, " TID_A
      ", 3)") KERNELS("(30, 35, 1, " PID_A
                      ")") "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (globalPid, start, end, "
                           "correlationId);"
                           "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (correlationId, globalPid, "
                           "end, start);"
                           "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" PID_A
                           ", 20, 21, 2);"
                           "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (3, " PID_A ", 90, 10);");
  expect_table(t.gpu, "1<- 0+9 PushPop 10+80 x3 :a\n", "");
  tables_free(&t);
}

Test(sqlite, operations_outside_every_range) {
  tables t = tables_of(SCHEMA EVENTS("(0, 9, 59, 'a', " TID_A
                                     ", NULL, NULL, 0), (0, 9, 59, 'c', " TID_C ", NULL, NULL, 0)")
                           CALLS("(1, 2, " TID_A ", 1), (8, 10, " TID_A ", 2), (1, 2, " TID_B
                                 ", 3), (20, 21, " TID_A ", 3), (20, 21, " TID_C ", 2)")
                               KERNELS("(30, 35, 1, " PID_A "), (40, 45, 2, " PID_A
                                       "), (50, 51, 3, " PID_A "), (38, 39, 2, " PID_C ")"));
  expect_table(t.gpu, "1<- 0+9 PushPop 30+5 x1 :a\n", " 23");
  cr_expect_eq(nvtxa_ranges_unattributed_operations(t.gpu), 3);
  cr_expect_eq(t.gpu->unattributed.start_ns, 38);
  cr_expect_eq(t.gpu->unattributed.end_ns, 51);
  cr_expect_eq(t.gpu->unattributed.thread.process_id, 8);
  cr_expect_eq(nvtxa_ranges_unattributed_operations(t.host), 0);
  tables_free(&t);
}

/* ---- large ---- */

/* 100,000 levels, each of one range; calls at the bottom that reach beyond the innermost ones. */
Test(sqlite, deep_nesting) {
  enum { DEPTH = 100000, CALL_COUNT = 1000 };
  tables t = tables_of(
      "PRAGMA journal_mode = OFF; BEGIN;" SCHEMA
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) INSERT INTO "
      "NVTX_EVENTS (start, end, eventType, text, globalTid) SELECT i, 400000 - i, 59, 'r', " TID_A
      " FROM n;"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) INSERT INTO "
      "CUPTI_ACTIVITY_KIND_RUNTIME SELECT 100000 + i, 400000 - 100 * i, " TID_A
      ", i FROM n; INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT correlationId, correlationId + 10,"
      " correlationId, " PID_A " FROM CUPTI_ACTIVITY_KIND_RUNTIME; COMMIT;");
  cr_assert_eq(nvtxa_ranges_count(t.host), DEPTH);
  nvtxa_range range = NVTXA_RANGE_INIT;
  for (size_t i = 0; i < DEPTH; i++) {
    cr_assert_eq(nvtxa_ranges_get(t.host, i, &range), NVTXA_OK);
    int64_t inside = i + 1 < DEPTH ? range.duration_ns - 2 : 0;
    cr_assert(range.range_id == (int64_t)i + 1 && range.has_parent == (i > 0) &&
                  (i == 0 || range.parent_id == (int64_t)i) && range.child_total_ns == inside,
              "row %zu", i);
  }
  /* Range i encloses the calls that end by 400,000 - i: those from ceil(i / 100) on. */
  cr_assert_eq(nvtxa_ranges_count(t.gpu), (CALL_COUNT - 1) * 100 + 1);
  for (size_t i = 0; i < nvtxa_ranges_count(t.gpu); i++) {
    int64_t first = ((int64_t)i + 99) / 100;
    cr_assert_eq(nvtxa_ranges_get(t.gpu, i, &range), NVTXA_OK);
    cr_assert(range.gpu_operation_count == CALL_COUNT - first &&
                  range.projected_start_ns == first &&
                  range.projected_duration_ns == CALL_COUNT - 1 + 10 - first,
              "row %zu", i);
  }
  tables_free(&t);
}

/* Thousands of rows in no order, over nearly all times that there are. */
Test(sqlite, far_apart_and_out_of_order) {
  enum { ROWS = 5000 };
  tables t = tables_of(
      SCHEMA
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999) "
      "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid) SELECT (i * 2654435761 % "
      "5000 - 2500) * 1800000000000000, NULL, 59, " TID_A
      " FROM n; UPDATE NVTX_EVENTS SET end = start + rowid;");
  nvtxa_range before = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_count(t.host), ROWS);
  for (size_t i = 0; i < ROWS; i++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    cr_assert_eq(nvtxa_ranges_get(t.host, i, &range), NVTXA_OK);
    cr_assert(range.duration_ns == range.range_id && !range.has_parent, "row %zu", i);
    cr_assert(i == 0 || before.start_ns < range.start_ns, "row %zu", i);
    before = range;
  }
  tables_free(&t);
}

Test(sqlite, many_threads) {
  enum { THREADS = 256, LEVELS = 40 };
  tables t = tables_of(
      "PRAGMA journal_mode = OFF; BEGIN;" SCHEMA
      "CREATE TEMP TABLE threads AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n "
      "WHERE i < 255) SELECT i, " PID_A
      " + i AS tid FROM n;"
      "WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k < 39) INSERT INTO "
      "NVTX_EVENTS (start, end, eventType, text, globalTid) SELECT k, 1000 - k, 59, 'r', tid FROM "
      "n, threads ORDER BY k, i;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT 500, 501, tid, i FROM threads;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 5, i, " PID_A " FROM threads; COMMIT;");
  cr_assert_eq(nvtxa_ranges_count(t.host), THREADS * LEVELS);
  cr_assert_eq(nvtxa_ranges_count(t.gpu), THREADS * LEVELS);
  for (size_t i = 0; i < THREADS * LEVELS; i++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    cr_assert_eq(nvtxa_ranges_get(t.gpu, i, &range), NVTXA_OK);
    cr_assert(range.range_id == (int64_t)i + 1 && range.has_parent == (i >= THREADS) &&
                  (i < THREADS || range.parent_id == range.range_id - THREADS) &&
                  range.projected_start_ns == range.thread_id && range.gpu_operation_count == 1,
              "row %zu", i);
    cr_assert_eq(nvtxa_ranges_get(t.host, i, &range), NVTXA_OK);
    cr_assert(range.has_parent == (i >= THREADS) && range.process_id == 7, "row %zu", i);
  }
  tables_free(&t);
}

/* ---- generated exports against a reference that looks at all pairs ---- */

enum { MOST_RANGES = 64, MOST_CALLS = 40, MOST_OPERATIONS = 40, SEEDS = 500 };

typedef struct random_range {
  int64_t id;
  int64_t start;
  int64_t end; /* as it stands in the export; counts with has_end */
  bool has_end;
  bool start_end;
  int64_t tid;
} random_range;

typedef struct random_call {
  int64_t start;
  int64_t end;
  int64_t tid;
  int64_t correlation;
} random_call;

typedef struct random_operation {
  int64_t start;
  int64_t end;
  int64_t pid;
  int64_t correlation;
} random_operation;

typedef struct random_export {
  uint64_t state;
  int64_t tids[5];
  size_t tid_count;
  int64_t width;
  bool nested;
  random_range ranges[MOST_RANGES];
  size_t range_count;
  random_call calls[MOST_CALLS];
  size_t call_count;
  random_operation operations[MOST_OPERATIONS];
  size_t operation_count;
} random_export;

/* 0 to limit - 1. */
static int64_t below(random_export *e, int64_t limit) {
  e->state = e->state * 6364136223846793005U + 1442695040888963407U;
  return (int64_t)((e->state >> 33) % (uint64_t)limit);
}

static void add_range(random_export *e, int64_t tid, int64_t start, int64_t end, bool mixed) {
  if (e->range_count == MOST_RANGES) {
    return;
  }
  random_range *r = &e->ranges[e->range_count++];
  *r = (random_range){0, start, end, true, false, tid};
  r->start_end = mixed && below(e, 3) == 0;
  if (mixed && below(e, 12) == 0) {
    r->has_end = false;
  } else if (mixed && below(e, 12) == 0) {
    r->end = start - 1 - below(e, 3);
  }
}

/* Ranges side by side from `start` to `end`, with others inside; of no length now and then. */
static void add_nested(random_export *e, int64_t tid, int64_t start, int64_t end, int depth) {
  while (start < end && e->range_count < MOST_RANGES) {
    int64_t stop = start + below(e, end - start + 1);
    add_range(e, tid, start, stop, false);
    if (depth < 4) {
      add_nested(e, tid, start, stop, depth + 1);
    }
    if (below(e, 4) == 0) {
      return;
    }
    start = stop + below(e, 2);
  }
}

static void add_ranges(random_export *e, int64_t tid) {
  if (e->nested) {
    add_nested(e, tid, 0, e->width, 0);
    return;
  }
  for (int64_t i = below(e, 13); i > 0; i--) {
    int64_t a = below(e, e->width + 1);
    int64_t b = below(e, e->width + 1);
    add_range(e, tid, a < b ? a : b, a < b ? b : a, true);
  }
}

static void shuffle_ranges(random_export *e) {
  int64_t id = 0;
  for (size_t i = e->range_count; i > 1; i--) {
    size_t j = (size_t)below(e, (int64_t)i);
    random_range swap = e->ranges[i - 1];
    e->ranges[i - 1] = e->ranges[j];
    e->ranges[j] = swap;
  }
  for (size_t i = 0; i < e->range_count; i++) {
    id += 1 + below(e, 3);
    e->ranges[i].id = id;
  }
}

static void generate(random_export *e, uint64_t seed) {
  static const int64_t widths[] = {5, 12, 60, 1000};
  *e = (random_export){.state = seed * 977 + 13};
  below(e, 2);
  e->width = widths[below(e, 4)];
  e->nested = below(e, 3) == 0;
  int64_t processes = 1 + below(e, 2);
  for (int64_t p = 0; p < processes; p++) {
    for (int64_t t = below(e, 2); t >= 0; t--) {
      e->tids[e->tid_count++] = (int64_t)1 << 48 | (7 + p) << 24 | (7 + t);
    }
  }
  for (size_t t = 0; t < e->tid_count; t++) {
    add_ranges(e, e->tids[t]);
  }
  shuffle_ranges(e);
  /* One thread more, that has calls alone. */
  e->tids[e->tid_count++] = (int64_t)1 << 48 | 7 << 24 | 99;
  int64_t ids = below(e, 2) == 0 ? 8 : 200; /* repeated often or hardly */
  bool instants = below(e, 2) == 0;
  for (int64_t i = below(e, MOST_CALLS + 1); i > 0; i--) {
    int64_t start = below(e, e->width + 1);
    int64_t length = instants ? below(e, 3) : 1 + below(e, 4);
    int64_t tid = e->tids[below(e, (int64_t)e->tid_count)];
    e->calls[e->call_count++] = (random_call){start, start + length, tid, 1 + below(e, ids)};
  }
  for (int64_t i = below(e, MOST_OPERATIONS + 1); i > 0; i--) {
    int64_t start = below(e, 500);
    int64_t tid = e->tids[below(e, (int64_t)e->tid_count)];
    int64_t correlation = below(e, 4) == 0 || e->call_count == 0
                              ? 1 + below(e, ids)
                              : e->calls[below(e, (int64_t)e->call_count)].correlation;
    e->operations[e->operation_count++] =
        (random_operation){start, start + below(e, 40), tid & ~(int64_t)0xFFFFFF, correlation};
  }
}

/* Rows go into the file in another order than that of their ids. */
static void put_ranges(random_export *e, nvtxa__buffer *sql) {
  size_t step = e->range_count % 7 == 0 ? 11 : 7;
  for (size_t k = 0; k < e->range_count; k++) {
    const random_range *r = &e->ranges[(k * step + 3) % e->range_count];
    char end[24] = "NULL";
    char end_tid[24] = "NULL";
    if (r->has_end) {
      snprintf(end, sizeof end, "%lld", (long long)r->end);
    }
    if (r->id % 2 == 0) {
      snprintf(end_tid, sizeof end_tid, "%lld", (long long)r->tid);
    }
    nvtxa__buffer_printf(sql,
                         "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, text, globalTid, "
                         "endGlobalTid) VALUES (%lld, %lld, %s, %d, 'r%lld', %lld, %s);",
                         (long long)r->id, (long long)r->start, end, r->start_end ? 60 : 59,
                         (long long)r->id, (long long)r->tid, end_tid);
  }
}

static void write_sample(random_export *e, const sample *s) {
  static const char *const kinds[] = {"KERNEL", "MEMCPY", "MEMSET"};
  nvtxa__buffer sql = {0};
  nvtxa__buffer_printf(
      &sql,
      "PRAGMA journal_mode = OFF; BEGIN; %s CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, "
      "end, correlationId, globalPid); CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, "
      "correlationId, globalPid);",
      SCHEMA);
  put_ranges(e, &sql);
  for (size_t i = 0; i < e->call_count; i++) {
    const random_call *c = &e->calls[i];
    nvtxa__buffer_printf(
        &sql, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%lld, %lld, %lld, %lld);",
        (long long)c->start, (long long)c->end, (long long)c->tid, (long long)c->correlation);
  }
  for (size_t i = 0; i < e->operation_count; i++) {
    const random_operation *o = &e->operations[i];
    nvtxa__buffer_printf(
        &sql, "INSERT INTO CUPTI_ACTIVITY_KIND_%s VALUES (%lld, %lld, %lld, %lld);", kinds[i % 3],
        (long long)o->start, (long long)o->end, (long long)o->correlation, (long long)o->pid);
  }
  nvtxa__buffer_printf(&sql, "COMMIT;");
  sample_run(s, sql.data);
  nvtxa__buffer_free(&sql);
}

/* The ranges of one table, with the ends that it gives them. */
typedef struct reference {
  random_range ranges[MOST_RANGES];
  size_t count;
} reference;

static reference reference_of(const random_export *e, bool with_start_end) {
  reference ref = {.count = 0};
  int64_t last = INT64_MIN;
  for (size_t i = 0; i < e->range_count; i++) {
    const random_range *r = &e->ranges[i];
    if (r->start_end && !with_start_end) {
      continue;
    }
    last = r->start > last ? r->start : last;
    last = r->has_end && r->end > last ? r->end : last;
    ref.ranges[ref.count++] = *r;
  }
  for (size_t i = 0; i < ref.count; i++) {
    random_range *r = &ref.ranges[i];
    r->end = !r->has_end ? last : r->end < r->start ? r->start : r->end;
  }
  return ref;
}

static bool same_bounds(const random_range *a, const random_range *b) {
  return a->start == b->start && a->end == b->end;
}

static bool encloses(const random_range *outer, const random_range *inner) {
  return outer != inner && outer->tid == inner->tid && outer->start <= inner->start &&
         outer->end >= inner->end && (!same_bounds(outer, inner) || outer->id < inner->id);
}

/* Whether `parent` (NULL: none) is the shortest range around `inner`, or one of them. */
static bool may_be_parent(const reference *ref, const random_range *parent,
                          const random_range *inner) {
  if (parent != NULL && !encloses(parent, inner)) {
    return false;
  }
  for (size_t i = 0; i < ref->count; i++) {
    const random_range *other = &ref->ranges[i];
    if (!encloses(other, inner)) {
      continue;
    }
    if (parent == NULL || other->end - other->start < parent->end - parent->start ||
        (same_bounds(other, parent) && other->id > parent->id)) {
      return false;
    }
  }
  return true;
}

static const random_range *by_id(const reference *ref, int64_t id) {
  for (size_t i = 0; i < ref->count; i++) {
    if (ref->ranges[i].id == id) {
      return &ref->ranges[i];
    }
  }
  return NULL;
}

/* What both tables say of a range. */
static const random_range *check_row(uint64_t seed, const reference *ref, const nvtxa_range *row) {
  const random_range *r = by_id(ref, row->range_id);
  char name[32];
  cr_assert_not_null(r, "seed %d: there is no range %d", (int)seed, (int)row->range_id);
  const random_range *parent = row->has_parent ? by_id(ref, row->parent_id) : NULL;
  cr_assert(!row->has_parent || parent != NULL);
  cr_assert(may_be_parent(ref, parent, r), "seed %d: the parent of %d is not %d", (int)seed,
            (int)r->id, parent == NULL ? -1 : (int)parent->id);
  snprintf(name, sizeof name, ":r%lld", (long long)r->id);
  cr_assert(row->start_ns == r->start && row->duration_ns == r->end - r->start &&
                row->process_id == (r->tid >> 24 & 0xFFFFFF) &&
                row->thread_id == (r->tid & 0xFFFFFF) && strcmp(row->name.data, name) == 0,
            "seed %d: range %d", (int)seed, (int)r->id);
  return r;
}

static void check_host(uint64_t seed, const random_export *e, const nvtxa_ranges *host) {
  reference ref = reference_of(e, false);
  nvtxa_range before = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_count(host), ref.count, "seed %d", (int)seed);
  for (size_t i = 0; i < ref.count; i++) {
    nvtxa_range row = NVTXA_RANGE_INIT;
    cr_assert_eq(nvtxa_ranges_get(host, i, &row), NVTXA_OK);
    check_row(seed, &ref, &row);
    int64_t children = 0;
    for (size_t k = 0; k < ref.count; k++) {
      nvtxa_range other = NVTXA_RANGE_INIT;
      cr_assert_eq(nvtxa_ranges_get(host, k, &other), NVTXA_OK);
      children += other.has_parent && other.parent_id == row.range_id ? other.duration_ns : 0;
    }
    cr_assert_eq(row.child_total_ns, children, "seed %d", (int)seed);
    cr_assert(i == 0 || before.start_ns < row.start_ns ||
                  (before.start_ns == row.start_ns &&
                   (before.duration_ns < row.duration_ns ||
                    (before.duration_ns == row.duration_ns && before.range_id < row.range_id))),
              "seed %d: row %zu is out of order", (int)seed, i);
    before = row;
  }
}

/* Operations by what launched them. `seen` tells correlation ids of processes once. */
typedef struct gathered {
  int64_t start;
  int64_t end;
  int64_t seen[MOST_CALLS][2];
  size_t count;
} gathered;

static void gather(gathered *g, const random_export *e, const random_call *call) {
  int64_t pid = call->tid & ~(int64_t)0xFFFFFF;
  bool any = false;
  for (size_t i = 0; i < e->operation_count; i++) {
    const random_operation *o = &e->operations[i];
    if (o->pid == pid && o->correlation == call->correlation) {
      bool first = g->count == 0 && !any;
      g->start = first || o->start < g->start ? o->start : g->start;
      g->end = first || o->end > g->end ? o->end : g->end;
      any = true;
    }
  }
  for (size_t i = 0; i < g->count && any; i++) {
    any = g->seen[i][0] != pid || g->seen[i][1] != call->correlation;
  }
  if (any) {
    g->seen[g->count][0] = pid;
    g->seen[g->count++][1] = call->correlation;
  }
}

static bool encloses_call(const random_range *r, const random_call *c) {
  return r->tid == c->tid && r->start <= c->start && r->end >= c->end;
}

/* When what a call launched started; INT64_MAX: it launched nothing. */
static int64_t launched_start(const random_export *e, const random_call *call) {
  int64_t start = INT64_MAX;
  for (size_t i = 0; i < e->operation_count; i++) {
    const random_operation *o = &e->operations[i];
    if (o->pid == (call->tid & ~(int64_t)0xFFFFFF) && o->correlation == call->correlation) {
      start = o->start < start ? o->start : start;
    }
  }
  return start;
}

/* The call whose thread stands for all: its operation started first, then it did. */
static const random_call *earlier(const random_export *e, const random_call *a,
                                  const random_call *b) {
  int64_t a_start = launched_start(e, a);
  int64_t b_start = b == NULL ? INT64_MAX : launched_start(e, b);
  bool wins = b == NULL || a_start < b_start || (a_start == b_start && a->start < b->start);
  return a_start != INT64_MAX && wins ? a : b;
}

static void check_outside(uint64_t seed, const random_export *e, const reference *ref,
                          const nvtxa_ranges *gpu) {
  gathered outside = {.count = 0};
  const random_call *first = NULL;
  for (size_t i = 0; i < e->call_count; i++) {
    bool inside = false;
    for (size_t k = 0; k < ref->count; k++) {
      inside = inside || encloses_call(&ref->ranges[k], &e->calls[i]);
    }
    if (!inside) {
      gather(&outside, e, &e->calls[i]);
      first = earlier(e, &e->calls[i], first);
    }
  }
  cr_assert(
      outside.count == 0 || (gpu->unattributed.thread.process_id == (first->tid >> 24 & 0xFFFFFF) &&
                             gpu->unattributed.thread.thread_id == (first->tid & 0xFFFFFF)),
      "seed %d", (int)seed);
  cr_assert_eq(nvtxa_ranges_unattributed_operations(gpu), (int64_t)outside.count, "seed %d",
               (int)seed);
  cr_assert(outside.count == 0 || (gpu->unattributed.start_ns == outside.start &&
                                   gpu->unattributed.end_ns == outside.end),
            "seed %d", (int)seed);
}

static void check_gpu(uint64_t seed, const random_export *e, const nvtxa_ranges *gpu) {
  reference ref = reference_of(e, true);
  size_t at = 0;
  for (size_t i = 0; i < ref.count; i++) { /* they are numbered upwards, as the rows are */
    const random_range *r = &ref.ranges[i];
    gathered inside = {.count = 0};
    for (size_t k = 0; k < e->call_count; k++) {
      if (encloses_call(r, &e->calls[k])) {
        gather(&inside, e, &e->calls[k]);
      }
    }
    if (inside.count == 0) {
      continue;
    }
    nvtxa_range row = NVTXA_RANGE_INIT;
    cr_assert_eq(nvtxa_ranges_get(gpu, at++, &row), NVTXA_OK, "seed %d: too few rows", (int)seed);
    cr_assert_eq(check_row(seed, &ref, &row), r, "seed %d: not range %d", (int)seed, (int)r->id);
    cr_assert_str_eq(row.style.data, r->start_end ? "StartEnd" : "PushPop");
    cr_assert(row.projected_start_ns == inside.start &&
                  row.projected_duration_ns == inside.end - inside.start &&
                  row.gpu_operation_count == (int64_t)inside.count,
              "seed %d: range %d has %d operations from %d to %d, not %d from %d to %d", (int)seed,
              (int)r->id, (int)row.gpu_operation_count, (int)row.projected_start_ns,
              (int)(row.projected_start_ns + row.projected_duration_ns), (int)inside.count,
              (int)inside.start, (int)inside.end);
  }
  cr_assert_eq(nvtxa_ranges_count(gpu), at, "seed %d: too many rows", (int)seed);
  check_outside(seed, e, &ref, gpu);
}

Test(sqlite, generated_exports) {
  sample s = sample_empty();
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    random_export e;
    generate(&e, seed);
    write_sample(&e, &s);
    tables t = tables_read(s.path);
    check_host(seed, &e, t.host);
    check_gpu(seed, &e, t.gpu);
    tables_free(&t);
    unlink(s.path);
  }
  cr_expect_eq(rmdir(s.directory), 0);
}

/* A graph that was traced as a whole but without its times: no operation, whether GPU work is
 * wanted or not. */
Test(sqlite, graphs_without_times) {
  static const char sql[] =
      GPU_SCHEMA RANGES("(0, 9, 'a')") CALLS("(1, 2, " TID_A ", 1), (3, 4, " TID_A ", 2)")
          GRAPHS("(0, 0, 3, 1, " PID_A "), (20, 30, 0, 2, " PID_A ")");
  tables t = tables_of(sql);
  expect_table(t.gpu, "1<- 0+9 PushPop 20+10 x1 :a\n", "");
  tables_free(&t);
  nvtxa_ranges *gpu = gpu_table_of(sql, NVTXA_GPU_DETAIL_OPERATIONS);
  expect_table(gpu, "1<- 0+9 PushPop 20+10 x1 :a\n", "");
  cr_expect_eq(nvtxa_gpu_work_operation_count(nvtxa_ranges_gpu_work(gpu)), 1);
  nvtxa_ranges_unref(gpu);
}

/* ---- the reports ---- */

static int add_piece(void *user, const char *data, size_t length) {
  return nvtxa__buffer_add(user, data, length) == 0 ? 0 : ENOMEM;
}

static void expect_report(const nvtxa_ranges *ranges, nvtxa_stats_format format,
                          const char *wanted) {
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  nvtxa__buffer text = {0};
  nvtxa_error *error = NULL;
  options.format = format;
  cr_assert_eq(nvtxa_stats_write(ranges, &options, add_piece, &text, &error), NVTXA_OK, "%s",
               error ? nvtxa_error_message(error) : "");
  nvtxa__buffer_add(&text, "", 1);
  cr_expect_str_eq(text.data, wanted, "got:\n%swanted:\n%s", text.data, wanted);
  nvtxa__buffer_free(&text);
}

#define NAMED_EXPORT                                                                         \
  SCHEMA RANGES(                                                                             \
      "(0, 900, 'top'), (-10, -5, 'a,b'), (100, 200, 'say \"hi\"'), (110, 120, 'two' "       \
      "|| char(10) || 'lines'), (130, 140, 'tab' || char(9) || 'x'), (150, 160, NULL)")      \
      CALLS("(111, 112, " TID_A ", 1), (131, 132, " TID_A ", 2), (151, 152, " TID_A          \
            ", 3), (950, 951, " TID_A ", 4)")                                                \
          KERNELS("(300, 310, 1, " PID_A "), (320, 330, 2, " PID_A "), (340, 350, 3, " PID_A \
                  "), (990, 999, 4, " PID_A ")")

Test(sqlite, reports_in_csv) {
  tables t = tables_of(NAMED_EXPORT);
  expect_report(
      t.host, NVTXA_STATS_CSV,
      "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild,"
      "RangeId,ParentId,RangeStack,NameTree\n"
      "-10,-5,5,0,5,\":a,b\",7,7,0,0,2,,:2,\":a,b\"\n"
      "0,900,900,100,800,:top,7,7,0,1,1,,:1,:top\n"
      "100,200,100,30,70,\":say \"\"hi\"\"\",7,7,1,3,3,1,:1:3,\"--:say \"\"hi\"\"\"\n"
      "110,120,10,0,10,\":two\nlines\",7,7,2,0,4,3,:1:3:4,\"----:two\nlines\"\n"
      "130,140,10,0,10,:tab\tx,7,7,2,0,5,3,:1:3:5,----:tab\tx\n"
      "150,160,10,0,10,,7,7,2,0,6,3,:1:3:6,\n");
  expect_report(
      t.gpu, NVTXA_STATS_CSV,
      "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,"
      "PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n"
      ",990,9,,,,7,7,1,,0,,,\n"
      ":top,300,50,0,900,PushPop,7,7,3,0,1,1,,:1\n"
      "\":say \"\"hi\"\"\",300,50,100,100,PushPop,7,7,3,1,3,3,1,:1:3\n"
      "\":two\nlines\",300,10,110,10,PushPop,7,7,1,2,0,4,3,:1:3:4\n"
      ":tab\tx,320,10,130,10,PushPop,7,7,1,2,0,5,3,:1:3:5\n"
      ",340,10,150,10,PushPop,7,7,1,2,0,6,3,:1:3:6\n");
  tables_free(&t);
}

Test(sqlite, reports_in_tsv) {
  tables t = tables_of(NAMED_EXPORT);
  expect_report(t.host, NVTXA_STATS_TSV,
                "Start (ns)\tEnd (ns)\tDuration (ns)\tDurChild (ns)\tDurNonChild (ns)\tName\tPID\t"
                "TID\tLvl\tNumChild\tRangeId\tParentId\tRangeStack\tNameTree\n"
                "-10\t-5\t5\t0\t5\t:a,b\t7\t7\t0\t0\t2\t\t:2\t:a,b\n"
                "0\t900\t900\t100\t800\t:top\t7\t7\t0\t1\t1\t\t:1\t:top\n"
                "100\t200\t100\t30\t70\t\":say \"\"hi\"\"\"\t7\t7\t1\t3\t3\t1\t:1:3\t"
                "\"--:say \"\"hi\"\"\"\n"
                "110\t120\t10\t0\t10\t\":two\nlines\"\t7\t7\t2\t0\t4\t3\t:1:3:4\t"
                "\"----:two\nlines\"\n"
                "130\t140\t10\t0\t10\t\":tab\tx\"\t7\t7\t2\t0\t5\t3\t:1:3:5\t\"----:tab\tx\"\n"
                "150\t160\t10\t0\t10\t\t7\t7\t2\t0\t6\t3\t:1:3:6\t\n");
  tables_free(&t);
}

Test(sqlite, reports_in_json) {
  tables t = tables_of(
      SCHEMA RANGES("(0, 9, 'q\"' || char(92, 10, 9, 13, 1, 127) || '\xC3\xA9'), (1, 2, NULL)")
          CALLS("(3, 4, " TID_A ", 1), (30, 31, " TID_A ", 2)")
              KERNELS("(20, 25, 1, " PID_A "), (40, 45, 2, " PID_A ")"));
#define JSON_NAME ":q\\\"\\\\\\n\\t\\u000d\\u0001\\u007f\xC3\xA9"
  expect_report(t.host, NVTXA_STATS_JSON,
                "[\n  {\n    \"Start (ns)\": 0,\n    \"End (ns)\": 9,\n    \"Duration (ns)\": 9,\n"
                "    \"DurChild (ns)\": 1,\n    \"DurNonChild (ns)\": 8,\n"
                "    \"Name\": \"" JSON_NAME
                "\",\n    \"PID\": 7,\n    \"TID\": 7,\n"
                "    \"Lvl\": 0,\n    \"NumChild\": 1,\n    \"RangeId\": 1,\n"
                "    \"ParentId\": \"\",\n    \"RangeStack\": \":1\",\n"
                "    \"NameTree\": \"" JSON_NAME
                "\"\n  },\n"
                "  {\n    \"Start (ns)\": 1,\n    \"End (ns)\": 2,\n    \"Duration (ns)\": 1,\n"
                "    \"DurChild (ns)\": 0,\n    \"DurNonChild (ns)\": 1,\n    \"Name\": \"\",\n"
                "    \"PID\": 7,\n    \"TID\": 7,\n    \"Lvl\": 1,\n    \"NumChild\": 0,\n"
                "    \"RangeId\": 2,\n    \"ParentId\": 1,\n    \"RangeStack\": \":1:2\",\n"
                "    \"NameTree\": \"\"\n  }\n]\n");
  expect_report(
      t.gpu, NVTXA_STATS_JSON,
      "[\n  {\n    \"Name\": \"\",\n    \"Projected Start (ns)\": 40,\n"
      "    \"Projected Duration (ns)\": 5,\n    \"Orig Start (ns)\": \"\",\n"
      "    \"Orig Duration (ns)\": \"\",\n    \"Style\": \"\",\n    \"PID\": 7,\n"
      "    \"TID\": 7,\n    \"NumGPUOps\": 1,\n    \"Lvl\": \"\",\n    \"NumChild\": 0,\n"
      "    \"RangeId\": \"\",\n    \"ParentId\": \"\",\n    \"RangeStack\": \"\"\n  },\n"
      "  {\n    \"Name\": \"" JSON_NAME
      "\",\n    \"Projected Start (ns)\": 20,\n"
      "    \"Projected Duration (ns)\": 5,\n    \"Orig Start (ns)\": 0,\n"
      "    \"Orig Duration (ns)\": 9,\n    \"Style\": \"PushPop\",\n    \"PID\": 7,\n"
      "    \"TID\": 7,\n    \"NumGPUOps\": 1,\n    \"Lvl\": 0,\n    \"NumChild\": 0,\n"
      "    \"RangeId\": 1,\n    \"ParentId\": \"\",\n    \"RangeStack\": \":1\"\n  }\n]\n");
  tables_free(&t);
}

/* Readers of CSV may take any of them for the end of a line. */
Test(sqlite, line_ends_in_reports) {
  tables t = tables_of(SCHEMA RANGES("(0, 9, 'a' || char(13) || 'b'), (1, 2, char(13, 10))"));
  nvtxa__buffer text = {0};
  cr_assert_eq(nvtxa_stats_write(t.host, NULL, add_piece, &text, NULL), NVTXA_OK);
  nvtxa__buffer_add(&text, "", 1);
  cr_expect_str_eq(strchr(text.data, '\n') + 1,
                   "0,9,9,1,8,\":a\rb\",7,7,0,1,1,,:1,\":a\rb\"\n"
                   "1,2,1,0,1,\":\r\n\",7,7,1,0,2,1,:1:2,\"--:\r\n\"\n");
  nvtxa__buffer_free(&text);
  tables_free(&t);
}

Test(sqlite, reports_without_rows) {
  tables t = tables_of(SCHEMA);
  expect_report(t.gpu, NVTXA_STATS_JSON, "[]\n");
  expect_report(t.gpu, NVTXA_STATS_CSV,
                "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration "
                "(ns),Style,PID,TID,NumGPUOps,Lvl,NumChild,RangeId,ParentId,RangeStack\n");
  tables_free(&t);
}

/* Numbers of every length, of either sign. */
Test(sqlite, numbers_in_reports) {
  enum { EDGES = 19 };
  nvtxa__buffer sql = {0};
  nvtxa__buffer_printf(&sql, "%s", SCHEMA);
  int64_t power = 1;
  int64_t ids[4 * EDGES];
  size_t count = 0;
  for (int i = 0; i < EDGES; i++, power = i < EDGES ? power * 10 : power) {
    const int64_t edges[] = {power, -power, power - 1, 1 - power};
    for (size_t k = 0; k < NVTXA__COUNT(edges); k++) {
      bool known = false;
      for (size_t j = 0; j < count; j++) {
        known = known || ids[j] == edges[k];
      }
      if (!known) {
        ids[count++] = edges[k];
        nvtxa__buffer_printf(&sql,
                             "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, globalTid) "
                             "VALUES (%lld, %zu, %zu, 59, " TID_A ");",
                             (long long)edges[k], 10 * count, 10 * count + 1);
      }
    }
  }
  tables t = tables_of(sql.data);
  nvtxa__buffer text = {0};
  cr_assert_eq(nvtxa_stats_write(t.host, NULL, add_piece, &text, NULL), NVTXA_OK);
  nvtxa__buffer_add(&text, "", 1);
  const char *line = strchr(text.data, '\n') + 1;
  for (size_t i = 0; i < count; i++) {
    char wanted[160];
    snprintf(wanted, sizeof wanted, "%zu,%zu,1,0,1,,7,7,0,0,%lld,,:%lld,\n", 10 * (i + 1),
             10 * (i + 1) + 1, (long long)ids[i], (long long)ids[i]);
    cr_assert_eq(strncmp(line, wanted, strlen(wanted)), 0, "'%.100s' is not '%s'", line, wanted);
    line += strlen(wanted);
  }
  cr_expect_str_eq(line, "");
  nvtxa__buffer_free(&text);
  nvtxa__buffer_free(&sql);
  tables_free(&t);
}

/* Rows whose line of ancestors is longer than a block, and not that of the row before. */
Test(sqlite, reports_of_deep_rows) {
  enum { DEPTH = 2000 };
  tables t = tables_of(
      SCHEMA
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1999) "
      "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, text, globalTid) SELECT "
      "1000000000000000000 + i, i, 10000 - i, 59, 'r', CASE i % 2 WHEN 0 THEN " TID_A " ELSE " TID_B
      " END FROM n;"
      "INSERT INTO NVTX_EVENTS (rowid, start, end, eventType, text, globalTid) VALUES "
      "(7, 9000, 9001, 59, 'late', " TID_A ");");
  nvtxa__buffer text = {0};
  cr_assert_eq(nvtxa_stats_write(t.host, NULL, add_piece, &text, NULL), NVTXA_OK);
  nvtxa__buffer_add(&text, "", 1);
  const char *line = strchr(text.data, '\n') + 1;
  for (int i = 0; i < DEPTH; i++) {
    const char *stack = strstr(line, ",:1");
    cr_assert_not_null(stack);
    stack++;
    for (int k = i % 2; k <= i; k += 2) {
      char id[32];
      snprintf(id, sizeof id, ":1%018d", k);
      cr_assert_eq(strncmp(stack, id, 20), 0, "level %d of row %d", k, i);
      stack += 20;
    }
    cr_assert_eq(*stack, ',');
    size_t dashes = strspn(stack + 1, "-");
    cr_assert_eq(dashes, 2 * (size_t)(i / 2));
    line = strchr(line, '\n') + 1;
  }
  /* Enclosed by the ranges of its thread that end no earlier: every other one up to row 999. */
  cr_expect_eq(strncmp(line, "9000,9001,1,0,1,:late,7,7,500,0,7,1000000000000000998,:1", 56), 0,
               "%.100s", line);
  nvtxa__buffer_free(&text);
  tables_free(&t);
}

/* ---- writing that fails ---- */

typedef struct faulty {
  size_t room;
  size_t calls;
  int errnum;
  sig_atomic_t *cancel;
} faulty;

static int fail_late(void *user, const char *data, size_t length) {
  faulty *f = user;
  (void)data;
  f->calls++;
  if (f->cancel != NULL) {
    *f->cancel = 1;
    return 0;
  }
  if (length > f->room) {
    return f->errnum;
  }
  f->room -= length;
  return 0;
}

/* Some megabytes of report, so that there are several blocks. */
static tables tables_of_many(void) {
  return tables_of(
      SCHEMA
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999) "
      "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) SELECT 10 * i, "
      "10 * i + 5, 59, 'a name that takes some room', " TID_A " FROM n;");
}

Test(sqlite, writing_that_fails) {
  tables t = tables_of_many();
  static const size_t rooms[] = {0, 300000, 600000};
  for (size_t i = 0; i < NVTXA__COUNT(rooms); i++) {
    faulty f = {rooms[i], 0, ENOSPC, NULL};
    nvtxa_error *error = NULL;
    cr_expect_eq(nvtxa_stats_write(t.host, NULL, fail_late, &f, &error), NVTXA_ERROR_IO);
    cr_assert_not_null(error);
    cr_expect_eq(nvtxa_error_status(error), NVTXA_ERROR_IO);
    cr_expect_eq(nvtxa_error_errno(error), ENOSPC);
    cr_expect_eq(f.calls, i + 1, "it is asked to write again after it failed");
    nvtxa_error_free(error);
  }
  tables_free(&t);
}

Test(sqlite, writing_that_is_cancelled) {
  tables t = tables_of_many();
  sig_atomic_t cancel = 0;
  faulty f = {0, 0, 0, &cancel};
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  nvtxa_error *error = NULL;
  hooks.cancel = &cancel;
  options.hooks = &hooks;
  cr_expect_eq(nvtxa_stats_write(t.host, &options, fail_late, &f, &error), NVTXA_ERROR_CANCELLED);
  cr_expect_eq(nvtxa_error_status(error), NVTXA_ERROR_CANCELLED);
  cr_expect_eq(f.calls, 1);
  nvtxa_error_free(error);
  tables_free(&t);
}

/* An old report stays until the new one is whole. */
Test(sqlite, report_files) {
  tables t = tables_of(SCHEMA RANGES("(0, 9, 'a')"));
  sample s = sample_empty();
  char path[96];
  char text[400] = "";
  snprintf(path, sizeof path, "%s/report.csv", s.directory);
  FILE *file = fopen(path, "w");
  cr_assert_not_null(file);
  fputs("old", file);
  fclose(file);
  sig_atomic_t cancel = 1;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  hooks.cancel = &cancel;
  options.hooks = &hooks;
  cr_expect_eq(nvtxa_stats_write_file(t.host, &options, path, NULL), NVTXA_ERROR_CANCELLED);
  file = fopen(path, "r");
  cr_assert_not_null(file);
  cr_expect(fgets(text, sizeof text, file) != NULL && strcmp(text, "old") == 0);
  fclose(file);
  cr_expect_eq(nvtxa_stats_write_file(t.host, NULL, path, NULL), NVTXA_OK);
  file = fopen(path, "r");
  cr_assert_not_null(file);
  cr_expect(fgets(text, sizeof text, file) != NULL && strncmp(text, "Start (ns),", 11) == 0);
  cr_expect(fgets(text, sizeof text, file) != NULL &&
            strcmp(text, "0,9,9,0,9,:a,7,7,0,0,1,,:1,:a\n") == 0);
  fclose(file);
  unlink(path);
  char inside[128];
  snprintf(inside, sizeof inside, "%s/nowhere/report.csv", s.directory);
  nvtxa_error *error = NULL;
  cr_expect_eq(nvtxa_stats_write_file(t.host, NULL, inside, &error), NVTXA_ERROR_IO);
  cr_expect_eq(nvtxa_error_errno(error), ENOENT);
  nvtxa_error_free(error);
  cr_expect_eq(nvtxa_stats_write(NULL, NULL, add_piece, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_stats_write(t.host, NULL, NULL, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  tables_free(&t);
  cr_expect_eq(rmdir(s.directory), 0, "something was left in %s", s.directory);
}
