"""How an answer looks: tables with colour on a terminal, aligned plain lines in a pipe."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from incremental_assets.verbs.answer import Answer, Cell, Grid, Note

if TYPE_CHECKING:
    from rich.console import Console

_TONES = {"good": "green", "bad": "bold red", "warn": "yellow", "dim": "dim", "strong": "bold", "": ""}
_SMALLEST = 8
"""Characters that a column which gives way keeps in any case."""


def show(answer: Answer, file: TextIO, *, width: int | None = None) -> None:
    """Print the answer for eyes. `width` stands in for the terminal's own."""
    if file.isatty() or width is not None:
        _on_terminal(answer, file, width)
    else:
        file.writelines(f"{line}\n" for line in plain_lines(answer))


def plain_lines(answer: Answer) -> Iterable[str]:
    """Nothing cut, nothing coloured: what a log or another program reads."""
    for part in answer.shown:
        if isinstance(part, Note):
            yield part.text
        elif part.rows:
            yield from _aligned(part)


def console_for(file: TextIO, width: int | None = None) -> Console:
    """A terminal that prints text as it is: no markup in names, no numbers in colour."""
    from rich.console import Console

    return Console(
        file=file, width=width, force_terminal=True if width else None, markup=False, highlight=False, emoji=False
    )


def cell(value: Cell | str) -> Cell:
    """A bare text is a cell without a tone. A control character of a name could move the cursor, so it shows as its escape."""
    bare = Cell(value) if isinstance(value, str) else value
    return Cell("".join(char if char.isprintable() else repr(char)[1:-1] for char in bare.text), bare.tone)


def _aligned(grid: Grid) -> Iterable[str]:
    rows = [[cell(each).text for each in row] for row in grid.rows]
    widths = [max(_wide(row[place]) for row in [list(grid.columns), *rows]) for place in range(len(grid.columns))]
    if grid.title:
        yield grid.title
    for row in [list(grid.columns), *rows]:
        padded = (
            " " * (widths[place] - _wide(text)) + text
            if grid.columns[place] in grid.right
            else text + " " * (widths[place] - _wide(text))
            for place, text in enumerate(row)
        )
        yield "  ".join(padded).rstrip()


def _wide(text: str) -> int:
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _on_terminal(answer: Answer, file: TextIO, width: int | None) -> None:
    console = console_for(file, width)
    for part in answer.shown:
        if isinstance(part, Note):
            console.print(part.text, style=_TONES[part.tone], soft_wrap=not part.wrap)
        elif part.rows:
            _print_grid(part, console)


def _print_grid(grid: Grid, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    kept = _fitting(grid, console.width)
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1),
        title=grid.title or None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
    )
    for name in kept:
        spare = name in grid.spare
        table.add_column(
            name,
            justify="right" if name in grid.right else "left",
            no_wrap=not spare,
            overflow="fold" if spare else "ellipsis",
            min_width=min(_SMALLEST, len(name)),
        )
    for row in grid.rows:
        cells = (cell(each) for name, each in zip(grid.columns, row, strict=True) if name in kept)
        table.add_row(*(Text(each.text, style=_TONES[each.tone]) for each in cells))
    console.print(table)


def _fitting(grid: Grid, width: int) -> tuple[str, ...]:
    """Columns that say nothing are left out, and on a narrow terminal so are the spare ones, the last first, if wrapping would not do."""
    texts = {name: [cell(row[place]).text for row in grid.rows] for place, name in enumerate(grid.columns)}
    kept = [name for name in grid.columns if any(texts[name])]

    def needed(names: list[str]) -> int:
        widths = (max(map(_wide, [name, *texts[name]])) for name in names)
        # A spare column may wrap, down to what is still readable.
        return sum(
            min(wide, 2 * _SMALLEST) if name in grid.spare else wide for name, wide in zip(names, widths, strict=True)
        ) + 2 * len(names)

    for name in reversed(grid.spare):
        if needed(kept) <= width or name not in kept:
            continue
        kept.remove(name)
    return tuple(kept)
