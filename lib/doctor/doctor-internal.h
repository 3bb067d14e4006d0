/*
 * What the rooms of the doctor module share. doctor.c is the object, and goes through the checks:
 * tool.c (nsys, its version, its reports), capture.c (ranges that come back), sampling.c (what the
 * kernel permits), places.c (directories and their disks).
 */
#ifndef NVTXA_DOCTOR_INTERNAL_H
#define NVTXA_DOCTOR_INTERNAL_H

#include <nvtxa/doctor.h>

#include "process/process-internal.h"

/* ---- the object (doctor.c) ---- */

enum { NVTXA__CHECKS = NVTXA_CHECK_TEMPORARY }; /* each has one finding at most */

struct nvtxa_doctor {
  nvtxa__refcount ref;
  nvtxa__arena arena;
  nvtxa_finding findings[NVTXA__CHECKS];
  size_t count;
};

/* Add a finding. `remedy` may be NULL. */
nvtxa_status nvtxa__doctor_add(nvtxa_doctor *doctor, nvtxa_check check, nvtxa_verdict verdict,
                               const char *remedy, nvtxa_error **reterr, const char *format, ...)
    NVTXA__PRINTF(6, 7);

/* Add what an error says, after `before`; or pass it on where it ends the examination. The error is
 * used up. */
nvtxa_status nvtxa__doctor_add_error(nvtxa_doctor *doctor, nvtxa_check check, nvtxa_verdict verdict,
                                     const char *remedy, nvtxa_error **reterr, const char *before,
                                     nvtxa_error *error);

/* Whether no finding comes of it: cancelled, or out of memory. */
bool nvtxa__doctor_is_over(nvtxa_status status);

/* An examination under way. */
typedef struct nvtxa__examination {
  nvtxa_doctor_options options; /* with the defaults in their places */
  nvtxa_hooks hooks_copy;
  const nvtxa_hooks *hooks; /* NULL or &hooks_copy */
  nvtxa_doctor *made;
  char *nsys;         /* absolute; NULL: there is none */
  char **environment; /* for children */
} nvtxa__examination;

static const int64_t nvtxa__call_ns = 60000000000; /* what one call of nsys may take */

/* ---- the checks: each adds one finding, and fails only where the examination is over ---- */

/* nsys, its version and its reports (tool.c); it leaves `nsys` in the examination. */
nvtxa_status nvtxa__examine_tool(nvtxa__examination *examination, nvtxa_error **reterr);

/* Needs `nsys` (capture.c). */
nvtxa_status nvtxa__examine_capture(const nvtxa__examination *examination, nvtxa_error **reterr);

nvtxa_status nvtxa__examine_sampling(const nvtxa__examination *examination, nvtxa_error **reterr);
nvtxa_status nvtxa__examine_places(const nvtxa__examination *examination, nvtxa_error **reterr);

/* ---- what the checks make of what they see ---- */

/* Of the content of perf_event_paranoid (sampling.c). */
nvtxa_status nvtxa__judge_paranoia(nvtxa_doctor *doctor, const char *content, nvtxa_error **reterr);

/* Of the room on a disk (places.c). */
nvtxa_verdict nvtxa__judge_room(uint64_t bytes);

/* "12 MB", "3.4 GB", "120 GB" (places.c). */
#define NVTXA__SIZE_TEXT 32
const char *nvtxa__size_text(char buffer[NVTXA__SIZE_TEXT], uint64_t bytes);

#endif
