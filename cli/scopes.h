/*
 * Where the time of the iterations goes: the largest scopes of each measure.
 */
#ifndef NVTXA_CLI_SCOPES_H
#define NVTXA_CLI_SCOPES_H

#include <stdbool.h>
#include <stddef.h>

#include <nvtxa/nvtxa.h>

/* Print the two tables for lines of `columns`. False when out of memory. */
bool cli_scopes_print(const nvtxa_analysis *analysis, const nvtxa_iteration_summary *sum,
                      size_t columns, bool colour);

#endif
