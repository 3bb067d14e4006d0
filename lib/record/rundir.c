/*
 * The run directory: made with the directories above it, locked against a second recording, and
 * cleared of an earlier run, which is set aside in it until the new one is complete. If we are
 * killed it stays there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record-internal.h"

static const char earlier_name[] = ".nvtxa-earlier"; /* an earlier run, whole */
static const char moving_name[] = ".nvtxa-moving";   /* on its way there */

static nvtxa_status failed(const char *path, const char *doing, nvtxa_error **reterr) {
  return nvtxa__fail(reterr, NVTXA_ERROR_IO,
                     &(nvtxa__where){.file = path,
                                     .errnum = errno,
                                     .hint = "Name a place that can be written, with room left."},
                     "cannot %s", doing);
}

/* ---- making it ---- */

/* The end of the path's first `depth` names, or of its last one. */
static size_t prefix_length(const char *path, size_t depth) {
  size_t length = strspn(path, "/");
  while (depth > 0 && path[length] != '\0') {
    length += strcspn(path + length, "/");
    depth--;
    length += depth > 0 ? strspn(path + length, "/") : 0;
  }
  return length;
}

static size_t count_names(const char *path) {
  size_t count = 0;
  for (path += strspn(path, "/"); *path != '\0'; path += strspn(path, "/")) {
    path += strcspn(path, "/");
    count++;
  }
  return count;
}

/* The path of its first `depth` names (malloc). */
static char *prefix(const char *path, size_t depth) {
  return strndup(path, prefix_length(path, depth));
}

static nvtxa_status make_directories(nvtxa__rundir *rundir, nvtxa_error **reterr) {
  size_t names = count_names(rundir->path);
  for (size_t depth = 1; depth <= names; depth++) {
    char *path = prefix(rundir->path, depth);
    if (path == NULL) {
      return nvtxa__out_of_memory(reterr);
    }
    int result = mkdir(path, 0777);
    nvtxa_status status =
        result == 0 || errno == EEXIST ? NVTXA_OK : failed(path, "make this directory", reterr);
    rundir->made += result == 0;
    free(path);
    if (status != NVTXA_OK) {
      return status;
    }
  }
  return NVTXA_OK;
}

static void remove_directories(const nvtxa__rundir *rundir) {
  size_t names = count_names(rundir->path);
  for (size_t i = 0; i < rundir->made; i++) {
    char *path = prefix(rundir->path, names - i);
    bool gone = path != NULL && rmdir(path) == 0;
    free(path);
    if (!gone) {
      return; /* it holds something */
    }
  }
}

/* ---- an earlier run ---- */

/* trace.nsys-rep, trace.1.nsys-rep, trace.qdstrm, trace.sqlite, and what is made of them. */
static bool is_of_a_run(const char *name) {
  static const char *const names[] = {NVTXA__MANIFEST_FILE, NVTXA__EXTRA_FILE, NVTXA__SQLITE_FILE,
                                      NVTXA__STATS_DIR, "analysis.json"};
  bool is_trace = strncmp(name, "trace.", 6) == 0 &&
                  (nvtxa__ends_with(name, ".nsys-rep") || nvtxa__ends_with(name, ".qdstrm"));
  for (size_t i = 0; i < NVTXA__COUNT(names) && !is_trace; i++) {
    is_trace = strcmp(name, names[i]) == 0;
  }
  return is_trace;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int only_of_a_run(const struct dirent *entry) {
  return is_of_a_run(entry->d_name);
}

/* Goes through what belongs to a run, by name. `take` returns 0, or -1 to stop. */
static int for_each_file(int fd, int (*take)(void *user, const char *name), void *user) {
  struct dirent **entries;
  int count = scandirat(fd, ".", &entries, only_of_a_run, by_name);
  int result = count < 0 ? -1 : 0;
  for (int i = 0; i < count; i++) {
    result = result == 0 ? take(user, entries[i]->d_name) : result;
    free(entries[i]);
  }
  if (count >= 0) {
    free(entries);
  }
  return result;
}

static int list_one(void *user, const char *name) {
  nvtxa__buffer *list = user;
  char quoted[NVTXA__QUOTED];
  return nvtxa__buffer_printf(list, "%s%s", list->length == 0 ? "" : ", ",
                              nvtxa__quote(quoted, name, strlen(name)));
}

struct move {
  int from;
  int to;
};

static int move_one(void *user, const char *name) {
  const struct move *move = user;
  return renameat(move->from, name, move->to, name);
}

static int remove_one(void *user, const char *name) {
  const struct move *move = user;
  if (unlinkat(move->from, name, 0) != 0 && errno == EISDIR) {
    nvtxa__tree_remove(move->from, name);
  }
  return 0;
}

static int open_inside(const nvtxa__rundir *rundir, const char *name) {
  return openat(rundir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A run that could not be set aside whole, or whose recording was killed meanwhile: nothing was
 * made in its place. */
static void finish_moving_back(const nvtxa__rundir *rundir) {
  struct move move = {open_inside(rundir, moving_name), rundir->fd};
  if (move.from >= 0) {
    for_each_file(move.from, move_one, &move);
    unlinkat(rundir->fd, moving_name, AT_REMOVEDIR);
  }
  nvtxa__close(&move.from);
}

static int move_aside(const nvtxa__rundir *rundir) {
  if (mkdirat(rundir->fd, moving_name, 0700) != 0) {
    return -1;
  }
  struct move move = {rundir->fd, open_inside(rundir, moving_name)};
  int result = move.to < 0 ? -1 : for_each_file(rundir->fd, move_one, &move);
  nvtxa__close(&move.to);
  result = result == 0 ? renameat(rundir->fd, moving_name, rundir->fd, earlier_name) : -1;
  int errnum = errno;
  finish_moving_back(rundir);
  errno = errnum;
  return result;
}

/* Where an earlier run is aside already, what is here now is what was made in its place, and came
 * to nothing. */
static nvtxa_status set_aside(nvtxa__rundir *rundir, bool is_aside, nvtxa_error **reterr) {
  struct move move = {rundir->fd, -1};
  int result = is_aside ? for_each_file(rundir->fd, remove_one, &move) : move_aside(rundir);
  rundir->has_earlier = result == 0;
  return result == 0 ? NVTXA_OK : failed(rundir->path, "set the earlier run aside", reterr);
}

static nvtxa_status look_for_earlier(nvtxa__rundir *rundir, bool force, nvtxa_error **reterr) {
  nvtxa__buffer list = {0};
  struct stat info;
  bool aside = fstatat(rundir->fd, earlier_name, &info, AT_SYMLINK_NOFOLLOW) == 0;
  nvtxa_status status = NVTXA_OK;
  finish_moving_back(rundir);
  if (for_each_file(rundir->fd, list_one, &list) != 0) {
    status = failed(rundir->path, "see what is in the run directory", reterr);
  } else if ((aside || list.length > 0) && force) {
    status = set_aside(rundir, aside, reterr);
  } else if (aside) {
    status = nvtxa__fail(reterr, NVTXA_ERROR_RUN_EXISTS,
                         &(nvtxa__where){.file = rundir->path,
                                         .hint = "Move its files back, or record anew (--force)."},
                         "a recording that came to nothing left the run before it in "
                         ".nvtxa-earlier");
  } else if (list.length > 0) {
    status = nvtxa__fail(reterr, NVTXA_ERROR_RUN_EXISTS,
                         &(nvtxa__where){.file = rundir->path,
                                         .hint = "Record into another directory, or replace this "
                                                 "run (--force)."},
                         "a run is recorded here already: there is %s", list.data);
  }
  nvtxa__buffer_free(&list);
  return status;
}

/* ---- the whole ---- */

nvtxa_status nvtxa__rundir_open(nvtxa__rundir *rundir, const char *path, bool force,
                                nvtxa_error **reterr) {
  *rundir = (nvtxa__rundir){.path = path, .fd = -1};
  nvtxa_status status = make_directories(rundir, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  rundir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (rundir->fd < 0) {
    return failed(path, "open the run directory", reterr);
  }
  /* Some file systems have no locks: then there is none. */
  if (flock(rundir->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return nvtxa__fail(reterr, NVTXA_ERROR_RUN_EXISTS,
                       &(nvtxa__where){.file = path, .hint = "Record into another directory."},
                       "another recording is under way here");
  }
  return look_for_earlier(rundir, force, reterr);
}

void nvtxa__rundir_forget_earlier(nvtxa__rundir *rundir) {
  if (rundir->has_earlier) {
    nvtxa__tree_remove(rundir->fd, earlier_name);
    rundir->has_earlier = false;
  }
}

static int found_one(void *user, const char *name) {
  (void)name;
  *(bool *)user = true;
  return 0;
}

/* All of it or nothing: the trace of one run must not stand beside the manifest of another. */
static void put_back(nvtxa__rundir *rundir, const nvtxa_hooks *hooks) {
  bool taken = false;
  struct move move = {open_inside(rundir, earlier_name), rundir->fd};
  if (move.from >= 0 && for_each_file(rundir->fd, found_one, &taken) == 0 && !taken) {
    for_each_file(move.from, move_one, &move);
  }
  nvtxa__close(&move.from);
  if (unlinkat(rundir->fd, earlier_name, AT_REMOVEDIR) != 0) {
    nvtxa__log(hooks, NVTXA_LOG_NOTICE, "the run that was here before is in %s", earlier_name);
  }
}

void nvtxa__rundir_close(nvtxa__rundir *rundir, const nvtxa_hooks *hooks) {
  if (rundir->has_earlier) {
    put_back(rundir, hooks);
  }
  nvtxa__close(&rundir->fd);
  remove_directories(rundir);
}
