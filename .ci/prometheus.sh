#!/usr/bin/env bash
# Fetches Prometheus' programs into .prometheus, where they are missing: Debian's package, unpacked and not installed, so that nothing is started.
# Tests call it for `promtool`, and are skipped without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly FOLDER=.prometheus
if command -v promtool >/dev/null || [[ -x $FOLDER/promtool ]]; then
  exit
fi
if ! command -v apt-get dpkg-deb >/dev/null; then
  echo "promtool is missing, and only Debian's package is known here: install prometheus" >&2
  exit 1
fi
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
(cd "$unpacked" && apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb .)
mkdir -p "$FOLDER"
# Last, and at once: whoever finds it finds all of it.
mv "$unpacked/usr/bin/promtool" "$FOLDER/promtool.new"
mv "$FOLDER/promtool.new" "$FOLDER/promtool"
