#!/usr/bin/env bash
# Fetches Prometheus' programs into .prometheus, where they are missing: Debian's package, unpacked and not installed, so that nothing is started.
# Tests call it for `promtool`, and are skipped without it; the pictures of the dashboards are drawn from what `prometheus` answers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly FOLDER=.prometheus
if { command -v promtool && command -v prometheus; } >/dev/null || [[ -x $FOLDER/promtool && -x $FOLDER/prometheus ]]; then
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
# Last, and at once: whoever finds one finds all of it.
for program in promtool prometheus; do
  mv "$unpacked/usr/bin/$program" "$FOLDER/$program.new"
  mv "$FOLDER/$program.new" "$FOLDER/$program"
done
