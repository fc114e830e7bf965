#!/usr/bin/env bash
# Builds the airline of Node.js, or checks its source.
#
#   scripts/airline-node.sh [build]   into bin/airline/node, a folder that needs nothing but Node.js
#   scripts/airline-node.sh check     format, lint, types, unit tests
#
# Exit codes: 0 built, or checked without a complaint, 1 failed, 2 bad arguments, 3 Node.js is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly source=systems/airline/node target=bin/airline/node

# install FOLDER [OPTION...] installs the packages of the lock file, unless that is already done. The
# options are those of npm ci. No package may run its install scripts. LMDB does not need them, since its
# package has compiled libraries.
install() {
  local folder=$1
  local installed=$folder/node_modules/.package-lock.json
  shift
  if [ ! -e "$installed" ] || [ "$folder/package-lock.json" -nt "$installed" ]; then
    (cd "$folder" && npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error "$@")
    touch "$installed"
  fi
}

# build compiles the source into the target. The packages are installed twice: all of them beside the source,
# where the compiler looks for them, and in the target those that the program needs. They are not bundled, so
# that profiles can tell them apart.
build() {
  mkdir -p "$target"
  cp "$source/package.json" "$target/"
  # An unchanged lock file stays as old as it is: install compares its age with that of the installation.
  cmp -s "$source/package-lock.json" "$target/package-lock.json" ||
    cp "$source/package-lock.json" "$target/"
  install "$target" --omit=dev
  rm -rf "$target/app"
  (cd "$source" && npm run --silent build -- --outDir "$OLDPWD/$target/app") || exit 1 # tsc fails with 2
  cp "$source/../api/airlinepb/airline.proto" "$target/app/remote/"
  cp "$source/run" "$target/run"
}

# check checks the format, the lint rules and the types, and runs the unit tests.
check() {
  (cd "$source" && npm run --silent lint && npm test --silent) || exit 1 # linters may fail with 2
}

for program in node npm; do
  if ! command -v "$program" >/dev/null; then
    echo "airline-node: $program is missing: install Node.js 20.19 or later from https://nodejs.org/" >&2
    exit 3
  fi
done
case "${1:-build}" in
  build | check)
    install "$source" # not in a list with &&, in which bash would continue after npm has failed
    "${1:-build}"
    ;;
  *)
    echo "usage: scripts/airline-node.sh [build|check]" >&2
    exit 2
    ;;
esac
