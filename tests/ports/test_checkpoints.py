"""What every checkpoint table promises, the fake included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from incremental_assets.core.errors import Busy, LeaseLost
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verified import Drifted, Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Checkpoint, Event, EventKind, Unmoved
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.core.planning.target import AsLeft
from incremental_assets.core.ports import Checkpoints
from tests.ports.stories import (
    APP,
    DOTTED,
    ORDERS,
    TWIN,
    abandoned,
    at,
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

Doors = Callable[[], Checkpoints]


def between(lower: int | None, upper: int | None) -> Window:
    return Window(None if lower is None else at(lower), None if upper is None else at(upper))


def tell(checkpoints: Checkpoints, *events: Event) -> None:
    for event in events:
        with checkpoints.lease(event.table, event.run_id) as lease:
            lease.record(event)


def know(checkpoints: Checkpoints, table: TableId, verified: Verified) -> None:
    checkpoints.remember_verified(table, 0, lambda *_: verified)


def test_a_table_never_heard_of_stands_nowhere(open_door: Doors) -> None:
    assert open_door().position(ORDERS) == Checkpoint()
    assert open_door().positions() == {}


def test_what_one_process_records_another_reads_back_to_the_last_field(open_door: Doors) -> None:
    tell(open_door(), *sync(4))
    expected = Checkpoint(APP, 4, state(4, 5), AsLeft("lake-id", 4, 4), None, report(Status.LANDED, 4, 4))
    assert open_door().position(ORDERS) == expected
    assert open_door().positions() == {ORDERS: expected}


@pytest.mark.parametrize(
    ("events", "staged_seq", "is_open"),
    [
        ([*sync(0), intent(1)], False, True),
        ([*sync(0), intent(1), staged(1), failed()], True, True),
        ([*sync(0), intent(1), failed()], False, False),
        ([*sync(0), intent(1), failed(run="other")], False, True),
        ([*sync(0), intent(1), staged(1), fence(2)], True, True),
        ([*sync(0), intent(1), staged(1), fence(2), abandoned(1)], False, False),
        ([*sync(0), intent(1), staged(1), fence(2), landed(1)], False, False),
    ],
)
def test_a_sequence_left_open_is_found(open_door: Doors, events: list[Event], staged_seq: bool, is_open: bool) -> None:
    door = open_door()
    tell(door, *events)
    left = door.position(ORDERS).open
    assert (left is not None) == is_open
    if left is not None:
        assert (left.seq, left.batch_id, left.staged) == (1, "batch-1", staged_seq)


def test_a_failure_tells_its_error_whatever_is_in_it(open_door: Doors) -> None:
    tell(open_door(), failed())
    assert open_door().position(ORDERS).last_report == report(Status.FAILED)


def test_a_reset_forgets_the_target_until_something_lands(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0), reset())
    assert (door.position(ORDERS).target, door.position(ORDERS).state) == (None, reset().state)
    tell(door, *sync(1))
    assert door.position(ORDERS).target == AsLeft("lake-id", 1, 1)


def test_what_was_rebuilt_from_the_lake_stays_in_force(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0), rebuilt(7), landed_late(1))
    position = door.position(ORDERS)
    assert (position.last_seq, position.state, position.target) == (7, state(7, 2), AsLeft("lake-id", 40, 40))


def test_how_far_a_copy_was_verified_is_kept_until_it_is_verified_again(open_door: Doors) -> None:
    door = open_door()
    drifted = (Drifted(between(None, 7), 2), Drifted(between(12, None), 1))
    know(door, TWIN, Verified("2024-01-31T10:00:00Z"))
    know(door, DOTTED, Verified("12"))
    know(door, DOTTED, Verified(None, drifted))
    assert open_door().verified() == {TWIN: Verified("2024-01-31T10:00:00Z"), DOTTED: Verified(None, drifted)}


def test_drift_is_forgotten_where_a_landing_has_read_its_window_again(open_door: Doors) -> None:
    door = open_door()
    know(door, ORDERS, Verified("1", (Drifted(between(1, 7), 2), Drifted(between(12, 14), 1))))
    intent, staged, landed = sync(0)
    assert landed.report is not None
    tell(door, intent, staged, replace(landed, report=replace(landed.report, window=between(1, 10))))
    assert open_door().verified() == {ORDERS: Verified("1", (Drifted(between(12, 14), 1),))}


def test_what_is_verified_is_judged_by_the_last_record_and_by_the_events_since_a_look(open_door: Doors) -> None:
    door, met = open_door(), list[tuple[Verified | None, list[EventKind]]]()

    def judge(known: Verified | None, since: Sequence[Event]) -> Verified | None:
        met.append((known, [event.kind for event in since]))
        return None if known else Verified("12")

    assert door.last_event(ORDERS) == 0
    tell(door, *sync(0))
    tell(door, *sync(0, table=TWIN))
    looked = door.last_event(ORDERS)
    tell(door, *sync(3, table=TWIN))
    assert door.last_event(ORDERS) == looked
    tell(door, reset(), *sync(1))
    for _ in range(2):
        open_door().remember_verified(ORDERS, looked, judge)
    since = [EventKind.RESET, EventKind.INTENT, EventKind.STAGED, EventKind.LANDED]
    assert met == [(None, since), (Verified("12"), since)]
    assert open_door().verified() == {ORDERS: Verified("12")}


def test_nothing_is_verified_of_a_copy_once_its_rollback_has_landed(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0))
    know(door, ORDERS, Verified("12"))
    back = replace(landed(1), report=replace(report(Status.LANDED, 1, 0), mode=Mode.ROLLBACK))
    tell(door, intent(1), staged(1), back)
    assert door.verified() == {ORDERS: Verified(None)}


def test_whose_copy_has_a_name_is_told_to_every_other_table(open_door: Doors) -> None:
    tell(open_door(), *sync(0))
    assert open_door().other_of(APP, TWIN) == ORDERS
    assert open_door().other_of(APP, ORDERS) is None
    assert open_door().other_of("another", TWIN) is None


def test_two_tables_that_are_one_text_are_two(open_door: Doors) -> None:
    assert str(TWIN) == str(DOTTED)
    door = open_door()
    tell(door, *sync(0, table=TWIN), *sync(3, table=DOTTED))
    assert door.position(TWIN).last_seq == 0
    assert door.position(DOTTED).last_seq == 3
    assert set(door.positions()) == {TWIN, DOTTED}


def test_one_writer_per_table_and_any_number_of_tables(open_door: Doors) -> None:
    one, other = open_door(), open_door()
    with one.lease(ORDERS, "first"):
        with pytest.raises(Busy, match=r"shop\.public\.orders: another run is syncing this table") as refusal:
            other.lease(ORDERS, "second").__enter__()
        assert refusal.value.exit_code == 4
        with pytest.raises(Busy):
            one.lease(ORDERS, "third").__enter__()
        with other.lease(TWIN, "second"), other.lease(DOTTED, "second"):
            pass
    with other.lease(ORDERS, "second"):
        pass


def test_a_block_that_raises_lets_go_too(open_door: Doors) -> None:
    def fail() -> None:
        with open_door().lease(ORDERS, "first"):
            raise KeyError("a fault")

    with pytest.raises(KeyError):
        fail()
    with open_door().lease(ORDERS, "second"):
        pass


def test_whoever_was_refused_takes_nothing_from_the_owner(open_door: Doors) -> None:
    one, other = open_door(), open_door()
    with one.lease(ORDERS, "first") as lease:
        for _ in range(2):
            with pytest.raises(Busy):
                other.lease(ORDERS, "second").__enter__()
        lease.record(intent(0))
    assert other.position(ORDERS).last_seq == 0


def test_a_lease_that_was_let_go_records_nothing_more(open_door: Doors) -> None:
    door = open_door()
    with door.lease(ORDERS, "first") as lease:
        lease.record(intent(0))
    with pytest.raises(LeaseLost):
        lease.record(staged(0))
    with open_door().lease(ORDERS, "second"), pytest.raises(LeaseLost):
        lease.record(staged(0))
    assert door.position(ORDERS).open is not None
    assert not door.position(ORDERS).open.staged  # type: ignore[union-attr]


def test_tables_that_stand_still_are_recorded_together(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0), *sync(0, table=TWIN))
    seen = door.positions()

    others = open_door().record_idle([Unmoved(ORDERS, seen[ORDERS], idle(7)), Unmoved(TWIN, seen[TWIN], None)])

    assert others == {}
    expected = replace(seen[ORDERS], state=idle(7).state, last_report=idle(7).report)
    assert door.positions() == {ORDERS: expected, TWIN: seen[TWIN]}


def test_a_table_that_another_run_holds_is_not_recorded_and_the_others_are(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0), *sync(0, table=TWIN))
    seen = door.positions()
    unmoved = [Unmoved(ORDERS, seen[ORDERS], idle(7)), Unmoved(TWIN, seen[TWIN], None)]

    with door.lease(TWIN, "another"):
        others = open_door().record_idle(unmoved)

    assert list(others) == [TWIN]
    assert isinstance(others[TWIN], Busy)
    assert str(others[TWIN]).startswith("shop.public.orders.x: ")
    assert door.position(ORDERS).state == idle(7).state


@pytest.mark.parametrize("since", [[*sync(1)], [intent(1)], [failed()], [reset()]])
def test_a_table_that_has_moved_on_since_it_was_seen_is_not_recorded(open_door: Doors, since: list[Event]) -> None:
    door = open_door()
    tell(door, *sync(0))
    seen = door.position(ORDERS)
    tell(door, *since)
    moved = door.position(ORDERS)

    assert open_door().record_idle([Unmoved(ORDERS, seen, idle(7))]) == {ORDERS: None}
    assert door.position(ORDERS) == moved


def test_a_table_that_nobody_ever_wrote_is_not_recorded_as_standing_still(open_door: Doors) -> None:
    door = open_door()
    assert door.record_idle([Unmoved(ORDERS, Checkpoint(state=state(0, 1)), idle(7))]) == {ORDERS: None}
    assert door.positions() == {}


def test_where_a_run_left_a_table_is_told_whatever_came_after_it(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0), idle(3, run="idle"), intent(1, run="later"), staged(1, run="later"), landed(1, run="later"))
    tell(door, failed(run="broken"))
    assert door.position_after(ORDERS, "nobody") is None
    assert door.position_after(ORDERS, "broken") is None
    first, second = door.position_after(ORDERS, "run"), door.position_after(ORDERS, "idle")
    assert first is not None
    assert second is not None
    assert (first.state, first.target) == (state(0, 1), AsLeft("lake-id", 0, 0))
    assert (second.state, second.target) == (state(0, 3), AsLeft("lake-id", 0, 0))
    later = door.position_after(ORDERS, "later")
    assert later is not None
    assert (later.state, later.target) == (state(1, 2), AsLeft("lake-id", 1, 1))


def test_what_was_recorded_since_a_run_is_told_in_its_order(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0), idle(3, run="idle"), intent(1, run="later"), staged(1, run="later"), landed(1, run="later"))
    assert door.events_since(ORDERS, "nobody") == ()
    assert door.events_since(ORDERS, "later") == ()
    since = door.events_since(ORDERS, "idle")
    assert [event.kind for event in since] == [EventKind.INTENT, EventKind.STAGED, EventKind.LANDED]
    assert since[-1].state == state(1, 2)
    assert since[-1].report == landed(1, run="later").report
    assert [event.kind for event in door.events_since(ORDERS, "run")] == [
        EventKind.IDLE,
        *(each.kind for each in since),
    ]


def test_after_a_reset_no_version_is_known_to_be_a_runs_own(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0), reset(), idle(3, run="idle"))
    found = door.position_after(ORDERS, "idle")
    assert found is not None
    assert (found.state, found.target) == (state(0, 3), None)


def test_after_another_source_was_accepted_the_version_of_the_copy_is_still_known(open_door: Doors) -> None:
    door = open_door()
    tell(door, *sync(0), replace(reset(), target=AsLeft("lake-id", 0, 0)), idle(3, run="idle"))
    assert door.position(ORDERS).target == AsLeft("lake-id", 0, 0)
    found = door.position_after(ORDERS, "idle")
    assert found is not None
    assert (found.state, found.target) == (state(0, 3), AsLeft("lake-id", 0, 0))


def test_the_drift_that_a_check_has_found_is_kept_through_the_landing_of_its_repair(open_door: Doors) -> None:
    door, drift = open_door(), Drifted(between(0, 1), 3)
    tell(door, *sync(0))
    know(door, ORDERS, Verified("0", (drift,), "9"))
    mended = replace(landed(1), report=replace(report(Status.LANDED, 1, 0), mode=Mode.REPAIR))
    tell(door, intent(1), staged(1), mended)
    assert door.verified()[ORDERS] == Verified("0", (drift,), "9")
    tell(door, *sync(2))
    assert door.verified()[ORDERS].reached is not None
