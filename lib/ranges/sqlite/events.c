/*
 * NVTX_EVENTS: the ranges with their names. A name is the text that `textId` refers to or, where
 * there is none, `text`, below the name of the range's domain. What makes up a name is kept once;
 * the name itself is put together when all rows were seen, since the rows that name the domains and
 * the table of strings may come later.
 */
#include <stdlib.h>
#include <string.h>

#include "sqlite-internal.h"

enum event_type {
  PUSH_POP = 59,
  START_END = 60,
  IMPORTED_PUSH_POP = 70, /* from an NVTXT file */
  IMPORTED_START_END = 71,
  DOMAIN_CREATE = 75,
};

enum column { START, END, TYPE, TEXT, TEXT_ID, THREAD, END_THREAD, DOMAIN_ID };

static const nvtxa__column columns[] = {
    [START] = {"start", false},
    [END] = {"end", false},
    [TYPE] = {"eventType", false},
    [TEXT] = {"text", true},
    [TEXT_ID] = {"textId", true},
    [THREAD] = {"globalTid", false},
    [END_THREAD] = {"endGlobalTid", true},
    [DOMAIN_ID] = {"domainId", true},
};

/* Where a name's text comes from. */
typedef struct name_source {
  uint32_t domain; /* in `domains` */
  uint16_t has_id;
  uint16_t has_text; /* `text` was not NULL */
  int64_t id;        /* in StringIds; counts with has_id */
} name_source;

/* A domain of a process, and the event that names it. */
typedef struct domain {
  bool named;
  int64_t start_ns; /* of that event: the first counts */
  nvtxa_text text;
  bool has_id;
  int64_t id;
} domain;

typedef struct reading {
  nvtxa__events *events;
  nvtxa__intern domain_keys; /* owner and domain id: number in `domains` */
  domain *domains;
  size_t domain_capacity;
  int64_t last_key[2];
  uint32_t last_domain;
  nvtxa__intern sources; /* a name_source, then the bytes of `text` */
  nvtxa__buffer source;  /* the one in hand */
  nvtxa__arena arena;    /* texts of the domains */
  nvtxa__strings strings;
} reading;

/* ---- rows ---- */

void nvtxa__events_free(nvtxa__events *events) {
  nvtxa__packed_free(&events->row_id);
  nvtxa__packed_free(&events->start_ns);
  nvtxa__packed_free(&events->duration_ns);
  nvtxa__packed_free(&events->thread);
  nvtxa__packed_free(&events->name);
  nvtxa__packed_free(&events->flags);
  nvtxa__numbering_free(&events->threads);
  free(events->names);
  free(events->name_flags);
  nvtxa__arena_free(&events->arena);
  *events = (nvtxa__events){0};
}

/* The number of a thread's domain. */
static bool domain_of(reading *r, nvtxa__row *row, int64_t global_tid, uint32_t *ret) {
  bool has;
  int64_t key[2] = {NVTXA__DOMAIN_OWNER(global_tid), 0};
  if (!nvtxa__row_integer_or_null(row, DOMAIN_ID, &has, &key[1])) {
    return false;
  }
  if (r->domain_keys.count > 0 && key[0] == r->last_key[0] && key[1] == r->last_key[1]) {
    *ret = r->last_domain;
    return true;
  }
  if (nvtxa__intern_add(&r->domain_keys, (const char *)key, sizeof key, ret) != 0) {
    return nvtxa__row_out_of_memory(row);
  }
  size_t known = r->domain_capacity;
  if (nvtxa__reserve(&r->domains, &r->domain_capacity, r->domain_keys.count, sizeof *r->domains) !=
      0) {
    return nvtxa__row_out_of_memory(row);
  }
  memset(r->domains + known, 0, (r->domain_capacity - known) * sizeof *r->domains);
  memcpy(r->last_key, key, sizeof key);
  r->last_domain = *ret;
  return true;
}

static bool take_domain(reading *r, nvtxa__row *row, int64_t global_tid) {
  uint32_t number;
  domain named = {.named = true};
  if (!nvtxa__row_time(row, START, &named.start_ns) ||
      !nvtxa__row_integer_or_null(row, TEXT_ID, &named.has_id, &named.id) ||
      !domain_of(r, row, global_tid, &number)) {
    return false;
  }
  domain *known = &r->domains[number];
  if (known->named && known->start_ns <= named.start_ns) {
    return true;
  }
  nvtxa_text text = nvtxa__row_text(row, TEXT);
  named.text.length = text.length;
  named.text.data = text.data == NULL ? NULL : nvtxa__arena_copy(&r->arena, text.data, text.length);
  *known = named;
  return text.data == NULL || named.text.data != NULL || nvtxa__row_out_of_memory(row);
}

static bool take_name(reading *r, nvtxa__row *row, int64_t global_tid, uint32_t *ret) {
  name_source source = {0, 0, 0, 0};
  bool has_id;
  if (!nvtxa__row_integer_or_null(row, TEXT_ID, &has_id, &source.id) ||
      !domain_of(r, row, global_tid, &source.domain)) {
    return false;
  }
  source.has_id = has_id;
  nvtxa_text text = nvtxa__row_text(row, TEXT);
  source.has_text = text.data != NULL;
  r->source.length = 0;
  return (nvtxa__buffer_add(&r->source, (const char *)&source, sizeof source) == 0 &&
          nvtxa__buffer_add(&r->source, text.data == NULL ? "" : text.data, text.length) == 0 &&
          nvtxa__intern_add(&r->sources, r->source.data, r->source.length, ret) == 0) ||
         nvtxa__row_out_of_memory(row);
}

/* What a range is but for its name and thread. */
typedef struct times {
  int64_t start_ns;
  int64_t duration_ns;
  uint8_t flags;
} times;

static bool take_times(nvtxa__events *events, nvtxa__row *row, bool push_pop, times *ret) {
  int64_t end_ns = 0;
  bool ended;
  *ret = (times){.flags = push_pop ? 0 : NVTXA__START_END};
  if (!nvtxa__row_time(row, START, &ret->start_ns) ||
      !nvtxa__row_time_or_null(row, END, &ended, &end_ns)) {
    return false;
  }
  int64_t last_ns = ret->start_ns;
  if (!ended) {
    ret->flags |= NVTXA__OPEN;
  } else if (end_ns < last_ns) {
    ret->flags |= NVTXA__BACKWARD;
  } else {
    ret->duration_ns = end_ns - last_ns;
    last_ns = end_ns;
  }
  events->last_ns = last_ns > events->last_ns ? last_ns : events->last_ns;
  if (push_pop) {
    events->last_push_ns = last_ns > events->last_push_ns ? last_ns : events->last_push_ns;
  }
  return true;
}

static bool take_range(reading *r, nvtxa__row *row, int64_t global_tid, bool push_pop) {
  nvtxa__events *events = r->events;
  times when;
  uint32_t name;
  uint32_t thread;
  if (events->count == NVTXA__MAX_ROWS) {
    return nvtxa__row_limit(row, NVTXA__MAX_ROWS);
  }
  if (!take_times(events, row, push_pop, &when) || !take_name(r, row, global_tid, &name)) {
    return false;
  }
  int result = nvtxa__number(&events->threads, global_tid, &thread);
  result |= result == 0 ? nvtxa__packed_add(&events->thread, thread) : 0;
  result |= nvtxa__packed_add(&events->row_id, nvtxa__row_id(row));
  result |= nvtxa__packed_add(&events->start_ns, when.start_ns);
  result |= nvtxa__packed_add(&events->duration_ns, when.duration_ns);
  result |= nvtxa__packed_add(&events->name, name);
  result |= nvtxa__packed_add(&events->flags, when.flags);
  events->open_count += (when.flags & NVTXA__OPEN) != 0;
  events->start_end_count += !push_pop;
  events->count++;
  return result == 0 || nvtxa__row_out_of_memory(row);
}

static int finish(nvtxa__events *events) {
  int result = nvtxa__packed_finish(&events->row_id);
  result |= nvtxa__packed_finish(&events->start_ns);
  result |= nvtxa__packed_finish(&events->duration_ns);
  result |= nvtxa__packed_finish(&events->thread);
  result |= nvtxa__packed_finish(&events->name);
  return result | nvtxa__packed_finish(&events->flags);
}

static bool take(void *user, nvtxa__row *row) {
  reading *r = user;
  int64_t type;
  int64_t global_tid;
  int64_t end_tid;
  bool has_end_tid = false;
  if (!nvtxa__row_integer(row, TYPE, &type)) {
    return false;
  }
  bool push_pop = type == PUSH_POP || type == IMPORTED_PUSH_POP;
  bool start_end = type == START_END || type == IMPORTED_START_END;
  if (!push_pop && !start_end && type != DOMAIN_CREATE) {
    return true;
  }
  if (!nvtxa__row_integer(row, THREAD, &global_tid)) {
    return false;
  }
  if (type == DOMAIN_CREATE) {
    return take_domain(r, row, global_tid);
  }
  if (start_end && !nvtxa__row_integer_or_null(row, END_THREAD, &has_end_tid, &end_tid)) {
    return false;
  }
  /* A range that two threads share stands on neither's time line. */
  return (has_end_tid && end_tid != global_tid) || take_range(r, row, global_tid, push_pop);
}

/* ---- strings ---- */

static name_source source_of(const reading *r, size_t name) {
  name_source source;
  memcpy(&source, r->sources.texts[name].data, sizeof source);
  return source;
}

/* The strings that are needed. */
static nvtxa_status read_strings(reading *r, nvtxa__database *database, nvtxa_error **reterr) {
  size_t count = 0;
  int64_t *ids = nvtxa__alloc(r->sources.count + r->domain_keys.count + 1, sizeof *ids);
  if (ids == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < r->sources.count; i++) {
    name_source source = source_of(r, i);
    ids[count] = source.id;
    count += source.has_id;
  }
  for (size_t i = 0; i < r->domain_keys.count; i++) {
    ids[count] = r->domains[i].id;
    count += r->domains[i].has_id;
  }
  nvtxa__strings_begin(&r->strings, ids, count);
  return nvtxa__strings_read(&r->strings, database, "StringIds", "value", reterr);
}

/* ---- names ---- */

/* "domain:text"; the default domain has no name. A range without a text has none at all. */
static int put_together(reading *r, size_t name, nvtxa__buffer *whole) {
  name_source source = source_of(r, name);
  const domain *owner = &r->domains[source.domain];
  nvtxa_text bytes = r->sources.texts[name];
  nvtxa_text text = {bytes.data + sizeof source, bytes.length - sizeof source};
  nvtxa_text prefix = owner->text;
  if (owner->named && prefix.data == NULL && owner->has_id) {
    prefix = nvtxa__strings_find(&r->strings, owner->id);
  }
  if (source.has_id) {
    nvtxa_text known = nvtxa__strings_find(&r->strings, source.id);
    r->events->name_flags[name] = known.data == NULL ? NVTXA__NAME_MISSING : 0;
    source.has_text = source.has_text || known.data != NULL;
    text = known.data == NULL ? text : known;
  }
  whole->length = 0;
  if (!source.has_text) {
    return nvtxa__buffer_add(whole, "", 0);
  }
  return nvtxa__buffer_add(whole, prefix.data == NULL ? "" : prefix.data, prefix.length) == 0 &&
                 nvtxa__buffer_add(whole, ":", 1) == 0 &&
                 nvtxa__buffer_add(whole, text.data, text.length) == 0
             ? 0
             : -1;
}

static int keep_name(nvtxa__events *events, size_t name, nvtxa_text whole) {
  bool valid = nvtxa__utf8_valid(whole.data, whole.length) == whole.length;
  char *kept = nvtxa__arena_alloc(&events->arena, whole.length * (valid ? 1 : 3) + 1);
  if (kept == NULL) {
    return -1;
  }
  if (valid) {
    memcpy(kept, whole.data, whole.length);
  } else {
    whole.length = nvtxa__utf8_replace(kept, whole.data, whole.length);
    events->name_flags[name] |= NVTXA__NAME_REPLACED;
  }
  kept[whole.length] = '\0';
  events->names[name] = (nvtxa_text){kept, whole.length};
  return 0;
}

static int make_names(reading *r) {
  nvtxa__events *events = r->events;
  nvtxa__buffer whole = {0};
  int result = 0;
  events->name_count = r->sources.count;
  events->names = nvtxa__alloc_zero(r->sources.count + 1, sizeof *events->names);
  events->name_flags = nvtxa__alloc_zero(r->sources.count + 1, sizeof *events->name_flags);
  if (events->names == NULL || events->name_flags == NULL) {
    return -1;
  }
  for (size_t i = 0; i < r->sources.count && result == 0; i++) {
    result = put_together(r, i, &whole);
    if (result == 0) {
      result = keep_name(events, i, (nvtxa_text){whole.data, whole.length});
    }
  }
  nvtxa__buffer_free(&whole);
  return result;
}

/* ---- the table ---- */

nvtxa_status nvtxa__events_read(nvtxa__events *events, nvtxa__database *database, bool needed,
                                nvtxa_error **reterr) {
  reading r = {.events = events};
  bool has;
  *events = (nvtxa__events){.last_push_ns = INT64_MIN, .last_ns = INT64_MIN};
  nvtxa__packed *const to_stay[] = {&events->row_id, &events->start_ns, &events->duration_ns,
                                    &events->thread};
  nvtxa__packed *const to_go[] = {&events->name, &events->flags};
  if (nvtxa__packed_together(to_stay, NVTXA__COUNT(to_stay)) != 0 ||
      nvtxa__packed_together(to_go, NVTXA__COUNT(to_go)) != 0) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_status status = nvtxa__database_has_table(database, "NVTX_EVENTS", &has, reterr);
  if (status == NVTXA_OK && !has && needed) {
    status = nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_TABLE,
                         &(nvtxa__where){.file = database->path,
                                         .hint = "Profile with `nsys profile --trace=nvtx` (and "
                                                 "cuda), and see that the program makes ranges. "
                                                 "On a busy machine nsys may lose all that a short "
                                                 "program did: then record it again."},
                         "no NVTX data in this export: it has no table NVTX_EVENTS");
  }
  if (status == NVTXA_OK && has) {
    status = nvtxa__database_scan(database, "NVTX_EVENTS", columns, NVTXA__COUNT(columns), take, &r,
                                  reterr);
  }
  if (status == NVTXA_OK) {
    status = read_strings(&r, database, reterr);
  }
  if (status == NVTXA_OK && (make_names(&r) != 0 || finish(events) != 0)) {
    status = nvtxa__out_of_memory(reterr);
  }
  nvtxa__intern_free(&r.domain_keys);
  nvtxa__intern_free(&r.sources);
  nvtxa__buffer_free(&r.source);
  nvtxa__arena_free(&r.arena);
  nvtxa__strings_free(&r.strings);
  free(r.domains);
  return status;
}
