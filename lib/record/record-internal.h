/*
 * What the rooms of the record module share. record.c is the object, command.c the arguments of
 * nsys. run.c records and adopt.c takes a trace that is there; they use rundir.c (the run directory
 * and what an earlier run left in it), facts.c (what the manifest says beyond the options) and
 * outcome.c (what nsys left, and why it left nothing).
 */
#ifndef NVTXA_RECORD_INTERNAL_H
#define NVTXA_RECORD_INTERNAL_H

#include <nvtxa/record.h>

#include "export/export-internal.h"
#include "manifest/manifest-internal.h"

#define NVTXA__MANIFEST_FILE "manifest.yaml"
#define NVTXA__EXTRA_FILE    "manifest-extra.yaml"

/* ---- the arguments of nsys (command.c) ---- */

typedef struct nvtxa__arguments {
  nvtxa__arena arena;
  const char **items; /* NULL-terminated */
  size_t count;
  size_t capacity;
  bool wait_for_range; /* nsys shall begin at the capture range */
} nvtxa__arguments;

/* What the arguments are made of. */
typedef struct nvtxa__recipe {
  const char *nsys;
  const char *trace;
  const char *capture_range;
  const char *const *nsys_arguments; /* NULL: none */
  const char *output;                /* absolute; nsys adds .nsys-rep */
  const char *const *command;
  int output_fd; /* the numbers under which the command finds its standard output and error */
  int error_fd;
} nvtxa__recipe;

/* nvtxa__arguments_free() is due whatever comes of it. */
nvtxa_status nvtxa__arguments_make(nvtxa__arguments *arguments, const nvtxa__recipe *recipe,
                                   const nvtxa_hooks *hooks, nvtxa_error **reterr);
void nvtxa__arguments_free(nvtxa__arguments *arguments);

/* ---- the run directory (rundir.c) ---- */

typedef struct nvtxa__rundir {
  const char *path; /* borrowed */
  int fd;           /* locked */
  size_t made;      /* how many directories of the path were made here, the last ones */
  bool has_earlier; /* an earlier run was set aside */
} nvtxa__rundir;

/* Make and lock it. An earlier run in it is an error, or set aside with `force`.
 * nvtxa__rundir_close() is due whatever comes of it. */
nvtxa_status nvtxa__rundir_open(nvtxa__rundir *rundir, const char *path, bool force,
                                nvtxa_error **reterr);

/* The new run is complete: the earlier one goes. */
void nvtxa__rundir_forget_earlier(nvtxa__rundir *rundir);

/* Unlock it. An earlier run that is still set aside is put back, unless the new one left something;
 * directories that were made here and are empty are removed. */
void nvtxa__rundir_close(nvtxa__rundir *rundir, const nvtxa_hooks *hooks);

/* ---- facts for the manifest (facts.c) ---- */

typedef struct nvtxa__facts {
  nvtxa__buffer git_commit; /* no data: unknown */
  bool git_dirty;
} nvtxa__facts;

/* Ask git about the current directory. What it cannot tell stays unknown. */
void nvtxa__facts_ask_git(nvtxa__facts *facts, const nvtxa_hooks *hooks, char *const *environment);
void nvtxa__facts_free(nvtxa__facts *facts);

/* Add them where the manifest says nothing, and the program that was run. */
nvtxa_status nvtxa__facts_fill_in(const nvtxa__facts *facts, const char *program,
                                  nvtxa_manifest_draft *draft, nvtxa_error **reterr);

/* What the command wrote for the manifest goes into it. On failure the manifest is as it was. */
nvtxa_status nvtxa__facts_take_extra(const nvtxa__rundir *rundir, const nvtxa_hooks *hooks,
                                     nvtxa_manifest_draft *draft, nvtxa_error **reterr);

/* ---- what nsys left (outcome.c) ---- */

/* Seen in what nsys printed. */
typedef struct nvtxa__signs {
  bool started;                     /* the capture range was entered */
  char importer[NVTXA__EXCERPT];    /* what became of the importer; "": nothing bad */
  char not_written[NVTXA__EXCERPT]; /* why the trace is not where it belongs; "": it is */
  bool odd;                         /* it said something that it does not say always */
  nvtxa__foreground *foreground;    /* to tell when nsys is busy with the trace; may be NULL */
} nvtxa__signs;

/* Gets each line, with an nvtxa__signs. */
void nvtxa__outcome_watch(void *signs, const char *data, size_t length);

typedef struct nvtxa__outcome {
  const nvtxa__rundir *rundir;
  const char *capture_range;
  bool waited; /* nsys was to begin at it */
  const nvtxa__output *output;
  const nvtxa__result *result;
  const nvtxa__signs *signs;
  bool interrupted;
} nvtxa__outcome;

/* NVTXA_OK where a trace is there; else an error that says why there is none. *ret_any: something
 * that belongs to this run is there all the same. */
nvtxa_status nvtxa__outcome_judge(const nvtxa__outcome *outcome, bool *ret_any,
                                  nvtxa_error **reterr);

/* ---- the object (record.c) ---- */

struct nvtxa_record {
  nvtxa__arena arena;
  const char *run_dir; /* as it was given */
  const char *nsys;
  const char *capture_range;
  const char *program; /* the command's first word; NULL: none */
  char *const *environment;
  bool force;
  bool used;
  nvtxa_hooks hooks;
  nvtxa__foreground foreground;
  nvtxa__arguments arguments;
  nvtxa__buffer command_line;
  nvtxa_manifest_draft *manifest;
};

/* It is used up from now on. */
nvtxa_status nvtxa__record_begin(nvtxa_record *record, nvtxa_error **reterr);

/* The manifest, beside the trace. */
nvtxa_status nvtxa__record_write_manifest(const nvtxa_record *record, const nvtxa__rundir *rundir,
                                          nvtxa_error **reterr);

#endif
