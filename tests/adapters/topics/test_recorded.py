"""What Debezium's connectors have written of real databases, as changes: in each mode of decimals and times, with and without schemas."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from incremental_assets.adapters.spark.own_names import OPERATION, RAW, REJECT_COLUMN
from incremental_assets.adapters.topics.changes import Change, Decoding
from incremental_assets.adapters.topics.folding import folded
from incremental_assets.adapters.topics.rows import rows_of
from incremental_assets.adapters.topics.shapes import described
from incremental_assets.adapters.topics.unsent import is_unsent
from incremental_assets.core.captures.topic.position import Log
from incremental_assets.core.config.kafka_settings import Format
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.strategies import Strategy
from tests.adapters.topics.broker import FakeTopic, recorded, replayed
from tests.adapters.topics.tables import decoded, of_recorded, table, topic

POSTGRESQL = {
    "id": "bigint",
    "customer": "string",
    "ok": "boolean",
    "js": "string",
    "ar": "string as json",
    "u": "string",
    "f8": "double",
}
PRECISE = POSTGRESQL | {
    "amount": "decimal(12,2) as base64",
    "anynum": "string as scaled",
    "ts": "timestamp_ntz as microseconds",
    "tstz": "timestamp",
    "d": "date as days",
    "t": "string as microseconds",
    "by": "binary as base64",
}
TEXTS = POSTGRESQL | {
    "amount": "decimal(12,2)",
    "anynum": "string",
    "ts": "timestamp_ntz",
    "tstz": "timestamp",
    "d": "date",
    "t": "string",
    "by": "binary as hex",
}
CONNECT = PRECISE | {
    "amount": "double",
    "anynum": "double",
    "ts": "timestamp_ntz as milliseconds",
    "t": "string as milliseconds",
}
OPERATIONS = ["r", "r", "r", "c", "u", "u", "u", "d", "tombstone", "c", "d", "tombstone", "c", "u", "t", "c"]


def row(spec: TableSpec, change: Change) -> dict[str, Any]:
    return dict(zip(Decoding(spec, Format.DEBEZIUM).names, change.values, strict=True))


@pytest.mark.parametrize(
    ("file", "columns"),
    [("pg_schemaless", PRECISE), ("pg_string_iso", TEXTS), ("pg_double_connect", CONNECT)],
)
def test_postgresqls_records_without_schemas_are_what_their_columns_declare(file: str, columns: dict[str, str]) -> None:
    spec = table(topic(**columns))
    changes = decoded(spec, [each for each in replayed(file).partitions[0] if each])
    assert [change.op for change in changes] == OPERATIONS
    assert [change.key for change in changes] == [
        *((1,), (2,), (3,), (10,), (1,), (2,), (10,)),
        *((3,), (3,), (100,), (2,), (2,), (11,), (11,), None, (77,)),
    ]
    first = row(spec, changes[0])
    exact = columns is not CONNECT
    assert first == {
        "id": 1,
        "customer": "c1",
        "ok": True,
        "js": '{"a": [1, 2, {"b": null}]}',
        "ar": "[1,null,3]",
        "u": "c0ffee00-0000-4000-8000-000000000001",
        "f8": 1.5,
        "amount": Decimal("1.10") if exact else 1.1,
        "anynum": "1000000000000000000000000000000" if exact else 1e30,
        "ts": 1710037800123456 if exact else 1710037800123000,
        "tstz": 1710055800123456,
        "d": 19782,
        "t": {True: "23:59:59.999999", False: "23:59:59.999"}[exact] + ("Z" if columns is TEXTS else ""),
        "by": b"\x00\xffA",
    }
    # A timestamp and a date of infinity, which no column holds.
    assert [(each.key, each.reject.column) for each in changes if each.reject and each.op == "u"] == [
        ((2,), "tstz"),
        ((10,), "tstz"),
    ]


@pytest.mark.parametrize("file", ["pg_schemas", "mysql97_schemas_string"])
def test_a_schema_tells_columns_types_and_key_and_the_newest_record_counts(file: str) -> None:
    spec, records = of_recorded(file)
    assert (spec.key, spec.key_enforced) == (("id",), True)
    types = {column.name: column.spark_type for column in spec.columns}
    assert "en" not in types, "it was dropped before the newest record was written"
    assert types["extra"] == "int"
    assert [change.op for change in decoded(spec, records)] == OPERATIONS


def test_what_postgresqls_schemas_say_of_each_type() -> None:
    spec, records = of_recorded("pg_schemas")
    assert {column.name: column.source_type for column in spec.source_columns} == {
        "id": "bigint",
        "customer": "string",
        "amount": "decimal(12,2) as base64",
        "anynum": "string as scaled",
        "ts": "timestamp_ntz as microseconds",
        "tstz": "timestamp",
        "d": "date as days",
        "t": "string as microseconds",
        "iv": "bigint",
        "ok": "boolean",
        "js": "string",
        "ar": "string as json",
        "u": "string",
        "by": "binary as base64",
        "big": "string",
        "f8": "double",
        "extra": "int",
        "_topic_partition": "of the record",
        "_topic_offset": "of the record",
        "_log_position": "of the record",
    }
    newest = decoded(spec, records)[-1]
    assert (newest.reject, row(spec, newest)["extra"]) == (None, 7)


def test_mysqls_records_have_their_values() -> None:
    columns = {
        "id": "bigint",
        "customer": "string",
        "amount": "decimal(10,2) as base64",
        "t1": "int",
        "bt": "binary as base64",
        "yr": "int",
        "ts": "timestamp",
        "dt": "timestamp_ntz as microseconds",
        "d": "date as days",
        "tm": "string as microseconds",
        "js": "string",
        "st": "string",
        "bi": "binary as base64",
        "f": "float",
    }
    spec = table(topic(**columns))
    changes = decoded(spec, [each for each in replayed("mysql97_schemaless").partitions[0] if each])
    assert [change.op for change in changes] == OPERATIONS
    assert row(spec, changes[3]) == {
        "id": 10,
        "customer": "c10",
        "amount": Decimal("10.10"),
        "t1": 2,
        "bt": b"\x81",
        "yr": 2024,
        "ts": 1710054000123456,
        "dt": 1710037800654321,
        "d": 19782,
        "tm": "838:59:58.999",
        "js": '{"a":[1,null]}',
        "st": "x,y",
        "bi": b"\x00\xffA",
        "f": 1.1,
    }


def test_the_largest_unsigned_number_is_there_where_the_connector_is_precise() -> None:
    spec, records = of_recorded("mysql97_schemas_string")
    assert row(spec, decoded(spec, records)[0])["ub"] == Decimal(18446744073709551615)


def test_a_record_of_before_a_column_was_there_says_so_and_is_not_taken_for_null() -> None:
    spec, records = of_recorded("pg_schemas")
    first = decoded(spec, records)[0]
    assert first.reject is not None
    assert first.reject.column == "extra"
    assert first.reject.reason.startswith("the record does not have this column, which the table has")


def test_a_table_without_a_key_has_none_in_its_records() -> None:
    records = [each for each in replayed("pg_schemas", "lab.shop.nokey").partitions[0] if each]
    assert described(topic(), records).key == ()
    spec = table(topic(a="int", b="string"), Strategy.APPEND)
    assert [(each.op, each.values) for each in decoded(spec, records)] == [
        ("r", [1, "a"]),
        ("c", [2, None]),
        ("t", [None, None]),
    ]


def test_rows_that_were_unwrapped_are_rows() -> None:
    made = FakeTopic()
    for key, value in recorded("pg_schemaless"):
        if value is None or value["op"] != "t":
            row = None if value is None else value["after"] or value["before"]
            more = {"__deleted": str(value["op"] == "d").lower()} if value else {}
            made.put(key, None if row is None else row | more)
    spec = table(topic(Format.UNWRAPPED, **PRECISE))
    changes = decoded(spec, [each for each in made.partitions[0] if each], Format.UNWRAPPED)
    assert [(each.op, each.key) for each in changes[:9]] == [
        *(("u", (1,)), ("u", (2,)), ("u", (3,)), ("u", (10,)), ("u", (1,)), ("u", (2,)), ("u", (10,))),
        *(("d", (3,)), ("tombstone", (3,))),
    ]
    assert "_log_position" not in spec.shape.names, "such a record does not say where in the log it is"


def test_a_row_that_cannot_land_leaves_the_copy_and_shows_where_it_came_from() -> None:
    spec = table(topic(id="bigint", d="date as days"))
    records = [each for each in replayed("pg_schemaless").partitions[0] if each]
    found = rows_of(
        spec, ("id", "d"), [change for change in decoded(spec, records[:9]) if change.op in ("r", "u", "d")]
    )
    told = zip(*(found.column(name).to_pylist() for name in (OPERATION, REJECT_COLUMN, "c0", RAW)), strict=True)
    gone = [
        (operation, column, key, raw and json.loads(raw)) for operation, column, key, raw in told if operation == "gone"
    ]
    assert [(column, key) for _, column, key, _ in gone] == [("d", 2), ("d", 10), (None, 3)]
    shown = gone[0][3]
    assert {name: shown[name] for name in ("id", "d", "customer", "_topic_partition", "_topic_offset")} == {
        "id": "2",
        "d": "-2147472691",
        "customer": "c2",
        "_topic_partition": "0",
        "_topic_offset": "5",
    }


def test_mariadbs_records_have_their_values_and_come_to_the_table() -> None:
    columns = {
        "id": "bigint",
        "customer": "string",
        "amount": "decimal(12,2) as base64",
        "ts": "timestamp",
        "dt": "timestamp_ntz as microseconds",
        "d": "date as days",
        "tm": "string as microseconds",
        "bi": "binary as base64",
    }
    spec = table(topic(**columns))
    changes = decoded(spec, [each for each in replayed("mariadb_schemaless").partitions[0] if each])
    assert [change.op for change in changes] == [
        *("r", "r", "r", "c", "u", "u", "u"),
        *("d", "tombstone", "c", "d", "tombstone", "u", "t", "c"),
    ]
    assert row(spec, changes[3]) == {
        "id": 10,
        "customer": "c10",
        "amount": Decimal("10.10"),
        "ts": 1710037800123456,
        "dt": 1710037800654321,
        "d": 19782,
        "tm": "23:59:59.999",
        "bi": b"\x00\xffA",
    }
    before, after = (folded(changes[:end], Log(), by_place=True) for end in (13, 15))
    assert {key: chain[-1].values[1:2] for key, chain in before.rows.items()} == {
        (1,): ["late"],
        (2,): [],
        (3,): [],
        (10,): ["c10"],
        (100,): ["c3"],
    }
    assert {key: chain[-1].values[1] for key, chain in after.rows.items()} == {(77,): "after"}


def test_what_was_open_when_postgresqls_connector_read_its_snapshot_comes_behind_it_from_before_it_in_the_log() -> None:
    spec = table(topic(id="bigint", customer="string"))
    changes = decoded(spec, [each for each in replayed("pg_open_at_snapshot").partitions[0] if each])
    assert [(change.op, change.key, change.order) for change in changes] == [
        ("r", (2,), 24251232),
        ("r", (3,), 24251232),
        ("r", (1,), 24251232),
        ("u", (2,), 24250848),
        ("d", (3,), 24250928),
        ("tombstone", (3,), -1),
        ("c", (4,), 24251432),
    ]
    found = folded(changes, Log(), by_place=True)
    assert {key: chain[-1].values[1:] for key, chain in found.rows.items()} == {
        (1,): ["seen"],
        (2,): ["late"],
        (3,): [],
        (4,): ["after"],
    }


def test_large_values_that_an_update_left_are_known_in_each_type_for_which_the_connector_says_it() -> None:
    ((_, value),) = recorded("pg_unsent")
    names = [name for name in value["after"] if name not in ("id", "n")]
    binary = {name: "binary as base64" for name in names if name == "bytea"}
    columns = {name: binary.get(name, "string as json" if "_array" in name else "string") for name in names}
    spec = table(topic(id="bigint", n="int", **columns))
    (change,) = decoded(spec, [each for each in replayed("pg_unsent").partitions[0] if each])
    decoding = Decoding(spec, Format.DEBEZIUM)
    assert change.reject is None
    assert {decoding.names[place] for place in change.unsent} == {
        *("text", "varchar", "bytea", "jsonb", "json", "tsvector", "text_array", "varchar_array", "char_array"),
        *("int_array", "bigint_array", "date_array", "uuid_array", "bytea_array", "jsonb_array", "json_array"),
    }
    # Of the others it writes NULL, which nobody can tell from one.
    assert {value for value in change.values if value is not None} == {1, 2}


def test_an_hstore_that_an_update_left_is_known_as_a_map_and_as_json() -> None:
    word = "__debezium_unavailable_value"
    assert is_unsent({word: word})
    assert is_unsent(json.dumps({word: word}, separators=(",", ":")))
    assert not is_unsent([95, 95])
    assert not is_unsent(f"{word} ")
