"""A large table on a server of its own, which is synced in a session of this process: what is measured of it step by step."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psycopg

from bench.measuring import Cost, Watch
from bench.playing import commit, say
from bench.source import SETTINGS
from bench.wire import Wire
from incremental_assets import load
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.resources.runtime import Runtime

TABLE = TableId("shop", "public", "orders")
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_CONFIG = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: postgresql
    host: 127.0.0.1
    port: {port}
    database: shop
    user: {user}
    password: {{file: {password}}}
    every: {every}
    unlisted: ignore
    tables:
{tables}
"""
_LISTED = "      - {{table: public.{name}, {terms}}}"


@dataclass(frozen=True)
class BigTable:
    """The server, a connection of its owner, and a folder for each lake."""

    server: EmbeddedPostgres
    folder: Path
    source: psycopg.Connection
    rows: int

    @contextmanager
    def runtime(self, terms: str, room: str = "", *, port: int | None = None) -> Iterator[Runtime]:
        """A configuration of the table by these terms, in the lake of this name; through another port than the server's own, if one is given."""
        runtime = Runtime(load(self.written(terms, room, port=port)))
        try:
            yield runtime
        finally:
            runtime.close()

    def written(
        self,
        terms: str,
        room: str = "",
        *,
        port: int | None = None,
        every: str = "1m",
        names: Sequence[str] = (TABLE.name,),
    ) -> Path:
        """The file of such a configuration, of these tables."""
        folder, password = self.folder / room, self.folder / "password"
        folder.mkdir(exist_ok=True)
        password.write_text(self.server.password_of(self.server.user) or "")
        text = _CONFIG.format(
            port=port or self.server.port,
            user=self.server.user,
            password=password,
            every=every,
            tables="\n".join(_LISTED.format(name=name, terms=terms) for name in names),
        )
        (folder / "sources.yaml").write_text(text)
        return folder / "sources.yaml"

    def row(self, query: str) -> tuple[Any, ...]:
        """The first one."""
        return tuple(self.source.execute(query.encode()).fetchone() or ())

    def watched(self) -> Watch:
        """Our processes and the source's."""
        (folder,) = self.row("SELECT current_setting('data_directory')")
        pid = int((Path(folder) / "postmaster.pid").read_text().partition("\n")[0])
        return Watch(resident=(os.getpid(), pid))


@contextmanager
def big_table(
    name: str, rows: int, statements: Sequence[str], settings: Mapping[str, str] = NO_SETTINGS
) -> Iterator[BigTable]:
    """Made and vacuumed; gone at the end of the block. `settings`: of the server, beside those of every benchmark."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    server = EmbeddedPostgres(folder / "server", settings={**SETTINGS, **settings})
    server.start()
    try:
        say(f"{name}: a table of {rows:,} rows")
        server.create_database("shop")
        with psycopg.connect(server.dsn("shop"), autocommit=True) as source:
            for statement in (*statements, "VACUUM ANALYZE orders"):
                source.execute(statement.encode())
            yield BigTable(server, folder, source, rows)
    finally:
        server.remove()
        shutil.rmtree(folder)


class Played:
    """The circumstances of measurements of a large table: made before the first step."""

    def __init__(self, rows: int) -> None:
        self._rows, self._load, self._at = rows, os.getloadavg()[0], datetime.now(UTC)

    def document(self, steps: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """The entry of the results with these steps: rows, commit, time, and the load before and after."""
        return {
            "rows": self._rows,
            "commit": commit(),
            "at": f"{self._at:%Y-%m-%d %H:%M} UTC",
            "load": [round(self._load, 1), round(os.getloadavg()[0], 1)],
            "steps": list(steps),
        }


def step(label: str, cost: Cost, wire: Wire | None = None, report: SyncReport | None = None) -> dict[str, Any]:
    """One of them."""
    say(f"  {label}: {cost.wall:.1f} s")
    return {
        "told": label,
        "seconds": round(cost.wall, 1),
        "cpu": round(cost.cpu, 1),
        "lines": wire.lines if wire else None,
        "read": report.rows.read if report else None,
    }
