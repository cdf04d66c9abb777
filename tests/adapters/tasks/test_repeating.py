"""Keys that are there twice, looked for by tasks: one that says there is none is never wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.tasks.audit import repeating
from incremental_assets.adapters.delta.tasks.audit.repeat_task import RepeatUnit, apply
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.delta.tasks.files.unit import Adding, Replacing
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.table import TableSpec
from tests.adapters.batches import table
from tests.adapters.tasks.tables import Row, Table

TWO = "id bigint, part string, note string"


def said(held: Table, key: tuple[int, ...], shares: int = 1) -> list[bool]:
    columns = tuple(held.columns[place] for place in key)
    files = tuple(held.state.files.values())
    return [apply(RepeatUnit(str(held.path), files, columns, share, shares)) for share in range(shares)]


@pytest.mark.parametrize(
    ("key", "rows", "repeats"),
    [
        pytest.param((0,), [(1, "a", "x"), (2, "a", "y")], False, id="each once"),
        pytest.param((0,), [(1, "a", "x"), (1, "b", "y")], True, id="a number twice"),
        pytest.param((1,), [(1, "a", "x"), (2, "A", "y")], False, id="texts in two cases"),
        pytest.param((0, 1), [(1, "a", "x"), (1, "b", "y"), (2, "a", "z")], False, id="pairs, each once"),
        pytest.param((0, 1), [(1, "a", "x"), (2, "b", "y"), (1, "a", "z")], True, id="a pair twice"),
        pytest.param((0, 1), [(1, None, "x"), (1, None, "y")], True, id="NULL as a part of two"),
        pytest.param((0, 1), [(1, None, "x"), (1, "", "y")], False, id="NULL and an empty text"),
    ],
)
def test_keys_of_one_batch(tmp_path: Path, key: tuple[int, ...], rows: list[Row], repeats: bool) -> None:
    held = Table(tmp_path, TWO)
    held.land(Adding(compares=False), rows)
    assert said(held, key) == [repeats]


def test_a_key_in_two_files_is_found_by_the_one_task_whose_share_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 2)
    held = Table(tmp_path, TWO)
    held.land(Adding(compares=False), [(number, "a", "x") for number in range(20)])
    held.land(Adding(compares=False), [(20, "a", "x"), (7, "a", "y")])
    assert sorted(said(held, (0,), shares=4)) == [False, False, False, True]
    assert said(held, (0, 2), shares=4) == [False] * 4


def test_a_row_that_is_gone_from_its_file_does_not_count(tmp_path: Path) -> None:
    held = Table(tmp_path, TWO)
    held.land(Replacing((0,), compares=True), [(1, "a", "x"), (2, "a", "x")])
    held.land(Replacing((0,), compares=True), [(1, "a", "changed")])
    assert said(held, (0,)) == [False]


def test_a_table_without_a_row_repeats_nothing(tmp_path: Path) -> None:
    assert said(Table(tmp_path, TWO), (0,), shares=2) == [False, False]


def opened(held: Table) -> TableLog:
    log = open_log(str(held.path))
    assert log is not None
    return log


def of(ddl: str, source_type: str = "") -> TableSpec:
    spec = table(ddl)
    first, *others = spec.columns
    columns = (replace(first, source_type=source_type or first.source_type), *others)
    return replace(spec, shape=replace(spec.shape, columns=columns))


@pytest.mark.parametrize(
    ("ddl", "source_type", "why"),
    [
        ("id double, at bigint", "", "two values may be one"),
        ("id string, at bigint", "numeric", "two values may be one"),
        ("id string, at bigint", "public.citext", "two values may be one"),
    ],
)
def test_a_key_whose_values_are_not_equal_as_they_are_is_left_to_spark(
    tmp_path: Path, ddl: str, source_type: str, why: str
) -> None:
    held = Table(tmp_path, ddl)
    with pytest.raises(NotByTasks, match=why):
        repeating.units_of(str(held.path), opened(held), of(ddl, source_type))


def test_a_table_of_more_rows_is_shared_by_more_tasks_up_to_what_they_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeating, "_SHARE_ROWS", 3)
    monkeypatch.setattr(repeating, "_SHARES", 2)
    held = Table(tmp_path, "id bigint, at bigint")
    for rows, shares in ((3, 1), (1, 2), (2, 2)):
        first = 10 * held.seq
        held.land(Adding(compares=False), [(first + number, 1) for number in range(rows)])
        units = repeating.units_of(str(held.path), opened(held), of("id bigint, at bigint"))
        assert [(unit.share, unit.shares) for unit in units] == [(share, shares) for share in range(shares)]
    held.land(Adding(compares=False), [(99, 1)])
    with pytest.raises(NotByTasks, match="7 rows are more"):
        repeating.units_of(str(held.path), opened(held), of("id bigint, at bigint"))
