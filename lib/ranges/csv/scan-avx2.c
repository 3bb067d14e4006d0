/* The scanner for processors with AVX2: 64 bytes at a time. */
#include "scan-internal.h"

#ifdef __x86_64__

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi")))

AVX2 static uint32_t separators(const char *data) {
  __m256i bytes = _mm256_loadu_si256((const __m256i *)data);
  __m256i found = _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(',')),
                                                  _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'))),
                                  _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\n')));
  return (uint32_t)_mm256_movemask_epi8(found);
}

/* Eight marks are written whether there are as many or not: that is cheaper than to ask each time.
 */
AVX2 static size_t scan(const char *data, size_t length, uint32_t *marks) {
  size_t count = 0;
  size_t at = 0;
  for (; at + 64 <= length; at += 64) {
    uint64_t found = separators(data + at) | (uint64_t)separators(data + at + 32) << 32;
    size_t here = (size_t)__builtin_popcountll(found);
    for (size_t written = 0; written < here; written += NVTXA__SCAN_SPARE) {
      for (size_t i = 0; i < NVTXA__SCAN_SPARE; i++) {
        /* Of no bits at all, trailing zeros are as many as there are bits: nothing that counts. */
        marks[count + written + i] = (uint32_t)at + (uint32_t)_tzcnt_u64(found);
        found &= found - 1;
      }
    }
    count += here;
  }
  size_t rest = nvtxa__scan_portable(data + at, length - at, marks + count);
  for (size_t i = 0; i < rest; i++) {
    marks[count + i] += (uint32_t)at;
  }
  return count + rest;
}

const nvtxa__scan_fn nvtxa__scan_avx2 = scan;

bool nvtxa__scan_has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
}

#else

const nvtxa__scan_fn nvtxa__scan_avx2 = NULL;

bool nvtxa__scan_has_avx2(void) {
  return false;
}

#endif
