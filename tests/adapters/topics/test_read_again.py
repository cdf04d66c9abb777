"""A topic that is read again, by a full refresh, a backfill, a replay or after a reset: nothing is doubled, and no gap is accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.captures.topic import ranges
from incremental_assets.core.captures.topic.position import TopicPosition
from incremental_assets.core.errors import SourceExchanged
from incremental_assets.core.maintenance.replay import replay_table
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.contract import Contract
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.core.strategies import Strategy
from tests.adapters.topics.broker import FakeTopic, envelope
from tests.adapters.topics.shop import BOTH, WORD, opened
from tests.adapters.topics.tables import NAME

pytestmark = pytest.mark.usefixtures("written")


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
    there.topic = there.broker.topics[NAME] = FakeTopic(id="topic-2", encode=there.topic.encode)
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
