/*
 * The YAML 1.2 core schema (10.3.2): which plain scalars are null, booleans and numbers, and what
 * number they are. Everything else is a string: `yes`, `1_000`, `0x`, `2026-08-26`, `12:30`.
 */
#include <stdlib.h>

#include "manifest-internal.h"

static bool is_one_of(nvtxa_text text, const char *const *forms) {
  for (; *forms != NULL; forms++) {
    if (nvtxa__text_is(text, *forms)) {
      return true;
    }
  }
  return false;
}

static bool is_null(nvtxa_text text) {
  static const char *const forms[] = {"", "~", "null", "Null", "NULL", NULL};
  return is_one_of(text, forms);
}

static bool is_bool(nvtxa_text text) {
  static const char *const forms[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
  return is_one_of(text, forms);
}

static bool is_sign(char byte) {
  return byte == '+' || byte == '-';
}

/* The value of a digit in any base up to 16, or 16. */
static unsigned digit_value(char byte) {
  return byte >= '0' && byte <= '9'   ? (unsigned)(byte - '0')
         : byte >= 'a' && byte <= 'f' ? (unsigned)(byte - 'a') + 10
         : byte >= 'A' && byte <= 'F' ? (unsigned)(byte - 'A') + 10
                                      : 16;
}

/* Skip digits of `base` from `i` on. */
static size_t skip_digits(nvtxa_text text, size_t i, unsigned base) {
  while (i < text.length && digit_value(text.data[i]) < base) {
    i++;
  }
  return i;
}

static size_t skip_sign(nvtxa_text text, size_t i) {
  return i < text.length && is_sign(text.data[i]) ? i + 1 : i;
}

/* 8 for 0o.., 16 for 0x.., else 10. Those two take no sign. */
static unsigned int_base(nvtxa_text text) {
  if (text.length < 2 || text.data[0] != '0') {
    return 10;
  }
  return text.data[1] == 'o' ? 8 : text.data[1] == 'x' ? 16 : 10;
}

static bool is_int(nvtxa_text text) {
  unsigned base = int_base(text);
  size_t start = base == 10 ? skip_sign(text, 0) : 2;
  return start < text.length && skip_digits(text, start, base) == text.length;
}

/* .inf with a sign or without, .nan without. */
static bool is_not_finite(nvtxa_text text) {
  static const char *const forms[] = {".inf", ".Inf", ".INF", NULL};
  static const char *const nan_forms[] = {".nan", ".NaN", ".NAN", NULL};
  size_t start = skip_sign(text, 0);
  nvtxa_text rest = {text.data + start, text.length - start};
  return is_one_of(rest, forms) || is_one_of(text, nan_forms);
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_decimal_float(nvtxa_text text) {
  size_t start = skip_sign(text, 0);
  size_t i = skip_digits(text, start, 10);
  size_t digits = i - start;
  if (i < text.length && text.data[i] == '.') {
    size_t fraction = ++i;
    i = skip_digits(text, fraction, 10);
    digits += i - fraction;
  }
  if (digits == 0) {
    return false;
  }
  if (i < text.length && (text.data[i] == 'e' || text.data[i] == 'E')) {
    size_t exponent = skip_sign(text, i + 1);
    i = skip_digits(text, exponent, 10);
    return i == text.length && i > exponent;
  }
  return i == text.length;
}

bool nvtxa__yaml_matches(nvtxa__yaml_type type, nvtxa_text text) {
  switch (type) {
    case NVTXA__YAML_NULL:
      return is_null(text);
    case NVTXA__YAML_BOOL:
      return is_bool(text);
    case NVTXA__YAML_INT:
      return is_int(text);
    case NVTXA__YAML_FLOAT:
      return is_decimal_float(text) || is_not_finite(text);
    default:
      return type == NVTXA__YAML_STRING;
  }
}

nvtxa__yaml_type nvtxa__yaml_resolve(nvtxa_text text) {
  nvtxa__yaml_type type = NVTXA__YAML_NULL;
  while (!nvtxa__yaml_matches(type, text)) {
    type++;
  }
  return type;
}

bool nvtxa__yaml_int64(nvtxa_text text, int64_t *ret) {
  unsigned base = int_base(text);
  if (base == 10) {
    size_t plus = text.length > 0 && text.data[0] == '+';
    return nvtxa__parse_int64(text.data + plus, text.length - plus, ret);
  }
  uint64_t value = 0;
  for (size_t i = 2; i < text.length; i++) {
    uint64_t digit = digit_value(text.data[i]);
    if (value > ((uint64_t)INT64_MAX - digit) / base) {
      return false;
    }
    value = value * base + digit;
  }
  *ret = (int64_t)value;
  return true;
}

double nvtxa__yaml_double(nvtxa_text text) {
  /* strtod() knows "inf", but not with a dot; which of the three it is, no caller asks. */
  return is_not_finite(text) ? (double)__builtin_inff() : strtod(text.data, NULL);
}

const char *nvtxa__yaml_type_name(nvtxa__yaml_type type) {
  static const char *const names[] = {
      [NVTXA__YAML_NULL] = "null",         [NVTXA__YAML_BOOL] = "a boolean",
      [NVTXA__YAML_INT] = "an integer",    [NVTXA__YAML_FLOAT] = "a floating-point number",
      [NVTXA__YAML_STRING] = "a string",   [NVTXA__YAML_SEQUENCE] = "a sequence",
      [NVTXA__YAML_MAPPING] = "a mapping",
  };
  return names[type];
}
