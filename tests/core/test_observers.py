"""Whoever wants to know is told, and nobody who is told can hurt a sync."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from incremental_assets.core.errors import EngineLost
from incremental_assets.core.model.table import Strategy, TableId
from incremental_assets.core.observers import Observer, Observers
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.syncing.retry_once import retry_once
from incremental_assets.core.syncing.sync_many import attempt
from tests.fakes import Process, World
from tests.fakes.recorder import Recorder
from tests.scenario import ORDERS, monday, orders, shop

UPSERT = orders(Strategy.UPSERT)


class Broken(Observer):
    """An exporter whose server is away."""

    def on_phase(self, table: TableId, phase: str) -> None:
        raise ConnectionError("no collector")

    def on_report(self, report: SyncReport) -> None:
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
    with caplog.at_level(logging.ERROR, "incremental_assets.core.observers"):
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
        told.on_phase(ORDERS, "plan")
    told.on_phase(ORDERS, "read")
    assert (first.phases, guest.phases) == ([(ORDERS, "plan"), (ORDERS, "read")], [(ORDERS, "plan")])
