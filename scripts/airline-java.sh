#!/usr/bin/env bash
# Builds the airline of Java into bin/airline/java, a folder that runs from anywhere, read-only, with
# `run`. With "check" it looks at the format, compiles with all warnings and runs the unit tests.
#
#   scripts/airline-java.sh [build|check]
set -euo pipefail
cd "$(dirname "$0")/.."

source=systems/airline/java
out=bin/airline/java

for tool in java javac mvn; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "airline-java: $tool is missing: install a JDK 17 or later and Maven 3.8 or later" \
      "(Debian: apt-get install openjdk-17-jdk-headless maven)" >&2
    exit 3
  fi
done

# The optimizing compiler costs more than it wins in Maven's few seconds.
export MAVEN_OPTS="-XX:TieredStopAtLevel=1 ${MAVEN_OPTS-}"

# maven GOAL...: prints nothing but what is wrong.
maven() {
  mvn --quiet --batch-mode --no-transfer-progress --file "$source/pom.xml" "$@"
}

case ${1:-build} in
build)
  # What was deleted or renamed must not stay in the folder.
  maven clean package -DskipTests
  rm -rf "$out"
  mkdir -p "$out"
  cp -R "$source/target/airline" "$out/lib"
  cp "$source/src/main/sh/run" "$out/run"
  ;;
check)
  maven spotless:check verify
  ;;
*)
  echo "airline-java: unknown command $1; want build or check" >&2
  exit 2
  ;;
esac
