/* analysis/: the capture range, iterations, scopes, contexts, groups, numbers and warnings. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis-internal.h"

/* ---- inputs in short ---- */

typedef struct host_row {
  int64_t range_id;
  int64_t parent_id; /* 0: none */
  const char *name;
  int64_t start_ns;
  int64_t end_ns;
  int64_t child_total_ns;
  int64_t thread_id;
  bool open;
} host_row;

typedef struct gpu_row {
  int64_t range_id;
  int64_t parent_id; /* 0: none */
  const char *name;
  int64_t projected_ns;
  int64_t operations;
  int64_t start_ns; /* on the host */
  int64_t end_ns;
  int64_t thread_id;
  const char *style; /* NULL: PushPop */
} gpu_row;

static nvtxa_ranges *finish(nvtxa_ranges_builder *builder) {
  nvtxa_ranges *ranges = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa_ranges_builder_finish(builder, &ranges, &error);
  cr_assert_eq(status, NVTXA_OK, "%s", error ? nvtxa_error_message(error) : "");
  nvtxa_ranges_builder_free(builder);
  return ranges;
}

static nvtxa_ranges *make_host(const host_row *rows, size_t count) {
  nvtxa_ranges_builder *builder = NULL;
  cr_assert_eq(nvtxa_ranges_builder_new(NVTXA_REPORT_PUSHPOP_TRACE, NULL, &builder, NULL),
               NVTXA_OK);
  for (size_t i = 0; i < count; i++) {
    nvtxa_range range = {
        .size = sizeof range,
        .name = nvtxa__text(rows[i].name),
        .process_id = 42,
        .thread_id = rows[i].thread_id == 0 ? 42 : rows[i].thread_id,
        .range_id = rows[i].range_id,
        .has_parent = rows[i].parent_id != 0,
        .parent_id = rows[i].parent_id,
        .start_ns = rows[i].start_ns,
        .duration_ns = rows[i].end_ns - rows[i].start_ns,
        .child_total_ns = rows[i].child_total_ns,
        .exclusive_ns = rows[i].end_ns - rows[i].start_ns - rows[i].child_total_ns,
        .open = rows[i].open,
    };
    cr_assert_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_OK, "row %zu", i);
  }
  return finish(builder);
}

static nvtxa_ranges *make_gpu(const gpu_row *rows, size_t count) {
  nvtxa_ranges_builder *builder = NULL;
  cr_assert_eq(nvtxa_ranges_builder_new(NVTXA_REPORT_GPU_PROJ_TRACE, NULL, &builder, NULL),
               NVTXA_OK);
  for (size_t i = 0; i < count; i++) {
    nvtxa_range range = {
        .size = sizeof range,
        .name = nvtxa__text(rows[i].name),
        .process_id = 42,
        .thread_id = rows[i].thread_id == 0 ? 42 : rows[i].thread_id,
        .range_id = rows[i].range_id,
        .has_parent = rows[i].parent_id != 0,
        .parent_id = rows[i].parent_id,
        .start_ns = rows[i].start_ns,
        .duration_ns = rows[i].end_ns - rows[i].start_ns,
        .style = nvtxa__text(rows[i].style == NULL ? "PushPop" : rows[i].style),
        .projected_duration_ns = rows[i].projected_ns,
        .gpu_operation_count = rows[i].operations,
    };
    cr_assert_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_OK, "row %zu", i);
  }
  return finish(builder);
}

#define HOST(...)                            \
  make_host((const host_row[]){__VA_ARGS__}, \
            sizeof((const host_row[]){__VA_ARGS__}) / sizeof(host_row))
#define GPU(...) \
  make_gpu((const gpu_row[]){__VA_ARGS__}, sizeof((const gpu_row[]){__VA_ARGS__}) / sizeof(gpu_row))
#define NO_GPU make_gpu(NULL, 0)

static nvtxa_manifest *make_manifest(const char *iterations) {
  nvtxa_manifest *manifest = NULL;
  char text[200];
  snprintf(
      text, sizeof text, "capture_range: target\n%s%s\n",
      iterations == NULL ? "" : "workload:\n  iterations: ", iterations == NULL ? "" : iterations);
  cr_assert_eq(nvtxa_manifest_read_buffer(text, strlen(text), &manifest, NULL), NVTXA_OK);
  return manifest;
}

/* Analyses, and gives the tables back. */
static nvtxa_status try_analysis(const char *iterations, nvtxa_ranges *host, nvtxa_ranges *gpu,
                                 nvtxa_analysis **ret, nvtxa_error **reterr) {
  nvtxa_manifest *manifest = make_manifest(iterations);
  nvtxa_status status = nvtxa_analysis_new(manifest, host, gpu, NULL, ret, reterr);
  nvtxa_manifest_unref(manifest);
  nvtxa_ranges_unref(host);
  nvtxa_ranges_unref(gpu);
  return status;
}

static nvtxa_analysis *analyse(const char *iterations, nvtxa_ranges *host, nvtxa_ranges *gpu) {
  nvtxa_analysis *analysis = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = try_analysis(iterations, host, gpu, &analysis, &error);
  cr_assert_eq(status, NVTXA_OK, "%s", error ? nvtxa_error_message(error) : "");
  return analysis;
}

static void expect_failure(nvtxa_ranges *host, nvtxa_ranges *gpu, nvtxa_status wanted,
                           const char *part) {
  nvtxa_analysis *analysis = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = try_analysis(NULL, host, gpu, &analysis, &error);
  cr_assert_eq(status, wanted, "%s", nvtxa_status_name(status));
  cr_expect(strstr(nvtxa_error_message(error), part) != NULL, "'%s' lacks '%s'",
            nvtxa_error_message(error), part);
  cr_expect_null(analysis);
  nvtxa_error_free(error);
}

static const char *find_warning(const nvtxa_analysis *analysis, nvtxa_warning_kind kind) {
  const char *found = NULL;
  for (size_t i = 0; i < nvtxa_analysis_warning_count(analysis); i++) {
    nvtxa_warning warning = nvtxa_analysis_warning(analysis, i);
    if (warning.kind == kind) {
      cr_expect_null(found, "twice: %s", warning.text.data);
      found = warning.text.data;
    }
  }
  return found;
}

static nvtxa_host_group host_group(const nvtxa_analysis *analysis, size_t position) {
  nvtxa_host_group group = {.size = sizeof group};
  cr_assert_eq(nvtxa_analysis_host_group(analysis, position, &group), NVTXA_OK);
  return group;
}

static nvtxa_gpu_group gpu_group(const nvtxa_analysis *analysis, size_t position) {
  nvtxa_gpu_group group = {.size = sizeof group};
  cr_assert_eq(nvtxa_analysis_gpu_group(analysis, position, &group), NVTXA_OK);
  return group;
}

static nvtxa_iteration iteration_at(const nvtxa_analysis *analysis, size_t position) {
  nvtxa_iteration iteration = {.size = sizeof iteration};
  cr_assert_eq(nvtxa_analysis_iteration(analysis, position, &iteration), NVTXA_OK);
  return iteration;
}

/* ---- scopes and contexts ---- */

Test(analysis, scopes_and_contexts) {
  nvtxa_analysis *analysis =
      analyse("2",
              HOST({1, 0, ":target", 0, 1000, 620},             /* capture */
                   {2, 1, ":iteration 0", 10, 310, 250},        /* */
                   {3, 2, ":pre", 20, 120, 50},                 /* iteration: pre */
                   {4, 3, ":resize", 30, 80, 0},                /* iteration: pre.resize */
                   {5, 2, ":post", 130, 280, 60},               /* iteration: post */
                   {6, 5, ":resize", 140, 200, 0},              /* iteration: post.resize */
                   {7, 1, ":iteration 1", 400, 700, 100},       /* */
                   {8, 7, ":pre", 410, 510, 0},                 /* iteration: pre */
                   {9, 1, ":pre", 710, 730, 0},                 /* between: pre */
                   {10, 0, ":pre", 5, 25, 10, .thread_id = 43}, /* outside: pre */
                   {11, 10, ":iteration 0", 10, 20, 0, .thread_id = 43}, /* outside, ordinary */
                   {12, 77, ":lost", 800, 810, 0}), /* outside: its parent is gone */
              NO_GPU);
  static const struct {
    const char *name;
    nvtxa_context context;
    uint64_t instances;
    int64_t total_ns;
    int64_t exclusive_ns;
  } wanted[] = {
      {"lost", NVTXA_CONTEXT_OUTSIDE, 1, 10, 10},
      {"post", NVTXA_CONTEXT_ITERATION, 1, 150, 90},
      {"post.resize", NVTXA_CONTEXT_ITERATION, 1, 60, 60},
      {"pre", NVTXA_CONTEXT_ITERATION, 2, 200, 150},
      {"pre", NVTXA_CONTEXT_BETWEEN, 1, 20, 20},
      {"pre", NVTXA_CONTEXT_OUTSIDE, 1, 20, 10},
      {"pre.iteration 0", NVTXA_CONTEXT_OUTSIDE, 1, 10, 10},
      {"pre.resize", NVTXA_CONTEXT_ITERATION, 1, 50, 50},
      {"target", NVTXA_CONTEXT_CAPTURE, 1, 1000, 380},
  };
  cr_assert_eq(nvtxa_analysis_host_group_count(analysis), NVTXA__COUNT(wanted));
  for (size_t i = 0; i < NVTXA__COUNT(wanted); i++) {
    nvtxa_host_group group = host_group(analysis, i);
    cr_expect(nvtxa__text_is(group.name, wanted[i].name), "%s, not %s", group.name.data,
              wanted[i].name);
    cr_expect_eq(group.context, wanted[i].context, "%s", wanted[i].name);
    cr_expect_eq(group.instances, wanted[i].instances, "%s", wanted[i].name);
    cr_expect_eq(group.inclusive.total_ns, wanted[i].total_ns, "%s", wanted[i].name);
    cr_expect_eq(group.exclusive.total_ns, wanted[i].exclusive_ns, "%s", wanted[i].name);
  }
  nvtxa_host_group resize = host_group(analysis, 2);
  cr_expect_eq(resize.path_length, 2);
  cr_expect(nvtxa__text_is(nvtxa_analysis_host_path(analysis, 2, 0), "post"));
  cr_expect(nvtxa__text_is(nvtxa_analysis_host_path(analysis, 2, 1), "resize"));
  cr_expect_null(nvtxa_analysis_host_path(analysis, 2, 2).data);
  cr_expect_null(nvtxa_analysis_host_path(analysis, 99, 0).data);
  cr_expect_eq(nvtxa_analysis_iteration_count(analysis), 2);
  nvtxa_analysis_unref(analysis);
}

/* Sorted by tuple, not by the rendered text: "a" < "a.z" < "a b" although ' ' < '.'. */
Test(analysis, groups_are_sorted_by_tuple) {
  nvtxa_analysis *analysis =
      analyse(NULL,
              HOST({1, 0, "target", 0, 100, 60}, {2, 1, "a", 10, 40, 10}, {3, 2, "z", 20, 30, 0},
                   {4, 1, "a b", 50, 60, 0}, {5, 1, "a.z", 70, 90, 0}),
              NO_GPU);
  static const char *const names[] = {"a", "a.z", "a b", "a.z", "target"};
  static const size_t lengths[] = {1, 2, 1, 1, 1};
  cr_assert_eq(nvtxa_analysis_host_group_count(analysis), NVTXA__COUNT(names));
  for (size_t i = 0; i < NVTXA__COUNT(names); i++) {
    nvtxa_host_group group = host_group(analysis, i);
    cr_expect(nvtxa__text_is(group.name, names[i]), "%zu: %s", i, group.name.data);
    cr_expect_eq(group.path_length, lengths[i]);
  }
  nvtxa_analysis_unref(analysis);
}

/* ---- GPU records ---- */

Test(analysis, gpu_records_stand_where_their_host_records_do) {
  nvtxa_analysis *analysis = analyse(
      "2",
      HOST({1, 0, "target", 0, 1000, 400}, {2, 1, "iteration 0", 10, 210, 100},
           {3, 2, "pre", 20, 120, 50}, {4, 3, "resize", 30, 80, 0},
           {5, 1, "iteration 1", 300, 500, 0}),
      GPU({1, 0, "target", 700, 9, 0, 1000}, {2, 1, "iteration 0", 300, 5, 10, 210},
          {4, 3, "resize", 40, 2, 30, 80},                      /* parent 3 is left out */
          {8, 2, "async", 60, 3, 15, 200, .style = "StartEnd"}, /* no host record */
          {9, 8, "inner", 50, 1, 16, 100, .style = "StartEnd"}, /* below it */
          {10, 1, "gap", 5, 1, 220, 230, .style = "StartEnd"},  /* between */
          {11, 0, "target", 5, 1, 0, 50, .style = "StartEnd", .thread_id = 7})); /* elsewhere */
  static const struct {
    const char *name;
    nvtxa_context context;
    const char *style;
    int64_t projected_ns;
    int64_t host_ns;
    int64_t operations;
  } wanted[] = {
      {"async", NVTXA_CONTEXT_ITERATION, "StartEnd", 60, 185, 3},
      {"async.inner", NVTXA_CONTEXT_ITERATION, "StartEnd", 50, 84, 1},
      {"gap", NVTXA_CONTEXT_BETWEEN, "StartEnd", 5, 10, 1},
      {"pre.resize", NVTXA_CONTEXT_ITERATION, "PushPop", 40, 50, 2},
      {"target", NVTXA_CONTEXT_CAPTURE, "PushPop", 700, 1000, 9},
      {"target", NVTXA_CONTEXT_OUTSIDE, "StartEnd", 5, 50, 1},
  };
  cr_assert_eq(nvtxa_analysis_gpu_group_count(analysis), NVTXA__COUNT(wanted));
  for (size_t i = 0; i < NVTXA__COUNT(wanted); i++) {
    nvtxa_gpu_group group = gpu_group(analysis, i);
    cr_expect(nvtxa__text_is(group.name, wanted[i].name), "%s, not %s", group.name.data,
              wanted[i].name);
    cr_expect_eq(group.context, wanted[i].context, "%s", wanted[i].name);
    cr_expect(nvtxa__text_is(group.style, wanted[i].style), "%s", wanted[i].name);
    cr_expect_eq(group.projected.total_ns, wanted[i].projected_ns, "%s", wanted[i].name);
    cr_expect_eq(group.host_total_ns, wanted[i].host_ns, "%s", wanted[i].name);
    cr_expect_eq(group.gpu_operation_count, wanted[i].operations, "%s", wanted[i].name);
  }
  nvtxa_iteration first = iteration_at(analysis, 0);
  cr_expect(first.has_gpu_projection && first.projected_ns == 300 &&
            first.host_range_total_ns == 200 && first.gpu_operation_count == 5);
  cr_expect_not(iteration_at(analysis, 1).has_gpu_projection);
  nvtxa_iteration_summary summary = {.size = sizeof summary};
  cr_assert_eq(nvtxa_analysis_iteration_summary(analysis, &summary), NVTXA_OK);
  cr_expect_eq(summary.gpu_projected_iterations, 1, "a projection that is missing is no zero");
  cr_expect_eq(summary.gpu_projected.minimum_ns, 300);
  cr_expect_eq(summary.host_iterations, 2);
  cr_expect_str_eq(find_warning(analysis, NVTXA_WARNING_MISSING_GPU_PROJECTIONS),
                   "Missing GPU projections for iterations: [1].");
  cr_expect_null(find_warning(analysis, NVTXA_WARNING_NO_GPU_CAPTURE_RANGE));
  nvtxa_analysis_unref(analysis);
}

Test(analysis, two_projections_of_one_iteration) {
  expect_failure(HOST({1, 0, "target", 0, 100, 50}, {2, 1, "iteration 3", 10, 60, 0}),
                 GPU({2, 0, "iteration 3", 5, 1, 10, 60}, {2, 0, "iteration 3", 5, 1, 10, 60}),
                 NVTXA_ERROR_DUPLICATE_ITERATION, "iteration 3 has two GPU projections");
}

/* ---- the capture range ---- */

Test(analysis, capture_range_by_name_alone_is_not_enough) {
  expect_failure(HOST({1, 0, "outer", 0, 100, 50}, {2, 1, ":target", 10, 60, 0}), NO_GPU,
                 NVTXA_ERROR_CAPTURE_RANGE,
                 "below another range (the first: pid 42, tid 42, range 2");
  expect_failure(HOST({1, 0, "A:target", 0, 100, 0}), NO_GPU, NVTXA_ERROR_CAPTURE_RANGE,
                 "in another NVTX domain: 'A:target'");
  expect_failure(HOST({1, 0, "other", 0, 100, 0}),
                 GPU({9, 0, "target", 5, 1, 10, 60, .style = "StartEnd"}),
                 NVTXA_ERROR_CAPTURE_RANGE, "style StartEnd");
  expect_failure(make_host(NULL, 0), GPU({9, 0, "target", 5, 1, 10, 60, .style = "StartEnd"}),
                 NVTXA_ERROR_REPORT_EMPTY, "style StartEnd");
  expect_failure(make_host(NULL, 0), NO_GPU, NVTXA_ERROR_REPORT_EMPTY, "no rows");
  expect_failure(HOST({1, 0, "x\x1B[31m", 0, 100, 0}), NO_GPU, NVTXA_ERROR_CAPTURE_RANGE,
                 "0 root ranges are named 'target'");
}

/* A name copied from a report has the colon of the default domain. */
Test(analysis, capture_range_with_a_colon) {
  static const char text[] = "capture_range: ':target'\n";
  nvtxa_manifest *manifest = NULL;
  nvtxa_analysis *analysis = NULL;
  nvtxa_error *error = NULL;
  nvtxa_ranges *host = HOST({1, 0, ":target", 0, 100, 0});
  nvtxa_ranges *gpu = NO_GPU;
  cr_assert_eq(nvtxa_manifest_read_buffer(text, sizeof text - 1, &manifest, NULL), NVTXA_OK);
  cr_expect_eq(nvtxa_analysis_new(manifest, host, gpu, NULL, &analysis, &error),
               NVTXA_ERROR_CAPTURE_RANGE);
  cr_expect_not_null(strstr(nvtxa_error_message(error), "without the leading colon"));
  nvtxa_error_free(error);
  nvtxa_manifest_unref(manifest);
  nvtxa_ranges_unref(host);
  nvtxa_ranges_unref(gpu);
}

Test(analysis, capture_ranges_of_several_ranks_are_listed) {
  expect_failure(HOST({1, 0, "target", 0, 100, 0}, {2, 0, ":target", 0, 100, 0, .thread_id = 43}),
                 NO_GPU, NVTXA_ERROR_CAPTURE_RANGE,
                 "2 root ranges are named 'target' where the manifest's capture_range must be one: "
                 "pid 42, tid 42, range 1; pid 42, tid 43, range 2");
}

/* ---- iterations ---- */

Test(analysis, iteration_names) {
  static const struct {
    const char *name;
    bool valid;
    int64_t index;
  } cases[] = {
      {"iteration 0", true, 0},
      {"iteration 00", true, 0},
      {"iteration 9223372036854775807", true, INT64_MAX},
      {"iteration 9223372036854775808", false, 0},
      {"iteration 18446744073709551616", false, 0},
      {"iteration -1", false, 0},
      {"iteration -0", false, 0},
      {"iteration +1", false, 0},
      {"iteration ", false, 0},
      {"iteration", false, 0},
      {"Iteration 1", false, 0},
      {"iteration 1 ", false, 0},
      {"iteration  1", false, 0},
      {"iteration\t1", false, 0},
      {"iteration 1x", false, 0},
      {"xiteration 1", false, 0},
      {"iteration \xD9\xA1", false, 0},
      {"CCCL:iteration 1", false, 0},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    int64_t index = 0;
    cr_expect_eq(nvtxa__iteration_index(nvtxa__text(cases[i].name), &index), cases[i].valid, "%s",
                 cases[i].name);
    cr_expect(!cases[i].valid || index == cases[i].index, "%s", cases[i].name);
  }
}

Test(analysis, iterations_are_sorted_and_unique) {
  nvtxa_analysis *analysis =
      analyse(NULL,
              HOST({1, 0, "target", 0, 100, 30}, {2, 1, "iteration 10", 10, 20, 0},
                   {3, 1, "iteration 2", 30, 40, 0}, {4, 1, "iteration 9", 50, 60, 0}),
              NO_GPU);
  cr_expect_eq(iteration_at(analysis, 0).index, 2);
  cr_expect_eq(iteration_at(analysis, 1).index, 9);
  cr_expect_eq(iteration_at(analysis, 2).index, 10);
  cr_expect_null(find_warning(analysis, NVTXA_WARNING_UNEXPECTED_ITERATIONS), "none declared");
  nvtxa_analysis_unref(analysis);
  expect_failure(HOST({1, 0, "target", 0, 100, 20}, {2, 1, "iteration 0", 10, 20, 0},
                      {3, 1, "iteration 00", 30, 40, 0}),
                 NO_GPU, NVTXA_ERROR_DUPLICATE_ITERATION, "iteration 0 stands twice");
}

Test(analysis, a_range_still_open_has_no_measured_duration) {
  nvtxa_analysis *analysis = analyse(
      "2",
      HOST({1, 0, "target", 0, 100, 80}, {2, 1, "iteration 0", 10, 40, 10}, {3, 2, "a", 15, 25, 0},
           {4, 1, "iteration 1", 50, 100, 40, .open = true}, {5, 4, "a", 60, 100, 0, .open = true}),
      GPU({4, 1, "iteration 1", 7, 1, 50, 100}));
  nvtxa_iteration_summary summary = {.size = sizeof summary};
  cr_expect_not(iteration_at(analysis, 1).has_host);
  cr_expect_eq(iteration_at(analysis, 1).inclusive_ns, 0);
  cr_expect(iteration_at(analysis, 1).has_gpu_projection);
  cr_assert_eq(nvtxa_analysis_iteration_summary(analysis, &summary), NVTXA_OK);
  cr_expect(summary.iterations == 2 && summary.host_iterations == 1);
  cr_expect_eq(summary.host_inclusive.maximum_ns, 30);
  cr_assert_eq(nvtxa_analysis_host_group_count(analysis), 2);
  cr_expect_eq(host_group(analysis, 0).instances, 1, "the open `a` counts in no group");
  cr_expect_str_eq(find_warning(analysis, NVTXA_WARNING_MISSING_HOST_RANGES),
                   "Missing host ranges for iterations: [1].");
  cr_expect_not_null(find_warning(analysis, NVTXA_WARNING_OPEN_RANGES));
  nvtxa_analysis_unref(analysis);
}

/* ---- warnings ---- */

Test(analysis, index_sets_are_checked) {
  nvtxa_analysis *analysis =
      analyse("2",
              HOST({1, 0, "target", 0, 100, 20}, {2, 1, "iteration 0", 10, 20, 0},
                   {3, 1, "iteration 2", 30, 40, 0}, {4, 3, ":iteration 1", 32, 34, 0},
                   {5, 0, "iteration 1", 0, 9, 0, .thread_id = 43},
                   {6, 5, "iteration 5", 2, 3, 0, .thread_id = 43}),
              NO_GPU);
  static const char *const wanted[] = {
      "Could not determine the Nsight Systems version; report parsing is validated against Nsight "
      "Systems 2022.4, 2023.4 and 2025.1.",
      "Missing expected iteration indexes: [1].",
      "Unexpected iteration indexes: [2].",
      "Missing GPU projections for iterations: [0, 2].",
      "GPU projection report does not contain capture range 'target'.",
      "Ranges named like the missing iterations stand elsewhere: iteration 1 (pid 42, tid 42, "
      "range "
      "4), iteration 1 (pid 42, tid 43, range 5).",
  };
  cr_assert_eq(nvtxa_analysis_warning_count(analysis), NVTXA__COUNT(wanted));
  for (size_t i = 0; i < NVTXA__COUNT(wanted); i++) {
    cr_expect_str_eq(nvtxa_analysis_warning(analysis, i).text.data, wanted[i]);
  }
  nvtxa_analysis_unref(analysis);
}

Test(analysis, long_lists_are_cut_and_never_built) {
  nvtxa_analysis *analysis =
      analyse("3000000000",
              HOST({1, 0, "target", 0, 100, 20}, {2, 1, "iteration 1", 10, 20, 0},
                   {3, 1, "iteration 5000000000", 30, 40, 0}),
              NO_GPU);
  cr_expect_str_eq(
      find_warning(analysis, NVTXA_WARNING_MISSING_ITERATIONS),
      "Missing expected iteration indexes: [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, "
      "14, 15, 16, 17, 18, 19, 20, and 2999999979 more].");
  cr_expect_str_eq(find_warning(analysis, NVTXA_WARNING_UNEXPECTED_ITERATIONS),
                   "Unexpected iteration indexes: [5000000000].");
  nvtxa_analysis_unref(analysis);
}

/* ---- numbers ---- */

Test(analysis, summaries) {
  int64_t even[] = {4, 1, 3, 2};
  int64_t odd[] = {9, 1, 5};
  int64_t one[] = {7};
  nvtxa_summary s;
  nvtxa_percentiles p;
  cr_assert(nvtxa__summarize(even, 4, &s, &p));
  cr_expect(s.total_ns == 10 && s.minimum_ns == 1 && s.maximum_ns == 4);
  cr_expect(s.mean_ns == 2.5 && s.median_ns == 2.5);
  cr_expect(p.p50_ns == 2.5 && p.p90_ns == 3.7);
  cr_expect_float_eq(p.p95_ns, 3.85, 1e-15);
  cr_expect_float_eq(p.p99_ns, 3.97, 1e-15);
  cr_expect_float_eq(s.stddev_ns, 1.2909944487358056, 1e-15);
  cr_assert(nvtxa__summarize(odd, 3, &s, &p));
  cr_expect(s.median_ns == 5 && s.stddev_ns == 4);
  cr_assert(nvtxa__summarize(one, 1, &s, &p));
  cr_expect(s.median_ns == 7 && s.stddev_ns == 0 && s.mean_ns == 7);
  cr_expect(p.p50_ns == 7 && p.p90_ns == 7 && p.p95_ns == 7 && p.p99_ns == 7);
}

static int64_t numbered(size_t i, size_t count, int shape) {
  const int64_t shapes[] = {(int64_t)i, (int64_t)(count - i), (int64_t)(i * 2654435761u % 1000),
                            (int64_t)(i % 3), (int64_t)(i * 40503u % 65536) - 30000};
  return shapes[shape];
}

/* Against the same percentiles of the values in order. */
Test(analysis, percentiles_are_those_of_sorted_values) {
  enum { MOST = 700, SHAPES = 5 };
  const unsigned percents[] = {50, 90, 95, 99};
  int64_t values[MOST];
  int64_t sorted[MOST];
  nvtxa_summary s;
  nvtxa_percentiles p;
  for (int shape = 0; shape < SHAPES; shape++) {
    for (size_t count = 1; count <= MOST; count += count < 120 ? 1 : 97) {
      for (size_t i = 0; i < count; i++) {
        values[i] = sorted[i] = numbered(i, count, shape);
      }
      qsort(sorted, count, sizeof *sorted, nvtxa__compare_int64);
      cr_assert(nvtxa__summarize(values, count, &s, &p));
      const double found[] = {p.p50_ns, p.p90_ns, p.p95_ns, p.p99_ns};
      for (size_t k = 0; k < 4; k++) {
        size_t rank = (count - 1) * percents[k] / 100;
        size_t rest = (count - 1) * percents[k] % 100;
        double step = rest == 0 ? 0 : (double)(sorted[rank + 1] - sorted[rank]);
        double wanted = (double)sorted[rank] + step * (double)rest / 100;
        cr_assert_float_eq(found[k], wanted, 1e-9, "shape %d, %zu values, p%u: %f, not %f", shape,
                           count, percents[k], found[k], wanted);
      }
      cr_assert_eq(s.median_ns, p.p50_ns);
    }
  }
}

/* Long durations that differ by one: sums of squares in doubles would lose every digit. */
Test(analysis, deviation_keeps_its_digits) {
  enum { COUNT = 1000 };
  int64_t values[COUNT];
  nvtxa_summary s;
  nvtxa_percentiles p;
  for (int i = 0; i < COUNT; i++) {
    values[i] = 9000000000000000 + i % 2;
  }
  cr_assert(nvtxa__summarize(values, COUNT, &s, &p));
  double wanted = sqrt(250.0 / 999.0);
  cr_expect_lt(fabs(s.stddev_ns - wanted) / wanted, 1e-12);
  cr_expect_eq(s.total_ns, 9000000000000000500);
  for (int i = 0; i < COUNT; i++) {
    values[i] = i % 2 == 0 ? -4000000000000000 : 4000000000000000;
  }
  cr_assert(nvtxa__summarize(values, COUNT, &s, &p));
  wanted = 4e15 * sqrt(1000.0 / 999.0);
  cr_expect_lt(fabs(s.stddev_ns - wanted) / wanted, 1e-12);
  cr_expect_eq(s.mean_ns, 0);
}

Test(analysis, totals_that_do_not_fit_are_refused) {
  int64_t values[] = {INT64_MAX, 1};
  nvtxa_summary s;
  nvtxa_percentiles p;
  cr_expect_not(nvtxa__summarize(values, 2, &s, &p));
  expect_failure(HOST({1, 0, "target", 0, 10, 0}, {2, 0, "x", 0, INT64_MAX, 0, .thread_id = 43},
                      {3, 0, "x", 0, INT64_MAX, 0, .thread_id = 44}),
                 NO_GPU, NVTXA_ERROR_OVERFLOW, "ranges named 'x' pass 64 bits");
}

/* A tree of 100,000 levels must neither overflow a stack nor take quadratic time or memory without
 * saying so. */
Test(analysis, deep_nesting_ends_in_a_stated_limit) {
  enum { DEPTH = 100000 };
  nvtxa_ranges_builder *builder = NULL;
  nvtxa_analysis *analysis = NULL;
  nvtxa_error *error = NULL;
  nvtxa_range range = NVTXA_RANGE_INIT;
  cr_assert_eq(nvtxa_ranges_builder_new(NVTXA_REPORT_PUSHPOP_TRACE, NULL, &builder, NULL),
               NVTXA_OK);
  for (int64_t i = 0; i < DEPTH; i++) {
    range.name = nvtxa__text(i == 0 ? "target" : "x");
    range.range_id = i;
    range.has_parent = i > 0;
    range.parent_id = i - 1;
    range.start_ns = i;
    range.duration_ns = 2 * DEPTH - 2 * i;
    range.child_total_ns = i + 1 < DEPTH ? range.duration_ns - 2 : 0;
    range.exclusive_ns = range.duration_ns - range.child_total_ns;
    cr_assert_eq(nvtxa_ranges_builder_add(builder, &range, NULL), NVTXA_OK);
  }
  nvtxa_ranges *host = finish(builder);
  cr_expect_eq(nvtxa_ranges_warning_count(host), 0);
  cr_expect_eq(try_analysis(NULL, host, NO_GPU, &analysis, &error), NVTXA_ERROR_LIMIT);
  cr_expect_not_null(strstr(nvtxa_error_message(error), "limit"));
  nvtxa_error_free(error);
}

/* ---- the interface ---- */

Test(analysis, arguments_are_checked) {
  nvtxa_manifest *manifest = make_manifest(NULL);
  nvtxa_ranges *host = HOST({1, 0, "target", 0, 10, 0});
  nvtxa_ranges *gpu = NO_GPU;
  nvtxa_analysis *analysis = NULL;
  cr_expect_eq(nvtxa_analysis_new(NULL, host, gpu, NULL, &analysis, NULL),
               NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_analysis_new(manifest, gpu, host, NULL, &analysis, NULL),
               NVTXA_ERROR_INVALID_ARGUMENT);
  cr_assert_eq(nvtxa_analysis_new(manifest, host, gpu, NULL, &analysis, NULL), NVTXA_OK);
  nvtxa_host_group group = {.size = sizeof group};
  cr_expect_eq(nvtxa_analysis_host_group(analysis, 1, &group), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_analysis_host_group(analysis, 0, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_analysis_ref(analysis), analysis);
  nvtxa_analysis_unref(analysis);
  nvtxa_analysis_unref(analysis);
  nvtxa_analysis_unref(NULL);
  cr_expect_str_eq(nvtxa_context_name(NVTXA_CONTEXT_BETWEEN), "between");
  cr_expect_str_eq(nvtxa_context_name((nvtxa_context)9), "unknown");
  nvtxa_manifest_unref(manifest);
  nvtxa_ranges_unref(host);
  nvtxa_ranges_unref(gpu);
}
