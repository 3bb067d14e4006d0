/*
 * Text from outside (names, paths, messages) made safe to show: nothing that moves the cursor,
 * hides or reorders what stands around it reaches the screen, and long names are cut to fit.
 */
#ifndef NVTXA_CLI_TEXT_H
#define NVTXA_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Take the character encoding from the locale. Call once, first. */
void cli_text_init(void);

/* Whether characters beyond ASCII can be shown. */
bool cli_text_is_utf8(void);

/* Print with everything unsafe escaped: \xNN for control characters and stray bytes, \uNNNN or
 * \UNNNNNNNN for other characters. Allocates nothing. */
void cli_put_text(FILE *stream, const char *data, size_t length);
void cli_put_string(FILE *stream, const char *string);

/* Whether cli_put_text() prints it as it is: what is shown can be copied. */
bool cli_text_is_safe(const char *data, size_t length);

/* Print a JSON text with what a terminal would act on written as JSON escapes: the same document.
 */
void cli_put_json(FILE *stream, const char *data, size_t length);

/* Escaped as by cli_put_text() and, where it takes more than `columns` on the screen, cut in the
 * middle. The caller frees it; NULL when out of memory. */
char *cli_fit_text(const char *data, size_t length, size_t columns);

/* How many columns an escaped text takes on the screen. */
size_t cli_text_columns(const char *text);

#endif
