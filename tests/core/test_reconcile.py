"""Drift is found, and what is only on its way is not called drift."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from threading import Barrier
from typing import Any

import pytest

from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.reconcile import reconcile, settled_windows
from incremental_assets.core.errors import SchemaChanged, SourceUnreachable, TargetChanged, TermsChanged
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.measure import Counting as Counted
from incremental_assets.core.model.measure import RowHash
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window, gaps
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.ports import Ports
from tests.core.plans import placed
from tests.fakes import World
from tests.fakes.delta_table import LogEntry
from tests.scenario import COUNTRIES, ORDERS, countries, order, orders, shop

pytestmark = pytest.mark.usefixtures("few")

DAYS = TimeGrid(Every.DAY, date(2024, 1, 1))
WINDOWS_FIRST = pytest.mark.parametrize("few", [5_000], indirect=True)


def settled(spec: TableSpec, days: Sequence[int] = (2, 3, 4, 5)) -> World:
    """One order on each of these days of January, all landed and settled by the 29th."""
    world = World(shop())
    for day in days:
        order(world.database, f"of the {day}", f"2024-01-{day:02d}T12:00:00Z")
    world.sync(spec)
    return world


def doctor(world: World, rows: list[dict[str, Any]]) -> None:
    world.lake.tables[ORDERS].log.append(LogEntry(tuple(rows), "WRITE", ours=False))


def found(world: World, spec: TableSpec, within: Sequence[Window] | None = None) -> Drift:
    return reconcile(spec, DAYS, world.ports(), within)


def window(lower: str | None, upper: str | None) -> Window:
    def value(text: str | None) -> CursorValue | None:
        return None if text is None else CursorValue.parse(CursorType.TIMESTAMP, text)

    return Window(value(lower), value(upper))


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
def test_equal_is_equal(strategy: Strategy) -> None:
    spec = orders(strategy)
    drift = found(settled(spec), spec)
    assert (drift.rows, drift.windows) == (0, ())
    assert drift.checked == window(None, "2024-01-29T08:59:58Z")


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
def test_a_lost_row_is_drift_in_its_own_window(strategy: Strategy) -> None:
    spec = orders(strategy)
    world = settled(spec)
    doctor(world, [row for row in world.rows(ORDERS) if row["id"] != 3])
    drift = found(world, spec)

    assert (drift.rows, drift.samples) == (1, ("3",))
    assert drift.windows == (window("2024-01-04T00:00:00Z", "2024-01-05T00:00:00Z"),)
    assert (
        drift.detail
        == "1 row of the source is missing in the lake or different there, in [2024-01-04T00:00:00Z, 2024-01-05T00:00:00Z)"
    )


def test_a_row_that_changed_under_its_old_stamp_is_drift() -> None:
    spec = orders()
    world = settled(spec)
    world.database.update(ORDERS, {"id": 2}, status="changed behind the cursor's back")
    assert (found(world, spec).rows, found(world, spec).samples) == (1, ("2",))


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
def test_rows_in_flight_are_no_drift_and_neither_are_deleted_ones(strategy: Strategy) -> None:
    spec = orders(strategy)
    world = settled(spec)
    world.database.update(ORDERS, {"id": 1}, status="paid", updated_at="2024-01-29T09:30:00Z")
    world.database.delete(ORDERS, {"id": 2})
    order(world.database, "new", "2024-01-29T09:31:00Z")
    drift = found(world, spec)

    assert drift.rows == 0
    assert "2 rows are only in the lake (the keys " in drift.detail
    assert drift.detail.endswith("changed since in the source, deleted there, or given another key")


def test_an_append_may_hold_older_versions() -> None:
    spec = orders(Strategy.APPEND)
    world = settled(spec)
    world.database.update(ORDERS, {"id": 1}, status="paid", updated_at="2024-01-29T09:30:00Z")
    world.pass_time(3600)
    world.sync(spec)
    assert len(world.rows(ORDERS)) == 5
    assert found(world, spec).rows == 0


def test_what_a_lookback_will_read_again_is_not_compared_yet() -> None:
    from datetime import timedelta

    spec = orders(lookback=timedelta(days=10))
    world = settled(spec, days=(2, 28))
    # An application with a slow clock: the next sync finds it by its lookback.
    order(world.database, "late", "2024-01-27T00:00:00Z")
    assert found(world, spec).rows == 0
    order(world.database, "too late", "2024-01-03T00:00:00Z")
    assert found(world, spec).rows == 1


def test_below_start_nothing_was_asked_for_and_nothing_is_compared() -> None:
    spec = orders(start="2024-01-04T00:00:00Z")
    world = settled(spec)
    assert len(world.rows(ORDERS)) == 2
    assert found(world, spec).rows == 0


def test_a_gap_that_was_never_covered_is_not_compared() -> None:
    spec = orders()
    world = settled(spec)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    gapped = placed(
        state, coverage=(window(None, "2024-01-02T06:00:00Z"), window("2024-01-04T00:00:00Z", "2024-01-29T00:00:00Z"))
    )
    pieces = settled_windows(spec, DAYS, gapped)
    assert window("2024-01-02T00:00:00Z", "2024-01-02T06:00:00Z") in pieces
    assert not any(piece.contains(CursorValue.parse(CursorType.TIMESTAMP, "2024-01-03T00:00:00Z")) for piece in pieces)


@pytest.mark.parametrize(
    ("lower", "upper", "through"),
    [("2024-01-03T00:00:00Z", "2024-01-04T00:00:00Z", "2024-01-03T00:00:00Z"), (None, "2024-01-03T00:00:00Z", None)],
    ids=["in the middle", "at the start"],
)
def test_nothing_counts_as_verified_from_where_nothing_was_read(
    lower: str | None, upper: str, through: str | None
) -> None:
    spec, hole = orders(), window(lower, upper)
    world = settled(spec)
    position = world.checkpoints.position(ORDERS)
    assert position.state is not None
    whole = found(world, spec)
    state = placed(position.state, coverage=gaps((hole,), Window(None, position.state.position.watermark)))
    with world.checkpoints.lease(ORDERS, "by hand") as lease:
        lease.record(Event(ORDERS, EventKind.IDLE, "by hand", app_id=position.app_id, state=state))
    drift = found(world, spec)
    assert (whole.rows, drift.rows) == (0, 0)
    assert whole.through is not None
    assert drift.through == (None if through is None else CursorValue.parse(CursorType.TIMESTAMP, through).text)
    assert f"; {hole} was never read: `incremental-assets reset" in drift.detail


def test_only_the_windows_asked_for_are_compared() -> None:
    spec = orders()
    world = settled(spec)
    doctor(world, [row for row in world.rows(ORDERS) if row["id"] != 3])
    assert found(world, spec, [window("2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z")]).rows == 0
    assert found(world, spec, [window("2024-01-04T00:00:00Z", "2024-01-05T00:00:00Z")]).rows == 1


def test_what_landed_on_other_terms_is_not_compared_by_the_new_ones() -> None:
    world = settled(orders(Strategy.UPSERT))
    with pytest.raises(TermsChanged, match="cursor updated_at:timestamp -> id:integer"):
        found(world, orders(Strategy.UPSERT, cursor="id"))


def test_before_the_first_sync_there_is_nothing_to_compare() -> None:
    world = World(shop())
    assert found(world, orders()) == Drift("nothing has landed yet", was_compared=False)
    order(world.database, "ada", "2024-01-05T00:00:00Z")
    world.backfill(orders(), window("2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"))
    assert found(world, orders()) == Drift("nothing has settled yet that could be compared", was_compared=False)


class Counting:
    """A lake or a probe that counts what is measured."""

    def __init__(self, port: Any) -> None:
        self.port, self.windows = port, 0

    @property
    def rows(self) -> Counting:
        return self

    def measure(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> Any:
        self.windows += len(windows)
        return self.port.measure(spec, windows, by)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)


def test_that_nothing_has_settled_is_known_without_a_hash_of_any_row() -> None:
    world = World(shop())
    order(world.database, "ada", "2024-01-05T00:00:00Z")
    world.backfill(orders(), window("2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"))
    ports: Ports = world.ports()
    probe = Counting(ports.probe)
    drift = reconcile(orders(), None, replace(ports, probe=probe))
    assert (drift.was_compared, probe.windows) == (False, 0)
    assert Counting(ports.probe).measure(orders(), (Window(None, None),))[0].rows == 1


def test_hundreds_of_windows_are_narrowed_down_in_steps_and_every_drifted_one_is_found() -> None:
    spec, dice = orders(), random.Random(7)
    world = World(shop())
    grid = TimeGrid(Every.HOUR, date(2024, 1, 1))
    for hour in range(600):
        order(world.database, "of the hour", f"2024-01-{1 + hour // 24:02d}T{hour % 24:02d}:30:00Z")
    world.sync(spec)
    lost = {dice.randrange(1, 600) for _ in range(5)}
    doctor(world, [row for row in world.rows(ORDERS) if row["id"] not in lost])
    ports: Ports = world.ports()
    probe = Counting(ports.probe)
    drift = reconcile(spec, grid, replace(ports, probe=probe))

    assert drift.rows == len(lost)
    assert len(drift.windows) == len(lost)
    # 673 windows one by one, or 24 at first and those that differ after that.
    assert probe.windows < 24 + 5 * 29 + 5 * 24


def test_all_of_many_windows_differing_ends_as_well() -> None:
    spec = orders()
    world = World(shop())
    for day in range(1, 26):
        for hour in (1, 13):
            order(world.database, "x", f"2024-01-{day:02d}T{hour:02d}:00:00Z")
    world.sync(spec)
    doctor(world, [])
    drift = reconcile(spec, TimeGrid(Every.HOUR, date(2024, 1, 1)), world.ports())
    assert (drift.rows, len(drift.windows)) == (50, 10)


def test_a_sync_that_lands_between_the_two_questions_makes_no_drift() -> None:
    spec = orders()
    world = settled(spec)
    process = world.process()

    def moves_on() -> None:
        world.database.update(ORDERS, {"id": 1}, status="paid", updated_at="2024-01-29T09:30:00Z")
        world.pass_time(3600)
        world.sync(spec)

    # After the source has counted; the row has left its window on both sides then.
    process.at = {"after measure": moves_on}
    assert reconcile(spec, DAYS, world.ports(process)).rows == 0


@dataclass
class Together:
    """A lake and a probe that count only while the other one does; `told` is the order in which they were asked."""

    ports: Ports
    told: list[str] = field(default_factory=list)
    lake_fails: Exception | None = None
    source_fails: Exception | None = None
    barrier: Barrier = field(default_factory=lambda: Barrier(2, timeout=30))

    def reconcile(self, spec: TableSpec) -> Drift:
        lake, probe = _Asked(self.ports.lake, self.of_lake), _AskedProbe(self.ports.probe, self.of_source)
        return reconcile(spec, DAYS, replace(self.ports, lake=lake, probe=probe))

    def of_lake(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> Any:
        self.told.append("lake chosen")
        counted = self.ports.lake.measure(spec, windows, by)

        def count() -> Any:
            self.barrier.wait()
            if self.lake_fails:
                raise self.lake_fails
            found = counted()
            self.told.append("lake counted")
            return found

        return Counted(counted.by, count)

    def of_source(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> Any:
        self.told.append("source asked")
        self.barrier.wait()
        if self.source_fails:
            raise self.source_fails
        return self.ports.probe.measure(spec, windows, by)


@dataclass
class _Asked:
    port: Any
    measure: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)


class _AskedProbe(_Asked):
    @property
    def rows(self) -> _AskedProbe:
        return self


@WINDOWS_FIRST
def test_both_sides_count_at_once_of_a_version_of_the_lake_that_was_there_before_the_source_was_asked() -> None:
    spec = orders()
    both = Together(settled(spec).ports())
    assert both.reconcile(spec).rows == 0
    assert both.told == ["lake chosen", "source asked", "lake counted"]


@WINDOWS_FIRST
def test_whichever_side_fails_is_told_and_nothing_goes_on_counting() -> None:
    spec = orders()
    lost = Together(settled(spec).ports(), source_fails=SourceUnreachable("the source is gone"))
    with pytest.raises(SourceUnreachable, match="the source is gone"):
        lost.reconcile(spec)
    assert lost.told[-1] == "lake counted", "before anybody else is asked"
    with pytest.raises(TargetChanged, match="the table is gone"):
        Together(settled(spec).ports(), lake_fails=TargetChanged("the table is gone")).reconcile(spec)


def test_integers_are_compared_by_ranges_of_the_grid() -> None:
    spec = orders(Strategy.APPEND, cursor="id")
    world = World(shop())
    for _ in range(30):
        order(world.database, "x", "2024-01-05T00:00:00Z")
    world.sync(spec)
    doctor(world, [row for row in world.rows(ORDERS) if row["id"] != 17])
    drift = reconcile(replace(spec, start=CursorValue.of(CursorType.INTEGER, 1)), IntegerGrid(10), world.ports())
    assert [str(each) for each in drift.windows] == ["[10, 20)"]


def test_a_table_read_whole_is_compared_as_a_whole() -> None:
    world = World(shop())
    world.database.insert(COUNTRIES, code="ch", name="Switzerland")
    world.sync(countries())
    assert reconcile(countries(), None, world.ports()).detail == "1 row is equal"
    world.database.update(COUNTRIES, {"code": "ch"}, name="Helvetia")
    assert reconcile(countries(), None, world.ports()).rows == 0
    world.lake.tables[COUNTRIES].log.append(LogEntry((), "DELETE", ours=False))
    assert reconcile(countries(), None, world.ports()).rows == 1
    world.sync(countries(), mode=Mode.FULL_REFRESH)
    assert reconcile(countries(), None, world.ports()).detail == "1 row is equal"
    del world.lake.tables[COUNTRIES]
    assert reconcile(countries(), None, world.ports()).detail == "the table is gone from the lake"


def test_what_a_comparison_has_still_to_bring_is_told_by_its_name_and_what_a_contract_holds_is_no_part_of_it() -> None:
    whole = replace(orders(), cursor=None, contract=Contract())
    for spec, rest in (
        (
            replace(whole, compares=True),
            "it was compared as a whole at 2024-01-29 09:00Z, which the next comparison brings",
        ),
        (
            replace(whole, strategy=Strategy.FULL_REFRESH),
            "it was read whole at 2024-01-29 09:00Z, which the next refresh brings",
        ),
    ):
        world = World(shop())
        order(world.database, "ada", world.database.stamp())
        world.database.insert(ORDERS, id=90, customer="bo", status="broken", updated_at=world.database.stamp())
        world.sync(spec)
        equal = reconcile(spec, None, world.ports())
        assert equal.detail == "every other row of the source is in the lake as it is"
        assert equal.through is not None
        order(world.database, "alan", world.database.stamp())
        changed = reconcile(spec, None, world.ports())
        assert changed.detail == f"the source has changed in 1 row since {rest}"
        assert (changed.rows, changed.through) == (0, None)


def test_a_version_in_the_copy_that_the_source_has_changed_to_what_cannot_land_is_drift() -> None:
    spec = orders()
    world = settled(spec)
    before = [dict(row) for row in world.lake.tables[ORDERS].rows]
    world.database.update(ORDERS, {"customer": "of the 3"}, status="unfit", updated_at="2024-01-06T12:00:00Z")
    world.backfill(spec, window("2024-01-01T00:00:00Z", "2024-01-10T00:00:00Z"))
    assert found(world, spec).rows == 0, "it is in quarantine, and the copy shows nothing of it"

    doctor(world, before)
    drift = found(world, spec)
    assert drift.rows == 1
    assert "1 row of the copy shows what the source no longer has" in drift.detail
    assert drift.samples == ("2",)


def test_a_row_under_another_key_leaves_the_old_one_in_the_copy_and_its_key_is_named() -> None:
    spec = orders()
    world = settled(spec)
    world.database.update(ORDERS, {"customer": "of the 3"}, id=77, updated_at=world.database.stamp())
    world.sync(spec)
    drift = found(world, spec)
    assert drift.rows == 0
    assert "1 row is only in the lake (the key 2): " in drift.detail
    assert "given another key" in drift.detail


@WINDOWS_FIRST
@pytest.mark.parametrize("foreseen", [RowHash.TEXT, RowHash.BYTES])
def test_a_copy_that_is_counted_by_the_text_of_its_rows_after_all_is_compared_by_that(foreseen: RowHash) -> None:
    spec = orders()
    ports: Ports = settled(spec).ports()
    asked: list[RowHash] = []

    def of_lake(spec: TableSpec, windows: Sequence[Window], _by: RowHash) -> Counted:
        return Counted(foreseen, ports.lake.measure(spec, windows, RowHash.TEXT))

    def of_source(spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> Any:
        asked.append(by)
        return ports.probe.measure(spec, windows, by)

    drift = reconcile(
        spec, DAYS, replace(ports, lake=_Asked(ports.lake, of_lake), probe=_AskedProbe(ports.probe, of_source))
    )
    assert (drift.rows, "are equal" in drift.detail) == (0, True)
    assert asked == ([RowHash.TEXT] if foreseen is RowHash.TEXT else [RowHash.BYTES, RowHash.TEXT])


def test_rows_of_a_copy_with_a_column_of_another_type_are_not_compared_and_the_sentence_names_it() -> None:
    world = settled(orders())
    world.lake.known[ORDERS] = tuple(
        replace(each, spark_type="timestamp_ntz" if each.name == "updated_at" else each.spark_type)
        for each in orders().columns
    )
    with pytest.raises(SchemaChanged, match=r"updated_at was timestamp_ntz and is timestamp.* rows are not compared"):
        found(world, orders())
