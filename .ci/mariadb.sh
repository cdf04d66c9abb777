#!/usr/bin/env bash
# Installs the programs of MariaDB's server, where they are missing and this machine lets us: Debian's core packages, which start no service.
# Tests call it, and are skipped without it; so does `make demo ARGS="--source mariadb"`.
set -euo pipefail

if command -v mariadbd mariadb-install-db >/dev/null; then
  exit
fi
if ! command -v apt-get >/dev/null || [[ $(id -u) -ne 0 ]]; then
  echo "MariaDB's server is missing, and only root can install it: apt-get install mariadb-server-core mariadb-client-core" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends mariadb-server-core mariadb-client-core
