"""`retention`: how long what nothing needs any more is kept, as a table, a source or the file says it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.retention import KEEPS_ALL, Retention
from incremental_assets.core.model.table_id import TableId

SHOP = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: sqlite
    database: ./shop.db
"""
TABLES = """\
    tables:
    - {table: main.orders, cursor: {column: id, type: integer}}
    - {table: main.items, cursor: {column: id, type: integer}, retention: {files: 30d, history: forever, quarantine: 90d}}
    - {table: main.countries, strategy: full_refresh, retention: {files: forever}}
"""


def loaded(folder: Path, text: str) -> Configuration:
    (folder / "sources.yaml").write_text(text)
    return load(folder / "sources.yaml")


def kept(configuration: Configuration) -> list[Retention]:
    source = configuration.source("shop")
    return [
        terms_of(source, TableId("shop", "main", name)).retention for name in ("orders", "items", "countries", "new")
    ]


def test_how_long_files_stay_is_a_table_s_or_a_source_s_and_forever_where_nothing_says_it(tmp_path: Path) -> None:
    items = Retention(files=timedelta(days=30), quarantine=timedelta(days=90))
    of_source = f"{SHOP}    defaults: {{retention: {{files: 10d}}}}\n{TABLES}"
    ten = Retention(files=timedelta(days=10))
    assert kept(loaded(tmp_path, of_source)) == [ten, items, KEEPS_ALL, ten]
    assert kept(loaded(tmp_path, SHOP + TABLES)) == [KEEPS_ALL, items, KEEPS_ALL, KEEPS_ALL]


def test_how_long_the_ledger_is_kept_is_said_of_the_file_and_is_a_month_at_least(tmp_path: Path) -> None:
    assert loaded(tmp_path, f"retention: {{ledger: 400d}}\n{SHOP}").ledger == timedelta(days=400)
    assert loaded(tmp_path, f"retention: {{ledger: forever}}\n{SHOP}").ledger is None
    assert loaded(tmp_path, SHOP).ledger is None
    with pytest.raises(ConfigurationError, match="at least 40d"):
        loaded(tmp_path, f"retention: {{ledger: 30d}}\n{SHOP}")
