"""Ours, as its users run it: the command line in a process of its own, and one process that stays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.contender import Job, Process, Session, ours
from bench.environments import CONTENDERS
from bench.measuring import Failed
from bench.names import CHECK, OURS, SESSION
from bench.source import Table, quoted
from bench.verifying import Copy
from incremental_assets.demo.tpch import DATABASE, READER

SOURCE = "bench"
PASSWORD = "BENCH_PASSWORD"


class Ours(Process):
    """`incremental-assets sync`, in a session of its own: a `master` is given, so that a running engine is not used."""

    def __init__(self, name: str = OURS, *, java: str = "", words: Sequence[str] = ("sync",), room: str = "") -> None:
        super().__init__(name, room=room)
        self._java, self._words = java, words

    spark = f"master: 'local[{os.cpu_count()}]'"
    dialect = "postgresql"

    def prepare(self, job: Job) -> None:
        """Its configuration."""
        job.folder.mkdir(parents=True, exist_ok=True)
        schemas = ", ".join({table.schema: "" for table in job.tables})
        whole = "full_refresh" if any(table.cursor is None for table in job.tables) else "ignore"
        lines = [
            "lake: ./lake",
            "checkpoints: sqlite:///checkpoints.db",
            f"spark: {{{self.spark}}}",
            "sources:",
            f"  {SOURCE}:",
            f"    dialect: {self.dialect}",
            "    host: 127.0.0.1",
            f"    port: {job.source.port}",
            f"    database: {DATABASE}",
            f"    user: {READER}",
            f"    password: {{env: {PASSWORD}}}",
            f"    schemas: [{schemas}]",
            f"    unlisted: {whole}",
            "    partitions: {every: month, from: 2025-01-01}",
            "    tables:",
            *(f'      - "{quoted(table)}:{table.cursor}:timestamp!upsert"' for table in job.tables if table.cursor),
        ]
        (job.folder / "sources.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def command(self, job: Job) -> Sequence[str | Path]:
        """As it is typed."""
        return [ours("incremental-assets"), *self._words, "--config", job.folder / "sources.yaml", "--json"]

    def environment(self, job: Job) -> Mapping[str, str]:
        """A Dagster home of its own; `java` goes to every JVM, over all that is said elsewhere."""
        home = job.folder / "dagster"
        home.mkdir(parents=True, exist_ok=True)
        java = {"_JAVA_OPTIONS": self._java} if self._java else {}
        return {**os.environ, PASSWORD: job.source.password, "DAGSTER_HOME": str(home), **java}

    def inside(self, document: Mapping[str, Any]) -> float | None:
        """What the report says of a single table; several are synced side by side, and no sum or largest would be their time."""
        if document.get("error"):
            raise Failed(sentence(document["error"]))
        tables = document.get("tables", ())
        bad = [table["error"] for table in tables if table["error"]]
        if bad:
            raise Failed(bad[0])
        return tables[0]["seconds"] if len(tables) == 1 else document.get("seconds")

    def copy_of(self, job: Job, table: Table) -> Copy:
        """As its interface says."""
        return Copy("delta", str(job.lake / SOURCE / table.schema / table.name))


class OursInSession(Ours):
    """The script that stays; `session` is how it takes part."""

    def command(self, job: Job) -> Sequence[str | Path]:
        """It is told its configurations line by line."""
        return [ours("python"), CONTENDERS / "ours_session.py"]


def sentence(error: Any) -> str:
    """An error of the whole command has its kind and its exit status beside the sentence."""
    return str(error["message"] if isinstance(error, Mapping) else error)


def session() -> Session:
    """One process that stays, without Dagster."""
    return Session(SESSION, OursInSession(), "sources.yaml")


def check() -> Ours:
    """Every check of the tables that ours has copied; it leaves nothing new to verify, and exits with 1 where it finds something."""
    contender = Ours(CHECK, words=("check",), room=Ours().room)
    contender.verifiable = False
    return contender
