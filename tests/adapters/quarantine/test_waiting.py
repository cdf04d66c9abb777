"""Keys and cursors of what is held, by tasks, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

from incremental_assets.adapters.delta.quarantine import held_task, waiting
from incremental_assets.adapters.delta.quarantine.unfit import unfit_keys, unfit_rows
from incremental_assets.adapters.delta.rollback import roll_back_quarantine
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.quarantine import NONE_UNFIT
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.planning.plan import CommitIds
from tests.adapters.batches import APP, columns
from tests.adapters.quarantine.offline import ORDERS, Counter, Here

TASKS = cast(Any, Here())


@pytest.fixture
def counter(tmp_path: Path) -> Counter:
    found = Counter(tmp_path)
    found.copy()
    return found


def test_what_is_held_has_its_keys_and_cursors_and_what_was_resolved_has_none(counter: Counter) -> None:
    counter.keep(1, [(1, None, 10), (2, None, 20), (3, None, 20), (4, "fine", 40)])
    counter.keep(2, [(2, None, 21), (5, None, None)])
    counter.settle(3, [(1, "mended", 11)])
    found = waiting.keys(TASKS, counter.lake, ORDERS)
    assert found == {"2": [("2",)], "3": [("3",)], "5": [("5",)]}
    assert {*(waiting.cursors(TASKS, counter.lake, ORDERS) or ())} == {
        CursorValue.of(CursorType.INTEGER, value) for value in (20, 21)
    }
    # A row without a cursor tells it by the other column.
    by_two = replace(ORDERS, cursor=Cursor("at", CursorType.INTEGER, fallback="id"))
    assert {each.text for each in waiting.cursors(TASKS, counter.lake, by_two) or ()} == {"20", "21", "5"}
    assert waiting.cursors(TASKS, counter.lake, replace(ORDERS, cursor=None)) == ()


def test_where_all_was_resolved_nothing_is_held_and_no_file_is_opened_for_it(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter.keep(1, [(1, None, 10)])
    counter.settle(2, [(1, "mended", 11)])
    monkeypatch.delattr(held_task, "row_groups")
    assert waiting.cursors(TASKS, counter.lake, ORDERS) is None
    assert waiting.cursors(TASKS, counter.lake, replace(ORDERS, cursor=None)) is None
    assert waiting.keys(TASKS, counter.lake, ORDERS) == {}


def test_a_float_a_column_that_the_quarantine_does_not_have_and_a_text_of_another_type_are_left_to_spark(
    counter: Counter,
) -> None:
    counter.keep(1, [(1, None, 10)])
    for ddl, key in (("id double, at bigint", "id"), ("id bigint, other bigint, at bigint", "other")):
        spec = replace(ORDERS, shape=replace(ORDERS.shape, columns=columns(ddl)), key=(key,))
        with pytest.raises(NotByTasks):
            waiting.keys(TASKS, counter.lake, spec)
    for text, kind in (("1.55", "decimal(4,1)"), ("x", "bigint"), ("x", "timestamp")):
        with pytest.raises(NotByTasks):
            waiting.canonical(pa.chunked_array([[text]]), kind)
    assert waiting.canonical(pa.chunked_array([["1.5"]]), "decimal(4,2)").to_pylist() == ["1.50"]


def test_of_a_quarantine_that_was_taken_back_to_before_its_first_row_nothing_waits(counter: Counter) -> None:
    counter.keep(1, [(1, None, 10), (2, None, 20)])
    assert [*waiting.keys(TASKS, counter.lake, ORDERS)] == ["1", "2"]

    roll_back_quarantine(lambda: pytest.fail("Spark was asked"), counter.lake, ORDERS, CommitIds(APP, 2, "back"), 0)

    assert waiting.keys(TASKS, counter.lake, ORDERS) == {}
    assert unfit_keys(counter.lake, ORDERS) == {}
    assert unfit_rows(counter.lake, ORDERS) == NONE_UNFIT
