"""What is not repaired, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.errors import Busy, SelectionError, TargetChanged, TermsChanged
from incremental_assets.core.planning.report import Status
from tests.core.repairs import check, drift, equal, repair, settled
from tests.fakes import World
from tests.fakes.delta_table import LogEntry
from tests.scenario import ORDERS, countries, order, orders, shop

pytestmark = pytest.mark.usefixtures("few")


def test_nothing_is_repaired_that_no_check_has_found() -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    done = repair(world, spec)
    assert (done.report.status, done.report.reason) == (
        Status.IDLE,
        "it was never checked: run `incremental-assets check --select shop.public.orders`",
    )


def test_a_table_that_is_read_whole_is_refused_with_what_to_do() -> None:
    world = World(shop())
    with pytest.raises(SelectionError, match="is read whole and has no windows to repair; read it again with `incre"):
        repair_table(countries(), None, "the-repair", world.ports())


def test_a_table_that_is_compared_is_not_said_to_be_read_whole() -> None:
    spec = replace(orders(), cursor=None, compares=True)
    with pytest.raises(
        SelectionError, match="is compared as a whole and has no windows to repair; read it again with `incre"
    ):
        repair_table(spec, None, "the-repair", World(shop()).ports())


def test_what_landed_on_other_terms_is_not_repaired_by_the_new_ones() -> None:
    world = settled(orders())
    drift(world)
    with pytest.raises(TermsChanged, match="cursor updated_at:timestamp -> id:integer"):
        repair(world, orders(cursor="id"))


def test_while_a_sync_holds_the_lease_a_repair_waits_for_another_day() -> None:
    spec = orders()
    world = settled(spec)
    drift(world)
    check(world, spec)
    order(world.database, "new", "2024-01-29T09:00:00Z")
    world.pass_time(60)
    asleep = world.asleep(spec, "before commit")
    with pytest.raises(Busy):
        repair(world, spec)
    asleep.wake()
    assert repair(world, spec).report.status is Status.LANDED
    assert equal(world)


def test_a_copy_that_another_writer_changed_is_not_repaired_over_his_head() -> None:
    spec = orders()
    world = settled(spec)
    table = world.lake.tables[ORDERS]
    table.log.append(LogEntry(tuple(row for row in table.rows if row["id"] != 3), "DELETE", ours=False))
    check(world, spec)
    with pytest.raises(TargetChanged):
        repair(world, spec)
