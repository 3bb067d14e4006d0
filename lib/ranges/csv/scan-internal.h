/*
 * Where the separators of a CSV text stand: its commas, quotes and line feeds. One interface and
 * two bodies, which answer alike: one for any machine and one for processors with AVX2.
 */
#ifndef NVTXA_SCAN_INTERNAL_H
#define NVTXA_SCAN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What follows the last mark may be overwritten: so many further entries need room. */
enum { NVTXA__SCAN_SPARE = 8 };

/* The positions of ',', '"' and LF in `data`, in order, into `marks`, which has room for `length` +
 * NVTXA__SCAN_SPARE of them. Returns how many there are. `length` is below 2^32. */
typedef size_t (*nvtxa__scan_fn)(const char *data, size_t length, uint32_t *marks);

size_t nvtxa__scan_portable(const char *data, size_t length, uint32_t *marks);

/* NULL where this build has none; to be called only where nvtxa__scan_has_avx2(). */
extern const nvtxa__scan_fn nvtxa__scan_avx2;
bool nvtxa__scan_has_avx2(void);

/* The best body for this machine. */
nvtxa__scan_fn nvtxa__scan_choose(void);

#endif
