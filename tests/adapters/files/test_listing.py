"""A look at very many files: what is held of them is a few columns, however many there are."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import obstore
import pyarrow as pa
import pytest

from incremental_assets.adapters.files import listing, objects, pattern
from incremental_assets.adapters.files.ledger import Ledger
from incremental_assets.adapters.files.listing import listed
from incremental_assets.core.captures.files.position import FilesPosition
from incremental_assets.core.config.files_settings import FileFormat, Files
from incremental_assets.core.model.table_id import TableId

TABLE = TableId("drop", "shop", "orders")
MANY, PAGE = 200_000, 1_000
BYTES_EACH = 300
"""Of a file in a list: its path, its size, its tag and since when. As a value of Python it takes twice as much."""


def pages(*_: object, **__: object) -> Iterator[Any]:
    """As a store lists them."""
    at = pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * PAGE, pa.timestamp("us", "UTC"))
    for first in range(0, MANY, PAGE):
        numbers = range(first, first + PAGE)
        yield pa.record_batch(
            {
                "path": [f"in/2026/{first:09d}/orders-{number:09d}.csv" for number in numbers],
                "last_modified": at,
                "size": pa.array([100] * PAGE, pa.uint64()),
                "e_tag": [f'"{number:032x}"' for number in numbers],
            }
        )


def test_very_many_files_of_a_store_take_a_few_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(obstore, "list", pages)
    monkeypatch.setattr(objects.Bucket, "of", lambda _: objects.Bucket(None, "in/"))
    files = Files("shop.orders", "2026/**/*.csv", FileFormat.CSV, settle=timedelta(0))
    tracemalloc.start()
    try:
        found = listed("s3a://bucket/in", files, TABLE, Ledger(str(tmp_path), TABLE), 2e9)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.rows.num_rows == MANY
    assert found.rows.nbytes < MANY * BYTES_EACH
    # What Arrow holds is not Python's, which has no more than a page at once.
    assert peak < 32 * 2**20
    news = found.news(FilesPosition())
    assert (news.files[0].path, news.left) == ("2026/000000000/orders-000000000.csv", MANY - len(news.files))


def test_very_many_files_of_a_folder_take_a_few_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "one.csv").touch()
    paths = [f"orders-{number:09d}.csv" for number in range(MANY)]
    state = (tmp_path / "one.csv").stat()
    monkeypatch.setattr(pattern, "found", lambda *_: [pattern.Found(paths, ())])
    monkeypatch.setattr(listing, "os", SimpleNamespace(stat=lambda _: state))
    files = Files("shop.orders", "*.csv", FileFormat.CSV, settle=timedelta(0))
    look = partial(listed, str(tmp_path), files, TABLE, Ledger(str(tmp_path), TABLE), time.time() + 1)
    look()  # what is loaded once is no file's
    tracemalloc.start()
    try:
        found = look()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.rows.column("path").to_pylist() == paths
    # A few thousand at once, as columns are made of them.
    assert peak < 12 * 2**20


@pytest.mark.parametrize("path", ["a.csv", "x/a.csv", "x/y/a.csv", ".x/a.csv", "x/.y/a.csv", "x/.a.csv", "x/a.txt"])
@pytest.mark.parametrize(
    "wanted", ["*.csv", "**/*.csv", "x/**/*.csv", "*/*.csv", ".x/*.csv", "**/y/**/a.*", "**/.a.csv"]
)
def test_a_path_of_a_store_fits_where_the_same_in_a_folder_is_found(wanted: str, path: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).touch()
    assert pattern.fitting(wanted)(path) == any(found.paths for found in pattern.found(str(tmp_path), wanted))


def test_a_folder_without_a_name_is_one_of_any_folders() -> None:
    assert [pattern.fitting("**/*.csv")(path) for path in ("/a.csv", "x//a.csv")] == [True, True]
    assert [pattern.fitting(wanted)("/a.csv") for wanted in ("*.csv", "*/*.csv")] == [False, True]
