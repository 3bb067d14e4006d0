/* UTF-8: is it well-formed, and if not, made so. Follows table 3-7 of the Unicode Standard 15. */
#include <string.h>

#include "base-internal.h"

/* The length of the well-formed sequence at `data`, or 0; *ret_bad gets the length of the maximal
 * ill-formed subpart, at least 1. */
static size_t sequence(const unsigned char *data, size_t length, size_t *ret_bad) {
  unsigned char lead = data[0];
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  size_t need;
  *ret_bad = 1;
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    need = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    need = 3;
    low = lead == 0xE0 ? 0xA0 : low;
    high = lead == 0xED ? 0x9F : high;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    need = 4;
    low = lead == 0xF0 ? 0x90 : low;
    high = lead == 0xF4 ? 0x8F : high;
  } else {
    return 0;
  }
  for (size_t i = 1; i < need; i++) {
    if (i == length || data[i] < low || data[i] > high) {
      *ret_bad = i;
      return 0;
    }
    low = 0x80;
    high = 0xBF;
  }
  return need;
}

size_t nvtxa__utf8_valid(const char *data, size_t length) {
  size_t i = 0;
  while (i < length) {
    size_t bad;
    size_t good = sequence((const unsigned char *)data + i, length - i, &bad);
    if (good == 0) {
      break;
    }
    i += good;
  }
  return i;
}

size_t nvtxa__utf8_replace(char *out, const char *data, size_t length) {
  size_t used = 0;
  size_t i = 0;
  while (i < length) {
    size_t bad;
    size_t good = sequence((const unsigned char *)data + i, length - i, &bad);
    if (good == 0) {
      memcpy(out + used, "\xEF\xBF\xBD", 3);
      used += 3;
      i += bad;
    } else {
      memcpy(out + used, data + i, good);
      used += good;
      i += good;
    }
  }
  return used;
}
