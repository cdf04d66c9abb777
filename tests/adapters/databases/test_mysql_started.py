"""Since when a server of MariaDB or MySQL runs, by the seconds that it counts itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from incremental_assets.adapters.databases.mysql.bound import _started

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_server_started_so_many_seconds_ago() -> None:
    assert _started(NOW, 90) == NOW - timedelta(seconds=90)


def test_one_whose_clock_was_put_back_to_before_its_start_counts_below_zero_without_a_sign_and_may_have_started_just_now() -> (
    None
):
    assert _started(NOW, 2**64 - 60) == NOW
