#!/usr/bin/env bash
# Tests the public interface of the airline with a property-based fuzzer (Schemathesis): it generates requests
# from the OpenAPI description and checks every answer against it.
#
#   scripts/airline-fuzz.sh RUNTIME ARCHITECTURE [EXAMPLES]   go, java or node (first: make airline);
#                                                             monolith or services; cases per operation (300)
#   scripts/airline-fuzz.sh install                           only install the fuzzer, as RUNTIME does too
#
# Exit codes: 0 no violation found, 1 a violation found, 2 bad arguments, 3 nothing was tested: the fuzzer
# cannot be installed, or the build is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# The version must be that of the behaviour suite; a test compares them.
readonly version=4.32.5
readonly folder="${XDG_CACHE_HOME:-$HOME/.cache}/cleave/schemathesis-$version"

# install installs the fuzzer, unless that is done. A virtual environment cannot be created elsewhere and then
# moved into place. So a file in it marks that it is complete, and without that file it is installed again.
install() {
  if [ -e "$folder/complete" ]; then
    return
  fi
  echo "airline-fuzz: installing Schemathesis $version into $folder" >&2
  mkdir -p "${folder%/*}"
  if ! {
    python3 -m venv --clear "$folder" &&
      "$folder/bin/pip" install -q --disable-pip-version-check "schemathesis==$version" &&
      touch "$folder/complete"
  } >&2; then
    echo "airline-fuzz: Schemathesis cannot be installed: it needs python3-venv and PyPI" >&2
    exit 3
  fi
}

case "${1:-} ${2:-}" in
  "install ") install ;;
  "go monolith" | "go services" | "java monolith" | "java services" | "node monolith" | "node services")
    install
    CLEAVE_TESTS=all CLEAVE_FUZZ_EXAMPLES="${3:-300}" go test ./systems/airline/behaviour \
      -run "^TestFuzzer$/^$1$/^$2$" -count=1 -timeout=2h -v |
      awk '{ print; fflush() } /--- SKIP/ { status = 3 } END { exit status }'
    ;;
  *)
    sed -n '/^#   /s/^# *//p' scripts/airline-fuzz.sh >&2
    exit 2
    ;;
esac
