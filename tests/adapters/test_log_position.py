"""How far the source's log is written and on disk: a row that a crash takes back does not settle its number."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.databases.postgresql.settled.log import written
from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Cursor
from tests.adapters.source import Source

PAGE, FILE = 8192, 16 * 2**20


@pytest.mark.parametrize(
    ("next_record", "end"),
    [
        (3 * FILE + 1000, 3 * FILE + 1000),
        (3 * FILE + PAGE + 24, 3 * FILE + PAGE),
        (3 * FILE + 40, 3 * FILE),
        (3 * FILE + PAGE + 40, 3 * FILE + PAGE + 40),
    ],
    ids=["in a page", "a new page", "a new file", "a record that ends on a new page"],
)
def test_the_header_of_a_page_that_is_not_begun_does_not_count(next_record: int, end: int) -> None:
    assert written(next_record, PAGE, FILE) == end


def test_numbers_settle_at_once_on_a_quiet_source_wherever_its_log_ends(source: Source) -> None:
    source.execute("CREATE TABLE events (id bigserial PRIMARY KEY)", "INSERT INTO events DEFAULT VALUES")
    probe, by_id = source.open(), Cursor("id", CursorType.INTEGER)
    spec, one = source.spec("events", by_id), CursorValue(CursorType.INTEGER, "1")
    for statement in ("SELECT 1", "SELECT pg_switch_wal()"):
        # What an earlier test has left to be written is written, so that the source is quiet.
        source.execute(statement, "CHECKPOINT")
        bound = probe.bound()
        assert bound.written is not None
        assert bound.flushed is not None
        assert bound.written <= bound.flushed, statement
        assert bound.started is not None
        assert bound.started < bound.clock
        assert str(settle(spec, by_id, bound, one, None).value) == "2"
