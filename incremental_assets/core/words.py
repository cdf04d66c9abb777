"""Numbers, ages and articles in sentences."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 row`, `2 rows`, `1,000 rows`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def agreeing(number: int, one: str, many: str) -> str:
    """The form of a verb that goes with so many."""
    return one if number == 1 else many


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of them by name, and how many others there are: `a, b, c and 39 others`. One more than `most` is named, too."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} others"


def with_article(noun: str) -> str:
    """`an integer`, `a date`."""
    return f"{'an' if noun[:1].lower() in set('aeiou') else 'a'} {noun}"


def byte_size(number: int) -> str:
    """`812 bytes`, `1.5 KiB`, `34 MiB`: three digits say enough."""
    size, unit = float(number), "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return counted(number, "byte") if unit == "bytes" else f"{size:.{0 if size >= 100 else 1}f} {unit}"


def age(seconds: float) -> str:
    """The two largest units say enough: `3d 4h`, `12m 5s`, `0s`."""
    rest, parts = max(0, round(seconds)), []
    for unit, size in _UNITS:
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts[:2]) or "0s"
