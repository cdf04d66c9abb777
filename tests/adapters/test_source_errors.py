"""What the operator reads when the source refuses: one sentence with the thing, the place and the cure, and never the password."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters.databases.postgresql.batch import light, one_row
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.adapters.databases.postgresql.rows.copy_part import CopyPart
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.errors import IncrementalAssetsError, SourceRefused, SourceUnreachable, TableMissing
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from tests.adapters.source import READER, UPDATED, Source, observe, planned
from tests.conformance.proxy import proxy
from tests.shop import wait_for

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, updated_at timestamptz)"
QUICK = timedelta(seconds=2)


def refused(question: Callable[[], object], kind: type[IncrementalAssetsError]) -> str:
    with pytest.raises(kind) as caught:
        question()
    assert caught.value.__cause__ is None, "the driver's own error may quote anything"
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_a_port_where_nobody_listens(source: Source) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        sentence = refused(source.open(port=port, connect_timeout=QUICK).bound, SourceUnreachable)
    assert f"127.0.0.1:{port}" in sentence
    assert "check `host` and `port`" in sentence


def test_a_port_that_accepts_and_never_answers(source: Source) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sentence = refused(source.open(port=silent.getsockname()[1], connect_timeout=QUICK).bound, SourceUnreachable)
    assert "timeout" in sentence


def test_a_host_that_is_not_known(source: Source) -> None:
    sentence = refused(source.open(host="no-such-host.invalid", connect_timeout=QUICK).bound, SourceUnreachable)
    assert "check `host`" in sentence


def test_no_password(source: Source) -> None:
    sentence = refused(source.open(password="").bound, SourceUnreachable)
    assert "for a password, and the source has none; write `password: {env: NAME}`" in sentence


def test_a_wrong_password(source: Source) -> None:
    sentence = refused(source.open(password="hunter2-not-it").bound, SourceUnreachable)
    assert "check the secret that `password` refers to" in sentence
    assert "hunter2" not in sentence
    assert "hunter2" not in repr(source.address(password="hunter2-not-it"))


def test_a_database_that_is_not_there(source: Source) -> None:
    assert "there is no database 'nowhere'" in refused(source.open(database="nowhere").bound, SourceUnreachable)


def test_tls_where_the_server_has_none(source: Source) -> None:
    sentence = refused(source.open(tls="require").bound, SourceUnreachable)
    assert "`tls: require`" in sentence
    assert "switch TLS on in the server" in sentence


def test_a_table_that_may_not_be_read(source: Source) -> None:
    source.execute(ORDERS)
    spec = source.spec("orders", UPDATED)
    plan = planned(source.open(), spec)
    sentence = refused(lambda: source.open(READER).snapshot(plan).__enter__(), SourceRefused)
    assert 'GRANT SELECT ON "public"."orders" TO "plain_reader"' in sentence
    assert 'GRANT USAGE ON SCHEMA "public" TO "plain_reader"' in sentence


def test_a_table_that_went_away_after_the_catalogue_was_read(source: Source) -> None:
    source.execute(ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    plan = planned(probe, spec)
    source.execute("DROP TABLE orders")
    assert "shop.public.orders" in refused(lambda: probe.snapshot(plan).__enter__(), TableMissing)


def test_a_column_that_went_away_after_the_catalogue_was_read(source: Source) -> None:
    source.execute(ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    plan = planned(probe, spec)
    source.execute("ALTER TABLE orders DROP COLUMN updated_at")
    assert "run the sync again" in refused(lambda: probe.snapshot(plan).__enter__(), SourceRefused)


def test_a_question_that_takes_too_long(source: Source) -> None:
    source.execute("CREATE VIEW slow AS SELECT now() AS updated_at FROM pg_sleep(5)")
    spec = source.spec("slow", UPDATED)
    plan = planned(source.open(), spec)
    probe = source.open(statement_timeout=timedelta(milliseconds=200))
    sentence = refused(lambda: probe.snapshot(plan).__enter__(), SourceRefused)
    assert "statement_timeout" in sentence
    assert "add an index on the cursor" in sentence


def test_the_deadline_of_light_questions_ends_with_them_whatever_went_wrong(source: Source) -> None:
    deadline = "SELECT current_setting('statement_timeout')"
    with source.asked() as asked:
        with pytest.raises(psycopg.errors.DivisionByZero), light(asked):
            one_row(asked, "SELECT 1 / count(*) FILTER (WHERE false)")
        with light(asked):
            assert one_row(asked, deadline) == ("30s",)
        assert one_row(asked, deadline) == ("15min",)


def test_a_connection_that_is_lost_in_a_light_question_is_told_as_it_was(source: Source) -> None:
    with source.asked() as asked, pytest.raises(psycopg.errors.AdminShutdown), light(asked):
        asked.execute("SELECT pg_terminate_backend(pg_backend_pid())")


@pytest.mark.acceptance
def test_a_question_of_a_process_that_was_killed_ends_in_the_source_as_well(source: Source) -> None:
    """It would go on for as long as it takes, a count of a large table for minutes."""
    source.execute("CREATE VIEW slow AS SELECT now() AS updated_at FROM pg_sleep(600)")
    asks = (
        "import os, sys\n"
        "from incremental_assets.adapters.databases.dialect import Address\n"
        "from incremental_assets.adapters.databases.postgresql.session import Connections\n"
        "where = Address('postgresql', '127.0.0.1', int(sys.argv[1]), *sys.argv[2:], os.environ['PASSWORD'])\n"
        "with Connections(where).session() as session:\n"
        "    session._asked.execute('SELECT * FROM public.slow')\n"
    )
    where = source.address()
    environment = {**os.environ, "PASSWORD": where.password}
    with source.connect() as watching:
        watching.autocommit = True
        at = [str(where.port), where.database, where.user]
        asking = subprocess.Popen([sys.executable, "-c", asks, *at], env=environment, text=True)
        assert wait_for(lambda: _asked(watching) == 1, asking), "it never asked"
        asking.kill()
        asking.wait()
        deadline = time.monotonic() + 30
        while _asked(watching):
            assert time.monotonic() < deadline, "the source goes on"
            time.sleep(0.05)


def _asked(watching: psycopg.Connection[Any]) -> int:
    found = watching.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT * FROM public.slow' AND state = 'active' AND datname = current_database()"
    ).fetchone()
    assert found is not None
    return int(found[0])


def test_after_a_lost_connection_the_pool_takes_a_new_one(source: Source) -> None:
    source.execute(ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    plan = planned(probe, spec)
    with probe.snapshot(plan):
        source.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'incremental-assets' AND datname = current_database()"
        )
    assert observe(probe, spec).bound.oldest is None


def test_a_connection_that_stays_open_and_says_nothing_is_given_up(source: Source) -> None:
    """As behind a router that has forgotten it: the driver itself would wait forever."""
    source.execute(ORDERS)
    spec = source.spec("orders", UPDATED)
    with proxy(source.postgres.port) as between:
        short = {"statement_timeout": timedelta(seconds=1), "socket_timeout": timedelta(seconds=1)}
        probe = source.open(port=between.port, connect_timeout=QUICK, **short)
        plan = planned(probe, spec)
        with probe.snapshot(plan):
            between.stall_after(0)
        refused(probe.bound, SourceUnreachable)
        between.heal()
        assert probe.bound().zone == "UTC"

        def fail_while_it_is_silent() -> None:
            with probe.snapshot(plan):
                between.stall_after(0)
                raise SourceRefused("the read had failed")

        assert refused(fail_while_it_is_silent, SourceRefused) == "the read had failed"
        between.heal()
        assert probe.bound().zone == "UTC"


def test_a_part_whose_server_falls_silent_before_its_first_question_is_given_up(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = Patient.connect
    with proxy(source.postgres.port) as between:
        address = source.address(port=between.port, connect_timeout=QUICK, socket_timeout=timedelta(seconds=1))
        part = CopyPart(address, TableId("shop", "public", "orders"), "SELECT 1", "0-0-1", True, ("int",), 1)

        def connected(**arguments: Any) -> Patient:
            connection = connect(**arguments)
            between.stall_after(0)
            return connection

        monkeypatch.setattr(Patient, "connect", connected)
        sentence = refused(lambda: list(part.batches()), SourceUnreachable)
    assert "sent nothing for 1s while the table was read" in sentence


def test_many_tables_and_a_lost_server_is_an_error_and_not_a_move(source: Source) -> None:
    source.execute(ORDERS)
    spec = source.spec("orders", UPDATED)
    gone = SqlProbe(source.address(port=1, connect_timeout=QUICK), "shop")
    refused(lambda: gone.observe((ObserveRequest(spec, None), ObserveRequest(spec, None))), SourceUnreachable)


def test_a_function_of_a_view_that_finds_no_relation_is_not_taken_for_a_view_that_is_gone(source: Source) -> None:
    source.execute(
        "CREATE TABLE rates (rate int)",
        "CREATE FUNCTION rate() RETURNS int LANGUAGE plpgsql AS $$BEGIN RETURN (SELECT max(rates.rate) FROM rates); END$$",
        "CREATE VIEW priced AS SELECT 1 AS id WHERE rate() IS NULL",
    )
    probe, spec = source.open(), source.spec("priced", strategy=Strategy.FULL_REFRESH)
    with pytest.raises(SourceRefused, match='the source refused the query: relation "rates" does not exist'):
        probe.measure(spec, (Window(None, None),))
    source.execute("ALTER FUNCTION rate() SET search_path = public")
    assert probe.measure(spec, (Window(None, None),))[0].rows == 1
    source.execute("DROP VIEW priced")
    with pytest.raises(TableMissing):
        probe.measure(spec, (Window(None, None),))


def test_a_materialized_view_that_was_never_filled_is_told_with_the_statement_that_fills_it(source: Source) -> None:
    source.execute("CREATE MATERIALIZED VIEW sums AS SELECT 1 AS id WITH NO DATA")
    spec = source.spec("sums", strategy=Strategy.FULL_REFRESH)
    with pytest.raises(SourceRefused, match=r"shop.public.sums: .*not been populated.*REFRESH MATERIALIZED VIEW"):
        source.open().measure(spec, (Window(None, None),))
