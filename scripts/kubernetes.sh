#!/usr/bin/env bash
# Builds Kubernetes from its Go modules into a cache folder, once: one program with all
# components, pause (the container that holds a pod), and then metrics-server, which is
# optional for clusters. It takes minutes of CPU time, at low priority, and continues an
# interrupted build. Modules are verified by go.sum (deploy/kubernetes/build); the build's
# own caches are removed at the end.
#
#   scripts/kubernetes.sh          build, unless it is complete
#   scripts/kubernetes.sh folder   print the folder
#
# Exit codes: 0 complete, 3 Kubernetes or metrics-server cannot be built here.
set -euo pipefail
cd "$(dirname "$0")/../deploy/kubernetes/build"

# The same folder as in deploy/kubernetes/private (a test there compares them).
version=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' go.mod)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/cleave/kubernetes-${version#v}"
building="$folder.building"
if [ "${1:-}" = folder ]; then
  echo "$folder"
  exit
fi
complete() { [ -x "$folder/kubernetes" ] && [ -x "$folder/pause" ] && [ -x "$folder/metrics-server" ]; }
if complete; then
  exit
fi
mkdir -p "$building"
exec 9>"$building/lock"
flock 9 # wait for another build
if complete; then
  exit
fi
export GOMODCACHE="$building/modules" GOCACHE="$building/objects"
export GOFLAGS=-modcacherw GOMAXPROCS=2 CGO_ENABLED=0

# check_space NAME MIB fails if the disk has less than MIB mebibytes for the build of NAME. What an
# interrupted build has used counts as free.
check_space() {
  local free_mib used_mib
  free_mib=$(($(df --output=avail -k "$building" | tail -n 1) / 1024))
  used_mib=$(du -sm "$building" | cut -f 1)
  if [ $((free_mib + used_mib)) -lt "$2" ]; then
    echo "kubernetes: the build of $1 needs $2 MiB in $building: it has $used_mib MiB, and $free_mib MiB" \
      "are free" >&2
    return 3
  fi
}

# compile FLAGS OUTPUT PACKAGE builds the program OUTPUT from a package of the module in the current folder.
# FLAGS are further flags of the linker; they begin with a space, unless they are empty.
compile() {
  nice -n 19 go build -buildvcs=false -mod=readonly -trimpath -ldflags "-s -w$1" \
    -o "$building/done/$2" "$3" || {
    echo "kubernetes: the build of $2 has failed, see above; compiled packages are kept for the next run" >&2
    return 3
  }
}

if [ ! -x "$folder/kubernetes" ]; then
  check_space Kubernetes 12000
  echo "kubernetes: building $version into $folder (minutes)" >&2
  IFS=. read -r major minor _ <<<"${version#v}"
  flags=""
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
  done
  mkdir -p "$building/done"
  compile "$flags" kubernetes .
  compile "" pause ./pause
  mv -T "$building/done" "$folder"
fi
# From here on clusters can be used, even if the build of metrics-server fails.
check_space metrics-server 3000
echo "kubernetes: building metrics-server into $folder (minutes)" >&2
mkdir -p "$building/done"
(cd metrics && compile "" metrics-server sigs.k8s.io/metrics-server/cmd/metrics-server)
mv "$building/done/metrics-server" "$folder/"
rm -rf "$building"
