/*
 * Inside the JSON module: what goes into the document (json.c and, of the GPU, gpu-work.c), and a
 * writer (writer.c) that puts a document out piece by piece and keeps none of it, so
 * that memory does not grow with the document.
 *
 * It writes what jansson would with JSON_INDENT(2), member by member as they come: its user gives
 * keys in byte order. The first failure stays; after it, all calls do nothing.
 */
#ifndef NVTXA_JSON_INTERNAL_H
#define NVTXA_JSON_INTERNAL_H

#include <jansson.h>
#include <locale.h>

#include <nvtxa/json.h>

#include "base/base-internal.h"

typedef struct nvtxa__json_writer {
  nvtxa_json_write_fn write;
  void *user;
  const nvtxa_hooks *hooks;
  size_t kernel_limit; /* for who puts out kernels */
  locale_t c_locale;
  nvtxa_status status; /* of the first failure */
  int errnum;          /* what `write` returned */
  unsigned depth;      /* containers that are open */
  bool filled;         /* whether the innermost of them has a member */
  bool keyed;          /* a key was written, its value not yet */
  size_t used;
  char data[4096]; /* gathers small pieces */
} nvtxa__json_writer;

/* Begin a document. `hooks` is for who puts out long lists and looks whether to go on. */
void nvtxa__json_start(nvtxa__json_writer *writer, nvtxa_json_write_fn write, void *user,
                       const nvtxa_hooks *hooks);

/* End it: the final newline, and what is still gathered. Must be called once for each start. */
nvtxa_status nvtxa__json_finish(nvtxa__json_writer *writer);

/* Note a failure from elsewhere. */
void nvtxa__json_fail(nvtxa__json_writer *writer, nvtxa_status status);

/* A container: '{' or '[' and then '}' or ']'. */
void nvtxa__json_open(nvtxa__json_writer *writer, char bracket);
void nvtxa__json_close(nvtxa__json_writer *writer, char bracket);

/* The key of the next value. The first form is for text that needs no escapes. */
void nvtxa__json_key(nvtxa__json_writer *writer, const char *key);
void nvtxa__json_key_text(nvtxa__json_writer *writer, nvtxa_text key);

/* Values. Text that is none is null; invalid UTF-8 is replaced, as JSON cannot carry it. */
void nvtxa__json_null(nvtxa__json_writer *writer);
void nvtxa__json_text(nvtxa__json_writer *writer, nvtxa_text text);
void nvtxa__json_integer(nvtxa__json_writer *writer, int64_t value);
void nvtxa__json_count(nvtxa__json_writer *writer, uint64_t value);
void nvtxa__json_real(nvtxa__json_writer *writer, double value); /* null where not finite */
void nvtxa__json_value(nvtxa__json_writer *writer, const json_t *value);

/* One value under a key. */
#define NVTXA__PUT(writer, key, kind, value) \
  (nvtxa__json_key((writer), (key)), nvtxa__json_##kind((writer), (value)))

/* ---- gpu-work.c ---- */

/* Of the whole trace, with its key. */
void nvtxa__json_capture_work(nvtxa__json_writer *writer, const nvtxa_gpu_work *work);

/* The devices, with their key; null where single operations are not known. */
void nvtxa__json_devices(nvtxa__json_writer *writer, const nvtxa_analysis *analysis);

typedef const nvtxa_gpu_share *(*nvtxa__share_fn)(const nvtxa_analysis *analysis, size_t position,
                                                  nvtxa_gpu_attributed attributed);

/* Of a scope or an iteration, with its key: both ways to count, apart; null where single operations
 * are not known. */
void nvtxa__json_gpu_work(nvtxa__json_writer *writer, const nvtxa_analysis *analysis,
                          size_t position, nvtxa__share_fn share_at);

#endif
