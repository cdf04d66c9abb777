"""Several tables at once: the biggest first, one failure stops nobody."""

from __future__ import annotations

import logging
import threading
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import Occurrence, PhaseBegun
from incremental_assets.core.planning.plan import Request, SyncPlan
from incremental_assets.core.planning.report import Status
from incremental_assets.core.ports import GoneRows, Snapshot
from incremental_assets.core.syncing.sync_many import as_they_land, sync_many
from tests.fakes import FakeStage, Process, World
from tests.scenario import ORDERS_SHAPE, orders

STAMP = "2024-01-29T09:00:00Z"


def tables(*sizes: int) -> list[TableSpec]:
    """`t0`, `t1`, …, of these sizes."""
    base = orders()
    shapes = [
        replace(ORDERS_SHAPE, id=TableId("shop", "public", f"t{number}"), bytes=size)
        for number, size in enumerate(sizes)
    ]
    return [replace(base, shape=shape) for shape in shapes]


def world(specs: list[TableSpec]) -> World:
    """A row in each of them."""
    made = World.of(*(spec.shape for spec in specs))
    for number, spec in enumerate(specs):
        made.database.insert(spec.id, id=number, customer="ada", status="new", updated_at=STAMP)
    return made


def request(spec: TableSpec) -> Request:
    return Request("run")


def test_every_table_lands_and_the_reports_are_in_the_order_asked_for() -> None:
    specs = tables(1, 3, 2)
    made = world(specs)
    reports = sync_many(specs, request, made.ports(), 2)

    assert [report.table.name for report in reports] == ["t0", "t1", "t2"]
    assert sorted(report.table.name for report in made.observer.reports) == ["t0", "t1", "t2"]
    assert all(len(made.rows(spec.id)) == 1 for spec in specs)


def test_the_biggest_is_begun_first() -> None:
    specs = tables(1, 30, 2)
    made = world(specs)
    sync_many(specs, request, made.ports(), 1)
    begun = [table.name for table, stage in made.observer.phases if stage == "plan"]
    assert begun == ["t1", "t2", "t0"]


def test_a_failed_table_and_a_busy_one_stop_none_of_the_others() -> None:
    specs = tables(1, 2, 3)
    made = world(specs)
    made.database.update(specs[0].id, {"id": 0}, updated_at=None)
    with made.checkpoints.lease(specs[1].id, "another run"):
        reports = sync_many(specs, request, made.ports(), 3)

    assert [report.status for report in reports] == [Status.FAILED, Status.BUSY, Status.LANDED]
    assert reports[0].error is not None
    assert "no 'updated_at'" in reports[0].error


class Broken:
    """A source with a fault that nobody foresaw."""

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Snapshot]:
        raise ZeroDivisionError("division by zero\nsecond line")


def test_an_error_that_nobody_foresaw_is_one_sentence_and_its_traceback_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    specs = tables(1)
    ports = replace(world(specs).ports(), source=Broken())
    with caplog.at_level(logging.ERROR, "incremental_assets.core.syncing.sync_many"):
        (report,) = sync_many(specs, request, ports, 4)

    assert (report.status, report.error) == (
        Status.FAILED,
        "shop.public.t0: unexpected ZeroDivisionError: division by zero",
    )
    assert caplog.records[0].exc_info is not None


def test_no_more_tables_at_once_than_allowed() -> None:
    specs = tables(*(64 * 2**20 + number for number in range(8)))
    made = world(specs)
    inside, most, lock = 0, 0, threading.Lock()

    class Counter(Observer):
        def notify(self, occurrence: Occurrence) -> None:
            nonlocal inside, most
            if isinstance(occurrence, PhaseBegun):
                with lock:
                    inside += {"plan": 1, "landed": -1}.get(occurrence.phase, 0)
                    most = max(most, inside)

    reports = sync_many(specs, request, replace(made.ports(), observer=Counter()), 3)
    assert {report.status for report in reports} == {Status.LANDED}
    assert most <= 3


def test_whoever_stops_listening_lets_the_begun_ones_finish_and_begins_no_other() -> None:
    specs = tables(*range(20))
    made = world(specs)
    listening = as_they_land(specs, request, made.ports(), 1)
    next(listening)
    listening.close()  # type: ignore[attr-defined]

    begun = {table for table, stage in made.observer.phases if stage == "plan"}
    ended = {table for table, stage in made.observer.phases if stage == "landed"}
    assert begun == ended
    assert len(begun) < 20


def test_no_table_is_no_report() -> None:
    made = world(tables(1))
    assert sync_many([], request, made.ports(), 4) == ()
    assert made.observer.reports == []


def test_small_tables_are_at_work_all_together_beside_as_many_large_ones_as_were_asked_for() -> None:
    large, small = 2**25, 30
    specs = tables(*[large] * 3, *[1] * small)
    made, lock, at_work, most = world(specs), threading.Lock(), {"large": 0, "small": 0}, {"large": 0, "small": 0}
    together = threading.Barrier(2 + small, timeout=60)

    class Meeting(FakeStage):
        """All small tables and two large ones are there at the same time, or nobody gets any further."""

        def write(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None = None) -> Batch:
            kind = "large" if plan.spec.shape.bytes == large else "small"
            with lock:
                at_work[kind] += 1
                most[kind] = max(most[kind], at_work[kind])
            if kind == "small" or plan.spec.id.name != "t2":
                together.wait()
            batch = super().write(plan, snapshot, gone)
            with lock:
                at_work[kind] -= 1
            return batch

    ports = made.ports()
    reports = sync_many(specs, request, replace(ports, stage=Meeting(made.stage.batches)), 2)

    assert {report.status for report in reports} == {Status.LANDED}
    assert most == {"large": 2, "small": small}


def test_one_table_at_a_time_is_meant_of_small_ones_too() -> None:
    specs = tables(1, 2, 3)
    made = world(specs)
    sync_many(specs, request, made.ports(), 1)
    assert [table.name for table, phase in made.observer.phases if phase in ("plan", "landed")] == [
        "t2", "t2", "t1", "t1", "t0", "t0",
    ]  # fmt: skip


def test_tables_that_are_synced_together_are_looked_at_together() -> None:
    specs = tables(1, 2, 3)
    made = world(specs)
    sync_many(specs, request, made.ports(), 2)
    for spec in specs:
        made.database.insert(spec.id, id=10, customer="bob", status="new", updated_at=made.database.stamp())
    made.pass_time(10)
    process = Process("host:1")

    reports = sync_many(specs, request, made.ports(process), 2)

    assert [report.rows.read for report in reports] == [1, 1, 1]
    assert process.moments.count("before observe") == 1


def test_a_look_at_all_tables_that_fails_leaves_each_to_its_own() -> None:
    specs = tables(1, 2)
    made, process = world(specs), Process("host:1")

    def fail() -> None:
        raise SourceUnreachable("shop: the source does not answer")

    process.at["before observe"] = fail
    reports = sync_many(specs, request, made.ports(process), 2)

    assert [report.status for report in reports] == [Status.LANDED, Status.LANDED]
