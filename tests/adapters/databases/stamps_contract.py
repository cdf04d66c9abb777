"""What every database owes to a time cursor: who stamps it is read from its catalogue, and what is not known to be its own time is not promised.

A module of a dialect imports all of it and gives the fixtures `world` and `stamps`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.strategies import Strategy
from tests.adapters.databases.contract import World, decided, observe, planned, spec_of, synced


@dataclass(frozen=True)
class Stamps:
    """How a dialect has a column stamped."""

    cut: str
    """A default that cuts the time to its hour; empty where a default takes no expression."""
    earlier: str
    """A default that is an hour before now; empty as well."""
    on_update: str = ""
    """What a column says of updates itself."""
    triggers: Callable[[str], tuple[str, ...]] = lambda _: ()
    """What has the column `at` of a table stamped at each update."""
    off: Callable[[str], tuple[str, ...]] = lambda _: ()
    """What takes that away."""
    again: Callable[[str], tuple[str, ...]] = lambda _: ()
    """What brings it back."""
    renumbered: tuple[str, ...] = ()
    """What has a trigger give a new row of the table `things` another `id` than the database has drawn."""
    writes: Callable[[str], tuple[str, ...]] = lambda _: ()
    """What has a trigger of the table `others` run a statement at each insert."""


def table(world: World, default: str = "", more: str = "", kind: str = "") -> None:
    words = world.words
    said = f" DEFAULT {default}" if default else ""
    world.execute(
        f"CREATE TABLE things (id {words.numbered}, note text, at {kind or words.stamp} NOT NULL{said}{more})"
    )


def things(world: World, strategy: Strategy = Strategy.UPSERT, within: timedelta | None = None) -> TableSpec:
    """The table as its catalogue shows it now."""
    return spec_of(world, "things", Cursor("at", world.words.stamps, within=within), strategy=strategy)


def guarantee(world: World, strategy: Strategy = Strategy.UPSERT) -> tuple[Guarantee, str]:
    probe = SqlProbe(world.address, "shop")
    settled = planned(probe, things(world, strategy)).reading.settled
    probe.close()
    return settled.guarantee, settled.reason


def test_the_second_row_of_what_a_default_cuts_stamps_to_is_read(world: World, stamps: Stamps) -> None:
    if not stamps.cut:
        pytest.skip("this server takes no expression as a default")
    table(world, stamps.cut)
    probe = SqlProbe(world.address, "shop")
    state: State | None = None
    for number in range(1, 4):
        world.execute(f"INSERT INTO things (note) VALUES ('row {number}')")
        spec = things(world, Strategy.APPEND)
        decision = planned(probe, spec, state)
        assert decision.reading.settled.guarantee is Guarantee.SETTLED
        rows, state = synced(probe, spec, state)
        assert rows in (1, number), "the new one at least, or all of its hour"
    probe.close()


def test_a_default_that_is_no_reading_of_the_clock_now_proves_nothing(world: World, stamps: Stamps) -> None:
    if not stamps.earlier:
        pytest.skip("this server takes no expression as a default")
    table(world, stamps.earlier)
    found, reason = guarantee(world, Strategy.APPEND)
    assert found is Guarantee.BEST_EFFORT
    assert "the default of 'at' is " in reason
    assert "not known to be the database's own time" in reason


def test_a_column_that_nothing_of_the_database_stamps_is_settled_as_far_as_is_declared(world: World) -> None:
    table(world)
    found, reason = guarantee(world, Strategy.APPEND)
    assert (found, "neither a default nor a trigger" in reason) == (Guarantee.BEST_EFFORT, True)
    probe = SqlProbe(world.address, "shop")
    plain = planned(probe, things(world))
    declared = planned(probe, things(world, within=timedelta(seconds=30)))
    probe.close()
    assert (declared.reading.settled.guarantee, declared.reading.settled.within) == (
        Guarantee.SETTLED_WITHIN,
        timedelta(seconds=30),
    )
    assert plain.reading.settled.value is not None
    assert declared.reading.settled.value is not None
    between = plain.reading.settled.value.moment() - declared.reading.settled.value.moment()
    assert timedelta(seconds=20) < between <= timedelta(seconds=30)


def test_a_default_proves_inserts_and_updates_take_more(world: World, stamps: Stamps) -> None:
    table(world, world.words.now)
    assert guarantee(world, Strategy.APPEND)[0] is Guarantee.SETTLED
    found, reason = guarantee(world)
    assert (found, "at an update" in reason) == (Guarantee.BEST_EFFORT, True)
    world.execute("DROP TABLE things")
    table(world, world.words.now, stamps.on_update)
    world.execute(*stamps.triggers("things"))
    assert guarantee(world)[0] is Guarantee.SETTLED


def test_what_stamps_updates_is_looked_at_each_time_and_what_was_altered_meanwhile_is_noticed(
    world: World, stamps: Stamps
) -> None:
    """As a migration leaves it: switched off, or off and on again between two looks, the rows of which have whatever stamps."""
    if stamps.on_update:
        pytest.skip("what stamps updates is a part of the column here")
    table(world, world.words.now)
    world.execute(*stamps.triggers("things"), "INSERT INTO things (note) VALUES ('one')")
    probe = SqlProbe(world.address, "shop")
    _, state = synced(probe, things(world))
    world.execute(*stamps.off("things"))
    assert guarantee(world)[0] is Guarantee.BEST_EFFORT
    world.execute(*stamps.again("things"))
    assert guarantee(world)[0] is Guarantee.SETTLED, "to a sync that knows of nothing before"
    decision = decided(probe, things(world), state)
    found = decision.reading.settled.guarantee if isinstance(decision, SyncPlan) else decision.guarantee
    assert found is Guarantee.BEST_EFFORT
    assert any("was altered since the last sync" in each for each in decision.warnings)
    probe.close()


def test_numbers_are_not_promised_where_a_trigger_may_give_others(world: World, stamps: Stamps) -> None:
    table(world, world.words.now)
    by_number = Cursor("id", CursorType.INTEGER)

    def promised() -> tuple[Guarantee, str]:
        probe = SqlProbe(world.address, "shop")
        settled = planned(probe, spec_of(world, "things", by_number, strategy=Strategy.APPEND)).reading.settled
        probe.close()
        return settled.guarantee, settled.reason

    world.execute("INSERT INTO things (note) VALUES ('one')", *stamps.triggers("things"))
    assert promised()[0] is Guarantee.SETTLED
    world.execute(*stamps.renumbered)
    found, reason = promised()
    assert (found, reason.partition(" than")[0]) == (
        Guarantee.BEST_EFFORT,
        "the trigger renumbers may give 'id' another number",
    )


@pytest.mark.parametrize(
    ("statement", "brings"),
    [
        ("UPDATE things SET note = 'x', at = {now} WHERE id = NEW.id", False),
        ("INSERT INTO things (note) VALUES ('x')", False),
        ("UPDATE things SET note = 'x', at = {then} WHERE id = NEW.id", True),
        ("INSERT INTO things (note, at) VALUES ('x', {then})", True),
    ],
)
def test_a_trigger_of_another_table_may_bring_stamps_that_are_none_of_the_clock(
    world: World, stamps: Stamps, statement: str, *, brings: bool
) -> None:
    table(world, world.words.now, stamps.on_update)
    text = statement.format(now=world.words.now, then="'2001-01-01 00:00:00'")
    world.execute(*stamps.triggers("things"), "CREATE TABLE others (id int)", *stamps.writes(text))
    found, reason = guarantee(world, Strategy.APPEND)
    assert found is (Guarantee.BEST_EFFORT if brings else Guarantee.SETTLED), reason
    assert ("the trigger writes, which writes rows of the table, may give 'at' another value" in reason) is brings


def test_who_stamps_is_the_same_however_the_catalogue_is_asked(world: World, stamps: Stamps, probe: Any) -> None:
    """A table that is looked up by its name alone, as before a read, has not been altered."""
    table(world, stamps.cut or world.words.now, stamps.on_update)
    world.execute("INSERT INTO things (note) VALUES ('one')")
    spec = things(world, Strategy.APPEND)
    (stamped,) = (column.stamps for column in spec.columns if column.name == "at")
    assert stamped is not None
    assert stamped.stamps_inserts
    assert observe(probe, spec).bound.clock
    with probe.snapshot(planned(probe, spec)) as seen:
        assert seen.rows == 1
    # Of a table that is made in the second in which it is looked at the catalogue says so, and a second later no more.
    assert replace(spec, shape=replace(things(world).shape, facts=spec.shape.facts)) == spec
