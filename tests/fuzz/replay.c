/*
 * Runs a fuzz target without a fuzzer, over files and over mutations of them that are always the
 * same:
 *
 *   replay MUTATIONS FILE...
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 1;

static size_t below(size_t limit) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return (size_t)(state >> 33) % limit;
}

/* Bytes changed here and there, mostly where the structure is; or a part of it moved or cut off. */
static size_t mutate(uint8_t *data, size_t size) {
  size_t changes = (size_t)1 << below(6);
  size_t near = below(2) == 0 && size > 4096 ? 4096 : size;
  for (size_t i = 0; i < changes; i++) {
    data[below(near)] = below(3) == 0 ? (uint8_t)(below(2) * 255) : (uint8_t)below(256);
  }
  if (below(8) == 0) {
    size_t length = below(size < 512 ? size : 512);
    memmove(data + below(size - length), data + below(size - length), length);
  }
  return below(16) == 0 ? below(size) : size;
}

static uint8_t *read_file(const char *path, size_t *ret_size) {
  FILE *file = fopen(path, "rb");
  uint8_t *data = NULL;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
    long size = ftell(file);
    rewind(file);
    data = size > 0 ? malloc((size_t)size) : NULL;
    *ret_size = data == NULL ? 0 : fread(data, 1, (size_t)size, file);
  }
  if (file != NULL) {
    fclose(file);
  }
  return data;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MUTATIONS FILE...\n", argv[0]);
    return 2;
  }
  size_t mutations = (size_t)strtoumax(argv[1], NULL, 10);
  for (int i = 2; i < argc; i++) {
    size_t size = 0;
    uint8_t *data = read_file(argv[i], &size);
    uint8_t *changed = data == NULL ? NULL : malloc(size);
    if (changed == NULL) {
      fprintf(stderr, "cannot read %s\n", argv[i]);
      free(data);
      return 1;
    }
    LLVMFuzzerTestOneInput(data, size);
    for (size_t m = 0; m < mutations; m++) {
      memcpy(changed, data, size);
      LLVMFuzzerTestOneInput(changed, mutate(changed, size));
    }
    free(changed);
    free(data);
  }
  printf("%d files, %zu mutations of each\n", argc - 2, mutations);
  return 0;
}
