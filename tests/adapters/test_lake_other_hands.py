"""What does the lake notice of what another writer has done, and what does it leave alone?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable, Field
from deltalake.schema import PrimitiveType

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.planning.target import LastCommit
from tests.adapters.batches import APP, EVENTS, ORDERS, Desk
from tests.snapshots import as_read


@pytest.mark.acceptance
def test_rows_changed_by_another_hand_are_noticed(desk: Desk) -> None:
    commit = desk.land(EVENTS, [(1, "a", 10), (2, "b", 20)])
    desk.sql("UPDATE {t} SET note = 'x' WHERE id = 1", EVENTS)
    for since in (None, commit.version):
        found = desk.lake.inspect(EVENTS, since)
        assert found is not None
        assert found.foreign.startswith(f"UPDATE in version {commit.version + 1}")
    seen = desk.lake.inspect(EVENTS, commit.version + 1)
    assert seen is not None
    assert seen.foreign == ""


FORGETS = "delta.setTransactionRetentionDuration"


@pytest.mark.parametrize("spec", [ORDERS, EVENTS])
def test_a_table_that_has_forgotten_its_sequences_keeps_its_rows(
    desk: Desk, spec: TableSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(number, "a", number) for number in range(20)]
    desk.land(spec, rows)
    desk.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{FORGETS}' = 'interval 0 seconds')", spec)
    DeltaTable(desk.path(spec)).create_checkpoint()
    # As a new process, which has not seen the table before.
    monkeypatch.setattr(log_cache, "_cache", log_cache._Cache())
    with pytest.raises(TargetChanged, match=f"property `{FORGETS}`.*UNSET TBLPROPERTIES"):
        desk.lake.inspect(spec, None)
    with pytest.raises(TargetChanged, match=f"property `{FORGETS}`.*UNSET TBLPROPERTIES"):
        desk.land(spec, [(20, "a", 20)])
    desk.sql(f"ALTER TABLE {{t}} UNSET TBLPROPERTIES ('{FORGETS}')", spec)
    log, target = open_log(desk.path(spec)), desk.lake.inspect(spec, None)
    assert log is not None
    assert target is not None
    assert (log.last_sequence(APP), target.seq, target.landed) == (-1, 1, True)
    assert desk.land(spec, [(20, "a", 20)]).rows == RowCounts(read=1, inserted=1)
    assert desk.rows(spec) == sorted([*rows, (20, "a", 20)], key=str)


def test_the_last_commit_is_told_and_whose_it_is_without_the_log_being_read(desk: Desk) -> None:
    commit = desk.land(ORDERS, [(1, "a", 10)])
    assert desk.lake.last_commit(ORDERS) == LastCommit(commit.version, APP, desk.previous.seq)
    desk.sql("ALTER TABLE {t} SET TBLPROPERTIES ('who' = 'me')", ORDERS)
    assert desk.lake.last_commit(ORDERS) == LastCommit(commit.version + 1)


@pytest.mark.acceptance
def test_maintenance_is_harmless(desk: Desk) -> None:
    for number in range(2):
        desk.land(ORDERS, [(number, "a", number)])
    desk.sql("OPTIMIZE {t}", ORDERS)
    DeltaTable(desk.path(ORDERS)).vacuum(dry_run=False)
    desk.sql("ALTER TABLE {t} SET TBLPROPERTIES ('who' = 'me')", ORDERS)
    found = desk.lake.inspect(ORDERS, None)
    assert found is not None
    assert (found.foreign, found.state) == ("", desk.previous)
    assert desk.land(ORDERS, [(0, "b", 9)]).rows == RowCounts(read=1, updated=1)


def test_maintenance_that_takes_rows_away_is_none_whatever_it_calls_itself(desk: Desk) -> None:
    for number in range(2):
        desk.land(EVENTS, [(number, "a", number)])
    state = log_cache.at(desk.path(EVENTS), 2)
    file = next(iter(state.files.values()))
    gone = {"path": file["path"], "deletionTimestamp": 1, "dataChange": False, "size": file["size"]}
    desk.other_hand("OPTIMIZE", EVENTS, {"remove": gone})
    for since in (None, 2):
        found = desk.lake.inspect(EVENTS, since)
        assert found is not None
        assert found.foreign == "OPTIMIZE in version 3 by by hand"


def test_maintenance_whose_statistics_hide_rows_stops_the_table_as_an_upsert_would_not_find_them(desk: Desk) -> None:
    desk.land(ORDERS, [(number, "a", number) for number in range(20)])
    file = next(iter(log_cache.at(desk.path(ORDERS), 1).files.values()))
    told = json.loads(file["stats"])
    low, high = (told[end]["id"] for end in ("minValues", "maxValues"))
    for number, (ends, harm) in enumerate(
        [
            ({}, False),
            ({"maxValues": {"id": high + 1, "at": high}}, False),
            ({"minValues": {"id": low + 1, "at": low}}, True),
        ],
        start=2,
    ):
        add = {**file, "dataChange": False, "stats": json.dumps(told | ends)}
        desk.other_hand("COMPUTE STATS", ORDERS, {"add": add})
        found = desk.lake.inspect(ORDERS, number - 1)
        assert found is not None
        assert found.foreign == (f"COMPUTE STATS in version {number} by by hand" if harm else "")


def test_a_hand_that_reaches_in_between_inspection_and_commit_stops_the_commit(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    lake = desk.lake
    assert lake.inspect(EVENTS, None) is not None
    plan = desk.plan(EVENTS)
    batch = desk.stage.write(plan, desk.show(EVENTS, [(2, "b", 20)]))
    desk.other_hand("DELETE", EVENTS)
    with pytest.raises(TargetChanged, match="by another writer while this sync ran"):
        lake.apply(plan, batch, landed_state(plan, as_read(1, None, None)))
    assert desk.rows(EVENTS) == [(1, "a", 10)]


@pytest.mark.acceptance
def test_a_second_row_of_a_key_by_another_hand_is_gone_once_the_table_is_reset_and_synced(desk: Desk) -> None:
    rows = [(1, "a", 10), (2, "b", 20)]
    desk.land(ORDERS, rows)
    desk.sql(
        "INSERT INTO {t} SELECT id, 'by hand', at, _sync_run_id, _sync_seq, _sync_at FROM {t} WHERE id = 1", ORDERS
    )
    assert desk.previous is not None
    desk.previous = desk.previous.rewound(ORDERS.terms, None)
    desk.land(ORDERS, rows)
    assert desk.rows(ORDERS) == rows


@pytest.mark.acceptance
def test_what_a_commit_could_not_see_is_told_by_every_later_look(desk: Desk) -> None:
    commit = desk.land(EVENTS, [(1, "a", 10)])
    desk.other_hand("UPDATE", EVENTS)
    # As when the UPDATE slipped in between the comparison and the commit: the note vouches only for what lay before it.
    note = json.dumps(
        _note_of(desk, commit.version) | {"seq": 2, "batch_id": "batch2", "kind": "append", "seen": commit.version}
    )
    empty = desk.spark.createDataFrame([], "id bigint").write.format("delta").mode("append")
    empty.options(userMetadata=note, txnAppId=APP, txnVersion="2").save(desk.path(EVENTS))
    for since in (None, commit.version + 2):
        found = desk.lake.inspect(EVENTS, since)
        assert found is not None
        assert found.foreign.startswith("UPDATE")
    desk.lake.fence(EVENTS, CommitIds(APP, 3, "fence"), None)
    found = desk.lake.inspect(EVENTS, commit.version + 3)
    assert found is not None
    assert found.foreign.startswith("UPDATE")


def test_a_table_of_somebody_else_is_left_alone(desk: Desk) -> None:
    desk.spark.range(3).write.format("delta").save(desk.path(EVENTS))
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert (found.app_id, found.seq, found.state) == ("", -1, None)
    with pytest.raises(TargetChanged, match="is not the one that this run was planned for"):
        desk.land(EVENTS, [(1, "a", 10)])
    assert desk.spark.read.format("delta").load(desk.path(EVENTS)).count() == 3


def test_files_of_others_where_a_table_would_be_made_stay_and_stop_it(desk: Desk) -> None:
    other = Path(desk.path(ORDERS)) / "data.parquet"
    other.parent.mkdir(parents=True)
    other.write_text("somebody's")
    with pytest.raises(TargetChanged, match="if other files are there, move them away"):
        desk.land(ORDERS, [(1, "a", 10)])
    assert other.read_text() == "somebody's"


@pytest.mark.acceptance
def test_a_column_of_another_hand_is_left_empty_and_stops_nothing(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10)])
    DeltaTable(desk.path(ORDERS)).alter.add_columns([Field("theirs", PrimitiveType("string"))])
    found = desk.lake.inspect(ORDERS, None)
    assert found is not None
    assert found.foreign == ""
    assert desk.land(ORDERS, [(1, "b", 20), (2, "c", 20)]).rows == RowCounts(read=2, inserted=1, updated=1)
    rows = desk.read(ORDERS).select("id", "note", "at", "theirs").collect()
    assert sorted(map(tuple, rows)) == [(1, "b", 20, None), (2, "c", 20, None)]


def _note_of(desk: Desk, version: int) -> dict[str, object]:
    lines = (Path(desk.path(ORDERS)) / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    info = next(json.loads(line)["commitInfo"] for line in lines if "commitInfo" in line)
    return dict(json.loads(info["userMetadata"]))
