/*
 * What GPU operations refer to by id, looked up when all of them were read: the names of kernels,
 * kinds of memory, devices and kinds of copies.
 */
#include <string.h>

#include "sqlite-internal.h"

/* The kinds of memory, for exports without the table of them. */
static nvtxa_text memory_kind(const nvtxa__strings *kinds, int64_t kind) {
  static const char *const known[] = {"Pageable", "Pinned",        "Device",         "Array",
                                      "Managed",  "Device Static", "Managed Static", "Unknown"};
  nvtxa_text found = nvtxa__strings_find(kinds, kind);
  return found.data != NULL || kind < 0 || (size_t)kind >= NVTXA__COUNT(known)
             ? found
             : nvtxa__text(known[kind]);
}

static nvtxa__label_source source_of(const nvtxa__items *items, size_t label) {
  nvtxa__label_source source;
  memcpy(&source, items->labels.texts[label].data, sizeof source);
  return source;
}

/* Look up what the labels refer to: strings where `kernels`, else kinds of memory. */
static nvtxa_status look_up(const nvtxa__items *items, nvtxa__database *database, bool kernels,
                            nvtxa__strings *strings, nvtxa_error **reterr) {
  size_t count = 0;
  int64_t *ids = nvtxa__alloc(items->labels.count * 2 + 1, sizeof *ids);
  if (ids == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  for (size_t i = 0; i < items->labels.count; i++) {
    nvtxa__label_source source = source_of(items, i);
    if ((source.kind == NVTXA_GPU_KERNEL) == kernels) {
      ids[count] = source.first;
      count += source.first != NVTXA__NO_CELL;
      ids[count] = source.second;
      count += source.second != NVTXA__NO_CELL;
    }
  }
  nvtxa__strings_begin(strings, ids, count);
  return kernels ? nvtxa__strings_read(strings, database, "StringIds", "value", reterr)
                 : nvtxa__strings_read(strings, database, "ENUM_CUDA_MEM_KIND", "label", reterr);
}

static nvtxa_status unknown_kind(const nvtxa__database *database, int64_t kind,
                                 nvtxa_error **reterr) {
  return nvtxa__fail(
      reterr, NVTXA_ERROR_SQLITE_VALUE,
      &(nvtxa__where){.file = database->path, .hint = "Export the trace again."},
      "CUPTI_ACTIVITY_KIND_MEMCPY: a copy goes from or to memory of kind %lld, which "
      "ENUM_CUDA_MEM_KIND does not name",
      (long long)kind);
}

static nvtxa_status name_label(const nvtxa__label_source *source, const nvtxa__strings *names,
                               const nvtxa__strings *kinds, const nvtxa__database *database,
                               nvtxa_gpu_work *work, uint32_t *ret, nvtxa_error **reterr) {
  bool kernel = source->kind == NVTXA_GPU_KERNEL;
  nvtxa_text first =
      kernel ? nvtxa__strings_find(names, source->first) : memory_kind(kinds, source->first);
  nvtxa_text second = memory_kind(kinds, source->second);
  if (kernel && first.data == NULL) {
    first = nvtxa__text(""); /* as nsys prints it */
  }
  if (source->kind == NVTXA_GPU_MEMORY_TRANSFER && (first.data == NULL || second.data == NULL)) {
    return unknown_kind(database, first.data == NULL ? source->first : source->second, reterr);
  }
  return nvtxa__gpu_label_of(work, (nvtxa_gpu_kind)source->kind, first, second, ret) == 0
             ? NVTXA_OK
             : nvtxa__out_of_memory(reterr);
}

static nvtxa_status name_labels(const nvtxa__items *items, nvtxa__database *database,
                                nvtxa_gpu_work *work, uint32_t *labels, nvtxa_error **reterr) {
  nvtxa__strings names = {0};
  nvtxa__strings kinds = {0};
  nvtxa_status status = look_up(items, database, true, &names, reterr);
  if (status == NVTXA_OK) {
    status = look_up(items, database, false, &kinds, reterr);
  }
  for (size_t i = 0; i < items->labels.count && status == NVTXA_OK; i++) {
    nvtxa__label_source source = source_of(items, i);
    status = name_label(&source, &names, &kinds, database, work, &labels[i], reterr);
  }
  nvtxa__strings_free(&names);
  nvtxa__strings_free(&kinds);
  return status;
}

/* A list of ids with their texts out of a table; those of `ids`. */
static nvtxa_status name_ids(const int64_t *ids, size_t count, nvtxa__database *database,
                             const char *table, const char *column, nvtxa_gpu_work *work,
                             nvtxa__gpu_name *names, nvtxa_error **reterr) {
  nvtxa__strings strings = {0};
  int64_t *own = nvtxa__alloc(count + 1, sizeof *own);
  if (own == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  if (count > 0) {
    memcpy(own, ids, count * sizeof *own);
  }
  nvtxa__strings_begin(&strings, own, count);
  nvtxa_status status = nvtxa__strings_read(&strings, database, table, column, reterr);
  for (size_t i = 0; i < count && status == NVTXA_OK; i++) {
    names[i].id = ids[i];
    if (nvtxa__gpu_text_of(work, nvtxa__strings_find(&strings, ids[i]), &names[i].text) != 0) {
      status = nvtxa__out_of_memory(reterr);
    }
  }
  nvtxa__strings_free(&strings);
  return status;
}

static nvtxa_status name_devices(const nvtxa__items *items, nvtxa__database *database,
                                 nvtxa_gpu_work *work, nvtxa_error **reterr) {
  work->devices = nvtxa__alloc_zero(items->devices.count + 1, sizeof *work->devices);
  work->untimed = nvtxa__alloc_zero(items->devices.count + 1, sizeof *work->untimed);
  if (work->devices == NULL || work->untimed == NULL) {
    return nvtxa__out_of_memory(reterr);
  }
  work->device_count = items->devices.count;
  if (items->devices.count > 0) {
    memcpy(work->untimed, items->untimed, items->devices.count * sizeof *work->untimed);
  }
  return name_ids(items->devices.ids, items->devices.count, database, "TARGET_INFO_GPU", "name",
                  work, work->devices, reterr);
}

static nvtxa_status name_copies(const nvtxa__items *items, nvtxa__database *database,
                                nvtxa_gpu_work *work, nvtxa_error **reterr) {
  nvtxa__numbering kinds = {0};
  nvtxa_status status = NVTXA_OK;
  for (size_t i = 0; i < items->count && status == NVTXA_OK; i++) {
    uint32_t unused;
    int64_t kind = nvtxa__packed_get(&items->cells[NVTXA__CELL_COPY_KIND], i);
    if (kind != NVTXA__NO_CELL && nvtxa__number(&kinds, kind, &unused) != 0) {
      status = nvtxa__out_of_memory(reterr);
    }
  }
  work->copy_kinds = nvtxa__alloc_zero(kinds.count + 1, sizeof *work->copy_kinds);
  if (status == NVTXA_OK && work->copy_kinds == NULL) {
    status = nvtxa__out_of_memory(reterr);
  }
  if (status == NVTXA_OK) {
    work->copy_kind_count = kinds.count;
    status = name_ids(kinds.ids, kinds.count, database, "ENUM_CUDA_MEMCPY_OPER", "label", work,
                      work->copy_kinds, reterr);
  }
  nvtxa__numbering_free(&kinds);
  return status;
}

nvtxa_status nvtxa__operations_name(const nvtxa__items *items, bool with_cells,
                                    nvtxa__database *database, nvtxa_gpu_work *work,
                                    uint32_t **ret_labels, nvtxa_error **reterr) {
  *ret_labels = nvtxa__alloc(items->labels.count + 1, sizeof **ret_labels);
  nvtxa_status status = *ret_labels == NULL
                            ? nvtxa__out_of_memory(reterr)
                            : name_labels(items, database, work, *ret_labels, reterr);
  if (status == NVTXA_OK) {
    status = name_devices(items, database, work, reterr);
  }
  return status == NVTXA_OK && with_cells ? name_copies(items, database, work, reterr) : status;
}
