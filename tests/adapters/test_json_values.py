"""Values of records: each exactly, or a reason."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from incremental_assets.adapters.json_values import (
    NoJson,
    Unfit,
    decoder,
    document,
    document_of_anybody,
    shown_json,
    widened,
)
from incremental_assets.core.model.coding import Coding


def read(coding: str, text: str) -> Any:
    """A value as it stands in a record, read for a column."""
    return decoder(Coding.parse(coding))(document(text.encode()))


@pytest.mark.parametrize(
    ("coding", "written", "value"),
    [
        ("boolean", "true", True),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("tinyint", "-128", -128),
        ("double", "1.5", 1.5),
        ("double", '"-Infinity"', -math.inf),
        ("double", "0.1", 0.1),
        ("decimal(12,2)", "12.10", Decimal("12.10")),
        ("decimal(12,2)", '"12.1"', Decimal("12.10")),
        (
            "decimal(38,10)",
            "1234567890123456789012345678.0123456789",
            Decimal("1234567890123456789012345678.0123456789"),
        ),
        ("decimal(12,2)", "7", Decimal(7)),
        ("decimal(12,2) as base64", '"bg=="', Decimal("1.10")),
        ("decimal(20,0) as base64", '"AP//////////"', Decimal(18446744073709551615)),
        ("decimal(3,1) as base64", '"/w=="', Decimal("-0.1")),
        ("string as scaled", '{"scale": 6, "value": "/w=="}', "-0.000001"),
        ("string as scaled", '{"scale": 0, "value": "DJ8snNBGdO3qQAAAAA=="}', "1" + "0" * 30),
        ("string as scaled", '{"scale": -2, "value": "Bw=="}', "700"),
        ("string", '"c1"', "c1"),
        ("string as json", '[1, null, {"a": 0.5}]', '[1,null,{"a":0.5}]'),
        ("string as json", '{"a": [12345678901234567890.12345, 1e400]}', '{"a":[12345678901234567890.12345,1E+400]}'),
        ("double", "-0.0", -0.0),
        ("float", "16777216", 16777216.0),
        ("binary as base64", '"AP9B"', b"\x00\xffA"),
        ("binary as hex", '"00ff41"', b"\x00\xffA"),
        ("date as days", "19782", 19782),
        ("date", '"2024-02-29Z"', 19782),
        ("date", '"2024-02-29"', 19782),
        ("timestamp_ntz as milliseconds", "1710037800123", 1710037800123000),
        ("timestamp_ntz as microseconds", "1710037800123456", 1710037800123456),
        ("timestamp_ntz as nanoseconds", "1710037800123456000", 1710037800123456),
        ("timestamp_ntz as microseconds", "-1", -1),
        ("timestamp_ntz", '"2024-03-10T02:30:00.123456Z"', 1710037800123456),
        ("timestamp", '"2024-03-10T07:30:00.123456Z"', 1710055800123456),
        ("timestamp", '"2024-03-10T08:30:00+01:00"', 1710055800000000),
        ("timestamp", '"1969-12-31T23:59:59.5Z"', -500000),
        ("double", "1.7976931348623157e308", 1.7976931348623157e308),
        ("double", "-0.1", -0.1),
        ("float", "3.4028235E38", 3.4028235e38),
        ("decimal(4,2)", "-99.99", Decimal("-99.99")),
        ("decimal(2,2)", "0", Decimal("0.00")),
        ("decimal(2,2)", "0.05", Decimal("0.05")),
        ("string as microseconds", "86399999999", "23:59:59.999999"),
        ("string as milliseconds", "86399999", "23:59:59.999"),
        ("string as microseconds", "3020398999000", "838:59:58.999"),
        ("string as microseconds", "-1000000", "-00:00:01"),
        ("string as nanoseconds", "1", "00:00:00.000000001"),
    ],
)
def test_a_value_is_what_the_source_has(coding: str, written: str, value: Any) -> None:
    assert (read(coding, written), type(read(coding, written))) == (value, type(value))


def test_a_number_that_is_none_is_one_of_a_double() -> None:
    assert math.isnan(read("double", '"NaN"'))


@pytest.mark.parametrize(
    ("coding", "written", "reason"),
    [
        ("bigint", '"7"', "a text where the column has a whole number"),
        ("bigint", "7.0", "a number where the column has a whole number"),
        ("int", "2147483648", "a number that 32 bits do not hold"),
        ("boolean", "1", "a whole number where the column has true or false"),
        ("string", "1", "a whole number where the column has a text"),
        ("string", "{}", "an object where the column has a text"),
        ("string", '"\\ud800"', "a text with half a character"),
        ("double", '"one"', "a text where the column has a number"),
        ("double", "1e400", "a number that a double does not hold"),
        ("double", "1" + "0" * 309, "a number that a double does not hold"),
        ("float", "1e39", "a number that a float does not hold"),
        ("double", "1.7976931348623158e308", "a number that a double does not hold"),
        ("float", "-3.4028236e38", "a number that a float does not hold"),
        ("decimal(2,2)", "1", "a number with more digits than the column has"),
        ("string as json", '["\\ud800"]', "a text with half a character"),
        (
            "string as json",
            "[" * 600 + "12345678901234567890.12345" + "]" * 600,
            "a value that lies too deep in others",
        ),
        ("string as scaled", '{"scale": 1000000000, "value": "AQ=="}', "a number with more digits than any source has"),
        ("string as scaled", '{"scale": true, "value": "AQ=="}', "an object where the column has scale and value"),
        ("decimal(6,2)", '"1_000"', "a text that is no number"),
        ("decimal(6,2)", '"\u0661"', "a text that is no number"),
        ("decimal(6,2)", '" 1"', "a text that is no number"),
        ("timestamp", '"9999-12-31T23:59:59-05:00"', "a moment that no calendar has, such as infinity"),
        ("timestamp", '"0001-01-01T00:00:00+14:00"', "a moment that no calendar has, such as infinity"),
        ("decimal(12,2)", "0.125", "a number with more digits than the column has"),
        ("decimal(4,2)", "100", "a number with more digits than the column has"),
        ("decimal(4,2)", '"1e999999"', "a number with more digits than the column has"),
        ("decimal(4,2)", '"NaN"', "a number that is not finite"),
        ("decimal(4,2)", '"x"', "a text that is no number"),
        ("decimal(2,1) as base64", '"AP8="', "a number with more digits than the column has"),
        ("decimal(2,1) as base64", '"?"', "a text that is no base64"),
        ("string as scaled", "1.5", "a number where the column has scale and value"),
        ("binary as hex", '"0"', "a text that is no hexadecimal number"),
        ("date as days", "-2147472691", "a moment that no calendar has, such as infinity"),
        ("date", '"-5877611-06-22Z"', "a moment that no calendar has, such as infinity"),
        ("date", '"2024-02-30"', "a moment that no calendar has, such as infinity"),
        ("date", "19782", "a whole number where the column has a text"),
        ("timestamp", '"infinity"', "a moment that no calendar has, such as infinity"),
        ("timestamp", '"2024-03-10T07:30:00"', "a moment without its zone"),
        ("timestamp_ntz", '"2024-03-10T07:30:00+01:00"', "a stamp without a zone that has one"),
        ("timestamp", '"2024-03-10T07:30:00.0000001Z"', "a moment with nanoseconds, which the column does not hold"),
        ("timestamp_ntz as nanoseconds", "1", "a moment with nanoseconds, which the column does not hold"),
        ("timestamp_ntz as microseconds", "9223372036825200000", "a moment that no calendar has, such as infinity"),
    ],
)
def test_a_value_that_cannot_be_held_or_does_not_say_what_it_is_has_its_reason(
    coding: str, written: str, reason: str
) -> None:
    with pytest.raises(Unfit) as found:
        read(coding, written)
    assert str(found.value) == reason


@pytest.mark.parametrize(
    ("written", "target", "read_as"),
    [
        ("int", "bigint", 7),
        ("float", "double", 7.0),
        ("decimal(4,1)", "decimal(12,2)", Decimal("7.00")),
        ("bigint", "int", None),
        ("bigint", "string", None),
        ("timestamp", "timestamp_ntz", None),
    ],
)
def test_a_record_of_before_a_type_became_wider_is_read_for_the_type_of_now(
    written: str, target: str, read_as: object
) -> None:
    found = widened(Coding.parse(written), Coding.parse(target))
    assert (None if found is None else found(7)) == read_as


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("number", "write a type like boolean, tinyint"),
        ("decimal", "write digits and scale of a decimal"),
        ("int(4,2)", "write digits and scale of a decimal, and of no other type"),
        ("decimal(39,2)", "a decimal has 38 digits at most"),
        ("decimal(2,3)", "a decimal has 38 digits at most, and no fewer than its scale"),
        ("date as seconds", "write how its values stand in the record: `date`, `date as days`"),
        ("binary", "write how its values stand in the record: `binary as base64`, `binary as hex`"),
    ],
)
def test_a_type_that_does_not_say_how_its_values_are_written_has_a_cure(text: str, cure: str) -> None:
    with pytest.raises(ValueError, match=r"write|decimal") as found:
        Coding.parse(text)
    assert str(found.value).startswith(cure)


def test_a_type_is_written_as_it_was_read() -> None:
    for text in ("bigint", "decimal(12,2)", "decimal(12,2) as base64", "timestamp_ntz as microseconds"):
        assert str(Coding.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{", "is no JSON"),
        (b"\xff", "is no JSON"),
        (b'{"a": NaN}', "is no JSON, which has no NaN"),
        (b"1e99999999999999999999", "has a number that nothing holds"),
        (b'[{"a": 1, "a": 2}]', "has an object with a name twice, which does not say what it is"),
    ],
)
def test_octets_that_are_no_document_have_their_reason(text: bytes, reason: str) -> None:
    with pytest.raises(NoJson) as found:
        document_of_anybody(text)
    assert str(found.value) == reason
    if "twice" in reason:
        assert document(text) == [{"a": 2}]
        return
    with pytest.raises(NoJson) as found:
        document(text)
    assert str(found.value) == reason


def test_whatever_came_can_be_looked_at() -> None:
    assert shown_json(document(b'{"a": "\\ud800", "\\udfff": [12345678901234567890.12345]}')) == (
        '{"a":"\\\\ud800","\\\\udfff":[12345678901234567890.12345]}'
    )
    assert shown_json(document(b"[" * 600 + b"12345678901234567890.12345" + b"]" * 600)) == "null"


@pytest.mark.parametrize("text", ['{"a": [1]}', ' \n{"a": [1]}\r\n', '{"a": [1]}\t'])
def test_blanks_around_a_document_say_nothing(text: str) -> None:
    assert document(text.encode()) == {"a": [1]}
