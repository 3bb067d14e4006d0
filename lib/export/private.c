/*
 * The private directory: a fresh one for each export, in which nsys runs and writes. nsys takes
 * report scripts from its current directory, so that must be one that nobody else filled. That of a
 * run directory lies in its stats/ so that whole files can be renamed into place.
 *
 * A lock file in it is locked as long as its export lives. A directory whose lock can be had was
 * left by an export that was killed, and the next one removes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export-internal.h"

static const char prefix[] = ".nvtxa-";
static const char lock_name[] = ".lock";
static const char probe_name[] = ".probe";

enum { PROBE = 1 << 16 };

static const char write_hint[] =
    "A trace is exported in a directory of its own there, and reports land there: make it writable "
    "and see that its disk has room, or work on a copy.";

static nvtxa_status failed(const char *shown_stats, const char *doing, nvtxa_error **reterr) {
  return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                     &(nvtxa__where){.file = shown_stats, .errnum = errno, .hint = write_hint},
                     "cannot %s", doing);
}

/* The lock last: without it, the rest would pass for a directory that is being made. */
static void remove_content(int fd) {
  nvtxa__tree_empty(fd, lock_name);
  unlinkat(fd, lock_name, 0);
}

/* Whether the lock is ours now. Where the file system has no locks, nothing is ever removed. */
static bool try_lock(int fd) {
  return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_if_stale(int stats, const char *name, const nvtxa_hooks *hooks) {
  int fd = openat(stats, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    return;
  }
  int lock = openat(fd, lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (lock < 0 && errno == ENOENT) {
    /* Its maker is about to lock it and will take another name, or died before that. */
    unlinkat(stats, name, AT_REMOVEDIR);
  } else if (lock >= 0 && try_lock(lock)) {
    nvtxa__log(hooks, NVTXA_LOG_INFO, "removing %s, left in stats/ by an export that was killed",
               name);
    remove_content(fd);
    unlinkat(stats, name, AT_REMOVEDIR);
  }
  nvtxa__close(&lock);
  nvtxa__close(&fd);
}

static bool is_private_name(const char *name) {
  size_t length = strlen(prefix);
  return strncmp(name, prefix, length) == 0 && strlen(name) == length + 16 &&
         strspn(name + length, "0123456789abcdef") == 16;
}

static void remove_stale(int stats, const nvtxa_hooks *hooks) {
  DIR *directory = nvtxa__directory_read(stats);
  if (directory == NULL) {
    return;
  }
  struct dirent *entry;
  while ((entry = readdir(directory)) != NULL) {
    if (is_private_name(entry->d_name)) {
      remove_if_stale(stats, entry->d_name, hooks);
    }
  }
  closedir(directory);
}

/* Lock the new directory. 1: done; 0: another export took it for a stale one; -1: errno. */
static int lock_own(nvtxa__private *private) {
  struct stat info;
  private->lock =
      openat(private->fd, lock_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (private->lock < 0) {
    return errno == ENOENT ? 0 : -1;
  }
  if (!try_lock(private->lock) && errno == EWOULDBLOCK) {
    return 0;
  }
  return fstat(private->lock, &info) == 0 && info.st_nlink > 0;
}

/* 1, 0 (try again) or -1 (errno). */
static int make_one(nvtxa__private *private) {
  uint64_t random;
  if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
    return -1;
  }
  snprintf(private->name, sizeof private->name, "%s%016llx", prefix, (unsigned long long)random);
  if (mkdirat(private->parent, private->name, 0700) != 0) {
    private->name[0] = '\0';
    if (errno == ENOENT) {
      nvtxa__close(&private->parent); /* another export, whose it was, failed and took it away */
    }
    return errno == EEXIST || errno == ENOENT ? 0 : -1;
  }
  private->fd =
      openat(private->parent, private->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int made = private->fd < 0 ? (errno == ENOENT ? 0 : -1) : lock_own(private);
  if (made == 0) {
    nvtxa__close(&private->lock);
    nvtxa__close(&private->fd);
    unlinkat(private->parent, private->name, AT_REMOVEDIR);
  }
  return made;
}

/* NVTXA_OK with `stats` still -1: try again. */
static nvtxa_status open_stats(nvtxa__private *private, nvtxa_error **reterr) {
  struct stat info;
  private->new_stats = mkdirat(private->run, NVTXA__STATS_DIR, 0777) == 0;
  if (!private->new_stats && errno != EEXIST) {
    return failed(private->shown_parent, "create the directory for the reports", reterr);
  }
  private->parent =
      openat(private->run, NVTXA__STATS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (private->parent >= 0 || errno == ENOENT) { /* taken away by another export that failed */
    return NVTXA_OK;
  }
  int errnum = errno;
  if (fstatat(private->run, NVTXA__STATS_DIR, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISDIR(info.st_mode)) {
    return nvtxa__fail(
        reterr, NVTXA_ERROR_IO,
        &(nvtxa__where){.file = private->shown_parent,
                        .hint = "Move it away; the reports need a directory of their own there."},
        S_ISLNK(info.st_mode) ? "this is a symbolic link, which is not followed for writing"
                              : "this is not a directory");
  }
  errno = errnum;
  return failed(private->shown_parent, "open the directory for the reports", reterr);
}

static nvtxa_status make(nvtxa__private *private, nvtxa_error **reterr) {
  nvtxa_status status = NVTXA_OK;
  int made = 0;
  for (int attempt = 0; attempt < 100 && made == 0; attempt++) {
    if (private->parent < 0 && private->run >= 0) {
      status = open_stats(private, reterr);
      if (status != NVTXA_OK) {
        return status;
      }
    }
    if (private->parent >= 0) {
      remove_stale(private->parent, private->hooks);
      made = make_one(private);
    }
  }
  if (made != 1) {
    status = failed(private->shown_parent, "make a private directory here", reterr);
    nvtxa__private_remove(private);
  }
  return status;
}

nvtxa_status nvtxa__private_make(nvtxa__private *private, int run, const char *shown_stats,
                                 const nvtxa_hooks *hooks, nvtxa_error **reterr) {
  *private = (nvtxa__private){
      .run = run, .parent = -1, .fd = -1, .lock = -1, .shown_parent = shown_stats, .hooks = hooks};
  return make(private, reterr);
}

nvtxa_status nvtxa__private_make_in(nvtxa__private *private, const char *directory,
                                    const nvtxa_hooks *hooks, nvtxa_error **reterr) {
  *private =
      (nvtxa__private){.run = -1, .fd = -1, .lock = -1, .shown_parent = directory, .hooks = hooks};
  private->parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (private->parent < 0) {
    return nvtxa__fail(
        reterr, NVTXA_ERROR_IO,
        &(nvtxa__where){.file = directory,
                        .errnum = errno,
                        .hint = "The SQLite export is made in this directory for the "
                                "time being: set TMPDIR to one that can be written."},
        "cannot open the directory for temporary files");
  }
  return make(private, reterr);
}

void nvtxa__private_remove(nvtxa__private *private) {
  if (private->fd >= 0) {
    remove_content(private->fd);
  }
  if (private->parent >= 0 && private->name[0] != '\0' &&
      unlinkat(private->parent, private->name, AT_REMOVEDIR) != 0) {
    nvtxa__log_file(private->hooks, "cannot remove", private->shown_parent, private->name);
  }
  nvtxa__close(&private->lock);
  nvtxa__close(&private->fd);
  if (private->new_stats) {
    unlinkat(private->run, NVTXA__STATS_DIR, AT_REMOVEDIR); /* unless something landed there */
  }
  nvtxa__close(&private->parent);
}

int nvtxa__private_probe(const nvtxa__private *private) {
  static const char zeros[PROBE];
  int fd =
      openat(private->fd, probe_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    return errno;
  }
  int errnum = 0;
  ssize_t written;
  do {
    written = write(fd, zeros, sizeof zeros);
  } while (written < 0 && errno == EINTR);
  if (written != (ssize_t)sizeof zeros) {
    errnum = written < 0 ? errno : ENOSPC;
  } else if (fsync(fd) != 0 && errno != EINVAL) {
    errnum = errno;
  }
  nvtxa__close(&fd);
  unlinkat(private->fd, probe_name, 0);
  return errnum;
}
