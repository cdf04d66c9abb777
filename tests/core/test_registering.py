"""Copies are made known to data catalogues after their commits, once for each state of their columns, and never at the cost of a sync."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.errors import CheckpointsUnreachable, SourceUnreachable
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.history import History
from incremental_assets.core.model.registration import (
    Catalogue,
    Described,
    DescribedColumn,
    NameTemplate,
    Registered,
    Registration,
)
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.syncing.idle import finish
from incremental_assets.core.syncing.sync_many import attempt, sync_many
from tests.core.test_idle import unmoved
from tests.fakes import World
from tests.fakes.checkpoints import FakeCheckpoints
from tests.fakes.registrar import FakeRegistrar
from tests.fakes.world import Killed
from tests.scenario import ORDERS, order, orders, shop

IN_GLUE = Registration(Catalogue.GLUE, NameTemplate("lake"), region="eu-central-1")
IN_SPARK = Registration(Catalogue.SPARK, NameTemplate("main.lake"), NameTemplate("{table}"))
KNOWN = replace(orders(), register=(IN_GLUE,))


@pytest.fixture
def world() -> World:
    made = World(shop())
    order(made.database, "ada", made.database.stamp())
    made.database.tick(60)
    made.registrar = FakeRegistrar(lambda table: described(made, table))
    return made


def described(world: World, table: TableId, spec: TableSpec = KNOWN) -> Described | None:
    """As the log of a real lake has it, in which these columns have landed."""
    copy = replace(table, name=table.name.removesuffix("__history"))
    columns = world.lake.columns(replace(spec, shape=replace(spec.shape, id=copy)))
    return Described(f"s3a://b/{table}", tuple(DescribedColumn(*each) for each in columns)) if columns else None


def registrar(world: World) -> FakeRegistrar:
    assert isinstance(world.registrar, FakeRegistrar)
    return world.registrar


def sync(world: World, spec: TableSpec = KNOWN) -> SyncReport:
    return attempt(spec, world.request(Mode.SYNC), world.ports())


def another_order(world: World) -> None:
    world.pass_time(60)
    order(world.database, "bob", world.database.stamp())
    world.pass_time(60)


def test_a_copy_is_made_known_after_its_first_commit_and_idle_syncs_ask_nothing(world: World) -> None:
    assert sync(world).status is Status.LANDED
    assert registrar(world).tables["lake.public_orders"][0] == "shop.public.orders"
    registrar(world).asked.clear()

    again = sync(world)
    assert (again.status, again.warnings, registrar(world).asked) == (Status.IDLE, (), [])
    assert [each.status for each in finish(unmoved(world, KNOWN), Request("run"), world.ports())] == [Status.IDLE]
    another_order(world)
    assert sync(world).status is Status.LANDED
    assert registrar(world).asked == []


def test_what_is_remembered_is_read_once_for_all_tables_of_a_run(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, registrations = list[None](), FakeCheckpoints.registrations

    def counted(checkpoints: FakeCheckpoints) -> dict[tuple[TableId, Catalogue], Registered]:
        asked.append(None)
        return registrations(checkpoints)

    monkeypatch.setattr(FakeCheckpoints, "registrations", counted)
    specs = [KNOWN]
    for name in ("returns", "items"):
        shape = replace(KNOWN.shape, id=replace(ORDERS, name=name))
        world.database.tables[shape.id] = replace(world.database.tables[ORDERS], shape=shape)
        specs.append(replace(KNOWN, shape=shape))
    registrar(world).of_lake = lambda table: Described(f"s3a://b/{table}", (DescribedColumn("id", "int"),))
    reports = sync_many(specs, lambda _: world.request(Mode.SYNC), world.ports(), parallel=2)
    assert {report.status for report in reports} == {Status.LANDED}
    assert len(registrar(world).tables) == 3
    assert len(asked) == 1


def test_a_change_of_the_columns_is_made_known_by_the_sync_that_lands_it(world: World) -> None:
    sync(world)
    wider = replace(
        KNOWN, shape=replace(KNOWN.shape, columns=(*KNOWN.columns, Column("n", "int", "int", Fidelity.EXACT)))
    )
    world.database.tables[ORDERS].shape = wider.shape
    registrar(world).of_lake = lambda table: described(world, table, wider)
    another_order(world)
    assert sync(world, wider).status is Status.LANDED
    assert [name for name, *_ in registrar(world).tables["lake.public_orders"][1].columns][-1] == "n"


def test_a_catalogue_that_does_not_answer_fails_no_sync_and_is_asked_again_by_the_next(world: World) -> None:
    registrar(world).is_silent = True
    report = sync(world)
    assert report.status is Status.LANDED
    assert report.warnings == (
        "the copy is complete, and could not be made known to AWS Glue (eu-central-1) as lake.public_orders: it did not answer; check the network; the next sync tries again",
    )
    assert world.memory.registrations[ORDERS, Catalogue.GLUE].problem == report.warnings[0]
    assert len(world.rows(ORDERS)) == 1

    registrar(world).is_silent = False
    again = sync(world)
    assert (again.status, again.warnings) == (Status.IDLE, ())
    assert "lake.public_orders" in registrar(world).tables
    assert world.memory.registrations[ORDERS, Catalogue.GLUE].problem == ""


def test_tables_that_a_look_finds_idle_are_tried_again_too(world: World) -> None:
    registrar(world).is_silent = True
    sync(world)
    (told,) = finish(unmoved(world, KNOWN), Request("run"), world.ports())
    assert "could not be made known" in told.warnings[0]
    registrar(world).is_silent = False
    (told,) = finish(unmoved(world, KNOWN), Request("run"), world.ports())
    assert (told.warnings, list(registrar(world).tables)) == ((), ["lake.public_orders"])


def test_an_unexpected_error_of_a_catalogue_is_one_sentence_and_its_traceback_is_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    registrar(world).fault = KeyError("Table")
    with caplog.at_level(logging.ERROR):
        report = sync(world)
    assert report.status is Status.LANDED
    assert "unexpected KeyError: 'Table'; the next sync tries again" in report.warnings[0]
    assert caplog.records[0].exc_info is not None


def test_a_table_of_somebody_else_is_told_by_each_sync_and_stays(world: World) -> None:
    theirs = ("other.public.orders", Described("s3a://elsewhere", ()))
    registrar(world).tables["lake.public_orders"] = theirs
    assert "of other.public.orders; remove it" in sync(world).warnings[0]
    assert "of other.public.orders; remove it" in sync(world).warnings[0]
    assert registrar(world).tables["lake.public_orders"] == theirs


def test_a_copy_that_landed_before_is_made_known_once_it_is_wanted_though_nothing_is_new(world: World) -> None:
    sync(world, orders())
    assert sync(world).status is Status.IDLE
    assert list(registrar(world).tables) == ["lake.public_orders"]


def test_under_another_name_it_is_made_known_by_the_next_sync(world: World) -> None:
    sync(world)
    moved = replace(KNOWN, register=(replace(IN_GLUE, table=NameTemplate("{table}")),))
    assert sync(world, moved).status is Status.IDLE
    assert list(registrar(world).tables) == ["lake.public_orders", "lake.orders"]


def test_each_catalogue_has_the_copy_and_its_history_and_one_that_fails_stops_no_other(world: World) -> None:
    both = replace(orders(history=History.SCD2), register=(IN_GLUE, IN_SPARK))
    registrar(world).tables["main.lake.orders"] = ("another", Described("s3a://elsewhere", ()))
    report = sync(world, both)
    assert registrar(world).asked == [
        "lake.public_orders",
        "main.lake.orders",
        "lake.public_orders__history",
        "main.lake.orders__history",
    ]
    assert ["main.lake.orders:" in each for each in report.warnings] == [True]
    assert registrar(world).tables["lake.public_orders__history"][1].location == "s3a://b/shop.public.orders__history"


def test_a_lost_checkpoint_database_costs_a_question_and_changes_nothing(world: World) -> None:
    sync(world)
    before = dict(registrar(world).tables)
    world.memory.registrations.clear()
    registrar(world).asked.clear()
    assert sync(world).warnings == ()
    assert (registrar(world).asked, registrar(world).tables) == (["lake.public_orders"], before)


def test_a_checkpoint_database_put_back_to_older_columns_has_the_catalogue_asked_by_the_next_landing(
    world: World,
) -> None:
    sync(world)
    old = Registered(ORDERS, Catalogue.GLUE, str(IN_GLUE.of(ORDERS)), "of older columns")
    world.memory.registrations[ORDERS, Catalogue.GLUE] = replace(old, at=datetime.now(UTC))
    registrar(world).asked.clear()
    another_order(world)
    sync(world)
    assert registrar(world).asked == ["lake.public_orders"]


def test_after_a_day_a_sync_that_lands_asks_again_as_somebody_may_have_removed_the_table(world: World) -> None:
    sync(world)
    registrar(world).tables.clear()
    kept = world.memory.registrations[ORDERS, Catalogue.GLUE]
    world.memory.registrations[ORDERS, Catalogue.GLUE] = replace(kept, at=datetime.now(UTC) - timedelta(days=2))
    assert sync(world).status is Status.IDLE
    assert registrar(world).tables == {}
    another_order(world)
    sync(world)
    assert list(registrar(world).tables) == ["lake.public_orders"]


def test_a_checkpoint_database_that_does_not_answer_at_that_moment_changes_no_report(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = world.ports()

    def silent(*_: object) -> None:
        raise CheckpointsUnreachable("here", "gone")

    monkeypatch.setattr(ports.checkpoints, "registrations", silent, raising=False)
    monkeypatch.setattr(ports.checkpoints, "record_registration", silent, raising=False)
    report = attempt(KNOWN, Request("run"), ports)
    assert (report.status, report.warnings) == (Status.LANDED, ())
    assert list(registrar(world).tables) == ["lake.public_orders"]


def test_a_run_that_dies_behind_its_commit_leaves_the_copy_to_be_made_known_by_the_next(world: World) -> None:
    process = world.process()
    process.at["after landed"] = process.kill
    with pytest.raises(Killed):
        attempt(KNOWN, world.request(Mode.SYNC), world.ports(process))
    assert registrar(world).asked == []
    assert (len(world.rows(ORDERS)), sync(world).status) == (1, Status.IDLE)
    assert list(registrar(world).tables) == ["lake.public_orders"]


def test_of_a_sync_that_failed_nothing_is_made_known(world: World) -> None:
    sync(world)
    world.memory.registrations.clear()
    registrar(world).asked.clear()
    another_order(world)
    process = world.process()
    process.at["before apply"] = lambda: (_ for _ in ()).throw(SourceUnreachable("gone"))
    assert attempt(KNOWN, Request("run"), world.ports(process)).status is Status.FAILED
    assert registrar(world).asked == []
