/*
 * CSV reports: open, read the header, close. And tables from those of ranges, of which the crew
 * reads the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report-internal.h"

nvtxa_quoting nvtxa_ranges_quoting_of(nvtxa_text nsys_version) {
  int year;
  int minor;
  if (nsys_version.data == NULL) {
    return NVTXA_QUOTING_AUTO;
  }
  const char *number = nsys_version.data + strcspn(nsys_version.data, "0123456789");
  if (sscanf(number, "%4d.%4d", &year, &minor) != 2) {
    return NVTXA_QUOTING_AUTO;
  }
  return year < 2024 || (year == 2024 && minor < 5) ? NVTXA_QUOTING_NSYS : NVTXA_QUOTING_AUTO;
}

/* ---- a report ---- */

nvtxa_status nvtxa__report_open(nvtxa__report *report, const char *path, nvtxa_report kind,
                                const nvtxa_hooks *hooks, nvtxa_error **reterr) {
  nvtxa_error *cause = NULL;
  struct stat info;
  *report = (nvtxa__report){.kind = kind, .shown = path, .fd = -1};
  nvtxa_status status = nvtxa__file_open(AT_FDCWD, path, path, &report->fd, &cause);
  if (status != NVTXA_OK && cause != NULL && nvtxa_error_errno(cause) == ENOENT) {
    nvtxa_error_free(cause);
    return nvtxa__fail(reterr, NVTXA_ERROR_REPORT_MISSING, &(nvtxa__where){.file = path},
                       "there is no such report");
  }
  if (status != NVTXA_OK) {
    return nvtxa__pass_on(reterr, status, cause);
  }
  if (fstat(report->fd, &info) != 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.file = path, .errnum = errno},
                       "cannot read");
  }
  report->size = (uint64_t)info.st_size;
  nvtxa__log(hooks, NVTXA_LOG_INFO, "reading %s", path);
  return NVTXA_OK;
}

nvtxa_status nvtxa__report_begin(nvtxa__report *report, nvtxa_quoting quoting,
                                 const nvtxa_hooks *hooks, nvtxa_error **reterr) {
  nvtxa__cursor cursor;
  bool empty = false;
  report->hooks = hooks;
  report->layout.quoting = quoting;
  nvtxa__cursor_init(&cursor);
  nvtxa__cursor_go(&cursor, report, 0, 1, NVTXA__LONGEST_RECORD);
  nvtxa_status status = nvtxa__cursor_skip_bom(&cursor, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__cursor_read_header(&cursor, &empty, reterr);
  }
  if (status == NVTXA_OK && !empty) {
    nvtxa_text text = {cursor.data + cursor.start, cursor.record.consumed};
    status = nvtxa__columns_map(report, &cursor.record, text, reterr);
  }
  if (status == NVTXA_OK && !empty) {
    nvtxa__cursor_advance(&cursor);
  }
  report->begin = nvtxa__cursor_offset(&cursor);
  report->line = cursor.line;
  nvtxa__cursor_free(&cursor);
  return status;
}

nvtxa_status nvtxa__report_end(const nvtxa__report *report, nvtxa_error **reterr) {
  struct stat info;
  if (report->fd < 0 || (fstat(report->fd, &info) == 0 && (uint64_t)info.st_size == report->size)) {
    return NVTXA_OK;
  }
  return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                     &(nvtxa__where){
                         .file = report->shown,
                         .hint = "Wait until nothing writes to the report any more.",
                     },
                     "it changed while it was read");
}

void nvtxa__report_close(nvtxa__report *report) {
  free(report->layout.kinds);
  report->layout.kinds = NULL;
  nvtxa__close(&report->fd);
}

/* ---- tables ---- */

static nvtxa_status begin(nvtxa__feed *feed, const nvtxa_ranges_options *options,
                          nvtxa_error **reterr) {
  nvtxa_status status =
      nvtxa_ranges_builder_new(feed->report.kind, options, &feed->builder, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  nvtxa__builder_set_source(feed->builder, feed->report.shown);
  return nvtxa__report_begin(&feed->report, options->quoting, options->hooks, reterr);
}

static void feed_free(nvtxa__feed *feed) {
  nvtxa_ranges_builder_free(feed->builder);
  nvtxa_ranges_unref(feed->ranges);
  nvtxa_error_free(feed->error);
  nvtxa__report_close(&feed->report);
}

nvtxa_status nvtxa__reports_read(nvtxa__feed *feeds, size_t count,
                                 const nvtxa_ranges_options *options, nvtxa__division division,
                                 nvtxa_ranges *ret_ranges[], nvtxa_error **reterr) {
  nvtxa__activity activity;
  nvtxa_status status = NVTXA_OK;
  size_t ready = 0; /* those before one that has no header */
  while (ready < count) {
    nvtxa__feed *feed = &feeds[ready];
    feed->status = begin(feed, options, &feed->error);
    if (feed->status != NVTXA_OK) {
      break;
    }
    ready++;
  }
  nvtxa__activity_start(&activity, options->hooks, "reading the reports");
  if (ready > 0) {
    status = nvtxa__feeds_read(feeds, ready, division, &activity, reterr);
  }
  for (size_t i = 0; i < count && status == NVTXA_OK; i++) {
    if (feeds[i].status == NVTXA_OK) {
      feeds[i].status = nvtxa__report_end(&feeds[i].report, &feeds[i].error);
    }
    if (feeds[i].status != NVTXA_OK) {
      status = nvtxa__pass_on(reterr, feeds[i].status, feeds[i].error);
      feeds[i].error = NULL;
    }
  }
  for (size_t i = 0; i < count && status == NVTXA_OK; i++) {
    ret_ranges[i] = feeds[i].ranges;
    feeds[i].ranges = NULL;
  }
  for (size_t i = 0; i < count; i++) {
    feed_free(&feeds[i]);
  }
  return status;
}

nvtxa__division nvtxa__division_of(const nvtxa_ranges_options *options) {
  return (nvtxa__division){.thread_count = options->thread_count};
}

/* ---- files ---- */

nvtxa_status nvtxa_ranges_read_file(const char *path, nvtxa_report report,
                                    const nvtxa_ranges_options *options, nvtxa_ranges **ret_ranges,
                                    nvtxa_error **reterr) {
  if (path == NULL || ret_ranges == NULL) {
    return nvtxa__invalid(reterr, "path or ret_ranges is NULL");
  }
  nvtxa_ranges_options own = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa__feed feed = {.builder = NULL};
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  status = nvtxa__report_open(&feed.report, path, report, own.hooks, reterr);
  if (status != NVTXA_OK) {
    nvtxa__report_close(&feed.report);
    return status;
  }
  return nvtxa__reports_read(&feed, 1, &own, nvtxa__division_of(&own), ret_ranges, reterr);
}

/* ---- memory ---- */

nvtxa_status nvtxa_ranges_read_buffer(const char *data, size_t length, nvtxa_report report,
                                      const nvtxa_ranges_options *options,
                                      nvtxa_ranges **ret_ranges, nvtxa_error **reterr) {
  if ((data == NULL && length > 0) || ret_ranges == NULL) {
    return nvtxa__invalid(reterr, "data or ret_ranges is NULL");
  }
  nvtxa_ranges_options own = NVTXA_RANGES_OPTIONS_INIT;
  nvtxa_status status = nvtxa__options_copy(&own, sizeof own, options, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  bool known = (unsigned)report < NVTXA_REPORT_COUNT;
  nvtxa__feed feed = {
      .report =
          {
              .kind = report,
              .shown = known ? nvtxa__report_name(report, NVTXA__NAMING_NEW) : NULL,
              .fd = -1,
              .text = data,
              .size = length,
          },
  };
  return nvtxa__reports_read(&feed, 1, &own, nvtxa__division_of(&own), ret_ranges, reterr);
}
