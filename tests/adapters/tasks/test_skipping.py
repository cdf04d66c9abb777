"""A file, or a part of one, is left out only if none of its rows can matter."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.delta.tasks.files import data_file, stored_rows
from incremental_assets.adapters.delta.tasks.files.skipping import (
    Among,
    Reach,
    file_may_hold,
    group_may_hold,
    ordinal,
    places,
)
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup, row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Adding, Replacing
from incremental_assets.adapters.delta.tasks.matching import replacing
from incremental_assets.adapters.spark.arrow_types import arrow_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from tests.adapters.tasks.tables import Table

NUMBERS = Reach("c", "bigint", 10, 20)
FROM = Reach("c", "bigint", 10)


def told(low: str, high: str, nulls: str = "0") -> str:
    return f'{{"numRecords":5,"minValues":{{"c":{low}}},"maxValues":{{"c":{high}}},"nullCount":{{"c":{nulls}}}}}'


@pytest.mark.parametrize(
    ("stats", "reach", "may"),
    [
        (told("1", "9"), NUMBERS, False),
        (told("21", "30"), NUMBERS, False),
        (told("1", "10"), NUMBERS, True),
        (told("20", "30"), NUMBERS, True),
        (told("1", "9", "2"), NUMBERS, False),
        (told("1", "9"), FROM, False),
        (told("1", "9", "2"), FROM, True),
        (told("21", "30"), FROM, True),
        (told("1", "9", "null"), FROM, True),
        (told("1", "1E1"), NUMBERS, True),
        (told('"1"', '"9"'), NUMBERS, True),
        ('{"numRecords":5}', NUMBERS, True),
        ('{"numRecords":5,"minValues":null,"nullCount":{"c":5}}', FROM, True),
        ("", NUMBERS, True),
        (None, NUMBERS, True),
        (told('"2020-01-01"', '"2020-01-31"'), Reach("c", "date", ordinal(date(2020, 2, 1))), False),
        (told('"2020-01-01"', '"+12020-01-31"'), Reach("c", "date", ordinal(date(2020, 2, 1))), True),
    ],
)
def test_by_the_log(stats: str | None, reach: Reach, may: bool) -> None:
    assert file_may_hold(stats, [reach]) is may


@pytest.mark.parametrize(
    ("high", "may"),
    [
        ("2020-01-01T00:00:00.000Z", True),
        ("2020-01-01T01:00:00.000+01:00", True),
        ("2019-12-31T23:59:59.999Z", False),
        ("2020-01-01T00:00:00.000", True),
        ("+20200-01-01T00:00:00.000Z", True),
    ],
    ids=["cut to a millisecond", "in another zone", "below", "without a zone, which is unknown", "out of reach"],
)
def test_a_moment_in_the_log_may_have_been_cut(high: str, may: bool) -> None:
    reach = Reach("c", "timestamp", ordinal(datetime(2020, 1, 1, 0, 0, 0, 500, UTC)))
    assert file_may_hold(told('"1900-01-01T00:00:00.000Z"', f'"{high}"'), [reach]) is may


@pytest.mark.parametrize(
    ("array", "kind", "lowest", "may"),
    [
        (pa.array([1, 9]), "bigint", 10, False),
        (pa.array([1, None, 9]), "bigint", 10, True),
        (pa.array([1, 10], pa.int8()), "tinyint", 10, True),
        (pa.array([-5, -1], pa.int32()).cast(pa.date32()), "date", 0, False),
        (pa.array([2**40]).cast(pa.timestamp("us", tz="UTC")), "timestamp", 2**41, False),
        (pa.array([2**40]).cast(pa.timestamp("ms", tz="UTC")), "timestamp", 2**41, True),
        (pa.array([1, 9]).cast(pa.timestamp("us")), "timestamp_ntz", 10, False),
    ],
    ids=str,
)
def test_by_the_file(array: pa.Array, kind: str, lowest: int, may: bool, tmp_path: Path) -> None:
    pq.write_table(pa.table({"other": array, "c": array}), tmp_path / "f")
    with pq.ParquetFile(tmp_path / "f") as file:
        assert group_may_hold(file, places(file), 0, [Reach("c", kind, lowest)]) is may
        assert group_may_hold(file, places(file), 0, [Reach("absent", kind, lowest)])


@pytest.mark.parametrize("version", ["INT96", "dates of an older calendar"])
def test_old_kinds_of_files(version: str, tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint, t timestamp")
    moment = datetime(1, 1, 1, tzinfo=UTC)
    table.land(Replacing((0,), compares=True), [(1, moment)])
    (name,) = table.files()
    rows = pq.read_table(table.path / name)
    if version == "INT96":
        moment = datetime(2262, 4, 12, tzinfo=UTC)
        rows = rows.set_column(1, "t", pa.array([moment], arrow_type("timestamp")))
        pq.write_table(rows, table.path / name, use_deprecated_int96_timestamps=True)
        assert table.land(Replacing((0,), compares=True), [(1, moment)]).written == 0, "it is there as it is"
    else:
        pq.write_table(rows.replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), table.path / name)
        with pytest.raises(Exception, match="older calendar"):
            table.land(Replacing((0,), compares=True), [(1, moment)])


def test_of_a_large_file_only_row_groups_that_can_hold_a_key_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 100)
    table = Table(tmp_path, "id bigint, note string")
    for first in (0, 300, 600):
        table.land(Replacing((0,), compares=False), [(number, "old") for number in range(first, first + 300)])
    read = _watched(monkeypatch)
    assert table.land(Replacing((0,), compares=True), [(899, "new"), (905, "new")]).marked == 1
    assert read == [("id", 200), ("note", 200)], (
        "the keys of one row group, and what else its row has that may have changed"
    )
    assert len(table.rows()) == 901


def test_a_row_group_that_lies_between_two_keys_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 100)
    table, how = Table(tmp_path, "id bigint, note string"), Replacing((0,), compares=False)
    for first in (0, 300, 600):
        table.land(how, [(number, "old") for number in range(first, first + 300)])
    read = _watched(monkeypatch)
    assert table.land(how, [(99, "new"), (200, "new"), (899, "new")]).marked == 3
    assert read == [("id", 0), ("id", 200), ("id", 200)], "not 100 to 199, and nothing of the second file"
    assert sorted(row[0] for row in table.rows() if row[1] == "new") == [99, 200, 899]
    assert len({row[0] for row in table.rows()}) == 900, "each of them in the place of its own"


@pytest.mark.parametrize(
    ("low", "high", "may"),
    [
        (11, 19, False),
        (10, 10, True),
        (11, 20, True),
        (1, 9, False),
        (31, 40, False),
        (30, 2**80, True),
        (None, 9, True),
    ],
)
def test_a_file_between_two_values_holds_neither(low: int | None, high: int | None, may: bool) -> None:
    assert Among("c", "bigint", np.array([10, 20, 30])).meets(low, high, 0) is may


def test_of_rows_whose_cursor_has_changed_no_other_column_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, how = Table(tmp_path, "note string, id bigint, at bigint"), Replacing((1,), compares=True, cursor=2)
    table.land(how, [("a", number, 1) for number in range(10)])
    read = _watched(monkeypatch)
    assert table.land(how, [("a", 3, 2), ("a", 4, 2)]).written == 2
    assert read == [("id", 0)], "no row of the target has a cursor as late as theirs"
    read.clear()
    assert table.land(how, [("a", 5, 1), ("a", 6, 2)]).written == 1, "one of them is there as it is"
    assert read == [("id", 0), ("at", 0), ("note", 0)]
    read.clear()
    assert table.land(how, [("a", 7, None), ("a", 6, 2)]).written == 1, "a row without a cursor may be anywhere"
    assert read[:2] == [("id", 0), ("at", 0)]


def test_what_a_task_would_have_to_hold_of_the_table_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, how = Table(tmp_path, "id bigint, note string"), Adding(compares=True)
    table.land(how, [(number, "a") for number in range(100)])
    monkeypatch.setattr(stored_rows, "_MOST_HELD", 100)
    with pytest.raises(NotByTasks, match="100 bytes"):
        table.land(how, [(1, "b")])


def test_rows_of_small_row_groups_are_written_along_in_larger_ones(tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint, note string")
    for number in range(5):
        table.land(Replacing((0,), compares=False), [(number, "old")])
    done = table.land(Replacing((0,), compares=False, whole=True), [(3, "new")])
    (name,) = (each["add"]["path"] for each in done.actions if "add" in each)
    assert (done.kept, pq.ParquetFile(table.path / name).num_row_groups) == (4, 1)


def _watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Columns that are read of row groups, with the number of the group's first row."""
    read: list[tuple[str, int]] = []
    columns: Callable[..., Any] = RowGroup.columns

    def watched(group: RowGroup, asked: Any) -> Any:
        read.extend((each.name, group.first) for each in asked)
        return columns(group, asked)

    monkeypatch.setattr(RowGroup, "columns", watched)
    assert replacing.row_groups is row_groups
    return read
