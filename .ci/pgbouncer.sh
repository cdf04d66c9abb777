#!/usr/bin/env bash
# Installs PgBouncer, where it is missing and this machine lets us. Tests call it, and are skipped without it.
set -euo pipefail

# Debian puts it where only root's path leads.
PATH=$PATH:/usr/sbin
if command -v pgbouncer >/dev/null; then
  exit
fi
if ! command -v apt-get >/dev/null || [[ $(id -u) -ne 0 ]]; then
  echo "PgBouncer is missing, and only root can install it: apt-get install pgbouncer" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends pgbouncer
# Tests start their own: the service that the package may have started pools nothing.
invoke-rc.d pgbouncer stop >/dev/null 2>&1 || true
