"""Where every table stands, by the checkpoint database alone: one value, from SQLite and from PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.operations.standing import Health, Standing, Unfinished
from incremental_assets.core.planning.events import Event
from incremental_assets.core.planning.plan import Mode
from tests.ports.stories import (
    DOTTED,
    ORDERS,
    at,
    failed,
    idle,
    intent,
    landed,
    rebuilt,
    reset,
    staged,
    sync,
)

SYNC = timedelta(seconds=2.5)
"""How long the syncs of these stories say that they took."""


def tell(checkpoints: SqlCheckpoints, *events: Event) -> None:
    with checkpoints.lease(ORDERS, "test") as lease:
        for event in events:
            lease.record(event)


def stands(checkpoints: SqlCheckpoints, table: TableId = ORDERS) -> Standing:
    return checkpoints.standings()[table]


def as_mode(event: Event, mode: Mode) -> Event:
    assert event.report is not None
    return replace(event, report=replace(event.report, mode=mode))


def drifted(rows: int) -> Verified:
    return Verified(at(1).text, (Drifted(Window(None, None), rows),) if rows else ())


def test_no_database_has_no_standings_and_is_not_made(url: str, checkpoints: SqlCheckpoints) -> None:
    assert checkpoints.standings() == {}


def test_a_table_stands_where_its_position_is_and_its_times_are_the_databases(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), *sync(1))

    found = stands(checkpoints)

    assert found.position == checkpoints.position(ORDERS)
    assert found.ended_at == found.landed_at == checkpoints.history(ORDERS)[-1].at
    assert abs(datetime.now(UTC) - found.ended_at) < timedelta(minutes=1)
    assert (found.failed_at, found.holder, found.verified, found.changed, found.unfinished) == (None,) * 5
    assert found.health is Health.OK


def test_a_copy_is_in_step_as_of_when_its_last_sync_began_not_as_of_when_it_ended(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    first = stands(checkpoints)
    assert first.landed_at is not None
    assert first.in_step_at is not None
    assert first.landed_at - first.in_step_at == pytest.approx(SYNC, abs=timedelta(milliseconds=50))

    tell(checkpoints, idle(3))
    second = stands(checkpoints)
    assert second.in_step_at is not None
    assert second.in_step_at > first.in_step_at, "that nothing was there to read is known as well"
    assert second.landed_at == first.landed_at


def test_a_window_that_is_read_again_says_nothing_of_what_came_since(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    before = stands(checkpoints)

    tell(checkpoints, intent(1), as_mode(landed(1), Mode.BACKFILL))

    after = stands(checkpoints)
    assert after.in_step_at == before.in_step_at
    assert after.landed_at != before.landed_at


@pytest.mark.parametrize(
    "back", [reset(), rebuilt(1), as_mode(landed(1), Mode.ROLLBACK)], ids=["reset", "rebuilt", "rolled back"]
)
def test_a_copy_that_was_put_back_is_in_step_with_nothing_until_its_next_sync(
    checkpoints: SqlCheckpoints, back: Event
) -> None:
    tell(checkpoints, *sync(0), back)
    assert stands(checkpoints).in_step_at is None

    tell(checkpoints, *sync(2))
    assert stands(checkpoints).in_step_at is not None


def test_a_failure_is_the_health_of_a_table_until_a_sync_ends_well(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), failed())
    found = stands(checkpoints)
    assert (found.health, found.failed_at) == (Health.ERROR, found.ended_at)

    tell(checkpoints, idle(3))
    assert stands(checkpoints).health is Health.OK
    assert stands(checkpoints).failed_at == found.failed_at


def test_drift_is_a_warning_until_it_is_gone(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    checkpoints.remember_verified(ORDERS, checkpoints.last_event(ORDERS), lambda _, __: drifted(7))

    found = stands(checkpoints)
    assert found.verified is not None
    assert (found.verified.drift, found.health) == (7, Health.WARN)
    assert found.verified_at is not None
    assert abs(datetime.now(UTC) - found.verified_at) < timedelta(minutes=1)

    checkpoints.remember_verified(ORDERS, checkpoints.last_event(ORDERS), lambda _, __: drifted(0))
    assert stands(checkpoints).health is Health.OK


@pytest.mark.parametrize("begun", [[intent(0)], [intent(0), staged(0)]], ids=["intent", "staged"])
def test_who_holds_the_lease_runs_and_without_one_the_run_was_interrupted(
    checkpoints: SqlCheckpoints, begun: list[Event]
) -> None:
    with checkpoints.lease(ORDERS, "run-1") as lease:
        assert stands(checkpoints).position.last_report is None, "nothing was recorded of it yet"
        for event in begun:
            lease.record(event)
        found = stands(checkpoints)
        assert found.unfinished is Unfinished.RUNNING
        assert found.holder is not None
        assert found.holder.run_id == "run-1"
        assert abs(datetime.now(UTC) - found.holder.since) < timedelta(minutes=1)
        assert found.health is None

    found = stands(checkpoints)
    assert (found.unfinished, found.holder, found.health) == (Unfinished.INTERRUPTED, None, Health.WARN)
    tell(checkpoints, landed(0))
    assert stands(checkpoints).unfinished is None


def test_tables_of_alike_names_have_standings_of_their_own(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    with checkpoints.lease(DOTTED, "run") as lease:
        lease.record(landed(4, table=DOTTED))

    found = checkpoints.standings()

    assert {table: standing.position.last_seq for table, standing in found.items()} == {ORDERS: 0, DOTTED: 4}
