"""What is kept of a look at a source: what its log keeps for us, and since when a table was in step."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.log.observation import LogObservation, LogSeen, kept_by
from incremental_assets.core.model.look import Looked
from incremental_assets.core.operations.standing import in_step
from tests.fakes import SimulatedDatabase
from tests.scenario import COUNTRIES, MONDAY, ORDERS, ORDERS_SHAPE

BOUND = SimulatedDatabase(ORDERS_SHAPE, clock=MONDAY).bound()
NINE = datetime(2026, 11, 23, 9, tzinfo=UTC)
TEN = NINE + timedelta(hours=1)


def logged(kept: int | None) -> LogObservation:
    return LogObservation(BOUND, log=None if kept is None else LogSeen(1, 2, "one/1", kept_bytes=kept))


def test_what_a_log_keeps_is_known_where_a_table_is_read_from_it() -> None:
    assert kept_by([DatabaseObservation(BOUND), logged(7), logged(7)]) == 7
    assert kept_by([logged(0)]) == 0


def test_what_no_look_has_asked_of_a_log_is_not_known_and_not_nothing() -> None:
    assert kept_by([DatabaseObservation(BOUND), logged(None)]) is None
    assert kept_by([]) is None


def test_a_table_that_waits_was_in_step_when_it_last_was_and_the_others_are_now() -> None:
    looked = Looked(looked_at=TEN, behind={ORDERS: NINE})
    assert (looked.in_step(ORDERS), looked.in_step(COUNTRIES)) == (NINE, TEN)
    assert Looked(looked_at=TEN, behind={ORDERS: None}).in_step(ORDERS) is None


@pytest.mark.parametrize(
    ("looked", "synced", "put_back", "known"),
    [
        (None, None, None, None),
        (NINE, TEN, None, TEN),
        (TEN, NINE, None, TEN),
        (NINE, None, TEN, None),
        (TEN, None, NINE, TEN),
        # A sync that rebuilt its position began before it did, and read on to the end all the same.
        (NINE, NINE, TEN, NINE),
    ],
)
def test_a_copy_is_in_step_by_a_look_or_by_a_sync_and_not_by_a_look_before_it_was_put_back(
    looked: datetime | None, synced: datetime | None, put_back: datetime | None, known: datetime | None
) -> None:
    assert in_step(looked, synced, put_back) == known
