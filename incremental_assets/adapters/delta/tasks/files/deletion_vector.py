"""Deletion vectors: which rows of a file are gone, as Delta's protocol writes them."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from pyroaring import BitMap64

from incremental_assets.adapters.delta.log import z85
from incremental_assets.adapters.delta.log.readable import readable, store_for
from incremental_assets.adapters.delta.log.vector_file import name_of
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks

_MAGIC = struct.pack("<i", 1681511377)
"""The magic number before a bitmap of 64 bits in its portable form."""
_FORMAT = b"\x01"
_FRAME_BYTES = 8
"""Around a vector in a file: its length and its checksum."""
_INLINE_BYTES = 1024
"""The most bytes of a vector in the log: a larger one has a file of its own, as the log is read by everybody, and again in each checkpoint."""


def read(table: str, descriptor: Mapping[str, Any] | None) -> BitMap64:
    """The row numbers that a descriptor marks; none where there is no descriptor. Raises NotByTasks for one that is not known here."""
    if descriptor is None:
        return BitMap64()
    with readable("a deletion vector"):
        raw = _bytes(table, descriptor)
    if raw[:4] != _MAGIC:
        raise NotByTasks("a deletion vector is of another form")
    try:
        marked = BitMap64.deserialize(raw[4:])
    except ValueError:
        raise NotByTasks("a deletion vector is damaged") from None
    if len(marked) != descriptor["cardinality"]:
        raise NotByTasks("a deletion vector does not hold as many rows as the log says")
    return marked


def write(table: str, vectors: Sequence[BitMap64]) -> tuple[list[dict[str, Any]], str | None]:
    """The descriptor of each vector, and the name of the file that was written for them: None where all are short enough to stand in the log itself."""
    text = z85.encoded(uuid.uuid4().bytes)
    described, stored, size = [], [_FORMAT], len(_FORMAT)
    for marked in vectors:
        marked.run_optimize()
        raw = _MAGIC + marked.serialize()
        about = {"sizeInBytes": len(raw), "cardinality": len(marked)}
        if len(raw) <= _INLINE_BYTES:
            described.append({"storageType": "i", "pathOrInlineDv": z85.encoded(raw), **about})
            continue
        described.append({"storageType": "u", "pathOrInlineDv": text, "offset": size, **about})
        stored.append(struct.pack(">i", len(raw)) + raw + struct.pack(">I", zlib.crc32(raw)))
        size += len(stored[-1])
    if size == len(_FORMAT):
        return described, None
    name = name_of(text)
    with store_for(table).new(f"{table}/{name}") as file:
        file.writelines(stored)
    return described, name


def _bytes(table: str, descriptor: Mapping[str, Any]) -> bytes:
    text, size = descriptor["pathOrInlineDv"], descriptor["sizeInBytes"]
    try:
        if descriptor["storageType"] == "i":
            return z85.decoded(text)[:size]
        if descriptor["storageType"] == "u":
            return _stored(table, name_of(text), descriptor.get("offset") or 0, size)
    except ValueError:
        raise NotByTasks("a deletion vector is not written as Delta does") from None
    raise NotByTasks("a deletion vector lies outside of the table")


def _stored(table: str, name: str, offset: int, size: int) -> bytes:
    found = store_for(table).read(f"{table}/{name}", offset, offset + size + _FRAME_BYTES)
    (length,) = struct.unpack_from(">i", found)
    if length != size:
        raise NotByTasks(f"the deletion vector in {name} is of another size than the log says")
    raw = found[4 : 4 + size]
    (checksum,) = struct.unpack_from(">I", found, 4 + size)
    if zlib.crc32(raw) != checksum:
        raise NotByTasks(f"the deletion vector in {name} is damaged")
    return raw
