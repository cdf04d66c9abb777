"""The source that all contenders read: one PostgreSQL with TPC-H data, and tables of a workload's own that change between ticks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.demo.tpch import DATABASE, READER, TABLES, prepare_shop

SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",  # it would come in the middle of somebody's time; after each change of a workload we vacuum instead
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_prepared_transactions": "0",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "shared_buffers": "1GB",
    "maintenance_work_mem": "512MB",
    "jit": "off",
}
GUARD = 2.5
"""Ticks begin when the changes are older than this: a sync reads what is younger than two seconds again the next time."""
CURSOR = "updated_at"
KEYS = {
    "region": ("r_regionkey",), "nation": ("n_nationkey",), "supplier": ("s_suppkey",), "customer": ("c_custkey",),
    "part": ("p_partkey",), "partsupp": ("ps_partkey", "ps_suppkey"), "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}  # fmt: skip
WITHOUT_CURSOR = ("region", "nation")


@dataclass(frozen=True)
class Table:
    """One table of the source. Without a cursor it is read whole."""

    schema: str
    name: str
    key: tuple[str, ...]
    cursor: str | None = CURSOR


TPCH = {name: Table("public", name, KEYS[name], None if name in WITHOUT_CURSOR else CURSOR) for name in TABLES}


class Source:
    """The server, and what is in it."""

    def __init__(self, folder: Path) -> None:
        self._server = EmbeddedPostgres(folder, settings=SETTINGS)

    @property
    def port(self) -> int:
        """On 127.0.0.1."""
        return self._server.port

    @property
    def password(self) -> str:
        """The reader's."""
        return self._server.password_of(READER)

    @property
    def url(self) -> str:
        """Everything that a tool needs to connect, password included: for an environment variable, never for a command line."""
        return f"postgresql://{READER}:{quote(self.password, safe='')}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self, scale: Decimal) -> None:
        """Up, with TPC-H of that scale in it; what is there already is kept."""
        self._server.start()
        prepare_shop(self._server, scale, lambda _table, _rows: None)
        self.run("CHECKPOINT")

    def stop(self) -> None:
        """Its data stay for the next time."""
        self._server.stop()

    def remove(self) -> None:
        """With its data, wherever they lie."""
        self._server.remove()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection]:
        """As the owner of everything."""
        with psycopg.connect(self._server.dsn(DATABASE), autocommit=True) as connection:
            connection.execute("SET timezone = 'UTC'")
            yield connection

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Rows that it touched."""
        with self.connection() as connection:
            return connection.execute(statement.encode(), parameters or None).rowcount

    def one(self, statement: str, parameters: Sequence[Any] = ()) -> Any:
        """The first column of the first row."""
        with self.connection() as connection:
            row = connection.execute(statement.encode(), parameters or None).fetchone()
        return row[0] if row else None

    def rows(self, tables: Sequence[Table]) -> int:
        """Counted."""
        return sum(self.one(f"SELECT count(*) FROM {quoted(table)}") for table in tables)

    def types(self, table: Table) -> dict[str, str]:
        """PostgreSQL's name of each column's type, in the columns' order."""
        with self.connection() as connection:
            found = connection.execute(
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                [f"{table.schema}.{table.name}"],
            ).fetchall()
        return dict(found)

    def make_schema(self, name: str) -> None:
        """Empty, and open to the reader."""
        self.drop_schema(name)
        self.run(f"CREATE SCHEMA {name}")
        self.run(f"GRANT USAGE ON SCHEMA {name} TO {READER}")
        self.run(f"ALTER DEFAULT PRIVILEGES IN SCHEMA {name} GRANT SELECT ON TABLES TO {READER}")

    def drop_schema(self, name: str) -> None:
        """With everything in it."""
        self.run(f"DROP SCHEMA IF EXISTS {name} CASCADE")

    def make(self, table: Table, query: str) -> None:
        """A table of a query's rows, keyed, indexed by its cursor as `doctor` wants it, and vacuumed."""
        name = quoted(table)
        self.run(f"CREATE TABLE {name} AS {query}")
        self.run(f"ALTER TABLE {name} ADD PRIMARY KEY ({', '.join(table.key)})")
        self.run(f"CREATE INDEX ON {name} ({table.cursor})")
        self.run(f"VACUUM ANALYZE {name}")

    def settle(self) -> None:
        """Until nothing that was changed is younger than the guard."""
        time.sleep(GUARD)

    def copy_out(self, table: Table, file: Path) -> None:
        """Its rows as CSV, as PostgreSQL writes them."""
        with self.connection() as connection, file.open("wb") as out:
            statement = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT csv)")
            with connection.cursor().copy(statement.format(sql.Identifier(table.schema, table.name))) as copy:
                for part in copy:
                    out.write(part)


def quoted(table: Table) -> str:
    """For SQL; our names are plain."""
    return f"{table.schema}.{table.name}"


def generated(rows: int) -> str:
    """Rows of a plain table: stamped in the order of their keys, all of them before yesterday."""
    return (
        "SELECT n AS id, (n * 7919 % 100003)::integer AS customer, ((n * 31 % 1000000) / 100.0)::numeric(12,2) AS amount, "
        "(ARRAY['open','paid','sent','back'])[1 + n % 4]::varchar(8) AS state, 'order number ' || n AS note, "
        f"now() - interval '1 day' - ({rows} - n) * interval '1 millisecond' AS {CURSOR} "
        f"FROM generate_series(1, {rows}::bigint) AS n"
    )
