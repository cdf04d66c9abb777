"""What files of Parquet hold, as people and old programs write them, and what of it cannot land."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.files.parquet_rows import exactly
from incremental_assets.core.config.files_settings import FileFormat
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import Drop, dropped, files, values


def parquet(table: pa.Table, **more: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **more)
    return sink.getvalue()


def test_parquet_says_itself_what_columns_it_has(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.uint32()),
            "big": pa.array([2**64 - 1, None], pa.uint64()),
            "price": pa.array([Decimal("1.10"), None]),
            "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None], pa.timestamp("ms", "Europe/Berlin")),
            "wall": pa.array([datetime.fromisoformat("2024-01-01"), None], pa.timestamp("ns")),
            "day": pa.array([date(2024, 1, 1), None]),
            "clock": pa.array([time(23, 59, 59, 5), None]),
            "word": pa.array(["a", None]).dictionary_encode(),
            "data": pa.array([b"\x00", None]),
            "list": pa.array([[1, None], None]),
            "nested": pa.array([{"a": {"id": [date(2024, 1, 1)]}}, None]),
        }
    )
    drop = dropped(tmp_path, parquet(table), "a.parquet", form=FileFormat.PARQUET)
    assert {each.name: each.spark_type for each in drop.spec.columns} == {
        "id": "bigint",
        "big": "decimal(20,0)",
        "price": "decimal(3,2)",
        "at": "timestamp",
        "wall": "timestamp_ntz",
        "day": "date",
        "clock": "string",
        "word": "string",
        "data": "binary",
        "list": "string",
        "nested": "string",
        "_file": "string",
        "_file_row": "bigint",
    }
    assert values(drop) == [
        (
            *(1, Decimal(18446744073709551615), Decimal("1.10"), datetime(2024, 1, 1, tzinfo=UTC)),
            *(datetime.fromisoformat("2024-01-01"), date(2024, 1, 1), "23:59:59.000005", "a", b"\x00", "[1,null]"),
            '{"a":{"id":["2024-01-01"]}}',
        ),
        (2, *(None,) * 10),
    ]


def test_a_moment_that_is_finer_than_the_copy_goes_to_quarantine(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "at": pa.array([1_000, 1_001], pa.timestamp("ns"))})
    drop = dropped(tmp_path, parquet(table), "a.parquet", form=FileFormat.PARQUET)
    assert drop.places() == [("a.parquet", 1)]
    assert drop.unfit() == [("a.parquet", 2, "at: a value that a timestamp_ntz does not hold")]


def test_a_moment_that_nobody_has_goes_to_quarantine(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "at": pa.array([0, 2**60], pa.timestamp("us"))})
    drop = dropped(tmp_path, parquet(table), "a.parquet", form=FileFormat.PARQUET)
    assert drop.unfit() == [("a.parquet", 2, "at: a day or moment outside the years 1 to 9999")]


def test_nanoseconds_of_the_old_kind_of_moments_are_seen_too(tmp_path: Path) -> None:
    moments = pa.array([1_000, 1_001], pa.timestamp("ns"))
    drop = dropped(
        tmp_path,
        parquet(pa.table({"at": moments}), use_deprecated_int96_timestamps=True),
        "a.parquet",
        form=FileFormat.PARQUET,
    )
    assert drop.unfit() == [("a.parquet", 2, "at: a value that a timestamp_ntz does not hold")]
    far = [datetime.fromisoformat(each) for each in ("0001-01-01", "1500-01-01 00:00:00.000001", "9999-12-31")]
    table = pa.table({"at": pa.array([*far, None], pa.timestamp("us"))})
    drop.put("b.parquet", parquet(table, use_deprecated_int96_timestamps=True))
    drop.sync()
    assert values(drop)[1:] == [(each,) for each in (*far, None)]


def test_nanoseconds_of_the_old_kind_of_moments_are_seen_inside_of_what_is_nested(tmp_path: Path) -> None:
    fine, coarse = pa.timestamp("ns"), pa.timestamp("us")
    within = pa.table(
        {
            "id": [1, 2, 3],
            "one": pa.array([{"at": 1_000}, {"at": 1_001}, None], pa.struct([("at", fine)])),
            "many": pa.array([[1_001, None], [], [1_000_000_001]], pa.list_(fine)),
            "named": pa.array([[("a", 1_001)], [], None], pa.map_(pa.string(), fine)),
        }
    )
    drop = dropped(
        tmp_path, parquet(within, use_deprecated_int96_timestamps=True), "a.parquet", form=FileFormat.PARQUET
    )
    assert values(drop) == [
        (
            1,
            '{"at":"1970-01-01 00:00:00.000001"}',
            '["1970-01-01 00:00:00.000001001",null]',
            '[["a","1970-01-01 00:00:00.000001001"]]',
        ),
        (2, '{"at":"1970-01-01 00:00:00.000001001"}', "[]", "[]"),
        (3, None, '["1970-01-01 00:00:01.000000001"]', None),
    ]
    far = datetime.fromisoformat("1500-01-01 00:00:00.000001")
    old = pa.table(
        {
            "id": [4],
            "one": pa.array([{"at": far}], pa.struct([("at", coarse)])),
            "many": pa.array([[far]], pa.list_(coarse)),
            "named": pa.array([[("a", far)]], pa.map_(pa.string(), coarse)),
        }
    )
    drop.put("b.parquet", parquet(old, use_deprecated_int96_timestamps=True))
    drop.sync()
    text = "1500-01-01 00:00:00.000001"
    assert values(drop)[3:] == [(4, f'{{"at":"{text}"}}', f'["{text}"]', f'[["a","{text}"]]')]


def test_a_moment_of_long_ago_beside_one_with_nanoseconds_has_its_own_digits(tmp_path: Path) -> None:
    """Arrow counts nanoseconds in 64 bits, which go round before 1677: it writes no such file, so both readings are made here."""
    far = datetime.fromisoformat("1500-01-01 00:00:00.000001")
    coarse = pa.array([[far], [datetime.fromisoformat("1970-01-01 00:00:00.000001")]], pa.list_(pa.timestamp("us")))
    fine = pc.list_element(coarse, 0).cast(pa.timestamp("ns"), safe=False).cast(pa.int64()).to_pylist()
    both = pa.array([[fine[0]], [fine[1] + 1]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("ns")))
    assert exactly(coarse, both).to_pylist() == [
        '["1500-01-01 00:00:00.000001"]',
        '["1970-01-01 00:00:00.000001001"]',
    ]


def of_bytes(*texts: bytes) -> pa.Array:
    """Texts as a program wrote them that did not look."""
    return pa.array(texts, pa.binary()).view(pa.string())


def test_a_text_of_parquet_that_is_no_utf8_goes_to_quarantine(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": [1, 2, 3],
            "name": of_bytes(b"a", b"\xe4", b"c"),
            "all": pa.ListArray.from_arrays([0, 1, 2, 3], of_bytes(b"a", b"b", b"\xff")),
        }
    )
    drop = dropped(tmp_path, parquet(table), "a.parquet", form=FileFormat.PARQUET)
    assert values(drop) == [(1, "a", '["a"]')]
    assert drop.unfit() == [
        ("a.parquet", 2, "name: a text that is no UTF-8"),
        ("a.parquet", 3, "all: a value that has no text"),
    ]


def test_what_is_nested_is_json_whatever_it_holds(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "numbers": pa.array([[1.5, float("nan")], [float("-inf")]]),
            "days": pa.array([[0], [2**30]], pa.list_(pa.int32())).cast(pa.list_(pa.date32())),
            "clock": pa.array([1_500, 1_000], pa.time64("ns")),
        }
    )
    drop = dropped(tmp_path, parquet(table), "a.parquet", form=FileFormat.PARQUET)
    assert values(drop) == [(1, '[1.5,"NaN"]', '["1970-01-01"]', "00:00:00.000001500")]
    assert drop.unfit() == [("a.parquet", 2, "days: a value that has no text")]


TWICE = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])


@pytest.mark.parametrize(
    ("names", "columns", "why"),
    [
        (["id", "id"], [pa.array([1]), pa.array([2])], "has two columns 'id'"),
        (["id", "a"], [pa.array([1]), TWICE], "has a column 'a' of the type struct<x: int64, x: int64>, which no"),
        (
            ["id", "a"],
            [pa.array([1]), pa.array([[1]], pa.list_(pa.duration("us")))],
            "has a column 'a' of the type list",
        ),
    ],
)
def test_columns_of_parquet_that_no_table_has_are_named(
    tmp_path: Path, names: list[str], columns: list[pa.Array], why: str
) -> None:
    drop = Drop(tmp_path, files(FileFormat.PARQUET), Strategy.APPEND)
    drop.put("a.parquet", parquet(pa.table(columns, names=names)))
    assert f"SourceRefused: drop.shop.orders: the file 'a.parquet' {why}" in drop.refused()


def test_a_name_of_a_column_that_is_no_text_is_named(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(FileFormat.PARQUET), Strategy.APPEND)
    drop.put(
        "a.parquet", parquet(pa.table({"name_of_it": [1]}), store_schema=False).replace(b"name_of_it", b"name_of_i\xff")
    )
    assert "the file 'a.parquet' is broken ('utf-8' codec can't decode byte" in drop.refused()


def test_a_page_that_is_not_what_was_written_is_noticed_where_it_has_a_sum(tmp_path: Path) -> None:
    data = bytearray(
        parquet(pa.table({"id": range(1_000)}), compression="none", use_dictionary=False, write_page_checksum=True)
    )
    data[200] ^= 0x40
    drop = Drop(tmp_path, files(FileFormat.PARQUET), Strategy.APPEND)
    drop.put("a.parquet", bytes(data))
    assert "the file 'a.parquet' is broken (could not verify page integrity" in drop.refused()


def test_a_file_of_parquet_that_is_none_is_named(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(FileFormat.PARQUET), Strategy.APPEND)
    drop.put("a.parquet", parquet(pa.table({"id": [1]}))[:-4])
    assert "the file 'a.parquet' is broken (" in drop.refused()
