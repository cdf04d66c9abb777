"""What `doctor` must know of one table, asked in a database's own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from incremental_assets.core.checks.doctor import TableFacts, Wanted
from incremental_assets.core.model.table_id import TableId
from incremental_assets_experimental.rowwise.row_dialect import RowConnection


@dataclass(frozen=True, slots=True)
class Questions:
    """Each is given the table's words, `indexed` also a `column`."""

    table: str
    """Whether it is a table, readable and writable, its rows, and whether it is partitioned; no answer where it is not there."""
    indexed: str
    """How many indexes begin with the column."""
    words: Callable[[TableId], Mapping[str, str]]
    text: Callable[[str], str]
    """A text in the database's quotes."""


def table_facts(connection: RowConnection, wanted: Wanted, questions: Questions, *, filtered: bool) -> TableFacts:
    """One table as this user finds it."""
    words = questions.words(wanted.table)

    def count(question: str, column: str) -> int:
        ((found,),) = connection.rows(question.format(**words, column=questions.text(column)))
        return int(found)

    found = list(connection.rows(questions.table.format(**words)))
    if not found:
        return TableFacts(wanted)
    is_table, readable, writable, rows, partitioned = found[0]
    cursors = wanted.cursors if is_table else ()
    return TableFacts(
        wanted=wanted,
        exists=True,
        usable=True,
        readable=bool(readable),
        writable=bool(is_table and writable),
        filtered=filtered,
        unindexed=tuple(column for column in cursors if not count(questions.indexed, column)),
        rows=int(rows or 0),
        partitioned=bool(partitioned),
    )
