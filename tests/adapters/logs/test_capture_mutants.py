"""Known-bad variants of the capture by log: each undoes one rule, and a story of that rule finds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from incremental_assets.adapters.delta import copied_rows, live
from incremental_assets.adapters.delta.lake_quarantine import LakeQuarantine
from incremental_assets.adapters.logs import (
    changed_keys,
    completing,
    every_change,
    gathering,
    logged_source,
    row_versions,
    start_anew,
    versions_file,
)
from incremental_assets.adapters.logs.changed_keys import ChangedKeys
from incremental_assets.adapters.logs.following import Record
from incremental_assets.adapters.logs.gathering import Gathered
from incremental_assets.adapters.logs.joining import Snapshot
from incremental_assets.adapters.logs.postgresql import logged, source_log
from incremental_assets.adapters.logs.segments import shelf
from incremental_assets.adapters.logs.segments.manifest import Manifest, Membership, Piece
from incremental_assets.adapters.spark.own_names import SINCE
from incremental_assets.core.captures.log import capture
from incremental_assets.core.checks import reconcile
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.syncing import recovery, sync
from tests.adapters.logs import (
    test_capture,
    test_capture_joined,
    test_capture_refused,
    test_check,
    test_contract,
    test_every_change,
    test_history,
    test_history_killed,
    test_partitions,
)
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open

pytestmark = pytest.mark.acceptance

Patch = pytest.MonkeyPatch
Played = Callable[[Open, Patch], object]


def _no_columns_are_compared(patch: Patch) -> None:
    patch.setattr(capture, "_check_same", lambda *_: None)
    patch.setattr(gathering, "_check_columns", lambda *_: None)


def _in_any_order(patch: Patch) -> None:
    check = gathering._check_columns

    def in_any_order(spec: TableSpec, piece: Piece) -> None:
        order = [each.name for each in spec.columns]
        check(spec, replace(piece, columns=tuple(sorted(piece.columns, key=lambda each: order.index(each.name)))))

    patch.setattr(gathering, "_check_columns", in_any_order)


def _to_the_end(patch: Patch) -> None:
    gathered = gathering.gathered

    def to_the_end(shelf: gathering.Shelf, plan: gathering.SyncPlan) -> Gathered:
        standing = shelf.standing()
        return Gathered(gathered(shelf, plan).changes, standing.position if standing else 0)

    patch.setattr("incremental_assets.adapters.logs.logged_source.gathered", to_the_end)


def _ends(patch: Patch) -> None:
    gathered = gathering.gathered
    patch.setattr(logged_source, "gathered", lambda *of: replace(gathered(*of), goes_on=False))


def _whatever_ends_behind(self: shelf.Shelf, position: int) -> list[Manifest]:
    return [each for each in map(self.manifest, self.names()) if each.end > position]


def _of_nobody(patch: Patch) -> None:
    """Which tables are published when a log begins anew is not looked at."""
    patch.setattr(source_log, "membership_of", lambda found: Membership(found.joined, {}))


def _begin_with_the_first(patch: Patch) -> None:
    """Of the versions of a row the oldest counts as the one before a change."""
    order = [("_commit_lsn", "ascending")]
    patch.setattr(every_change, "_newest", lambda rows: rows.sort_by(order))


def _every_change(shop: Open, *tables: str) -> LoggedShop:
    return shop(*tables or (test_every_change.ORDERS,), more=test_every_change.APPEND)


def _of_the_copy_of_now(patch: Patch) -> None:
    copied = copied_rows.copied_rows

    def now(lake: str, spec: TableSpec, names: Sequence[str], keys: pa.Table | None, *, version: int) -> pa.Table:
        return copied(lake, spec, names, keys)

    patch.setattr(copied_rows, "copied_rows", now)


def _all_at_the_end(patch: Patch) -> None:
    """Versions begin with the last commit of their batch."""
    made = versions_file.row_versions

    def late(*of: Any) -> pa.Table:
        rows = made(*of)
        last = pa.repeat(pc.max(rows.column(SINCE)), len(rows))
        return rows.set_column(rows.schema.get_field_index(SINCE), SINCE, last)

    patch.setattr(versions_file, "row_versions", late)


def _without(name: str) -> Callable[[Patch], object]:
    """What a position says of the batch that led to it is forgotten."""
    landed = gathering.landed_last

    def change(patch: Patch) -> None:
        patch.setattr(
            versions_file, "landed_last", lambda shelf, spec, at: landed(shelf, spec, replace(at, **{name: None}))
        )

    return change


def _of_no_dead_run(patch: Patch) -> None:
    for module in (sync, recovery):
        patch.setattr(module, "catch_up", lambda *_: None)


def _history(shop: Open, *tables: str) -> LoggedShop:
    return shop(*tables or (test_history.ORDERS,), more=test_history.SCD2)


def _held_by_any_run(patch: Patch) -> None:
    standing = every_change.Landed.standing
    patch.setattr(every_change.Landed, "standing", lambda self, _, *of: standing(self, 2**62, *of))


def _by_hand_of_the_next_sync(patch: Patch) -> None:
    """Whatever differs is what the next sync brings."""
    patch.setattr(reconcile, "by_log", lambda spec, state, ports: reconcile._whole(spec, state, None, ports))


VARIANTS: dict[str, tuple[Callable[[Patch], object], Played]] = {
    "a snapshot shows all that is younger than it": (
        lambda patch: patch.setattr(Snapshot, "shows", lambda _, xids: np.ones(len(xids), bool)),
        lambda shop, patch: test_capture_joined.a_transaction_that_the_snapshot_does_not_show(shop(), patch),
    ),
    "what is older than the publication is in the log": (
        lambda patch: patch.setattr(Snapshot, "is_after", lambda *_: True),
        lambda shop, patch: test_capture_joined.a_transaction_that_is_older_than_the_publication(shop(), patch),
    ),
    "a part of a range is the whole of it": (
        _to_the_end,
        lambda shop, patch: test_capture_joined.transactions_of_one_range_that_land_one_by_one(shop(), patch),
    ),
    "a full batch is all that the log had": (
        _ends,
        lambda shop, patch: test_partitions.landed_before_the_comparison(test_partitions.parted(shop), patch),
    ),
    "partitions are those that there are": (
        lambda patch: patch.setattr(logged_source, "strayed", lambda *_: 0),
        lambda shop, _: test_partitions.came_and_left(test_partitions.parted(shop)),
    ),
    "segments of any server are one log": (
        lambda patch: patch.setattr(shelf.Shelf, "after", _whatever_ends_behind),
        lambda shop, _: test_capture_refused.test_segments_of_another_server_are_none_of_the_one_that_was_loaded_from(
            shop
        ),
    ),
    "a log that begins anew says so of tables with a record alone": (
        _of_nobody,
        lambda shop, _: (
            test_capture_refused.test_a_copy_that_is_taken_back_to_before_the_log_began_anew_is_loaded_again(shop, "")
        ),
    ),
    "a table belongs to the publication as it did before": (
        lambda patch: patch.setattr(source_log, "_joined", lambda *_: ""),
        lambda shop, patch: test_capture_joined.a_publication_that_is_altered_while_a_load_begins(shop(), patch),
    ),
    "what was decoded is visible": (
        lambda patch: patch.setattr(Snapshot, "hides", lambda *_: []),
        lambda shop, patch: test_capture_joined.a_commit_that_waits_for_a_standby(
            shop(ORDERS, test_capture_joined.ITEMS), patch
        ),
    ),
    "what was not sent is NULL": (
        lambda patch: patch.setattr(completing, "filled", lambda _, rows, __: rows),
        lambda shop, _: test_capture.test_a_value_that_the_log_does_not_send_is_that_of_the_copy(shop),
    ),
    "what was not sent is that of any version": (
        _begin_with_the_first,
        lambda shop, _: test_every_change.values_that_were_not_sent(_every_change(shop)),
    ),
    "what could not land is no version": (
        lambda patch: patch.setattr(every_change, "_overtaken", lambda _, last, __: np.zeros(len(last), bool)),
        lambda shop, _: test_every_change.a_version_that_could_not_land(
            _every_change(shop, test_every_change.WITH_A_TIME)
        ),
    ),
    "a history has what the copy has": (
        lambda patch: patch.setattr(logged.Logged, "versions", lambda *_: None),
        lambda shop, _: test_history.every_version(_history(shop)),
    ),
    "versions begin when they are read": (
        _all_at_the_end,
        lambda shop, _: test_history.with_the_time_of_their_commits(_history(shop)),
    ),
    "what was not sent is NULL in a history": (
        lambda patch: patch.setattr(row_versions, "filled", lambda _, rows, __: rows),
        lambda shop, _: test_history.values_that_were_not_sent(_history(shop)),
    ),
    "what was not sent is what the copy has by now": (
        _of_the_copy_of_now,
        lambda shop, _: test_history.values_that_were_not_sent(_history(shop)),
    ),
    "what could not land is a version": (
        lambda patch: patch.setattr(row_versions, "_could_not_land", lambda rows: np.zeros(len(rows), bool)),
        lambda shop, _: test_history.a_version_that_could_not_land(_history(shop, test_history.WITH_A_TIME)),
    ),
    "a truncation ends no version": (
        lambda patch: patch.setattr(row_versions, "_emptied", lambda _, rows, *__: rows.slice(0, 0)),
        lambda shop, _: test_history.what_was_truncated(_history(shop)),
    ),
    "versions of a batch are all that there are": (
        _without("lsn"),
        lambda shop, patch: test_history.in_whole_transactions(_history(shop), patch),
    ),
    "what the snapshot of a load shows comes again": (
        _without("lacked"),
        lambda shop, patch: test_history.shown_by_a_load(_history(shop), patch),
    ),
    "segments go when copies have passed them": (
        lambda patch: patch.setattr(Record, "passed", 2**62),
        lambda shop, patch: test_history_killed.kept_for_the_history(
            shop(test_history.ORDERS, test_history_killed.ITEMS, more=test_history.SCD2), patch
        ),
    ),
    "a history is told of nothing but the batch that comes": (
        _of_no_dead_run,
        lambda shop, _: test_history_killed.killed_at(shop, ("after follow", "after apply")),
    ),
    "every change of a range is in its first batch": (
        _to_the_end,
        lambda shop, patch: test_every_change.in_whole_transactions(_every_change(shop), patch),
    ),
    "a truncation takes nothing out of the copy": (
        lambda patch: patch.setattr(completing, "_emptied", lambda _, rows, schema, __: schema.empty_table()),
        lambda shop, _: test_capture.test_what_was_truncated_leaves_the_copy_and_what_came_after_stays(shop),
    ),
    "a batch ends where the log does": (
        _to_the_end,
        lambda shop, patch: test_capture_joined.segments_that_land_one_by_one(
            shop(ORDERS, test_capture_joined.ITEMS), patch
        ),
    ),
    "columns are what they are called": (
        _no_columns_are_compared,
        lambda shop, _: test_capture_refused.test_other_columns_stop_the_table_until_it_is_loaded_again(
            shop, "ALTER TABLE orders DROP COLUMN note, ADD COLUMN note text"
        ),
    ),
    "columns are the same by their names, whatever their order": (
        _in_any_order,
        lambda shop, _: test_capture_refused.test_columns_that_were_others_for_a_while_between_two_syncs_stop_the_table(
            shop, (*test_capture_refused.SWAP, "UPDATE orders SET total = 7", *test_capture_refused.SWAP)
        ),
    ),
    "a key that may be deferred is one at every moment": (
        lambda patch: patch.setattr(source_log, "check_table", lambda *_: ""),
        lambda shop, _: test_capture_refused.test_keys_that_two_rows_may_have_at_once_are_refused_by_name(shop),
    ),
    "what differs comes with the next sync": (
        _by_hand_of_the_next_sync,
        lambda shop, _: test_check.wrong_rows_beside_writers(shop(more="history: scd2")),
    ),
    "what has just changed has drifted": (
        lambda patch: patch.setattr(ChangedKeys, "among", lambda *_: frozenset()),
        lambda shop, _: test_check.no_drift_beside_writers(shop()),
    ),
    "the log is read before the source is": (
        lambda patch: patch.setattr(source_log.SourceLog, "read_to_now", lambda *_: None),
        lambda shop, _: test_check.no_drift_beside_writers(shop()),
    ),
    "what was decoded is what a check sees": (
        lambda patch: patch.setattr(ChangedKeys, "_hidden", lambda _: iter(())),
        lambda shop, _: test_check.a_commit_that_the_copy_has_and_the_source_does_not_show(shop()),
    ),
    "a repair takes what the source shows": (
        lambda patch: patch.setattr(logged_source, "_without", lambda places, _: places),
        lambda shop, _: test_check.a_commit_that_the_copy_has_and_the_source_does_not_show(shop()),
    ),
    "what a contract holds has drifted": (
        lambda patch: patch.setattr(LakeQuarantine, "held_places", lambda *_: frozenset()),
        lambda shop, _: test_contract.waits_until_it_is_right(shop(more=test_contract.CONTRACT)),
    ),
    "what a dead run has held came before its batch": (
        _held_by_any_run,
        lambda shop, _: test_contract.killed_behind_its_quarantine(shop(more=test_contract.CONTRACT)),
    ),
    "what was not sent is that of the version before one that is held": (
        lambda patch: patch.setattr(every_change.Landed, "standing", lambda self, _, *of: self.copy(*of)),
        lambda shop, _: test_contract.a_value_of_a_version_that_is_held(shop(more=test_contract.CONTRACT)),
    ),
    "keys of changes lie where no key of the copy does": (
        lambda patch: patch.setattr(changed_keys, "_comparable", lambda column, found: (column, pa.nulls(len(found)))),
        lambda shop, _: test_check.keys_of_all_kinds(shop(ORDERS, test_check.SEVERAL)),
    ),
    "the last change of a key is its row": (
        lambda patch: patch.setattr(live, "replayed", live.latest_of_each_key),
        lambda shop, _: test_check.changes_come_to_the_source(_every_change(shop, ORDERS)),
    ),
    "a new slot goes on from the old one": (
        lambda patch: patch.setattr(start_anew, "Manifest", lambda *of: Manifest(*of[:-1], {})),
        lambda shop, _: test_capture_refused.test_another_table_is_told_that_it_has_missed_what_was_in_a_lost_slot(
            shop
        ),
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_found(name: str, open_shop: Open, monkeypatch: Patch) -> None:
    change, played = VARIANTS[name]
    change(monkeypatch)
    with pytest.raises((AssertionError, IncrementalAssetsError)):
        played(open_shop, monkeypatch)
