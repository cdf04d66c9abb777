"""Rows that break their contract on their way: held by tasks and by Spark alike, kept in quarantine whole, and the copy keeps what landed before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.delta.staging.arrow_staging import counting_of, trial_of
from incremental_assets.adapters.delta.staging.contracted import Joined
from incremental_assets.adapters.delta.staging.counting import StagedPart
from incremental_assets.adapters.delta.staging.staging_task import StageUnit, apply
from incremental_assets.adapters.spark.own_names import READ_FLAGS
from incremental_assets.core.errors import ContractBroken, Refused
from incremental_assets.core.model.contract import ColumnRules, Contract, OnBreach
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.quarantine import NOTHING_HELD
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import Desk, table

if TYPE_CHECKING:
    pass

CONTRACT = Contract(rules=(ColumnRules("note", nullable=False), ColumnRules("at", ge=0)), file="sources.yaml", line=7)
ORDERS = replace(table("id bigint, note string, at bigint"), contract=CONTRACT)
ONCE = replace(ORDERS, contract=replace(CONTRACT, rules=(ColumnRules("note", unique=True),)))


@dataclass(frozen=True)
class LiteralPart:
    """Implements `spark.read_part.ReadPart`."""

    rows: tuple[tuple[object, ...], ...]
    size: int = 1

    def batches(self) -> Iterator[pa.Table]:
        for number, note, at, *rejected in self.rows:
            row = {"c0": [number], "c1": [note], "c2": [at]} | {name: [None] for name in READ_FLAGS}
            row["_sync_reason"] = [rejected[0] if rejected else None]
            row["_sync_late"] = [False]
            kinds = [pa.int64(), pa.string(), pa.int64(), pa.string(), pa.string(), pa.string(), pa.bool_()]
            yield pa.table(row, schema=pa.schema(list(zip(row, kinds, strict=True))))


def staged(spec: TableSpec, folder: Path, *rows: tuple[object, ...]) -> tuple[StagedPart, list[tuple[object, ...]]]:
    """What a task counts of the rows, and of each row in its file the key, the operation, the reason and the column."""
    plan = Desk(folder, None).plan(spec)  # type: ignore[arg-type]
    types = tuple(column.spark_type for column in spec.columns)
    file = folder / "staged.parquet"
    part = Joined((LiteralPart(rows[:1]), LiteralPart(rows[1:])))
    counted = apply(StageUnit(part, types, counting_of(plan), str(file), trial_of(spec)))
    kept = pq.read_table(file).to_pylist()
    return counted, [(row["c0"], row["_sync_op"], row["_sync_reason"], row["_sync_column"]) for row in kept]


def test_a_row_that_the_source_has_marked_is_gone_and_no_contract_judges_it(tmp_path: Path) -> None:
    spec = replace(ORDERS, deletes=Deletes(DeleteMode.SOFT, Then.REMOVE, column="note", value="gone"))
    rules = replace(CONTRACT, rules=(ColumnRules("at", ge=0),))
    rows = ((1, "a", 10), (2, "gone", -1), (3, None, 5), (None, "gone", 4), (5, "gone", 1, "unholdable"), (6, "b", -1))
    counted, kept = staged(replace(spec, contract=rules), tmp_path, *rows)
    assert [(key, operation) for key, operation, *_ in kept] == [
        (1, "put"),
        (2, "gone"),
        (3, "put"),
        (None, "gone"),
        (5, "gone"),
        (6, "held"),
    ]
    assert (counted.rows, counted.gone, counted.rejected, counted.held) == (6, 1, 3, 1)
    # Neither its cursor nor its key is among those that land.
    assert (counted.lower, counted.ends) == (5, ((1, 3),))
    anything = replace(spec, deletes=replace(spec.deletes, value=None), contract=None)
    counted, kept = staged(anything, tmp_path, *rows[:3])
    assert ([operation for _, operation, *_ in kept], counted.gone) == (["gone", "gone", "put"], 2)


def test_a_task_holds_rows_with_every_reason_and_counts_them(tmp_path: Path) -> None:
    counted, rows = staged(
        ORDERS, tmp_path, (1, "a", 10), (2, None, -1), (3, "c", -1), (None, None, 1), (5, None, 1, "unholdable")
    )
    assert rows == [
        (1, "put", None, None),
        (2, "held", "note: is NULL; at: ge 0", "note"),
        (3, "held", "at: ge 0", "at"),
        # A key that is not whole, and a value that cannot land, come first.
        (None, "gone", "a part of the key is NULL", "id"),
        (5, "gone", "unholdable", None),
    ]
    assert (counted.rows, counted.rejected, counted.held, counted.broken) == (5, 4, 2, 2)
    assert dict(counted.rules) == {"note: is NULL": 1, "at: ge 0": 2}
    # What is held is not among what lands.
    assert (counted.lower, counted.ends) == (10, ((1, 1),))


def test_a_task_only_counts_where_the_contract_warns(tmp_path: Path) -> None:
    warns = replace(ORDERS, contract=replace(CONTRACT, on_breach=OnBreach.WARN))
    counted, rows = staged(warns, tmp_path, (1, "a", 10), (2, None, 1))
    assert rows == [(1, "put", None, None), (2, "put", None, None)]
    assert (counted.rejected, counted.held, counted.broken) == (0, 0, 1)


def test_every_row_of_a_repeated_value_is_held_and_null_repeats_nothing(tmp_path: Path) -> None:
    _, rows = staged(
        ONCE, tmp_path, (1, "a", 1), (2, "b", 2), (3, "a", 3), (4, None, 4), (5, None, 5), (6, "b", 6, "unholdable")
    )
    assert [(row[0], row[1], row[2]) for row in rows] == [
        (1, "held", "note: is not unique"),
        (2, "put", None),
        (3, "held", "note: is not unique"),
        (4, "put", None),
        (5, "put", None),
        (6, "gone", "unholdable"),
    ]


def test_rows_that_break_the_contract_are_kept_whole_and_the_others_land(desk: Desk) -> None:
    first = desk.land(ORDERS, [(1, "a", 10), (2, None, 20), (3, "c", -5)])
    assert first.rows == RowCounts(read=3, inserted=1, quarantined=2)
    assert desk.rows(ORDERS) == [(1, "a", 10)]
    kept = sorted(desk.quarantined(ORDERS), key=lambda row: row["id"])
    assert [
        (row["id"], row["note"], row["at"], row["_sync_reason"], row["_sync_column"], row["_sync_held"]) for row in kept
    ] == [
        ("2", None, "20", "note: is NULL", "note", True),
        ("3", "c", "-5", "at: ge 0", "at", True),
    ]
    assert all(row["_sync_resolved_at"] is None for row in kept)


@pytest.mark.acceptance
def test_the_copy_keeps_the_last_version_that_passed(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    second = desk.land(ORDERS, [(1, None, 30), (2, "B", 31)])
    assert second.rows == RowCounts(read=2, updated=1, quarantined=1)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "B", 31)]


@pytest.mark.acceptance
def test_a_row_that_is_gone_leaves_beside_one_that_is_held_and_one_that_cannot_land(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20), (3, "c", 30), (4, "d", 40)])
    second = desk.land(ORDERS, [(1, None, 50), (2, "bad", 51), (3, "c", 30)], bad=["bad"], gone=[3])
    assert second.rows == RowCounts(read=3, deleted=2, quarantined=2)
    assert desk.rows(ORDERS) == [(1, "a", 10), (4, "d", 40)]
    assert any("changed it to what cannot land" in warning for warning in second.warnings)


@pytest.mark.acceptance
def test_what_is_read_again_is_kept_once(desk: Desk) -> None:
    desk.land(ORDERS, [(2, None, 20)])
    desk.land(ORDERS, [(2, None, 20)])
    assert [row["_sync_seq"] for row in desk.quarantined(ORDERS)] == [1]


@pytest.mark.acceptance
@pytest.mark.parametrize("strategy", [Strategy.APPEND, Strategy.FULL_REFRESH])
def test_other_strategies_hold_rows_too(desk: Desk, strategy: Strategy) -> None:
    spec = replace(ORDERS, strategy=strategy, cursor=None if strategy is Strategy.FULL_REFRESH else ORDERS.cursor)
    assert desk.land(spec, [(1, "a", 10), (2, None, 20)]).rows == RowCounts(read=2, inserted=1, quarantined=1)
    assert desk.rows(spec) == [(1, "a", 10)]


@pytest.mark.acceptance
def test_a_quarantine_from_before_the_contract_goes_on(desk: Desk) -> None:
    before = replace(ORDERS, contract=None)
    desk.land(before, [(1, "bad", 10)], bad=["bad"])
    desk.land(ORDERS, [(1, "bad", 10), (2, None, 20)], bad=["bad"])
    assert [(row["id"], row["_sync_held"]) for row in sorted(desk.quarantined(ORDERS), key=lambda row: row["id"])] == [
        ("1", None),
        ("2", True),
    ]
    desk.land(before, [(1, "worse", 10)], bad=["worse"])
    assert len(desk.quarantined(ORDERS)) == 3


def stage(desk: Desk, spec: TableSpec, *rows: tuple[object, ...]) -> tuple[str, ...]:
    plan = desk.plan(spec)
    return desk.stage.write(plan, desk.show(spec, rows)).warnings


@pytest.mark.acceptance
def test_spark_counts_what_breaks_the_contract_and_says_so(desk: Desk) -> None:
    (told,) = stage(desk, ORDERS, (1, "a", 10), (2, None, 20))
    assert told.startswith("1 row breaks the contract: it went to quarantine, and `incremental-assets replay`")


@pytest.mark.acceptance
def test_values_that_repeat_are_found_by_spark_in_one_task(desk: Desk) -> None:
    (told,) = stage(desk, ONCE, (1, "a", 10), (2, "b", 20), (3, "a", 30))
    assert told.startswith("2 rows break the contract")


def test_nothing_lands_where_the_contract_says_fail(desk: Desk) -> None:
    spec = replace(ORDERS, contract=replace(CONTRACT, on_breach=OnBreach.FAIL))
    assert stage(desk, spec, (1, "a", 10)) == ()
    with pytest.raises(
        ContractBroken,
        match=r"1 row breaks the contract, and `on_breach: fail` lets nothing land then; .*sources.yaml:7",
    ):
        stage(desk, spec, (1, "a", 10), (2, None, 20))


@pytest.mark.acceptance
def test_more_breaches_than_may_be_need_a_person(desk: Desk) -> None:
    spec = replace(ORDERS, contract=replace(CONTRACT, max_fraction=0.5))
    stage(desk, spec, (1, "a", 10), (2, None, 20))
    with pytest.raises(Refused, match=r"2 rows break the contract, of 3 that were read, more than `max_fraction: 0.5`"):
        stage(desk, spec, (1, "a", 10), (2, None, 20), (3, None, 30))


@pytest.mark.acceptance
def test_a_warning_contract_lands_every_row(desk: Desk) -> None:
    spec = replace(ORDERS, contract=replace(CONTRACT, on_breach=OnBreach.WARN))
    assert desk.land(spec, [(1, "a", 10), (2, None, 20)]).rows == RowCounts(read=2, inserted=2)


def resolved(desk: Desk, spec: TableSpec = ORDERS) -> dict[tuple[str, str], str | None]:
    """Per key and cursor of the quarantine's rows, how they came to be held no more."""
    return {(row["id"], row["at"]): row["_sync_resolution"] for row in desk.quarantined(spec)}


@pytest.mark.acceptance
def test_what_is_held_is_counted_until_a_later_version_comes_or_the_row_is_gone(desk: Desk) -> None:
    assert desk.lake.held(ORDERS) == NOTHING_HELD
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20), (3, None, 30)])
    desk.land(ORDERS, [(1, None, 40), (2, None, 41), (4, "d", 42)])
    held = desk.lake.held(ORDERS)
    assert held is not None
    assert (held.rows, held.reasons, held.stale) == (3, (("note: is NULL", 3),), 2)
    assert held.oldest is not None
    assert held.stale_since is not None
    assert held.oldest < held.stale_since
    # Of 1 comes a version that passes, of 2 another that does not, and 3 is gone.
    desk.land(ORDERS, [(1, "A", 50), (2, None, 51), (3, None, 30)], gone=[3])
    assert resolved(desk) == {
        ("3", "30"): "gone",
        ("1", "40"): "superseded",
        ("2", "41"): "superseded",
        ("2", "51"): None,
    }
    again = desk.lake.held(ORDERS)
    assert again is not None
    assert (again.rows, again.stale) == (1, 1)


@pytest.mark.acceptance
def test_what_was_resolved_and_breaks_the_contract_again_is_held_again(desk: Desk) -> None:
    desk.land(ORDERS, [(1, None, 10)])
    desk.land(ORDERS, [(1, "a", 10)])
    desk.land(ORDERS, [(1, None, 10)])
    assert sorted((row["_sync_seq"], row["_sync_resolution"]) for row in desk.quarantined(ORDERS)) == [
        (1, "superseded"),
        (3, None),
    ]


@pytest.mark.acceptance
def test_a_table_that_is_read_whole_holds_what_its_last_read_held(desk: Desk) -> None:
    spec = replace(ORDERS, strategy=Strategy.FULL_REFRESH, cursor=None, key=(), key_enforced=False)
    desk.land(spec, [(1, None, 10), (2, None, 20)])
    desk.land(spec, [(1, "a", 10), (2, None, 20)])
    assert resolved(desk, spec) == {("1", "10"): "superseded", ("2", "20"): None}
