#!/usr/bin/env bash
# Repeats the walk-through of docs/comparing.md: nginx against lighttpd, both from
# Debian, on the same page. Takes 7 to 14 minutes; needs two idle cores and bin/cleave
# (make build).
#
#   scripts/compare-example.sh [FLAG...]   further flags of cleave compare
#
# Exit codes: 3 a server is not installed; otherwise those of cleave compare.
set -euo pipefail
cd "$(dirname "$0")/../docs/comparing"
for program in nginx lighttpd; do
  if ! command -v "$program" >/dev/null; then
    echo "compare-example: $program is not installed: apt-get install $program" >&2
    exit 3
  fi
done
exec ../../bin/cleave compare nginx.yaml lighttpd.yaml --path /index.html \
  --expect-body 'four kilobytes' --rate 2000,8000 --objective 'p99<10ms,errors<0.1%' \
  --duration 5s --warm-up 1s --results ../../results "$@"
