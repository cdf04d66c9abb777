"""What each task is given of files whose rows are read as a whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.adapters.delta.tasks.files.unit import Replacing, Staying
from incremental_assets.adapters.delta.tasks.matching import sharing
from incremental_assets.adapters.delta.tasks.matching.sharing import spread
from tests.adapters.tasks.tables import Table


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        ([], []),
        ([1], [(0,)]),
        ([7, 7, 7, 7], [(0, 1), (2, 3)]),
        ([8, 1, 1, 8], [(0,), (1, 2, 3)]),
        ([9] * 4, [(0,), (1,), (2, 3)]),
    ],
)
def test_neighbours_go_to_one_task_until_they_are_worth_it(sizes: list[int], parts: list[tuple[int, ...]]) -> None:
    assert spread([{"size": size} for size in sizes], least=8, most=3) == parts


def test_rows_that_stay_are_shared_out_and_each_task_counts_the_files_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "LEAST_ROWS", 1)
    table = Table(tmp_path, "id bigint")
    for number in range(4):
        table.land(Replacing((0,), compares=False), [(number,)])
    how = Replacing((0,), compares=False, whole=True)
    unit = table.unit(how, table.stage([(number,) for number in range(9)]), table.state)
    unit = replace(unit, files=tuple({**each, "size": 5 * 2**20} for each in unit.files))
    staying = [(part.how.places, part.size) for part in sharing.shares(unit, 9) if isinstance(part.how, Staying)]
    assert staying == [((0, 1), 10 * 2**20), ((2, 3), 10 * 2**20)]
