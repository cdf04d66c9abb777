"""The columns of a record by the schema that Kafka Connect writes beside it: each with its type and how its values stand there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incremental_assets.core.model.coding import (
    BASE64,
    DAYS,
    JSON,
    MICROSECONDS,
    MILLISECONDS,
    NANOSECONDS,
    SCALED,
    Coding,
)

_PLAIN = {
    "int8": Coding("tinyint"),
    "int16": Coding("smallint"),
    "int32": Coding("int"),
    "int64": Coding("bigint"),
    "float": Coding("float"),
    "float32": Coding("float"),
    "double": Coding("double"),
    "float64": Coding("double"),
    "boolean": Coding("boolean"),
    "string": Coding("string"),
    "bytes": Coding("binary", BASE64),
    # A composite value, as the JSON that it is.
    "array": Coding("string", JSON),
    "map": Coding("string", JSON),
    "struct": Coding("string", JSON),
}
_TIME, _CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
_NAMED = {
    f"{_TIME}Date": Coding("date", DAYS),
    f"{_TIME}IsoDate": Coding("date"),
    f"{_TIME}Timestamp": Coding("timestamp_ntz", MILLISECONDS),
    f"{_TIME}MicroTimestamp": Coding("timestamp_ntz", MICROSECONDS),
    f"{_TIME}NanoTimestamp": Coding("timestamp_ntz", NANOSECONDS),
    f"{_TIME}IsoTimestamp": Coding("timestamp_ntz"),
    f"{_TIME}ZonedTimestamp": Coding("timestamp"),
    f"{_TIME}Time": Coding("string", MILLISECONDS),
    f"{_TIME}MicroTime": Coding("string", MICROSECONDS),
    f"{_TIME}NanoTime": Coding("string", NANOSECONDS),
    f"{_CONNECT}Date": Coding("date", DAYS),
    f"{_CONNECT}Time": Coding("string", MILLISECONDS),
    f"{_CONNECT}Timestamp": Coding("timestamp_ntz", MILLISECONDS),
    "io.debezium.data.VariableScaleDecimal": Coding("string", SCALED),
}
_LOGICAL = {
    ("int32", "date"): Coding("date", DAYS),
    ("int32", "time-millis"): Coding("string", MILLISECONDS),
    ("int64", "time-micros"): Coding("string", MICROSECONDS),
    ("int64", "timestamp-millis"): Coding("timestamp", MILLISECONDS),
    ("int64", "timestamp-micros"): Coding("timestamp", MICROSECONDS),
    ("int64", "timestamp-nanos"): Coding("timestamp", NANOSECONDS),
    ("int64", "local-timestamp-millis"): Coding("timestamp_ntz", MILLISECONDS),
    ("int64", "local-timestamp-micros"): Coding("timestamp_ntz", MICROSECONDS),
    ("int64", "local-timestamp-nanos"): Coding("timestamp_ntz", NANOSECONDS),
}
"""Those that Avro has; on another type they mean nothing."""
_DECIMAL = f"{_CONNECT}Decimal"
_MOST_DIGITS = 38


class Unknown(ValueError):
    """A schema that says nothing of a column; the text is the reason."""


def codings(fields: Sequence[Mapping[str, Any]]) -> dict[str, Coding]:
    """The columns of a row. Raises Unknown."""
    return {str(field["field"]): coding(field) for field in fields}


def coding(field: Mapping[str, Any]) -> Coding:
    """One column. Raises Unknown."""
    name, kind = field.get("name"), field.get("type")
    if name == _DECIMAL:
        return _decimal(field)
    found = _NAMED.get(str(name)) or _LOGICAL.get((str(kind), str(field.get("logical")))) or _PLAIN.get(str(kind))
    if found is None:
        raise Unknown(f"the column {field.get('field')!r} has the type {kind!r}, which Kafka Connect does not have")
    return found


def _decimal(field: Mapping[str, Any]) -> Coding:
    parameters = field.get("parameters") or {}
    scale, digits = int(parameters.get("scale", "0")), int(parameters.get("connect.decimal.precision", _MOST_DIGITS))
    if not 0 <= scale <= digits <= _MOST_DIGITS:
        raise Unknown(
            f"the column {field.get('field')!r} is a number of {digits} digits and scale {scale}, of which a copy holds {_MOST_DIGITS} digits at most: have the connector write texts "
            "(`decimal.handling.mode: string`), or leave the column out"
        )
    return Coding(f"decimal({digits},{scale})", BASE64)
