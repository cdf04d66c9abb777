#!/usr/bin/env bash
# The tests on one end of the versions that pyproject.toml allows: `range.sh lowest` or `range.sh newest`, in an environment of its own. Arguments go to pytest.
# Slow, and of the day on which it is run (the newest are not locked), so it is run by name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly END=$1 VENV=.venv-$1
shift
declare -A RESOLUTION=([lowest]=lowest-direct [newest]=highest)

# Other tests look at this checkout's own environment, or at processes that are started by it.
readonly LEFT_OUT=(--ignore tests/e2e --ignore tests/test_setup.py --ignore tests/conformance --ignore tests/bench)

if [[ ! -x $VENV/bin/python ]]; then
  .venv/bin/python -m venv "$VENV"
fi
# PySpark is built by pip, which keeps what it built; uv then finds it installed.
requirements=$(mktemp)
trap 'rm -f "$requirements"' EXIT
.venv/bin/uv pip compile --quiet --no-header --python-version 3.11 --extra dev --resolution "${RESOLUTION[$END]}" --output-file "$requirements" pyproject.toml
"$VENV/bin/python" -m pip install --quiet setuptools
grep -E '^pyspark==' "$requirements" | "$VENV/bin/python" -m pip install --quiet --no-deps --no-build-isolation -r /dev/stdin
.venv/bin/uv pip install --quiet --python "$VENV/bin/python" --no-build-isolation -r "$requirements"
"$VENV/bin/python" -m pip install --quiet --no-deps --no-build-isolation -e .
grep -E '^(dagster|pyspark|delta-spark|pandera|pyarrow|sqlalchemy|psycopg|deltalake|duckdb|pydantic)==' "$requirements"
"$VENV/bin/pytest" -n 2 --dist loadfile --max-worker-restart 0 -m "not acceptance" "${LEFT_OUT[@]}" "$@"
