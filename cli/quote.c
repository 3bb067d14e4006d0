/* Quoting for a shell and for YAML. */
#include "quote.h"

#include <string.h>

#include "text.h"

static bool needs_quotes(nvtxa_text text) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  for (size_t i = 0; i < text.length; i++) {
    if (memchr(plain, text.data[i], sizeof plain - 1) == NULL) {
      return true;
    }
  }
  return text.length == 0;
}

/* Print with `escape` in the place of each `special` byte. */
static void put_replaced(FILE *stream, nvtxa_text text, const char *special,
                         const char *const *escapes) {
  size_t begun = 0;
  for (size_t i = 0; i < text.length; i++) {
    const char *found = memchr(special, text.data[i], strlen(special));
    if (found != NULL) {
      cli_put_text(stream, text.data + begun, i - begun);
      fputs(escapes[found - special], stream);
      begun = i + 1;
    }
  }
  cli_put_text(stream, text.data + begun, text.length - begun);
}

void cli_put_word(FILE *stream, nvtxa_text text) {
  static const char *const escapes[] = {"'\\''"};
  if (!needs_quotes(text)) {
    cli_put_text(stream, text.data, text.length);
    return;
  }
  fputc('\'', stream);
  put_replaced(stream, text, "'", escapes);
  fputc('\'', stream);
}

void cli_put_yaml(FILE *stream, nvtxa_text text) {
  static const char *const escapes[] = {"\\\\", "\\\""};
  fputc('"', stream);
  put_replaced(stream, text, "\\\"", escapes);
  fputc('"', stream);
}

void cli_put_name(FILE *stream, nvtxa_text name) {
  if (cli_text_is_safe(name.data, name.length)) {
    cli_put_word(stream, name);
  } else {
    cli_put_yaml(stream, name);
  }
}
