"""Rows of a copy by the places of their keys: tasks tell of them what Spark tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from incremental_assets.adapters.databases import byte_hash
from incremental_assets.adapters.delta.audit import placed_rows
from incremental_assets.adapters.delta.audit.checksums import Held
from incremental_assets.adapters.delta.audit.placed_rows import HeldRows
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks.audit.placed_task import summed
from incremental_assets.adapters.delta.tasks.audit.placing import PlacedByTasks
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.spark.tasks import Tasks, TasksUnavailable
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.key_parts import HASH_BITS, KeyParts, KeySpread, KeySum
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.ports import Bounded, ByteHashed
from tests.adapters.batches import Desk, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = table("id bigint, note string, at bigint")
TEXTS = table("id bigint, note string, at bigint", key=("note", "id"))
NO_KEY = table("id bigint, note string, at bigint", Strategy.APPEND, key=(), enforced=False)
KINDS = [pa.int64(), pa.string(), pa.int64()]
ROWS = [(place * 7 - 300, f"note, {place % 5}", place) for place in range(100)]


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


class Both:
    """The rows of one copy, as tasks and as Spark tell of them."""

    def __init__(self, desk: Desk, spec: TableSpec, windows: list[Window]) -> None:
        log = open_log(desk.path(spec))
        assert log is not None
        held = Held(desk.spark, desk.path(spec), log, spec)
        self.spark = HeldRows(held, windows, str(desk.folder))
        self.tasks = PlacedByTasks(Tasks(lambda: desk.spark), held, windows, str(desk.folder), self.spark)

    def assert_equal(self, within: KeyParts, shift: int) -> int:
        """So many rows have these places."""
        assert self.tasks.sums(within, shift) == self.spark.sums(within, shift)
        hashes = sorted(self.tasks.hashes(within))
        assert hashes == sorted(self.spark.hashes(within))
        return len(hashes)


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 16)
    return Desk(tmp_path / "lake", spark)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(NUMBERS, id="a number"),
        pytest.param(TEXTS, id="several columns", marks=pytest.mark.acceptance),
        pytest.param(NO_KEY, id="the row itself", marks=pytest.mark.acceptance),
    ],
)
def test_tasks_tell_what_spark_tells(desk: Desk, spec: TableSpec) -> None:
    desk.land(spec, ROWS)
    # Marks in the first file, and rows in another one.
    desk.land(spec, [(row, note, at + 1000) for row, note, at in ROWS[10:20]])
    for windows, rows in (
        ([Window(None, None)], 100 if spec.key else 110),
        ([Window(number(5), number(50)), Window(number(1015), None)], 40 if spec.key else 50),
    ):
        both = Both(desk, spec, windows)
        spread = both.tasks.spread()
        assert (spread, spread.rows) == (both.spark.spread(), rows)
        everywhere = KeyParts(spread.lowest, spread.highest)
        assert both.assert_equal(everywhere, 4) == rows
        parts = sorted(both.spark.sums(everywhere, 4))
        some = replace(everywhere, shift=4, numbers=frozenset([*parts[:2], parts[-1]]))
        assert 0 < both.assert_equal(some, 2) < rows
        assert both.assert_equal(replace(everywhere, numbers=frozenset()), 0) == 0


def test_spark_does_not_even_load_what_tasks_tell_of(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.land(NUMBERS, ROWS)

    def loaded(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(placed_rows, "rows_of", loaded)
    rows = desk.lake.placed_rows(NUMBERS, [Window(None, None)])
    spread = rows.spread()
    assert (spread.rows, spread.lowest, spread.highest) == (100, -300, 393)
    whole = KeyParts(spread.lowest, spread.highest)
    assert (len(rows.hashes(whole)), sum(found.rows for found in rows.sums(whole, 4).values())) == (100, 100)


def test_of_a_row_group_of_which_some_rows_are_asked_for_exactly_those_are_hashed_by_their_bytes(desk: Desk) -> None:
    desk.land(NUMBERS, ROWS)
    desk.land(NUMBERS, [(1, "changed", 1000)])
    rows = desk.lake.placed_rows(NUMBERS, [Window(None, None)])
    assert isinstance(rows, ByteHashed)
    by_bytes = rows.by_bytes()
    assert by_bytes is not None
    some = KeyParts(-300, 393, 3, frozenset({0, 12}))
    expected = [row for row in [*(row for row in ROWS if row[0] != 1), (1, "changed", 1000)] if some.holds(row[0])]
    columns = [
        pa.chunked_array([list(values)], kind) for values, kind in zip(zip(*expected, strict=True), KINDS, strict=True)
    ]
    hashes = dict(zip([row[0] for row in expected], byte_hash.row_hashes(columns).tolist(), strict=True))
    assert (dict(by_bytes.hashes(some)), len(hashes)) == (hashes, len(expected))
    assert by_bytes.sums(some, 0) == {place: KeySum(1, digest) for place, digest in hashes.items()}


@pytest.mark.acceptance
def test_the_log_tells_where_whole_numbers_lie_and_of_no_other_key(desk: Desk) -> None:
    for spec in (NUMBERS, TEXTS):
        desk.land(spec, ROWS)
        desk.land(spec, [(1000, "new", 1000), (1, "marks a row in the first file", 1001)])
        rows = desk.lake.placed_rows(spec, [Window(number(5), number(50))])
        assert isinstance(rows, Bounded)
        assert rows.bounds() == (KeySpread(102, -300, 1000) if spec is NUMBERS else None)


@pytest.mark.acceptance
def test_no_row_has_no_ends(desk: Desk) -> None:
    desk.land(NUMBERS, ROWS)
    nowhere = Both(desk, NUMBERS, [Window(number(5000), None)])
    assert nowhere.tasks.spread() == nowhere.spark.spread()


@pytest.mark.acceptance
def test_of_versions_the_last_one_counts_which_spark_alone_tells(desk: Desk) -> None:
    spec = replace(NUMBERS, strategy=Strategy.APPEND)
    desk.land(spec, ROWS)
    both = Both(desk, spec, [Window(None, None)])
    assert both.tasks.by_bytes() is None
    both.assert_equal(KeyParts(-1000, 1000), 4)


@pytest.mark.acceptance
def test_where_no_task_can_run_spark_answers(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.land(NUMBERS, ROWS)
    both = Both(desk, NUMBERS, [Window(None, None)])

    def unavailable(*_: object) -> None:
        raise TasksUnavailable("its workers lack this package")

    monkeypatch.setattr(Tasks, "run_all", unavailable)
    spread = both.tasks.spread()
    assert spread == both.spark.spread()
    both.assert_equal(KeyParts(spread.lowest, spread.highest), 4)


def test_hashes_are_summed_to_the_last_bit_in_a_row_group_of_millions() -> None:
    rows, largest = 9_500_000, 2**HASH_BITS - 1
    assert list(summed(np.zeros(rows, np.int64), np.full(rows, largest))) == [(0, rows, rows * largest)]
