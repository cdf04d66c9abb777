"""PostgreSQL's own hash of bytes, Jenkins' lookup3 in 64 bits (`hash_any_extended` without a seed), of many values at once.

The bytes of a value count as numbers with their lowest byte first, as on the machines that nearly every server runs on; a server
that sees them otherwise is found out before it is asked for a hash (`postgresql/rows/byte_hash.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint32]]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]
Lengths = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_BEGIN = 0x9E3779B9 + 3923095
_BLOCK = 12
"""Bytes that are mixed at once."""
_AT_ONCE = 1 << 15
"""Values whose numbers stay in a processor's cache."""
_MASKS = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF], dtype=np.uint32)
"""The mask by the number of bytes that a word still has."""


def of_words(words: Words) -> Hashes:
    """The hashes of values of four bytes."""
    return _fixed(len(words), 4, lambda part: (words[part],))


def of_longs(values: np.ndarray[Any, np.dtype[np.int64]]) -> Hashes:
    """The hashes of values of eight bytes, the highest first, as a server sends them."""
    words = values.astype(">i8").view("<u4").reshape(-1, 2)
    return _fixed(len(values), 8, lambda part: (words[part, 0], words[part, 1]))


def of_texts(data: Bytes, starts: Lengths, lengths: Lengths) -> Hashes:
    """The hashes of bytes that lie in `data`, wherever each value begins there."""
    # Words begin at any byte, and the last one of a value may reach past the last byte.
    padded = np.concatenate([data, np.zeros(_BLOCK, dtype=np.uint8)])
    words = np.ndarray(len(data) + _BLOCK - 3, dtype="<u4", buffer=padded.data, strides=(1,))
    found = np.empty(len(starts), dtype=np.uint64)
    blocks = lengths // _BLOCK
    # Those of most blocks first, so that what is still mixed is always the front.
    order = np.argsort(-blocks, kind="stable")
    for begin in range(0, len(order), _AT_ONCE):
        rows = order[begin : begin + _AT_ONCE]
        found[rows] = _of_some_texts(words, starts[rows], lengths[rows], blocks[rows])
    return found


def of_row(columns: Sequence[Hashes]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The hashes of rows by the hash of each of their values (0 for NULL), as `hash_record_extended` combines them; then of this number.

    The sum over rows of what it combines would be the same if two rows exchanged values; that of its own hash is not.
    """
    combined = np.zeros_like(columns[0])
    for hashes in columns:
        combined *= np.uint64(31)
        combined += hashes
    return of_longs(combined.view(np.int64)).view(np.int64)


def _of_some_texts(words: Words, starts: Lengths, lengths: Lengths, blocks: Lengths) -> Hashes:
    a = (lengths + _BEGIN).astype(np.uint32)
    b, c = a.copy(), a.copy()
    for number in range(int(blocks[0])):
        some = slice(np.count_nonzero(blocks > number))
        first = starts[some] + number * _BLOCK
        for place, state in enumerate((a[some], b[some], c[some])):
            np.add(state, words[first + 4 * place], out=state)
        _mix(a[some], b[some], c[some])
    rest, left = starts + blocks * _BLOCK, lengths - blocks * _BLOCK
    for place, state in enumerate((a, b, c)):
        # At the end of `data` no word begins, and a masked one may lie anywhere.
        where = np.minimum(rest + 4 * place, len(words) - 1)
        word = words[where] & _MASKS[np.clip(left - 4 * place, 0, 4)]
        np.add(state, word << np.uint32(8) if place == 2 else word, out=state)
    return _final(a, b, c)


def _fixed(rows: int, length: int, words: Callable[[slice], Sequence[Words]]) -> Hashes:
    """The hashes of values that all have `length` bytes, less than a block."""
    found = np.empty(rows, dtype=np.uint64)
    for begin in range(0, rows, _AT_ONCE):
        part = slice(begin, min(rows, begin + _AT_ONCE))
        states = [np.full(part.stop - begin, (_BEGIN + length) & 0xFFFFFFFF, dtype=np.uint32) for _ in range(3)]
        for state, word in zip(states, words(part), strict=False):
            np.add(state, word, out=state)
        found[part] = _final(*states)
    return found


def _rotated(word: Words, bits: int) -> Words:
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


def _mix(a: Words, b: Words, c: Words) -> None:
    for x, y, z, bits in ((a, c, b, 4), (b, a, c, 6), (c, b, a, 8), (a, c, b, 16), (b, a, c, 19), (c, b, a, 4)):
        np.subtract(x, y, out=x)
        np.bitwise_xor(x, _rotated(y, bits), out=x)
        np.add(y, z, out=y)


def _final(a: Words, b: Words, c: Words) -> Hashes:
    for x, y, bits in ((c, b, 14), (a, c, 11), (b, a, 25), (c, b, 16), (a, c, 4), (b, a, 14), (c, b, 24)):
        np.bitwise_xor(x, y, out=x)
        np.subtract(x, _rotated(y, bits), out=x)
    return (b.astype(np.uint64) << np.uint64(32)) | c
