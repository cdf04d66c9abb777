"""What lands is read by the manifest of its batch: a file that is gone, or cut, is not one without rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from incremental_assets.adapters.delta.tasks.files.unit import Adding, Replacing
from incremental_assets.adapters.delta.tasks.matching.apply_task import apply
from incremental_assets.adapters.spark.manifest import MANIFEST, check_rows, staged_files
from incremental_assets.core.errors import StageBroken
from tests.adapters.tasks.tables import Table

ROWS = [(number, "a") for number in range(5)]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, "id bigint, note string")


def _cut(folder: Path) -> None:
    file = folder / "part-0.parquet"
    file.write_bytes(file.read_bytes()[:-1])


HARMS: dict[str, Callable[[Path], object]] = {
    "part-0.parquet is gone": lambda folder: (folder / "part-0.parquet").unlink(),
    r"part-0.parquet has \d+ bytes of \d+": _cut,
    f"{MANIFEST} is gone": shutil.rmtree,
    f"{MANIFEST} is cut": lambda folder: (folder / MANIFEST).write_text("[{"),
}


@pytest.mark.parametrize("told", HARMS)
@pytest.mark.parametrize("how", [Replacing((0,), compares=True), Adding(compares=False)])
def test_a_task_lands_nothing_of_a_batch_that_is_no_longer_whole(
    table: Table, how: Replacing | Adding, told: str
) -> None:
    staged = table.stage(ROWS)
    unit = table.unit(how, staged, table.state)
    HARMS[told](staged)
    with pytest.raises(StageBroken, match=f"{staged}.*{told}, which this run had staged"):
        apply(unit)


def test_a_batch_is_as_many_rows_as_were_counted(table: Table) -> None:
    staged = str(table.stage(ROWS))
    check_rows(staged, 5)
    assert [each.rows for each in staged_files(staged)] == [5]
    with pytest.raises(StageBroken, match="tells of 5 rows of 6"):
        check_rows(staged, 6)


def test_what_somebody_puts_beside_the_files_of_a_batch_is_none_of_it(table: Table) -> None:
    staged = table.stage(ROWS)
    shutil.copy(staged / "part-0.parquet", staged / "part-1.parquet")
    table.seq += 1
    done = apply(table.unit(Adding(compares=False), staged, table.state))
    assert done.written == 5
