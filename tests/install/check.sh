#!/bin/sh
# What a user of the installed library does: install into a prefix, build a program outside the tree
# by pkg-config with each compiler, run it, and run the installed command.
# usage: check.sh SOURCE_ROOT
set -eu

source=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

step() {
  echo "== $*"
}

step install into a prefix
meson setup "$tmp/build" "$source" --prefix="$tmp/prefix" -Ddefault_library=both \
  -Dtests=disabled > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
meson install -C "$tmp/build" > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
pc=$(find "$tmp/prefix" -name nvtxanalysis.pc)
PKG_CONFIG_PATH=${pc%/*}
LD_LIBRARY_PATH=$(pkg-config --variable=libdir "$pc")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
rm -rf "$tmp/build" # what was installed must do without it

mkdir "$tmp/outside"
cp "$source/examples/01_analyze_run.c" "$tmp/outside/program.c"
cp -R "$source/testdata/sample-run" "$tmp/outside/run"
cd "$tmp/outside"
includes_and_libraries=$(pkg-config --cflags --libs nvtxanalysis)
static_libraries=$(pkg-config --cflags --static --libs nvtxanalysis)

# build_and_run NAME COMMAND...: the command builds ./program, which must write the analysis.
build_and_run() {
  step "$1"
  shift
  rm -f program out.json
  "$@"
  ./program --no-export run out.json > log 2>&1 || { cat log; exit 1; }
  grep -q '"schema_version": 2' out.json
  [ ! -e first.json ] || cmp first.json out.json
  [ -e first.json ] || cp out.json first.json
}

# shellcheck disable=SC2086 # the words of pkg-config's answers are meant to be split
{
  build_and_run gcc gcc -Wall -Wextra -Werror program.c -o program $includes_and_libraries
  if command -v clang > /dev/null; then
    build_and_run clang clang -Wall -Wextra -Werror program.c -o program $includes_and_libraries
  else
    echo "left out: there is no clang here"
  fi
  build_and_run 'g++' g++ -x c++ -Wall -Wextra -Werror program.c -x none -o program \
    $includes_and_libraries
  mkdir static
  cp "$LD_LIBRARY_PATH/libnvtxanalysis.a" static/
  build_and_run 'static library' gcc program.c -o program -Lstatic $static_libraries
  if readelf -d program | grep -q libnvtxanalysis; then
    echo "FAILED: the static program needs the shared library"
    exit 1
  fi
}

step the installed command
"$tmp/prefix/bin/nvtxa" --version
"$tmp/prefix/bin/nvtxa" analyze --no-export -o command.json run > log 2>&1 || { cat log; exit 1; }
cmp first.json command.json

step installed files
for file in include/nvtxa/nvtxa.h include/nvtxa/version.h include/nvtxa/harness.h \
  share/nvtxanalysis/schema/analysis-1.schema.json share/nvtxanalysis/schema/analysis-2.schema.json; do
  [ -e "$tmp/prefix/$file" ] || { echo "FAILED: $file was not installed"; exit 1; }
done
if command -v scdoc > /dev/null; then
  for page in nvtxa.1 nvtxa-analyze.1 nvtxa-doctor.1 nvtxa-init.1 nvtxa-ranges.1 nvtxa-record.1 \
    nvtxa-stats.1; do
    ls "$tmp/prefix/share/man/man1/$page"* > /dev/null || { echo "FAILED: no $page"; exit 1; }
  done
fi
echo "all steps passed"
