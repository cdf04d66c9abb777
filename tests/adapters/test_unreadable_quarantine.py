"""A quarantine that nobody can read stops a batch before its commit: what is reported as failed has not landed, and lands whole once the quarantine is back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.paths import quarantine_path
from tests.adapters.batches import Desk
from tests.adapters.test_contracted_batches import ORDERS, resolved


def _damaged(file: Path) -> None:
    file.write_text("no JSON")


def _missing(_: Path) -> None:
    """Nothing is in its place."""


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("files", "spoiled"),
    [
        pytest.param("_delta_log/*.json", os.mkfifo, id="a pipe in the log", marks=pytest.mark.acceptance),
        pytest.param("_delta_log/*.json", _damaged, id="a log without JSON"),
        pytest.param("*.parquet", _missing, id="a missing file"),
    ],
)
def test_a_batch_does_not_land_while_nobody_can_read_what_is_held(
    desk: Desk, files: str, spoiled: Callable[[Path], None]
) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, None, 20)])
    file = max(Path(quarantine_path(str(desk.folder), ORDERS.id)).glob(files))
    kept, before = file.read_bytes(), desk.lake.last_commit(ORDERS)
    file.unlink()
    spoiled(file)
    for _ in range(2):
        with pytest.raises(TargetChanged, match="_quarantine"):
            desk.land(ORDERS, [(2, "b", 21), (3, "c", 30)])
    assert (desk.rows(ORDERS), desk.lake.last_commit(ORDERS)) == ([(1, "a", 10)], before)
    file.unlink(missing_ok=True)
    file.write_bytes(kept)
    desk.land(ORDERS, [(2, "b", 21), (3, "c", 30)])
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "b", 21), (3, "c", 30)]
    assert resolved(desk) == {("2", "20"): "superseded"}


@pytest.mark.parametrize("harm", ["gone", "older"])
def test_a_quarantine_that_is_gone_or_older_than_the_copy_says_is_not_an_empty_one(
    desk: Desk, harm: str, tmp_path: Path
) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, None, 20)])
    quarantine = Path(quarantine_path(str(desk.folder), ORDERS.id))
    shutil.copytree(quarantine, tmp_path / "older")
    desk.land(ORDERS, [(3, None, 30)])
    whole, held = desk.lake.inspect(ORDERS, None), desk.lake.held(ORDERS)
    assert whole is not None
    assert held is not None
    assert (whole.lacks, held.rows) == ("", 2)
    shutil.rmtree(quarantine)
    if harm == "older":
        shutil.copytree(tmp_path / "older", quarantine)
    found, last = desk.lake.inspect(ORDERS, None), desk.lake.last_commit(ORDERS)
    assert found is not None
    assert last is not None
    what = "is gone" if harm == "gone" else "was restored from an older copy"
    assert found.lacks == f"its quarantine at {quarantine} {what}, and rows that no copy holds with it"
    assert (last.version, last.seq) == (whole.version, None)
    assert (desk.lake.held(ORDERS), desk.lake.unfit(ORDERS)) == (None, None)


def test_a_quarantine_that_another_writer_has_changed_is_not_what_is_left_of_it(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, None, 20), (3, None, 30)])
    quarantine = Path(quarantine_path(str(desk.folder), ORDERS.id))
    DeltaTable(quarantine).create_checkpoint()
    whole = desk.lake.inspect(ORDERS, None)
    assert whole is not None
    assert whole.lacks == "", "what leaves every row as it is does no harm"
    DeltaTable(quarantine).delete("id = '2'")
    found, last = desk.lake.inspect(ORDERS, None), desk.lake.last_commit(ORDERS)
    assert found is not None
    assert last is not None
    assert found.lacks.startswith(f"its quarantine at {quarantine} was changed by another writer (DELETE in version ")
    assert (last.version, last.seq) == (whole.version, None)
    assert (desk.lake.held(ORDERS), desk.lake.unfit(ORDERS)) == (None, None)
