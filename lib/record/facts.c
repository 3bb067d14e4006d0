/*
 * What the manifest says beyond what the caller set: the commit of the current directory, the
 * program, and what the command itself wrote down.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record-internal.h"

static const int64_t git_time_ns = 10000000000; /* a huge work tree on a slow disk: do without */

/* ---- git ---- */

struct answer {
  nvtxa__buffer *line; /* NULL: only whether there is any */
  bool any;
};

static void take_line(void *user, const char *data, size_t length) {
  struct answer *answer = user;
  if (!answer->any && answer->line != NULL) {
    nvtxa__buffer_add(answer->line, data, length);
  }
  answer->any = true;
}

/* Whether git ended well. */
static bool ask(const nvtxa__child *git, const char *const *argv, struct answer *answer) {
  nvtxa__output output = {.hooks = NULL, .line = take_line, .user = answer};
  nvtxa__result result;
  nvtxa_status status =
      nvtxa__child_run(git, argv, "git: asking for the commit", &output, &result, NULL);
  return status == NVTXA_OK && result.ending == NVTXA__ENDED_BY_EXIT && result.code == 0;
}

static bool is_commit(const nvtxa__buffer *text) {
  return text->length >= 40 && strspn(text->data, "0123456789abcdef") == text->length;
}

/* Nothing of the work tree is written or run: no index is refreshed, no monitor started. */
static void ask_at(nvtxa__facts *facts, const nvtxa__child *git) {
  const char *const commit[] = {git->program, "rev-parse", "--verify", "HEAD", NULL};
  const char *const changes[] = {
      git->program,  "--no-optional-locks",  "-c", "core.fsmonitor=false", "status",
      "--porcelain", "--untracked-files=no", NULL};
  struct answer line = {&facts->git_commit, false};
  struct answer any = {NULL, false};
  if (!ask(git, commit, &line) || !is_commit(&facts->git_commit)) {
    nvtxa__buffer_free(&facts->git_commit);
    return;
  }
  facts->git_dirty = ask(git, changes, &any) && any.any;
}

void nvtxa__facts_ask_git(nvtxa__facts *facts, const nvtxa_hooks *hooks, char *const *environment) {
  char *program = NULL;
  static char *none[] = {NULL};
  nvtxa__child git = {
      .hooks = hooks,
      .environment = environment == NULL ? none : environment,
      .directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
      .timeout_ns = git_time_ns,
      .deadline_ns = nvtxa__now_ns() + git_time_ns,
  };
  if (git.directory >= 0 && nvtxa__program_find("git", environment, &program, NULL) == NVTXA_OK) {
    git.program = program;
    ask_at(facts, &git);
  }
  free(program);
  nvtxa__close(&git.directory);
}

void nvtxa__facts_free(nvtxa__facts *facts) {
  nvtxa__buffer_free(&facts->git_commit);
}

/* ---- filling in ---- */

nvtxa_status nvtxa__facts_fill_in(const nvtxa__facts *facts, const char *program,
                                  nvtxa_manifest_draft *draft, nvtxa_error **reterr) {
  nvtxa_status status = NVTXA_OK;
  if (nvtxa__draft_lacks(draft, "target")) {
    const char *slash = strrchr(program, '/');
    status =
        nvtxa__draft_set_bytes(draft, "target.name", slash == NULL ? program : slash + 1, reterr);
  }
  if (status != NVTXA_OK || facts->git_commit.data == NULL ||
      !nvtxa__draft_lacks(draft, "git_commit")) {
    return status;
  }
  status = nvtxa_manifest_draft_set_text(draft, "git_commit", facts->git_commit.data, reterr);
  return status == NVTXA_OK && nvtxa__draft_lacks(draft, "git_dirty")
             ? nvtxa_manifest_draft_set_value(draft, "git_dirty",
                                              facts->git_dirty ? "true" : "false", reterr)
             : status;
}

nvtxa_status nvtxa__facts_take_extra(const nvtxa__rundir *rundir, const nvtxa_hooks *hooks,
                                     nvtxa_manifest_draft *draft, nvtxa_error **reterr) {
  struct stat info;
  char *data = NULL;
  size_t length;
  if (fstatat(rundir->fd, NVTXA__EXTRA_FILE, &info, 0) != 0 || info.st_size == 0) {
    return NVTXA_OK; /* the command had nothing to say */
  }
  char *shown = nvtxa__join(rundir->path, NVTXA__EXTRA_FILE);
  if (shown == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  nvtxa_status status = nvtxa__file_read(rundir->fd, NVTXA__EXTRA_FILE, shown,
                                         NVTXA__YAML_SIZE_LIMIT, &data, &length, reterr);
  if (status == NVTXA_OK) {
    status = nvtxa_manifest_draft_fill_in(draft, data, length, shown, hooks, reterr);
  }
  free(data);
  free(shown);
  return status;
}
