"""What looks record of when copies were late: days that are made up, as rows, and looks that add to them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import event, insert, select, update

from incremental_assets.adapters.checkpoints import tables
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.model.kept import Ends, Kept
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.objective import Objectives, Within
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.burn_rates import MONTH
from incremental_assets.core.planning.events import Event
from tests.ports.stories import DOTTED, ORDERS, failed, idle, reset, sync

SLO = Objectives(Within.parse("95% within 5m"), Decimal("0.999"))
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NAMES = {"source": "shop", "schema_name": "public", "table_name": "orders"}


@pytest.fixture
def now(checkpoints: SqlCheckpoints) -> datetime:
    checkpoints.installation()
    return now_of(checkpoints)


def now_of(checkpoints: SqlCheckpoints) -> datetime:
    found = checkpoints.kept({ORDERS: SLO})[ORDERS]
    return found.until


def put(checkpoints: SqlCheckpoints, table: Any, *rows: dict[str, Any]) -> None:
    with checkpoints._database.transaction(writes=True) as connection:
        connection.execute(insert(table), [{**NAMES, **row} for row in rows])


def look(*behind: TableId, of: tuple[TableId, ...] = (ORDERS,), seconds: float = 0.0) -> Look:
    assert SLO.freshness is not None
    return Look(frozenset(behind), seconds, within=dict.fromkeys(of, SLO.freshness.within))


def looked(checkpoints: SqlCheckpoints, ago: timedelta, *behind: TableId) -> None:
    """A look that began so long ago."""
    checkpoints.record_look("shop", look(*behind, seconds=ago.total_seconds()))


def tell(checkpoints: SqlCheckpoints, *events: Event, ago: timedelta = timedelta()) -> None:
    with checkpoints.lease(ORDERS, "test") as lease:
        for event in events:
            lease.record(event)
    at = now_of(checkpoints) - ago
    with checkpoints._database.transaction(writes=True) as connection:
        c = tables.checkpoints.c
        newest = connection.execute(select(c.event_id).order_by(c.event_id.desc()).limit(len(events))).scalars().all()
        moved = update(tables.checkpoints).where(c.event_id.in_(newest))
        connection.execute(moved.values(at=at))
        connection.execute(moved.where(c.started_at.is_not(None)).values(started_at=at, completed_at=at))


def kept(checkpoints: SqlCheckpoints) -> Kept:
    return checkpoints.kept({ORDERS: SLO})[ORDERS]


def minutes(checkpoints: SqlCheckpoints) -> list[tuple[int, int]]:
    """When it was late: from so many minutes ago, for so many minutes."""
    found = kept(checkpoints)
    return [
        (round((found.until - each.begins) / MINUTE), round((each.ends - each.begins) / MINUTE)) for each in found.late
    ]


def test_nothing_is_known_before_anything_happened(checkpoints: SqlCheckpoints) -> None:
    found = checkpoints.kept({ORDERS: SLO}).get(ORDERS)
    assert found is None or (found.since, found.late, found.ends) == (None, (), {})
    assert checkpoints.kept({}) == {}


def test_days_of_lateness_are_those_of_the_last_month_and_without_pauses(
    checkpoints: SqlCheckpoints, now: datetime
) -> None:
    put(checkpoints, tables.objectives, {"since": now - 60 * DAY})
    spans = ((now - 50 * DAY, HOUR), (now - 9 * DAY, 4 * HOUR), (now - 2 * DAY, HOUR))
    put(checkpoints, tables.late, *({"begins": begins, "ends": begins + lasts} for begins, lasts in spans))
    looked(checkpoints, timedelta())
    acts = (("pause", 9 * DAY - HOUR), ("pause", 9 * DAY - 2 * HOUR), ("resume", 9 * DAY - 3 * HOUR))
    for act, ago in acts:
        of_whole = {"schema_name": "", "table_name": ""}
        put(
            checkpoints,
            tables.deeds,
            {**of_whole, "at": now - ago, "act": act, "done_by": "ana", "reason": "", "run_id": ""},
        )

    assert minutes(checkpoints) == [(9 * 1440, 60), (9 * 1440 - 180, 60), (2 * 1440, 60)]
    found = kept(checkpoints)
    assert found.since is not None
    assert abs(found.since - (now - 60 * DAY)) < MINUTE


def test_syncs_of_a_month_are_counted_by_how_they_ended_and_when(checkpoints: SqlCheckpoints, now: datetime) -> None:
    with checkpoints.lease(ORDERS, "run"):
        pass
    rows = [
        ("landed", "landed", 40 * DAY),
        ("failed", "failed", 35 * DAY),
        ("landed", "landed", 10 * DAY),
        ("failed", "failed", 2 * DAY),
        ("failed", "refused", 2 * DAY),
        ("landed", "landed", 2 * HOUR - MINUTE),
        ("idle", "idle", 10 * MINUTE),
        ("landed", "landed", MINUTE),
    ]
    same = {
        "source_table": "shop.public.orders",
        "sync_id": "s",
        "run_id": "r",
        "batch_id": "",
        "app_id": "",
        "detail": "",
    }
    put(
        checkpoints,
        tables.checkpoints,
        *(
            {
                **same,
                "event": event,
                "status": status,
                "at": now - ago,
                "started_at": now - ago,
                "completed_at": now - ago,
            }
            for event, status, ago in rows
        ),
    )

    ends = kept(checkpoints).ends
    assert ends[MONTH] == Ends(3, 1)
    assert ends[3 * DAY] == Ends(2, 1)
    assert ends[DAY] == ends[2 * HOUR] == Ends(2, 0)
    assert ends[HOUR] == ends[5 * MINUTE] == Ends(1, 0)


def test_a_table_that_looks_see_in_step_costs_no_row(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), ago=20 * MINUTE)
    for ago in (12, 8, 4, 0):
        looked(checkpoints, ago * MINUTE)

    assert minutes(checkpoints) == []
    since = kept(checkpoints).since
    assert since is not None
    assert round((now_of(checkpoints) - since) / MINUTE) == 12
    with checkpoints._database.transaction() as connection:
        assert connection.execute(select(tables.late)).all() == []


def statements(checkpoints: SqlCheckpoints, does: Callable[[], object]) -> int:
    asked: list[str] = []
    engine = checkpoints._database._engine
    listener = lambda *given: asked.append(given[2])  # noqa: E731 - removed below
    event.listen(engine, "before_cursor_execute", listener)
    does()
    event.remove(engine, "before_cursor_execute", listener)
    return len(asked)


def test_a_thousand_tables_in_step_cost_as_many_statements_as_one(checkpoints: SqlCheckpoints) -> None:
    def cost(number: int) -> tuple[int, int]:
        tables_of = tuple(TableId("shop", "public", f"t{each}") for each in range(number))
        for _ in range(2):
            checkpoints.record_look("shop", look(of=tables_of))
        look_again = statements(checkpoints, lambda: checkpoints.record_look("shop", look(of=tables_of)))
        return look_again, statements(checkpoints, lambda: checkpoints.kept(dict.fromkeys(tables_of, SLO)))

    tell(checkpoints, *sync(0))
    assert cost(1) == cost(40)


def test_a_table_behind_is_late_from_the_limit_on_and_its_looks_make_one_span(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), ago=40 * MINUTE)
    looked(checkpoints, 30 * MINUTE)
    for ago in (28, 20, 16, 12):
        looked(checkpoints, ago * MINUTE, ORDERS)
    assert minutes(checkpoints) == [(25, 13), (12, 12)], "recorded up to the last look, and known up to now"

    tell(checkpoints, *sync(1), ago=10 * MINUTE)
    looked(checkpoints, 8 * MINUTE)
    looked(checkpoints, 4 * MINUTE)

    assert minutes(checkpoints) == [(25, 15)]
    with checkpoints._database.transaction() as connection:
        assert len(connection.execute(select(tables.late)).all()) == 1


def test_a_sensor_that_stood_still_leaves_a_table_late_less_what_syncs_have_read(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), ago=130 * MINUTE)
    looked(checkpoints, 120 * MINUTE)
    tell(checkpoints, idle(3), ago=60 * MINUTE)
    looked(checkpoints, timedelta())

    assert minutes(checkpoints) == [(115, 55), (55, 55)]


def test_a_copy_that_was_put_back_is_late_until_it_is_read_again(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), ago=20 * MINUTE)
    looked(checkpoints, 12 * MINUTE)
    tell(checkpoints, reset(), ago=11 * MINUTE)
    looked(checkpoints, 10 * MINUTE, ORDERS)
    looked(checkpoints, 8 * MINUTE, ORDERS)
    tell(checkpoints, *sync(1), ago=6 * MINUTE)
    looked(checkpoints, 3 * MINUTE)

    assert minutes(checkpoints) == [(11, 5)]


def test_a_source_that_does_not_answer_leaves_its_tables_late(checkpoints: SqlCheckpoints) -> None:
    looked(checkpoints, 31 * MINUTE)
    looked(checkpoints, 30 * MINUTE)
    checkpoints.record_look("shop", None)

    assert minutes(checkpoints) == [(25, 25)]


def test_an_objective_that_is_removed_is_forgotten_and_begins_anew(checkpoints: SqlCheckpoints) -> None:
    looked(checkpoints, 40 * MINUTE, ORDERS)
    looked(checkpoints, 30 * MINUTE, ORDERS)
    assert minutes(checkpoints) != []
    checkpoints.record_look("shop", look(ORDERS, of=(DOTTED,)))

    assert kept(checkpoints).since is None
    assert kept(checkpoints).late == ()
    looked(checkpoints, timedelta())
    assert kept(checkpoints).late == ()


def test_failures_are_counted_once_they_are_recorded(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0), ago=MINUTE)
    tell(checkpoints, failed(), ago=MINUTE)

    assert kept(checkpoints).ends[HOUR] == Ends(1, 1)
