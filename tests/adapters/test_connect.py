"""Both drivers ask the server that the configuration names, whatever the environment says to one of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments, session_init
from incremental_assets.adapters.databases.postgresql.pinned import Limits
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor, Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.source import READER, Source, planned

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


# --- the path of the reading role -----------------------------------------------------------------

ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
    "INSERT INTO orders VALUES (1, 'a')",
    f"GRANT SELECT ON orders TO {READER}",
    f"GRANT pg_read_all_stats TO {READER}",
)


def first_on_its_path(source: Source, *made: str) -> None:
    """A schema that a DBA has put before the catalogue, for the convenience of people."""
    source.execute(
        "CREATE SCHEMA monitor",
        *made,
        f"GRANT USAGE ON SCHEMA monitor TO {READER}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA monitor TO {READER}",
        f"ALTER ROLE {READER} IN DATABASE {source.database} SET search_path = monitor, pg_catalog, public",
    )


def test_a_view_that_bears_a_name_of_the_catalogue_hides_no_open_transaction(source: Source) -> None:
    source.execute(*ORDERS)
    first_on_its_path(
        source,
        "CREATE VIEW monitor.pg_stat_activity AS SELECT * FROM pg_catalog.pg_stat_activity WHERE usename = current_user",
        "CREATE VIEW monitor.pg_locks AS SELECT * FROM pg_catalog.pg_locks WHERE false",
        "CREATE FUNCTION monitor.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT timestamptz '2099-01-01Z'$$",
    )
    writer = source.connect()
    writer.execute("INSERT INTO orders VALUES (2, 'late')")
    (began,) = writer.execute("SELECT now()").fetchone() or (None,)
    bound = source.open(READER).bound()
    assert bound.oldest == began
    assert bound.clock < began + timedelta(hours=1)


def test_types_of_any_schema_are_read_and_counted_as_ever(source: Source) -> None:
    source.execute(
        "CREATE SCHEMA types",
        "CREATE DOMAIN types.stamp AS timestamptz",
        "CREATE DOMAIN public.price AS numeric(10,2)",
        "CREATE TYPE types.mood AS ENUM ('glad', 'sad')",
        "CREATE TYPE public.place AS (street text, number int)",
        "CREATE FUNCTION public.double(price) RETURNS price LANGUAGE sql AS 'SELECT ($1 * 2)::public.price'",
        "CREATE TABLE orders (id int PRIMARY KEY, cost price, mood types.mood, place place, at types.stamp NOT NULL DEFAULT now())",
        "INSERT INTO orders VALUES (1, 9.5, 'sad', ROW('x', 1)), (2, 'NaN', NULL, NULL)",
        "CREATE VIEW doubled AS SELECT id, double(cost) AS cost, mood > 'glad' AS is_sad FROM orders",
        f"GRANT SELECT ON orders, doubled TO {READER}",
        f"GRANT USAGE ON SCHEMA types TO {READER}",
    )
    probe = source.open(READER)
    spec = source.spec("orders", Cursor("at", CursorType.TIMESTAMP), key=("mood", "place"))
    with probe.snapshot(planned(probe, spec)) as snapshot:
        assert (snapshot.rows, snapshot.rejected) == (2, 1)
    (whole,) = probe.measure(spec, (Window(None, None),))
    assert whole.rows == 1, "the row with NaN cannot land"
    with probe.snapshot(planned(probe, source.spec("doubled", strategy=Strategy.FULL_REFRESH))) as snapshot:
        assert snapshot.rows == 2


@pytest.mark.parametrize("in_a_snapshot", [True, False])
def test_a_parallel_reader_looks_names_up_in_the_catalogue_alone(source: Source, *, in_a_snapshot: bool) -> None:
    first_on_its_path(
        source,
        "CREATE FUNCTION monitor.set_config(text, text, boolean) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE 'not ours'; END$$",
    )
    owner = source.connect()
    owner.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    (held,) = owner.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
    with psycopg.connect(**driver_arguments(source.address(READER))) as reader:  # type: ignore[arg-type]
        reader.execute(session_init(held if in_a_snapshot else None, Limits(timedelta(minutes=1))).encode())
        assert reader.execute("SHOW search_path").fetchone() == ("pg_catalog, pg_temp",)
