/*
 * gpu/, and what ranges/ and analysis/ make of it: operations one by one, what they amount to for a
 * scope or an iteration, and what goes wrong.
 */
#include <errno.h>

#include <nvtxa/analysis.h>

#include "sqlite-export.h"

#define WORK_TABLES                                                                          \
  VERSION_TABLE EVENTS_TABLE STRINGS_TABLE                                                   \
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId);"     \
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, correlationId, globalPid, "      \
      "deviceId, demangledName, graphNodeId);"                                               \
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, correlationId, globalPid, "      \
      "deviceId, srcKind, dstKind, bytes);"                                                  \
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, correlationId, globalPid, "      \
      "deviceId, memKind, bytes);"                                                           \
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, correlationId, globalPid, " \
      "deviceId);"
/* "(start, end, correlation id, process, device, name, node), ..." and likewise below. */
#define KERNEL(rows) "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES " rows ";"
#define MEMCPY(rows) "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES " rows ";"
#define MEMSET(rows) "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES " rows ";"
#define GRAPH(rows)  "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES " rows ";"
#define NAME(rows)   "INSERT INTO StringIds VALUES " rows ";"

/* ---- help ---- */

static tables read_with(const char *sql, nvtxa_gpu_detail detail) {
  tables t = {NULL, NULL};
  nvtxa_error *error = NULL;
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  sample s = sample_new(sql);
  options.gpu_detail = detail;
  nvtxa_status status = nvtxa_ranges_read_sqlite(s.path, &options, &t.host, &t.gpu, &error);
  cr_assert_eq(status, NVTXA_OK, "%s: %s", nvtxa_status_name(status),
               error ? nvtxa_error_message(error) : "no error");
  sample_free(&s);
  return t;
}

static void expect_refused(const char *sql, nvtxa_status wanted, const char *field,
                           const char *message) {
  nvtxa_ranges *gpu = NULL;
  nvtxa_error *error = NULL;
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  sample s = sample_new(sql);
  options.gpu_detail = NVTXA_GPU_DETAIL_OPERATIONS;
  cr_assert_eq(nvtxa_ranges_read_sqlite(s.path, &options, NULL, &gpu, &error), wanted);
  cr_expect_null(gpu);
  cr_assert_not_null(error);
  const char *found = nvtxa_error_field(error);
  cr_expect((found == NULL) == (field == NULL) && (field == NULL || strcmp(found, field) == 0),
            "the field is %s", found);
  cr_expect_not_null(strstr(nvtxa_error_message(error), message), "'%s' lacks '%s'",
                     nvtxa_error_message(error), message);
  nvtxa_error_free(error);
  sample_free(&s);
}

static nvtxa_analysis *analyse(const tables *t) {
  static const char text[] = "capture_range: target\n";
  nvtxa_manifest *manifest = NULL;
  nvtxa_analysis *analysis = NULL;
  nvtxa_error *error = NULL;
  cr_assert_eq(nvtxa_manifest_read_buffer(text, sizeof text - 1, &manifest, NULL), NVTXA_OK);
  nvtxa_status status = nvtxa_analysis_new(manifest, t->host, t->gpu, NULL, &analysis, &error);
  cr_assert_eq(status, NVTXA_OK, "%s", error ? nvtxa_error_message(error) : "no error");
  nvtxa_manifest_unref(manifest);
  return analysis;
}

static nvtxa_gpu_times times_of(const nvtxa_gpu_share *share) {
  nvtxa_gpu_times times = {.size = sizeof times};
  cr_assert_eq(nvtxa_gpu_share_times(share, &times), NVTXA_OK);
  return times;
}

static nvtxa_gpu_launch_delay delay_of(const nvtxa_gpu_share *share) {
  nvtxa_gpu_launch_delay delay = {.size = sizeof delay};
  cr_assert_eq(nvtxa_gpu_share_launch_delay(share, &delay), NVTXA_OK);
  return delay;
}

static nvtxa_gpu_amount amount_of(const nvtxa_gpu_share *share, nvtxa_gpu_kind kind, size_t i) {
  nvtxa_gpu_amount amount = {.size = sizeof amount};
  cr_assert_eq(nvtxa_gpu_share_amount(share, kind, i, &amount), NVTXA_OK);
  cr_assert_eq(amount.kind, kind);
  return amount;
}

static const nvtxa_gpu_share *share_named(const nvtxa_analysis *analysis, const char *name,
                                          nvtxa_gpu_attributed attributed) {
  for (size_t i = 0; i < nvtxa_analysis_gpu_group_count(analysis); i++) {
    nvtxa_gpu_group group = {.size = sizeof group};
    cr_assert_eq(nvtxa_analysis_gpu_group(analysis, i, &group), NVTXA_OK);
    if (nvtxa__text_is(group.name, name)) {
      return nvtxa_analysis_gpu_group_share(analysis, i, attributed);
    }
  }
  cr_assert_fail("there is no group %s", name);
  return NULL;
}

static nvtxa_gpu_device device_at(const nvtxa_analysis *analysis, size_t i) {
  nvtxa_gpu_device device = {.size = sizeof device};
  cr_assert_eq(nvtxa_analysis_gpu_device(analysis, i, &device), NVTXA_OK);
  return device;
}

/* ---- the example of docs/gpu-work.md, in columns ---- */

#define DRAWING                                                                            \
  WORK_TABLES RANGES(                                                                      \
      "(0, 26, 'target'), (0, 26, 'iteration 0'), (1, 12, 'prepare'), (14, 25, 'infer')")  \
      NAME("(7, 'k')") CALLS("(2, 3, " TID_A ", 1), (7, 8, " TID_A ", 2), (15, 16, " TID_A \
                             ", 3), (19, 20, " TID_A ", 4)")                               \
          MEMCPY("(4, 11, 1, " PID_A ", 0, 1, 2, 4096)")                                   \
              KERNEL("(9, 14, 2, " PID_A ", 0, 7, NULL), (19, 25, 3, " PID_A               \
                     ", 0, 7, NULL), (27, 31, 4, " PID_A ", 0, 7, NULL)")

Test(gpu_work, drawing) {
  tables t = read_with(DRAWING, NVTXA_GPU_DETAIL_OPERATIONS);
  nvtxa_analysis *analysis = analyse(&t);
  const nvtxa_gpu_share *all = nvtxa_analysis_iteration_share(analysis, 0, NVTXA_GPU_INCLUSIVE);
  nvtxa_gpu_times times = times_of(all);
  nvtxa_gpu_launch_delay delay = delay_of(all);
  cr_expect(times.operations == 4 && times.span_ns == 27 && times.busy_ns == 20);
  cr_expect(times.idle_ns == 7 && times.largest_gap_ns == 5 && times.copy_compute_overlap_ns == 2);
  cr_expect(delay.operations == 4 && delay.median_ns == 3);
  cr_expect_float_eq(delay.p99_ns, 7.88, 1e-12);
  nvtxa_gpu_amount kernels = amount_of(all, NVTXA_GPU_KERNEL, 0);
  cr_expect(kernels.instances == 3 && kernels.cumulative_duration_ns == 15);
  cr_expect(nvtxa__text_is(kernels.name, "k"));
  cr_expect_eq(
      times_of(nvtxa_analysis_iteration_share(analysis, 0, NVTXA_GPU_INNERMOST)).operations, 0);
  for (nvtxa_gpu_attributed a = NVTXA_GPU_INCLUSIVE; a <= NVTXA_GPU_INNERMOST; a++) {
    times = times_of(share_named(analysis, "prepare", a));
    cr_expect(times.operations == 2 && times.busy_ns == 10 && times.copy_compute_overlap_ns == 2);
    times = times_of(share_named(analysis, "infer", a));
    cr_expect(times.operations == 2 && times.busy_ns == 10 && times.span_ns == 12);
  }
  nvtxa_analysis_unref(analysis);
  tables_free(&t);
}

Test(gpu_work, operations_one_by_one) {
  tables t = read_with(DRAWING, NVTXA_GPU_DETAIL_OPERATIONS);
  const nvtxa_gpu_work *work = nvtxa_ranges_gpu_work(t.gpu);
  cr_assert(nvtxa_gpu_work_has_operations(work));
  cr_assert_eq(nvtxa_gpu_work_operation_count(work), 4);
  nvtxa_gpu_operation copy = {.size = sizeof copy};
  nvtxa_range range = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_gpu_work_operation(work, 0, &copy), NVTXA_OK);
  cr_expect(copy.kind == NVTXA_GPU_MEMORY_TRANSFER && copy.bytes == 4096 && !copy.graph_node);
  cr_expect(copy.start_ns == 4 && copy.duration_ns == 7 && copy.launch_start_ns == 2);
  cr_expect(nvtxa__text_is(copy.source_memory_kind, "Pinned"));
  cr_expect(nvtxa__text_is(copy.destination_memory_kind, "Device"));
  cr_expect_null(copy.name.data);
  cr_assert_eq(copy.attribution, NVTXA_GPU_IN_RANGE);
  cr_assert_eq(nvtxa_ranges_get(t.gpu, copy.range, &range), NVTXA_OK);
  cr_expect(nvtxa__text_is(range.name, ":prepare"));
  cr_expect_eq(nvtxa_gpu_work_operation(work, 4, &copy), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_gpu_work_operation(NULL, 0, &copy), NVTXA_ERROR_INVALID_ARGUMENT);
  tables_free(&t);
}

Test(gpu_work, only_where_it_is_asked_for) {
  tables t = read_with(DRAWING, NVTXA_GPU_DETAIL_NONE);
  cr_expect_null(nvtxa_ranges_gpu_work(t.gpu));
  nvtxa_analysis *analysis = analyse(&t);
  cr_expect_null(nvtxa_analysis_gpu_work(analysis));
  cr_expect_null(nvtxa_analysis_iteration_share(analysis, 0, NVTXA_GPU_INCLUSIVE));
  cr_expect_null(nvtxa_analysis_gpu_group_share(analysis, 0, NVTXA_GPU_INCLUSIVE));
  cr_expect_eq(nvtxa_analysis_gpu_device_count(analysis), 0);
  nvtxa_analysis_unref(analysis);
  tables_free(&t);
}

/* ---- where operations go ---- */

#define TARGET "(0, 1000, 'target'), (10, 900, 'iteration 0')"

/* A node of a graph counts for itself, a graph that was traced as a whole is one operation. */
Test(gpu_work, graphs) {
  tables t =
      read_with(WORK_TABLES RANGES(TARGET ", (20, 90, 'step')") NAME("(7, 'k'), (8, 'l')")
                    CALLS("(30, 31, " TID_A ", 1), (40, 41, " TID_A ", 2), (50, 51, " TID_A ", 3)")
                        KERNEL("(50, 60, 1, " PID_A ", 0, 7, 11), (60, 80, 1, " PID_A
                               ", 0, 8, 12), (90, 95, 1, " PID_A ", 0, 7, 13)")
                            GRAPH("(100, 200, 2, " PID_A ", 0), (0, 0, 3, " PID_A ", 0)"),
                NVTXA_GPU_DETAIL_OPERATIONS);
  nvtxa_analysis *analysis = analyse(&t);
  const nvtxa_gpu_share *step = share_named(analysis, "step", NVTXA_GPU_INNERMOST);
  cr_expect_eq(times_of(step).operations, 4);
  cr_expect_eq(times_of(step).busy_ns, 135);
  cr_expect_eq(nvtxa_gpu_share_graph_nodes(step), 3);
  cr_assert_eq(nvtxa_gpu_share_amount_count(step, NVTXA_GPU_KERNEL), 2);
  cr_expect(nvtxa__text_is(amount_of(step, NVTXA_GPU_KERNEL, 0).name, "l"));
  cr_assert_eq(nvtxa_gpu_share_amount_count(step, NVTXA_GPU_GRAPH), 1);
  cr_expect_eq(amount_of(step, NVTXA_GPU_GRAPH, 0).cumulative_duration_ns, 100);
  nvtxa_gpu_device device = device_at(analysis, 0);
  cr_expect(device.operations == 5 && device.attributed == 4 && device.untimed == 1);
  nvtxa_gpu_group group = {.size = sizeof group};
  cr_assert_eq(nvtxa_analysis_gpu_group(analysis, 0, &group), NVTXA_OK);
  cr_expect_eq(group.gpu_operation_count, 2, "calls, as nsys counts them");
  cr_expect_eq(group.projected.total_ns, 150);
  nvtxa_analysis_unref(analysis);
  tables_free(&t);
}

Test(gpu_work, each_reason_is_counted_apart) {
  tables t = read_with(
      WORK_TABLES RANGES(TARGET ", (20, 90, 'step'), (200, NULL, 'open')") NAME("(7, 'k')")
          CALLS("(30, 31, " TID_A ", 1), (2000, 2001, " TID_A ", 2), (300, 301, " TID_A
                ", 3), (30, 31, " TID_C ", 4), (5, 6, " TID_A ", 5)")
              KERNEL("(50, 60, 1, " PID_A ", 3, 7, NULL), (2010, 2020, 2, " PID_A
                     ", 3, 7, NULL), (310, 320, 3, " PID_A ", 3, 7, NULL), (50, 60, 4, " PID_A
                     ", 3, 7, NULL), (50, 60, NULL, " PID_A ", 1, 7, NULL), (50, 60, 5, " PID_A
                     ", 1, 7, NULL)"),
      NVTXA_GPU_DETAIL_OPERATIONS);
  nvtxa_analysis *analysis = analyse(&t);
  cr_assert_eq(nvtxa_analysis_gpu_device_count(analysis), 2);
  nvtxa_gpu_device one = device_at(analysis, 0);
  nvtxa_gpu_device three = device_at(analysis, 1);
  cr_expect(one.device_id == 1 && one.operations == 2 && one.launch_missing == 1);
  cr_expect_eq(one.attributed, 1, "the capture range's own");
  cr_expect(three.device_id == 3 && three.operations == 4 && three.attributed == 1);
  cr_expect(three.outside_ranges == 1 && three.in_open_ranges == 1 && three.launch_missing == 1);
  const nvtxa_gpu_share *all = nvtxa_analysis_iteration_share(analysis, 0, NVTXA_GPU_INCLUSIVE);
  cr_expect_eq(times_of(all).operations, 2, "what is in the open range is in the iteration, too");
  bool warned = false;
  for (size_t i = 0; i < nvtxa_analysis_warning_count(analysis); i++) {
    warned = warned || nvtxa_analysis_warning(analysis, i).kind == NVTXA_WARNING_LAUNCH_MISSING;
  }
  cr_expect(warned);
  nvtxa_analysis_unref(analysis);
  tables_free(&t);
}

/* Ranges of two domains overlap without nesting: both enclose the call, the shorter is innermost.
 */
Test(gpu_work, ranges_that_overlap) {
  tables t = read_with(
      WORK_TABLES RANGES(TARGET) EVENTS("(20, 100, 59, 'A', " TID_A ", NULL, NULL, 1), (50, 180, "
                                        "59, 'B', " TID_A ", NULL, NULL, 2)") NAME("(7, 'k')")
          CALLS("(60, 61, " TID_A ", 1), (30, 31, " TID_A ", 2), (120, 121, " TID_A ", 3)") KERNEL(
              "(70, 80, 1, " PID_A ", 0, 7, NULL), (40, 45, 2, " PID_A ", 0, 7, NULL), (130, 140, "
              "3, " PID_A ", 0, 7, NULL)"),
      NVTXA_GPU_DETAIL_OPERATIONS);
  nvtxa_analysis *analysis = analyse(&t);
  cr_expect_eq(times_of(share_named(analysis, "A", NVTXA_GPU_INCLUSIVE)).operations, 2);
  cr_expect_eq(times_of(share_named(analysis, "A", NVTXA_GPU_INNERMOST)).operations, 2);
  cr_expect_eq(times_of(share_named(analysis, "B", NVTXA_GPU_INCLUSIVE)).operations, 2);
  cr_expect_eq(times_of(share_named(analysis, "B", NVTXA_GPU_INNERMOST)).operations, 1);
  cr_expect_eq(times_of(share_named(analysis, "target", NVTXA_GPU_INCLUSIVE)).operations, 3);
  nvtxa_analysis_unref(analysis);
  tables_free(&t);
}

Test(gpu_work, devices_side_by_side) {
  tables t = read_with(
      WORK_TABLES RANGES(TARGET) NAME("(7, 'k')") CALLS("(30, 31, " TID_A ", 1), (32, 33, " TID_A
                                                        ", 2), (34, 35, " TID_A ", 3)")
          KERNEL("(50, 60, 1, " PID_A ", 9, 7, NULL), (55, 70, 2, " PID_A ", 2, 7, NULL), (80, 90, "
                 "3, " PID_A ", 9, 7, NULL)"),
      NVTXA_GPU_DETAIL_OPERATIONS);
  nvtxa_analysis *analysis = analyse(&t);
  const nvtxa_gpu_share *share = nvtxa_analysis_iteration_share(analysis, 0, NVTXA_GPU_INNERMOST);
  nvtxa_gpu_times times = times_of(share);
  int64_t id = 0;
  cr_expect(times.span_ns == 40 && times.busy_ns == 30 && times.largest_gap_ns == 10);
  cr_assert_eq(nvtxa_gpu_share_device_count(share), 2);
  cr_assert_eq(nvtxa_gpu_share_device_times(share, 0, &id, &times), NVTXA_OK);
  cr_expect(id == 2 && times.operations == 1 && times.busy_ns == 15 && times.span_ns == 15);
  cr_assert_eq(nvtxa_gpu_share_device_times(share, 1, &id, &times), NVTXA_OK);
  cr_expect(id == 9 && times.busy_ns == 20 && times.span_ns == 40 && times.largest_gap_ns == 20);
  cr_expect_eq(nvtxa_gpu_share_device_times(share, 2, &id, &times), NVTXA_ERROR_INVALID_ARGUMENT);
  nvtxa_analysis_unref(analysis);
  tables_free(&t);
}

/* An export of CUDA data alone: every operation is there, and outside. */
Test(gpu_work, without_ranges) {
  nvtxa_ranges *gpu = NULL;
  nvtxa_ranges_options options = NVTXA_RANGES_OPTIONS_INIT;
  sample s = sample_new(WORK_TABLES CALLS("(30, 31, " TID_A ", 1)") KERNEL("(50, 60, 1, " PID_A ", "
                                                                                                "0,"
                                                                                                " 9"
                                                                                                "9,"
                                                                                                " N"
                                                                                                "UL"
                                                                                                "L"
                                                                                                ")") MEMSET(
      "(60, 70, 2, " PID_A
      ", 0, NULL, 5)") "DROP TABLE "
                       "NVTX_EVENTS;");
  options.gpu_detail = NVTXA_GPU_DETAIL_TRACE;
  cr_assert_eq(nvtxa_ranges_read_sqlite(s.path, &options, NULL, &gpu, NULL),
               NVTXA_ERROR_SQLITE_COLUMN);
  options.gpu_detail = NVTXA_GPU_DETAIL_OPERATIONS;
  cr_assert_eq(nvtxa_ranges_read_sqlite(s.path, &options, NULL, &gpu, NULL), NVTXA_OK);
  const nvtxa_gpu_work *work = nvtxa_ranges_gpu_work(gpu);
  nvtxa_gpu_operation operation = {.size = sizeof operation};
  nvtxa_gpu_amount set = {.size = sizeof set};
  cr_assert_eq(nvtxa_gpu_work_operation(work, 0, &operation), NVTXA_OK);
  cr_expect_eq(operation.attribution, NVTXA_GPU_OUTSIDE_RANGES);
  cr_expect_str_eq(operation.name.data, "", "a name that StringIds lacks");
  cr_assert_eq(nvtxa_gpu_work_operation(work, 1, &operation), NVTXA_OK);
  cr_expect_eq(operation.attribution, NVTXA_GPU_LAUNCH_MISSING);
  cr_assert_eq(nvtxa_gpu_work_amount(work, NVTXA_GPU_MEMORY_SET, 0, &set), NVTXA_OK);
  cr_expect(set.destination_memory_kind.data == NULL && set.total_bytes == 5);
  nvtxa_ranges *host = NULL;
  cr_expect_eq(nvtxa_ranges_read_sqlite(s.path, &options, &host, NULL, NULL),
               NVTXA_ERROR_SQLITE_TABLE);
  nvtxa_ranges_unref(gpu);
  sample_free(&s);
}

/* ---- totals ---- */

Test(gpu_work, totals_are_sorted) {
  tables t = read_with(
      WORK_TABLES RANGES(TARGET) NAME("(1, 'b'), (2, 'a'), (3, 'a')")
          KERNEL("(0, 5, 1, 0, 0, 1, NULL), (0, 6, 1, 0, 0, 2, NULL), (0, 7, 1, 0, 0, 3, NULL)")
              MEMCPY("(0, 1, 1, 0, 0, 2, 0, 10), (0, 2, 1, 0, 0, 0, 2, 20), (0, 3, 1, 0, 0, 2, 2, "
                     "30), (0, 4, 1, 0, 0, 2, 0, 40)")
                  MEMSET("(0, 1, 1, 0, 0, 2, 7), (0, 1, 1, 0, 0, NULL, 8)"),
      NVTXA_GPU_DETAIL_OPERATIONS);
  const nvtxa_gpu_work *work = nvtxa_ranges_gpu_work(t.gpu);
  nvtxa_gpu_amount amount = {.size = sizeof amount};
  cr_assert_eq(nvtxa_gpu_work_amount_count(work, NVTXA_GPU_KERNEL), 2);
  cr_assert_eq(nvtxa_gpu_work_amount(work, NVTXA_GPU_KERNEL, 0, &amount), NVTXA_OK);
  cr_expect(nvtxa__text_is(amount.name, "a") && amount.instances == 2, "two ids, one name");
  cr_expect_eq(amount.cumulative_duration_ns, 13);
  cr_assert_eq(nvtxa_gpu_work_amount_count(work, NVTXA_GPU_MEMORY_TRANSFER), 3);
  static const char *const wanted[][2] = {
      {"Device", "Device"}, {"Device", "Pageable"}, {"Pageable", "Device"}};
  for (size_t i = 0; i < 3; i++) {
    cr_assert_eq(nvtxa_gpu_work_amount(work, NVTXA_GPU_MEMORY_TRANSFER, i, &amount), NVTXA_OK);
    cr_expect(nvtxa__text_is(amount.source_memory_kind, wanted[i][0]));
    cr_expect(nvtxa__text_is(amount.destination_memory_kind, wanted[i][1]));
  }
  cr_assert_eq(nvtxa_gpu_work_amount(work, NVTXA_GPU_MEMORY_SET, 0, &amount), NVTXA_OK);
  cr_expect(amount.destination_memory_kind.data == NULL && amount.total_bytes == 8);
  cr_expect_eq(nvtxa_gpu_work_amount_count(work, NVTXA_GPU_KIND_COUNT), 0);
  cr_expect_eq(nvtxa_gpu_work_amount_count(NULL, NVTXA_GPU_KERNEL), 0);
  cr_expect_eq(nvtxa_gpu_work_amount(work, NVTXA_GPU_GRAPH, 0, &amount),
               NVTXA_ERROR_INVALID_ARGUMENT);
  tables_free(&t);
}

/* The names of the kinds are those of the export. */
Test(gpu_work, kinds_of_memory_by_the_table) {
  tables t = read_with(WORK_TABLES RANGES(TARGET) MEMCPY("(0, 1, 1, 0, 0, 9, 2, 10)")
                           "CREATE TABLE ENUM_CUDA_MEM_KIND (id, name, label);"
                           "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (9, 'X', 'Ninth');",
                       NVTXA_GPU_DETAIL_OPERATIONS);
  nvtxa_gpu_amount amount = {.size = sizeof amount};
  cr_assert_eq(
      nvtxa_gpu_work_amount(nvtxa_ranges_gpu_work(t.gpu), NVTXA_GPU_MEMORY_TRANSFER, 0, &amount),
      NVTXA_OK);
  cr_expect(nvtxa__text_is(amount.source_memory_kind, "Ninth"));
  cr_expect(nvtxa__text_is(amount.destination_memory_kind, "Device"));
  tables_free(&t);
}

/* ---- what is refused ---- */

Test(gpu_work, refused) {
  expect_refused(WORK_TABLES MEMCPY("(0, 1, 1, 0, 0, NULL, 2, 10)"), NVTXA_ERROR_SQLITE_VALUE,
                 "srcKind", "CUPTI_ACTIVITY_KIND_MEMCPY, row 1, column 'srcKind': NULL is no kind");
  expect_refused(WORK_TABLES MEMCPY("(0, 1, 1, 0, 0, 2, NULL, 10)"), NVTXA_ERROR_SQLITE_VALUE,
                 "dstKind", "NULL is no kind of memory");
  expect_refused(WORK_TABLES MEMCPY("(0, 1, 1, 0, 0, 2, 77, 10)"), NVTXA_ERROR_SQLITE_VALUE, NULL,
                 "memory of kind 77, which ENUM_CUDA_MEM_KIND does not name");
  expect_refused(WORK_TABLES MEMSET("(0, 1, 1, 0, 0, 2, -1)"), NVTXA_ERROR_SQLITE_VALUE, "bytes",
                 "'-1' is negative");
  expect_refused(WORK_TABLES MEMCPY("(0, 1, 1, 0, 0, 2, 2, NULL)"), NVTXA_ERROR_SQLITE_VALUE,
                 "bytes", "NULL is not a 64-bit integer");
  expect_refused(WORK_TABLES KERNEL("(0, 1, 1, 0, NULL, 7, NULL)"), NVTXA_ERROR_SQLITE_VALUE,
                 "deviceId", "NULL is not a 64-bit integer");
  expect_refused(SCHEMA, NVTXA_ERROR_SQLITE_COLUMN, "CUPTI_ACTIVITY_KIND_KERNEL",
                 "lacks the column 'deviceId'");
}

/* Of one label, or only of all together: any part of them may be what a scope sums up. */
Test(gpu_work, sums_that_do_not_fit) {
  expect_refused(
      WORK_TABLES MEMSET("(0, 1, 1, 0, 0, 2, 9223372036854775807), (0, 1, 1, 0, 0, 2, 1)"),
      NVTXA_ERROR_OVERFLOW, NULL, "sizes of 'memory sets' pass 64 bits");
  expect_refused(
      WORK_TABLES MEMSET("(0, 1, 1, 0, 0, 2, 9223372036854775807), (0, 1, 1, 0, 0, 3, 1)"),
      NVTXA_ERROR_OVERFLOW, NULL, "the sizes of all memory sets pass 64 bits");
  expect_refused(WORK_TABLES NAME("(1, 'a'), (2, 'b')")
                     KERNEL("(-2305843009213693952, 4611686018427387903, 1, 0, 0, 1, NULL), "
                            "(-2305843009213693952, 4611686018427387903, 2, 0, 0, 2, NULL)"),
                 NVTXA_ERROR_OVERFLOW, NULL, "the durations of all kernels pass 64 bits");
}

/* Tools may name a column "", which is none that is read. */
Test(gpu_work, column_without_a_name) {
  tables t = read_with(WORK_TABLES RANGES(TARGET) NAME("(7, 'k')")
                           KERNEL("(0, 5, 1, 0, 0, 7, NULL), (0, 6, 1, 0, 0, 7, NULL)")
                               "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN \"\" INTEGER;"
                               "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET \"\" = rowid - 5;",
                       NVTXA_GPU_DETAIL_OPERATIONS);
  const nvtxa_gpu_work *work = nvtxa_ranges_gpu_work(t.gpu);
  nvtxa_gpu_operation operation = {.size = sizeof operation};
  cr_expect_eq(nvtxa_gpu_work_amount_count(work, NVTXA_GPU_KERNEL), 1);
  cr_assert_eq(nvtxa_gpu_work_operation(work, 0, &operation), NVTXA_OK);
  cr_expect_eq(operation.bytes, 0);
  tables_free(&t);
}

/* Two calls that begin together: which stands first in the export does not count. */
Test(gpu_work, calls_that_begin_together) {
  static const char *const rows[] = {
      CALLS("(30, 40, " TID_A ", 1), (30, 35, " TID_B ", 1)"),
      CALLS("(30, 35, " TID_B ", 1), (30, 40, " TID_A ", 1)"),
  };
  for (size_t i = 0; i < NVTXA__COUNT(rows); i++) {
    char sql[4096];
    snprintf(sql, sizeof sql, "%s%s%s", WORK_TABLES RANGES(TARGET) NAME("(7, 'k')"), rows[i],
             KERNEL("(50, 60, 1, " PID_A ", 0, 7, NULL)"));
    tables t = read_with(sql, NVTXA_GPU_DETAIL_OPERATIONS);
    nvtxa_gpu_operation operation = {.size = sizeof operation};
    cr_assert_eq(nvtxa_gpu_work_operation(nvtxa_ranges_gpu_work(t.gpu), 0, &operation), NVTXA_OK);
    cr_expect_eq(operation.attribution, NVTXA_GPU_OUTSIDE_RANGES, "the shorter one's thread");
    tables_free(&t);
  }
}

Test(gpu_work, kernels_without_names) {
  char warnings[64];
  tables t = read_with(WORK_TABLES RANGES(TARGET) NAME("(7, 'k')") KERNEL(
                           "(0, 5, 1, 0, 0, 8, NULL), (0, 6, 1, 0, 0, NULL, NULL), (0, 6, 1, 0, 0, "
                           "7, NULL)"),
                       NVTXA_GPU_DETAIL_OPERATIONS);
  show_warnings(t.gpu, warnings, sizeof warnings);
  cr_expect_str_eq(warnings, " 26");
  cr_expect_str_eq(nvtxa_ranges_warning(t.gpu, 0).text.data,
                   "The names of 2 kernels are not in the export's StringIds.");
  tables_free(&t);
}

/* Operations of one table do not belong to another. */
Test(gpu_work, of_another_table) {
  static const char text[] = "capture_range: target\n";
  tables t = read_with(DRAWING, NVTXA_GPU_DETAIL_OPERATIONS);
  tables other = read_with(DRAWING, NVTXA_GPU_DETAIL_OPERATIONS);
  nvtxa_manifest *manifest = NULL;
  nvtxa_analysis *analysis = NULL;
  nvtxa_analysis_options options = NVTXA_ANALYSIS_OPTIONS_INIT;
  cr_assert_eq(nvtxa_manifest_read_buffer(text, sizeof text - 1, &manifest, NULL), NVTXA_OK);
  options.gpu_work = nvtxa_ranges_gpu_work(other.gpu);
  cr_expect_eq(nvtxa_analysis_new(manifest, t.host, t.gpu, &options, &analysis, NULL),
               NVTXA_ERROR_INVALID_ARGUMENT);
  options.gpu_work = nvtxa_ranges_gpu_work(t.gpu);
  cr_assert_eq(nvtxa_analysis_new(manifest, t.host, t.gpu, &options, &analysis, NULL), NVTXA_OK);
  cr_expect_eq(nvtxa_analysis_gpu_work(analysis), options.gpu_work);
  nvtxa_gpu_amount amount = {.size = sizeof amount};
  const nvtxa_gpu_share *share = share_named(analysis, "infer", NVTXA_GPU_INCLUSIVE);
  cr_expect_eq(nvtxa_gpu_share_amount(share, NVTXA_GPU_KERNEL, 1, &amount),
               NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_gpu_share_amount_count(share, NVTXA_GPU_KIND_COUNT), 0);
  cr_expect_eq(nvtxa_gpu_share_amount_count(NULL, NVTXA_GPU_KERNEL), 0);
  cr_expect_null(nvtxa_analysis_iteration_share(analysis, 1, NVTXA_GPU_INCLUSIVE));
  cr_expect_null(nvtxa_analysis_gpu_group_share(analysis, 99, NVTXA_GPU_INCLUSIVE));
  nvtxa_analysis_unref(analysis);
  nvtxa_manifest_unref(manifest);
  tables_free(&t);
  tables_free(&other);
}
