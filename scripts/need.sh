#!/usr/bin/env bash
# Makes sure that this machine has what building and testing needs. Installs
# what is missing where it may (Debian or Ubuntu, as root), and otherwise says
# what to type. Does nothing, quickly, when all is there.
#
#   scripts/need.sh build     Go, Node.js, npm, git
#   scripts/need.sh test      these, and a C compiler (race detector), chromium
#                             (report tests), shellcheck (lint)
#   scripts/need.sh generate  Go, Node.js, npm, git, protoc
#
# Exit codes: 0 all there, 2 bad arguments, 3 something is missing.
set -euo pipefail

readonly go_least="1.26" node_least="20.19"
missing=()  # packages of the distribution
problems=() # what only people can mend

# need COMMAND PACKAGE: the package brings the command.
need() {
  command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

# at_least HAVE WANT: compares versions.
at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

check_go() {
  local have
  if ! command -v go >/dev/null 2>&1; then
    problems+=("Go is missing: install Go $go_least or later from https://go.dev/dl/ and put its bin folder into PATH")
    return
  fi
  have=$(go env GOVERSION)
  at_least "${have#go}" "$go_least" ||
    problems+=("Go is $have, need $go_least or later: install it from https://go.dev/dl/")
}

check_node() {
  local have
  if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    problems+=("Node.js or npm is missing: install Node.js $node_least or later from https://nodejs.org/")
    return
  fi
  have=$(node --version)
  at_least "${have#v}" "$node_least" ||
    problems+=("Node.js is $have, need $node_least or later: install it from https://nodejs.org/")
}

install_missing() {
  if [ "${#missing[@]}" -eq 0 ]; then
    return
  fi
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    problems+=("missing: ${missing[*]}; on Debian or Ubuntu type: sudo apt-get install ${missing[*]}")
    return
  fi
  echo "need: installing ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >&2; then
    problems+=("apt-get could not install ${missing[*]}: see its messages above")
  fi
}

case "${1:-}" in
  build) ;;
  generate) need protoc protobuf-compiler ;;
  test)
    need gcc gcc
    [ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
    need shellcheck shellcheck
    command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing+=(chromium)
    ;;
  *)
    echo "usage: scripts/need.sh build|test|generate" >&2
    exit 2
    ;;
esac
need git git
install_missing
check_go
check_node
if [ "${#problems[@]}" -gt 0 ]; then
  printf 'need: %s\n' "${problems[@]}" >&2
  exit 3
fi
