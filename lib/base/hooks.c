/* The caller's hooks: log, progress at a bounded rate, the cancel flag. */
#include <stdio.h>
#include <time.h>

#include "base-internal.h"

int nvtxa__cancel_level(const nvtxa_hooks *hooks) {
  /* Another thread, or a handler on one, may set it. */
  return hooks == NULL || hooks->cancel == NULL ? 0
                                                : __atomic_load_n(hooks->cancel, __ATOMIC_RELAXED);
}

bool nvtxa__cancelled(const nvtxa_hooks *hooks) {
  return nvtxa__cancel_level(hooks) != 0;
}

nvtxa_status nvtxa__cancel_error(nvtxa_error **reterr) {
  return nvtxa__fail(reterr, NVTXA_ERROR_CANCELLED, NULL, "interrupted; nothing was replaced");
}

void nvtxa__log(const nvtxa_hooks *hooks, nvtxa_log_level level, const char *format, ...) {
  if (hooks == NULL || hooks->log == NULL) {
    return;
  }
  char message[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  hooks->log(hooks->user, level, message);
}

int64_t nvtxa__now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void show(nvtxa__activity *activity, int64_t now_ns) {
  activity->shown_ns = now_ns;
  if (activity->hooks != NULL && activity->hooks->progress != NULL) {
    nvtxa_progress progress = {activity->name, now_ns - activity->started_ns};
    activity->hooks->progress(activity->hooks->user, &progress);
  }
}

void nvtxa__activity_start(nvtxa__activity *activity, const nvtxa_hooks *hooks, const char *name) {
  activity->hooks = hooks;
  activity->name = name;
  activity->started_ns = nvtxa__now_ns();
  show(activity, activity->started_ns);
}

void nvtxa__activity_tick(nvtxa__activity *activity) {
  int64_t now_ns = nvtxa__now_ns();
  if (now_ns - activity->shown_ns >= 100000000) {
    show(activity, now_ns);
  }
}
