"""Numbers and texts among bytes, by columns: equal to what one reads one by one."""

from __future__ import annotations

import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.adapters.logs.postgresql.decimals import decimals, is_special
from incremental_assets.adapters.logs.postgresql.octets import numbers, pieces
from incremental_assets.adapters.logs.postgresql.tuples import BINARY, Places

TYPES = [
    (1, 0),
    (1, 1),
    (4, 4),
    (5, 2),
    (12, 2),
    (15, 4),
    (18, 0),
    (18, 18),
    (19, 3),
    (25, 25),
    (38, 0),
    (38, 10),
    (38, 38),
]


def sent(number: Decimal) -> bytes:
    """As PostgreSQL sends a numeric: digits to the base of 10,000 without zeros at either end."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    text += "0" * (exponent % 4)
    exponent -= exponent % 4
    text = text.rjust(-(-len(text) // 4) * 4, "0")
    groups = [int(text[place : place + 4]) for place in range(0, len(text), 4)]
    weight = exponent // 4 + len(groups) - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups = groups[:-1]
    weight = weight if groups else 0
    return struct.pack(f">hhHh{len(groups)}h", len(groups), weight, 0x4000 if sign and groups else 0, 0, *groups)


def placed(values: list[bytes]) -> tuple[np.ndarray, Places]:
    lengths = np.array([len(each) for each in values], np.int64)
    data = np.frombuffer(b"".join(values), np.uint8)
    return data, Places(np.full(len(values), BINARY, np.uint8), np.cumsum(lengths) - lengths, lengths)


@given(st.sampled_from(TYPES), st.data())
def test_a_decimal_is_the_number_that_was_sent(kind: tuple[int, int], data: st.DataObject) -> None:
    precision, scale = kind
    most = 10**precision - 1
    found = data.draw(st.lists(st.integers(-most, most) | st.sampled_from((0, most, -most)), min_size=1, max_size=20))
    values = [Decimal(f"{each}E{-scale}") for each in found]
    octets, places = placed([sent(each) for each in values])
    assert decimals(octets, places, precision, scale).to_pylist() == values
    assert not is_special(octets, places).any()


def test_what_is_no_number_is_noticed() -> None:
    octets, places = placed([struct.pack(">hhHh", 0, 0, sign, 0) for sign in (0, 0xC000, 0xD000, 0xF000, 0x4000)])
    assert is_special(octets, places).tolist() == [False, True, True, True, False]


@pytest.mark.acceptance
@given(st.lists(st.text(max_size=9), max_size=20), st.booleans())
def test_texts_that_lie_anywhere_are_found(texts: list[str], overlap: bool) -> None:
    words = [each.encode() for each in texts]
    data = np.frombuffer(b"--".join(words) + b"-", np.uint8)
    lengths = np.array([len(each) for each in words], np.int64)
    starts = np.cumsum(lengths + 2) - lengths - 2
    if overlap and len(starts):
        starts, lengths = np.append(starts, starts[0]), np.append(lengths, lengths[0])
        texts = [*texts, texts[0]]
    assert pieces(data, starts, lengths, pa.string()).to_pylist() == texts


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20), st.integers(0, 3))
def test_numbers_that_lie_anywhere_are_found(values: list[int], gap: int) -> None:
    data = np.frombuffer(b"".join(struct.pack(">q", each) + b"x" * gap for each in values), np.uint8)
    assert numbers(data, np.arange(len(values)) * (8 + gap), ">i8").tolist() == values
