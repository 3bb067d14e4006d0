/* base/: text, integers, UTF-8, interning, searching, packed columns, atomic file replacement,
 * errors and versioned structs. */
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

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* After a test, what it expects counts for nothing; but that it ends so does. */
static void abort_at_leak(void) {
  if (__lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0) {
    abort();
  }
}

TestSuite(base, .fini = abort_at_leak);

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33 | *state << 31;
}

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

/* What the C library makes of a text, which is NUL-terminated. */
static bool parse_plainly(const char *text, size_t length, int64_t *ret) {
  size_t sign = text[0] == '-';
  for (size_t i = sign; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') {
      return false;
    }
  }
  errno = 0;
  long long value = strtoll(text, NULL, 10);
  if (length == sign || errno != 0) {
    return false;
  }
  *ret = value;
  return true;
}

static void expect_integer(const char *text) {
  size_t length = strlen(text);
  char *alone = malloc(length + 1); /* of the right size, so that a sanitizer sees what is read */
  int64_t value = 0;
  int64_t right = 0;
  cr_assert_not_null(alone);
  memcpy(alone, text, length);
  bool valid = nvtxa__parse_int64(alone, length, &value);
  bool fits = parse_plainly(text, length, &right);
  cr_assert_eq(valid, fits, "'%s'", text);
  cr_assert_eq(value, right, "'%s': %lld", text, (long long)value);
  free(alone);
}

/* Digits are taken one, or eight at a time; each of them may be none. */
Test(base, integers_of_every_length) {
  static const char *const digits[] = {
      "9999999999999999999999999", "0000000000000000000000000", "1234567890123456789012345",
      "9223372036854775807000000", "9223372036854775808000000", "0000009223372036854775807",
      "0000009223372036854775808", "0000009223372036854775809", "0918273645091827364509182",
  };
  static const char wrong[] = "/:-+ .,@a`\xB0\xB9\xFF\x01";
  for (size_t d = 0; d < NVTXA__COUNT(digits); d++) {
    for (int length = 0; length <= 25; length++) {
      for (int sign = 0; sign < 2; sign++) {
        char text[32];
        snprintf(text, sizeof text, "%s%.*s", sign ? "-" : "", length, digits[d]);
        expect_integer(text);
        snprintf(text, sizeof text, "%s%s", sign ? "-" : "", digits[d] + 25 - length);
        expect_integer(text);
        for (int place = 0; place < length; place++) {
          for (const char *c = wrong; *c != '\0'; c++) {
            char digit = text[sign + place];
            text[sign + place] = *c;
            expect_integer(text);
            text[sign + place] = digit;
          }
        }
      }
    }
  }
}

/* The first numbers that SplitMix64 gives from 0, of the states that it gives them of. */
Test(base, pairs_are_mixed_as_splitmix64_does) {
  cr_expect_eq(nvtxa__hash_pair(0x9E3779B9, 0x7F4A7C15), 0xE220A8397B1DCDAF);
  cr_expect_eq(nvtxa__hash_pair(0x3C6EF372, 0xFE94F82A), 0x6E789E6AA1B965F4);
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

/* ---- searching ---- */

static bool is_below(const void *owner, size_t item, const void *sought) {
  return ((const int *)owner)[item] < *(const int *)sought;
}

Test(base, searching_finds_the_first_from_anywhere) {
  int items[40];
  for (int i = 0; i < 40; i++) {
    items[i] = i / 3 * 2; /* each thrice, with a gap behind */
  }
  for (size_t count = 0; count <= 40; count++) {
    for (size_t near = 0; near <= count + 1; near++) {
      for (int sought = -1; sought < 30; sought++) {
        size_t right = 0;
        while (right < count && items[right] < sought) {
          right++;
        }
        cr_assert_eq(nvtxa__search(count, near, is_below, items, &sought), right,
                     "%d of %zu, near %zu", sought, count, near);
      }
    }
  }
}

/* ---- packed columns ---- */

static void expect_values(const nvtxa__packed *column, const int64_t *values, size_t count) {
  cr_assert_eq(column->count, count);
  for (size_t i = 0; i < count; i++) {
    cr_assert_eq(nvtxa__packed_get(column, i), values[i], "%zu of %zu: %lld, not %lld", i, count,
                 (long long)nvtxa__packed_get(column, i), (long long)values[i]);
  }
}

static void pack(nvtxa__packed *column, const int64_t *values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    cr_assert_eq(nvtxa__packed_add(column, values[i]), 0);
  }
  cr_assert_eq(nvtxa__packed_finish(column), 0);
}

/* Values of a block, distances of up to `width` bytes apart: from the least number there is, across
 * 0, or up to the greatest. */
static void make_values(int64_t *values, size_t count, size_t width, size_t where,
                        uint64_t *random) {
  uint64_t span = width == 8 ? UINT64_MAX : ((uint64_t)1 << (8 * width)) - 1;
  const uint64_t lowest[] = {(uint64_t)INT64_MIN, 0 - span / 2 - 1, (uint64_t)INT64_MAX - span};
  for (size_t i = 0; i < count; i++) {
    values[i] = (int64_t)(lowest[where] + (next_random(random) & span));
  }
  size_t low = next_random(random) % count;
  values[low] = (int64_t)lowest[where];
  values[(low + 1) % count] = (int64_t)(lowest[where] + span);
}

Test(base, packed_columns_of_every_width) {
  enum { WIDTHS = 9, PLACES = 3, BLOCKS = WIDTHS * PLACES, ROWS = NVTXA__PACKED_ROWS };
  static int64_t values[(BLOCKS + 1) * ROWS];
  static const size_t rests[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 254, 255};
  uint64_t random = 1;
  for (size_t r = 0; r < NVTXA__COUNT(rests); r++) {
    for (size_t full = 0; full <= BLOCKS; full += full < WIDTHS ? 1 : WIDTHS) {
      nvtxa__packed column = {0};
      size_t count = full * ROWS + rests[r];
      for (size_t block = 0; block * ROWS < count; block++) {
        size_t left = count - block * ROWS;
        make_values(values + block * ROWS, left < ROWS ? left : ROWS, (block + full) % WIDTHS,
                    block / WIDTHS % PLACES, &random);
      }
      pack(&column, values, count);
      expect_values(&column, values, count);
      for (size_t block = 0; block < full; block++) {
        cr_assert_eq(column.blocks[block].width, (block + full) % WIDTHS, "no wider than needed");
      }
      nvtxa__packed_free(&column);
    }
  }
}

/* The least and the greatest may stand anywhere: with one of them missed, a byte is too little. */
Test(base, packed_columns_find_their_lowest) {
  for (size_t count = 1; count <= 13; count++) {
    for (size_t low = 0; low < count; low++) {
      for (size_t high = 0; high < count; high++) {
        nvtxa__packed column = {0};
        int64_t values[13] = {0};
        values[low] = -200;
        values[high] = high == low ? values[low] : 200;
        pack(&column, values, count);
        expect_values(&column, values, count);
        nvtxa__packed_free(&column);
      }
    }
  }
}

Test(base, packed_columns_pick_rows_of_another) {
  enum { COUNT = 700 };
  int64_t values[COUNT];
  int64_t picked[COUNT];
  uint32_t rows[COUNT];
  nvtxa__packed from = {0};
  uint64_t random = 2;
  for (size_t i = 0; i < COUNT; i++) {
    values[i] = (int64_t)(next_random(&random) >> (i % 64));
  }
  pack(&from, values, COUNT);
  expect_values(&from, values, COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    rows[i] = (uint32_t)(next_random(&random) % COUNT);
    picked[i] = values[rows[i]];
  }
  for (size_t count = 0; count <= COUNT; count += 175) {
    nvtxa__packed column = {0};
    cr_assert_eq(nvtxa__packed_pick(&column, &from, rows, count), 0);
    expect_values(&column, picked, count);
    nvtxa__packed_free(&column);
  }
  nvtxa__packed_free(&from);
}

/* Columns that share their memory are filled, freed and filled again in any order. */
Test(base, packed_columns_together) {
  enum { COUNT = 1000, COLUMNS = 4 };
  static int64_t values[COLUMNS][COUNT];
  nvtxa__packed columns[COLUMNS] = {{0}};
  nvtxa__packed *all[COLUMNS];
  uint64_t random = 3;
  for (size_t c = 0; c < COLUMNS; c++) {
    all[c] = &columns[c];
  }
  cr_assert_eq(nvtxa__packed_together(all, COLUMNS), 0);
  for (size_t i = 0; i < COUNT; i++) {
    for (size_t c = 0; c < COLUMNS - 1; c++) { /* the last one stays empty */
      values[c][i] = (int64_t)(next_random(&random) >> (16 * c));
      cr_assert_eq(nvtxa__packed_add(&columns[c], values[c][i]), 0);
    }
  }
  nvtxa__packed_free(&columns[0]); /* before it was finished */
  cr_assert_eq(nvtxa__packed_finish(&columns[1]), 0);
  expect_values(&columns[1], values[1], COUNT);
  nvtxa__packed_free(&columns[1]);
  pack(&columns[1], values[0], COUNT); /* in a place of its own */
  expect_values(&columns[1], values[0], COUNT);
  cr_assert_eq(nvtxa__packed_finish(&columns[2]), 0);
  expect_values(&columns[2], values[2], COUNT);
  for (size_t c = 0; c < COLUMNS; c++) {
    nvtxa__packed_free(&columns[c]);
    nvtxa__packed_free(&columns[c]);
  }
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
