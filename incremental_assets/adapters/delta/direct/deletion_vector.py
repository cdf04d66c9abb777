"""Deletion vectors: which rows of a file are gone, as Delta's protocol writes them."""

from __future__ import annotations

import os
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from pyroaring import BitMap64

from incremental_assets.adapters.delta.direct.log_state import NotReplayable

_MAGIC = struct.pack("<i", 1681511377)
"""Of a RoaringBitmapArray in its portable form, of which a 64-bit bitmap's is the rest."""
_FORMAT = b"\x01"
_INLINE_BYTES = 1024
"""Above it a vector has a file of its own: the log is read by everybody, and again in each checkpoint."""
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {sign: digit for digit, sign in enumerate(_Z85)}
_UUID_SIGNS = 20


def read(table: str, descriptor: Mapping[str, Any] | None) -> BitMap64:
    """The row numbers that a descriptor marks; none where there is no descriptor. Raises NotReplayable for one that is not known here."""
    if descriptor is None:
        return BitMap64()
    text, size = descriptor["pathOrInlineDv"], descriptor["sizeInBytes"]
    if descriptor["storageType"] == "i":
        raw = _decoded(text)[:size]
    elif descriptor["storageType"] == "u":
        raw = _stored(os.path.join(table, _file_of(text)), descriptor.get("offset") or 0, size)
    else:
        raise NotReplayable("a deletion vector lies outside of the table")
    if raw[:4] != _MAGIC:
        raise NotReplayable("a deletion vector is of another form")
    marked = BitMap64.deserialize(raw[4:])
    if len(marked) != descriptor["cardinality"]:
        raise NotReplayable("a deletion vector does not hold as many rows as the log says")
    return marked


def write(table: str, marked: BitMap64) -> tuple[dict[str, Any], str | None]:
    """The descriptor of these row numbers, and the file that was written for it: None for few, which stand in the log itself."""
    marked.run_optimize()
    raw = _MAGIC + marked.serialize()
    described = {"sizeInBytes": len(raw), "cardinality": len(marked)}
    if len(raw) <= _INLINE_BYTES:
        return {"storageType": "i", "pathOrInlineDv": _encoded(raw), **described}, None
    name = uuid.uuid4()
    text = _encoded(name.bytes)
    path = os.path.join(table, _file_of(text))
    with open(path, "xb") as file:
        file.write(_FORMAT + struct.pack(">i", len(raw)) + raw + struct.pack(">I", zlib.crc32(raw)))
        file.flush()
        os.fsync(file.fileno())
    return {"storageType": "u", "pathOrInlineDv": text, "offset": len(_FORMAT), **described}, path


def _stored(path: str, offset: int, size: int) -> bytes:
    with open(path, "rb") as file:
        file.seek(offset)
        (length,) = struct.unpack(">i", file.read(4))
        raw = file.read(length)
        (checksum,) = struct.unpack(">I", file.read(4))
    if length != size or zlib.crc32(raw) != checksum:
        raise NotReplayable(f"the deletion vector in {os.path.basename(path)} is damaged")
    return raw


def _file_of(text: str) -> str:
    """`<folder><uuid>`: the folder's characters are drawn at random by writers that spread their files."""
    folder, name = text[:-_UUID_SIGNS], uuid.UUID(bytes=_decoded(text[-_UUID_SIGNS:])[:16])
    return os.path.join(folder, f"deletion_vector_{name}.bin")


def _encoded(raw: bytes) -> str:
    padded = raw + b"\0" * (-len(raw) % 4)
    words = struct.unpack(f">{len(padded) // 4}I", padded)
    return "".join(_Z85[word // 85**place % 85] for word in words for place in (4, 3, 2, 1, 0))


def _decoded(text: str) -> bytes:
    groups: Sequence[str] = [text[start : start + 5] for start in range(0, len(text), 5)]
    words = [
        sum(_DIGITS[sign] * 85**place for sign, place in zip(group, (4, 3, 2, 1, 0), strict=True)) for group in groups
    ]
    return struct.pack(f">{len(words)}I", *words)
