#!/usr/bin/env bash
# Counts the instructions per request to the airline, in all its units, in an emulator
# (Valgrind's lackey): for hosts without hardware counters. It takes minutes; the result
# is not a measure of time.
#
#   scripts/airline-instructions.sh RUNTIME ARCHITECTURE [REQUESTS]
#     go, java or node (build them first: make airline); monolith or services; measured requests (200)
#
# Exit codes: 0 counted, 1 failed, 2 bad arguments, 3 nothing was counted: valgrind or the build is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-} ${2:-}" in
  "go monolith" | "go services" | "java monolith" | "java services" | "node monolith" | "node services")
    CLEAVE_TESTS=all CLEAVE_INSTRUCTIONS="${3:-200}" go test ./systems/airline/behaviour \
      -run "^TestInstructions$/^$1$/^$2$" -count=1 -timeout=2h -v |
      awk '{ print; fflush() } /--- SKIP/ { status = 3 } END { exit status }'
    ;;
  *)
    sed -n '/^#   /s/^# *//p' scripts/airline-instructions.sh >&2
    exit 2
    ;;
esac
