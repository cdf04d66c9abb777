"""Parquet's bloom filters: whether a column of a row group may hold a value."""

from __future__ import annotations

import struct

from incremental_assets.adapters.erasure.thrift import Reader

_MASK = 2**64 - 1
_P = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_SALT = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)
_BLOCK = 32


def may_hold(file: bytes, offset: int, value: bytes) -> bool:
    """Whether the filter that begins at a place of the file has a value, given as Parquet writes it plainly."""
    header = Reader(file, offset)
    size = header.fields()[1]
    bits = file[header.at : header.at + size]
    digest = xxh64(value)
    block = ((digest >> 32) * (size // _BLOCK)) >> 32
    words = struct.unpack_from("<8I", bits, block * _BLOCK)
    low = digest & 0xFFFFFFFF
    return all(word & (1 << (((low * salt) & 0xFFFFFFFF) >> 27)) for word, salt in zip(words, _SALT, strict=True))


def xxh64(data: bytes) -> int:
    """XXH64 with the seed 0, by which these filters hash."""
    size, at = len(data), 0
    if size >= _BLOCK:
        lanes = [(_P[0] + _P[1]) & _MASK, _P[1], 0, -_P[0] & _MASK]
        while at <= size - _BLOCK:
            lanes = [_round(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at), strict=True)]
            at += _BLOCK
        turned = zip(lanes, (1, 7, 12, 18), strict=True)
        digest = sum(_turned(lane, by) for lane, by in turned) & _MASK
        for lane in lanes:
            digest = ((digest ^ _round(0, lane)) * _P[0] + _P[3]) & _MASK
    else:
        digest = _P[4]
    digest = (digest + size) & _MASK
    while at <= size - 8:
        digest = (_turned(digest ^ _round(0, struct.unpack_from("<Q", data, at)[0]), 27) * _P[0] + _P[3]) & _MASK
        at += 8
    if at <= size - 4:
        digest ^= struct.unpack_from("<I", data, at)[0] * _P[0] & _MASK
        digest = (_turned(digest, 23) * _P[1] + _P[2]) & _MASK
        at += 4
    for byte in data[at:]:
        digest = _turned(digest ^ (byte * _P[4] & _MASK), 11) * _P[0] & _MASK
    for by, times in ((33, _P[1]), (29, _P[2]), (32, 1)):
        digest = ((digest ^ (digest >> by)) * times) & _MASK
    return digest


def _round(lane: int, word: int) -> int:
    return _turned((lane + word * _P[1]) & _MASK, 31) * _P[0] & _MASK


def _turned(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK
