"""What files hold: CSV and JSON lines as people write them, and what of it cannot land."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.files import csv_rows
from incremental_assets.adapters.files.csv_quotes import Quotes
from incremental_assets.core.config.files_settings import CsvForm, FileFormat
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import Drop, dropped, files, values

TYPES = {
    "n": "bigint",
    "small": "tinyint",
    "x": "double",
    "d": "decimal(12,2)",
    "t": "string",
    "b": "boolean",
    "day": "date",
    "at": "timestamp",
    "wall": "timestamp_ntz",
}
HEAD = ",".join(TYPES) + "\n"


def test_values_of_csv_are_what_they_say(tmp_path: Path) -> None:
    row = '1,-128,1e3,12.10,"say ""hi"",\nyou",TRUE,2024-02-29,2024-03-10T01:30:00.5+01:00,2024-03-10 01:30:00.123456\n'
    drop = dropped(tmp_path, HEAD + row + ",,,,,,,,\n" + ',,,,"",,,,\n', columns=TYPES)
    assert values(drop) == [
        (
            *(1, -128, 1000.0, Decimal("12.10"), 'say "hi",\nyou', True, date(2024, 2, 29)),
            *(datetime(2024, 3, 10, 0, 30, 0, 500_000, UTC), datetime.fromisoformat("2024-03-10 01:30:00.123456")),
        ),
        (None,) * 9,
        (*(None,) * 4, "", *(None,) * 4),
    ]


MISFITS = [
    ("n", "0x10", "a text that is no bigint"),
    ("n", "1.0", "a text that is no bigint"),
    ("n", " 1", "a text that is no bigint"),
    ("n", "9223372036854775808", "a text that is no bigint"),
    ("small", "128", "a text that is no tinyint"),
    ("x", "1e999", "a number that a double does not hold"),
    ("x", "1,5", "a text that is no double"),
    ("d", "1.234", "a text that is no decimal(12,2)"),
    ("d", "12345678901.00", "a text that is no decimal(12,2)"),
    ("t", b"\xff", "a text that is no UTF-8"),
    ("b", "yes", "a text that is no boolean"),
    ("day", "2024-02-30", "a text that is no date"),
    ("day", "0000-01-01", "a day or moment outside the years 1 to 9999"),
    ("at", "2024-03-10T01:30:00", "a text that is no moment with its zone"),
    ("at", "2024-03-10T01:30:00.123456789Z", "a text that is no moment with its zone"),
    ("wall", "2024-03-10T01:30:00Z", "a text that is no moment without a zone"),
]


def test_a_value_that_its_column_does_not_hold_goes_to_quarantine_with_file_and_row(tmp_path: Path) -> None:
    rows, expected = b"", []
    for number, (name, text, reason) in enumerate(MISFITS, 2):
        data = text if isinstance(text, bytes) else text.encode()
        rows += b",".join(b'"' + data + b'"' if each == name else b"" for each in TYPES) + b"\n"
        expected.append(("a.csv", number, f"{name}: {reason}"))
    drop = dropped(tmp_path, HEAD.encode() + b"1,,,,,,,,\n" + rows + b"2,,,,,,,,\n", columns=TYPES)
    assert drop.unfit() == expected
    assert drop.places() == [("a.csv", 1), ("a.csv", len(MISFITS) + 2)]


PLAIN = {"id": "bigint", "status": "string"}


def test_rows_that_are_too_long_or_too_short_are_known_by_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "_BLOCK", 64)
    lines = [f"{n},x{n}\n" if n % 7 else f"{n}\n" if n % 2 else f"{n},a,b\n" for n in range(1, 60)]
    drop = dropped(tmp_path, "id,status\n" + "".join(lines), columns=PLAIN)
    assert [(number, row["id"]) for (_, number), row in zip(drop.places(), drop.rows(), strict=True)] == [
        (n, n) for n in range(1, 60) if n % 7
    ]
    assert drop.unfit() == [
        ("a.csv", n, f"None: {1 if n % 2 else 3} values where 2 are expected") for n in range(7, 60, 7)
    ]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("", []),
        ("\ufeff", []),
        ("\n\n", []),
        ("id,status", []),
        ("id,status\n", []),
        ("\ufeffid,status\r\n1,new\r\n", [(1, "new")]),
        ("\n\nid,status\n1,new", [(1, "new")]),
        ('"id","status"\n"1","new"\n', [(1, "new")]),
        ("status\nnew\n", [(None, "new")]),
        ("extra,id\nx,1\n", [(1, None)]),
    ],
)
def test_empty_files_marks_of_the_order_of_bytes_and_headers(tmp_path: Path, content: str, rows: list[Any]) -> None:
    drop = dropped(tmp_path, content, columns=PLAIN)
    assert (values(drop), drop.landed()) == (rows, ["a.csv"])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('id,status\n1,"not closed\n2,new\n', "a quote is not closed; write `quote: none`"),
        ('id,status\n1,"say \\"hi\\" now"\n2,new\n', "a value in line 2 goes on behind its closing quote; have quotes"),
        ('\ufeff"id",status\n1,new\n2,"a,""b" c\n', "a value in line 3 goes on behind its closing quote"),
        ("1,new\n2,new\n", "its first row names none of the columns; write `header: false`"),
        ("id,status,id\n1,new,2\n", "its first row names 'id' twice"),
        (b"id,\xff\n1,new\n", "its first row is no UTF-8"),
    ],
)
def test_a_broken_file_is_named_and_nothing_of_the_list_lands(tmp_path: Path, content: str | bytes, why: str) -> None:
    drop = Drop(tmp_path, files(columns=PLAIN), Strategy.APPEND)
    drop.put("a.csv", "id,status\n1,new\n")
    drop.put("b.csv", content)
    told = drop.refused()
    assert told.startswith(f"SourceRefused: drop.shop.orders: the file 'b.csv' is broken ({why}")
    assert drop.rows() == []
    (drop.folder / "b.csv").unlink()
    drop.sync()
    assert drop.places() == [("a.csv", 1)]


def test_a_form_that_is_declared(tmp_path: Path) -> None:
    form = CsvForm(header=False, delimiter="\t", quote="")
    drop = dropped(tmp_path, '1\t5" pipe\n2\t"\n', columns=PLAIN, csv=form)
    assert values(drop) == [(1, '5" pipe'), (2, '"')]
    wider = Drop(tmp_path, files(columns=PLAIN | {"more": "string"}, csv=form), Strategy.APPEND)
    assert "its first row has 2 values, and `columns` 3" in wider.refused()


def followed(data: bytes, step: int) -> str:
    quotes = Quotes(b'"', b",")
    for begin in range(0, len(data), step):
        quotes.add(data[begin : begin + step])
    return quotes.fault().partition(";")[0]


def by_each_sign(data: bytes) -> str:
    """What is wrong with the quotes, looked at sign by sign."""
    place, line, begun = "begin", 1, 1
    for sign in data.decode():
        if place in ("begin", "plain", "behind") and sign in ",\n":
            place, line = "begin", line + (sign == "\n")
            begun = line
        elif place in ("begin", "plain"):
            place = "quoted" if place == "begin" and sign == '"' else "plain"
        elif sign == '"':
            place = "behind" if place == "quoted" else "quoted"
        elif place == "behind":
            return f"a value in line {begun} goes on behind its closing quote"
        else:
            line += sign == "\n"
    return "a quote is not closed" if place == "quoted" else ""


def test_quotes_are_followed_wherever_the_bytes_are_cut() -> None:
    for length in range(8):
        for signs in itertools.product('",\na', repeat=length):
            data = "".join(signs).encode()
            expected = by_each_sign(data)
            for step in (1, 3, 8):
                assert followed(data, step) == expected, (data, step)


def test_a_quote_within_a_value_without_quotes_is_a_sign_like_others(tmp_path: Path) -> None:
    drop = dropped(tmp_path, 'id,status\n1,5" pipe\n2, "x"\n', columns=PLAIN)
    assert values(drop) == [(1, '5" pipe'), (2, ' "x"')]


def test_columns_that_are_left_out_keep_their_places_without_a_header(tmp_path: Path) -> None:
    from incremental_assets.core.model.column_choice import ColumnChoice

    drop = Drop(
        tmp_path,
        files(columns={"id": "bigint", "secret": "string", "status": "string"}, csv=CsvForm(header=False)),
        Strategy.APPEND,
        {"columns": ColumnChoice(exclude=("secret",))},
    )
    drop.put("a.csv", "1,s,new\n")
    drop.sync()
    assert values(drop) == [(1, "new")]


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.csv.gz", gzip.compress),
        ("a.csv.bz2", bz2.compress),
        ("a.csv.xz", lzma.compress),
        ("a.csv.zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
    ],
)
def test_files_that_are_packed(tmp_path: Path, name: str, pack: Any) -> None:
    data = b"id,status\n" + b"".join(b"%d,new\n" % n for n in range(1000))
    drop = Drop(tmp_path, files(columns=PLAIN), Strategy.APPEND)
    path = tmp_path / "in" / name
    path.write_bytes(pack(data) + pack(b"1000,last\n") if name.endswith((".gz", ".bz2", ".xz")) else pack(data))
    drop.sync()
    assert len(drop.rows()) == (1001 if name.endswith((".gz", ".bz2", ".xz")) else 1000)
    (tmp_path / "in" / f"b{name}").write_bytes(pack(data)[:-20])
    assert f"the file 'b{name}' is broken" in drop.refused()
    assert len(drop.rows()) in (1000, 1001)


def framed(kind: str) -> Callable[[bytes], bytes]:
    def pack(data: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, kind) as stream:
            stream.write(data)
        return bytes(sink.getvalue())

    return pack


PACKS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": framed("zstd"),
    ".lz4": framed("lz4"),
}


@pytest.mark.parametrize("end", PACKS)
def test_each_stream_of_a_packed_file_counts_and_a_damaged_one_is_not_the_end(tmp_path: Path, end: str) -> None:
    first, second = PACKS[end](b"id,status\n" + b"1,new\n" * 50_000), PACKS[end](b"2,new\n")
    whole = first + PACKS[end](b"") + second
    drop = Drop(tmp_path, files(columns=PLAIN), Strategy.APPEND)
    path = drop.folder / f"a.csv{end}"
    damaged = [whole[: -len(second)] + b"\x01" + second[1:], whole + b"more", whole[: -len(second) + 3], b""]
    for data in damaged:
        path.write_bytes(data)
        assert f"the file 'a.csv{end}' is broken" in drop.refused(), data[-30:]
    path.write_bytes(whole + b"\0" * 8 if end == ".xz" else whole)
    drop.sync()
    assert [row["id"] for row in drop.rows()] == [1] * 50_000 + [2]


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.csv.zst", "a.csv.lz4"])
def test_a_file_that_is_not_packed_as_its_name_says_is_named(tmp_path: Path, name: str) -> None:
    drop = Drop(tmp_path, files(columns=PLAIN), Strategy.APPEND)
    drop.folder.joinpath(name).write_bytes(b"id,status\n1,new\n")
    assert f"SourceRefused: drop.shop.orders: the file '{name}' is broken" in drop.refused()


def test_json_has_an_object_in_each_line(tmp_path: Path) -> None:
    lines = [
        '\ufeff{"id": 1, "at": 1710037800123, "what": {"a": [1, null]}, "price": 12.10}',
        "",
        '{"price": "3.00", "id": 2, "more": true}',
        "not json",
        '{"id": "x"}',
        "[1]",
        '{"id": 3}',
    ]
    columns = {"id": "bigint", "at": "timestamp as milliseconds", "what": "string as json", "price": "decimal(12,2)"}
    drop = dropped(tmp_path, "\n".join(lines), "a.jsonl", form=FileFormat.JSON, columns=columns)
    assert values(drop) == [
        (1, datetime(2024, 3, 10, 2, 30, 0, 123_000, UTC), '{"a":[1,null]}', Decimal("12.10")),
        (2, None, None, Decimal("3.00")),
        (3, None, None, None),
    ]
    assert [number for _, number in drop.places()] == [1, 3, 7]
    assert drop.unfit() == [
        ("a.jsonl", 4, "None: the line is no JSON object"),
        ("a.jsonl", 5, "id: a text where the column has a whole number"),
        ("a.jsonl", 6, "None: the line is no JSON object"),
    ]


def test_a_table_whose_files_have_not_come_yet_says_so(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(FileFormat.PARQUET, "*.parquet"), Strategy.APPEND)
    assert "no file that fits '*.parquet' says what columns it has; wait for the first file" in drop.refused()
