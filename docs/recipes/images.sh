#!/usr/bin/env bash
# Builds the images of a recipe from the Go module proxy.
#
#   images.sh httpbin         two versions of go-httpbin
#   images.sh victoria-logs   VictoriaLogs
#   images.sh jaeger          Jaeger: all of it as one program, and as several; takes minutes
#
# Needs Go, Docker and some 100 MB of the disk, for Jaeger 3 GB. Exit code 2: there is no such recipe, 3: one
# of these is not here.
set -euo pipefail
for program in go docker; do
  command -v "$program" >/dev/null || { echo "images.sh: there is no $program here" >&2; exit 3; }
done
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# build MODULE PACKAGE VERSION...: an image for each version of a program, recipes/PROGRAM:VERSION. PROGRAM is
# the last part of PACKAGE without "go-".
build() {
  local program=${2##*/} version
  for version in "${@:3}"; do
    mkdir "$folder/$version"
    GOBIN="$folder/$version" CGO_ENABLED=0 GOFLAGS=-trimpath go install -ldflags='-s -w' "$1/$2@v$version"
    printf 'FROM scratch\nCOPY %s /\nENTRYPOINT ["/%s"]\n' "$program" "$program" \
      >"$folder/$version/Dockerfile"
    docker build --quiet --tag "recipes/${program#go-}:$version" "$folder/$version"
  done
}

# build_together NAME MODULE VERSION PACKAGE...: one image, recipes/NAME:VERSION, with several programs of a
# module. `go install` refuses the module, because its go.mod has a replace directive.
build_together() {
  local image=recipes/$1:$3 source
  source=$(go mod download -json "$2@v$3" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  mkdir "$folder/bin"
  CGO_ENABLED=0 GOFLAGS=-trimpath go build -C "$source" -ldflags='-s -w' -o "$folder/bin/" "${@:4}"
  printf 'FROM scratch\nCOPY bin /\n' >"$folder/Dockerfile"
  docker build --quiet --tag "$image" "$folder"
}

case "${1:-}" in
httpbin) build github.com/mccutchen/go-httpbin/v2 cmd/go-httpbin 2.18.2 2.26.0 ;;
victoria-logs) build github.com/VictoriaMetrics/VictoriaLogs app/victoria-logs 1.52.2 ;;
jaeger)
  build_together jaeger github.com/jaegertracing/jaeger 1.76.0 \
    ./cmd/all-in-one ./cmd/collector ./cmd/query ./cmd/remote-storage ./cmd/tracegen
  ;;
*) echo "images.sh: name a recipe: httpbin, victoria-logs or jaeger" >&2 && exit 2 ;;
esac
