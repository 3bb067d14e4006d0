#!/bin/sh
# Write the ABI's baseline from a built library. usage: update.sh BUILD_DIRECTORY
set -eu

here=$(cd "$(dirname "$0")" && pwd)
abidw --exported-interfaces-only --short-locs --no-corpus-path --no-comp-dir-path --no-elf-needed \
  --no-parameter-names --drop-private-types --headers-dir "$here/../../include" \
  --out-file "$here/libnvtxanalysis.abi" "$1/lib/libnvtxanalysis.so"
