/*
 * Landing: the finished files go from the private directory to stats/, all of them or none.
 *
 * The old ones are moved into the private directory first, so that a step that fails can be undone.
 * export.json leaves first and comes last: an export that is killed half way leaves reports that
 * nothing identifies, never reports that are said to be of another trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "export-internal.h"

enum { FILES = NVTXA__EXPORTED_REPORTS + 1, NAME = 80 };

static const char hint[] = "Check that stats/ can be written and that its disk has room left.";

struct landing {
  const nvtxa__private *private;
  size_t count;
  const char *names[FILES]; /* `count` files: the reports, then export.json */
  bool saved[FILES];        /* the old file is in the private directory too */
  bool moved[FILES];        /* the new one is in stats/ */
};

static const char *saved_name(char buffer[NAME], size_t index) {
  snprintf(buffer, NAME, ".old-%zu", index);
  return buffer;
}

static nvtxa_status failed(const struct landing *landing, const char *doing, size_t index,
                           nvtxa_error **reterr) {
  int errnum = errno;
  char quoted[NVTXA__QUOTED];
  const char *name = landing->names[index];
  return nvtxa__fail(
      reterr, NVTXA_ERROR_IO,
      &(nvtxa__where){.file = landing->private->shown_parent, .errnum = errnum, .hint = hint},
      "cannot %s %s", doing, nvtxa__quote(quoted, name, strlen(name)));
}

/* nsys does not sync what it writes; a rename must not become durable before the content. */
static int sync_file(int directory, const char *name) {
  int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  int result = fd < 0 || fsync(fd) != 0 ? -1 : 0;
  nvtxa__close(&fd);
  return result;
}

/* Move the file that is in the way aside. (To rename over it would have some file systems write the
 * new one to the disk at once.) */
static int save(struct landing *landing, size_t index) {
  const nvtxa__private *private = landing->private;
  struct stat info;
  char aside[NAME];
  saved_name(aside, index);
  if (fstatat(private->parent, landing->names[index], &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? 0 : -1;
  }
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return -1;
  }
  if (renameat(private->parent, landing->names[index], private->fd, aside) != 0) {
    return -1;
  }
  landing->saved[index] = true;
  return 0;
}

/* As it was: what cannot be put back stays in the private directory and is lost with it, but then
 * export.json is not there either, or is the last one put back. */
static void undo(struct landing *landing) {
  const nvtxa__private *private = landing->private;
  for (size_t i = 0; i < landing->count; i++) {
    if (landing->moved[i] && !landing->saved[i]) {
      unlinkat(private->parent, landing->names[i], 0);
    }
    if (landing->saved[i]) {
      char aside[NAME];
      renameat(private->fd, saved_name(aside, i), private->parent, landing->names[i]);
    }
  }
}

/* The lock keeps two exports from mixing their files. It is held for a moment only, so one that is
 * held longer than this is not of our kind; nor is there a lock on every file system. */
static void lock_stats(int stats) {
  for (int attempt = 0; attempt < 500; attempt++) {
    if (flock(stats, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
      return;
    }
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
}

static nvtxa_status move_all(struct landing *landing, bool sync, nvtxa_error **reterr) {
  const nvtxa__private *private = landing->private;
  for (size_t i = landing->count; i-- > 0;) { /* export.json first */
    if (save(landing, i) != 0) {
      return failed(landing, "replace", i, reterr);
    }
  }
  for (size_t i = 0; i < landing->count; i++) {
    if (renameat(private->fd, landing->names[i], private->parent, landing->names[i]) != 0) {
      return failed(landing, "replace", i, reterr);
    }
    landing->moved[i] = true;
    nvtxa__log_file(private->hooks, "wrote", private->shown_parent, landing->names[i]);
  }
  if (sync && fsync(private->parent) != 0 && errno != EINVAL) { /* some file systems cannot */
    return failed(landing, "sync the directory with", landing->count - 1, reterr);
  }
  return NVTXA_OK;
}

static bool has_landed(const struct landing *landing, const char *file) {
  for (size_t i = 0; i < landing->count; i++) {
    if (strcmp(file, landing->names[i]) == 0) {
      return true;
    }
  }
  return false;
}

/* The reports of an earlier export that none of these replaced would be taken for these: of an nsys
 * with other names, or of GPU work. */
static void remove_outdated(const struct landing *landing) {
  for (int report = 0; report < NVTXA__EXPORTED_REPORTS; report++) {
    for (int naming = 0; naming < NVTXA__NAMING_COUNT; naming++) {
      char file[NVTXA__REPORT_FILE];
      nvtxa__report_file(file, (nvtxa_report)report, naming);
      if (!has_landed(landing, file)) {
        unlinkat(landing->private->parent, file, 0);
      }
    }
  }
}

nvtxa_status nvtxa__land(const nvtxa__private *private, const nvtxa__provenance *provenance,
                         bool sync, nvtxa_error **reterr) {
  struct landing landing = {.private = private, .count = provenance->report_count + 1};
  for (size_t i = 0; i < provenance->report_count; i++) {
    landing.names[i] = provenance->reports[i].file.data;
    if (sync && sync_file(private->fd, landing.names[i]) != 0) {
      return failed(&landing, "sync", i, reterr);
    }
  }
  landing.names[provenance->report_count] = NVTXA__PROVENANCE_FILE;
  char *shown_path = nvtxa__join(private->shown_parent, NVTXA__PROVENANCE_FILE);
  if (shown_path == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_status status = nvtxa__provenance_write(private->fd, shown_path, provenance, reterr);
  free(shown_path);
  if (status != NVTXA_OK) {
    return status;
  }
  lock_stats(private->parent);
  status = move_all(&landing, sync, reterr);
  if (status == NVTXA_OK) {
    remove_outdated(&landing);
  } else {
    undo(&landing);
  }
  flock(private->parent, LOCK_UN);
  return status;
}
