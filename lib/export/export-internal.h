/*
 * What the rooms of the export module share. run.c and found.c are the two ways to an export,
 * export.c is the object that they make; keep.c adds reports to it that were computed here. They
 * use trace.c (the trace and what identifies it), private.c (the directory in which nsys works),
 * nsys.c (the calls of nsys), landing.c (files into stats/) and provenance.c (export.json).
 */
#ifndef NVTXA_EXPORT_INTERNAL_H
#define NVTXA_EXPORT_INTERNAL_H

#include <nvtxa/export.h>

#include "database/database-internal.h"
#include "process/process-internal.h"

#define NVTXA__TRACE_FILE      "trace.nsys-rep"
#define NVTXA__STATS_DIR       "stats"
#define NVTXA__PROVENANCE_FILE "export.json"
#define NVTXA__SQLITE_FILE     "trace.sqlite"  /* in a run directory */
#define NVTXA__EXPORT_FILE     "export.sqlite" /* in a private directory */

/* ---- the trace (trace.c) ---- */

typedef struct nvtxa__trace {
  int64_t size_bytes;
  int64_t modified_ns; /* since 1970 */
  char sha256[NVTXA__SHA256_HEX];
} nvtxa__trace;

/* Open the trace of the run directory `run`; an error says what else lies there. */
nvtxa_status nvtxa__trace_open(int run, const char *shown_trace, int *ret_fd, nvtxa_error **reterr);

/* Size and time of an open trace; `sha256` stays. 0 or an errno. */
int nvtxa__trace_stat(int fd, nvtxa__trace *trace);

/* Size, time and digest of an open trace. */
nvtxa_status nvtxa__trace_identify(int fd, const char *shown_trace, const nvtxa_hooks *hooks,
                                   nvtxa__trace *trace, nvtxa_error **reterr);

/* Fails if the trace, `name` in `directory`, is no longer the open and identified one. */
nvtxa_status nvtxa__trace_check(int directory, const char *name, int fd, const char *shown_trace,
                                const nvtxa__trace *trace, nvtxa_error **reterr);

/* What nsys leaves where it does not leave trace.nsys-rep. */
typedef struct nvtxa__leftovers {
  char **names; /* sorted */
  size_t count;
  size_t capacity;
  size_t reports; /* *.nsys-rep; the others are *.qdstrm */
} nvtxa__leftovers;

/* 0, or -1 when out of memory. A directory that cannot be read holds nothing to tell of.
 * nvtxa__leftovers_free() is due whatever comes of it. */
int nvtxa__leftovers_list(int run, nvtxa__leftovers *found);
void nvtxa__leftovers_free(nvtxa__leftovers *found);

/* ---- the private directory (private.c) ---- */

#define NVTXA__PRIVATE_NAME 32

typedef struct nvtxa__private {
  int run;        /* borrowed; -1: not in a run directory */
  int parent;     /* stats/ of the run directory, or where else it lies */
  int fd;         /* the private directory */
  int lock;       /* held as long as we are alive */
  bool new_stats; /* stats/ was not there before */
  const char *shown_parent;
  const nvtxa_hooks *hooks;
  char name[NVTXA__PRIVATE_NAME];
} nvtxa__private;

/* Make stats/ where needed, remove what killed exports left in it, make a directory of our own. */
nvtxa_status nvtxa__private_make(nvtxa__private *private, int run, const char *shown_stats,
                                 const nvtxa_hooks *hooks, nvtxa_error **reterr);

/* The same in a directory that is no run directory. */
nvtxa_status nvtxa__private_make_in(nvtxa__private *private, const char *directory,
                                    const nvtxa_hooks *hooks, nvtxa_error **reterr);

/* Remove the directory with all in it, and stats/ if it is new and nothing landed there. */
void nvtxa__private_remove(nvtxa__private *private);

/* Whether something can still be written: nsys does not say when its writes fail. 0 or an errno. */
int nvtxa__private_probe(const nvtxa__private *private);

/* ---- nsys (nsys.c) ---- */

typedef struct nvtxa__nsys {
  nvtxa__child child;
  const char *trace_path;  /* absolute, for nsys */
  const char *shown_trace; /* for messages */
  const char *subject;     /* what a failure is about: the program, then the trace */
  const nvtxa__private *private;
  nvtxa__buffer version; /* no data: unknown */
  bool gpu_reports;      /* those of GPU work are asked for */
  size_t report_count;   /* reports to make: those of ranges, then those of GPU work or not */
  bool no_cuda;          /* it said that the trace holds no CUDA call */
  int naming[NVTXA__EXPORTED_REPORTS];
  int64_t size_bytes[NVTXA__EXPORTED_REPORTS];
} nvtxa__nsys;

/* Ask for the version. */
nvtxa_status nvtxa__nsys_ask_version(nvtxa__nsys *nsys, nvtxa_error **reterr);

/* Ask which reports it offers, under either name. */
nvtxa_status nvtxa__nsys_list_reports(nvtxa__nsys *nsys, bool ret_offered[NVTXA__EXPORTED_REPORTS],
                                      nvtxa_error **reterr);

/* Ask for the reports that there are, which decides on how many are made. */
nvtxa_status nvtxa__nsys_ask_reports(nvtxa__nsys *nsys, nvtxa_error **reterr);

/* From the trace to export.sqlite in the private directory. */
nvtxa_status nvtxa__nsys_export(nvtxa__nsys *nsys, nvtxa_error **reterr);

/* From export.sqlite to nsys_<report>.csv there. Where that cannot tell what GPU work there was,
 * the reports of it are made no more, and those that were made do not count. */
nvtxa_status nvtxa__nsys_report(nvtxa__nsys *nsys, nvtxa_report report, nvtxa_error **reterr);

/* ---- export.json (provenance.c) ---- */

typedef struct nvtxa__provenance {
  nvtxa_text nsys_version; /* no text: unknown */
  nvtxa_text nsys_path;
  nvtxa_engine engine;        /* who computed the reports */
  nvtxa_text schema_version;  /* of the SQLite export; no text: unknown */
  nvtxa_text product_version; /* that wrote it */
  nvtxa__trace trace;         /* size -1: unknown */
  /* Ids of the ranges whose durations in the reports are no measures: CSV cannot tell. */
  const int64_t *unmeasured;
  size_t unmeasured_count;
  size_t report_count; /* those of ranges, then those of GPU work: both or none */
  struct {
    nvtxa_text file; /* a name in stats/ */
    int64_t size_bytes;
  } reports[NVTXA__EXPORTED_REPORTS];
} nvtxa__provenance;

nvtxa_status nvtxa__provenance_write(int directory, const char *shown_path,
                                     const nvtxa__provenance *provenance, nvtxa_error **reterr);

#define NVTXA__REASON 256

/* Read export.json; its texts go to `arena`. Where there is none to go by, NVTXA_OK with *ret_found
 * false and the reason as the end of "export.json ...". */
nvtxa_status nvtxa__provenance_read(int directory, const char *shown_path, nvtxa__arena *arena,
                                    nvtxa__provenance *provenance, bool *ret_found,
                                    char reason[NVTXA__REASON], nvtxa_error **reterr);

/* ---- landing (landing.c) ---- */

/* Move the reports that `provenance` names, and the provenance itself, from the private directory
 * to stats/: all of them or none. Without `sync`, reports that the disk does not have yet can be
 * short after a crash of the machine; their sizes in the provenance then give them away. */
nvtxa_status nvtxa__land(const nvtxa__private *private, const nvtxa__provenance *provenance,
                         bool sync, nvtxa_error **reterr);

/* ---- keeping reports that were computed here (keep.c) ---- */

/* Write a report to a file of that name in an open directory. */
typedef nvtxa_status (*nvtxa__write_report_fn)(void *user, nvtxa_report report, int directory,
                                               const char *file, nvtxa_error **reterr);

/* Have both reports of ranges written, at the same time, and let them land in stats/. */
nvtxa_status nvtxa__export_keep(const nvtxa_export *exported, const int64_t *unmeasured,
                                size_t unmeasured_count, const nvtxa_hooks *hooks,
                                nvtxa__write_report_fn write, void *user, nvtxa_error **reterr);

/* ---- the object, and what it takes to make one (export.c) ---- */

struct nvtxa_export {
  nvtxa__refcount ref;
  bool fresh;
  int run;                  /* the run directory, for native reports; else -1 */
  const char *shown_stats;  /* its stats/, for messages */
  nvtxa__private workplace; /* with a private SQLite export; else its fd is -1 */
  nvtxa__arena arena;
  /* No text, no digest and size -1 where nothing identifies the reports. */
  nvtxa__provenance provenance;
  const char *sqlite_path; /* to read the ranges from; NULL: from the reports */
  nvtxa_text sqlite_relative;
  struct {
    const char *path; /* ready to open; NULL: there is none */
    nvtxa_text relative;
  } reports[NVTXA__EXPORTED_REPORTS];
  nvtxa__warnings warnings;
};

typedef struct nvtxa__job {
  const char *run_dir;
  nvtxa_export_options options;
  nvtxa_hooks hooks_copy;
  const nvtxa_hooks *hooks; /* NULL or &hooks_copy */
  int run;                  /* the run directory; the made object's */
  char *shown_trace;
  char *shown_sqlite;
  const char *shown_stats; /* the made object's */
  nvtxa_export *made;
} nvtxa__job;

/* Check the arguments and open the run directory. nvtxa__job_end() is due whatever comes of it. */
nvtxa_status nvtxa__job_begin(nvtxa__job *job, const char *run_dir,
                              const nvtxa_export_options *options, nvtxa_export **ret_export,
                              nvtxa_error **reterr);
void nvtxa__job_end(nvtxa__job *job);

/* The same for an export outside of any run directory: only options and the object. */
nvtxa_status nvtxa__job_begin_bare(nvtxa__job *job, const nvtxa_export_options *options,
                                   nvtxa_export **ret_export, nvtxa_error **reterr);

/* Let the ranges be read from the run directory's trace.sqlite, and the reports be kept in its
 * stats/ under their new names. */
nvtxa_status nvtxa__job_take_sqlite(nvtxa__job *job, nvtxa_error **reterr);

/* Say where native reports will stand, if they are to be kept. 0 or -1. */
int nvtxa__job_plan_reports(nvtxa__job *job);

/* Note what an SQLite export says of itself. 0 or -1. */
int nvtxa__job_set_versions(nvtxa__job *job, const nvtxa__export_versions *versions);

/* Whether the run directory has a trace.sqlite, and whether that is older than its trace. */
typedef enum nvtxa__beside {
  NVTXA__NONE_BESIDE,
  NVTXA__OLDER_BESIDE,
  NVTXA__FRESH_BESIDE
} nvtxa__beside;
nvtxa__beside nvtxa__job_sqlite_beside(const nvtxa__job *job);

/* Say which file in stats/ a report is. 0 or -1. */
int nvtxa__job_set_report(nvtxa__job *job, nvtxa_report report, const char *file);

/* Give the made object to the caller. */
void nvtxa__job_hand_over(nvtxa__job *job, nvtxa_export **ret_export);

#endif
