"""Numbers and articles in sentences."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 row`, `2 rows`, `1,000 rows`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def agreeing(number: int, one: str, many: str) -> str:
    """The verb that goes with so many."""
    return one if number == 1 else many


def with_article(noun: str) -> str:
    """`an integer`, `a date`."""
    return f"{'an' if noun[:1].lower() in set('aeiou') else 'a'} {noun}"
