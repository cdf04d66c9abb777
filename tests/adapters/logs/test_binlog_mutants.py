"""Known-bad variants of the binlog's reader: each loses, repeats or alters a change, and the stories find it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from incremental_assets.adapters.logs.mysql import decode, events, fitness, layout, reading, row_values, source_log
from incremental_assets.adapters.logs.mysql.decode import Decoder
from incremental_assets.adapters.logs.mysql.place import Place
from incremental_assets.adapters.logs.mysql.rows import Rows
from incremental_assets.adapters.logs.mysql.statements import Does, Told
from incremental_assets.adapters.logs.mysql.table_map import Mapped
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from tests.adapters.logs import test_binlog_reading as stories
from tests.adapters.logs import test_binlog_types as types
from tests.adapters.logs.binlogged import ORDERS, world_of
from tests.conformance.worlds import MariaWorld
from tests.shop import PASSWORD

Patch = pytest.MonkeyPatch
Story = Callable[[MariaWorld], None]


def _joined_too_late(patch: Patch) -> None:
    """A load counts as one of the place up to which the log is written when it has ended."""
    join = source_log.SourceLog.join

    def later(self: source_log.SourceLog, begun: int, visible: str) -> object:
        with self._asked() as connection:
            file, offset, *_ = connection.binlog_status()
        return join(self, begun, f"{file}:{offset}")

    patch.setattr(source_log.SourceLog, "join", later)


def _moves_are_updates(patch: Patch) -> None:
    """A row that has another key now does not leave the old one."""
    patch.setattr(Rows, "key_of", lambda *_: [])


def _statements_are_passed(patch: Patch) -> None:
    """What comes as text is passed over."""
    patch.setattr(decode, "told", lambda *_: Told(Does.NOTHING))


def _unknown_is_passed(patch: Patch) -> None:
    """Packed events are passed over, as a library does."""
    patch.setattr(events, "PASSED", events.PASSED | set(range(165, 172)))


def _signed(patch: Patch) -> None:
    """Whether a number is unsigned is not looked at."""
    original = row_values.reader_of

    def signed(column: Mapped, charset: str) -> object:
        return original(Mapped(column.name, column.type, column.size, column.digits, False, 0, column.labels), charset)

    patch.setattr(layout, "reader_of", signed)


def _in_utf8(patch: Patch) -> None:
    """A text counts as UTF-8, whichever charset its column has."""
    patch.setattr(row_values, "_text_of", lambda _: bytes)


def _unfilled(patch: Patch) -> None:
    """The zero bytes that the log leaves out of a BINARY stay out."""
    patch.setattr(row_values, "_filled", lambda _: bytes)


def _cascades_are_read(patch: Patch) -> None:
    """That a foreign key cascades is not looked at."""
    patch.setattr(fitness, "check_table", lambda *_: "")
    patch.setattr(source_log, "check_table", lambda *_: "")


def _any_log_is_gone_on_with(patch: Patch) -> None:
    """Whether the log is the one that was read is not looked at."""
    for module in (source_log, reading):
        patch.setattr(module, "check_standing", lambda *_: None)
    patch.setattr(reading, "_check_numbers", lambda *_: None)


def _to_the_end_of_what_was_seen(patch: Patch) -> None:
    """The position is that of the look, whether it was read up to there or not."""
    patch.setattr(Decoder, "_take", lambda self, event: setattr(self, "end", Place(0, self.end.file, self.end.offset)))


MUTANTS: tuple[tuple[Callable[[Patch], None], Story], ...] = (
    (_joined_too_late, stories.test_loads_under_writers_join_the_log_at_any_moment),
    (_moves_are_updates, stories.test_inserts_updates_deletes_and_moved_keys_come_once),
    (_statements_are_passed, stories.test_a_table_that_is_emptied_leaves_the_copy_but_for_what_came_after),
    (_statements_are_passed, stories.test_changes_that_a_session_writes_as_statements_stop_all_tables_by_name),
    (_statements_are_passed, stories.test_a_transaction_that_was_prepared_stops_the_tables_by_name),
    (_unknown_is_passed, stories.test_packed_events_stop_the_read_and_a_load_begins_behind_them),
    (_signed, types.test_every_type_comes_as_a_load_reads_it),
    (_in_utf8, types.test_every_type_comes_as_a_load_reads_it),
    (_unfilled, types.test_every_type_comes_as_a_load_reads_it),
    (_cascades_are_read, stories.test_children_of_keys_that_cascade_are_refused),
    (_any_log_is_gone_on_with, stories.test_a_log_that_is_purged_or_begun_anew_is_told),
    (_to_the_end_of_what_was_seen, stories.test_inserts_updates_deletes_and_moved_keys_come_once),
)


@pytest.mark.acceptance
@pytest.mark.parametrize(("mutant", "story"), MUTANTS, ids=lambda each: each.__name__.strip("_"))
def test_a_variant_that_is_known_to_be_bad_is_found(
    mutant: Callable[[Patch], None], story: Story, logged_mariadb: EmbeddedMariaDB, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    world = world_of(logged_mariadb, tmp_path)
    world.configure("- {table: {s}.orders, capture: log}")
    world.execute(f"CREATE TABLE {ORDERS}")
    mutant(monkeypatch)
    with pytest.raises((AssertionError, IncrementalAssetsError, pytest.fail.Exception)):
        story(world)
