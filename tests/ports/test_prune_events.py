"""Events that are older than the ledger is kept go, and no later question has another answer."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from incremental_assets.adapters.checkpoints import retention
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.checkpoints.tables import checkpoints as rows
from incremental_assets.core.model.deed import Act
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.ports.stories import APP, ORDERS, abandoned, failed, fence, intent, landed, report, staged, state

YEAR = timedelta(days=400)


def recorded(door: SqlCheckpoints, *events: Event) -> None:
    with door.lease(ORDERS, "run") as lease:
        for event in events:
            lease.record(event)


def sync(seq: int, run: str, mode: Mode = Mode.SYNC) -> list[Event]:
    end = landed(seq, run=run)
    assert end.report is not None
    return [intent(seq, run=run), staged(seq, run=run), replace(end, report=replace(end.report, mode=mode))]


def idle(run: str, mode: Mode = Mode.SYNC) -> Event:
    return Event(ORDERS, EventKind.IDLE, run, report=replace(report(Status.IDLE, run=run), mode=mode))


def reset(seq: int, run: str) -> Event:
    return Event(ORDERS, EventKind.RESET, run, app_id=APP, state=state(seq, 0), detail="to the beginning")


def aged(door: SqlCheckpoints, days: list[int]) -> None:
    """How many days ago each event was recorded, in their order."""
    with door._database.transaction(writes=True) as connection:
        ids = connection.execute(select(rows.c.event_id).order_by(rows.c.event_id)).scalars().all()
        for event_id, ago in zip(ids, days, strict=True):
            at = door._database.now(-timedelta(days=ago))
            values = {"at": at, "completed_at": at, "started_at": at}
            connection.execute(update(rows).where(rows.c.event_id == event_id).values(**values))


def answers(door: SqlCheckpoints, runs: list[str]) -> list[Any]:
    """What is asked of the table by whoever syncs, looks or goes back to one of these runs."""
    standing = door.standings()[ORDERS]
    return [
        door.position(ORDERS),
        door.positions(),
        replace(standing, holder=None),
        door.standing_backfills(ORDERS),
        door.last_event(ORDERS),
        door.ledger().read().tally,
        [(door.position_after(ORDERS, run), door.events_since(ORDERS, run)) for run in runs],
    ]


def kinds(door: SqlCheckpoints) -> list[str]:
    return [str(each.event.kind) for each in door.history(ORDERS)]


def test_of_old_syncs_the_counts_stay_and_the_newest_one_stays_whole(checkpoints: SqlCheckpoints) -> None:
    recorded(checkpoints, *sync(1, "a"), *sync(2, "b"), *sync(3, "c"))
    aged(checkpoints, [500] * 9)
    assert checkpoints.prune_events(YEAR) == (4, 2)
    assert kinds(checkpoints) == ["landed", "landed", "intent", "staged", "landed"]
    told = [each.event.report is not None for each in checkpoints.history(ORDERS)]
    assert told == [False, False, False, False, True]
    assert checkpoints.prune_events(YEAR) == (0, 0)


def test_what_is_young_stays_whole(checkpoints: SqlCheckpoints) -> None:
    recorded(checkpoints, *sync(1, "a"), *sync(2, "b"))
    aged(checkpoints, [399] * 6)
    assert checkpoints.prune_events(YEAR) == (0, 0)


def test_a_run_that_is_only_counted_is_none_to_go_back_to(checkpoints: SqlCheckpoints) -> None:
    recorded(checkpoints, reset(0, "z"), *sync(1, "a"), *sync(2, "b"))
    aged(checkpoints, [500] * 7)
    checkpoints.prune_events(YEAR)
    assert checkpoints.position_after(ORDERS, "a") is None
    assert checkpoints.position_after(ORDERS, "b") is not None


def test_what_a_person_s_run_has_recorded_stays_for_the_audit(checkpoints: SqlCheckpoints) -> None:
    checkpoints.record_deeds(Act.RESET, [ORDERS], "ann@host", "ticket 812", "a")
    recorded(checkpoints, reset(0, "a"), *sync(1, "b"), reset(1, "c"), *sync(2, "d"))
    aged(checkpoints, [500] * 8)
    checkpoints.prune_events(YEAR)
    (deed,) = checkpoints.deeds(10)
    assert (deed.run_id, deed.came_to) == ("a", "reset")
    assert checkpoints.history(ORDERS)[0].event.detail == "to the beginning"


def test_an_intent_that_nobody_has_closed_stays_open(checkpoints: SqlCheckpoints) -> None:
    recorded(checkpoints, *sync(1, "a"), intent(2, run="b"), staged(2, run="b"))
    aged(checkpoints, [500] * 5)
    checkpoints.prune_events(YEAR)
    opened = checkpoints.position(ORDERS).open
    assert opened is not None
    assert (opened.seq, opened.staged) == (2, True)


@pytest.mark.parametrize("seed", range(6))
def test_any_course_of_events_answers_as_before(checkpoints: SqlCheckpoints, seed: int) -> None:
    any_course(checkpoints, seed)


def any_course(door: SqlCheckpoints, seed: int) -> None:
    dice, events, runs = random.Random(seed), list[Event](), list[tuple[int, str]]()
    for seq in range(1, 14):
        run = f"run-{seq}"
        mode = dice.choice([Mode.SYNC, Mode.SYNC, Mode.BACKFILL, Mode.FULL_REFRESH, Mode.ROLLBACK])
        course = dice.choice(["sync", "sync", "sync", "idle", "failed", "killed", "reset", "fenced"])
        events += {
            "sync": sync(seq, run, mode),
            "idle": [idle(run, mode)],
            "failed": [intent(seq, run=run), failed(run=run)],
            "killed": [intent(seq, run=run), staged(seq, run=run), abandoned(seq, run=f"{run}-next")],
            "reset": [reset(seq, run)],
            "fenced": [fence(seq, run=run)],
        }[course]
        runs.append((len(events) - 1, run))
    recorded(door, *events)
    youngest = dice.choice([300, 390, 398])
    days = sorted((dice.randint(youngest, 500) for _ in events), reverse=True)
    aged(door, days)
    young = [run for place, run in runs if days[place] < YEAR.days]
    before = answers(door, young)
    door.prune_events(YEAR)
    for mine, theirs in zip(answers(door, young), before, strict=True):
        assert mine == theirs
    assert door.prune_events(YEAR) == (0, 0)


def test_a_variant_that_keeps_the_newest_of_no_kind_is_found(
    checkpoints: SqlCheckpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = retention._asked_for
    monkeypatch.setattr(retention, "_asked_for", lambda c: real(c)[-1:])
    with pytest.raises(AssertionError):
        test_an_intent_that_nobody_has_closed_stays_open(checkpoints)
