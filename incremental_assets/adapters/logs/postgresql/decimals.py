"""PostgreSQL's numeric, which comes as digits to the base of 10,000, as decimals of Arrow: by columns, without a number of Python for any value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incremental_assets.adapters.logs.postgresql.octets import numbers
from incremental_assets.adapters.logs.postgresql.spool import Octets
from incremental_assets.adapters.logs.postgresql.tuples import Places

_BASE, _DIGITS = 10_000, 4
_HEADER_BYTES = 8
_NEGATIVE, _SPECIAL = 0x4000, 0xC000
_IN_64_BITS = 18
"""Decimal digits that a signed number of 64 bits holds, whatever they are."""
_LIMBS = 4
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

Numbers = npt.NDArray[np.uint64]


def is_special(data: Octets, places: Places) -> npt.NDArray[np.bool_]:
    """Where a value is NaN, or infinite."""
    return (numbers(data, places.at + 4, ">u2") & _SPECIAL) == _SPECIAL


def decimals(data: Octets, places: Places, precision: int, scale: int) -> pa.Array:
    """The values as `decimal128`; zero where one is special."""
    digits = _by_weight(data, places, precision, scale)
    negative = numbers(data, places.at + 4, ">u2") == _NEGATIVE
    low, high = _short(digits, scale) if precision <= _IN_64_BITS else _long(digits, scale)
    # Two's complement of 128 bits.
    low, high = (
        np.where(negative, ~low + np.uint64(1), low),
        np.where(negative, ~high + (low == 0).astype(np.uint64), high),
    )
    both = np.empty((len(low), 2), np.uint64)
    both[:, 0], both[:, 1] = low, high
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(low), [None, pa.py_buffer(both)])


def _by_weight(data: Octets, places: Places, precision: int, scale: int) -> list[Numbers]:
    """The digits of all values by their weight, from the highest that the type has to the lowest."""
    count = numbers(data, places.at, ">i2").astype(np.int64)
    weight = numbers(data, places.at + 2, ">i2").astype(np.int64)
    highest, lowest = -((scale - precision) // _DIGITS) - 1, -scale // _DIGITS
    found = []
    for each in range(highest, lowest - 1, -1):
        place = weight - each
        is_there = (place >= 0) & (place < count)
        at = np.where(is_there, places.at + _HEADER_BYTES + 2 * place, places.at)
        found.append(np.where(is_there, numbers(data, at, ">u2"), 0).astype(np.uint64))
    return found


def _short(digits: list[Numbers], scale: int) -> tuple[Numbers, Numbers]:
    total = np.zeros(len(digits[0]), np.uint64)
    for each, (times, divided) in zip(digits, _steps(len(digits), scale), strict=True):
        total = total * np.uint64(times) + each // np.uint64(divided)
    return total, np.zeros_like(total)


def _long(digits: list[Numbers], scale: int) -> tuple[Numbers, Numbers]:
    limbs = [np.zeros(len(digits[0]), np.uint64) for _ in range(_LIMBS)]
    for each, (times, divided) in zip(digits, _steps(len(digits), scale), strict=True):
        carry = each // np.uint64(divided)
        for place, limb in enumerate(limbs):
            carry = limb * np.uint64(times) + carry
            limbs[place], carry = carry & _LOW, carry >> _HALF
    return limbs[0] | limbs[1] << _HALF, limbs[2] | limbs[3] << _HALF


def _steps(count: int, scale: int) -> list[tuple[int, int]]:
    """By what the number so far is multiplied for each digit, and by what that digit is divided: the last one reaches below the scale, and is zero there."""
    below = 10 ** (-scale % _DIGITS)
    steps = [(_BASE, 1)] * count
    return [*steps[:-1], (_BASE // below, below)] if scale else steps
