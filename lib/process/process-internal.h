/*
 * Other programs: found (program.c), run and watched (child.c), and listened to (output.c).
 */
#ifndef NVTXA_PROCESS_INTERNAL_H
#define NVTXA_PROCESS_INTERNAL_H

#include "base/base-internal.h"

/* ---- programs (program.c) ---- */

/* The absolute path of `name`, looked up as a shell would on the PATH of `environment`. */
nvtxa_status nvtxa__program_find(const char *name, char *const *environment, char **ret_path,
                                 nvtxa_error **reterr);

/* The absolute path of a command that is the user's, if it can be run. */
nvtxa_status nvtxa__command_find(const char *name, char *const *environment, char **ret_path,
                                 nvtxa_error **reterr);

/* `environment` without what makes nsys or Python run code from elsewhere. The array is the
 * caller's to free, its strings are borrowed; NULL when out of memory. */
char **nvtxa__program_environment(char *const *environment);

/* `environment` with one variable set to "NAME=..."; as above. */
char **nvtxa__program_environment_with(char *const *environment, const char *name, char *variable);

/* Append the command as one would type it: a POSIX shell makes the same arguments of it, and it
 * does no harm on a terminal. 0 or -1. */
int nvtxa__program_quote(nvtxa__buffer *buffer, const char *const *argv);

/* ---- what a command prints (output.c) ---- */

enum {
  NVTXA__LINE = 4096,    /* a longer line is taken in pieces */
  NVTXA__EXCERPT = 320,  /* of one line, for a message */
  NVTXA__LAST_LINES = 4, /* kept for a command that fails without an error line */
  NVTXA__OUTPUT_TEXT = NVTXA__LAST_LINES * (NVTXA__EXCERPT + 2),
};

typedef struct nvtxa__output {
  const nvtxa_hooks *hooks;
  /* Gets each line, or the beginning of a very long one. NULL is allowed. */
  void (*line)(void *user, const char *data, size_t length);
  void *user;
  /* The line that is being read. */
  char pending[NVTXA__LINE];
  size_t length;
  bool continued; /* the beginning of this line was taken already */
  bool returned;  /* a carriage return came last: progress, unless a line feed follows */
  /* What was found, ready for a message. */
  char error[3 * NVTXA__EXCERPT]; /* the lines that report an error; "" for none */
  char skipped[NVTXA__EXCERPT];   /* the line that says why a report was skipped; "" for none */
  char last[NVTXA__LAST_LINES][NVTXA__EXCERPT];
  size_t last_count; /* of lines ever kept: the next one goes to last_count % NVTXA__LAST_LINES */
  bool processing;   /* "Processing [export.sqlite] with ...": the report was begun */
  bool processed;    /* "... PROCESSED": and finished */
} nvtxa__output;

void nvtxa__output_feed(nvtxa__output *output, const char *data, size_t length);
void nvtxa__output_end(nvtxa__output *output);

/* The error lines, or else the last lines, or else "" where nothing was printed. */
const char *nvtxa__output_text(const nvtxa__output *output, char buffer[NVTXA__OUTPUT_TEXT]);

/* Log what is done with a file, or with `name` in a directory (NULL for the file itself). */
void nvtxa__log_file(const nvtxa_hooks *hooks, const char *doing, const char *path,
                     const char *name);

/* Text from elsewhere as nvtxa__quote() has it, in a buffer of any size (at least 20). */
const char *nvtxa__excerpt(char *buffer, size_t size, const char *data, size_t length);

/* ---- one command (child.c) ---- */

/* A command that belongs to the user: it has our standard input, and finds our standard output and
 * error under these numbers. To cancel it is to interrupt it, once, and to wait for what it makes
 * of that; a cancel flag of NVTXA__GIVE_UP or more stops it. What it leaves running stays, and
 * signals that are ignored here are ignored there. */
typedef struct nvtxa__foreground {
  int output_fd;
  int error_fd;
  bool interrupted; /* it was */
  bool busy;        /* not to be interrupted now: who listens to its output knows, and says so */
} nvtxa__foreground;

enum { NVTXA__GIVE_UP = 3 };

/* What the commands of one export have in common. */
typedef struct nvtxa__child {
  const nvtxa_hooks *hooks;
  const char *program; /* absolute */
  char *const *environment;
  int directory;                 /* where it runs, and whose disk is watched */
  nvtxa__foreground *foreground; /* NULL: nothing of ours but a pipe for its output; else it runs
                                    where we do */
  int64_t timeout_ns;            /* for the message */
  int64_t deadline_ns;           /* of the monotonic clock; INT64_MAX for never */
} nvtxa__child;

typedef enum nvtxa__ending {
  NVTXA__ENDED_BY_EXIT,
  NVTXA__ENDED_BY_SIGNAL,
  NVTXA__ENDED_UNSEEN, /* somebody else in this process collected the child */
} nvtxa__ending;

typedef struct nvtxa__result {
  nvtxa__ending ending;
  int code;           /* exit status or signal */
  bool disk_was_full; /* at some moment while it ran */
} nvtxa__result;

/* Run a command to its end, whatever that is, and feed `output`. An error means that it could not
 * be started, was cancelled or took too long; then nothing of its process group is left. */
nvtxa_status nvtxa__child_run(const nvtxa__child *child, const char *const *argv,
                              const char *activity, nvtxa__output *output, nvtxa__result *result,
                              nvtxa_error **reterr);

#endif
