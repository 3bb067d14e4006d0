/*
 * An SQLite export by itself: how many ranges each thread has, and the GPU projections as JSON.
 *
 *   05_read_sqlite TRACE.sqlite
 *
 * The counts and warnings go to standard error, the document to standard output. No nsys is needed.
 * `nvtxa stats -r nvtx_gpu_proj_trace -f json` prints the same document.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <nvtxa/nvtxa.h>

/* The ranges of a thread need not follow one another, so each is counted where its thread is. */
typedef struct thread_count {
  int64_t process_id;
  int64_t thread_id;
  size_t ranges;
} thread_count;

/* 0, or -1 if there is no memory for it. */
static int print_threads(const nvtxa_ranges *host) {
  size_t ranges = nvtxa_ranges_count(host);
  thread_count *threads = calloc(ranges + 1, sizeof *threads);
  size_t count = 0;
  if (threads == NULL) {
    return -1;
  }
  for (size_t i = 0; i < ranges; i++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    nvtxa_ranges_get(host, i, &range); /* cannot fail: the index is below the count */
    size_t t = 0;
    while (t < count &&
           (threads[t].process_id != range.process_id || threads[t].thread_id != range.thread_id)) {
      t++;
    }
    if (t == count) {
      threads[count++] = (thread_count){range.process_id, range.thread_id, 0};
    }
    threads[t].ranges++;
  }
  for (size_t t = 0; t < count; t++) {
    fprintf(stderr, "process %" PRId64 ", thread %" PRId64 ": %zu ranges\n", threads[t].process_id,
            threads[t].thread_id, threads[t].ranges);
  }
  free(threads);
  return 0;
}

/* Warnings belong to what is read: a table may be right as it stands and still not be the whole. */
static void print_warnings(const nvtxa_ranges *table) {
  for (size_t i = 0; i < nvtxa_ranges_warning_count(table); i++) {
    fprintf(stderr, "warning: %s\n", nvtxa_ranges_warning(table, i).text.data);
  }
}

/* Gets the document piece by piece. What it returns, if not 0, is the errno of the error. */
static int write_piece(void *user, const char *data, size_t length) {
  FILE *file = (FILE *)user;
  return fwrite(data, 1, length, file) == length && fflush(file) == 0 ? 0 : errno;
}

int main(int argc, char **argv) {
  nvtxa_ranges *host = NULL;
  nvtxa_ranges *gpu = NULL;
  nvtxa_error *error = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: %s TRACE.sqlite\n", argv[0]);
    return 2;
  }
  nvtxa_status status = nvtxa_ranges_read_sqlite(argv[1], NULL, &host, &gpu, &error);
  if (status == NVTXA_OK) {
    print_warnings(host);
    print_warnings(gpu);
    status = print_threads(host) == 0 ? NVTXA_OK : NVTXA_ERROR_OUT_OF_MEMORY;
  }
  if (status == NVTXA_OK) {
    nvtxa_stats_options options = NVTXA_STATS_OPTIONS_INIT;
    options.format = NVTXA_STATS_JSON;
    status = nvtxa_stats_write(gpu, &options, write_piece, stdout, &error);
  }
  if (status != NVTXA_OK) {
    fprintf(stderr, "%s: %s\n", argv[1],
            error == NULL ? nvtxa_status_name(status) : nvtxa_error_message(error));
    nvtxa_error_free(error);
  }
  nvtxa_ranges_unref(host);
  nvtxa_ranges_unref(gpu);
  return status == NVTXA_OK ? 0 : 1;
}
