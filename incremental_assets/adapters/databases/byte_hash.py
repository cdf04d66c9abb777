"""The cheaper of the two hashes of a row: of the bytes of its values, as PostgreSQL's own `hash_record_extended` computes it.

To write a row as one text, for the MD5 in `measure.py`, costs a server three times as much as all of this. A value counts as four bytes (a whole
number of at most 32 bits, a date, a boolean) or as the bytes in which the server would send it, in which nothing of it is lost:

=================== =========================================================================
Spark type          bytes
=================== =========================================================================
tinyint to int      the number, 4 bytes
boolean             0 or 1, 4 bytes
date                days since 1970-01-01, 4 bytes
bigint              the number, 8 bytes
timestamps          microseconds since 2000-01-01 (UTC), 8 bytes
decimal(p,s)        as `numeric_send` writes it: sign, scale, and digits to the base 10,000
float, double       as a double, every NaN as the same one, 8 bytes
string              in UTF-8; of a long one the MD5, in hexadecimal digits
binary              as it is; of a long one the MD5
=================== =========================================================================

Of a long value it is the MD5, as blocks of one value are mixed one after the other, which is slow here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases import lookup3
from incremental_assets.adapters.databases.measure import LONG

if TYPE_CHECKING:
    from incremental_assets.adapters.databases.lookup3 import Bytes, Hashes, Lengths

_SAMPLE = 4096
"""Values by which it is judged whether there are few different ones."""
_EPOCH = 946_684_800_000_000
"""Microseconds from 1970 to 2000."""
_BASE = np.uint64(10_000)
_LIMB, _LOW = np.uint64(32), np.uint64(2**32 - 1)
"""Bits of one part of a number that 64 do not hold, and the mask of them."""
_DIGITS = 4
"""Decimal digits in one of the base."""
_HEAD = 4
"""Numbers of 16 bits before the digits: how many there are, the weight of the first, the sign, the scale."""
_NEGATIVE = 0x4000
_SAFE = 19
"""Decimal digits that a number of 64 bits does not always hold."""


def row_hashes(columns: Sequence[pa.ChunkedArray]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The hash of each row, 64 bits."""
    return lookup3.of_row([_hashes(values.combine_chunks()) for values in columns])


def _hashes(values: pa.Array) -> Hashes:
    """The hash of each value; 0 of NULL."""
    if isinstance(values, pa.ChunkedArray):  # what combine_chunks() gives for some types, and for nothing at all
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    found = _of_few(values) if pa.types.is_dictionary(values.type) or _are_few(values) else _of_any(values)
    if values.null_count:
        found[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return found


def _are_few(values: pa.Array) -> bool:
    """Whether the same values seem to come again and again, of those that are dearer to hash than to look up."""
    if pa.types.is_primitive(values.type) and not pa.types.is_decimal(values.type):
        return False
    return len(values) > _SAMPLE and len(values[:_SAMPLE].unique()) < _SAMPLE // 8


def _of_few(values: pa.Array) -> Hashes:
    found = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    places = _numbers(found.indices)
    # Of NULL alone there is no value to look up.
    return _of_any(found.dictionary)[places] if len(found.dictionary) else np.zeros(len(values), dtype=np.uint64)


def _of_any(values: pa.Array) -> Hashes:
    kind = values.type
    if pa.types.is_timestamp(kind):
        return lookup3.of_longs(_numbers(values.cast(pa.int64())) - _EPOCH)
    if pa.types.is_int64(kind):
        return lookup3.of_longs(_numbers(values))
    if pa.types.is_floating(kind):
        doubles = _numbers(values.cast(pa.float64()))
        return lookup3.of_longs(np.where(np.isnan(doubles), np.nan, doubles).view(np.int64))
    if pa.types.is_decimal(kind):
        return _of_decimals(values)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _of_texts(values)
    return lookup3.of_words(_numbers(values.cast(pa.int32())).view(np.uint32))


def _numbers(values: pa.Array) -> Any:
    return (pc.fill_null(values, 0) if values.null_count else values).to_numpy(zero_copy_only=False)


def _of_texts(values: pa.Array) -> Hashes:
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    starts, lengths = ends[:-1], np.diff(ends)
    held = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    long = np.flatnonzero(lengths > LONG)
    if len(long):
        held, starts = _shortened(held, starts, lengths, long, text=pa.types.is_string(values.type))
    return lookup3.of_texts(held, starts, lengths)


def _shortened(held: Bytes, starts: Lengths, lengths: Lengths, long: Lengths, *, text: bool) -> tuple[Bytes, Lengths]:
    """The same values with the MD5 in the place of each long one, behind all others; its length is put right in `lengths`."""
    found = [hashlib.md5(held[starts[row] : starts[row] + lengths[row]].data, usedforsecurity=False) for row in long]
    digests = [each.hexdigest().encode() if text else each.digest() for each in found]
    size = len(digests[0])
    starts = starts.copy()
    starts[long] = len(held) + np.arange(len(long)) * size
    lengths[long] = size
    return np.concatenate([held, np.frombuffer(b"".join(digests), dtype=np.uint8)]), starts


def _of_decimals(values: pa.Array) -> Hashes:
    """The hashes of decimals, by their digits to the base without zeros at either end, and what is sent before them."""
    precision, scale = values.type.precision, values.type.scale
    below = -(-scale // _DIGITS)
    places = below + -(-(precision - scale) // _DIGITS)
    factor = 10 ** (below * _DIGITS - scale)
    negative, limbs = _magnitudes(values, small=len(str(10**precision * factor)) < _SAFE)
    digits = _digits(_shifted(limbs, factor), places)
    first, last = np.full(len(values), places), np.zeros(len(values), dtype=np.int64)
    for place, each in enumerate(digits):
        last[each != 0] = place + 1
    for place in reversed(range(places)):
        first[digits[place] != 0] = place
    count = np.maximum(last - first, 0)
    # What is sent before the digits takes the place of zeros before the first.
    sent = np.empty((len(values), _HEAD + places), dtype=">i2")
    for place, each in enumerate(digits):
        sent[:, _HEAD + place] = each
    flat = sent.reshape(-1)
    begin = np.arange(len(values), dtype=np.int64) * (_HEAD + places) + first
    flat[begin] = count
    flat[begin + 1] = np.where(count > 0, places - below - 1 - first, 0)
    flat[begin + 2] = np.where(negative, _NEGATIVE, 0)
    flat[begin + 3] = scale
    return lookup3.of_texts(flat.view(np.uint8), 2 * begin, 2 * (_HEAD + count))


def _magnitudes(values: pa.Array, *, small: bool) -> tuple[Any, list[Any]]:
    """Flags for the unscaled values that are below 0, and all of them without their sign: one number of 64 bits, or limbs of 32, the lowest first."""
    data = values.buffers()[1]
    wide = np.frombuffer(data, dtype="<i8").reshape(-1, 2)[values.offset : values.offset + len(values)]
    if values.null_count:
        wide = np.where(values.is_null().to_numpy(zero_copy_only=False)[:, None], 0, wide)
    negative = wide[:, 1] < 0
    if small:
        return negative, [np.abs(wide[:, 0]).astype(np.uint64)]
    words = np.ascontiguousarray(wide).view("<u4")
    limbs: list[Any] = []
    carry: Any = negative.astype(np.uint64)
    for place in range(4):
        limb = np.where(negative, ~words[:, place], words[:, place]).astype(np.uint64) + carry
        limbs.append(limb & _LOW)
        carry = limb >> _LIMB
    return negative, limbs


def _shifted(limbs: list[Any], factor: int) -> list[Any]:
    """Times a factor of less than the base; of limbs one more."""
    if len(limbs) == 1:
        return [limbs[0] * np.uint64(factor)]
    found, carry = [], np.zeros_like(limbs[0])
    for each in limbs:
        limb = each * np.uint64(factor) + carry
        found.append(limb & _LOW)
        carry = limb >> _LIMB
    return [*found, carry]


def _digits(limbs: list[Any], places: int) -> list[Any]:
    """The last `places` digits to the base, the highest first."""
    found = []
    for _ in range(places):
        while len(limbs) > 1 and not limbs[-1].any():
            limbs = limbs[:-1]
        rest, quotients = np.uint64(0), []
        for limb in reversed(limbs):
            whole = (rest << _LIMB) | limb
            quotient = whole // _BASE
            rest = whole - quotient * _BASE
            quotients.append(quotient)
        found.append(rest)
        limbs = quotients[::-1]
    return found[::-1]
