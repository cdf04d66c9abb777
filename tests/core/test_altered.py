"""A table that was altered in its source: no stamp has moved, so that its rows are compared once with the copy, and what differs is read."""

import itertools
from dataclasses import replace

import pytest

from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.definition import COLUMN, Definition, Fact, alterations, remembered
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.schema_change import Change
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import NullPolicy, Strategy, TableSpec
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.preview.pending import look_over
from incremental_assets.core.preview.preview import preview
from incremental_assets.core.syncing.idle import keep
from tests.fakes import Killed, World, ordered
from tests.fakes.source import FakeProbe
from tests.scenario import ORDERS, order, orders, shop

UPSERT, APPEND = orders(Strategy.UPSERT), orders(Strategy.APPEND)


def with_facts(spec: TableSpec, *facts: Fact) -> TableSpec:
    return replace(spec, shape=replace(spec.shape, facts=facts))


def defined(spec: TableSpec, number: int = 1) -> TableSpec:
    return with_facts(spec, Fact("table", (str(number),), "it was made anew"))


def five() -> World:
    """Five orders, an hour apart, and nothing open."""
    world = World(shop())
    for customer in ("ada", "grace", "barbara", "alan", "mary"):
        order(world.database, customer, world.database.stamp())
        world.database.tick(3600)
    return world


def alter(world: World, *numbers: int) -> None:
    """These rows show something else: no stamp, no version and no transaction tells of it."""
    rows = world.database.tables[ORDERS].rows
    for identity, stored in rows.items():
        if stored.values["id"] in numbers:
            rows[identity] = replace(stored, values={**stored.values, "status": f"altered {stored.values['id']}"})


def test_after_an_alteration_what_differs_is_read_in_one_commit_and_the_run_says_so() -> None:
    world = five()
    world.sync(defined(UPSERT))
    assert world.sync(defined(UPSERT)).status is Status.IDLE
    alter(world, 1, 4)
    order(world.database, "new", world.database.stamp())
    report = world.sync(defined(UPSERT, 2))
    assert report.rows == RowCounts(read=3, inserted=1, updated=2)
    assert report.guarantee is Guarantee.SETTLED
    announced, found = report.warnings
    assert announced.startswith(
        "the table was altered in the source (it was made anew), which moves no stamp: all rows are compared once"
    )
    assert found == "the comparison read 3 rows, of which 2 had other values in the copy and 1 were not in it"
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))
    assert world.sync(defined(UPSERT, 2)).status is Status.IDLE


def test_rows_with_old_stamps_that_no_sync_has_seen_land_too() -> None:
    world = five()
    world.sync(defined(UPSERT))
    order(world.database, "reloaded", "2024-01-29T09:30:00Z")
    assert world.sync(defined(UPSERT)).status is Status.IDLE
    assert world.sync(defined(UPSERT, 2)).rows == RowCounts(read=1, inserted=1)


def test_where_nothing_differs_nothing_is_written_and_it_is_not_compared_again() -> None:
    world = five()
    world.sync(defined(UPSERT))
    before = len(world.lake.tables[ORDERS].log)
    report = world.sync(defined(UPSERT, 2))
    assert (report.status, report.rows) == (Status.LANDED, RowCounts())
    assert len(world.lake.tables[ORDERS].log) == before
    assert world.sync(defined(UPSERT, 2)).status is Status.IDLE


def test_an_append_gets_the_versions_that_rows_show_now_beside_those_that_it_holds() -> None:
    world = five()
    world.sync(defined(APPEND))
    alter(world, 2)
    report = world.sync(defined(APPEND, 2))
    assert report.rows == RowCounts(read=1, inserted=1)
    assert "versions that are not in the copy are added" in report.warnings[0]
    assert sorted(str(row["status"]) for row in world.rows(ORDERS) if row["id"] == 2) == ["altered 2", "new"]
    assert world.sync(defined(APPEND, 2)).status is Status.IDLE


def test_rows_without_a_cursor_that_came_meanwhile_are_read_with_it() -> None:
    world, spec = five(), orders(Strategy.UPSERT, nulls=NullPolicy.ALWAYS)
    world.sync(defined(spec))
    world.database.insert(ORDERS, id=77, customer="nobody", status="new", updated_at=None)
    alter(world, 3)
    assert world.sync(defined(spec, 2)).rows == RowCounts(read=2, inserted=1, updated=1)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_rows_below_the_start_are_not_read_by_it() -> None:
    world, spec = five(), orders(Strategy.UPSERT, start="2024-01-29T11:00:00Z")
    world.sync(defined(spec))
    alter(world, 1, 5)
    assert world.sync(defined(spec, 2)).rows == RowCounts(read=1, updated=1)
    assert {row["id"] for row in world.rows(ORDERS)} == {3, 4, 5}


def test_a_table_whose_numbers_begin_again_is_read_on_from_where_they_are() -> None:
    world, spec = World(shop()), orders(Strategy.UPSERT, cursor="id")
    for number in range(101, 106):
        order(world.database, "old", world.database.stamp(), number=number)
    world.sync(defined(spec))
    world.database.tick(60)
    world.sync(defined(spec))
    world.database.truncate(ORDERS)
    order(world.database, "new", world.database.stamp(), number=1)
    world.database.tick(60)
    assert world.sync(defined(spec, 2)).rows == RowCounts(read=1, inserted=1)
    for number in (2, 3):
        order(world.database, "new", world.database.stamp(), number=number)
        world.database.tick(60)
        report = world.sync(defined(spec, 2))
        assert (report.rows.inserted, report.rows.late, report.warnings) == (1, 0, ())
    assert {row["id"] for row in world.rows(ORDERS)} == {1, 2, 3, *range(101, 106)}


def test_whatever_moment_it_is_killed_at_the_next_sync_brings_what_differs() -> None:
    for moment in itertools.count():
        world = five()
        world.sync(defined(UPSERT))
        alter(world, 1, 2, 3)
        process = world.process()
        process.kill_at = moment
        try:
            world.sync(defined(UPSERT, 2), process=process)
        except Killed:
            world.sync(defined(UPSERT, 2))
            assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS)), moment
            assert world.sync(defined(UPSERT, 2)).status is Status.IDLE
        else:
            break


def test_what_was_altered_while_a_window_was_read_again_is_found_by_the_next_sync() -> None:
    world = five()
    world.sync(defined(UPSERT))
    alter(world, 1)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    window = state.position.coverage[0]
    world.backfill(defined(UPSERT, 2), replace(window, lower=state.position.max_cursor_read))
    assert world.sync(defined(UPSERT, 2)).rows == RowCounts(read=1, updated=1)


def test_a_copy_that_an_earlier_release_made_takes_the_definition_as_it_is_at_its_next_look() -> None:
    world = five()
    world.sync(UPSERT)
    found = look(world, defined(UPSERT))
    assert found.definition is not None
    alter(world, 1)
    assert world.sync(defined(UPSERT, 2)).rows == RowCounts(read=1, updated=1)


def look(world: World, spec: TableSpec) -> State:
    """One look of a sensor, at a table that stands still; what it records."""
    position = world.checkpoints.position(ORDERS)
    seen = FakeProbe(world.database).observe((ObserveRequest(spec, position.state),))
    moved, stopped, still = look_over([spec], {ORDERS: position}, seen)
    assert (moved, stopped) == ((), ())
    keep(still, world.checkpoints)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    return state


def test_a_look_finds_an_altered_table_pending_and_announces_no_more_than_what_is_new() -> None:
    world = five()
    world.sync(defined(UPSERT))
    position = world.checkpoints.position(ORDERS)
    seen = FakeProbe(world.database).observe((ObserveRequest(defined(UPSERT, 2), position.state),))
    (pending,), _, _ = look_over([defined(UPSERT, 2)], {ORDERS: position}, seen)
    assert position.state is not None
    assert pending.window.lower == position.state.position.watermark


def test_a_column_that_is_gone_and_comes_back_is_another_one_though_no_row_landed_in_between() -> None:
    world, column = five(), Fact(f"{COLUMN}status", ("text",), "what 'status' shows is defined anew")
    world.sync(with_facts(UPSERT, column))
    look(world, with_facts(UPSERT))
    alter(world, 2)
    assert world.sync(with_facts(UPSERT, column)).rows == RowCounts(read=1, updated=1)


def test_the_plan_says_it_beforehand() -> None:
    world = five()
    world.sync(defined(UPSERT))
    position = world.checkpoints.position(ORDERS)
    (seen,) = FakeProbe(world.database).observe((ObserveRequest(defined(UPSERT, 2), position.state),))
    found = preview(defined(UPSERT, 2), position, seen, world.lake, world.checkpoints)
    assert isinstance(found.decision, SyncPlan)
    assert found.decision.reading.finds_differing
    assert "the table was altered in the source (it was made anew)" in found.warnings[0]


KEPT = remembered(None, (Fact("file 7", ("8",), "f"), Fact(f"{COLUMN}e", ("enum", "a", "b"), "e")))


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ((Fact("file 7", ("8",), "f"), Fact(f"{COLUMN}e", ("enum", "a", "b"), "e")), ()),
        ((Fact("file 7", ("9",), "f"), Fact(f"{COLUMN}e", ("enum", "a", "b"), "e")), ("f",)),
        (
            (Fact("file 7", ("8",), "f"), Fact("file 9", ("10",), "f"), Fact(f"{COLUMN}e", ("enum", "a", "b"), "e")),
            ("f",),
        ),
        ((Fact("file 7", ("8",), "f"), Fact(f"{COLUMN}e", ("enum", "a", "b", "c"), "e")), ()),
        ((Fact("file 7", ("8",), "f"), Fact(f"{COLUMN}e", ("enum", "z", "b"), "e")), ("e",)),
        ((Fact("file 7", ("8",), "f"), Fact(f"{COLUMN}e", ("enum", "a"), "e")), ("e",)),
        ((Fact(f"{COLUMN}e", ("enum", "a", "b"), "e"), Fact(f"{COLUMN}new", ("int",), "n")), ()),
        ((), ()),
    ],
    ids=[
        "the same",
        "another file",
        "a file comes",
        "a label comes",
        "another label",
        "a label goes",
        "a column comes",
        "all go",
    ],
)
def test_a_fact_is_another_one_unless_values_have_only_come_behind_its_own(
    now: tuple[Fact, ...], said: tuple[str, ...]
) -> None:
    assert alterations(KEPT, now) == said


def landed_as(world: World, **kinds: str | None) -> None:
    """The copy has these columns with other types; none of them of which the type is None."""
    world.lake.known[ORDERS] = tuple(
        replace(each, spark_type=kinds.get(each.name) or each.spark_type)
        for each in UPSERT.columns
        if kinds.get(each.name, "") is not None
    )


@pytest.mark.parametrize("spec", [UPSERT, APPEND], ids=["upsert", "append"])
def test_a_column_of_another_type_stops_the_table_though_no_row_differs(spec: TableSpec) -> None:
    world = five()
    world.sync(defined(spec))
    landed_as(world, updated_at="timestamp_ntz")
    with pytest.raises(SchemaChanged, match=r"updated_at was timestamp_ntz and is timestamp.* --full-refresh"):
        world.sync(defined(spec, 2))


def test_a_column_that_comes_with_no_row_is_committed_as_the_report_says() -> None:
    world = five()
    world.sync(defined(UPSERT))
    landed_as(world, status=None)
    commits = len(world.lake.tables[ORDERS].log)
    report = world.sync(defined(UPSERT, 2))
    assert [(each.column, each.change) for each in report.schema_changes] == [("status", Change.ADDED)]
    assert report.rows == RowCounts()
    assert len(world.lake.tables[ORDERS].log) == commits + 1


def test_the_definition_is_in_the_state_and_a_document_without_one_knows_none() -> None:
    world = five()
    world.sync(defined(UPSERT))
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    definition: Definition | None = state.definition
    assert definition == remembered(None, defined(UPSERT).shape.facts or ())
    assert state_of(state.to_json()) == state
    assert state_of(state.to_json().replace('"definition"', '"unknown"')).definition is None
