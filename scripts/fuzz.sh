#!/usr/bin/env bash
# Runs the fuzz tests (of code that parses untrusted input) one after the other. Failing
# inputs are kept in testdata/fuzz of the package, where go test repeats them.
#
#   scripts/fuzz.sh [DURATION] [PATTERN]   the duration of each test (10m); only tests whose
#                                          "PACKAGE NAME" matches the pattern
#
# Exit codes: 0 nothing found, 1 a test has failed, 2 no test matches the pattern.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:-10m}
pattern=${2:-.}
# The memory limit in KiB, so that a parser without limits fails instead of exhausting the
# host. It also counts memory that Go has reserved and not used.
memory=$((6 << 20))
# The fuzz tests, as "PACKAGE NAME".
mapfile -t targets < <(grep -rno --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . |
  sed -E 's,^\./(.*)/[^/]*:[0-9]+:func (.*)$,\1 \2,' | sort | grep -e "$pattern")
if [ "${#targets[@]}" -eq 0 ]; then
  echo "no fuzz test matches $pattern" >&2
  exit 2
fi
mkdir -p bin/fuzz
bin=$PWD/bin/fuzz
echo "${#targets[@]} fuzz tests, $each each:"
printf '  %s\n' "${targets[@]}"
failed=0
for target in "${targets[@]}"; do
  read -r package name <<<"$target"
  test=$bin/${package//\//-}-$name
  cache=$bin/cache/$package
  mkdir -p "$cache"
  go test -c -fuzz="^$name\$" -o "$test" "./$package"
  if (cd "$package" && ulimit -v "$memory" &&
    GOMEMLIMIT=2GiB "$test" -test.run='^$' -test.fuzz="^$name\$" -test.fuzztime="$each" \
      -test.fuzzminimizetime=2s -test.parallel=1 -test.fuzzcachedir="$cache") >"$test.log" 2>&1; then
    echo "ok      $target  $(grep -o 'execs: [0-9]*' "$test.log" | tail -1)"
  else
    failed=$((failed + 1))
    echo "FAILED  $target  see $test.log"
    grep -A20 -e '--- FAIL' -e 'fatal error' "$test.log" | head -40 || true
  fi
done
echo "fuzz: ${#targets[@]} tests for $each each, $failed failed"
[ "$failed" -eq 0 ]
