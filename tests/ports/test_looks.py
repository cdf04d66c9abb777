"""What is kept of looks at sources, and when a copy was in step by them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.model.look import Look, Looked
from incremental_assets.core.operations.standing import Standing
from incremental_assets.core.planning.events import Event
from tests.ports.stories import DOTTED, ORDERS, reset, sync

MONDAY = datetime(2026, 11, 23, 9, tzinfo=UTC)


def tell(checkpoints: SqlCheckpoints, *events: Event) -> None:
    with checkpoints.lease(ORDERS, "test") as lease:
        for event in events:
            lease.record(event)


def look(*behind: object, kept: int | None = None, since: datetime | None = None, seconds: float = 0.0) -> Look:
    return Look(frozenset(each for each in behind if each is ORDERS or each is DOTTED), seconds, since, kept)


def stands(checkpoints: SqlCheckpoints) -> Standing:
    return checkpoints.standings()[ORDERS]


def looked(checkpoints: SqlCheckpoints) -> Looked:
    return checkpoints.looks()["shop"]


def test_what_a_look_says_of_its_source_is_kept_until_the_next_one(checkpoints: SqlCheckpoints) -> None:
    assert checkpoints.looks() == {}
    checkpoints.record_look("shop", look(kept=3 << 20, since=MONDAY))

    found = looked(checkpoints)
    assert (found.kept_bytes, found.held_back_since, found.answers) == (3 << 20, MONDAY, True)

    checkpoints.record_look("shop", look())
    found = looked(checkpoints)
    assert (found.kept_bytes, found.held_back_since) == (None, None)


def test_a_look_is_as_of_its_beginning(checkpoints: SqlCheckpoints) -> None:
    checkpoints.record_look("shop", look(seconds=3600))

    begun = looked(checkpoints).looked_at
    assert begun is not None
    assert timedelta(minutes=59) < datetime.now(UTC) - begun < timedelta(minutes=61)


def test_a_source_that_does_not_answer_leaves_what_was_known_of_it(checkpoints: SqlCheckpoints) -> None:
    checkpoints.record_look("shop", None)
    assert not looked(checkpoints).answers
    checkpoints.record_look("shop", look(kept=7))
    before = looked(checkpoints)
    assert before.answers

    checkpoints.record_look("shop", None)

    after = looked(checkpoints)
    assert not after.answers
    assert (after.looked_at, after.kept_bytes) == (before.looked_at, 7)


def test_a_table_at_which_nothing_happens_is_in_step_with_each_look(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    landed = stands(checkpoints).landed_at
    checkpoints.record_look("shop", look())

    found = stands(checkpoints)
    assert found.in_step_at == looked(checkpoints).looked_at
    assert found.landed_at == landed, "nothing landed by it"


def test_a_table_with_rows_that_wait_is_in_step_as_of_the_last_look_without_any(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    checkpoints.record_look("shop", look())
    last = looked(checkpoints).looked_at
    checkpoints.record_look("shop", look(ORDERS))
    checkpoints.record_look("shop", look(ORDERS, DOTTED))

    assert stands(checkpoints).in_step_at == last
    assert looked(checkpoints).in_step(DOTTED) != last, "each of its own"

    tell(checkpoints, *sync(1))
    synced = stands(checkpoints).in_step_at
    assert synced is not None
    checkpoints.record_look("shop", look(ORDERS))
    assert stands(checkpoints).in_step_at == synced, "what is older than a sync says nothing of it"


def test_a_table_that_no_look_has_seen_in_step_is_so_by_its_syncs_alone(checkpoints: SqlCheckpoints) -> None:
    checkpoints.record_look("shop", look(ORDERS))
    tell(checkpoints, *sync(0))

    assert looked(checkpoints).in_step(ORDERS) is None
    assert stands(checkpoints).in_step_at is not None


def test_what_was_in_step_before_a_reset_says_nothing_of_the_copy_behind_it(checkpoints: SqlCheckpoints) -> None:
    tell(checkpoints, *sync(0))
    checkpoints.record_look("shop", look())
    tell(checkpoints, reset())

    assert stands(checkpoints).in_step_at is None
