#!/bin/sh
# Debian's packages that this project needs: the one place that lists them. Installs what is
# missing. usage: packages.sh GROUP...    build: to build; tests: to test; ci: for .ci/run besides
set -eu

build='gcc libc6-dev meson ninja-build pkg-config
  libfyaml-dev libjansson-dev libsqlite3-dev libxxhash-dev nettle-dev libsmartcols-dev'
tests='g++ clang binutils git libcriterion-dev python3 python3-jsonschema scdoc abigail-tools'
ci='clang-format doxygen valgrind libc6-dbg mmdebstrap libssh-4'

wanted=
for group in "$@"; do
  case $group in
    build) wanted="$wanted $build" ;;
    tests) wanted="$wanted $tests" ;;
    ci) wanted="$wanted $ci" ;;
    *) echo "usage: packages.sh build|tests|ci..." >&2; exit 2 ;;
  esac
done

if ! command -v apt-get > /dev/null; then
  echo "packages.sh: this is no Debian; needed are:" $wanted >&2
  exit 0
fi

installed() {
  dpkg-query --show --showformat='${db:Status-Status}' "$1" 2> /dev/null | grep -qx installed
}

missing=
for package in $wanted; do
  installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

root=
[ "$(id -u)" -eq 0 ] || root=sudo
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # the lists are meant to be split
{
  $root apt-get --quiet=2 update
  $root apt-get --quiet=2 --yes --no-install-recommends install $missing > /dev/null
}
