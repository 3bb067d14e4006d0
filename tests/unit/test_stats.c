/*
 * The reports of GPU work: their rows to the letter, how their numbers are rounded, what a table
 * must have for them, and kernels by range against a reference that looks at all pairs.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>

#include "sqlite-export.h"

#include "stats/stats-internal.h"

static int add_piece(void *user, const char *data, size_t length) {
  return nvtxa__buffer_add(user, data, length) == 0 ? 0 : ENOMEM;
}

/* A report as text; the caller frees it. */
static char *report_of(const nvtxa_ranges *ranges, nvtxa_report report, nvtxa_stats_format format) {
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  nvtxa__buffer text = {0};
  nvtxa_error *error = NULL;
  options.report = report;
  options.format = format;
  cr_assert_eq(nvtxa_stats_write(ranges, &options, add_piece, &text, &error), NVTXA_OK, "%s",
               error ? nvtxa_error_message(error) : "");
  nvtxa__buffer_add(&text, "", 1);
  return text.data;
}

static void expect_report(const nvtxa_ranges *ranges, nvtxa_report report,
                          nvtxa_stats_format format, const char *wanted) {
  char *text = report_of(ranges, report, format);
  cr_expect_str_eq(text, wanted, "got:\n%swanted:\n%s", text, wanted);
  free(text);
}

static void expect_csv(const char *sql, nvtxa_report report, const char *wanted) {
  nvtxa_ranges *gpu = gpu_table_of(sql, NVTXA_GPU_DETAIL_TRACE);
  expect_report(gpu, report, NVTXA_STATS_CSV, wanted);
  nvtxa_ranges_unref(gpu);
}

/* ---- cuda_gpu_kern_sum ---- */

#define SUM_HEADER \
  "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"

/* The largest total first; of equal ones, that of fewer kernels, and then by name. */
Test(stats, kernels_by_name) {
  expect_csv(
      GPU_SCHEMA STRINGS("(1, 'big'), (2, 'once'), (3, 'twice, b'), (4, 'twice, a')")
          NAMED_KERNELS("(0, 4, NULL, NULL, 3), (10, 14, 1, " PID_A ", 4), (20, 26, 1, " PID_C
                        ", 4), (0, 10, 2, NULL, 2), (40, 46, 3, NULL, 3), (100, 110, 4, NULL, "
                        "1), (120, 140, 5, NULL, 1), (140, 180, 6, NULL, 1)"),
      NVTXA_REPORT_CUDA_GPU_KERN_SUM,
      SUM_HEADER
      "70.0,70,3,23.3,20.0,10,40,15.3,big\n"
      "10.0,10,1,10.0,10.0,10,10,0.0,once\n"
      "10.0,10,2,5.0,5.0,4,6,1.4,\"twice, a\"\n"
      "10.0,10,2,5.0,5.0,4,6,1.4,\"twice, b\"\n");
}

/* Names that are not in the export, and nothing that took any time. */
Test(stats, kernels_of_nothing) {
  expect_csv(GPU_SCHEMA NAMED_KERNELS("(5, 5, 1, NULL, 1), (6, 6, 2, NULL, NULL)"),
             NVTXA_REPORT_CUDA_GPU_KERN_SUM, SUM_HEADER ",0,2,0.0,0.0,0,0,0.0,\n");
  expect_csv(GPU_SCHEMA, NVTXA_REPORT_CUDA_GPU_KERN_SUM, SUM_HEADER);
  expect_csv(VERSION_TABLE STRINGS_TABLE, NVTXA_REPORT_CUDA_GPU_KERN_SUM, SUM_HEADER);
}

/* Durations of one kernel, and its mean, median and deviation as they are rounded. */
typedef struct rounding_case {
  const char *durations; /* "(1), (2)" */
  const char *wanted;    /* of the row, from the mean on */
} rounding_case;

static const rounding_case roundings[] = {
    {"(1), (1), (1), (2)", "1.3,1.0,1,2,0.5"}, /* 1.25 */
    {"(0), (1), (1), (1)", "0.8,1.0,0,1,0.5"}, /* 0.75 */
    /* 1000.65 is a little less in a double: a half all the same. */
    {"(1000), (1000), (1000), (1000), (1000), (1000), (1000), (1000), (1000), (1000), (1000), "
     "(1000), (1000), (1000), (1000), (1000), (1000), (1000), (1000), (1013)",
     "1000.7,1000.0,1000,1013,2.9"},
    {"(0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), (0), "
     "(0), (1)",
     "0.1,0.0,0,1,0.2"}, /* 0.05 */
    {"(1), (2)", "1.5,1.5,1,2,0.7"},
    {"(1000000000000001), (1000000000000002), (1000000000000003)",
     "1000000000000002.0,1000000000000002.0,1000000000000001,1000000000000003,1.0"},
    {"(1000000000001), (1000000000002), (1000000000004), (1000000000009)",
     "1000000000004.0,1000000000003.0,1000000000001,1000000000009,3.6"},
    {"(4000000000000000000)",
     "4000000000000000000.0,4000000000000000000.0,4000000000000000000,4000000000000000000,0.0"},
};

Test(stats, numbers_are_rounded) {
  for (size_t i = 0; i < NVTXA__COUNT(roundings); i++) {
    nvtxa__buffer sql = {0};
    nvtxa__buffer_printf(&sql, "%s%s%s%s%s", GPU_SCHEMA STRINGS("(1, 'k')"),
                         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 0, column1, 0, 1, NULL, 7, "
                         "NULL, NULL, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL FROM (VALUES ",
                         roundings[i].durations, ")", ";");
    nvtxa_ranges *gpu = gpu_table_of(sql.data, NVTXA_GPU_DETAIL_OPERATIONS);
    char *text = report_of(gpu, NVTXA_REPORT_CUDA_GPU_KERN_SUM, NVTXA_STATS_CSV);
    char *numbers = strchr(text, '\n') + 1;
    for (int skipped = 0; skipped < 3; skipped++) {
      numbers = strchr(numbers, ',') + 1;
    }
    *strrchr(numbers, ',') = '\0';
    cr_expect_str_eq(numbers, roundings[i].wanted);
    free(text);
    nvtxa_ranges_unref(gpu);
    nvtxa__buffer_free(&sql);
  }
}

/* ---- cuda_gpu_trace ---- */

#define TRACE_HEADER                                                                           \
  "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (B),DymSMem " \
  "(B),Bytes (B),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"

/* By start; of those that start together kernels come first, then copies and fills. A graph that
 * was traced as a whole is not in it. */
Test(stats, trace) {
  expect_csv(GPU_SCHEMA STRINGS("(1, 'add<int, 4>')")
                 FILLS("(50, 60, 9, 77, 2), (50, 52, 10, 4096, NULL), (90, 95, 11, 1, 99)")
                     COPIES("(50, 1682, 1, 3, 5, 4, 2, 2, 1), (40, 40, 0, 0, 6, 1000, 1, 0, 2), "
                            "(70, 77, 8, NULL, NULL, 16, 12, 1, 1)")
                         NAMED_KERNELS("(50, 90, 3, " PID_A ", 1), (30, 31, NULL, NULL, 2)")
                             GRAPHS("(45, 99, 0, 7, " PID_A ")"),
             NVTXA_REPORT_CUDA_GPU_TRACE,
             TRACE_HEADER
             "30,1,,128,2,1,256,1,1,32,64,1024,,,,,H100 (0),1,,7,\n"
             "40,0,6,,,,,,,,,,1000,,Pageable,Device,H100 (0),1,,13,[CUDA memcpy Host-to-Device]\n"
             "50,40,3,128,2,1,256,1,1,32,64,1024,,,,,H100 (0),1,,7,\"add<int, 4>\"\n"
             "50,1632,5,,,,,,,,,,4,2.451,Device,Pinned,\"A10, 24 GB (1)\",1,3,13,[CUDA memcpy "
             "Device-to-Host]\n"
             "50,10,9,,,,,,,,,,77,7700.000,Device,,H100 (0),1,,13,[CUDA memset]\n"
             "50,2,10,,,,,,,,,,4096,2048000.000,,,H100 (0),1,,13,[CUDA memset]\n"
             "70,7,,,,,,,,,,,16,2285.714,Pinned,Pinned, (8),1,,13,\n"
             "90,5,11,,,,,,,,,,1,200.000,,,H100 (0),1,,13,[CUDA memset]\n");
}

Test(stats, trace_in_other_formats) {
  nvtxa_ranges *gpu = gpu_table_of(GPU_SCHEMA FILLS("(50, 60, 9, 77, 2)"), NVTXA_GPU_DETAIL_TRACE);
  expect_report(gpu, NVTXA_REPORT_CUDA_GPU_TRACE, NVTXA_STATS_JSON,
                "[\n  {\n    \"Start (ns)\": 50,\n    \"Duration (ns)\": 10,\n    \"CorrId\": 9,\n"
                "    \"GrdX\": \"\",\n    \"GrdY\": \"\",\n    \"GrdZ\": \"\",\n"
                "    \"BlkX\": \"\",\n    \"BlkY\": \"\",\n    \"BlkZ\": \"\",\n"
                "    \"Reg/Trd\": \"\",\n    \"StcSMem (B)\": \"\",\n    \"DymSMem (B)\": \"\",\n"
                "    \"Bytes (B)\": 77,\n    \"Throughput (MB/s)\": 7700.000,\n"
                "    \"SrcMemKd\": \"Device\",\n    \"DstMemKd\": \"\",\n"
                "    \"Device\": \"H100 (0)\",\n    \"Ctx\": 1,\n    \"GreenCtx\": \"\",\n"
                "    \"Strm\": 13,\n    \"Name\": \"[CUDA memset]\"\n  }\n]\n");
  char *text = report_of(gpu, NVTXA_REPORT_CUDA_GPU_TRACE, NVTXA_STATS_TSV);
  cr_expect_str_eq(strchr(text, '\n') + 1,
                   "50\t10\t9\t\t\t\t\t\t\t\t\t\t77\t7700.000\tDevice\t\tH100 (0)\t1\t\t13\t[CUDA "
                   "memset]\n");
  free(text);
  nvtxa_ranges_unref(gpu);
}

/* A copy's size, how long it took, and its throughput: of whole copies in a second, in megabytes
 * with three decimals, of which halves go to the even neighbour. */
typedef struct throughput_case {
  int64_t bytes;
  int64_t duration_ns;
  const char *wanted;
} throughput_case;

static const throughput_case throughputs[] = {
    {62500, 600000000, "0.062"},
    {187500, 600000000, "0.188"},
    {62501, 600000000, "0.063"},
    {500, 600000000, "0.001"},
    {5, 1000000001, "0.000"},
    {999999999999, 600000000, "1000000.000"},
    {INT64_C(12345678901234567), 600000000, "12345678901.235"},
    {INT64_C(4611686018427387904), 1, "4611686018427387904000.000"}, /* beyond 64 bits */
};

Test(stats, throughput) {
  for (size_t i = 0; i < NVTXA__COUNT(throughputs); i++) {
    char wanted[64];
    nvtxa__buffer sql = {0};
    nvtxa__buffer_printf(&sql,
                         "%sINSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, %lld, 0, 1, 0, "
                         "7, 1, NULL, %lld, 1, 0, 2, NULL);",
                         GPU_SCHEMA, (long long)throughputs[i].duration_ns,
                         (long long)throughputs[i].bytes);
    nvtxa_ranges *gpu = gpu_table_of(sql.data, NVTXA_GPU_DETAIL_TRACE);
    char *text = report_of(gpu, NVTXA_REPORT_CUDA_GPU_TRACE, NVTXA_STATS_CSV);
    snprintf(wanted, sizeof wanted, ",%lld,%s,Pageable,", (long long)throughputs[i].bytes,
             throughputs[i].wanted);
    cr_expect_not_null(strstr(text, wanted), "'%s' lacks '%s'", text, wanted);
    free(text);
    nvtxa_ranges_unref(gpu);
    nvtxa__buffer_free(&sql);
  }
}

/* ---- nvtx_kern_sum ---- */

#define RANGE_HEADER                                                                             \
  "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max " \
  "(ns),StdDev (ns),Kernel Name\n"
#define KERNEL_STRINGS STRINGS("(1, 'add'), (2, 'mul'), (3, 'x,y')")

/* A kernel counts under every range around its call, twice under two of one name. A launch of
 * several kernels, a call outside, a call that is missing, and an id of another process. */
Test(stats, kernels_by_range) {
  expect_csv(GPU_SCHEMA KERNEL_STRINGS RANGES(
                 "(0, 100, 'a'), (10, 90, 'a'), (20, 80, 'b'), (85, 88, NULL), (200, 300, 'a')")
                 CALLS("(50, 51, " TID_A ", 1), (52, 53, " TID_A ", 2), (86, 87, " TID_A ", 3), "
                       "(210, 211, " TID_A ", 4), (150, 151, " TID_A ", 5), (50, 51, " TID_B ", 6)")
                     NAMED_KERNELS("(100, 110, 1, " PID_A ", 1), (100, 120, 2, " PID_A
                                   ", 1), (120, 150, 2, " PID_A ", 3), (200, 204, 3, " PID_A
                                   ", 2), (300, 302, 4, " PID_A ", 1), (310, 311, 5, " PID_A
                                   ", 1), (310, 312, 6, " PID_A ", 1), (1, 2, 1, " PID_C
                                   ", 1), (3, 5, 99, " PID_A
                                   ", 2), (5, 9, NULL, NULL, 1), (9, 10, 99, " PID_A ", NULL)"),
             NVTXA_REPORT_NVTX_KERN_SUM,
             RANGE_HEADER
             ",,,,0,2,5,2.5,2.5,1,4,2.1,add\n"
             ",,,,0,1,2,2.0,2.0,2,2,0.0,mul\n"
             ",,,,0,1,1,1.0,1.0,1,1,0.0,\n"
             ",PushPop,7,7,1,1,4,4.0,4.0,4,4,0.0,mul\n"
             ",,7,7,0,1,1,1.0,1.0,1,1,0.0,add\n"
             ",,7,8,0,1,2,2.0,2.0,2,2,0.0,add\n"
             ":a,PushPop,7,7,3,3,62,12.4,10.0,2,20,7.7,add\n"
             ":a,PushPop,7,7,2,1,60,30.0,30.0,30,30,0.0,\"x,y\"\n"
             ":a,PushPop,7,7,2,1,8,4.0,4.0,4,4,0.0,mul\n"
             ":b,PushPop,7,7,1,2,30,15.0,15.0,10,20,7.1,add\n"
             ":b,PushPop,7,7,1,1,30,30.0,30.0,30,30,0.0,\"x,y\"\n");
}

/* Ranges that only overlap, of two styles and domains, on threads of two processes; and one that
 * belongs to two threads, which encloses nothing. */
Test(stats, kernels_by_ranges_that_overlap) {
  expect_csv(
      GPU_SCHEMA KERNEL_STRINGS EVENTS(
          "(0, 60, 59, 'p', " TID_A ", NULL, NULL, 0), (40, 100, 60, 'p', " TID_A
          ", NULL, NULL, 0), (0, 1, 75, 'lib', " TID_A ", NULL, NULL, 1), (30, 70, 59, 'q', " TID_A
          ", NULL, NULL, 1), (0, 99, 60, 'shared', " TID_A ", " TID_B
          ", NULL, 0), (0, 60, 59, 'p', " TID_C ", NULL, NULL, 0)")
          CALLS("(50, 52, " TID_A ", 1), (61, 62, " TID_A ", 2), (69, 75, " TID_A
                ", 3), (10, 12, " TID_C ", 1)")
              NAMED_KERNELS("(100, 107, 1, " PID_A ", 1), (110, 115, 2, " PID_A
                            ", 1), (120, 123, 3, " PID_A ", 1), (100, 101, 1, " PID_C ", 1)"),
      NVTXA_REPORT_NVTX_KERN_SUM,
      RANGE_HEADER
      ":p,StartEnd,7,7,1,3,15,5.0,5.0,3,7,2.0,add\n"
      ":p,PushPop,7,7,1,1,7,7.0,7.0,7,7,0.0,add\n"
      ":p,PushPop,8,8,1,1,1,1.0,1.0,1,1,0.0,add\n"
      "lib:q,PushPop,7,7,1,2,12,6.0,6.0,5,7,1.4,add\n");
}

/* Without NVTX data every kernel is outside every range. */
Test(stats, kernels_without_ranges) {
  expect_csv(VERSION_TABLE STRINGS_TABLE GPU_TABLES KERNEL_STRINGS CALLS("(50, 52, " TID_A ", 1)")
                 NAMED_KERNELS("(100, 107, 1, " PID_A ", 1)"),
             NVTXA_REPORT_NVTX_KERN_SUM, RANGE_HEADER ",,7,7,0,1,7,7.0,7.0,7,7,0.0,add\n");
  expect_csv(VERSION_TABLE STRINGS_TABLE, NVTXA_REPORT_NVTX_KERN_SUM, RANGE_HEADER);
}

/* ---- against a reference ---- */

typedef struct random_numbers {
  uint64_t state;
} random_numbers;

static int64_t below(random_numbers *r, uint64_t limit) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((r->state >> 33) % limit);
}

/* Ranges of three threads. Those of the first nest, and touch. Times are few, so that bounds meet.
 */
static void add_ranges(random_numbers *r, nvtxa__buffer *sql) {
  static const char *const threads[] = {TID_A, TID_B, TID_C};
  for (int i = 0; i < 40; i++) {
    int64_t thread = below(r, 3);
    int64_t length = INT64_C(1) << below(r, 7);
    int64_t start = thread == 0 ? below(r, 128 / (uint64_t)length) * length : below(r, 100);
    length = thread == 0 ? length : below(r, 50);
    nvtxa__buffer_printf(sql,
                         "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES "
                         "(%lld, %lld, %d, %s, %s);",
                         (long long)start, (long long)(start + length), below(r, 4) == 0 ? 60 : 59,
                         below(r, 9) == 0   ? "NULL"
                         : below(r, 2) == 0 ? "'a'"
                                            : "'b'",
                         threads[thread]);
  }
}

static void add_kernels(random_numbers *r, nvtxa__buffer *sql, bool with_length) {
  for (int i = 0; i < 60; i++) {
    static const char *const threads[] = {TID_A, TID_B, TID_C};
    static const char *const processes[] = {PID_A, PID_A, PID_C};
    int64_t thread = below(r, 3);
    int64_t start = below(r, 140);
    if (below(r, 9) != 0) {
      nvtxa__buffer_printf(
          sql, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%lld, %lld, %s, %d);",
          (long long)start, (long long)(start + below(r, 4) + with_length), threads[thread], i);
    }
    for (int64_t launched = 1 + below(r, 2); launched > 0; launched--) {
      nvtxa__buffer_printf(sql,
                           "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT %d, %d + %lld, 0, 1, "
                           "NULL, 7, %d, %s, %lld, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL;",
                           i, i, (long long)below(r, 30), i, processes[thread],
                           (long long)(1 + below(r, 2)));
    }
  }
}

/* A group, and the durations of its pairs of kernel and range. */
static const char reference_sql[] =
    "SELECT coalesce(':' || e.text, ''), CASE e.eventType WHEN 59 THEN 'PushPop' WHEN 60 THEN "
    "'StartEnd' ELSE '' END, coalesce(c.globalTid / 16777216, ''), coalesce(c.globalTid % "
    "16777216, "
    "''), count(DISTINCT e.rowid), count(DISTINCT k.rowid), group_concat(k.end - k.start), "
    "s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName LEFT "
    "JOIN CUPTI_ACTIVITY_KIND_RUNTIME c ON c.correlationId = k.correlationId LEFT JOIN NVTX_EVENTS "
    "e ON e.globalTid = c.globalTid AND e.start <= c.start AND e.end >= c.end GROUP BY 1, 2, 3, 4, "
    "8";

static void add_reference_row(nvtxa__buffer *lines, sqlite3_stmt *row) {
  int64_t durations[2000];
  size_t count = 0;
  int64_t total = 0;
  for (char *at = (char *)sqlite3_column_text(row, 6); *at != '\0'; at += *at == ',') {
    durations[count] = strtoll(at, &at, 10);
    total += durations[count++];
  }
  qsort(durations, count, sizeof *durations, nvtxa__compare_int64);
  int64_t n = (int64_t)count;
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    double distance = (double)durations[i] - (double)total / (double)n;
    squares += distance * distance;
  }
  int64_t mean = (total * 20 + n) / (2 * n); /* tenths, halves up */
  int64_t median = (durations[(n - 1) / 2] + durations[n / 2]) * 5;
  int64_t deviation =
      n == 1 ? 0 : (int64_t)floor(sqrt(squares / (double)(n - 1)) * 10 + 0.5 + 1e-9);
  for (int i = 0; i < 6; i++) {
    nvtxa__buffer_printf(lines, "%s,", sqlite3_column_text(row, i));
  }
  nvtxa__buffer_printf(lines, "%lld,%lld.%lld,%lld.%lld,%lld,%lld,%lld.%lld,%s\n", (long long)total,
                       (long long)(mean / 10), (long long)(mean % 10), (long long)(median / 10),
                       (long long)(median % 10), (long long)durations[0],
                       (long long)durations[n - 1], (long long)(deviation / 10),
                       (long long)(deviation % 10), sqlite3_column_text(row, 7));
}

static char *reference(const char *path) {
  sqlite3 *database = NULL;
  sqlite3_stmt *rows = NULL;
  nvtxa__buffer lines = {0};
  cr_assert_eq(sqlite3_open(path, &database), SQLITE_OK);
  cr_assert_eq(sqlite3_prepare_v2(database, reference_sql, -1, &rows, NULL), SQLITE_OK, "%s",
               sqlite3_errmsg(database));
  while (sqlite3_step(rows) == SQLITE_ROW) {
    add_reference_row(&lines, rows);
  }
  cr_assert_eq(sqlite3_finalize(rows), SQLITE_OK);
  cr_assert_eq(sqlite3_close(database), SQLITE_OK);
  return lines.data;
}

static int compare_lines(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t sort_lines(char *text, const char **lines, size_t room) {
  size_t count = 0;
  for (char *line = strtok(text, "\n"); line != NULL && count < room; line = strtok(NULL, "\n")) {
    lines[count++] = line;
  }
  qsort(lines, count, sizeof *lines, compare_lines);
  return count;
}

Test(stats, kernels_by_range_at_random) {
  enum { SEEDS = 120, ROOM = 200 };
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    random_numbers r = {seed * 0x9E3779B97F4A7C15u};
    nvtxa__buffer sql = {0};
    const char *wanted[ROOM];
    const char *got[ROOM];
    nvtxa__buffer_printf(&sql, "%s", GPU_SCHEMA STRINGS("(1, 'add'), (2, 'mul')"));
    add_ranges(&r, &sql);
    add_kernels(&r, &sql, seed % 2 == 0);
    sample s = sample_new(sql.data);
    nvtxa_ranges *gpu = gpu_table_read(s.path, NVTXA_GPU_DETAIL_OPERATIONS);
    char *text = report_of(gpu, NVTXA_REPORT_NVTX_KERN_SUM, NVTXA_STATS_CSV);
    char *want = reference(s.path);
    size_t count = sort_lines(want, wanted, ROOM);
    cr_assert_eq(sort_lines(strchr(text, '\n') + 1, got, ROOM), count, "seed %d", (int)seed);
    for (size_t i = 0; i < count; i++) {
      cr_assert_str_eq(got[i], wanted[i], "seed %d: got %s, wanted %s", (int)seed, got[i],
                       wanted[i]);
    }
    free(want);
    free(text);
    nvtxa_ranges_unref(gpu);
    sample_free(&s);
    nvtxa__buffer_free(&sql);
  }
}

/* ---- what a table must have ---- */

static void expect_refused(const nvtxa_ranges *ranges, nvtxa_report report, const char *lacks) {
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  nvtxa_error *error = NULL;
  nvtxa__buffer text = {0};
  options.report = report;
  cr_expect_eq(nvtxa_stats_write(ranges, &options, add_piece, &text, &error),
               NVTXA_ERROR_INVALID_ARGUMENT);
  cr_assert_not_null(error);
  cr_expect_not_null(strstr(nvtxa_error_message(error), lacks), "'%s' lacks '%s'",
                     nvtxa_error_message(error), lacks);
  cr_expect_eq(text.length, 0);
  nvtxa_error_free(error);
  error = NULL;
  cr_expect_eq(nvtxa_stats_write_file(ranges, &options, "/nowhere/at/all", &error),
               NVTXA_ERROR_INVALID_ARGUMENT);
  nvtxa_error_free(error);
}

Test(stats, tables_that_lack_something) {
  tables t = tables_of(SCHEMA RANGES("(0, 9, 'a')"));
  expect_refused(t.gpu, NVTXA_REPORT_CUDA_GPU_KERN_SUM, "cuda_gpu_kern_sum needs GPU work");
  expect_refused(t.gpu, NVTXA_REPORT_CUDA_GPU_TRACE, "cuda_gpu_trace needs GPU work");
  expect_refused(t.gpu, NVTXA_REPORT_NVTX_KERN_SUM, "gpu_detail");
  expect_refused(t.host, NVTXA_REPORT_NVTX_KERN_SUM, "a table of GPU-projected ranges");
  expect_refused(t.host, NVTXA_REPORT_GPU_PROJ_TRACE, "a table of GPU-projected ranges");
  expect_refused(t.host, (nvtxa_report)NVTXA_REPORT_COUNT, "options->report");
  expect_refused(t.host, (nvtxa_report)-1, "options->report");
  tables_free(&t);
  nvtxa_ranges *gpu = gpu_table_of(GPU_SCHEMA, NVTXA_GPU_DETAIL_OPERATIONS);
  expect_refused(gpu, NVTXA_REPORT_CUDA_GPU_TRACE, "NVTXA_GPU_DETAIL_TRACE");
  ((nvtxa_gpu_work *)gpu->work)->has_operations = false; /* as work read from reports */
  expect_refused(gpu, NVTXA_REPORT_CUDA_GPU_KERN_SUM, "SQLite");
  nvtxa_ranges_unref(gpu);
}

/* 0 is the table's own report, also with GPU work. */
Test(stats, own_report) {
  static const char sql[] = GPU_SCHEMA STRINGS("(1, 'k')") RANGES("(0, 9, 'a')")
      CALLS("(1, 2, " TID_A ", 1)") NAMED_KERNELS("(20, 30, 1, " PID_A ", 1)");
  nvtxa_ranges *gpu = gpu_table_of(sql, NVTXA_GPU_DETAIL_TRACE);
  char *named = report_of(gpu, NVTXA_REPORT_GPU_PROJ_TRACE, NVTXA_STATS_CSV);
  expect_report(gpu, (nvtxa_report)0, NVTXA_STATS_CSV, named);
  cr_expect_not_null(strstr(named, ":a,20,10,0,9,PushPop,7,7,1,0,0,1,,:1\n"));
  free(named);
  nvtxa_ranges_unref(gpu);
}

/* A table that leaves names and times to that of host ranges, which was read with it. */
Test(stats, beside_host_ranges) {
  static const nvtxa_report reports[] = {NVTXA_REPORT_CUDA_GPU_KERN_SUM,
                                         NVTXA_REPORT_CUDA_GPU_TRACE, NVTXA_REPORT_NVTX_KERN_SUM};
  sample s =
      sample_new(GPU_SCHEMA KERNEL_STRINGS EVENTS(
          "(0, 60, 59, 'p', " TID_B ", NULL, NULL, 0), (1, 2, 59, 'idle', " TID_B
          ", NULL, NULL, 0), (30, 70, 59, 'q', " TID_B ", NULL, NULL, 0), (0, 99, 59, 'r', " TID_C
          ", NULL, NULL, 0), (5, 90, 59, 'p', " TID_C ", NULL, NULL, 0)")
                     CALLS("(50, 52, " TID_B ", 1), (65, 66, " TID_B ", 2), (10, 12, " TID_C ", 1)")
                         NAMED_KERNELS("(100, 107, 1, " PID_A ", 1), (110, 115, 2, " PID_A
                                       ", 2), (100, 101, 1, " PID_C ", 1)"));
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  nvtxa_ranges *alone = gpu_table_read(s.path, NVTXA_GPU_DETAIL_TRACE);
  options.gpu_detail = NVTXA_GPU_DETAIL_TRACE;
  cr_assert_eq(nvtxa_ranges_read_sqlite(s.path, &options, &host, &gpu, NULL), NVTXA_OK);
  cr_assert(gpu->base == host && alone->base == NULL);
  for (size_t i = 0; i < NVTXA__COUNT(reports); i++) {
    char *text = report_of(alone, reports[i], NVTXA_STATS_CSV);
    expect_report(gpu, reports[i], NVTXA_STATS_CSV, text);
    free(text);
  }
  expect_report(gpu, NVTXA_REPORT_NVTX_KERN_SUM, NVTXA_STATS_CSV,
                RANGE_HEADER
                ":p,PushPop,7,8,1,1,7,7.0,7.0,7,7,0.0,add\n"
                ":p,PushPop,8,8,1,1,1,1.0,1.0,1,1,0.0,add\n"
                ":q,PushPop,7,8,1,1,7,7.0,7.0,7,7,0.0,add\n"
                ":q,PushPop,7,8,1,1,5,5.0,5.0,5,5,0.0,mul\n"
                ":r,PushPop,8,8,1,1,1,1.0,1.0,1,1,0.0,add\n");
  nvtxa_ranges_unref(alone);
  nvtxa_ranges_unref(gpu);
  nvtxa_ranges_unref(host);
  sample_free(&s);
}

/* ---- hardships ---- */

/* Ranges of one name, all inside each other: a million pairs that the flag must end. */
Test(stats, deep_ranges_are_cancelled) {
  static const char sql[] =
      GPU_SCHEMA STRINGS("(1, 'k')")
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) INSERT INTO "
      "NVTX_EVENTS (start, end, eventType, text, globalTid) SELECT i, 100000 - i, 59, 'r', " TID_A
      " FROM n;"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) INSERT INTO "
      "CUPTI_ACTIVITY_KIND_RUNTIME SELECT 2000 + i, 2001 + i, " TID_A ", i FROM n;"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start, end, 0, 1, NULL, 7, correlationId, " PID_A
      ", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL FROM CUPTI_ACTIVITY_KIND_RUNTIME;";
  nvtxa_ranges *gpu = gpu_table_of(sql, NVTXA_GPU_DETAIL_OPERATIONS);
  sig_atomic_t cancel = 0;
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  nvtxa_error *error = NULL;
  nvtxa__buffer text = {0};
  expect_report(gpu, NVTXA_REPORT_NVTX_KERN_SUM, NVTXA_STATS_CSV,
                RANGE_HEADER ":r,PushPop,7,7,1000,1000,1000000,1.0,1.0,1,1,0.0,k\n");
  hooks.cancel = &cancel;
  options.hooks = &hooks;
  options.report = NVTXA_REPORT_NVTX_KERN_SUM;
  cancel = 1;
  cr_expect_eq(nvtxa_stats_write(gpu, &options, add_piece, &text, &error), NVTXA_ERROR_CANCELLED);
  cr_expect_eq(text.length, 0);
  nvtxa_error_free(error);
  nvtxa_ranges_unref(gpu);
}

/* What a kernel took, counted under each of many ranges, leaves 64 bits. */
Test(stats, total_that_is_too_large) {
  nvtxa_ranges *gpu =
      gpu_table_of(GPU_SCHEMA STRINGS("(1, 'k')") RANGES("(0, 90, 'r'), (1, 80, 'r'), (2, 70, 'r')")
                       CALLS("(10, 11, " TID_A ", 1)")
                           NAMED_KERNELS("(0, 4000000000000000000, 1, " PID_A ", 1)"),
                   NVTXA_GPU_DETAIL_OPERATIONS);
  nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
  nvtxa_error *error = NULL;
  nvtxa__buffer text = {0};
  options.report = NVTXA_REPORT_NVTX_KERN_SUM;
  cr_expect_eq(nvtxa_stats_write(gpu, &options, add_piece, &text, &error), NVTXA_ERROR_OVERFLOW);
  cr_assert_not_null(error);
  cr_expect_not_null(strstr(nvtxa_error_message(error), "'k'"));
  nvtxa_error_free(error);
  nvtxa__buffer_free(&text);
  nvtxa_ranges_unref(gpu);
}

/* Whether there is a locale with a decimal comma from here on: made in a place of its own. Where it
 * is so found, newlocale() of glibc loses memory; setlocale() does not. */
static bool set_comma_locale(const char *directory) {
  char command[256];
  snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/log 2>&1",
           directory, directory);
  return system(command) != -1 && setenv("LOCPATH", directory, 1) == 0 &&
         setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

Test(stats, locale_with_a_decimal_comma) {
  char directory[] = "/tmp/nvtxa-test-XXXXXX";
  char command[64];
  cr_assert_not_null(mkdtemp(directory));
  bool comma = set_comma_locale(directory);
  if (comma) {
    cr_expect_str_eq(localeconv()->decimal_point, ",");
    expect_csv(GPU_SCHEMA COPIES("(50, 1682, 0, 0, 5, 4, 2, 2, 1)"), NVTXA_REPORT_CUDA_GPU_TRACE,
               TRACE_HEADER
               "50,1632,5,,,,,,,,,,4,2.451,Device,Pinned,H100 (0),1,,13,[CUDA memcpy "
               "Device-to-Host]\n");
    expect_csv(GPU_SCHEMA STRINGS("(1, 'k')") NAMED_KERNELS("(0, 1, 1, NULL, 1), (0, 2, 1, NULL, "
                                                            "1)"),
               NVTXA_REPORT_CUDA_GPU_KERN_SUM, SUM_HEADER "100.0,3,2,1.5,1.5,1,2,0.7,k\n");
  }
  snprintf(command, sizeof command, "rm -r %s", directory);
  cr_expect_eq(system(command), 0);
  if (!comma) {
    cr_skip_test("no localedef, or no sources of de_DE");
  }
}
