/* Arrays that double when they are full. */
#include "list.h"

#include <stdint.h>
#include <stdlib.h>

void *cli_list_room(void *items, size_t *capacity, size_t count, size_t size) {
  enum { FIRST = 16 };
  if (count < *capacity) {
    return items;
  }
  size_t larger = *capacity == 0 ? FIRST : *capacity * 2;
  void *moved = larger > SIZE_MAX / size ? NULL : realloc(items, larger * size);
  if (moved != NULL) {
    *capacity = larger;
  }
  return moved;
}
