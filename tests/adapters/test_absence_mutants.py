"""Known-bad variants: each undoes one rule by which an absence is noticed, and a test of that rule finds it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.listing import Listing
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.delta.ownership import Ownership
from incremental_assets.adapters.delta.tasks.files import staged_rows
from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from incremental_assets.adapters.lake_store.store import Reading
from incremental_assets.adapters.spark.manifest import StagedFile
from incremental_assets.core.planning.target import AsLeft, LastCommit, Target
from incremental_assets.core.syncing import foreign_changes, recovery
from tests.adapters import test_manifest, test_ownership, test_transaction_log
from tests.adapters.tasks import test_log_state
from tests.adapters.tasks.tables import Table
from tests.core import test_absences, test_other_hands
from tests.core.stories import UPSERT

Patch = pytest.MonkeyPatch
Played = Callable[[Path], object]


def _table(folder: Path) -> Table:
    """As `test_log_state` has it."""
    table = Table(folder, "id bigint, d decimal(38,10), note string", {"delta.checkpointInterval": "3"})
    table.land(Replacing((0,), compares=True), [(number, number, "a") for number in range(10)])
    table.land(Replacing((0,), compares=True), [(3, 3, "b")])
    return table


def _unchecked(store: Reading, file: str) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in store.read(file).decode().split("\n") if line.strip()]


def _whatever_is_there(folder: str) -> list[StagedFile]:
    return [StagedFile(path.name, path.stat().st_size, 0) for path in sorted(Path(folder).glob("*.parquet"))]


def _by_sequence_alone(log: TableLog) -> bool:
    return log.last_sequence(log.app_id) >= 0


def _by_version_alone(relied: AsLeft, target: Target) -> str:
    return "older" if target.version < relied.version else ""


VARIANTS: dict[str, tuple[Callable[[Patch], object], Played]] = {
    "an empty commit is one of nothing": (
        lambda patch: patch.setattr(log_cache, "actions_of", _unchecked),
        lambda folder: test_log_state.test_a_commit_that_is_not_whole_is_named_and_no_commit_of_nothing(
            _table(folder), "empty", 1
        ),
    ),
    "the actions of a commit are not counted": (
        lambda patch: patch.setattr(log_cache, "actions_of", _unchecked),
        lambda folder: test_log_state.test_a_commit_that_ends_between_two_of_its_actions_is_named(_table(folder)),
    ),
    "the checksum of a version is not asked": (
        lambda patch: patch.setattr(log_cache, "check_version", lambda *_: None),
        lambda folder: test_log_state.test_a_version_whose_files_are_not_those_of_its_checksum_is_named(_table(folder)),
    ),
    "a log ends at its first hole": (
        lambda patch: patch.setattr(Listing, "check_contiguous", lambda _: None),
        lambda folder: test_log_state.test_a_hole_that_comes_while_the_process_knows_the_table_is_named(_table(folder)),
    ),
    "a table without a sequence is new": (
        lambda patch: patch.setattr(TableLog, "landed", _by_sequence_alone),
        test_transaction_log.test_a_table_that_has_forgotten_its_sequences_is_not_taken_for_a_new_one,
    ),
    "what was cleaned away was harmless": (
        lambda patch: patch.setattr(TableLog, "lost", lambda *_: None),
        test_transaction_log.test_what_was_removed_before_a_sync_looked_at_it_may_have_changed_rows,
    ),
    "a batch is what lies in its folder": (
        lambda patch: patch.setattr(staged_rows, "staged_files", _whatever_is_there),
        lambda folder: test_manifest.test_a_task_lands_nothing_of_a_batch_that_is_no_longer_whole(
            Table(folder, "id bigint, note string"), Replacing((0,), compares=True), "part-0.parquet is gone"
        ),
    ),
    "nobody owns a table": (
        lambda patch: patch.setattr(Ownership, "check", lambda *_: None),
        lambda folder: test_ownership.test_tables_are_owned_one_by_one(folder / "lake", folder),
    ),
    "an older copy is known by its version alone": (
        lambda patch: patch.setattr(foreign_changes, "other_version", _by_version_alone),
        lambda _: (
            test_other_hands.test_an_older_copy_in_the_tables_place_stops_the_sync_whatever_maintenance_has_made_of_its_version(
                3
            )
        ),
    ),
    "a table stands where its version does": (
        lambda patch: patch.setattr(LastCommit, "is_of", lambda last, left, _: last.version == left.version),
        lambda _: test_other_hands.test_a_table_that_stands_still_is_known_by_its_last_commit(),
    ),
    "a checkpoint is what its name says": (
        lambda patch: patch.setattr(log_cache, "check_checkpoint", lambda *_: None),
        lambda folder: test_log_state.test_an_older_checkpoint_in_the_place_of_a_newer_one_is_named(
            _table(folder), 0, "or remove it: the log is complete without"
        ),
    ),
    "a fence makes the table where the lake is gone": (
        lambda patch: patch.setattr(recovery, "check_ours", lambda *_: None),
        lambda _: test_absences.test_a_lake_that_is_gone_behind_a_dead_run_is_not_made_anew(UPSERT, "before apply"),
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_is_found_and_the_real_one_is_not(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undo, play = VARIANTS[variant]
    (tmp_path / "real").mkdir()
    play(tmp_path / "real")
    undo(monkeypatch)
    (tmp_path / "variant").mkdir()
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        play(tmp_path / "variant")
