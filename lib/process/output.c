/*
 * What nsys prints: split into lines within bounded memory (progress comes without end of line),
 * and searched for what tells success from failure, since the exit status does not.
 *
 * The lines looked for, as nsys 2022.4 and 2023.4 print them:
 *   Processing [export.sqlite] with [...nvtxpptrace.py] to [nsys_nvtxpptrace.csv]... PROCESSED
 *   ... SKIPPED: export.sqlite does not contain CUDA API data.
 *   ERROR: Report 'nvtxpptrace.py' encountered an internal error: ...
 *   Exportation error: Cannot read from stream.
 *   [QuadDCommon::tag_message*] = database or disk is full
 */
#include <stdio.h>
#include <string.h>

#include "process-internal.h"

/* A line that is cut keeps this much of its end, so that no word is missed at a cut. */
enum { OVERLAP = 32 };

static const char verdict_mark[] = "... ";

/* ASCII alone, whatever locale the process has. */
static bool is_space(char byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

/* The bytes of one character, or one byte that belongs to none. */
static size_t character_length(const char *data, size_t length) {
  for (size_t step = 1; step <= 4 && step <= length; step++) {
    if (nvtxa__utf8_valid(data, step) == step) {
      return step;
    }
  }
  return 1;
}

const char *nvtxa__excerpt(char *buffer, size_t size, const char *data, size_t length) {
  const size_t room = size - sizeof "...";
  size_t used = 0;
  size_t step;
  for (size_t i = 0; i < length; i += step) {
    char quoted[NVTXA__QUOTED];
    step = character_length(data + i, length - i);
    size_t quoted_length = strlen(nvtxa__quote(quoted, data + i, step));
    if (used + quoted_length > room) {
      memcpy(buffer + used, "...", sizeof "...");
      return buffer;
    }
    memcpy(buffer + used, quoted, quoted_length);
    used += quoted_length;
  }
  buffer[used] = '\0';
  return buffer;
}

void nvtxa__log_file(const nvtxa_hooks *hooks, const char *doing, const char *path,
                     const char *name) {
  char shown[1024];
  nvtxa__excerpt(shown, sizeof shown, path, strlen(path));
  nvtxa__log(hooks, NVTXA_LOG_INFO, "%s %s%s%s", doing, shown, name == NULL ? "" : "/",
             name == NULL ? "" : name);
}

static bool starts_with(nvtxa_text text, const char *word) {
  size_t length = strlen(word);
  return text.length >= length && memcmp(text.data, word, length) == 0;
}

static nvtxa_text from(nvtxa_text text, size_t offset) {
  return (nvtxa_text){text.data + offset, text.length - offset};
}

static nvtxa_text after(nvtxa_text text, const char *mark) {
  const char *found = memmem(text.data, text.length, mark, strlen(mark));
  return found == NULL ? (nvtxa_text){NULL, 0}
                       : from(text, (size_t)(found - text.data) + strlen(mark));
}

static nvtxa_text trim(nvtxa_text text) {
  while (text.length > 0 && is_space(text.data[0])) {
    text = from(text, 1);
  }
  while (text.length > 0 && is_space(text.data[text.length - 1])) {
    text.length--;
  }
  return text;
}

/* The text from `word` on, where the word stands at the beginning of the line or as the verdict
 * after "... "; no text where it does not. In the middle of a sentence or a path it means nothing.
 */
static nvtxa_text find_verdict(nvtxa_text line, bool continued, const char *word) {
  nvtxa_text rest = continued ? after(line, verdict_mark) : trim(line);
  for (; rest.data != NULL; rest = after(rest, verdict_mark)) {
    size_t length = strlen(word);
    if (starts_with(rest, word) && (rest.length == length || !is_word(rest.data[length]))) {
      return rest;
    }
  }
  return rest;
}

static void keep_error(nvtxa__output *output, nvtxa_text text) {
  char excerpt[NVTXA__EXCERPT];
  size_t used = strlen(output->error);
  nvtxa__excerpt(excerpt, sizeof excerpt, text.data, text.length);
  if (used + strlen(excerpt) + sizeof "; " <= sizeof output->error) {
    snprintf(output->error + used, sizeof output->error - used, "%s%s", used == 0 ? "" : "; ",
             excerpt);
  }
}

static void classify(nvtxa__output *output, nvtxa_text line) {
  nvtxa_text error = find_verdict(line, output->continued, "ERROR");
  if (error.data == NULL && !output->continued && starts_with(line, "Exportation error")) {
    error = line;
  }
  static const char *const exceptions[] = {"tag_message*] = ", "std::exception::what: "};
  for (size_t i = 0; error.data == NULL && i < NVTXA__COUNT(exceptions); i++) {
    error = after(line, exceptions[i]); /* how nsys prints one of its own */
  }
  if (error.data != NULL) {
    keep_error(output, trim(error));
  }
  nvtxa_text skipped = find_verdict(line, output->continued, "SKIPPED");
  if (skipped.data != NULL) {
    skipped = trim(skipped);
    nvtxa__excerpt(output->skipped, sizeof output->skipped, skipped.data, skipped.length);
  }
  if (!output->continued && starts_with(line, "Processing [")) {
    output->processing = true;
  }
  if (find_verdict(line, output->continued, "PROCESSED").data != NULL) {
    output->processed = true;
  }
}

/* Take what is pending. Progress is looked at, but not worth keeping. */
static void take(nvtxa__output *output, bool progress) {
  char shown[1024];
  nvtxa_text line = {output->pending, output->length};
  nvtxa_text trimmed = trim(line);
  if (trimmed.length == 0) {
    return;
  }
  nvtxa__log(output->hooks, NVTXA_LOG_DEBUG, "nsys: %s",
             nvtxa__excerpt(shown, sizeof shown, trimmed.data, trimmed.length));
  classify(output, line);
  if (output->line != NULL && !output->continued) {
    output->line(output->user, line.data, line.length);
  }
  if (!progress) {
    char *last = output->last[output->last_count++ % NVTXA__LAST_LINES];
    nvtxa__excerpt(last, NVTXA__EXCERPT, trimmed.data, trimmed.length);
  }
}

static void end_line(nvtxa__output *output, bool progress) {
  take(output, progress);
  output->length = 0;
  output->continued = false;
  output->returned = false;
}

static void cut_line(nvtxa__output *output) {
  take(output, true);
  memmove(output->pending, output->pending + output->length - OVERLAP, OVERLAP);
  output->length = OVERLAP;
  output->continued = true;
}

void nvtxa__output_feed(nvtxa__output *output, const char *data, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (output->returned || data[i] == '\n') {
      bool line_feed = data[i] == '\n';
      end_line(output, !line_feed);
      if (line_feed) {
        continue;
      }
    }
    if (data[i] == '\r') {
      output->returned = true;
      continue;
    }
    if (output->length == NVTXA__LINE) {
      cut_line(output);
    }
    output->pending[output->length++] = data[i];
  }
}

void nvtxa__output_end(nvtxa__output *output) {
  end_line(output, output->returned);
}

const char *nvtxa__output_text(const nvtxa__output *output, char buffer[NVTXA__OUTPUT_TEXT]) {
  if (output->error[0] != '\0') {
    return output->error;
  }
  size_t first =
      output->last_count > NVTXA__LAST_LINES ? output->last_count - NVTXA__LAST_LINES : 0;
  size_t used = 0;
  buffer[0] = '\0';
  for (size_t i = first; i < output->last_count; i++) {
    const char *line = output->last[i % NVTXA__LAST_LINES];
    if (used > 0) {
      memcpy(buffer + used, "; ", sizeof "; ");
      used += strlen("; ");
    }
    memcpy(buffer + used, line, strlen(line) + 1);
    used += strlen(line);
  }
  return buffer;
}
