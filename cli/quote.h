/*
 * Texts from outside quoted so that what is printed can be copied: words for a POSIX shell, scalars
 * for YAML.
 */
#ifndef NVTXA_CLI_QUOTE_H
#define NVTXA_CLI_QUOTE_H

#include <stdio.h>

#include <nvtxa/nvtxa.h>

/* As one word for a shell, in quotes where it needs them. Only for texts that cli_text_is_safe()
 * holds for: what is escaped for the screen would be another word. */
void cli_put_word(FILE *stream, nvtxa_text text);

/* In double quotes, as YAML has them. Its escapes are those of cli_put_text(), so any text can be
 * shown. */
void cli_put_yaml(FILE *stream, nvtxa_text text);

/* A name in a sentence: as a word where it can be copied so, else as YAML. */
void cli_put_name(FILE *stream, nvtxa_text name);

#endif
