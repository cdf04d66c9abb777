"""A source of many small tables, configured, and remembered as synced: by the product's own sync, with a lake that keeps no rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import psycopg

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.log.idle_look import last_commit
from incremental_assets.adapters.delta.log.transaction_log import APP_ID
from incremental_assets.core.config.load import load
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Mode, Request, SyncPlan
from incremental_assets.core.planning.report import RowCounts, Status
from incremental_assets.core.planning.target import Commit, LastCommit, Target
from incremental_assets.core.ports import GoneRows, Snapshot
from incremental_assets.core.syncing.sync_many import attempt
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.resources.runtime import Runtime

DATABASE, PASSWORD, ROWS = "thousand", "reader-of-a-thousand", 50
INTEGER_EVERY, WHOLE_EVERY = 10, 10
"""Of ten tables one has an integer for its cursor and one is read whole; the others are upserts by time."""


def make_tables(server: EmbeddedPostgres, count: int) -> None:
    """`count` tables of a few columns and rows, indexed as `doctor` wants them."""
    server.create_database(DATABASE)
    with psycopg.connect(server.dsn(DATABASE)) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute(f"ALTER ROLE reader PASSWORD '{PASSWORD}'")
        connection.execute("GRANT pg_read_all_stats TO reader")
        for number in range(count):
            name = name_of(number)
            connection.execute(
                f"CREATE TABLE {name} (id bigint PRIMARY KEY, note text, amount numeric(12,2), state varchar(20), "
                "updated_at timestamptz NOT NULL DEFAULT now())"
            )
            connection.execute(f"CREATE INDEX ON {name} (updated_at)")
            connection.execute(
                f"INSERT INTO {name} SELECT n, 'note ' || n, n * 1.5, 'open', now() - interval '1 hour' * n FROM generate_series(1, {ROWS}) n"
            )
            if number % 100 == 99:
                # Each table takes locks until the commit, and the server knows of only so many.
                connection.commit()
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")


def name_of(number: int) -> str:
    return f"table_{number:04d}"


def configure(folder: Path, server: EmbeddedPostgres, count: int) -> Path:
    """One line of configuration for each table."""
    lines = [
        "lake: ./lake",
        "checkpoints: sqlite:///checkpoints.db",
        "sources:",
        "  shop:",
        "    dialect: postgresql",
        "    host: 127.0.0.1",
        f"    port: {server.port}",
        f"    database: {DATABASE}",
        "    user: reader",
        "    password: {env: THOUSAND_PASSWORD}",
        "    partitions: {every: month, from: 2024-01-01}",
        "    defaults: {freshness: {warn: 30m, fail: 2h}}",
        "    tables:",
        *(f'      - "{_terms(number)}"' for number in range(count) if number % WHOLE_EVERY != 1),
    ]
    file = folder / "sources.yaml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _terms(number: int) -> str:
    if number % INTEGER_EVERY == 0:
        return f"public.{name_of(number)}:id:integer!append"
    return f"public.{name_of(number)}:updated_at:timestamp!upsert"


def remember(config: Path) -> int:
    """A position for every table, as a sync leaves it: with the source's own numbers and no Spark. Gives their number."""
    runtime = Runtime(load(config))
    try:
        (source,) = runtime.configuration.sources
        specs, real = runtime.specs(source.name).specs, runtime.ports(source.name)
        ports = replace(real, stage=Uncounted(), lake=Rowless(runtime.configuration.lake))
        for _ in range(
            2
        ):  # the second one settles: its fingerprint begins at the watermark, as in a source that stands still
            reports = [attempt(spec, Request("prepared", Mode.SYNC), ports) for spec in specs]
            bad = [report.error for report in reports if report.status not in (Status.LANDED, Status.IDLE)]
            if bad:
                raise SystemExit(f"a table could not be prepared: {bad[0]}")
        return len(runtime.checkpoints.positions())
    finally:
        runtime.close()


class Uncounted:
    """Implements `core.ports.Stage`: a batch of as many rows as the source says."""

    def write(self, plan: SyncPlan, snapshot: Snapshot, gone: GoneRows | None = None) -> Batch:
        """Believed."""
        return Batch(plan.commit_ids.batch_id, snapshot.rows, "")

    def discard(self, table: TableId, batch_id: str) -> tuple[str, ...]:
        """Nothing was kept."""
        return ()


class Rowless:
    """Implements what a sync needs of `core.ports.Lake`: every commit is in the table's log, as a look lists it, and adds no file."""

    def __init__(self, lake: str) -> None:
        self._lake = lake
        self._targets: dict[TableId, Target] = {}

    def inspect(self, spec: TableSpec, since: int | None) -> Target | None:
        """The last commit, untouched by others."""
        return self._targets.get(spec.id)

    def version(self, spec: TableSpec) -> int | None:
        """Of the last commit; -1 before the first."""
        target = self._targets.get(spec.id)
        return -1 if target is None else target.version

    def last_commit(self, spec: TableSpec) -> LastCommit | None:
        """As the real one finds it in the log."""
        return last_commit(table_path(self._lake, spec.id))

    def find(self, spec: TableSpec, batch_id: str) -> Commit | None:
        """Nothing was ever left open."""

    def apply(self, plan: SyncPlan, batch: Batch, state: State) -> Commit:
        """Committed, without its rows."""
        table, commit_ids, version = plan.spec.id, plan.commit_ids, self.version(plan.spec) + 1
        log = Path(table_path(self._lake, table)) / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        note = CommitMetadata(
            Kind.OVERWRITE, commit_ids.app_id, commit_ids.seq, commit_ids.batch_id, plan.request.run_id, version
        )
        said = {"commitInfo": {"operation": "WRITE", "userMetadata": note.to_json()}}
        actions = [said, *(_made(table, commit_ids.app_id) if version == 0 else ())]
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)), encoding="utf-8")
        self._targets[table] = Target(f"id of {table}", commit_ids.app_id, version, commit_ids.seq, state)
        return Commit(f"id of {table}", version, RowCounts(read=batch.rows, inserted=batch.rows), state)


def _made(table: TableId, app_id: str) -> tuple[dict[str, object], ...]:
    described = {
        "id": f"id of {table}",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": '{"type": "struct", "fields": []}',
        "partitionColumns": [],
        "configuration": {APP_ID: app_id},
    }
    return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": described}
