#!/usr/bin/env bash
# Checks that this machine has the programs for building and testing. It installs
# missing ones if it can (Debian or Ubuntu, as root), and otherwise prints the command
# to type. If nothing is missing, it ends quickly.
#
#   scripts/need.sh build     Go, Node.js, npm, git
#   scripts/need.sh test      these; optional: a C compiler (without it, tests run without
#                             the race detector)
#   scripts/need.sh test-all  these, a C compiler, chromium (report tests), shellcheck
#                             (lint), a JDK and Maven (the airline in Java); optional:
#                             the servers of backing services (without them, their tests
#                             are skipped)
#   scripts/need.sh cluster   Go, Node.js, npm, git; optional: the programs of private
#                             clusters (without them, their tests are skipped)
#   scripts/need.sh generate  Go, Node.js, npm, git, protoc
#
# Exit codes: 0 nothing is missing, 2 bad arguments, 3 something is missing.
set -euo pipefail

readonly go_least="1.26" node_least="20.19"
missing=()  # packages of the distribution
optional=() # missing packages that only some tests need
problems=() # messages about missing parts that the user has to install

# need COMMAND PACKAGE adds the package to missing unless the command exists.
need() {
  command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

# prefer COMMAND PACKAGE [FOLDER] adds the package to optional unless the command exists, in PATH
# or in the folder, which may be a pattern (default: /usr/sbin).
prefer() {
  command -v "$1" >/dev/null 2>&1 || compgen -G "${3:-/usr/sbin}/$1" >/dev/null || optional+=("$2")
}

# at_least HAVE WANT succeeds if the version HAVE is WANT or later.
at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# check_version NAME HAVE WANT PAGE adds a problem if the installed version HAVE is empty, or older than WANT.
check_version() {
  local how="install $3 or later from $4 and put its bin folder into PATH"
  if [ -z "$2" ]; then
    problems+=("$1 is missing: $how")
  elif ! at_least "$2" "$3"; then
    problems+=("$1 is $2: $how")
  fi
}

# install_missing installs the missing packages, or adds a problem if it cannot.
install_missing() {
  if [ "${#missing[@]}" -eq 0 ]; then
    return
  fi
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    problems+=("missing: ${missing[*]}; on Debian or Ubuntu type: sudo apt-get install ${missing[*]}")
    return
  fi
  echo "need: installing ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >&2; then
    problems+=("apt-get could not install ${missing[*]}: see its messages above")
  fi
}

# install_optional installs the optional packages. It reports those that it cannot install, and does not fail.
install_optional() {
  local by_hand="sudo apt-get install --no-install-recommends ${optional[*]}"
  if [ "${#optional[@]}" -eq 0 ]; then
    return
  fi
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "need: some tests will be skipped, or run without the race detector; for all type: $by_hand" >&2
    return
  fi
  echo "need: installing ${optional[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >&2 || echo "need: apt-get could not fetch the lists of packages" >&2
  # From Debian 13 on Docker's client is a package of its own.
  if [[ " ${optional[*]} " == *" docker.io "* ]] && apt-cache show docker-cli >/dev/null 2>&1; then
    optional+=(docker-cli)
  fi
  # Tests start their own sshd. With this file the package does not start the sshd of this machine.
  if [[ " ${optional[*]} " == *" openssh-server "* ]]; then
    mkdir -p /etc/ssh && touch /etc/ssh/sshd_not_to_be_run
  fi
  local package # one by one, so that a failure does not affect the others
  for package in "${optional[@]}"; do
    apt-get install -y -qq --no-install-recommends "$package" >&2 ||
      echo "need: apt-get could not install $package: some tests will be skipped" >&2
  done
}

# pip_install PACKAGE VERSION FOLDER PROGRAM TESTS installs a package with its program into a
# folder of the cache, with pip. The folder's name has the version, so that a new version is installed.
# If it fails, it reports that the tests will be skipped.
pip_install() {
  local folder="${XDG_CACHE_HOME:-$HOME/.cache}/cleave/$3"
  if [ -x "$folder/bin/$4" ]; then
    return
  fi
  echo "need: installing $1 $2 into $folder" >&2
  if ! {
    python3 -m venv "$folder" &&
      "$folder/bin/pip" install -q --disable-pip-version-check "$1==$2"
  } >&2; then
    rm -rf "$folder"
    echo "need: $5 will be skipped: pip could not install $1" >&2
  fi
}

# install_cassandra installs Cassandra from Maven Central: its own libraries and about a
# hundred dependencies, with their checksums verified. Folder and version must be those of
# backing/server/cassandra.go: a test there compares them.
install_cassandra() {
  local version=5.0.6 folder work
  folder="${XDG_CACHE_HOME:-$HOME/.cache}/cleave/cassandra-$version"
  if [ -d "$folder" ] || ! command -v mvn >/dev/null; then
    return
  fi
  echo "need: installing Cassandra $version into $folder" >&2
  mkdir -p "${folder%/*}"
  work=$(mktemp -d "$folder.XXXXXX")
  cat >"$work/pom.xml" <<END
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>cleave</groupId><artifactId>cassandra</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>$version</version>
  </dependency></dependencies>
</project>
END
  if (cd "$work" && mvn -B -q --strict-checksums "-Dmaven.repo.local=$work/repository" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DoutputDirectory=libraries -DincludeScope=runtime) >&2; then
    mv -T "$work/libraries" "$folder" || [ -d "$folder" ] # or a parallel run was faster
  else
    echo "need: the tests over Cassandra will be skipped: Maven could not fetch it" >&2
  fi
  rm -rf "$work"
}

# install_zod installs zod in the version with which github-action-benchmark checks its input. npm writes
# .package-lock.json last: an installation with that file is complete.
install_zod() {
  local version=4.1.5 folder
  folder="${XDG_CACHE_HOME:-$HOME/.cache}/cleave/zod-$version"
  [ -e "$folder/node_modules/.package-lock.json" ] || npm install --prefix "$folder" --ignore-scripts \
    --no-audit --no-fund --loglevel=error "zod@$version" >&2 || {
    rm -rf "$folder"
    echo "need: the test of --format benchmark-action will be skipped: npm could not fetch zod" >&2
  }
}

# install_debian creates an archive of a small Debian, for a test that runs the archive of
# make dist in a container. The test uses the same file name.
install_debian() {
  local archive="${XDG_CACHE_HOME:-$HOME/.cache}/cleave/debian-bookworm.tar" work
  if [ -e "$archive" ] || [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    return
  fi
  echo "need: installing a small Debian into $archive" >&2
  mkdir -p "${archive%/*}"
  work=$(mktemp -d "$archive.XXXXXX")
  if ! {
    debootstrap --variant=minbase bookworm "$work/root" &&
      tar -C "$work/root" -cf "$work/tar" . && mv "$work/tar" "$archive"
  } >&2; then
    echo "need: the test of make dist in a container will be skipped: debootstrap could not fetch Debian" >&2
  fi
  rm -rf --one-file-system "$work"
}

case "${1:-}" in
  build) ;;
  generate) need protoc protobuf-compiler ;;
  test)
    prefer gcc gcc
    [ -e /usr/include/stdlib.h ] || optional+=(libc6-dev)
    ;;
  test-all)
    need gcc gcc
    [ -e /usr/include/stdlib.h ] || missing+=(libc6-dev)
    need shellcheck shellcheck
    need javac openjdk-17-jdk-headless # the airline in Java
    need mvn maven
    command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing+=(chromium)
    prefer mariadbd mariadb-server
    prefer postgres postgresql '/usr/lib/postgresql/*/bin'
    prefer rabbitmq-server rabbitmq-server
    prefer redis-server redis-server /usr/bin
    prefer memcached memcached /usr/bin
    prefer haproxy haproxy
    prefer keepalived keepalived
    prefer nginx nginx-light
    prefer glusterd glusterfs-server # brings the client too
    prefer sshd openssh-server
    prefer dockerd docker.io
    prefer debootstrap debootstrap
    docker compose version >/dev/null 2>&1 || prefer docker-compose docker-compose
    compgen -G '/usr/lib/jvm/*17*/bin/java' >/dev/null || optional+=(openjdk-17-jre-headless) # Cassandra's
    python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || optional+=(python3-venv)
    ;;
  cluster)
    prefer ip iproute2
    prefer sshd openssh-server
    prefer dockerd docker.io
    prefer iptables iptables
    prefer etcd etcd-server
    prefer containerd containerd
    prefer runc runc
    prefer nft nftables
    prefer host-local containernetworking-plugins /usr/lib/cni # not bridge, a command of iproute2 too
    ;;
  *)
    echo "usage: scripts/need.sh build|test|test-all|cluster|generate" >&2
    exit 2
    ;;
esac
need git git
install_missing
install_optional
if [ "$1" = test-all ]; then
  # The stand-in for MongoDB is GPL-2.0: it runs as a separate process, and Cleave does not link to it.
  # Its folder and version must be those of backing/server/mongo.go, Otava's and zod's
  # those of report/ci/ci_test.go.
  command -v mongod >/dev/null || command -v secantusd-py >/dev/null ||
    pip_install secantusdb 0.7.0b3 secantusdb-0.7.0b3 secantusd-py "the tests over MongoDB's protocol"
  pip_install apache-otava 0.8.0 otava-0.8.0 otava "the tests of the series for Otava"
  install_zod
  install_cassandra
  install_debian
  "$(dirname "${BASH_SOURCE[0]}")/airline-fuzz.sh" install ||
    echo "need: the fuzz tests of the airline will be skipped" >&2
fi
go_version=$(go env GOVERSION 2>/dev/null || true)
node_version=$({ command -v npm >/dev/null && node --version; } 2>/dev/null || true)
check_version Go "${go_version#go}" "$go_least" https://go.dev/dl/
check_version "Node.js with npm" "${node_version#v}" "$node_least" https://nodejs.org/
if [ "${#problems[@]}" -gt 0 ]; then
  printf 'need: %s\n' "${problems[@]}" >&2
  exit 3
fi
