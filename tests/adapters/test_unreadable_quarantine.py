"""A quarantine that nobody can read stops a batch before its commit: what is reported as failed has not landed, and lands whole once the quarantine is back."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.paths import quarantine_path
from tests.adapters.batches import Desk
from tests.adapters.test_contracted_batches import ORDERS, resolved


def _damaged(file: Path) -> None:
    file.write_text("no JSON")


def _missing(_: Path) -> None:
    """Nothing is in its place."""


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
