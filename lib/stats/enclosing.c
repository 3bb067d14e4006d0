/*
 * The ranges around a call. On a thread whose ranges nest, they are the innermost and its
 * ancestors. Elsewhere they are found in a tree: the nodes of the thread's ranges by their starts,
 * each the root of the part of which it is the middle.
 */
#include <stdlib.h>

#include "stats-internal.h"

/* ---- the tree ---- */

/* The last end among nodes `low` to `high` - 1. */
static int64_t find_latest(nvtxa__range_node *nodes, size_t low, size_t high) {
  if (low == high) {
    return INT64_MIN;
  }
  size_t middle = low + (high - low) / 2;
  int64_t before_ns = find_latest(nodes, low, middle);
  int64_t behind_ns = find_latest(nodes, middle + 1, high);
  int64_t latest_ns = before_ns > behind_ns ? before_ns : behind_ns;
  nvtxa__range_node *node = &nodes[middle];
  node->latest_ns = node->end_ns > latest_ns ? node->end_ns : latest_ns;
  return node->latest_ns;
}

typedef struct search {
  const nvtxa__range_node *nodes;
  int64_t start_ns; /* what is to be enclosed */
  int64_t end_ns;
  nvtxa__visit_fn visit;
  void *user;
} search;

static bool visit_nodes(const search *s, size_t low, size_t high) {
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const nvtxa__range_node *node = &s->nodes[middle];
    if (node->latest_ns < s->end_ns) {
      return true;
    }
    if (node->start_ns <= s->start_ns) {
      if ((node->end_ns >= s->end_ns && !s->visit(s->user, node->row)) ||
          !visit_nodes(s, middle + 1, high)) {
        return false;
      }
    }
    high = middle;
  }
  return true;
}

/* ---- of which threads ---- */

/* Those whose ranges may overlap, and which launched something. NULL: out of memory. */
static bool *choose_threads(const nvtxa_gpu_work *work, size_t thread_count) {
  bool *wanted = nvtxa__alloc_zero(thread_count + 1, sizeof *wanted);
  for (size_t t = 0; t < work->thread_count && wanted != NULL; t++) {
    if (!work->threads[t].nested && work->threads[t].lane != NVTXA__NO_ITEM) {
      wanted[work->threads[t].lane] = true;
    }
  }
  return wanted;
}

static int make_nodes(nvtxa__enclosing *e, const bool *wanted, size_t thread_count) {
  if (nvtxa__ranges_by_thread(e->ranges, wanted, &e->rows) != 0) {
    return -1;
  }
  size_t count = e->rows.first[thread_count];
  e->nodes = nvtxa__alloc(count + 1, sizeof *e->nodes);
  if (e->nodes == NULL) {
    return -1;
  }
  for (size_t i = 0; i < count; i++) {
    e->nodes[i] = (nvtxa__range_node){
        .start_ns = nvtxa__range_start_ns(e->ranges, e->rows.items[i]),
        .end_ns = nvtxa__range_end_ns(e->ranges, e->rows.items[i]),
        .row = e->rows.items[i],
    };
  }
  for (size_t t = 0; t < thread_count; t++) {
    find_latest(e->nodes + e->rows.first[t], 0, e->rows.first[t + 1] - e->rows.first[t]);
  }
  return 0;
}

int nvtxa__enclosing_make(nvtxa__enclosing *e, const nvtxa_ranges *ranges) {
  *e = (nvtxa__enclosing){.ranges = ranges};
  size_t thread_count = nvtxa__holder_of(ranges)->thread_count;
  bool *wanted = choose_threads(ranges->work, thread_count);
  int result = wanted == NULL ? -1 : make_nodes(e, wanted, thread_count);
  free(wanted);
  return result;
}

void nvtxa__enclosing_free(nvtxa__enclosing *e) {
  free(e->nodes);
  nvtxa__shares_free(&e->rows);
}

/* ---- around a call ---- */

bool nvtxa__enclosing_visit(const nvtxa__enclosing *e, uint32_t call, nvtxa__visit_fn visit,
                            void *user) {
  const nvtxa_gpu_work *work = e->ranges->work;
  const nvtxa__gpu_calls *calls = &work->calls;
  const nvtxa__gpu_thread *thread = &work->threads[nvtxa__packed_get(&calls->thread, call)];
  int64_t innermost = nvtxa__packed_get(&calls->range, call);
  if (innermost < 0) {
    return true;
  }
  if (thread->nested) {
    uint32_t row = (uint32_t)innermost;
    for (; row < e->ranges->count; row = nvtxa__range_parent(e->ranges, row)) {
      if (!visit(user, row)) {
        return false;
      }
    }
    return true;
  }
  int64_t start_ns = nvtxa__packed_get(&calls->start_ns, call);
  size_t first = e->rows.first[thread->lane];
  const search s = {
      .nodes = e->nodes + first,
      .start_ns = start_ns,
      .end_ns = start_ns + nvtxa__packed_get(&calls->duration_ns, call),
      .visit = visit,
      .user = user,
  };
  return visit_nodes(&s, 0, e->rows.first[thread->lane + 1] - first);
}
