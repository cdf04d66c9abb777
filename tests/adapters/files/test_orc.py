"""ORC says itself what columns it has, and its rows land as those of other files."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from incremental_assets.adapters.files import orc_rows
from incremental_assets.adapters.files.raw import Rows
from incremental_assets.core.config.files_settings import FileFormat
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import Drop, files


def written(table: pa.Table, **more: Any) -> bytes:
    sink = io.BytesIO()
    orc.write_table(table, sink, **more)
    return sink.getvalue()


def dropped(home: Path, content: bytes, **more: Any) -> Drop:
    drop = Drop(home, files(FileFormat.ORC, **more), Strategy.UPSERT if more else Strategy.APPEND)
    drop.put("a.orc", content)
    drop.sync()
    return drop


def test_values_of_orc_are_what_they_are(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "price": pa.array([Decimal("1.10"), None]),
            "at": pa.array([datetime(2024, 7, 1, tzinfo=UTC), None], pa.timestamp("us", "Europe/Berlin")),
            "wall": pa.array([datetime.fromisoformat("1900-01-01"), None], pa.timestamp("us")),
            "day": pa.array([date(1, 1, 1), None]),
            "data": pa.array([b"\x00", None]),
            "list": pa.array([[1, None], None]),
            "nested": pa.array([{"a": {"id": "x"}}, None]),
            "nested.a": pa.array(["a column of its own", None]),
        }
    )
    drop = dropped(tmp_path, written(table))
    assert [tuple(row.values()) for row in drop.rows()] == [
        (
            *(1, Decimal("1.10"), datetime(2024, 7, 1, tzinfo=UTC), datetime.fromisoformat("1900-01-01")),
            *(date(1, 1, 1), b"\x00", "[1,null]", '{"a":{"id":"x"}}', "a column of its own", "a.orc", 1),
        ),
        (2, *(None,) * 8, "a.orc", 2),
    ]


def test_of_a_file_that_has_no_column_of_the_table_the_rows_are_counted() -> None:
    content = io.BytesIO(written(pa.table({"id": [1, 2, 3]})))
    _, file = orc_rows.schema_of(content)
    (rows,) = orc_rows.rows_of_orc(file, {"other": "string"})
    assert isinstance(rows, Rows)
    assert ([*rows.numbers], rows.columns, rows.faults) == ([1, 2, 3], {}, {})


def test_rows_of_several_stripes_are_numbered_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orc_rows, "_ROWS", 1000)
    count = 30_000
    content = written(
        pa.table({"id": pa.array(range(count)), "text": [f"{n * 7919 % count:09}" for n in range(count)]}),
        stripe_size=64 << 10,
        batch_size=1024,
    )
    assert orc.ORCFile(io.BytesIO(content)).nstripes > 1
    assert dropped(tmp_path, content).places() == [("a.orc", n) for n in range(1, count + 1)]


def test_a_moment_that_is_finer_than_the_copy_goes_to_quarantine(tmp_path: Path) -> None:
    drop = dropped(tmp_path, written(pa.table({"id": [1, 2], "at": pa.array([1_000, 1_001], pa.timestamp("ns"))})))
    assert drop.places() == [("a.orc", 1)]
    assert drop.unfit() == [("a.orc", 2, "at: a value that a timestamp_ntz does not hold")]


def test_a_file_without_rows_lands_as_one(tmp_path: Path) -> None:
    drop = dropped(tmp_path, written(pa.table({"id": pa.array([], pa.int64())})))
    assert (drop.rows(), drop.landed()) == ([], ["a.orc"])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "File size too small"),
        (b"id,status\n1,new\n" * 9, "Not an ORC file"),
        (written(pa.table({"id": [1]}))[:-4], ""),
        (written(pa.table({"at": pa.array([datetime(1, 1, 1)], pa.timestamp("us"))})), "is out of range"),  # noqa: DTZ001
    ],
)
def test_a_file_of_orc_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    drop = Drop(tmp_path, files(FileFormat.ORC), Strategy.APPEND)
    drop.put("a.orc", content)
    told = drop.refused()
    assert "the file 'a.orc' is broken (" in told
    assert why in told


def test_the_newer_of_two_files_counts_and_a_new_column_comes(tmp_path: Path) -> None:
    drop = dropped(tmp_path, written(pa.table({"id": [1, 2], "status": ["new", "new"]})), key=("id",))
    drop.put("b.orc", written(pa.table({"id": [2], "status": ["paid"], "more": [7]})))
    drop.sync()
    assert [(row["id"], row["status"], row.get("more")) for row in drop.rows()] == [(1, "new", None), (2, "paid", 7)]
