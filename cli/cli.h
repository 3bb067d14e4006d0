/*
 * What the rooms of the command share: how it ends, and what a subcommand is.
 */
#ifndef NVTXA_CLI_H
#define NVTXA_CLI_H

/* Exit statuses. They are part of the interface: nvtxa(1) lists them. */
enum {
  CLI_DONE = 0,
  CLI_FAILED = 1,       /* the run cannot be analysed, or the result cannot be written */
  CLI_USAGE = 2,        /* the command line is wrong */
  CLI_WARNINGS = 3,     /* done, but there were warnings and --strict was given */
  CLI_NOT_FOUND = 127,  /* there is no command to record */
  CLI_INTERRUPTED = 130 /* SIGINT, SIGTERM or SIGHUP came */
};

/* A subcommand. `run` gets its own name as argv[0] and returns an exit status. */
typedef struct cli_command {
  const char *name;
  const char *summary;
  int (*run)(int argc, char **argv);
} cli_command;

int cmd_analyze(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_init(int argc, char **argv);
int cmd_ranges(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_stats(int argc, char **argv);

#endif
