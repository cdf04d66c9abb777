"""Rows of a table in a store are read by their parts, and what its quarantine holds is known without Spark, as in a folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.quarantine.held import held_rows
from incremental_assets.adapters.delta.quarantine.unfit import unfit_keys, unfit_rows
from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from incremental_assets.adapters.lake_store import opened
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.quarantine import NONE_UNFIT, NOTHING_HELD
from tests.adapters.lake_store.bucket import Relay, new_bucket, options
from tests.adapters.quarantine.offline import ORDERS, Counter
from tests.adapters.tasks.tables import Table


@pytest.fixture
def lake(relay: Relay) -> str:
    root = new_bucket(relay.server)
    opened.configure(root, lambda: options(relay.address))
    return f"{root}/lake"


def put_there(folder: Path, lake: str) -> None:
    """All files of a folder, under the same names."""
    store = opened.store_of(lake)
    assert store is not None
    for file in folder.rglob("*"):
        if file.is_file():
            store.put(f"{lake}/{file.relative_to(folder).as_posix()}", file.read_bytes())


def live(path: str, table: Table) -> list[dict[str, object]]:
    """The rows that no vector marks."""
    seen = log_cache.latest(path)
    assert seen is not None
    found = []
    for add in seen.state.files.values():
        with row_groups(path, add, ()) as groups:
            for group in groups:
                rows = pa.table(group.columns(table.columns), names=[each.name for each in table.columns])
                found += rows.filter(pa.array(group.alive)).to_pylist()
    return sorted(found, key=lambda row: repr(row["id"]))


def test_rows_and_the_marks_in_files_are_those_of_a_folder(tmp_path: Path, lake: str) -> None:
    table = Table(tmp_path, "id bigint, note string")
    by_id = Replacing((0,), compares=True)
    table.land(by_id, [(number, "a") for number in range(40_000)])
    table.land(by_id, [(number, "b") for number in range(0, 40_000, 7)])
    vectors = [
        each["deletionVector"]["storageType"] for each in table.state.files.values() if each.get("deletionVector")
    ]
    assert vectors == ["u"], "it stands in a file of its own"
    put_there(table.path, f"{lake}/table")
    assert live(f"{lake}/table", table) == live(str(table.path), table)


def test_a_vector_that_is_damaged_in_a_store_is_named(tmp_path: Path, lake: str) -> None:
    table = Table(tmp_path, "id bigint, note string")
    table.land(Replacing((0,), compares=True), [(number, "a") for number in range(40_000)])
    table.land(Replacing((0,), compares=True), [(number, "b") for number in range(0, 40_000, 7)])
    (vector,) = table.path.glob("deletion_vector_*.bin")
    vector.write_bytes(vector.read_bytes()[:-10] + b"0123456789")
    put_there(table.path, f"{lake}/table")
    with pytest.raises(NotByTasks, match="is damaged"):
        live(f"{lake}/table", table)


def test_what_is_held_and_what_cannot_land_is_known_without_spark(tmp_path: Path, lake: str) -> None:
    counter = Counter(tmp_path)
    counter.copy()
    counter.keep(1, [(1, None, 10), (2, None, 20)])
    counter.keep(2, [(3, None, 30)])
    counter.settle(3, [(2, "now it fits", 40)])
    put_there(Path(counter.lake), lake)
    held = held_rows(lake, ORDERS)
    assert held is not None
    assert (held.rows, held) == (2, held_rows(counter.lake, ORDERS))
    assert unfit_rows(lake, ORDERS) == unfit_rows(counter.lake, ORDERS)
    assert unfit_keys(lake, ORDERS) == unfit_keys(counter.lake, ORDERS)


def test_where_there_is_no_quarantine_nothing_is_held(lake: str) -> None:
    assert held_rows(lake, ORDERS) == NOTHING_HELD
    assert unfit_rows(lake, ORDERS) == NONE_UNFIT


def test_a_file_of_the_quarantine_that_is_missing_is_named_before_anything_lands(tmp_path: Path, lake: str) -> None:
    counter = Counter(tmp_path)
    counter.copy()
    counter.keep(1, [(1, None, 10)])
    for file in Path(counter.lake).rglob("*.parquet"):
        if "_quarantine" in file.parts and "_delta_log" not in file.parts:
            file.unlink()
    put_there(Path(counter.lake), lake)
    assert held_rows(lake, ORDERS) is None


def test_where_the_store_does_not_answer_it_is_not_known(tmp_path: Path, relay: Relay, lake: str) -> None:
    counter = Counter(tmp_path)
    counter.copy()
    counter.keep(1, [(1, None, 10)])
    put_there(Path(counter.lake), lake)
    relay.faults["GET"] = ["503"] * 50
    assert held_rows(lake, ORDERS) is None
    assert unfit_rows(lake, ORDERS) is None
    relay.faults.clear()
