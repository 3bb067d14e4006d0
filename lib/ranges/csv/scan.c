/* The scanner for any machine, and which of the two to take. */
#include <endian.h>
#include <string.h>

#include "scan-internal.h"

static bool is_separator(char c) {
  return c == ',' || c == '"' || c == '\n';
}

/* The high bit of each byte that equals `c`, in a word of eight bytes. Exact: no carry passes from
 * one byte to the next. */
static uint64_t equal_bytes(uint64_t word, unsigned char c) {
  const uint64_t low_bits = 0x7F7F7F7F7F7F7F7Fu;
  uint64_t other = word ^ (0x0101010101010101u * c);
  return ~(((other & low_bits) + low_bits) | other | low_bits);
}

size_t nvtxa__scan_portable(const char *data, size_t length, uint32_t *marks) {
  size_t count = 0;
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= length; at += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, data + at, sizeof word);
    word = le64toh(word);
    uint64_t found = equal_bytes(word, ',') | equal_bytes(word, '"') | equal_bytes(word, '\n');
    for (; found != 0; found &= found - 1) {
      marks[count++] = (uint32_t)(at + (size_t)__builtin_ctzll(found) / 8);
    }
  }
  for (; at < length; at++) {
    marks[count] = (uint32_t)at;
    count += is_separator(data[at]);
  }
  return count;
}

nvtxa__scan_fn nvtxa__scan_choose(void) {
  return nvtxa__scan_has_avx2() ? nvtxa__scan_avx2 : nvtxa__scan_portable;
}
