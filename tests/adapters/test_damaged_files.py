"""A file that the log names and that is gone or cut is named with the cure, whatever words a library has for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from incremental_assets.adapters.delta.damaged_files import damaged_file
from incremental_assets.adapters.delta.errors import explained
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from incremental_assets.core.errors import LakeRefused, TargetChanged
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table_id import TableId
from tests.adapters.batches import table
from tests.adapters.tasks.tables import Table

ORDERS = TableId("shop", "public", "orders")
BY_ID = Replacing((0,), compares=True)
MANY = 40_000


def made(lake: Path, path: str) -> None:
    """A table there, with a file of its own for a deletion vector, which is too long for the log."""
    table = Table(lake, "id bigint, note string")
    table.land(BY_ID, [(number, "a") for number in range(MANY)])
    table.land(BY_ID, [(number * 7919 % MANY, "b") for number in range(MANY // 2)])
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    table.path.rename(path)


def data_file(folder: Path) -> Path:
    return max(folder.glob("*.parquet"), key=lambda file: file.stat().st_size)


def vector_file(folder: Path) -> Path:
    return next(folder.glob("deletion_vector_*.bin"))


@pytest.mark.parametrize("which", [data_file, vector_file])
@pytest.mark.parametrize(
    ("place", "told"),
    [
        (table_path, r"a file of the copy is .*read everything again with `incremental-assets sync --select shop.public.orders --full-refresh --yes`"),
        (lambda lake, table: table_path(lake, table.history), "a file of the history is .*move the history away"),
        (quarantine_path, "a file of the quarantine is .*move the quarantine away"),
    ],
    ids=["copy", "history", "quarantine"],
)  # fmt: skip
def test_a_file_that_is_gone_or_cut_is_named_with_the_cure(
    tmp_path: Path, which: Callable[[Path], Path], place: Callable[[str, TableId], str], told: str
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    path = place(str(lake), ORDERS)
    made(lake, path)
    assert damaged_file(ORDERS, str(lake)) is None
    file = which(Path(path))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(TargetChanged, match=rf"shop.public.orders: {told}") as cut, explained(ORDERS, str(lake)):
        raise ValueError("some words of a library")
    assert f"cut ({file} has " in str(cut.value)
    file.unlink()
    with pytest.raises(TargetChanged, match=told) as gone, explained(ORDERS, str(lake)):
        raise ValueError("some words of a library")
    assert f"gone ({file})" in str(gone.value)


@pytest.mark.parametrize("which", [data_file, vector_file])
def test_a_sync_sees_before_it_writes_that_a_file_of_its_copy_is_gone_or_cut(
    tmp_path: Path, which: Callable[[Path], Path]
) -> None:
    path = table_path(str(tmp_path), ORDERS)
    made(tmp_path, path)
    spec, lake = table("id bigint, note string, at bigint"), DeltaLake(str(tmp_path), pytest.fail)

    def lacks() -> str:
        target = lake.inspect(spec, None)
        assert target is not None
        return target.lacks

    assert lacks() == ""
    file = which(Path(path))
    kept = file.read_bytes()
    file.write_bytes(kept[:-1])
    assert lacks().startswith(f"a file of the copy is cut ({file} has ")
    file.unlink()
    assert lacks() == f"a file of the copy is gone ({file}), and its rows with it"
    file.write_bytes(kept)
    assert lacks() == ""


def test_a_full_disk_is_no_damaged_file_and_a_fault_of_ours_stays_one(tmp_path: Path) -> None:
    path = table_path(str(tmp_path), ORDERS)
    made(tmp_path, path)
    with pytest.raises(ValueError, match="ours"), explained(ORDERS, str(tmp_path)):
        raise ValueError("ours")
    data_file(Path(path)).unlink()
    with pytest.raises(LakeRefused, match="full"), explained(ORDERS, str(tmp_path)):
        raise ValueError("No space left on device")
