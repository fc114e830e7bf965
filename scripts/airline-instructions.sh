#!/usr/bin/env bash
# Counts the instructions that a request to the airline takes, in all its units, in an
# emulator (Valgrind's lackey): for hosts whose processors show no counters. It takes
# minutes, and is no measure of time.
#
#   scripts/airline-instructions.sh RUNTIME ARCHITECTURE [REQUESTS]
#     go, java or node (built before: make airline); monolith or services; requests that count (200)
#
# Exit codes: 0 counted, 1 not, 2 bad arguments.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-} ${2:-}" in
  "go monolith" | "go services" | "java monolith" | "java services" | "node monolith" | "node services")
    CLEAVE_INSTRUCTIONS="${3:-200}" go test "$(go list ./... | grep /airline/behaviour$)" \
      -run "^TestInstructions$/^$1$/^$2$" -count=1 -timeout=2h -v
    ;;
  *)
    sed -n '/^#   /s/^# *//p' "$0" >&2
    exit 2
    ;;
esac
