/* Growing arrays, arenas and growing texts. */
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base-internal.h"

void nvtxa_free(void *memory) {
  free(memory);
}

/* ---- arrays ----
 *
 * An array's first use costs a page fault for each of its pages, and reading it here and there an
 * entry of the processor's page cache: with pages of 2 MiB, where the system has them to give, both
 * are a fraction. Large arrays are aligned to such pages and ask for them. */

static const size_t large_page = (size_t)1 << 21;

static bool is_large(size_t size) {
  return size >= large_page / 2 && size <= SIZE_MAX - large_page;
}

static void *alloc_large(size_t size) {
  size = (size + large_page - 1) & ~(large_page - 1);
  void *memory = aligned_alloc(large_page, size);
  if (memory != NULL) {
    (void)madvise(memory, size, MADV_HUGEPAGE); /* a wish */
  }
  return memory;
}

void *nvtxa__alloc(size_t count, size_t item_size) {
  size_t size;
  if (__builtin_mul_overflow(count, item_size, &size)) {
    return NULL;
  }
  return is_large(size) ? alloc_large(size) : malloc(size);
}

void *nvtxa__alloc_zero(size_t count, size_t item_size) {
  size_t size;
  if (__builtin_mul_overflow(count, item_size, &size) || !is_large(size)) {
    return calloc(count, item_size);
  }
  void *memory = alloc_large(size);
  return memory == NULL ? NULL : memset(memory, 0, size);
}

void *nvtxa__alloc_again(void *memory, size_t count, size_t item_size) {
  size_t size;
  size_t old_size = malloc_usable_size(memory);
  if (__builtin_mul_overflow(count, item_size, &size)) {
    return NULL;
  }
  if (!is_large(size) || size <= old_size) {
    return realloc(memory, size);
  }
  void *grown = alloc_large(size);
  if (grown != NULL && memory != NULL) {
    memcpy(grown, memory, old_size);
    free(memory);
  }
  return grown;
}

int nvtxa__reserve(void *pointer_to_array, size_t *capacity, size_t needed, size_t item_size) {
  if (needed <= *capacity) {
    return 0;
  }
  size_t grown = *capacity + *capacity / 2 + 8;
  if (grown < needed) {
    grown = needed;
  }
  void *array;
  memcpy(&array, pointer_to_array, sizeof array);
  array = nvtxa__alloc_again(array, grown, item_size);
  if (array == NULL) {
    return -1;
  }
  memcpy(pointer_to_array, &array, sizeof array);
  *capacity = grown;
  return 0;
}

int nvtxa__compare_int64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

struct nvtxa__arena_block {
  struct nvtxa__arena_block *next;
  size_t used;
  size_t size;
  max_align_t data[];
};

void *nvtxa__arena_alloc(nvtxa__arena *arena, size_t size) {
  const size_t step = sizeof(max_align_t);
  size_t rounded;
  if (__builtin_add_overflow(size, step - 1, &rounded)) {
    return NULL;
  }
  rounded -= rounded % step;
  struct nvtxa__arena_block *block = arena->head;
  if (block == NULL || block->size - block->used < rounded) {
    /* Blocks double, so that a small table stays small, until they are a large page each. */
    size_t block_size = block == NULL ? 1024 : block->size * 2;
    if (block_size >= large_page / 2) {
      block_size = large_page - sizeof *block;
    }
    if (block_size < rounded) {
      block_size = rounded;
    }
    size_t bytes;
    if (__builtin_add_overflow(block_size, sizeof *block, &bytes)) {
      return NULL;
    }
    block = nvtxa__alloc(bytes, 1);
    if (block == NULL) {
      return NULL;
    }
    *block = (struct nvtxa__arena_block){.next = arena->head, .used = 0, .size = block_size};
    arena->head = block;
  }
  void *memory = (char *)block->data + block->used;
  block->used += rounded;
  return memory;
}

char *nvtxa__arena_copy(nvtxa__arena *arena, const char *data, size_t length) {
  char *copy = length == SIZE_MAX ? NULL : nvtxa__arena_alloc(arena, length + 1);
  if (copy != NULL) {
    if (length > 0) {
      memcpy(copy, data, length);
    }
    copy[length] = '\0';
  }
  return copy;
}

void nvtxa__arena_free(nvtxa__arena *arena) {
  while (arena->head != NULL) {
    struct nvtxa__arena_block *next = arena->head->next;
    free(arena->head);
    arena->head = next;
  }
}

int nvtxa__buffer_add(nvtxa__buffer *buffer, const char *data, size_t length) {
  size_t needed;
  if (__builtin_add_overflow(buffer->length, length, &needed) || needed == SIZE_MAX ||
      nvtxa__reserve(&buffer->data, &buffer->capacity, needed + 1, 1) != 0) {
    return -1;
  }
  if (length > 0) {
    memcpy(buffer->data + buffer->length, data, length);
  }
  buffer->length = needed;
  buffer->data[needed] = '\0';
  return 0;
}

int nvtxa__buffer_printf(nvtxa__buffer *buffer, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  int result = -1;
  if (length >= 0 && nvtxa__reserve(&buffer->data, &buffer->capacity,
                                    buffer->length + (size_t)length + 1, 1) == 0) {
    vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, arguments);
    buffer->length += (size_t)length;
    result = 0;
  }
  va_end(arguments);
  return result;
}

void nvtxa__buffer_free(nvtxa__buffer *buffer) {
  free(buffer->data);
  *buffer = (nvtxa__buffer){0};
}
