"""Known-bad variants of the log's reader: each undoes one rule, and a test of that rule finds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from incremental_assets.adapters.logs import batch
from incremental_assets.adapters.logs.batch import _Lines
from incremental_assets.adapters.logs.joining import Snapshot
from incremental_assets.adapters.logs.postgresql import (
    changed_rows,
    fitness,
    kinds,
    look,
    reading,
    text_values,
    transactions,
    values,
)
from incremental_assets.adapters.logs.postgresql.transactions import Transactions
from incremental_assets.adapters.logs.postgresql.tuples import Places
from incremental_assets.adapters.logs.segments import files, shelf
from incremental_assets.adapters.logs.segments.manifest import Manifest
from incremental_assets.core.errors import IncrementalAssetsError
from tests.adapters.logs import (
    test_batch,
    test_changes,
    test_joining,
    test_look,
    test_membership,
    test_reading,
    test_reading_stopped,
    test_segments,
    test_types,
)
from tests.adapters.logs.log_reader import Reader
from tests.adapters.logs.stand import LogStand
from tests.adapters.source import Source

pytestmark = pytest.mark.acceptance

Patch = pytest.MonkeyPatch
Played = Callable[[LogStand, Path], object]


STAND: list[LogStand] = []
"""Of the test that runs."""


def _never_passed_over(patch: Patch) -> None:
    begun = Transactions.__init__
    patch.setattr(Transactions, "__init__", lambda self, position: begun(self, 0))


def _given_up_first(patch: Patch) -> None:
    decode = reading._decode

    def decoded(spool: Any, decoder: Any, segment: Any, moment: Any) -> None:
        decode(spool, decoder, segment, moment)
        with STAND[-1].asked() as asked:
            asked.execute(
                "SELECT pg_replication_slot_advance($1::name, pg_current_wal_flush_lsn())", (STAND[-1].slot_name,)
            )

    patch.setattr(reading, "_decode", decoded)


def _asked_before_alone(patch: Patch) -> None:
    """Whether the slot is ahead is not asked again for the same position."""
    check, asked = reading.check_standing, set[int]()

    def once(found: Any, slot: Any, before: Any) -> None:
        if before.position not in asked:
            asked.add(before.position)
            check(found, slot, before)

    patch.setattr(reading, "check_standing", once)


def _numbered_before(patch: Patch) -> None:
    told = look._publication
    patch.setattr(look, "_publication", lambda *of: (told(*of)[0], 0))


def _by_number(patch: Patch) -> None:
    """Everything that a snapshot's highest number is above is shown by it."""
    patch.setattr(Snapshot, "shows", lambda self, xids: np.asarray(xids) < self.xmax)


def _unsent_is_null(patch: Patch) -> None:
    patch.setattr(changed_rows, "unsent_column", lambda _, rows: pa.nulls(rows, pa.binary()))


def _own_key_only(patch: Patch) -> None:
    lines = batch._lines

    def unmoved(*of: Any) -> _Lines:
        found = lines(*of)
        return _Lines(found.keys, found.before, np.zeros_like(found.moved))

    patch.setattr(batch, "_lines", unmoved)


def _reader(stand: LogStand, folder: Path) -> Reader:
    return Reader(stand, folder)


def _three(stand: LogStand, folder: Path) -> tuple[Reader, int]:
    reader = Reader(stand, folder)
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    for number in (1, 2, 3):
        stand.execute(f"INSERT INTO orders VALUES ({number})")
        reader.read()
    return reader, oid


def _source(stand: LogStand) -> Source:
    return Source(stand.postgres, stand.database, stand.connect, [])


VARIANTS: dict[str, tuple[Callable[[Patch], object], Played]] = {
    "commits before the position are read again": (
        _never_passed_over,
        lambda stand, folder: test_reading.test_what_the_source_has_forgotten_in_a_crash_is_not_read_twice(
            _reader(stand, folder)
        ),
    ),
    "the position is where a commit begins": (
        lambda patch: patch.setattr(
            transactions.Transactions, "end", property(lambda self: self._last, lambda *_: None)
        ),
        lambda stand, folder: test_reading.test_a_second_range_follows_the_first_and_has_none_of_its_changes(
            _reader(stand, folder)
        ),
    ),
    "nobody asks whether the slot was read by another one meanwhile": (
        _asked_before_alone,
        lambda stand, folder: (
            test_reading_stopped.test_a_slot_that_somebody_else_reads_between_the_look_and_the_read_stops_by_name(
                _reader(stand, folder)
            )
        ),
    ),
    "the next transaction's number is older than the members": (
        _numbered_before,
        lambda stand, _: (
            test_look.test_a_transaction_that_wrote_before_its_table_was_published_is_older_than_the_next_number(
                stand, pytest.MonkeyPatch()
            )
        ),
    ),
    "nobody asks on which schema a table depends": (
        lambda patch: patch.setattr(look, "_OF_SCHEMA", "NULL"),
        lambda stand, folder: test_membership.test_a_table_that_was_in_another_schema_for_a_while_has_a_gap(
            _reader(stand, folder)
        ),
    ),
    "nobody asks whether the slot is ahead": (
        lambda patch: patch.setattr(reading, "check_standing", lambda *_: None),
        lambda stand, folder: test_reading_stopped.test_a_slot_that_somebody_else_has_read_stops_by_name(
            _reader(stand, folder)
        ),
    ),
    "the publication is as it was": (
        lambda patch: patch.setattr(reading, "gaps", lambda *_: {}),
        lambda stand, folder: test_membership.test_what_became_of_the_publication_between_two_looks_is_in_the_segment(
            _reader(stand, folder), ("ALTER PUBLICATION p DROP TABLE orders",), "it was removed"
        ),
    ),
    "a file is what it is": (
        lambda patch: patch.setattr(files, "check_file", lambda *_: None),
        lambda stand, folder: test_segments.test_a_file_that_is_not_as_it_was_written_stops_by_name(
            _three(stand, folder), lambda data: data[:-9] + b"x" + data[-8:], "was altered"
        ),
    ),
    "segments follow each other as they lie there": (
        lambda patch: patch.setattr(shelf.Shelf, "after", _whatever_is_there),
        lambda stand, folder: test_segments.test_a_missing_segment_stops_by_name(_three(stand, folder)),
    ),
    "a segment begins where the one before it ends": (
        lambda patch: patch.setattr(Manifest, "before", property(lambda self: self.begin)),
        lambda stand, folder: (
            test_segments.test_a_table_that_has_landed_a_segment_needs_none_of_an_empty_range_behind_it(
                _reader(stand, folder)
            )
        ),
    ),
    "the slot is given up before the segment is there": (
        _given_up_first,
        lambda stand, folder: (
            test_reading.test_a_run_that_dies_at_any_step_is_followed_by_one_that_ends_with_the_same_rows(
                _reader(stand, folder), "finish", pytest.MonkeyPatch()
            )
        ),
    ),
    "segments go whether they have landed or not": (
        lambda patch: patch.setattr(shelf.Shelf, "prune", _all_but_the_last),
        lambda stand, folder: test_segments.test_segments_that_all_have_landed_go_when_they_are_old_enough(
            _three(stand, folder)
        ),
    ),
    "what was not sent is NULL": (
        _unsent_is_null,
        lambda stand, _: test_changes.test_a_value_that_was_not_sent_is_marked_and_is_no_null(stand, binary=True),
    ),
    "the old row has nothing to say": (
        lambda patch: patch.setattr(Places, "where", lambda self, *_: self),
        lambda stand, _: test_changes.test_a_value_that_was_not_sent_comes_from_the_old_row_where_that_is_shown(stand),
    ),
    "a key that changes leaves nothing": (
        lambda patch: patch.setattr(changed_rows, "_key_differs", lambda *of: np.zeros(len(of[2][1]), bool)),
        lambda stand, _: test_changes.test_a_key_that_changes_leaves_the_old_one_first(stand, binary=True),
    ),
    "a value comes from the copy under the row's new key": (
        _own_key_only,
        lambda stand, _: test_batch.test_a_value_that_was_not_sent_is_found_on_a_real_server_also_under_an_earlier_key(
            stand
        ),
    ),
    "a snapshot shows all numbers below its end": (
        _by_number,
        lambda stand, _: test_joining.test_any_snapshot_joined_with_the_log_is_the_source_under_eight_writers(stand, 1),
    ),
    "nothing was passed that a snapshot hides": (
        lambda patch: patch.setattr(Snapshot, "hides", lambda *_: []),
        lambda stand, _: test_joining.test_a_commit_that_waits_for_a_standby_is_in_the_log_and_hidden_by_the_snapshot(
            stand
        ),
    ),
    "every type is read from its binary format": (
        lambda patch: patch.setattr(kinds, "is_binary", lambda *_: True),
        lambda stand, _: test_types.test_a_type_that_is_not_read_from_its_binary_format_is_noticed(stand),
    ),
    "an address is what the log sends": (
        lambda patch: patch.setattr(text_values, "_masked", lambda texts: texts),
        lambda stand, _: test_types.test_every_type_by_the_text_format_is_what_a_snapshot_reads(stand, _source(stand)),
    ),
    "infinity is a day like others": (
        lambda patch: patch.setattr(values, "binary_values", _none_is_bad(values.binary_values)),
        lambda stand, _: test_types.test_a_value_that_no_copy_can_hold_is_noticed_in_its_binary_format(
            stand, "date", "infinity"
        ),
    ),
    "any identity shows the key": (
        lambda patch: patch.setattr("incremental_assets.adapters.logs.postgresql.decode.unfit", lambda *_: ""),
        lambda stand, _: test_changes.test_a_table_whose_identity_does_not_show_its_key_fails_alone(stand),
    ),
    "a lost slot is a slot": (
        lambda patch: patch.setattr(fitness, "_check_slot", lambda *_: None),
        lambda stand, folder: test_reading_stopped.test_a_slot_that_is_gone_stops_by_name(_reader(stand, folder)),
    ),
}


def _whatever_is_there(self: shelf.Shelf, position: int) -> Any:
    return (each for each in map(self.manifest, self.names()) if each.end > position)


def _all_but_the_last(self: shelf.Shelf, *_: object) -> tuple[str, ...]:
    removed = tuple(self.names()[:-1])
    for name in removed:
        (self.segments / name).rename(self.folder / name)
    return removed


def _none_is_bad(read: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *of: (read(*of)[0], None)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_found(name: str, stand: LogStand, tmp_path: Path, monkeypatch: Patch) -> None:
    change, played = VARIANTS[name]
    STAND.append(stand)
    change(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, ValueError, KeyError, OSError, IncrementalAssetsError)):
        played(stand, tmp_path)
