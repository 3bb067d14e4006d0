/* Names, iterations and keys of host ranges. */
#include "host_range.h"

#include <string.h>

cli_range_key cli_key_of(const nvtxa_range *range) {
  return (cli_range_key){range->process_id, range->thread_id, range->range_id};
}

cli_range_key cli_key_of_parent(const nvtxa_range *range) {
  return (cli_range_key){range->process_id, range->thread_id, range->parent_id};
}

static int compare(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

int cli_key_compare(const cli_range_key *a, const cli_range_key *b) {
  int order = compare(a->process_id, b->process_id);
  order = order != 0 ? order : compare(a->thread_id, b->thread_id);
  return order != 0 ? order : compare(a->range_id, b->range_id);
}

nvtxa_text cli_range_name(const nvtxa_range *range) {
  nvtxa_text name = range->name;
  bool colon = name.length > 0 && name.data[0] == ':';
  return colon ? (nvtxa_text){name.data + 1, name.length - 1} : name;
}

int cli_name_compare(nvtxa_text a, nvtxa_text b) {
  size_t shared = a.length < b.length ? a.length : b.length;
  int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);
  return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

bool cli_iteration_index(nvtxa_text name, int64_t *ret_index) {
  static const char prefix[] = "iteration ";
  const size_t length = sizeof prefix - 1;
  int64_t index = 0;
  if (name.length <= length || memcmp(name.data, prefix, length) != 0) {
    return false;
  }
  for (size_t i = length; i < name.length; i++) {
    int digit = name.data[i] - '0';
    if (digit < 0 || digit > 9 || index > (INT64_MAX - digit) / 10) {
      return false;
    }
    index = index * 10 + digit;
  }
  *ret_index = index;
  return true;
}
