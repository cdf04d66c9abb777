"""A double as Java's `%a` writes it, in SQL: both sides of a comparison then mean the same 64 bits."""

from __future__ import annotations

_SMALLEST_NORMAL = "2.2250738585072014e-308"
_FRACTION = 2**52


def hexadecimal_sql(value: str) -> str:
    """SQL for the text of a double; every step is exact, as it multiplies by powers of two alone."""
    size = f"ABS({value})"
    # A logarithm may be off by one beside a power of two.
    near = f"LEAST(1023, GREATEST(-1022, FLOOR(LOG2({size}))))"
    exponent = f"({near} + IF({size} / POW(2, {near}) >= 2, 1, 0) - IF({size} / POW(2, {near}) < 1, 1, 0))"
    normal = f"CONCAT('0x1.', {_digits(f'({size} / POW(2, {exponent}) - 1) * {_FRACTION}')}, 'p', {exponent})"
    tiny = f"CONCAT('0x0.', {_digits(f'{size} * POW(2, 1022) * {_FRACTION}')}, 'p-1022')"
    sign = f"IF(LEFT(CAST({value} AS CHAR), 1) = '-', '-', '')"
    return (
        f"CASE WHEN {value} IS NULL THEN NULL WHEN {value} = 0 THEN CONCAT({sign}, '0x0.0p0') "
        f"WHEN {size} < {_SMALLEST_NORMAL} THEN CONCAT({sign}, {tiny}) ELSE CONCAT({sign}, {normal}) END"
    )


def _digits(fraction: str) -> str:
    digits = f"TRIM(TRAILING '0' FROM LOWER(LPAD(HEX(CAST({fraction} AS UNSIGNED)), 13, '0')))"
    return f"IF({fraction} = 0, '0', {digits})"
