"""A batch is compared with the target only where an equal row can be."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.position import DatabasePosition
from incremental_assets.core.captures.database.reading import DatabaseReading
from incremental_assets.core.captures.database.settled_bound import Settled
from incremental_assets.core.landing.overlap import Overlap, eras, overlap
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.schema_drift import Reached, TargetColumn
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, SyncPlan

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
SHAPE = TableShape(TableId("shop", "public", "orders"), (Column("id", "bigint", "bigint", Fidelity.EXACT),))
SPEC = TableSpec(SHAPE, Strategy.APPEND, Cursor("id", CursorType.INTEGER))


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


def plan_after(read: int | None, spec: TableSpec = SPEC, mode: Mode = Mode.SYNC) -> SyncPlan:
    highest = None if read is None else number(read)
    return SyncPlan(
        spec=spec,
        request=Request("r", mode),
        commit_ids=CommitIds("app", 5, "b"),
        reading=DatabaseReading(
            bound=Bound(CLOCK, None, "", None, "", "UTC", None),
            settled=Settled(None, Guarantee.SETTLED, ""),
            along=spec.cursor,
        ),
        previous=State("app", 4, "a", spec.terms, DatabasePosition(max_cursor_read=highest), clock=CLOCK),
    )


def batch(lower: int | None, rows: int = 3) -> Batch:
    return Batch("b", rows, "0", lower=None if lower is None else number(lower))


def test_rows_above_all_that_was_read_land_unchecked() -> None:
    assert overlap(plan_after(10), batch(11), landed=True) is None


def test_a_tie_with_the_highest_cursor_read_is_compared() -> None:
    assert overlap(plan_after(10), batch(10), landed=True) == Overlap(number(10))


def test_rows_without_a_cursor_are_compared_with_the_whole_table() -> None:
    assert overlap(plan_after(10), batch(None), landed=True) == Overlap(None)


def test_what_was_read_is_unknown_after_a_lost_state_so_everything_from_the_batch_on_is_compared() -> None:
    assert overlap(plan_after(None), batch(11), landed=True) == Overlap(number(11))
    assert overlap(replace(plan_after(10), previous=None), batch(11), landed=True) == Overlap(number(11))


@pytest.mark.parametrize(
    ("plan", "landed", "rows"),
    [
        (plan_after(10, mode=Mode.FULL_REFRESH), True, 3),
        (plan_after(10), False, 3),
        (plan_after(10), True, 0),
    ],
    ids=["overwrite", "first load", "empty batch"],
)
def test_nothing_is_compared_where_nothing_is_left_in_place(plan: SyncPlan, landed: bool, rows: int) -> None:
    assert overlap(plan, batch(10, rows), landed=landed) is None


def test_after_a_reset_an_upsert_writes_all_that_it_reads_as_the_copy_may_hold_several_rows_of_a_key() -> None:
    upsert = replace(SPEC, strategy=Strategy.UPSERT, key=("id",))
    plan = plan_after(10, upsert)
    assert overlap(plan, batch(5), landed=True) == Overlap(number(5))
    assert plan.previous is not None
    rewound = replace(plan, previous=plan.previous.rewound(upsert.terms, None))
    assert overlap(rewound, batch(5), landed=True) is None


@pytest.mark.parametrize(
    ("reached", "compared"),
    [
        (Reached("id:integer", "10"), 1),
        (Reached("rev:integer", "10"), 2),
        (Reached("at:timestamp", "2024-01-29T12:00:00Z"), 2),
        (None, 2),
    ],
    ids=["below it", "another cursor", "another type", "unknown"],
)
def test_rows_from_before_a_column_came_are_left_out_only_if_all_of_them_lie_below(
    reached: Reached | None, compared: int
) -> None:
    columns = [TargetColumn("id", "long"), TargetColumn("size", "long", 3, reached)]
    shape = replace(SHAPE, columns=(*SHAPE.columns, Column("size", "bigint", "bigint", Fidelity.EXACT)))
    plan = plan_after(50, replace(SPEC, shape=shape))
    assert len(eras(plan, Overlap(number(11)), columns)) == compared


def test_a_table_without_a_cursor_is_compared_whole() -> None:
    spec = TableSpec(SHAPE, Strategy.APPEND)
    assert overlap(plan_after(None, spec), batch(None), landed=True) == Overlap(None)
