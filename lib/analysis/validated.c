/* The versions of nsys whose reports are known to be read right. */
#include <stdio.h>
#include <string.h>

#include "analysis-internal.h"

/* The families of nsys that the tests run or replay; docs and tests name the same ones. */
static const char *const validated_families[] = {"2022.4", "2023.4", "2025.1"};

bool nvtxa__is_validated(nvtxa_text version) {
  static const char word[] = "version ";
  const char *at = memmem(version.data, version.length, word, sizeof word - 1);
  if (at == NULL) {
    return false;
  }
  at += sizeof word - 1;
  size_t length = version.length - (size_t)(at - version.data);
  for (size_t i = 0; i < NVTXA__COUNT(validated_families); i++) {
    size_t family = strlen(validated_families[i]);
    if (length >= family && memcmp(at, validated_families[i], family) == 0 &&
        (length == family || at[family] == '.')) {
      return true;
    }
  }
  return false;
}

const char *nvtxa__validated_families(char buffer[NVTXA__FAMILIES]) {
  const size_t count = NVTXA__COUNT(validated_families);
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    used += (size_t)snprintf(buffer + used, NVTXA__FAMILIES - used, "%s%s", validated_families[i],
                             i + 2 < count   ? ", "
                             : i + 1 < count ? " and "
                                             : "");
  }
  return buffer;
}
