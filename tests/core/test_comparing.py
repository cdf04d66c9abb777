"""A table without a cursor is compared with its copy: what differs is read, what is gone leaves, and the copy is the snapshot afterwards."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from incremental_assets.core.differences import differing
from incremental_assets.core.differences.comparing import rows_to_read
from incremental_assets.core.errors import Refused
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.key_parts import KeyParts, KeySpread, KeySum, summed
from incremental_assets.core.model.measure import NotByBytes
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.table_shape import Arrival
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status
from tests.fakes import World, ordered
from tests.fakes.keys import FakeKeys
from tests.fakes.placed import FakePlacedRows
from tests.scenario import ORDERS, order, orders, shop

UNFIT = "unfit"
EACH = Deletes(DeleteMode.DIFF, every=timedelta())


def compared(every: timedelta = timedelta(), deletes: Deletes = EACH) -> TableSpec:
    return replace(orders(deletes=deletes), cursor=None, compares=True, refresh_every=every)


SPEC = compared()


def ten() -> World:
    """Ten orders under one stamp."""
    world = World(shop())
    stamp = world.database.stamp()
    for number in range(1, 11):
        order(world.database, f"customer {number}", stamp, number=number)
    return world


def commits(world: World) -> int:
    return len(world.lake.tables[ORDERS].log)


def test_what_changed_came_and_went_without_a_stamp_lands_in_one_commit_and_nothing_else_is_read() -> None:
    world = ten()
    assert world.sync(SPEC).rows == RowCounts(read=10, inserted=10)
    before = commits(world)
    world.database.update(ORDERS, {"id": 4}, status="paid")
    world.database.update(ORDERS, {"id": 5}, id=50)
    world.database.delete(ORDERS, {"id": 3})
    order(world.database, "new", world.database.stamp(), number=11)
    report = world.sync(SPEC)
    # Beside the rows, the two keys that are gone are read.
    assert report.rows == RowCounts(read=5, inserted=2, updated=1, deleted=2)
    assert (report.status, report.guarantee) == (Status.LANDED, Guarantee.SETTLED)
    assert report.guarantee_reason == "the whole table is compared with the copy in one snapshot"
    assert commits(world) == before + 1
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


@pytest.mark.parametrize(
    "whole", [SPEC, replace(SPEC, strategy=Strategy.FULL_REFRESH, compares=False)], ids=["compared", "read"]
)
def test_a_table_whose_engine_shows_half_of_a_statement_is_settled_in_neither_way(whole: TableSpec) -> None:
    world = ten()
    untracked = replace(whole, shape=replace(whole.shape, arrivals=(Arrival.UNTRACKED,)))
    for _ in range(2):
        report = world.sync(untracked)
        assert report.guarantee is Guarantee.BEST_EFFORT
        assert "a read may show half of what a statement writes" in report.guarantee_reason
    assert world.sync(whole).guarantee is Guarantee.SETTLED


def test_where_nothing_differs_nothing_is_read_nor_committed() -> None:
    world = ten()
    world.sync(SPEC)
    before = commits(world)
    assert world.sync(SPEC).rows == RowCounts()
    assert commits(world) == before


def test_a_comparison_waits_for_its_interval_and_one_that_found_nothing_begins_it_anew() -> None:
    world, hourly = ten(), compared(timedelta(hours=1))
    world.sync(hourly)
    world.database.delete(ORDERS, {"id": 3})
    world.database.tick(3_000)
    assert world.sync(hourly).status is Status.IDLE
    world.database.tick(1_000)
    assert world.sync(hourly).rows.deleted == 1
    world.database.tick(3_700)
    assert world.sync(hourly).rows == RowCounts()
    world.database.update(ORDERS, {"id": 4}, status="paid")
    world.database.tick(3_000)
    assert world.sync(hourly).status is Status.IDLE


def test_a_table_that_is_read_again_before_its_time_is_compared() -> None:
    world, hourly = ten(), compared(timedelta(hours=1))
    world.sync(hourly)
    world.database.delete(ORDERS, {"id": 3})
    report = world.sync(hourly, mode=Mode.BACKFILL)
    assert (report.rows.deleted, report.guarantee) == (1, Guarantee.SETTLED)
    assert report.guarantee_reason == "the whole table is compared with the copy in one snapshot"
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


@pytest.mark.parametrize("gone", [range(1, 4), range(1, 11)], ids=["three of ten", "all"])
def test_the_breaker_of_deletes_stops_it_and_the_copy_stays(gone: range) -> None:
    world = ten()
    world.sync(SPEC)
    before = commits(world)
    for number in gone:
        world.database.delete(ORDERS, {"id": number})
    with pytest.raises(Refused, match=r"are gone from the source.*--allow-shrink --yes"):
        world.sync(SPEC)
    assert (len(world.rows(ORDERS)), commits(world)) == (10, before)
    assert world.sync(SPEC, allow_shrink=True).rows.deleted == len(gone)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_rows_that_are_gone_stay_with_a_mark_where_that_is_wanted_and_are_not_found_again() -> None:
    world, spec = ten(), compared(deletes=replace(EACH, then=Then.MARK))
    world.sync(spec)
    world.database.delete(ORDERS, {"id": 3})
    assert world.sync(spec).rows.deleted == 1
    assert world.sync(spec).rows == RowCounts()
    assert len(world.rows(ORDERS)) == 10


def test_a_row_that_no_copy_can_hold_comes_to_quarantine_though_no_comparison_shows_it() -> None:
    world = ten()
    world.sync(SPEC)
    order(world.database, UNFIT, world.database.stamp(), number=11)
    world.database.update(ORDERS, {"id": 4}, customer=UNFIT)
    report = world.sync(SPEC)
    assert (report.rows.quarantined, report.rows.deleted) == (2, 1)
    assert sorted(row["id"] for row in world.rows(ORDERS)) == [1, 2, 3, 5, 6, 7, 8, 9, 10]  # type: ignore[type-var]


def test_a_full_refresh_reads_all_and_what_is_gone_leaves() -> None:
    world = ten()
    world.sync(SPEC)
    world.database.delete(ORDERS, {"id": 3})
    report = world.sync(SPEC, mode=Mode.FULL_REFRESH)
    assert (report.rows.read, len(world.rows(ORDERS))) == (9, 9)


@pytest.mark.parametrize("most", [1, 20_000])
def test_where_more_differs_than_is_worth_naming_the_table_is_read_whole(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    world = ten()
    world.sync(SPEC)
    monkeypatch.setattr(differing, "MOST_PLACES", most)
    for number in (2, 4):
        world.database.update(ORDERS, {"id": number}, status="paid")
    world.database.delete(ORDERS, {"id": 3})
    report = world.sync(SPEC)
    assert report.rows.read == (10 if most == 1 else 3)
    assert (report.rows.updated, report.rows.deleted) == (2, 1)
    assert ordered(world.rows(ORDERS)) == ordered(world.database.rows(ORDERS))


def test_what_is_asked_for_are_the_places_of_both_sides() -> None:
    rows = [{"id": number, "status": "new"} for number in range(1, 6)]
    changed = [rows[0], {**rows[1], "status": "paid"}, *rows[3:], {"id": 9, "status": "new"}]
    found = rows_to_read(SPEC, FakePlacedRows(SPEC, rows, rows), FakePlacedRows(SPEC, changed, changed))
    assert (found.places, found.rows) == (KeyParts(1, 9, 0, frozenset({2, 3, 9})), 5)
    assert found.vanished == KeyParts(1, 9, 0, frozenset({3}))


@dataclass(frozen=True)
class Crowded:
    """Implements `core.ports.PlacedRows` over hashes at one place, as keys have it whose hashes are equal."""

    digests: tuple[int, ...]

    def spread(self) -> KeySpread:
        return KeySpread(len(self.digests), 7, 7)

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        return summed(self.hashes(within), shift)

    def hashes(self, within: KeyParts) -> list[tuple[int, int]]:
        return [(7, digest) for digest in self.digests]


def test_of_two_keys_at_one_place_one_has_changed_and_the_other_has_vanished() -> None:
    at_the_place = KeyParts(7, 7, 0, frozenset({7}))
    assert rows_to_read(SPEC, Crowded((1, 2)), Crowded((3,))).vanished == at_the_place
    assert rows_to_read(SPEC, Crowded((1, 2)), Crowded((1, 3))).vanished == replace(at_the_place, numbers=frozenset())


def test_keys_of_the_copy_are_looked_at_only_where_a_row_has_vanished(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ten()
    looked: list[KeyParts] = []
    world.sync(SPEC)
    texts = FakeKeys.texts

    def noted(keys: FakeKeys, within: KeyParts) -> frozenset[str]:
        looked.append(within)
        return texts(keys, within)

    monkeypatch.setattr(FakeKeys, "texts", noted)
    monkeypatch.setattr(FakeKeys, "sums", None)
    world.database.update(ORDERS, {"id": 4}, status="paid")
    assert (world.sync(SPEC).rows, looked) == (RowCounts(read=1, updated=1), [])
    world.database.delete(ORDERS, {"id": 3})
    # Of the copy, and of the source.
    assert (world.sync(SPEC).rows.deleted, len(looked)) == (1, 2)


@dataclass
class Numbered:
    """Implements `core.ports.PlacedRows` over as many rows as places; counts the hashes that it is asked for, of parts and of rows."""

    digests: dict[int, int]
    asked: Counter[str] = field(default_factory=Counter)

    def spread(self) -> KeySpread:
        return KeySpread(len(self.digests), min(self.digests), max(self.digests))

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        found = summed(self._pairs(within), shift)
        self.asked += Counter(parts=len(found), looks=1)
        return found

    def hashes(self, within: KeyParts) -> list[tuple[int, int]]:
        found = self._pairs(within)
        self.asked += Counter(rows=len(found))
        return found

    def _pairs(self, within: KeyParts) -> list[tuple[int, int]]:
        ranges = (range(low, high + 1) for low, high in within.ranges)
        return [(place, self.digests[place]) for each in ranges for place in each if place in self.digests]


@dataclass
class ByBytes(Numbered):
    """Implements `core.ports.ByteHashed` too; `other`: the same rows by the cheaper hash, None where it has none."""

    other: Numbered | None = None

    def by_bytes(self) -> Numbered | None:
        return self.other


class Failing(Numbered):
    """Counts its rows, and then can do no more."""

    def sums(self, within: KeyParts, shift: int) -> dict[int, KeySum]:
        raise NotByBytes


BY_TEXT, BY_BYTES = {1: 7, 2: 7, 3: 7}, {1: 700, 2: 700, 3: 700}
"""The same three rows."""


@pytest.mark.parametrize(
    ("copy", "source", "by_texts"),
    [
        pytest.param(Numbered(BY_BYTES), Numbered(BY_BYTES | {2: 800}), False, id="both sides hash bytes"),
        pytest.param(None, Numbered(BY_BYTES | {2: 800}), True, id="the copy knows texts alone"),
        pytest.param(Numbered(BY_BYTES), None, True, id="the source knows texts alone"),
        pytest.param(Failing(BY_BYTES), Numbered(BY_BYTES | {2: 800}), True, id="the copy fails in the middle of it"),
    ],
)
def test_rows_are_compared_by_their_bytes_where_both_sides_can_and_else_by_their_texts(
    monkeypatch: pytest.MonkeyPatch, copy: Numbered | None, source: Numbered | None, *, by_texts: bool
) -> None:
    monkeypatch.setattr(differing, "FEW", 0)
    asked = ByBytes(BY_TEXT | {2: 8}, other=source)
    found = rows_to_read(SPEC, ByBytes(BY_TEXT, other=copy), asked)
    assert (found.places, bool(asked.asked)) == (KeyParts(1, 3, 0, frozenset({2})), by_texts)


@pytest.mark.parametrize("changes", [1, 50, 500, 2_000, 5_000])
def test_the_hashes_that_a_comparison_asks_for_grow_with_the_rows_that_differ(changes: int) -> None:
    held = dict.fromkeys(range(50_000), 7)
    changed = random.Random(changes).sample(range(50_000), changes)
    source = Numbered(held | dict.fromkeys(changed, 8))
    found = rows_to_read(SPEC, Numbered(held), source)
    assert found.places is not None
    assert found.places.numbers == frozenset(changed)
    assert source.asked["parts"] + source.asked["rows"] <= 5_000 + 9 * changes
    assert source.asked["looks"] <= 4
