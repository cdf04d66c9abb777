"""The first sync of two hundred tables that nobody here designed, by the file that `init` writes: every row of every table is in the lake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from incremental_assets import load
from incremental_assets.cli.entrypoint import run
from incremental_assets.cli.main import commands
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.resources.runtime import Runtime
from tests.conformance.stand import Given

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.acceptance

SPRAWL = Path(__file__).parents[1] / "sprawl.sql"


def _rows(connection: psycopg.Connection, table: TableId) -> int:
    """As the source counts them now."""
    asked = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table.schema, table.name))
    row = connection.execute(asked).fetchone()
    assert row is not None
    return int(row[0])


def test_each_table_of_the_file_lands_as_it_is_and_then_stands_still(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(postgres.dsn(database), autocommit=True) as admin:
        admin.execute(SPRAWL.read_text(encoding="utf-8").encode())
        admin.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    monkeypatch.setenv(f"{database.upper()}_PASSWORD", postgres.password)
    monkeypatch.chdir(tmp_path)
    assert run(commands, ["init", f"postgresql://{postgres.user}@127.0.0.1:{postgres.port}/{database}"]) == 0

    configuration = load(tmp_path / "sources.yaml")
    runtime = Runtime(configuration, Given(spark))  # type: ignore[arg-type]
    try:
        resolved, ports = runtime.specs(database), runtime.ports(database)
        assert resolved.problems == ()
        assert len(resolved.specs) > 185
        landed = sync_many(resolved.specs, lambda _: Request("first", Mode.SYNC), ports, parallel=4)
        assert {str(each.table): each.error for each in landed if each.status is not Status.LANDED} == {}
        with psycopg.connect(postgres.dsn(database)) as source:
            counted = {spec.id: _rows(source, spec.id) for spec in resolved.specs}
        assert {each.table: each.rows.inserted for each in landed} == counted
        assert {spec.id: ports.reader.rows(spec) for spec in resolved.specs} == counted
        settings = configuration.source(database)
        drifted = {
            str(spec.id): found.detail
            for spec in resolved.specs
            if (found := reconcile(spec, terms_of(settings, spec.id).partitions, ports)).rows
        }
        assert drifted == {}
        again = sync_many(resolved.specs, lambda _: Request("second", Mode.SYNC), ports, parallel=4)
        assert {str(each.table) for each in again if each.rows.inserted or each.rows.updated} == set()
    finally:
        runtime.close()
