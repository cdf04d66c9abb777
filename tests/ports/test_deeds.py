"""What people did beside syncs, as the checkpoint database keeps it."""

from __future__ import annotations

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
