/*
 * One command: started without a shell, in a process group of its own, with nothing of ours but one
 * pipe for its output (or, where it is the user's, with the standard streams); watched in steps of
 * at most 100 ms for its end, the caller's cancel flag, the deadline and a full disk; and ended
 * with all its group. It never blocks on a child that hangs or on a grandchild that keeps the pipe
 * open.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process-internal.h"

static const int64_t ms_ns = 1000000;
static const int64_t grace_ns = 2000000000; /* from SIGTERM to SIGKILL */
static const int64_t drain_ns = 1000000000; /* for output that comes after the end */
static const int64_t reap_ns = 5000000000;  /* for a killed child to be gone */
enum { STEP_MS = 50 };
enum { ABOVE_DIGITS = 10 }; /* the first number that no foreground command is given */

/* Less than this is a full disk: a write may have failed, and nsys does not tell. */
enum { LEAST_ROOM = 1 << 16 };

struct running {
  pid_t pid;
  int pipe;    /* -1 at end of file */
  bool ended;  /* but not collected, so that the group's number cannot be given to another */
  bool unseen; /* ended, and somebody else collected it or nobody may (SIGCHLD ignored) */
  int64_t ended_ns;
  int code;
  bool signalled;
};

static void sleep_ns(int64_t ns) {
  struct timespec time = {.tv_sec = 0, .tv_nsec = (long)ns};
  nanosleep(&time, NULL); /* a signal may cut it short */
}

static bool disk_is_full(int directory) {
  struct statvfs info;
  if (fstatvfs(directory, &info) != 0 || info.f_blocks == 0) {
    return false; /* this file system does not tell */
  }
  uint64_t blocks = geteuid() == 0 ? info.f_bfree : info.f_bavail;
  return blocks < (LEAST_ROOM + info.f_frsize - 1) / info.f_frsize;
}

/* Attributes: own process group, no signal blocked, and every one as if freshly logged in, unless
 * what is ignored shall stay so. */
static int set_attributes(posix_spawnattr_t *attributes, bool keep_ignored) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  int flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK;
  int errnum = posix_spawnattr_setflags(
      attributes, (short)(keep_ignored ? flags : flags | POSIX_SPAWN_SETSIGDEF));
  errnum = errnum != 0 ? errnum : posix_spawnattr_setpgroup(attributes, 0);
  errnum = errnum != 0 ? errnum : posix_spawnattr_setsigmask(attributes, &none);
  return errnum != 0 ? errnum : posix_spawnattr_setsigdefault(attributes, &all);
}

/* The order lets `directory` and `output` be any descriptor, 0 to 2 included. */
static int set_actions(posix_spawn_file_actions_t *actions, int directory, int output) {
  int errnum = posix_spawn_file_actions_addfchdir_np(actions, directory);
  errnum = errnum != 0 ? errnum : posix_spawn_file_actions_adddup2(actions, output, 1);
  errnum = errnum != 0 ? errnum : posix_spawn_file_actions_adddup2(actions, output, 2);
  errnum =
      errnum != 0 ? errnum : posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  return errnum != 0 ? errnum : posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

/* `output` is above those numbers. */
static int set_foreground_actions(posix_spawn_file_actions_t *actions,
                                  const nvtxa__foreground *foreground, int output) {
  int errnum = posix_spawn_file_actions_adddup2(actions, 1, foreground->output_fd);
  errnum =
      errnum != 0 ? errnum : posix_spawn_file_actions_adddup2(actions, 2, foreground->error_fd);
  errnum = errnum != 0 ? errnum : posix_spawn_file_actions_adddup2(actions, output, 1);
  return errnum != 0 ? errnum : posix_spawn_file_actions_adddup2(actions, output, 2);
}

static int spawn(const nvtxa__child *child, const char *const *argv, int output, pid_t *ret_pid) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  int errnum = posix_spawnattr_init(&attributes);
  if (errnum != 0) {
    return errnum;
  }
  errnum = posix_spawn_file_actions_init(&actions);
  if (errnum == 0) {
    errnum = set_attributes(&attributes, child->foreground != NULL);
    errnum = errnum != 0 ? errnum
             : child->foreground != NULL
                 ? set_foreground_actions(&actions, child->foreground, output)
                 : set_actions(&actions, child->directory, output);
    errnum = errnum != 0 ? errnum
                         : posix_spawn(ret_pid, child->program, &actions, &attributes,
                                       (char *const *)argv, child->environment);
    posix_spawn_file_actions_destroy(&actions);
  }
  posix_spawnattr_destroy(&attributes);
  return errnum;
}

static nvtxa_status start_failed(const nvtxa__child *child, int errnum, nvtxa_error **reterr) {
  char quoted[NVTXA__EXCERPT];
  nvtxa__excerpt(quoted, sizeof quoted, child->program, strlen(child->program));
  if (errnum == ENOMEM) {
    return nvtxa__out_of_memory(reterr);
  }
  if (errnum == EAGAIN || errnum == EMFILE || errnum == ENFILE) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.errnum = errnum},
                       "cannot start a process for '%s'", quoted);
  }
  return nvtxa__fail(
      reterr, NVTXA_ERROR_NSYS_NOT_FOUND,
      &(nvtxa__where){.errnum = errnum,
                      .hint = "Install Nsight Systems, or say where it is (--nsys PATH)."},
      "cannot start '%s'", quoted);
}

static nvtxa_status start(const nvtxa__child *child, const char *const *argv,
                          struct running *running, nvtxa_error **reterr) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return nvtxa__fail(reterr, NVTXA_ERROR_IO, &(nvtxa__where){.errnum = errno},
                       "cannot make a pipe for the output of nsys");
  }
  /* Our end alone (pipe2 would set both): nsys would lose output on one that does not block. */
  int errnum = fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 ? errno : 0;
  int output = fcntl(ends[1], F_DUPFD_CLOEXEC, ABOVE_DIGITS);
  errnum = errnum == 0 && output < 0 ? errno : errnum;
  errnum = errnum != 0 ? errnum : spawn(child, argv, output, &running->pid);
  nvtxa__close(&output);
  nvtxa__close(&ends[1]);
  if (errnum != 0) {
    nvtxa__close(&ends[0]);
    return start_failed(child, errnum, reterr);
  }
  running->pipe = ends[0];
  return NVTXA_OK;
}

/* Notice the child's end without collecting it. */
static void look(struct running *running) {
  siginfo_t info = {0};
  if (running->ended) {
    return;
  }
  if (waitid(P_PID, (id_t)running->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    running->unseen = errno == ECHILD;
    running->ended = running->unseen;
  } else if (info.si_pid == running->pid) {
    running->ended = true;
    running->code = info.si_status;
    running->signalled = info.si_code != CLD_EXITED;
  }
  if (running->ended) {
    running->ended_ns = nvtxa__now_ns();
  }
}

/* Feed what the pipe holds, a bounded amount at a time. */
static void listen_to(struct running *running, nvtxa__output *output) {
  char data[1 << 14];
  ssize_t got = read(running->pipe, data, sizeof data);
  if (got > 0) {
    nvtxa__output_feed(output, data, (size_t)got);
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
    nvtxa__close(&running->pipe);
  }
}

static void wait_a_step(struct running *running, nvtxa__output *output, int *pause_ms) {
  if (running->pipe >= 0) {
    struct pollfd ready = {.fd = running->pipe, .events = POLLIN};
    if (poll(&ready, 1, STEP_MS) > 0) {
      listen_to(running, output);
    }
  } else if (!running->ended) {
    /* Its output is closed, so it ends now or has turned itself into something silent. */
    sleep_ns(*pause_ms * ms_ns);
    *pause_ms = *pause_ms * 2 < STEP_MS ? *pause_ms * 2 : STEP_MS;
  }
}

/* Kill what is left of the group (unless it may stay), then collect the child: in this order, as
 * the group's number stays taken until the child is collected. A child collected by others may have
 * left a number that is free; then only a pipe that is still open shows that the group is there. */
static void finish(struct running *running, bool spare) {
  if (!spare && (!running->unseen || running->pipe >= 0)) {
    kill(-running->pid, SIGKILL);
  }
  for (int64_t until = nvtxa__now_ns() + reap_ns; !running->ended && nvtxa__now_ns() < until;) {
    look(running);
    sleep_ns(running->ended ? 0 : ms_ns);
  }
  siginfo_t info;
  while (!running->unseen && waitid(P_PID, (id_t)running->pid, &info, WEXITED | WNOHANG) != 0 &&
         errno == EINTR) {
  }
  nvtxa__close(&running->pipe);
}

static void stop(struct running *running) {
  if (!running->ended) {
    kill(-running->pid, SIGTERM);
  }
  for (int64_t until = nvtxa__now_ns() + grace_ns; !running->ended && nvtxa__now_ns() < until;) {
    look(running);
    sleep_ns(running->ended ? 0 : 5 * ms_ns);
  }
  finish(running, false);
}

static nvtxa_status timed_out(const nvtxa__child *child, const char *activity,
                              nvtxa_error **reterr) {
  return nvtxa__fail(
      reterr, NVTXA_ERROR_NSYS_TIMEOUT,
      &(nvtxa__where){.hint =
                          "A large trace can take minutes: allow more time (--timeout SECONDS)."},
      "nsys took longer than the %.10g seconds it was given (%s)", (double)child->timeout_ns / 1e9,
      activity);
}

/* Whether the caller wants it ended now. One that belongs to the user is interrupted first. */
static bool is_cancelled(const nvtxa__child *child, const struct running *running) {
  nvtxa__foreground *foreground = child->foreground;
  const int wanted = nvtxa__cancel_level(child->hooks);
  if (foreground != NULL && wanted > 0 && !foreground->interrupted && !foreground->busy) {
    foreground->interrupted = true;
    nvtxa__log(child->hooks, NVTXA_LOG_NOTICE,
               "interrupted: waiting for nsys to write what it captured");
    kill(running->pid, SIGINT); /* not collected yet, so the number is its own */
  }
  return wanted >= (foreground == NULL ? 1 : NVTXA__GIVE_UP);
}

/* Listen until the command has ended and its output too, or until it has to be stopped. */
static nvtxa_status watch(const nvtxa__child *child, struct running *running, const char *activity,
                          nvtxa__output *output, nvtxa__result *result, nvtxa_error **reterr) {
  nvtxa__activity progress;
  bool silent = child->foreground != NULL; /* the terminal is the command's */
  int pause_ms = 1;
  /* A disk that is full from the beginning need not be: some network file systems say so always. */
  bool tells = !disk_is_full(child->directory);
  nvtxa__activity_start(&progress, silent ? NULL : child->hooks, activity);
  for (;;) {
    look(running);
    if (running->ended && (running->pipe < 0 || nvtxa__now_ns() - running->ended_ns > drain_ns)) {
      finish(running, child->foreground != NULL);
      return NVTXA_OK;
    }
    bool cancelled = is_cancelled(child, running);
    if (cancelled || nvtxa__now_ns() >= child->deadline_ns) {
      stop(running);
      return cancelled ? nvtxa__cancel_error(reterr) : timed_out(child, activity, reterr);
    }
    wait_a_step(running, output, &pause_ms);
    result->disk_was_full = result->disk_was_full || (tells && disk_is_full(child->directory));
    nvtxa__activity_tick(&progress);
  }
}

static nvtxa_status log_command(const nvtxa__child *child, const char *const *argv,
                                nvtxa_error **reterr) {
  nvtxa__buffer command = {0};
  int result = nvtxa__program_quote(&command, argv);
  for (size_t i = 0; result == 0 && i < command.length; i++) {
    command.data[i] = command.data[i] == '\n' ? ' ' : command.data[i]; /* a log has lines */
  }
  if (result == 0) {
    nvtxa__log(child->hooks, NVTXA_LOG_INFO, "running %s", command.data);
  }
  nvtxa__buffer_free(&command);
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

nvtxa_status nvtxa__child_run(const nvtxa__child *child, const char *const *argv,
                              const char *activity, nvtxa__output *output, nvtxa__result *result,
                              nvtxa_error **reterr) {
  struct running running = {.pipe = -1};
  *result = (nvtxa__result){0};
  if (nvtxa__cancelled(child->hooks)) {
    return nvtxa__cancel_error(reterr);
  }
  nvtxa_status status = log_command(child, argv, reterr);
  if (status == NVTXA_OK) {
    status = start(child, argv, &running, reterr);
  }
  if (status == NVTXA_OK) {
    status = watch(child, &running, activity, output, result, reterr);
  }
  if (status != NVTXA_OK) {
    return status;
  }
  nvtxa__output_end(output);
  result->ending = running.unseen      ? NVTXA__ENDED_UNSEEN
                   : running.signalled ? NVTXA__ENDED_BY_SIGNAL
                                       : NVTXA__ENDED_BY_EXIT;
  result->code = running.code;
  return NVTXA_OK;
}
