"""Checks of tables that have landed, several at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

import pytest

from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.checks.run_checks import Scope, applicable, audit
from incremental_assets.core.config.settings import Freshness, Parallel, TableConfig
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.measure import Duplicates, Measure, RowHash
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.table import FuturePolicy, Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check, Severity
from incremental_assets.core.model.window import Window
from tests.fakes import FakeLake, FakeProbe, World
from tests.fakes.recorder import Recorder
from tests.scenario import ORDERS, ORDERS_SHAPE, orders, shop

TERMS = TableConfig("public", "orders", Strategy.UPSERT, freshness=Freshness(timedelta(minutes=15), timedelta(hours=1)))


def terms_of(_: TableId) -> TableConfig:
    return TERMS


def landed(*sizes: int) -> tuple[World, list[TableSpec]]:
    """`t0`, `t1`, …, of these sizes, with a row each."""
    specs = [
        replace(orders(), shape=replace(ORDERS_SHAPE, id=TableId("shop", "public", f"t{number}"), bytes=size))
        for number, size in enumerate(sizes)
    ]
    world = World.of(*(spec.shape for spec in specs))
    for spec in specs:
        world.database.insert(spec.id, id=1, customer="ada", status="new", updated_at="2024-01-05T00:00:00Z")
        world.sync(spec)
    return world, specs


def test_checks_apply_where_they_can_say_something() -> None:
    assert applicable(TERMS) == (Check.FRESHNESS, Check.DUPLICATES, Check.RECONCILIATION, Check.SCHEMA)
    assert applicable(TableConfig("public", "log", Strategy.APPEND)) == (Check.RECONCILIATION, Check.SCHEMA)


def test_what_cannot_be_asked_has_not_passed_and_stops_no_other_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: object) -> None:
        raise SourceUnreachable("shop: nobody answers")

    world, spec = World(shop()), orders()
    world.database.insert(ORDERS, id=1, customer="ada", status="new", updated_at="2024-01-05T00:00:00Z")
    world.sync(spec)
    monkeypatch.setattr(FakeProbe, "measure", down)
    monkeypatch.setattr(FakeProbe, "lag", down)

    found = {verdict.check: verdict for verdict in audit([spec], Scope(parallel=1), terms_of, world.ports())}
    assert {check for check, verdict in found.items() if verdict.passed} == {Check.DUPLICATES, Check.SCHEMA}
    assert found[Check.RECONCILIATION].detail == found[Check.FRESHNESS].detail == "shop: nobody answers"
    assert found[Check.FRESHNESS].severity is Severity.ERROR


def test_freshness_asks_for_the_bound_alone_and_observes_no_table_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    world, specs = landed(1, 2)
    ports, asked = world.ports(), list[int]()
    observe = FakeProbe.observe

    def counted(self: FakeProbe, looks: Sequence[ObserveRequest]) -> tuple[DatabaseObservation, ...]:
        asked.append(len(looks))
        return observe(self, looks)

    monkeypatch.setattr(FakeProbe, "observe", counted)
    found = list(audit(specs, Scope(1, lambda _: (Check.FRESHNESS,)), terms_of, ports))
    assert [verdict.passed for verdict in found] == [True, True]
    assert asked == [2], "the fake observes once to tell the lags"


def test_freshness_says_which_rows_cannot_land_beside_those_that_have() -> None:
    world, spec = World(shop()), orders(future=FuturePolicy.QUARANTINE)
    for number, stamp in enumerate(("2024-01-05T00:00:00Z", "2999-01-01T00:00:00Z")):
        world.database.insert(ORDERS, id=number, customer="ada", status="new", updated_at=stamp)
    world.sync(spec)
    (found,) = audit([spec], Scope(1, lambda _: (Check.FRESHNESS,)), terms_of, world.ports())
    assert (found.passed, found.quarantined) == (True, 1)
    assert found.detail.startswith("every row that can land has landed; 1 row of the source cannot land")


def test_only_the_checks_asked_for_are_made() -> None:
    world, spec = World(shop()), orders()
    assert [
        verdict.check for verdict in audit([spec], Scope(1, lambda _: (Check.SCHEMA,)), terms_of, world.ports())
    ] == [Check.SCHEMA]


def test_an_error_that_nobody_foresaw_stops_no_other_check(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero\nsecond line")

    world, specs = landed(1, 2)
    monkeypatch.setattr(FakeProbe, "measure", broken)
    with caplog.at_level(logging.ERROR):
        found = list(audit(specs, Scope(parallel=2), terms_of, world.ports()))

    failed = [verdict for verdict in found if not verdict.passed]
    assert len(found) == 2 * len(applicable(TERMS))
    assert {(verdict.check, verdict.detail) for verdict in failed} == {
        (Check.RECONCILIATION, f"shop.public.{name}: unexpected ZeroDivisionError: division by zero")
        for name in ("t0", "t1")
    }
    assert "Traceback" in caplog.text


def test_several_tables_are_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world, specs = landed(1, 1)
    both, count = threading.Barrier(2, timeout=60), FakeProbe.measure

    def measure(probe: FakeProbe, spec: TableSpec, windows: Sequence[Window], by: RowHash) -> tuple[Measure, ...]:
        both.wait()
        return count(probe, spec, windows, by)

    monkeypatch.setattr(FakeProbe, "measure", measure)
    found = list(audit(specs, Scope(2, lambda _: (Check.RECONCILIATION,)), terms_of, world.ports()))
    assert {verdict.table.name for verdict in found if verdict.passed} == {"t0", "t1"}


def test_duplicates_of_a_table_are_looked_for_while_its_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    world, specs = landed(1)
    both, count, look = threading.Barrier(2, timeout=60), FakeProbe.measure, FakeLake.duplicates

    def measure(probe: FakeProbe, spec: TableSpec, windows: Sequence[Window], by: RowHash) -> tuple[Measure, ...]:
        both.wait()
        return count(probe, spec, windows, by)

    def duplicates(lake: FakeLake, spec: TableSpec) -> Duplicates:
        both.wait()
        return look(lake, spec)

    monkeypatch.setattr(FakeProbe, "measure", measure)
    monkeypatch.setattr(FakeLake, "duplicates", duplicates)
    found = list(audit(specs, Scope(parallel=2), terms_of, world.ports()))
    assert {verdict.check for verdict in found if verdict.passed} >= {Check.RECONCILIATION, Check.DUPLICATES}


def test_the_biggest_table_is_begun_first_and_its_rows_before_its_keys() -> None:
    world, specs = landed(1, 30, 2)
    found = list(audit(specs, Scope(1, lambda _: set(Check) - {Check.FRESHNESS}), terms_of, world.ports()))
    assert [verdict.table.name for verdict in found[::3]] == ["t1", "t2", "t0"]
    assert [verdict.check for verdict in found[:3]] == [Check.RECONCILIATION, Check.DUPLICATES, Check.SCHEMA]


def test_checks_hold_no_more_connections_than_a_sync_may_and_are_no_more_than_tables() -> None:
    assert Parallel(tables=8, connections=4).checks == 2
    assert Parallel(tables=1, connections=8).checks == 1
    assert Parallel(tables=8, connections=1).checks == 1


def test_each_table_is_asked_only_its_own_checks() -> None:
    world, specs = landed(1, 2)
    wanted = {specs[0].id: (Check.SCHEMA,), specs[1].id: (Check.FRESHNESS, Check.DUPLICATES)}
    told = Recorder()

    found = list(audit(specs, Scope(1, lambda table: wanted[table]), terms_of, replace(world.ports(), observer=told)))

    assert {(verdict.table.name, verdict.check) for verdict in found} == {
        ("t0", Check.SCHEMA),
        ("t1", Check.FRESHNESS),
        ("t1", Check.DUPLICATES),
    }
    assert sorted((table.name, check) for table, check in told.checks) == [("t0", "schema"), ("t1", "duplicates")]
    assert told.verdicts == found


def test_a_check_of_the_drifted_window_that_passes_forgets_its_drift() -> None:
    world, specs = landed(1)
    (spec,) = specs
    lost = world.lake.tables[spec.id].log[-1]
    world.lake.tables[spec.id].log.append(replace(lost, rows=(), ours=False))
    elsewhere, there = (
        Window(*(CursorValue.parse(CursorType.TIMESTAMP, text) for text in ends))
        for ends in (("2023-12-01", "2024-01-01"), ("2024-01-01", "2024-02-01"))
    )

    by_month = replace(TERMS, partitions=TimeGrid(Every.MONTH, date(2023, 1, 1)))

    def check(windows: Sequence[Window] | None) -> int:
        scope = Scope(1, lambda _: (Check.RECONCILIATION,), lambda _: windows)
        list(audit(specs, scope, lambda _: by_month, world.ports()))
        return world.checkpoints.verified()[spec.id].drift

    assert check(None) == 1
    world.lake.tables[spec.id].log.append(lost)
    assert check((elsewhere,)) == 1, "a look elsewhere proves nothing of it"
    assert check((there,)) == 0
