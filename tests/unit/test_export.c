/*
 * export/: nsys run by its stand-in testdata/fake-nsys, which misbehaves in every way that is
 * known; what lands in stats/ and what does not; reports taken as they lie there.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "export/export-internal.h"

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

#define NEW_FILES "export.json nsys_nvtx_gpu_proj_trace.csv nsys_nvtx_pushpop_trace.csv"
#define OLD_FILES "export.json nsys_nvtxgpuproj.csv nsys_nvtxpptrace.csv"
/* With those of GPU work. */
#define ALL_NEW_FILES                                               \
  "export.json nsys_cuda_gpu_kern_sum.csv nsys_cuda_gpu_trace.csv " \
  "nsys_nvtx_gpu_proj_trace.csv nsys_nvtx_pushpop_trace.csv"
#define ALL_OLD_FILES \
  "export.json nsys_gpukernsum.csv nsys_gputrace.csv nsys_nvtxgpuproj.csv nsys_nvtxpptrace.csv"

/* ---- a run directory and a call on it ---- */

enum { VARIABLES = 16 };

struct place {
  char root[64]; /* fresh; everything is below */
  char run[256];
  char stats[300];
  char log[128]; /* of the stand-in */
  char nsys[PATH_MAX];
  char *environment[VARIABLES];
  size_t variables;
  nvtxa_hooks hooks;
  nvtxa_export_options options;
  nvtxa_status status;
  nvtxa_export *exported;
  nvtxa_error *error;
};

static void path_of(char *buffer, size_t size, const char *format, ...) NVTXA__PRINTF(3, 4);
static void path_of(char *buffer, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(buffer, size, format, arguments);
  va_end(arguments);
  cr_assert(length >= 0 && (size_t)length < size);
}

static void write_file(const char *content, const char *format, ...) NVTXA__PRINTF(2, 3);
static void write_file(const char *content, const char *format, ...) {
  char *path = NULL;
  va_list arguments;
  va_start(arguments, format);
  cr_assert(vasprintf(&path, format, arguments) >= 0);
  va_end(arguments);
  FILE *file = fopen(path, "w");
  cr_assert_not_null(file, "%s", path);
  cr_assert(fputs(content, file) >= 0);
  cr_assert_eq(fclose(file), 0);
  free(path);
}

/* The content, or "" for no such file. The caller frees. */
static char *read_file(const char *format, ...) NVTXA__PRINTF(1, 2);
static char *read_file(const char *format, ...) {
  char *path = NULL;
  nvtxa__buffer buffer = {0};
  va_list arguments;
  va_start(arguments, format);
  cr_assert(vasprintf(&path, format, arguments) >= 0);
  va_end(arguments);
  cr_assert_eq(nvtxa__buffer_add(&buffer, "", 0), 0);
  FILE *file = fopen(path, "r");
  free(path);
  if (file != NULL) {
    char piece[4096];
    size_t got;
    while ((got = fread(piece, 1, sizeof piece, file)) > 0) {
      cr_assert_eq(nvtxa__buffer_add(&buffer, piece, got), 0);
    }
    fclose(file);
  }
  return buffer.data;
}

static int not_dots(const struct dirent *entry) {
  return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* "a b c", or "(absent)". */
static const char *list(const char *directory) {
  static char names[1024];
  struct dirent **entries;
  int count = scandir(directory, &entries, not_dots, alphasort);
  if (count < 0) {
    return "(absent)";
  }
  names[0] = '\0';
  for (int i = 0; i < count; i++) {
    strcat(names, i == 0 ? "" : " ");
    strcat(names, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return names;
}

static void place_set(struct place *place, const char *format, ...) NVTXA__PRINTF(2, 3);
static void place_set(struct place *place, const char *format, ...) {
  va_list arguments;
  cr_assert_lt(place->variables, VARIABLES - 1);
  va_start(arguments, format);
  cr_assert(vasprintf(&place->environment[place->variables++], format, arguments) >= 0);
  va_end(arguments);
}

static void place_make_named(struct place *place, const char *name) {
  const char *source = getenv("NVTXA_SOURCE_ROOT");
  *place = (struct place){.hooks = NVTXA_HOOKS_INIT, .options = NVTXA_EXPORT_OPTIONS_INIT};
  strcpy(place->root, "/tmp/nvtxa-export-XXXXXX");
  cr_assert_not_null(mkdtemp(place->root));
  path_of(place->run, sizeof place->run, "%s/%s", place->root, name);
  path_of(place->stats, sizeof place->stats, "%s/stats", place->run);
  path_of(place->log, sizeof place->log, "%s/log", place->root);
  path_of(place->nsys, sizeof place->nsys, "%s/testdata/fake-nsys", source == NULL ? "." : source);
  cr_assert_eq(mkdir(place->run, 0777), 0);
  write_file("a trace", "%s/trace.nsys-rep", place->run);
  place_set(place, "PATH=/usr/local/bin:/usr/bin:/bin");
  place_set(place, "FAKE_LOG=%s", place->log);
  place->options.nsys = place->nsys;
  place->options.environment = place->environment;
  place->options.hooks = &place->hooks;
}

static void place_make(struct place *place) {
  place_make_named(place, "run");
}

/* Reports of an earlier day. */
static void place_fill(struct place *place) {
  cr_assert_eq(mkdir(place->stats, 0777), 0);
  write_file("old host", "%s/nsys_nvtx_pushpop_trace.csv", place->stats);
  write_file("old gpu", "%s/nsys_nvtx_gpu_proj_trace.csv", place->stats);
  write_file("old record", "%s/export.json", place->stats);
}

static void place_clear(struct place *place) {
  nvtxa_export_unref(place->exported);
  nvtxa_error_free(place->error);
  place->exported = NULL;
  place->error = NULL;
}

static nvtxa_status place_run(struct place *place) {
  place_clear(place);
  place->status = nvtxa_export_run(place->run, &place->options, &place->exported, &place->error);
  cr_expect_eq(place->status == NVTXA_OK, place->exported != NULL);
  cr_expect_eq(place->status == NVTXA_OK, place->error == NULL);
  return place->status;
}

static nvtxa_status place_open(struct place *place) {
  place_clear(place);
  place->status = nvtxa_export_open(place->run, &place->options, &place->exported, &place->error);
  cr_expect_eq(place->status == NVTXA_OK, place->exported != NULL);
  cr_expect_eq(place->status == NVTXA_OK, place->error == NULL);
  return place->status;
}

static void place_must_run(struct place *place) {
  nvtxa_status status = place_run(place);
  cr_assert_eq(status, NVTXA_OK, "%s: %s", nvtxa_status_name(status),
               place->error == NULL ? "" : nvtxa_error_message(place->error));
}

static void place_must_open(struct place *place) {
  nvtxa_status status = place_open(place);
  cr_assert_eq(status, NVTXA_OK, "%s: %s", nvtxa_status_name(status),
               place->error == NULL ? "" : nvtxa_error_message(place->error));
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *ftw) {
  (void)info, (void)type, (void)ftw;
  return remove(path);
}

static void place_end(struct place *place) {
  place_clear(place);
  for (size_t i = 0; i < place->variables; i++) {
    free(place->environment[i]);
  }
  nftw(place->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  if (__lsan_do_recoverable_leak_check != NULL) {
    cr_expect_eq(__lsan_do_recoverable_leak_check(), 0, "memory was lost");
  }
}

static bool contains(const char *text, const char *part) {
  return text != NULL && strstr(text, part) != NULL;
}

static void expect_error(const struct place *place, nvtxa_status status, const char *message,
                         const char *hint) {
  cr_expect_eq(place->status, status, "%s", nvtxa_status_name(place->status));
  if (place->error != NULL) {
    cr_expect_eq(nvtxa_error_status(place->error), status);
    cr_expect(contains(nvtxa_error_message(place->error), message), "'%s' lacks '%s'",
              nvtxa_error_message(place->error), message);
    cr_expect(hint == NULL || contains(nvtxa_error_hint(place->error), hint), "'%s' lacks '%s'",
              nvtxa_error_hint(place->error), hint);
  }
}

static void expect_content(const char *expected, const char *directory, const char *name) {
  char *content = read_file("%s/%s", directory, name);
  cr_expect_str_eq(content, expected, "%s", name);
  free(content);
}

static void expect_warnings(const struct place *place, const nvtxa_warning_kind *kinds,
                            size_t count) {
  cr_assert_eq(nvtxa_export_warning_count(place->exported), count, "%zu warnings",
               nvtxa_export_warning_count(place->exported));
  for (size_t i = 0; i < count; i++) {
    nvtxa_warning warning = nvtxa_export_warning(place->exported, i);
    cr_expect_eq(warning.kind, kinds[i], "%s", warning.text.data);
    cr_expect_eq(warning.text.data[warning.text.length - 1], '.');
  }
}

/* Whether a report is in stats/ under a name. NULL: there is none. */
static void expect_report(const struct place *place, nvtxa_report report, const char *file) {
  const char *path = nvtxa_export_report_path(place->exported, report);
  nvtxa_text relative = nvtxa_export_report_relative_path(place->exported, report);
  char expected[400];
  if (file == NULL) {
    cr_expect_null(path, "%s", path);
    cr_expect_null(relative.data);
    cr_expect_eq(relative.length, 0);
    return;
  }
  path_of(expected, sizeof expected, "%s/%s", place->stats, file);
  cr_expect(path != NULL && strcmp(path, expected) == 0, "%s is not %s", path, expected);
  path_of(expected, sizeof expected, "stats/%s", file);
  cr_expect(nvtxa__text_is(relative, expected), "%s is not %s", relative.data, expected);
}

static void expect_gpu_reports(const struct place *place, const char *kern_sum,
                               const char *gpu_trace) {
  expect_report(place, NVTXA_REPORT_CUDA_GPU_KERN_SUM, kern_sum);
  expect_report(place, NVTXA_REPORT_CUDA_GPU_TRACE, gpu_trace);
}

static void expect_warning(const struct place *place, nvtxa_warning_kind kind, const char *part) {
  expect_warnings(place, &kind, 1);
  cr_expect(contains(nvtxa_export_warning(place->exported, 0).text.data, part), "'%s' lacks '%s'",
            nvtxa_export_warning(place->exported, 0).text.data, part);
}

static bool is_gone(pid_t pid) {
  for (int i = 0; i < 300; i++) {
    char *stat = read_file("/proc/%d/stat", (int)pid);
    bool gone = *stat == '\0' || contains(stat, ") Z ");
    free(stat);
    if (gone) {
      return true;
    }
    usleep(10000);
  }
  return false;
}

/* The pids that the stand-in logged under `word`. */
static size_t logged_pids(const struct place *place, const char *word, pid_t *pids, size_t room) {
  char *log = read_file("%s", place->log);
  size_t count = 0;
  for (char *at = log; (at = strstr(at, word)) != NULL && count < room; at += strlen(word)) {
    pids[count++] = (pid_t)strtol(at + strlen(word), NULL, 10);
  }
  free(log);
  return count;
}

static void expect_all_gone(const struct place *place) {
  pid_t pids[32];
  size_t count = logged_pids(place, "grandchild ", pids, 16);
  count += logged_pids(place, "\npid ", pids + count, 16);
  cr_expect_gt(count, 0);
  for (size_t i = 0; i < count; i++) {
    cr_expect(is_gone(pids[i]), "process %d is still there", (int)pids[i]);
  }
}

static double seconds_since(int64_t start_ns) {
  return (double)(nvtxa__now_ns() - start_ns) / 1e9;
}

/* ---- what succeeds ---- */

Test(export, reports_land_with_their_record) {
  struct place place;
  place_make(&place);
  place_must_run(&place);
  cr_expect_str_eq(list(place.stats), NEW_FILES);
  cr_expect(nvtxa_export_is_fresh(place.exported));
  cr_expect(nvtxa__text_is(nvtxa_export_nsys_version(place.exported),
                           "NVIDIA Nsight Systems version 2025.1.3"));
  cr_expect(
      nvtxa__text_is(nvtxa_export_report_relative_path(place.exported, NVTXA_REPORT_GPU_PROJ_TRACE),
                     "stats/nsys_nvtx_gpu_proj_trace.csv"));
  char *host =
      read_file("%s", nvtxa_export_report_path(place.exported, NVTXA_REPORT_PUSHPOP_TRACE));
  cr_expect(contains(host, ":profile-target"));
  cr_expect_eq(nvtxa_export_trace_size(place.exported), 7);
  char digest[NVTXA__SHA256_HEX];
  nvtxa__sha256("a trace", 7, digest);
  cr_expect(nvtxa__text_is(nvtxa_export_trace_sha256(place.exported), digest));
  expect_warnings(&place, NULL, 0);

  json_t *record = NULL;
  char *text = read_file("%s/export.json", place.stats);
  cr_assert_not_null(record = json_loads(text, 0, NULL));
  cr_expect_eq(text[strlen(text) - 1], '\n');
  cr_expect_eq(strncmp(text, "{\n  \"engine\": \"nsys\",\n", 21), 0);
  struct stat info;
  cr_assert_eq(stat(place.run, &info), 0);
  char trace[300];
  path_of(trace, sizeof trace, "%s/trace.nsys-rep", place.run);
  cr_assert_eq(stat(trace, &info), 0);
  json_t *expected = json_pack(
      "{s:i, s:[], s:s, s:n, s:n, s:s, s:s, s:{s:s, s:i, s:I, s:s}, s:{s:{s:s, s:i}, s:{s:s, "
      "s:I}}}",
      "schema_version", 1, "unmeasured_range_ids", "engine", "nsys", "export_schema_version",
      "export_product_version", "nsys_version", "NVIDIA Nsight Systems version 2025.1.3",
      "nsys_path", place.nsys, "trace", "path", "trace.nsys-rep", "size_bytes", 7, "modified_ns",
      (json_int_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec, "sha256", digest,
      "reports", "nvtx_pushpop_trace", "file", "nsys_nvtx_pushpop_trace.csv", "size_bytes",
      (int)strlen(host), "nvtx_gpu_proj_trace", "file", "nsys_nvtx_gpu_proj_trace.csv",
      "size_bytes", (json_int_t)200);
  char *gpu = read_file("%s/nsys_nvtx_gpu_proj_trace.csv", place.stats);
  json_object_set_new(json_object_get(json_object_get(expected, "reports"), "nvtx_gpu_proj_trace"),
                      "size_bytes", json_integer((json_int_t)strlen(gpu)));
  cr_expect(json_equal(record, expected), "%s", text);
  json_decref(expected);
  json_decref(record);
  free(gpu);
  free(text);
  free(host);
  place_end(&place);
}

Test(export, what_is_in_the_environment_of_nsys) {
  struct place place;
  place_make(&place);
  place_set(&place, "FAKE_DETAILS=1");
  place_set(&place, "PYTHONPATH=/evil");
  place_set(&place, "PYTHONHOME=/evil");
  place_set(&place, "PYTHONSTARTUP=/evil");
  place_set(&place, "PYTHON_ANYTHING=/evil");
  place_set(&place, "NSYS_STATS_REPORT_PATH=/evil");
  place_set(&place, "KEPT=\"for 'nsys'\"");
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, NULL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  int leaky = open("/dev/zero", O_RDONLY); /* without O_CLOEXEC */
  place_must_run(&place);
  close(leaky);
  char *log = read_file("%s", place.log);
  cr_expect(!contains(log, "/evil"), "%s", log);
  cr_expect(contains(log, "env KEPT=\"for 'nsys'\""));
  cr_expect(contains(log, "SigBlk:\t0000000000000000"));
  cr_expect(!contains(log, "/dev/zero"));
  cr_expect(contains(log, " 0 -> /dev/null\n"));
  cr_expect(contains(log, " 2 -> pipe:"));
  size_t calls = 0;
  long pid = 0;
  for (char *line = strtok(log, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    unsigned long ignored = 0;
    long group = 0;
    calls += strncmp(line, "call ", 5) == 0;
    const char *arrow = strstr(line, " -> ");
    /* From 10 on they are the shell's own. */
    cr_expect(arrow == NULL || arrow[-2] != ' ' || arrow[-1] < '3', "not the child's: %s", line);
    if (sscanf(line, "SigIgn: %lx", &ignored) == 1) {
      /* 32 and 33 are the C library's own, which it has ignored until the program starts. */
      cr_expect_eq(ignored & ~0x180000000UL, 0, "%s", line);
    }
    sscanf(line, "pid %ld", &pid);
    if (sscanf(line, "group %ld", &group) == 1) {
      cr_expect_eq(group, pid);
    }
    /* The private directory is empty but for what our own calls left there. */
    cr_expect(strncmp(line, "cwd ", 4) != 0 || contains(line, "/run/stats/.nvtxa-"), "%s", line);
    cr_expect(strncmp(line, "content ", 8) != 0 || strcmp(line, "content .lock") == 0 ||
                  contains(line, " export.sqlite"),
              "%s", line);
  }
  cr_expect_eq(calls, 5);
  free(log);
  place_end(&place);
}

Test(export, each_call_as_nsys_takes_it) {
  struct place place;
  place_make_named(&place, "@x,y z%p 'q\"");
  place_must_run(&place);
  char *log = read_file("%s", place.log);
  char export_call[512];
  path_of(export_call, sizeof export_call,
          "call export --type=sqlite --quiet=true --force-overwrite=true --output=export.sqlite "
          "%s/trace.nsys-rep\n",
          place.run);
  cr_expect(contains(log, "call --version\n"));
  cr_expect(contains(log, "call stats --help-reports\n"));
  cr_expect(contains(log, export_call), "%s", log);
  cr_expect(contains(log,
                     "call stats --report=nvtx_pushpop_trace --format=csv --output=nsys "
                     "--force-overwrite=true export.sqlite\n"));
  cr_expect(contains(log,
                     "call stats --report=nvtx_gpu_proj_trace --format=csv --output=nsys "
                     "--force-overwrite=true export.sqlite\n"));
  free(log);
  place_end(&place);
}

Test(export, run_directories_of_any_name) {
  static const char *const names[] = {"-dash", "new\nline",  "caf\xE9",
                                      "%n%s",  "$(touch x)", "@sh,x"};
  for (size_t i = 0; i < NVTXA__COUNT(names); i++) {
    struct place place;
    char here[PATH_MAX];
    place_make_named(&place, names[i]);
    cr_assert_not_null(getcwd(here, sizeof here));
    cr_assert_eq(chdir(place.root), 0);
    /* Relative, as somebody types it; and with a slash at the end. */
    nvtxa_export *exported = NULL;
    cr_expect_eq(nvtxa_export_run(names[i], &place.options, &exported, NULL), NVTXA_OK, "%s",
                 names[i]);
    cr_expect_str_eq(list(place.stats), NEW_FILES);
    cr_expect_eq(strncmp(nvtxa_export_report_path(exported, NVTXA_REPORT_PUSHPOP_TRACE), names[i],
                         strlen(names[i])),
                 0);
    nvtxa_export_unref(exported);
    char slashed[300];
    path_of(slashed, sizeof slashed, "%s/", names[i]);
    cr_expect_eq(nvtxa_export_open(slashed, NULL, &exported, NULL), NVTXA_OK);
    cr_expect(!contains(nvtxa_export_report_path(exported, NVTXA_REPORT_PUSHPOP_TRACE), "//"));
    nvtxa_export_unref(exported);
    cr_assert_eq(chdir(here), 0);
    place_end(&place);
  }
}

Test(export, planted_report_scripts_are_out_of_reach) {
  struct place place;
  char here[PATH_MAX];
  place_make(&place);
  write_file("", "%s/nvtx_pushpop_trace.py", place.run);
  write_file("", "%s/nvtx_pushpop_trace.py", place.root);
  place_set(&place, "FAKE_DETAILS=1");
  cr_assert_not_null(getcwd(here, sizeof here));
  cr_assert_eq(chdir(place.root), 0);
  place_must_run(&place);
  cr_assert_eq(chdir(here), 0);
  char *log = read_file("%s", place.log);
  cr_expect(!contains(log, ".py"), "%s", log);
  free(log);
  place_end(&place);
}

Test(export, older_names_are_used_where_there_are_no_others) {
  struct place place;
  place_make(&place);
  place_set(&place, "FAKE_NAMES=old");
  place_set(&place, "FAKE_VERSION=NVIDIA Nsight Systems version 2022.4.2.1-df9881f");
  place_fill(&place);
  place_must_run(&place);
  /* Those under the other names are of an earlier export, and would be taken for these. */
  cr_expect_str_eq(list(place.stats), OLD_FILES);
  place.environment[2][0] = 'X'; /* FAKE_NAMES */
  place_must_run(&place);
  cr_expect_str_eq(list(place.stats), NEW_FILES);
  place_set(&place, "FAKE_NAMES=both");
  place_must_run(&place);
  cr_expect_str_eq(list(place.stats), NEW_FILES);
  place_end(&place);
}

Test(export, version_that_is_not_known) {
  static const char *const answers[] = {"fail", "", "no such word", "version \x1b[31m2025",
                                        "version \xE9"};
  for (size_t i = 0; i < NVTXA__COUNT(answers); i++) {
    struct place place;
    place_make(&place);
    place_set(&place, "FAKE_VERSION=%s", answers[i]);
    place_must_run(&place);
    cr_expect_null(nvtxa_export_nsys_version(place.exported).data);
    char *record = read_file("%s/export.json", place.stats);
    cr_expect(contains(record, "\"nsys_version\": null,"));
    free(record);
    place_must_open(&place);
    cr_expect_null(nvtxa_export_nsys_version(place.exported).data);
    expect_warnings(&place, NULL, 0);
    place_end(&place);
  }
}

Test(export, version_is_one_line_of_several) {
  struct place place;
  place_make(&place);
  place_set(
      &place,
      "FAKE_VERSION=WARNING: an old driver\n \tNVIDIA Nsight Systems version 2025.1 \nversion 2");
  place_must_run(&place);
  cr_expect(nvtxa__text_is(nvtxa_export_nsys_version(place.exported),
                           "NVIDIA Nsight Systems version 2025.1"));
  place_end(&place);
}

/* Ways of the GPU report that come to an empty file, which is no failure. */
Test(export, gpu_report_without_rows) {
  static const char *const ways[] = {"skipped", "skipped-no-file", "no-verdict"};
  for (size_t i = 0; i < NVTXA__COUNT(ways); i++) {
    struct place place;
    place_make(&place);
    place_set(&place, "FAKE_GPU=%s", ways[i]);
    place_must_run(&place);
    cr_expect_str_eq(list(place.stats), NEW_FILES, "%s", ways[i]);
    expect_content("", place.stats, "nsys_nvtx_gpu_proj_trace.csv");
    place_must_open(&place);
    expect_warnings(&place, NULL, 0);
    place_end(&place);
  }
}

Test(export, output_that_means_nothing) {
  static const char *const settings[] = {"FAKE_EXPORT=progress", "FAKE_EXPORT=noise",
                                         "FAKE_HOST=mute",       "FAKE_GPU=plain",
                                         "FAKE_LIST=progress",   "FAKE_GPU=mute"};
  for (size_t i = 0; i < NVTXA__COUNT(settings); i++) {
    struct place place;
    place_make(&place);
    place_set(&place, "%s", settings[i]);
    nvtxa_status status = place_run(&place);
    cr_expect_eq(status, NVTXA_OK, "%s: %s", settings[i],
                 place.error == NULL ? "" : nvtxa_error_message(place.error));
    place_end(&place);
  }
}

Test(export, stale_sqlite_and_stale_reports_are_not_used) {
  struct place place;
  place_make(&place);
  place_fill(&place);
  write_file("stale", "%s/trace.sqlite", place.run);
  write_file("stale", "%s/export.sqlite", place.stats);
  place_set(&place, "FAKE_TAG=tomorrow");
  place_must_run(&place);
  char *host = read_file("%s/nsys_nvtx_pushpop_trace.csv", place.stats);
  cr_expect(contains(host, "tomorrow"));
  free(host);
  expect_content("stale", place.run, "trace.sqlite");
  cr_expect_str_eq(list(place.stats),
                   "export.json export.sqlite nsys_nvtx_gpu_proj_trace.csv "
                   "nsys_nvtx_pushpop_trace.csv");
  place_end(&place);
}

Test(export, trace_may_be_a_link_to_a_file) {
  struct place place;
  place_make(&place);
  char trace[300];
  char blob[128];
  path_of(trace, sizeof trace, "%s/trace.nsys-rep", place.run);
  path_of(blob, sizeof blob, "%s/blob", place.root);
  cr_assert_eq(rename(trace, blob), 0);
  cr_assert_eq(symlink("../blob", trace), 0);
  place_must_run(&place);
  char *log = read_file("%s", place.log);
  cr_expect(contains(log, "/run/trace.nsys-rep\n")); /* its name, which says what it is */
  free(log);
  place_end(&place);
}

Test(export, nsys_is_found_as_a_shell_would) {
  struct place place;
  char here[PATH_MAX];
  char link[128];
  place_make(&place);
  cr_assert_not_null(getcwd(here, sizeof here));
  path_of(link, sizeof link, "%s/nsys", place.root);
  cr_assert_eq(symlink(place.nsys, link), 0);
  cr_assert_eq(chdir(place.root), 0);
  free(place.environment[0]);
  /* Not an absolute one that lacks it, nor a directory or file that cannot be run. */
  cr_assert_gt(asprintf(&place.environment[0], "PATH=%s/run:/nowhere:%s/bin::/usr/bin:/bin",
                        place.root, place.root),
               0);
  char directory[128];
  path_of(directory, sizeof directory, "%s/bin", place.root);
  cr_assert_eq(mkdir(directory, 0777), 0);
  path_of(directory, sizeof directory, "%s/bin/nsys", place.root);
  cr_assert_eq(mkdir(directory, 0777), 0);
  write_file("#!/bin/false\n", "%s/run/nsys", place.root);
  static const char *const names[] = {NULL, "nsys", "./nsys", "run/../nsys"};
  for (size_t i = 0; i < NVTXA__COUNT(names); i++) {
    place.options.nsys = names[i];
    place_must_run(&place);
  }
  char *record = read_file("%s/export.json", place.stats);
  char expected[256];
  path_of(expected, sizeof expected, "\"nsys_path\": \"%s/run/../nsys\"", place.root);
  cr_expect(contains(record, expected), "%s", record);
  free(record);
  cr_assert_eq(chdir(here), 0);
  place_end(&place);
}

Test(export, without_an_environment_there_is_a_path) {
  struct place place;
  place_make(&place);
  place.options.environment = NULL;
  place_must_run(&place);
  cr_expect_str_eq(list(place.stats), NEW_FILES);
  place_end(&place);
}

Test(export, nothing_of_ours_stays_open) {
  struct place place;
  place_make(&place);
  place_must_run(&place);
  char before[1024];
  strcpy(before, list("/proc/self/fd"));
  place_must_run(&place);
  place_must_open(&place);
  cr_expect_str_eq(list("/proc/self/fd"), before);
  place_set(&place, "FAKE_EXPORT=exit3");
  place_run(&place);
  cr_expect_str_eq(list("/proc/self/fd"), before);
  place_end(&place);
}

/* A caller without standard descriptors, as a daemon may be. */
Test(export, standard_descriptors_may_be_closed) {
  struct place place;
  place_make(&place);
  int saved[3];
  for (int i = 0; i < 3; i++) {
    saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
    close(i);
  }
  nvtxa_status status = place_run(&place);
  for (int i = 0; i < 3; i++) {
    dup2(saved[i], i);
    close(saved[i]);
  }
  cr_expect_eq(status, NVTXA_OK, "%s", place.error == NULL ? "" : nvtxa_error_message(place.error));
  place_end(&place);
}

/* ---- the reports of GPU work ---- */

/* Gets the notices, one after the other. */
static void keep_notice(void *user, nvtxa_log_level level, const char *message) {
  if (level == NVTXA_LOG_NOTICE) {
    nvtxa__buffer_printf(user, "%s\n", message);
  }
}

/* Runs with the reports of GPU work, and holds what is noticed. */
static void place_must_run_with_gpu(struct place *place, const char *notice) {
  nvtxa__buffer notices = {0};
  place->options.gpu_reports = true;
  place->hooks.log = keep_notice;
  place->hooks.user = &notices;
  place_must_run(place);
  cr_expect_str_eq(notices.data == NULL ? "" : notices.data, notice);
  expect_warnings(place, NULL, 0);
  nvtxa__buffer_free(&notices);
  place->hooks.log = NULL;
}

static void place_unset(struct place *place) {
  free(place->environment[--place->variables]);
  place->environment[place->variables] = NULL;
}

Test(export_gpu, reports_land_with_the_others) {
  static const nvtxa_engine engines[] = {NVTXA_ENGINE_AUTO, NVTXA_ENGINE_NSYS};
  for (size_t i = 0; i < NVTXA__COUNT(engines); i++) {
    struct place place;
    place_make(&place);
    place.options.engine = engines[i];
    place_must_run_with_gpu(&place, "");
    cr_expect_str_eq(list(place.stats), ALL_NEW_FILES);
    expect_gpu_reports(&place, "nsys_cuda_gpu_kern_sum.csv", "nsys_cuda_gpu_trace.csv");
    char *log = read_file("%s", place.log);
    cr_expect(contains(log,
                       "call stats --report=cuda_gpu_kern_sum --format=csv --output=nsys "
                       "--force-overwrite=true export.sqlite\n"));
    cr_expect(contains(log,
                       "call stats --report=cuda_gpu_trace --format=csv:mem=B --output=nsys "
                       "--force-overwrite=true export.sqlite\n"));
    free(log);
    char *operations = read_file("%s/nsys_cuda_gpu_trace.csv", place.stats);
    cr_expect(contains(operations, "Bytes (B)"), "%s", operations);
    char *text = read_file("%s/export.json", place.stats);
    json_t *record = json_loads(text, 0, NULL);
    json_t *reports = json_object_get(record, "reports");
    json_t *expected = json_pack("{s:s, s:I}", "file", "nsys_cuda_gpu_trace.csv", "size_bytes",
                                 (json_int_t)strlen(operations));
    cr_expect(json_equal(json_object_get(reports, "cuda_gpu_trace"), expected), "%s", text);
    cr_expect_eq(json_object_size(reports), 4, "%s", text);
    json_decref(expected);
    json_decref(record);
    free(text);
    free(operations);
    place_must_open(&place);
    expect_warnings(&place, NULL, 0);
    expect_gpu_reports(&place, "nsys_cuda_gpu_kern_sum.csv", "nsys_cuda_gpu_trace.csv");
    place_end(&place);
  }
}

Test(export_gpu, reports_that_there_never_are) {
  static const int numbers[] = {NVTXA_REPORT_NVTX_KERN_SUM, NVTXA_REPORT_COUNT, 1000, -1, INT_MIN};
  struct place place;
  place_make(&place);
  place_must_run_with_gpu(&place, "");
  for (size_t i = 0; i < NVTXA__COUNT(numbers); i++) {
    expect_report(&place, (nvtxa_report)numbers[i], NULL);
  }
  place_end(&place);
}

/* Each export leaves its own reports alone, whatever the one before left. */
Test(export_gpu, those_of_an_earlier_export_go) {
  struct place place;
  place_make(&place);
  place_must_run_with_gpu(&place, "");
  place_set(&place, "FAKE_NAMES=old");
  place_must_run_with_gpu(&place, "");
  cr_expect_str_eq(list(place.stats), ALL_OLD_FILES);
  expect_gpu_reports(&place, "nsys_gpukernsum.csv", "nsys_gputrace.csv");
  char *operations = read_file("%s/nsys_gputrace.csv", place.stats);
  cr_expect(contains(operations, "Bytes (B)"), "%s", operations);
  free(operations);
  place_unset(&place);
  place_must_run_with_gpu(&place, "");
  cr_expect_str_eq(list(place.stats), ALL_NEW_FILES);
  write_file("stale", "%s/nsys_gputrace.csv", place.stats);
  place.options.gpu_reports = false;
  place_must_run(&place);
  cr_expect_str_eq(list(place.stats), NEW_FILES);
  expect_gpu_reports(&place, NULL, NULL);
  char *log = read_file("%s", place.log);
  char *last = strstr(log, "--version"); /* of four exports */
  for (char *next = last; next != NULL; next = strstr(next + 1, "--version")) {
    last = next;
  }
  cr_expect(!contains(last, "cuda_gpu"), "%s", last);
  free(log);
  place_must_open(&place);
  expect_gpu_reports(&place, NULL, NULL);
  expect_warnings(&place, NULL, 0);
  place_end(&place);
}

Test(export_gpu, reports_that_are_not_on_offer) {
  static const char *const offers[] = {"ranges", "ranges cuda_gpu_trace", "ranges gpukernsum"};
  struct place place;
  place_make(&place);
  place_must_run_with_gpu(&place, "");
  for (size_t i = 0; i < NVTXA__COUNT(offers); i++) {
    place_set(&place, "FAKE_NAMES=%s", offers[i]);
    place_must_run_with_gpu(
        &place,
        "this nsys (NVIDIA Nsight Systems version 2025.1.3) does not offer both reports of "
        "GPU work, cuda_gpu_kern_sum and cuda_gpu_trace: the export has neither\n");
    cr_expect_str_eq(list(place.stats), NEW_FILES, "%s", offers[i]);
    expect_gpu_reports(&place, NULL, NULL);
    place_unset(&place);
  }
  place_set(&place, "FAKE_NAMES=ranges cuda_gpu_trace gpukernsum"); /* one under each naming */
  place_must_run_with_gpu(&place, "");
  expect_gpu_reports(&place, "nsys_gpukernsum.csv", "nsys_cuda_gpu_trace.csv");
  place_must_open(&place);
  expect_gpu_reports(&place, "nsys_gpukernsum.csv", "nsys_cuda_gpu_trace.csv");
  place_end(&place);
}

Test(export_gpu, no_such_work) {
  static const char *const ways[] = {"skipped", "skipped-no-file", "no-verdict"};
  for (size_t i = 0; i < NVTXA__COUNT(ways); i++) {
    struct place place;
    place_make(&place);
    place_set(&place, "FAKE_KERNELS=%s", ways[i]);
    place_set(&place, "FAKE_OPERATIONS=%s", ways[i]);
    place_must_run_with_gpu(&place, "");
    cr_expect_str_eq(list(place.stats), ALL_NEW_FILES, "%s", ways[i]);
    expect_content("", place.stats, "nsys_cuda_gpu_kern_sum.csv");
    expect_content("", place.stats, "nsys_cuda_gpu_trace.csv");
    place_must_open(&place);
    expect_warnings(&place, NULL, 0);
    expect_gpu_reports(&place, "nsys_cuda_gpu_kern_sum.csv", "nsys_cuda_gpu_trace.csv");
    place_end(&place);
  }
}

/* A trace of no CUDA call at all has no GPU work, though nsys 2023.4 looks for a GPU first. */
Test(export_gpu, no_cuda_at_all) {
  struct place place;
  place_make(&place);
  place_set(&place, "FAKE_GPU=skipped");
  place_set(&place, "FAKE_KERNELS=skipped");
  place_set(&place, "FAKE_OPERATIONS=skipped-for-table");
  place_must_run_with_gpu(&place, "");
  cr_expect_str_eq(list(place.stats), ALL_NEW_FILES);
  expect_content("", place.stats, "nsys_cuda_gpu_trace.csv");
  place_end(&place);
}

/* What nsys lacks there is not the work: an empty report would deny it. */
Test(export_gpu, work_that_nsys_cannot_tell_of) {
  static const struct {
    const char *setting;
    const char *notice;
  } cases[] = {
      {"FAKE_KERNELS=skipped-for-table",
       "nsys cannot make cuda_gpu_kern_sum of this trace, so the export has neither report of GPU "
       "work: SKIPPED: export.sqlite file does not contain TARGET_INFO_GPU table.\n"},
      {"FAKE_OPERATIONS=skipped-for-table",
       "nsys cannot make cuda_gpu_trace of this trace, so the export has neither report of GPU "
       "work: SKIPPED: export.sqlite file does not contain TARGET_INFO_GPU table.\n"},
      {"FAKE_OPERATIONS=skipped-for-column",
       "nsys cannot make cuda_gpu_trace of this trace, so the export has neither report of GPU "
       "work: SKIPPED: export.sqlite does not contain 'greenContextId' column. Please re-export "
       "it.\n"},
      {"FAKE_OPERATIONS=error-for-table",
       "nsys cannot make cuda_gpu_trace of this trace, so the export has neither report of GPU "
       "work: ERROR: Database file export.sqlite: no such table: TARGET_INFO_GPU\n"},
  };
  struct place place;
  place_make(&place);
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    place_must_run_with_gpu(&place, "");
    place_set(&place, "%s", cases[i].setting);
    place_must_run_with_gpu(&place, cases[i].notice);
    place_unset(&place);
    cr_expect_str_eq(list(place.stats), NEW_FILES, "%s", cases[i].setting);
    expect_gpu_reports(&place, NULL, NULL);
    char *record = read_file("%s/export.json", place.stats);
    cr_expect(!contains(record, "cuda_gpu"), "%s", record);
    free(record);
  }
  place_end(&place);
}

/* ---- what fails ---- */

/* Each with reports of an earlier day in stats/, which must stay as they are. */
Test(export, failures_of_nsys) {
  static const struct {
    const char *setting;
    nvtxa_status status;
    const char *message;
    const char *hint;
  } cases[] = {
      {"FAKE_EXPORT=exit3", NVTXA_ERROR_NSYS_FAILED,
       "nsys failed exporting the trace (exit status 3): unsupported trace: made by a newer "
       "release",
       "-v"},
      {"FAKE_EXPORT=exit3-mute", NVTXA_ERROR_NSYS_FAILED, "(exit status 3): it printed nothing",
       NULL},
      {"FAKE_EXPORT=error-line", NVTXA_ERROR_NSYS_FAILED,
       "exporting the trace: ERROR: Something \\x1B[31mwent\\x1B[0m wrong", NULL},
      {"FAKE_EXPORT=late-error", NVTXA_ERROR_NSYS_FAILED, "ERROR: too late", NULL},
      {"FAKE_EXPORT=exception", NVTXA_ERROR_NSYS_FAILED, "database or disk is full",
       "Free some space"},
      {"FAKE_EXPORT=killed", NVTXA_ERROR_NSYS_FAILED, "(killed by signal 9, SIGKILL)", NULL},
      {"FAKE_EXPORT=no-file", NVTXA_ERROR_NSYS_FAILED, "it left no SQLite export", NULL},
      {"FAKE_EXPORT=empty", NVTXA_ERROR_NSYS_FAILED, "it left no SQLite export", NULL},
      {"FAKE_TRACE=mv \"$trace\" \"$trace.away\"; :>\"$trace\"", NVTXA_ERROR_IO,
       "changed or replaced", "capture"},
      {"FAKE_TRACE=echo more >>\"$trace\"", NVTXA_ERROR_IO, "changed or replaced", "capture"},
      {"FAKE_TRACE=rm \"$trace\"", NVTXA_ERROR_IO, "changed or replaced", "capture"},
      {"FAKE_LIST=error-line", NVTXA_ERROR_NSYS_FAILED,
       "listing its reports (exit status 1): ERROR: Something", NULL},
      {"FAKE_LIST=exit3", NVTXA_ERROR_NSYS_FAILED, "it listed none; unsupported trace", NULL},
      {"FAKE_LIST=killed", NVTXA_ERROR_NSYS_FAILED, "listing its reports (killed by signal 9",
       NULL},
      {"FAKE_NAMES=none", NVTXA_ERROR_NSYS_FAILED, "it listed none", NULL},
      {"FAKE_NAMES=no-host", NVTXA_ERROR_NSYS_NO_REPORT,
       "this nsys (NVIDIA Nsight Systems version 2025.1.3) does not offer the report "
       "nvtx_pushpop_trace",
       "--nsys"},
      {"FAKE_NAMES=no-gpu", NVTXA_ERROR_NSYS_NO_REPORT, "nvtx_gpu_proj_trace", "--nsys"},
      {"FAKE_HOST=error", NVTXA_ERROR_NSYS_FAILED,
       "making the report nvtx_pushpop_trace: ERROR: Report 'nvtx_pushpop_trace.py' encountered",
       NULL},
      {"FAKE_HOST=error-half", NVTXA_ERROR_NSYS_FAILED, "with text 'caf\\xE9'", "UTF-8"},
      {"FAKE_HOST=unknown", NVTXA_ERROR_NSYS_FAILED, "could not be found.", NULL},
      {"FAKE_HOST=half", NVTXA_ERROR_NSYS_FAILED, "it did not say that it was done; Processing [",
       NULL},
      {"FAKE_HOST=exit3", NVTXA_ERROR_NSYS_FAILED, "(exit status 3)", NULL},
      {"FAKE_HOST=killed", NVTXA_ERROR_NSYS_FAILED, "SIGKILL", NULL},
      {"FAKE_HOST=no-report", NVTXA_ERROR_NSYS_FAILED, "it left no report; it printed nothing",
       NULL},
      {"FAKE_HOST=quiet-empty", NVTXA_ERROR_NSYS_FAILED, "did not say why; it printed nothing",
       NULL},
      {"FAKE_HOST=empty-processed", NVTXA_ERROR_NSYS_FAILED, "did not say why; Processing", NULL},
      {"FAKE_HOST=directory", NVTXA_ERROR_NSYS_FAILED, "not a regular file", NULL},
      {"FAKE_HOST=symlink", NVTXA_ERROR_NSYS_FAILED, "not a regular file", NULL},
      {"FAKE_HOST=skipped", NVTXA_ERROR_REPORT_EMPTY,
       "the report nvtx_pushpop_trace has no rows: SKIPPED: export.sqlite does not contain NV "
       "Tools",
       "NSYS_NVTX_PROFILER_REGISTER_ONLY=0"},
      {"FAKE_HOST=skipped-no-file", NVTXA_ERROR_REPORT_EMPTY, "no rows: SKIPPED", "abort()"},
      {"FAKE_HOST=no-verdict", NVTXA_ERROR_REPORT_EMPTY, "no rows: nsys found NVTX data",
       "start/end"},
      {"FAKE_HOST=skipped-exists", NVTXA_ERROR_NSYS_FAILED, "SKIPPED: output file", NULL},
      {"FAKE_GPU=error", NVTXA_ERROR_NSYS_FAILED, "ERROR: Report 'nvtx_gpu_proj_trace.py'", NULL},
      {"FAKE_GPU=error-half", NVTXA_ERROR_NSYS_FAILED, "making the report nvtx_gpu_proj_trace",
       NULL},
      {"FAKE_GPU=quiet-empty", NVTXA_ERROR_NSYS_FAILED, "did not say why", NULL},
      {"FAKE_GPU=no-report", NVTXA_ERROR_NSYS_FAILED, "it left no report", NULL},
      {"FAKE_GPU=skipped-exists", NVTXA_ERROR_NSYS_FAILED, "SKIPPED: output file", NULL},
      {"FAKE_GPU=half", NVTXA_ERROR_NSYS_FAILED, "did not say that it was done", NULL},
      {"FAKE_KERNELS=error", NVTXA_ERROR_NSYS_FAILED,
       "making the report cuda_gpu_kern_sum: ERROR: Report 'cuda_gpu_kern_sum.py' encountered",
       NULL},
      {"FAKE_KERNELS=exit3", NVTXA_ERROR_NSYS_FAILED, "(exit status 3)", NULL},
      {"FAKE_KERNELS=empty-processed", NVTXA_ERROR_NSYS_FAILED, "did not say why", NULL},
      {"FAKE_OPERATIONS=error", NVTXA_ERROR_NSYS_FAILED,
       "making the report cuda_gpu_trace: ERROR: Report 'cuda_gpu_trace.py' encountered", NULL},
      {"FAKE_OPERATIONS=killed", NVTXA_ERROR_NSYS_FAILED, "SIGKILL", NULL},
      {"FAKE_OPERATIONS=unknown", NVTXA_ERROR_NSYS_FAILED, "could not be found.", NULL},
      {"FAKE_OPERATIONS=half", NVTXA_ERROR_NSYS_FAILED, "did not say that it was done", NULL},
      {"FAKE_OPERATIONS=quiet-empty", NVTXA_ERROR_NSYS_FAILED, "did not say why", NULL},
      {"FAKE_OPERATIONS=no-report", NVTXA_ERROR_NSYS_FAILED, "it left no report", NULL},
      {"FAKE_OPERATIONS=skipped-exists", NVTXA_ERROR_NSYS_FAILED, "SKIPPED: output file", NULL},
      {"FAKE_OPERATIONS=directory", NVTXA_ERROR_NSYS_FAILED, "not a regular file", NULL},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    struct place place;
    place_make(&place);
    place_fill(&place);
    write_file("old operations", "%s/nsys_cuda_gpu_trace.csv", place.stats);
    place.options.gpu_reports = true;
    place_set(&place, "%s", cases[i].setting);
    place_run(&place);
    cr_expect_eq(place.status, cases[i].status, "%s: %s", cases[i].setting,
                 nvtxa_status_name(place.status));
    expect_error(&place, cases[i].status, cases[i].message, cases[i].hint);
    cr_expect_str_eq(list(place.stats),
                     "export.json nsys_cuda_gpu_trace.csv nsys_nvtx_gpu_proj_trace.csv "
                     "nsys_nvtx_pushpop_trace.csv",
                     "%s", cases[i].setting);
    expect_content("old operations", place.stats, "nsys_cuda_gpu_trace.csv");
    expect_content("old host", place.stats, "nsys_nvtx_pushpop_trace.csv");
    expect_content("old gpu", place.stats, "nsys_nvtx_gpu_proj_trace.csv");
    expect_content("old record", place.stats, "export.json");
    place_end(&place);
  }
}

Test(export, a_failure_leaves_no_stats_that_was_not_there) {
  struct place place;
  place_make(&place);
  place_set(&place, "FAKE_HOST=error");
  cr_expect_eq(place_run(&place), NVTXA_ERROR_NSYS_FAILED);
  cr_expect_str_eq(list(place.run), "trace.nsys-rep");
  place_end(&place);
}

Test(export, older_name_of_an_empty_host_report) {
  struct place place;
  place_make(&place);
  place_set(&place, "FAKE_NAMES=old");
  place_set(&place, "FAKE_HOST=skipped");
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_REPORT_EMPTY,
               "the report nvtx_pushpop_trace (here nvtxpptrace) has no rows: SKIPPED", NULL);
  place_end(&place);
}

Test(export, trace_that_is_missing) {
  static const struct {
    const char *present[3];
    const char *message;
    const char *hint;
  } cases[] = {
      {{NULL}, "the run directory has no trace.nsys-rep", "harness"},
      {{"trace.2.nsys-rep", "trace.1.nsys-rep"},
       "no trace.nsys-rep; there is trace.1.nsys-rep, trace.2.nsys-rep",
       "repeat"},
      {{"trace.qdstrm"}, "no trace.nsys-rep; there is trace.qdstrm", "newer nsys"},
      {{"a\x1b.nsys-rep", "b.qdstrm"}, "there is a\\x1B.nsys-rep, b.qdstrm", "repeat"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    struct place place;
    char trace[300];
    place_make(&place);
    path_of(trace, sizeof trace, "%s/trace.nsys-rep", place.run);
    cr_assert_eq(unlink(trace), 0);
    for (size_t k = 0; k < 3 && cases[i].present[k] != NULL; k++) {
      write_file("", "%s/%s", place.run, cases[i].present[k]);
    }
    place_run(&place);
    expect_error(&place, NVTXA_ERROR_TRACE_MISSING, cases[i].message, cases[i].hint);
    cr_expect_str_eq(list(place.stats), "(absent)");
    place_end(&place);
  }
}

Test(export, trace_that_is_no_file) {
  struct place place;
  char trace[300];
  place_make(&place);
  path_of(trace, sizeof trace, "%s/trace.nsys-rep", place.run);
  cr_assert_eq(unlink(trace), 0);
  cr_assert_eq(mkfifo(trace, 0600), 0);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_TRACE_MISSING, "trace.nsys-rep is not a regular file", NULL);
  cr_assert_eq(unlink(trace), 0);
  cr_assert_eq(symlink("nowhere", trace), 0);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_TRACE_MISSING, "trace.nsys-rep is a symbolic link to", NULL);
  cr_assert_eq(unlink(trace), 0);
  cr_assert_eq(mkdir(trace, 0700), 0);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_TRACE_MISSING, "trace.nsys-rep is not a regular file", NULL);
  place_end(&place);
}

Test(export, run_directory_that_is_none) {
  struct place place;
  place_make(&place);
  path_of(place.run, sizeof place.run, "%s/nowhere", place.root);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_IO, "cannot open the run directory: No such file", NULL);
  cr_expect_str_eq(nvtxa_error_file(place.error), place.run);
  place_open(&place);
  expect_error(&place, NVTXA_ERROR_IO, "cannot open the run directory: No such file", NULL);
  write_file("", "%s", place.run);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_IO, "cannot open the run directory: Not a directory", NULL);
  place_end(&place);
}

Test(export, nsys_that_cannot_be_started) {
  struct place place;
  char program[128];
  place_make(&place);
  path_of(program, sizeof program, "%s/program", place.root);
  static const char *const names[] = {"no-such-nsys-anywhere", "", "./no/such", NULL};
  for (size_t i = 0; i < NVTXA__COUNT(names); i++) {
    if (names[i] == NULL) {
      write_file("#!/no/such/interpreter\n", "%s", program);
      cr_assert_eq(chmod(program, 0755), 0);
    }
    place.options.nsys = names[i] == NULL ? program : names[i];
    place_run(&place);
    expect_error(&place, NVTXA_ERROR_NSYS_NOT_FOUND, i < 2 ? "there is no program" : "cannot start",
                 "--nsys PATH");
    cr_expect_str_eq(list(place.run), "trace.nsys-rep");
  }
  cr_assert_eq(chmod(program, 0644), 0);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_NSYS_NOT_FOUND, "Permission denied", "--nsys");
  write_file("not a program", "%s", program);
  cr_assert_eq(chmod(program, 0755), 0);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_NSYS_NOT_FOUND, "Exec format error", "--nsys");
  place_end(&place);
}

Test(export, stats_that_is_no_directory) {
  struct place place;
  char elsewhere[128];
  place_make(&place);
  path_of(elsewhere, sizeof elsewhere, "%s/elsewhere", place.root);
  cr_assert_eq(mkdir(elsewhere, 0777), 0);
  cr_assert_eq(symlink(elsewhere, place.stats), 0);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_IO, "symbolic link", "Move it away");
  cr_expect_str_eq(list(elsewhere), "");
  cr_assert_eq(unlink(place.stats), 0);
  cr_assert_eq(symlink("/no/where", place.stats), 0);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_IO, "symbolic link", "Move it away");
  cr_assert_eq(unlink(place.stats), 0);
  write_file("", "%s", place.stats);
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_IO, "this is not a directory", "Move it away");
  place_end(&place);
}

Test(export, run_directory_that_cannot_be_written) {
  struct place place;
  place_make(&place);
  if (geteuid() == 0) {
    /* Root writes anywhere: be somebody else, who may still clean up afterwards. */
    cr_assert_eq(chown(place.root, 65534, (gid_t)-1), 0);
    cr_assert_eq(seteuid(65534), 0);
  }
  cr_assert(geteuid() != 0);
  if (chmod(place.run, 0555) != 0) {
    cr_assert_eq(errno, EPERM); /* it is root's, with 0755 */
  }
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_IO, "cannot create the directory for the reports: Permission",
               "writable");
  if (getuid() == 0) {
    cr_assert_eq(seteuid(0), 0);
  }
  cr_assert_eq(chmod(place.run, 0755), 0);
  place_end(&place);
}

/* A file system of 1 MiB on the run directory, for this test alone; false where that may not be. */
static bool mount_small(const char *path) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    return false;
  }
  return mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("none", path, "tmpfs", 0, "size=1m") == 0;
}

/* nsys says PROCESSED and exits with 0 over a report that was cut short for want of space. */
Test(export, disk_that_is_full) {
  static const char *const settings[] = {"FAKE_HOST=disk-full", "FAKE_GPU=disk-was-full",
                                         "FAKE_OPERATIONS=disk-full"};
  for (size_t i = 0; i < NVTXA__COUNT(settings); i++) {
    struct place place;
    place_make(&place);
    if (!mount_small(place.run)) {
      place_end(&place);
      cr_skip_test("no file system can be mounted here");
    }
    write_file("a trace", "%s/trace.nsys-rep", place.run);
    place_fill(&place);
    place.options.gpu_reports = true;
    place_set(&place, "%s", settings[i]);
    place_run(&place);
    expect_error(&place, NVTXA_ERROR_IO, "the disk had no room left while nsys wrote to it, making",
                 "Free some space");
    cr_expect_eq(nvtxa_error_errno(place.error), ENOSPC);
    cr_expect_str_eq(list(place.stats), NEW_FILES);
    expect_content("old host", place.stats, "nsys_nvtx_pushpop_trace.csv");
    cr_expect_eq(umount(place.run), 0);
    place_end(&place);
  }
}

/* Landing: one rename cannot succeed, so those before it are undone. */
Test(export, landing_is_all_or_nothing) {
  static const char *const in_the_way[] = {"nsys_nvtx_pushpop_trace.csv",
                                           "nsys_nvtx_gpu_proj_trace.csv", "export.json",
                                           "nsys_cuda_gpu_kern_sum.csv", "nsys_cuda_gpu_trace.csv"};
  for (size_t i = 0; i < NVTXA__COUNT(in_the_way); i++) {
    struct place place;
    char path[400];
    place_make(&place);
    place_fill(&place);
    write_file("old kernels", "%s/nsys_cuda_gpu_kern_sum.csv", place.stats);
    write_file("old operations", "%s/nsys_cuda_gpu_trace.csv", place.stats);
    place.options.gpu_reports = true;
    path_of(path, sizeof path, "%s/%s", place.stats, in_the_way[i]);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkdir(path, 0777), 0);
    write_file("precious", "%s/file", path);
    place_run(&place);
    expect_error(&place, NVTXA_ERROR_IO, in_the_way[i], "stats/");
    cr_expect_str_eq(list(place.stats), ALL_NEW_FILES);
    expect_content("precious", path, "file");
    static const char *const old[] = {"old host", "old gpu", "old record", "old kernels",
                                      "old operations"};
    for (size_t k = 0; k < NVTXA__COUNT(in_the_way); k++) {
      if (k != i) {
        expect_content(old[k], place.stats, in_the_way[k]);
      }
    }
    place_end(&place);
  }
}

Test(export, symbolic_links_in_stats_are_replaced_and_not_written_through) {
  struct place place;
  char link[400];
  place_make(&place);
  cr_assert_eq(mkdir(place.stats, 0777), 0);
  write_file("mine", "%s/victim", place.root);
  path_of(link, sizeof link, "%s/nsys_nvtx_pushpop_trace.csv", place.stats);
  cr_assert_eq(symlink("../../victim", link), 0);
  path_of(link, sizeof link, "%s/export.json", place.stats);
  cr_assert_eq(symlink("../../victim", link), 0);
  place_must_run(&place);
  expect_content("mine", place.root, "victim");
  struct stat info;
  cr_assert_eq(lstat(link, &info), 0);
  cr_expect(S_ISREG(info.st_mode));
  place_end(&place);
}

/* ---- the private directory ---- */

Test(export, what_killed_exports_left_is_removed) {
  struct place place;
  char path[400];
  place_make(&place);
  place_fill(&place);
  static const char stale[] = ".nvtxa-00000000000000aa";
  static const char begun[] = ".nvtxa-00000000000000bb";
  static const char alive[] = ".nvtxa-00000000000000cc";
  static const char foreign[] = ".nvtxa-notes";
  path_of(path, sizeof path, "%s/%s", place.stats, stale);
  cr_assert_eq(mkdir(path, 0700), 0);
  write_file("", "%s/.lock", path);
  write_file("", "%s/export.sqlite", path);
  write_file("mine", "%s/victim", place.root);
  path_of(path, sizeof path, "%s/%s/link", place.stats, stale);
  cr_assert_eq(symlink(place.root, path), 0); /* must not be followed */
  path_of(path, sizeof path, "%s/%s/deep", place.stats, stale);
  cr_assert_eq(mkdir(path, 0700), 0);
  write_file("", "%s/file", path);
  path_of(path, sizeof path, "%s/%s", place.stats, begun);
  cr_assert_eq(mkdir(path, 0700), 0);
  path_of(path, sizeof path, "%s/%s", place.stats, foreign);
  cr_assert_eq(mkdir(path, 0700), 0);
  path_of(path, sizeof path, "%s/%s", place.stats, alive);
  cr_assert_eq(mkdir(path, 0700), 0);
  write_file("", "%s/.lock", path);
  path_of(path, sizeof path, "%s/%s/.lock", place.stats, alive);
  int lock = open(path, O_RDWR | O_CLOEXEC);
  cr_assert_eq(flock(lock, LOCK_EX | LOCK_NB), 0);
  path_of(path, sizeof path, "%s/.nvtxa-00000000000000dd", place.stats);
  cr_assert_eq(symlink(place.root, path), 0); /* must not be followed either */
  place_must_run(&place);
  cr_expect_str_eq(list(place.stats),
                   ".nvtxa-00000000000000cc .nvtxa-00000000000000dd .nvtxa-notes " NEW_FILES);
  expect_content("mine", place.root, "victim");
  close(lock);
  place_end(&place);
}

Test(export, an_export_that_is_killed_leaves_the_old_reports) {
  struct place place;
  place_make(&place);
  place_fill(&place);
  place_set(&place, "FAKE_HOST=hang");
  pid_t child = fork();
  if (child == 0) {
    place_run(&place);
    _exit(0);
  }
  pid_t pids[8];
  for (int i = 0; i < 1000 && logged_pids(&place, "grandchild ", pids, 8) == 0; i++) {
    usleep(10000);
  }
  kill(child, SIGKILL);
  cr_assert_eq(waitpid(child, NULL, 0), child);
  cr_expect(contains(list(place.stats), ".nvtxa-"));
  expect_content("old host", place.stats, "nsys_nvtx_pushpop_trace.csv");
  expect_content("old record", place.stats, "export.json");
  /* Nobody is left to end nsys, so its group is; this one was told to hang. */
  size_t count = logged_pids(&place, "grandchild ", pids, 8);
  count += logged_pids(&place, "\npid ", pids + count, 8 - count);
  for (size_t i = 0; i < count; i++) {
    kill(pids[i], SIGKILL);
  }
  place.environment[2][0] = 'X'; /* FAKE_HOST */
  place_must_run(&place);
  cr_expect_str_eq(list(place.stats), NEW_FILES);
  place_end(&place);
}

/* ---- time, cancelling, processes ---- */

Test(export, deadline_ends_nsys_and_its_group) {
  static const char *const settings[] = {"FAKE_EXPORT=hang", "FAKE_GPU=deaf", "FAKE_LIST=flood",
                                         "FAKE_HOST=flood", "FAKE_OPERATIONS=hang"};
  for (size_t i = 0; i < NVTXA__COUNT(settings); i++) {
    struct place place;
    place_make(&place);
    place_fill(&place);
    place_set(&place, "%s", settings[i]);
    place.options.gpu_reports = true;
    place.options.timeout_ns = 1000000000;
    int64_t start_ns = nvtxa__now_ns();
    place_run(&place);
    expect_error(&place, NVTXA_ERROR_NSYS_TIMEOUT, "longer than the 1 seconds", "--timeout");
    cr_expect_lt(seconds_since(start_ns), 5, "%s", settings[i]);
    expect_all_gone(&place);
    cr_expect_str_eq(list(place.stats), NEW_FILES);
    expect_content("old host", place.stats, "nsys_nvtx_pushpop_trace.csv");
    place_end(&place);
  }
}

static volatile sig_atomic_t cancel_flag;

static void *cancel_when_there_is_a_grandchild(void *user) {
  const struct place *place = user;
  pid_t pid;
  for (int i = 0; i < 1000 && logged_pids(place, "grandchild ", &pid, 1) == 0; i++) {
    usleep(10000);
  }
  cancel_flag = 1;
  return NULL;
}

Test(export, cancelling_ends_nsys_and_its_group) {
  static const char *const settings[] = {"FAKE_EXPORT=hang", "FAKE_HOST=deaf", "FAKE_KERNELS=hang"};
  for (size_t i = 0; i < NVTXA__COUNT(settings); i++) {
    struct place place;
    pthread_t thread;
    place_make(&place);
    place_fill(&place);
    place_set(&place, "%s", settings[i]);
    place.options.gpu_reports = true;
    place.options.timeout_ns = -1;
    cancel_flag = 0;
    place.hooks.cancel = &cancel_flag;
    cr_assert_eq(pthread_create(&thread, NULL, cancel_when_there_is_a_grandchild, &place), 0);
    place_run(&place);
    expect_error(&place, NVTXA_ERROR_CANCELLED, "interrupted", NULL);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    expect_all_gone(&place);
    cr_expect_str_eq(list(place.stats), NEW_FILES);
    expect_content("old record", place.stats, "export.json");
    place_end(&place);
  }
}

Test(export, cancelled_before_it_began) {
  struct place place;
  place_make(&place);
  cancel_flag = 1;
  place.hooks.cancel = &cancel_flag;
  cr_expect_eq(place_run(&place), NVTXA_ERROR_CANCELLED);
  expect_content("", place.root, "log");
  cancel_flag = 0;
  place_must_run(&place);
  cancel_flag = 1;
  cr_expect_eq(place_open(&place), NVTXA_ERROR_CANCELLED);
  place_end(&place);
}

Test(export, grandchildren_do_not_hold_it_up) {
  struct place place;
  place_make(&place);
  place_set(&place, "FAKE_EXPORT=grandchild");
  place_set(&place, "FAKE_HOST=escaped");
  int64_t start_ns = nvtxa__now_ns();
  place_must_run(&place);
  cr_expect_lt(seconds_since(start_ns), 6);
  pid_t pids[2] = {0};
  cr_assert_eq(logged_pids(&place, "grandchild ", pids, 2), 2);
  cr_expect(is_gone(pids[0]));
  kill(pids[1], SIGKILL); /* it left the group on purpose */
  place_end(&place);
}

Test(export, sigchld_that_is_ignored) {
  struct place place;
  place_make(&place);
  signal(SIGCHLD, SIG_IGN);
  int64_t start_ns = nvtxa__now_ns();
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_NSYS_FAILED, "the exit status of nsys was lost", "SIGCHLD");
  cr_expect_lt(seconds_since(start_ns), 5);
  place_set(&place, "FAKE_EXPORT=hang");
  place.options.timeout_ns = 500000000;
  place_run(&place);
  expect_error(&place, NVTXA_ERROR_NSYS_TIMEOUT, "longer than the 0.5 seconds", NULL);
  expect_all_gone(&place);
  place_end(&place);
}

struct seen {
  int info;
  int debug;
  int progress;
  bool quoted;
  bool line_break;
  char activities[4096];
};

static void see_log(void *user, nvtxa_log_level level, const char *message) {
  struct seen *seen = user;
  seen->info += level == NVTXA_LOG_INFO;
  seen->debug += level == NVTXA_LOG_DEBUG;
  seen->line_break = seen->line_break || strpbrk(message, "\n\r\x1b") != NULL;
  seen->quoted = seen->quoted || contains(message, " '/tmp/");
}

static void see_progress(void *user, const nvtxa_progress *progress) {
  struct seen *seen = user;
  seen->progress++;
  if (progress->elapsed_ns == 0) {
    strcat(seen->activities, progress->activity);
    strcat(seen->activities, "\n");
  }
}

Test(export, log_and_progress) {
  struct place place;
  struct seen seen = {0};
  place_make_named(&place, "a\nb c");
  place_set(&place, "FAKE_EXPORT=mute");
  place_set(&place, "FAKE_LIST=noise");
  place.hooks.log = see_log;
  place.hooks.progress = see_progress;
  place.hooks.user = &seen;
  place_must_run(&place);
  cr_expect_str_eq(seen.activities,
                   "reading the trace\nnsys: asking for its version\nnsys: exporting the trace\n"
                   "nsys: listing its reports\nnsys: making nvtx_pushpop_trace\n"
                   "nsys: making nvtx_gpu_proj_trace\n");
  cr_expect_gt(seen.progress, 6);
  cr_expect_geq(seen.info, 9);
  cr_expect_gt(seen.debug, 5);
  cr_expect(seen.quoted);
  cr_expect(!seen.line_break);
  place_end(&place);
}

static void *run_one(void *user) {
  struct place *place = user;
  place_run(place);
  return NULL;
}

/* Two exports of one run directory: each leaves whole files of one export. */
Test(export, two_at_a_time) {
  struct place places[2];
  pthread_t threads[2];
  place_make(&places[0]);
  place_make(&places[1]);
  strcpy(places[1].run, places[0].run);
  for (int round = 0; round < 5; round++) {
    for (size_t i = 0; i < 2; i++) {
      place_set(&places[i], "FAKE_TAG=%zu-%d", i, round);
      cr_assert_eq(pthread_create(&threads[i], NULL, run_one, &places[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
      cr_assert_eq(pthread_join(threads[i], NULL), 0);
      cr_expect_eq(places[i].status, NVTXA_OK);
      places[i].variables--;
      free(places[i].environment[places[i].variables]);
      places[i].environment[places[i].variables] = NULL;
    }
    char *host = read_file("%s/nsys_nvtx_pushpop_trace.csv", places[0].stats);
    char *gpu = read_file("%s/nsys_nvtx_gpu_proj_trace.csv", places[0].stats);
    char tag[2][32];
    for (int i = 0; i < 2; i++) {
      path_of(tag[i], sizeof tag[i], "profile-target %d-%d,", i, round);
    }
    cr_expect((contains(host, tag[0]) && contains(gpu, tag[0])) ||
              (contains(host, tag[1]) && contains(gpu, tag[1])));
    cr_expect_str_eq(list(places[0].stats), NEW_FILES);
    free(host);
    free(gpu);
  }
  place_end(&places[0]);
  place_end(&places[1]);
}

/* ---- arguments ---- */

Test(export, arguments_that_are_wrong) {
  nvtxa_export *exported = NULL;
  nvtxa_error *error = NULL;
  cr_expect_eq(nvtxa_export_run(NULL, NULL, &exported, &error), NVTXA_ERROR_INVALID_ARGUMENT);
  nvtxa_error_free(error);
  cr_expect_eq(nvtxa_export_open(NULL, NULL, &exported, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_eq(nvtxa_export_run("/tmp", NULL, NULL, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  struct {
    nvtxa_export_options known;
    int later;
  } newer = {NVTXA_EXPORT_OPTIONS_INIT, 1};
  newer.known.size = sizeof newer;
  cr_expect_eq(nvtxa_export_run("/tmp", &newer.known, &exported, NULL),
               NVTXA_ERROR_INVALID_ARGUMENT);
  nvtxa_hooks hooks = {0};
  nvtxa_export_options options = NVTXA_EXPORT_OPTIONS_INIT;
  options.hooks = &hooks;
  cr_expect_eq(nvtxa_export_run("/tmp", &options, &exported, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  cr_expect_null(exported);
  nvtxa_export_unref(NULL);
  cr_expect_null(nvtxa_export_ref(NULL));
}

Test(export, references_are_counted) {
  struct place place;
  place_make(&place);
  place_must_run(&place);
  nvtxa_export *again = nvtxa_export_ref(place.exported);
  cr_expect_eq(again, place.exported);
  nvtxa_export_unref(place.exported);
  place.exported = again;
  cr_expect(nvtxa_export_is_fresh(again));
  place_end(&place);
}

/* ---- reports as they lie there ---- */

static void remove_from(const char *directory, const char *name) {
  char path[400];
  path_of(path, sizeof path, "%s/%s", directory, name);
  cr_assert_eq(unlink(path), 0, "%s", path);
}

static void touch(const struct place *place) {
  struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  char path[400];
  path_of(path, sizeof path, "%s/trace.nsys-rep", place->run);
  cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

Test(export_found, reports_of_this_trace) {
  struct place place;
  place_make(&place);
  place_must_run(&place);
  place.options = (nvtxa_export_options)NVTXA_EXPORT_OPTIONS_INIT; /* nsys is not needed */
  place_must_open(&place);
  cr_expect(!nvtxa_export_is_fresh(place.exported));
  cr_expect(nvtxa__text_is(nvtxa_export_nsys_version(place.exported),
                           "NVIDIA Nsight Systems version 2025.1.3"));
  cr_expect_eq(nvtxa_export_trace_size(place.exported), 7);
  cr_expect_eq(nvtxa_export_trace_sha256(place.exported).length, 64);
  expect_warnings(&place, NULL, 0);
  touch(&place); /* a copy: another time, the same content */
  place_must_open(&place);
  expect_warnings(&place, NULL, 0);
  place_end(&place);
}

Test(export_found, reports_of_another_trace) {
  struct place place;
  place_make(&place);
  place_must_run(&place);
  write_file("another trace", "%s/trace.nsys-rep", place.run);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_OF_ANOTHER_TRACE, "its size is another");
  write_file("b trace", "%s/trace.nsys-rep", place.run);
  touch(&place);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_OF_ANOTHER_TRACE, "its SHA-256 is another");
  cr_expect_eq(nvtxa_export_trace_size(place.exported), 7); /* of the one they were made from */
  remove_from(place.run, "trace.nsys-rep");
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_TRACE_ABSENT, "trace.nsys-rep is absent");
  char trace[400];
  path_of(trace, sizeof trace, "%s/trace.nsys-rep", place.run);
  cr_assert_eq(mkdir(trace, 0700), 0);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_TRACE_ABSENT, "trace.nsys-rep is absent");
  place_end(&place);
}

Test(export_found, reports_that_were_changed) {
  struct place place;
  place_make(&place);
  place_must_run(&place);
  write_file("edited", "%s/nsys_nvtx_pushpop_trace.csv", place.stats);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_OF_ANOTHER_TRACE,
                 "stats/nsys_nvtx_pushpop_trace.csv was changed after it was made (6 bytes");
  place_end(&place);
}

Test(export_found, reports_that_nothing_identifies) {
  struct place place;
  place_make(&place);
  place_must_run(&place);
  remove_from(place.stats, "export.json");
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED, "(export.json is absent)");
  cr_expect_null(nvtxa_export_nsys_version(place.exported).data);
  cr_expect_null(nvtxa_export_trace_sha256(place.exported).data);
  cr_expect_eq(nvtxa_export_trace_size(place.exported), -1);
  remove_from(place.run, "trace.nsys-rep");
  place_must_open(&place);
  static const nvtxa_warning_kind both[] = {NVTXA_WARNING_REPORTS_UNIDENTIFIED,
                                            NVTXA_WARNING_TRACE_ABSENT};
  expect_warnings(&place, both, 2);
  place_end(&place);
}

Test(export_found, either_naming) {
  struct place place;
  place_make(&place);
  cr_assert_eq(mkdir(place.stats, 0777), 0);
  write_file("", "%s/nsys_nvtxpptrace.csv", place.stats);
  place_open(&place);
  expect_error(&place, NVTXA_ERROR_REPORT_MISSING,
               "no report nsys_nvtx_gpu_proj_trace.csv here, nor "
               "nsys_nvtxgpuproj.csv",
               "a missing one says nothing");
  write_file("", "%s/nsys_nvtxgpuproj.csv", place.stats);
  place_must_open(&place);
  cr_expect(
      nvtxa__text_is(nvtxa_export_report_relative_path(place.exported, NVTXA_REPORT_PUSHPOP_TRACE),
                     "stats/nsys_nvtxpptrace.csv"));
  /* One new file beside two old ones is of another export: the pair is taken. */
  write_file("", "%s/nsys_nvtx_pushpop_trace.csv", place.stats);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED,
                 "nsys_nvtxpptrace.csv and nsys_nvtxgpuproj.csv were taken");
  write_file("", "%s/nsys_nvtx_gpu_proj_trace.csv", place.stats);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED,
                 "nsys_nvtx_pushpop_trace.csv and nsys_nvtx_gpu_proj_trace.csv were taken");
  remove_from(place.stats, "nsys_nvtx_pushpop_trace.csv");
  remove_from(place.stats, "nsys_nvtxgpuproj.csv");
  place_must_open(&place); /* one of each */
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED, "export.json is absent");
  cr_expect(
      nvtxa__text_is(nvtxa_export_report_relative_path(place.exported, NVTXA_REPORT_GPU_PROJ_TRACE),
                     "stats/nsys_nvtx_gpu_proj_trace.csv"));
  place_end(&place);
}

Test(export_found, no_reports) {
  struct place place;
  place_make(&place);
  place_open(&place);
  expect_error(&place, NVTXA_ERROR_REPORT_MISSING,
               "no report nsys_nvtx_pushpop_trace.csv here, nor nsys_nvtxpptrace.csv",
               "without --no-export");
  write_file("", "%s", place.stats);
  place_open(&place);
  expect_error(&place, NVTXA_ERROR_REPORT_MISSING, "no report nsys_nvtx_pushpop_trace.csv", NULL);
  cr_assert_eq(unlink(place.stats), 0);
  cr_assert_eq(mkdir(place.stats, 0777), 0);
  place_open(&place);
  expect_error(&place, NVTXA_ERROR_REPORT_MISSING, "no report nsys_nvtx_pushpop_trace.csv", NULL);
  write_file("", "%s/nsys_nvtx_gpu_proj_trace.csv", place.stats);
  place_open(&place);
  expect_error(&place, NVTXA_ERROR_REPORT_MISSING, "no report nsys_nvtx_pushpop_trace.csv", NULL);
  place_end(&place);
}

/* They are optional, but what is there must be of one export as far as names can tell. */
Test(export_found, gpu_reports_that_nothing_identifies) {
  static const struct {
    const char *files; /* in stats/ */
    const char *kern_sum;
    const char *gpu_trace;
  } cases[] = {
      {"nvtx_pushpop_trace nvtx_gpu_proj_trace", NULL, NULL},
      {"nvtx_pushpop_trace nvtx_gpu_proj_trace cuda_gpu_kern_sum cuda_gpu_trace",
       "nsys_cuda_gpu_kern_sum.csv", "nsys_cuda_gpu_trace.csv"},
      {"nvtxpptrace nvtxgpuproj gpukernsum gputrace", "nsys_gpukernsum.csv", "nsys_gputrace.csv"},
      {"nvtx_pushpop_trace nvtx_gpu_proj_trace cuda_gpu_trace", NULL, NULL},
      {"nvtx_pushpop_trace nvtx_gpu_proj_trace cuda_gpu_kern_sum gputrace", NULL, NULL},
      /* Of another nsys, and so of another export. */
      {"nvtx_pushpop_trace nvtx_gpu_proj_trace gpukernsum gputrace", NULL, NULL},
      {"nvtx_pushpop_trace nvtx_gpu_proj_trace nvtxpptrace nvtxgpuproj gpukernsum gputrace", NULL,
       NULL},
      {"nvtx_pushpop_trace nvtx_gpu_proj_trace gpukernsum gputrace cuda_gpu_kern_sum "
       "cuda_gpu_trace",
       "nsys_cuda_gpu_kern_sum.csv", "nsys_cuda_gpu_trace.csv"},
      {"nvtx_pushpop_trace nvtxgpuproj cuda_gpu_kern_sum cuda_gpu_trace", NULL, NULL},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    struct place place;
    char names[128];
    place_make(&place);
    cr_assert_eq(mkdir(place.stats, 0777), 0);
    path_of(names, sizeof names, "%s", cases[i].files);
    for (char *name = strtok(names, " "); name != NULL; name = strtok(NULL, " ")) {
      write_file("", "%s/nsys_%s.csv", place.stats, name);
    }
    place_must_open(&place);
    expect_gpu_reports(&place, cases[i].kern_sum, cases[i].gpu_trace);
    expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED, "export.json is absent");
    place_end(&place);
  }
}

Test(export_found, gpu_reports_that_were_changed) {
  struct place place;
  place_make(&place);
  place_must_run_with_gpu(&place, "");
  write_file("edited", "%s/nsys_cuda_gpu_trace.csv", place.stats);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_OF_ANOTHER_TRACE,
                 "stats/nsys_cuda_gpu_trace.csv was changed after it was made (6 bytes");
  remove_from(place.stats, "nsys_cuda_gpu_trace.csv");
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED,
                 "export.json names nsys_cuda_gpu_trace.csv, which is not there");
  expect_gpu_reports(&place, NULL, NULL);
  place_end(&place);
}

/* Reports of GPU work that export.json says nothing of are none of that export. */
Test(export_found, gpu_reports_beside_a_record_without_them) {
  struct place place;
  place_make(&place);
  place_must_run(&place);
  write_file("stale", "%s/nsys_cuda_gpu_kern_sum.csv", place.stats);
  write_file("stale", "%s/nsys_cuda_gpu_trace.csv", place.stats);
  place_must_open(&place);
  expect_gpu_reports(&place, NULL, NULL);
  expect_warnings(&place, NULL, 0);
  place_end(&place);
}

/* A record that is damaged or hostile, made from a whole one by replacing a piece. */
Test(export_found, records_that_are_damaged) {
  static const struct {
    const char *piece;
    const char *replacement;
    const char *reason;
  } cases[] = {
      {"{", "[", "is damaged: no valid JSON in line"},
      {"\"schema_version\": 1", "\"schema_version\": 2",
       "has schema_version 2, which this version"},
      {"\"schema_version\": 1", "\"schema_version\": 0", "'schema_version' is not such a number"},
      {"\"schema_version\": 1", "\"schema_version\": \"1\"", "'schema_version' is not"},
      {"\"schema_version\": 1", "\"schema_version\": 1, \"schema_version\": 1", "no valid JSON"},
      {"\"schema_version\": 1", "\"version\": 1", "'schema_version' is not"},
      {"\"nsys_version\": \"", "\"nsys_version\": \"\\u001b[31m", "'nsys_version' is not a line"},
      {"\"nsys_version\": \"", "\"nsys_version\": \"\\u009b", "'nsys_version' is not a line"},
      {"\"nsys_version\": \"", "\"nsys_version\": \"\\u0000", "no valid JSON"},
      {"\"nsys_version\": ", "\"nsys_version\": 5, \"x\": ", "'nsys_version' is not a string"},
      {"\"nsys_version\": ", "\"x\": ", "'nsys_version' is not a string"},
      {"\"nsys_path\": ", "\"x\": ", "'nsys_path' is not a string"},
      {"\"trace\": {", "\"trace\": 5, \"x\": {", "'trace' is not an object"},
      {"\"modified_ns\": ", "\"modified_ns\": \"\", \"x\": ", "'trace.modified_ns' is not"},
      {"\"modified_ns\": ", "\"modified_ns\": 1.5, \"x\": ", "'trace.modified_ns' is not"},
      {"\"modified_ns\": ", "\"modified_ns\": 99999999999999999999, \"x\": ", "no valid JSON"},
      {"\"size_bytes\": 7", "\"size_bytes\": -7", "'trace.size_bytes' is not"},
      {"\"sha256\": \"", "\"sha256\": \"a", "'trace.sha256' is not 64"},
      {"\"sha256\": \"", "\"sha256\": \"A\", \"x\": \"", "'trace.sha256' is not 64"},
      {"\"reports\": {", "\"reports\": [], \"x\": {",
       "'reports.nvtx_pushpop_trace' is not an object"},
      {"\"file\": \"nsys_nvtx_push", "\"file\": \"../nsys_nvtx_push", "is not the name of a file"},
      {"\"file\": \"nsys_nvtx_push", "\"file\": \"/etc/passwd\", \"x\": \"", "is not the name of"},
      {"\"file\": \"nsys_nvtx_push", "\"file\": \"..\", \"x\": \"", "is not the name of"},
      {"\"file\": \"nsys_nvtx_push", "\"file\": \"\", \"x\": \"", "is not a line of text"},
      {"\"file\": \"nsys_nvtx_push", "\"file\": \"a\\nb\", \"x\": \"", "is not a line of text"},
      {"\"file\": \"nsys_nvtx_push", "\"file\": \"other.csv\", \"x\": \"",
       "names other.csv, which is not there"},
      {"\"cuda_gpu_trace\": {", "\"x\": {", "'reports.cuda_gpu_trace' is not an object"},
      {"\"cuda_gpu_kern_sum\": {", "\"x\": {", "'reports.cuda_gpu_kern_sum' is not an object"},
      {"\"file\": \"nsys_cuda_gpu_t", "\"file\": \"../nsys_cuda_gpu_t",
       "is not the name of a file"},
  };
  struct place place;
  place_make(&place);
  place_must_run_with_gpu(&place, "");
  char *text = read_file("%s/export.json", place.stats);
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    const char *at = strstr(text, cases[i].piece);
    cr_assert_not_null(at, "%s", cases[i].piece);
    nvtxa__buffer changed = {0};
    nvtxa__buffer_add(&changed, text, (size_t)(at - text));
    nvtxa__buffer_printf(&changed, "%s%s", cases[i].replacement, at + strlen(cases[i].piece));
    write_file(changed.data, "%s/export.json", place.stats);
    nvtxa__buffer_free(&changed);
    place_must_open(&place);
    expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED, cases[i].reason);
    cr_expect_null(nvtxa_export_nsys_version(place.exported).data);
    cr_expect_eq(nvtxa_export_trace_size(place.exported), -1);
  }
  free(text);
  place_end(&place);
}

Test(export_found, records_that_cannot_be_read) {
  struct place place;
  char path[400];
  place_make(&place);
  place_must_run(&place);
  path_of(path, sizeof path, "%s/export.json", place.stats);
  cr_assert_eq(truncate(path, (1 << 26) + 1), 0);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED, "larger than 67108864 bytes");
  cr_assert_eq(truncate(path, 0), 0);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED, "no valid JSON");
  cr_assert_eq(unlink(path), 0);
  cr_assert_eq(mkfifo(path, 0600), 0);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED, "cannot be used: not a regular file");
  /* Not a word of what is no record. */
  cr_assert_eq(unlink(path), 0);
  write_file("secret=hush", "%s/secrets", place.root);
  cr_assert_eq(symlink("../../secrets", path), 0);
  place_must_open(&place);
  expect_warning(&place, NVTXA_WARNING_REPORTS_UNIDENTIFIED, "no valid JSON in line 1");
  cr_expect(!contains(nvtxa_export_warning(place.exported, 0).text.data, "secret"));
  place_end(&place);
}

/* ---- the parts ---- */

Test(export_output, errors_are_found_where_they_mean_something) {
  static const struct {
    const char *printed;
    const char *error;
    const char *skipped;
  } cases[] = {
      {"ERROR: x\n", "ERROR: x", ""},
      {"  \tERROR: x  \n", "ERROR: x", ""},
      {"ERROR", "ERROR", ""},
      {"Processing [a] to [b]... ERROR: x\n", "ERROR: x", ""},
      {"one\rtwo\rERROR: x\rthree", "ERROR: x", ""},
      {"ERROR: x\r\nERROR: y\r\n", "ERROR: x; ERROR: y", ""},
      {"an ERROR: x\n", "", ""},
      {"ERRORS: 0\n", "", ""},
      {"ERROR_CODE\n", "", ""},
      {"Processing [/ERROR: x/trace.sqlite]\n", "", ""},
      {"Exportation error: x\n", "Exportation error: x", ""},
      {"[QuadDCommon::tag_message*] = x\n", "x", ""},
      {"to [b]... SKIPPED: a does not contain b.\n", "", "SKIPPED: a does not contain b."},
      {"SKIPPED: x\n", "", "SKIPPED: x"},
      {"file was SKIPPED: x\n", "", ""},
      {"", "", ""},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    for (size_t piece = 1; piece <= 64; piece *= 8) {
      nvtxa__output output = {0};
      size_t length = strlen(cases[i].printed);
      for (size_t at = 0; at < length; at += piece) {
        size_t rest = length - at;
        nvtxa__output_feed(&output, cases[i].printed + at, rest < piece ? rest : piece);
      }
      nvtxa__output_end(&output);
      cr_expect_str_eq(output.error, cases[i].error, "%s", cases[i].printed);
      cr_expect_str_eq(output.skipped, cases[i].skipped, "%s", cases[i].printed);
    }
  }
}

Test(export_output, memory_is_bounded_and_the_last_lines_are_kept) {
  nvtxa__output output = {0};
  char buffer[NVTXA__OUTPUT_TEXT];
  for (int i = 0; i < 100000; i++) {
    nvtxa__output_feed(&output, "ERROR: again and again\n", 23);
  }
  nvtxa__output_end(&output);
  cr_expect_lt(strlen(output.error), sizeof output.error);
  output = (nvtxa__output){0};
  char wide[1000];
  memset(wide, '\x1b', sizeof wide - 1); /* four characters each when shown */
  wide[sizeof wide - 1] = '\n';
  for (int i = 0; i < 9; i++) {
    nvtxa__output_feed(&output, wide, sizeof wide);
  }
  nvtxa__output_end(&output);
  cr_expect_lt(strlen(nvtxa__output_text(&output, buffer)), sizeof buffer);
  output = (nvtxa__output){0};
  nvtxa__output_feed(&output, "1\n2\n\n3\n4\n5\n10%\r20%\r6", 20);
  nvtxa__output_end(&output);
  cr_expect_str_eq(nvtxa__output_text(&output, buffer), "3; 4; 5; 6");
}

Test(export_program, commands_are_quoted_for_a_shell) {
  static const char *const argv[] = {"/usr/bin/nsys", "--output=x", "",        "a b",
                                     "it's",          "new\nline",  "caf\xE9", "\xC3\xA9",
                                     "$HOME",         "\\",         NULL};
  nvtxa__buffer buffer = {0};
  cr_assert_eq(nvtxa__program_quote(&buffer, argv), 0);
  cr_expect_str_eq(buffer.data,
                   "/usr/bin/nsys --output=x '' 'a b' 'it'\\''s' 'new\nline' "
                   "'caf'\"$(printf '\\351')\"'' '\xC3\xA9' '$HOME' '\\'");
  nvtxa__buffer_free(&buffer);
}
