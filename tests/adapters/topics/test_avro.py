"""Records in Avro: what they say is what the same records say in JSON, and one that cannot be read is known by its reason."""

from __future__ import annotations

import json
import random
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from incremental_assets.adapters.topics.shapes import described
from incremental_assets.core.config.kafka_settings import Format
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.strategies import Strategy
from tests.adapters.topics.avro import FakeRegistry
from tests.adapters.topics.broker import FakeTopic, envelope, replayed
from tests.adapters.topics.tables import decoded, table, topic

ORDER = {"id": 1, "status": "new"}
Told = tuple[TableSpec, list[Any]]


def records_of(made: FakeTopic) -> list[Any]:
    return [each for each in made.partitions[0] if each is not None]


def shown(spec: TableSpec, values: list[Any]) -> list[str]:
    """As the copy has them: JSON has more digits of a float than the column holds."""
    floats = [each.spark_type == "float" for each in spec.source_columns]
    return [repr(np.float32(each) if is_float else each) for each, is_float in zip(values, floats, strict=False)]


@pytest.mark.parametrize("file", ["pg_schemas", "mysql97_schemas_string"])
@pytest.mark.parametrize("strategy", list(Strategy)[:2], ids=str)
def test_what_a_connector_has_written_says_the_same_in_avro_as_in_json(file: str, strategy: Strategy) -> None:
    registry = FakeRegistry()

    def told(form: Format) -> Told:
        records = records_of(replayed(file, encode=registry.as_bytes) if form.is_avro else replayed(file))
        read = registry.documents(form)
        spec = table(topic(form), strategy, described(topic(form), records, read))
        return spec, decoded(spec, records, form, read)

    (spec, changes), (in_avro, found) = told(Format.DEBEZIUM), told(Format.DEBEZIUM_AVRO)
    assert in_avro == spec
    assert len(found) == 16
    for change, other in zip(changes, found, strict=True):
        assert (other.op, other.key, other.place, other.unsent) == (change.op, change.key, change.place, change.unsent)
        assert shown(spec, other.values) == shown(spec, change.values)
        # Of a record of before a column was there, both say so.
        assert (other.reject and other.reject.reason) == (change.reject and change.reject.reason)


def event(schema: Any, *values: Any) -> tuple[dict[str, str], list[Any]]:
    """The types of the columns of plain events, and the values of each, or the reason why not."""
    registry, made = FakeRegistry(), FakeTopic()
    for value in values:
        made.put(None, registry.written(schema, value))
    told = described(topic(Format.AVRO), records_of(made), registry.documents(Format.AVRO))
    spec = table(topic(Format.AVRO), Strategy.APPEND, told)
    changes = decoded(spec, records_of(made), Format.AVRO, registry.documents(Format.AVRO))
    types = {name: f"{coding}" for name, coding in told.columns.items()}
    return types, [each.reject.reason if each.reject else each.values for each in changes]


NOON = 1_710_072_000


@pytest.mark.parametrize(
    ("schema", "value", "type_", "found"),
    [
        ("boolean", True, "boolean", True),
        ("int", -7, "int", -7),
        ("long", 1 << 62, "bigint", 1 << 62),
        ("double", 1.5, "double", 1.5),
        ("double", float("inf"), "double", float("inf")),
        ("string", "żółw", "string", "żółw"),
        ("bytes", b"\x00\xff", "binary as base64", b"\x00\xff"),
        ({"type": "fixed", "name": "F", "size": 2}, b"\x01\x02", "binary as base64", b"\x01\x02"),
        ({"type": "enum", "name": "E", "symbols": ["new", "paid"]}, "paid", "string", "paid"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}, b"\xff\x85", "decimal(6,2) as base64", Decimal("-1.23")),
        ({"type": "fixed", "name": "D", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 0}, b"\x00\x00\x00\x07", "decimal(9,0) as base64", Decimal(7)),
        ({"type": "int", "logicalType": "date"}, 19782, "date as days", (date(2024, 2, 29) - date(1970, 1, 1)).days),
        ({"type": "int", "logicalType": "time-millis"}, 1500, "string as milliseconds", "00:00:01.5"),
        ({"type": "long", "logicalType": "timestamp-millis"}, NOON * 1000, "timestamp as milliseconds", NOON * 10**6),
        ({"type": "long", "logicalType": "timestamp-micros"}, NOON * 10**6 + 1, "timestamp as microseconds", NOON * 10**6 + 1),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, 7, "timestamp_ntz as microseconds", 7),
        ({"type": "long", "logicalType": "timestamp-millis", "connect.name": "org.apache.kafka.connect.data.Timestamp"}, 7, "timestamp as milliseconds", 7000),
        ({"type": "long", "logicalType": "of-somebody", "connect.name": "io.debezium.time.MicroTimestamp"}, 7, "timestamp_ntz as microseconds", 7),
        ({"type": "string", "logicalType": "uuid"}, "c0ffee00-0000-4000-8000-000000000001", "string", "c0ffee00-0000-4000-8000-000000000001"),
        ({"type": "string", "logicalType": "date"}, "no day", "string", "no day"),
        ({"type": "int", "connect.type": "int16"}, 7, "smallint", 7),
        ({"type": "array", "items": ["null", "double"]}, [1.5, None, float("nan")], "string as json", '[1.5,null,"NaN"]'),
        ({"type": "map", "values": "bytes"}, {"a": b"\x00\x01"}, "string as json", '{"a":"AAE="}'),
        (["string", "long"], 7, "string as json", "7"),
        ({"type": "record", "name": "R", "fields": [{"name": "next", "type": ["null", "R"]}]}, {"next": {"next": None}}, "string as json", '{"next":{"next":null}}'),
    ],
)  # fmt: skip
def test_a_column_is_what_avro_says_that_it_is(schema: Any, value: Any, type_: str, found: Any) -> None:
    for own in (schema, schema if isinstance(schema, list) else ["null", schema]):
        record = {"type": "record", "name": "Event", "fields": [{"name": "value", "type": own}]}
        assert event(record, {"value": value}) == ({"value": type_}, [[found]])


def test_a_moment_of_connect_has_no_zone_in_debezium_which_writes_only_such_by_that_name() -> None:
    registry, made = FakeRegistry(), FakeTopic()
    moment = {
        "type": "long",
        "logicalType": "timestamp-millis",
        "connect.name": "org.apache.kafka.connect.data.Timestamp",
    }
    made.put(
        None, registry.written({"type": "record", "name": "R", "fields": [{"name": "at", "type": moment}]}, {"at": 7})
    )
    key, found = registry.as_bytes({"id": 1}), {}
    for form in (Format.UNWRAPPED_AVRO, Format.AVRO):
        told = described(topic(form), [each._replace(key=key) for each in records_of(made)], registry.documents(form))
        found[form] = str(told.columns["at"])
    assert found == {Format.UNWRAPPED_AVRO: "timestamp_ntz as milliseconds", Format.AVRO: "timestamp as milliseconds"}


def test_a_number_that_is_none_is_none_in_the_copy() -> None:
    record = {"type": "record", "name": "Event", "fields": [{"name": "value", "type": "float"}]}
    types, ((found,),) = event(record, {"value": float("nan")})
    assert (types, repr(found)) == ({"value": "float"}, "nan")


def test_a_schema_that_goes_on_in_mid_topic_is_read_record_by_record() -> None:
    registry, made = FakeRegistry(), FakeTopic()
    names = {"before": ("id", "int", "old"), "after": ("id", "long", "new")}
    for row in ({"id": 1, "old": "x"}, {"id": 1 << 40, "new": "y"}, {"id": 3, "old": "z"}):
        name, kind, other = names["before" if "old" in row else "after"]
        fields = [{"name": name, "type": kind}, {"name": other, "type": ["null", "string"]}]
        made.put(None, registry.written({"type": "record", "name": "Event", "fields": fields}, row))
    read = registry.documents(Format.AVRO)
    newest = described(topic(Format.AVRO), records_of(made)[:2], read)
    assert {name: str(coding) for name, coding in newest.columns.items()} == {"id": "bigint", "new": "string"}
    spec = table(topic(Format.AVRO), Strategy.APPEND, newest)
    changes = decoded(spec, records_of(made), Format.AVRO, read)
    assert [each.values for each in changes] == [[1, None], [1 << 40, "y"], [3, None]]


def test_a_record_whose_type_does_not_fit_the_column_is_kept_apart_by_its_reason() -> None:
    registry, made = FakeRegistry(), FakeTopic()
    made.encode = registry.as_bytes
    made.put({"id": 1}, envelope("c", {"id": 1, "status": 7}, 10))
    made.put({"id": 1}, envelope("c", {"id": 1, "status": "new"}, 20))
    read = registry.documents(Format.DEBEZIUM_AVRO)
    spec = table(topic(Format.DEBEZIUM_AVRO), told=described(topic(Format.DEBEZIUM_AVRO), records_of(made), read))
    changes = decoded(spec, records_of(made), Format.DEBEZIUM_AVRO, read)
    assert [each.reject and each.reject.reason for each in changes] == [
        "the record has it as bigint, and the table as string",
        None,
    ]


EVENT = {"type": "record", "name": "Event", "fields": [{"name": "id", "type": "long"}, {"name": "s", "type": "string"}]}


def reason(data: bytes, registry: FakeRegistry) -> str | None:
    spec = table(topic(Format.JSON, id="bigint", s="string"), Strategy.APPEND)
    made = FakeTopic()
    made.put(None, data)
    (change,) = decoded(spec, records_of(made), Format.AVRO, registry.documents(Format.AVRO))
    return change.reject and change.reject.reason


def test_a_record_that_is_no_avro_has_its_reason() -> None:
    registry = FakeRegistry()
    right = registry.written(EVENT, {"id": 1, "s": "new"})
    for text in (
        "{",
        '"long"',
        '{"type": "record"}',
        '{"type": "record", "name": "E", "fields": [{"name": "a", "type": "No"}]}',
    ):
        registry.register(text)

    def by(number: int) -> bytes:
        return right[:1] + number.to_bytes(4, "big") + right[5:]

    assert reason(right, registry) is None
    assert [reason(each, registry) for each in (b"", b"\x00\x00", b'{"id": 1}', by(9), by(2), by(3), by(4), by(5), right[:-1], right + b"\x00")] == [
        *["the value is no Avro with the number of its schema before it"] * 3,
        "the value names schema 9, and the registry does not have it",
        "the value names schema 2, and that is no schema of Avro",
        "the value names schema 3, and that is the schema of no record",
        *("the value names schema 4, and that is no schema of Avro", "the value names schema 5, and that is no schema of Avro"),
        "the value does not follow schema 1 of the registry, which it names",
        "the value goes on behind what schema 1 of the registry says of it",
    ]  # fmt: skip


def test_whatever_octets_come_they_are_a_record_or_a_reason() -> None:
    registry, choose = FakeRegistry(), random.Random(7)
    kinds: list[Any] = ["int", "string", "bytes", ["null", "double"], {"type": "array", "items": "string"}]
    kinds.append({"type": "enum", "name": "E", "symbols": ["a", "b"]})
    names = ("id", "s", "c", "d", "e", "f")
    fields = [{"name": name, "type": kind} for name, kind in zip(names, kinds, strict=True)]
    row = dict(zip(names, (5, "text", b"\x00", 1.5, ["x", "y"], "b"), strict=True))
    right = registry.written({"type": "record", "name": "Event", "fields": fields}, row)
    found = set()
    for _ in range(3000):
        data = bytearray(right)
        for _ in range(choose.randint(1, 3)):
            data[choose.randrange(5, len(data))] = choose.randrange(256)
        found.add((reason(bytes(data), registry) or "")[:25])
    assert found == {"", "the value does not follow", "the value goes on behind "}


def test_a_schema_that_refers_to_another_is_read_with_it() -> None:
    registry = FakeRegistry()
    status = {"type": "enum", "name": "shop.Status", "symbols": ["new", "paid"]}
    lines = {
        "type": "record",
        "name": "Event",
        "fields": [{"name": "id", "type": "long"}, {"name": "s", "type": "shop.Status"}],
    }
    number = registry.register(json.dumps(status), json.dumps(lines))
    data = b"\x00" + number.to_bytes(4, "big") + b"\x0e\x02"
    spec = table(topic(Format.JSON, id="bigint", s="string"), Strategy.APPEND)
    made = FakeTopic()
    made.put(None, data)
    (change,) = decoded(spec, records_of(made), Format.AVRO, registry.documents(Format.AVRO))
    assert (change.values, change.reject) == ([7, "paid"], None)
