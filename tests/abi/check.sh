#!/bin/sh
# Hold a library's ABI against the committed one. usage: check.sh BASELINE LIBRARY INCLUDE_DIR
# Additions are let through; anything removed or changed is not (docs/abi.md says what to do then).
set -eu

command -v abidiff > /dev/null || { echo 'SKIPPED: no abidiff (package abigail-tools)'; exit 77; }
abidiff --headers-dir2 "$3" --drop-private-types --no-added-syms "$1" "$2"
