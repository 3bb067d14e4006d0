#!/bin/sh
# Install what the tests need, build into build/ and run all tests.
# usage: run.sh [ARGUMENT...]      the arguments go to `meson test`
#
# NVTXA_NSYS_DIR, a directory filled by tests/nsys/install, lets the tests of a real nsys run.
# NVTXA_SHARED, a directory with conformance/check, is tested against as well.
set -eu

cd "$(dirname "$0")/.."
sh tests/packages.sh build tests

reconfigure=
[ ! -e build/build.ninja ] || reconfigure=--reconfigure
meson setup build ${reconfigure:+"$reconfigure"} -Dtests=enabled -Dman=enabled \
  -Dnsys_dir="${NVTXA_NSYS_DIR:-}"
ninja -C build
meson test -C build --print-errorlogs "$@"
