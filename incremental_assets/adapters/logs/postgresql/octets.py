"""Numbers and texts that lie anywhere among bytes, taken by columns: one statement of numpy for all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incremental_assets.adapters.logs.changes import Offsets
from incremental_assets.adapters.logs.postgresql.spool import Octets


def numbers(data: Octets, at: Offsets, kind: str) -> npt.NDArray[Any]:
    """The numbers at these places, `kind` being numpy's name of the type on the wire, such as `>i8`; in this machine's byte order."""
    wire = np.dtype(kind)
    if not len(at):
        return np.empty(0, wire.newbyteorder("="))
    # A view that has a number at each byte: overlapping, and nothing is copied but what is asked for.
    everywhere = np.ndarray((len(data) - wire.itemsize + 1,), wire, data, 0, (1,))
    return everywhere[at].astype(wire.newbyteorder("="))


def pieces(data: Octets, at: Offsets, lengths: Offsets, kind: pa.DataType) -> pa.Array:
    """The bytes at these places as texts or binaries; empty where a length is 0."""
    ends = at + lengths
    if np.all(at[1:] >= ends[:-1]):
        # What lies between two values is a value as well, and every other one is taken: the bytes are copied once, by Arrow.
        bounds = np.empty(2 * len(at) + 1, np.int32)
        bounds[0:-1:2], bounds[1::2], bounds[-1] = at, ends, ends[-1] if len(ends) else 0
        both = pa.Array.from_buffers(kind, 2 * len(at), [None, pa.py_buffer(bounds), pa.py_buffer(data)])
        return both.take(pa.array(np.arange(0, 2 * len(at), 2)))
    offsets = np.zeros(len(at) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    taken = data[np.repeat(at - offsets[:-1], lengths) + np.arange(offsets[-1])]
    return of_bytes(kind, offsets, taken)


def of_bytes(kind: pa.DataType, offsets: Offsets, data: Octets) -> pa.Array:
    """Texts or binaries, from where each begins and their bytes."""
    return pa.Array.from_buffers(
        kind, len(offsets) - 1, [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))]
    )


def with_nulls(values: pa.Array, valid: npt.NDArray[np.bool_]) -> pa.Array:
    """The values, NULL where they are not valid. They hold no NULL yet."""
    if valid.all():
        return values
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(values.type, len(values), [bits, *values.buffers()[1:]], offset=0)
