"""T50: a pooler between, with one role for the application and the sync: what either of them leaves in a connection, the other one finds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters import budget
from incremental_assets.core.model.guarantee import Guarantee
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand, plain
from tests.pgbouncer import OpenPooler, PgBouncer
from tests.shop import PASSWORD, touching

ORDERS = "CREATE TABLE orders (id int PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())"
EVENTS = "CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)"
SHARED = "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO reader"
TABLES = """
- "public.orders:updated_at:timestamp!upsert"
- "public.events:id:integer!append"
"""
SECONDS = 12


@dataclass
class Behind:
    """A stand whose source is the pooler, and the application that comes by the same way as the same role."""

    desk: Stand
    pooler: PgBouncer

    def application(self, **named: str) -> psycopg.Connection[Any]:
        """As a framework connects that gives its sessions no name and prepares nothing."""
        database = self.desk.shop.database
        return psycopg.connect(self.pooler.dsn(database, "reader"), prepare_threshold=None, **named)  # type: ignore[arg-type]


@contextmanager
def behind(desk: Stand, pgbouncer: OpenPooler, **settings: str) -> Iterator[Behind]:
    """Transactions are pooled unless something else is said."""
    told = {"pool_mode": "transaction", "default_pool_size": "12", **settings}
    with pgbouncer({"reader": PASSWORD}, **told) as pooler:
        text = desk.shop.config.read_text()
        desk.shop.config.write_text(text.replace(f"port: {desk.shop.port}", f"port: {pooler.port}"))
        yield Behind(desk, pooler)
        desk.shop.config.write_text(text)


@scenario(
    "T50",
    "Behind PgBouncer (pool_mode = transaction), in sessions that syncs have used, an application of the same role begins transactions, once under the sync's "
    "own name; others commit beside them and syncs run, and then each stamps its row as of its BEGIN and commits",
    holds="the runs are `settled`, the watermark waits for the application whatever its session is called, and every row lands",
)
@pytest.mark.parametrize("name", ["", "incremental-assets"])
def test_an_application_of_our_role_begins_in_a_session_that_we_have_used(
    stand: OpenStand, pgbouncer: OpenPooler, name: str
) -> None:
    desk = stand(TABLES, ORDERS, *touching("orders"), EVENTS, SHARED, "INSERT INTO orders VALUES (0, 'first')")
    with behind(desk, pgbouncer) as here:
        desk.land()
        for number in range(1, 4):
            slow = here.application(**({"application_name": name} if name else {}))
            slow.autocommit = True
            slow.execute("BEGIN READ WRITE")
            slow.execute("SELECT now()")
            desk.execute(
                f"INSERT INTO orders VALUES ({number * 10}, 'quick')",
                f"INSERT INTO events (what) VALUES ('quick {number}')",
            )
            time.sleep(2.1)  # the guard: without the transaction the watermark would pass its stamp
            beside = desk.land()
            slow.execute(f"INSERT INTO public.orders VALUES ({number}, 'as of the BEGIN')")
            slow.execute("COMMIT")
            slow.close()
            assert {report.guarantee for report in beside.values()} == {Guarantee.SETTLED}
            assert "reader" in beside["orders"].guarantee_reason
            desk.land()

    desk.assert_equal("orders")


@dataclass
class Application:
    """Writes as a framework does: names without a schema, no word of what a transaction may do."""

    here: Behind
    done: int = 0
    failed: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def write(self, worker: int) -> None:
        number = 0
        while not self.ended.is_set():
            number += 1
            try:
                with self.here.application() as session:
                    session.execute("SELECT count(*) FROM orders")
                    session.execute(
                        "INSERT INTO orders (id, note) VALUES (%s, 'new')", [1_000_000 * (1 + worker) + number]
                    )
                    time.sleep(0.05 if number % 10 else 2.5)
                    session.execute("INSERT INTO events (what) VALUES ('new')")
                self.done += 1
            except psycopg.Error as error:
                self.failed.append(str(error).splitlines()[0])

    @contextmanager
    def at_work(self, workers: int = 4) -> Iterator[None]:
        threads = [threading.Thread(target=self.write, args=(worker,)) for worker in range(workers)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in threads:
                thread.join()


@scenario(
    "T50",
    "The same pooler, twelve connections for both: an application of four workers writes, one transaction in ten stays open for 2.5 s, while syncs, checks, "
    "`doctor`, `status` and `plan` come and go",
    holds="no statement of the application fails, and nothing that it has written is missing under `settled`",
)
def test_an_application_goes_on_as_if_we_were_not_there(stand: OpenStand, pgbouncer: OpenPooler) -> None:
    desk = stand(TABLES, ORDERS, *touching("orders"), EVENTS, SHARED)
    with behind(desk, pgbouncer) as here:
        application, syncs, until = Application(here), 0, time.monotonic() + SECONDS
        with application.at_work():
            while time.monotonic() < until:
                reports = desk.land()
                assert {report.guarantee for report in reports.values()} == {Guarantee.SETTLED}
                desk.check("orders")
                for command in ("doctor", "status", "plan") if syncs % 3 == 0 else ():
                    assert desk.shop.run(command, "--json").returncode == 0, command
                syncs += 1
        desk.settled("events")
        desk.land()

    assert application.failed == []
    assert application.done > 20
    desk.assert_equal("orders")
    desk.assert_equal("events")
    desk.assert_tidy("orders", "events")


HOSTILE = {
    "search_path": "elsewhere",
    "TimeZone": "Asia/Tokyo",
    "DateStyle": "SQL, DMY",
    "IntervalStyle": "sql_standard",
    "extra_float_digits": "-10",
    "bytea_output": "escape",
    "xmlbinary": "hex",
    "quote_all_identifiers": "on",
    "default_transaction_isolation": "serializable",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "standard_conforming_strings": "off",
    "row_security": "off",
    "statement_timeout": "20s",
    "idle_in_transaction_session_timeout": "5s",
}
"""What changes how a value is printed, how a statement is understood, or how long it may take."""
MAKE_KINDS = (
    "CREATE TABLE kinds (id serial PRIMARY KEY, span interval, many timestamptz[], ratios float8[], raw bytea[], day date, at timestamptz NOT NULL DEFAULT now(), "
    "score double precision, said text, pair jsonb)"
)
FILL_KINDS = (
    "INSERT INTO kinds (span, many, ratios, raw, day, score, said, pair) SELECT n * interval '1 day 01:00:01', "
    "ARRAY[timestamptz '2024-01-01Z' + n * interval '1 h'], ARRAY[n / 3.0], ARRAY[decode(to_hex(n + 4096), 'hex')], "
    "date '2024-01-01' + n, sqrt(n), 'it''s \\ ' || n, jsonb_build_object('n', n) FROM generate_series(1, 3000) AS n"
)
SHOWN = "SELECT id, CAST(span AS text), CAST(many AS text), CAST(ratios AS text), CAST(raw AS text), day, at, score, said, CAST(pair AS text) FROM kinds"


@scenario(
    "T50",
    "A database and a role have settings of their own that change how values are printed and statements are understood; behind the pooler the application "
    "sets others in the sessions that both use, and a large table is read by several readers at once",
    holds="every value lands as it is, the runs are `settled`, a number that a `serial` draws is known as one, and the application keeps its settings",
)
def test_what_a_database_or_an_application_sets_changes_no_value(stand: OpenStand, pgbouncer: OpenPooler) -> None:
    desk = stand('- "public.kinds:id:integer!append"', MAKE_KINDS, FILL_KINDS, SHARED)
    database = desk.shop.database
    for name, value in HOSTILE.items():
        desk.execute(f"ALTER DATABASE \"{database}\" SET {name} = '{value}'")
    desk.execute(f"ALTER ROLE reader IN DATABASE \"{database}\" SET lc_messages = 'C'", "ANALYZE public.kinds")
    with behind(desk, pgbouncer, default_pool_size="3") as here:
        sessions = [here.application() for _ in range(3)]
        for session, style in zip(sessions, ("German", "Postgres", "ISO"), strict=True):
            session.autocommit = True
            session.execute(f"SET DateStyle = '{style}'; SET IntervalStyle = 'iso_8601'; SET lc_time = 'C'")
        desk.settled("kinds")
        kept = sessions[2].execute("SHOW IntervalStyle").fetchone()
        for session in sessions:
            session.close()
        reports = desk.land()

    assert reports["kinds"].guarantee is Guarantee.SETTLED, reports["kinds"].guarantee_reason
    assert kept == ("iso_8601",)
    with psycopg.connect(desk.shop.postgres.dsn(database)) as canonical:
        canonical.execute(
            b"SET search_path = public; SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres'; "
            b"SET extra_float_digits = 1; SET bytea_output = 'hex'; SET quote_all_identifiers = off"
        )
        truth = canonical.execute(SHOWN.encode()).fetchall()
    assert desk.copy("kinds") == sorted((tuple(plain(value) for value in row) for row in truth), key=repr)


@scenario(
    "T50",
    "The pooler has one connection to the server for this role, the configuration allows four, and an application writes by the same way",
    holds="every table lands: what a snapshot and its readers cannot have at once is read by one session; nothing stays in the way of the application",
)
def test_a_pool_of_one_connection_is_read_by_one(
    stand: OpenStand, pgbouncer: OpenPooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "PATIENCE", 1.0)
    desk = stand(
        TABLES,
        ORDERS,
        *touching("orders"),
        EVENTS,
        SHARED,
        "INSERT INTO orders SELECT n, 'first' FROM generate_series(1, 1000) AS n",
    )
    try:
        with behind(desk, pgbouncer, default_pool_size="1", query_wait_timeout="2") as here:
            reports = desk.land()
            with here.application() as application:
                application.execute("INSERT INTO orders VALUES (1001, 'goes on')")
            desk.land()
    finally:
        budget._fewer.clear()

    assert {report.guarantee for report in reports.values()} == {Guarantee.SETTLED}
    desk.assert_equal("orders")


@scenario(
    "T50",
    "A pooler gives every statement another connection (pool_mode = statement), and the application writes through it",
    holds="each table says in one sentence what pools its statements and what to do, before anything is set or read; the application goes on",
)
def test_a_pooler_of_statements_is_refused(stand: OpenStand, pgbouncer: OpenPooler) -> None:
    desk = stand(TABLES, ORDERS, *touching("orders"), EVENTS, SHARED)
    with behind(desk, pgbouncer, pool_mode="statement", default_pool_size="1") as here:
        refused = desk.shop.run("sync", "--json")
        with here.application() as application:
            application.autocommit = True
            application.execute("INSERT INTO orders VALUES (1, 'goes on')")

    assert refused.returncode == 1
    assert "pool_mode = transaction" in refused.stdout + refused.stderr
    assert desk.source("SELECT id FROM orders") == [(1,)]
