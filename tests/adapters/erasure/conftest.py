"""A lake in a folder from which people are erased."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.erasure.erasing import SECRET
from tests.conformance.stand import Stand
from tests.shop import PASSWORD, Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def open_people(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Stand]:
    """Opens the shop with the lines of one table; nothing is made or landed."""

    def open_one(table: str) -> Stand:
        monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
        monkeypatch.setenv("ERASURE_KEY", SECRET)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        shop = Shop.open(postgres, database, tmp_path, table, options="unlisted: ignore")
        shop.config.write_text(f"erasure_key: {{env: ERASURE_KEY}}\n{shop.config.read_text()}")
        return Stand(shop, spark)

    return open_one
