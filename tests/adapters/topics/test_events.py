"""Records that are none of their format: each is known by its reason, and none is passed over."""

from __future__ import annotations

import json
from typing import Any

import pytest

from incremental_assets.adapters.spark.own_names import REJECT_REASON
from incremental_assets.adapters.topics.events import in_json
from incremental_assets.adapters.topics.record import Record
from incremental_assets.adapters.topics.rows import rows_of
from incremental_assets.adapters.topics.source_order import Uncovered
from incremental_assets.core.config.kafka_settings import Format
from incremental_assets.core.strategies import Strategy
from tests.adapters.topics.broker import as_bytes, envelope
from tests.adapters.topics.tables import decoded, table, topic

ORDER = {"id": 1, "status": "new"}


def rejected(key: Any, value: Any, form: Format = Format.DEBEZIUM) -> str | None:
    strategy = Strategy.APPEND if form is Format.JSON else Strategy.UPSERT
    spec = table(topic(form, id="bigint", status="string"), strategy)
    (change,) = decoded(spec, [Record(0, 0, 0, as_bytes(key), as_bytes(value))], form, in_json(form))
    return change.reject and change.reject.reason


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ({"id": 1}, b"not json", "the value is no JSON"),
        ({"id": 1}, b"\xff\xfe", "the value is no JSON"),
        ({"id": 1}, b'{"op": NaN}', "the value is no JSON, which has no NaN"),
        ({"id": 1}, b"[" * 100_000, "the value is no JSON"),
        ({"id": 1}, [1], "the value is no JSON object"),
        (b"1", envelope("c", ORDER, 1), "the key is no JSON object"),
        (b"one", envelope("c", ORDER, 1), "the key is no JSON"),
        (None, None, "the record has neither a key nor a value"),
        (None, envelope("c", ORDER, 1), "the record has no key, by which its row would be known"),
        ({"no": 1}, envelope("c", ORDER, 1), "the record's key does not have this column"),
        ({"id": None}, envelope("d", ORDER, 1), "the record's key does not have this column"),
        ({"id": "1"}, envelope("c", ORDER, 1), "a text where the column has a whole number"),
        ({"id": 2}, envelope("c", ORDER, 1), "the record's key is not that of its row"),
        ({"id": 1}, ORDER, "the value is no envelope of Debezium: it has no `op` and `source`"),
        ({"id": 1}, envelope("x", ORDER, 1), "the value is no envelope of Debezium: it has no `op` and `source`"),
        ({"id": 1}, envelope("c", None, 1), "the envelope has no row in `after`"),
        ({"id": 1}, envelope("c", {"id": 1}, 1), "the record does not have this column, which the table has: it was written before the column was there, or after it was dropped"),
        ({"id": 1}, envelope("c", ORDER, 1) | {"source": {"connector": "postgresql", "lsn": "16/B3"}}, "the envelope does not say where in the source's log it is"),
        ({"id": 1}, envelope("c", ORDER, 1, connector="mysql"), "the envelope does not say where in the source's log it is"),
    ],
)  # fmt: skip
def test_a_record_that_is_none_of_debezium_has_its_reason(key: Any, value: Any, reason: str) -> None:
    assert rejected(key, value) == reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "the record has no value"),
        (b"", "the value is no JSON"),
        ([], "the value is no JSON object"),
        ({"more": 1}, "the record has none of the columns"),
        ({"schema": None, "payload": {"id": 1}}, None),
        ({"id": "1"}, "a text where the column has a whole number"),
        ({"id": 1}, None),
        ({"id": 1, "status": "new", "more": [1]}, None),
        (b'{"id": 1, "id": 2}', "the value has an object with a name twice, which does not say what it is"),
    ],
)
def test_an_event_of_anybody_is_an_object_that_may_lack_columns(value: Any, reason: str | None) -> None:
    assert rejected(None, value, Format.JSON) == reason


def test_a_row_that_was_unwrapped_with_its_operation_has_it() -> None:
    spec = table(topic(Format.UNWRAPPED, id="bigint", status="string"))
    rows = [ORDER | {"__op": "c"}, ORDER | {"__op": "d", "__deleted": "true"}, ORDER | {"__op": "z"}]
    found = decoded(spec, [Record(0, 0, 0, b'{"id": 1}', as_bytes(row)) for row in rows], Format.UNWRAPPED)
    assert [(each.op, each.reject and each.reject.reason) for each in found] == [
        ("c", None),
        ("d", None),
        ("", "the row has an `__op` that is no operation of Debezium"),
    ]


def test_a_connector_whose_log_is_not_ordered_here_is_named() -> None:
    spec = table(topic(id="bigint", status="string"))
    value = json.dumps(envelope("c", ORDER, 1, connector="sqlserver")).encode()
    with pytest.raises(Uncovered, match="sqlserver"):
        decoded(spec, [Record(0, 0, 0, b'{"id": 1}', value)])


def test_every_change_of_such_a_connector_may_be_kept() -> None:
    spec = table(topic(id="bigint", status="string"), Strategy.APPEND)
    value = json.dumps(envelope("c", ORDER, 1, connector="sqlserver")).encode()
    (change,) = decoded(spec, [Record(0, 0, 0, b'{"id": 1}', value)])
    assert (change.op, change.values, change.place) == ("c", [1, "new"], None)


AWKWARD = (
    "12345678901234567890.12345", "1e400", "1e-400", "1e99999999999999999999", "9" * 400, "9" * 5000, "NaN", "true",
    "[" * 600 + "1.5" + "]" * 600, "[" * 600 + "12345678901234567890.12345" + "]" * 600, '"\\ud800"', '["\\ud83d"]', '{"\\udfff": 1e400}', '{"a": 1, "a": 2}', '"\\u0000"',
    '{"scale": 1000000000, "value": "AQ=="}', '"0000-00-00"', '"9999-12-31T23:59:59-05:00"', '"-infinity"', '"1_000"',
    "9223372036854775807", "-9223372036854775808", '"?"', "[]", "{}",
)  # fmt: skip
"""Values of JSON at the ends of what anybody writes, and beyond."""
EVERY = (
    "boolean", "bigint", "float", "double", "decimal(12,2)", "decimal(12,2) as base64", "string", "string as json",
    "string as scaled", "string as microseconds", "binary as base64", "binary as hex", "date", "date as days",
    "timestamp", "timestamp_ntz as microseconds",
)  # fmt: skip


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
@pytest.mark.parametrize("coding", EVERY)
def test_no_value_that_anybody_writes_stops_the_records_beside_it(coding: str, strategy: Strategy) -> None:
    spec = table(topic(id="bigint", value=coding), strategy)
    source = '"source": {"connector": "postgresql", "lsn": 1, "ts_ms": 1}'
    values = [f'{{"op": "u", "after": {{"id": 1, "value": {value}}}, {source}}}'.encode() for value in AWKWARD]
    found = decoded(spec, [Record(0, number, 0, b'{"id": 1}', value) for number, value in enumerate(values)])
    landed = rows_of(spec, ("id", "value"), found)
    assert landed.column(REJECT_REASON).null_count == sum(each.reject is None for each in found) < len(AWKWARD)


def test_a_change_holds_no_octets_of_its_record() -> None:
    spec = table(topic(id="bigint", status="string"))
    (change,) = decoded(spec, [Record(3, 7, 9, as_bytes({"id": 1}), as_bytes(envelope("c", ORDER, 40)))])
    assert (change.values, change.record) == ([1, "new"], Record(3, 7, 9, None, None))
