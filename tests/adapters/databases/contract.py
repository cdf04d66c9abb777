"""What every database owes to a sync: one suite, which each dialect plays against a real source of its own.

A module of a dialect imports all of it and gives the fixture `world`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.measure import spark_row_hash, text_hash
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.adapters.spark.own_names import REJECT_COLUMN
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.errors import SourceRefused, SourceUnreachable, TableMissing
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.source_identity import Compared
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, NullPolicy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request, SyncPlan
from incremental_assets.core.strategies import Strategy
from tests.snapshots import as_read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = Window(None, None)


@dataclass(frozen=True)
class Words:
    """What a dialect calls the columns of the suite's tables."""

    numbered: str
    """A key of whole numbers that the database gives, each above all before it."""
    stamp: str
    stamps: CursorType
    unfit: str
    """A type that takes a value which Spark's does not."""
    bad: str
    """That value."""
    text: str = "text"
    """A type for texts that may stand in a key."""
    defaults: str = "DEFAULT VALUES"
    """What an INSERT says of a row that brings nothing itself."""
    now: str = "CURRENT_TIMESTAMP"
    """The stamp of a row that is written."""
    on_update: str = ""
    """What a column that is stamped at an update says of it."""
    touching: str = ""
    """What has the column `updated_at` of the table `orders` stamped at an update, where a column does not say so itself; statements that end with `;;`."""
    spellings: tuple[tuple[str, str, str], ...] = ()
    """Types of keys, and of each two values that the database takes for equal and a copy holds differently."""
    cascade: str = ""
    """Behind a DROP TABLE: goes with the views of it, where no view may outlive its table."""


class World(Protocol):
    """A real source of one dialect, which nobody else writes."""

    words: Words
    address: Address

    def execute(self, *statements: str) -> None:
        """Each in a transaction of its own."""

    def writing(self, statement: str) -> AbstractContextManager[Callable[[], None]]:
        """A transaction that has done this and is open; the call commits it."""

    def elsewhere(self) -> Address:
        """Another database of the same kind, with nothing in it."""


def orders(world: World, rows: int = 3) -> TableSpec:
    words = world.words
    world.execute(
        f"CREATE TABLE orders (id {words.numbered}, note text, updated_at {words.stamp} NOT NULL DEFAULT {words.now}{words.on_update})",
        *(statement for statement in words.touching.split(";;") if statement.strip()),
        *(f"INSERT INTO orders (note) VALUES ('row {number}')" for number in range(rows)),
    )
    return spec_of(world, "orders")


def spec_of(world: World, name: str, cursor: Cursor | None = None, **changes: Any) -> TableSpec:
    probe = SqlProbe(world.address, "shop")
    shape = next(shape for shape in probe.catalogue() if shape.id.name == name)
    probe.close()
    by = cursor or Cursor("updated_at", world.words.stamps)
    terms = {"key": shape.primary_key, "key_enforced": bool(shape.primary_key), **changes}
    return TableSpec(shape, terms.pop("strategy", Strategy.UPSERT), by, **terms)


@pytest.fixture
def probe(world: World) -> Any:
    opened = SqlProbe(world.address, "shop")
    yield opened
    opened.close()


def observe(probe: SqlProbe, spec: TableSpec, state: State | None = None) -> DatabaseObservation:
    (observation,) = probe.observe((ObserveRequest(spec, state),))
    return observation


def decided(probe: SqlProbe, spec: TableSpec, state: State | None = None) -> SyncPlan | NothingToDo:
    return plan(spec, Request("run"), state, CommitIds("app", 0, "batch"), observe(probe, spec, state))


def planned(probe: SqlProbe, spec: TableSpec, state: State | None = None) -> SyncPlan:
    decision = decided(probe, spec, state)
    assert isinstance(decision, SyncPlan), decision
    return decision


def of_window(plan: SyncPlan, window: Window) -> SyncPlan:
    """The same plan, of other rows."""
    return replace(plan, reading=replace(plan.reading, window=window))


def synced(probe: SqlProbe, spec: TableSpec, state: State | None = None) -> tuple[int, State]:
    """How many rows a sync reads, and the state that it leaves."""
    decision = planned(probe, spec, state)
    with probe.snapshot(decision) as seen:
        return seen.rows, landed_state(
            decision, as_read(seen.rows, seen.highest, seen.fingerprint, seen.due, seen.visible)
        )


def rows_of(spark: SparkSession, world: World, decision: SyncPlan) -> list[tuple[Any, ...]]:
    probe = SqlProbe(world.address, "shop")
    with SparkSource(probe, world.address, lambda: spark).snapshot(decision) as seen:
        found = [tuple(row) for row in seen.frame.select(*decision.spec.shape.names).collect()]
    probe.close()
    return sorted(found, key=str)


# --- what may be asked beforehand ----------------------------------------------------------------------


def test_a_read_is_foreseen_or_the_database_says_that_it_cannot_tell(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    whole = planned(probe, spec)
    lower = observe(probe, spec).bound.clock.replace(tzinfo=None).isoformat()
    later = of_window(whole, Window(CursorValue.parse(world.words.stamps, _as_stamp(world, lower)), None))

    found = probe.estimates([whole, later])

    assert len(found) == 2
    assert all("orders" in each.sql or each.unknown for each in found)
    assert probe.estimates([]) == ()


def test_the_columns_that_may_be_a_cursor_are_described(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    (traits,) = probe.describe([spec.shape])
    assert {each.column.name for each in traits.columns} == {"id", "updated_at"}
    assert [each.on_insert for each in traits.columns if each.column.name == "id"] == [True]
    assert spec.id.schema in (probe.schemas() or (spec.id.schema,))


def test_lateness_is_measured_or_the_database_does_not_tell(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    (found,) = probe.lateness([spec])
    assert found is None or found.rows == 3


def _as_stamp(world: World, text: str) -> str:
    return f"{text}Z" if world.words.stamps is CursorType.TIMESTAMP else text


# --- the catalogue ------------------------------------------------------------------------------------


def test_the_catalogue_tells_columns_and_the_key_that_holds(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    assert spec.shape.names == ("id", "note", "updated_at")
    assert [column.nullable for column in spec.columns] == [False, True, False]
    assert spec.shape.primary_key == ("id",)
    assert not spec.repeats or spec.cursor is not None


def test_a_view_whose_table_is_gone_takes_no_other_table_with_it(world: World, probe: SqlProbe) -> None:
    orders(world)
    world.execute(
        f"CREATE TABLE lost (id {world.words.numbered})",
        "CREATE VIEW broken AS SELECT id FROM lost",
        f"DROP TABLE lost{world.words.cascade}",
    )
    found = {shape.id.name: shape for shape in probe.catalogue()}
    assert found["orders"].names == ("id", "note", "updated_at")
    assert found["orders"].undescribed == ""
    assert "lost" not in found
    broken = found.get("broken")
    assert broken is None or broken.names or "lost" in broken.undescribed or "broken" in broken.undescribed
    assert (broken is None) == bool(world.words.cascade)


def test_a_schema_that_a_glob_stands_for_is_looked_into(world: World) -> None:
    (schema,) = {orders(world).id.schema}

    def seen(*globs: str) -> set[str]:
        probe = SqlProbe(replace(world.address, schemas=(), schema_globs=globs), "shop")
        found = {shape.id.name for shape in probe.catalogue()}
        probe.close()
        return found

    assert "orders" in seen(f"{schema[:2]}*")
    assert seen("nowhere_*") == set()


def test_a_schema_that_is_not_there_is_named(probe: SqlProbe) -> None:
    assert probe.missing_schemas(("nowhere",)) == ("nowhere",)


def test_names_are_never_more_than_names(world: World, probe: SqlProbe, spark: SparkSession) -> None:
    world.execute(
        f'CREATE TABLE "we""ird; DROP TABLE x" ("select ""a""" {world.words.numbered}, "o\'clock" {world.words.stamp} NOT NULL DEFAULT {world.words.now})',
        f'INSERT INTO "we""ird; DROP TABLE x" {world.words.defaults}',
    )
    spec = spec_of(world, 'we"ird; DROP TABLE x', Cursor("o'clock", world.words.stamps))
    assert [row[0] for row in rows_of(spark, world, planned(probe, spec))] == [1]
    assert probe.measure(spec, (WHOLE,))[0].rows == 1


# --- has anything moved? ------------------------------------------------------------------------------


def test_nothing_moved_when_nothing_was_written(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    rows, state = synced(probe, spec)
    assert rows == 3
    assert isinstance(decided(probe, spec, state), NothingToDo)
    assert probe.lag((ObserveRequest(spec, state),)) == (0.0,)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO orders (note) VALUES ('new')",
        "UPDATE orders SET note = 'changed', updated_at = CURRENT_TIMESTAMP WHERE id = 1",
        "UPDATE orders SET note = 'under its old stamp' WHERE id = 3",
        "DELETE FROM orders WHERE id = 3",
    ],
)
def test_it_moved(world: World, probe: SqlProbe, statement: str) -> None:
    spec = orders(world)
    _, state = synced(probe, spec)
    world.execute(statement)
    assert observe(probe, spec, state).fingerprint != state.position.fingerprint


def test_an_empty_table_is_read_and_stands_still(world: World, probe: SqlProbe) -> None:
    spec = orders(world, rows=0)
    rows, state = synced(probe, spec)
    assert rows == 0
    assert isinstance(decided(probe, spec, state), NothingToDo)
    assert probe.lowest((spec,)) == (None,)
    assert probe.measure(spec, (WHOLE,))[0].rows == 0


def test_rows_without_a_cursor_are_counted(world: World, probe: SqlProbe) -> None:
    world.execute(
        f"CREATE TABLE visits (id {world.words.numbered}, at {world.words.stamp})",
        "INSERT INTO visits (at) VALUES (NULL)",
        "INSERT INTO visits (at) VALUES (CURRENT_TIMESTAMP)",
    )
    spec = spec_of(world, "visits", Cursor("at", world.words.stamps, NullPolicy.ALWAYS))
    with probe.snapshot(planned(probe, spec)) as seen:
        assert (seen.rows, seen.nulls) == (2, 1)


# --- the settled bound --------------------------------------------------------------------------------


def test_a_row_whose_transaction_is_open_lands_with_the_sync_after_its_commit(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    with world.writing("INSERT INTO orders (note) VALUES ('late')") as commit:
        rows, state = synced(probe, spec)
        assert rows == 3
        commit()
    rows, state = synced(probe, spec, state)
    assert rows >= 1
    assert isinstance(decided(probe, spec, state), NothingToDo)


def test_numbers_settle_when_nobody_writes_and_a_later_one_is_read_alone(world: World, probe: SqlProbe) -> None:
    orders(world)
    spec = spec_of(world, "orders", Cursor("id", CursorType.INTEGER))
    _, state = synced(probe, spec)
    state = replace(state, clock=None) if state.clock is None else state
    world.execute("INSERT INTO orders (note) VALUES ('fourth')")
    decision = planned(probe, spec, state)
    assert decision.reading.settled.guarantee is Guarantee.SETTLED
    with probe.snapshot(decision) as seen:
        assert str(seen.highest) == "4"


def test_a_number_at_the_end_of_64_bits_lies_in_the_window_that_ends_above_it(world: World, probe: SqlProbe) -> None:
    """That end is no number of 64 bits; and a window that begins there holds nothing."""
    world.execute(
        f"CREATE TABLE tokens (id bigint NOT NULL PRIMARY KEY, n {world.words.text})",
        *(f"INSERT INTO tokens (id) VALUES ({each})" for each in (-(2**63), 1, 2**63 - 1)),
    )
    spec = spec_of(world, "tokens", Cursor("id", CursorType.INTEGER))
    ends = [
        CursorValue.of(CursorType.INTEGER, each) for each in (-(2**63) - 1, -(2**63), 0, 2**63 - 1, 2**63, 2**63 + 9)
    ]
    found = probe.measure(spec, [Window(*each) for each in pairwise(ends)])
    assert [each.rows for each in found] == [0, 1, 1, 1, 0]


def test_which_database_answers_is_told_apart(world: World, probe: SqlProbe) -> None:
    orders(world)
    here = probe.bound().identity
    assert here is not None
    again = probe.bound().identity
    assert again is not None
    assert again.compared_with(here) is Compared.SAME
    assert replace(here, position=here.position - 1).compared_with(here) is Compared.OLDER
    other = SqlProbe(world.elsewhere(), "shop")
    there = other.bound().identity
    other.close()
    assert there is not None
    assert there.compared_with(here) is Compared.OTHER


# --- the rows -----------------------------------------------------------------------------------------


def test_what_is_read_is_what_was_counted_whatever_is_written_meanwhile(
    world: World, probe: SqlProbe, spark: SparkSession
) -> None:
    spec = orders(world)
    with SparkSource(probe, world.address, lambda: spark).snapshot(planned(probe, spec)) as seen:
        world.execute("INSERT INTO orders (note) VALUES ('meanwhile')", "DELETE FROM orders WHERE id = 1")
        found = sorted(row.note for row in seen.frame.select("note").collect())
    assert seen.rows == len(found)
    assert found == ["row 0", "row 1", "row 2"]


def test_a_source_that_allows_one_session_is_read_by_the_one_that_counts(world: World, spark: SparkSession) -> None:
    spec, address = orders(world), replace(world.address, connections=1)
    probe = SqlProbe(address, "shop")
    with SparkSource(probe, address, lambda: spark).snapshot(planned(probe, spec)) as seen:
        world.execute("INSERT INTO orders (note) VALUES ('meanwhile')", "DELETE FROM orders WHERE id = 1")
        assert seen.parts is not None
        assert [part.budget for part in seen.parts] == [None] * len(seen.parts)
        found = sorted(note for part in seen.parts for rows in part.batches() for note in rows.column("c1").to_pylist())
        assert sorted(row.note for row in seen.frame.select("note").collect()) == found
    probe.close()
    assert seen.rows == len(found)
    assert found == ["row 0", "row 1", "row 2"]


def test_every_session_has_a_place_in_the_budget_while_it_is_open(world: World) -> None:
    spec = orders(world)
    budget = world.address.budget
    probe = SqlProbe(world.address, "shop")
    decision = planned(probe, spec)
    assert budget.open == 0
    with probe.snapshot(decision):
        assert budget.open == 1
        probe.catalogue()
        assert budget.open == 1
    with probe.keys(spec):
        assert budget.open == 1
    assert budget.open == 0
    probe.close()


def test_the_sessions_that_are_left_are_told_or_there_are_none(probe: SqlProbe) -> None:
    room = probe.facts(()).room
    assert room is None or room >= 1


def test_both_sides_count_and_hash_alike(world: World, probe: SqlProbe, spark: SparkSession) -> None:
    spec = orders(world)
    world.execute("UPDATE orders SET note = NULL WHERE id = 1", "UPDATE orders SET note = 'naïve, 🎉' WHERE id = 2")
    with SparkSource(probe, world.address, lambda: spark).snapshot(planned(probe, spec)) as seen:
        hashed = seen.frame.select(sf.expr(spark_row_hash(spec.columns)).alias("hash"))
        rows, total = hashed.agg(sf.count("*"), sf.sum("hash")).collect()[0]
    (measured,) = probe.measure(spec, (WHOLE,))
    assert (measured.rows, int(measured.digest)) == (rows, int(total))
    reader = dialect_of(world.address.dialect).reader(world.address)
    assert reader.row_hashes(spark, spec, (WHOLE,)).count() == 3
    first = KeyParts(1, 3, 0, frozenset({1}))
    assert [row[0] for row in reader.row_hashes(spark, spec, (WHOLE,), first).collect()] == ["1"]
    hashes = {row[0]: row[1] for row in reader.row_hashes(spark, spec, (WHOLE,)).collect()}
    texts = {row[0]: row[1] for row in reader.row_texts(spark, spec, (WHOLE,)).collect()}
    assert {key: text_hash(text) for key, text in texts.items()} == hashes
    assert [row[0] for row in reader.row_texts(spark, spec, (WHOLE,), first).collect()] == ["1"]


def test_a_value_that_spark_cannot_hold_stands_with_its_column_and_lands_nowhere(
    world: World, probe: SqlProbe, spark: SparkSession
) -> None:
    words = world.words
    world.execute(
        f"CREATE TABLE things (id {words.numbered}, value {words.unfit}, updated_at {words.stamp} NOT NULL DEFAULT {words.now})",
        f"INSERT INTO things (value) VALUES ({words.bad})",
        "INSERT INTO things (value) VALUES (NULL)",
    )
    spec = spec_of(world, "things")
    with SparkSource(probe, world.address, lambda: spark).snapshot(planned(probe, spec)) as seen:
        assert (seen.rows, seen.rejected) == (2, 1)
        assert [row[0] for row in seen.frame.where(f"{REJECT_COLUMN} IS NOT NULL").select(REJECT_COLUMN).collect()] == [
            "value"
        ]
    assert probe.measure(spec, (WHOLE,))[0].rows == 1
    reader = dialect_of(world.address.dialect).reader(world.address)
    keys = reader.unholdable_keys(spark, spec, (WHOLE,))
    assert keys is not None
    assert keys.count() == 1


# --- what goes wrong ----------------------------------------------------------------------------------


def sentence(error: BaseException) -> str:
    text = str(error)
    assert "\n" not in text
    assert "Traceback" not in text
    return text


def test_a_source_that_is_not_there_is_one_sentence(world: World) -> None:
    gone = SqlProbe(replace(world.address, database="nowhere"), "shop")
    with pytest.raises(SourceUnreachable) as refused:
        gone.catalogue()
    assert "`database`" in sentence(refused.value)


@pytest.mark.parametrize("statements", [("DROP TABLE orders",), ("ALTER TABLE orders ADD COLUMN more text",)])
def test_a_table_that_is_no_longer_the_planned_one_is_not_read(
    world: World, probe: SqlProbe, statements: Sequence[str]
) -> None:
    spec = orders(world)
    decision = planned(probe, spec)
    world.execute(*statements)
    with pytest.raises((SourceRefused, TableMissing)) as refused, probe.snapshot(decision):
        pass
    assert "orders" in sentence(refused.value)


def test_a_column_that_is_left_out_is_not_read_and_counts_for_nothing(
    world: World, probe: SqlProbe, spark: SparkSession
) -> None:
    spec = orders(world)
    spec = replace(spec, shape=spec.shape.without(["note"]))
    decision, (before,) = planned(probe, spec), probe.measure(spec, [WHOLE])
    world.execute("ALTER TABLE orders DROP COLUMN note", "ALTER TABLE orders ADD COLUMN note varchar(40)")

    assert [len(row) for row in rows_of(spark, world, decision)] == [2, 2, 2]
    assert probe.measure(spec, [WHOLE]) == (before,)


def test_of_many_tables_one_that_is_gone_takes_none_with_it(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    gone = replace(spec, shape=replace(spec.shape, id=replace(spec.id, name="gone")))
    _, state = synced(probe, spec)
    here, there = probe.observe((ObserveRequest(spec, state), ObserveRequest(gone, state)))
    assert here.fingerprint == state.position.fingerprint
    assert there.fingerprint is None
