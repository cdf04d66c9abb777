"""Tables that ask for a snapshot at the same time share one of PostgreSQL; what one of them meets is its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from incremental_assets.adapters.databases import shared_snapshot
from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.postgresql import unaltered
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.plan import SyncPlan
from tests.adapters.source import Source, planned

NUMBER = Cursor("n", CursorType.INTEGER)


class Together:
    """Plans whose snapshots are asked for at once: the first one is held at its beginning until the others wait for theirs."""

    def __init__(self, tables: Source, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate, self.begun = threading.Event(), threading.Event()
        self.sizes: list[int] = []
        ask = shared_snapshot.SharedSnapshots._ask

        def gated(shared: shared_snapshot.SharedSnapshots, plans: Any) -> None:
            self.sizes.append(len(plans))
            self.begun.set()
            assert self.gate.wait(30)
            ask(shared, plans)

        monkeypatch.setattr(shared_snapshot.SharedSnapshots, "_ask", gated)
        self.probe: SqlProbe = tables.open()

    def ask(self, first: SyncPlan, *others: SyncPlan) -> list[Future[tuple[Numbers, ExitStack]]]:
        """Each in a thread of its own; the snapshots stay open until their stacks are closed."""
        pool = ThreadPoolExecutor(1 + len(others))
        begun = [pool.submit(self._held, first)]
        assert self.begun.wait(30)
        begun += [pool.submit(self._held, plan) for plan in others]
        shared = self.probe._shared
        assert shared is not None
        while shared.waiting < len(others):
            threading.Event().wait(0.001)
        self.gate.set()
        pool.shutdown(wait=False)
        return begun

    def _held(self, plan: SyncPlan) -> tuple[Numbers, ExitStack]:
        with ExitStack() as stack:
            return stack.enter_context(self.probe.snapshot(plan)), stack.pop_all()


def snapshots(source: Source) -> int:
    """Transactions of the reader in this database that hold a snapshot at this moment."""
    with source.connect() as connection:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'incremental-assets' AND state = 'idle in transaction'"
        (count,) = connection.execute(sql).fetchone()  # type: ignore[misc]
    return int(count)


@pytest.fixture
def tables(source: Source) -> Source:
    for name, rows in (("a", 1), ("b", 2), ("c", 3)):
        source.execute(
            f"CREATE TABLE {name} (id int PRIMARY KEY, n int)",
            f"INSERT INTO {name} SELECT g, g FROM generate_series(1, {rows}) g",
        )
    return source


def test_tables_that_wait_at_the_same_time_are_counted_in_one_snapshot(
    tables: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Together(tables, monkeypatch)
    plans = [planned(together.probe, tables.spec(name, NUMBER)) for name in "abc"]
    held = [future.result(30) for future in together.ask(*plans)]
    assert together.sizes == [1, 2]
    assert [numbers.rows for numbers, _ in held] == [1, 2, 3]
    assert held[1][0].handle.snapshot_id == held[2][0].handle.snapshot_id != held[0][0].handle.snapshot_id
    assert snapshots(tables) == 2
    for _, stack in held[:2]:
        stack.close()
    assert snapshots(tables) == 1, "it is held for as long as one of its tables reads"
    held[2][1].close()
    assert snapshots(tables) == 0


def test_a_table_that_was_altered_stops_alone(tables: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    together = Together(tables, monkeypatch)
    plans = [planned(together.probe, tables.spec(name, NUMBER)) for name in "abc"]
    tables.execute("ALTER TABLE b ALTER COLUMN n TYPE bigint")
    first, altered, last = together.ask(*plans)
    with pytest.raises(SourceRefused, match=r"b: the table was altered in the source .*\(columns n\)"):
        altered.result(30)
    for future in (first, last):
        future.result(30)[1].close()
    assert snapshots(tables) == 0


@pytest.mark.parametrize(
    ("condition", "kind", "told"),
    [
        pytest.param("n / (n - n) = 1", SourceRefused, "division by zero", id="an error of its own"),
        # As where a pooler, or somebody by hand, ends what takes too long.
        pytest.param(
            "pg_terminate_backend(pg_backend_pid())",
            SourceUnreachable,
            "terminating connection due to administrator command",
            id="the end of the session of all",
        ),
    ],
)
def test_a_table_whose_question_fails_stops_alone(
    tables: Source, monkeypatch: pytest.MonkeyPatch, condition: str, kind: type[Exception], told: str
) -> None:
    tables.execute(f"CREATE VIEW broken AS SELECT id, n FROM a WHERE {condition}")
    together = Together(tables, monkeypatch)
    before, after = (planned(together.probe, tables.spec(name, NUMBER)) for name in ("a", "c"))
    broken = planned(together.probe, tables.spec("broken", strategy=Strategy.FULL_REFRESH))
    first, failing, last = together.ask(before, broken, after)
    with pytest.raises(kind, match=told):
        failing.result(30)
    numbers, stack = last.result(30)
    assert numbers.rows == 3
    stack.close()
    first.result(30)[1].close()
    assert snapshots(tables) == 0


def test_an_end_from_outside_interrupts_the_tables_that_share_the_snapshot_and_closes_it(
    tables: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Together(tables, monkeypatch)
    plans = [planned(together.probe, tables.spec(name, NUMBER)) for name in "abc"]
    read_catalogue = unaltered.read_catalogue

    def ended(asked: Any, source: str, schemas: Sequence[str], names: Sequence[str]) -> tuple[TableShape, ...]:
        if len(names) > 1:
            raise KeyboardInterrupt
        return read_catalogue(asked, source, schemas, names)

    monkeypatch.setattr(unaltered, "read_catalogue", ended)
    first, *others = together.ask(*plans)
    met = [other.exception(30) for other in others]
    # One of the two asks for both.
    assert sorted(type(each).__name__ for each in met) == ["Interrupted", "KeyboardInterrupt"]
    first.result(30)[1].close()
    assert snapshots(tables) == 0


def test_a_snapshot_shows_what_was_committed_before_it_and_nothing_after_it(
    tables: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Together(tables, monkeypatch)
    probe = together.probe
    plans = [planned(probe, tables.spec(name, NUMBER)) for name in "abc"]
    futures = together.ask(*plans)
    held = [future.result(30) for future in futures]
    tables.execute("INSERT INTO c VALUES (9, 9)")
    assert held[2][0].rows == 3
    for _, stack in held:
        stack.close()
    with probe.snapshot(planned(probe, tables.spec("c", NUMBER))) as numbers:
        assert numbers.rows == 4


def test_tables_that_share_a_snapshot_are_looked_up_in_the_catalogue_together(
    tables: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: list[tuple[str, ...]] = []
    read_catalogue = unaltered.read_catalogue

    def noted(asked: Any, source: str, schemas: Sequence[str], names: Sequence[str]) -> tuple[TableShape, ...]:
        looked_up.append(tuple(names))
        return read_catalogue(asked, source, schemas, names)

    monkeypatch.setattr(unaltered, "read_catalogue", noted)
    probe = tables.open()
    plans = [planned(probe, tables.spec(name, NUMBER)) for name in "abc"]
    with probe._shared_snapshot() as ask:
        assert [numbers.rows for numbers in ask(plans)] == [1, 2, 3]
    assert looked_up == [("a", "b", "c")]


def test_a_table_that_is_emptied_once_the_snapshot_stands_stops_alone(tables: Source) -> None:
    probe = tables.open()
    plans = [planned(probe, tables.spec(name, NUMBER)) for name in "abc"]
    with probe._shared_snapshot() as ask:
        tables.execute("TRUNCATE b")
        first, emptied, last = shared_snapshot._each(ask, plans)
    assert isinstance(emptied, SourceRefused)
    assert "b: the table was altered in the source" in str(emptied)
    assert "it was rewritten or recreated" in str(emptied)
    assert [numbers.rows for numbers in (first, last) if isinstance(numbers, Numbers)] == [1, 3]


def test_a_table_of_the_same_name_in_another_schema_is_another_table(tables: Source) -> None:
    tables.execute(
        "CREATE SCHEMA more",
        "CREATE TABLE more.a (id int PRIMARY KEY, n int, extra text)",
        "INSERT INTO more.a VALUES (1, 1, 'x'), (2, 2, 'y')",
        "CREATE TABLE more.c (id int)",
    )
    probe = tables.open(schemas=("public", "more"))
    shapes = {str(shape.id): shape for shape in probe.catalogue()}
    plans = [
        planned(probe, TableSpec(shapes[name], Strategy.APPEND, NUMBER))
        for name in ("shop.public.a", "shop.more.a", "shop.public.c")
    ]
    with probe._shared_snapshot() as ask:
        assert [numbers.rows for numbers in ask(plans)] == [1, 2, 3]
