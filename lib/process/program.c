/*
 * Programs: where one is, what environment it may see, and how a command reads in a shell. The
 * search follows the PATH of the environment that the caller gave, never our own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process-internal.h"

static const char default_path[] = "/usr/local/bin:/usr/bin:/bin";

static const char *environment_value(char *const *environment, const char *name) {
  size_t length = strlen(name);
  for (; environment != NULL && *environment != NULL; environment++) {
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
      return *environment + length + 1;
    }
  }
  return NULL;
}

/* The child runs in another directory, where a relative path would mean something else. Takes
 * `path` over; NULL with errno. */
static char *make_absolute(char *path) {
  if (path == NULL || path[0] == '/') {
    return path;
  }
  const char *rest = strncmp(path, "./", 2) == 0 ? path + 2 : path;
  char *here = getcwd(NULL, 0);
  char *absolute = here == NULL ? NULL : nvtxa__join(here, rest);
  free(here);
  free(path);
  return absolute;
}

static bool can_run(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
         faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

/* NULL where the path has no such program; *ret_failed where memory or the current directory is
 * lacking. */
static char *search(const char *name, const char *path, bool *ret_failed) {
  for (const char *entry = path;; entry++) {
    size_t length = strcspn(entry, ":");
    /* An empty entry is the current directory (execvp(3)). */
    char *directory = length == 0 ? strdup(".") : strndup(entry, length);
    char *candidate = directory == NULL ? NULL : make_absolute(nvtxa__join(directory, name));
    free(directory);
    if (candidate == NULL || can_run(candidate)) {
      *ret_failed = candidate == NULL;
      return candidate;
    }
    free(candidate);
    entry += length;
    if (*entry == '\0') {
      return NULL;
    }
  }
}

nvtxa_status nvtxa__program_find(const char *name, char *const *environment, char **ret_path,
                                 nvtxa_error **reterr) {
  bool failed = false;
  char *path;
  if (strchr(name, '/') != NULL) {
    path = make_absolute(strdup(name));
    failed = path == NULL;
  } else {
    const char *value = environment_value(environment, "PATH");
    path = *name == '\0' ? NULL : search(name, value == NULL ? default_path : value, &failed);
  }
  if (failed) {
    return errno == ENOMEM ? nvtxa__out_of_memory(reterr)
                           : nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.errnum = errno},
                                         "cannot find out the current directory");
  }
  if (path == NULL) {
    char quoted[NVTXA__QUOTED];
    return nvtxa__fail(
        reterr, NVTXA_ERROR_NSYS_NOT_FOUND,
        &(nvtxa__where){.hint = "Install Nsight Systems, or say where it is (--nsys PATH). With "
                                "--no-export, reports in stats/ or trace.sqlite will do."},
        "there is no program '%s' on the PATH", nvtxa__quote(quoted, name, strlen(name)));
  }
  *ret_path = path;
  return NVTXA_OK;
}

/* nsys takes report scripts from the first; Python, which makes the reports, takes modules, its
 * library and start-up code from variables of the second kind. PWD would name our directory. */
static bool is_left_out(const char *variable) {
  return strncmp(variable, "NSYS_STATS_REPORT_PATH=", strlen("NSYS_STATS_REPORT_PATH=")) == 0 ||
         strncmp(variable, "PYTHON", strlen("PYTHON")) == 0 ||
         strncmp(variable, "PWD=", strlen("PWD=")) == 0;
}

char **nvtxa__program_environment(char *const *environment) {
  static char *fallback[] = {(char *)"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
  size_t count = 0;
  if (environment == NULL) {
    environment = fallback;
  }
  while (environment[count] != NULL) {
    count++;
  }
  char **kept = calloc(count + 1, sizeof *kept);
  if (kept == NULL) {
    return NULL;
  }
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    if (!is_left_out(environment[i])) {
      kept[used++] = environment[i];
    }
  }
  return kept;
}

static bool is_plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("_-./=:,+%@", byte) != NULL);
}

/* Plain where that is safe, else '...', else $'...' where bytes must be escaped to stay on one line
 * and be harmless on a terminal. */
static int quote_argument(nvtxa__buffer *buffer, const char *argument) {
  bool plain = *argument != '\0';
  bool escaped = nvtxa__utf8_valid(argument, strlen(argument)) != strlen(argument);
  for (const char *byte = argument; *byte != '\0'; byte++) {
    plain = plain && is_plain(*byte);
    bool c1_control = (unsigned char)byte[0] == 0xC2 && (unsigned char)byte[1] < 0xA0;
    escaped =
        escaped || c1_control || (unsigned char)*byte < 0x20 || *byte == 0x7F || *byte == '\'';
  }
  if (plain || !escaped) {
    return nvtxa__buffer_printf(buffer, plain ? "%s" : "'%s'", argument);
  }
  int result = nvtxa__buffer_add(buffer, "$'", 2);
  for (const char *byte = argument; *byte != '\0' && result == 0; byte++) {
    if (*byte == '\'' || *byte == '\\') {
      result = nvtxa__buffer_printf(buffer, "\\%c", *byte);
    } else if ((unsigned char)*byte < 0x20 || (unsigned char)*byte >= 0x7F) {
      result = nvtxa__buffer_printf(buffer, "\\x%02x", (unsigned)(unsigned char)*byte);
    } else {
      result = nvtxa__buffer_add(buffer, byte, 1);
    }
  }
  return result == 0 ? nvtxa__buffer_add(buffer, "'", 1) : -1;
}

int nvtxa__program_quote(nvtxa__buffer *buffer, const char *const *argv) {
  for (size_t i = 0; argv[i] != NULL; i++) {
    if ((i > 0 && nvtxa__buffer_add(buffer, " ", 1) != 0) || quote_argument(buffer, argv[i]) != 0) {
      return -1;
    }
  }
  return 0;
}
