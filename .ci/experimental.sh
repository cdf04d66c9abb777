#!/usr/bin/env bash
# The environment of this checkout, and in addition plugins/experimental with its drivers: .venv-experimental. Returns at once when nothing has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly VENV=.venv-experimental PLUGIN=plugins/experimental
stamp=$(cat .venv/.set-up "$PLUGIN/requirements.lock" "$PLUGIN/pyproject.toml" .ci/experimental.sh | sha256sum)
[[ -f $VENV/.set-up && $(<"$VENV/.set-up") == "$stamp" ]] && exit

rm -rf "$VENV"
.venv/bin/python -m venv --without-pip "$VENV"
# All that the checkout has is there by one line, with the .pth files beside it.
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
own=$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$VENV/bin/python" -c 'import sys; print(f"import site; site.addsitedir({sys.argv[1]!r})")' "$site" > "$own/checkout.pth"
"$VENV/bin/python" -m pip install --quiet --no-deps --require-hashes -r "$PLUGIN/requirements.lock"
"$VENV/bin/python" -m pip install --quiet --no-deps --no-build-isolation -e "$PLUGIN"
printf '%s' "$stamp" > "$VENV/.set-up"
