/*
 * Root ranges grouped by name. They are sorted by name to be counted, and by key so that the
 * iterations, of which a row tells only the parent's id, find the root that they stand below.
 */
#include "roots.h"

#include <stdlib.h>

#include "host_range.h"
#include "list.h"

/* A root range. */
typedef struct instance {
  nvtxa_text name;
  cli_range_key key;
  int64_t duration_ns;
  bool open;
  size_t root; /* where its name stands in the result */
} instance;

/* A range "iteration N" that has a parent. */
typedef struct iteration {
  cli_range_key parent;
  int64_t index;
  size_t root;
} iteration;

typedef struct finding {
  cli_roots *result;
  instance *instances;
  size_t instance_count;
  size_t instance_capacity;
  iteration *iterations;
  size_t iteration_count;
  size_t iteration_capacity;
} finding;

static void sort(void *items, size_t count, size_t size,
                 int (*compare)(const void *, const void *)) {
  if (count > 0) { /* qsort() must not be given NULL */
    qsort(items, count, size, compare);
  }
}

/* ---- what the table of ranges holds ---- */

static bool add_instance(finding *f, const nvtxa_range *range) {
  instance *room =
      cli_list_room(f->instances, &f->instance_capacity, f->instance_count, sizeof *room);
  if (room == NULL) {
    return false;
  }
  f->instances = room;
  f->instances[f->instance_count++] = (instance){
      .name = cli_range_name(range),
      .key = cli_key_of(range),
      .duration_ns = range->duration_ns,
      .open = range->open,
  };
  return true;
}

static bool add_iteration(finding *f, const nvtxa_range *range, int64_t index) {
  iteration *room =
      cli_list_room(f->iterations, &f->iteration_capacity, f->iteration_count, sizeof *room);
  if (room == NULL) {
    return false;
  }
  f->iterations = room;
  f->iterations[f->iteration_count++] =
      (iteration){.parent = cli_key_of_parent(range), .index = index};
  return true;
}

static bool collect(finding *f, const nvtxa_ranges *host) {
  bool done = true;
  for (size_t row = 0; row < nvtxa_ranges_count(host) && done; row++) {
    nvtxa_range range = NVTXA_RANGE_INIT;
    int64_t index;
    nvtxa_ranges_get(host, row, &range);
    if (!range.has_parent) {
      done = add_instance(f, &range);
    } else if (cli_iteration_index(cli_range_name(&range), &index)) {
      done = add_iteration(f, &range, index);
    }
  }
  return done;
}

/* ---- roots by name ---- */

static int by_name(const void *a, const void *b) {
  const instance *x = a;
  const instance *y = b;
  int order = cli_name_compare(x->name, y->name);
  return order != 0 ? order : cli_key_compare(&x->key, &y->key);
}

static bool same_thread(const instance *a, const instance *b) {
  return a->key.process_id == b->key.process_id && a->key.thread_id == b->key.thread_id;
}

static size_t count_names(const finding *f) {
  size_t count = 0;
  for (size_t i = 0; i < f->instance_count; i++) {
    count += i == 0 || cli_name_compare(f->instances[i].name, f->instances[i - 1].name) != 0;
  }
  return count;
}

static bool group(finding *f) {
  cli_root *root = NULL;
  sort(f->instances, f->instance_count, sizeof *f->instances, by_name);
  f->result->roots = calloc(count_names(f) + 1, sizeof *f->result->roots);
  if (f->result->roots == NULL) {
    return false;
  }
  for (size_t i = 0; i < f->instance_count; i++) {
    instance *item = &f->instances[i];
    bool first = root == NULL || cli_name_compare(item->name, root->name) != 0;
    if (first) {
      root = &f->result->roots[f->result->count++];
      root->name = item->name;
    }
    root->instances++;
    root->open += item->open;
    root->threads += first || !same_thread(item, item - 1);
    root->total_ns += item->open ? 0 : (double)item->duration_ns;
    item->root = f->result->count - 1;
  }
  return true;
}

/* ---- iterations below them ---- */

static int by_key(const void *a, const void *b) {
  return cli_key_compare(&((const instance *)a)->key, &((const instance *)b)->key);
}

/* Keep those whose parent is a root. */
static void find_parents(finding *f) {
  size_t kept = 0;
  sort(f->instances, f->instance_count, sizeof *f->instances, by_key);
  for (size_t i = 0; i < f->iteration_count && f->instance_count > 0; i++) {
    const instance wanted = {.key = f->iterations[i].parent};
    const instance *found =
        bsearch(&wanted, f->instances, f->instance_count, sizeof *f->instances, by_key);
    if (found != NULL) {
      f->iterations[kept] = f->iterations[i];
      f->iterations[kept++].root = found->root;
    }
  }
  f->iteration_count = kept;
}

static int by_root(const void *a, const void *b) {
  const iteration *x = a;
  const iteration *y = b;
  return x->root != y->root ? (x->root > y->root ? 1 : -1)
                            : (x->index > y->index) - (x->index < y->index);
}

static bool hand_out(finding *f) {
  find_parents(f);
  sort(f->iterations, f->iteration_count, sizeof *f->iterations, by_root);
  int64_t *indexes = malloc((f->iteration_count + 1) * sizeof *indexes);
  f->result->indexes = indexes;
  if (indexes == NULL) {
    return false;
  }
  for (size_t i = 0; i < f->iteration_count; i++) {
    cli_root *root = &f->result->roots[f->iterations[i].root];
    indexes[i] = f->iterations[i].index;
    if (root->iterations++ == 0) {
      root->indexes = &indexes[i];
      root->distinct = 1;
    } else {
      root->distinct += indexes[i] != root->indexes[root->iterations - 2];
    }
  }
  return true;
}

/* ---- the whole ---- */

static int by_interest(const void *a, const void *b) {
  const cli_root *x = a;
  const cli_root *y = b;
  int order = (x->iterations == 0) - (y->iterations == 0);
  order = order != 0 ? order : (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
  return order != 0 ? order : cli_name_compare(x->name, y->name);
}

bool cli_roots_find(cli_roots *roots, const nvtxa_ranges *host) {
  finding f = {.result = roots};
  *roots = (cli_roots){0};
  bool done = collect(&f, host) && group(&f) && hand_out(&f);
  if (done) {
    sort(roots->roots, roots->count, sizeof *roots->roots, by_interest);
  }
  free(f.instances);
  free(f.iterations);
  return done;
}

void cli_roots_free(cli_roots *roots) {
  free(roots->roots);
  free(roots->indexes);
  *roots = (cli_roots){0};
}

bool cli_root_is_candidate(const cli_root *root) {
  return root->instances == 1 && root->iterations > 0 && root->distinct == root->iterations;
}

bool cli_root_counts_from_zero(const cli_root *root) {
  size_t n = root->iterations;
  return n > 0 && root->distinct == n && root->indexes[0] == 0 &&
         (uint64_t)root->indexes[n - 1] == n - 1;
}
