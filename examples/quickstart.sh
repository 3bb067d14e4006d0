#!/bin/sh
# Install what the build needs, build into build/, and analyse the sample run of this repository.
set -eu

cd "$(dirname "$0")/.."
sh tests/packages.sh build
[ -e build/build.ninja ] || meson setup build
ninja -C build

# A copy, so that the result does not land in the work tree.
rm -rf build/sample-run
cp -R testdata/sample-run build/sample-run
echo
build/cli/nvtxa analyze --no-export build/sample-run
