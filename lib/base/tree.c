/*
 * Directories read, and removed with all in them without following a symbolic link.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base-internal.h"

enum { DEPTH = 32 };

DIR *nvtxa__directory_read(int fd) {
  int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = again < 0 ? NULL : fdopendir(again);
  if (directory == NULL) {
    nvtxa__close(&again);
  }
  return directory;
}

static void remove_at(int parent, const char *name, int depth);

static void remove_content(int fd, const char *spared, int depth) {
  DIR *directory = nvtxa__directory_read(fd);
  if (directory == NULL) {
    return;
  }
  struct dirent *entry;
  while ((entry = readdir(directory)) != NULL) {
    const char *name = entry->d_name;
    bool keep = strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                (spared != NULL && strcmp(name, spared) == 0);
    if (!keep && unlinkat(fd, name, 0) != 0 && errno == EISDIR && depth < DEPTH) {
      remove_at(fd, name, depth + 1);
    }
  }
  closedir(directory);
}

/* `name` is opened as a directory or not at all. */
static void remove_at(int parent, const char *name, int depth) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) {
    remove_content(fd, NULL, depth);
    nvtxa__close(&fd);
  }
  unlinkat(parent, name, AT_REMOVEDIR);
}

void nvtxa__tree_empty(int fd, const char *spared) {
  remove_content(fd, spared, 0);
}

void nvtxa__tree_remove(int parent, const char *name) {
  remove_at(parent, name, 0);
}
