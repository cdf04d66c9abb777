"""A value is equal bit for bit whichever way it came: by the log in either format, or by a snapshot's COPY."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest

from incremental_assets.adapters.databases.postgresql.rows.reader import JdbcReader
from incremental_assets.adapters.logs.changes import CHANGE
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.postgresql.values import NotBinary
from incremental_assets.adapters.spark.own_names import RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.table import Strategy, TableSpec
from tests.adapters.logs.stand import LogStand, bits
from tests.adapters.source import Source, planned

AWKWARD = (Path(__file__).parents[1] / "awkward.sql").read_text()
READ_FROM_BINARY = (
    "id",
    "i2",
    "i4",
    "i8",
    "b",
    "f4",
    "f8",
    "n152",
    "n38",
    "n380",
    "n3810",
    "t",
    "vc",
    "vcu",
    "ch",
    "chu",
    "nm",
    "by",
    "d",
    "ts",
    "tsz",
    "ts0",
    "u",
    "j",
    "jb",
    "e",
    "dm",
    "dc",
    "df",
    "ds",
)


@pytest.fixture
def source(stand: LogStand) -> Iterator[Source]:
    found = Source(stand.postgres, stand.database, lambda: psycopg.connect(stand.postgres.dsn(stand.database)), [])
    yield found
    for probe in found.opened:
        probe.close()


def copied(source: Source, spec: TableSpec) -> pa.Table:
    """The rows of a snapshot as a task reads them, by key."""
    plan = planned(source.open(), spec)
    with source.open().snapshot(plan) as snapshot:
        rows = pa.concat_tables(
            rows for part in JdbcReader(source.address()).parts(plan, snapshot) or () for rows in part.batches()
        )
    return rows.sort_by("c0")


def in_the_log(stand: LogStand, table: str, *, binary: bool) -> pa.Table:
    oid = int(stand.value(f"SELECT '{table}'::regclass::oid::bigint"))
    found = [each.rows for each in stand.changes(Followed(oid, ("id",)), binary=binary)]
    return pa.concat_tables(found).sort_by("id")


def test_every_type_by_the_text_format_is_what_a_snapshot_reads(stand: LogStand, source: Source) -> None:
    published(stand)
    spec = source.spec("everything", strategy=Strategy.FULL_REFRESH, key=("id",))
    there, here = copied(source, spec), in_the_log(stand, "everything", binary=False)
    assert len(here) == len(there) == 309
    for place, column in enumerate(spec.columns):
        assert here.column(column.name).type == there.column(f"c{place}").type, column
        assert bits(here.column(column.name)) == bits(there.column(f"c{place}")), column


def test_every_type_that_is_read_from_its_binary_format_is_what_a_snapshot_reads(
    stand: LogStand, source: Source
) -> None:
    published(stand)
    others = [name for name in source.shape("everything").names if name not in READ_FROM_BINARY]
    stand.execute(
        "CREATE TABLE plain AS SELECT * FROM everything WHERE false",
        f"ALTER TABLE plain {', '.join(f'DROP {name}' for name in others)}, ADD PRIMARY KEY (id)",
        "ALTER PUBLICATION p ADD TABLE plain",
        f"INSERT INTO plain SELECT {', '.join(READ_FROM_BINARY)} FROM everything",
    )
    spec = source.spec("plain", strategy=Strategy.FULL_REFRESH, key=("id",))
    there, here = copied(source, spec), in_the_log(stand, "plain", binary=True)
    assert len(here) == 309
    for place, column in enumerate(spec.columns):
        assert here.column(column.name).type == there.column(f"c{place}").type, column
        assert bits(here.column(column.name)) == bits(there.column(f"c{place}")), column


def test_a_type_that_is_not_read_from_its_binary_format_is_noticed(stand: LogStand) -> None:
    oid = stand.publish("spans", "id int PRIMARY KEY, lasted interval")
    stand.execute("INSERT INTO spans VALUES (1, '1 day')")
    with pytest.raises(NotBinary):
        stand.rows(Followed(oid, ("id",)))
    assert stand.rows(Followed(oid, ("id",)), binary=False) == [{"change": "insert", "id": 1, "lasted": "1 day"}]


def test_a_value_that_no_copy_can_hold_is_rejected_as_in_a_snapshot(stand: LogStand, source: Source) -> None:
    published(stand)
    spec = source.spec("unholdable", strategy=Strategy.FULL_REFRESH, key=("id",))
    there, here = copied(source, spec), in_the_log(stand, "unholdable", binary=False)
    for name in (REJECT_COLUMN, REJECT_REASON, RAW):
        assert here.column(name).to_pylist() == there.column(name).to_pylist()
    for place, column in enumerate(spec.columns):
        assert bits(here.column(column.name)) == bits(there.column(f"c{place}")), column


def test_a_row_that_is_rejected_is_quoted_whole_as_in_a_snapshot(stand: LogStand, source: Source) -> None:
    published(stand)
    stand.execute("UPDATE everything SET d = 'infinity' WHERE id IN (1, 2)")
    spec = source.spec("everything", strategy=Strategy.FULL_REFRESH, key=("id",))
    there = {
        row["c0"]: row[RAW] for row in copied(source, spec).select(["c0", RAW]).to_pylist() if row[RAW] is not None
    }
    rows = in_the_log(stand, "everything", binary=False).select(["id", CHANGE, RAW]).to_pylist()
    here = {row["id"]: row[RAW] for row in rows if row[CHANGE] == "update"}
    assert sorted(here) == [1, 2]
    assert here == there


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("numeric(5,2)", "NaN"),
        ("date", "infinity"),
        ("date", "-infinity"),
        ("timestamp", "infinity"),
        ("timestamp", "294247-01-10 04:00:54.775807"),
        ("timestamptz", "-infinity"),
    ],
)
def test_a_value_that_no_copy_can_hold_is_noticed_in_its_binary_format(stand: LogStand, kind: str, value: str) -> None:
    oid = stand.publish("orders", f"id int PRIMARY KEY, v {kind}")
    stand.execute("INSERT INTO orders VALUES (1, NULL)")
    assert len(stand.rows(Followed(oid, ("id",)))) == 1
    stand.execute(f"INSERT INTO orders VALUES (2, '{value}')")
    with pytest.raises(NotBinary):
        stand.rows(Followed(oid, ("id",)))


def test_a_row_that_is_gone_is_known_by_its_key_whatever_else_it_held(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY, d date", "ALTER TABLE orders REPLICA IDENTITY FULL")
    stand.execute("INSERT INTO orders VALUES (1, 'infinity')", "DELETE FROM orders")
    assert stand.rows(Followed(oid, ("id",)), binary=False)[1] == {"change": "delete", "id": 1, "d": None}


def test_a_type_whose_cast_to_text_is_somebodys_own_is_refused_by_name(stand: LogStand) -> None:
    oid = own_cast(stand)
    _, failed = stand.decoded({oid: Followed(oid, ("id",))})
    assert failed[oid].startswith("public.moods: of the column 'm' its type public.mood has a cast to text of its own")


def test_xml_is_refused_by_name(stand: LogStand) -> None:
    oid = stand.publish("pages", "id int PRIMARY KEY, page xml")
    stand.execute("INSERT INTO pages VALUES (1, NULL)")
    _, failed = stand.decoded({oid: Followed(oid, ("id",))}, binary=False)
    assert failed[oid].startswith("public.pages: of the column 'page' the log sends xml without its declaration")


def own_cast(stand: LogStand) -> int:
    stand.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE FUNCTION words(mood) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT 'I am ' || enumlabel FROM pg_enum LIMIT 1 $$",
        "CREATE CAST (mood AS text) WITH FUNCTION words(mood)",
    )
    oid = stand.publish("moods", "id int PRIMARY KEY, m mood")
    stand.execute("INSERT INTO moods VALUES (1, 'sad')")
    return oid


def published(stand: LogStand) -> None:
    """Every row of `awkward.sql` comes to the log: its tables are made before any row."""
    statements = [each for each in AWKWARD.split(";\n") if each.strip()]
    makes = [each for each in statements if "INSERT" not in each.split("\n")[0] and "INSERT INTO" not in each]
    stand.execute(*makes, "ALTER PUBLICATION p ADD TABLE everything, unholdable")
    stand.execute(*(each for each in statements if each not in makes))
