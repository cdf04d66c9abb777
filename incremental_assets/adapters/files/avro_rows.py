"""Rows of Avro, whose files say what columns they have. Numbers that stand for days, moments and decimals are made values by column: one that is out of range is that row's fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.files.raw import Rows, Unfitted
from incremental_assets.adapters.files.refusals import Broken
from incremental_assets.adapters.files.typed_values import as_text, numbered_rows, sound
from incremental_assets.core.errors import IncrementalAssetsError, SetupError, SourceRefused
from incremental_assets.core.extras import AVRO

_ROWS = 64 * 1024
_PLAIN: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_COUNTED: Mapping[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
}
"""By type and logical type."""
_DIGITS = 76
"""Of a decimal on its way: one that has more than its column says is found there."""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    decoded: Any
    """Its schema, as the file's bytes are decoded by it."""
    kind: pa.DataType
    is_text: bool
    """Whether its values become texts of JSON."""

    def array(self, values: Sequence[Any]) -> pa.Array:
        if self.is_text:
            return pa.array([None if each is None else _as_text(each) for each in values], pa.string())
        if pa.types.is_decimal(self.kind):
            scale = self.kind.scale
            return pa.array([_decimal(each, scale) for each in values], pa.decimal256(_DIGITS, scale))
        if self.kind in _COUNTED.values():
            number = pa.int32() if pa.types.is_date(self.kind) else pa.int64()
            return pa.array(values, number).cast(self.kind)
        return pa.array(values, self.kind)


def schema_of(opened: Any) -> tuple[pa.Schema, Any]:
    """What a file says of its columns, and its reader. Raises Broken, SourceRefused."""
    reader = _reader(opened)
    return pa.schema([(each.name, each.kind) for each in _columns(reader.writer_schema)]), reader


def rows_of_avro(reader: Any, types: Mapping[str, str]) -> Iterator[Rows | Unfitted]:
    """The columns of these names and types. Raises Broken, SourceRefused."""
    columns = _columns(reader.writer_schema)
    wanted = [each for each in columns if each.name in types]
    decoded = reader.writer_schema | {
        "fields": [
            field | {"type": each.decoded} for field, each in zip(reader.writer_schema["fields"], columns, strict=True)
        ]
    }
    yield from numbered_rows((_batch(records, wanted) for records in _records(reader, decoded)), types)


def _batch(records: Sequence[Mapping[str, Any]], columns: Sequence[_Column]) -> pa.RecordBatch:
    with sound():
        arrays = [each.array([record[each.name] for record in records]) for each in columns]
    names = [each.name for each in columns]
    # With a column besides: a batch of none would have no rows.
    return pa.RecordBatch.from_arrays([*arrays, pa.nulls(len(records))], [*names, ""]).select(names)


def _reader(opened: Any) -> Any:
    try:
        AVRO.require()
    except SetupError as error:
        raise SourceRefused(str(error)) from None
    import fastavro

    try:
        reader = fastavro.block_reader(opened)
    except (ValueError, EOFError) as error:
        raise Broken(error) from None
    if not isinstance(reader.writer_schema, dict) or reader.writer_schema["type"] != "record":
        raise Broken("its values are no records")
    return reader


def _records(reader: Any, schema: Any) -> Iterator[list[Any]]:
    import fastavro

    parsed = fastavro.parse_schema(schema)
    gathered: list[Any] = []
    try:
        for block in reader:
            for _ in range(block.num_records):
                gathered.append(fastavro.schemaless_reader(block.bytes_, parsed))
                if len(gathered) == _ROWS:
                    yield gathered
                    gathered = []
            _check_read(block)
    except (IncrementalAssetsError, OSError, Broken):
        raise
    except Exception as error:  # noqa: BLE001 - bytes that are no such record fail anywhere in what decodes them
        raise Broken(error) from None
    yield gathered


def _check_read(block: Any) -> None:
    if block.bytes_.read(1):
        raise Broken("a block of it holds more than its records")


def _columns(schema: Any) -> list[_Column]:
    import fastavro

    named: dict[str, Any] = {}
    fastavro.parse_schema(schema, named_schemas=named)
    return [_column(field["name"], field["type"], named) for field in schema["fields"]]


def _column(name: str, kind: Any, named: Mapping[str, Any]) -> _Column:
    others = [each for each in kind if each != "null"] if isinstance(kind, list) else [kind]
    if len(others) != 1:
        return _Column(name, kind, pa.string(), is_text=True)
    (one,) = others
    told = named.get(one, one) if isinstance(one, str) else one
    plain = told["type"] if isinstance(told, dict) else told
    logical = told.get("logicalType", "") if isinstance(told, dict) else ""
    found = _arrow(plain, logical, told)
    if found is None:
        return _Column(name, kind, pa.string(), is_text=True)
    bare = {key: each for key, each in one.items() if key != "logicalType"} if isinstance(one, dict) else one
    return _Column(
        name, [bare if each is one else each for each in kind] if isinstance(kind, list) else bare, found, is_text=False
    )


def _arrow(plain: Any, logical: str, told: Any) -> pa.DataType | None:
    """None of what becomes a text of JSON."""
    if not isinstance(plain, str):
        return None
    if logical == "decimal" and plain in ("bytes", "fixed"):
        precision, scale = told["precision"], told.get("scale", 0)
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(min(precision, _DIGITS), scale)
    if logical.startswith("time-") or logical == "uuid":
        return None
    return _COUNTED.get((plain, logical)) or _PLAIN.get(plain)


def _decimal(value: Any, scale: int) -> Decimal | None:
    if value is None or isinstance(value, Decimal):
        return value
    digits = tuple(map(int, str(abs(number := int.from_bytes(value, "big", signed=True)))))
    return Decimal((int(number < 0), digits, -scale))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else as_text(value)
