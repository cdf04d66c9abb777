"""What became of the publication between two looks: changes that may be missing are a gap of their table."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.logs.following import Followed
from tests.adapters.logs.log_reader import Reader


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (("ALTER PUBLICATION p DROP TABLE orders",), "it was removed from the publication, so that"),
        (
            ("ALTER PUBLICATION p DROP TABLE orders", "ALTER PUBLICATION p ADD TABLE orders"),
            "it was removed from the publication for a while",
        ),
        (
            (
                "ALTER PUBLICATION p SET (publish = 'insert')",
                "ALTER PUBLICATION p SET (publish = 'insert, update, delete, truncate')",
            ),
            "the publication was altered",
        ),
        (("DROP PUBLICATION p", "CREATE PUBLICATION p FOR TABLE orders"), "the publication was altered or made again"),
        (
            (
                "CREATE TABLE days (id int NOT NULL) PARTITION BY RANGE (id)",
                "ALTER PUBLICATION p ADD TABLE days",
                "ALTER TABLE days ATTACH PARTITION orders FOR VALUES FROM (0) TO (9)",
                "INSERT INTO orders VALUES (1)",
                "ALTER TABLE days DETACH PARTITION orders",
            ),
            "it was removed from the publication for a while, or may have been, as a partition or in another schema",
        ),
    ],
)
def test_what_became_of_the_publication_between_two_looks_is_in_the_segment(
    reader: Reader, how: tuple[str, ...], words: str
) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute(*how)
    manifest = reader.read().manifest
    assert manifest is not None
    assert manifest.gaps[oid].startswith(words)
    reader.stand.execute("CREATE TABLE other (id int)")
    assert reader.read().manifest is None


def test_a_table_that_was_in_another_schema_for_a_while_has_a_gap(reader: Reader) -> None:
    reader.stand.execute("DROP PUBLICATION p", "CREATE PUBLICATION p FOR TABLES IN SCHEMA public")
    reader.stand.execute("CREATE TABLE orders (id int PRIMARY KEY)", "CREATE SCHEMA aside")
    oid = int(reader.stand.value("SELECT 'orders'::regclass::oid::bigint"))
    reader.followed[oid] = Followed(oid, ("id",))
    reader.read()
    # None of these makes a gap: they leave the table where it is.
    reader.stand.execute("TRUNCATE orders", "VACUUM FULL orders", "GRANT SELECT ON orders TO public")
    manifest = reader.read().manifest
    assert manifest is not None
    assert dict(manifest.gaps) == {}
    reader.stand.execute(
        "ALTER TABLE orders SET SCHEMA aside",
        "INSERT INTO aside.orders VALUES (1)",
        "ALTER TABLE aside.orders SET SCHEMA public",
    )
    manifest = reader.read().manifest
    assert manifest is not None
    assert "in another schema" in manifest.gaps[oid]


def test_a_table_that_comes_to_the_publication_is_no_gap(reader: Reader) -> None:
    reader.read()
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    manifest = reader.read().manifest
    assert manifest is not None
    assert dict(manifest.gaps) == {}
    assert reader.rows(oid) == [{"change": "insert", "id": 1}]
