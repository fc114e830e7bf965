#!/usr/bin/env bash
# Runs all Go tests, then those of the packages with goroutines once more under
# the race detector, and closes with one line: how many passed and failed.
set -euo pipefail
cd "$(dirname "$0")/.."

# Checks of the house and measuring programs have nothing that could race.
racing() {
  go list ./... | grep -v -E '/(internal|docs|tools)(/|$)|/bench$'
}

# Both runs happen even when the first fails; either failure is kept.
runs() {
  local status=0 packages
  go test -json -timeout 20m ./... || status=$?
  echo "once more with the race detector"
  packages=$(racing)
  # shellcheck disable=SC2086 # one word per package
  go test -race -json -timeout 20m $packages || status=$?
  return "$status"
}

mkdir -p bin
go build -o bin/tally ./internal/tally
runs | bin/tally
