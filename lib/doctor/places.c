/*
 * The directories that recording writes to: tried by writing, and asked for the room on their disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor-internal.h"

#include "export/export-internal.h"

#define MEGABYTE UINT64_C(1000000)
#define GIGABYTE (1000 * MEGABYTE)

/* A trace of a few iterations takes some megabytes, one of minutes some hundred, its export to
 * SQLite a multiple of that. */
#define LEAST_ROOM (100 * MEGABYTE)
#define AMPLE_ROOM GIGABYTE

/* What is said of a directory. */
struct place {
  nvtxa_check check;
  const char *path;     /* as it was given */
  const char *existing; /* it, or what is there of it */
  const char *not_writable;
  const char *no_room;
};

/* ---- room ---- */

nvtxa_verdict nvtxa__judge_room(uint64_t bytes) {
  return bytes < LEAST_ROOM   ? NVTXA_VERDICT_PROBLEM
         : bytes < AMPLE_ROOM ? NVTXA_VERDICT_NOTE
                              : NVTXA_VERDICT_OK;
}

/* With integers, since printf() takes the decimal point from the locale. */
const char *nvtxa__size_text(char buffer[NVTXA__SIZE_TEXT], uint64_t bytes) {
  unsigned long long tenths = bytes / (GIGABYTE / 10);
  if (bytes < GIGABYTE) {
    snprintf(buffer, NVTXA__SIZE_TEXT, "%llu MB", (unsigned long long)(bytes / MEGABYTE));
  } else if (bytes < 10 * GIGABYTE) {
    snprintf(buffer, NVTXA__SIZE_TEXT, "%llu.%llu GB", tenths / 10, tenths % 10);
  } else {
    snprintf(buffer, NVTXA__SIZE_TEXT, "%llu GB", tenths / 10);
  }
  return buffer;
}

static nvtxa_status judge_disk(const nvtxa__examination *examination, const struct place *place,
                               const char *shown, nvtxa_error **reterr) {
  struct statvfs info;
  char size[NVTXA__SIZE_TEXT];
  const char *later = strcmp(place->path, place->existing) == 0 ? "" : ", which is not there yet";
  if (statvfs(place->existing, &info) != 0 || info.f_blocks == 0) {
    return nvtxa__doctor_add(examination->made, place->check, NVTXA_VERDICT_OK, NULL, reterr,
                             "%s can be written to; how much is free is not known%s", shown, later);
  }
  uint64_t bytes = (uint64_t)(geteuid() == 0 ? info.f_bfree : info.f_bavail) * info.f_frsize;
  nvtxa_verdict verdict = nvtxa__judge_room(bytes);
  return nvtxa__doctor_add(examination->made, place->check, verdict,
                           verdict == NVTXA_VERDICT_OK ? NULL : place->no_room, reterr,
                           "%s are free in %s%s", nvtxa__size_text(size, bytes), shown, later);
}

/* ---- writing ---- */

/* 0 or an errno. */
static int try_to_write(const nvtxa__examination *examination, const char *directory) {
  nvtxa__private private;
  nvtxa_error *error = NULL;
  int errnum;
  if (nvtxa__private_make_in(&private, directory, examination->hooks, &error) == NVTXA_OK) {
    errnum = nvtxa__private_probe(&private);
    nvtxa__private_remove(&private);
  } else {
    errnum = nvtxa_error_errno(error);
    errnum = errnum == 0 ? EIO : errnum;
  }
  nvtxa_error_free(error);
  return errnum;
}

/* Leave in `path` what is there of it: directories are made when a run is recorded. */
static void shorten_to_existing(char *path) {
  while (access(path, F_OK) != 0 && errno == ENOENT) {
    char *slash;
    while ((slash = strrchr(path, '/')) != NULL && slash > path && slash[1] == '\0') {
      *slash = '\0';
    }
    if (slash == NULL) {
      memcpy(path, ".", sizeof "."); /* it had at least one character */
      return;
    }
    slash[slash == path] = '\0';
  }
}

static nvtxa_status examine(const nvtxa__examination *examination, struct place *place,
                            nvtxa_error **reterr) {
  char shown[NVTXA__EXCERPT];
  char *existing = strdup(place->path);
  if (existing == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  if (place->check == NVTXA_CHECK_DISK) {
    shorten_to_existing(existing);
  }
  place->existing = existing;
  const char *name = strcmp(place->path, ".") == 0 ? "the current directory" : place->path;
  nvtxa__excerpt(shown, sizeof shown, name, strlen(name));
  int errnum = try_to_write(examination, existing);
  nvtxa_status status;
  if (errnum == ENOSPC || errnum == EDQUOT) {
    status = nvtxa__doctor_add(examination->made, place->check, NVTXA_VERDICT_PROBLEM,
                               place->no_room, reterr, "nothing is free in %s", shown);
  } else if (errnum != 0) {
    nvtxa_error *error = NULL;
    nvtxa__fail(&error, NVTXA_ERROR_IO, &(nvtxa__where){.errnum = errnum},
                "%s cannot be written to", shown);
    status = nvtxa__doctor_add_error(examination->made, place->check, NVTXA_VERDICT_PROBLEM,
                                     place->not_writable, reterr, "", error);
  } else {
    status = judge_disk(examination, place, shown, reterr);
  }
  free(existing);
  return status;
}

nvtxa_status nvtxa__examine_places(const nvtxa__examination *examination, nvtxa_error **reterr) {
  struct place runs = {
      .check = NVTXA_CHECK_DISK,
      .path = examination->options.directory,
      .not_writable = "make it a directory that can be written to, or record elsewhere",
      .no_room = "free some, or record elsewhere",
  };
  struct place temporary = {
      .check = NVTXA_CHECK_TEMPORARY,
      .path = examination->options.temporary_directory,
      .not_writable = "make it a directory that can be written to, or set TMPDIR to one",
      .no_room = "free some, or set TMPDIR to a directory with more",
  };
  nvtxa_status status = examine(examination, &runs, reterr);
  return status == NVTXA_OK ? examine(examination, &temporary, reterr) : status;
}
