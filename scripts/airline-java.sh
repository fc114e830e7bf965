#!/usr/bin/env bash
# Builds the airline in Java into bin/airline/java. The folder can be moved and can be read-only; `run` in it
# starts a unit. With "check" it checks the format, compiles with all warnings and runs the unit tests.
#
#   scripts/airline-java.sh [build|check]
#
# Exit codes: 0 built, or checked without a complaint, 1 failed, 2 bad arguments, 3 a JDK or Maven is missing.
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

# In Maven's few seconds the JVM's optimizing compiler costs more time than it saves.
export MAVEN_OPTS="-XX:TieredStopAtLevel=1 ${MAVEN_OPTS-}"

# maven GOAL... runs Maven; it prints only errors.
maven() {
  mvn --quiet --batch-mode --no-transfer-progress --file "$source/pom.xml" "$@"
}

case ${1:-build} in
build)
  # A clean build: deleted or renamed files must not stay in the folder.
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
