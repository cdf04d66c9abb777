"""A capture of another package through the whole story: found by its entry point, and not known to any room of the product."""

from __future__ import annotations

import ast
import inspect
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.captures.registry import GROUP, capture_of, named
from incremental_assets.core.errors import SetupError, SourceRefused
from incremental_assets.core.foresight.pending import look_over
from incremental_assets.core.foresight.preview import preview
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import EVERYTHING
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.core.upkeep.reset import reset_table
from tests.core import event_log
from tests.core.event_log import EVENTS, REASON, EventLog, EventProbe, EventSource, Offset, events, kept
from tests.fakes import Killed, Process, World, ordered
from tests.fakes.rows import Row, own_columns
from tests.fakes.world import Watched
from tests.scenario import shop

BOTH = pytest.mark.parametrize("strategy", [Strategy.APPEND, Strategy.UPSERT])


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package that offers the capture, as pip leaves it."""
    folder = tmp_path / "event_log-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: event-log\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{GROUP}]\nevents = tests.core.event_log:CAPTURE\n")
    monkeypatch.syspath_prepend(tmp_path)
    named.cache_clear()
    yield
    named.cache_clear()


@dataclass
class Shop:
    """The log, and a world whose source it is."""

    log: EventLog = field(default_factory=EventLog)
    world: World = field(default_factory=lambda: World(shop()))

    def ports(self, process: Process | None = None) -> Ports:
        process = process or self.world.process()
        source = {"probe": EventProbe(self.log), "source": EventSource(self.log)}
        return replace(self.world.ports(process), **{name: Watched(port, process) for name, port in source.items()})

    def sync(self, spec: TableSpec, process: Process | None = None, mode: Mode = Mode.SYNC) -> SyncReport:
        return sync_table(spec, self.world.request(mode), self.ports(process))

    def expected(self, spec: TableSpec) -> list[Row]:
        return kept(spec, self.log.rows())

    def copy(self) -> list[Row]:
        return [own_columns(row) for row in self.world.rows(EVENTS)]

    def at(self) -> Offset:
        state = self.world.checkpoints.position(EVENTS).state
        assert state is not None
        assert isinstance(state.position, Offset)
        return state.position


def opened() -> Shop:
    """Four events of three orders."""
    there = Shop()
    for order, status in ((1, "new"), (2, "new"), (1, "paid"), (3, "new")):
        there.log.add(order, status)
    return there


def later(there: Shop) -> Shop:
    """Three more."""
    for order, status in ((2, "paid"), (4, "new"), (2, "sent")):
        there.log.add(order, status)
    return there


@BOTH
def test_events_land_once_each_from_the_offset_at_which_the_last_sync_ended(strategy: Strategy) -> None:
    there, spec = opened(), events(strategy)
    first = there.sync(spec)
    assert (first.status, first.guarantee, first.guarantee_reason) == (Status.LANDED, Guarantee.AS_DELIVERED, REASON)
    assert (first.rows.inserted, there.at()) == (4 if strategy is Strategy.APPEND else 3, Offset(4))
    assert ordered(there.copy()) == ordered(there.expected(spec))
    assert there.sync(spec).status is Status.IDLE
    later(there)
    second = there.sync(spec)
    assert (second.status, second.rows.read, there.at()) == (
        Status.LANDED,
        3 if strategy is Strategy.APPEND else 2,
        Offset(7),
    )
    assert ordered(there.copy()) == ordered(there.expected(spec))


@BOTH
def test_a_sync_of_events_killed_at_any_moment_is_made_good_by_the_next(strategy: Strategy) -> None:
    spec = replace(events(strategy), history=History.SCD2 if strategy is Strategy.UPSERT else History.NONE)
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
            there.log.add(5, "new")
            there.sync(spec)
            assert ordered(there.copy()) == ordered(there.expected(spec)), moment
            assert (there.at(), there.world.stage.batches) == (Offset(len(there.log.statuses)), {}), moment
            assert there.world.checkpoints.position(EVENTS).open is None, moment
            assert there.world.lake.sequences(EVENTS) == sorted(set(there.world.lake.sequences(EVENTS))), moment
            if spec.history is History.SCD2:
                assert there.world.lake.differing_versions(spec) == FaultyKeys(0), moment


@BOTH
def test_a_lost_checkpoint_table_is_rebuilt_from_the_commit_that_carries_the_offset(strategy: Strategy) -> None:
    there, spec = opened(), events(strategy)
    there.sync(spec)
    there.world.memory.events.clear()
    later(there)
    found = there.sync(spec)
    assert found.rows.read == (3 if strategy is Strategy.APPEND else 2), "and not the log from its beginning"
    assert there.at() == Offset(7)
    assert ordered(there.copy()) == ordered(there.expected(spec))


def test_a_range_whose_events_are_gone_stops_by_name_and_lands_nothing() -> None:
    there, spec = opened(), events(Strategy.APPEND)
    there.sync(spec)
    later(there).log.trimmed = 5
    with pytest.raises(SourceRefused, match=r"shop.log.orders: the log no longer has every event from 4 on"):
        there.sync(spec)
    assert (len(there.copy()), there.at(), there.world.stage.batches) == (4, Offset(4), {})


def test_its_state_names_its_capture_and_comes_back_from_its_document() -> None:
    there = opened()
    there.sync(events(Strategy.APPEND))
    state = there.world.checkpoints.position(EVENTS).state
    assert state is not None
    document = json.loads(state.to_json())
    assert (document["version"], document["capture"], document["position"]) == (4, "events", {"next": 4})
    assert state_of(state.to_json()) == state
    assert str(state.position) == "offset 4"


def test_a_look_finds_what_moved_and_a_table_that_stands_still() -> None:
    there, spec = opened(), events(Strategy.APPEND)
    there.sync(spec)
    positions = {EVENTS: there.world.checkpoints.position(EVENTS)}
    (still,) = look_over([spec], positions, EventProbe(there.log).observe([ObserveRequest(spec, None)]))[2]
    assert (still.found.reason, still.is_news) == ("no event came", False)
    later(there)
    (moved,) = look_over([spec], positions, EventProbe(there.log).observe([ObserveRequest(spec, None)]))[0]
    assert (moved.window, moved.announced) == (EVERYTHING, EVERYTHING)
    shown = preview(
        spec, positions[EVENTS], EventProbe(there.log).observe([ObserveRequest(spec, None)])[0], there.world.lake
    )
    assert shown.plan is not None
    assert shown.plan.reading.promise.guarantee is Guarantee.AS_DELIVERED


def test_many_tables_are_looked_at_together_and_those_that_moved_are_read() -> None:
    there, spec = opened(), events(Strategy.UPSERT)

    def asked(_: TableSpec) -> Request:
        return there.world.request(Mode.SYNC)

    (report,) = sync_many([spec], asked, there.ports(), parallel=2)
    assert (report.status, there.at()) == (Status.LANDED, Offset(4))
    (report,) = sync_many([spec], asked, there.ports(), parallel=2)
    assert report.status is Status.IDLE


@BOTH
@pytest.mark.parametrize("mode", [Mode.FULL_REFRESH, Mode.BACKFILL])
def test_events_can_be_read_again_and_none_is_doubled(strategy: Strategy, mode: Mode) -> None:
    there, spec = opened(), events(strategy)
    there.sync(spec)
    later(there)
    assert there.sync(spec, mode=mode).rows.read == len(there.expected(spec))
    assert ordered(there.copy()) == ordered(there.expected(spec))
    there.sync(spec)
    assert ordered(there.copy()) == ordered(there.expected(spec))
    assert there.at() == Offset(7)


def test_a_reset_reads_the_log_from_its_beginning_and_says_so() -> None:
    there, spec = opened(), events(Strategy.APPEND)
    there.sync(spec)
    reset_table(spec=spec, to=None, run_id="reset", checkpoints=there.world.checkpoints)
    assert there.at() == Offset(0)
    assert there.world.memory.events[-1].detail == "the watermark went from offset 4 to offset 0"
    assert there.sync(spec).rows.read == 4
    assert ordered(there.copy()) == ordered(there.expected(spec))


def test_another_capture_is_another_way_to_read_so_that_its_rows_are_not_gone_on_from() -> None:
    spec = events(Strategy.APPEND)
    assert spec.terms.cursor == "events"
    assert not spec.terms.same_cursor(replace(spec, capture="").terms)


def test_a_capture_that_no_package_has_is_named_with_those_there_are() -> None:
    with pytest.raises(SetupError, match="no installed package has a capture 'binlog'; there are cursor, transaction"):
        capture_of(replace(events(Strategy.APPEND), capture="binlog"))


def test_it_takes_nothing_of_the_captures_of_databases() -> None:
    imported = [
        node.module or ""
        for node in ast.walk(ast.parse(inspect.getsource(event_log)))
        if isinstance(node, ast.ImportFrom)
    ]
    ours = {module for module in imported if module.startswith("incremental_assets.core.captures")}
    assert ours == {"incremental_assets.core.captures.capture", "incremental_assets.core.captures.landed"}
