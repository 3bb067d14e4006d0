/*
 * Runs a command and says how long it took and how much memory it had at most.
 *
 * usage: meter OUTPUT COMMAND [ARGUMENT...]
 *
 * The command's standard output goes to the file OUTPUT. Prints seconds and kilobytes; the exit
 * status is the command's. It is a program of its own, and in C, since the kernel counts for a
 * child's peak what the process had in memory that it was started from: a script would add its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fputs("usage: meter OUTPUT COMMAND [ARGUMENT...]\n", stderr);
    return 2;
  }
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error == 0) {
    error =
        posix_spawn_file_actions_addopen(&actions, 1, argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
  }
  pid_t child = 0;
  double began = now();
  if (error == 0) {
    error = posix_spawnp(&child, argv[2], &actions, NULL, argv + 2, environ);
  }
  if (error != 0) {
    fprintf(stderr, "meter: %s: %s\n", argv[2], strerror(error));
    return 127;
  }
  int status;
  struct rusage usage;
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) {
      perror("meter");
      return 127;
    }
  }
  printf("%.6f %ld\n", now() - began, usage.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
