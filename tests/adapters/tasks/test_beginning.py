"""Where the rows of a copy begin, by the statistics of its log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.audit.lowest import lowest
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor
from tests.adapters.batches import ORDERS, Desk, table

if TYPE_CHECKING:
    from incremental_assets.core.model.table import TableSpec

Stats = Mapping[str, Any]


def state(kind: str, files: Sequence[Stats | None]) -> LogState:
    fields = [{"name": "id", "type": "long", "metadata": {}}, {"name": "at", "type": kind, "metadata": {}}]
    found = {
        f"{place}.parquet": {} if each is None else {"stats": json.dumps(each)} for place, each in enumerate(files)
    }
    return LogState(0, metadata={"schemaString": json.dumps({"fields": fields})}, files=found)


def of(low: object, rows: int = 2, nulls: int = 0) -> Stats:
    return {"numRecords": rows, "minValues": {"at": low}, "nullCount": {"at": nulls}}


def spec_of(kind: str, cursor: CursorType) -> TableSpec:
    return replace(table(f"id bigint, at {kind}"), cursor=Cursor("at", cursor))


@pytest.mark.parametrize(
    ("kind", "cursor", "ends", "expected"),
    [
        ("bigint", CursorType.INTEGER, [10, 9, -3], "-3"),
        ("date", CursorType.DATE, ["2024-02-01", "2023-12-31"], "2023-12-31"),
        (
            "timestamp",
            CursorType.TIMESTAMP,
            ["2024-02-01T00:00:00.000Z", "2024-01-01T12:00:00.123Z"],
            "2024-01-01T12:00:00.123Z",
        ),
        ("timestamp", CursorType.TIMESTAMP, ["2024-01-01T12:00:00.000+00:00"], "2024-01-01T12:00:00Z"),
        ("timestamp_ntz", CursorType.DATETIME, ["2024-02-01T00:00:00.000"], "2024-02-01T00:00:00"),
    ],
)
def test_the_lowest_end_of_all_files_is_where_rows_begin(
    kind: str, cursor: CursorType, ends: list[object], expected: str
) -> None:
    found = lowest(spec_of(kind, cursor), state(kind, [of(each) for each in ends]))
    assert str(found) == expected


def test_a_file_without_a_row_that_has_a_cursor_does_not_count() -> None:
    spec = spec_of("bigint", CursorType.INTEGER)
    assert str(lowest(spec, state("long", [of(7), of(None, rows=2, nulls=2), {"numRecords": 0}]))) == "7"


def test_a_file_that_does_not_tell_leaves_it_open() -> None:
    spec = spec_of("bigint", CursorType.INTEGER)
    for silent in (None, {"numRecords": 2}, of("nothing"), {"numRecords": 2, "minValues": {"id": 1}}):
        assert lowest(spec, state("long", [of(7), silent])) is None
    assert lowest(spec, state("long", [])) is None
    assert lowest(replace(spec, cursor=Cursor("xmin", CursorType.INTEGER)), state("long", [of(7)])) is None
    assert lowest(replace(spec, cursor=Cursor("at", CursorType.INTEGER, fallback="id")), state("long", [of(7)])) is None


def test_a_real_copy_tells_it_after_its_first_row_is_gone_from_the_source(desk: Desk) -> None:
    assert desk.lake.lowest(ORDERS) is None
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    desk.land(ORDERS, [(3, "c", 30)])
    assert str(desk.lake.lowest(ORDERS)) == "10"
