"""A process that knows a table reads only the commits that came since; what it knew of another table in its place is forgotten."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import commit_path
from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from tests.adapters.tasks.tables import Table

BY_ID = Replacing((0,), compares=True)


def live(seen: log_cache.Seen | None) -> int:
    """Rows in the files, less those that are marked."""
    assert seen is not None
    return len(seen.state.files)


def test_only_what_came_since_is_read(tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint, note string")
    table.land(BY_ID, [(1, "a")])
    first = log_cache.latest(str(table.path))
    assert first is not None
    assert (first.state.version, live(first)) == (1, 1)
    table.land(BY_ID, [(2, "b")])
    # What was read already says something else now, and nobody asks for it.
    Path(commit_path(str(table.path), 0)).write_text("no commit")
    second = log_cache.latest(str(table.path))
    assert second is not None
    assert (second.state.version, live(second)) == (2, 2)
    assert (first.state.version, live(first)) == (1, 1), "what was handed out stays as it was"
    assert sorted(second.infos) == [0, 1, 2]


def test_a_table_that_was_made_anew_in_its_place_is_read_anew(tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint, note string")
    table.land(BY_ID, [(1, "a")])
    table.land(BY_ID, [(2, "b")])
    assert live(log_cache.latest(str(table.path))) == 2
    shutil.rmtree(table.path)
    assert log_cache.latest(str(table.path)) is None
    other = Table(tmp_path, "id bigint, note string")
    for number in range(3, 6):
        other.land(BY_ID, [(number, "c")])
    seen = log_cache.latest(str(table.path))
    assert seen is not None
    assert (seen.state.version, live(seen)) == (3, 3)


def test_a_version_that_is_not_there_is_not_made_up(tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint, note string")
    table.land(BY_ID, [(1, "a")])
    assert log_cache.at(str(table.path), 0).files == {}
    assert len(log_cache.at(str(table.path), 1).files) == 1
    with pytest.raises(NotByTasks, match="version 2 is not in the log"):
        log_cache.at(str(table.path), 2)


def test_a_process_that_goes_on_from_what_it_knows_notices_a_checkpoint_that_came(tmp_path: Path) -> None:
    table = Table(tmp_path, "id bigint, note string")
    for number in range(3):
        table.land(BY_ID, [(number, "a")])
    assert log_cache.latest(str(table.path)) is not None
    DeltaTable(table.path).create_checkpoint()
    table.land(BY_ID, [(9, "b")])
    seen = log_cache.latest(str(table.path))
    assert seen is not None
    assert (seen.state.version, seen.state.checkpoint) == (4, 3)
