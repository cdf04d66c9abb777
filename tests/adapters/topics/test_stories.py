"""A topic through the whole story of a sync, killed at every moment: what a copy gets of its records."""

from __future__ import annotations

import itertools

import pytest

from incremental_assets.adapters.topics import completing
from incremental_assets.core.captures.topic import ranges
from incremental_assets.core.captures.topic.position import Log
from incremental_assets.core.captures.topic.reading import REASON
from incremental_assets.core.config.kafka_settings import Records
from incremental_assets.core.errors import Refused
from incremental_assets.core.model.history import History
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.core.strategies import Strategy
from tests.adapters.topics.broker import START, envelope
from tests.adapters.topics.shop import BOTH, WORD, Shop, later, opened, orders
from tests.fakes import Killed

pytestmark = pytest.mark.usefixtures("written")


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


def test_a_snapshot_that_is_taken_again_leaves_what_was_deleted_before_it_and_says_so_until_a_new_load() -> None:
    def shown(there: Shop, key: int) -> None:
        row = envelope("r", {"id": key, "status": "new"}, there.lsn, snapshot="true")
        there.topic.put({"id": key}, row)

    there = Shop()
    there.lsn = 100
    shown(there, 1)
    shown(there, 2)
    first = there.sync()
    assert (first.warnings, first.guarantee_reason) == ((), REASON)
    # Its connector has lost its place in the log, and row 2 was deleted meanwhile.
    there.lsn = 200
    begin = len(there.topic.partitions[0])
    shown(there, 1)
    again = there.sync()
    (warning,) = again.warnings
    assert "its connector has taken a snapshot again" in warning
    assert "kafka-delete-records" in warning
    assert there.copy() == {1: "new", 2: "new"}
    there.say("u", 1, "paid")
    next_one, idle = there.sync(), there.sync()
    assert (next_one.warnings, next_one.guarantee_reason) == ((), again.guarantee_reason)
    assert idle.guarantee_reason == again.guarantee_reason != REASON
    assert (
        "its connector has taken a snapshot again" in there.sync(mode=Mode.FULL_REFRESH, allow_shrink=True).warnings[0]
    )
    there.topic.lows[0] = begin
    anew = there.sync(mode=Mode.FULL_REFRESH, allow_shrink=True)
    assert (anew.warnings, anew.guarantee_reason, there.copy()) == ((), REASON, {1: "paid"})


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


def test_a_sync_reads_so_many_records_at_once_and_says_how_many_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST", 3)
    there = later(opened())
    told = there.sync().warnings
    assert told == ("11 offsets of the topic more are read by the next syncs",)
    while there.sync().status is Status.LANDED:
        pass
    assert there.copy() == {1: "paid", 3: "new"}
    there.check()


def test_rows_that_were_unwrapped_follow_their_offsets() -> None:
    there = opened(made_of=orders(Records.ROWS))
    there.sync()
    there.say("d", 2)
    there.say("u", 1, "sent")
    there.sync()
    assert (there.copy(), there.at().log) == ({1: "sent"}, Log())


def test_events_of_anybody_are_rows_by_partition_and_offset() -> None:
    there = Shop(orders(Records.EVENTS), Strategy.APPEND)
    there.topic.put(None, {"id": 1, "status": "seen"})
    there.topic.put(b"any key", {"id": 1})
    there.topic.put(None, b"poison")
    report = there.sync()
    assert (there.changes(), report.rows.quarantined) == ([(0, 0, "c", 1), (0, 1, "c", 1)], 1)
    assert there.sync().status is Status.IDLE


def test_a_look_asks_for_no_record() -> None:
    there = opened()
    there.sync()
    before = there.broker.reads
    assert there.sync().status is Status.IDLE
    assert there.broker.reads == before


def test_what_commits_while_a_connector_reads_its_snapshot_lands_wherever_a_sync_ends() -> None:
    for cut in range(4):
        there = Shop()
        for key in (1, 2, 3):
            there.topic.put({"id": key}, envelope("r", {"id": key, "status": "new"}, 100))
        if cut == 0:
            there.sync()
        for number, (op, key, lsn) in enumerate((("u", 1, 95), ("d", 2, 97), ("u", 1, 110)), 1):
            told = envelope(op, {"id": key, "status": f"at {lsn}"}, lsn, ts_ms=START + 900 + number)
            there.topic.put({"id": key}, told)
            if number == cut:
                there.sync()
        there.sync()
        assert there.copy() == {1: "at 110", 3: "new"}, cut


def test_a_snapshot_beside_a_stream_takes_no_row_back_and_none_of_it_is_taken_back() -> None:
    there = Shop()
    there.topic.put({"id": 1}, envelope("c", {"id": 1, "status": "first"}, 100))
    there.topic.put({"id": 2}, envelope("c", {"id": 2, "status": "first"}, 130))
    there.sync()
    # A transaction that wrote at 120 commits behind what the connector has sent of 130, and behind the chunk.
    for key in (1, 2):
        read = envelope("r", {"id": key, "status": "first"}, 130, ts_ms=START + 900, snapshot="incremental")
        there.topic.put({"id": key}, read)
    there.sync()
    there.topic.put({"id": 1}, envelope("u", {"id": 1, "status": "late"}, 120, ts_ms=START + 950))
    there.sync()
    assert there.copy() == {1: "late", 2: "first"}
    there.again(0, 1)
    there.sync()
    assert there.copy() == {1: "late", 2: "first"}


def test_the_first_snapshot_asks_for_no_row_of_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    there, asked = Shop(), list[int]()
    held = completing._held
    monkeypatch.setattr(
        completing, "_held", lambda spec, keys, *more: (asked.append(len(keys)), held(spec, keys, *more))[1]
    )
    for key in range(3):
        there.topic.put({"id": key}, envelope("r", {"id": key, "status": "new"}, 100))
        there.sync()
    assert asked == []
    there.topic.put({"id": 0}, envelope("u", {"id": 0, "status": "paid"}, 110))
    there.sync()
    there.topic.put({"id": 0}, envelope("r", {"id": 0, "status": "paid"}, 110, snapshot="incremental"))
    there.sync()
    assert asked == [1]
