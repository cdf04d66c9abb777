"""What a person has paused is leased by nobody: the same in memory, in SQLite and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.errors import Busy, Paused
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Unmoved
from incremental_assets.core.ports import Checkpoints
from tests.fakes import FakeCheckpoints
from tests.ports.stories import DOTTED, ORDERS, TWIN, intent, sync

OTHER = TableId("store", "public", "orders")


def paused(door: Checkpoints, what: str | TableId, reason: str = "moved") -> None:
    if isinstance(door, FakeCheckpoints):
        source, table = (what, None) if isinstance(what, str) else (what.source, what)
        door.memory.pauses.append(Pause(source, table, "ana@host", reason, datetime(2026, 11, 28, tzinfo=UTC)))
    else:
        assert isinstance(door, SqlCheckpoints)
        door.pause(what, "ana@host", reason)


def leased(door: Checkpoints, table: TableId, *, even_paused: bool = False) -> bool:
    try:
        with door.lease(table, "run", even_paused=even_paused) as lease:
            lease.record(intent(0, table=table) if table is not ORDERS else intent(0))
    except Paused:
        return False
    return True


def test_a_table_that_is_paused_is_leased_by_nobody_and_every_other_one_is(
    open_door: Callable[[], Checkpoints],
) -> None:
    paused(open_door(), DOTTED)
    door = open_door()

    assert [leased(door, table) for table in (DOTTED, TWIN, ORDERS, OTHER)] == [False, True, True, True]
    with pytest.raises(Paused, match=r"by ana@host: moved; nothing of it is synced before `incremental-assets resume"):
        door.lease(DOTTED, "run").__enter__()


def test_a_source_is_paused_with_tables_that_it_does_not_have_yet(open_door: Callable[[], Checkpoints]) -> None:
    paused(open_door(), "shop")
    door = open_door()

    assert [leased(door, table) for table in (ORDERS, DOTTED, OTHER)] == [False, False, True]
    found = door.pauses().of(ORDERS)
    assert found is not None
    assert (found.table, found.what) == (None, "shop")


def test_what_a_person_confirms_by_name_is_not_stopped_by_a_pause(open_door: Callable[[], Checkpoints]) -> None:
    paused(open_door(), ORDERS)
    assert leased(open_door(), ORDERS, even_paused=True)


def test_not_even_an_idle_table_is_recorded_while_it_is_paused(open_door: Callable[[], Checkpoints]) -> None:
    door = open_door()
    with door.lease(ORDERS, "run") as lease:
        for event in sync(0):
            lease.record(event)
    paused(door, ORDERS)

    others = door.record_idle([Unmoved(ORDERS, door.position(ORDERS), None)])

    assert isinstance(others[ORDERS], Paused)


def test_a_run_that_has_begun_is_named_and_ends(checkpoints: SqlCheckpoints) -> None:
    with checkpoints.lease(ORDERS, "their run") as lease:
        _, holders = checkpoints.pause("shop", "ana@host", "moved")
        assert set(holders) == {ORDERS}
        assert isinstance(holders[ORDERS], Busy)
        assert "their run" in str(holders[ORDERS])
        lease.record(intent(0))
    assert not leased(checkpoints, ORDERS)


def test_a_pause_that_is_given_another_reason_stays_of_its_beginning(checkpoints: SqlCheckpoints) -> None:
    first, _ = checkpoints.pause(ORDERS, "ana@host", "moved")
    second, _ = checkpoints.pause(ORDERS, "bob@host", "until Friday")

    assert (second.by, second.reason, second.since) == ("bob@host", "until Friday", first.since)
    assert len(checkpoints.pauses().all) == 1


def test_what_is_resumed_is_leased_again_unless_its_source_is_paused(checkpoints: SqlCheckpoints) -> None:
    checkpoints.pause(ORDERS, "ana@host", "moved")
    checkpoints.pause("shop", "ana@host", "moved")

    assert checkpoints.resume(ORDERS, "ana@host") is not None
    assert not leased(checkpoints, ORDERS)
    assert checkpoints.resume("shop", "ana@host") is not None
    assert leased(checkpoints, ORDERS)
    assert checkpoints.resume(ORDERS, "ana@host") is None


def test_a_pause_is_news_for_whoever_watches_the_ledger(checkpoints: SqlCheckpoints) -> None:
    ledger = checkpoints.ledger()
    with checkpoints.lease(ORDERS, "run") as lease:
        lease.record(intent(0))
    seen = [ledger.revision()]
    for act in (lambda: checkpoints.pause(ORDERS, "ana", "a"), lambda: checkpoints.resume(ORDERS, "ana@host")):
        act()
        seen.append(ledger.revision())

    assert seen[0] != seen[1] != seen[2]
    checkpoints.pause("shop", "ana", "a")
    assert ledger.read().pauses.of(ORDERS) is not None
