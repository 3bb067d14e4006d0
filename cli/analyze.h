/*
 * An analysis as the user asked for it: of `nvtxa analyze`, or at the end of `nvtxa record`.
 */
#ifndef NVTXA_CLI_ANALYZE_H
#define NVTXA_CLI_ANALYZE_H

#include "analyze_options.h"

/* Returns the exit status; what there is to say was said. */
int analyze_run(const analyze_options *options);

#endif
