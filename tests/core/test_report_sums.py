"""What several syncs of a table have landed is told as one: rows and seconds added up, and the weaker promise."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.history import HistoryRows
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from incremental_assets.core.strategies import Strategy


def number(value: int) -> CursorValue:
    return CursorValue.of(CursorType.INTEGER, value)


MORNING = SyncReport(
    TableId("shop", "public", "orders"),
    "one",
    Strategy.UPSERT,
    Mode.SYNC,
    Status.LANDED,
    Guarantee.BEST_EFFORT,
    "a clock was put back",
    window=Window(number(0), number(10)),
    previous_watermark=number(0),
    new_watermark=number(10),
    rows=RowCounts(read=10, inserted=9, updated=1),
    target_version=1,
    history=HistoryRows(added=10, version=1, rows=10),
    seconds=1.5,
    phases=(("read", 1.0), ("apply", 0.5)),
    warnings=("a clock was put back",),
)
NOON = replace(
    MORNING,
    run_id="two",
    guarantee=Guarantee.SETTLED,
    guarantee_reason="",
    window=Window(number(10), number(15)),
    previous_watermark=number(10),
    new_watermark=number(15),
    rows=RowCounts(read=5, inserted=3, updated=1, deleted=1),
    target_version=2,
    history=HistoryRows(added=5, ended=2, version=2, rows=15),
    seconds=0.5,
    phases=(("read", 0.25), ("confirm", 0.25)),
    warnings=("a clock was put back", "two rows were late"),
)


def test_two_landings_are_one_with_the_rows_of_both_and_the_weaker_promise() -> None:
    assert NOON.since(MORNING) == replace(
        NOON,
        guarantee=Guarantee.BEST_EFFORT,
        guarantee_reason="a clock was put back",
        window=Window(number(0), number(15)),
        previous_watermark=number(0),
        rows=RowCounts(read=15, inserted=12, updated=2, deleted=1),
        history=HistoryRows(added=15, ended=2, version=2, rows=15),
        seconds=2.0,
        phases=(("read", 1.25), ("apply", 0.5), ("confirm", 0.25)),
    )


def test_a_sync_that_found_nothing_adds_nothing() -> None:
    idle = replace(NOON, status=Status.IDLE, rows=RowCounts(), history=None, target_version=None, warnings=())
    found = idle.since(MORNING)
    assert (found.status, found.rows, found.history) == (Status.LANDED, MORNING.rows, MORNING.history)
    assert (found.guarantee, found.new_watermark, found.target_version) == (Guarantee.SETTLED, number(15), 1)


def test_a_history_that_followed_while_nothing_landed_is_told_too() -> None:
    idle = replace(NOON, status=Status.IDLE, rows=RowCounts())
    assert idle.since(MORNING).history == HistoryRows(added=15, ended=2, version=2, rows=15)


def test_a_history_that_only_one_of_them_has_touched_is_as_that_one_left_it() -> None:
    assert replace(NOON, history=None).since(MORNING).history == MORNING.history
    assert NOON.since(replace(MORNING, history=None)).history == NOON.history
