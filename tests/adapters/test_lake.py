"""What the lake promises, on real Spark and Delta: one commit per sequence, no row lost, none twice."""

from __future__ import annotations

import json
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from incremental_assets.adapters.delta import target_table
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.core.errors import CommitMissing, NameRefused, SchemaChanged, TargetChanged
from incremental_assets.core.model.compaction import How
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.paths import staging_path
from incremental_assets.core.model.schema_drift import Reached, Retyped
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.landed_state import Shown, landed_state
from incremental_assets.core.planning.plan import CommitIds, Mode
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import APP, Desk, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

ORDERS = table("id bigint, note string, at bigint")
EVENTS = table("id bigint, note string, at bigint", Strategy.APPEND, key=(), enforced=False)
COUNTRIES = table("code string, name string", Strategy.FULL_REFRESH, key=("code",), cursor="")


def at(number: int) -> CursorValue:
    return CursorValue.of(CursorType.INTEGER, number)


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path, writer: str) -> Desk:
    return Desk(tmp_path / "lake", spark)


def test_an_upsert_inserts_replaces_and_leaves_unchanged_rows_where_they_are(desk: Desk) -> None:
    first = desk.land(ORDERS, [(1, "a", 10), (2, "b", 20), (3, None, 30)])
    # 3 is flagged late as well, but it is not written again.
    second = desk.land(ORDERS, [(2, "B", 20), (3, None, 30), (4, "d", 41)], late=[2, 3])
    assert first.rows == RowCounts(read=3, inserted=3)
    assert second.rows == RowCounts(read=3, inserted=1, updated=1, unchanged=1, late=1)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "B", 20), (3, None, 30), (4, "d", 41)]
    written = {row.id: row._sync_seq for row in desk.read(ORDERS).select("id", "_sync_seq").collect()}
    assert written == {1: 1, 2: 2, 3: 1, 4: 2}
    # The next run finds the commit with its counts, but for what only the write itself could count, and with its state.
    assert desk.lake.find(ORDERS, "batch2") == replace(second, rows=replace(second.rows, late=0))
    assert second.state == desk.previous
    assert desk.lake.find(ORDERS, "batch9") is None


def test_a_folder_that_a_dead_run_left_before_its_first_commit_is_no_table(desk: Desk) -> None:
    log = Path(desk.path(ORDERS)) / "_delta_log"
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.5f3c.tmp").write_text('{"commitInfo"')
    assert desk.land(ORDERS, [(1, "a", 10)]).rows == RowCounts(read=1, inserted=1)
    assert desk.rows(ORDERS) == [(1, "a", 10)]


def test_files_of_others_where_a_table_would_be_made_stay_and_stop_it(desk: Desk) -> None:
    other = Path(desk.path(ORDERS)) / "data.parquet"
    other.parent.mkdir(parents=True)
    other.write_text("somebody's")
    with pytest.raises(TargetChanged, match="if other files are there, move them away"):
        desk.land(ORDERS, [(1, "a", 10)])
    assert other.read_text() == "somebody's"


def test_an_append_adds_what_is_new_and_keeps_every_version(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10), (2, "b", 20)])
    second = desk.land(EVENTS, [(2, "b", 20), (2, "B", 21)])
    assert second.rows == RowCounts(read=2, inserted=1, unchanged=1)
    assert desk.rows(EVENTS) == [(1, "a", 10), (2, "B", 21), (2, "b", 20)]


def test_an_append_without_a_key_drops_as_many_copies_as_are_there(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10), (1, "a", 10), (2, None, 20)])
    second = desk.land(EVENTS, [(1, "a", 10), (1, "a", 10), (1, "a", 10), (2, None, 20), (2, None, 20)])
    assert second.rows == RowCounts(read=5, inserted=2, unchanged=3)
    assert desk.rows(EVENTS) == [(1, "a", 10)] * 3 + [(2, None, 20)] * 2


def test_an_append_checks_rows_without_a_cursor_against_the_whole_table(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", None), (2, "b", 20)])
    assert desk.land(EVENTS, [(1, "a", None), (3, "c", 30)]).rows == RowCounts(read=2, inserted=1, unchanged=1)


def test_an_append_with_an_enforced_key_compares_whole_rows(desk: Desk) -> None:
    spec = replace(EVENTS, key=("id",), key_enforced=True)
    desk.land(spec, [(1, "a", 10), (2, "b", 20)])
    assert desk.land(spec, [(1, "A", 20), (2, "b", 20)]).rows == RowCounts(read=2, inserted=1, unchanged=1)


def test_an_append_with_an_enforced_key_lands_a_version_that_goes_back_to_an_earlier_one_and_each_once(
    desk: Desk,
) -> None:
    spec = replace(EVENTS, key=("id",), key_enforced=True)
    desk.land(spec, [(1, "open", 10), (2, "open", 10)])
    desk.land(spec, [(1, "closed", 10), (2, "open", 10)])
    for landed in (RowCounts(read=2, inserted=1, unchanged=1), RowCounts(read=2, unchanged=2)):
        assert desk.land(spec, [(1, "open", 10), (2, "open", 10)]).rows == landed
    written = desk.read(spec).select("_sync_seq", "id", "note").collect()
    assert sorted(map(tuple, written)) == [(1, 1, "open"), (1, 2, "open"), (2, 1, "closed"), (3, 1, "open")]


def test_rows_from_before_their_key_had_its_name_are_not_versions_of_one_another(desk: Desk) -> None:
    before = table("number bigint, note string, at bigint", Strategy.APPEND, key=("number",))
    desk.land(before, [(1, "a", 10), (2, "b", 10), (3, "c", 10)])
    renamed = table("id bigint, note string, at bigint", Strategy.APPEND)
    desk.land(renamed, [(4, "d", 20)])
    assert desk.land(renamed, [(1, "a", 10), (2, "b", 10), (3, "c", 10), (4, "d", 20)]).rows == RowCounts(
        read=4, unchanged=4
    )


def test_an_overwrite_leaves_the_source_as_it_is_with_its_new_columns(desk: Desk) -> None:
    desk.land(COUNTRIES, [("FR", "France"), ("DD", "East Germany")])
    wider = table("code string, population bigint", Strategy.FULL_REFRESH, key=("code",), cursor="")
    commit = desk.land(wider, [("FR", 68)])
    assert commit.rows == RowCounts(read=1, inserted=1, deleted=2)
    assert desk.rows(wider) == [("FR", 68)]
    assert desk.lake.columns(wider) == (("code", "string"), ("population", "bigint"))
    found = desk.lake.inspect(wider, None)
    assert found is not None
    assert found.app_id == APP


def test_rows_are_counted_by_the_log_without_those_that_deletion_vectors_mark_and_by_window(desk: Desk) -> None:
    assert desk.lake.rows(ORDERS) is None
    desk.land(ORDERS, [(number, "a", number) for number in range(100)])
    desk.land(ORDERS, [(3, "b", 50), (200, "new", 200)])
    windows = [Window(at(0), at(10)), Window(at(50), at(100)), Window(at(300), None)]
    log = Path(desk.path(ORDERS)) / "_delta_log"

    assert '"deletionVector":{' in "".join(path.read_text() for path in log.glob("*.json"))
    assert desk.lake.rows(ORDERS) == len(desk.rows(ORDERS)) == 101
    assert desk.lake.count(ORDERS, windows) == (9, 51, 0)


def test_a_key_that_is_called_as_a_variable_of_the_environment_is_itself(desk: Desk) -> None:
    """Spark would put the variable's value in its place in some statements and not in others, and then every row matches."""
    hostile = table("${env:HOME} bigint, at bigint", key=("${env:HOME}",))
    desk.land(hostile, [(1, 10)])
    assert desk.land(hostile, [(2, 20)]).rows == RowCounts(read=1, inserted=1)
    assert desk.rows(hostile) == [(1, 10), (2, 20)]
    assert [name for name, _ in desk.lake.columns(hostile)] == ["${env:HOME}", "at"]


@pytest.mark.parametrize("enforced", [True, False], ids=["enforced", "declared"])
def test_columns_and_keys_that_are_called_as_aliases_are_themselves(desk: Desk, *, enforced: bool) -> None:
    """Of `s.id`, Delta takes a column `s` before the frame that is called so."""
    others = ", ".join(f"{name} string" for name in ("b", "more", "texts"))
    spec = table(f"s bigint, t bigint, times bigint, {others}, at bigint", key=("s", "t", "times"), enforced=enforced)
    rest = ("x",) * 3
    # Many, so that the others are left where they lie, and Delta finds the one to be replaced.
    desk.land(spec, [(number, 1, -number, *rest, 10) for number in range(1, 9)])
    second = desk.land(spec, [(8, 1, -8, *rest, 21), (9, 1, -9, *rest, 30)])
    assert (second.rows.inserted, second.rows.updated) == (1, 1)
    assert desk.rows(spec) == [
        *((number, 1, -number, *rest, 10) for number in range(1, 8)),
        (8, 1, -8, *rest, 21),
        (9, 1, -9, *rest, 30),
    ]
    assert desk.lake.duplicates(spec).rows == 0


@pytest.mark.parametrize("there", [2, 9], ids=["others written along", "others left alone"])
def test_a_batch_that_holds_a_row_twice_does_not_add_up(desk: Desk, there: int) -> None:
    """What every commit is asked, whatever library did it: rows written and rows found unchanged are the rows of the batch."""
    desk.land(ORDERS, [(number, "a", 10) for number in range(1, 1 + there)])
    plan = desk.plan(ORDERS)
    shown = desk.show(ORDERS, [(2, "b", 20)])
    batch = desk.stage.write(plan, shown)
    for file in list(Path(staging_path(str(desk.folder), ORDERS.id, batch.batch_id)).glob("*.parquet")):
        shutil.copy(file, file.with_name(f"again-{file.name}"))
    with pytest.raises(CommitMissing, match="holds 2 rows of a batch of 1"):
        desk.lake.apply(plan, batch, landed_state(plan, Shown(1, None, None)))


def test_one_sequence_commits_once(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    plan = desk.plan(EVENTS)
    shown = desk.show(EVENTS, [(2, "b", 20)])
    batch = desk.stage.write(plan, shown)
    desk.apply(plan, batch, shown)
    again = replace(plan, commit_ids=CommitIds(APP, plan.commit_ids.seq, "another"))
    late = desk.stage.write(again, desk.show(EVENTS, [(3, "c", 30)]))
    with pytest.raises(CommitMissing, match="does not hold the batch"):
        desk.lake.apply(again, late, landed_state(plan, Shown(1, None, None)))
    assert desk.rows(EVENTS) == [(1, "a", 10), (2, "b", 20)]


def test_a_fence_makes_a_sleeping_run_commit_nothing(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    asleep = desk.plan(EVENTS)
    batch = desk.stage.write(asleep, desk.show(EVENTS, [(2, "b", 20)]))
    fence = desk.plan(EVENTS).commit_ids
    desk.lake.fence(EVENTS, fence, desk.previous)
    assert desk.lake.find(EVENTS, batch.batch_id) is None
    with pytest.raises(CommitMissing):
        desk.lake.apply(asleep, batch, landed_state(asleep, Shown(1, None, None)))
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert (found.seq, found.foreign, found.state) == (fence.seq, "", desk.previous)
    assert desk.rows(EVENTS) == [(1, "a", 10)]


def test_a_fence_makes_the_table_that_a_sleeping_run_was_about_to_make(desk: Desk) -> None:
    fence = desk.plan(EVENTS).commit_ids
    desk.lake.fence(EVENTS, fence, None)
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert (found.app_id, found.seq, found.state) == (APP, fence.seq, None)


def test_an_empty_batch_commits_its_sequence_and_state(desk: Desk) -> None:
    assert desk.land(EVENTS, []).rows == RowCounts()
    desk.land(EVENTS, [(1, "a", 10)])
    commit = desk.land(EVENTS, [])
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert (found.version, found.seq, found.state) == (commit.version, 3, desk.previous)


def test_not_a_number_and_the_two_zeros_are_values_like_any_other(desk: Desk) -> None:
    spec = table("id bigint, x double, at bigint")
    desk.land(spec, [(1, math.nan, 10), (2, 0.0, 10), (3, None, 10)])
    commit = desk.land(spec, [(1, math.nan, 10), (2, -0.0, 10), (3, None, 10)])
    assert commit.rows == RowCounts(read=3, updated=1, unchanged=2)
    assert math.copysign(1, desk.rows(spec)[1][1]) == -1


def test_any_name_that_a_source_takes_is_a_column(desk: Desk) -> None:
    spec = table(
        "a b bigint, select string, ünïcode string, x.y string, q`t string, semi;{}()=' bigint",
        key=("a b", "x.y"),
        cursor="semi;{}()='",
    )
    desk.land(spec, [(1, "s", "ü", "p", "t", 1), (2, "s", "ü", "p", "t", 2)])
    desk.land(spec, [(2, "S", "ü", "p", "t", 3), (3, None, None, "q", None, 3)])
    assert desk.rows(spec) == [(1, "s", "ü", "p", "t", 1), (2, "S", "ü", "p", "t", 3), (3, None, None, "q", None, 3)]


@pytest.mark.parametrize(
    ("ddl", "message"),
    [
        ("id bigint, Note string, note string, at bigint", "differ by case alone"),
        ("id bigint, _sync_x string, at bigint", "begins with `_sync_`"),
    ],
)
def test_columns_that_delta_cannot_hold_are_refused_by_name(desk: Desk, ddl: str, message: str) -> None:
    spec = table(ddl)
    plan = desk.plan(spec)
    with pytest.raises(NameRefused, match=message):
        desk.lake.apply(
            plan,
            desk.stage.write(desk.plan(ORDERS), desk.show(ORDERS, [(1, "a", 1)])),
            landed_state(plan, Shown(1, None, None)),
        )
    assert desk.lake.inspect(spec, None) is None


# --- columns that come and go -------------------------------------------------------------------------


def test_a_new_column_arrives_and_rows_that_gained_a_value_are_written(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    log = Path(desk.path(ORDERS)) / "_delta_log" / f"{0:020d}.json"
    assert "columnMapping" not in log.read_text()
    # Its name needs column mapping, which a table has from then on.
    wider = table("id bigint, note string, at bigint, a b int")
    commit = desk.land(wider, [(1, "a", 10, 5), (2, "b", 20, None)])
    assert commit.rows == RowCounts(read=2, updated=1, unchanged=1)
    assert "new columns (a b) came with this sync; rows that do not change show NULL there" in commit.warnings[0]
    assert desk.land(wider, [(1, "a", 10, 6)]).warnings == ()
    assert desk.rows(wider) == [(1, "a", 10, 6), (2, "b", 20, None)]


def test_the_values_of_a_dropped_column_survive_an_upsert(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    narrower = table("id bigint, at bigint")
    commit = desk.land(narrower, [(2, 21), (3, 30)])
    assert commit.rows == RowCounts(read=2, inserted=1, updated=1)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "b", 21), (3, None, 30)]


def test_a_new_column_does_not_land_the_overlap_of_an_append_again(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10), (2, "b", 20)])
    wider = table("id bigint, note string, at bigint, size int", Strategy.APPEND, key=(), enforced=False)
    assert desk.land(wider, [(1, "a", 10, 7), (2, "b", 20, 7), (3, "c", 30, 7)]).rows == RowCounts(
        read=3, inserted=1, unchanged=2
    )
    # The rows that landed before the column came are present still; the one that landed with it is compared by it.
    third = desk.land(wider, [(1, "a", 10, 7), (2, "b", 20, 8), (3, "c", 30, 7), (3, "c", 30, 8)])
    assert third.rows == RowCounts(read=4, inserted=1, unchanged=3)


def test_a_dropped_column_takes_no_part_in_comparing_an_append(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10), (2, "b", 20)])
    narrower = table("id bigint, at bigint", Strategy.APPEND, key=(), enforced=False)
    assert desk.land(narrower, [(2, 20), (3, 30)]).rows == RowCounts(read=2, inserted=1, unchanged=1)


def test_a_retyped_column_is_refused_before_anything_is_written(desk: Desk) -> None:
    commit = desk.land(ORDERS, [(1, "a", 10)])
    with pytest.raises(SchemaChanged, match=r"note was string and is bigint.*--full-refresh"):
        desk.land(table("id bigint, note bigint, at bigint"), [(2, 5, 20)])
    found = desk.lake.inspect(ORDERS, None)
    assert found is not None
    assert found.version == commit.version
    assert (
        desk.land(table("id bigint, note bigint, at bigint"), [(2, 5, 20)], mode=Mode.FULL_REFRESH).rows.inserted == 1
    )


NARROW = replace(table("id int, size float, price decimal(8,2), day date, at bigint"), widens=True)
WIDE = replace(table("id bigint, size double, price decimal(12,3), day timestamp_ntz, at bigint"), widens=True)
EPOCH = date(1970, 1, 2)


def test_columns_follow_the_source_to_wider_types_and_the_rows_that_are_there_keep_their_values(desk: Desk) -> None:
    desk.land(NARROW, [(1, 0.5, Decimal("1.25"), EPOCH, 10), (2, 1.5, Decimal("2.50"), EPOCH, 20)])
    moment = datetime(2026, 1, 1, 12, 30)  # noqa: DTZ001 - the column takes no zone
    commit = desk.land(WIDE, [(2, 2.5, Decimal("2.125"), moment, 30), (2**40, 3.5, Decimal("3.000"), moment, 30)])
    assert commit.rows == RowCounts(read=2, inserted=1, updated=1)
    assert commit.warnings == (
        "'id' was integer and is bigint in the copy, too",
        "'size' was float and is double in the copy, too",
        "'price' was decimal(8,2) and is decimal(12,3) in the copy, too",
        "'day' was date and is timestamp_ntz in the copy, too",
    )
    midnight = datetime(1970, 1, 2)  # noqa: DTZ001
    assert sorted(desk.rows(WIDE)) == [
        (1, 0.5, Decimal("1.250"), midnight, 10),
        (2, 2.5, Decimal("2.125"), moment, 30),
        (2**40, 3.5, Decimal("3.000"), moment, 30),
    ]
    assert desk.land(WIDE, [(1, 9.5, Decimal("9.000"), moment, 40)]).rows == RowCounts(read=1, updated=1)


def test_a_number_that_was_widened_is_matched_with_the_rows_from_before(desk: Desk, writer: str) -> None:
    narrow = replace(table("id int, price decimal(8,2), at bigint"), widens=True)
    wide = replace(table("id bigint, price decimal(12,3), at bigint"), widens=True)
    desk.land(narrow, [(1, Decimal("1.25"), 10), (2, Decimal("2.50"), 20), (3, Decimal("3.75"), 20)])
    assert desk.land(wide, [(2**40, Decimal("4.125"), 30)]).warnings == (
        "'id' was integer and is bigint in the copy, too",
        "'price' was decimal(8,2) and is decimal(12,3) in the copy, too",
    )
    # 1 is there as it is, 2 has changed, and both lie in a file of the narrow types.
    commit = desk.land(wide, [(1, Decimal("1.250"), 10), (2, Decimal("2.125"), 40)])
    assert commit.rows == RowCounts(read=2, updated=1, unchanged=1)
    assert sorted(desk.rows(wide)) == [
        (1, Decimal("1.250"), 10),
        (2, Decimal("2.125"), 40),
        (3, Decimal("3.750"), 20),
        (2**40, Decimal("4.125"), 30),
    ]
    last = max(Path(desk.path(wide), "_delta_log").glob("*.json")).read_text(encoding="utf-8")
    assert ('"engineInfo":"incremental-assets/' in last) is (writer == "direct")


def test_a_run_that_was_killed_while_it_widened_leaves_the_rest_to_the_next_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.land(NARROW, [(1, 0.5, Decimal("1.25"), EPOCH, 10)])
    moment = datetime(2026, 1, 1)  # noqa: DTZ001
    real = target_table.widen

    def killed(session: SparkSession, path: str, columns: Sequence[Retyped]) -> None:
        real(session, path, columns[:2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("incremental_assets.adapters.delta.land.widen", killed)
        with pytest.raises(KeyboardInterrupt):
            desk.land(WIDE, [(2, 2.5, Decimal("2.125"), moment, 30)])
    assert [row[0] for row in desk.rows(table("id bigint, size double, at bigint"))] == [1]
    assert desk.land(WIDE, [(2, 2.5, Decimal("2.125"), moment, 30)]).rows == RowCounts(read=1, inserted=1)


def test_a_type_that_is_not_wider_is_refused_and_a_wider_one_names_the_setting(desk: Desk) -> None:
    desk.land(NARROW, [(1, 0.5, Decimal("1.25"), EPOCH, 10)])
    narrower = replace(table("id smallint, size float, price decimal(8,2), day date, at bigint"), widens=True)
    with pytest.raises(
        SchemaChanged, match=r"id was integer and is smallint\), which rows .* cannot follow: put the type back"
    ):
        desk.land(narrower, [(1, 0.5, Decimal("1.25"), EPOCH, 20)])
    with pytest.raises(SchemaChanged, match=r"set `schema_changes: widen` for this table, put the type back"):
        desk.land(replace(WIDE, widens=False), [(1, 0.5, Decimal("1.250"), datetime(2026, 1, 1), 20)])  # noqa: DTZ001


# --- keys that the source does not enforce, rows that cannot land -------------------------------------


DECLARED = replace(ORDERS, key_enforced=False)


def test_of_a_declared_key_the_largest_cursor_lands_and_none_from_below_it_overwrites_it(desk: Desk) -> None:
    first = desk.land(DECLARED, [(1, "old", 10), (1, "new", 12), (1, "mid", 11), (2, "b", 5)])
    assert first.rows == RowCounts(read=4, inserted=2)
    # The row with 12 may still be there: nobody has looked above 10.
    second = desk.land(DECLARED, [(1, "older", 9), (2, "B", 5), (2, "A", 5)], window=(None, 10))
    assert second.rows == RowCounts(read=3, updated=1, unchanged=1)
    assert desk.rows(DECLARED) == [(1, "new", 12), (2, "B", 5)]


def test_a_row_of_a_declared_key_whose_cursor_got_smaller_is_the_newer_one_where_all_above_it_was_read(
    desk: Desk,
) -> None:
    """A transaction that began at 8 overwrites what another one wrote at 10: the source has one row, and its stamp went back."""
    desk.land(DECLARED, [(1, "by the other one", 10), (2, "b", 11), (3, "c", 12)])
    second = desk.land(
        DECLARED, [(1, "the last word", 8), (2, "b", 11), (3, "without a stamp", None)], window=(8, None)
    )
    assert second.rows == RowCounts(read=3, updated=2, unchanged=1)
    assert desk.rows(DECLARED) == [(1, "the last word", 8), (2, "b", 11), (3, "without a stamp", None)]


def test_a_row_of_a_declared_key_that_cannot_land_any_more_leaves_the_copy_though_its_cursor_got_smaller(
    desk: Desk,
) -> None:
    desk.land(DECLARED, [(1, "a", 10), (2, "b", 11)])
    assert desk.land(DECLARED, [(1, "broken", 8)], bad=["broken"], window=(8, None)).rows == RowCounts(
        read=1, deleted=1, quarantined=1
    )
    assert desk.rows(DECLARED) == [(2, "b", 11)]
    # Below the row that landed it may be another one with the same key.
    desk.land(DECLARED, [(2, "broken", 7)], bad=["broken"], window=(None, 9))
    assert desk.rows(DECLARED) == [(2, "b", 11)]


def test_a_row_without_a_whole_key_goes_to_quarantine_once_and_the_others_land(desk: Desk) -> None:
    rows = [(1, "a", 10), (None, "lost", 11)]
    assert desk.land(ORDERS, rows).rows == RowCounts(read=2, inserted=1, quarantined=1)
    assert desk.land(ORDERS, [*rows, (None, "more", 12)]).rows == RowCounts(read=3, unchanged=1, quarantined=2)
    kept = desk.quarantined(ORDERS)
    assert sorted((row["id"], row["note"], row["at"], row["_sync_column"], row["_sync_seq"]) for row in kept) == [
        (None, "lost", "11", "id", 1),
        (None, "more", "12", "id", 2),
    ]
    assert {row["_sync_reason"] for row in kept} == {"a part of the key is NULL"}


def test_rows_of_one_key_and_cursor_that_cannot_land_are_all_in_quarantine_and_once(desk: Desk) -> None:
    first = [(None, "ann", 11), (None, "bob", 11), (7, "unfit", 11)]
    assert desk.land(ORDERS, first, bad=["unfit"]).rows == RowCounts(read=3, quarantined=3)
    desk.land(ORDERS, first, bad=["unfit"])
    assert texts(desk) == [("7", "unfit", "11", 1), (None, "ann", "11", 1), (None, "bob", "11", 1)]
    desk.land(ORDERS, [*first, (None, "cyd", 11), (7, "worse", 11)], bad=["unfit", "worse"])
    assert texts(desk)[3:] == [("7", "worse", "11", 3), (None, "cyd", "11", 3)]


def test_rows_without_a_key_that_are_alike_in_everything_are_as_many_in_quarantine(desk: Desk) -> None:
    desk.land(ORDERS, [(None, "ann", 11)])
    desk.land(ORDERS, [(None, "ann", 11), (None, "ann", 11), (None, None, 11), (None, "null", 11)])
    assert [each[1:] for each in texts(desk)] == [
        ("ann", "11", 1),
        ("ann", "11", 2),
        ("null", "11", 2),
        (None, "11", 2),
    ]


def test_a_row_that_cannot_land_is_known_again_in_a_table_that_has_gained_a_column(desk: Desk) -> None:
    desk.land(ORDERS, [(None, "ann", 11)])
    wider = table("id bigint, note string, at bigint, more string")
    desk.land(wider, [(None, "ann", 11, None), (None, "ann", 11, "new")])
    kept = {each["_sync_seq"]: (each["note"], each["more"]) for each in desk.quarantined(wider)}
    assert kept == {1: ("ann", None), 2: ("ann", "new")}
    assert len(desk.quarantined(wider)) == 2


def texts(desk: Desk) -> list[tuple[object, ...]]:
    """Of each row in quarantine its values, and the sequence with which it came."""
    rows = [(row["id"], row["note"], row["at"], row["_sync_seq"]) for row in desk.quarantined(ORDERS)]
    return sorted(rows, key=lambda row: (row[-1], str(row)))


# --- other hands ----------------------------------------------------------------------------------------


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


def test_a_hand_that_reaches_in_between_inspection_and_commit_stops_the_commit(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    lake = desk.lake
    assert lake.inspect(EVENTS, None) is not None
    plan = desk.plan(EVENTS)
    batch = desk.stage.write(plan, desk.show(EVENTS, [(2, "b", 20)]))
    desk.other_hand("DELETE", EVENTS)
    with pytest.raises(TargetChanged, match="by another writer while this sync ran"):
        lake.apply(plan, batch, landed_state(plan, Shown(1, None, None)))
    assert desk.rows(EVENTS) == [(1, "a", 10)]


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


def test_a_row_that_can_no_longer_land_leaves_the_copy_in_the_commit_of_its_batch(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20), (3, "c", 30), (4, "d", 40)])
    versions = len(list((Path(desk.path(ORDERS)) / "_delta_log").glob("*.json")))
    second = desk.land(ORDERS, [(1, "A", 11), (2, "bad", 21), (3, "c", 30), (5, "e", 50)], bad=[2], late=[1])

    assert second.rows == RowCounts(read=4, inserted=1, updated=1, deleted=1, unchanged=1, late=1, quarantined=1)
    assert desk.rows(ORDERS) == [(1, "A", 11), (3, "c", 30), (4, "d", 40), (5, "e", 50)]
    assert len(list((Path(desk.path(ORDERS)) / "_delta_log").glob("*.json"))) == versions + 1
    assert any("1 row was taken out of the copy" in text for text in second.warnings)
    assert desk.lake.find(ORDERS, "batch2") == replace(second, rows=replace(second.rows, late=0), warnings=())
    # Read again, it has nothing left to take away; mended, it lands.
    assert desk.land(ORDERS, [(2, "bad", 21)], bad=[2]).rows == RowCounts(read=1, quarantined=1)
    assert desk.land(ORDERS, [(2, "mended", 22)]).rows == RowCounts(read=1, inserted=1)
    assert desk.rows(ORDERS) == [(1, "A", 11), (2, "mended", 22), (3, "c", 30), (4, "d", 40), (5, "e", 50)]


def test_a_row_that_can_no_longer_land_leaves_a_copy_that_gets_a_new_column(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    wider = table("id bigint, `${env:HOME} string, at bigint".replace("`", ""))
    desk.land(wider, [(1, "home", 11), (2, "bad", 21)], bad=[2])
    assert desk.rows(wider) == [(1, "a", 11, "home")]
    column = next(found for found in open_log(desk.path(ORDERS)).columns() if found.name == "${env:HOME}")  # type: ignore[union-attr]
    assert (column.since, column.since_cursor) == (2, Reached("at:integer", "20"))


def test_all_rows_of_a_key_that_the_copy_holds_twice_leave_it(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    desk.sql("INSERT INTO {t} SELECT * FROM {t}", ORDERS)
    desk.land(ORDERS, [(1, "A", 11), (2, "bad", 21)], bad=[2])
    assert desk.rows(ORDERS) == [(1, "A", 11)]


def test_of_a_declared_key_a_row_that_lands_keeps_its_place_whatever_else_has_that_key(desk: Desk) -> None:
    spec = table("id bigint, note string, at bigint", enforced=False)
    desk.land(spec, [(1, "a", 10), (2, "b", 20)])
    desk.land(spec, [(1, "new", 12), (1, "bad", 11), (2, "bad", 15)], bad=["bad"], window=(11, 16))
    assert desk.rows(spec) == [(1, "new", 12), (2, "b", 20)]


def test_an_append_keeps_the_versions_that_were_seen_before_one_that_cannot_land(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    assert desk.land(EVENTS, [(1, "bad", 11)], bad=[1]).rows == RowCounts(read=1, quarantined=1)
    assert desk.rows(EVENTS) == [(1, "a", 10)]


def test_what_an_earlier_table_left_in_quarantine_stays_beside_what_a_new_one_puts_there(desk: Desk) -> None:
    desk.land(ORDERS, [(None, "of the first", 10), (1, "a", 10)])
    shutil.rmtree(desk.path(ORDERS))
    again = Desk(desk.folder, desk.spark)
    plan, shown = again.plan(ORDERS), again.show(ORDERS, [(None, "of the second", 20), (1, "a", 20)])
    other = replace(plan, commit_ids=replace(plan.commit_ids, app_id="another"))
    commit = again.apply(other, again.stage.write(other, shown), shown)
    assert commit.rows == RowCounts(read=2, inserted=1, quarantined=1)
    assert sorted(row["note"] for row in again.quarantined(ORDERS)) == ["of the first", "of the second"]


def test_a_compaction_that_a_sync_has_overtaken_does_not_turn_the_position_back(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    before = desk.previous
    desk.land(EVENTS, [(2, "b", 20)])
    assert before is not None
    desk.lake.compact(EVENTS, How.GATHER, "asleep", before)
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert found.state == desk.previous


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


def test_tables_land_side_by_side_in_one_session(desk: Desk) -> None:
    def land(name: str) -> RowCounts:
        spec = replace(EVENTS, shape=replace(EVENTS.shape, id=replace(EVENTS.id, name=name)))
        other = Desk(desk.folder, desk.spark)
        other.land(spec, [(1, name, 10)])
        return other.land(spec, [(1, name, 10), (2, name, 20)]).rows

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(land, ("a", "b"))) == [RowCounts(read=2, inserted=1, unchanged=1)] * 2


def test_looking_starts_no_spark(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])

    def never() -> SparkSession:
        raise AssertionError("Spark was asked for")

    lake = DeltaLake(str(desk.folder), never)
    assert lake.inspect(EVENTS, None) is not None
    assert lake.find(EVENTS, "batch1") is not None
    assert lake.columns(EVENTS) == (("id", "bigint"), ("note", "string"), ("at", "bigint"))
    assert lake.inspect(replace(EVENTS, shape=replace(EVENTS.shape, id=replace(EVENTS.id, name="none"))), None) is None


def test_a_lake_whose_path_no_reader_of_logs_understands_is_refused() -> None:
    with pytest.raises(NameRefused, match="`%`"):
        DeltaLake("/tmp/100%25", lambda: pytest.fail("Spark"))


def _note_of(desk: Desk, version: int) -> dict[str, object]:
    lines = (Path(desk.path(ORDERS)) / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    info = next(json.loads(line)["commitInfo"] for line in lines if "commitInfo" in line)
    return dict(json.loads(info["userMetadata"]))
