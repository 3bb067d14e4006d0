/*
 * The table of root ranges: how many of each name, how long they took, which iterations they hold.
 */
#ifndef NVTXA_CLI_ROOTS_TABLE_H
#define NVTXA_CLI_ROOTS_TABLE_H

#include "roots.h"

/* Print the first `limit` of them, how many more there are, and what has to be said of the columns.
 * False when out of memory. */
bool cli_roots_print(const cli_roots *roots, size_t limit);

#endif
