"""What stories of the engine, and of a cluster, begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.e2e.cluster import DEFAULTS, Cluster, standalone
from tests.e2e.watched import Watched
from tests.shop import MAKE_THREE, THREE_STRATEGIES, Shop


@pytest.fixture
def watched(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> Iterator[Watched]:
    """Three tables that no engine has seen yet; the one that is started ends with the test."""
    shop = Shop.open(postgres, database, tmp_path, THREE_STRATEGIES, options="unlisted: ignore")
    shop.execute(*MAKE_THREE)
    yield Watched(shop)
    shop.run("engine", "stop")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(DEFAULTS)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    with standalone(tmp_path) as running:
        yield running
