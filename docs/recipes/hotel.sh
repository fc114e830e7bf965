#!/usr/bin/env bash
# Makes the images of a recipe: the hotel reservation of DeathStarBench, of which you have a clone.
#
#   hotel.sh DeathStarBench/hotelReservation
#
# Its services are built with Go, from the clone and the Go module proxy; memcached is this host's; MongoDB
# and Consul have stand-ins: SecantusDB, from PyPI, and hotel-consul.py beside this. An image that is here
# already is kept: to use the real servers, `docker pull` mongo:5.0, memcached and hashicorp/consul first. To
# make an image again, remove it first (`docker rmi`).
# Needs Docker, Go, 2 GB of disk space and, for images that are not here, memcached and Python 3 with venv.
# Exit code 2: no such clone, 3: one of the programs is not here, or Docker does not answer.
set -euo pipefail
secantus=0.7.0b3
stand_ins=recipes/stand-ins:$secantus
beside=$(cd "$(dirname "$0")" && pwd)
if [ ! -f "${1:-}/docker-compose.yml" ] || [ ! -d "${1:-}/cmd/frontend" ]; then
  echo "hotel.sh: name the folder hotelReservation of your clone of DeathStarBench" >&2
  exit 2
fi
clone=$(cd "$1" && pwd)

# need PROGRAM...: ends the script if one of the programs is not here.
need() {
  local program
  for program; do
    command -v "$program" >/dev/null || { echo "hotel.sh: install $program, which is not here" >&2; exit 3; }
  done
}

need docker go
docker version >/dev/null || { echo "hotel.sh: start Docker, or ask for the right to use it" >&2; exit 3; }
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -r "$folder"' EXIT # some copied files and folders are read-only

# lacks IMAGE: succeeds if Docker has no such image.
lacks() { ! docker image inspect "$1" >/dev/null 2>&1; }

# make_image IMAGE BASE FOLDER LINE...: builds an image from BASE, with the content of FOLDER in its root.
# The lines are further instructions of its Dockerfile.
make_image() {
  printf '%s\n' "FROM $2" 'COPY . /' "${@:4}" >"$folder/Dockerfile"
  docker build --quiet --tag "$1" --file "$folder/Dockerfile" "$3"
}

# copy FOLDER FILE...: copies files of this host, and the libraries that they are linked with, to the same
# paths below FOLDER. Of files that are below $folder already, it copies only the libraries.
copy() {
  local to=$1 file
  shift
  for file in "$@"; do
    { echo "$file"; ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true; }
  done | { grep -v "^$folder" || true; } | sort -u | xargs -r cp -L --parents -t "$to"
}

if lacks deathstarbench/hotel-reservation:latest; then
  mkdir -p "$folder/hotel/workspace"
  # With a copy of go.mod, -mod=mod does not change the clone.
  cp "$clone"/go.mod "$clone"/go.sum "$folder"
  (cd "$clone" && GOBIN="$folder/hotel/workspace" CGO_ENABLED=0 GOFLAGS=-trimpath \
    go install -modfile="$folder/go.mod" -mod=mod -ldflags='-s -w' ./cmd/...)
  cp "$clone/config.json" "$folder/hotel/workspace"
  make_image deathstarbench/hotel-reservation:latest scratch "$folder/hotel" 'WORKDIR /workspace' \
    'ENV PATH=/workspace'
fi
# The compose file builds these two images of the same folder. A new build replaces them, too.
for image in hotel_reserv_review_single_node hotel_reserv_attractions_single_node; do
  if [ -d "$folder/hotel" ] || lacks "$image"; then
    docker tag deathstarbench/hotel-reservation:latest "$image"
  fi
done

if lacks memcached:latest; then
  need memcached ldd
  mkdir "$folder/memcached"
  copy "$folder/memcached" "$(command -v memcached)"
  make_image memcached:latest scratch "$folder/memcached" "ENTRYPOINT [\"$(command -v memcached)\"]" \
    'USER 65534' 'EXPOSE 11211'
fi

# The images of the stand-ins contain this host's Python, with its standard library.
if lacks mongo:5.0 || lacks hashicorp/consul:latest; then
  need python3 ldd
  python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
fi
if [ -n "${python:-}" ] && lacks "$stand_ins"; then
  library=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
  mkdir -p "$folder/python/tmp" "$folder/python$library" # /tmp is for the servers' temporary files
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --target "$folder/python/opt/secantus" \
    "secantusdb==$secantus"
  cp -rL "$library/." "$folder/python$library"
  rm -rf "$folder/python$library"/{site-packages,dist-packages,test}
  mapfile -d '' modules < <(find "$folder/python" -name '*.so*' -type f -print0)
  copy "$folder/python" "$python" "${modules[@]}"
  cp "$beside/hotel-consul.py" "$folder/python/consul.py"
  make_image "$stand_ins" scratch "$folder/python" 'ENV PYTHONPATH=/opt/secantus'
fi
mkdir "$folder/nothing"
if lacks mongo:5.0; then
  start="from secantus.cli import main; main()"
  make_image mongo:5.0 "$stand_ins" "$folder/nothing" 'WORKDIR /data/db' 'EXPOSE 27017' \
    "ENTRYPOINT [\"$python\", \"-c\", \"$start\", \"--host\", \"0.0.0.0\", \"--port\", \"27017\", \
    \"--storage-path\", \"/data/db\", \"--standalone\"]"
fi
if lacks hashicorp/consul:latest; then
  make_image hashicorp/consul:latest "$stand_ins" "$folder/nothing" 'EXPOSE 8500' \
    "ENTRYPOINT [\"$python\", \"/consul.py\"]"
fi
if lacks mongo:4.4.6; then
  docker tag mongo:5.0 mongo:4.4.6 # the tag in the Kubernetes manifests of the clone
fi
