/*
 * What the kernel permits: nsys samples the CPU through perf events. Nothing here needs that, since
 * runs are recorded without, so it is never a problem.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "doctor-internal.h"

static const char path[] = "/proc/sys/kernel/perf_event_paranoid";

/* The highest value at which nsys samples for who has no privileges. */
enum { HIGHEST = 2 };

nvtxa_status nvtxa__judge_paranoia(nvtxa_doctor *doctor, const char *content,
                                   nvtxa_error **reterr) {
  int64_t value;
  if (!nvtxa__parse_int64(content, strcspn(content, "\n"), &value)) {
    return nvtxa__doctor_add(doctor, NVTXA_CHECK_SAMPLING, NVTXA_VERDICT_UNKNOWN, NULL, reterr,
                             "%s holds no number", path);
  }
  if (value <= HIGHEST) {
    return nvtxa__doctor_add(doctor, NVTXA_CHECK_SAMPLING, NVTXA_VERDICT_OK, NULL, reterr,
                             "perf_event_paranoid is %lld", (long long)value);
  }
  return nvtxa__doctor_add(
      doctor, NVTXA_CHECK_SAMPLING, NVTXA_VERDICT_NOTE,
      "to have that (--nsys-arg=--sample=cpu), run sysctl kernel.perf_event_paranoid=2 as root",
      reterr,
      "perf_event_paranoid is %lld, so nsys does not sample the CPU nor see context switches, "
      "which nvtxa record does without",
      (long long)value);
}

nvtxa_status nvtxa__examine_sampling(const nvtxa__examination *examination, nvtxa_error **reterr) {
  char content[64];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd < 0 ? -1 : read(fd, content, sizeof content - 1);
  int errnum = errno;
  nvtxa__close(&fd);
  if (length < 0) {
    nvtxa_error *error = NULL;
    nvtxa__fail(&error, NVTXA_ERROR_IO, &(nvtxa__where){.errnum = errnum}, "cannot read %s", path);
    return nvtxa__doctor_add_error(examination->made, NVTXA_CHECK_SAMPLING, NVTXA_VERDICT_UNKNOWN,
                                   NULL, reterr, "", error);
  }
  content[length] = '\0';
  return nvtxa__judge_paranoia(examination->made, content, reterr);
}
