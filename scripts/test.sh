#!/usr/bin/env bash
# Runs all Go tests, then those of the packages with goroutines once more under
# the race detector, and closes with one line: how many passed and failed.
set -euo pipefail
cd "$(dirname "$0")/.."

# Checks of the house and measuring programs have nothing that could race. The tests
# of the command line start programs that are built without the detector.
racing() {
  go list ./... | grep -v -E '/(internal|docs|tools|cmd)(/|$)|/bench$'
}

mkdir -p bin
go build -o bin/tally ./internal/tally
packages=$(racing)
# shellcheck disable=SC2086 # one word per package
exec bin/tally -timeout=30m ./... -- -race -timeout=30m $packages
