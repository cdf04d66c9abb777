"""A history begins with the rows of a copy, by tasks and one commit, without Spark: what they are, how they are shared out, and what a death leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.history import by_tasks, writing
from incremental_assets.adapters.delta.history.following import is_shown
from incremental_assets.adapters.delta.history.table import Tables
from incremental_assets.adapters.delta.log.transaction_log import APP_ID, TableLog, open_log
from incremental_assets.adapters.delta.tasks.files import data_file, stored_rows
from incremental_assets.adapters.delta.tasks.files.unit import Replacing, Stored
from incremental_assets.adapters.delta.tasks.matching import sharing
from incremental_assets.core.errors import Overtaken
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.history import History, HistoryRows, Step
from incremental_assets.core.model.table import Cursor
from tests.adapters.batches import APP, table
from tests.adapters.dying import die_at, killed
from tests.adapters.quarantine.offline import Here, WithoutSpark
from tests.adapters.tasks.tables import Row, Table

DDL = "id bigint, note string, changed timestamp"
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
EARLY, AFTER = CLOCK - timedelta(hours=5), CLOCK + timedelta(days=9)
REPLACES = Replacing((0,), compares=True)


@dataclass(frozen=True)
class Shop:
    """A copy that is kept without a history, and the history that is then switched on."""

    folder: Path
    kind: History = History.SCD2
    flags: bool = False

    @property
    def copy(self) -> Table:
        return Table(self.folder, DDL, {APP_ID: APP}, seq=4, flags=self.flags)

    @property
    def history(self) -> str:
        return str(self.folder / "history")

    def tables(self) -> Tables:
        cursor = Cursor("changed", CursorType.TIMESTAMP)
        spec = replace(table(DDL, cursor=""), history=self.kind, cursor=cursor)
        path = str(self.copy.path)
        return Tables(spec, cast(TableLog, open_log(path)), path, self.history)

    @property
    def step(self) -> Step:
        return Step(self.copy.version, 4, "batch4", CLOCK, "UTC", whole=True)

    def begin(self, run_id: str = "run") -> HistoryRows:
        """As the lake does."""
        if is_shown(self.step, self.tables().copy, open_log(self.history)):
            return HistoryRows()
        return writing.follow(cast(Any, WithoutSpark()), cast(Any, Here()), self.tables(), self.step, run_id)

    def versions(self) -> list[dict[str, Any]]:
        found = QueryBuilder().register("t", DeltaTable(self.history)).execute("SELECT * FROM t ORDER BY id").read_all()
        return [_in_utc(row) for row in pa.table(found).to_pylist()]


def _in_utc(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.astimezone(UTC) if isinstance(value, datetime) else value for name, value in row.items()}


def told(shop: Shop, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in shop.versions()]


def land(shop: Shop, *batches: Sequence[Row]) -> None:
    copy = shop.copy
    for rows in batches:
        copy.land(REPLACES, rows)


def test_each_row_that_is_there_is_a_version_from_its_own_time_on_at_the_latest_from_the_snapshot(
    tmp_path: Path,
) -> None:
    shop = Shop(tmp_path)
    land(shop, [(1, "new", EARLY), (2, "new", None), (3, "new", AFTER)], [(1, "paid", CLOCK - timedelta(hours=1))])
    assert any(each.get("deletionVector") for each in shop.copy.state.files.values())
    assert shop.begin() == HistoryRows(added=3, version=1, rows=3)
    assert told(shop, "id", "note", "_valid_from", "_valid_to", "_is_current", "_sync_deleted") == [
        (1, "paid", CLOCK - timedelta(hours=1), None, True, False),
        (2, "new", CLOCK, None, True, False),
        (3, "new", CLOCK, None, True, False),
    ]
    assert {each[:2] for each in told(shop, "_sync_run_id", "_sync_seq")} == {("run", 4)}
    assert shop.begin("another") == HistoryRows()


def test_a_row_that_the_copy_marks_as_gone_is_a_version_that_says_so_since_when(tmp_path: Path) -> None:
    shop = Shop(tmp_path, flags=True)
    land(shop, [(1, "new", EARLY), (2, "new", EARLY)])
    since = CLOCK - timedelta(hours=2)
    at = (since - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    shop.copy.land(replace(REPLACES, leaves=True, flagged_at=at), [], [(2, None, None)])
    assert [(row[0], gone) for row, gone in sorted(shop.copy.read_flagged())] == [(1, False), (2, True)]
    assert shop.begin() == HistoryRows(added=1, deleted=1, version=1, rows=2)
    assert told(shop, "id", "note", "_valid_from", "_valid_to", "_is_current", "_sync_deleted") == [
        (1, "new", EARLY, None, True, False),
        (2, "new", since, None, False, True),
    ]


def test_an_append_has_the_same_rows_and_no_times(tmp_path: Path) -> None:
    shop = Shop(tmp_path, kind=History.APPEND)
    land(shop, [(1, "new", EARLY), (2, None, None)])
    assert shop.begin() == HistoryRows(added=2, version=1, rows=2)
    assert told(shop, "id", "note", "changed", "_sync_deleted") == [(1, "new", EARLY, False), (2, None, None, False)]
    assert "_valid_from" not in shop.versions()[0]


def test_a_copy_without_rows_begins_a_history_without_rows_that_shows_it(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    assert shop.begin() == HistoryRows(version=1, rows=0)
    assert is_shown(shop.step, shop.tables().copy, open_log(shop.history))


def test_files_are_shared_out_by_their_bytes_and_no_more_than_a_row_group_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path)
    land(shop, *([(number, "a", EARLY) for number in range(first, first + 25)] for first in range(0, 1000, 25)))
    size = int(next(iter(shop.copy.state.files.values()))["size"])
    monkeypatch.setattr(sharing, "_FILES_BYTES", size * 3 // 2)
    monkeypatch.setattr(data_file, "_ROWS_PER_GROUP", 20)
    read: list[int] = []
    columns = stored_rows.RowGroup.columns

    def counted(group: stored_rows.RowGroup, asked: Sequence[Stored]) -> list[pa.ChunkedArray]:
        read.append(group.rows)
        return columns(group, asked)

    monkeypatch.setattr(stored_rows.RowGroup, "columns", counted)
    assert shop.begin().added == 1000
    # Two neighbours each, and more of them than other work is shared among.
    files = [pq.read_metadata(path) for path in Path(shop.history).glob("*.parquet")]
    assert [each.num_rows for each in files] == [50] * 20
    # Of 25 rows that come together none waits for the next ones: two groups, as one may have 20.
    assert [each.row_group(place).num_rows for each in files for place in range(4)] == [13, 12, 13, 12] * 20
    assert read == [25] * 40
    assert told(shop, "id") == [(number,) for number in range(1000)]


def test_a_run_that_looked_before_another_one_began_it_leaves_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    land(shop, [(1, "new", EARLY)])
    empty = writing.made(cast(Any, WithoutSpark()), shop.tables())
    shop.begin("first")
    files = {*Path(shop.history).glob("*.parquet")}
    note = CommitMetadata(Kind.HISTORY, APP, 4, "batch4", "second", shop.step.version)
    with pytest.raises(Overtaken, match="nothing of it landed"):
        by_tasks.follow(cast(Any, Here()), shop.tables(), empty, shop.step, note)
    assert {*Path(shop.history).glob("*.parquet")} == files
    assert told(shop, "id", "_sync_run_id") == [(1, "first")]


def _begin_and_die(folder: Path, point: str) -> None:
    """What the process does that is killed."""
    die_at(point)
    sharing._FILES_BYTES = 1
    Shop(folder).begin("killed")


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "point", ["half of the data file", "the data file", "the versions", "the commit, without its name", "the commit"]
)
def test_a_process_that_begins_a_history_is_killed_after(point: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    land(shop, [(1, "new", EARLY), (2, "new", EARLY)], [(3, "new", EARLY), (4, "new", EARLY)])
    # Its table is there; what dies is the commit with rows.
    writing.made(cast(Any, WithoutSpark()), shop.tables())
    killed(_begin_and_die, tmp_path, point)
    landed = point == "the commit"
    assert (len(shop.versions()), is_shown(shop.step, shop.tables().copy, open_log(shop.history))) == (
        (4, True) if landed else (0, False)
    )
    assert shop.begin("next") == (HistoryRows() if landed else HistoryRows(added=4, version=1, rows=4))
    assert told(shop, "id", "_sync_run_id") == [(number, "killed" if landed else "next") for number in (1, 2, 3, 4)]
    assert shop.begin("next") == HistoryRows()
