/*
 * Escaping and measuring of what is shown. Text is read as UTF-8 whatever the locale is, since that
 * is what the library speaks; the locale only says what the screen can show and how wide it is.
 */
#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "text.h"

static bool utf8;

void cli_text_init(void) {
  const char *locale = setlocale(LC_CTYPE, "");
  /* Only the character type is set: numbers keep their point in every locale. "C" is what a machine
   * without a configured locale says (containers, CI); its terminals speak UTF-8 all the same. */
  if (locale == NULL || strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0) {
    setlocale(LC_CTYPE, "C.UTF-8");
  }
  utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

bool cli_text_is_utf8(void) {
  return utf8;
}

/* The next character of a text: `length` bytes, `code`; not `valid`: one byte that is no UTF-8. */
struct character {
  size_t length;
  uint32_t code;
  bool valid;
};

static struct character next_character(const char *data, size_t length) {
  const unsigned char *bytes = (const unsigned char *)data;
  struct character stray = {1, bytes[0], false};
  if (bytes[0] < 0x80) {
    return (struct character){1, bytes[0], true};
  }
  size_t need = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2;
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (bytes[0] < 0xC2 || bytes[0] > 0xF4 || need > length) {
    return stray;
  }
  uint32_t code = bytes[0] & (0x7Fu >> need);
  for (size_t i = 1; i < need; i++) {
    if ((bytes[i] & 0xC0) != 0x80) {
      return stray;
    }
    code = code << 6 | (bytes[i] & 0x3Fu);
  }
  if (code < smallest[need] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    return stray;
  }
  return (struct character){need, code, true};
}

/* Characters without a shape of their own that change how others are shown: C1 controls, direction
 * marks and overrides, invisible operators, line separators, tags. */
static bool is_deceptive(uint32_t code) {
  static const uint32_t ranges[][2] = {
      {0x7F, 0x9F},     {0x061C, 0x061C}, {0x180E, 0x180E}, {0x200B, 0x200B}, {0x200E, 0x200F},
      {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
  };
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    if (code >= ranges[i][0] && code <= ranges[i][1]) {
      return true;
    }
  }
  return code < 0x20;
}

/* How many columns a character takes as it is; -1 where it must be escaped. */
static int character_columns(struct character character) {
  if (!character.valid || is_deceptive(character.code)) {
    return -1;
  }
  if (character.code < 0x80) {
    return 1;
  }
  return utf8 ? wcwidth((wchar_t)character.code) : -1;
}

static void put_escape(FILE *stream, struct character character) {
  if (!character.valid || character.code < 0x80) {
    fprintf(stream, "\\x%02X", (unsigned)character.code);
  } else if (character.code < 0x10000) {
    fprintf(stream, "\\u%04X", (unsigned)character.code);
  } else {
    fprintf(stream, "\\U%08X", (unsigned)character.code);
  }
}

void cli_put_text(FILE *stream, const char *data, size_t length) {
  for (size_t i = 0; i < length;) {
    struct character character = next_character(data + i, length - i);
    if (character_columns(character) >= 0) {
      fwrite(data + i, 1, character.length, stream);
    } else {
      put_escape(stream, character);
    }
    i += character.length;
  }
}

void cli_put_string(FILE *stream, const char *string) {
  cli_put_text(stream, string, strlen(string));
}

bool cli_text_is_safe(const char *data, size_t length) {
  for (size_t i = 0; i < length;) {
    struct character character = next_character(data + i, length - i);
    if (character_columns(character) < 0) {
      return false;
    }
    i += character.length;
  }
  return true;
}

void cli_put_json(FILE *stream, const char *data, size_t length) {
  for (size_t i = 0; i < length;) {
    struct character character = next_character(data + i, length - i);
    /* Control characters below 0x20 are the document's own line breaks: inside strings JSON has
     * escaped them already. */
    if (character.code < 0x20 || character_columns(character) >= 0) {
      fwrite(data + i, 1, character.length, stream);
    } else if (character.code < 0x10000) {
      fprintf(stream, "\\u%04x", (unsigned)character.code);
    } else {
      fprintf(stream, "\\u%04x\\u%04x", 0xD7C0u + (unsigned)(character.code >> 10),
              0xDC00u + (unsigned)(character.code & 0x3FF));
    }
    i += character.length;
  }
}

static char *escape(const char *data, size_t length) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (stream == NULL) {
    return NULL;
  }
  cli_put_text(stream, data, length);
  bool failed = ferror(stream) != 0;
  failed |= fclose(stream) != 0;
  if (failed) {
    free(text);
    return NULL;
  }
  return text;
}

/* The bytes at the start of an escaped text that take at most `columns`; *ret_used gets how many
 * they take. Marks that combine with the last character stay with it. */
static size_t prefix(const char *text, size_t length, size_t columns, size_t *ret_used) {
  size_t i = 0;
  size_t used = 0;
  while (i < length) {
    struct character character = next_character(text + i, length - i);
    int width = character_columns(character);
    if (width > 0 && used + (size_t)width > columns) {
      break;
    }
    used += width > 0 ? (size_t)width : 0;
    i += character.length;
  }
  *ret_used = used;
  return i;
}

size_t cli_text_columns(const char *text) {
  size_t columns;
  prefix(text, strlen(text), SIZE_MAX, &columns);
  return columns;
}

/* The same escaped text of `total` columns with its middle cut out. */
static char *cut_middle(const char *text, size_t total, size_t columns) {
  const char *ellipsis = utf8 ? "\xE2\x80\xA6" : "...";
  size_t ellipsis_columns = utf8 ? 1 : 3;
  size_t length = strlen(text);
  size_t kept = columns > ellipsis_columns ? columns - ellipsis_columns : 0;
  size_t used;
  size_t head = prefix(text, length, kept - kept / 2, &used);
  size_t tail = prefix(text, length, total - kept / 2, &used);
  if (total - used > kept / 2) { /* a wide character stands across the border */
    tail += next_character(text + tail, length - tail).length;
  }
  char *shorter = NULL;
  if (asprintf(&shorter, "%.*s%s%s", (int)head, text, ellipsis, text + tail) < 0) {
    return NULL;
  }
  return shorter;
}

char *cli_fit_text(const char *data, size_t length, size_t columns) {
  char *text = escape(data, length);
  size_t total = text == NULL ? 0 : cli_text_columns(text);
  if (total <= columns) {
    return text;
  }
  char *shorter = cut_middle(text, total, columns);
  free(text);
  return shorter;
}
