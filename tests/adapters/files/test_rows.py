"""What files hold: CSV, JSON lines and Parquet as people write them, and what of it cannot land."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.files import csv_rows
from incremental_assets.adapters.files.csv_quotes import Quotes
from incremental_assets.adapters.files.parquet_rows import _exact
from incremental_assets.core.config.files_settings import CsvForm, FileFormat
from incremental_assets.core.strategies import Strategy
from tests.adapters.files.drop import Drop, files

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


def dropped(home: Path, content: str | bytes, name: str = "a.csv", **more: Any) -> Drop:
    """Landed, each row for itself."""
    drop = Drop(home, files(**more), Strategy.APPEND)
    drop.put(name, content)
    drop.sync()
    return drop


def values(drop: Drop) -> list[tuple[Any, ...]]:
    return [tuple(value for name, value in row.items() if not name.startswith("_file")) for row in drop.rows()]


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
    assert _exact(coarse, both).to_pylist() == [
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


def test_a_table_whose_files_have_not_come_yet_says_so(tmp_path: Path) -> None:
    drop = Drop(tmp_path, files(FileFormat.PARQUET, "*.parquet"), Strategy.APPEND)
    assert "no file that fits '*.parquet' says what columns it has; wait for the first file" in drop.refused()
