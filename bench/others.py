"""The tools that people would pick instead, each as its own pages describe it, and PostgreSQL's own COPY as the floor below all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.contender import Job, Process, Script, Session
from bench.environments import Environments
from bench.names import COPY_NOWHERE, COPY_PARQUET, SLING, SPARK_DELTA, SPARK_MERGE, SPARK_PARQUET
from bench.source import Table, quoted
from bench.verifying import Copy, duck_type
from incremental_assets.adapters.spark.jars import verified_jars
from incremental_assets.demo.tpch import DATABASE, READER


class Dlt(Script):
    """dlt into Delta tables on this disk."""

    def __init__(self, name: str, backend: str, environments: Environments) -> None:
        super().__init__(name, environments, "dlt", "dlt_delta.py")
        self._backend = backend

    def words(self, job: Job) -> Sequence[str | Path]:
        """All tables are of one schema."""
        return [self._backend, job.lake, job.tables[0].schema, *(table.name for table in job.tables)]

    def environment(self, job: Job) -> Mapping[str, str]:
        """It is to ask nobody, and to say no more than needed."""
        quiet = {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}
        url = job.source.url.replace("postgresql:", "postgresql+psycopg2:")
        return {**super().environment(job), **quiet, "SOURCE_URL": url}

    def copy_of(self, job: Job, table: Table) -> Copy:
        """By dataset and table."""
        return Copy("delta", str(job.lake / table.schema / table.name))


class Spark(Script):
    """Whatever runs on plain Spark: with the jars by their paths, so that nobody asks a registry while the clock runs."""

    def __init__(self, name: str, environments: Environments, script: str, form: str = "delta") -> None:
        super().__init__(name, environments, "spark", script)
        self._form = form

    def environment(self, job: Job) -> Mapping[str, str]:
        """Where it connects to, and the jars."""
        return {
            **os.environ,
            "SOURCE_URL": f"jdbc:postgresql://127.0.0.1:{job.source.port}/{DATABASE}",
            "SOURCE_USER": READER,
            "SOURCE_PASSWORD": job.source.password,
            "JARS": ",".join(map(str, verified_jars())),
        }

    def copy_of(self, job: Job, table: Table) -> Copy:
        """Its first and only table."""
        return Copy("delta", str(job.lake)) if self._form == "delta" else Copy("parquet", str(job.lake / "*.parquet"))


class SparkJdbc(Spark):
    """A whole table."""

    def words(self, job: Job) -> Sequence[str | Path]:
        """Read in parts of the key."""
        (table,) = job.tables
        return [self._form, quoted(table), table.key[0]]

    def said(self, job: Job) -> str:
        """Where to."""
        return f"{job.lake}\n"


class SparkMerge(Spark):
    """What changed; the first copy comes from the script that reads it whole."""

    def __init__(self, environments: Environments) -> None:
        super().__init__(SPARK_MERGE, environments, "spark_merge.py")
        self._whole = SparkJdbc(SPARK_DELTA, environments, "spark_jdbc.py")

    def words(self, job: Job) -> Sequence[str | Path]:
        """One table with one key."""
        (table,) = job.tables
        return [job.lake, quoted(table), table.key[0]]

    def load(self, job: Job) -> None:
        """Whole."""
        self._whole.run(job)


PROGRAM = "sling-linux-amd64"


class Sling(Process):
    """sling into a CSV file, by its command line: for Parquet it fetches another program when it runs, which is no package of its registry."""

    def __init__(self, environments: Environments) -> None:
        super().__init__(SLING)
        self._environments = environments

    def prepare(self, job: Job) -> None:
        """The environment."""
        self._environments.program("sling", PROGRAM)

    def command(self, job: Job) -> Sequence[str | Path]:
        """One stream."""
        (table,) = job.tables
        return [
            self._environments.program("sling", PROGRAM), "run", "--src-conn", "SOURCE_URL", "--src-stream", quoted(table),
            "--tgt-object", f"file://{job.lake}/{table.name}.csv", "--mode", "full-refresh",
        ]  # fmt: skip

    def environment(self, job: Job) -> Mapping[str, str]:
        """Its connections are environment variables."""
        home = {"SLING_HOME_DIR": str(job.folder / "sling"), "SLING_DISABLE_TELEMETRY": "true"}
        return {**os.environ, **home, "SOURCE_URL": f"{job.source.url}?sslmode=disable"}

    def copy_of(self, job: Job, table: Table) -> Copy:
        """One file."""
        return Copy("csv", str(job.lake / f"{table.name}.csv"))


class CopyNowhere(Script):
    """Nothing is left that could be verified."""

    verifiable = False

    def __init__(self, environments: Environments) -> None:
        super().__init__(COPY_NOWHERE, environments, "copy", "copy_nowhere.py")

    def words(self, job: Job) -> Sequence[str | Path]:
        """One table."""
        return [quoted(*job.tables)]

    def copy_of(self, job: Job, table: Table) -> Copy:
        """Nowhere."""
        raise LookupError(self.name)


class CopyParquet(Script):
    """COPY and DuckDB."""

    def __init__(self, environments: Environments) -> None:
        super().__init__(COPY_PARQUET, environments, "copy", "copy_parquet.py")

    def words(self, job: Job) -> Sequence[str | Path]:
        """One table, one file."""
        job.lake.mkdir(parents=True, exist_ok=True)
        return [quoted(*job.tables), job.lake / "table.parquet"]

    def environment(self, job: Job) -> Mapping[str, str]:
        """CSV has no types."""
        types = {name: duck_type(kind) for name, kind in job.source.types(*job.tables).items()}
        return {**super().environment(job), "COLUMNS": json.dumps(types)}

    def copy_of(self, job: Job, table: Table) -> Copy:
        """The file."""
        return Copy("parquet", str(job.lake / "table.parquet"))


def spark_session(environments: Environments) -> Session:
    """One process that stays."""
    return Session(SPARK_PARQUET, SparkJdbc(SPARK_PARQUET, environments, "spark_jdbc.py", "parquet"), "lake")
