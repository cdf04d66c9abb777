"""Texts of a database whose texts need not be UTF-8, as the log sends them: unconverted, as the server would else refuse to send a range for one of them.

One that is no text costs its row; the others are what the server would have made of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from incremental_assets.adapters.databases.postgresql.encodings import codec_of
from incremental_assets.adapters.logs.postgresql.binary_values import Found

_BEYOND_ASCII = 0x80


def converted(texts: pa.Array, encoding: str) -> Found:
    """The values, and which of them are no text; as they come where they are UTF-8 already."""
    read, codec = texts.cast(pa.binary()), codec_of(encoding)
    if _are_plain(read, codec):
        return texts, None
    values = [_decoded(each, codec) for each in read.to_pylist()]
    bad = np.array([value is None for value in values], bool)
    return pa.array(["" if value is None else value for value in values], pa.string()), bad


def shown(texts: pa.Array, encoding: str) -> list[str]:
    """The values for people: one that is no text as `x'…'`."""
    if not encoding:
        return list(texts.to_pylist())
    codec = codec_of(encoding)
    found = texts.cast(pa.binary()).to_pylist()
    return [f"x'{each.hex()}'" if (text := _decoded(each, codec)) is None else text for each in found]


def _are_plain(read: pa.Array, codec: str) -> bool:
    if codec != "utf-8":
        # What else may lie in the buffer costs time and nothing else.
        octets = np.frombuffer(read.buffers()[2] or b"", np.uint8)
        return bool((octets < _BEYOND_ASCII).all())
    try:
        read.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _decoded(found: bytes, codec: str) -> str | None:
    try:
        return found.decode(codec)
    except UnicodeDecodeError:
        return None
