"""A PostgreSQL of its own whose log is decoded: `wal_level` is of the whole server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.logs.opening import log_database, log_server
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open
from tests.adapters.logs.stand import LogStand
from tests.shop import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    with log_server(tmp_path_factory.mktemp("logged")) as server:
        yield server


@pytest.fixture
def stand(logged: EmbeddedPostgres) -> Iterator[LogStand]:
    """A database of its own with an empty publication of the name `p` and a slot; both go with the test."""
    with log_database(logged) as name:
        found = LogStand(logged, name, f"slot_{name}")
        found.execute("CREATE PUBLICATION p WITH (publish_via_partition_root)")
        found.make_slot()
        yield found
        found.close()


@pytest.fixture
def open_shop(
    logged: EmbeddedPostgres, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    """Opens the shop of one test; its slot goes with it."""
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    with log_database(logged) as name:

        def open_one(*tables: str, **options: Any) -> LoggedShop:
            return LoggedShop.open(logged, name, tmp_path, spark, *(tables or (ORDERS,)), **options)

        yield open_one
