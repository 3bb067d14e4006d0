/* SHA-256, by which an analysis is tied to its trace and its manifest. */
#include <errno.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <unistd.h>

#include "base-internal.h"

static void finish(struct sha256_ctx *context, char hex[NVTXA__SHA256_HEX]) {
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_digest(context, sizeof digest, digest);
  base16_encode_update(hex, sizeof digest, digest);
  hex[NVTXA__SHA256_HEX - 1] = '\0';
}

void nvtxa__sha256(const char *data, size_t length, char hex[NVTXA__SHA256_HEX]) {
  struct sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, length, (const uint8_t *)data);
  finish(&context, hex);
}

nvtxa_status nvtxa__sha256_fd(int fd, const char *shown_path, const nvtxa_hooks *hooks,
                              char hex[NVTXA__SHA256_HEX], nvtxa_error **reterr) {
  enum { PIECE = 1 << 18 };
  struct sha256_ctx context;
  nvtxa_status status = NVTXA_OK;
  uint8_t *piece = malloc(PIECE);
  if (piece == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  sha256_init(&context);
  for (;;) {
    if (nvtxa__cancelled(hooks)) {
      status = nvtxa__cancel_error(reterr);
      break;
    }
    ssize_t got = read(fd, piece, PIECE);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      status = nvtxa__fail(reterr, NVTXA_ERROR_IO,
                           &(nvtxa__where){.file = shown_path, .errnum = errno}, "cannot read");
      break;
    }
    if (got == 0) {
      finish(&context, hex);
      break;
    }
    sha256_update(&context, (size_t)got, piece);
  }
  free(piece);
  return status;
}
