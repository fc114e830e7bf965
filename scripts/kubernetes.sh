#!/usr/bin/env bash
# Builds Kubernetes from its Go modules into a cache folder, once: one program that is
# all of its parts, and the one that holds a pod. It takes minutes of processor time, at
# low priority, and goes on where it was interrupted. What go.sum says of the modules
# (deploy/kubernetes/build) is checked; caches of its own are removed in the end.
#
#   scripts/kubernetes.sh          build, where it is not there
#   scripts/kubernetes.sh folder   print the folder
#
# Exit codes: 0 it is there, 3 it cannot be built here.
set -euo pipefail
cd "$(dirname "$0")/../deploy/kubernetes/build"

# The folder is that of deploy/kubernetes/private (a test there compares them).
version=$(awk '$1 == "k8s.io/kubernetes" { print $2 }' go.mod)
readonly needed_mib=12000
folder="${XDG_CACHE_HOME:-$HOME/.cache}/cleave/kubernetes-${version#v}"
building="$folder.building"
if [ "${1:-}" = folder ]; then
  echo "$folder"
  exit
fi
if [ -x "$folder/kubernetes" ] && [ -x "$folder/pause" ]; then
  exit
fi
mkdir -p "$building"
exec 9>"$building/lock"
flock 9 # another one may be at it
if [ -x "$folder/kubernetes" ]; then
  exit
fi
free_mib=$(($(df --output=avail -k "$building" | tail -n 1) / 1024))
used_mib=$(du -sm "$building" | cut -f 1)
if [ $((free_mib + used_mib)) -lt "$needed_mib" ]; then
  echo "kubernetes: its build needs $needed_mib MiB in $building, of which $free_mib MiB are free" >&2
  exit 3
fi
echo "kubernetes: building $version into $folder (minutes)" >&2
export GOMODCACHE="$building/modules" GOCACHE="$building/objects" GOFLAGS=-modcacherw GOMAXPROCS=2 CGO_ENABLED=0
IFS=. read -r major minor _ <<<"${version#v}"
flags="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
done
mkdir -p "$building/done"
nice -n 19 go build -buildvcs=false -mod=readonly -trimpath -ldflags "$flags" -o "$building/done/kubernetes" . ||
  { echo "kubernetes: the build has failed; what is there is kept for the next time: see above" >&2; exit 3; }
nice -n 19 go build -buildvcs=false -trimpath -ldflags "-s -w" -o "$building/done/pause" ./pause
mv -T "$building/done" "$folder"
rm -rf "$building"
