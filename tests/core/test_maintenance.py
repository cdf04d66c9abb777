"""When files are put together: literal sizes, and what is said of them."""

from __future__ import annotations

import pytest

from incremental_assets.core.model.compaction import SMALL, TARGET, How, Layout, compaction, gathered, purged

KB, MB = 2**10, 2**20


def layout(*sizes: int, rows: int = 1000, dead: int = 0) -> Layout:
    return Layout(sizes, rows, rows - dead)


def first_that_pays(size: int, *others: int) -> int:
    """Ticks that leave a file of this size each, beside other files."""
    return next(count for count in range(1000) if compaction(layout(*others, *[size] * count)))


# --- which files become one ------------------------------------------------------------------------


def test_small_files_become_one_and_a_large_one_keeps_its_range_of_keys() -> None:
    assert gathered([7 * KB, 100 * MB, 5 * KB, 16 * MB]) == ((2, 0),)


def test_no_file_is_made_larger_than_the_target() -> None:
    assert gathered([15 * MB] * 9) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert gathered([15 * MB] * 10) == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9))


def test_a_file_that_would_stay_alone_is_not_written_again() -> None:
    assert gathered([5 * KB]) == ()
    assert gathered([]) == ()


def test_files_with_marked_rows_are_written_without_them_and_the_others_stay() -> None:
    sizes = [40 * MB, 20 * MB, 100 * MB, 5 * KB, 30 * MB]
    assert purged(sizes, [True, True, True, False, True]) == ((1, 4), (0,), (2,))
    assert purged(sizes, [False] * 5) == ()


# --- when that pays -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "ticks"),
    [(10 * KB, 16), (500 * KB, 18), (2 * MB, 29), (10 * MB, 148)],
)
def test_the_rhythm_is_that_of_the_files_the_more_there_is_to_write_the_more_seldom(size: int, ticks: int) -> None:
    assert first_that_pays(size) == ticks


def test_large_files_beside_them_neither_hasten_nor_delay_it() -> None:
    assert first_that_pays(100 * KB, *[500 * MB] * 40) == first_that_pays(100 * KB)


def test_it_says_why() -> None:
    why = compaction(layout(*[10 * KB] * 30, 500 * MB))
    assert why is not None
    assert (why.how, why.reason) == (How.GATHER, "30 of 31 files are small and become 1")


def test_the_longer_it_waits_the_more_urgent_it_is() -> None:
    sooner, later = compaction(layout(*[10 * KB] * 30)), compaction(layout(*[10 * KB] * 60))
    assert sooner is not None
    assert later is not None
    assert 1 < sooner.urgency < later.urgency


def test_a_table_of_a_few_large_files_is_left_alone_for_ever() -> None:
    assert compaction(layout(*[SMALL] * 1000)) is None
    assert compaction(layout(TARGET, TARGET)) is None
    assert compaction(layout(10 * KB)) is None
    assert compaction(Layout((), 0, 0)) is None


# --- rows that are only marked as deleted -----------------------------------------------------------


def test_rows_that_are_only_marked_as_deleted_leave_when_they_are_a_third() -> None:
    large = [60 * MB] * 2
    assert compaction(layout(*large, rows=900_000, dead=299_999)) is None
    why = compaction(layout(*large, rows=900_000, dead=300_000))
    assert why is not None
    assert (why.how, why.reason) == (How.PURGE, "300,000 of 900,000 rows in its files are only marked as deleted")


def test_in_a_small_table_they_leave_with_the_small_files_that_hold_them() -> None:
    assert compaction(layout(10 * MB, rows=900, dead=800)) is None
