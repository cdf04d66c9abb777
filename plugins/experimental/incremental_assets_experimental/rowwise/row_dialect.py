"""What a database adds to be read row by row: its SQL, its connection, and what its catalogue and its transactions say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape

Row = tuple[Any, ...]

UNPLAYED = "experimental, never run against a real server"
"""What every run, plan and finding says of a database whose code was tested with recorded answers alone."""


def _untold(_: Column) -> str:
    return ""


class RowConnection(Protocol):
    """One connection, which only reads. Its SQL holds its values itself, each quoted by the dialect."""

    def rows(self, sql: str) -> Iterator[Row]:
        """An answer, as it arrives; nothing else is asked before its end."""

    def snapshot(self) -> AbstractContextManager[bool]:
        """What is asked in the block is answered from one view of every table; or from several, where the database gives no single one: that is false."""

    def abort(self) -> None:
        """Abort from another thread: whatever waits for an answer fails at once."""

    def close(self) -> None:
        """End it."""


@dataclass(frozen=True, slots=True)
class RowDialect:
    """One database, by the functions of its folder."""

    name: str
    note: str
    """What every run, plan and finding says of it; empty where there is nothing to say."""
    connect: Callable[[Address], RowConnection]
    """Open a connection. Raises SetupError where its driver is not installed."""
    explain: Callable[[BaseException, Address, TableId | None], IncrementalAssetsError | None]
    """One sentence for an error of the driver; None of another error."""
    identifier: Callable[[str], str]
    """A name in the database's quotes."""
    shown: Callable[[Column, str], str]
    """A value of the column, given as SQL, in the form that is selected. Raises SourceRefused of a type that has none."""
    converter: Callable[[Column], Callable[[Any], Any]]
    """Gives what Spark is to hold, from what the driver brings. Raises Unfit."""
    beyond: Callable[[Column, str, str, CursorValue], str]
    """A condition: the column's value, given as SQL, compared by a sign with a finite cursor."""
    catalogue: Callable[[RowConnection, str, Sequence[str], str], tuple[TableShape, ...]]
    """The catalogue of a source: every table and view of the schemas, or those of one name."""
    missing_schemas: Callable[[RowConnection, Sequence[str]], tuple[str, ...]]
    """Those of the schemas that are not there."""
    hiding: Callable[[RowConnection], set[tuple[str, str]]]
    """Tables, by schema and name, that do not show this user every row."""
    bound: Callable[[RowConnection], Bound]
    """How far the source has settled."""
    facts: Callable[[RowConnection, Sequence[Wanted]], SourceFacts]
    """What `doctor` must know."""
    count: str = "COUNT(*)"
    """The number of rows, whatever it is."""
    over: str = ""
    """Selects the number below which every transaction is over, in the form of the tables' `numbering`; empty where no table has one."""
    settled_rows: Callable[[Column], str] = _untold
    """A condition on rows whose number cannot be followed by a smaller one any more; empty where the database does not tell."""
