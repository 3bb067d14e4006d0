/* Text by pointer and length: comparing, quoting for messages, integers. */
#include <stdio.h>
#include <string.h>

#include "base-internal.h"

nvtxa_text nvtxa__text(const char *string) {
  return (nvtxa_text){string, string == NULL ? 0 : strlen(string)};
}

bool nvtxa__text_equal(nvtxa_text a, nvtxa_text b) {
  return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

int nvtxa__text_compare(nvtxa_text a, nvtxa_text b) {
  size_t shared = a.length < b.length ? a.length : b.length;
  int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);
  return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

bool nvtxa__text_is(nvtxa_text text, const char *string) {
  return nvtxa__text_equal(text, nvtxa__text(string));
}

bool nvtxa__ends_with(const char *string, const char *ending) {
  size_t length = strlen(string);
  size_t ending_length = strlen(ending);
  return length > ending_length && strcmp(string + length - ending_length, ending) == 0;
}

const char *nvtxa__quote(char buffer[NVTXA__QUOTED], const char *data, size_t length) {
  const size_t room = NVTXA__QUOTED - sizeof "...";
  size_t used = 0;
  size_t i = 0;
  while (i < length) {
    unsigned char byte = (unsigned char)data[i];
    char piece[8];
    size_t piece_length;
    size_t step = 1;
    if (byte >= 0x80) {
      size_t rest = length - i < 4 ? length - i : 4;
      while (step < rest && ((unsigned char)data[i + step] & 0xC0) == 0x80) {
        step++;
      }
      /* C1 control characters (C2 80 .. C2 9F) are as unwelcome on a terminal as the C0 ones. */
      bool control = byte == 0xC2 && step == 2 && (unsigned char)data[i + 1] < 0xA0;
      if (nvtxa__utf8_valid(data + i, step) != step || control) {
        step = 1;
        piece_length = (size_t)snprintf(piece, sizeof piece, "\\x%02X", byte);
      } else {
        memcpy(piece, data + i, step);
        piece_length = step;
      }
    } else if (byte < 0x20 || byte == 0x7F || byte == '\\') {
      const char *name = byte == '\n'   ? "\\n"
                         : byte == '\r' ? "\\r"
                         : byte == '\t' ? "\\t"
                         : byte == '\\' ? "\\\\"
                                        : NULL;
      piece_length = (size_t)(name != NULL ? snprintf(piece, sizeof piece, "%s", name)
                                           : snprintf(piece, sizeof piece, "\\x%02X", byte));
    } else {
      piece[0] = (char)byte;
      piece_length = 1;
    }
    if (used + piece_length > room) {
      memcpy(buffer + used, "...", sizeof "...");
      return buffer;
    }
    memcpy(buffer + used, piece, piece_length);
    used += piece_length;
    i += step;
  }
  buffer[used] = '\0';
  return buffer;
}

/* Eight digits at a time. */
static bool parse_eight(const char *data, uint64_t *ret) {
  uint64_t word;
  memcpy(&word, data, sizeof word);
  word = le64toh(word);
  /* Each byte is a digit where its upper half is 3, also when 6 is added. */
  const uint64_t upper = 0xF0F0F0F0F0F0F0F0u;
  const uint64_t threes = 0x3030303030303030u;
  if (((word & upper) ^ threes) != 0 || (((word + 0x0606060606060606u) & upper) ^ threes) != 0) {
    return false;
  }
  /* Pairs of digits, then pairs of pairs, then both halves. */
  word -= threes;
  word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FFu;
  word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFFu;
  *ret = (word * 10000 + (word >> 32)) & 0xFFFFFFFFu;
  return true;
}

/* With a check at each digit. */
static bool parse_slowly(const char *data, size_t length, uint64_t limit, uint64_t *ret) {
  uint64_t value = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned digit = (unsigned)(unsigned char)data[i] - '0';
    if (digit > 9 || value > (limit - digit) / 10) {
      return false;
    }
    value = value * 10 + digit;
  }
  *ret = value;
  return true;
}

bool nvtxa__parse_int64(const char *data, size_t length, int64_t *ret) {
  enum { ALWAYS_FIT = 18 };
  bool negative = length > 0 && data[0] == '-';
  uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
  uint64_t value = 0;
  uint64_t eight;
  data += negative;
  length -= negative;
  if (length == 0) {
    return false;
  }
  if (length > ALWAYS_FIT) {
    if (!parse_slowly(data, length, limit, &value)) {
      return false;
    }
  } else {
    for (; length >= 8; data += 8, length -= 8) {
      if (!parse_eight(data, &eight)) {
        return false;
      }
      value = value * 100000000 + eight;
    }
    for (; length > 0; data++, length--) {
      unsigned digit = (unsigned)(unsigned char)*data - '0';
      if (digit > 9) {
        return false;
      }
      value = value * 10 + digit;
    }
  }
  *ret = negative ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}
