/**
 * @file json.h
 * An analysis as analysis.json, schema version 2: docs/schema/analysis-2.schema.json.
 *
 * Sorted keys, two spaces, a final newline, UTF-8 unescaped; numbers with the fewest digits that
 * read back as the same value. One analysis always gives the same bytes.
 */
#ifndef NVTXA_JSON_H
#define NVTXA_JSON_H

#include <nvtxa/analysis.h>

NVTXA_BEGIN_DECLS

/** The version of the schema that this library writes. */
#define NVTXA_JSON_SCHEMA_VERSION 2

/** The JSON document of one analysis. Immutable; shared by reference count. */
typedef struct nvtxa_json nvtxa_json;

/** How to write. Start from NVTXA_JSON_OPTIONS_INIT; NULL means the default. */
typedef struct nvtxa_json_options {
  size_t size;              /**< sizeof(nvtxa_json_options) */
  const nvtxa_hooks *hooks; /**< cancel, for every call that writes; copied, but
                             what its members point to must outlive the document */
  size_t kernel_limit; /**< how many kernels to name, at most, for each scope and each iteration:
                        those with the largest cumulative durations; default 10 */
} nvtxa_json_options;

/** The defaults. */
#define NVTXA_JSON_OPTIONS_INIT \
  { sizeof(nvtxa_json_options), NULL, 0 }

/**
 * Takes the next piece of a document.
 *
 * @param user    what the caller gave with the function
 * @param data    `length` bytes, not NUL-terminated
 * @param length  how many
 * @return 0 to go on, an errno to end the call with NVTXA_ERROR_IO
 */
typedef int (*nvtxa_json_write_fn)(void *user, const char *data, size_t length);

/**
 * Make the document of an analysis. Cheap: the text is made as it is written.
 *
 * @param analysis  the analysis; the document keeps a reference
 * @param options   NULL for the defaults
 * @param ret_json  gets the document; the caller owns one reference
 * @param reterr    gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_json_new(const nvtxa_analysis *analysis,
                                      const nvtxa_json_options *options, nvtxa_json **ret_json,
                                      nvtxa_error **reterr);

/** Take another reference. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_json *nvtxa_json_ref(const nvtxa_json *json);

/** Give a reference back; the last one frees. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API void nvtxa_json_unref(nvtxa_json *json);

/**
 * Write the document to a file, atomically: a new file beside it is written, synced and renamed
 * over it, so that a reader sees the old or the new one, whole. On failure the old file stays.
 *
 * @param json    the document
 * @param path    the file
 * @param reterr  gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_IO, NVTXA_ERROR_CANCELLED, NVTXA_ERROR_INVALID_ARGUMENT,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_json_write_file(const nvtxa_json *json, const char *path,
                                             nvtxa_error **reterr);

/**
 * Write the document through a function, piece by piece.
 *
 * @param json    the document
 * @param write   gets the pieces, in order
 * @param user    passed to it
 * @param reterr  gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_IO (with the errno that the function returned),
 *         NVTXA_ERROR_CANCELLED, NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_json_write(const nvtxa_json *json, nvtxa_json_write_fn write,
                                        void *user, nvtxa_error **reterr);

/**
 * The document as one NUL-terminated text.
 *
 * @param json        the document
 * @param ret_text    gets the text; the caller frees it with nvtxa_free()
 * @param ret_length  gets its length without the final NUL; may be NULL
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_CANCELLED, NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_json_to_text(const nvtxa_json *json, char **ret_text,
                                          size_t *ret_length, nvtxa_error **reterr);

NVTXA_END_DECLS

#endif
