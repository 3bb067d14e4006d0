/*
 * The root ranges of a trace (host ranges without a parent) by name, each with the iterations that
 * stand directly below it.
 */
#ifndef NVTXA_CLI_ROOTS_H
#define NVTXA_CLI_ROOTS_H

#include <nvtxa/nvtxa.h>

/* All roots of one name. */
typedef struct cli_root {
  nvtxa_text name; /* as cli_range_name() has it; borrowed from the ranges */
  size_t instances;
  size_t open;            /* of these, how many have no measured end */
  size_t threads;         /* on how many threads, of whichever process */
  double total_ns;        /* of those that are not open */
  size_t iterations;      /* how many ranges "iteration N" stand directly below */
  size_t distinct;        /* how many different N they have */
  const int64_t *indexes; /* each N, ascending, as often as it is there */
} cli_root;

/* Those with iterations first, then by total time, the longest first, then by name. */
typedef struct cli_roots {
  size_t count;
  cli_root *roots;
  int64_t *indexes; /* what the roots point into */
} cli_roots;

/* Takes O(n log n). False when out of memory; free them in either case. */
bool cli_roots_find(cli_roots *roots, const nvtxa_ranges *host);

void cli_roots_free(cli_roots *roots);

/* Whether its name can be a capture range: it occurs once, and has iterations, each once. */
bool cli_root_is_candidate(const cli_root *root);

/* Whether the iterations are 0, 1, ... each once, as a manifest declares them by number. */
bool cli_root_counts_from_zero(const cli_root *root);

#endif
