/*
 * SIGINT, SIGTERM and SIGHUP end the work in order: the library sees the flag, ends nsys and cleans
 * up.
 */
#ifndef NVTXA_CLI_SIGNALS_H
#define NVTXA_CLI_SIGNALS_H

#include <signal.h>

/* How many signals came. */
extern volatile sig_atomic_t cli_interrupted;

/* A parent that ignores the ends of its children has ours ignored as well: undo that, since how
 * nsys ends counts. */
void cli_signals_child(void);

/* From now on a write to a pipe that nobody reads is an error that can be reported. */
void cli_signals_pipe(void);

/* From now on those signals are counted. */
void cli_signals_catch(void);

#endif
