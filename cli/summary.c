/*
 * One screen about a run: who it is, how many iterations, the three measures side by side, and
 * where the time of the iterations goes. Host and GPU times are different measures: no number mixes
 * them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scopes.h"
#include "summary.h"
#include "table.h"
#include "terminal.h"
#include "text.h"

static bool is_full_hash(nvtxa_text commit) {
  return (commit.length == 40 || commit.length == 64) &&
         strspn(commit.data, "0123456789abcdefABCDEF") == commit.length;
}

/* The first three numbers of "NVIDIA Nsight Systems version 2025.1.3.140-...". */
static nvtxa_text short_version(const nvtxa_export *exported) {
  nvtxa_text line = exported == NULL ? (nvtxa_text){NULL, 0} : nvtxa_export_nsys_version(exported);
  if (line.data == NULL) {
    return line;
  }
  const char *start = line.data + strcspn(line.data, "0123456789");
  size_t length = strspn(start, "0123456789");
  for (int more = 0; more < 2 && start[length] == '.'; more++) {
    length += 1 + strspn(start + length + 1, "0123456789");
  }
  return (nvtxa_text){length > 0 ? start : NULL, length};
}

/* A part of the first line, at most `columns` wide. False where there is none. */
static bool put_part(FILE *stream, const char *separator, const char *label, nvtxa_text part,
                     size_t columns) {
  char *text = part.data == NULL ? NULL : cli_fit_text(part.data, part.length, columns);
  if (text == NULL) {
    return false;
  }
  fprintf(stream, "%s%s%s", separator, label, text);
  free(text);
  return true;
}

/* "profile / run · device · commit abc123 · nsys 2025.1.3", of what is known. */
static char *identity_line(const nvtxa_analysis *analysis, size_t columns) {
  const nvtxa_manifest *manifest = nvtxa_analysis_manifest(analysis);
  const char *dot = cli_text_is_utf8() ? " \xC2\xB7 " : " - ";
  nvtxa_text commit = nvtxa_manifest_git_commit(manifest);
  nvtxa_text version = short_version(nvtxa_analysis_export(analysis));
  char *line = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&line, &size);
  if (stream == NULL) {
    return NULL;
  }
  if (is_full_hash(commit)) {
    commit.length = 12;
  }
  bool any = put_part(stream, "", "", nvtxa_manifest_profile_name(manifest), columns);
  any |= put_part(stream, any ? " / " : "", "", nvtxa_manifest_run_id(manifest), columns);
  any |= put_part(stream, any ? dot : "", "", nvtxa_manifest_device(manifest), columns);
  any |= put_part(stream, any ? dot : "", "commit ", commit, columns);
  put_part(stream, any ? dot : "", "nsys ", version, columns);
  if (fclose(stream) != 0) {
    free(line);
    return NULL;
  }
  return line;
}

static bool print_identity(const nvtxa_analysis *analysis, size_t columns, bool colour) {
  const size_t fixed = sizeof " /  -  - commit  - nsys 2025.1.3";
  char *line = identity_line(analysis, columns);
  if (line != NULL && cli_text_columns(line) > columns) {
    free(line);
    line = identity_line(analysis, columns > fixed + 40 ? (columns - fixed) / 4 : 10);
  }
  if (line == NULL) {
    return false;
  }
  if (line[0] != '\0') {
    printf("%s%s%s\n", colour ? CLI_BOLD : "", line, colour ? CLI_PLAIN : "");
  }
  free(line);
  return true;
}

static void print_found(const nvtxa_analysis *analysis, uint64_t found) {
  int64_t declared;
  uint64_t expected = 0;
  if (!nvtxa_manifest_iterations(nvtxa_analysis_manifest(analysis), &declared)) {
    printf("%" PRIu64 " iteration%s (none declared)", found, found == 1 ? "" : "s");
    return;
  }
  for (size_t i = 0; i < nvtxa_analysis_iteration_count(analysis); i++) {
    nvtxa_iteration iteration = {.size = sizeof iteration};
    nvtxa_analysis_iteration(analysis, i, &iteration);
    expected += iteration.index < declared;
  }
  printf("%" PRIu64 " of %" PRId64 " declared iteration%s", expected, declared,
         declared == 1 ? "" : "s");
  if (expected < (uint64_t)declared) {
    printf(", %" PRIu64 " missing", (uint64_t)declared - expected);
  }
  if (expected < found) {
    printf(", %" PRIu64 " not declared", found - expected);
  }
}

/* "2 of 2 declared iterations", and what keeps the numbers below from being about all of them. */
static void print_iterations(const nvtxa_analysis *analysis, const nvtxa_iteration_summary *sum) {
  print_found(analysis, sum->iterations);
  if (sum->host_iterations < sum->iterations) {
    printf(", %" PRIu64 " without host time", sum->iterations - sum->host_iterations);
  }
  if (sum->gpu_projected_iterations < sum->iterations) {
    printf(", %" PRIu64 " without GPU projection", sum->iterations - sum->gpu_projected_iterations);
  }
  printf("\n");
}

static bool add_measure(cli_table *table, const char *name, uint64_t count,
                        const nvtxa_summary *measure) {
  const double values[] = {measure->mean_ns, measure->median_ns, (double)measure->minimum_ns,
                           (double)measure->maximum_ns, measure->stddev_ns};
  char cells[5][CLI_CELL];
  const char *row[6] = {name};
  for (size_t i = 0; i < 5; i++) {
    if (count > 0) {
      cli_format_duration(cells[i], values[i]);
    } else {
      snprintf(cells[i], CLI_CELL, "-");
    }
    row[i + 1] = cells[i];
  }
  return cli_table_add(table, row);
}

static bool print_measures(const nvtxa_iteration_summary *sum, bool colour) {
  static const char *const headers[] = {"", "mean", "median", "min", "max", "stddev"};
  cli_table *table = cli_table_new(headers, 6, 0, colour);
  bool done =
      table != NULL &&
      add_measure(table, "host inclusive", sum->host_iterations, &sum->host_inclusive) &&
      add_measure(table, "host exclusive", sum->host_iterations, &sum->host_exclusive) &&
      add_measure(table, "GPU projected", sum->gpu_projected_iterations, &sum->gpu_projected) &&
      cli_table_print(table, stdout);
  cli_table_free(table);
  return done;
}

bool cli_summary_print(const nvtxa_analysis *analysis) {
  nvtxa_iteration_summary sum = {.size = sizeof sum};
  size_t columns = cli_stream_columns(stdout);
  bool colour = cli_wants_colour(stdout);
  nvtxa_analysis_iteration_summary(analysis, &sum);
  if (!print_identity(analysis, columns, colour)) {
    return false;
  }
  print_iterations(analysis, &sum);
  printf("\n");
  if (!print_measures(&sum, colour)) {
    return false;
  }
  printf("\n");
  return cli_scopes_print(analysis, &sum, columns, colour);
}
