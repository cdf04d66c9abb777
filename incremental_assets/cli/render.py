"""How an answer is printed: tables with colour on a terminal, aligned plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from incremental_assets.cli.answer import Answer, Cell, Grid, Note, Shown
from incremental_assets.cli.widths import fitting

if TYPE_CHECKING:
    from rich.console import Console

_TONES = {"good": "green", "bad": "bold red", "warn": "yellow", "dim": "dim", "strong": "bold", "": ""}


def show(answer: Answer, file: TextIO, *, width: int | None = None) -> None:
    """Print the answer for people. `width` replaces the terminal's own."""
    if file.isatty() or width is not None:
        _on_terminal(answer, file, width)
    else:
        file.writelines(f"{line}\n" for line in plain_lines(answer))


def plain_lines(answer: Answer) -> Iterable[str]:
    """Nothing cut, nothing coloured: what a log or another program reads."""
    for part in _once(answer.shown):
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


def _once(shown: Iterable[Shown]) -> Iterable[Shown]:
    """A sentence that holds for many tables, such as a refused password, is read once; the rows of the grid say of which."""
    said = set()
    for part in shown:
        if isinstance(part, Note):
            if part.text and part.text in said:
                continue
            said.add(part.text)
        yield part


def _aligned(grid: Grid) -> Iterable[str]:
    from rich.cells import cell_len

    rows = [[cell(each).text for each in row] for row in grid.rows]
    widths = [max(cell_len(row[place]) for row in [list(grid.columns), *rows]) for place in range(len(grid.columns))]
    if grid.title:
        yield grid.title
    for row in [list(grid.columns), *rows]:
        padded = (
            " " * (widths[place] - cell_len(text)) + text
            if grid.columns[place] in grid.right
            else text + " " * (widths[place] - cell_len(text))
            for place, text in enumerate(row)
        )
        yield "  ".join(padded).rstrip()


def _on_terminal(answer: Answer, file: TextIO, width: int | None) -> None:
    console = console_for(file, width)
    for part in _once(answer.shown):
        if isinstance(part, Note):
            console.print(part.text, style=_TONES[part.tone], soft_wrap=not part.wrap)
        elif part.rows:
            _print_grid(part, console)


def _print_grid(grid: Grid, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    natural = {name: _widest(grid, name) for name in grid.columns if _widest(grid, name, heading=False)}
    widths = fitting(natural, grid, console.width)
    # A column's divider and its padding are one space each.
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        title=grid.title or None,
        title_justify="left",
        title_style="bold",
        header_style="bold",
    )
    for name, width in widths.items():
        table.add_column(name, justify="right" if name in grid.right else "left", overflow="fold", width=width)
    for row in grid.rows:
        cells = (cell(each) for name, each in zip(grid.columns, row, strict=True) if name in widths)
        table.add_row(*(Text(each.text, style=_TONES[each.tone]) for each in cells))
    console.print(table)
    if left_out := [name for name in natural if name not in widths]:
        console.print(
            f"no room for {', '.join(left_out)}: a wider terminal, a pipe or --json shows them", style=_TONES["dim"]
        )


def _widest(grid: Grid, name: str, *, heading: bool = True) -> int:
    from rich.cells import cell_len

    place = grid.columns.index(name)
    texts = [cell(row[place]).text for row in grid.rows] + ([name] if heading else [])
    return max(map(cell_len, texts), default=0)
