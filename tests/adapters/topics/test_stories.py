"""A topic through the whole story of a sync: killed at every moment, with its connector restarted, compacted, trimmed and made anew."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_REASON
from incremental_assets.adapters.topics import completing, tombstones
from incremental_assets.adapters.topics.probe import TopicProbe
from incremental_assets.adapters.topics.shapes import declared
from incremental_assets.adapters.topics.source import TopicSource
from incremental_assets.adapters.topics.tombstones import MOST_FILES, Tombstones
from incremental_assets.core.captures.topic import ranges
from incremental_assets.core.captures.topic.position import Log, TopicPosition
from incremental_assets.core.config.kafka_settings import Format, Topic
from incremental_assets.core.errors import LakeRefused, Refused, SchemaChanged, SourceExchanged, SourceRefused
from incremental_assets.core.maintenance.replay import replay_table
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.paths import tombstones_path
from incremental_assets.core.model.topic_columns import NAMES
from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.strategies import Strategy
from incremental_assets.core.syncing.sync import sync_table
from tests.adapters.topics.broker import FakeBroker, FakeTopic, envelope
from tests.adapters.topics.tables import NAME, table, topic
from tests.fakes import Killed, Process, World
from tests.fakes.rows import own_columns
from tests.fakes.world import Watched
from tests.scenario import shop

_NUMBERS = itertools.count()
ORDERS = topic(id="bigint", status="string")
WORD = "__debezium_unavailable_value"
BOTH = pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])


class _Frame:
    """A snapshot whose rows are a list, as the stage of the fakes takes them."""

    def __init__(self, snapshot: Any, names: tuple[str, ...]) -> None:
        self._snapshot, self._names = snapshot, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    @property
    def frame(self) -> list[dict[str, Any]]:
        read = [batch for part in self._snapshot.parts for batch in part.batches()]
        rows = []
        for row in (row for batch in read for row in batch.to_pylist()):
            shown = {name: row[f"c{place}"] for place, name in enumerate(self._names)}
            if row[REJECT_REASON] is not None:
                # What a fake takes for a value that no copy can hold.
                shown[next(name for name in self._names if name not in ("id", *NAMES))] = f"unfit: {row[REJECT_REASON]}"
            rows.append(shown | {OPERATION: row[OPERATION]})
        return rows


@dataclass
class _Source:
    inner: TopicSource

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Any]:
        with self.inner.snapshot(plan) as snapshot:
            yield _Frame(snapshot, plan.spec.shape.names)


@dataclass
class Shop:
    """A topic, and a world whose source it is."""

    made_of: Topic = ORDERS
    strategy: Strategy = Strategy.UPSERT
    history: History = History.NONE
    topic: FakeTopic = field(default_factory=FakeTopic)
    world: World = field(default_factory=lambda: World(shop()))
    lsn: int = 0
    lake: str = field(default_factory=lambda: f"lake-{next(_NUMBERS)}")
    """Below the folder of the test, see `conftest.py`."""

    def __post_init__(self) -> None:
        self.broker = FakeBroker({NAME: self.topic})
        told = None if self.made_of.columns else declared(ORDERS)
        self.spec = table(self.made_of, self.strategy, told, self.history)
        self.probe = TopicProbe(self.broker, "shop", {self.spec.id: (self.made_of, self.strategy)})

    def say(self, op: str, key: int, status: str | None = None, partition: int = 0) -> None:
        """What the source's connector writes of a change."""
        self.lsn += 10
        value: Any = envelope(op, None if op == "t" else {"id": key, "status": status}, self.lsn)
        if self.made_of.format is Format.UNWRAPPED:
            value = {"id": key, "status": status, "__deleted": str(op == "d").lower()}
        self.topic.put(None if op == "t" else {"id": key}, value, partition)
        if op == "d":
            self.topic.put({"id": key}, None, partition)

    def again(self, first: int, last: int, partition: int = 0) -> None:
        """The connector was started again, and sends what it has sent before."""
        for record in self.topic.partitions[partition][first:last]:
            if record is not None:
                self.topic.put(record.key, record.value, partition)

    def ports(self, process: Process | None = None) -> Ports:
        process = process or self.world.process()
        source = _Source(TopicSource(self.broker, {self.spec.id: self.made_of}, self._copied, self.lake))
        watched = {"probe": self.probe, "source": source}
        return replace(self.world.ports(process), **{name: Watched(port, process) for name, port in watched.items()})

    def _copied(self, spec: Any, names: Any, keys: pa.Table | None) -> pa.Table:
        types = {each.name: required_type(each.spark_type) for each in spec.columns}
        rows = [row for row in self.world.rows(spec.id) if row.get("_sync_deleted_at") is None]
        found = pa.table({name: pa.array([row[name] for row in rows], types[name]) for name in names})
        return found if keys is None else found.join(keys, keys=keys.column_names, join_type="left semi")

    def sync(self, process: Process | None = None, mode: Mode = Mode.SYNC, **more: Any) -> SyncReport:
        return sync_table(self.spec, replace(self.world.request(mode), **more), self.ports(process))

    def copy(self) -> dict[Any, Any]:
        """Status by key."""
        return {row["id"]: row["status"] for row in map(own_columns, self.world.rows(self.spec.id))}

    def changes(self) -> list[tuple[Any, ...]]:
        """Of a copy that keeps each record."""
        rows = map(own_columns, self.world.rows(self.spec.id))
        return sorted((row["_topic_partition"], row["_topic_offset"], row["_op"], row["id"]) for row in rows)

    def at(self) -> TopicPosition:
        state = self.world.checkpoints.position(self.spec.id).state
        assert state is not None
        assert isinstance(state.position, TopicPosition)
        return state.position

    def check(self, moment: str = "") -> None:
        """Nothing is lost, nothing is twice, and the position is that of the rows."""
        assert self.at().next == self.topic.ends, moment
        assert self.world.stage.batches == {}, moment
        assert self.world.checkpoints.position(self.spec.id).open is None, moment
        if self.strategy is Strategy.APPEND:
            there = [(r.partition, r.offset) for p in self.topic.partitions for r in p if r is not None]
            assert [each[:2] for each in self.changes()] == sorted(there), moment
        if self.history is History.SCD2:
            assert self.world.lake.differing_versions(self.spec) == FaultyKeys(0), moment


def opened(strategy: Strategy = Strategy.UPSERT, **more: Any) -> Shop:
    there = Shop(strategy=strategy, **more)
    there.say("r", 1, "new")
    there.say("r", 2, "new")
    there.say("u", 1, "paid")
    there.topic.mark()
    return there


def later(there: Shop) -> Shop:
    there.say("d", 2)
    there.say("c", 3, "new")
    there.again(0, 7)
    there.say("u", 3, WORD)
    return there


def test_a_copy_has_one_row_for_each_key_and_a_row_that_is_gone_leaves_it() -> None:
    there = opened()
    first = there.sync()
    assert (first.status, first.guarantee, there.copy()) == (Status.LANDED, "as_delivered", {1: "paid", 2: "new"})
    assert there.sync().status is Status.IDLE
    later(there).sync()
    assert there.copy() == {1: "paid", 3: "new"}
    there.check()


def test_every_record_is_a_row_of_a_copy_that_keeps_changes() -> None:
    there = opened(Strategy.APPEND)
    there.say("d", 2)
    there.say("t", 0)
    there.sync()
    assert there.changes() == [
        *((0, 0, "r", 1), (0, 1, "r", 2), (0, 2, "u", 1)),
        *((0, 4, "d", 2), (0, 5, "tombstone", 2), (0, 6, "t", None)),
    ]
    there.check()


def killed_at_every_moment(strategy: Strategy, history: History) -> None:
    for second in (False, True):
        for number in itertools.count():
            there = opened(strategy, history=history)
            if second:
                there.sync()
                there.say("d", 2)
                there.say("c", 3, "new")
            process = there.world.process()
            process.kill_at = number
            try:
                there.sync(process)
            except Killed:
                moment = f"killed {process.moments[-1]}, number {number}"
            else:
                assert number > 10
                break
            there.say("u", 1, "sent")
            there.sync()
            there.check(moment)
            if strategy is Strategy.UPSERT:
                assert there.copy() == {1: "sent", 3: "new"} if second else {1: "sent", 2: "new"}, moment


@BOTH
def test_a_sync_that_is_killed_at_any_moment_is_made_good_by_the_next(strategy: Strategy) -> None:
    killed_at_every_moment(strategy, History.SCD2 if strategy is Strategy.UPSERT else History.NONE)


def test_a_connector_that_is_started_again_takes_no_row_back_wherever_a_sync_cuts_what_it_repeats() -> None:
    for cut in range(6):
        there = opened()
        there.say("u", 1, "sent")
        there.sync()
        there.again(0, cut)
        there.sync()
        assert there.copy()[1] == "sent", cut
        there.again(cut, 5)
        there.sync()
        assert there.copy() == {1: "sent", 2: "new"}, cut


def test_a_variant_that_takes_what_comes_for_newer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completing, "_held", lambda *_: {})
    with pytest.raises(AssertionError):
        test_a_connector_that_is_started_again_takes_no_row_back_wherever_a_sync_cuts_what_it_repeats()


def test_a_row_that_is_gone_stays_gone_when_a_connector_repeats_what_came_before() -> None:
    for cut in range(7):
        there = opened()
        there.say("d", 1)
        there.sync()
        for first, last in ((0, cut), (cut, 6)):
            there.again(first, last)
            there.sync()
            assert there.copy() == {2: "new"}, (cut, first)
        there.say("c", 1, "again")
        there.sync()
        assert there.copy() == {1: "again", 2: "new"}, cut


def test_a_variant_that_forgets_what_is_gone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tombstones, "places", lambda *_: {})
    with pytest.raises(AssertionError):
        test_a_row_that_is_gone_stays_gone_when_a_connector_repeats_what_came_before()


def test_a_row_that_is_gone_stays_gone_when_the_topic_is_read_again_without_its_delete() -> None:
    there = opened()
    there.say("d", 1)
    there.sync()
    there.again(0, 3)
    there.topic.lows = [6]
    there.sync(mode=Mode.FULL_REFRESH)
    assert there.copy() == {2: "new"}


def test_what_is_gone_is_kept_for_a_week_in_a_few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    there = opened()
    for key in range(10, 10 + MOST_FILES):
        there.say("d", key)
        there.sync()
    folder = Path(tombstones_path(there.lake, there.spec.id, there.topic.id))
    assert len([*folder.iterdir()]) == MOST_FILES
    (folder / "died.unfinished").touch()
    there.say("d", 9)
    there.sync()
    assert len([*folder.iterdir()]) == 1
    there.say("c", 12, "again")
    there.say("d", 12)
    there.sync()
    there.again(len(there.topic.partitions[0]) - 3, len(there.topic.partitions[0]) - 2)
    there.sync()
    assert 12 not in there.copy()
    monkeypatch.setattr(tombstones, "KEEP", timedelta())
    for key in range(100, 100 + MOST_FILES):
        there.say("d", key)
        there.sync()
    assert Tombstones(folder, there.spec).places({(9,), (12,)}) == {}


def test_a_folder_of_what_is_gone_that_cannot_be_used_is_one_sentence() -> None:
    there = opened()
    there.say("d", 1)
    there.sync()
    folder = Path(tombstones_path(there.lake, there.spec.id, there.topic.id))
    (folder / "cut.parquet").write_bytes(b"PAR1")
    there.again(0, 1)
    with pytest.raises(LakeRefused, match="where the keys of deleted rows are kept, cannot be used"):
        there.sync()
    (folder / "cut.parquet").unlink()
    there.sync()
    assert there.copy() == {2: "new"}


def test_a_value_that_did_not_come_is_the_rows_own_and_without_one_the_change_is_kept_apart() -> None:
    there = opened()
    there.sync()
    there.say("u", 1, WORD)
    there.say("u", 9, WORD)
    report = there.sync()
    assert there.copy() == {1: "paid", 2: "new"}
    (unfit,) = there.world.lake.unfit_rows(there.spec)
    assert (unfit["id"], str(unfit["status"])[:42], report.rows.quarantined) == (
        9,
        f"unfit: {completing.NOWHERE}"[:42],
        1,
    )


def test_a_value_that_did_not_come_is_not_that_of_before_a_change_that_could_not_land() -> None:
    there = opened()
    there.topic.put({"id": 6}, envelope("c", {"id": 6, "status": "new"}, 600))
    there.sync()
    there.topic.put({"id": 1}, envelope("u", {"id": 1, "status": 7}, 500))
    there.topic.put({"id": 1}, envelope("u", {"id": 1, "status": WORD}, 510))
    there.sync()
    assert there.copy() == {2: "new", 6: "new"}
    (unfit,) = there.world.lake.unfit_rows(there.spec)
    assert str(unfit["status"]).startswith(f"unfit: {completing.NOWHERE}")


def test_a_copy_that_is_loaded_again_takes_no_value_of_the_one_before() -> None:
    there = opened()
    there.sync()
    there.say("u", 1, WORD)
    there.topic.lows = [3]
    there.sync(mode=Mode.FULL_REFRESH, allow_shrink=True)
    assert there.copy() == {}
    assert [row["id"] for row in there.world.lake.unfit_rows(there.spec)] == [1]


def test_what_is_read_again_ends_where_the_last_sync_did() -> None:
    there = opened()
    there.sync()
    there.say("c", 3, "new")
    there.topic.add_partition()
    there.say("c", 4, "new", partition=1)
    there.topic.put({"id": 5}, envelope("c", {"id": 5, "status": "new"}, 900), 1)
    there.sync(mode=Mode.BACKFILL)
    assert (there.at().next, there.copy()) == ((4,), {1: "paid", 2: "new"})
    there.sync()
    assert there.copy() == {1: "paid", 2: "new", 3: "new", 4: "new", 5: "new"}


def test_a_truncation_empties_the_copy_and_a_person_decides_where_nothing_is_left() -> None:
    there = opened()
    there.sync()
    there.say("t", 0)
    with pytest.raises(Refused, match="the table was truncated in the source, which would leave none of the 2 rows"):
        there.sync()
    assert there.copy() == {1: "paid", 2: "new"}
    there.sync(allow_shrink=True)
    assert there.copy() == {}
    there.say("c", 5, "new")
    there.sync()
    assert there.copy() == {5: "new"}


def test_a_truncation_takes_what_another_partition_brings_of_before_it() -> None:
    there = opened()
    there.topic.add_partition()
    there.sync()
    there.say("u", 2, "late")
    late = there.topic.partitions[0].pop()
    there.say("t", 0, partition=1)
    there.say("c", 5, "new", partition=1)
    there.sync()
    assert late is not None
    there.topic.partitions[0].append(late)
    there.sync()
    assert there.copy() == {5: "new"}


def test_records_that_are_none_are_kept_apart_with_their_place_and_the_others_land() -> None:
    there = opened()
    there.topic.put({"id": 2}, b"poison")
    there.topic.put(None, b"poison")
    report = there.sync()
    assert (there.copy(), report.rows.quarantined) == ({1: "paid"}, 2)
    assert [row["_topic_offset"] for row in there.world.lake.unfit_rows(there.spec)] == [4, 5]
    there.say("u", 2, "healed")
    there.sync()
    assert there.copy() == {1: "paid", 2: "healed"}


def test_a_partition_that_comes_later_is_read_from_its_beginning() -> None:
    there = opened()
    there.sync()
    there.topic.add_partition()
    there.say("c", 7, "new", partition=1)
    there.sync()
    assert (there.copy()[7], there.at().next) == ("new", (4, 1))


def test_two_changes_of_a_row_at_one_place_count_by_their_offsets_also_where_a_sync_ends_between_them() -> None:
    there = opened()
    there.topic.put({"id": 5}, envelope("c", {"id": 5, "status": "new"}, 500))
    there.topic.put({"id": 6}, envelope("c", {"id": 6, "status": "new"}, 600))
    there.sync()
    there.topic.put({"id": 5}, envelope("d", {"id": 5, "status": None}, 500))
    there.sync()
    assert there.copy() == {1: "paid", 2: "new", 6: "new"}


def stops(there: Shop, error: type[Exception], words: str) -> None:
    before = there.copy(), there.at()
    with pytest.raises(error, match=words):
        there.sync()
    assert (there.copy(), there.at()) == before


def test_records_that_retention_has_removed_before_they_were_read_stop_the_table_by_name() -> None:
    there = opened()
    there.sync()
    later(there)
    there.topic.lows = [6]
    stops(
        there,
        SourceExchanged,
        "begins at offset 6, and 4 comes next: retention has removed records that were never read",
    )


def test_a_partition_that_came_later_and_has_lost_records_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.topic.add_partition()
    there.say("c", 7, "new", partition=1)
    there.topic.lows[1] = 1
    stops(there, SourceExchanged, "partition 1 of 'lab.shop.orders' begins at offset 1, and 0 comes next")


def test_records_that_retention_removes_while_they_are_read_stop_the_sync() -> None:
    there = opened()
    there.sync()
    process = later(there).world.process()

    def trim() -> None:
        there.topic.lows = [6]

    process.at["before snapshot"] = trim
    with pytest.raises(SourceRefused, match="no longer has the offsets from 4"):
        there.sync(process)
    assert there.at().next == (4,)


def test_a_topic_that_was_made_anew_stops_the_table_by_name_and_is_loaded_again() -> None:
    there = opened()
    there.sync()
    there.topic.id, there.topic.partitions = "topic-2", [[]]
    there.say("c", 8, "new")
    stops(there, SourceExchanged, "was made anew since it was read")
    there.sync(mode=Mode.FULL_REFRESH, allow_shrink=True)
    assert there.copy() == {8: "new"}


def test_another_cluster_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.broker.cluster = "cluster-2"
    stops(there, SourceExchanged, "another cluster answers than the one that was read")


def test_records_that_were_lost_with_their_broker_stop_the_table_by_name() -> None:
    there = opened()
    there.sync()
    del there.topic.partitions[0][2:]
    stops(there, SourceExchanged, "ends at offset 2, before 4 that was read to")


def test_fewer_partitions_stop_the_table_by_name() -> None:
    there = opened()
    there.topic.add_partition()
    there.sync()
    there.topic.partitions.pop()
    there.topic.lows.pop()
    stops(there, SourceExchanged, "has 1 partitions where 2 were read")


def test_a_topic_that_is_not_there_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.broker.topics.clear()
    stops(there, SourceRefused, "the cluster has no topic 'lab.shop.orders' that this user may read")


def test_the_log_of_another_server_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.topic.put({"id": 1}, envelope("u", {"id": 1, "status": "x"}, 5, ts_ms=9 * 10**12))
    stops(there, SourceExchanged, "goes on with the log of another server")


def test_a_connector_that_is_not_covered_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.topic.put({"id": 1}, envelope("u", {"id": 1, "status": "x"}, 500, connector="sqlserver"))
    stops(there, SourceRefused, "offset 4 of partition 0 of 'lab.shop.orders' is of Debezium's connector for sqlserver")


def test_a_sync_reads_so_many_records_at_once_and_says_how_many_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST", 3)
    there = later(opened())
    told = there.sync().warnings
    assert told == ("11 offsets of the topic more are read by the next syncs",)
    while there.sync().status is Status.LANDED:
        pass
    assert there.copy() == {1: "paid", 3: "new"}
    there.check()


@BOTH
@pytest.mark.parametrize("mode", [Mode.FULL_REFRESH, Mode.BACKFILL])
def test_a_topic_can_be_read_again_and_nothing_is_doubled(strategy: Strategy, mode: Mode) -> None:
    there = opened(strategy)
    there.sync()
    there.say("u", 1, "sent")
    there.sync(mode=mode)
    there.sync()
    there.check()
    if strategy is Strategy.UPSERT:
        assert there.copy() == {1: "sent", 2: "new"}


def test_a_reset_reads_the_topic_from_its_beginning_and_takes_no_row_back(monkeypatch: pytest.MonkeyPatch) -> None:
    there = opened()
    there.sync()
    reset_table(spec=there.spec, to=None, run_id="reset", checkpoints=there.world.checkpoints)
    assert there.at() == TopicPosition((), "topic-1", "cluster-1", there.at().log, (4,))
    monkeypatch.setattr(ranges, "MOST", 1)
    there.sync()
    assert there.copy()[1] == "paid", "where the record that says so comes later"


@BOTH
def test_a_reset_accepts_no_gap_behind_what_the_copy_has(strategy: Strategy) -> None:
    there = opened(strategy)
    there.sync()
    there.say("d", 2)
    there.say("u", 1, "sent")
    there.topic.lows[0] = there.topic.ends[0]
    there.say("c", 3, "new")
    reset_table(spec=there.spec, to=None, run_id="reset", checkpoints=there.world.checkpoints)
    for _ in range(2):
        with pytest.raises(SourceExchanged, match=r"begins at offset 7, and 4 comes next: .* --full-refresh"):
            there.sync()
        reset_table(spec=there.spec, to=None, run_id="again", checkpoints=there.world.checkpoints)
    there.sync(mode=Mode.FULL_REFRESH, allow_shrink=True)
    there.say("u", 3, "sent")
    there.sync()
    if strategy is Strategy.UPSERT:
        assert there.copy() == {3: "sent"}


@BOTH
def test_a_reset_mixes_no_two_topics_of_one_name_in_a_copy(strategy: Strategy) -> None:
    there = opened(strategy)
    there.sync()
    there.topic = there.broker.topics[NAME] = FakeTopic(id="topic-2")
    there.say("r", 7, "new")
    reset_table(spec=there.spec, to=None, run_id="reset", checkpoints=there.world.checkpoints)
    with pytest.raises(SourceExchanged, match=r"was made anew since it was read .* --full-refresh"):
        there.sync()
    there.sync(mode=Mode.FULL_REFRESH, allow_shrink=True)
    there.check()


def test_what_a_contract_holds_is_read_again_from_the_topic() -> None:
    there = opened()
    there.spec = replace(there.spec, contract=Contract())
    there.say("u", 2, "broken")
    there.sync()
    assert there.copy() == {1: "paid"}
    there.say("u", 2, "healed")
    (report,) = replay_table(there.spec, "replay", there.ports())
    held = there.world.lake.held(there.spec)
    assert (report.status, held and held.rows) == (Status.LANDED, 1), "what has come since is the next sync's"
    there.sync()
    assert there.copy() == {1: "paid", 2: "healed"}
    held = there.world.lake.held(there.spec)
    assert held is None or held.rows == 0


def test_rows_that_were_unwrapped_follow_their_offsets() -> None:
    there = opened(made_of=topic(Format.UNWRAPPED, id="bigint", status="string"))
    there.sync()
    there.say("d", 2)
    there.say("u", 1, "sent")
    there.sync()
    assert (there.copy(), there.at().log) == ({1: "sent"}, Log())


def test_events_of_anybody_are_rows_by_partition_and_offset() -> None:
    there = Shop(topic(Format.JSON, id="bigint", status="string"), Strategy.APPEND)
    there.topic.put(None, {"id": 1, "status": "seen"})
    there.topic.put(b"any key", {"id": 1})
    there.topic.put(None, b"poison")
    report = there.sync()
    assert (there.changes(), report.rows.quarantined) == ([(0, 0, "c", 1), (0, 1, "c", 1)], 1)
    assert there.sync().status is Status.IDLE


def test_a_column_that_comes_while_records_are_read_stops_the_sync_and_the_next_one_knows_it() -> None:
    there = Shop(replace(ORDERS, columns=(), key=()))
    there.topic.put(_with_schema({"id": 1}), _with_schema(envelope("c", {"id": 1, "status": "new"}, 10)))
    there.sync()
    assert [shape.names for shape in there.probe.catalogue()] == [there.spec.shape.names]
    more = envelope("c", {"id": 2, "status": "new", "note": "x"}, 20)
    there.topic.put(_with_schema({"id": 2}), _with_schema(more))
    with pytest.raises(SchemaChanged, match="its newest record has a column 'note', which came while it was read"):
        there.sync()
    (shape,) = there.probe.catalogue()
    assert "note" in shape.names


def test_a_look_asks_for_no_record() -> None:
    there = opened()
    there.sync()
    before = there.broker.reads
    assert there.sync().status is Status.IDLE
    assert there.broker.reads == before


def _with_schema(document: dict[str, Any]) -> dict[str, Any]:
    """As Kafka Connect's converter writes it with its schema."""

    def fields(row: dict[str, Any]) -> list[dict[str, str]]:
        return [{"field": name, "type": "int64" if name == "id" else "string"} for name in row]

    if "after" not in document:
        return {"schema": {"type": "struct", "fields": fields(document)}, "payload": document}
    sides = [{"field": side, "fields": fields(document["after"])} for side in ("before", "after")]
    return {"schema": {"type": "struct", "fields": sides}, "payload": document}
