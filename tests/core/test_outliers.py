"""Numbers that lie far from the others: the grid is laid over the bulk, and every number has one partition whose name says what it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.doubts import of_last_number
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.checks.coverage import coverage_of
from incremental_assets.core.errors import TooManyPartitions
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.number_keys import (
    MOST_KEYS,
    IntegerGrid,
    among,
    extended,
    integer_keys,
    laid,
)
from incremental_assets.core.model.partition import parts, touched_of, window_of
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.preview.bulk import bulk_of
from incremental_assets.core.preview.pending import Pending, located, new_keys, partition_keys
from incremental_assets.core.strategies import Strategy
from tests.fakes import FakeProbe, World
from tests.scenario import order, orders, shop

LOWEST, HIGHEST = -(2**63), 2**63 - 1
INTEGER = CursorType.INTEGER
TENS = IntegerGrid(10)
CLOCK = datetime(2024, 3, 10, 12, tzinfo=UTC)
BOUND = Bound(CLOCK, None, "", None, "", "UTC", None)

numbers = st.one_of(
    st.integers(LOWEST, HIGHEST), st.integers(-1000, 100_000), st.sampled_from([LOWEST, -1, 0, 1, HIGHEST])
)


def number(value: int) -> CursorValue:
    return CursorValue.of(INTEGER, value)


def counting(found: Sequence[int]) -> Callable[[Sequence[tuple[int, int]]], list[int]]:
    return lambda ranges: [sum(lower <= each < upper for each in found) for lower, upper in ranges]


def key(lower: int) -> str:
    return f"{lower:019d}-{lower + 10:019d}"


# --- keys -------------------------------------------------------------------------------------------


@given(st.integers(1, 10**15), numbers, st.integers(0, 500), numbers)
def test_every_number_lies_in_one_partition_of_a_grid_with_open_ends(
    size: int, lowest: int, length: int, value: int
) -> None:
    grid = IntegerGrid(size)
    keys = laid(grid, lowest, lowest + length * size)
    windows = [window_of(grid, each, INTEGER) for each in keys]
    assert [each for each, window in zip(keys, windows, strict=True) if window.contains(number(value))] == list(
        among(grid, keys, value, value)
    )
    assert len(among(grid, keys, value, value)) == 1
    assert (windows[0].lower, windows[-1].upper) == (None, None)
    assert all(first.upper == second.lower for first, second in pairwise(windows))
    assert parts(grid, keys, len(keys)) == (keys,)


@given(st.integers(1, 10**15), numbers, st.integers(0, 500))
def test_the_keys_that_there_were_mean_what_they_meant_when_an_open_one_is_added(
    size: int, lowest: int, length: int
) -> None:
    grid = IntegerGrid(size)
    before = integer_keys(grid, lowest, lowest + length * size)
    after = extended(grid, before)
    assert after[:-1] == before
    assert window_of(grid, after[-1], INTEGER) == Window(window_of(grid, before[-1], INTEGER).upper, None)


def test_the_last_number_of_64_bits_has_a_partition_and_its_window_can_be_asked_for() -> None:
    keys = laid(TENS, 0, 25)
    assert keys == ("below-0000000000000000000", key(0), key(10), key(20), "from-0000000000000000030")
    assert touched_of(TENS, keys, Window(number(HIGHEST), None), HIGHEST) == keys[-1:]
    assert touched_of(TENS, keys, Window(None, number(0)), HIGHEST) == keys[:1]
    assert touched_of(TENS, keys, Window(number(12), number(20)), HIGHEST) == (key(10),)
    assert touched_of(TENS, keys, Window(number(5), number(5)), HIGHEST) == ()


@pytest.mark.parametrize("each", ["below-5", "below-0000000000000000005", "from-m0000000000000000000", "above-0"])
def test_a_key_with_an_open_end_off_the_grid_is_refused(each: str) -> None:
    with pytest.raises(ValueError, match="not a partition of the grid of 10 values"):
        window_of(TENS, each, INTEGER)


# --- the bulk ---------------------------------------------------------------------------------------


@given(
    st.sampled_from([1, 10, 100_000, 10**6, 10**13]),
    st.integers(-(2**62), 2**62),
    st.integers(3, 200),
    st.integers(1, 100),
    st.lists(st.sampled_from([LOWEST, -1, 0, HIGHEST]), max_size=3, unique=True),
)
def test_the_grid_is_laid_over_most_of_the_rows_wherever_they_lie(
    size: int, begin: int, rows: int, step: int, sentinels: list[int]
) -> None:
    grid = IntegerGrid(size)
    bulk = [begin + step * place for place in range(rows)]
    found = [*bulk, *sentinels]
    place = bulk_of(grid, min(found), max(found), counting(found))
    assert place is not None
    assert 2 * sum(place[0] <= each <= place[1] for each in found) >= len(found)
    assert len(laid(grid, *place)) <= MOST_KEYS + 2


def test_sentinels_leave_no_empty_partitions_beside_the_bulk() -> None:
    found = [LOWEST, -1, *range(1, 301), HIGHEST]
    assert bulk_of(IntegerGrid(100), LOWEST, HIGHEST, counting(found)) == (-100, 399)


def test_numbers_that_are_spread_too_far_have_no_bulk_and_the_size_is_named() -> None:
    found = list(range(0, 10**9, 10**6))
    assert bulk_of(TENS, 0, max(found), counting(found)) is None
    with pytest.raises(TooManyPartitions):
        partition_keys(TENS, replace(pending(None, max(found)), begins=number(0)), CLOCK)


# --- what a sync touches ----------------------------------------------------------------------------


def pending(lower: int | None, highest: int, *, bulk: tuple[int, int] | None = None) -> Pending:
    window = Window(None if lower is None else number(lower), None)
    return Pending(orders(Strategy.APPEND, cursor="id"), window, DatabaseObservation(BOUND, number(highest)), bulk=bulk)


def test_a_first_sync_with_outliers_touches_the_bulk_and_both_open_ends() -> None:
    first = replace(pending(None, HIGHEST, bulk=(0, 25)), begins=number(-1))
    wanted = partition_keys(TENS, first, CLOCK)
    assert wanted == laid(TENS, 0, 25)
    assert new_keys(TENS, first, wanted, []) == wanted


def test_an_outlier_that_comes_later_gets_an_open_last_partition_and_later_rows_go_there() -> None:
    known = [key(0), key(10)]
    outlier = pending(20, HIGHEST)
    wanted = partition_keys(TENS, outlier, CLOCK, known)
    assert wanted == ("from-0000000000000000020",)
    assert new_keys(TENS, outlier, wanted, known) == wanted
    known += wanted
    later = pending(12, 35)
    assert partition_keys(TENS, later, CLOCK, known) == (key(10), *wanted)
    assert new_keys(TENS, later, wanted, known) == ()
    # The watermark may lie above the highest value by one.
    assert partition_keys(TENS, pending(2**63, HIGHEST), CLOCK, known) == wanted


def test_the_source_is_asked_for_the_bulk_only_where_one_grid_is_too_wide() -> None:
    world = World(shop())
    for each in (1, 2, 3, HIGHEST):
        order(world.database, "ada", "2024-01-05T00:00:00Z", number=each)
    probe = FakeProbe(world.database)
    (far,) = located([pending(None, HIGHEST)], probe, lambda _: TENS)
    (near,) = located([pending(None, 3)], probe, lambda _: TENS)
    assert (far.bulk, near.bulk) == ((0, 9), None)


def test_a_table_that_cannot_be_asked_for_its_bulk_stops_no_other_one() -> None:
    class Surprised(FakeProbe):
        def measure(
            self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT
        ) -> tuple[Measure, ...]:
            raise KeyError(spec.shape.names)

    world = World(shop())
    order(world.database, "ada", "2024-01-05T00:00:00Z", number=1)
    far, near = located([pending(None, HIGHEST), pending(None, 3)], Surprised(world.database), lambda _: TENS)
    assert (far.bulk, near.begins) == (None, number(1))


def test_of_a_row_that_is_counted_the_cursor_alone_is_read() -> None:
    class Watched(FakeProbe):
        read: frozenset[tuple[str, ...]] = frozenset()

        def measure(
            self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT
        ) -> tuple[Measure, ...]:
            self.read |= {spec.shape.names}
            return super().measure(spec, windows, by)

    world = World(shop())
    for each in (1, 2, 3, HIGHEST):
        order(world.database, "ada", "2024-01-05T00:00:00Z", number=each)
    probe = Watched(world.database)
    (found,) = located([pending(None, HIGHEST)], probe, lambda _: TENS)
    assert (found.bulk, probe.read) == ((0, 9), {("id",)})


def test_partitions_with_open_ends_are_compared_with_what_is_covered() -> None:
    world = World(shop())
    terms = orders(Strategy.APPEND, cursor="id")
    for each in (-1, 2, 13, HIGHEST):
        order(world.database, "ada", "2024-01-05T00:00:00Z", number=each)
    world.database.tick(600)
    world.sync(terms)
    state = world.checkpoints.position(terms.id).state
    keys = laid(TENS, 0, 19)
    assert coverage_of(terms, TENS, state, keys).agrees
    assert coverage_of(terms, TENS, state, keys).not_announced == ()
    assert coverage_of(terms, TENS, state, [keys[0], keys[1], keys[3]]).not_announced == (key(10),)
    assert coverage_of(terms, TENS, state, [key(0)]).not_announced == ()


@pytest.mark.parametrize(("highest", "is_last"), [(HIGHEST, True), (HIGHEST - 1, False), (2**31 - 1, False)])
def test_a_row_with_the_last_number_there_is_hides_what_comes_and_no_run_is_settled(
    highest: int, is_last: bool
) -> None:
    settled = settle(orders(Strategy.APPEND, cursor="id"), Cursor("id", INTEGER), BOUND, number(highest), None)
    assert ("the last number of the type" in settled.reason, settled.guarantee is Guarantee.BEST_EFFORT) == (
        is_last,
        is_last,
    )


@pytest.mark.parametrize(
    ("declared", "spark", "last"),
    [
        ("tinyint(4)", "smallint", 127),
        ("tinyint(3) unsigned", "smallint", 255),
        ("smallint(6)", "smallint", 32_767),
        ("smallint(5) unsigned", "int", 65_535),
        ("mediumint(9)", "int", 8_388_607),
        ("mediumint(8) unsigned", "int", 16_777_215),
        ("int(11)", "int", 2_147_483_647),
        ("int(10) unsigned zerofill", "bigint", 4_294_967_295),
        ("int unsigned", "bigint", 4_294_967_295),
        ("bigint(20) unsigned", "decimal(20,0)", 2**64 - 1),
    ],
)
def test_the_last_number_is_that_of_the_sources_type_however_wide_that_of_the_copy_is(
    declared: str, spark: str, last: int
) -> None:
    spec = orders(Strategy.APPEND, cursor="id")
    wide = tuple(
        replace(each, source_type=declared, spark_type=spark) if each.name == "id" else each for each in spec.columns
    )
    spec = replace(spec, shape=replace(spec.shape, columns=wide))
    assert "the last number of the type" in of_last_number(spec, number(last))
    assert of_last_number(spec, number(last - 1)) == ""
