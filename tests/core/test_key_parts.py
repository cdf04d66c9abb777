"""Keys on a line: what differs is found by counts and hashes of parts, and no key that is gone is missed for it."""

import functools
import random

import pytest

from incremental_assets.core.differences import gone
from incremental_assets.core.model.key_parts import (
    HASH_BITS,
    KeyParts,
    KeySpread,
    KeySum,
    coarse,
    differing,
    finer,
    lacking,
    places_by_sums,
    summed,
)
from incremental_assets.core.model.measure import NotByBytes
from tests.fakes.keys import FakeKeys

MOST = 2**63 - 1


def numbers(values: set[int]) -> FakeKeys:
    return FakeKeys(frozenset((value,) for value in values))


def words(values: set[int]) -> FakeKeys:
    return FakeKeys(frozenset((f"order {value}", value) for value in values), ("name", "id"))


def texts(keys: FakeKeys, values: set[int]) -> set[str]:
    return {repr(key) for key in keys.keys if key[-1] in values}


def test_a_part_is_found_as_ranges_that_touch_as_one_and_stay_within_the_ends() -> None:
    parts = KeyParts(5, 45, 3, frozenset({0, 1, 4, 5}))
    assert parts.ranges == ((5, 15), (32, 45))
    assert [place for place in range(60) if parts.holds(place)] == [*range(5, 16), *range(32, 46)]
    assert KeyParts(-20, 20, 3, frozenset({-3, -1})).ranges == ((-20, -17), (-8, -1))
    assert KeyParts(7, 9).ranges == ((7, 9),)


def test_the_ends_of_what_a_number_can_be_are_in_some_part() -> None:
    spread = KeySpread(20_000, -(2**63), MOST)
    shift = coarse(spread)
    ends = KeyParts(spread.lowest, spread.highest, shift, frozenset({-(2**63) >> shift, MOST >> shift}))
    assert (ends.ranges[0][0], ends.ranges[-1][1]) == (-(2**63), MOST)


def test_a_part_is_no_wider_than_a_number_of_64_bits_can_be_shifted() -> None:
    # Keys that are drawn at random lie so: PostgreSQL and Java take 64 bits for none, numpy takes them for all.
    assert coarse(KeySpread(60, -(2**63), MOST)) == 63


@pytest.mark.parametrize("rows", [1, 8_191, 8_192, 100_000, 10_000_000])
def test_the_first_look_brings_some_thousand_hashes_at_most_and_has_some_dozen_keys_in_a_part_at_least(
    rows: int,
) -> None:
    for spread in (KeySpread(rows, 1, rows), KeySpread(rows, 0, (1 << HASH_BITS) - 1)):
        first = coarse(spread)
        parts = 1 + (spread.highest >> first) - (spread.lowest >> first)
        assert parts <= 8_194
        assert rows / parts <= max(128, rows / 4_096)
        assert rows / parts >= min(rows, 32) / 2


def test_a_look_is_finer_by_so_much_that_it_brings_few_hashes_more_than_eight_of_each_part_that_differs() -> None:
    many = 2**20
    bits = [40 - finer(40, unequal, many * unequal) for unequal in (1, 32, 33, 500, 1_024, 20_000)]
    assert bits == [8, 8, 7, 4, 3, 3]
    assert finer(2, 20_000, many) == 0


def test_a_look_brings_no_more_hashes_of_a_part_than_keys_are_then_read_of_it() -> None:
    assert [40 - finer(40, 10, rows * 10) for rows in (8, 64, 2_048, 8_192)] == [3, 3, 6, 7]


def test_a_part_of_the_source_alone_does_not_differ_and_one_with_equal_counts_may() -> None:
    copy, source = summed([(1, 10), (2, 20), (9, 90)], 3), summed([(1, 10), (3, 30), (9, 90), (70, 7)], 3)
    assert copy == {0: KeySum(2, 30), 1: KeySum(1, 90)}
    assert differing(KeyParts(1, 9), 3, copy, source).numbers == {0}
    assert lacking(copy, source) == 0
    assert lacking(copy, {}) == 3


def test_a_part_whose_sum_alone_is_equal_differs() -> None:
    copy, source = {0: KeySum(2, 30)}, {0: KeySum(1, 30)}
    assert differing(KeyParts(0, 7), 3, copy, source).numbers == {0}


def test_the_sum_of_a_part_that_lacks_one_key_is_less_by_the_place_of_this_key() -> None:
    copy = summed([(place, place) for place in (1, 2, 9, 17, 18, 25, 26, 33, 34, 41)], 3)
    source = summed([(place, place) for place in (1, 18, 23, 25, 33, 34, 35)], 3)
    # Of part 0 the key at 2 went, of 1 and of 5 all; one of 2 is another, of 3 the one at 26 went, to 4 one came.
    found = differing(KeyParts(0, 63), 3, copy, source)
    assert found.numbers == {0, 1, 2, 3, 4, 5}
    assert places_by_sums(found, copy, source) == {0: 2, 1: 9, 3: 26, 5: 41}


def test_what_a_sum_lacks_is_no_key_where_it_lies_in_another_part() -> None:
    # Of each part two went and one came. 24 + 25 - 31 lies in the part before.
    parts = KeyParts(0, 63, 3, frozenset({1, 2, 3}))
    copy = summed([(place, place) for place in (8, 15, 16, 23, 24, 25)], 3)
    source = summed([(place, place) for place in (9, 17, 31)], 3)
    assert places_by_sums(parts, copy, source) == {1: 14, 2: 22}


def test_where_as_many_came_as_went_no_sum_tells_which() -> None:
    copy, source = (summed([(place, place) for place in places], 3) for places in ((20, 21, 22, 23), (16, 17, 18, 19)))
    parts = KeyParts(0, 63, 3, frozenset({2}))
    # 16 lies in the part.
    assert places_by_sums(parts, copy, source) == {}


class AtPlaces(FakeKeys):
    """Keys of one text, which is the hash at which it lies."""

    @functools.cached_property
    def _places(self) -> dict[tuple[object, ...], int]:
        return {key: int(str(key[0])) for key in self.keys}

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        return summed(((self._places[key], self._places[key]) for key in self._within(within)), shift)


def at(*places: int) -> AtPlaces:
    return AtPlaces(frozenset((str(place),) for place in places))


def test_where_what_a_sum_lacks_is_no_key_of_the_copy_the_part_is_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gone, "FEW", 0)
    # One came, and two went: the sum lacks 100 + 200 - 7 = 293.
    assert gone.gone_keys(at(100, 200, 300), at(7, 300)) == {"('100',)", "('200',)"}


def test_one_that_went_from_a_part_is_told_without_a_key_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gone, "FEW", 0)
    copy, source = at(100, 200, 300), at(100, 300)
    assert gone.gone_keys(copy, source) == {"('200',)"}
    assert (copy.read, source.read) == (1, 0)


def test_of_a_large_table_with_keys_at_their_hashes_few_are_read() -> None:
    held, lost = set(range(60_000)), set(range(0, 60_000, 600))
    copy, source = words(held), words(held - lost)
    assert gone.gone_keys(copy, source) == texts(copy, lost)
    # Parts that lack two of them are read: a few of a hundred, of some dozen keys each.
    assert source.read <= 10 * 64


def test_where_hashes_of_bytes_fail_on_the_way_those_of_texts_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gone, "FEW", 0)

    class Failing(AtPlaces):
        def by_bytes(self) -> FakeKeys:
            return self

        def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
            raise NotByBytes

    class Again(AtPlaces):
        def by_bytes(self) -> FakeKeys:
            return Failing(self.keys)

    keys = frozenset({("100",), ("200",)})
    assert gone.gone_keys(Again(keys), Again(keys - {("200",)})) == {"('200',)"}


@pytest.mark.parametrize("keys", [numbers, words])
@pytest.mark.parametrize("rows", [10, 60_000])
def test_exactly_what_only_the_copy_holds_is_gone(keys: type, rows: int) -> None:
    held = set(range(-100, rows))
    lost = set(random.Random(rows).sample(sorted(held), 7)) | {-100, rows - 1}
    came = {rows + 5, rows + 6, -500}
    copy, source = keys(held), keys(held - lost | came)
    assert gone.gone_keys(copy, source) == texts(copy, lost)
    assert gone.gone_keys(copy, keys(held | came)) == frozenset()


@pytest.mark.parametrize("most", [0, 2, 5])
def test_where_many_parts_differ_keys_are_read_of_more_and_exactly_the_same_is_found(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(gone, "MOST_PARTS", most)
    held, lost = set(range(60_000)), {7, 20_000, 20_500, 21_000, 21_500}
    copy = numbers(held)
    assert gone.gone_keys(copy, numbers(held - lost)) == texts(copy, lost)


def test_of_a_large_table_few_keys_are_read() -> None:
    held = set(range(200_000))
    copy, source = numbers(held), numbers(held - {7, 100_000, 150_001})
    assert gone.gone_keys(copy, source) == texts(copy, {7, 100_000, 150_001})
    assert copy.read <= 3 * 64
    assert source.read <= 3 * 64


def test_a_key_that_changed_its_place_by_as_much_as_another_is_seen() -> None:
    """The counts are equal, and so are the sums of the keys themselves."""
    held = set(range(0, 20_000, 2))
    copy, source = numbers(held), numbers(held - {1000, 1006} | {1001, 1005})
    assert gone.gone_keys(copy, source) == texts(copy, {1000, 1006})


def test_what_the_source_finds_by_its_key_alone_is_not_gone() -> None:
    class Slipping(FakeKeys):
        def texts(self, within: KeyParts) -> frozenset[str]:
            return frozenset()

    held = {1, 2, 3}
    assert gone.gone_keys(numbers(held), Slipping(frozenset((value,) for value in held - {2}))) == {"(2,)"}


def test_an_emptied_source_is_told_before_any_key_is_read() -> None:
    copy, heard = numbers(set(range(50_000))), []

    def stop(lacking: int) -> None:
        heard.append(lacking)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        gone.gone_keys(copy, numbers(set()), stop)
    assert (heard, copy.read) == ([50_000], 0)
