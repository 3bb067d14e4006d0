/*
 * A stand-in for NVTX's header: as much of it as nvtxa/harness.h uses, with the same names and
 * types. It writes down what happens instead of telling a tool, for one program of one file.
 *
 * The log has `(NAME` for a push, `[NAME` for a push of a registered string, and `)` for a pop.
 */
#ifndef STUB_NVTOOLSEXT_H
#define STUB_NVTOOLSEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NVTX_VERSION                  3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE (sizeof(nvtxEventAttributes_t) & 0xffffu)
#define NVTX_MESSAGE_TYPE_ASCII       1
#define NVTX_MESSAGE_TYPE_REGISTERED  3

typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st {
  char text[64];
} * nvtxStringHandle_t;

typedef struct nvtxEventAttributes_t {
  uint16_t version;
  uint16_t size;
  int32_t messageType;
  union {
    const char *ascii;
    nvtxStringHandle_t registered;
  } message;
} nvtxEventAttributes_t;

/* Whether a tool is there that registers strings. */
static int stub_registers = 1;
static char stub_log[4096];
static struct nvtxStringRegistration_st stub_string;

static inline void stub_write(const char *kind, const char *text) {
  if (strlen(stub_log) + strlen(kind) + strlen(text) < sizeof stub_log) {
    strcat(strcat(stub_log, kind), text);
  }
}

static inline nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain,
                                                           const char *text) {
  if (domain != NULL || !stub_registers || strlen(text) >= sizeof stub_string.text) {
    return NULL;
  }
  strcpy(stub_string.text, text);
  return &stub_string;
}

static inline int nvtxRangePushA(const char *name) {
  stub_write("(", name);
  return 0;
}

static inline int nvtxRangePushEx(const nvtxEventAttributes_t *attributes) {
  if (attributes->version != NVTX_VERSION || attributes->size != sizeof *attributes) {
    stub_write("(", "bad attributes");
  } else if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
    stub_write("[", attributes->message.registered->text);
  } else {
    stub_write("(", attributes->message.ascii);
  }
  return 0;
}

static inline int nvtxRangePop(void) {
  stub_write(")", "");
  return 0;
}

#endif
