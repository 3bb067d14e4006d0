#!/bin/sh
# The comparison of ABIs notices a change: two changed copies of the library are built, one with a
# function missing and one with a struct grown in the middle, and both must be refused.
# usage: check_can_fail.sh SOURCE_ROOT LIBRARY
set -eu

command -v abidiff > /dev/null || { echo 'SKIPPED: no abidiff (package abigail-tools)'; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
source=$1
library=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
  cat "$tmp/log"
  echo "FAILED: $*"
  exit 1
}

build() {
  meson setup "$tmp/$1/build" "$tmp/$1/tree" -Dtests=disabled -Dman=disabled &&
    ninja -C "$tmp/$1/build" "lib/${library##*/}"
}

# refuses NAME SYMBOL: build the changed copy in $tmp/NAME; the comparison must fail and say SYMBOL.
refuses() {
  build "$1" > "$tmp/log" 2>&1 || fail "the copy does not build: $1"
  if sh "$here/check.sh" "$here/libnvtxanalysis.abi" "$tmp/$1/build/lib/${library##*/}" \
      "$tmp/$1/tree/include" > "$tmp/log" 2>&1; then
    fail "the comparison did not notice: $1"
  fi
  grep -q "$2" "$tmp/log" || fail "refused for another reason: $1"
  echo "refused, as it should be: $1"
}

# copy NAME: a copy of the sources to change.
copy() {
  mkdir -p "$tmp/$1/tree"
  (cd "$source" && tar cf - --exclude=./build* --exclude=./.git .) | tar xf - -C "$tmp/$1/tree"
}

copy function-removed
sed -i 's/^    nvtxa_\*;/    nvtxa_[!v]*;/' "$tmp/function-removed/tree/lib/libnvtxanalysis.map"
refuses function-removed nvtxa_version

copy member-inserted
sed -i 's/^  int64_t index;  /  int64_t inserted; \/**< not there before *\/\n&/' \
  "$tmp/member-inserted/tree/include/nvtxa/analysis.h"
refuses member-inserted inserted
