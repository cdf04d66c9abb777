"""What the log says of a file is never narrower than its rows, whatever they hold, and is JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.delta.tasks.files.file_statistics import Told, statistics_columns
from incremental_assets.adapters.delta.tasks.files.marked_file import with_loose_bounds
from incremental_assets.adapters.spark.arrow_types import arrow_type

LAST = "\U0010ffff"
NOT_TOLD = (None, None)


def statistics(rows: pa.Table, names: Iterable[str]) -> str:
    told = Told(tuple(names))
    told.add(rows)
    return told.text()


def ends(kind: str, *values: Any) -> tuple[Any, Any]:
    array = pa.array(values, arrow_type(kind)) if values and not isinstance(values[0], pa.Array) else values[0]
    told = json.loads(statistics(pa.table({"c": array}), ["c"]), parse_float=Decimal, parse_constant=pytest.fail)
    assert told["nullCount"] == {"c": array.null_count}
    return told["minValues"].get("c"), told["maxValues"].get("c")


def whole(kind: str, *values: int) -> pa.Array:
    """Values that Python itself cannot hold."""
    target = arrow_type(kind)
    return pa.array(values, pa.int32() if kind == "date" else pa.int64()).cast(target)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("bigint", (2**63 - 1, None, -(2**63)), (-(2**63), 2**63 - 1)),
        ("decimal(38,10)", (Decimal("9" * 28 + ".0000000001"), Decimal("0E-10")), (Decimal("0.0000000000"), Decimal("9" * 28 + ".0000000001"))),
        ("date", (date(1, 1, 1), date(9999, 12, 31)), ("0001-01-01", "9999-12-31")),
        ("timestamp", (datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime(1970, 1, 1, 0, 0, 0, 1, UTC)), ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.001Z")),
        ("timestamp_ntz", (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)), ("0001-01-01T00:00:00.000", "9999-12-31T23:59:59.000")),  # noqa: DTZ001 - as a database gives it
        ("double", (0.0, 1.0), (Decimal("-0.0"), Decimal("1.0"))),
        ("double", (-1.0, -0.0), (Decimal("-1.0"), Decimal("0.0"))),
        ("double", (math.nan, 1.0), NOT_TOLD),
        ("double", (math.inf, 1.0), NOT_TOLD),
        ("float", (-math.inf, None), NOT_TOLD),
        ("string", ("", "é😀"), ("", "é😀")),
        ("string", ("a" * 40, "b" * 40), ("a" * 32, "b" * 32 + LAST)),
        ("string", ("😀" * 33,), ("😀" * 32, "😀" * 32 + LAST)),
        ("string", ('"\n\\\x00\u2028',), ('"\n\\\x00\u2028',) * 2),
        ("binary", (b"\x00", b"\xff"), NOT_TOLD),
        ("boolean", (True, False), NOT_TOLD),
        ("int", (None, None), NOT_TOLD),
        ("date", (whole("date", 0, 2932897),), NOT_TOLD),
        ("date", (whole("date", -800_000, 0),), NOT_TOLD),
        ("timestamp", (whole("timestamp", 0, 9_223_339_708_799_999_999),), NOT_TOLD),
        ("timestamp", (whole("timestamp", 2**63 - 1, -(2**63)),), NOT_TOLD),
    ],
)  # fmt: skip
def test_ends(kind: str, values: tuple[Any, ...], expected: tuple[Any, Any]) -> None:
    assert ends(kind, *values) == expected


def test_a_text_that_is_cut_stays_above_every_text_that_it_stands_for() -> None:
    texts = ["b" * 32 + LAST * 3, "b" * 32 + "\uffff"]
    _, high = ends("string", *texts)
    assert all(text[: len(high)] <= high for text in texts)


def test_columns_whose_ends_are_kept_are_those_that_the_table_names() -> None:
    there = ["a`,b", "c", "d"]
    named = {"delta.dataSkippingStatsColumns": "`a``,b`, d,gone", "delta.dataSkippingNumIndexedCols": "1"}
    assert statistics_columns(named, there) == ("a`,b", "d")
    assert statistics_columns({"delta.dataSkippingNumIndexedCols": "1"}, there) == ("a`,b",)
    assert statistics_columns({"delta.dataSkippingNumIndexedCols": "-1"}, there) == tuple(there)
    assert statistics_columns({"delta.dataSkippingStatsColumns": ""}, there) == ()
    assert statistics_columns({}, [str(number) for number in range(40)]) == tuple(str(number) for number in range(32))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{"tightBounds":false}'),
        ('{"numRecords":3}', '{"numRecords":3,"tightBounds":false}'),
        ('{"numRecords":3,"tightBounds":true}', '{"numRecords":3,"tightBounds":false}'),
        ('{"tightBounds" : true , "numRecords":3 }', '{"numRecords":3,"tightBounds":false}'),
        ('{"tightBounds":false}', '{"tightBounds":false}'),
        ('{"a":1,"tightBounds":true,"b":12345678901234567890.123}', '{"a":1,"b":12345678901234567890.123,"tightBounds":false}'),
        ('{"minValues":{"s":"\\"tightBounds\\":true,"}}', '{"minValues":{"s":"\\"tightBounds\\":true,"},"tightBounds":false}'),
    ],
)  # fmt: skip
def test_of_a_file_with_marks_nothing_but_the_tightness_changes(before: str, after: str) -> None:
    assert with_loose_bounds(before) == after
    assert json.loads(after)["tightBounds"] is False
