/*
 * The capture range: the one root host range with the manifest's name. Where it is not there, what
 * is near is the most useful thing to say.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis-internal.h"

/* How many places a message lists before it says "and N more". */
enum { MOST_LISTED = 20 };

static const char push_and_pop[] =
    "Mark the capture range and the iterations with push and pop (nvtxRangePushA, nvtxRangePop), "
    "not "
    "with start and end.";

static bool is_named(const nvtxa_ranges *ranges, size_t row, nvtxa_text name) {
  return nvtxa__text_equal(nvtxa__normalized(nvtxa__range_text(ranges, row)), name);
}

static int add_place(nvtxa__buffer *list, const nvtxa_ranges *ranges, size_t row, size_t position) {
  nvtxa__thread thread = nvtxa__range_thread(ranges, row);
  if (position >= MOST_LISTED) {
    return 0;
  }
  return nvtxa__buffer_printf(list, "%spid %lld, tid %lld, range %lld", position == 0 ? "" : "; ",
                              (long long)thread.process_id, (long long)thread.thread_id,
                              (long long)nvtxa__range_id(ranges, row));
}

static int close_list(nvtxa__buffer *list, size_t count) {
  return count <= MOST_LISTED ? 0
                              : nvtxa__buffer_printf(list, "; and %zu more", count - MOST_LISTED);
}

static nvtxa_status ambiguous(const nvtxa_analysis *analysis, nvtxa_text name, const char *quoted,
                              nvtxa_error **reterr) {
  const nvtxa_ranges *host = analysis->host;
  nvtxa__buffer list = {0};
  size_t count = 0;
  nvtxa_status status;
  for (size_t row = 0; row < host->count; row++) {
    if (nvtxa__range_parent(host, row) == NVTXA__NO_PARENT && is_named(host, row, name) &&
        add_place(&list, host, row, count++) != 0) {
      nvtxa__buffer_free(&list);
      return nvtxa__out_of_memory(reterr);
    }
  }
  if (close_list(&list, count) != 0) {
    status = nvtxa__out_of_memory(reterr);
  } else {
    status = nvtxa__fail(
        reterr, NVTXA_ERROR_CAPTURE_RANGE,
        &(nvtxa__where){
            .hint = "One run has one capture range: profile one process and one thread at a time, "
                    "or give each its own capture range name.",
        },
        "%zu root ranges are named '%s' where the manifest's capture_range must be one: %s", count,
        quoted, list.data);
  }
  nvtxa__buffer_free(&list);
  return status;
}

/* `domain:name` for some domain. */
static bool is_in_domain(const nvtxa_ranges *ranges, size_t row, nvtxa_text name) {
  nvtxa_text raw = nvtxa__range_text(ranges, row);
  return raw.length > name.length + 1 && raw.data[raw.length - name.length - 1] == ':' &&
         memcmp(raw.data + raw.length - name.length, name.data, name.length) == 0;
}

typedef struct near_miss {
  size_t plain; /* ranges of that name without its leading colon */
  size_t below; /* ranges of that name below another */
  size_t below_row;
  size_t domain; /* ranges of that name in another domain */
  size_t domain_row;
  size_t start_end; /* GPU rows of that name with style StartEnd */
} near_miss;

static near_miss look_around(const nvtxa_analysis *analysis, nvtxa_text name) {
  const nvtxa_ranges *host = analysis->host;
  const nvtxa_ranges *gpu = analysis->gpu;
  near_miss near = {0};
  nvtxa_text plain = nvtxa__normalized(name);
  for (size_t row = host->count; row-- > 0;) {
    near.plain += plain.length < name.length && is_named(host, row, plain);
    if (is_named(host, row, name)) {
      near.below++;
      near.below_row = row;
    } else if (is_in_domain(host, row, name)) {
      near.domain++;
      near.domain_row = row;
    }
  }
  for (size_t row = 0; row < gpu->count; row++) {
    near.start_end += nvtxa__text_is(gpu->styles.texts[nvtxa__range_style(gpu, row)], "StartEnd") &&
                      is_named(gpu, row, name);
  }
  return near;
}

static nvtxa_status absent(const nvtxa_analysis *analysis, nvtxa_text name, const char *quoted,
                           nvtxa_error **reterr) {
  const nvtxa_ranges *host = analysis->host;
  near_miss near = look_around(analysis, name);
  nvtxa__buffer text = {0};
  char other[NVTXA__QUOTED];
  int made = nvtxa__buffer_printf(
      &text, "0 root ranges are named '%s', the manifest's capture_range", quoted);
  const char *hint =
      "Compare capture_range in manifest.yaml with the name that the harness pushes; names are "
      "compared exactly.";
  if (made == 0 && near.plain > 0) {
    made = nvtxa__buffer_printf(&text, "; %zu of that name %s without the leading colon",
                                near.plain, near.plain == 1 ? "is there" : "are there");
    hint =
        "Leave the colon out of capture_range: reports put it before names of the default domain.";
  }
  if (made == 0 && near.below > 0) {
    nvtxa__thread thread = nvtxa__range_thread(host, near.below_row);
    made = nvtxa__buffer_printf(&text,
                                "; %zu of that name %s below another range (the first: pid %lld, "
                                "tid %lld, range %lld, below range %lld)",
                                near.below, near.below == 1 ? "stands" : "stand",
                                (long long)thread.process_id, (long long)thread.thread_id,
                                (long long)nvtxa__range_id(host, near.below_row),
                                (long long)nvtxa__range_parent_id(host, near.below_row));
    hint =
        "The capture range must be outermost on its thread: let nsys begin with it "
        "(--capture-range=nvtx) or close what encloses it.";
  }
  if (made == 0 && near.start_end > 0) {
    made = nvtxa__buffer_printf(&text, "; the GPU report has %zu of that name with style StartEnd",
                                near.start_end);
    hint = push_and_pop;
  }
  if (made == 0 && near.domain > 0) {
    nvtxa_text raw = nvtxa__range_text(host, near.domain_row);
    made = nvtxa__buffer_printf(&text, "; %zu of that name %s in another NVTX domain: '%s'",
                                near.domain, near.domain == 1 ? "stands" : "stand",
                                nvtxa__quote(other, raw.data, raw.length));
    hint = "Write the name with its domain, `domain:name`, as capture_range in manifest.yaml.";
  }
  nvtxa_status status = made != 0 ? nvtxa__out_of_memory(reterr)
                                  : nvtxa__fail(reterr, NVTXA_ERROR_CAPTURE_RANGE,
                                                &(nvtxa__where){.hint = hint}, "%s", text.data);
  nvtxa__buffer_free(&text);
  return status;
}

/* No push/pop range at all: perhaps the harness marks its ranges in the other way. */
static nvtxa_status no_host_ranges(const nvtxa_analysis *analysis, nvtxa_text name,
                                   const char *quoted, nvtxa_error **reterr) {
  const nvtxa_export *exported = analysis->exported;
  near_miss near = look_around(analysis, name);
  nvtxa__where where = {
      .hint =
          "The trace holds no NVTX push/pop range: was it recorded with --trace=nvtx and "
          "NSYS_NVTX_PROFILER_REGISTER_ONLY=0?",
  };
  if (exported != NULL) {
    where.file = nvtxa_export_report_path(exported, NVTXA_REPORT_PUSHPOP_TRACE);
  }
  if (near.start_end == 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_REPORT_EMPTY, &where,
                       "nvtx_pushpop_trace has no rows, so there is no capture range '%s'", quoted);
  }
  where.hint = push_and_pop;
  return nvtxa__fail(reterr, NVTXA_ERROR_REPORT_EMPTY, &where,
                     "nvtx_pushpop_trace has no rows, so there is no push/pop capture range '%s'; "
                     "the GPU report has %zu of that name with style StartEnd",
                     quoted, near.start_end);
}

nvtxa_status nvtxa__find_capture_range(nvtxa_analysis *analysis, nvtxa_error **reterr) {
  const nvtxa_ranges *host = analysis->host;
  nvtxa_text name = nvtxa_manifest_capture_range(analysis->manifest);
  char quoted[NVTXA__QUOTED];
  size_t count = 0;
  for (size_t row = 0; row < host->count; row++) {
    if (nvtxa__range_parent(host, row) == NVTXA__NO_PARENT && is_named(host, row, name)) {
      analysis->capture_row = (uint32_t)row;
      count++;
    }
  }
  if (count == 1) {
    return NVTXA_OK;
  }
  nvtxa__quote(quoted, name.data, name.length);
  if (host->count == 0) {
    return no_host_ranges(analysis, name, quoted, reterr);
  }
  return count == 0 ? absent(analysis, name, quoted, reterr)
                    : ambiguous(analysis, name, quoted, reterr);
}
