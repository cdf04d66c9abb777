"""The source that the SQL towards PostgreSQL is tried on, a lake, and who writes its commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from incremental_assets.adapters.delta.quarantine import by_tasks as holding
from incremental_assets.adapters.delta.tasks import write as by_tasks
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.batches import Desk
from tests.adapters.source import READER, Source
from tests.adapters.twenty_orders import ORDERS, Open
from tests.conformance.stand import Stand
from tests.left_to_spark import left_to_spark
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def source(
    postgres: EmbeddedPostgres, database: str, connect: Callable[[], psycopg.Connection[Any]]
) -> Iterator[Source]:
    postgres.create_login(READER)
    found = Source(postgres, database, connect, [])
    yield found
    for probe in found.opened:
        probe.close()
    # Roles outlive the database of a test.
    found.execute(f"REVOKE pg_read_all_stats FROM {READER}", f"ALTER ROLE {READER} RESET ALL")


@pytest.fixture(params=["tasks", pytest.param("spark", marks=pytest.mark.acceptance)])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Commits of our own wherever they may be, or all of them by Spark's writer."""
    if request.param == "spark":
        monkeypatch.setattr(by_tasks, "write", left_to_spark)
        for step in ("keep", "settle"):
            monkeypatch.setattr(holding, step, left_to_spark)
    return str(request.param)


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path, writer: str) -> Desk:
    return Desk(tmp_path / "lake", spark)


@pytest.fixture
def opened(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Open:
    """Twenty orders, of which the last two were stamped today, that have landed as they are configured."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)

    def desk(entry: str) -> Stand:
        stand = Stand(Shop.open(postgres, database, tmp_path, f"\n- {entry}\n", options="unlisted: ignore"), spark)
        stand.execute(*ORDERS)
        stand.land()
        return stand

    return desk
