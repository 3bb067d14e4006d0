/* Files: opened safely, read whole with a limit, replaced atomically. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base-internal.h"

nvtxa_status nvtxa__file_open(int directory, const char *path, const char *shown_path, int *ret_fd,
                              nvtxa_error **reterr) {
  struct stat info;
  int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.file = shown_path, .errnum = errno},
                       "cannot open for reading");
  }
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.file = shown_path},
                       "not a regular file");
  }
  *ret_fd = fd;
  return NVTXA_OK;
}

nvtxa_status nvtxa__file_read(int directory, const char *path, const char *shown_path, size_t limit,
                              char **ret_data, size_t *ret_length, nvtxa_error **reterr) {
  nvtxa__buffer buffer = {0};
  int fd = -1;
  nvtxa_status status = nvtxa__file_open(directory, path, shown_path, &fd, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  for (;;) {
    char piece[65536];
    ssize_t got = read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      status = nvtxa__fail(reterr, NVTXA_ERROR_IO,
                           &(nvtxa__where){.file = shown_path, .errnum = errno}, "cannot read");
      goto out;
    }
    if ((size_t)got > limit - buffer.length) {
      status = nvtxa__fail(reterr, NVTXA_ERROR_LIMIT, &(nvtxa__where){.file = shown_path},
                           "larger than %zu bytes, the limit for this file", limit);
      goto out;
    }
    if (nvtxa__buffer_add(&buffer, piece, (size_t)got) != 0) {
      status = nvtxa__out_of_memory(reterr);
      goto out;
    }
    if (got == 0) {
      break;
    }
  }
  *ret_data = buffer.data;
  *ret_length = buffer.length;
  buffer.data = NULL;
out:
  nvtxa__buffer_free(&buffer);
  close(fd);
  return status;
}

/* Gathers small pieces into large writes. */
struct sink {
  int fd;
  size_t used;
  char data[65536];
};

static int write_all(int fd, const char *data, size_t length) {
  while (length > 0) {
    ssize_t written = write(fd, data, length);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return errno;
    }
    data += written;
    length -= (size_t)written;
  }
  return 0;
}

static int sink_flush(struct sink *sink) {
  int errnum = write_all(sink->fd, sink->data, sink->used);
  sink->used = 0;
  return errnum;
}

static int sink_write(void *user, const char *data, size_t length) {
  struct sink *sink = user;
  if (length > sizeof sink->data - sink->used) {
    int errnum = sink_flush(sink);
    if (errnum != 0) {
      return errnum;
    }
  }
  if (length > sizeof sink->data) {
    return write_all(sink->fd, data, length);
  }
  memcpy(sink->data + sink->used, data, length);
  sink->used += length;
  return 0;
}

nvtxa_status nvtxa__file_create(int directory, const char *path, const char *shown_path,
                                nvtxa__produce_fn produce, void *user, nvtxa_error **reterr) {
  struct sink *sink = malloc(sizeof *sink);
  nvtxa_status status = NVTXA_OK;
  if (sink == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  sink->used = 0;
  sink->fd = openat(directory, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  int errnum = sink->fd < 0 ? errno : 0;
  if (errnum == 0) {
    status = produce(user, sink_write, sink, reterr);
    errnum = status == NVTXA_OK ? sink_flush(sink) : 0;
    if (close(sink->fd) != 0 && errnum == 0) {
      errnum = errno;
    }
  }
  if (status == NVTXA_OK && errnum != 0) {
    status = nvtxa__fail(reterr, NVTXA_ERROR_IO,
                         &(nvtxa__where){
                             .file = shown_path,
                             .errnum = errnum,
                             .hint = "Check that the directory can be written and has space left.",
                         },
                         "cannot write %s", path);
  }
  free(sink);
  return status;
}

/* Create "<path>.<random>.tmp" in `directory`. */
static int create_beside(int directory, const char *path, char **ret_name) {
  for (int attempt = 0; attempt < 100; attempt++) {
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
      return -1;
    }
    if (asprintf(ret_name, "%s.%016llx.tmp", path, (unsigned long long)random) < 0) {
      *ret_name = NULL;
      errno = ENOMEM;
      return -1;
    }
    int fd =
        openat(directory, *ret_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0 || errno != EEXIST) {
      return fd;
    }
    free(*ret_name);
    *ret_name = NULL;
  }
  return -1;
}

/* A rename is durable once the directory that holds the name is synced. */
static int sync_directory_of(int directory, const char *path) {
  const char *slash = strrchr(path, '/');
  char *parent = slash == NULL   ? strdup(".")
                 : slash == path ? strdup("/")
                                 : strndup(path, (size_t)(slash - path));
  if (parent == NULL) {
    return -1;
  }
  int fd = openat(directory, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(parent);
  if (fd < 0) {
    return -1;
  }
  /* Some file systems cannot sync a directory and say EINVAL: nothing more can be done there. */
  int result = fsync(fd) != 0 && errno != EINVAL ? -1 : 0;
  close(fd);
  return result;
}

nvtxa_status nvtxa__file_replace(int directory, const char *path, const char *shown_path, bool sync,
                                 nvtxa__produce_fn produce, void *user, nvtxa_error **reterr) {
  char *name = NULL;
  struct sink *sink = malloc(sizeof *sink);
  nvtxa_status status = NVTXA_OK;
  const char *doing = "create a file beside";
  if (sink == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  sink->used = 0;
  sink->fd = create_beside(directory, path, &name);
  if (sink->fd < 0) {
    goto failed;
  }
  status = produce(user, sink_write, sink, reterr);
  if (status != NVTXA_OK) {
    goto out;
  }
  doing = "write";
  errno = sink_flush(sink);
  if (errno != 0 || (sync && fsync(sink->fd) != 0)) {
    goto failed;
  }
  int closed = close(sink->fd);
  sink->fd = -1;
  if (closed != 0) {
    goto failed;
  }
  doing = "replace";
  if (renameat(directory, name, directory, path) != 0) {
    goto failed;
  }
  free(name);
  name = NULL;
  doing = "sync the directory of";
  if (sync && sync_directory_of(directory, path) != 0) {
    goto failed;
  }
  goto out;
failed:
  status = nvtxa__fail(reterr, NVTXA_ERROR_IO,
                       &(nvtxa__where){
                           .file = shown_path,
                           .errnum = errno,
                           .hint = "Check that the directory can be written and has space left.",
                       },
                       "cannot %s this file", doing);
out:
  if (sink->fd >= 0) {
    close(sink->fd);
  }
  if (name != NULL) {
    unlinkat(directory, name, 0);
    free(name);
  }
  free(sink);
  return status;
}
