/*
 * The connection: opened read-only, with all that a database can make SQLite execute switched off,
 * and closed against everything but reading tables.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database-internal.h"

/* Major versions of the schema that the tests read, and the two names of the table that tells. */
static const char *const known_majors[] = {"3."};
static const char *const metadata_tables[] = {"META_DATA_EXPORT", "EXPORT_META_DATA"};

/* A name longer than this has no place in a report. */
enum { LONGEST_CELL = 1 << 26, STEPS_BETWEEN_CHECKS = 200000 };

static const char again_hint[] = "Export the trace again: nsys export --type sqlite.";

static nvtxa_status damaged(const nvtxa__database *database, const char *hint, nvtxa_error **reterr,
                            const char *what) {
  return nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_DAMAGED,
                     &(nvtxa__where){.file = database->path, .hint = hint}, "%s", what);
}

nvtxa_status nvtxa__database_failed(const nvtxa__database *database, int answer,
                                    nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  const char *said = database->handle == NULL ? "" : sqlite3_errmsg(database->handle);
  switch (answer & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return NVTXA_OK;
    case SQLITE_NOMEM:
      return nvtxa__out_of_memory(reterr);
    case SQLITE_INTERRUPT:
      return nvtxa__cancel_error(reterr);
    case SQLITE_NOTADB:
      return damaged(database, "Give a file that `nsys export --type sqlite` wrote.", reterr,
                     "not an SQLite database");
    case SQLITE_CORRUPT:
      return damaged(database, again_hint, reterr,
                     "the SQLite export is damaged or not whole: is it still being written?");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return damaged(database, "Wait until whoever writes it has finished.", reterr,
                     "the SQLite export is locked: it is being written");
    case SQLITE_READONLY:
      return damaged(database, again_hint, reterr,
                     "the SQLite export was left half-written: a journal lies beside it");
    case SQLITE_TOOBIG:
      return nvtxa__fail(reterr, NVTXA_ERROR_LIMIT, &(nvtxa__where){.file = database->path},
                         "a cell of more than %d bytes, the limit", LONGEST_CELL);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return nvtxa__fail(
          reterr, NVTXA_ERROR_IO,
          &(nvtxa__where){.file = database->path, .errnum = sqlite3_system_errno(database->handle)},
          "cannot read the SQLite export");
    default:
      return nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_DAMAGED,
                         &(nvtxa__where){.file = database->path, .hint = again_hint},
                         "the SQLite export cannot be read as one: %s",
                         nvtxa__quote(quoted, said, strlen(said)));
  }
}

/* ---- opening ---- */

/* SQLite writes whole pages, and reads what a part of one lacks as zeros. The bytes are those of
 * the header that say how large a page is. */
static bool ends_within_page(const unsigned char bytes[2], off_t file_size) {
  unsigned page_size = (unsigned)bytes[0] << 8 | bytes[1];
  page_size = page_size == 1 ? 65536 : page_size;
  return page_size >= 512 && file_size % page_size != 0;
}

/* SQLite would wait for a FIFO, and make files beside a database in WAL mode. The eighteenth and
 * nineteenth byte of the header are its versions for writing and reading: 2 is WAL. */
static nvtxa_status check_header(nvtxa__database *database, nvtxa_error **reterr) {
  unsigned char header[20] = {0};
  int fd = -1;
  nvtxa_error *cause = NULL;
  nvtxa_status status = nvtxa__file_open(AT_FDCWD, database->path, database->path, &fd, &cause);
  if (status != NVTXA_OK && cause != NULL && nvtxa_error_errno(cause) == ENOENT) {
    nvtxa_error_free(cause);
    return nvtxa__fail(reterr, NVTXA_ERROR_SQLITE_MISSING, &(nvtxa__where){.file = database->path},
                       "there is no such SQLite export");
  }
  if (status != NVTXA_OK) {
    return nvtxa__pass_on(reterr, status, cause);
  }
  ssize_t length = pread(fd, header, sizeof header, 0);
  int errnum = length < 0 || fstat(fd, &database->opened) != 0 ? errno : 0;
  nvtxa__close(&fd);
  if (errnum != 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){.file = database->path, .errnum = errnum},
                       "cannot read the SQLite export");
  }
  if (length < (ssize_t)sizeof header || memcmp(header, "SQLite format 3", 16) != 0) {
    return nvtxa__database_failed(database, SQLITE_NOTADB, reterr);
  }
  if (header[18] > 1 || header[19] > 1) {
    return damaged(
        database,
        "nsys does not write it so; `sqlite3 FILE 'PRAGMA journal_mode=DELETE'` turns it "
        "back.",
        reterr, "the SQLite export is in WAL mode, which cannot be read without writing");
  }
  return ends_within_page(header + 16, database->opened.st_size)
             ? nvtxa__database_failed(database, SQLITE_CORRUPT, reterr)
             : NVTXA_OK;
}

/* What a statement may do: read tables by the one function and ask for their columns. All that is
 * prepared here is made here; the database has no say. */
static int authorize(void *unused, int action, const char *first, const char *second,
                     const char *schema, const char *inside) {
  (void)unused;
  (void)schema;
  bool allowed = action == SQLITE_SELECT || action == SQLITE_READ ||
                 (action == SQLITE_FUNCTION && strcmp(second, NVTXA__TAKE_FUNCTION) == 0) ||
                 (action == SQLITE_PRAGMA && strcmp(first, "table_xinfo") == 0);
  return allowed && inside == NULL ? SQLITE_OK : SQLITE_DENY; /* inside a view or trigger: no */
}

/* Now and then while a statement runs. */
static int check_cancelled(void *user) {
  const nvtxa__database *database = user;
  if (database->activity != NULL) {
    nvtxa__activity_tick(database->activity);
  }
  return nvtxa__cancelled(database->hooks);
}

static nvtxa_status harden(nvtxa__database *database, nvtxa_error **reterr) {
  static const struct {
    int option;
    int value;
  } settings[] = {
      {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
      {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
  };
  sqlite3 *handle = database->handle;
  int answer = SQLITE_OK;
  for (size_t i = 0; i < NVTXA__COUNT(settings) && answer == SQLITE_OK; i++) {
    answer = sqlite3_db_config(handle, settings[i].option, settings[i].value, NULL);
  }
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, LONGEST_CELL);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  /* Whatever the schema says: no virtual table can be set up. */
  answer = answer == SQLITE_OK ? sqlite3_drop_modules(handle, NULL) : answer;
  sqlite3_extended_result_codes(handle, 1);
  /* A file that shrinks under a mapping would be a signal, not an error. */
  if (answer == SQLITE_OK) {
    answer =
        sqlite3_exec(handle, "PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON", NULL, NULL, NULL);
  }
  if (answer == SQLITE_OK) {
    answer = sqlite3_set_authorizer(handle, authorize, NULL);
  }
  sqlite3_progress_handler(handle, STEPS_BETWEEN_CHECKS, check_cancelled, database);
  return nvtxa__database_failed(database, answer, reterr);
}

nvtxa_status nvtxa__database_open(nvtxa__database *database, const char *path,
                                  const nvtxa_hooks *hooks, nvtxa__activity *activity,
                                  nvtxa_error **reterr) {
  *database = (nvtxa__database){.path = path, .hooks = hooks, .activity = activity};
  nvtxa_status status = check_header(database, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  /* Not a URI, whatever the process has set: those begin with "file:". */
  char *plain = path[0] == '/' ? strdup(path) : nvtxa__join(".", path);
  if (plain == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  int answer =
      sqlite3_open_v2(plain, &database->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
  free(plain);
  status = nvtxa__database_failed(database, answer, reterr);
  return status == NVTXA_OK ? harden(database, reterr) : status;
}

void nvtxa__database_close(nvtxa__database *database) {
  sqlite3_close(database->handle);
  database->handle = NULL;
}

nvtxa_status nvtxa__database_check_unchanged(const nvtxa__database *database,
                                             nvtxa_error **reterr) {
  const struct stat *then = &database->opened;
  struct stat now;
  if (stat(database->path, &now) == 0 && now.st_ino == then->st_ino && now.st_dev == then->st_dev &&
      now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == then->st_mtim.tv_nsec) {
    return NVTXA_OK;
  }
  return damaged(database, "Wait until whoever writes it has finished.", reterr,
                 "the SQLite export was changed while it was read");
}

/* ---- versions ---- */

bool nvtxa__schema_is_known(const char *schema_version) {
  for (size_t i = 0; i < NVTXA__COUNT(known_majors); i++) {
    if (strncmp(schema_version, known_majors[i], strlen(known_majors[i])) == 0) {
      return true;
    }
  }
  return false;
}

/* Only what looks like a version: it is shown and written elsewhere. */
static void take_version(char target[NVTXA__VERSION_TEXT], nvtxa_text value) {
  if (value.length > 0 && value.length < NVTXA__VERSION_TEXT) {
    memcpy(target, value.data, value.length);
    target[value.length] = '\0';
    if (strspn(target, "0123456789.") != value.length) {
      target[0] = '\0';
    }
  }
}

static bool take_metadata(void *user, nvtxa__row *row) {
  nvtxa__export_versions *versions = user;
  nvtxa_text name = nvtxa__row_text(row, 0);
  if (nvtxa__text_is(name, "EXPORT_SCHEMA_VERSION")) {
    take_version(versions->schema, nvtxa__row_text(row, 1));
  } else if (nvtxa__text_is(name, "EXPORT_PRODUCT_VERSION")) {
    take_version(versions->product, nvtxa__row_text(row, 1));
  }
  return true;
}

nvtxa_status nvtxa__database_versions(nvtxa__database *database, nvtxa__export_versions *ret,
                                      nvtxa_error **reterr) {
  static const nvtxa__column columns[] = {{"name", true}, {"value", true}};
  nvtxa_status status = NVTXA_OK;
  *ret = (nvtxa__export_versions){"", ""};
  for (size_t i = 0; i < NVTXA__COUNT(metadata_tables) && status == NVTXA_OK; i++) {
    bool has;
    status = nvtxa__database_has_table(database, metadata_tables[i], &has, reterr);
    if (status == NVTXA_OK && has) {
      return nvtxa__database_scan(database, metadata_tables[i], columns, NVTXA__COUNT(columns),
                                  take_metadata, ret, reterr);
    }
  }
  return status;
}

nvtxa_status nvtxa__export_versions_of(const char *path, const nvtxa_hooks *hooks,
                                       nvtxa__export_versions *ret, nvtxa_error **reterr) {
  nvtxa__database database;
  nvtxa_status status = nvtxa__database_open(&database, path, hooks, NULL, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa__database_versions(&database, ret, reterr);
  }
  nvtxa__database_close(&database);
  return status;
}
