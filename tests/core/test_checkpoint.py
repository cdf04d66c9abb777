"""Where a table stands after its events: the meaning of every one of them."""

from __future__ import annotations

import pytest

from incremental_assets.core.planning.events import Checkpoint, Event, OpenIntent
from incremental_assets.core.planning.report import Status
from incremental_assets.core.planning.target import AsLeft
from tests.fakes.ledger import fold
from tests.ports.stories import (
    APP,
    abandoned,
    failed,
    fence,
    idle,
    intent,
    landed,
    landed_late,
    rebuilt,
    report,
    reset,
    staged,
    state,
    sync,
)


def test_a_table_without_events_stands_nowhere() -> None:
    assert fold([]) == Checkpoint()


def test_a_sync_leaves_its_state_its_target_and_its_report() -> None:
    assert fold(sync(0)) == Checkpoint(APP, 0, state(0, 1), AsLeft("lake-id", 0, 0), None, report(Status.LANDED, 0, 0))


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ([intent(3)], OpenIntent(3, "batch-3", staged=False)),
        ([intent(3), staged(3)], OpenIntent(3, "batch-3", staged=True)),
        ([intent(3), staged(3), landed(3)], None),
        ([intent(3), staged(3), abandoned(3)], None),
        ([intent(3), abandoned(3)], None),
        # Nothing was sent to the lake before the batch was staged; after it, a commit may be on its way.
        ([intent(3), failed()], None),
        ([intent(3), staged(3), failed()], OpenIntent(3, "batch-3", staged=True)),
        # Another run's failure, such as one that could not reach the lake to take over, closes nothing.
        ([intent(3), failed(run="next")], OpenIntent(3, "batch-3", staged=False)),
        ([failed(), intent(3)], OpenIntent(3, "batch-3", staged=False)),
        # A fence is no intent, and one that was announced before a crash does not hide what it was to fence.
        ([intent(3), staged(3), fence(4)], OpenIntent(3, "batch-3", staged=True)),
        ([intent(3), staged(3), fence(4), landed(3)], None),
        ([intent(3), staged(3), fence(4), abandoned(3), intent(5)], OpenIntent(5, "batch-5", staged=False)),
        ([intent(3), staged(3), reset()], OpenIntent(3, "batch-3", staged=True)),
        ([*sync(0), intent(1), failed(), failed(run="x"), idle(5)], None),
    ],
)
def test_an_intent_is_open_until_its_own_sequence_is_closed(events: list[Event], left: OpenIntent | None) -> None:
    assert fold(events).open == left


@pytest.mark.parametrize(
    ("events", "seq"),
    [
        ([intent(0), staged(0), fence(1), landed(0)], 1),
        ([*sync(0), failed()], 0),
        ([*sync(0), rebuilt(7), idle(3)], 7),
        ([*sync(5), abandoned(3)], 5),
    ],
)
def test_the_last_sequence_is_the_highest_ever_announced(events: list[Event], seq: int) -> None:
    assert fold(events).last_seq == seq


def test_the_newest_state_is_in_force_and_events_without_one_leave_it() -> None:
    assert fold([*sync(0), *sync(1), failed(), intent(2)]).state == state(1, 2)
    assert fold([*sync(0), idle(5)]).state == state(0, 5)
    assert fold([*sync(0), intent(1), staged(1), fence(2), landed(1)]).state == state(1, 2)


def test_a_reset_forgets_the_target_and_a_landed_event_without_one_keeps_it() -> None:
    assert fold([*sync(0), reset()]).target is None
    assert fold([*sync(0), reset(), *sync(1)]).target == AsLeft("lake-id", 1, 1)
    assert fold([*sync(0), rebuilt(7), landed_late(1)]).target == AsLeft("lake-id", 40, 40)
    assert fold([*sync(0), reset(), landed_late(1)]).target is None


def test_the_last_report_is_of_the_last_sync_that_ended() -> None:
    assert fold([*sync(0), failed(), intent(1), reset()]).last_report == report(Status.FAILED)
    assert fold([*sync(0), idle(4), abandoned(0)]).last_report == report(Status.IDLE, hour=4, run="idle")


def test_the_app_id_is_the_newest_one_known() -> None:
    assert fold([*sync(0), failed()]).app_id == APP
    assert fold([*sync(0), rebuilt(7), failed()]).app_id == "another"
