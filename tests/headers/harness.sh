#!/bin/sh
# nvtxa/harness.h opens and closes the ranges that it should: harness.c is compiled with a stand-in
# for NVTX and run, as C11 and as C++17, by gcc and by clang, with and without optimization.
# usage: harness.sh INCLUDE_DIR      (the directory that holds nvtxa/)
set -eu

here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checked=0
failed=0

# check COMPILER LANGUAGE STANDARD WARNING...
check() {
  compiler=$1 language=$2 standard=$3
  shift 3
  command -v "$compiler" > /dev/null || { echo "left out: there is no $compiler here"; return 0; }
  for level in -O0 -O2; do
    checked=$((checked + 1))
    "$compiler" -x "$language" -std="$standard" "$level" -Wall -Wextra -Wpedantic -Wshadow \
      -Wconversion -Wsign-conversion -Wundef "$@" -Werror -I"$include" -I"$here/stub" \
      "$here/harness.c" -o "$tmp/harness" && "$tmp/harness" ||
      { echo "FAILED: as $standard by $compiler $level"; failed=1; }
  done
}

include=$1
check gcc c c11 -Wstrict-prototypes -Wmissing-prototypes
check clang c c11 -Wstrict-prototypes -Wmissing-prototypes
check g++ c++ c++17 -Wold-style-cast
check clang++ c++ c++17 -Wold-style-cast
echo "$checked programs"
[ "$checked" -gt 0 ] && [ "$failed" -eq 0 ]
