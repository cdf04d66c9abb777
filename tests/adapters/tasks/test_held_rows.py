"""How many rows a task holds at once, however many it writes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.delta.staging import staging_task
from incremental_assets.adapters.delta.staging.arrow_staging import trial_of
from incremental_assets.adapters.delta.staging.counting import Counting
from incremental_assets.adapters.delta.tasks import load_task
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.delta.tasks.files.data_file import row_groups
from incremental_assets.adapters.delta.tasks.files.staged_rows import StagedGroup
from incremental_assets.adapters.delta.tasks.files.unit import Marks, Replacing, Share, Stored
from incremental_assets.adapters.delta.tasks.load_task import LoadUnit
from incremental_assets.adapters.delta.tasks.matching import share_task, sharing, staying
from incremental_assets.adapters.spark.own_names import READ_FLAGS
from incremental_assets.core.model.contract import ColumnRules, Contract
from tests.adapters.batches import table
from tests.adapters.tasks.tables import Table

ROWS = [(number, f"note {number}") for number in range(60)]


class Living:
    """Of the tables that a function has given, how many are still held when it is asked again."""

    def __init__(self) -> None:
        self.most = self.given = 0
        self._tables: list[weakref.ref[pa.Table]] = []

    def __call__(self, asked: Callable[..., pa.Table]) -> Callable[..., pa.Table]:
        def counted(*given: Any) -> pa.Table:
            self.most = max(self.most, sum(each() is not None for each in self._tables))
            table = asked(*given)
            self._tables.append(weakref.ref(table))
            self.given += 1
            return table

        return counted


def shares_of(table: Table) -> list[Share]:
    """Half of the rows come again, in row groups of three, and the others are written along."""
    table.land(Replacing((0,), compares=False), ROWS)
    table.seq += 1
    how = Replacing((0,), compares=False, whole=True)
    unit = table.unit(how, table.stage([(number, "new") for number, _ in ROWS[::2]]), table.state)
    return [share_task.apply(each) for each in sharing.shares(unit, 30)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part that comes is a row group of its own, and each batch is shared."""
    monkeypatch.setattr(data_file, "_GROUP_BYTES", 1)
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 3)
    monkeypatch.setattr(sharing, "LEAST_ROWS", 1)


@pytest.mark.usefixtures("small")
def test_of_a_batch_no_row_group_is_held_while_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    living = Living()
    monkeypatch.setattr(StagedGroup, "chosen", living(StagedGroup.chosen))
    done = shares_of(Table(tmp_path, "id bigint, note string"))
    assert sum(each.written for each in done) == 30
    assert (living.given, living.most) == (30, 0)


@pytest.mark.usefixtures("small")
def test_of_rows_that_stay_no_row_group_is_held_while_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    living = Living()
    monkeypatch.setattr(staying, "_rows", living(staying._rows))
    done = shares_of(Table(tmp_path, "id bigint, note string"))
    assert sum(each.kept for each in done) == 30
    assert (living.given, living.most) == (20, 0)


def test_what_waits_for_its_row_group_is_never_more_than_one_part_beyond_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, begun, most = 64 * 1024, pa.total_allocated_bytes(), 0
    monkeypatch.setattr(data_file, "_GROUP_BYTES", 4 * part)

    def parts() -> Iterator[pa.Table]:
        nonlocal most
        for _ in range(40):
            most = max(most, pa.total_allocated_bytes() - begun)
            yield pa.table({"n": pa.array(range(part // 8), pa.int64())})

    add = data_file.write_rows(str(tmp_path), (), parts(), 0)
    assert add is not None
    assert f'"numRecords":{40 * part // 8},' in add["stats"]
    assert most < 5 * part


class Parts:
    """Implements `spark.read_part.ReadPart`: forty batches; `most`: the bytes of rows that were held when one of them was asked for."""

    size = 1

    def __init__(self) -> None:
        self.most, self._begun = 0, pa.total_allocated_bytes()

    def batches(self) -> Iterator[pa.Table]:
        for _ in range(40):
            self.most = max(self.most, pa.total_allocated_bytes() - self._begun)
            yield batch()


def batch() -> pa.Table:
    numbers, kinds = range(8192), (pa.string(), pa.string(), pa.string(), pa.bool_())
    flags = {name: pa.nulls(len(numbers), kind) for name, kind in zip(READ_FLAGS, kinds, strict=True)}
    return pa.table({"c0": pa.array(numbers, pa.int64())} | flags)


@pytest.mark.parametrize("rows_per_file", [2**62, 100_000])
def test_a_first_load_holds_no_row_group_while_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_file: int
) -> None:
    each = batch().nbytes
    monkeypatch.setattr(staging_task, "_GROUP_BYTES", 4 * each)
    own = (Stored("run", "string"), Stored("seq", "bigint"), Stored("at", "timestamp"))
    parts = Parts()
    unit = LoadUnit(
        part=parts,
        table=str(tmp_path),
        columns=(Stored("n", "bigint"),),
        marks=Marks("run", 1, 0, own),
        statistics=(),
        counting=Counting(),
        rows_per_file=rows_per_file,
    )
    done = load_task.apply(unit)
    assert (done.rows, len(done.adds)) == (40 * 8192, 1 if rows_per_file > 100_000 else 3)
    assert parts.most < 5 * each


@pytest.mark.parametrize("is_judged", [False, True], ids=["as they come", "judged by a contract"])
def test_a_batch_is_staged_without_a_row_group_that_is_held_while_the_next_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_judged: bool
) -> None:
    each = batch().nbytes
    monkeypatch.setattr(staging_task, "_GROUP_BYTES", 4 * each)
    rules = Contract(rules=(ColumnRules("n", ge=0),), file="sources.yaml", line=7)
    trial = trial_of(replace(table("n bigint", key=("n",), cursor="n"), contract=rules)) if is_judged else None
    parts = Parts()
    unit = staging_task.StageUnit(parts, ("bigint",), Counting(), str(tmp_path / "staged.parquet"), trial)
    assert staging_task.apply(unit).rows == 40 * 8192
    assert parts.most < 5 * each


@pytest.mark.parametrize(
    ("parts", "rows", "size", "groups"),
    [
        ([], 4, 1000, []),
        ([0, 0], 4, 1000, []),
        ([3, 0, 1, 2], 4, 1000, [4, 2]),
        ([9], 4, 1000, [3, 3, 3]),
        ([5], 4, 1000, [3, 2]),
        ([1, 1, 1, 1, 1], 100, 16, [2, 2, 1]),
    ],
)
def test_rows_become_groups_in_their_order(parts: list[int], rows: int, size: int, groups: list[int]) -> None:
    numbers = iter(range(100))
    given = (pa.table({"n": pa.array([next(numbers) for _ in range(part)], pa.int64())}) for part in parts)
    found = list(row_groups(given, rows, size))
    assert [each.num_rows for each in found] == groups
    assert [number for each in found for number in each["n"].to_pylist()] == list(range(sum(parts)))
