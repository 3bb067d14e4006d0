/*
 * Arrays that grow by one item at a time.
 */
#ifndef NVTXA_CLI_LIST_H
#define NVTXA_CLI_LIST_H

#include <stddef.h>

/* Room for one more item of `size` bytes behind `count` of them. Returns the array, which may have
 * moved; NULL when out of memory, and it is as it was. */
void *cli_list_room(void *items, size_t *capacity, size_t count, size_t size);

#endif
