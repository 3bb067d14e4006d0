/* ranges/: GPU work from the reports cuda_gpu_kern_sum and cuda_gpu_trace, in both quotings, and
 * what of them is refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ranges/csv/report-internal.h"

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* After a test, what it expects counts for nothing; but that it ends so does. */
static void abort_at_leak(void) {
  if (__lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0) {
    abort();
  }
}

TestSuite(gpu_reports, .fini = abort_at_leak);

#define KERNELS_HEADER \
  "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name"
#define OLD_KERNELS_HEADER                                                                      \
  "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),GridXYZ," \
  "BlockXYZ,Name"
#define TRACE_HEADER_WITH(bytes)                                                       \
  "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (B)," \
  "DymSMem (B)," bytes ",Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"
#define TRACE_HEADER TRACE_HEADER_WITH("Bytes (B)")

/* Rows of the two reports: what is needed, and the rest. */
#define KERNELS(duration, instances, name) \
  "50.0," duration "," instances ",10.0,10.0,7,13,1.5," name "\n"
#define OPERATION(duration, grid, bytes, source, destination, name)             \
  "100," duration ",7," grid ",,,,,,,,," bytes ",2.451," source "," destination \
  ",GPU (0),1,,7," name "\n"
#define COPY(duration, bytes, source, destination) \
  OPERATION(duration, "", bytes, source, destination, "[CUDA memcpy " source "-to-" destination "]")
#define SET(duration, bytes, kind) OPERATION(duration, "", bytes, kind, "", "[CUDA memset]")

/* ---- reading ---- */

typedef struct texts {
  const char *kern_sum;
  const char *gpu_trace;
  size_t kern_sum_length; /* 0: to the NUL */
  size_t gpu_trace_length;
} texts;

typedef struct outcome {
  nvtxa_status status;
  nvtxa_error *error;
  nvtxa_gpu_work *work;
} outcome;

static void outcome_free(outcome *o) {
  nvtxa_error_free(o->error);
  nvtxa_gpu_work_unref(o->work);
}

static nvtxa__report report_of(nvtxa_report kind, const char *text, size_t length) {
  return (nvtxa__report){
      .kind = kind,
      .shown = nvtxa_report_name(kind),
      .fd = -1,
      .text = text,
      .size = length == 0 ? strlen(text) : length,
  };
}

static outcome read_with(texts t, nvtxa_quoting quoting, const nvtxa_hooks *hooks) {
  outcome o = {.work = NULL};
  nvtxa__report kern_sum = report_of(NVTXA_REPORT_CUDA_GPU_KERN_SUM, t.kern_sum, t.kern_sum_length);
  nvtxa__report gpu_trace = report_of(NVTXA_REPORT_CUDA_GPU_TRACE, t.gpu_trace, t.gpu_trace_length);
  o.status = nvtxa__gpu_reports_read(&kern_sum, &gpu_trace, quoting, hooks, &o.work, &o.error);
  nvtxa__report_close(&kern_sum);
  nvtxa__report_close(&gpu_trace);
  cr_assert_eq(o.status == NVTXA_OK, o.work != NULL);
  cr_assert_eq(o.status == NVTXA_OK, o.error == NULL);
  return o;
}

static nvtxa_gpu_work *read_well(texts t, nvtxa_quoting quoting) {
  outcome o = read_with(t, quoting, NULL);
  cr_assert_eq(o.status, NVTXA_OK, "%s:%d: %s", nvtxa_error_file(o.error),
               (int)nvtxa_error_line(o.error), nvtxa_error_message(o.error));
  return o.work;
}

static nvtxa_gpu_amount amount_at(const nvtxa_gpu_work *work, nvtxa_gpu_kind kind, size_t index) {
  nvtxa_gpu_amount amount = {.size = sizeof amount};
  cr_assert_eq(nvtxa_gpu_work_amount(work, kind, index, &amount), NVTXA_OK);
  return amount;
}

static void expect_text(nvtxa_text got, const char *wanted) {
  cr_expect(wanted == NULL ? got.data == NULL : got.data != NULL && nvtxa__text_is(got, wanted),
            "'%.*s', not '%s'", (int)got.length, got.data == NULL ? "" : got.data,
            wanted == NULL ? "" : wanted);
}

/* `name` is NULL but for kernels; `source` but for transfers. */
static void expect_amount(const nvtxa_gpu_work *work, nvtxa_gpu_kind kind, size_t index,
                          const char *name, const char *source, const char *destination,
                          uint64_t instances, int64_t duration_ns, int64_t bytes) {
  nvtxa_gpu_amount got = amount_at(work, kind, index);
  cr_expect_eq(got.kind, kind);
  expect_text(got.name, name);
  expect_text(got.source_memory_kind, source);
  expect_text(got.destination_memory_kind, destination);
  cr_expect_eq(got.instances, instances, "%d", (int)got.instances);
  cr_expect_eq(got.cumulative_duration_ns, duration_ns, "%d", (int)got.cumulative_duration_ns);
  cr_expect_eq(got.total_bytes, bytes, "%d", (int)got.total_bytes);
}

static void expect_counts(const nvtxa_gpu_work *work, size_t kernels, size_t transfers,
                          size_t sets) {
  cr_assert_eq(nvtxa_gpu_work_amount_count(work, NVTXA_GPU_KERNEL), kernels);
  cr_assert_eq(nvtxa_gpu_work_amount_count(work, NVTXA_GPU_MEMORY_TRANSFER), transfers);
  cr_assert_eq(nvtxa_gpu_work_amount_count(work, NVTXA_GPU_MEMORY_SET), sets);
  cr_assert_eq(nvtxa_gpu_work_amount_count(work, NVTXA_GPU_GRAPH), 0);
  cr_expect_not(nvtxa_gpu_work_has_operations(work));
  cr_expect_eq(nvtxa_gpu_work_operation_count(work), 0);
}

/* What is refused: where, and a part of the message or of the hint. */
static void expect_refused(texts t, nvtxa_quoting quoting, nvtxa_report report, nvtxa_status status,
                           uint64_t line, const char *field, const char *part) {
  outcome o = read_with(t, quoting, NULL);
  const char *text = report == NVTXA_REPORT_CUDA_GPU_KERN_SUM ? t.kern_sum : t.gpu_trace;
  cr_assert_eq(o.status, status, "%s of\n%.2000s", nvtxa_status_name(o.status), text);
  cr_expect_eq(nvtxa_error_status(o.error), status);
  cr_expect_str_eq(nvtxa_error_file(o.error), nvtxa_report_name(report));
  cr_expect_eq(nvtxa_error_line(o.error), line, "line %d of\n%.2000s",
               (int)nvtxa_error_line(o.error), text);
  cr_expect(field == NULL ? nvtxa_error_field(o.error) == NULL
                          : nvtxa_error_field(o.error) != NULL &&
                                strcmp(nvtxa_error_field(o.error), field) == 0,
            "the field of '%s'", nvtxa_error_message(o.error));
  cr_expect(
      strstr(nvtxa_error_message(o.error), part) != NULL ||
          (nvtxa_error_hint(o.error) != NULL && strstr(nvtxa_error_hint(o.error), part) != NULL),
      "'%s' lacks '%s'", nvtxa_error_message(o.error), part);
  outcome_free(&o);
}

/* ---- what rows say ---- */

Test(gpu_reports, kernels) {
  nvtxa_gpu_work *work = read_well(
      (texts){
          .kern_sum = KERNELS_HEADER "\n" KERNELS("300", "4", "zeta")
              KERNELS("200", "5", "\"void alpha<int, 4>(float *)\"") KERNELS("0", "1", "Beta"),
          .gpu_trace = "",
      },
      NVTXA_QUOTING_AUTO);
  expect_counts(work, 3, 0, 0);
  expect_amount(work, NVTXA_GPU_KERNEL, 0, "Beta", NULL, NULL, 1, 0, 0);
  expect_amount(work, NVTXA_GPU_KERNEL, 1, "void alpha<int, 4>(float *)", NULL, NULL, 5, 200, 0);
  expect_amount(work, NVTXA_GPU_KERNEL, 2, "zeta", NULL, NULL, 4, 300, 0);
  nvtxa_gpu_work_unref(work);
}

/* nsys 2022.4 has a row for each grid and block. */
Test(gpu_reports, rows_of_one_kernel) {
  nvtxa_gpu_work *work = read_well(
      (texts){
          .kern_sum = OLD_KERNELS_HEADER
          "\n60.0,300,4,1.0,1.0,1,1,0.0,   1   40    3, 128    1    1,same\n"
          "30.0,150,1,1.0,1.0,1,1,0.0,   1    1    1, 128    1    1,\"other, one\"\n"
          "10.0,50,2,1.0,1.0,1,1,0.0,   1   20    3, 128    1    1,same\n\n",
          .gpu_trace = TRACE_HEADER "\n",
      },
      NVTXA_QUOTING_NSYS);
  expect_counts(work, 2, 0, 0);
  expect_amount(work, NVTXA_GPU_KERNEL, 0, "other, one", NULL, NULL, 1, 150, 0);
  expect_amount(work, NVTXA_GPU_KERNEL, 1, "same", NULL, NULL, 6, 350, 0);
  nvtxa_gpu_work_unref(work);
}

Test(gpu_reports, transfers_and_sets) {
  /* Kernels are the summary's, even one with the name of a set. */
  nvtxa_gpu_work *work = read_well(
      (texts){
          .kern_sum = KERNELS_HEADER "\n",
          .gpu_trace = TRACE_HEADER "\n" COPY("10", "4096", "Pageable", "Device")
              SET("3", "16", "Device") OPERATION("1440", "64", "", "", "", "[CUDA memset]")
                  COPY("20", "4", "Pinned", "Device") COPY("30", "8", "Device", "Pageable")
                      SET("5", "2", "") COPY("40", "100", "Pageable", "Device")
                          OPERATION("9", "1", "", "", "", "\"a, b\"") SET("7", "0", "Device")
                              SET("0", "1", "Managed"),
      },
      NVTXA_QUOTING_AUTO);
  expect_counts(work, 0, 3, 3);
  expect_amount(work, NVTXA_GPU_MEMORY_TRANSFER, 0, NULL, "Device", "Pageable", 1, 30, 8);
  expect_amount(work, NVTXA_GPU_MEMORY_TRANSFER, 1, NULL, "Pageable", "Device", 2, 50, 4196);
  expect_amount(work, NVTXA_GPU_MEMORY_TRANSFER, 2, NULL, "Pinned", "Device", 1, 20, 4);
  expect_amount(work, NVTXA_GPU_MEMORY_SET, 0, NULL, NULL, NULL, 1, 5, 2);
  expect_amount(work, NVTXA_GPU_MEMORY_SET, 1, NULL, NULL, "Device", 2, 10, 16);
  expect_amount(work, NVTXA_GPU_MEMORY_SET, 2, NULL, NULL, "Managed", 1, 0, 1);
  nvtxa_gpu_work_unref(work);
}

/* nsys 2022.4 writes None for nothing, and has other columns. */
Test(gpu_reports, none_is_nothing) {
  static const char text[] =
      "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (B),"
      "DymSMem (B),Bytes (B),Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n"
      "1,1440,143,1,1,1,128,1,1,16,0,0,None,,None,None,GPU (0),1,7,\"kernel<a, \"b\">(int)\"\n"
      "2,1632,171,None,None,None,None,None,None,None,None,None,4,2.451,Device,Pinned,GPU (0),1,7,"
      "[CUDA memcpy DtoH]\n"
      "3,8,171,None,None,None,None,None,None,None,None,None,5,2.451,None,None,GPU (0),1,7,"
      "[CUDA memset]\n";
  nvtxa_gpu_work *work = read_well((texts){.kern_sum = "", .gpu_trace = text}, NVTXA_QUOTING_NSYS);
  expect_counts(work, 0, 1, 1);
  expect_amount(work, NVTXA_GPU_MEMORY_TRANSFER, 0, NULL, "Device", "Pinned", 1, 1632, 4);
  expect_amount(work, NVTXA_GPU_MEMORY_SET, 0, NULL, NULL, NULL, 1, 8, 5);
  nvtxa_gpu_work_unref(work);
}

Test(gpu_reports, columns_in_any_order) {
  static const nvtxa_quoting quotings[] = {NVTXA_QUOTING_AUTO, NVTXA_QUOTING_NSYS};
  for (size_t i = 0; i < NVTXA__COUNT(quotings); i++) {
    nvtxa_gpu_work *work = read_well(
        (texts){
            .kern_sum = "Name,New,Instances,Total Time (ns)\n\"a, b\",x,2,30\nsay \"c\",,1,7\n",
            .gpu_trace = "DstMemKd,Bytes (B),Name,SrcMemKd,GrdX,Duration (ns)\n"
                         "Device,64,[CUDA memcpy],Pinned,,9\n"
                         ",,\"k<1, 2>\",,8,9\n",
        },
        quotings[i]);
    expect_counts(work, 2, 1, 0);
    expect_amount(work, NVTXA_GPU_KERNEL, 0, "a, b", NULL, NULL, 2, 30, 0);
    expect_amount(work, NVTXA_GPU_KERNEL, 1, "say \"c\"", NULL, NULL, 1, 7, 0);
    expect_amount(work, NVTXA_GPU_MEMORY_TRANSFER, 0, NULL, "Pinned", "Device", 1, 9, 64);
    nvtxa_gpu_work_unref(work);
  }
}

Test(gpu_reports, no_rows) {
  static const char *const kernels[] = {"", "\xEF\xBB\xBF", KERNELS_HEADER, KERNELS_HEADER "\r\n",
                                        "\xEF\xBB\xBF" KERNELS_HEADER "\n\n\r\n"};
  static const char *const traces[] = {"", "\xEF\xBB\xBF", TRACE_HEADER, TRACE_HEADER "\r\n",
                                       "\xEF\xBB\xBF" TRACE_HEADER "\n\n\r\n"};
  for (size_t k = 0; k < NVTXA__COUNT(kernels); k++) {
    for (size_t t = 0; t < NVTXA__COUNT(traces); t++) {
      nvtxa_gpu_work *work = read_well((texts){.kern_sum = kernels[k], .gpu_trace = traces[t]},
                                       k % 2 == 0 ? NVTXA_QUOTING_AUTO : NVTXA_QUOTING_NSYS);
      expect_counts(work, 0, 0, 0);
      nvtxa_gpu_work_unref(work);
    }
  }
}

Test(gpu_reports, bytes_that_are_not_utf8) {
  nvtxa_gpu_work *work = read_well(
      (texts){
          .kern_sum = KERNELS_HEADER "\n" KERNELS("1", "1", "caf\xE9") KERNELS("2", "1", "caf\xE8"),
          .gpu_trace = "",
      },
      NVTXA_QUOTING_AUTO);
  expect_counts(work, 1, 0, 0);
  expect_amount(work, NVTXA_GPU_KERNEL, 0, "caf\xEF\xBF\xBD", NULL, NULL, 2, 3, 0);
  nvtxa_gpu_work_unref(work);
}

/* ---- names in both quotings ---- */

/* How a report is written. */
enum {
  OLD = 1, /* as nsys before 2024.5: quotes for commas alone, none doubled */
  CRLF = 2,
  BOM = 4,
  BLANK_LINES = 8,
  CUT = 16, /* without the last line break */
};

/* In the old quoting, none of these can be read in two ways. */
static const char *const names[] = {
    "plain",
    "a,b",
    "void reduce<(int)512, at::Op<float, float>::operator ()(It &)::[lambda(int)]>(T3)",
    "say \"hi\"",
    "\"quoted\"",
    "\"",
    "\"\"",
    ",",
    "a,\"b",
    "a\"b,",
    "\"a,b\"",
    "\"lead, x",
    "tail, \"",
    " both, \"of\" them ",
    "operator\"\"_kb(int, int)",
    "x,\ny",
    "a\nb, c",
    "\"a\nb,c",
    "1,2,3\n,,",
    ",\n\n\nthree",
    "several\nlines,\nwith \"quotes\"\"",
    "cr\r\nlf,",
    "",
    "None",
    "caf\xC3\xA9",
    "<unnamed>::kernel",
};

static const char line_break[] = "a name\nover\nlines"; /* RFC 4180 alone has it in quotes */

static void add_name(nvtxa__buffer *text, int shape, const char *name) {
  bool quoted = strpbrk(name, (shape & OLD) != 0 ? "," : ",\"\r\n") != NULL;
  nvtxa__buffer_printf(text, "%s", quoted ? "\"" : "");
  for (; *name != '\0'; name++) {
    nvtxa__buffer_printf(text, *name == '"' && (shape & OLD) == 0 ? "\"\"" : "%c", *name);
  }
  nvtxa__buffer_printf(text, "%s", quoted ? "\"" : "");
}

static void end_line(nvtxa__buffer *text, int shape) {
  nvtxa__buffer_printf(text, "%s", (shape & CRLF) != 0 ? "\r\n" : "\n");
}

/* Kernels by the names from `first` on, so that each name is the last one once. */
static nvtxa__buffer make_kernels(int shape, size_t first) {
  nvtxa__buffer text = {0};
  nvtxa__buffer_printf(&text, "%s%s", (shape & BOM) != 0 ? "\xEF\xBB\xBF" : "", KERNELS_HEADER);
  end_line(&text, shape);
  for (size_t i = 0; i < NVTXA__COUNT(names); i++) {
    size_t k = (first + i) % NVTXA__COUNT(names);
    nvtxa__buffer_printf(&text, "5.0,%zu,%zu,1.0,1.0,1,1,0.0,", 1000 + k, k + 1);
    add_name(&text, shape, names[k]);
    end_line(&text, shape);
    if ((shape & BLANK_LINES) != 0 && i % 3 == 0) {
      end_line(&text, shape);
    }
  }
  if ((shape & OLD) == 0) {
    nvtxa__buffer_printf(&text, "5.0,1,1,1.0,1.0,1,1,0.0,");
    add_name(&text, shape, line_break);
    end_line(&text, shape);
  }
  text.length -= (shape & CUT) == 0 ? 0 : (shape & CRLF) != 0 ? 2 : 1;
  return text;
}

static void expect_names(const nvtxa_gpu_work *work, int shape) {
  size_t count = nvtxa_gpu_work_amount_count(work, NVTXA_GPU_KERNEL);
  cr_assert_eq(count, NVTXA__COUNT(names) + ((shape & OLD) == 0), "%zu names in shape %d", count,
               shape);
  for (size_t i = 0; i < count; i++) {
    nvtxa_gpu_amount amount = amount_at(work, NVTXA_GPU_KERNEL, i);
    size_t k = (size_t)amount.instances - 1;
    bool last = amount.cumulative_duration_ns == 1;
    cr_assert(last ||
              (k < NVTXA__COUNT(names) && amount.cumulative_duration_ns == (int64_t)(1000 + k)));
    expect_text(amount.name, last ? line_break : names[k]);
  }
}

Test(gpu_reports, names) {
  static const int shapes[] = {0,
                               OLD,
                               CRLF,
                               OLD | CRLF,
                               BOM | CUT,
                               OLD | BOM | CUT,
                               BLANK_LINES | CRLF,
                               OLD | BLANK_LINES,
                               OLD | CRLF | CUT};
  for (size_t s = 0; s < NVTXA__COUNT(shapes); s++) {
    for (size_t first = 0; first < NVTXA__COUNT(names); first++) {
      nvtxa__buffer text = make_kernels(shapes[s], first);
      nvtxa_gpu_work *work =
          read_well((texts){.kern_sum = text.data, .kern_sum_length = text.length, .gpu_trace = ""},
                    (shapes[s] & OLD) != 0 ? NVTXA_QUOTING_NSYS : NVTXA_QUOTING_AUTO);
      expect_names(work, shapes[s]);
      nvtxa_gpu_work_unref(work);
      nvtxa__buffer_free(&text);
    }
  }
}

/* So many that the text is read into the window many times. */
Test(gpu_reports, long_reports) {
  enum { ROWS = 20000 };
  for (int shape = 0; shape <= OLD; shape++) {
    nvtxa__buffer text = {0};
    nvtxa__buffer_printf(&text, TRACE_HEADER "\n");
    for (size_t i = 0; i < ROWS; i++) {
      nvtxa__buffer_printf(&text, "%zu,2,7,1,1,1,1,1,1,16,0,0,,,,,GPU (0),1,,7,", i);
      add_name(&text, shape, names[i % NVTXA__COUNT(names)]);
      nvtxa__buffer_printf(&text, "\n" COPY("3", "5", "Pinned", "Device"));
    }
    nvtxa_gpu_work *work =
        read_well((texts){.kern_sum = "", .gpu_trace = text.data, .gpu_trace_length = text.length},
                  shape == OLD ? NVTXA_QUOTING_NSYS : NVTXA_QUOTING_AUTO);
    expect_counts(work, 0, 1, 0);
    expect_amount(work, NVTXA_GPU_MEMORY_TRANSFER, 0, NULL, "Pinned", "Device", ROWS, 3 * ROWS,
                  5 * ROWS);
    nvtxa_gpu_work_unref(work);
    nvtxa__buffer_free(&text);
  }
}

/* What both quotings explain, differently, is read as the version has it. */
Test(gpu_reports, quoting_by_version) {
  static const char text[] = "Total Time (ns),Instances,Name\n1,1,\"a, \"\"b\"\"\"\n2,1,\"c\"\n";
  nvtxa_gpu_work *work = read_well((texts){.kern_sum = text, .gpu_trace = ""}, NVTXA_QUOTING_AUTO);
  expect_amount(work, NVTXA_GPU_KERNEL, 0, "\"c\"", NULL, NULL, 1, 2, 0);
  expect_amount(work, NVTXA_GPU_KERNEL, 1, "a, \"b\"", NULL, NULL, 1, 1, 0);
  nvtxa_gpu_work_unref(work);
  work = read_well((texts){.kern_sum = text, .gpu_trace = ""}, NVTXA_QUOTING_NSYS);
  expect_amount(work, NVTXA_GPU_KERNEL, 0, "\"c\"", NULL, NULL, 1, 2, 0);
  expect_amount(work, NVTXA_GPU_KERNEL, 1, "a, \"\"b\"\"", NULL, NULL, 1, 1, 0);
  nvtxa_gpu_work_unref(work);
}

/* ---- what is refused ---- */

#define SHORT_HEADER "Total Time (ns),Instances,Name\n"

static void expect_unreadable(const char *text, nvtxa_quoting quoting, uint64_t line,
                              const char *part) {
  expect_refused((texts){.kern_sum = text, .gpu_trace = ""}, quoting,
                 NVTXA_REPORT_CUDA_GPU_KERN_SUM, NVTXA_ERROR_REPORT_SYNTAX, line, NULL, part);
}

Test(gpu_reports, records_that_cannot_be_read) {
  static const struct {
    const char *text;
    uint64_t line;
    const char *part;
  } cases[] = {
      {SHORT_HEADER "1,1,a\n1,2\n", 3, "too few fields: 2 where the header has 3"},
      {SHORT_HEADER "1,1,a,b\n", 2, "too many fields: 4"},
      {SHORT_HEADER "1,1,a\n1,1,say \"a\", b\n", 3, "too many fields: 4"},
      {SHORT_HEADER "1,1,a\nb\n1,1,c\n", 3, "too few fields: 1"},
      {SHORT_HEADER "1,1,\"a, b\n", 2, "a quote is never closed"},
      {SHORT_HEADER "1,1,\"a, b\n2,2,c\n", 2, "a quote is never closed"},
      {SHORT_HEADER "1,1,\"a, b\n2,2,\"c, d\"\n", 2, "text follows a closing quote"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    expect_unreadable(cases[i].text, NVTXA_QUOTING_AUTO, cases[i].line, cases[i].part);
    expect_unreadable(cases[i].text, NVTXA_QUOTING_NSYS, cases[i].line, cases[i].part);
  }
}

/* The old quoting does not say where a name ends that holds line breaks. It ends at the first line
 * that can be its end; if that is wrong, what follows is no record. */
Test(gpu_reports, names_over_lines_that_cannot_be_read) {
  static const struct {
    const char *text;
    uint64_t line;
    const char *part;
  } cases[] = {
      {SHORT_HEADER "1,1,\"a, \"b\"\nc\"\n2,2,d\n", 3, "too few fields: 1"},
      {SHORT_HEADER "1,1,\"a\n2,2,b\"c\nd, e\"\n3,3,f\n", 4, "too few fields: 2"},
      {SHORT_HEADER "1,1,say \"a\"\nb\n2,2,d\n", 3, "too few fields: 1"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    expect_unreadable(cases[i].text, NVTXA_QUOTING_NSYS, cases[i].line, cases[i].part);
  }
}

Test(gpu_reports, values_that_cannot_be) {
  static const char no_integer[] = "is not a 64-bit integer";
  static const struct {
    const char *row;
    const char *field;
    const char *part;
  } kernels[] = {
      {KERNELS("-1", "1", "a"), "Total Time (ns)", "'-1' is negative"},
      {KERNELS("1", "-2", "a"), "Instances", "'-2' is negative"},
      {KERNELS("1.5", "1", "a"), "Total Time (ns)", no_integer},
      {KERNELS("", "1", "a"), "Total Time (ns)", no_integer},
      {KERNELS("1", "None", "a"), "Instances", "'None' is not a 64-bit integer"},
      {KERNELS("9223372036854775808", "1", "a"), "Total Time (ns)", no_integer},
  };
  static const struct {
    const char *row;
    const char *field;
    const char *part;
  } operations[] = {
      {COPY("-5", "1", "Device", "Pinned"), "Duration (ns)", "'-5' is negative"},
      {COPY("5", "-1", "Device", "Pinned"), "Bytes (B)", "'-1' is negative"},
      {COPY("5", "", "Device", "Pinned"), "Bytes (B)", no_integer},
      {COPY("5", "None", "Device", "Pinned"), "Bytes (B)", no_integer},
      {COPY("5", "4.0", "Device", "Pinned"), "Bytes (B)", no_integer},
      {COPY("", "4", "Device", "Pinned"), "Duration (ns)", no_integer},
      {COPY("5", "4", "", "Pinned"), "SrcMemKd", "is no kind of memory"},
      {COPY("5", "4", "Device", ""), "DstMemKd", "is no kind of memory"},
      {COPY("5", "4", "None", "None"), "SrcMemKd", "'None' is no kind of memory"},
      {SET("-1", "4", "Device"), "Duration (ns)", "'-1' is negative"},
      {SET("1", "", "Device"), "Bytes (B)", no_integer},
      {SET("1", "-4", ""), "Bytes (B)", "'-4' is negative"},
      {OPERATION("1", "x", "", "", "", "kernel"), "GrdX", "'x' is not a 64-bit integer"},
      {OPERATION("-1", "1", "", "", "", "kernel"), "Duration (ns)", "'-1' is negative"},
      {OPERATION("1", "", "", "", "", "kernel"), "Bytes (B)", no_integer},
  };
  char text[2048];
  for (int quoting = NVTXA_QUOTING_AUTO; quoting <= NVTXA_QUOTING_NSYS; quoting++) {
    for (size_t i = 0; i < NVTXA__COUNT(kernels); i++) {
      snprintf(text, sizeof text, "%s\n%s%s", KERNELS_HEADER, KERNELS("7", "1", "\"b, c\""),
               kernels[i].row);
      expect_refused((texts){.kern_sum = text, .gpu_trace = TRACE_HEADER "\n" SET("1", "-4", "")},
                     (nvtxa_quoting)quoting, NVTXA_REPORT_CUDA_GPU_KERN_SUM,
                     NVTXA_ERROR_REPORT_VALUE, 3, kernels[i].field, kernels[i].part);
    }
    for (size_t i = 0; i < NVTXA__COUNT(operations); i++) {
      snprintf(text, sizeof text, TRACE_HEADER "\n" SET("7", "1", "Device") "\n%s",
               operations[i].row);
      expect_refused((texts){.kern_sum = KERNELS_HEADER, .gpu_trace = text}, (nvtxa_quoting)quoting,
                     NVTXA_REPORT_CUDA_GPU_TRACE, NVTXA_ERROR_REPORT_VALUE, 4, operations[i].field,
                     operations[i].part);
    }
  }
}

#define MOST "9223372036854775807"

Test(gpu_reports, sums_beyond_64_bits) {
  static const char part[] = "makes the sum pass 64 bits";
  static const struct {
    const char *kern_sum;
    const char *gpu_trace;
    const char *field;
    uint64_t line;
  } cases[] = {
      {KERNELS_HEADER "\n" KERNELS(MOST, "1", "a") KERNELS(MOST, "1", "b") KERNELS("1", "1", "a"),
       "", "Total Time (ns)", 4},
      {KERNELS_HEADER "\n" KERNELS("1", MOST, "a") KERNELS("1", MOST, "a") KERNELS("1", MOST, "a"),
       "", "Instances", 4},
      {"", TRACE_HEADER "\n" SET(MOST, "1", "Device") SET("1", "1", "") SET("1", "1", "Device"),
       "Duration (ns)", 4},
      {"",
       TRACE_HEADER "\n" COPY("1", MOST, "Device", "Pinned") COPY("1", MOST, "Pinned", "Device")
           COPY("1", "1", "Pinned", "Device"),
       "Bytes (B)", 4},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    expect_refused((texts){.kern_sum = cases[i].kern_sum, .gpu_trace = cases[i].gpu_trace},
                   NVTXA_QUOTING_AUTO,
                   i < 2 ? NVTXA_REPORT_CUDA_GPU_KERN_SUM : NVTXA_REPORT_CUDA_GPU_TRACE,
                   NVTXA_ERROR_OVERFLOW, cases[i].line, cases[i].field, part);
  }
}

/* Two of the largest numbers of instances fit. */
Test(gpu_reports, sums_within_64_bits) {
  nvtxa_gpu_work *work = read_well(
      (texts){
          .kern_sum = KERNELS_HEADER "\n" KERNELS(MOST, MOST, "a") KERNELS("0", MOST, "a"),
          .gpu_trace = TRACE_HEADER "\n" SET(MOST, MOST, "Device") SET("0", "0", "Device"),
      },
      NVTXA_QUOTING_AUTO);
  expect_amount(work, NVTXA_GPU_KERNEL, 0, "a", NULL, NULL, UINT64_MAX - 1, INT64_MAX, 0);
  expect_amount(work, NVTXA_GPU_MEMORY_SET, 0, NULL, NULL, "Device", 2, INT64_MAX, INT64_MAX);
  nvtxa_gpu_work_unref(work);
}

Test(gpu_reports, headers_that_are_refused) {
  static const char by_bytes[] = "--format csv:mem=B";
  static const char nanoseconds[] = "without --timeunit";
  static const struct {
    nvtxa_report report;
    const char *header;
    const char *part;
  } cases[] = {
      {NVTXA_REPORT_CUDA_GPU_KERN_SUM, "Instances,Name\n", "the header lacks 'Total Time (ns)'"},
      {NVTXA_REPORT_CUDA_GPU_KERN_SUM, "Total Time (ns),Name\n", "lacks 'Instances'"},
      {NVTXA_REPORT_CUDA_GPU_KERN_SUM, "Instances,Total Time (ns)\n", "lacks 'Name'"},
      {NVTXA_REPORT_CUDA_GPU_KERN_SUM, "Total Time (us),Instances,Name\n", nanoseconds},
      {NVTXA_REPORT_CUDA_GPU_KERN_SUM, "1,1,a\n", "no header of this report; it reads '1,1,a'"},
      {NVTXA_REPORT_CUDA_GPU_KERN_SUM, "\n" SHORT_HEADER, "no header of this report"},
      {NVTXA_REPORT_CUDA_GPU_KERN_SUM, "Total Time:dur_ns,Instances,Name\n", "nsys stats"},
      {NVTXA_REPORT_CUDA_GPU_TRACE, TRACE_HEADER_WITH("Bytes (MB)") "\n", by_bytes},
      {NVTXA_REPORT_CUDA_GPU_TRACE, TRACE_HEADER_WITH("Bytes (KB)"), by_bytes},
      {NVTXA_REPORT_CUDA_GPU_TRACE, TRACE_HEADER_WITH("Bytes (GiB)") "\r\n", by_bytes},
      {NVTXA_REPORT_CUDA_GPU_TRACE, TRACE_HEADER_WITH("Bytes (MB)"), "lacks 'Bytes (B)'"},
      {NVTXA_REPORT_CUDA_GPU_TRACE, "GrdX,Bytes (B),SrcMemKd,DstMemKd,Duration (ms),Name",
       nanoseconds},
      {NVTXA_REPORT_CUDA_GPU_TRACE, "GrdX,Bytes (B),SrcMemKd,DstMemKd,Name",
       "lacks 'Duration (ns)'"},
      {NVTXA_REPORT_CUDA_GPU_TRACE, "Duration (ns),Bytes (B),SrcMemKd,DstMemKd,Name",
       "lacks 'GrdX'"},
      {NVTXA_REPORT_CUDA_GPU_TRACE, "Duration (ns),GrdX,SrcMemKd,DstMemKd,Name",
       "lacks 'Bytes (B)'"},
      {NVTXA_REPORT_CUDA_GPU_TRACE, "Duration (ns),GrdX,Bytes (B),DstMemKd,Name",
       "lacks 'SrcMemKd'"},
      {NVTXA_REPORT_CUDA_GPU_TRACE, "Duration (ns),GrdX,Bytes (B),SrcMemKd,Name",
       "lacks 'DstMemKd'"},
      {NVTXA_REPORT_CUDA_GPU_TRACE, "Duration (ns),GrdX,Bytes (B),SrcMemKd,DstMemKd",
       "lacks 'Name'; it reads 'Duration (ns),GrdX"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    bool kernels = cases[i].report == NVTXA_REPORT_CUDA_GPU_KERN_SUM;
    texts t = {kernels ? cases[i].header : "", kernels ? "" : cases[i].header, 0, 0};
    expect_refused(t, NVTXA_QUOTING_AUTO, cases[i].report, NVTXA_ERROR_REPORT_COLUMNS, 1, NULL,
                   cases[i].part);
  }
}

/* The limit for one record, at its last byte and beyond. */
Test(gpu_reports, records_up_to_the_limit) {
  enum { BEFORE = sizeof SHORT_HEADER - 1 };
  size_t length = BEFORE + NVTXA__LONGEST_RECORD + 1;
  char *text = malloc(length);
  cr_assert_not_null(text);
  for (size_t over = 0; over <= 1; over++) {
    memset(text, 'x', length);
    memcpy(text, SHORT_HEADER "1,1,", BEFORE + 4);
    text[length - 2 + over] = '\n';
    texts t = {.kern_sum = text, .kern_sum_length = length - 1 + over, .gpu_trace = ""};
    if (over == 0) {
      nvtxa_gpu_work *work = read_well(t, NVTXA_QUOTING_AUTO);
      cr_expect_eq(amount_at(work, NVTXA_GPU_KERNEL, 0).name.length, NVTXA__LONGEST_RECORD - 5);
      nvtxa_gpu_work_unref(work);
    } else {
      outcome o = read_with(t, NVTXA_QUOTING_NSYS, NULL);
      cr_expect_eq(o.status, NVTXA_ERROR_LIMIT);
      cr_expect_eq(nvtxa_error_line(o.error), 2);
      outcome_free(&o);
    }
  }
  free(text);
}

/* The flag is set before, or when reading has begun. */
static volatile sig_atomic_t cancel;

static void set_cancel(void *user, const nvtxa_progress *progress) {
  (void)user, (void)progress;
  cancel = 1;
}

Test(gpu_reports, cancelled) {
  static const char *const kernels[] = {"", SHORT_HEADER "1,1,a\n"};
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  hooks.cancel = &cancel;
  for (size_t i = 0; i < 2 * NVTXA__COUNT(kernels); i++) {
    cancel = i < NVTXA__COUNT(kernels);
    hooks.progress = cancel ? NULL : set_cancel;
    outcome o =
        read_with((texts){.kern_sum = kernels[i % 2], .gpu_trace = ""}, NVTXA_QUOTING_AUTO, &hooks);
    cr_expect_eq(o.status, NVTXA_ERROR_CANCELLED);
    outcome_free(&o);
  }
}

/* ---- files ---- */

typedef struct file {
  int fd;
  char path[64];
} file;

static file file_of(const char *text) {
  file f = {.fd = memfd_create("report", MFD_CLOEXEC)};
  cr_assert_geq(f.fd, 0);
  cr_assert_eq(write(f.fd, text, strlen(text)), (ssize_t)strlen(text));
  snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
  return f;
}

static outcome read_paths(const char *kern_sum, const char *gpu_trace, const char *version) {
  outcome o = {.work = NULL};
  o.status = nvtxa_gpu_work_read_reports(kern_sum, gpu_trace, nvtxa__text(version), NULL, &o.work,
                                         &o.error);
  cr_assert_eq(o.status == NVTXA_OK, o.work != NULL);
  cr_assert_eq(o.status == NVTXA_OK, o.error == NULL);
  return o;
}

Test(gpu_reports, files) {
  static const struct {
    const char *version;
    const char *name;
  } cases[] = {
      {NULL, "a, \"b"},
      {"NVIDIA Nsight Systems version 2025.1.3.140-251335620677v0", "a, \"b"},
      {"NVIDIA Nsight Systems version 2022.4.2.1-df9881f", "a, \"\"b"},
  };
  file kern_sum = file_of(KERNELS_HEADER "\n" KERNELS("300", "4", "\"a, \"\"b\""));
  file gpu_trace = file_of(TRACE_HEADER "\n" COPY("10", "4096", "Pageable", "Device"));
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    outcome o = read_paths(kern_sum.path, gpu_trace.path, cases[i].version);
    cr_assert_eq(o.status, NVTXA_OK);
    expect_counts(o.work, 1, 1, 0);
    expect_amount(o.work, NVTXA_GPU_KERNEL, 0, cases[i].name, NULL, NULL, 4, 300, 0);
    expect_amount(o.work, NVTXA_GPU_MEMORY_TRANSFER, 0, NULL, "Pageable", "Device", 1, 10, 4096);
    outcome_free(&o);
  }
  close(kern_sum.fd);
  close(gpu_trace.fd);
}

Test(gpu_reports, files_that_are_missing) {
  static const char missing[] = "/proc/self/no-such-report";
  file empty = file_of("");
  for (int first = 0; first < 2; first++) {
    outcome o = read_paths(first ? missing : empty.path, first ? empty.path : missing, NULL);
    cr_expect_eq(o.status, NVTXA_ERROR_REPORT_MISSING);
    cr_expect_str_eq(nvtxa_error_file(o.error), missing);
    outcome_free(&o);
  }
  outcome o = read_paths(empty.path, "/proc/self", NULL);
  cr_expect_eq(o.status, NVTXA_ERROR_IO);
  outcome_free(&o);
  close(empty.fd);
}

static void grow(void *user, const nvtxa_progress *progress) {
  const file *f = user;
  (void)progress;
  cr_assert_eq(write(f->fd, "1", 1), 1);
}

/* One that is still written to is no report yet. */
Test(gpu_reports, a_file_that_grows) {
  file empty = file_of("");
  file kern_sum = file_of(KERNELS_HEADER "\n" KERNELS("300", "4", "a"));
  nvtxa_hooks hooks = NVTXA_HOOKS_INIT;
  outcome o = {.work = NULL};
  hooks.progress = grow;
  hooks.user = &kern_sum;
  o.status = nvtxa_gpu_work_read_reports(kern_sum.path, empty.path, (nvtxa_text){NULL, 0}, &hooks,
                                         &o.work, &o.error);
  cr_assert_eq(o.status, NVTXA_ERROR_IO);
  cr_expect_null(o.work);
  cr_expect_str_eq(nvtxa_error_message(o.error), "it changed while it was read");
  outcome_free(&o);
  close(kern_sum.fd);
  close(empty.fd);
}

Test(gpu_reports, arguments) {
  nvtxa_gpu_work *work = NULL;
  const nvtxa_text none = {NULL, 0};
  cr_expect_eq(nvtxa_gpu_work_read_reports(NULL, "a", none, NULL, &work, NULL),
               NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_gpu_work_read_reports("a", NULL, none, NULL, &work, NULL),
               NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_gpu_work_read_reports("a", "b", none, NULL, NULL, NULL),
               NVTXA_ERROR_INVALID_ARGUMENT);
}

/* ---- the table of ranges ---- */

/* The work goes where the table goes. */
Test(gpu_reports, work_of_a_table) {
  nvtxa_ranges *ranges = nvtxa__ranges_new(NVTXA_REPORT_GPU_PROJ_TRACE);
  cr_assert_not_null(ranges);
  cr_expect_null(nvtxa_ranges_gpu_work(ranges));
  ranges->work = read_well((texts){.kern_sum = "", .gpu_trace = ""}, NVTXA_QUOTING_AUTO);
  cr_expect_eq(nvtxa_ranges_gpu_work(ranges), ranges->work);
  nvtxa_ranges_unref(ranges);
}
