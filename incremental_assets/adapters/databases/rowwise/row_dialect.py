"""What a database adds to be read row by row: its SQL, its connection, and what its catalogue and its transactions say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import Column, TableId, TableShape
from incremental_assets.core.planning.bound import Bound

Row = tuple[Any, ...]

UNPLAYED = "experimental, not played against a server"
"""Of a database whose code has met recorded answers alone: what every run, plan and finding says of it."""


class Unfit(ValueError):
    """A value that Spark cannot hold; the message is half a sentence for people."""


class RowConnection(Protocol):
    """One connection, which only reads. Its SQL holds its values itself, each quoted by the dialect."""

    def rows(self, sql: str) -> Iterator[Row]:
        """An answer, as it arrives; nothing else is asked before its end."""

    def snapshot(self) -> AbstractContextManager[None]:
        """What is asked in the block is answered from one view of every table, where the database gives one."""

    def abort(self) -> None:
        """From another thread: whatever waits for an answer fails at once."""

    def close(self) -> None:
        """End it."""


class RowDialect(Protocol):
    """One database."""

    name: str
    note: str
    """What every run, plan and finding says of it; empty where there is nothing to say."""

    def connect(self, address: Address) -> RowConnection:
        """Open a connection. Raises SetupError where its driver is not installed."""

    def explain(self, error: BaseException, address: Address, table: TableId | None) -> IncrementalAssetsError | None:
        """One sentence for an error of the driver; None of another error."""

    def identifier(self, name: str) -> str:
        """A name in the database's quotes."""

    def shown(self, column: Column, sql: str) -> str:
        """A value of the column, in the form that is selected. Raises SourceRefused of a type that has none."""

    def converter(self, column: Column) -> Callable[[Any], Any]:
        """Gives what Spark is to hold, from what the driver brings. Raises Unfit."""

    def beyond(self, column: Column, sql: str, sign: str, value: CursorValue) -> str:
        """A condition: the column's value compared with a finite cursor."""

    def catalogue(
        self, connection: RowConnection, source: str, schemas: Sequence[str], name: str = ""
    ) -> tuple[TableShape, ...]:
        """Every table and view of the schemas, or those of one name."""

    def missing_schemas(self, connection: RowConnection, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those of the schemas that are not there."""

    def hidden(self, connection: RowConnection, tables: Sequence[TableId]) -> set[TableId]:
        """Those of the tables that do not show this user every row."""

    def bound(self, connection: RowConnection) -> Bound:
        """How far the source has settled."""

    def settled_rows(self, column: Column) -> str:
        """A condition on rows whose number cannot be followed by a smaller one any more; empty where the database does not tell."""

    def facts(self, connection: RowConnection, wanted: Sequence[Wanted]) -> SourceFacts:
        """What `doctor` must know."""
