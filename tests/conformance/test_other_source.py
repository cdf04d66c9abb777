"""T21: another database answers, or an older copy of the same one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from incremental_assets.core.maintenance.reset import accept_source
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.planning.plan import Mode
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.backed import Backed
from tests.conformance.clock import ClockedPostgres
from tests.conformance.conftest import OpenStand
from tests.conformance.meddling import assert_told
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("orders", "readings", "countries")
TABLES = """
- "public.orders:at:timestamp!upsert"
- "public.readings:id:integer!append"
- {table: public.countries, strategy: full_refresh, refresh_every: 0s}
"""
SCHEMA = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE readings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, value int)",
    "CREATE TABLE countries (code int PRIMARY KEY, name text)",
    *touching("orders", "at"),
)


@pytest.fixture
def backed(tmp_path: Path) -> Iterator[Backed]:
    made = Backed(EmbeddedPostgres(tmp_path / "server", settings={"fsync": "off"}))
    yield made
    subprocess.run(["rm", "-rf", str(made._backup)], check=True)
    made.server.remove()


@pytest.fixture
def slower(clocked: ClockedPostgres) -> Iterator[Backed]:
    """One whose clock can be put back, as that of another host is slower."""
    made = Backed(clocked)
    yield made
    subprocess.run(["rm", "-rf", str(made._backup)], check=True)


def _move(desk: Stand, number: int) -> None:
    desk.execute(
        f"INSERT INTO orders VALUES ({number}, 'new')",
        f"INSERT INTO readings (value) VALUES ({number})",
        f"INSERT INTO countries VALUES ({number}, 'new')",
    )


@scenario(
    "T21",
    "The source is restored from an older physical backup, and new rows are written to it",
    holds="every table stops with advice in one sentence and its copy stays as it was; after `reset` or `--full-refresh` it goes on and no row is lost",
    long=True,
)
def test_the_source_is_restored_from_a_backup(backed: Backed, tmp_path: Path, spark: SparkSession) -> None:
    desk = _opened(backed, tmp_path, spark)
    _move(desk, 1)
    desk.land()
    backed.back_up()
    _move(desk, 2)
    _move(desk, 3)
    desk.execute("CREATE TABLE busy AS SELECT n FROM generate_series(1, 50000) AS n")
    desk.land()
    before, versions = {name: desk.copy(name) for name in NAMES}, {name: desk.versions(name) for name in NAMES}
    backed.restore()
    _move(desk, 4)

    for report in desk.sync().values():
        assert_told(report, "restored from an older copy", "nothing was changed", "--full-refresh", "reset")
    assert {name: desk.copy(name) for name in NAMES} == before
    assert {name: desk.versions(name) for name in NAMES} == versions

    desk.land("orders", "countries", mode=Mode.FULL_REFRESH)
    desk.reset("readings")
    desk.land("readings")
    desk.assert_equal("orders")
    desk.assert_equal("countries")
    # What only the newer database had stays, as an append never removes: number 2 is there in both versions.
    assert desk.copy("readings", "id", "value") == [(1, 1), (2, 2), (2, 4), (3, 3)]
    _move(desk, 5)
    desk.land()
    desk.assert_equal("orders")


@scenario(
    "T21",
    "The source is restored from an older backup, and so much is written to it before the next sync that its log is past where it had been",
    holds="nothing that is written after the restore is lost",
    long=True,
)
def test_a_restored_source_that_has_gone_on(backed: Backed, tmp_path: Path, spark: SparkSession) -> None:
    desk = _opened(backed, tmp_path, spark)
    _move(desk, 1)
    backed.back_up()
    _move(desk, 2)
    _move(desk, 3)
    desk.land()
    desk.execute("SELECT pg_sleep(2.1)")
    desk.land()
    backed.restore()
    _move(desk, 4)
    desk.execute("CREATE TABLE busy AS SELECT n FROM generate_series(1, 50000) AS n")
    reports = desk.sync()

    if all(report.error for report in reports.values()):
        return
    found = desk.copy("orders", "id")
    assert (4,) in found
    missing = [
        row for row in desk.source("SELECT id, value FROM readings") if row not in desk.copy("readings", "id", "value")
    ]
    if missing:
        assert "the highest 'id' in the source is 2 where 3 had been read" in " ".join(reports["readings"].warnings)
        pytest.xfail(
            "a restored source whose log has already passed its old position cannot be told from one that went on; numbers given out "
            "again below the watermark are then not read; the run warns while the highest number is below the one that had been read"
        )


@scenario(
    "T21",
    "Another cluster with the same tables answers under the configured address; then the database is dropped and made anew in its place",
    holds="every table stops with advice in one sentence, nothing is overwritten; a full refresh accepts the new source",
)
def test_another_database_answers(stand: OpenStand, postgres: EmbeddedPostgres, database: str) -> None:
    desk = stand(TABLES, *SCHEMA)
    _move(desk, 1)
    desk.land()
    before, versions = {name: desk.copy(name) for name in NAMES}, {name: desk.versions(name) for name in NAMES}
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{database}" WITH (FORCE)')
    postgres.create_database(database)
    desk.execute(
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader",
        "ALTER DEFAULT PRIVILEGES GRANT SELECT ON SEQUENCES TO reader",
        *SCHEMA,
    )
    _move(desk, 7)

    for report in desk.sync().values():
        assert_told(report, "another database answers", "nothing was changed", "--full-refresh", "reset")
    assert {name: desk.copy(name) for name in NAMES} == before
    assert {name: desk.versions(name) for name in NAMES} == versions
    desk.land(mode=Mode.FULL_REFRESH)
    for name in NAMES:
        desk.assert_equal(name)


@scenario(
    "T21",
    "The configured address leads to another cluster, with the same database name and tables; later back to the first",
    holds="every table stops with advice in one sentence and nothing is overwritten; pointed back it goes on",
    long=True,
)
def test_another_cluster_answers(stand: OpenStand, backed: Backed, database: str) -> None:
    desk = stand(TABLES, *SCHEMA)
    _move(desk, 1)
    desk.land()
    versions = {name: desk.versions(name) for name in NAMES}
    backed.server.create_database(database)
    there = Shop.open(backed.server, database, desk.shop.folder, TABLES, options="unlisted: ignore\n")
    there.execute(*SCHEMA)
    for report in replace(desk, shop=there).sync().values():
        assert_told(report, "another database answers", "nothing was changed")
    assert {name: desk.versions(name) for name in NAMES} == versions
    desk.shop.configure(TABLES, "unlisted: ignore\n")
    _move(desk, 2)
    desk.land()
    for name in NAMES:
        desk.assert_equal(name)


@scenario(
    "T21",
    "The source's cluster goes through `pg_upgrade`, and rows are written to the new one",
    holds="every table stops with advice; accepted, it goes on from its watermark, reads nothing again that had settled, and no row is lost; that the catalogue is another one is said once",
    long=True,
)
def test_an_upgrade(backed: Backed, tmp_path: Path, spark: SparkSession) -> None:
    desk = _opened(backed, tmp_path, spark)
    desk.execute("INSERT INTO orders SELECT n, 'old', '2024-01-01Z' FROM generate_series(1000, 1999) n")
    _move(desk, 1)
    before = desk.land()
    backed.upgrade()
    _move(desk, 2)
    for report in desk.sync().values():
        assert_told(report, "another database answers", "after an upgrade", "--accept-source")
    with desk.runtime() as runtime:
        for name in NAMES:
            accept_source(spec=desk.spec(name), run_id="upgrade", checkpoints=runtime.checkpoints)
    after = desk.land()

    for name in NAMES:
        desk.assert_equal(name)
    assert after["orders"].previous_watermark == before["orders"].new_watermark
    assert after["orders"].rows.read < 10
    # The new cluster has a catalogue of its own, so that nobody knows whether stamps are made as before: said once.
    assert after["orders"].guarantee is Guarantee.BEST_EFFORT
    assert "that stamps 'at' was altered since the last sync" in after["orders"].guarantee_reason
    _move(desk, 3)
    assert {report.guarantee for report in desk.land().values()} == {Guarantee.SETTLED}


@scenario(
    "T21",
    "The source fails over to a replica that had everything, and rows are written to it",
    holds="the next run goes on where the last one stopped and warns that the source is on another timeline",
    long=True,
)
def test_a_failover(backed: Backed, tmp_path: Path, spark: SparkSession) -> None:
    desk = _opened(backed, tmp_path, spark)
    _move(desk, 1)
    desk.land()
    backed.fail_over()
    _move(desk, 2)
    reports = desk.land()
    again = desk.land()

    for name in NAMES:
        desk.assert_equal(name)
        assert "from timeline 1 to 2" in " ".join(reports[name].warnings)
        assert "timeline" not in " ".join(again[name].warnings)


@scenario(
    "T21",
    "The source fails over to a replica that had everything and whose clock is a minute slower; rows are written to it",
    holds="the run says `best_effort` and why, nothing that is stamped by the slower clock is lost, and no watermark stands above it",
    long=True,
)
def test_a_failover_to_a_slower_host(
    slower: Backed, clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession
) -> None:
    desk = _opened(slower, tmp_path, spark)
    _move(desk, 1)
    before = desk.land()
    slower.fail_over()
    assert before["orders"].new_watermark is not None
    clocked.clock.set_below(before["orders"].new_watermark.moment(), 60)
    _move(desk, 2)
    reports = desk.land()

    for name in NAMES:
        desk.assert_equal(name)
        assert "from timeline 1 to 2" in " ".join(reports[name].warnings)
    assert reports["orders"].guarantee == "best_effort"
    assert "was put back" in reports["orders"].guarantee_reason
    _move(desk, 3)
    again = desk.land()
    for name in NAMES:
        desk.assert_equal(name)
    ((clock,),) = desk.source("SELECT clock_timestamp()")
    assert again["orders"].new_watermark is not None
    assert again["orders"].new_watermark.moment().replace(tzinfo=None) <= clock


@scenario(
    "T21",
    "The source fails over to a replica that had not received the last transactions and whose clock is a minute slower; it then writes more than it had lost",
    holds="while its log is behind, every table stops with advice; then they go on, `best_effort`, with a warning that names `check`, and every row that is stamped lands",
    long=True,
)
def test_a_failover_to_a_lagging_replica(
    slower: Backed, clocked: ClockedPostgres, tmp_path: Path, spark: SparkSession
) -> None:
    desk = _opened(slower, tmp_path, spark)
    _move(desk, 1)
    slower.back_up()
    _move(desk, 2)
    desk.execute("CREATE TABLE busy AS SELECT n FROM generate_series(1, 50000) AS n")
    before = desk.land()
    slower.fail_over_to_a_lagging_replica()
    assert before["orders"].new_watermark is not None
    clocked.clock.set_below(before["orders"].new_watermark.moment(), 60)
    _move(desk, 3)
    versions = {name: desk.versions(name) for name in NAMES}
    for report in desk.sync().values():
        assert_told(
            report, "a replica was promoted that had not received everything", "nothing was changed", "--full-refresh"
        )
    assert {name: desk.versions(name) for name in NAMES} == versions

    desk.execute("CREATE TABLE busy AS SELECT n FROM generate_series(1, 100000) AS n")
    reports = desk.land()
    for name in ("orders", "readings"):
        assert reports[name].guarantee == "best_effort", reports[name]
        assert "`incremental-assets check` names both" in " ".join(reports[name].warnings)
    assert desk.copy("orders", "id") == [(1,), (2,), (3,)], "what was lost stays, what came since has landed"
    desk.assert_equal("countries")


def _opened(backed: Backed, folder: Path, spark: SparkSession) -> Stand:
    """A stand on the test's own server."""
    backed.server.create_database("shop")
    desk = Stand(Shop.open(backed.server, "shop", folder, TABLES, options="unlisted: ignore\n"), spark)
    desk.execute(*SCHEMA)
    return desk
