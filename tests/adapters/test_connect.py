"""Both drivers ask the server that the configuration names, whatever the environment says to one of them."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments
from incremental_assets.demo.postgres import EmbeddedPostgres

ELSEWHERE = "127.0.0.2"
"""Nobody listens there."""


def asked(postgres: EmbeddedPostgres) -> object:
    """Which server psycopg reaches, and under which setting of a reader's."""
    address = Address("postgresql", postgres.host, postgres.port, "postgres", postgres.user, postgres.password)
    with psycopg.connect(**driver_arguments(address)) as connection:  # type: ignore[arg-type]
        return connection.execute("SELECT host(inet_server_addr()), inet_server_port(), current_user").fetchone()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PGHOSTADDR", ELSEWHERE),
        ("PGHOST", ELSEWHERE),
        ("PGPORT", "1"),
        ("PGUSER", "somebody"),
        ("PGDATABASE", "somewhere"),
        ("PGOPTIONS", "-c role=nobody"),
        ("PGSSLMODE", "verify-full"),
        ("PGTARGETSESSIONATTRS", "standby"),
    ],
)
def test_a_variable_of_libpq_s_leads_nowhere_else(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert asked(postgres) == (postgres.host, postgres.port, postgres.user)


def test_a_service_leads_nowhere_else(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "services").write_text(f"[theirs]\nhostaddr={ELSEWHERE}\nport=1\ntarget_session_attrs=standby\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGSERVICE", "theirs")
    assert asked(postgres) == (postgres.host, postgres.port, postgres.user)
