"""All that a Parquet file holds: rows, those that are marked as gone among them, dictionaries, statistics, indexes, filters, and bytes that nothing names."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.erasure import bloom
from incremental_assets.adapters.erasure.search import Search, is_end, plain
from incremental_assets.adapters.erasure.thrift import Fields, Reader
from incremental_assets.adapters.spark.own_names import RAW
from incremental_assets.core.model.erasure import Holds
from incremental_assets.core.model.key_text import canonical

MAGIC = b"PAR1"
OF_OTHERS = frozenset({Holds.OTHER_ROW, Holds.TEXT})
"""What may be of rows that stay."""
_PHYSICAL = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_DICTIONARY_PAGE = 2
_ROWS = 65_536


def held(data: bytes, search: Search) -> frozenset[Holds]:
    """How a file holds something. What cannot be decoded is never nothing."""
    found: set[Holds] = set()
    if search.texts.search(data):
        found.add(Holds.TEXT)
    try:
        found.update(_decoded(data, search))
    except (pa.ArrowException, OSError, ValueError, KeyError, IndexError, struct.error):
        found.add(Holds.UNREADABLE)
    return frozenset(found)


def _decoded(data: bytes, search: Search) -> Iterator[Holds]:
    with pq.ParquetFile(BytesIO(data)) as file:
        seen: dict[str, set[str]] = {}
        for rows in file.iter_batches(_ROWS):
            yield from _of_rows(rows, search, seen)
        yield from _of_structures(data, file.schema_arrow, search, seen)


def keyed(rows: pa.RecordBatch, search: Search) -> list[bool]:
    """Whether each row is of one of the keys."""
    return _keyed(rows, search, {})


def _of_rows(rows: pa.RecordBatch, search: Search, seen: dict[str, set[str]]) -> Iterator[Holds]:
    mine, named = _keyed(rows, search, seen), _naming(rows, search)
    if any(mine):
        yield Holds.ROW
    if any(other and not own for own, other in zip(mine, named, strict=True)):
        yield Holds.OTHER_ROW


def _keyed(rows: pa.RecordBatch, search: Search, seen: dict[str, set[str]]) -> list[bool]:
    """Whether each row is of one of the keys."""
    texts = {
        name: _as_keys(rows.column(place), search.part(name), search)
        for place, name in enumerate(rows.schema.names)
        if _may_be_key(rows, place)
    }
    if search.names is None:
        found = [
            any(set(key) <= set(row) for key in search.keys)
            for row in zip(*(each for each in texts.values()), strict=True)
        ] or [False] * rows.num_rows
    else:
        parts = {part: column for name, column in texts.items() if (part := search.part(name)) is not None}
        for part, column in parts.items():
            seen.setdefault(part, set()).update(search.values_of(part).intersection(column))
        if parts and set(parts) == set(search.key):
            found = [row in search.keys for row in zip(*(parts[part] for part in search.key), strict=True)]
        else:
            found = [False] * rows.num_rows
    if RAW in rows.schema.names:
        raws = rows.column(rows.schema.names.index(RAW)).to_pylist()
        found = [each or _is_keyed(raw, search) for each, raw in zip(found, raws, strict=True)]
    return found


def _is_keyed(raw: Any, search: Search) -> bool:
    row = json.loads(raw) if isinstance(raw, str) and raw.startswith("{") else {}
    return tuple(search.as_key(name, str(row.get(name))) for name in search.key) in search.keys


def _may_be_key(rows: pa.RecordBatch, place: int) -> bool:
    kind = rows.schema.types[place]
    return not (pa.types.is_nested(kind) or pa.types.is_floating(kind))


def _as_keys(values: pa.Array, part: str | None, search: Search) -> list[str]:
    """What a quarantine has of a key is as the source wrote it."""
    texts = _texts(values)
    return (
        texts if part is None or not pa.types.is_string(values.type) else [search.as_key(part, text) for text in texts]
    )


def _texts(values: pa.Array) -> list[str]:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_integer(values.type):
        values = values.cast(pa.string())
    return ["" if value is None else canonical(value) for value in values.to_pylist()]


def _naming(rows: pa.RecordBatch, search: Search) -> list[bool]:
    """Whether each row names one of the texts, in whichever column."""
    found = [False] * rows.num_rows
    for column in rows.columns:
        for place, text in enumerate(_long_texts(column)):
            if text is not None and search.texts.search(text):
                found[place] = True
    return found


def _long_texts(values: pa.Array) -> Iterator[bytes | None]:
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_nested(kind):
        yield from (json.dumps(value, default=canonical, ensure_ascii=False).encode() for value in values.to_pylist())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        yield from pc.cast(values, pa.binary()).to_pylist()


def _of_structures(data: bytes, schema: pa.Schema, search: Search, seen: Mapping[str, set[str]]) -> Iterator[Holds]:
    (size,) = struct.unpack("<I", data[-8:-4])
    footer = Reader(data, len(data) - 8 - size).fields()
    lengths = {element.get(4): element.get(2, 0) for element in footer[2]}
    for group in footer[4]:
        for chunk in group[1]:
            wanted = _wanted(chunk[3], schema, search, lengths, seen)
            yield from _of_chunk(data, chunk, wanted, search)


def _wanted(
    told: Fields, schema: pa.Schema, search: Search, lengths: Mapping[Any, int], seen: Mapping[str, set[str]]
) -> set[bytes]:
    """The plain bytes of what is looked for in a column.

    Of a key of several columns, one of them may have a value that is also another's: there it is what no row accounts for.
    """
    name = told[3][0].decode()
    part = search.part(name) if len(told[3]) == 1 else None
    if part is None:
        return set()
    texts = search.values_of(part) - (frozenset() if len(search.key) == 1 else seen.get(part, set()))
    kind, physical = schema.field(name).type, _PHYSICAL[told[1]]
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    found = (plain(text, kind, physical, lengths.get(told[3][0], 0)) for text in texts)
    return {each for each in found if each is not None}


def _of_chunk(data: bytes, chunk: Fields, wanted: set[bytes], search: Search) -> Iterator[Holds]:
    told = chunk[3]
    if _in_statistics(told.get(12), wanted):
        yield Holds.STATISTICS
    for header, page in _pages(data, told):
        if _in_statistics(header.get(5, {}).get(5) or header.get(8, {}).get(8), wanted):
            yield Holds.STATISTICS
        if header[1] == _DICTIONARY_PAGE and _in_dictionary(page, _PHYSICAL[told[1]], wanted, search):
            yield Holds.DICTIONARY
    if 6 in chunk:
        index = Reader(data, chunk[6]).fields()
        if any(is_end(bound, wanted) for bound in (*index[2], *index[3])):
            yield Holds.INDEX
    if 14 in told and any(bloom.may_hold(data, told[14], value) for value in wanted):
        yield Holds.BLOOM


def _in_statistics(told: Fields | None, wanted: set[bytes]) -> bool:
    return told is not None and any(is_end(told.get(number), wanted) for number in (1, 2, 5, 6))


def _pages(data: bytes, told: Fields) -> Iterator[tuple[Fields, bytes]]:
    """The header of each page, and of dictionaries the values: those of other pages are read as rows."""
    at = min(told[9], told.get(11) or told[9])
    end = at + told[7]
    while at < end:
        reader = Reader(data, at)
        header = reader.fields()
        body = data[reader.at : reader.at + header[3]]
        at = reader.at + header[3]
        yield header, _unpacked(body, header[2], told[4]) if header[1] == _DICTIONARY_PAGE else b""


def _unpacked(body: bytes, size: int, codec: int) -> bytes:
    return body if codec == 0 else bytes(pa.decompress(body, size, _CODECS[codec], asbytes=True))


def _in_dictionary(page: bytes, physical: str, wanted: set[bytes], search: Search) -> bool:
    if search.texts.search(page):
        return True
    if not wanted:
        return False
    if physical != "BYTE_ARRAY":
        width = len(next(iter(wanted)))
        return any(page[at : at + width] in wanted for at in range(0, len(page), width))
    at = 0
    while at < len(page):
        (size,) = struct.unpack_from("<I", page, at)
        if page[at + 4 : at + 4 + size] in wanted:
            return True
        at += 4 + size
    return False
