"""A source behind a pooler that lends its connections for a transaction, to us and to an application of the same role."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from incremental_assets.adapters import budget
from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import trusted
from incremental_assets.adapters.databases.postgresql.pinned import Terms
from incremental_assets.adapters.databases.postgresql.rows import copy_part
from incremental_assets.adapters.databases.postgresql.settled import open_transactions
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.core.checks.doctor import Wanted
from incremental_assets.core.errors import SourceFull, SourceRefused, SourceUnreachable
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from tests.adapters.source import READER, UPDATED, Source, observe, planned
from tests.pgbouncer import OpenPooler, PgBouncer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())"
LEFT = """
SELECT array_agg(name || '=' || setting ORDER BY name), (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors),
       (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype NOT IN ('virtualxid', 'relation')),
       (SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()), (SELECT count(*) FROM pg_listening_channels()), current_user
FROM pg_settings WHERE setting IS DISTINCT FROM reset_val OR name IN ('search_path', 'transaction_read_only', 'application_name')
"""
"""All that a client may leave behind for the next one."""


@dataclass(frozen=True)
class Pooled:
    """What both reach by the same port, as the same role."""

    source: Source
    pooler: PgBouncer

    def open(self, **changes: Any) -> SqlProbe:
        return self.source.open(READER, port=self.pooler.port, **changes)

    def application(self, **named: str) -> psycopg.Connection[Any]:
        return psycopg.connect(self.pooler.dsn(self.source.database, READER), prepare_threshold=None, **named)  # type: ignore[arg-type]

    def left(self) -> tuple[Any, ...]:
        """What an application finds in the only connection."""
        with self.application() as asked:
            return asked.execute(LEFT).fetchone() or ()


@contextmanager
def pooled(
    source: Source, pgbouncer: OpenPooler, connections: int, mode: str = "transaction", **settings: str
) -> Iterator[Pooled]:
    """A pooler of so many connections for both."""
    source.execute(ORDERS, f"GRANT ALL ON orders TO {READER}", f"GRANT pg_read_all_stats TO {READER}")
    logins = {READER: source.postgres.password_of(READER)}
    told = {"pool_mode": mode, "default_pool_size": str(connections), "query_wait_timeout": "2", **settings}
    with pgbouncer(logins, **told) as pooler:
        yield Pooled(source, pooler)
        for probe in source.opened:
            probe.close()


def test_nothing_that_we_ask_leaves_anything_behind(source: Source, pgbouncer: OpenPooler) -> None:
    with pooled(source, pgbouncer, 1) as shared:
        shared.left()
        before = shared.left()
        probe, table = shared.open(), source.spec("orders", UPDATED)
        source.execute("INSERT INTO orders (note) VALUES ('a'), ('b')")
        plan = planned(probe, table)
        held: list[object] = []
        asks = {
            "catalogue": probe.catalogue,
            "bound": probe.bound,
            "observe": lambda: observe(probe, table),
            "lag": lambda: probe.lag((ObserveRequest(table, None), ObserveRequest(table, None))),
            "measure": lambda: probe.measure(table, (Window(None, None),)),
            "row_hash": probe.row_hash,
            "facts": lambda: probe.facts((Wanted(table.id, ("updated_at",)),)),
            "lateness": lambda: probe.lateness((table,)),
            "describe": lambda: probe.describe((table.shape,)),
            "estimates": lambda: probe.estimates((plan,)),
            "snapshot": lambda: _enter(probe.snapshot(plan), held),
            "keys": lambda: _enter(probe.keys(table), held),
            "placed_rows": lambda: _enter(probe.placed_rows(table, (Window(None, None),)), held),
        }
        for name, ask in asks.items():
            ask()
            assert shared.left() == before, name


def _enter(opened: Any, held: list[object]) -> None:
    with opened as found:
        held.append(found)


def test_parallel_readers_leave_nothing_behind_either(
    source: Source, pgbouncer: OpenPooler, spark: SparkSession
) -> None:
    source.execute(
        "CREATE TABLE many AS SELECT n AS id FROM generate_series(1, 3) AS n", f"GRANT SELECT ON many TO {READER}"
    )
    with pooled(source, pgbouncer, 2) as shared:
        probe = shared.open()
        plan = planned(probe, source.spec("many", strategy=Strategy.FULL_REFRESH))
        address = source.address(READER, port=shared.pooler.port)
        before = shared.left()
        with SparkSource(probe, address, lambda: spark).snapshot(plan) as snapshot:
            assert sum(batch.num_rows for part in snapshot.parts or () for batch in part.batches()) == 3
            assert snapshot.frame.count() == 3
        assert dialect_of("postgresql").reader(address).row_hashes(spark, plan.spec, (Window(None, None),)).count() == 3
        with ExitStack() as held:
            both = [held.enter_context(shared.application()) for _ in range(2)]
            assert [asked.execute(LEFT).fetchone() for asked in both] == [before, before]


BY_NAME = "application_name = 'incremental-assets'"


@pytest.mark.parametrize("known", ["by its lock", "known-bad: by its name"])
@pytest.mark.parametrize("name", ["", "incremental-assets"])
def test_an_application_of_our_role_holds_the_bound_whatever_its_session_is_called(
    source: Source, pgbouncer: OpenPooler, name: str, known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_bad = known.startswith("known-bad")
    if is_bad:
        by_lock = "coalesce(leader_pid, pid) IN (SELECT pid FROM readers)"
        assert by_lock in open_transactions._OPEN
        monkeypatch.setattr(open_transactions, "_OPEN", open_transactions._OPEN.replace(by_lock, BY_NAME))
    with pooled(source, pgbouncer, 4) as shared:
        probe = shared.open()
        with probe.snapshot(planned(probe, source.spec("orders", UPDATED))):
            assert probe.bound().oldest is None
        application = shared.application(**({"application_name": name} if name else {}))
        (began,) = application.execute("SELECT now()").fetchone() or (None,)
        bound = probe.bound()
        application.close()
    assert bound.oldest == (None if is_bad and name else began)
    assert READER in bound.holder or is_bad


def test_readers_of_any_process_hold_nothing_back_while_they_read(source: Source, pgbouncer: OpenPooler) -> None:
    with pooled(source, pgbouncer, 6) as shared:
        probe, other = shared.open(), shared.open()
        plan = planned(probe, source.spec("orders", UPDATED))
        with probe.snapshot(plan) as numbers:
            parts = (
                dialect_of("postgresql").reader(source.address(READER, port=shared.pooler.port)).parts(plan, numbers)
            )
            connection = (parts or ())[0]._connected()  # type: ignore[attr-defined]
            assert (other.bound().oldest, probe.bound().newest) == (None, None)
            connection.close()


def test_a_reader_that_may_take_no_lock_is_waited_for_as_everybody_is(source: Source) -> None:
    lock = "FUNCTION pg_try_advisory_xact_lock_shared(int, int)"
    source.execute(ORDERS, f"GRANT SELECT ON orders TO {READER}", f"GRANT pg_read_all_stats TO {READER}")
    source.execute(f"REVOKE EXECUTE ON {lock} FROM PUBLIC")
    try:
        probe = source.open(READER)
        with probe.snapshot(planned(probe, source.spec("orders", UPDATED))):
            bound = probe.bound()
    finally:
        source.execute(f"GRANT EXECUTE ON {lock} TO PUBLIC")
    assert "incremental-assets" in bound.holder


def test_a_pooler_of_statements_is_refused_before_anything_is_set(source: Source, pgbouncer: OpenPooler) -> None:
    with pooled(source, pgbouncer, 1, mode="statement") as shared:
        probe = shared.open()
        with pytest.raises(SourceRefused, match=r"a pooler that gives each statement another connection .*pool_mode"):
            probe.bound()
        application = shared.application()
        application.autocommit = True
        assert application.execute("SHOW search_path").fetchone() == ('"$user", public',)
        application.close()


@pytest.mark.acceptance
def test_a_pooler_that_is_full_is_told_as_what_it_is(source: Source, pgbouncer: OpenPooler) -> None:
    with pooled(source, pgbouncer, 1) as shared:
        application = shared.application()
        application.execute("SELECT 1")
        probe = shared.open()
        with pytest.raises(
            SourceUnreachable, match=r"the pooler has no connection .* left \(.*\); .*default_pool_size"
        ):
            probe.bound()
        application.close()


@pytest.fixture
def one_session_again() -> Iterator[None]:
    """What a source without a free connection has left in this process is forgotten."""
    yield
    budget._fewer.clear()


@pytest.mark.usefixtures("one_session_again")
def test_a_pooler_that_lends_a_reader_nothing_is_not_taken_for_a_server_that_fell_silent(
    source: Source, pgbouncer: OpenPooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own `query_wait_timeout` is two minutes, as long as nobody sets it: longer than we wait for a silent server."""
    monkeypatch.setattr(copy_part, "_LENT_WITHIN", 1.0)
    monkeypatch.setattr(budget, "PATIENCE", 0.5)
    with pooled(source, pgbouncer, 1, query_wait_timeout="120") as shared:
        probe, address = shared.open(), source.address(READER, port=shared.pooler.port)
        plan = planned(probe, source.spec("orders", UPDATED))
        with probe.snapshot(plan) as numbers:
            (part,) = dialect_of("postgresql").reader(address).parts(plan, numbers) or ()
            with pytest.raises(SourceFull, match=r"the pooler has no connection .* left \(silent .*default_pool_size"):
                list(part.batches())
        assert address.budget.is_single


@pytest.mark.acceptance
@pytest.mark.usefixtures("one_session_again")
def test_nor_does_sparks_own_reader_take_it_for_one(source: Source, pgbouncer: OpenPooler, spark: SparkSession) -> None:
    with pooled(source, pgbouncer, 1, query_wait_timeout="120") as shared:
        probe = shared.open()
        address = source.address(READER, port=shared.pooler.port, socket_timeout=timedelta(seconds=2))
        plan = planned(probe, source.spec("orders", UPDATED))
        with (
            pytest.raises(SourceFull, match=r"the pooler has no connection .* left \(Read timed out\)"),
            SparkSource(probe, address, lambda: spark).snapshot(plan) as snapshot,
        ):
            snapshot.frame.count()
        assert address.budget.is_single


def test_a_limit_of_the_pooler_that_ends_a_question_is_named(source: Source, pgbouncer: OpenPooler) -> None:
    with pooled(source, pgbouncer, 2, query_timeout="1") as shared:
        source.execute(
            "CREATE VIEW slow AS SELECT id FROM orders WHERE pg_sleep(3) IS NOT NULL",
            "INSERT INTO orders (note) VALUES ('a')",
            f"GRANT SELECT ON slow TO {READER}",
        )
        probe = shared.open()
        plan = planned(probe, source.spec("slow", strategy=Strategy.FULL_REFRESH))
        with (
            pytest.raises(
                SourceRefused, match=r"slow: the pooler ended the session .*\(query timeout\).*query_timeout"
            ),
            probe.snapshot(plan),
        ):
            raise AssertionError("it was counted")


@pytest.mark.acceptance
def test_a_limit_of_the_pooler_that_ends_the_snapshot_is_named_to_its_readers(
    source: Source, pgbouncer: OpenPooler
) -> None:
    with pooled(source, pgbouncer, 2, idle_transaction_timeout="1") as shared:
        probe, address = shared.open(), source.address(READER, port=shared.pooler.port)
        plan = planned(probe, source.spec("orders", UPDATED))
        with probe.snapshot(plan) as numbers:
            (part,) = dialect_of("postgresql").reader(address).parts(plan, numbers) or ()
            time.sleep(3)
            with pytest.raises(
                SourceUnreachable, match=r"the session that holds the snapshot ended .*idle_transaction_"
            ):
                list(part.batches())


def test_a_user_that_an_application_has_become_is_not_ours(source: Source, pgbouncer: OpenPooler) -> None:
    source.execute(f"CREATE ROLE tenant_{source.database}", f"GRANT tenant_{source.database} TO {READER}")
    with pooled(source, pgbouncer, 1) as shared:
        source.execute(
            "CREATE VIEW whose AS SELECT CAST(current_user AS text) AS name", f"GRANT SELECT ON whose TO {READER}"
        )
        probe = shared.open()
        spec = source.spec("whose", strategy=Strategy.FULL_REFRESH)
        application = shared.application()
        application.autocommit = True
        application.execute(f"SET ROLE tenant_{source.database}")
        (whole,) = probe.measure(spec, (Window(None, None),))
        assert application.execute("SELECT current_user").fetchone() == (f"tenant_{source.database}",)
        application.execute("RESET ROLE")
        assert probe.measure(spec, (Window(None, None),)) == (whole,)
        application.close()
    source.execute(f"DROP ROLE tenant_{source.database}")


def test_doctor_names_a_pooler_and_who_else_comes_as_our_role(source: Source, pgbouncer: OpenPooler) -> None:
    source.execute(f'ALTER DATABASE "{source.database}" SET quote_all_identifiers = on')
    with pooled(source, pgbouncer, 2) as shared:
        alone = shared.open().facts(())
        application = shared.application(application_name="web shop")
        application.execute("SELECT 1")
        facts = shared.open().facts(())
        direct = source.open(READER).facts(())
        application.close()
    assert (alone.pooled, alone.shared_with, alone.put_aside) == (True, "", ("quote_all_identifiers = on",))
    assert facts.shared_with.startswith("web shop (pid ")
    assert (direct.pooled, direct.shared_with) == (False, facts.shared_with)


def test_a_snapshot_of_another_server_than_the_bound_is_refused(source: Source) -> None:
    """As of a replica behind the same address, which shows less than had settled."""
    source.execute(ORDERS)
    probe = source.open()
    plan = planned(probe, source.spec("orders", UPDATED))
    assert plan.reading.bound.server
    elsewhere = replace(
        plan,
        reading=replace(plan.reading, bound=replace(plan.reading.bound, server="2024-01-01 00:00:00.000000")),
    )
    with pytest.raises(SourceRefused, match="two servers answer behind this address"), probe.snapshot(elsewhere):
        raise AssertionError("it was taken")
    of_replicas = replace(
        elsewhere, reading=replace(elsewhere.reading, bound=replace(elsewhere.reading.bound, replica=True))
    )
    with probe.snapshot(of_replicas) as numbers:
        assert numbers.rows == 0


def test_questions_that_two_servers_answer_are_refused_unless_both_are_replicas() -> None:
    address = Address("postgresql", "db", 5432, "shop", "reader", "")
    first = Terms(True, ("reader", "reader"), (), "2024-01-01 00:00:00.000001", False)
    replica, other = (replace(first, server=f"2024-01-01 00:00:00.00000{n}", is_replica=True) for n in (2, 3))
    assert trusted(other, replica, address) is other
    for found, before in ((replica, first), (first, replica), (replace(first, server="another"), first)):
        with pytest.raises(SourceRefused, match="two servers"):
            trusted(found, before, address)
    for wrong, told in (
        (replace(first, in_force=False), "does not hold there"),
        (replace(first, users=("admin", "admin")), "belongs to admin"),
    ):
        with pytest.raises(SourceRefused, match=told):
            trusted(wrong, first, address)
