"""The log of a database whose texts need not be UTF-8: a change with such a text is one that cannot land, and stops nobody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.databases.postgresql.encodings import _WITHOUT_CHARACTER, ANY_BYTES, codec_of
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.postgresql import look
from incremental_assets.adapters.logs.postgresql.peek import peek
from incremental_assets.adapters.logs.postgresql.reading import Log, read_on
from incremental_assets.adapters.logs.postgresql.values import NotBinary
from incremental_assets.adapters.logs.postgresql.walsender import Walsender
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.logs.opening import log_database
from tests.adapters.logs.stand import LogStand, told

UNICODE = "SET client_encoding = 'UTF8'"
BAD = ("note", "the text is not UTF-8")


@contextmanager
def stand_of(logged: EmbeddedPostgres, encoding: str) -> Iterator[LogStand]:
    with log_database(logged, encoding) as name:
        found = LogStand(logged, name, f"slot_{name}")
        found.execute("CREATE PUBLICATION p WITH (publish_via_partition_root)")
        found.make_slot()
        yield found
        found.close()


@pytest.fixture
def any_bytes(logged: EmbeddedPostgres) -> Iterator[LogStand]:
    with stand_of(logged, ANY_BYTES) as stand:
        yield stand


def read(stand: LogStand, folder: Path, transport: Any, *oids: int) -> list[dict[str, object]]:
    """What a range has, from the slot to its segment."""
    shelf = Shelf(folder / "_log" / "shop")
    log = Log(stand.slot, transport, shelf, folder)
    with stand.asked() as asked:
        read_on(asked, log, {oid: Followed(oid, ("id",)) for oid in oids})
    tables = (table for manifest in shelf.after(0) for oid in oids for table in shelf.rows(manifest, oid))
    return [told(row) for table in tables for row in table.to_pylist()]


@pytest.mark.parametrize("by", ["sql", "replication"])
def test_a_byte_that_is_no_text_costs_its_change_alone(any_bytes: LogStand, tmp_path: Path, by: str) -> None:
    stand, transport = any_bytes, {"sql": peek, "replication": Walsender(any_bytes.address())}[by]
    oid = stand.publish("orders", "id int PRIMARY KEY, note text, tags text[]")
    other = stand.publish("others", "id int PRIMARY KEY, note text")
    stand.execute(
        r"INSERT INTO orders VALUES (1, E'k\303\244se', '{a}'), (2, E'caf\351', '{a}'), (3, 'plain', ARRAY[E'\377'])",
        "INSERT INTO others VALUES (1, 'good')",
    )
    assert read(stand, tmp_path, transport, oid, other) == [
        {"change": "insert", "id": 1, "note": "käse", "tags": "{a}"},
        {"change": "insert", "id": 2, "note": None, "tags": "{a}", "rejected": BAD},
        {"change": "insert", "id": 3, "note": "plain", "tags": None, "rejected": ("tags", BAD[1])},
        {"change": "insert", "id": 1, "note": "good"},
    ]


def test_the_row_is_quoted_with_the_bytes_of_its_text(any_bytes: LogStand) -> None:
    oid = any_bytes.publish("orders", "id int PRIMARY KEY, note text")
    any_bytes.execute(r"INSERT INTO orders VALUES (2, E'caf\351')")
    ((changes,),) = [any_bytes.changes(Followed(oid, ("id",)), binary=False)]
    assert changes.rows.column("_sync_raw").to_pylist() == ['{"id" : "2", "note" : "x\'636166e9\'"}']
    with pytest.raises(NotBinary):
        any_bytes.changes(Followed(oid, ("id",)))


def test_a_label_of_an_enum_and_names_that_are_no_text_stop_nobody(any_bytes: LogStand, tmp_path: Path) -> None:
    stand = any_bytes
    stand.execute(
        *(
            f"DO $$ BEGIN EXECUTE E'{statement}'; END $$"
            for statement in (
                r"CREATE TYPE mood AS ENUM (''ok'', ''caf\351'')",
                r'CREATE TABLE "t\351" ("i\351" int PRIMARY KEY)',
                r'ALTER PUBLICATION p ADD TABLE "t\351"',
                r'INSERT INTO "t\351" VALUES (1)',
            )
        ),
    )
    oid = stand.publish("orders", "id int PRIMARY KEY, note mood")
    stand.execute(
        "INSERT INTO orders SELECT place, label FROM unnest(enum_range(NULL::mood)) WITH ORDINALITY AS m (label, place)"
    )
    assert read(stand, tmp_path, peek, oid) == [
        {"change": "insert", "id": 1, "note": "ok"},
        {"change": "insert", "id": 2, "note": None, "rejected": BAD},
    ]


def test_what_keeps_the_log_is_named_whatever_its_bytes_are(logged: EmbeddedPostgres) -> None:
    with stand_of(logged, ANY_BYTES) as stand:
        stand.execute("CREATE TABLE orders (id int)")
        held = stand.connect(autocommit=False)
        held.execute("INSERT INTO orders VALUES (1)")
        held.execute(rb"PREPARE TRANSACTION E'caf\351'")
        with stand.asked() as asked:
            assert [each.what for each in look.holders(asked)] == ["x'636166e9'"]
        stand.execute(r"ROLLBACK PREPARED E'caf\351'")


def test_a_code_page_is_read_as_the_server_reads_it(logged: EmbeddedPostgres, tmp_path: Path) -> None:
    with stand_of(logged, "WIN1252") as stand:
        oid = stand.publish("orders", 'id int PRIMARY KEY, note text, "größe" text', before=(UNICODE,))
        stand.execute(
            UNICODE,
            "INSERT INTO orders VALUES (1, 'käse €', 'ü')",
            r"INSERT INTO orders VALUES (2, convert_from('\x6381'::bytea, 'WIN1252'), 'x')",
        )
        assert read(stand, tmp_path, peek, oid) == [
            {"change": "insert", "id": 1, "note": "käse €", "größe": "ü"},
            {"change": "insert", "id": 2, "note": None, "größe": "x", "rejected": BAD},
        ]


@pytest.mark.parametrize("encoding", sorted(_WITHOUT_CHARACTER))
def test_python_reads_each_byte_as_postgresql_does(logged: EmbeddedPostgres, encoding: str) -> None:
    without = bytes.fromhex(_WITHOUT_CHARACTER[encoding])
    known = bytes(each for each in range(1, 256) if each not in without)
    with stand_of(logged, "UTF8") as stand:
        assert stand.value(f"SELECT convert_from('\\x{known.hex()}', '{encoding}')") == known.decode(codec_of(encoding))
    for each in without:
        with pytest.raises(UnicodeDecodeError):
            bytes([each]).decode(codec_of(encoding))
