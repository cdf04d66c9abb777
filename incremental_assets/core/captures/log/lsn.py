"""Positions in PostgreSQL's log: 64 bits, which the server writes as two hexadecimal numbers."""

from __future__ import annotations


def lsn_of(text: str) -> int:
    """The position that the server writes as `16/B374D848`."""
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) | int(low, 16)


def lsn_text(lsn: int) -> str:
    """As the server writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
