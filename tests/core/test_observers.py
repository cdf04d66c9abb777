"""Whoever wants to know is told, and nobody who is told can hurt a sync."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.errors import EngineLost, SourceUnreachable
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.observing.observers import Observer, Observers
from incremental_assets.core.observing.occurrences import (
    Committed,
    LeaseTaken,
    Occurrence,
    PhaseBegun,
    SourceObserved,
    SyncEnded,
)
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status
from incremental_assets.core.ports import Probe
from incremental_assets.core.syncing.cached_probe import CachedProbe
from incremental_assets.core.syncing.looking import observe
from incremental_assets.core.syncing.retry_once import retry_once
from incremental_assets.core.syncing.sync_many import attempt
from tests.fakes import Process, World
from tests.fakes.recorder import Recorder
from tests.scenario import ORDERS, monday, orders, shop

UPSERT = orders(Strategy.UPSERT)


class Broken(Observer):
    """An exporter whose server is away."""

    def notify(self, occurrence: Occurrence) -> None:
        raise ConnectionError("no collector")


@pytest.fixture
def world() -> World:
    made = World(shop())
    monday(made.database).commit()
    return made


def test_an_observer_that_fails_stops_neither_the_sync_nor_the_others(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Recorder()
    with caplog.at_level(logging.ERROR, "incremental_assets.core.observing.observers"):
        report = attempt(UPSERT, Request("run"), replace(world.ports(), observer=Observers(Broken(), heard)))
    assert report.status is Status.LANDED
    assert len(world.rows(ORDERS)) == len(world.database.rows(ORDERS)) > 0
    assert [phase for _, phase in heard.phases] == ["plan", "read", "apply", "landed"]
    assert heard.reports == [report]
    assert {record.getMessage() for record in caplog.records} == {
        "Broken failed while it was notified; the sync continues"
    }


def test_an_idle_sync_a_failed_one_and_a_busy_one_are_told_as_well(world: World) -> None:
    attempt(UPSERT, Request("first"), world.ports())
    attempt(UPSERT, Request("idle"), world.ports())
    with world.checkpoints.lease(ORDERS, "another run"):
        attempt(UPSERT, Request("busy"), world.ports())
    world.database.tick(60)
    world.database.insert(ORDERS, id=9, customer="eve", status="new", updated_at=world.database.stamp())
    world.stage.loses = 1
    attempt(UPSERT, Request("failed"), world.ports())
    assert [(report.run_id, report.status) for report in world.observer.reports] == [
        ("first", Status.LANDED),
        ("idle", Status.IDLE),
        ("busy", Status.BUSY),
        ("failed", Status.FAILED),
    ]


def test_what_is_done_once_more_is_told_with_the_reason() -> None:
    heard, lost = Recorder(), EngineLost(4711, "engine.log")
    outcomes = iter((lost, None))

    def work() -> str:
        if error := next(outcomes):
            raise error
        return "done"

    assert retry_once(work, ORDERS, replace(World(shop()).ports(), observer=heard)) == "done"
    assert heard.retries == [(ORDERS, lost)]


@pytest.mark.parametrize("lost_before", [False, True], ids=["meanwhile", "before it began"])
def test_any_error_of_a_sync_whose_engine_was_left_meanwhile_is_that_loss(world: World, lost_before: bool) -> None:
    lost = EngineLost(4711, "engine.log")
    told, process = [lost] if lost_before else [], Process("running")

    def left_by_another_thread() -> None:
        told.append(lost)
        raise TypeError("'Column' object is not callable")

    process.at["before write"] = left_by_another_thread
    ports = replace(world.ports(process), lost_engine=lambda: told[0] if told else None)
    report = attempt(UPSERT, Request("run"), ports)
    if lost_before:
        assert (report.status, world.observer.retries) == (Status.FAILED, [])
        assert "TypeError" in str(report.error)
    else:
        assert (report.status, world.observer.retries) == (Status.LANDED, [(ORDERS, lost)])
        assert len(world.rows(ORDERS)) == len(world.database.rows(ORDERS)) > 0


def test_who_joins_for_a_while_hears_that_while() -> None:
    first, guest = Recorder(), Recorder()
    told = Observers(first)
    with told.joined_by(guest):
        told.notify(PhaseBegun(ORDERS, "run", "plan"))
    told.notify(PhaseBegun(ORDERS, "run", "read"))
    assert (first.phases, guest.phases) == ([(ORDERS, "plan"), (ORDERS, "read")], [(ORDERS, "plan")])


def test_one_sync_from_its_lease_to_its_report(world: World) -> None:
    report = attempt(UPSERT, Request("run"), world.ports())
    told = [occurrence for occurrence in world.observer.all if not isinstance(occurrence, PhaseBegun)]
    lease, look, commit, end = told
    assert isinstance(lease, LeaseTaken)
    assert (lease.table, lease.run_id) == (ORDERS, "run")
    assert isinstance(look, SourceObserved)
    assert (look.tables, look.run_id, look.error) == ((ORDERS,), "run", None)
    assert commit == Committed(UPSERT, "run", report.seq or 0, report.target_version or 0, "")
    assert end == SyncEnded(report)


def test_a_lease_that_another_run_holds_was_not_taken(world: World) -> None:
    with world.checkpoints.lease(ORDERS, "another run"):
        report = attempt(UPSERT, Request("busy"), world.ports())
    assert world.observer.all == [SyncEnded(report)]


def test_a_source_that_does_not_answer_was_looked_at_in_vain(world: World) -> None:
    away, heard = SourceUnreachable("shop: it is away"), Recorder()

    class Away:
        def observe(self, looks: Sequence[ObserveRequest]) -> tuple[Observation, ...]:
            raise away

    looks = (ObserveRequest(UPSERT, None),)
    with pytest.raises(SourceUnreachable):
        observe(cast(Probe, Away()), looks, heard, "run")
    (look,) = heard.all
    assert isinstance(look, SourceObserved)
    assert (look.tables, look.run_id, look.error) == ((ORDERS,), "run", away)


def test_what_an_earlier_look_has_answered_is_no_look(world: World) -> None:
    looks = (ObserveRequest(UPSERT, None),)
    probe, heard = world.ports().probe, Recorder()
    seen = probe.observe(looks)
    assert observe(CachedProbe(probe, looks, seen), looks, heard) == seen
    assert heard.all == []
