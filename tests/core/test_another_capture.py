"""A capture of another package through the whole story: found by its entry point, and not known to any room of the product."""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from incremental_assets.core.captures import registry
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.captures.registry import capture_of, named
from incremental_assets.core.checks.differing_rows import differing_rows
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.errors import SelectionError, SetupError, SourceExchanged, SourceRefused
from incremental_assets.core.maintenance.replay import replay_table
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import EVERYTHING
from incremental_assets.core.planning.plan import Mode, Request, SyncPlan
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.preview.pending import look_over
from incremental_assets.core.preview.preview import preview
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.core.syncing.sync_many import sync_many
from tests import toy_capture
from tests.fakes import Killed, Process, World, ordered
from tests.fakes.rows import own_columns
from tests.fakes.world import Watched
from tests.scenario import shop
from tests.toy_capture import source as toy_source
from tests.toy_capture.capture import CAPTURE, REASON, EventCapture, Offsets, offsets_of, ranges_of
from tests.toy_capture.installed import install
from tests.toy_capture.log import EventLog, Row, Topic
from tests.toy_capture.source import EventProbe, EventSource, is_there, latest, shape_of

BOTH = pytest.mark.parametrize("strategy", [Strategy.APPEND, Strategy.UPSERT])
SHAPE = shape_of("shop", "orders")
EVENTS = SHAPE.id


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package that offers the capture, as pip leaves it."""
    install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    named.cache_clear()
    yield
    named.cache_clear()


def events(strategy: Strategy) -> TableSpec:
    """The table of a topic: each event by its partition and offset, or the last one of each order."""
    key = ("partition", "offset") if strategy is Strategy.APPEND else ("id",)
    return TableSpec(shape=SHAPE, strategy=strategy, key=key, key_enforced=True, capture="events")


@dataclass
class Shop:
    """The log, and a world whose source it is."""

    topic: Topic = field(default_factory=Topic)
    world: World = field(default_factory=lambda: World(shop()))

    @property
    def probe(self) -> EventProbe:
        return EventProbe(lambda: EventLog({"orders": self.topic}), "shop")

    def ports(self, process: Process | None = None) -> Ports:
        process = process or self.world.process()
        source = {"probe": self.probe, "source": EventSource(lambda: EventLog({"orders": self.topic}))}
        return replace(self.world.ports(process), **{name: Watched(port, process) for name, port in source.items()})

    def sync(self, spec: TableSpec, process: Process | None = None, mode: Mode = Mode.SYNC) -> SyncReport:
        return sync_table(spec, self.world.request(mode), self.ports(process))

    def expected(self, spec: TableSpec) -> list[Row]:
        parts = (latest(spec, self.topic, number, 0, end) for number, end in enumerate(self.topic.ends))
        return is_there([row for part in parts for row in part])

    def copy(self) -> list[Row]:
        return [own_columns(row) for row in self.world.rows(EVENTS)]

    def at(self) -> Offsets:
        state = self.world.checkpoints.position(EVENTS).state
        assert state is not None
        return offsets_of(state)

    def check(self, spec: TableSpec, moment: str = "") -> None:
        """Nothing is lost, nothing is twice, and the position is that of the rows."""
        assert ordered(self.copy()) == ordered(self.expected(spec)), moment
        assert (self.at(), self.world.stage.batches) == (Offsets(self.topic.ends), {}), moment
        assert self.world.checkpoints.position(EVENTS).open is None, moment
        sequences = self.world.lake.sequences(EVENTS)
        assert sequences == sorted(set(sequences)), moment
        if spec.history is History.SCD2:
            assert self.world.lake.differing_versions(spec) == FaultyKeys(0), moment


def opened() -> Shop:
    """Five events of three orders in two partitions: orders 1 and 3 in the one, 2 in the other."""
    there = Shop()
    there.topic.put(1, "new")
    there.topic.put(2, "new")
    there.topic.put(1, "paid")
    there.topic.put(3, "new")
    there.topic.put(2, "paid")
    return there


def later(there: Shop) -> Shop:
    """Four more, by which an order is gone and another one changes twice."""
    there.topic.put(3, "paid")
    there.topic.gone(1)
    there.topic.put(4, "new")
    there.topic.put(3, "sent")
    return there


@BOTH
def test_events_land_once_each_from_the_offsets_at_which_the_last_sync_ended(strategy: Strategy) -> None:
    there, spec = opened(), events(strategy)
    first = there.sync(spec)
    assert (first.status, first.guarantee, first.guarantee_reason) == (Status.LANDED, Guarantee.AS_DELIVERED, REASON)
    assert (first.rows.inserted, there.at()) == (5 if strategy is Strategy.APPEND else 3, Offsets((2, 3)))
    there.check(spec)
    assert there.sync(spec).status is Status.IDLE
    second = later(there).sync(spec)
    assert (second.status, second.rows.read) == (Status.LANDED, 4 if strategy is Strategy.APPEND else 3)
    assert there.at() == Offsets((3, 6))
    there.check(spec)
    assert there.sync(spec).status is Status.IDLE


def test_an_order_that_is_gone_leaves_the_copy_and_comes_back_with_a_later_event() -> None:
    there, spec = opened(), events(Strategy.UPSERT)
    there.sync(spec)
    there.topic.gone(2)
    report = there.sync(spec)
    assert (report.rows.read, {row["id"] for row in there.copy()}) == (1, {1, 3})
    there.topic.put(2, "again")
    there.sync(spec)
    assert {row["id"]: row["status"] for row in there.copy()} == {1: "paid", 2: "again", 3: "new"}


def killed_at_every_moment(spec: TableSpec) -> None:
    """The first sync and the second, each killed at each of its moments; the next one heals."""
    for second in (False, True):
        for number in itertools.count():
            there = opened()
            if second:
                there.sync(spec)
                later(there)
            process = there.world.process()
            process.kill_at = number
            try:
                there.sync(spec, process)
            except Killed:
                moment = f"killed {process.moments[-1]}, number {number}"
            else:
                assert number > 10
                break
            there.topic.put(5, "new")
            there.sync(spec)
            there.check(spec, moment)


@BOTH
def test_a_sync_of_events_killed_at_any_moment_is_made_good_by_the_next(strategy: Strategy) -> None:
    killed_at_every_moment(
        replace(events(strategy), history=History.SCD2 if strategy is Strategy.UPSERT else History.NONE)
    )


@BOTH
def test_a_sync_of_events_that_fails_at_any_step_is_made_good_by_the_next(strategy: Strategy) -> None:
    spec = events(strategy)
    for number in itertools.count():
        there = opened()
        there.sync(spec)
        process = later(there).world.process()
        process.at[number] = fail
        try:
            there.sync(spec, process)
        except SourceRefused:
            moment = f"failed {process.moments[-1]}, number {number}"
        if process.at:
            assert number > 10
            break
        there.topic.put(5, "new")
        there.sync(spec)
        there.check(spec, moment)


def fail() -> None:
    raise SourceRefused("shop.topic.orders: something of the outside world did not answer")


# --- variants that are known to be bad ------------------------------------------------------------------------


class CountsOnItself(EventCapture):
    """Keeps its position beside the commit, and goes on from there: a kill between the two loses events."""

    def __init__(self) -> None:
        self.beside: tuple[int, ...] = ()

    def plan(self, spec, request, state, commit_ids, observation):  # type: ignore[no-untyped-def]
        if state is not None and len(self.beside):
            state = replace(state, position=Offsets(self.beside))
        return super().plan(spec, request, state, commit_ids, observation)

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        self.beside = tuple(each.end for each in ranges_of(plan))
        return super().accepted(plan, snapshot)


class TakesWhatIsThere(EventCapture):
    """Does not ask whether every event of the ranges is there."""

    def accepted(self, plan: SyncPlan, snapshot: object) -> SyncPlan:
        return plan


class StaysBehind(EventCapture):
    """Forgets that a range is closed: its position is that before it."""

    def landed(self, plan: SyncPlan, read) -> State:  # type: ignore[no-untyped-def]
        return replace(
            super().landed(plan, read), position=Offsets(tuple(max(0, each.end - 1) for each in ranges_of(plan)))
        )


def oldest(spec: TableSpec, topic: Topic, number: int, first: int, end: int) -> tuple[Row, ...]:
    """Of each key the first event of the range: the older one overwrites the newer."""
    found: dict[object, Row] = {}
    for at in range(first, end):
        for row in latest(spec, topic, number, at, at + 1):
            found.setdefault(row["id"], row)
    return tuple(found.values())


@pytest.mark.parametrize("variant", [CountsOnItself, StaysBehind])
def test_a_position_that_is_not_committed_with_its_rows_is_found(
    variant: Callable[[], EventCapture], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = variant()
    monkeypatch.setattr(registry, "named", lambda _: made)
    with pytest.raises(AssertionError, match=r"killed|==|assert"):
        killed_at_every_moment(events(Strategy.APPEND))


def test_a_range_whose_events_are_gone_stops_by_name_and_lands_nothing() -> None:
    there, spec = opened(), events(Strategy.APPEND)
    there.sync(spec)
    later(there).topic.trimmed = [0, 4]
    with pytest.raises(SourceRefused, match="partition 1 of the log no longer has every event from 3 on"):
        there.sync(spec)
    assert (len(there.copy()), there.at(), there.world.stage.batches) == (5, Offsets((2, 3)), {})


def test_a_reading_that_is_taken_for_complete_with_an_event_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    variant = TakesWhatIsThere()
    monkeypatch.setattr(registry, "named", lambda _: variant)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_a_range_whose_events_are_gone_stops_by_name_and_lands_nothing()


def test_an_older_event_that_overwrites_a_newer_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Shop.expected
    there, spec = opened(), events(Strategy.UPSERT)
    expected = right(there, spec)
    monkeypatch.setattr(toy_source, "latest", oldest)
    there.sync(spec)
    assert ordered(there.copy()) != ordered(expected)


# --- the rest of the product ----------------------------------------------------------------------------------


@BOTH
def test_a_lost_checkpoint_table_is_rebuilt_from_the_commit_that_carries_the_offsets(strategy: Strategy) -> None:
    there, spec = opened(), events(strategy)
    there.sync(spec)
    there.world.memory.events.clear()
    found = later(there).sync(spec)
    assert found.rows.read == (4 if strategy is Strategy.APPEND else 3), "and not the log from its beginning"
    there.check(spec)


def test_a_log_that_was_made_anew_stops_by_name() -> None:
    there, spec = opened(), events(Strategy.APPEND)
    there.sync(spec)
    there.topic = Topic()
    there.topic.put(1, "new")
    with pytest.raises(SourceExchanged, match="the log ends before the events that were read of it"):
        there.sync(spec)


def test_a_partition_that_comes_later_is_read_from_its_beginning() -> None:
    there, spec = opened(), events(Strategy.APPEND)
    there.sync(spec)
    there.topic.partitions.append([])
    there.topic.trimmed.append(0)
    there.topic.put(5, "new")
    there.sync(spec)
    assert there.at() == Offsets((2, 3, 1))
    there.check(spec)


def test_its_state_names_its_capture_and_comes_back_from_its_document() -> None:
    there = opened()
    there.sync(events(Strategy.APPEND))
    state = there.world.checkpoints.position(EVENTS).state
    assert state is not None
    document = json.loads(state.to_json())
    assert (document["version"], document["capture"], document["position"]) == (4, "events", {"next": [2, 3]})
    assert state_of(state.to_json()) == state
    assert str(state.position) == "the offsets 2, 3"


def test_a_look_finds_what_moved_and_a_table_that_stands_still() -> None:
    there, spec = opened(), events(Strategy.APPEND)
    there.sync(spec)
    positions, looks = {EVENTS: there.world.checkpoints.position(EVENTS)}, [ObserveRequest(spec, None)]
    (still,) = look_over([spec], positions, there.probe.observe(looks))[2]
    assert (still.found.reason, still.is_news) == ("no event came", False)
    later(there)
    (moved,) = look_over([spec], positions, there.probe.observe(looks))[0]
    assert (moved.window, moved.announced) == (EVERYTHING, EVERYTHING)
    shown = preview(spec, positions[EVENTS], there.probe.observe(looks)[0], there.world.lake, there.world.checkpoints)
    assert shown.plan is not None
    assert shown.plan.reading.promise.guarantee is Guarantee.AS_DELIVERED
    assert (shown.terms.deletes, shown.plan.reading.behind) == ("an event says so", "the offsets 2, 3")


def test_many_tables_are_looked_at_together_and_those_that_moved_are_read() -> None:
    there, spec = opened(), events(Strategy.UPSERT)

    def asked(_: TableSpec) -> Request:
        return there.world.request(Mode.SYNC)

    (report,) = sync_many([spec], asked, there.ports(), parallel=2)
    assert (report.status, there.at()) == (Status.LANDED, Offsets((2, 3)))
    (report,) = sync_many([spec], asked, there.ports(), parallel=2)
    assert report.status is Status.IDLE


@BOTH
@pytest.mark.parametrize("mode", [Mode.FULL_REFRESH, Mode.BACKFILL])
def test_events_can_be_read_again_and_none_is_doubled(strategy: Strategy, mode: Mode) -> None:
    there, spec = opened(), events(strategy)
    there.sync(spec)
    later(there)
    assert there.sync(spec, mode=mode).rows.read == (9 if strategy is Strategy.APPEND else 4)
    assert ordered(there.copy()) == ordered(there.expected(spec))
    there.sync(spec)
    there.check(spec)


def test_a_reset_reads_the_log_from_its_beginning_and_says_so() -> None:
    there, spec = opened(), events(Strategy.APPEND)
    there.sync(spec)
    reset_table(spec=spec, to=None, run_id="reset", checkpoints=there.world.checkpoints)
    assert there.at() == Offsets()
    detail = "the watermark went from the offsets 2, 3 to the beginning of the log"
    assert there.world.memory.events[-1].detail == detail
    assert there.sync(spec).rows.read == 5
    there.check(spec)


def test_a_rollback_takes_the_offsets_back_with_the_rows() -> None:
    there, spec = opened(), events(Strategy.UPSERT)
    first = there.sync(spec)
    before = ordered(there.copy())
    later(there)
    there.sync(spec)
    roll_back(spec, first.run_id, "back", there.ports())
    assert (ordered(there.copy()), there.at()) == (before, Offsets((2, 3)))
    there.sync(spec)
    there.check(spec)


def test_what_a_contract_holds_of_events_is_read_again() -> None:
    there, spec = opened(), replace(events(Strategy.UPSERT), contract=Contract())
    there.topic.put(7, "broken")
    there.sync(spec)
    assert {row["id"] for row in there.copy()} == {1, 2, 3}
    there.topic.gone(7)
    (report,) = replay_table(spec, "replay", there.ports())
    held = there.world.lake.held(spec)
    assert (report.status, held and held.rows) == (Status.LANDED, 0)
    assert {row["id"] for row in there.copy()} == {1, 2, 3}


def test_a_source_that_tells_only_what_comes_is_not_compared_and_says_so() -> None:
    there, spec = opened(), events(Strategy.UPSERT)
    there.sync(spec)
    drift = reconcile(spec, None, there.ports())
    assert (drift.was_compared, drift.rows) == (False, 0)
    assert drift.detail.startswith("the source tells what comes, and is not asked for the rows that it has")
    with pytest.raises(SelectionError, match="the source tells what comes, and is not asked for the rows that it has"):
        differing_rows(spec, None, 10, there.ports())
    with pytest.raises(SourceRefused, match="its source tells what comes, and is not asked for the rows that it has"):
        there.ports().source_rows(spec)
    with pytest.raises(SelectionError, match="this table is read by its offsets and has no windows to repair"):
        repair_table(spec, None, "repair", there.ports())


def test_another_capture_is_another_way_to_read_so_that_its_rows_are_not_gone_on_from() -> None:
    spec = events(Strategy.APPEND)
    assert spec.terms.cursor == "events"
    assert not spec.terms.same_cursor(replace(spec, capture="").terms)


def test_a_capture_that_no_package_has_is_named_with_those_there_are() -> None:
    assert capture_of(events(Strategy.APPEND)) is CAPTURE
    with pytest.raises(SetupError, match="no installed package has a capture 'binlog'; there are cursor, transaction"):
        capture_of(replace(events(Strategy.APPEND), capture="binlog"))


def test_it_takes_nothing_of_the_captures_of_databases_nor_of_databases() -> None:
    files = sorted(Path(*toy_capture.__path__).glob("*.py"))
    imported = {
        node.module or ""
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
    }
    rooms = ("incremental_assets.core.captures.", "incremental_assets.adapters.")
    assert len(files) == 5
    assert {module for module in imported if module.startswith(rooms)} == {
        "incremental_assets.core.captures.capture",
        "incremental_assets.core.captures.landed",
        "incremental_assets.core.captures.registry",
        "incremental_assets.adapters.spark.arrow_types",
        "incremental_assets.adapters.spark.own_names",
    }
