"""Which files of old versions may be removed is decided by times and names alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.model.retention import DELTAS_OWN, StoredFile, current_at, interval, kept_for, unneeded


def day(number: int) -> datetime:
    return datetime(2026, 3, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("times", "moment", "current"),
    [
        ([1, 3, 5], 4, 1),
        ([1, 3, 5], 5, 2),
        ([1, 3, 5], 9, 2),
        ([4, 5, 6], 3, 0),
        ([1, 8, 2, 9], 7, 0),
        ([1, 2, 2, 9], 2, 2),
    ],
    ids=["between", "at", "behind all", "before all", "a time that goes back tells nothing", "several at once"],
)
def test_a_moment_has_the_version_that_was_current_then(times: list[int], moment: int, current: int) -> None:
    assert current_at(dict(enumerate(map(day, times))), day(moment)) == current


def test_versions_that_the_log_has_no_more_are_not_begun_with() -> None:
    assert current_at({7: day(1), 8: day(5)}, day(2)) == 7
    assert current_at({7: day(3), 8: day(5)}, day(2)) == 7


def test_a_file_goes_that_nobody_needs_and_that_was_there_by_then() -> None:
    old, needed, young = (StoredFile(name, 10, day(at)) for name, at in (("old", 1), ("needed", 1), ("young", 5)))
    assert unneeded([old, needed, young], {"needed"}, day(4)) == (old,)
    assert unneeded([old, needed, young], {"needed"}, day(1)) == (old,)
    assert unneeded([young], set(), day(5)) == (young,)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("interval 7 days", timedelta(days=7)),
        ("INTERVAL 1 week 2 days", timedelta(days=9)),
        ("168 hours", timedelta(hours=168)),
        ("interval 1 minute 30 seconds", timedelta(seconds=90)),
        ("interval 0 hours", timedelta()),
        ("interval 1 month", None),
        ("interval '7' days", None),
        ("forever", None),
        ("", None),
    ],
)
def test_what_a_table_promises_its_readers_is_read_as_delta_writes_it(text: str, time: timedelta | None) -> None:
    assert interval(text) == time


def test_files_stay_as_long_as_configured_and_never_shorter_than_the_table_promises() -> None:
    assert kept_for(timedelta(days=30), DELTAS_OWN) == timedelta(days=30)
    assert kept_for(timedelta(days=1), DELTAS_OWN) == timedelta(days=7)
    assert kept_for(timedelta(days=1), timedelta(hours=1)) == timedelta(days=1)
