"""How figures and tables stand on the page of the benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MIB, GIB = 2**20, 2**30


def thousands(value: float | None) -> str:
    """With commas between thousands; nothing of None."""
    return "" if value is None else f"{value:,.0f}"


def tabled(head: Sequence[str], rows: Sequence[Sequence[str]], text: int) -> str:
    """`text` columns stand left, the others are numbers."""
    return "\n".join(_lines(head, rows, text))


def _lines(head: Sequence[str], rows: Sequence[Sequence[str]], text: int) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join('---' if number < text else '---:' for number in range(len(head)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def seconds_of(value: float | None) -> str:
    """With two digits; nothing of None."""
    return "" if value is None else f"{value:.2f}"


def bytes_of(value: float | None) -> str:
    """In MiB or GiB; nothing of None."""
    if value is None:
        return ""
    return f"{value / GIB:.1f} GiB" if value >= GIB else f"{value / MIB:.1f} MiB"
