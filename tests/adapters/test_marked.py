"""Which rows does PostgreSQL take for those that the source has marked as gone?"""

from __future__ import annotations

import pytest

from incremental_assets.adapters.databases.postgresql.rows.measure import marked
from incremental_assets.adapters.databases.postgresql.sql import inline
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from tests.adapters.source import UPDATED, Source


@pytest.mark.parametrize("kind", ['text COLLATE "POSIX"', 'varchar(9) COLLATE "POSIX"', "char(9)"])
def test_a_mark_is_read_letter_by_letter_whatever_its_column_takes_for_equal(source: Source, kind: str) -> None:
    """A nondeterministic collation takes 'GONE' for 'gone', which the copy keeps; it needs ICU, so that here the server names the collation that it compares by."""
    source.execute(
        f"CREATE TABLE orders (id int PRIMARY KEY, state {kind}, updated_at timestamptz)",
        "INSERT INTO orders VALUES (1, 'gone'), (2, 'GONE'), (3, NULL)",
    )
    soft = Deletes(DeleteMode.SOFT, Then.REMOVE, column="state", value="gone     " if kind == "char(9)" else "gone")
    condition = marked(source.spec("orders", UPDATED, deletes=soft, key=("id",)), inline)
    mark, _, _ = condition.partition(" = ")
    connection = source.connect()
    assert connection.execute(f"SELECT DISTINCT collation for ({mark}) FROM orders AS t".encode()).fetchall() == [
        ('"C"',)
    ]
    assert connection.execute(f"SELECT id FROM orders AS t WHERE {condition}".encode()).fetchall() == [(1,)]
