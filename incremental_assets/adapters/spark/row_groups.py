"""Rows that come in parts of any size, put together so that a row group of a file is worth its place and fits into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def row_groups(parts: Iterable[pa.Table], rows: int, size: int) -> Iterator[pa.Table]:
    """The same rows, in tables of at most so many, as soon as they are so many or have so many bytes; none is empty."""
    held: list[pa.Table] = []
    count = filled = 0
    for part in parts:
        if part.num_rows:
            held.append(part)
            count, filled = count + part.num_rows, filled + part.nbytes
        del part  # or it would be held while the next one is read
        if count >= rows or filled >= size:
            yield from _cut(held, count, rows)
            count = filled = 0
    yield from _cut(held, count, rows)


def _cut(held: list[pa.Table], count: int, rows: int) -> Iterator[pa.Table]:
    """Taken out of the list, in as few tables of the same size as may have so many rows."""
    if count:
        whole = pa.concat_tables(held)
        held.clear()
        each = -(-count // -(-count // rows))
        yield from (whole.slice(start, each) for start in range(0, count, each))
