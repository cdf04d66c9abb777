"""A quarantine whose log nobody can read stops a batch before its commit: what is reported as failed has not landed, and lands whole once the log is back."""

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


@pytest.mark.parametrize("spoiled", [os.mkfifo, _damaged], ids=["a pipe", "no JSON"])
def test_a_batch_does_not_land_while_nobody_can_read_what_is_held(desk: Desk, spoiled: Callable[[Path], None]) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, None, 20)])
    log = max((Path(quarantine_path(str(desk.folder), ORDERS.id)) / "_delta_log").glob("*.json"))
    kept, before = log.read_bytes(), desk.lake.version(ORDERS)
    log.unlink()
    spoiled(log)
    for _ in range(2):
        with pytest.raises(TargetChanged, match="_quarantine"):
            desk.land(ORDERS, [(2, "b", 21), (3, "c", 30)])
    assert (desk.rows(ORDERS), desk.lake.version(ORDERS)) == ([(1, "a", 10)], before)
    log.unlink()
    log.write_bytes(kept)
    desk.land(ORDERS, [(2, "b", 21), (3, "c", 30)])
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "b", 21), (3, "c", 30)]
    assert resolved(desk) == {("2", "20"): "superseded"}
