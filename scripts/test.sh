#!/usr/bin/env bash
# Runs the Go tests and closes with the slowest packages and one line: how many passed and
# failed. With CLEAVE_TESTS=all they are those of `make test-all`, else those of `make test`.
# Packages that have goroutines of ours, or are tested by a suite that has, are tested under
# the race detector, all others without it, at the same time: most tests wait.
set -euo pipefail
cd "$(dirname "$0")/.."

# Checks of the house, of scripts and measuring programs have nothing that could race. The tests
# of the command line start programs that are built without the detector. What it finds in
# nats-server is not ours. The simulations of predict share nothing and would take twelve times as
# long; load/convert waits for one script, whose interpreter takes longest to compile.
raceless='/(internal|docs|scripts|tools|cmd)(/|$)|/bench$|/backing/server/jetstream$|/predict$|/load/convert$'
plainly=2 # packages that are tested at the same time without the detector
if [ "${CLEAVE_TESTS:-}" != all ]; then
  # What stands on databases brings their engines and drivers: to compile those a second time takes longer
  # than all tests of `make test`. OpenTelemetry's libraries are as much for two packages. Browsers are
  # started in `make test-all` alone, and what speaks to them is a tenth of all that would be compiled.
  # Four architectures of Big have no goroutines: their units are processes, of which hundreds start.
  # `make test-all` watches all of these for races.
  raceless+='|/backing/|/binding/event$|/systems/(airline|people|rehearsal|shop|social)/'
  raceless+='|/traces$|/report/(browsertest|serve|telemetry)$|/big/(httplean|shm|udspersistent|udsservice)$'
  plainly=3
fi

# SQLite is C that was translated to Go, and keeps its data outside Go's memory, where the
# detector sees nothing: to watch it there costs twice the processor time and finds nothing.
# Its driver, which is written in Go, is watched like everything else. A hash of a password is
# nothing but arithmetic, and takes ten times as long under the detector. What gonum's goroutines
# share, they share with each other.
compiled=("-gcflags=all=-dwarf=false") # as in the Makefile
for package in modernc.org/sqlite/lib modernc.org/libc modernc.org/memory golang.org/x/crypto/blowfish \
  gonum.org/v1/gonum/...; do
  compiled+=("-gcflags=$package=-dwarf=false -race=false")
done

# All packages, listed once: it takes seconds.
packages=$(go list -f \
  '{{.ImportPath}}|{{.Dir}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}' ./...)

# The longest begin first, the last of these before all others, so that nothing waits for them alone in the
# end. What the command line stands on is nearly all that there is to compile.
for long in airline/behaviour socialunit assembly load/trial load/stream deploy/docker deploy/process meter \
  load/agent cmd/cleave; do
  packages=$(grep "^[^|]*/$long|" <<<"$packages" || true; grep -v "^[^|]*/$long|" <<<"$packages")
done

# Packages with goroutines of ours, and those of them that are suites by which others are tested.
concurrent=" " suites=" "
while IFS='|' read -r package folder imports _; do
  if ! [[ $package =~ $raceless ]] && grep -qE '^\s*(defer )?go |\.Go\(' "$folder"/*.go; then
    concurrent+="$package "
    [[ " $imports " != *" testing "* ]] || suites+="$package "
  fi
done <<<"$packages"

# races PACKAGE IMPORT...: it has goroutines of ours, or a suite that it imports has.
races() {
  [[ $concurrent != *" $1 "* ]] || return 0
  local import
  for import in "${@:2}"; do
    [[ $suites != *" $import "* ]] || return 0
  done
  return 1
}

plain=() racing=()
while IFS='|' read -r package _ _ uses; do
  declare -n among=racing
  # shellcheck disable=SC2086 # one word per package
  if [[ $package =~ $raceless ]] || ! races "$package" $uses; then
    declare -n among=plain
  fi
  among+=("$package")
done <<<"$packages"

mkdir -p bin
CGO_ENABLED=0 go build -o bin/tally ./internal/tally
race=(-race "${compiled[@]}")
if ! echo "#include <stdlib.h>" | $(go env CC) -E - >/dev/null 2>&1; then
  race=()
  echo "test: without the race detector, which needs a C compiler:" \
    "type: sudo apt-get install --no-install-recommends gcc libc6-dev" >&2
fi
# The race detector delays the end of every program by a second, to see races of what still runs then. No test
# needs that: it waits for what it checks.
export GORACE="atexit_sleep_ms=0 ${GORACE:-}"
# `make lint` vets. Beside the command line, whose tests take longest, one other package is tested
# without the detector (two in `make test`) and three with it: many wait for servers, and with two of them
# two processors stood half still in the end. Four were not faster, and too much for what must answer in
# time.
exec bin/tally "-p=$plainly" -vet=off -timeout=40m "${plain[@]}" -- \
  -p=3 -vet=off "${race[@]}" -timeout=40m "${racing[@]}"
