/*
 * From the roots to a sentence. One candidate gives a command to copy; several are named; where
 * there is none, the sentence is about the mistake that is most likely.
 */
#include "capture_advice.h"

#include <stdio.h>
#include <string.h>

#include "quote.h"
#include "strays.h"
#include "text.h"

/* How many names a sentence lists before it says "and N more". */
enum { MOST_LISTED = 5 };

/* Before each item of a list: how many stand in front of it? */
static void put_separator(size_t before) {
  fputs(before > 0 ? ", " : "", stdout);
}

/* Behind the last one: how many there are in all. */
static void put_rest(size_t count) {
  if (count > MOST_LISTED) {
    printf(" and %zu more", count - MOST_LISTED);
  }
}

/* ---- a capture range ---- */

/* A file's name that cannot be copied from the screen is left to the reader. */
static void put_init(const char *file) {
  nvtxa_text path = {file, strlen(file)};
  fputs("nvtxa init RUN_DIR --trace ", stdout);
  if (cli_text_is_safe(path.data, path.length)) {
    cli_put_word(stdout, path);
  } else {
    fputs("FILE", stdout);
  }
  fputs(" --capture-range ", stdout);
}

static void advise_one(const cli_root *root, const char *file) {
  fputs("Give ", stdout);
  cli_put_name(stdout, root->name);
  fputs(" as the capture range", stdout);
  if (!cli_text_is_safe(root->name.data, root->name.length)) {
    fputs(", in manifest.yaml: capture_range: ", stdout);
    cli_put_yaml(stdout, root->name);
  } else {
    fputs(": ", stdout);
    put_init(file);
    cli_put_word(stdout, root->name);
    if (cli_root_counts_from_zero(root)) {
      printf(" --iterations %zu", root->iterations);
    }
  }
  fputs("\n", stdout);
}

static void advise_several(const cli_roots *roots, size_t candidates, const char *file) {
  size_t listed = 0;
  fputs("A capture range must occur once, as each of these does: ", stdout);
  for (size_t i = 0; i < roots->count && listed < MOST_LISTED; i++) {
    if (cli_root_is_candidate(&roots->roots[i])) {
      put_separator(listed++);
      cli_put_name(stdout, roots->roots[i].name);
    }
  }
  put_rest(candidates);
  fputs(". Give one of them: ", stdout);
  put_init(file);
  fputs("NAME\n", stdout);
}

/* ---- no capture range ---- */

static void advise_repeated(const cli_roots *roots, size_t with_iterations) {
  fputs("A capture range must occur once, with each iteration once directly below it. But ",
        stdout);
  for (size_t i = 0; i < with_iterations && i < MOST_LISTED; i++) {
    const cli_root *root = &roots->roots[i];
    put_separator(i);
    cli_put_name(stdout, root->name);
    if (root->instances > 1) {
      printf(" occurs %zu times", root->instances);
    } else {
      fputs(" has an index more than once", stdout);
    }
  }
  put_rest(with_iterations);
  fputs(". Give each a name of its own, or profile one process and one thread at a time.\n",
        stdout);
}

static void put_strays(const cli_strays *strays) {
  size_t kinds = strays->count + (strays->outermost > 0);
  size_t listed = 0;
  if (strays->outermost > 0) {
    printf("%zu outermost %s", strays->outermost, strays->outermost == 1 ? "itself" : "themselves");
    listed++;
  }
  for (size_t i = 0; i < strays->count && listed < MOST_LISTED; i++) {
    put_separator(listed++);
    printf("%zu directly below ", strays->below[i].count);
    cli_put_name(stdout, strays->below[i].parent);
  }
  put_rest(kinds);
}

static void explain_strays(const cli_strays *strays) {
  if (strays->outermost + strays->count > 0) {
    fputs("Ranges of that name stand elsewhere: ", stdout);
    put_strays(strays);
    fputs(". Push the capture range directly around them, as the outermost of their thread.\n",
          stdout);
  } else if (strays->in_domains > 0) {
    printf("%zu of that name %s in an NVTX domain, such as ", strays->in_domains,
           strays->in_domains == 1 ? "stands" : "stand");
    cli_put_name(stdout, strays->in_domain);
    fputs(". Push the iterations in the default domain.\n", stdout);
  } else {
    fputs("No range of this trace is called so.\n", stdout);
  }
}

static bool advise_none(const nvtxa_ranges *host) {
  cli_strays strays;
  bool done = cli_strays_find(&strays, host);
  if (done) {
    fputs(
        "None could be the capture range: that is an outermost push/pop range with ranges called "
        "\"iteration N\" directly below it.\n",
        stdout);
    explain_strays(&strays);
  }
  cli_strays_free(&strays);
  return done;
}

/* ---- which of them ---- */

bool cli_advise_capture(const cli_roots *roots, const nvtxa_ranges *host, const char *file) {
  const cli_root *candidate = NULL;
  size_t candidates = 0;
  size_t with_iterations = 0; /* they stand first */
  for (size_t i = 0; i < roots->count && roots->roots[i].iterations > 0; i++) {
    bool is_candidate = cli_root_is_candidate(&roots->roots[i]);
    candidate = is_candidate ? &roots->roots[i] : candidate;
    candidates += is_candidate;
    with_iterations++;
  }
  if (with_iterations == 0) {
    return advise_none(host);
  }
  if (candidates == 0) {
    advise_repeated(roots, with_iterations);
  } else if (candidates == 1) {
    advise_one(candidate, file);
  } else {
    advise_several(roots, candidates, file);
  }
  return true;
}
