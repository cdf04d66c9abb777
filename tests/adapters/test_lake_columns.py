"""What becomes of a copy whose columns come, go, or change their types?"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta import target_table
from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.schema_drift import Retyped
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import EVENTS, ORDERS, Desk, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def test_a_new_column_arrives_and_rows_that_gained_a_value_are_written(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    log = Path(desk.path(ORDERS)) / "_delta_log" / f"{0:020d}.json"
    assert "columnMapping" not in log.read_text()
    # Its name needs column mapping, which a table has from then on.
    wider = table("id bigint, note string, at bigint, a b int")
    commit = desk.land(wider, [(1, "a", 10, 5), (2, "b", 20, None)])
    assert commit.rows == RowCounts(read=2, updated=1, unchanged=1)
    # Values of rows that do not change are read after it, and told of then.
    assert commit.warnings == ()
    assert desk.land(wider, [(1, "a", 10, 6)]).warnings == ()
    assert desk.rows(wider) == [(1, "a", 10, 6), (2, "b", 20, None)]


@pytest.mark.acceptance
def test_the_values_of_a_dropped_column_survive_an_upsert(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    narrower = table("id bigint, at bigint")
    commit = desk.land(narrower, [(2, 21), (3, 30)])
    assert commit.rows == RowCounts(read=2, inserted=1, updated=1)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "b", 21), (3, None, 30)]


@pytest.mark.acceptance
def test_a_new_column_does_not_land_the_overlap_of_an_append_again(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10), (2, "b", 20)])
    wider = table("id bigint, note string, at bigint, size int", Strategy.APPEND, key=(), enforced=False)
    assert desk.land(wider, [(1, "a", 10, 7), (2, "b", 20, 7), (3, "c", 30, 7)]).rows == RowCounts(
        read=3, inserted=1, unchanged=2
    )
    # The rows that landed before the column came are present still; the one that landed with it is compared by it.
    third = desk.land(wider, [(1, "a", 10, 7), (2, "b", 20, 8), (3, "c", 30, 7), (3, "c", 30, 8)])
    assert third.rows == RowCounts(read=4, inserted=1, unchanged=3)


@pytest.mark.acceptance
def test_a_dropped_column_takes_no_part_in_comparing_an_append(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10), (2, "b", 20)])
    narrower = table("id bigint, at bigint", Strategy.APPEND, key=(), enforced=False)
    assert desk.land(narrower, [(2, 20), (3, 30)]).rows == RowCounts(read=2, inserted=1, unchanged=1)


def test_a_retyped_column_is_refused_before_anything_is_written(desk: Desk) -> None:
    commit = desk.land(ORDERS, [(1, "a", 10)])
    with pytest.raises(SchemaChanged, match=r"note was string and is bigint.*--full-refresh"):
        desk.land(table("id bigint, note bigint, at bigint"), [(2, 5, 20)])
    found = desk.lake.inspect(ORDERS, None)
    assert found is not None
    assert found.version == commit.version
    assert (
        desk.land(table("id bigint, note bigint, at bigint"), [(2, 5, 20)], mode=Mode.FULL_REFRESH).rows.inserted == 1
    )


NARROW = replace(table("id int, size float, price decimal(8,2), day date, at bigint"), widens=True)
WIDE = replace(table("id bigint, size double, price decimal(12,3), day timestamp_ntz, at bigint"), widens=True)
EPOCH = date(1970, 1, 2)


@pytest.mark.acceptance
def test_columns_follow_the_source_to_wider_types_and_the_rows_that_are_there_keep_their_values(desk: Desk) -> None:
    desk.land(NARROW, [(1, 0.5, Decimal("1.25"), EPOCH, 10), (2, 1.5, Decimal("2.50"), EPOCH, 20)])
    moment = datetime(2026, 1, 1, 12, 30)  # noqa: DTZ001 - the column takes no zone
    commit = desk.land(WIDE, [(2, 2.5, Decimal("2.125"), moment, 30), (2**40, 3.5, Decimal("3.000"), moment, 30)])
    assert commit.rows == RowCounts(read=2, inserted=1, updated=1)
    assert commit.warnings == (
        "'id' was int and is bigint in the copy, too",
        "'size' was float and is double in the copy, too",
        "'price' was decimal(8,2) and is decimal(12,3) in the copy, too",
        "'day' was date and is timestamp_ntz in the copy, too",
    )
    midnight = datetime(1970, 1, 2)  # noqa: DTZ001
    assert sorted(desk.rows(WIDE)) == [
        (1, 0.5, Decimal("1.250"), midnight, 10),
        (2, 2.5, Decimal("2.125"), moment, 30),
        (2**40, 3.5, Decimal("3.000"), moment, 30),
    ]
    assert desk.land(WIDE, [(1, 9.5, Decimal("9.000"), moment, 40)]).rows == RowCounts(read=1, updated=1)


@pytest.mark.acceptance
def test_a_number_that_was_widened_is_matched_with_the_rows_from_before(desk: Desk, writer: str) -> None:
    narrow = replace(table("id int, price decimal(8,2), at bigint"), widens=True)
    wide = replace(table("id bigint, price decimal(12,3), at bigint"), widens=True)
    desk.land(narrow, [(1, Decimal("1.25"), 10), (2, Decimal("2.50"), 20), (3, Decimal("3.75"), 20)])
    assert desk.land(wide, [(2**40, Decimal("4.125"), 30)]).warnings == (
        "'id' was int and is bigint in the copy, too",
        "'price' was decimal(8,2) and is decimal(12,3) in the copy, too",
    )
    # 1 is there as it is, 2 has changed, and both lie in a file of the narrow types.
    commit = desk.land(wide, [(1, Decimal("1.250"), 10), (2, Decimal("2.125"), 40)])
    assert commit.rows == RowCounts(read=2, updated=1, unchanged=1)
    assert sorted(desk.rows(wide)) == [
        (1, Decimal("1.250"), 10),
        (2, Decimal("2.125"), 40),
        (3, Decimal("3.750"), 20),
        (2**40, Decimal("4.125"), 30),
    ]
    last = max(Path(desk.path(wide), "_delta_log").glob("*.json")).read_text(encoding="utf-8")
    assert ('"engineInfo":"incremental-assets/' in last) is (writer == "tasks")


@pytest.mark.acceptance
def test_a_run_that_was_killed_while_it_widened_leaves_the_rest_to_the_next_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.land(NARROW, [(1, 0.5, Decimal("1.25"), EPOCH, 10)])
    moment = datetime(2026, 1, 1)  # noqa: DTZ001
    real = target_table.widen

    def killed(session: SparkSession, path: str, columns: Sequence[Retyped]) -> None:
        real(session, path, columns[:2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("incremental_assets.adapters.delta.land.widen", killed)
        with pytest.raises(KeyboardInterrupt):
            desk.land(WIDE, [(2, 2.5, Decimal("2.125"), moment, 30)])
    assert [row[0] for row in desk.rows(table("id bigint, size double, at bigint"))] == [1]
    assert desk.land(WIDE, [(2, 2.5, Decimal("2.125"), moment, 30)]).rows == RowCounts(read=1, inserted=1)


def test_a_type_that_is_not_wider_is_refused_and_a_wider_one_names_the_setting(desk: Desk) -> None:
    desk.land(NARROW, [(1, 0.5, Decimal("1.25"), EPOCH, 10)])
    narrower = replace(table("id smallint, size float, price decimal(8,2), day date, at bigint"), widens=True)
    with pytest.raises(
        SchemaChanged,
        match=r"id was int and is smallint\), which rows .* cannot follow: read everything again .*, or put the type back$",
    ):
        desk.land(narrower, [(1, 0.5, Decimal("1.25"), EPOCH, 20)])
    with pytest.raises(SchemaChanged, match=r"put the type back, or set `schema_changes: widen` for this table"):
        desk.land(replace(WIDE, widens=False), [(1, 0.5, Decimal("1.250"), datetime(2026, 1, 1), 20)])  # noqa: DTZ001
