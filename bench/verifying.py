"""Is a copy equal to its source? Both sides are counted and hashed by DuckDB, with the source's own types, whatever the rows' order.

The source's side is what PostgreSQL's COPY writes. A copy that holds a column as another kind (a number as DOUBLE) is compared all the
same, as the source's type, and the difference is noted: only the values must be equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from bench.measuring import Failed

MEMORY = "3GB"
"""Enough for any number of rows: they are only counted and summed."""


@dataclass(frozen=True)
class Fingerprint:
    """Of a table: how many rows, and the sum of their hashes."""

    rows: int
    hashes: int


@dataclass(frozen=True)
class Copy:
    """Where a contender left a table: the folder of a `delta` table, `parquet` files by a pattern, a `csv` file with its head."""

    kind: str
    place: str


Types = Mapping[str, str]
"""PostgreSQL's type of each column."""


def of_csv(file: Path, types: Types) -> Fingerprint:
    """Of rows as COPY wrote them."""
    with _connected() as connection:
        return _fingerprint(connection, _read_csv(file, types), types)


def of_copy(copy: Copy, types: Types) -> tuple[Fingerprint, tuple[str, ...]]:
    """And what the copy holds as another kind than the source does. Raises Failed where there is nothing to read."""
    try:
        return _of_copy(copy, types)
    except (duckdb.Error, DeltaError, pa.ArrowException, OSError) as error:
        raise Failed(f"its copy cannot be read: {next(iter(str(error).splitlines()), type(error).__name__)}") from error


def _of_copy(copy: Copy, types: Types) -> tuple[Fingerprint, tuple[str, ...]]:
    with _connected() as connection:
        if copy.kind == "csv":
            return _fingerprint(connection, _read_csv(Path(copy.place), types, header=True), types), ()
        if copy.kind == "parquet":
            read = f"read_parquet('{copy.place}')"
        else:
            found = QueryBuilder().register("t", DeltaTable(copy.place))
            wanted = ", ".join(f'"{name}"' for name in types)
            rows = pa.RecordBatchReader.from_stream(found.execute(f"SELECT {wanted} FROM t"))
            connection.register("read", rows)
            read = "read"
        kinds = _kinds(connection, read) if copy.kind == "parquet" else _kinds_of(rows.schema)
        return _fingerprint(connection, read, types), tuple(_different(types, kinds))


def of_rows(rows: pa.Table, types: Types) -> Fingerprint:
    """Of rows in memory."""
    with _connected() as connection:
        connection.register("read", rows)
        return _fingerprint(connection, "read", types)


def difference(source: Fingerprint, copy: Fingerprint) -> str | None:
    """The sentence that says how a copy is not its source; None where it is."""
    if copy.rows != source.rows:
        return f"its copy has {copy.rows:,} rows and the source {source.rows:,}"
    return None if copy == source else "its copy has as many rows as the source, and other values"


def duck_type(postgresql: str) -> str:
    """The type with which both sides are compared."""
    if postgresql.startswith(("character", "text")):
        return "VARCHAR"
    if postgresql == "timestamp with time zone":
        return "TIMESTAMPTZ"
    return postgresql.upper()


def _read_csv(file: Path, types: Types, *, header: bool = False) -> str:
    duck = {name: duck_type(kind) for name, kind in types.items()}
    # Some write a blank before the zone, which is no instant to DuckDB.
    stamps = [name for name, kind in duck.items() if kind == "TIMESTAMPTZ"]
    typed = ", ".join(f"replace(\"{name}\", ' +', '+')::TIMESTAMPTZ AS \"{name}\"" for name in stamps)
    columns = duck | dict.fromkeys(stamps, "VARCHAR")
    return (
        f"(SELECT * {f'REPLACE ({typed})' if typed else ''} FROM read_csv('{file}', header = {str(header).lower()}, "
        f"auto_detect = false, delim = ',', quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, "
        f"columns = {columns}))"
    )


@contextmanager
def _connected() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        yield connection


def _fingerprint(connection: duckdb.DuckDBPyConnection, read: str, types: Types) -> Fingerprint:
    values = ", ".join(_value(name, kind) for name, kind in types.items())
    found = connection.execute(f"SELECT count(*), coalesce(sum(hash({values})), 0) FROM {read}").fetchone()
    return Fingerprint(*map(int, found or (0, 0)))


def _value(name: str, postgresql: str) -> str:
    """The column as the source's type, in the one form that all writers agree on."""
    kind = duck_type(postgresql)
    if kind == "TIMESTAMPTZ":
        # Some write an instant with its zone and some without it, which is then UTC.
        return f'epoch_us("{name}")'
    if postgresql.startswith("character(") or postgresql == "character":
        # Blanks at the end are no part of a char(n)'s value, and not every reader keeps them.
        return f"rtrim(\"{name}\", ' ')"
    return f'CAST("{name}" AS {kind})'


def _kinds(connection: duckdb.DuckDBPyConnection, read: str) -> dict[str, str]:
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {read}").fetchall()}


def _kinds_of(schema: pa.Schema) -> dict[str, str]:
    return {field.name: "DOUBLE" if pa.types.is_floating(field.type) else str(field.type) for field in schema}


def _different(types: Types, kinds: Mapping[str, str]) -> Iterator[str]:
    floating = [name for name, kind in types.items() if kind.startswith("numeric") and kinds.get(name) == "DOUBLE"]
    if floating:
        yield f"holds numeric columns as DOUBLE: {', '.join(floating)}"


def prove_sums(copy: str | Path, sums: str, source: Sequence[Any], options: Mapping[str, str] | None = None) -> None:
    """Raises Failed where a Delta table, which is reached by these options, does not come to the source's numbers; with how many digits they are written is the same to it."""
    found = (
        QueryBuilder()
        .register("copied", DeltaTable(str(copy), storage_options=dict(options or {})))
        .execute(f"SELECT {sums} FROM copied")
        .read_all()
    )
    copied = [column[0].as_py() for column in found.columns]
    mine, theirs = (", ".join(f"{Decimal(str(each)):f}" for each in row) for row in (copied, source))
    if [Decimal(str(each)) for each in copied] != [Decimal(str(each)) for each in source]:
        raise Failed(f"its copy comes to {mine} and the source to {theirs}")
