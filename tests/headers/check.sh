#!/bin/sh
# Each public header compiles alone, without a warning: as C11 and as C++17, by gcc and by clang.
# usage: check.sh [-isystem NVTX_INCLUDE_DIR]... INCLUDE_DIR...
#        INCLUDE_DIR: the directories that hold nvtxa/; NVTX_INCLUDE_DIR: where nvtx3/ may be
set -eu

includes=
while [ "${1:-}" = -isystem ]; do
  includes="$includes -isystem $2"
  shift 2
done
for directory in "$@"; do
  includes="$includes -I$directory"
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
checked=0
failed=0

# syntax COMPILER LANGUAGE STANDARD: of the one file. NVTX's own header may need _GNU_SOURCE, which
# g++ sets by itself.
syntax() {
  # shellcheck disable=SC2086 # the list of directories is meant to be split
  "$1" -x "$2" -std="$3" -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror \
    -D_GNU_SOURCE $includes -fsyntax-only "$tmp/one.c"
}

# compile COMPILER LANGUAGE STANDARD HEADER
compile() {
  command -v "$1" > /dev/null || { echo "left out: there is no $1 here"; return 0; }
  if [ "$4" = nvtxa/harness.h ]; then
    echo '#include <nvtx3/nvToolsExt.h>' > "$tmp/one.c"
    syntax "$1" "$2" "$3" 2> /dev/null ||
      { echo "left out: $4 as $3 by $1, which finds no <nvtx3/nvToolsExt.h>"; return 0; }
  fi
  checked=$((checked + 1))
  # Twice, so that the include guard is tried as well; and C wants at least one declaration.
  printf '#include <%s>\n#include <%s>\ntypedef int something;\n' "$4" "$4" > "$tmp/one.c"
  syntax "$1" "$2" "$3" || { echo "FAILED: $4 as $3 by $1"; failed=1; }
}

for directory in "$@"; do
  for path in "$directory"/nvtxa/*.h; do
    [ -e "$path" ] || continue
    header=nvtxa/${path##*/}
    compile gcc c c11 "$header"
    compile clang c c11 "$header"
    compile g++ c++ c++17 "$header"
    compile clang++ c++ c++17 "$header"
  done
done
echo "$checked compilations"
[ "$checked" -gt 0 ] && [ "$failed" -eq 0 ]
