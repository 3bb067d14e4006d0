/*
 * The readable summary of an analysis: one screen on standard output.
 */
#ifndef NVTXA_CLI_SUMMARY_H
#define NVTXA_CLI_SUMMARY_H

#include <stdbool.h>

#include <nvtxa/nvtxa.h>

/* Print it. False when out of memory; failures of standard output are seen when it is closed. */
bool cli_summary_print(const nvtxa_analysis *analysis);

#endif
