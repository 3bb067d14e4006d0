#!/bin/sh
# Run a program in valgrind, and fail if that finds anything. usage: valgrind.sh PROGRAM...
# Criterion runs each test in a child process and takes no notice of the status it ends with, so
# what counts is whether valgrind wrote something. Shells and tools that a test starts are left
# alone. Each of those children starts valgrind anew: where functions were inlined is not read then, as
# that takes a while.
set -eu

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
status=0
valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect \
  --errors-for-leak-kinds=definite,indirect --error-exitcode=99 \
  --read-inline-info=no --trace-children=yes \
  --trace-children-skip='*/bin/*,*fake-nsys*' --log-file="$logs/%p" "$@" || status=$?
for log in "$logs"/*; do
  if [ -s "$log" ]; then
    cat "$log" >&2
    status=99
  fi
done
exit "$status"
