"""What people did beside syncs, as the checkpoint database keeps it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlalchemy import text

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.model.deed import Act
from tests.ports.stories import DOTTED, ORDERS, TWIN, reset, sync


def test_what_is_asked_for_is_kept_for_each_table_with_what_its_run_came_to(checkpoints: SqlCheckpoints) -> None:
    checkpoints.record_deeds(Act.FULL_REFRESH, [ORDERS, TWIN], "ana@host", "ticket 812", "run")
    checkpoints.record_deeds(Act.RESET, [DOTTED], "bob@host", "", "another run")
    with checkpoints.lease(ORDERS, "run") as lease:
        for event in (*sync(0), reset()):  # of a run of its own
            lease.record(event)

    first, twin, second = checkpoints.deeds(10)

    assert (first.act, first.table, first.by, first.reason, first.run_id) == (
        Act.FULL_REFRESH, ORDERS, "ana@host", "ticket 812", "run",
    )  # fmt: skip
    assert first.came_to == "landed"
    assert (twin.table, twin.came_to) == (TWIN, ""), "an event of a table that is spelt alike is none of it"
    assert (second.table, second.reason, second.came_to) == (DOTTED, "", "")
    assert [each.table for each in checkpoints.deeds(2)] == [TWIN, DOTTED], "the last ones"


def test_a_pause_and_its_end_are_deeds_and_a_resume_of_what_is_not_paused_is_none(checkpoints: SqlCheckpoints) -> None:
    checkpoints.pause("shop", "ana@host", "moved")
    checkpoints.resume("shop", "bob@host")
    checkpoints.resume(ORDERS, "bob@host")

    assert [(str(each.act), each.of, each.by, each.reason) for each in checkpoints.deeds(10)] == [
        ("pause", "shop", "ana@host", "moved"),
        ("resume", "shop", "bob@host", ""),
    ]


def tell(checkpoints: SqlCheckpoints, *reasons: str) -> None:
    for reason in reasons:
        checkpoints.record_deeds(Act.RESET, [ORDERS], "ana@host", reason, "run")


def told(checkpoints: SqlCheckpoints) -> tuple[int, list[str]]:
    """How many rows there are, and the reasons of those that are not as they were written."""
    found = checkpoints.deed_chain()
    return found.rows, [each.reason for each in found.altered]


def edit(url: str, statement: str) -> None:
    with closing(Database(url)) as database, database.transaction(writes=True) as connection:
        connection.execute(text(statement))


def test_rows_are_chained_whoever_writes_them(checkpoints: SqlCheckpoints) -> None:
    assert told(checkpoints) == (0, [])
    tell(checkpoints, "one", "two")
    head = checkpoints.deed_chain().head
    checkpoints.pause("shop", "bob@host", "moved")
    assert told(checkpoints) == (3, [])
    assert checkpoints.deed_chain().head not in ("", head)


@pytest.mark.parametrize(
    ("statement", "seen"),
    [
        ("UPDATE deeds SET reason = 'ticket 1' WHERE reason = 'two'", (4, ["ticket 1"])),
        ("UPDATE deeds SET done_by = 'eve@host' WHERE reason = 'one'", (4, ["one"])),
        ("UPDATE deeds SET chain = '' WHERE reason = 'three'", (4, ["three", "four"])),
        ("DELETE FROM deeds WHERE reason = 'two'", (3, ["three"])),
        ("DELETE FROM deeds WHERE reason = 'one'", (3, ["two"])),
    ],
)
def test_a_row_that_was_edited_or_taken_away_shows(
    checkpoints: SqlCheckpoints, url: str, statement: str, seen: tuple[int, list[str]]
) -> None:
    tell(checkpoints, "one", "two", "three", "four")
    edit(url, statement)
    assert told(checkpoints) == seen


def test_rows_of_a_release_that_had_no_chain_are_not_suspected(checkpoints: SqlCheckpoints, url: str) -> None:
    tell(checkpoints, "one", "two")
    edit(url, "UPDATE deeds SET chain = ''")
    tell(checkpoints, "three")
    assert told(checkpoints) == (3, [])


def test_rows_that_several_write_at_once_are_one_chain(checkpoints: SqlCheckpoints) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: tell(checkpoints, str(number)), range(40)))
    assert told(checkpoints) == (40, [])


def test_another_configuration_is_a_deed_of_whoever_uses_it_first(checkpoints: SqlCheckpoints) -> None:
    for every in ("30s", "30s", "1m", "1m"):
        checkpoints.remember_configuration("shop", {"every": every})
    checkpoints.remember_configuration("store", {"every": "5m"})

    assert [(str(each.act), each.of, each.by, each.reason) for each in checkpoints.deeds(10)] == [
        ("configure", "shop", checkpoints.installation().person, "every is 1m, was 30s")
    ]


def test_who_pauses_and_who_resumes_at_once_wait_for_each_other_in_one_order(checkpoints: SqlCheckpoints) -> None:
    def one(number: int) -> None:
        if number % 2:
            checkpoints.pause("shop", "ana@host", str(number))
        else:
            checkpoints.resume("shop", "bob@host")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(200)))
    assert told(checkpoints)[1] == []


def test_a_configuration_that_several_use_first_at_once_is_one_deed(checkpoints: SqlCheckpoints) -> None:
    checkpoints.remember_configuration("shop", {"every": "30s"})
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: checkpoints.remember_configuration("shop", {"every": "1m"}), range(16)))
    assert [str(each.act) for each in checkpoints.deeds(10)] == ["configure"]
