"""TPC-H in PostgreSQL: generated, copied and keyed in one transaction, so it exists completely or not at all."""

from __future__ import annotations

import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

import psycopg
from psycopg import sql

from incremental_assets.core.errors import SetupError
from incremental_assets.demo.postgres import EmbeddedPostgres

DATABASE = "shop"
READER = "sync_reader"
TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
CHUNK = 1 << 20


def prepare_shop(server: EmbeddedPostgres, scale: Decimal, on_table: Callable[[str, int], None]) -> bool:
    """Database, data and the reader's role. `on_table(name, rows)` after each table; False when all was there already.

    Data of another scale are replaced, which makes it another table for those who synced it: the caller removes the lake.
    """
    server.create_database(DATABASE)
    server.create_login(READER)
    with psycopg.connect(server.dsn(DATABASE)) as connection:
        if loaded_scale(connection) == scale:
            return False
        _load(connection, scale, server.folder, on_table)
        _grant(connection)
    with psycopg.connect(server.dsn(DATABASE), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # else it comes as a surprise, in the middle of a sync that is being timed
    return True


def loaded_scale(connection: psycopg.Connection) -> Decimal | None:
    """The scale is kept as the schema's comment, which commits with the data."""
    row = connection.execute("SELECT obj_description('public'::regnamespace)").fetchone()
    name, _, scale = str(row[0] if row else "").rpartition(" ")
    return Decimal(scale) if name == "TPC-H at scale" else None


def _load(connection: psycopg.Connection, scale: Decimal, scratch: Path, on_table: Callable[[str, int], None]) -> None:
    connection.execute("DROP SCHEMA public CASCADE")
    connection.execute("CREATE SCHEMA public")
    connection.execute("SELECT setseed(0.5)")  # the same past every time, relative to today
    connection.execute(_script("tables.sql"))
    with tempfile.TemporaryDirectory(prefix="incremental-assets-tpch-", dir=scratch) as folder:
        generate(Path(folder), scale)
        for table in TABLES:
            file = Path(folder) / f"{table}.csv"
            on_table(table, _copy(connection, table, file))
            file.unlink()
    connection.execute(_script("after_load.sql"))
    connection.execute(sql.SQL("COMMENT ON SCHEMA public IS {}").format(sql.Literal(f"TPC-H at scale {scale}")))


def generate(folder: Path, scale: Decimal) -> None:
    """All tables by one process: it spends its first second on the text that comments are cut from."""
    generator = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    command: list[str | Path] = [generator, "csv", "--scale-factor", str(scale), "--output-dir", folder, "--quiet"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SetupError(f"tpchgen-cli could not make the data in {folder} ({made.stderr.strip()}); is the disk full?")


def _copy(connection: psycopg.Connection, table: str, file: Path) -> int:
    with file.open("rb") as content, connection.cursor() as cursor:
        columns = sql.SQL(", ").join(map(sql.Identifier, content.readline().decode().strip().split(",")))
        # FREEZE: the rows are the table's first, so nothing has to visit them again.
        statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv, FREEZE)").format(sql.Identifier(table), columns)
        with cursor.copy(statement) as copy:
            while chunk := content.read(CHUNK):
                copy.write(chunk)
        return cursor.rowcount


def _grant(connection: psycopg.Connection) -> None:
    """Exactly what a sync needs: read the tables, and see since when other sessions' transactions are open."""
    reader = sql.Identifier(READER)
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(reader))
    connection.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(reader))
    connection.execute(sql.SQL("GRANT pg_read_all_stats TO {}").format(reader))


def _script(name: str) -> bytes:
    return files("incremental_assets.demo").joinpath(name).read_bytes()
