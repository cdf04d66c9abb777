"""A batch that was staged in a store lands by its manifest: a file that is gone, or another one, is not one without rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incremental_assets.adapters.lake_store import opened
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.adapters.spark.manifest import MANIFEST, check_rows, has_manifest, record, staged_files
from incremental_assets.core.errors import StageBroken
from tests.adapters.lake_store.bucket import Relay, new_bucket, options


def part(*numbers: int) -> bytes:
    sink: Any = pa.BufferOutputStream()
    pq.write_table(pa.table({"c0": numbers}), sink)
    return bytes(sink.getvalue().to_pybytes())


@pytest.fixture
def staged(relay: Relay) -> tuple[LakeStore, str]:
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    store, folder = opened.store_of(root), f"{root}/lake/_staging/shop/public/orders/b1"
    assert store is not None
    store.put(f"{folder}/part-0.parquet", part(1, 2))
    store.put(f"{folder}/part-1.parquet", part(3))
    store.put(f"{folder}/_SUCCESS", b"")
    record(folder)
    return store, folder


def test_a_batch_is_as_many_rows_as_its_files_have(staged: tuple[LakeStore, str]) -> None:
    _, folder = staged
    assert [(each.name, each.rows) for each in staged_files(folder)] == [("part-0.parquet", 2), ("part-1.parquet", 1)]
    check_rows(folder, 3)
    with pytest.raises(StageBroken, match="tells of 3 rows of 4"):
        check_rows(folder, 4)


HARMS: dict[str, Callable[[LakeStore, str], object]] = {
    "part-0.parquet is gone": lambda store, folder: store.delete(f"{folder}/part-0.parquet"),
    r"part-0.parquet has \d+ bytes of \d+": lambda store, folder: store.put(f"{folder}/part-0.parquet", b"PAR1"),
    f"{MANIFEST} is gone": lambda store, folder: store.delete_prefix(folder),
    f"{MANIFEST} is cut": lambda store, folder: store.put(f"{folder}/{MANIFEST}", b"[{"),
}


@pytest.mark.parametrize("said", HARMS)
def test_a_batch_that_is_no_longer_whole_is_named(staged: tuple[LakeStore, str], said: str) -> None:
    store, folder = staged
    HARMS[said](store, folder)
    with pytest.raises(StageBroken, match=f"{folder}/.*{said}, which this run had staged"):
        check_rows(folder, 3)


def test_what_only_spark_can_reach_has_none() -> None:
    assert not has_manifest("hdfs://name/lake/_staging")
