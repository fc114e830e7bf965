#!/usr/bin/env bash
# Builds the images of the recipes: two versions of go-httpbin, from the Go module proxy.
# Needs Go, Docker and some 30 MB of the disk. Exit code 3: one of these is not here.
set -euo pipefail
module=github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin
for program in go docker; do
  command -v "$program" >/dev/null || { echo "httpbin.sh: there is no $program here" >&2; exit 3; }
done
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
for version in 2.18.2 2.26.0; do
  mkdir "$folder/$version"
  GOBIN="$folder/$version" CGO_ENABLED=0 GOFLAGS=-trimpath go install -ldflags='-s -w' "$module@v$version"
  printf 'FROM scratch\nCOPY go-httpbin /\nENTRYPOINT ["/go-httpbin"]\n' >"$folder/$version/Dockerfile"
  docker build --quiet --tag "recipes/httpbin:$version" "$folder/$version"
done
