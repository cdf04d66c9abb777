"""Files of real Delta tables are put together: no row is another one after it, and each commit says what it is."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta import compaction as upkeep
from incremental_assets.adapters.delta.commit_metadata import Kind
from incremental_assets.adapters.delta.log.transaction_log import Committed, open_log
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model import compaction as maintenance
from incremental_assets.core.model.compaction import How, compaction
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import APP, Desk, Row, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = table("id bigint, note string, at bigint")


@pytest.fixture
def desk(tmp_path: Path, spark: SparkSession) -> Desk:
    return Desk(tmp_path, spark)


def commits(desk: Desk, spec: TableSpec = ORDERS) -> tuple[Committed, ...]:
    """Newest first."""
    log = open_log(desk.path(spec))
    assert log is not None
    return log.commits(-1)


def files(desk: Desk) -> int:
    return len(desk.lake.layout(ORDERS).sizes)


def landed(desk: Desk) -> State:
    """What the last sync left."""
    assert desk.previous is not None
    return desk.previous


OTHERS: list[Row] = [(11, "x", 5), (12, "y", 5), (13, "z", 5)]


def some_files(desk: Desk) -> None:
    # A table of which half is replaced would be rewritten, as one file.
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20), *OTHERS])
    desk.land(ORDERS, [(2, "B", 30), (3, "c", 30)])
    assert files(desk) > 1


@pytest.mark.acceptance
def test_with_every_tick_cared_for_the_files_stay_few_and_the_rows_are_those_of_the_ticks(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it cost next to nothing, so that its turn comes within a few ticks.
    monkeypatch.setattr(maintenance, "START", 0.05)
    counts = []
    for number in range(8):
        desk.land(ORDERS, [(number, "new", number), (max(0, number - 3), f"changed in {number}", number)])
        why = compaction(desk.lake.layout(ORDERS))
        if why is not None:
            desk.lake.compact(ORDERS, why.how, "run", landed(desk))
        counts.append(files(desk))

    assert 1 in counts[4:]
    assert max(counts) < 6
    assert desk.rows(ORDERS) == sorted(
        [(number, f"changed in {number + 3}", number + 3) for number in range(5)]
        + [(number, "new", number) for number in range(5, 8)],
        key=str,
    )


def test_a_file_that_is_not_small_keeps_its_own_range_of_keys_and_none_is_made_larger_than_the_target(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SMALL", 5_000)
    monkeypatch.setattr(upkeep, "TARGET", 5_000)
    desk.land(ORDERS, [(number, f"{number:x}" * 30, 1) for number in range(2000)])
    large = desk.lake.layout(ORDERS).sizes
    assert min(large) > 5_000
    for number in range(4):
        desk.land(ORDERS, [(5000 + number, "new", number)])
    small = sorted(desk.lake.layout(ORDERS).sizes)[:4]
    assert sum(small[:2]) < 5_000 < sum(small[:3])
    desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    after = desk.lake.layout(ORDERS).sizes

    assert set(large) < set(after)
    assert len(after) == len(large) + 2
    assert len(desk.rows(ORDERS)) == 2004


def test_the_commit_is_ours_and_carries_the_latest_state_and_the_next_sync_lands(desk: Desk) -> None:
    some_files(desk)
    before = commits(desk)[0].version
    version = desk.lake.compact(ORDERS, How.GATHER, "run-m", landed(desk))
    newest = commits(desk)[0]
    found = desk.lake.inspect(ORDERS, None)

    assert (version, newest.version, newest.operation) == (before + 1, before + 1, "OPTIMIZE")
    assert newest.note is not None
    assert (newest.note.kind, newest.note.app_id, newest.note.seq, newest.note.run_id) == (
        Kind.MAINTENANCE,
        APP,
        2,
        "run-m",
    )
    assert newest.note.state == desk.previous
    assert found is not None
    assert (found.state, found.seq, found.foreign) == (desk.previous, 2, "")
    assert files(desk) == 1
    assert desk.land(ORDERS, [(1, "A", 40), (3, "c", 30)]).rows == RowCounts(read=2, updated=1, unchanged=1)
    assert desk.rows(ORDERS) == sorted([(1, "A", 40), (2, "B", 30), (3, "c", 30), *OTHERS], key=str)


def test_what_another_hand_did_before_is_still_told_after_it(desk: Desk) -> None:
    some_files(desk)
    desk.other_hand("UPDATE", ORDERS)
    desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    found = desk.lake.inspect(ORDERS, None)
    assert found is not None
    assert found.foreign.startswith("UPDATE in version 3")


def test_rows_that_are_only_marked_as_deleted_leave_the_files(desk: Desk) -> None:
    desk.land(ORDERS, [(number, "a", 1) for number in range(100)])
    desk.land(ORDERS, [(number, "b", 2) for number in range(40)])
    before = desk.lake.layout(ORDERS)
    desk.lake.compact(ORDERS, How.PURGE, "run", landed(desk))
    after = desk.lake.layout(ORDERS)

    assert (before.rows, before.live, before.dead) == (140, 100, 40)
    assert (after.rows, after.live, after.dead) == (100, 100, 0)
    assert sorted(row[1] for row in desk.rows(ORDERS)) == ["a"] * 60 + ["b"] * 40
    assert commits(desk)[0].note is not None


def test_a_file_alone_stays_as_it_is_and_that_is_said(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10)])
    with pytest.raises(CommitMissing, match=r"^shop\.public\.orders: Delta found nothing to compact in "):
        desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))


def test_what_looks_like_a_variable_in_a_name_stays_what_it_is(desk: Desk) -> None:
    """Spark replaces `${env:NAME}` in its settings, of which the note of such a commit is one."""
    hostile = table("${env:HOME} bigint, at bigint", key=("${env:HOME}",))
    desk.land(hostile, [(1, 10), (3, 5), (4, 5)])
    desk.land(hostile, [(2, 20)])
    assert desk.rows(hostile) == [(1, 10), (2, 20), (3, 5), (4, 5)]
    desk.lake.compact(hostile, How.GATHER, "run", landed(desk))
    note = commits(desk, hostile)[0].note
    assert note is not None
    assert note.state is not None
    assert note.state.terms.key == ("${env:HOME}",)


def test_while_one_table_is_cared_for_no_other_commit_of_the_session_gets_its_note(
    tmp_path: Path, spark: SparkSession
) -> None:
    cared, busy = Desk(tmp_path / "cared", spark), [Desk(tmp_path / f"busy{number}", spark) for number in range(4)]
    some_files(cared)
    with ThreadPoolExecutor(2) as pool:
        caring = pool.submit(cared.lake.compact, ORDERS, How.GATHER, "care", landed(cared))
        # A new table is made, which is a commit without a note, and then a first batch lands in it.
        for desk in busy:
            pool.submit(desk.land, ORDERS, [(1, "a", 10)]).result()
        caring.result()

    assert [commit.note.run_id for commit in commits(cared) if commit.note] == ["care", "run-2", "run-1"]
    for desk in busy:
        notes = [(commit.operation, commit.note and commit.note.run_id) for commit in commits(desk)]
        assert notes == [("WRITE", "run-1"), ("CREATE TABLE", None)]
    assert spark.conf.get("spark.databricks.delta.commitInfo.userMetadata", None) is None
