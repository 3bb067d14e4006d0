/**
 * @file manifest.h
 * manifest.yaml: what the profiling harness says about the run.
 *
 * YAML 1.2 core schema, one document, a mapping at the root. Duplicate keys (compared by their
 * text) and several documents are errors. So is what passes a limit: 16 MiB of text, 1 MiB in a
 * line, nesting of 64 levels, aliases that expand to 100,000 nodes or 16 MiB, 64 directives, 256
 * blank lines in a row, 256 escapes in a tag. A few quoted texts over several lines that the YAML
 * library is known to misread are refused; written on one line they are read.
 */
#ifndef NVTXA_MANIFEST_H
#define NVTXA_MANIFEST_H

#include <nvtxa/base.h>

NVTXA_BEGIN_DECLS

/** A manifest that was read. Immutable; shared by reference count. */
typedef struct nvtxa_manifest nvtxa_manifest;

/**
 * Read a manifest from a file.
 *
 * @param path          the file
 * @param ret_manifest  gets the manifest; the caller owns one reference
 * @param reterr        gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_MANIFEST_MISSING, NVTXA_ERROR_MANIFEST_SYNTAX (with the line),
 *         NVTXA_ERROR_MANIFEST_VALUE (with the key), NVTXA_ERROR_LIMIT, NVTXA_ERROR_IO,
 *         NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_manifest_read_file(const char *path, nvtxa_manifest **ret_manifest,
                                                nvtxa_error **reterr);

/**
 * Read a manifest from memory. As nvtxa_manifest_read_file(); the text is not kept.
 *
 * @param data          the YAML text, `length` bytes
 * @param length        its length in bytes
 * @param ret_manifest  gets the manifest; the caller owns one reference
 * @param reterr        gets the error, or NULL
 * @return as nvtxa_manifest_read_file()
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_manifest_read_buffer(const char *data, size_t length,
                                                  nvtxa_manifest **ret_manifest,
                                                  nvtxa_error **reterr);

/** Take another reference. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_manifest *nvtxa_manifest_ref(const nvtxa_manifest *manifest);

/** Give a reference back; the last one frees. NULL is allowed. Thread-safe. Since 0.1. */
NVTXA_API void nvtxa_manifest_unref(nvtxa_manifest *manifest);

/** The required `capture_range`. Borrowed from the manifest. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_manifest_capture_range(const nvtxa_manifest *manifest);

/** `profile_name` as written; no text where null or absent. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_manifest_profile_name(const nvtxa_manifest *manifest);

/** `run_id` as written; no text where null or absent. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_manifest_run_id(const nvtxa_manifest *manifest);

/** `device` as written; no text where null or absent. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_manifest_device(const nvtxa_manifest *manifest);

/**
 * `git_commit` as written, whatever number it may look like (`0123456`, `12e4567`); no text where
 * null or absent. Borrowed. Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_text nvtxa_manifest_git_commit(const nvtxa_manifest *manifest);

/** The length of `record_ids`; 0 where null, absent or no sequence. Thread-safe. Since 0.1. */
NVTXA_API uint64_t nvtxa_manifest_record_count(const nvtxa_manifest *manifest);

/**
 * The declared number of iterations: `workload.iterations`, an integer >= 0 that fits int64_t.
 *
 * @param manifest        the manifest
 * @param ret_iterations  gets the number N: the indexes 0 .. N-1 are expected
 * @return whether one is declared. Where `workload.iterations` is there but is no such integer,
 * none is declared and a warning says so.
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API bool nvtxa_manifest_iterations(const nvtxa_manifest *manifest, int64_t *ret_iterations);

/**
 * The mapping `workload`, whole, as compact JSON with sorted keys; `{}` where absent or no mapping.
 * Integers beyond signed 64 bits and floats that are not finite stand as strings.
 * Borrowed. Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_text nvtxa_manifest_workload_json(const nvtxa_manifest *manifest);

/** The mapping `cuda`, as nvtxa_manifest_workload_json(). Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_manifest_cuda_json(const nvtxa_manifest *manifest);

/** SHA-256 of the manifest's bytes, 64 lower-case hex digits. Borrowed. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_text nvtxa_manifest_sha256(const nvtxa_manifest *manifest);

/** How many warnings reading it gave. Thread-safe. Since 0.1. */
NVTXA_API size_t nvtxa_manifest_warning_count(const nvtxa_manifest *manifest);

/** Warning `index`, below the count. Borrowed from the manifest. Thread-safe. Since 0.1. */
NVTXA_API nvtxa_warning nvtxa_manifest_warning(const nvtxa_manifest *manifest, size_t index);

/**
 * A manifest in the making, for harnesses that write one: keys are set, then it is written. A
 * value is always written so that it reads back the same, whatever it looks like (`0123`, `yes`,
 * `a: b`, a line break). Not shared.
 *
 * A key is a name, or names joined by dots: the mappings on the way to it, which are made where
 * they are not there (`workload.seed`). Keys stand in the order in which they were first set.
 */
typedef struct nvtxa_manifest_draft nvtxa_manifest_draft;

/**
 * Begin an empty manifest.
 *
 * @param ret_draft  gets it; the caller frees it with nvtxa_manifest_draft_free()
 * @param reterr     gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Thread-safe. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_manifest_draft_new(nvtxa_manifest_draft **ret_draft,
                                                nvtxa_error **reterr);

/**
 * Set a key to a text, which stays one. An earlier value of the key is replaced.
 *
 * @param draft   the draft
 * @param key     the key
 * @param text    UTF-8; copied
 * @param reterr  gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_MANIFEST_VALUE (a name in the key is empty, the key leads through a
 *         value that is no mapping or stands for a collection, text or key is not UTF-8),
 *         NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Safe on distinct objects. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_manifest_draft_set_text(nvtxa_manifest_draft *draft, const char *key,
                                                     const char *text, nvtxa_error **reterr);

/** Set a key to an integer. As nvtxa_manifest_draft_set_text(). */
NVTXA_API nvtxa_status nvtxa_manifest_draft_set_integer(nvtxa_manifest_draft *draft,
                                                        const char *key, int64_t value,
                                                        nvtxa_error **reterr);

/**
 * Set a key to what a text says: a number or a boolean where that comes back in the very same
 * characters (`8`, `-1`, `0.5`, `true`), else the text (`0123`, `1e10`, `yes`, `~`, `null`).
 * As nvtxa_manifest_draft_set_text().
 */
NVTXA_API nvtxa_status nvtxa_manifest_draft_set_value(nvtxa_manifest_draft *draft, const char *key,
                                                      const char *text, nvtxa_error **reterr);

/**
 * Fill in what is not there yet (or null, or empty) from a YAML text under the rules of a manifest.
 * Mappings are gone through key by key; anything that is there stays, and where the text says
 * something else about it, a notice is logged.
 *
 * @param draft   the draft; as it was on failure, unless memory runs out
 * @param data    the YAML text, `length` bytes; not kept
 * @param length  its length in bytes
 * @param file    what the text is called in errors and notices, or NULL
 * @param hooks   for notices, or NULL
 * @param reterr  gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_MANIFEST_SYNTAX (with the line), NVTXA_ERROR_MANIFEST_VALUE
 *         (`device` and the like as a collection), NVTXA_ERROR_LIMIT (also for a mapping with more
 *         than 1000 keys), NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Safe on distinct objects. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_manifest_draft_fill_in(nvtxa_manifest_draft *draft, const char *data,
                                                    size_t length, const char *file,
                                                    const nvtxa_hooks *hooks, nvtxa_error **reterr);

/**
 * The manifest as YAML text. It has been read back: it is a manifest and says the same.
 *
 * @param draft       the draft
 * @param ret_text    gets the text, NUL-terminated; the caller frees it with nvtxa_free()
 * @param ret_length  gets its length in bytes
 * @param reterr      gets the error, or NULL
 * @return NVTXA_OK; NVTXA_ERROR_MANIFEST_VALUE (no `capture_range`, for instance),
 *         NVTXA_ERROR_LIMIT, NVTXA_ERROR_INVALID_ARGUMENT, NVTXA_ERROR_OUT_OF_MEMORY
 *
 * Safe on distinct objects. Since 0.1.
 */
NVTXA_API nvtxa_status nvtxa_manifest_draft_to_text(const nvtxa_manifest_draft *draft,
                                                    char **ret_text, size_t *ret_length,
                                                    nvtxa_error **reterr);

/** Free a draft. NULL is allowed. Safe on distinct objects. Since 0.1. */
NVTXA_API void nvtxa_manifest_draft_free(nvtxa_manifest_draft *draft);

NVTXA_END_DECLS

#endif
