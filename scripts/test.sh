#!/usr/bin/env bash
# Runs the Go tests, and prints the slowest packages and the numbers of passed and failed
# tests at the end. With CLEAVE_TESTS=all it runs those of `make test-all`, else those of
# `make test`. Packages that start goroutines, or are tested by a suite that does, are
# tested with the race detector, unless they are listed in raceless. All others are tested
# without it. Both groups run in parallel, because most tests mostly wait.
#
# Exit codes: 0 all tests passed, 1 a test or a package has failed.
set -euo pipefail
cd "$(dirname "$0")/.."

# raceless matches packages that are tested without the race detector. Tests of the code base
# (internal), of scripts and of benchmarks have no races. The tests of the command line start programs that
# are built without the detector. Races in nats-server are not ours. The simulations of predict
# share no data and would take twelve times as long; load/convert tests one script, whose
# interpreter takes very long to compile.
raceless='/(internal|docs|scripts|tools|cmd)(/|$)|/bench$|/backing/server/jetstream$|/predict$|/load/convert$'
parallel=2 # packages that are tested at the same time without the detector
if [ "${CLEAVE_TESTS:-}" != all ]; then
  # For packages that use databases, the engines and drivers would have to be compiled a second time, with the
  # detector, which takes longer than all tests of `make test`; so would OpenTelemetry's libraries, for two
  # packages. Only `make test-all` starts browsers, and their client library is a tenth of all compiled code.
  # Four architectures of Big have no goroutines: their units are processes, of which hundreds start.
  # `make test-all` tests all of these with the detector.
  raceless+='|/backing/|/binding/event$|/systems/(airline|people|rehearsal|shop|social)/'
  raceless+='|/traces$|/report/(browsertest|serve|telemetry)$|/big/(httplean|shm|udspersistent|udsservice)$'
  parallel=3
fi

# These packages are compiled without the detector. SQLite is C translated to Go, with its data
# outside of Go's heap, where the detector finds nothing and doubles the CPU time; its driver in
# Go is instrumented. Password hashes are only arithmetic, and take ten times as long with the
# detector. The goroutines of gonum share data only among themselves.
build_flags=("-gcflags=all=-dwarf=false") # as in the Makefile
for package in modernc.org/sqlite/lib modernc.org/libc modernc.org/memory golang.org/x/crypto/blowfish \
  gonum.org/v1/gonum/...; do
  build_flags+=("-gcflags=$package=-dwarf=false -race=false")
done

# All packages; listing them takes seconds.
packages=$(go list -f \
  '{{.ImportPath}}|{{.Dir}}|{{join .Imports " "}}|{{join .TestImports " "}} {{join .XTestImports " "}}' ./...)

# The slowest packages start first, in the reverse order of this list, so that at the end nothing waits for
# only one of them. cmd/cleave is the very first: it needs nearly all packages to be compiled.
for slow in airline/behaviour socialunit assembly load/trial load/stream deploy/docker deploy/process meter \
  load/agent cmd/cleave; do
  packages=$(grep "^[^|]*/$slow|" <<<"$packages" || true; grep -v "^[^|]*/$slow|" <<<"$packages")
done

# concurrent: packages that start goroutines, also in tests. suites: those of them that are test suites for
# other packages.
concurrent=" " suites=" "
while IFS='|' read -r package folder imports _; do
  if ! [[ $package =~ $raceless ]] && grep -qE '^\s*(defer )?go |\.Go\(' "$folder"/*.go; then
    concurrent+="$package "
    [[ " $imports " != *" testing "* ]] || suites+="$package "
  fi
done <<<"$packages"

# races PACKAGE IMPORT... succeeds if the package, or a suite among the imports of its tests, starts
# goroutines.
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
  # shellcheck disable=SC2086 # one word per package
  if ! [[ $package =~ $raceless ]] && races "$package" $uses; then
    racing+=("$package")
  else
    plain+=("$package")
  fi
done <<<"$packages"

mkdir -p bin
CGO_ENABLED=0 go build -o bin/tally ./internal/tally
race=(-race "${build_flags[@]}")
if ! echo "#include <stdlib.h>" | $(go env CC) -E - >/dev/null 2>&1; then
  race=()
  echo "test: without the race detector, which needs a C compiler:" \
    "type: sudo apt-get install --no-install-recommends gcc libc6-dev" >&2
fi
# By default the race detector delays the exit of every program by a second, to see races of goroutines that
# still run. Our tests wait for everything that they check, and do not need that.
export GORACE="atexit_sleep_ms=0 ${GORACE:-}"
# -vet=off because `make lint` vets. Three packages at a time are tested with the detector: many wait for
# servers, and with two at a time the two processors were half idle. Four at a time were not faster, and
# too slow for tests with time limits.
exec bin/tally "-p=$parallel" -vet=off -timeout=40m "${plain[@]}" -- \
  -p=3 -vet=off "${race[@]}" -timeout=40m "${racing[@]}"
