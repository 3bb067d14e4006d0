/*
 * Where the analysis goes. The library replaces regular files; renaming a file over a device or a
 * pipe would destroy it, so those are written in place here, as is standard output.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "signals.h"
#include "terminal.h"
#include "text.h"

static bool refuse(const char *path) {
  cli_complain(path, NULL, "cannot write to it: %s", strerror(errno));
  return false;
}

/* Whether `path` is what standard output is connected to, such as /dev/stdout. */
static bool is_stdout(const struct stat *info) {
  struct stat own;
  return fstat(STDOUT_FILENO, &own) == 0 && own.st_dev == info->st_dev &&
         own.st_ino == info->st_ino;
}

static bool check_directory_of(const char *path) {
  const char *slash = strrchr(path, '/');
  char *directory = slash == NULL   ? strdup(".")
                    : slash == path ? strdup("/")
                                    : strndup(path, (size_t)(slash - path));
  if (directory == NULL) {
    return refuse(path);
  }
  bool usable = access(directory, W_OK | X_OK) == 0;
  if (!usable) {
    cli_complain(directory, "Name another place for the analysis with --output.",
                 "cannot write to this directory: %s", strerror(errno));
  }
  free(directory);
  return usable;
}

/* A file that the user named: what a link points to is meant, and a device or a pipe is written in
 * place. */
static bool open_named(cli_output *output, const char *given) {
  struct stat info;
  output->path = strdup(given);
  if (output->path == NULL) {
    return refuse(given);
  }
  if (stat(given, &info) != 0) {
    output->target = strdup(given);
  } else if (S_ISDIR(info.st_mode)) {
    cli_complain(given, "Name a file.", "is a directory");
    return false;
  } else if (is_stdout(&info)) {
    free(output->path);
    output->path = NULL;
    return true;
  } else if (S_ISREG(info.st_mode)) {
    output->target = realpath(given, NULL);
  } else {
    return true;
  }
  return output->target == NULL ? refuse(output->path) : check_directory_of(output->target);
}

bool cli_output_open(cli_output *output, const char *given, const char *run_dir) {
  *output = (cli_output){NULL, NULL};
  if (given != NULL && strcmp(given, "-") == 0) {
    return true;
  }
  if (given != NULL) {
    return open_named(output, given);
  }
  /* A run directory may come from elsewhere: its analysis.json is replaced, never followed. */
  const char *slash = run_dir[strlen(run_dir) - 1] == '/' ? "" : "/";
  if (asprintf(&output->path, "%s%sanalysis.json", run_dir, slash) < 0) {
    output->path = NULL;
    return refuse(run_dir);
  }
  struct stat info;
  if (lstat(output->path, &info) == 0 && S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    return refuse(output->path);
  }
  output->target = strdup(output->path);
  return output->target == NULL ? refuse(output->path) : check_directory_of(output->target);
}

void cli_output_announce(const cli_output *output) {
  fputs("Wrote analysis: ", stdout);
  cli_put_string(stdout, output->path);
  fputs("\n", stdout);
}

void cli_output_close(cli_output *output) {
  free(output->path);
  free(output->target);
}

/* Whether the loss of standard output was complained of: once is enough. */
static bool stdout_reported;

static bool write_failed(const char *name, int errnum) {
  if (cli_interrupted) {
    cli_complain(NULL, NULL, "interrupted");
  } else {
    cli_complain(name, NULL, "cannot write: %s", strerror(errnum));
  }
  return false;
}

static int write_piece(void *user, const char *data, size_t length) {
  return fwrite(data, 1, length, user) == length ? 0 : errno;
}

static bool write_terminal(FILE *stream, const nvtxa_json *json, nvtxa_error **error) {
  char *text;
  size_t length;
  if (nvtxa_json_to_text(json, &text, &length, error) != NVTXA_OK) {
    return false;
  }
  cli_put_json(stream, text, length);
  nvtxa_free(text);
  return true;
}

static bool write_stream(FILE *stream, const char *name, const nvtxa_json *json) {
  nvtxa_error *error = NULL;
  bool done = isatty(fileno(stream)) == 1
                  ? write_terminal(stream, json, &error)
                  : nvtxa_json_write(json, write_piece, stream, &error) == NVTXA_OK;
  if (!done && nvtxa_error_status(error) != NVTXA_ERROR_IO) {
    cli_print_error(error, NULL);
    nvtxa_error_free(error);
    return false;
  }
  int errnum = done ? 0 : nvtxa_error_errno(error);
  nvtxa_error_free(error);
  errno = 0;
  if (done && (fflush(stream) != 0 || ferror(stream) != 0)) {
    errnum = errno != 0 ? errno : EIO;
  }
  return errnum == 0 || write_failed(name, errnum);
}

void cli_stdout_failed(int errnum) {
  stdout_reported = true;
  write_failed("standard output", errnum);
}

static bool write_stdout(const nvtxa_json *json) {
  stdout_reported = !write_stream(stdout, "standard output", json);
  return !stdout_reported;
}

static bool write_in_place(const char *path, const nvtxa_json *json) {
  FILE *stream = fopen(path, "we");
  if (stream == NULL) {
    return write_failed(path, errno);
  }
  bool done = write_stream(stream, path, json);
  if (fclose(stream) != 0 && done) {
    return write_failed(path, errno);
  }
  return done;
}

bool cli_output_write(const cli_output *output, const nvtxa_json *json) {
  nvtxa_error *error = NULL;
  if (output->path == NULL) {
    return write_stdout(json);
  }
  if (output->target == NULL) {
    return write_in_place(output->path, json);
  }
  if (nvtxa_json_write_file(json, output->target, &error) != NVTXA_OK) {
    cli_print_error(error, NULL);
    nvtxa_error_free(error);
    return false;
  }
  return true;
}

bool cli_close_stdout(void) {
  bool lost = ferror(stdout) != 0;
  errno = 0;
  lost |= fclose(stdout) != 0;
  /* An earlier failure may have left no errno; that something was lost is worth an error all the
   * same. */
  if (lost && !stdout_reported) {
    cli_complain("standard output", NULL, "cannot write%s%s", errno != 0 ? ": " : "",
                 errno != 0 ? strerror(errno) : "");
  }
  return !lost;
}
