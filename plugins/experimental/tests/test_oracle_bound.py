"""Oracle's settled bound, of answers as a server would give them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from incremental_assets.core.model.source_identity import Compared
from incremental_assets_experimental.oracle.bound import Answers, bound_of
from plugins.experimental.tests.oracle_recorded import IDENTITY, NOW, TEN

QUIET = Answers((NOW, 0), "PRIMARY", [(0,)], [], [], [], [IDENTITY], (NOW, 0))


def test_nobody_at_work_is_nobody() -> None:
    found = bound_of(QUIET)
    assert (found.clock, found.oldest, found.blind, found.prepared, found.zone) == (TEN, None, "", None, "UTC")


def test_the_oldest_of_calls_and_transactions_holds_with_what_their_times_leave_out() -> None:
    busy = replace(
        QUIET,
        calls=[(51, 60, "A", "x")],
        transactions=[("1.2.3", "2024-05-01T09:58:00", 52, "B", "y")],
    )
    found = bound_of(busy)
    assert (found.oldest, found.holder) == (TEN - timedelta(seconds=121), "session 52, B, y")
    assert found.newest == TEN - timedelta(seconds=64)


def test_the_begin_of_a_transaction_is_a_reading_of_the_servers_own_clock() -> None:
    """Central Europe on 2024-10-27: 02:30 was at 00:30Z and again at 01:30Z."""
    found = bound_of(
        replace(
            QUIET,
            clock=("2024-10-27T01:40:00.000000", 60),
            transactions=[("1.2.3", "2024-10-27T02:30:00", 52, "B", "y")],
        )
    )
    assert found.oldest == datetime(2024, 10, 27, 0, 29, 59, tzinfo=UTC)
    assert found.zone == "Etc/GMT-1"


@pytest.mark.parametrize(
    "answers",
    [{"transactions": [("1.2.3", "2024-05-01T09:58:00", None, None, None)]}, {"pending": [("1.2.3",)]}],
    ids=["without a session", "in doubt"],
)
def test_a_prepared_transaction_stops_the_watermark(answers: dict[str, Any]) -> None:
    found = bound_of(replace(QUIET, **answers))
    assert found.prepared is not None
    assert "1.2.3, of a distributed transaction whose coordinator" in found.prepared
    # After a crash it shows when the server was started: it holds the watermark by itself.
    assert found.oldest is None


@pytest.mark.parametrize("part", ["instances", "calls", "transactions", "pending"])
def test_what_was_not_granted_makes_blind_and_says_its_cure(part: str) -> None:
    assert "GRANT SELECT ON SYS.V_$SESSION" in bound_of(replace(QUIET, **{part: None})).blind


def test_a_standby_and_a_cluster_prove_nothing() -> None:
    assert "read the primary" in bound_of(replace(QUIET, role="PHYSICAL STANDBY")).blind
    assert "clocks of 2 instances" in bound_of(replace(QUIET, instances=[(2,)])).blind


def test_a_restored_database_is_older_and_another_one_is_another() -> None:
    def of(*identity: int) -> Any:
        return bound_of(replace(QUIET, identity=[identity])).identity

    here = of(*IDENTITY)
    assert of(4001, 4002, 17, 4_999_999).compared_with(here) is Compared.OLDER
    assert of(4001, 4002, 99, 5_000_001).compared_with(here) is Compared.SAME
    assert of(4001, 4002, 99, 5_000_001).timeline != here.timeline
    assert of(4001, 4003, 17, 5_000_001).compared_with(here) is Compared.OTHER
    assert bound_of(replace(QUIET, identity=None)).identity is None
