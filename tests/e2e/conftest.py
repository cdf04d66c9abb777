"""What stories of the engine begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.e2e.watched import Watched
from tests.shop import MAKE_THREE, THREE_STRATEGIES, Shop


@pytest.fixture
def watched(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> Iterator[Watched]:
    """Three tables that no engine has seen yet; the one that is started ends with the test."""
    shop = Shop.open(postgres, database, tmp_path, THREE_STRATEGIES, options="unlisted: ignore")
    shop.execute(*MAKE_THREE)
    yield Watched(shop)
    shop.run("engine", "stop")
