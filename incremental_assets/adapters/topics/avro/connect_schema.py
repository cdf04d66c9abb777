"""A schema of Avro as Kafka Connect tells of it beside JSON: each column's type, its name where it means something, and what goes with that. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LOGICAL = "logical"
"""By this key instead of Avro's own, which a decoder would follow."""
_KINDS = {
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "boolean": "boolean",
    "string": "string",
    "enum": "string",
    "bytes": "bytes",
    "fixed": "bytes",
    "array": "array",
    "map": "map",
    "record": "struct",
    "error": "struct",
}
_NARROWER = ("int8", "int16")
_CONNECT = "org.apache.kafka.connect.data."
_DECIMAL, _OF_CONNECT = f"{_CONNECT}Decimal", frozenset(f"{_CONNECT}{each}" for each in ("Date", "Time", "Timestamp"))
"""Of moments Debezium writes by Connect's name what has no zone, and everybody else what has one."""
_DEPTH = 2
"""Columns are those of the record, or of a row in it; what lies deeper is one value."""


def connect_schema(parsed: Mapping[str, Any], named: Mapping[str, Any], *, by_logical: bool) -> Mapping[str, Any]:
    """Of a record. `named`: every schema that has a name; `by_logical`: whether Avro counts where it and Connect both say what a day or a moment is."""
    return {"type": "struct", "fields": _Telling(named, by_logical).fields(parsed, _DEPTH)}


@dataclass(frozen=True, slots=True)
class _Telling:
    named: Mapping[str, Any]
    by_logical: bool

    def fields(self, record: Mapping[str, Any], depth: int) -> list[dict[str, Any]]:
        return [self._field(each["name"], each["type"], depth) for each in record["fields"]]

    def _field(self, name: str, schema: Any, depth: int) -> dict[str, Any]:
        own = self._one(schema)
        kind = _KINDS.get(str(own["type"]), str(own["type"]))
        narrower = own.get("connect.type")
        told: dict[str, Any] = {"field": name, "type": narrower if narrower in _NARROWER else kind}
        logical, meant = own.get(LOGICAL), own.get("connect.name")
        if meant is None and logical == "decimal" and kind == "bytes":
            digits = {"scale": str(own.get("scale", 0)), "connect.decimal.precision": str(own.get("precision", 0))}
            return told | {"name": _DECIMAL, "parameters": digits}
        if meant is not None and not (self.by_logical and logical is not None and meant in _OF_CONNECT):
            told |= {"name": meant, "parameters": own.get("connect.parameters")}
        elif logical is not None:
            told[LOGICAL] = logical
        if kind == "struct" and depth > 1:
            told["fields"] = self.fields(own, depth - 1)
        return told

    def _one(self, schema: Any) -> Mapping[str, Any]:
        """The one thing that it is, behind names, and beside null."""
        if isinstance(schema, list):
            others = [each for each in schema if each != "null"]
            # What may be of several kinds is a value of its own, as a map is.
            return self._one(others[0]) if len(others) == 1 else {"type": "map" if others else "null"}
        if isinstance(schema, str):
            return self._one(self.named[schema]) if schema in self.named else {"type": schema}
        found: Mapping[str, Any] = schema
        return self._one(found["type"]) if isinstance(found["type"], dict | list) else found
