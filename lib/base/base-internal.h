/*
 * What the modules share inside the library: errors, warnings, text, memory, files, hooks.
 * Everything here starts with nvtxa__ and is hidden from the library's users.
 */
#ifndef NVTXA_BASE_INTERNAL_H
#define NVTXA_BASE_INTERNAL_H

#include <dirent.h>
#include <endian.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>

#include <nvtxa/base.h>

#define NVTXA__PRINTF(string, first) __attribute__((format(printf, string, first)))
#define NVTXA__COUNT(array)          (sizeof(array) / sizeof((array)[0]))

/* ---- errors (error.c) ---- */

/* Where an error is; zero or NULL members are left out. `cause` is taken over. */
typedef struct nvtxa__where {
  const char *file;
  uint64_t line;
  const char *field;
  int errnum;
  const char *hint;
  nvtxa_error *cause;
} nvtxa__where;

/* Make an error where the caller asked for one (reterr not NULL) and return `status`, so that a
 * failing function can say `return nvtxa__fail(...)`. `where` may be NULL. With an errnum, the
 * message gets ": " and its text. */
nvtxa_status nvtxa__fail(nvtxa_error **reterr, nvtxa_status status, const nvtxa__where *where,
                         const char *format, ...) NVTXA__PRINTF(4, 5);

nvtxa_status nvtxa__out_of_memory(nvtxa_error **reterr);

/* Give the caller an error that was made elsewhere, and return `status`. */
nvtxa_status nvtxa__pass_on(nvtxa_error **reterr, nvtxa_status status, nvtxa_error *error);

/* NVTXA_ERROR_INVALID_ARGUMENT for a NULL or a wrong number given by the caller. */
nvtxa_status nvtxa__invalid(nvtxa_error **reterr, const char *what);

/* An options or result struct that begins with its size, from a caller that may have been built
 * against another version: copy what both sides know into `own` (of `own_size` bytes, filled with
 * the defaults) and refuse non-zero bytes that this version does not know. `given` may be NULL. */
nvtxa_status nvtxa__options_copy(void *own, size_t own_size, const void *given,
                                 nvtxa_error **reterr);

/* The other way: hand out as much of `own` as the caller's struct (its size is in its first member)
 * has room for. */
nvtxa_status nvtxa__result_copy(void *given, const void *own, size_t own_size);

/* ---- warnings (warning.c) ---- */

typedef struct nvtxa__warnings {
  nvtxa_warning *items;
  size_t count;
  size_t capacity;
} nvtxa__warnings;

/* 0 or -1 (out of memory). */
int nvtxa__warn(nvtxa__warnings *warnings, nvtxa_warning_kind kind, const char *format, ...)
    NVTXA__PRINTF(3, 4);
int nvtxa__warn_copy(nvtxa__warnings *warnings, nvtxa_warning warning);
void nvtxa__warnings_free(nvtxa__warnings *warnings);

/* ---- text (text.c) ---- */

nvtxa_text nvtxa__text(const char *string); /* NULL gives no text */
bool nvtxa__text_equal(nvtxa_text a, nvtxa_text b);
int nvtxa__text_compare(nvtxa_text a, nvtxa_text b); /* byte order */
bool nvtxa__text_is(nvtxa_text text, const char *string);
bool nvtxa__ends_with(const char *string, const char *ending); /* and something before that */

/* Text from elsewhere for a message: control characters, backslashes and invalid UTF-8 escaped, cut
 * to the buffer with "..." at the end. Returns `buffer`. */
#define NVTXA__QUOTED 128
const char *nvtxa__quote(char buffer[NVTXA__QUOTED], const char *data, size_t length);

/* A decimal integer that fills the text, with an optional '-'. */
bool nvtxa__parse_int64(const char *data, size_t length, int64_t *ret);

/* ---- integers as text (digits.c) ---- */

#define NVTXA__DIGITS 20 /* of any 64-bit integer, sign included */

extern const char nvtxa__digit_pairs[201]; /* "00" to "99" */

static inline size_t nvtxa__count_digits(uint64_t value) {
  size_t digits = 1;
  while (value >= 10000) {
    value /= 10000;
    digits += 4;
  }
  return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* Write a number. Returns how many characters it took, at most NVTXA__DIGITS. */
static inline size_t nvtxa__put_integer(char *out, int64_t value) {
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  size_t length = nvtxa__count_digits(rest) + (value < 0);
  char *at = out + length;
  *out = '-';
  while (rest >= 100) {
    at -= 2;
    memcpy(at, nvtxa__digit_pairs + rest % 100 * 2, 2);
    rest /= 100;
  }
  if (rest >= 10) {
    memcpy(at - 2, nvtxa__digit_pairs + rest * 2, 2);
  } else {
    at[-1] = (char)('0' + rest);
  }
  return length;
}

/* ---- UTF-8 (utf8.c) ---- */

/* The length of the valid prefix. */
size_t nvtxa__utf8_valid(const char *data, size_t length);

/* Copy with each maximal ill-formed sequence replaced by U+FFFD (Unicode 15, 3.9: "substitution of
 * maximal subparts"). `out` needs room for 3 * length bytes. Returns how many were written. */
size_t nvtxa__utf8_replace(char *out, const char *data, size_t length);

/* ---- memory (memory.c) ---- */

/* Make room for `needed` items of `item_size` bytes, growing by half at least. 0 or -1. */
int nvtxa__reserve(void *pointer_to_array, size_t *capacity, size_t needed, size_t item_size);

/* Arrays with an item a row, which may be large: as malloc() and calloc(), and free() frees them,
 * but large ones ask for large pages. */
void *nvtxa__alloc(size_t count, size_t item_size);
void *nvtxa__alloc_zero(size_t count, size_t item_size);
void *nvtxa__alloc_again(void *memory, size_t count, size_t item_size); /* as realloc() */

/* Of `count` items in order, the number of the first that does not come before what is sought;
 * `count` where all do. Looked for near item `near` first, and then ever further from it, so that
 * what is sought in order is found soon. `comes_before` says whether an item does. */
typedef bool (*nvtxa__before_fn)(const void *owner, size_t item, const void *sought);
size_t nvtxa__search(size_t count, size_t near, nvtxa__before_fn comes_before, const void *owner,
                     const void *sought);

/* For qsort() and bsearch() of int64_t. */
int nvtxa__compare_int64(const void *a, const void *b);

/* Blocks of memory that are freed together. */
typedef struct nvtxa__arena {
  struct nvtxa__arena_block *head;
} nvtxa__arena;

void *nvtxa__arena_alloc(nvtxa__arena *arena, size_t size); /* aligned for any type; or NULL */
char *nvtxa__arena_copy(nvtxa__arena *arena, const char *data, size_t length); /* adds a NUL */
void nvtxa__arena_free(nvtxa__arena *arena);

/* ---- columns of integers in little room (packed.c) ----
 *
 * Made from the first value to the last, finished, then only read. */

enum { NVTXA__PACKED_ROWS = 256 }; /* of a block */

typedef struct nvtxa__packed_block {
  uint64_t lowest;
  uint64_t mask;
  const unsigned char *bytes; /* little-endian distances from the lowest, `width` bytes each */
  size_t width;
} nvtxa__packed_block;

typedef struct nvtxa__packed {
  size_t count;
  nvtxa__packed_block *blocks;
  size_t block_capacity;
  int64_t *open; /* the block in the making */
  struct nvtxa__pool *pool;
} nvtxa__packed;

/* Let columns that have no values yet take their memory from one place, which is given back when
 * the last of them is freed. Columns for which this is not called have a place each. 0 or -1. */
int nvtxa__packed_together(nvtxa__packed *const columns[], size_t count);

int nvtxa__packed_add_slowly(nvtxa__packed *column, int64_t value);

/* Add a value behind the others. 0 or -1. */
static inline int nvtxa__packed_add(nvtxa__packed *column, int64_t value) {
  size_t place = column->count % NVTXA__PACKED_ROWS;
  if (column->open == NULL || place == NVTXA__PACKED_ROWS - 1) {
    return nvtxa__packed_add_slowly(column, value);
  }
  column->open[place] = value;
  column->count++;
  return 0;
}

/* All values are there; none is added any more. 0 or -1. */
int nvtxa__packed_finish(nvtxa__packed *column);
void nvtxa__packed_free(nvtxa__packed *column);

/* Make a column of the values that `from` has in `count` of its rows. 0 or -1. */
int nvtxa__packed_pick(nvtxa__packed *column, const nvtxa__packed *from, const uint32_t *rows,
                       size_t count);

/* A value of a finished column. */
static inline int64_t nvtxa__packed_get(const nvtxa__packed *column, size_t row) {
  const nvtxa__packed_block *block = &column->blocks[row / NVTXA__PACKED_ROWS];
  uint64_t distance;
  memcpy(&distance, block->bytes + row % NVTXA__PACKED_ROWS * block->width, sizeof distance);
  return (int64_t)(block->lowest + (le64toh(distance) & block->mask));
}

/* ---- items in order (order.c) ---- */

typedef int (*nvtxa__compare_fn)(const void *a, const void *b, void *user);

/* Sort items, which are indexes of `keys`: by key, those of one key by `compare`; without one they
 * stay as they stand. 0 or -1. */
int nvtxa__sort_by_key(uint32_t *items, size_t count, const nvtxa__packed *keys,
                       nvtxa__compare_fn compare, void *user);

/* How many of the sorted keys are below `key`. */
size_t nvtxa__count_below(const int64_t *sorted, size_t count, int64_t key);

/* An order of items: NULL where they are sorted as they stand. Else free() is due. */
static inline uint32_t nvtxa__ordered(const uint32_t *order, size_t i) {
  return order == NULL ? (uint32_t)i : order[i];
}

/* Sort items 0 to count - 1 likewise. 0 or -1; *ret_order is to be freed whatever comes of it. */
int nvtxa__order_make(uint32_t **ret_order, size_t count, const nvtxa__packed *keys,
                      nvtxa__compare_fn compare, void *user);

/* Items of several threads, thread by thread. */
typedef struct nvtxa__shares {
  uint32_t *items; /* those of thread t from first[t] on, before first[t + 1] */
  size_t *first;
} nvtxa__shares;

/* Deal the items of those threads that are wanted out, each thread's in the order given. 0 or -1;
 * nvtxa__shares_free() is due whatever comes of it. */
int nvtxa__shares_make(nvtxa__shares *shares, size_t count, const uint32_t *order,
                       const nvtxa__packed *thread, size_t thread_count, const bool *wanted);

/* The same of items 0 to count - 1, each thread's by key. */
int nvtxa__shares_sort(nvtxa__shares *shares, size_t count, const nvtxa__packed *keys,
                       const nvtxa__packed *thread, size_t thread_count, const bool *wanted);
void nvtxa__shares_free(nvtxa__shares *shares);

/* ---- values by rank (select.c) ---- */

/* A percentile of `count` > 0 values, which are reordered: the value at rank
 * (count - 1) * percent / 100, from 0, or between the two next to that (Hyndman and Fan's
 * definition 7). *first is 0 at first and then moves on: later percentiles must not be lower. */
double nvtxa__percentile(int64_t *values, size_t count, size_t *first, unsigned percent);

/* A growing text. `data` is NUL-terminated once anything was added. */
typedef struct nvtxa__buffer {
  char *data;
  size_t length;
  size_t capacity;
} nvtxa__buffer;

int nvtxa__buffer_add(nvtxa__buffer *buffer, const char *data, size_t length);
int nvtxa__buffer_printf(nvtxa__buffer *buffer, const char *format, ...) NVTXA__PRINTF(2, 3);
void nvtxa__buffer_free(nvtxa__buffer *buffer);

/* ---- tables (table.c): numbers found by the hash of what they stand for ---- */

#define NVTXA__NO_ITEM UINT32_MAX

typedef struct nvtxa__table {
  uint32_t *slots; /* item + 1; 0 is empty */
  size_t slot_count;
} nvtxa__table;

typedef uint64_t (*nvtxa__table_hash_fn)(const void *owner, uint32_t item);

int nvtxa__table_grow(nvtxa__table *table, size_t items, nvtxa__table_hash_fn hash,
                      const void *owner);

/* Make room for `items` items in all. 0 or -1. */
static inline int nvtxa__table_reserve(nvtxa__table *table, size_t items, nvtxa__table_hash_fn hash,
                                       const void *owner) {
  return items * 2 <= table->slot_count ? 0 : nvtxa__table_grow(table, items, hash, owner);
}

void nvtxa__table_free(nvtxa__table *table);

/* The first item that may have this hash, and then the next ones, until NVTXA__NO_ITEM: *slot is
 * then where an item with this hash belongs. The table must have room. */
static inline uint32_t nvtxa__table_first(const nvtxa__table *table, uint64_t hash, size_t *slot) {
  *slot = hash & (table->slot_count - 1);
  return table->slots[*slot] - 1;
}

static inline uint32_t nvtxa__table_next(const nvtxa__table *table, size_t *slot) {
  *slot = (*slot + 1) & (table->slot_count - 1);
  return table->slots[*slot] - 1;
}

static inline void nvtxa__table_put(nvtxa__table *table, size_t slot, uint32_t item) {
  table->slots[slot] = item + 1;
}

/* ---- interning (intern.c): equal bytes get equal ids, from 0 in the order of first sight ---- */

typedef struct nvtxa__intern {
  nvtxa_text *texts; /* by id */
  uint64_t *hashes;  /* by id */
  size_t count;
  size_t capacity;
  nvtxa__table table; /* of ids */
  nvtxa__arena arena;
} nvtxa__intern;

int nvtxa__intern_add(nvtxa__intern *intern, const char *data, size_t length, uint32_t *ret_id);
void nvtxa__intern_free(nvtxa__intern *intern);

/* A 64-bit hash for tables of the library's own, never written anywhere; and one for two small
 * numbers. */
uint64_t nvtxa__hash(const void *data, size_t length);

static inline uint64_t nvtxa__hash_pair(uint32_t a, uint32_t b) {
  /* The finalizer of SplitMix64 (Steele, Lea, Flood 2014). */
  uint64_t h = (uint64_t)a << 32 | b;
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
  h = (h ^ h >> 27) * 0x94D049BB133111EBu;
  return h ^ h >> 31;
}

/* ---- the spread of durations (spread.c) ---- */

__extension__ typedef unsigned __int128 nvtxa__wide;

/* Exact integers as long as they fit: long durations that differ little keep their digits. */
typedef struct nvtxa__spread {
  int64_t count;
  int64_t total_ns;
  int64_t mean_ns;     /* rounded down */
  nvtxa__wide squares; /* sum of the squared distances from it */
  double rough;        /* the same */
  bool exact;          /* whether `squares` holds */
} nvtxa__spread;

/* Begin with how many durations there will be and what they sum up to; then add each, in any order;
 * then read their sample standard deviation, 0 for less than two. */
void nvtxa__spread_begin(nvtxa__spread *spread, int64_t count, int64_t total_ns);
void nvtxa__spread_add(nvtxa__spread *spread, int64_t duration_ns);
double nvtxa__spread_deviation(const nvtxa__spread *spread);

/* ---- files (file.c) ---- */

/* Gets pieces of a file's content. 0 or an errno. */
typedef int (*nvtxa__write_fn)(void *user, const char *data, size_t length);

/* Write a file by a function that writes through (sink, sink_user), `sync` it and rename it over
 * `path`, relative to `directory` (an open directory, or AT_FDCWD). On failure nothing is left and
 * an old file stays. `produce` returns a status and its own error. */
typedef nvtxa_status (*nvtxa__produce_fn)(void *user, nvtxa__write_fn sink, void *sink_user,
                                          nvtxa_error **reterr);
nvtxa_status nvtxa__file_replace(int directory, const char *path, const char *shown_path, bool sync,
                                 nvtxa__produce_fn produce, void *user, nvtxa_error **reterr);

/* Write a new file the same way, for its maker alone: not synced, and left as it is on failure. */
nvtxa_status nvtxa__file_create(int directory, const char *path, const char *shown_path,
                                nvtxa__produce_fn produce, void *user, nvtxa_error **reterr);

/* Read a whole regular file of at most `limit` bytes, NUL-terminated, into *ret_data (malloc). */
nvtxa_status nvtxa__file_read(int directory, const char *path, const char *shown_path, size_t limit,
                              char **ret_data, size_t *ret_length, nvtxa_error **reterr);

/* Open a regular file for reading: never a directory, FIFO or device, and never blocking. */
nvtxa_status nvtxa__file_open(int directory, const char *path, const char *shown_path, int *ret_fd,
                              nvtxa_error **reterr);

/* ---- directories (tree.c) ---- */

/* Begin to read what an open directory holds; closedir() ends it. NULL with errno. */
DIR *nvtxa__directory_read(int fd);

/* Remove what an open directory holds, but for one name (or NULL). What cannot be removed stays. */
void nvtxa__tree_empty(int fd, const char *spared);

/* Remove a directory, looked up in `parent`, with all in it. */
void nvtxa__tree_remove(int parent, const char *name);

/* ---- names of reports and files (names.c) ---- */

/* Owner of a descriptor: closes it and forgets it. -1 is allowed. errno stays. */
void nvtxa__close(int *fd);

/* "directory/name", without doubling a slash; malloc, or NULL. */
char *nvtxa__join(const char *directory, const char *name);

/* nsys renamed its reports in 2023; the new names stand for a report in everything that is said. */
enum { NVTXA__NAMING_NEW, NVTXA__NAMING_OLD, NVTXA__NAMING_COUNT };

/* Of the reports, the first are those that tables of ranges are of. nsys makes some more for an
 * analysis, where it can. */
enum {
  NVTXA__RANGE_REPORTS = NVTXA_REPORT_GPU_PROJ_TRACE + 1,
  NVTXA__EXPORTED_REPORTS = NVTXA_REPORT_CUDA_GPU_TRACE + 1
};

#define NVTXA__REPORT_FILE 64 /* room for "nsys_<report>.csv" */

const char *nvtxa__report_name(nvtxa_report report, int naming);
const char *nvtxa__report_file(char buffer[NVTXA__REPORT_FILE], nvtxa_report report, int naming);

/* ---- digest (digest.c) ---- */

#define NVTXA__SHA256_HEX 65 /* 64 digits and a NUL */
void nvtxa__sha256(const char *data, size_t length, char hex[NVTXA__SHA256_HEX]);

/* Of the rest of an open file. Checks the cancel flag as it goes. */
nvtxa_status nvtxa__sha256_fd(int fd, const char *shown_path, const nvtxa_hooks *hooks,
                              char hex[NVTXA__SHA256_HEX], nvtxa_error **reterr);

/* ---- hooks (hooks.c) ---- */

bool nvtxa__cancelled(const nvtxa_hooks *hooks);
int nvtxa__cancel_level(const nvtxa_hooks *hooks); /* the flag as it stands; 0: not cancelled */
nvtxa_status nvtxa__cancel_error(nvtxa_error **reterr);
void nvtxa__log(const nvtxa_hooks *hooks, nvtxa_log_level level, const char *format, ...)
    NVTXA__PRINTF(3, 4);
int64_t nvtxa__now_ns(void); /* monotonic */

/* Reports an activity's progress at most ten times a second. */
typedef struct nvtxa__activity {
  const nvtxa_hooks *hooks;
  const char *name;
  int64_t started_ns;
  int64_t shown_ns;
} nvtxa__activity;

void nvtxa__activity_start(nvtxa__activity *activity, const nvtxa_hooks *hooks, const char *name);
void nvtxa__activity_tick(nvtxa__activity *activity);

/* ---- tasks (task.c) ---- */

typedef struct nvtxa__task {
  void (*run)(void *user);
  void *user;
  bool started; /* on a thread of its own */
  pthread_t thread;
} nvtxa__task;

/* Begin, on a further thread if that is wanted and there can be one; else nvtxa__task_wait(), which
 * is due, does the work. Only it knows that the work is done. */
void nvtxa__task_begin(nvtxa__task *task, void (*run)(void *user), void *user, bool further_thread);
void nvtxa__task_wait(nvtxa__task *task);

/* ---- shared objects ---- */

typedef struct nvtxa__refcount {
  atomic_uint_least32_t count;
} nvtxa__refcount;

static inline void nvtxa__ref_init(nvtxa__refcount *ref) {
  atomic_init(&ref->count, 1);
}

static inline void nvtxa__ref_take(nvtxa__refcount *ref) {
  atomic_fetch_add_explicit(&ref->count, 1, memory_order_relaxed);
}

/* Whether that was the last one. */
static inline bool nvtxa__ref_drop(nvtxa__refcount *ref) {
  return atomic_fetch_sub_explicit(&ref->count, 1, memory_order_acq_rel) == 1;
}

#endif
