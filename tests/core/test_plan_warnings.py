"""What does a plan tell of the source, and of rows that are late or were never read?"""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from tests.core.plans import NOON, REFRESH, SHOP, backfill, landed, marks, moment, nothing, number, planned, seen
from tests.scenario import countries, orders
from tests.snapshots import as_read

# --- the source ------------------------------------------------------------------------------------------------


def test_a_highest_number_below_what_was_read_is_warned_about_whether_anything_moved_or_not() -> None:
    spec, mark = orders(Strategy.APPEND, cursor="id"), marks(number(31))
    covered = (Window(None, number(31)),)
    state = landed(spec, number(31), fingerprint=mark, max_cursor_read=number(40), coverage=covered)
    told = nothing(spec, state, seen(highest=5, fingerprint=mark)).warnings
    assert len(told) == 1
    assert re.search(
        r"highest 'id' in the source is 5 where 40 had been read.*reset --select shop\.public\.orders", told[0]
    )
    assert planned(spec, state, seen(highest=5, fingerprint=marks(number(31), "18"))).warnings == told
    assert nothing(spec, state, seen(highest=40, fingerprint=mark)).warnings == ()
    assert planned(spec, state, seen(highest=5), REFRESH).warnings == ()


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ("2024-01-31T11:00:00Z", ["is 2024-01-31T11:00:00Z where 2024-01-31T11:30:00Z had been read"]),
        (None, ["is below 2024-01-31T10:00:00Z where 2024-01-31T11:30:00Z had been read"]),
        ("2024-01-31T11:30:00Z", []),
        ("2024-01-31T11:45:00Z", []),
    ],
)
def test_a_latest_stamp_that_is_gone_is_said(now: str | None, words: list[str]) -> None:
    lower = CursorValue(CursorType.TIMESTAMP, "2024-01-31T10:00:00Z")
    state = landed(orders(), lower, fingerprint=Fingerprint(lower, 2, "2024-01-31T11:30:00Z", "1"))
    found = planned(orders(), state, seen(fingerprint=Fingerprint(lower, 1, now, "2")))
    assert [warning for warning in found.warnings if "the latest" in warning] == [
        warning for warning in found.warnings if any(word in warning for word in words)
    ]
    assert len([warning for warning in found.warnings if "the latest" in warning]) == len(words)


def test_another_timeline_of_the_same_source_is_warned_about_and_goes_on() -> None:
    mark, promoted = marks(moment("10:00:00")), replace(SHOP, timeline=2, position=2000)
    covered = (Window(None, moment("10:00:00")),)
    state = landed(orders(), moment("10:00:00"), fingerprint=mark, coverage=covered)
    told = nothing(orders(), state, seen(fingerprint=mark, identity=promoted)).warnings
    assert len(told) == 1
    assert "from timeline 1 to 2" in told[0]
    assert (
        planned(orders(), state, seen(fingerprint=marks(moment("10:00:00"), "18"), identity=promoted)).warnings == told
    )
    assert (
        planned(countries(), landed(countries(), clock=NOON - timedelta(days=2)), seen(identity=promoted)).warnings
        == told
    )


def test_a_source_that_does_not_say_which_database_it_is_is_told_and_what_was_known_of_it_is_kept() -> None:
    state = landed(orders(), moment("10:00:00"))
    assert state.identity is not None
    bound = replace(seen().bound, identity=None)
    found = planned(orders(), state, replace(seen(), bound=bound))
    assert "does not say which database it is" in found.warnings[0]
    assert landed_state(found, as_read(1, None, None)).identity == state.identity


# --- rows that were never read ------------------------------------------------------------------------------


@pytest.mark.parametrize("seq", [1, 2], ids=["its first sync", "one after it"])
def test_a_start_in_the_future_is_told_and_its_correction_reads_all_that_was_asked_for(seq: int) -> None:
    typed, meant = orders(start="2062-01-01T00:00:00Z"), orders(start="2024-01-31T10:00:00Z")
    first = planned(typed, None, seen())
    state = landed_state(first, as_read(0, None, marks(first.reading.fingerprint_lower)))
    if seq == 2:
        state = landed_state(
            planned(typed, state, seen(fingerprint=marks(None))),
            as_read(0, None, marks(first.reading.fingerprint_lower)),
        )
    assert (first.reading.new_watermark, state.position.watermark, state.position.coverage) == (None, None, ())
    (told,) = first.warnings
    assert told.startswith("`start` is 2062-01-01T00:00:00Z, and the source is at 2024-01-31T12:00:00Z: no row is read")

    found = planned(meant, state, seen(fingerprint=state.position.fingerprint))
    assert (found.reading.window.lower, found.reading.new_watermark, found.warnings) == (
        moment("10:00:00"),
        moment("11:59:58"),
        (),
    )


def test_a_start_above_the_highest_number_is_told_and_its_correction_reads_all_that_was_asked_for() -> None:
    typed, meant = orders(cursor="id", start="1000"), orders(cursor="id", start="1")
    first = planned(typed, None, seen(highest=2))
    assert (first.reading.new_watermark, ["`start` is 1000" in told for told in first.warnings]) == (None, [True])
    state = landed_state(first, as_read(0, None, marks(number(1000))))
    later = seen(NOON + timedelta(minutes=1), highest=3, fingerprint=state.position.fingerprint)
    idle = nothing(typed, state, later)
    assert (idle.state and idle.state.position.watermark, ["`start` is 1000" in told for told in idle.warnings]) == (
        None,
        [True],
    )
    assert planned(meant, idle.state or state, later).reading.window.lower == number(1)
    assert planned(typed, None, seen(highest=1000)).warnings == ()


@pytest.mark.parametrize("start", ["09:00:00", None], ids=["lowered", "taken away"])
def test_a_start_that_was_lowered_is_told_until_the_rows_are_read(start: str | None) -> None:
    covered = Window(moment("10:00:00"), moment("10:30:00"))
    state = landed(orders(), moment("10:30:00"), coverage=(covered,))
    assert planned(replace(orders(), start=moment("10:00:00")), state, seen()).warnings == ()
    lowered = replace(orders(), start=moment(start))
    (told,) = planned(lowered, state, seen()).warnings
    assert "is below 2024-01-31T10:00:00Z were never read: read them with `incremental-assets reset" in told
    assert planned(lowered, state.rewound(lowered.terms, None), seen()).warnings == ()


def test_every_hole_that_a_backfill_leaves_below_the_watermark_is_told() -> None:
    spec = orders(start="2024-01-31T06:00:00Z")
    state = landed(spec, moment("10:30:00"), coverage=(Window(moment("10:00:00"), moment("10:30:00")),))
    part = landed_state(
        planned(spec, state, seen(), backfill("06:00:00", "08:00:00")), as_read(5, moment("07:59:00"), None)
    )
    (told,) = planned(spec, part, seen()).warnings
    assert "is from 2024-01-31T08:00:00Z to below 2024-01-31T10:00:00Z were never read" in told

    more = landed_state(
        planned(spec, state, seen(), backfill("07:00:00", "08:00:00")), as_read(5, moment("07:59:00"), None)
    )
    (told,) = planned(spec, more, seen()).warnings
    assert (
        "is below 2024-01-31T07:00:00Z or from 2024-01-31T08:00:00Z to below 2024-01-31T10:00:00Z were never read"
        in told
    )

    rest = landed_state(
        planned(spec, part, seen(), backfill("08:00:00", "10:00:00")), as_read(5, moment("09:59:00"), None)
    )
    assert planned(spec, rest, seen()).warnings == ()


def test_a_watermark_below_which_nothing_was_covered_is_told() -> None:
    spec = orders(start="2024-01-31T06:00:00Z")
    (told,) = planned(spec, landed(spec, moment("10:30:00")), seen()).warnings
    assert "is below 2024-01-31T10:30:00Z were never read" in told


# --- late rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("highest", "late_below"),
    [
        ("10:58:00", "10:58:00"),  # provisional rows were read up to there
        ("09:30:00", "10:00:00"),  # nothing above the watermark: below it all was settled
        (None, "10:00:00"),
    ],
)
def test_what_lands_first_from_below_what_had_been_read_is_late(highest: str | None, late_below: str) -> None:
    state = landed(orders(), moment("10:00:00"), max_cursor_read=moment(highest))
    assert planned(orders(), state, seen()).reading.late_below == moment(late_below)


def test_a_row_from_the_future_does_not_make_all_that_follows_late() -> None:
    state = landed(orders(), moment("10:00:00"), max_cursor_read=CursorValue.parse(CursorType.TIMESTAMP, "2999-12-31"))
    assert planned(orders(), state, seen()).reading.late_below == moment("11:00:00")


def test_nothing_is_late_on_a_first_sync_in_a_backfill_or_after_a_reset() -> None:
    spec, state = orders(), landed(orders(), moment("10:00:00"))
    assert planned(spec, None, seen()).reading.late_below is None
    assert planned(spec, state, seen(), backfill("08:00:00", "09:00:00")).reading.late_below is None
    assert planned(spec, state.rewound(spec.terms, None), seen()).reading.late_below is None
