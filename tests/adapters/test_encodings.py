"""Databases whose texts need not be UTF-8: a row with such a text goes to quarantine and says which column it is; the others land and are equal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from incremental_assets.adapters.databases.postgresql import catalogue, types
from incremental_assets.adapters.databases.postgresql.encodings import _WITHOUT_CHARACTER, ANY_BYTES, not_utf8
from incremental_assets.adapters.databases.postgresql.rows import measure
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.spark.own_names import RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import RowHash
from incremental_assets.core.model.stamping import Unproven
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.source import READER, UPDATED, Source, planned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OpenEncoded = Callable[[str], Source]
WHOLE = Window(None, None)


@pytest.fixture
def encoded(postgres: EmbeddedPostgres, database: str) -> Iterator[OpenEncoded]:
    """Opens a source of this encoding."""
    made: list[Source] = []
    postgres.create_login(READER)

    def open_one(encoding: str) -> Source:
        name = f"{database}_{encoding.lower()}"
        with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
            create = "CREATE DATABASE {} ENCODING {} LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
            admin.execute(sql.SQL(create).format(sql.Identifier(name), sql.Literal(encoding)))
        made.append(Source(postgres, name, lambda: psycopg.connect(postgres.dsn(name)), []))
        return made[-1]

    yield open_one
    for each in made:
        for probe in each.opened:
            probe.close()
        with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(each.database)))


ORDERS = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, label char(9), tags text[], doc json, ref uuid, updated_at timestamptz NOT NULL DEFAULT now())",
    """INSERT INTO orders VALUES (1, 'plain', 'x', '{a}', '{"a": 1}', NULL), (2, E'k\\303\\244se', E'\\342\\202\\254', '{}', NULL, NULL), (3, NULL, NULL, NULL, NULL, NULL)""",
)
BAD = (
    "INSERT INTO orders (id, note) VALUES (4, E'caf\\351')",
    "INSERT INTO orders (id, label) VALUES (5, E'\\300\\200')",
    "INSERT INTO orders (id, tags) VALUES (6, ARRAY[E'fine', E'\\355\\240\\200'])",
    'INSERT INTO orders (id, doc) VALUES (7, CAST(E\'{"a": "\\364\\220\\200\\200"}\' AS json))',
)


def rows(source: Source, spec: TableSpec) -> list[dict[str, Any]]:
    """What a sync reads, as its tasks do."""
    probe = source.open()
    plan = planned(probe, spec)
    with probe.snapshot(plan) as numbers:
        parts = dialect_of("postgresql").reader(source.address()).parts(plan, numbers) or ()
        found = [row for part in parts for table in part.batches() for row in table.to_pylist()]
        assert (numbers.rows, numbers.rejected) == (len(found), sum(row[REJECT_COLUMN] is not None for row in found))
    return found


def test_rows_with_a_text_that_is_no_utf_8_are_rejected_by_name_and_the_others_arrive(encoded: OpenEncoded) -> None:
    source = encoded("SQL_ASCII")
    source.execute(*ORDERS)
    spec = source.spec("orders", UPDATED)
    assert {row["c0"]: row["c1"] for row in rows(source, spec)} == {1: "plain", 2: "käse", 3: None}
    source.execute(*BAD)
    found = {row["c0"]: row for row in rows(source, spec)}
    assert {key: row[REJECT_COLUMN] for key, row in found.items()} == {
        1: None, 2: None, 3: None, 4: "note", 5: "label", 6: "tags", 7: "doc",
    }  # fmt: skip
    assert {row[REJECT_REASON] for row in found.values() if row[REJECT_COLUMN]} == {"the text is not UTF-8"}
    assert "x'636166e9'" in found[4][RAW]
    assert (found[2]["c1"], found[2]["c2"], found[4]["c1"]) == ("käse", "€" + 6 * " ", None)


def test_a_trigger_whose_text_is_no_utf_8_proves_nothing_and_stops_nothing(encoded: OpenEncoded) -> None:
    source = encoded("SQL_ASCII")
    body = r"BEGIN -- caf\351" + "\n NEW.updated_at := now(); RETURN NEW; END"
    source.execute(
        *ORDERS,
        f"DO $x$ BEGIN EXECUTE E'CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $f${body}$f$'; END $x$",
        "CREATE TRIGGER touch BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch()",
    )
    (stamps,) = (each.stamps for each in source.shape("orders").columns if each.name == "updated_at")
    assert stamps is not None
    assert stamps.stamps_inserts
    assert stamps.update == Unproven(
        "the trigger touch may give 'updated_at' another value than the database's own time"
    )


def test_both_hashes_are_those_of_the_rows_that_can_land(encoded: OpenEncoded) -> None:
    source = encoded("SQL_ASCII")
    source.execute(*ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    before = [probe.measure(spec, (WHOLE,), by) for by in (RowHash.TEXT, RowHash.BYTES)]
    source.execute(*BAD)
    assert [probe.measure(spec, (WHOLE,), by) for by in (RowHash.TEXT, RowHash.BYTES)] == before
    assert before[0][0].rows == 3


def test_a_key_that_is_no_utf_8_is_in_no_copy_and_the_others_are_found(
    encoded: OpenEncoded, spark: SparkSession
) -> None:
    source = encoded("SQL_ASCII")
    source.execute(
        "CREATE TABLE items (code text, no int, note text, PRIMARY KEY (code, no))",
        "INSERT INTO items VALUES ('a', 1, 'x'), (E'caf\\351', 1, 'x'), (E'caf\\303\\251', 1, E'\\377')",
    )
    spec = source.spec("items", strategy=Strategy.UPSERT, key=("code", "no"), key_enforced=True)
    with source.open().keys(spec) as keys:
        whole = KeyParts(0, 2**60 - 1)
        assert keys.texts(whole) == {"1:a,1", "4:café,1"}
        assert sum(each.rows for each in keys.sums(whole, 56).values()) == 2
        assert keys.present(frozenset({"1:a,1", "4:café,1", "1:b,1"})) == {"1:a,1", "4:café,1"}
    reader = dialect_of("postgresql").reader(source.address())
    assert {row[0] for row in reader.row_hashes(spark, spec, (WHOLE,)).select("_sync_key").collect()} == {"1:a,1"}
    unfit = reader.unholdable_keys(spark, spec, (WHOLE,))
    assert unfit is not None
    assert {row[0] for row in unfit.collect()} == {None, "4:café,1"}


def test_names_and_comments_that_are_no_utf_8_take_no_other_table_with_them(encoded: OpenEncoded) -> None:
    source = encoded("SQL_ASCII")
    source.execute(*ORDERS)
    with psycopg.connect(source.postgres.dsn(source.database), client_encoding="sql_ascii", autocommit=True) as raw:
        for statement in (
            b"CREATE TABLE caf\xe9 (id int)",
            b"CREATE TABLE menu (id int, pri\xe8 int)",
            b"COMMENT ON TABLE orders IS 'r\xe9sum\xe9'",
            b"COMMENT ON COLUMN orders.note IS 'r\xe9sum\xe9'",
            b"CREATE TYPE mood AS ENUM ('g\xfct', 'bad')",
            b"CREATE TABLE moods (id int PRIMARY KEY, mood mood)",
            b"INSERT INTO moods VALUES (1, 'bad'), (2, 'g\xfct')",
            b"CREATE SCHEMA \xe9t\xe9",
        ):
            raw.execute(statement)
    probe = source.open()
    found = {shape.id.name: shape for shape in probe.catalogue()}
    says = "the source does not tell what columns it has: {}; correct there what it names (of a view, its query), or leave it out: remove it from `tables`, or add it to `exclude`"
    assert {name: shape.undescribed for name, shape in found.items()} == {
        "orders": "", "moods": "", "menu": says.format("the name of a column is not UTF-8"), "x'636166e9'": says.format("its name is not UTF-8"),
    }  # fmt: skip
    assert found["orders"].comment == "x'72e973756de9'"
    assert probe.schemas() == ("public",)
    moods = rows(source, source.spec("moods", strategy=Strategy.FULL_REFRESH))
    assert [(row["c0"], row[REJECT_COLUMN]) for row in moods] == [(1, None), (2, "mood")]


def test_a_code_page_arrives_as_utf_8_and_a_byte_without_a_character_is_rejected(encoded: OpenEncoded) -> None:
    for encoding, euro, without in (("WIN1252", "\\200", "\\201"), ("LATIN1", "\\344", ""), ("LATIN9", "\\244", "")):
        source = encoded(encoding)
        source.execute(
            "CREATE TABLE orders (id int PRIMARY KEY, note text)", f"INSERT INTO orders VALUES (1, E'{euro}')"
        )
        if without:
            source.execute(f"INSERT INTO orders VALUES (2, E'{without}')")
        found = rows(source, source.spec("orders", strategy=Strategy.FULL_REFRESH))
        assert found[0]["c1"] == ("ä" if encoding == "LATIN1" else "€")
        assert [row[REJECT_COLUMN] for row in found[1:]] == (["note"] if without else [])
        assert bool(source.shape("orders").columns[1].encoding) == bool(without)


def test_the_bytes_without_a_character_are_those_that_the_server_converts_to_nothing(source: Source) -> None:
    with source.connect() as asked:
        asked.autocommit = True
        for encoding, told in _WITHOUT_CHARACTER.items():
            assert [each for each in range(1, 256) if not _converts(asked, bytes([each]), encoding)] == list(
                bytes.fromhex(told)
            ), encoding


def _converts(asked: psycopg.Connection[Any], text: bytes, encoding: str) -> bool:
    try:
        asked.execute("SELECT convert_from(%s, %s)", [text, encoding])
    except psycopg.errors.UntranslatableCharacter:
        return False
    except psycopg.errors.CharacterNotInRepertoire:
        return False
    return True


@pytest.mark.parametrize("end", [b"", b"z", "é".encode()])
def test_what_is_utf_8_is_judged_as_the_server_judges_it(encoded: OpenEncoded, end: bytes) -> None:
    source = encoded("SQL_ASCII")
    borders = (
        0x01,
        0x41,
        0x7F,
        0x80,
        0x8F,
        0x90,
        0x9F,
        0xA0,
        0xBF,
        0xC0,
        0xC1,
        0xC2,
        0xDF,
        0xE0,
        0xE1,
        0xEC,
        0xED,
        0xEE,
        0xEF,
        0xF0,
        0xF1,
        0xF3,
        0xF4,
        0xF5,
        0xFF,
    )
    texts = [bytes(each) + end for length in (1, 2) for each in itertools.product(borders, repeat=length)]
    texts += [
        bytes([first, second, more, last]) + end
        for first, second in (
            (0xE0, 0x9F),
            (0xE0, 0xA0),
            (0xED, 0x9F),
            (0xED, 0xA0),
            (0xF0, 0x8F),
            (0xF0, 0x90),
            (0xF4, 0x8F),
            (0xF4, 0x90),
        )
        for more in (0x7F, 0x80, 0xBF)
        for last in (0x41, 0x80, 0xBF)
    ]
    with psycopg.connect(source.postgres.dsn(source.database), client_encoding="sql_ascii", autocommit=True) as raw:
        judged = not_utf8(ANY_BYTES, "convert_from(t, 'SQL_ASCII')")
        found = raw.execute(
            f"SELECT {judged} FROM unnest(%s::bytea[]) WITH ORDINALITY AS u (t, n) ORDER BY n".encode(), [texts]
        ).fetchall()
    assert [text for text, (bad,) in zip(texts, found, strict=True) if bad != _is_bad(text)] == []


def _is_bad(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False


@pytest.mark.parametrize(
    ("module", "name", "variant"),
    [
        (catalogue, "may_be_other", lambda *_: False),
        (types, "not_utf8", lambda *_: "FALSE"),
    ],
    ids=["known-bad: every database is UTF-8", "known-bad: every text is UTF-8"],
)
def test_a_variant_that_looks_for_no_such_text_reads_nothing_of_the_table(
    encoded: OpenEncoded, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, variant: Callable[..., object]
) -> None:
    source = encoded("SQL_ASCII")
    source.execute(*ORDERS, *BAD)
    monkeypatch.setattr(module, name, variant)
    with pytest.raises(SourceRefused, match="cannot be written in UTF-8"):
        rows(source, source.spec("orders", UPDATED))


def test_a_variant_that_counts_bytes_for_characters_has_another_hash_than_the_lake(
    encoded: OpenEncoded, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = encoded("SQL_ASCII")
    source.execute(*ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    ours = probe.measure(spec, (WHOLE,))
    monkeypatch.setattr(measure, "characters", lambda _, text: f"length({text})")
    assert probe.measure(spec, (WHOLE,)) != ours


def test_a_text_has_the_same_hash_in_every_encoding(encoded: OpenEncoded) -> None:
    found = []
    for encoding, umlaut in (
        ("UTF8", "\\303\\244"),
        ("SQL_ASCII", "\\303\\244"),
        ("WIN1252", "\\344"),
        ("LATIN1", "\\344"),
    ):
        source = encoded(encoding)
        source.execute(
            "CREATE TABLE words (id int PRIMARY KEY, word text)",
            f"INSERT INTO words VALUES (1, E'k{umlaut}se'), (2, 'plain'), (3, NULL)",
        )
        spec = source.spec("words", strategy=Strategy.FULL_REFRESH)
        found.append(source.open().measure(spec, (WHOLE,), RowHash.TEXT))
    assert found[1:] == found[:1] * 3
