"""A batch is on disk and counted before the target is touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta.staging.arrow_staging import refused_to_stage
from incremental_assets.adapters.delta.staging.stage import ParquetStage
from incremental_assets.adapters.spark.staged import read_staged
from incremental_assets.core.errors import LeaseLost, StageBroken
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.paths import staging_path
from incremental_assets.core.model.table import Strategy, TableSpec
from tests.adapters.batches import Desk, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = table("id bigint, a b string, at bigint")
ROWS = [(1, "a", 10), (2, None, 7), (3, "c", 30)]


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(tmp_path / "lake", spark)


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


def test_a_batch_is_what_the_snapshot_showed_in_any_order(desk: Desk) -> None:
    plan = desk.plan(ORDERS)
    first = desk.stage.write(plan, desk.show(ORDERS, ROWS))
    assert (first.rows, first.lower, first.rejected, first.duplicates, first.warnings) == (3, number(7), 0, 0, ())
    staged = read_staged(desk.spark, staging_path(str(desk.folder), ORDERS.id, plan.commit_ids.batch_id), ORDERS)
    assert sorted(tuple(row)[:3] for row in staged.collect()) == ROWS
    again = desk.stage.write(desk.plan(ORDERS), desk.show(ORDERS, ROWS[::-1]))
    other = desk.stage.write(desk.plan(ORDERS), desk.show(ORDERS, [*ROWS[:2], (3, "C", 30)]))
    assert again.digest == first.digest != other.digest


def test_rows_lost_on_the_way_break_the_batch(desk: Desk) -> None:
    shown = desk.show(ORDERS, ROWS)
    with pytest.raises(StageBroken, match="3 rows were read where the source counts 4"):
        desk.stage.write(desk.plan(ORDERS), replace(shown, rows=4))


def test_a_batch_that_the_run_that_took_over_sweeps_while_it_is_written_was_a_lease_lost(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, over = desk.plan(ORDERS), desk.stage

    def swept(_: ParquetStage, _plan: object, _snapshot: object, _gone: object, path: str) -> None:
        over._sweep(ORDERS.id)
        with (Path(path) / "part-0.parquet").open("wb"):
            pass

    monkeypatch.setattr(ParquetStage, "_staged", swept)
    with pytest.raises(LeaseLost):
        desk.stage.write(plan, desk.show(ORDERS, ROWS))


def test_a_column_of_another_type_than_agreed_breaks_the_batch(desk: Desk) -> None:
    shown = desk.show(table("id int, a b string, at bigint"), ROWS)
    with pytest.raises(StageBroken, match=r"'id' \(bigint\) was read as int where bigint was agreed"):
        desk.stage.write(desk.plan(ORDERS), shown)


def test_an_empty_snapshot_is_a_batch_of_no_rows(desk: Desk) -> None:
    batch = desk.stage.write(desk.plan(ORDERS), desk.show(ORDERS, []))
    assert (batch.rows, batch.lower, batch.digest) == (0, None, "0")


def test_a_row_without_a_cursor_leaves_the_overlap_without_a_lower_end(desk: Desk) -> None:
    assert desk.stage.write(desk.plan(ORDERS), desk.show(ORDERS, [*ROWS, (4, "d", None)])).lower is None


@pytest.mark.acceptance
def test_repeats_of_a_declared_key_and_keys_that_are_not_whole_are_counted(desk: Desk) -> None:
    spec = replace(ORDERS, key_enforced=False)
    batch = desk.stage.write(desk.plan(spec), desk.show(spec, [*ROWS, (1, "x", 11), (1, "y", 12), (None, "z", 1)]))
    assert (batch.rows, batch.duplicates, batch.rejected, batch.lower) == (6, 2, 1, number(7))
    assert [warning.split(" row")[0] for warning in batch.warnings] == ["1", "2"]
    assert "such as 1; of each key" in batch.warnings[1]
    hidden = replace(spec, pii=("id",))
    (told,) = desk.stage.write(desk.plan(hidden), desk.show(hidden, [*ROWS, (1, "x", 11)])).warnings
    assert "such as" not in told
    appended = replace(ORDERS, strategy=Strategy.APPEND, key=(), key_enforced=False)
    assert desk.stage.write(desk.plan(appended), desk.show(appended, [(None, "z", 1)])).rejected == 0


def test_rows_past_the_clock_of_the_source_land_with_a_warning(desk: Desk) -> None:
    plan = desk.plan(ORDERS)
    plan = replace(plan, reading=replace(plan.reading, future_above=number(30)))
    (warning,) = desk.stage.write(plan, desk.show(ORDERS, ROWS)).warnings
    assert warning.startswith("1 row is stamped past the source's clock (30)")


def test_integers_of_any_size_order_a_cursor(desk: Desk) -> None:
    spec = table("id bigint, at string")
    batch = desk.stage.write(
        desk.plan(spec), replace(desk.show(spec, [(1, "9"), (2, "10"), (3, "-5.5")]), highest=None)
    )
    assert batch.lower == number(-6)


def test_a_discarded_batch_and_what_dead_runs_left_are_gone(desk: Desk) -> None:
    folder = Path(staging_path(str(desk.folder), ORDERS.id))
    (folder / "left-by-a-dead-run").mkdir(parents=True)
    batch = desk.stage.write(desk.plan(ORDERS), desk.show(ORDERS, ROWS))
    assert [path.name for path in folder.iterdir()] == [batch.batch_id]
    desk.stage.discard(ORDERS.id, batch.batch_id)
    desk.stage.discard(ORDERS.id, batch.batch_id)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("spec", [ORDERS, replace(ORDERS, strategy=Strategy.APPEND)])
def test_a_batch_whose_files_have_vanished_does_not_land_as_nothing(desk: Desk, spec: TableSpec) -> None:
    desk.land(spec, ROWS)
    plan, shown = desk.plan(spec), desk.show(spec, [(4, "d", 40)])
    batch = desk.stage.write(plan, shown)
    folder = Path(staging_path(str(desk.folder), spec.id, batch.batch_id))
    for file in folder.glob("*.parquet"):
        file.unlink()
    with pytest.raises(StageBroken, match="is gone, which this run had staged"):
        desk.apply(plan, batch, shown)
    with pytest.raises(StageBroken, match="is gone, which this run had staged"):
        read_staged(desk.spark, str(folder), spec)
    assert desk.rows(spec) == ROWS


@pytest.mark.parametrize(
    ("kind", "value", "by_tasks"),
    [
        ("boolean", "true", True),
        ("string", "true", True),
        ("bigint", "1", True),
        ("double", "1.0", False),
        ("timestamp", "2024-01-01 00:00:00", False),
        ("timestamp", None, True),
        ("double", None, True),
    ],
)
def test_marks_whose_text_spark_alone_gives_are_its_to_compare(kind: str, value: str | None, *, by_tasks: bool) -> None:
    spec = table(f"id bigint, gone {kind}, at bigint")
    marked = Deletes(DeleteMode.SOFT, Then.REMOVE, column="gone", value=value)
    assert (refused_to_stage(replace(spec, deletes=marked)) == "") is by_tasks
