/*
 * One CSV record at a time, from memory. See csv.c for the two ways of reading one.
 */
#ifndef NVTXA_CSV_INTERNAL_H
#define NVTXA_CSV_INTERNAL_H

#include "base/base-internal.h"

#include <nvtxa/ranges.h>

/* What a column may hold, which is what tells a record's readings apart. */
typedef enum nvtxa__csv_kind {
  NVTXA__CSV_OTHER,     /* anything: a column that is not known */
  NVTXA__CSV_INTEGER,   /* an integer */
  NVTXA__CSV_MAYBE,     /* an integer, nothing, or None */
  NVTXA__CSV_LEVEL,     /* as MAYBE; how deep a range is */
  NVTXA__CSV_WORD,      /* text that never needs quotes */
  NVTXA__CSV_NAME,      /* the range's name: any text */
  NVTXA__CSV_NAME_TREE, /* two dashes a level, then the name again */
} nvtxa__csv_kind;

typedef struct nvtxa__csv_layout {
  size_t column_count;
  nvtxa__csv_kind *kinds; /* by column */
  bool header_quoted;     /* the header has quotes, so this writer quotes without need */
  nvtxa_quoting quoting;
} nvtxa__csv_layout;

typedef struct nvtxa__csv_field {
  const char *data;
  size_t length;
  bool quoted;
} nvtxa__csv_field;

typedef struct nvtxa__csv_record {
  nvtxa__csv_field *fields;
  size_t count;
  size_t capacity;
  size_t consumed;       /* bytes, line break included */
  const char *problem;   /* with NVTXA__CSV_BAD: what is wrong, without the place */
  bool miscounted;       /* ... and that is the number of fields */
  nvtxa__buffer scratch; /* fields whose doubled quotes were undone */
} nvtxa__csv_record;

typedef enum nvtxa__csv_result {
  NVTXA__CSV_RECORD, /* a record; its fields point into `data` or into the record */
  NVTXA__CSV_MORE,   /* it does not end within `length` bytes, and there is more */
  NVTXA__CSV_BAD,    /* it cannot be read; see `problem` */
  NVTXA__CSV_MEMORY, /* out of memory */
} nvtxa__csv_result;

/* Read the record at `data`. `final`: nothing follows the `length` bytes. `layout` NULL reads a
 * header: RFC 4180, any number of fields. Else a record has layout->column_count fields, unless it
 * can be read in no way that has: then it is BAD. */
nvtxa__csv_result nvtxa__csv_read(const nvtxa__csv_layout *layout, const char *data, size_t length,
                                  bool final, nvtxa__csv_record *record);

void nvtxa__csv_record_free(nvtxa__csv_record *record);

/* Whether a field stands for nothing: empty, or the word None that nsys before 2023.4 writes. */
bool nvtxa__csv_is_nothing(nvtxa__csv_field field);

#endif
