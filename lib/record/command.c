/*
 * The arguments of nsys: what a capture needs, each option giving way to one that the caller gave,
 * since nsys takes none twice; then the command.
 *
 * nsys prints to the standard output that it shares with the command. So the command is started
 * through a shell that gives it standard streams of its own, where a recording passes them on,
 * which a variable tells. By hand, the same arguments do without.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record-internal.h"

static const char register_only[] = "NSYS_NVTX_PROFILER_REGISTER_ONLY=0";

/* 0 or -1. The text is copied. */
static int add(nvtxa__arguments *arguments, const char *text) {
  char *copy = nvtxa__arena_copy(&arguments->arena, text, strlen(text));
  if (copy == NULL || nvtxa__reserve(&arguments->items, &arguments->capacity, arguments->count + 2,
                                     sizeof *arguments->items) != 0) {
    return -1;
  }
  arguments->items[arguments->count++] = copy;
  arguments->items[arguments->count] = NULL;
  return 0;
}

static int add_printed(nvtxa__arguments *arguments, const char *format, ...) NVTXA__PRINTF(2, 3);

static int add_printed(nvtxa__arguments *arguments, const char *format, ...) {
  char *text = NULL;
  va_list values;
  va_start(values, format);
  int length = vasprintf(&text, format, values);
  va_end(values);
  int result = length < 0 ? -1 : add(arguments, text);
  if (length >= 0) {
    free(text);
  }
  return result;
}

/* Whether an argument is the option "--name", with a value or without, or its short form. */
static bool is_option(const char *argument, const char *name, char letter) {
  size_t length = strlen(name);
  bool is_long =
      strncmp(argument, name, length) == 0 && (argument[length] == '\0' || argument[length] == '=');
  return is_long || (letter != '\0' && argument[0] == '-' && argument[1] == letter);
}

/* The caller's argument that is the option, or NULL. */
static const char *const *given(const nvtxa__recipe *recipe, const char *name, char letter) {
  const char *const *argument = recipe->nsys_arguments;
  while (argument != NULL && *argument != NULL && !is_option(*argument, name, letter)) {
    argument++;
  }
  return argument != NULL && *argument != NULL ? argument : NULL;
}

/* ---- the capture range ---- */

/* Names that --nvtx-capture would take for something else: 2023.4 has an escape for some of these
 * characters, 2022.4 has none, and before a colon there may be a domain. */
static bool can_be_named(const char *capture_range) {
  return strpbrk(capture_range, "@\\\":") == NULL;
}

/* Whether the caller has nsys wait for something else, or for nothing. */
static bool has_own_capture(const nvtxa__recipe *recipe) {
  return given(recipe, "--capture-range", 'c') != NULL;
}

static int add_capture_range(nvtxa__arguments *arguments, const nvtxa__recipe *recipe,
                             const nvtxa_hooks *hooks) {
  char quoted[NVTXA__QUOTED];
  if (has_own_capture(recipe)) {
    return 0;
  }
  if (!can_be_named(recipe->capture_range)) {
    nvtxa__log(
        hooks, NVTXA_LOG_NOTICE,
        "nsys cannot be told to begin at a range called '%s': all of the program is captured",
        nvtxa__quote(quoted, recipe->capture_range, strlen(recipe->capture_range)));
    return 0;
  }
  arguments->wait_for_range = true;
  int result = add(arguments, "--capture-range=nvtx");
  if (result == 0 && given(recipe, "--nvtx-capture", 'p') == NULL) {
    result = add_printed(arguments, "--nvtx-capture=%s@*", recipe->capture_range);
  }
  /* By default nsys ends the program with the range. */
  if (result == 0 && given(recipe, "--capture-range-end", '\0') == NULL) {
    result = add(arguments, "--capture-range-end=stop");
  }
  return result;
}

/* ---- the options ---- */

static int add_options(nvtxa__arguments *arguments, const nvtxa__recipe *recipe,
                       const nvtxa_hooks *hooks) {
  int result = add(arguments, recipe->nsys);
  result = result == 0 ? add(arguments, "profile") : result;
  if (result == 0 && given(recipe, "--trace", 't') == NULL) {
    result = add_printed(arguments, "--trace=%s", recipe->trace);
  }
  if (result == 0 && given(recipe, "--sample", 's') == NULL) {
    result = add(arguments, "--sample=none");
  }
  if (result == 0 && given(recipe, "--cpuctxsw", '\0') == NULL) {
    result = add(arguments, "--cpuctxsw=none");
  }
  result = result == 0 ? add_capture_range(arguments, recipe, hooks) : result;
  if (result == 0 && given(recipe, "--env-var", 'e') == NULL) {
    /* Without it, nsys takes no notice of ranges whose names are not registered strings. */
    result = add(arguments, "-e");
    result = result == 0 ? add(arguments, register_only) : result;
  }
  return result;
}

/* Whether an argument is the value of the caller's own `option` for variables, or holds it, and
 * says nothing about ours. */
static bool holds_variables(const char *const *argument, const char *const *option) {
  if (option == NULL) {
    return false;
  }
  bool apart = strcmp(*option, "-e") == 0 || strcmp(*option, "--env-var") == 0;
  return argument == option + (apart ? 1 : 0) &&
         strstr(*argument, "NSYS_NVTX_PROFILER_REGISTER_ONLY=") == NULL;
}

static int add_given(nvtxa__arguments *arguments, const nvtxa__recipe *recipe) {
  const char *const *variables = given(recipe, "--env-var", 'e');
  const char *const *argument = recipe->nsys_arguments;
  int result = 0;
  for (; argument != NULL && *argument != NULL && result == 0; argument++) {
    result = holds_variables(argument, variables)
                 ? add_printed(arguments, "%s,%s", *argument, register_only)
                 : add(arguments, *argument);
  }
  return result;
}

/* nsys replaces %h, %p, %q{VARIABLE} and the like by something else, and %% by %. */
static int add_output(nvtxa__arguments *arguments, const nvtxa__recipe *recipe) {
  nvtxa__buffer text = {0};
  int result = nvtxa__buffer_printf(&text, "--output=");
  for (const char *byte = recipe->output; *byte != '\0' && result == 0; byte++) {
    result = nvtxa__buffer_add(&text, *byte == '%' ? "%%" : byte, *byte == '%' ? 2 : 1);
  }
  result = result == 0 ? add(arguments, text.data) : result;
  nvtxa__buffer_free(&text);
  return result;
}

static int add_command(nvtxa__arguments *arguments, const nvtxa__recipe *recipe) {
  int out = recipe->output_fd;
  int err = recipe->error_fd;
  int result = add(arguments, "/bin/sh");
  result = result == 0 ? add(arguments, "-c") : result;
  result = result == 0
               ? add_printed(arguments,
                             "if test -n \"$" NVTXA_MANIFEST_EXTRA
                             "\" && { true >&%d && true >&%d; } 2>/dev/null; "
                             "then exec \"$@\" >&%d 2>&%d %d>&- %d>&-; else exec \"$@\"; fi",
                             out, err, out, err, out, err)
               : result;
  result = result == 0 ? add(arguments, "sh") : result;
  for (const char *const *word = recipe->command; *word != NULL && result == 0; word++) {
    result = add(arguments, *word);
  }
  return result;
}

/* ---- what cannot be ---- */

static nvtxa_status refuse(const char *field, const char *value, const char *why, const char *hint,
                           nvtxa_error **reterr) {
  char quoted[NVTXA__QUOTED];
  return nvtxa__fail(reterr, NVTXA_ERROR_RECORD_ARGUMENT,
                     &(nvtxa__where){.field = field, .hint = hint}, "%s '%s' %s", field,
                     nvtxa__quote(quoted, value, strlen(value)), why);
}

/* 2022.4 and 2023.4 write below such a path, and then fail as they look for what they wrote. */
static bool is_bad_in_path(char byte) {
  return byte == '"' || byte == '&' || (unsigned char)byte < 0x20 || byte == 0x7F;
}

/* The first argument of the caller's that is no option and cannot be the value of one, or NULL. */
static const char *const *stray_value(const nvtxa__recipe *recipe) {
  const char *const *argument = recipe->nsys_arguments;
  bool after_option = false;
  for (; argument != NULL && *argument != NULL; argument++) {
    bool is_option = **argument == '-';
    if (!is_option && !after_option) {
      return argument;
    }
    after_option = is_option && strchr(*argument, '=') == NULL;
  }
  return NULL;
}

static nvtxa_status check(const nvtxa__recipe *recipe, nvtxa_error **reterr) {
  const char *name = recipe->capture_range;
  if (*name == '\0' || nvtxa__utf8_valid(name, strlen(name)) != strlen(name)) {
    return refuse("capture range", name, *name == '\0' ? "names no range" : "is not UTF-8",
                  "Give the name that the program pushes.", reterr);
  }
  for (const char *byte = recipe->output; *byte != '\0'; byte++) {
    if (is_bad_in_path(*byte)) {
      return refuse("run directory", recipe->output,
                    "has a quotation mark, an ampersand or a control character in its path, with "
                    "which nsys fails",
                    "Record elsewhere, and move the run directory afterwards.", reterr);
    }
  }
  if (nvtxa__utf8_valid(recipe->output, strlen(recipe->output)) != strlen(recipe->output)) {
    return refuse("run directory", recipe->output, "is not UTF-8, with which nsys fails",
                  "Record elsewhere, and move the run directory afterwards.", reterr);
  }
  const char *const *value = stray_value(recipe);
  if (value != NULL) {
    return refuse("nsys argument", *value,
                  "follows no option: nsys would run it in the command's place",
                  "The command to record comes last, after --.", reterr);
  }
  const char *const *output = given(recipe, "--output", 'o');
  return output == NULL ? NVTXA_OK
                        : refuse("nsys argument", *output, "would take the trace elsewhere",
                                 "The run directory says where the trace goes.", reterr);
}

nvtxa_status nvtxa__arguments_make(nvtxa__arguments *arguments, const nvtxa__recipe *recipe,
                                   const nvtxa_hooks *hooks, nvtxa_error **reterr) {
  nvtxa_status status = check(recipe, reterr);
  if (status != NVTXA_OK) {
    return status;
  }
  int result = add_options(arguments, recipe, hooks);
  result = result == 0 ? add_given(arguments, recipe) : result;
  result = result == 0 ? add_output(arguments, recipe) : result;
  result = result == 0 ? add_command(arguments, recipe) : result;
  return result == 0 ? NVTXA_OK : nvtxa__out_of_memory(reterr);
}

void nvtxa__arguments_free(nvtxa__arguments *arguments) {
  free(arguments->items);
  nvtxa__arena_free(&arguments->arena);
}
