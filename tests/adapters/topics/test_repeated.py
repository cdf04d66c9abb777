"""A connector that is started again sends what it has sent before: no row is taken back by that, and one that is gone stays gone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from incremental_assets.adapters.topics import completing, tombstones
from incremental_assets.adapters.topics.tombstones import MOST_FILES, Tombstones
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.paths import tombstones_path
from incremental_assets.core.planning.plan import Mode
from tests.adapters.topics.shop import opened

pytestmark = pytest.mark.usefixtures("written")


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


def test_a_tombstone_that_comes_again_takes_no_row_away_that_came_back_wherever_a_sync_cuts() -> None:
    there = opened()
    there.say("d", 1)
    there.say("c", 1, "back")
    there.sync()
    for number in range(3, 7):
        there.again(number, number + 1)
        there.sync()
        assert there.copy() == {1: "back", 2: "new"}, number
    there.say("d", 1)
    there.topic.partitions[0].pop()
    there.sync()
    there.topic.put({"id": 1}, None)
    there.sync()
    assert there.copy() == {2: "new"}


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
    (folder / ".died.parquet").touch()
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
    assert Tombstones(str(folder), there.spec).places({(9,), (12,)}) == {}


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
