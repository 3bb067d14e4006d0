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
        &(nvtxa__where){.hint = "Install Nsight Systems, or say where it is (--nsys PATH)."},
        "there is no program '%s' on the PATH", nvtxa__quote(quoted, name, strlen(name)));
  }
  *ret_path = path;
  return NVTXA_OK;
}

nvtxa_status nvtxa__command_find(const char *name, char *const *environment, char **ret_path,
                                 nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  char *path = NULL;
  nvtxa_error *error = NULL;
  nvtxa_status status = nvtxa__program_find(name, environment, &path, &error);
  if (status != NVTXA_OK && status != NVTXA_ERROR_NSYS_NOT_FOUND) {
    return nvtxa__pass_on(reterr, status, error);
  }
  nvtxa_error_free(error);
  if (path != NULL && access(path, X_OK) == 0) {
    *ret_path = path;
    return NVTXA_OK;
  }
  int errnum = path != NULL ? errno : 0;
  free(path);
  return nvtxa__fail(
      reterr, NVTXA_ERROR_COMMAND_NOT_FOUND,
      &(nvtxa__where){.errnum = errnum, .hint = "The command to record comes last, after --."},
      "there is no program '%s' to run", nvtxa__quote(quoted, name, strlen(name)));
}

/* nsys takes report scripts from the first; Python, which makes the reports, takes modules, its
 * library and start-up code from variables of the second kind. PWD would name our directory. */
static bool runs_code(const char *variable, const char *name) {
  (void)name;
  return strncmp(variable, "NSYS_STATS_REPORT_PATH=", strlen("NSYS_STATS_REPORT_PATH=")) == 0 ||
         strncmp(variable, "PYTHON", strlen("PYTHON")) == 0 ||
         strncmp(variable, "PWD=", strlen("PWD=")) == 0;
}

/* A copy without the variables for which `leave_out` holds, with room for `more` at its end. The
 * strings are borrowed; NULL when out of memory. */
static char **copy_environment(char *const *environment, size_t more,
                               bool (*leave_out)(const char *variable, const char *name),
                               const char *name, size_t *ret_count) {
  static char *fallback[] = {(char *)"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
  size_t count = 0;
  environment = environment == NULL ? fallback : environment;
  while (environment[count] != NULL) {
    count++;
  }
  char **kept = calloc(count + more + 1, sizeof *kept);
  *ret_count = 0;
  for (size_t i = 0; i < count && kept != NULL; i++) {
    if (!leave_out(environment[i], name)) {
      kept[(*ret_count)++] = environment[i];
    }
  }
  return kept;
}

char **nvtxa__program_environment(char *const *environment) {
  size_t count;
  return copy_environment(environment, 0, runs_code, NULL, &count);
}

static bool is_called(const char *variable, const char *name) {
  size_t length = strlen(name);
  return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

char **nvtxa__program_environment_with(char *const *environment, const char *name, char *variable) {
  size_t count;
  char **made = copy_environment(environment, 1, is_called, name, &count);
  if (made != NULL) {
    made[count] = variable;
  }
  return made;
}

static bool is_plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("_-./=:,+%@", byte) != NULL);
}

/* The bytes of a character, or one byte that belongs to none. *ret_safe: it is text, and nothing
 * that a terminal would act on but line breaks and tabs. */
static size_t character_length(const char *at, bool *ret_safe) {
  unsigned char byte = (unsigned char)*at;
  size_t length = 1;
  size_t most = strnlen(at, 4);
  while (length < most && nvtxa__utf8_valid(at, length) != length) {
    length++;
  }
  bool valid = nvtxa__utf8_valid(at, length) == length;
  bool c1_control = byte == 0xC2 && (unsigned char)at[1] < 0xA0;
  bool control = byte == 0x7F || (byte < 0x20 && byte != '\n' && byte != '\t');
  *ret_safe = valid && !c1_control && !control;
  return valid ? length : 1;
}

/* Between single quotes: an apostrophe, and bytes that are spelled, stand outside of them. */
static int add_quoted(nvtxa__buffer *buffer, const char *at, size_t length, bool safe) {
  if (safe) {
    return *at == '\'' ? nvtxa__buffer_add(buffer, "'\\''", 4)
                       : nvtxa__buffer_add(buffer, at, length);
  }
  int result = nvtxa__buffer_printf(buffer, "'\"$(printf '");
  for (size_t i = 0; i < length && result == 0; i++) {
    result = nvtxa__buffer_printf(buffer, "\\%03o", (unsigned)(unsigned char)at[i]);
  }
  return result == 0 ? nvtxa__buffer_printf(buffer, "')\"'") : -1;
}

/* An equals sign in the first word would make it an assignment. */
static int quote_argument(nvtxa__buffer *buffer, const char *argument, bool first) {
  const char *byte = argument;
  while (is_plain(*byte) && !(first && *byte == '=')) {
    byte++;
  }
  if (*byte == '\0' && byte > argument) {
    return nvtxa__buffer_add(buffer, argument, (size_t)(byte - argument));
  }
  int result = nvtxa__buffer_add(buffer, "'", 1);
  for (byte = argument; *byte != '\0' && result == 0;) {
    bool safe;
    size_t length = character_length(byte, &safe);
    result = add_quoted(buffer, byte, length, safe);
    byte += length;
  }
  return result == 0 ? nvtxa__buffer_add(buffer, "'", 1) : -1;
}

int nvtxa__program_quote(nvtxa__buffer *buffer, const char *const *argv) {
  for (size_t i = 0; argv[i] != NULL; i++) {
    if ((i > 0 && nvtxa__buffer_add(buffer, " ", 1) != 0) ||
        quote_argument(buffer, argv[i], i == 0) != 0) {
      return -1;
    }
  }
  return 0;
}
