#!/usr/bin/env bash
# Brings this checkout from nothing to runnable: environment, dependencies, jars. `make` calls it before every target,
# so when nothing has changed it must do nothing: a stamp in .venv holds the hash of everything that it depends on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What else this machine's Python would import, or where else pip would install to, is not for this environment.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX
export PIP_USER=0

readonly VENV=.venv LOCK=requirements.lock JARS_LOCK=incremental_assets/adapters/spark/jars.lock
readonly STAMP=$VENV/.set-up BUILDING=$VENV/building DISK_GIB=4

say() { printf 'set-up: %s\n' "$*" >&2; }
refuse() { say "$*"; exit 1; }

find_python() {
  local candidate
  for candidate in python3.11 python3.12 python3.13 python3; do
    # A version manager's shim may exist and still refuse, so each candidate is asked.
    if "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  refuse "Python 3.11 or later is missing; install it (Debian: apt-get install python3.11 python3.11-venv) and run make again."
}

check_disk() {
  local free
  free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
  ((free >= DISK_GIB)) ||
    refuse "only $free GiB are free in $PWD, and the environment, the jars and the demo's data need $DISK_GIB; free some space or clone onto another disk."
}

# The entries of these packages in the lock, with their hashes: what must be there before the lock itself can be installed.
locked() {
  awk -v names=" $* " '/^[^ #]/ { split($1, pin, "=="); wanted = index(names, " " pin[1] " ") } wanted' "$LOCK"
}

install_dependencies() {
  local python=$VENV/bin/python
  locked setuptools uv | "$python" -m pip install --quiet --no-deps --require-hashes -r /dev/stdin
  # Of pyspark there is only a source. pip keeps what it built of it; uv would leave source and build in the home once
  # more for every environment (1.9 GiB), unless the registry says for how long an answer holds. It builds beside the
  # environment, on the disk that has the room, and a wheel, which an old pip makes only when told.
  rm -rf "$BUILDING" && mkdir "$BUILDING"
  locked pyspark | TMPDIR=$PWD/$BUILDING "$python" -m pip install --quiet --no-deps --use-pep517 --no-build-isolation --require-hashes -r /dev/stdin
  rm -rf "$BUILDING"
  # uv takes half of pip's time for the others. Where only pip knows the way to the registry (a mirror in pip.conf), pip does it all.
  # It keeps what it fetched in the home, and gives up where that cannot be written.
  [[ -w ${UV_CACHE_DIR:-${XDG_CACHE_HOME:-${HOME:-}}} ]] || export UV_NO_CACHE=1
  # No build isolation: whatever builds pyspark's source distribution comes from the lock too, hash included.
  # Bytecode is compiled here because PYTHONDONTWRITEBYTECODE, set in many containers, would make every start compile.
  # It trusts its own authorities; behind a company's proxy, the machine's may be the right ones.
  local with_uv=("$VENV/bin/uv" pip install --quiet --python "$python" --require-hashes --no-build-isolation --compile-bytecode -r "$LOCK")
  if ! "${with_uv[@]}" 2>/dev/null && ! "${with_uv[@]}" --system-certs 2>/dev/null; then
    say "uv cannot fetch the packages, so pip does, which takes some minutes longer"
    "$python" -m pip install --quiet --no-deps --no-build-isolation --require-hashes -r "$LOCK"
  fi
  "$python" -m pip install --quiet --no-deps --no-build-isolation -e .
}

make_archive() {
  local note
  say "class-data archive, with which Spark starts sooner (a minute, 200 MB, unless it is there)"
  note=$("$VENV/bin/python" -m incremental_assets.adapters.spark.cds_archive 2>&1) || say "no archive, so Spark starts as it did without: ${note##*$'\n'}"
}

# The archive is of no use to another Java, whose version is in the bytes of its program.
fingerprint() {
  local java=${JAVA_HOME:+$JAVA_HOME/bin/java}
  { cat "$LOCK" "$JARS_LOCK" pyproject.toml .ci/set-up.sh "${java:-$(command -v java)}" || true; } 2>/dev/null | sha256sum | cut -d' ' -f1
}

main() {
  local python jars=${INCREMENTAL_ASSETS_JARS:-.jars} wanted
  wanted=$(fingerprint)
  if [[ -x $VENV/bin/python && -d $jars && $(cat "$STAMP" 2>/dev/null) == "$wanted" ]]; then
    return
  fi
  python=$(find_python)
  "$python" -I incremental_assets/adapters/spark/java.py
  check_disk
  say "Python environment in $VENV (about a minute the first time)"
  if [[ ! -x $VENV/bin/python ]]; then
    "$python" -m venv "$VENV" ||
      refuse "$python cannot make environments; install its venv module (Debian: apt-get install python3-venv) and run make again."
  fi
  install_dependencies
  say "jars of Delta and of the JDBC driver in $jars"
  "$VENV/bin/python" -m incremental_assets.adapters.spark.jars
  make_archive
  # Dagster wants its dagster.yaml in the folder where it stores: the link keeps the file at the root and the storage out of it.
  mkdir -p .dagster
  chmod 700 .dagster
  ln -sfn ../dagster.yaml .dagster/dagster.yaml
  printf '%s\n' "$wanted" >"$STAMP"
  say "done"
}

main
