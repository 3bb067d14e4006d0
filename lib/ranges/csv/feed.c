/*
 * Several threads at the reports. A report is divided into parts of equal size; a thread takes a
 * part, goes on to where a line begins in it, reads records until one begins in the next part, and
 * gives the rows to the table when all parts before have given theirs.
 *
 * A line need not begin a record: names may hold line breaks. But the part before tells where its
 * last record really ended. Where the next part began elsewhere, what was read of it is thrown away
 * and it is read again from the right place; likewise where something was wrong in it, so that the
 * error is the first in the report and knows its line. So the rows are those that one thread would
 * read, whatever the division.
 */
#include <sched.h>
#include <stdlib.h>

#include "report-internal.h"

enum {
  PART_SIZE = 1 << 20,     /* bytes */
  MOST_THREADS = 8,        /* unless the caller says otherwise */
  LATELY = 64,             /* texts that are found without a hash */
  MANY_TEXTS = 1 << 14,    /* a thread forgets the texts that it knows when they are so many */
  LONGEST_AHEAD = 4 << 20, /* bytes; a longer record is read in its part's turn only */
};

/* What was read of a part. Its rows are with the thread that read it. */
typedef struct part {
  uint64_t begin; /* where its first record begins */
  uint64_t end;   /* where its last one ends */
  uint64_t lines;
  size_t count;
  size_t outside_count;
  bool failed;
} part;

typedef struct outside_row {
  nvtxa__unattributed work;
  uint64_t line; /* from the part's first, from 0 */
} outside_row;

/* What is shared of a feed. */
typedef struct progress {
  nvtxa__feed *feed;
  size_t part_count;
  /* Under the lock: */
  size_t taken; /* parts that threads have taken */
  size_t given; /* parts whose rows are in the table */
  bool stopped;
  /* The thread's whose turn it is: */
  uint64_t expected; /* where the next record begins */
  uint64_t line;
} progress;

typedef struct crew {
  progress *feeds;
  size_t feed_count;
  size_t part_size;
  nvtxa__activity *activity;
  pthread_mutex_t lock;
  pthread_cond_t turn; /* a part was given, or a feed stopped */
} crew;

/* The numbers that the table has for a text that a thread knows; NVTXA__NO_ITEM: none yet. */
typedef struct translation {
  uint32_t name;
  uint32_t style;
  bool replaced; /* bytes of the name were */
} translation;

typedef struct worker {
  crew *shared;
  size_t number;
  nvtxa__task task;
  nvtxa__cursor cursor;
  const nvtxa__feed *feed; /* that `texts` are of */
  nvtxa__intern texts;
  uint32_t lately[LATELY];   /* numbers of texts; any that is not one counts for nothing */
  translation *translations; /* by number of a text */
  size_t translation_count;
  size_t translation_capacity;
  /* Of the part in hand: its rows, by the thread's numbers for texts, and those for work outside
   * every range. */
  nvtxa__builder_row *rows;
  size_t row_capacity;
  outside_row *outside;
  size_t outside_capacity;
} worker;

/* ---- reading a part ---- */

/* The number that the thread has for a text. */
static int number_text(worker *w, nvtxa_text text, uint32_t *ret) {
  size_t slot = 0;
  if (text.length > 0) {
    slot = (text.length * 31 + (unsigned char)text.data[text.length - 1] * 7U +
            (unsigned char)text.data[text.length / 2]) %
           LATELY;
  }
  uint32_t number = w->lately[slot];
  if (number >= w->texts.count || !nvtxa__text_equal(w->texts.texts[number], text)) {
    if (nvtxa__intern_add(&w->texts, text.data, text.length, &number) != 0) {
      return -1;
    }
    w->lately[slot] = number;
  }
  *ret = number;
  return 0;
}

/* Take what was said; its row is the next of the part's. */
static int add_row(worker *w, part *p, const nvtxa__said *said) {
  if (said->unattributed) {
    if (nvtxa__reserve(&w->outside, &w->outside_capacity, p->outside_count + 1,
                       sizeof *w->outside) != 0) {
      return -1;
    }
    w->outside[p->outside_count++] = (outside_row){said->outside, p->lines};
    return 0;
  }
  if (number_text(w, said->name, &said->row->name) != 0 ||
      (said->style.data != NULL && number_text(w, said->style, &said->row->style) != 0)) {
    return -1;
  }
  p->count++;
  return 0;
}

/* Know the texts of this feed, and not too many of them. */
static void forget(worker *w, const nvtxa__feed *feed) {
  if (w->feed != feed || w->texts.count > MANY_TEXTS) {
    nvtxa__intern_free(&w->texts);
    w->translation_count = 0;
    w->feed = feed;
  }
}

/* The records from where the cursor is on, up to the first that begins at `limit` or later. */
static nvtxa_status read_part(worker *w, uint64_t limit, part *p, nvtxa_error **reterr) {
  nvtxa__cursor *cursor = &w->cursor;
  uint64_t first_line = cursor->line;
  *p = (part){.begin = nvtxa__cursor_offset(cursor)};
  while (nvtxa__cursor_offset(cursor) < limit) {
    bool done;
    nvtxa__said said;
    nvtxa_status status = nvtxa__cursor_read(cursor, &done, reterr);
    if (status == NVTXA_OK && done) {
      break;
    }
    p->lines = cursor->line - first_line;
    if (status == NVTXA_OK &&
        nvtxa__reserve(&w->rows, &w->row_capacity, p->count + 1, sizeof *w->rows) != 0) {
      status = nvtxa__out_of_memory(reterr);
    }
    if (status == NVTXA_OK) {
      said.row = &w->rows[p->count];
      status = nvtxa__row_read(cursor, &said, reterr);
    }
    if (status == NVTXA_OK && add_row(w, p, &said) != 0) {
      status = nvtxa__out_of_memory(reterr);
    }
    if (status != NVTXA_OK) {
      return status;
    }
    nvtxa__cursor_advance(cursor);
  }
  p->end = nvtxa__cursor_offset(cursor);
  p->lines = cursor->line - first_line;
  return NVTXA_OK;
}

/* Where a part begins, by its number alone: somewhere in a record. */
static uint64_t part_begin(const crew *shared, const progress *from, size_t number) {
  return from->feed->report.begin + number * (uint64_t)shared->part_size;
}

/* A part whose true beginning is not known yet: it is taken to be where a line begins. */
static void read_ahead(worker *w, const progress *from, size_t number, part *p) {
  const nvtxa__report *report = &from->feed->report;
  uint64_t begin = part_begin(w->shared, from, number);
  nvtxa_status status = NVTXA_OK;
  if (number == 0) {
    nvtxa__cursor_go(&w->cursor, report, begin, 0, LONGEST_AHEAD);
  } else {
    nvtxa__cursor_go(&w->cursor, report, begin - 1, 0, LONGEST_AHEAD);
    status = nvtxa__cursor_to_line(&w->cursor, NULL);
  }
  if (status == NVTXA_OK) {
    status = read_part(w, part_begin(w->shared, from, number + 1), p, NULL);
  }
  p->failed = status != NVTXA_OK;
}

/* ---- giving the rows ---- */

/* A translation, to be made, for each text that is known. */
static int add_translations(worker *w) {
  if (nvtxa__reserve(&w->translations, &w->translation_capacity, w->texts.count,
                     sizeof *w->translations) != 0) {
    return -1;
  }
  while (w->translation_count < w->texts.count) {
    w->translations[w->translation_count++] = (translation){NVTXA__NO_ITEM, NVTXA__NO_ITEM, false};
  }
  return 0;
}

static int translate(worker *w, nvtxa_ranges_builder *builder, bool styled,
                     nvtxa__builder_row *row) {
  translation *name = &w->translations[row->name];
  translation *style = &w->translations[row->style];
  if (name->name == NVTXA__NO_ITEM &&
      nvtxa__builder_name(builder, w->texts.texts[row->name], &name->name, &name->replaced) != 0) {
    return -1;
  }
  if (styled && style->style == NVTXA__NO_ITEM &&
      nvtxa__builder_style(builder, w->texts.texts[row->style], &style->style) != 0) {
    return -1;
  }
  row->name = name->name;
  row->replaced = name->replaced;
  row->style = styled ? style->style : 0;
  return 0;
}

static nvtxa_status sum_overflows(const nvtxa__feed *feed, const outside_row *row, uint64_t line,
                                  nvtxa_error **reterr) {
  return nvtxa__fail(reterr, NVTXA_ERROR_REPORT_VALUE,
                     &(nvtxa__where){
                         .file = feed->report.shown,
                         .line = line + row->line,
                         .field = feed->report.columns[NVTXA__GPU_OPERATIONS].name,
                         .hint = nvtxa__damaged,
                     },
                     "'%lld' makes the sum pass 64 bits", (long long)row->work.operations);
}

static nvtxa_status add_rows(worker *w, const progress *from, const part *p, nvtxa_error **reterr) {
  const nvtxa__feed *feed = from->feed;
  bool styled = feed->report.kind == NVTXA_REPORT_GPU_PROJ_TRACE;
  nvtxa_status status = NVTXA_OK;
  if (add_translations(w) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < p->count && status == NVTXA_OK; i++) {
    status = translate(w, feed->builder, styled, &w->rows[i]) == 0
                 ? nvtxa__builder_add_row(feed->builder, &w->rows[i], reterr)
                 : nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < p->outside_count && status == NVTXA_OK; i++) {
    if (!nvtxa__builder_add_unattributed(feed->builder, &w->outside[i].work)) {
      status = sum_overflows(feed, &w->outside[i], from->line, reterr);
    }
  }
  return status;
}

/* It is this part's turn, and all before it are in the table. */
static nvtxa_status give(worker *w, progress *to, size_t number, part *p, nvtxa_error **reterr) {
  uint64_t limit = part_begin(w->shared, to, number + 1);
  if (to->expected >= limit) {
    return NVTXA_OK; /* a record of the part before covers all of this one */
  }
  nvtxa_status status = NVTXA_OK;
  nvtxa_error *error = NULL;
  if (p->failed || p->begin != to->expected) {
    nvtxa__cursor_go(&w->cursor, &to->feed->report, to->expected, to->line, NVTXA__LONGEST_RECORD);
    status = read_part(w, limit, p, &error);
  }
  /* Where something is wrong in a row, those before it may still be wrong in sum. */
  nvtxa_status added = add_rows(w, to, p, reterr);
  to->expected = p->end;
  to->line += p->lines;
  if (added == NVTXA_OK && status != NVTXA_OK) {
    return nvtxa__pass_on(reterr, status, error);
  }
  nvtxa_error_free(error);
  return added;
}

/* ---- the crew ---- */

/* The next part to read: of the thread's own report first, then of the others. */
static progress *take(worker *w, size_t *ret_number) {
  crew *shared = w->shared;
  progress *found = NULL;
  pthread_mutex_lock(&shared->lock);
  for (size_t i = 0; i < shared->feed_count && found == NULL; i++) {
    progress *next = &shared->feeds[(w->number + i) % shared->feed_count];
    if (!next->stopped && next->taken < next->part_count) {
      *ret_number = next->taken++;
      found = next;
    }
  }
  pthread_mutex_unlock(&shared->lock);
  return found;
}

/* False where the feed was stopped meanwhile. */
static bool await_turn(crew *shared, const progress *feed, size_t number) {
  pthread_mutex_lock(&shared->lock);
  while (!feed->stopped && feed->given < number) {
    pthread_cond_wait(&shared->turn, &shared->lock);
  }
  bool go_on = !feed->stopped;
  pthread_mutex_unlock(&shared->lock);
  return go_on;
}

/* Of the feeds that fail, the first is the one that counts: none behind it need go on. */
static void end_turn(crew *shared, progress *feed, nvtxa_status status) {
  pthread_mutex_lock(&shared->lock);
  feed->given++;
  while (status != NVTXA_OK && feed < shared->feeds + shared->feed_count) {
    feed->stopped = true;
    feed++;
  }
  pthread_cond_broadcast(&shared->turn);
  pthread_mutex_unlock(&shared->lock);
}

static void work(void *user) {
  worker *w = user;
  progress *from;
  size_t number;
  while ((from = take(w, &number)) != NULL) {
    nvtxa__feed *feed = from->feed;
    part p;
    forget(w, feed);
    read_ahead(w, from, number, &p);
    if (!await_turn(w->shared, from, number)) {
      continue;
    }
    feed->status = nvtxa__cancelled(feed->report.hooks) ? nvtxa__cancel_error(&feed->error)
                                                        : give(w, from, number, &p, &feed->error);
    nvtxa_status status = feed->status;
    bool last = number + 1 == from->part_count;
    end_turn(w->shared, from, status);
    if (last && status == NVTXA_OK) {
      feed->status = nvtxa_ranges_builder_finish(feed->builder, &feed->ranges, &feed->error);
    }
    if (w->number == 0) {
      nvtxa__activity_tick(w->shared->activity);
    }
  }
}

static void worker_free(worker *w) {
  nvtxa__cursor_free(&w->cursor);
  nvtxa__intern_free(&w->texts);
  free(w->translations);
  free(w->rows);
  free(w->outside);
}

/* As many threads as there are processors to run on; one where starting more takes longer. */
static size_t default_threads(uint64_t bytes) {
  cpu_set_t set;
  if (bytes < PART_SIZE) {
    return 1;
  }
  /* A set of this size does not do for very many processors. */
  size_t count =
      sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : MOST_THREADS;
  return count < MOST_THREADS ? count : MOST_THREADS;
}

/* Divide the reports. Returns how many parts there are. */
static size_t divide(crew *shared, nvtxa__feed *feeds, uint64_t *ret_bytes) {
  size_t part_count = 0;
  *ret_bytes = 0;
  for (size_t i = 0; i < shared->feed_count; i++) {
    uint64_t bytes = feeds[i].report.size - feeds[i].report.begin;
    shared->feeds[i] = (progress){
        .feed = &feeds[i],
        .part_count = (size_t)(bytes / shared->part_size) + 1,
        .expected = feeds[i].report.begin,
        .line = feeds[i].report.line,
    };
    part_count += shared->feeds[i].part_count;
    *ret_bytes += bytes;
  }
  return part_count;
}

/* `count` threads, this one among them. */
static int put_to_work(crew *shared, size_t count) {
  worker *workers = calloc(count, sizeof *workers);
  if (workers == NULL) {
    return -1;
  }
  for (size_t i = 0; i < count; i++) {
    workers[i] = (worker){.shared = shared, .number = i};
    nvtxa__cursor_init(&workers[i].cursor);
  }
  for (size_t i = 1; i < count; i++) {
    nvtxa__task_begin(&workers[i].task, work, &workers[i], true);
  }
  work(&workers[0]);
  for (size_t i = 1; i < count; i++) {
    nvtxa__task_wait(&workers[i].task);
  }
  for (size_t i = 0; i < count; i++) {
    worker_free(&workers[i]);
  }
  free(workers);
  return 0;
}

nvtxa_status nvtxa__feeds_read(nvtxa__feed *feeds, size_t count, nvtxa__division division,
                               nvtxa__activity *activity, nvtxa_error **reterr) {
  crew shared = {
      .feeds = calloc(count, sizeof *shared.feeds),
      .feed_count = count,
      .part_size = division.part_size == 0 ? PART_SIZE : division.part_size,
      .activity = activity,
      .lock = PTHREAD_MUTEX_INITIALIZER,
      .turn = PTHREAD_COND_INITIALIZER,
  };
  if (shared.feeds == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  uint64_t bytes;
  size_t most = divide(&shared, feeds, &bytes);
  size_t threads = division.thread_count == 0 ? default_threads(bytes) : division.thread_count;
  int result = put_to_work(&shared, threads < most ? threads : most);
  free(shared.feeds);
  pthread_mutex_destroy(&shared.lock);
  pthread_cond_destroy(&shared.turn);
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}
