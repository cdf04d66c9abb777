"""Bytes as printable text, five signs for four bytes (ZeroMQ's RFC 32), which is how Delta writes them into its log."""

from __future__ import annotations

import struct

_SIGNS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {sign: digit for digit, sign in enumerate(_SIGNS)}
_PLACES = (4, 3, 2, 1, 0)


def encoded(raw: bytes) -> str:
    """Filled up with zeros to a multiple of four."""
    padded = raw + b"\0" * (-len(raw) % 4)
    words = struct.unpack(f">{len(padded) // 4}I", padded)
    return "".join(_SIGNS[word // 85**place % 85] for word in words for place in _PLACES)


def decoded(text: str) -> bytes:
    """The bytes of a text, with the zeros that fill it up. Raises ValueError for a text that is not Z85."""
    try:
        words = [
            sum(_DIGITS[sign] * 85**place for sign, place in zip(text[start : start + 5], _PLACES, strict=True))
            for start in range(0, len(text), 5)
        ]
        return struct.pack(f">{len(words)}I", *words)
    except (KeyError, struct.error) as error:
        raise ValueError("this text is no Z85") from error
