/* base/: text, UTF-8, interning, atomic file replacement, errors and versioned structs. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base-internal.h"

Test(base, integers_fill_the_text_and_fit) {
  static const struct {
    const char *text;
    bool valid;
    int64_t value;
  } cases[] = {
      {"0", true, 0},
      {"-0", true, 0},
      {"007", true, 7},
      {"9223372036854775807", true, INT64_MAX},
      {"-9223372036854775808", true, INT64_MIN},
      {"9223372036854775808", false, 0},
      {"-9223372036854775809", false, 0},
      {"18446744073709551616", false, 0},
      {"99999999999999999999999", false, 0},
      {"", false, 0},
      {"-", false, 0},
      {"+1", false, 0},
      {" 1", false, 0},
      {"1 ", false, 0},
      {"1.0", false, 0},
      {"0x1", false, 0},
      {"\xD9\xA1", false, 0}, /* an Arabic-Indic digit */
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    int64_t value = 0;
    bool valid = nvtxa__parse_int64(cases[i].text, strlen(cases[i].text), &value);
    cr_expect_eq(valid, cases[i].valid, "'%s'", cases[i].text);
    cr_expect_eq(value, cases[i].value, "'%s'", cases[i].text);
  }
}

Test(base, ill_formed_utf8_is_replaced_by_maximal_subparts) {
  static const char *const cases[][2] = {
      {"plain", "plain"},
      {"\xC3\xA9", "\xC3\xA9"},
      {"\xE9", "\xEF\xBF\xBD"},
      {"\xF0\x9F\x9A.", "\xEF\xBF\xBD."},
      {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* overlong */
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* a surrogate */
      {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41",
       "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x41"},
  };
  for (size_t i = 0; i < NVTXA__COUNT(cases); i++) {
    char out[64];
    size_t length = nvtxa__utf8_replace(out, cases[i][0], strlen(cases[i][0]));
    out[length] = '\0';
    cr_expect_str_eq(out, cases[i][1], "case %zu", i);
    cr_expect_eq(nvtxa__utf8_valid(out, length), length);
  }
}

Test(base, quoting_keeps_terminals_safe) {
  char buffer[NVTXA__QUOTED];
  cr_expect_str_eq(nvtxa__quote(buffer, "a\x1B[31m\n\\\x7F", 9), "a\\x1B[31m\\n\\\\\\x7F");
  cr_expect_str_eq(nvtxa__quote(buffer, "\xC2\x9B\xC3\xA9\xFF", 5), "\\xC2\\x9B\xC3\xA9\\xFF");
  char text[400];
  memset(text, 'x', sizeof text);
  nvtxa__quote(buffer, text, sizeof text);
  cr_expect_lt(strlen(buffer), sizeof buffer);
  cr_expect_str_eq(buffer + strlen(buffer) - 3, "...");
}

Test(base, interning_gives_equal_texts_equal_ids) {
  nvtxa__intern intern = {0};
  for (int round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < 5000; i++) {
      char text[16];
      uint32_t id;
      int length = snprintf(text, sizeof text, "name %u", i);
      cr_assert_eq(nvtxa__intern_add(&intern, text, (size_t)length, &id), 0);
      cr_assert_eq(id, i);
    }
  }
  uint32_t empty;
  uint32_t nul;
  cr_assert_eq(nvtxa__intern_add(&intern, "", 0, &empty), 0);
  cr_assert_eq(nvtxa__intern_add(&intern, "\0", 1, &nul), 0);
  cr_expect_neq(empty, nul);
  cr_expect_eq(intern.count, 5002);
  nvtxa__intern_free(&intern);
}

/* ---- files ---- */

static size_t count_entries(const char *path) {
  DIR *directory = opendir(path);
  size_t count = 0;
  cr_assert_not_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    count += entry->d_name[0] != '.';
  }
  closedir(directory);
  return count;
}

static nvtxa_status produce(void *user, nvtxa__write_fn sink, void *sink_user,
                            nvtxa_error **reterr) {
  const char *text = user;
  for (int i = 0; i < 20000; i++) {
    if (sink(sink_user, text, strlen(text)) != 0) {
      return NVTXA_ERROR_IO;
    }
  }
  return text[0] == '!' ? nvtxa__fail(reterr, NVTXA_ERROR_LIMIT, NULL, "half way") : NVTXA_OK;
}

Test(base, a_file_is_replaced_whole_or_not_at_all) {
  char directory[] = "/tmp/nvtxa-test-XXXXXX";
  cr_assert_not_null(mkdtemp(directory));
  int fd = open(directory, O_RDONLY | O_DIRECTORY);
  nvtxa_error *error = NULL;
  char *data = NULL;
  size_t length = 0;
  cr_assert_eq(nvtxa__file_replace(fd, "f", "f", true, produce, (char *)"old ", NULL), NVTXA_OK);
  cr_expect_eq(nvtxa__file_replace(fd, "f", "f", true, produce, (char *)"!new ", &error),
               NVTXA_ERROR_LIMIT);
  cr_expect_str_eq(nvtxa_error_message(error), "half way");
  nvtxa_error_free(error);
  cr_assert_eq(nvtxa__file_read(fd, "f", "f", 1 << 20, &data, &length, NULL), NVTXA_OK);
  cr_expect_eq(length, 80000);
  cr_expect_eq(memcmp(data, "old old ", 8), 0);
  free(data);
  cr_assert_eq(nvtxa__file_replace(fd, "f", "f", true, produce, (char *)"newer ", NULL), NVTXA_OK);
  cr_assert_eq(nvtxa__file_read(fd, "f", "f", 1 << 20, &data, &length, NULL), NVTXA_OK);
  cr_expect_eq(length, 120000);
  free(data);
  cr_expect_eq(count_entries(directory), 1, "nothing is left behind");
  error = NULL;
  cr_expect_eq(nvtxa__file_read(fd, "f", "f", 100, &data, &length, &error), NVTXA_ERROR_LIMIT);
  nvtxa_error_free(error);
  error = NULL;
  cr_expect_eq(nvtxa__file_replace(fd, "no/f", "no/f", true, produce, (char *)"x", &error),
               NVTXA_ERROR_IO);
  cr_expect_eq(nvtxa_error_errno(error), ENOENT);
  nvtxa_error_free(error);
  unlinkat(fd, "f", 0);
  close(fd);
  rmdir(directory);
}

Test(base, only_regular_files_are_read) {
  char directory[] = "/tmp/nvtxa-test-XXXXXX";
  char *data;
  size_t length;
  cr_assert_not_null(mkdtemp(directory));
  int fd = open(directory, O_RDONLY | O_DIRECTORY);
  cr_assert_eq(mkfifoat(fd, "fifo", 0600), 0);
  cr_expect_eq(nvtxa__file_read(fd, "fifo", "fifo", 10, &data, &length, NULL), NVTXA_ERROR_IO);
  cr_expect_eq(nvtxa__file_read(fd, ".", ".", 10, &data, &length, NULL), NVTXA_ERROR_IO);
  unlinkat(fd, "fifo", 0);
  close(fd);
  rmdir(directory);
}

Test(base, digest) {
  char hex[NVTXA__SHA256_HEX];
  nvtxa__sha256("abc", 3, hex);
  cr_expect_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* ---- errors ---- */

Test(base, errors_tell_where_and_why) {
  nvtxa_error *cause = NULL;
  nvtxa_error *error = NULL;
  nvtxa__fail(&cause, NVTXA_ERROR_IO, &(nvtxa__where){.file = "f", .errnum = ENOENT},
              "cannot open");
  nvtxa_status status = nvtxa__fail(&error, NVTXA_ERROR_REPORT_VALUE,
                                    &(nvtxa__where){
                                        .file = "r.csv",
                                        .line = 14,
                                        .field = "PID",
                                        .hint = "do this",
                                        .cause = cause,
                                    },
                                    "'%s' is wrong", "x");
  cr_expect_eq(status, NVTXA_ERROR_REPORT_VALUE);
  cr_expect_eq(nvtxa_error_status(error), NVTXA_ERROR_REPORT_VALUE);
  cr_expect_str_eq(nvtxa_error_message(error), "'x' is wrong");
  cr_expect_str_eq(nvtxa_error_file(error), "r.csv");
  cr_expect_eq(nvtxa_error_line(error), 14);
  cr_expect_str_eq(nvtxa_error_field(error), "PID");
  cr_expect_str_eq(nvtxa_error_hint(error), "do this");
  cr_expect_str_eq(nvtxa_error_message(nvtxa_error_cause(error)),
                   "cannot open: No such file or directory");
  cr_expect_eq(nvtxa_error_errno(nvtxa_error_cause(error)), ENOENT);
  nvtxa_error_free(error);
}

Test(base, out_of_memory_needs_no_memory) {
  nvtxa_error *error = NULL;
  cr_expect_eq(nvtxa__out_of_memory(&error), NVTXA_ERROR_OUT_OF_MEMORY);
  cr_expect_str_eq(nvtxa_error_message(error), "out of memory");
  nvtxa_error_free(error);
  nvtxa_error_free(error); /* static: freeing it is nothing */
}

Test(base, every_status_has_a_name) {
  cr_expect_str_eq(nvtxa_status_name(NVTXA_OK), "NVTXA_OK");
  cr_expect_str_eq(nvtxa_status_name(NVTXA_ERROR_DUPLICATE_ITERATION),
                   "NVTXA_ERROR_DUPLICATE_ITERATION");
  cr_expect_str_eq(nvtxa_status_name((nvtxa_status)77), "unknown status");
  cr_expect_str_eq(nvtxa_version(), NVTXA_VERSION_STRING);
}

/* ---- structs that grow ---- */

typedef struct small_options {
  size_t size;
  int64_t a;
} small_options;

typedef struct large_options {
  size_t size;
  int64_t a;
  int64_t b;
} large_options;

Test(base, options_of_other_versions) {
  large_options given = {sizeof given, 1, 0};
  small_options own = {sizeof own, 7};
  cr_expect_eq(nvtxa__options_copy(&own, sizeof own, &given, NULL), NVTXA_OK);
  cr_expect(own.a == 1 && own.size == sizeof own);
  given.b = 1; /* something that this version would have to know */
  cr_expect_eq(nvtxa__options_copy(&own, sizeof own, &given, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
  large_options wide = {sizeof wide, 0, 5};
  small_options old = {sizeof old, 3};
  cr_expect_eq(nvtxa__options_copy(&wide, sizeof wide, &old, NULL), NVTXA_OK);
  cr_expect(wide.a == 3 && wide.b == 5, "a member that the caller does not have keeps its default");
  old.size = 0;
  cr_expect_eq(nvtxa__options_copy(&wide, sizeof wide, &old, NULL), NVTXA_ERROR_INVALID_ARGUMENT);
}

Test(base, results_for_other_versions) {
  large_options own = {sizeof own, 1, 2};
  struct {
    small_options result;
    int64_t guard;
  } old = {{sizeof old.result, 0}, 99};
  cr_expect_eq(nvtxa__result_copy(&old.result, &own, sizeof own), NVTXA_OK);
  cr_expect(old.result.a == 1 && old.result.size == sizeof old.result && old.guard == 99);
}
