"""Oracle as the rowwise engine asks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.oracle import bound, catalogue, doctor, errors, types, words
from incremental_assets.adapters.databases.oracle.connect import Connection
from incremental_assets.adapters.databases.rowwise.row_dialect import UNPLAYED, RowConnection
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import Column, TableId, TableShape
from incremental_assets.core.planning.bound import Bound


class OracleSql:
    """Implements `rowwise.row_dialect.RowDialect`."""

    name = "oracle"
    note = UNPLAYED

    def connect(self, address: Address) -> RowConnection:
        """A connection of its own."""
        return Connection(address)

    def explain(self, error: BaseException, address: Address, table: TableId | None) -> IncrementalAssetsError | None:
        """By the number of the error."""
        return errors.explain(error, address, table)

    def identifier(self, name: str) -> str:
        """In double quotes."""
        return words.identifier(name)

    def shown(self, column: Column, sql: str) -> str:
        """By the type table."""
        return types.shown(column, sql)

    def converter(self, column: Column) -> Callable[[Any], Any]:
        """By the type table."""
        return types.converter(column)

    def beyond(self, column: Column, sql: str, sign: str, value: CursorValue) -> str:
        """In the column's own type."""
        return types.beyond(column, sql, sign, value)

    def catalogue(
        self, connection: RowConnection, source: str, schemas: Sequence[str], name: str = ""
    ) -> tuple[TableShape, ...]:
        """By the views of the dictionary."""
        return catalogue.read_catalogue(connection, source, schemas, name)

    def missing_schemas(self, connection: RowConnection, schemas: Sequence[str]) -> tuple[str, ...]:
        """By the views of the dictionary."""
        return catalogue.missing_schemas(connection, schemas)

    def hidden(self, connection: RowConnection, tables: Sequence[TableId]) -> set[TableId]:
        """By the policies that this user may see."""
        hiding = catalogue.hiding_tables(connection)
        return {table for table in tables if (table.schema, table.name) in hiding}

    def bound(self, connection: RowConnection) -> Bound:
        """By calls and transactions."""
        return bound.take_bound(connection)

    def settled_rows(self, column: Column) -> str:
        """A number is drawn before it is committed, and nothing tells which ones are out."""
        return ""

    def facts(self, connection: RowConnection, wanted: Sequence[Wanted]) -> SourceFacts:
        """By the views of the dictionary."""
        return doctor.read_facts(connection, wanted)
