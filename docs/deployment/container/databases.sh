#!/usr/bin/env bash
# Run once by PostgreSQL's image, in an empty volume: a database and a role each for Dagster and for the checkpoints.
# psql reads the passwords from its environment: an argument would be in the list of processes.
set -euo pipefail
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" <<'SQL'
\getenv dagster DAGSTER_PG_PASSWORD
\getenv checkpoints CHECKPOINTS_PASSWORD
CREATE ROLE dagster LOGIN PASSWORD :'dagster';
CREATE DATABASE dagster OWNER dagster;
CREATE ROLE checkpoints LOGIN PASSWORD :'checkpoints';
CREATE DATABASE checkpoints OWNER checkpoints;
SQL
