#!/usr/bin/env bash
# Runs the fuzz tests of all that reads bytes of strangers, one after the other, each
# for a time. What they find is kept in the testdata/fuzz of the package: from then
# on, go test repeats it. Usage:
# scripts/fuzz.sh [10m] [PATTERN], where only lines of the list with the pattern count.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${1:-10m}
pattern=${2:-.}
# A reader without bounds must fail rather than take the host's memory: in KiB. What
# Go reserves and does not use counts too.
memory=$((6 << 20))
targets=(
  "study           study          FuzzParse"
  "scenario        load/scenario  FuzzParse"
  "model           model          FuzzParse"
  "traces          traces         FuzzRead"
  "plan            store          FuzzPlan"
  "trial           store          FuzzTrial"
  "import HAR      load/convert   FuzzHAR"
  "import OpenAPI  load/convert   FuzzOpenAPI"
  "import JMeter   load/convert   FuzzJMX"
  "import curl     load/convert   FuzzCurl"
  "import Postman  load/convert   FuzzPostman"
  "import log      load/convert   FuzzAccessLog"
  "import k6       load/convert   FuzzK6"
  "HTTP/1 engine   load/http1     FuzzResponse"
  "HTTP/1 request  binding/leanhttp  FuzzParseRequest"
  "HTTP/1 answer   binding/leanhttp  FuzzParseResponse"
  "kernel samples  profiler/sampler FuzzParse"
  "HTTP/2 engine   load/stream    FuzzHTTP2"
  "gRPC engine     load/stream    FuzzGRPC"
  "gRPC message    load/stream    FuzzMessage"
  "gRPC server     binding/grpcunary FuzzServer"
  "gRPC client     binding/grpcunary FuzzClient"
)
mapfile -t targets < <(printf '%s\n' "${targets[@]}" | grep -e "$pattern")
if [ "${#targets[@]}" -eq 0 ]; then
  echo "no fuzz test matches $pattern: see the list in $0" >&2
  exit 2
fi
mkdir -p bin/fuzz
bin=$PWD/bin/fuzz
echo "${#targets[@]} fuzz tests, $each each:"
printf '  %s\n' "${targets[@]}"
failed=0
for target in "${targets[@]}"; do
  package=$(awk '{print $(NF-1)}' <<<"$target")
  name=$(awk '{print $NF}' <<<"$target")
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
