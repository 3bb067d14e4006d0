/*
 * Where ranges are read from: an SQLite export as it is, or a trace that nsys exports first.
 */
#ifndef NVTXA_CLI_SOURCE_H
#define NVTXA_CLI_SOURCE_H

#include <nvtxa/nvtxa.h>

#include "common_options.h"

/* TMPDIR; NULL for the library's default. */
const char *cli_temporary_directory(void);

/* Find the SQLite export to read for `file`. *ret_path is borrowed: from `file` or, where that is a
 * trace, from *ret_exported, which the caller gives back when all is read (NULL otherwise). */
nvtxa_status cli_source_open(const char *file, const cli_common_options *common,
                             const nvtxa_hooks *hooks, nvtxa_export **ret_exported,
                             const char **ret_path, nvtxa_error **reterr);

#endif
