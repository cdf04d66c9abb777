"""Records in Avro as documents: those that Kafka Connect would have written of them in JSON, so that both are read by the same rules. Pure, but for the registry."""

from __future__ import annotations

import base64
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import fastavro

from incremental_assets.adapters.topics.avro.connect_schema import LOGICAL, connect_schema
from incremental_assets.adapters.topics.avro.registry import Registry, UnknownSchema
from incremental_assets.adapters.topics.record import Poison

_MAGIC = 0
_BEFORE = 5
"""Bytes before what is written by a schema: a zero, and the number of the schema."""
_BROKEN = (
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    OverflowError,
    MemoryError,
    RecursionError,
    StopIteration,
    struct.error,
)
"""What the decoder raises for bytes that do not follow a schema."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """A schema, as the decoder takes it, and as Kafka Connect tells of it."""

    parsed: Any
    told: Mapping[str, Any]
    is_plain: bool
    """Whether its values are those of JSON already."""


class AvroDocuments:
    """Implements `ReadDocument`. What a registry does not know is asked for once."""

    def __init__(self, registry: Registry, *, by_logical: bool) -> None:
        self._registry, self._by_logical = registry, by_logical
        self._known: dict[int, _Layout | str] = {}

    def __call__(self, data: bytes, what: str) -> tuple[Any, Any]:
        """Raises Poison, SourceUnreachable, SourceRefused."""
        if len(data) < _BEFORE or data[0] != _MAGIC:
            raise Poison(f"the {what} is no Avro with the number of its schema before it")
        number = int.from_bytes(data[1:_BEFORE], "big")
        layout = self._known.get(number)
        if layout is None:
            layout = self._known[number] = self._asked(number)
        if isinstance(layout, str):
            raise Poison(f"the {what} names schema {number}, and {layout}")
        stream = BytesIO(data)
        stream.seek(_BEFORE)
        try:
            value = fastavro.schemaless_reader(stream, layout.parsed, None)
        except _BROKEN:
            raise Poison(f"the {what} does not follow schema {number} of the registry, which it names") from None
        if stream.tell() != len(data):
            raise Poison(f"the {what} goes on behind what schema {number} of the registry says of it")
        return value if layout.is_plain else _plain(value), layout.told

    def _asked(self, number: int) -> _Layout | str:
        """The layout, or why there is none."""
        try:
            texts = self._registry.schema(number)
        except UnknownSchema as unknown:
            return str(unknown)
        named: dict[str, Any] = {}
        try:
            # What a decimal or a moment is, is decided by the column, as in JSON: the decoder gives the number that was written.
            *_, parsed = (fastavro.parse_schema(_undressed(json.loads(text)), named) for text in texts)
            if not isinstance(parsed, dict) or parsed.get("type") not in ("record", "error"):
                return "that is the schema of no record"
            told = connect_schema(parsed, named, by_logical=self._by_logical)
        except (*_BROKEN, fastavro.schema.SchemaParseException):
            return "that is no schema of Avro"
        text = " ".join(texts)
        return _Layout(
            parsed, told, is_plain=not any(f'"{each}"' in text for each in ("bytes", "fixed", "float", "double"))
        )


def _undressed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_undressed(each) for each in schema]
    if isinstance(schema, dict):
        return {LOGICAL if key == "logicalType" else key: _undressed(value) for key, value in schema.items()}
    return schema


def _plain(value: Any) -> Any:
    """Octets as base64, and what is no number as a text, as JSON has them."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
