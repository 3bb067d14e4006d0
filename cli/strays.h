/*
 * Ranges called "iteration N" and where they stand, for a trace in which none stands directly below
 * a root range: only there they are iterations.
 */
#ifndef NVTXA_CLI_STRAYS_H
#define NVTXA_CLI_STRAYS_H

#include <nvtxa/nvtxa.h>

/* How many there are directly below ranges of one name. */
typedef struct cli_stray {
  nvtxa_text parent; /* as cli_range_name() has it; borrowed from the ranges */
  size_t count;
} cli_stray;

typedef struct cli_strays {
  size_t outermost; /* without a parent */
  size_t count;
  cli_stray *below;     /* the largest count first, then by name */
  size_t in_domains;    /* called "domain:iteration N", wherever they stand */
  nvtxa_text in_domain; /* the first of these; borrowed from the ranges */
} cli_strays;

/* Takes O(n log n). False when out of memory; free them in either case. */
bool cli_strays_find(cli_strays *strays, const nvtxa_ranges *host);

void cli_strays_free(cli_strays *strays);

#endif
