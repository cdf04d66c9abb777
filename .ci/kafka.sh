#!/usr/bin/env bash
# Brings the jars of Kafka's broker into .kafka, where they are missing and this machine lets us: packages of Maven Central, without their sources.
# Tests call it, and are skipped without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly PACKAGE=org.apache.kafka:kafka_2.13:4.4.0 FOLDER=.kafka LOCK=$PWD/.ci/kafka.sha256

refuse() { echo "$*" >&2; exit 1; }

if [[ -d $FOLDER ]]; then
  exit
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
touch "$scratch/empty.py"
spark=$(.venv/bin/python -c 'from importlib.util import find_spec as found; from pathlib import Path; print(Path(found("pyspark").origin).parent)')
env -u SPARK_HOME "$spark/bin/spark-submit" --packages "$PACKAGE" --conf "spark.jars.ivy=$scratch/ivy" "$scratch/empty.py" >"$scratch/log" 2>&1 ||
  refuse "Maven's $PACKAGE cannot be fetched: $(tail -n 1 "$scratch/log")"
(cd "$scratch/ivy/jars" && sha256sum --check --quiet "$LOCK" >&2) || refuse "$PACKAGE is not the files that are expected"
# Spark's resolver leaves out what Spark has itself.
cp "$spark"/jars/scala-library-2.13.*.jar "$spark"/jars/scala-reflect-2.13.*.jar "$scratch/ivy/jars/"
# As a whole or not at all; whoever runs the broker must be able to read it.
chmod -R go+rX "$scratch/ivy/jars"
mv "$scratch/ivy/jars" "$FOLDER"
