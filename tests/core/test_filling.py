"""Columns that come after rows have landed: their values are read for these rows, a range at a time, whatever a run dies of."""

import itertools
from dataclasses import replace

import pytest

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.schema_change import Change
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning import fill_ranges
from incremental_assets.core.planning.fill_ranges import MOST_RANGES, ranges, slices
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.syncing import filling
from incremental_assets.core.syncing.filling import sync_and_fill
from tests.core.stories import UPSERT, assert_equal, one_more
from tests.fakes import Killed, Process, World, ordered
from tests.scenario import ORDERS, order, orders, shop

CUSTOMERS = ("ada", "grace", "barbara", "alan", "mary")


def without_status(spec: TableSpec) -> TableSpec:
    """As it was before it got its status."""
    return replace(spec, shape=replace(spec.shape, columns=tuple(c for c in spec.columns if c.name != "status")))


def altered(spec: TableSpec = UPSERT) -> World:
    """Five orders that landed without a status, an hour apart, and have one now; the copy shows none of it."""
    world = World(shop())
    for customer in CUSTOMERS:
        order(world.database, customer, world.database.stamp())
        world.database.tick(3600)
    filled(world, without_status(spec))
    table = world.lake.tables[ORDERS]
    table.log[-1] = replace(table.log[-1], rows=tuple({**row, "status": None} for row in table.rows))
    world.lake.known = {ORDERS: without_status(spec).columns}
    return world


def filled(world: World, spec: TableSpec, process: Process | None = None) -> SyncReport:
    """One sync, and what it fills."""
    return sync_and_fill(spec, world.request(Mode.SYNC), world.ports(process))


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row is as much as a range may have."""
    monkeypatch.setattr(fill_ranges, "MOST_ROWS", 1)
    monkeypatch.setattr(filling, "MOST_ROWS", 1)


def test_a_column_with_a_default_has_it_in_all_rows_though_none_of_them_moved() -> None:
    world = altered()
    report = filled(world, UPSERT)
    assert_equal(world)
    assert (report.status, report.rows.updated, report.unfilled) == (Status.LANDED, 5, ())
    assert [change.change for change in report.schema_changes] == [Change.ADDED, Change.FILLED]
    assert filled(world, UPSERT).status is Status.IDLE


@pytest.mark.usefixtures("small_ranges")
def test_a_sync_reads_a_bounded_part_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill_ranges, "MOST_RANGES", 2)
    world = altered()
    first, second, third = (filled(world, UPSERT) for _ in range(3))
    assert [len(each.unfilled) for each in (first, second, third)] == [1, 1, 0]
    assert "the next sync goes on from" in first.warnings[-1]
    assert_equal(world)
    assert sum(each.rows.updated for each in (first, second, third)) == len(CUSTOMERS)


@pytest.mark.usefixtures("small_ranges")
def test_whatever_moment_it_dies_at_the_next_sync_goes_on_and_nothing_lands_twice() -> None:
    for number in itertools.count():
        world, process = altered(), Process("dying")
        process.kill_at = number
        process.on_death = lambda: world.memory.gone.add("dying")  # noqa: B023 - called at once
        try:
            filled(world, UPSERT, process)
            break
        except Killed:
            pass
        one_more(world)
        filled(world, UPSERT)
        filled(world, UPSERT)
        assert_equal(world)
        assert world.checkpoints.position(ORDERS).open is None
        assert world.checkpoints.position(ORDERS).state.unfilled is None  # type: ignore[union-attr]
    assert number > 100


def test_a_row_that_moves_before_its_range_is_read_is_left_to_the_next_sync_and_never_shown_by_half() -> None:
    world, process = altered(), Process("running")

    def moves() -> None:
        stamp = world.database.stamp()
        world.database.update(ORDERS, {"customer": "ada"}, customer="ada l.", status="paid", updated_at=stamp)

    process.at["before confirmed"] = moves
    seen = 0

    def at_the_second_read() -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            process.at["before snapshot"] = moves

    process.at["after snapshot"] = at_the_second_read
    filled(world, UPSERT, process)
    halves = [row for row in world.rows(ORDERS) if row["customer"] == "ada" and row["status"] == "paid"]
    assert halves == []
    filled(world, UPSERT)
    assert_equal(world)


def test_the_source_that_goes_away_between_two_ranges_leaves_what_has_landed() -> None:
    world, process = altered(), Process("running")
    order(world.database, "late", world.database.stamp())
    world.database.tick(60)

    def gone() -> None:
        raise SourceUnreachable("shop: it does not answer")

    process.at["after snapshot"] = lambda: process.at.update({"before snapshot": gone})
    report = filled(world, UPSERT, process)
    assert (report.status, report.unfilled) == (Status.LANDED, ("status",))
    assert "could not be read for all rows that landed before" in report.warnings[-1]
    filled(world, UPSERT)
    assert_equal(world)


def test_an_append_keeps_each_version_as_it_was_read() -> None:
    append = orders(Strategy.APPEND)
    world = altered(append)
    before = ordered(world.rows(ORDERS))
    assert filled(world, append).status is Status.IDLE
    assert ordered(world.rows(ORDERS)) == before


def test_a_full_refresh_and_a_reset_leave_nothing_to_be_filled() -> None:
    world = altered()
    sync = world.sync(UPSERT)
    assert sync.unfilled == ("status",)
    assert world.sync(UPSERT, mode=Mode.FULL_REFRESH).unfilled == ()
    assert_equal(world)


def test_key_cursor_and_the_new_columns_alone_are_read_where_no_contract_and_no_declared_key_need_the_others() -> None:
    world = altered()
    world.sync(UPSERT)
    read: list[tuple[str, ...]] = []
    for spec in (UPSERT, replace(UPSERT, contract=Contract()), replace(UPSERT, key_enforced=False)):
        process = Process("reading")
        ports = world.ports(process)
        source = ports.source

        class Telling:
            def snapshot(self, plan):  # type: ignore[no-untyped-def]
                if plan.request.mode is Mode.FILL:
                    read.append(plan.spec.shape.names)
                return source.snapshot(plan)  # noqa: B023 - called at once

        before = world.checkpoints.position(ORDERS).state
        del before
        sync_and_fill(spec, world.request(Mode.SYNC), replace(ports, source=Telling()))  # type: ignore[arg-type]
        world = altered()
        world.sync(UPSERT)
    whole = UPSERT.shape.names
    assert read == [("id", "status", "updated_at"), whole, whole]


def value(number: int) -> CursorValue:
    return CursorValue.of(CursorType.INTEGER, number)


def test_ranges_touch_have_the_ends_of_what_is_left_and_are_as_many_as_one_sync_reads() -> None:
    left = Window(None, value(1_000_000))
    pieces = slices(left, value(1), value(2_000_000))
    assert (pieces[0].lower, pieces[-1].upper) == (None, value(1_000_000))
    assert all(one.upper == other.lower for one, other in itertools.pairwise(pieces))
    found = ranges(pieces, [300_000] * len(pieces))
    assert len(found) == MOST_RANGES
    assert found[0] == pieces[0]
    assert ranges(pieces, [1] * len(pieces)) == (left,)


@pytest.mark.parametrize("highest", ["infinity", "294246-01-01T00:00:00Z"])
def test_values_that_python_cannot_count_with_make_one_range(highest: str) -> None:
    lowest, end = (CursorValue.parse(CursorType.TIMESTAMP, text) for text in ("2024-01-01T00:00:00Z", highest))
    assert slices(Window(None, end), lowest, end) == (Window(None, end),)
