/*
 * cuda_gpu_trace: a row a kernel, copy or fill, by start. Graphs that were traced as a whole are
 * not in that report. Sizes are in bytes, as `nsys stats --format csv:mem=B` has them: nsys's
 * default rounds them to thousandths of a megabyte.
 */
#include <stdlib.h>

#include "stats-internal.h"

static const char *const columns[] = {"Start (ns)",  "Duration (ns)",
                                      "CorrId",      "GrdX",
                                      "GrdY",        "GrdZ",
                                      "BlkX",        "BlkY",
                                      "BlkZ",        "Reg/Trd",
                                      "StcSMem (B)", "DymSMem (B)",
                                      "Bytes (B)",   "Throughput (MB/s)",
                                      "SrcMemKd",    "DstMemKd",
                                      "Device",      "Ctx",
                                      "GreenCtx",    "Strm",
                                      "Name"};

/* A text that stands in many rows. */
typedef struct shown {
  int64_t id; /* what it stands for */
  nvtxa_text text;
  bool quoted;
} shown;

typedef struct writing {
  nvtxa__cells *cells;
  const nvtxa_gpu_work *work;
  bool *quoted;   /* by text of the work */
  shown *devices; /* as the work has them */
  shown *copies;  /* kinds of copies, by id */
  nvtxa__arena arena;
} writing;

/* ---- texts ---- */

static nvtxa_text text_at(const writing *w, uint32_t text) {
  return text == NVTXA__NO_TEXT ? (nvtxa_text){"", 0} : w->work->texts.texts[text];
}

/* "before text behind". 0 or -1. */
static int put_together(writing *w, shown *out, const char *before, nvtxa_text text,
                        const char *behind) {
  nvtxa__buffer whole = {0};
  int result = nvtxa__buffer_add(&whole, before, strlen(before)) |
               nvtxa__buffer_add(&whole, text.data, text.length) |
               nvtxa__buffer_add(&whole, behind, strlen(behind));
  char *kept = result == 0 ? nvtxa__arena_copy(&w->arena, whole.data, whole.length) : NULL;
  out->text = (nvtxa_text){kept, whole.length};
  out->quoted = kept != NULL && nvtxa__cell_is_quoted(w->cells, out->text);
  nvtxa__buffer_free(&whole);
  return kept == NULL ? -1 : 0;
}

static int make_devices(writing *w) {
  w->devices = nvtxa__alloc_zero(w->work->device_count + 1, sizeof *w->devices);
  for (size_t i = 0; i < w->work->device_count && w->devices != NULL; i++) {
    const nvtxa__gpu_name *device = &w->work->devices[i];
    char id[NVTXA__DIGITS + 4] = " (";
    size_t length = 2 + nvtxa__put_integer(id + 2, device->id);
    memcpy(id + length, ")", 2);
    if (put_together(w, &w->devices[i], "", text_at(w, device->text), id) != 0) {
      return -1;
    }
  }
  return w->devices == NULL ? -1 : 0;
}

static int compare_shown(const void *a, const void *b) {
  int64_t x = ((const shown *)a)->id;
  int64_t y = ((const shown *)b)->id;
  return (x > y) - (x < y);
}

static int make_copies(writing *w) {
  w->copies = nvtxa__alloc_zero(w->work->copy_kind_count + 1, sizeof *w->copies);
  for (size_t i = 0; i < w->work->copy_kind_count && w->copies != NULL; i++) {
    const nvtxa__gpu_name *kind = &w->work->copy_kinds[i];
    w->copies[i] = (shown){.id = kind->id, .text = {"", 0}}; /* of no known kind: no name */
    if (kind->text != NVTXA__NO_TEXT &&
        put_together(w, &w->copies[i], "[CUDA memcpy ", text_at(w, kind->text), "]") != 0) {
      return -1;
    }
  }
  if (w->copies == NULL) {
    return -1;
  }
  qsort(w->copies, w->work->copy_kind_count, sizeof *w->copies, compare_shown);
  return 0;
}

static int make_texts(writing *w) {
  size_t count = w->work->texts.count;
  w->quoted = nvtxa__alloc(count + 1, sizeof *w->quoted);
  for (size_t i = 0; i < count && w->quoted != NULL; i++) {
    w->quoted[i] = nvtxa__cell_is_quoted(w->cells, w->work->texts.texts[i]);
  }
  return w->quoted == NULL || make_devices(w) != 0 ? -1 : make_copies(w);
}

/* ---- cells ---- */

static void put_shown(writing *w, const shown *text) {
  if (text->text.length == 0) {
    nvtxa__cell_empty(w->cells);
  } else {
    nvtxa__cell_text(w->cells, text->text, text->quoted, 0);
  }
}

static void put_text(writing *w, uint32_t text) {
  shown known = {.text = text_at(w, text), .quoted = text != NVTXA__NO_TEXT && w->quoted[text]};
  put_shown(w, &known);
}

static void put_cell(writing *w, enum nvtxa__gpu_cell cell, size_t operation) {
  int64_t value = nvtxa__packed_get(&w->work->cells[cell], operation);
  if (value == NVTXA__NO_CELL || (value == 0 && cell == NVTXA__CELL_GREEN_CONTEXT)) {
    nvtxa__cell_empty(w->cells);
  } else {
    nvtxa__cell_integer(w->cells, value);
  }
}

/* nsys takes the operations of a second in whole numbers, and goes on in floating point where the
 * product leaves 64 bits. */
static void put_throughput(writing *w, int64_t bytes, int64_t duration_ns) {
  int64_t in_a_second;
  if (duration_ns == 0) {
    nvtxa__cell_empty(w->cells);
    return;
  }
  int64_t times = 1000000000 / duration_ns;
  double rate = __builtin_mul_overflow(bytes, times, &in_a_second) ? (double)bytes * (double)times
                                                                   : (double)in_a_second;
  nvtxa__cell_thousandths(w->cells, rate / 1000000);
}

/* Bytes and Throughput, SrcMemKd and DstMemKd. A fill has its memory for a source. */
static void put_memory(writing *w, const nvtxa__gpu_label *label, size_t operation) {
  if (label->kind == NVTXA_GPU_KERNEL) {
    for (int i = 0; i < 4; i++) {
      nvtxa__cell_empty(w->cells);
    }
    return;
  }
  bool copy = label->kind == NVTXA_GPU_MEMORY_TRANSFER;
  int64_t bytes = nvtxa__packed_get(&w->work->bytes, operation);
  nvtxa__cell_integer(w->cells, bytes);
  put_throughput(w, bytes, nvtxa__packed_get(&w->work->duration_ns, operation));
  put_text(w, copy ? label->first : label->second);
  put_text(w, copy ? label->second : NVTXA__NO_TEXT);
}

static void put_copy_name(writing *w, size_t operation) {
  shown wanted = {.id = nvtxa__packed_get(&w->work->cells[NVTXA__CELL_COPY_KIND], operation)};
  const shown *found =
      bsearch(&wanted, w->copies, w->work->copy_kind_count, sizeof wanted, compare_shown);
  if (found == NULL) {
    nvtxa__cell_empty(w->cells);
  } else {
    put_shown(w, found);
  }
}

static void put_name(writing *w, const nvtxa__gpu_label *label, size_t operation) {
  static const char fill[] = "[CUDA memset]";
  switch (label->kind) {
    case NVTXA_GPU_KERNEL:
      put_text(w, label->first);
      break;
    case NVTXA_GPU_MEMORY_TRANSFER:
      put_copy_name(w, operation);
      break;
    default:
      nvtxa__cell_plain(w->cells, fill, sizeof fill - 1);
      break;
  }
}

/* ---- rows ---- */

static void put_row(writing *w, size_t operation) {
  const nvtxa_gpu_work *work = w->work;
  const nvtxa__gpu_label *label =
      nvtxa__gpu_label_at(work, (uint32_t)nvtxa__packed_get(&work->label, operation));
  if (label->kind == NVTXA_GPU_GRAPH) {
    return;
  }
  nvtxa__cell_integer(w->cells, nvtxa__packed_get(&work->start_ns, operation));
  nvtxa__cell_integer(w->cells, nvtxa__packed_get(&work->duration_ns, operation));
  for (int cell = NVTXA__CELL_CORRELATION; cell <= NVTXA__CELL_DYNAMIC_MEMORY; cell++) {
    put_cell(w, (enum nvtxa__gpu_cell)cell, operation);
  }
  put_memory(w, label, operation);
  put_shown(w, &w->devices[nvtxa__packed_get(&work->device, operation)]);
  put_cell(w, NVTXA__CELL_CONTEXT, operation);
  put_cell(w, NVTXA__CELL_GREEN_CONTEXT, operation);
  put_cell(w, NVTXA__CELL_STREAM, operation);
  put_name(w, label, operation);
  nvtxa__cells_end_row(w->cells);
}

static nvtxa_status put_report(nvtxa__cells *cells, const nvtxa_ranges *ranges,
                               nvtxa_error **reterr) {
  writing w = {.cells = cells, .work = ranges->work};
  nvtxa_status status = make_texts(&w) == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
  for (size_t i = 0; i < w.work->count && status == NVTXA_OK && cells->status == NVTXA_OK; i++) {
    put_row(&w, i);
  }
  nvtxa__arena_free(&w.arena);
  free(w.quoted);
  free(w.devices);
  free(w.copies);
  return status;
}

const nvtxa__stats_report nvtxa__cuda_gpu_trace = {columns, NVTXA__COUNT(columns),
                                                   NVTXA__NEEDS_CELLS, put_report};
