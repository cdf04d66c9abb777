"""Avro says itself what columns it has, and its rows land as those of other files."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pytest

from incremental_assets.adapters.files import avro_rows
from incremental_assets.adapters.files.raw import Rows
from incremental_assets.core.config.files_settings import FileFormat
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import Drop, files


def counted(kind: str, logical: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical} | more


def written(fields: dict[str, Any], *rows: Any, **more: Any) -> bytes:
    sink = io.BytesIO()
    schema = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": name, "type": each} for name, each in fields.items()],
    }
    fastavro.writer(sink, schema, [dict(zip(fields, row, strict=True)) for row in rows], **more)
    return sink.getvalue()


def dropped(home: Path, content: bytes, **more: Any) -> Drop:
    drop = Drop(home, files(FileFormat.AVRO, **more), Strategy.UPSERT if more else Strategy.APPEND)
    drop.put("a.avro", content)
    drop.sync()
    return drop


def values(drop: Drop) -> list[Sequence[Any]]:
    return [tuple(value for name, value in row.items() if not name.startswith("_file")) for row in drop.rows()]


MONEY = counted("fixed", "decimal", name="Money", size=8, precision=10, scale=2)
SCALARS: dict[str, tuple[Any, str, Any]] = {
    "id": ("long", "bigint", 1),
    "small": ("int", "int", -1),
    "yes": ("boolean", "boolean", True),
    "x": ("float", "float", 1.5),
    "y": ("double", "double", 0.1),
    "text": ("string", "string", "ü"),
    "data": ("bytes", "binary", b"\x00"),
    "mood": ({"type": "enum", "name": "Mood", "symbols": ["FINE", "BAD"]}, "string", "BAD"),
    "price": (counted("bytes", "decimal", precision=10, scale=2), "decimal(10,2)", Decimal("-12.10")),
    "money": (MONEY, "decimal(10,2)", Decimal("0.05")),
    "again": ("Money", "decimal(10,2)", Decimal("7.00")),
    "day": (counted("int", "date"), "date", date(1, 1, 1)),
    "at": (counted("long", "timestamp-millis"), "timestamp", datetime(2024, 7, 1, 8, 0, 0, 1000, UTC)),
    "fine": (counted("long", "timestamp-micros"), "timestamp", datetime(1, 1, 1, tzinfo=UTC)),
    "wall": (counted("long", "local-timestamp-micros"), "timestamp_ntz", datetime.fromisoformat("9999-12-31 23:59:59")),
}


def test_values_of_avro_are_what_they_are(tmp_path: Path) -> None:
    fields = {
        name: kind if isinstance(kind, dict) and "name" in kind else ["null", kind]
        for name, (kind, *_) in SCALARS.items()
    }
    row = tuple(each[2] for each in SCALARS.values())
    last = tuple(each if name in ("mood", "money") else None for name, each in zip(fields, row, strict=True))
    drop = dropped(tmp_path, written(fields, row, last))
    assert {each.name: each.spark_type for each in drop.spec.columns if each.name in fields} == {
        name: kind for name, (_, kind, _) in SCALARS.items()
    }
    assert values(drop) == [row, last]


def test_what_is_nested_and_what_may_be_of_several_types_becomes_a_text(tmp_path: Path) -> None:
    nested = {"type": "record", "name": "Inner", "fields": [{"name": "day", "type": counted("int", "date")}]}
    fields = {
        "inner": nested,
        "list": {"type": "array", "items": ["null", "Inner"]},
        "map": {"type": "map", "values": "double"},
        "either": ["null", "string", "long"],
        "clock": counted("long", "time-micros"),
        "uuid": counted("string", "uuid"),
    }
    one = UUID("12345678-1234-5678-1234-567812345678")
    drop = dropped(tmp_path, written(fields, ({"day": date(2024, 1, 1)}, [None], {"a": 1}, 7, time(1, 2), one)))
    assert values(drop) == [('{"day":"2024-01-01"}', "[null]", '{"a":1.0}', "7", "01:02:00", str(one))]


def test_of_a_file_that_has_no_column_of_the_table_the_rows_are_counted() -> None:
    content = io.BytesIO(written({"id": "long"}, (1,), (2,), (3,)))
    _, reader = avro_rows.schema_of(content)
    (rows,) = avro_rows.rows_of_avro(reader, {"other": "string"})
    assert isinstance(rows, Rows)
    assert ([*rows.numbers], rows.columns, rows.faults) == ([1, 2, 3], {}, {})


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz", "snappy", "zstandard", "lz4"])
def test_each_way_to_pack_is_read_and_rows_are_numbered_through(
    tmp_path: Path, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avro_rows, "_ROWS", 70)
    content = written({"id": "long"}, *((n,) for n in range(1, 201)), codec=codec, sync_interval=50)
    assert len(list(fastavro.block_reader(io.BytesIO(content)))) > 1
    drop = dropped(tmp_path, content)
    assert [(row["id"], row["_file_row"]) for row in drop.rows()] == [(n, n) for n in range(1, 201)]


def test_a_value_that_its_column_does_not_hold_goes_to_quarantine_with_file_and_row(tmp_path: Path) -> None:
    price = counted("bytes", "decimal", precision=2, scale=1)
    decimals = written(
        {"id": "long", "price": "bytes", "at": "long"}, (1, b"\x0b", 0), (2, b"\x7f", 0), (3, b"\x0b", 2**60)
    )
    as_decimals = written({"id": "long", "price": price, "at": counted("long", "timestamp-micros")})
    # The rows of the one under the schema of the other, which writers do that do not look.
    head, tail = as_decimals[:-16], decimals[decimals.index(decimals[-16:]) + 16 :]
    drop = dropped(tmp_path, head + decimals[-16:] + tail)
    assert drop.places() == [("a.avro", 1)]
    assert drop.unfit() == [
        ("a.avro", 2, "price: a value that a decimal(2,1) does not hold"),
        ("a.avro", 3, "at: a day or moment outside the years 1 to 9999"),
    ]


WHOLE = written({"id": "long", "text": "string"}, (1, "x" * 100), (2, "y" * 100))
BLOCK = WHOLE.index(WHOLE[-16:]) + 16
"""Where the only block begins, with the count of its records."""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cannot read header"),
        (b"id,status\n1,new\n", ""),
        (WHOLE[:-3], "expected sync marker"),
        (WHOLE[:-40], ""),
        (WHOLE[:BLOCK] + b"\x02" + WHOLE[BLOCK + 1 :], "a block of it holds more than its records"),
        (WHOLE.replace(b"x" * 100, b"\xff" * 100), "utf-8"),
        (WHOLE[: -16 - 2 * 103] + bytes([2 * 100 + 1]) + WHOLE[-15 - 2 * 103 :], ""),
    ],
    # A mark within is drawn at random.
    ids=[
        "empty",
        "another format",
        "cut in the mark",
        "cut in a record",
        "too many records",
        "no text",
        "a wrong length",
    ],
)
def test_a_file_of_avro_that_is_broken_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    drop = Drop(tmp_path, files(FileFormat.AVRO), Strategy.APPEND)
    drop.put("a.avro", WHOLE)
    drop.put("b.avro", content)
    told = drop.refused()
    assert "the file 'b.avro' is broken (" in told
    assert why in told
    assert drop.rows() == []


def test_values_that_are_no_records_are_refused(tmp_path: Path) -> None:
    sink = io.BytesIO()
    fastavro.writer(sink, "long", [1, 2])
    drop = Drop(tmp_path, files(FileFormat.AVRO), Strategy.APPEND)
    drop.put("a.avro", sink.getvalue())
    assert "the file 'a.avro' is broken (its values are no records)" in drop.refused()


def test_the_newer_of_two_files_counts_and_a_new_column_comes(tmp_path: Path) -> None:
    drop = dropped(tmp_path, written({"id": "long", "status": "string"}, (1, "new"), (2, "new")), key=("id",))
    drop.put("b.avro", written({"id": "int", "status": ["null", "string"], "more": "int"}, (2, "paid", 7)))
    drop.sync()
    assert [(row["id"], row["status"], row.get("more")) for row in drop.rows()] == [(1, "new", None), (2, "paid", 7)]


def test_without_its_extra_a_table_says_in_one_sentence_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "incremental_assets.core.extras.find_spec",
        lambda module: None if module == "fastavro" else importlib.util.find_spec(module),
    )
    drop = Drop(tmp_path, files(FileFormat.AVRO), Strategy.APPEND)
    drop.put("a.avro", WHOLE)
    assert "what reads Avro is not installed; install it by `pip install 'incremental-assets[avro]'`" in drop.refused()
