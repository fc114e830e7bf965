#!/usr/bin/env bash
# Creates archives of Cleave for Linux that run from any folder, without its sources, Go
# or Node.js: programs, shell completions, manual pages, documents, and the licences of
# all linked or bundled packages. The builds are reproducible: the same commit and tools
# create identical archives.
#
#   scripts/dist.sh FOLDER VERSION ARCH...    creates FOLDER/cleave-VERSION-linux-ARCH.tar.gz
#
# Exit codes: 0 created, 1 failed, 2 bad arguments.
set -euo pipefail

if [ "$#" -lt 3 ]; then
  echo "usage: scripts/dist.sh FOLDER VERSION ARCH..." >&2
  exit 2
fi
mkdir -p "$1"
into=$(cd "$1" && pwd) version=$2
shift 2
cd "$(dirname "$0")/.."
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH GOOS=linux CGO_ENABLED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build ARCH FOLDER builds the programs. make fails with 2, which here stands for bad arguments.
build() { GOARCH=$1 make --no-print-directory build BIN="$2" VERSION="$version" STRIP="-s -w" || exit 1; }

# describe ARCH FOLDER writes manual pages and completions, which a cleave built for this machine generates.
describe() {
  local runnable="$2/bin" share="$2/share" here
  here=$(go env GOHOSTARCH)
  mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
    "$share/fish/vendor_completions.d"
  if [ "$1" != "$here" ]; then
    runnable="$work/runnable"
    build "$here" "$runnable"
  fi
  "$runnable/cleave" man "$share/man/man1"
  "$runnable/cleave" completion bash >"$share/bash-completion/completions/cleave"
  "$runnable/cleave" completion zsh >"$share/zsh/site-functions/_cleave"
  "$runnable/cleave" completion fish >"$share/fish/vendor_completions.d/cleave.fish"
}

# packages ARCH prints a line per linked package: MODULE@VERSION, the folder of the module and the folder of
# the package, separated by tabs. Packages of Cleave have no VERSION. The build tag is that of the Makefile.
packages() {
  local format='{{with .Module}}{{.Path}}@{{.Version}}	{{.Dir}}	{{$.Dir}}{{end}}'
  GOARCH=$1 go list -deps -tags grpcnotrace -f "$format" ./cmd/cleave ./cmd/host-agent ./cmd/unit/... |
    sort -u
}

# licences ARCH FOLDER copies the licences and notices of each package, from its folder up to
# that of its module, into FOLDER. It fails for a module without any.
licences() {
  local module top package kept
  mkdir -p "$2/go"
  cp "$(go env GOROOT)/LICENSE" "$2/go/LICENSE"
  cp report/web/dist/licences.md "$2/report.md"
  packages "$1" >"$work/packages"
  while IFS=$'\t' read -r module top package; do
    [[ $module != *@ ]] || continue # ours
    while [[ $package/ == "$top"/* ]]; do
      kept="$2/$module${package#"$top"}"
      find "$package" -maxdepth 1 -type f -regextype posix-extended ! -name '*.go' -iregex \
        '.*/((.*[-.])?(un)?licen[cs]e|copying|notice|patents)([-.].*)?' -exec mkdir -p "$kept" \; \
        -exec cp -n --no-preserve=mode {} "$kept" \;
      package=${package%/*}
    done
    if [ ! -d "$2/$module" ]; then
      echo "dist: $module has no file with its licence: look into $top" >&2
      return 1
    fi
  done <"$work/packages"
}

for arch; do
  name=cleave-$version-linux-$arch
  folder="$work/$name"
  mkdir -p "$folder/docs"
  build "$arch" "$folder/bin"
  describe "$arch" "$folder"
  licences "$arch" "$folder/licences"
  cp README.md CHANGELOG.md SECURITY.md LICENSE "$folder"
  git archive HEAD docs ':!*.go' | tar -x -C "$folder"
  tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode='u=rwX,go=rX' --format=ustar -c "$name" | gzip -n >"$into/.$name"
  mv "$into/.$name" "$into/$name.tar.gz"
  rm -r "$folder"
  du -h "$into/$name.tar.gz"
done
