/*
 * Host ranges as a person knows them, by name, and as their children refer to them, by key. Names
 * and iterations are what the analysis takes them for; docs/measures.md says that.
 */
#ifndef NVTXA_CLI_HOST_RANGE_H
#define NVTXA_CLI_HOST_RANGE_H

#include <nvtxa/nvtxa.h>

typedef struct cli_range_key {
  int64_t process_id;
  int64_t thread_id;
  int64_t range_id;
} cli_range_key;

cli_range_key cli_key_of(const nvtxa_range *range);
cli_range_key cli_key_of_parent(const nvtxa_range *range);

/* By process, thread and id; below, at or above 0. */
int cli_key_compare(const cli_range_key *a, const cli_range_key *b);

/* A range's name without one leading colon, which reports put before names of the default domain.
 * Borrowed. */
nvtxa_text cli_range_name(const nvtxa_range *range);

/* By bytes; below, at or above 0. */
int cli_name_compare(nvtxa_text a, nvtxa_text b);

/* Whether a range of this name is an iteration where it stands directly below a capture range:
 * "iteration N", with N in decimal digits and below 2^63. */
bool cli_iteration_index(nvtxa_text name, int64_t *ret_index);

#endif
