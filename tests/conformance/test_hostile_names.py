"""T19: names and values made to break out of quotes, shells, paths and formats, read with an account that may do anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from tests.adapters import own_names
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import PASSWORD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CORPUS = (
    "'; DROP TABLE canary; --", '"; DROP TABLE canary; --', "`; DROP TABLE canary; --", "x'); DELETE FROM canary WHERE ('1'='1",
    "$$; DROP TABLE canary; $$", "$tag$ DROP TABLE canary $tag$", "*/ DROP TABLE canary /*", "\\'; DROP TABLE canary; --",
    "1; DROP TABLE canary", "/* comment */ x", "-- comment", "\\", "\\\\", "\\n", "back\\slash", "line\nbreak", "tab\there", "\r\n",
    " around ", " ", "a.b.c", "back`tick", "``", '"quoted"', '""', "'", "''", "%s %d %(name)s %%", "{0} {name} {{}}",
    "${env:SHOP_PASSWORD}", "{env: SHOP_PASSWORD}", ":name $1 ?", "select", "null", "true", "1e3", "<script>alert(1)</script>",
    'a,b;c|d=e(f)', '{"json": [1, "\\"x\\""]}', '=HYPERLINK("http://x")', "../../etc/passwd", "C:\\temp\\new", "ünïcödé ß",
    "日本語のテーブル", "🤷🏽‍♀️ 👩‍👩‍👧", "שלום \u202eעולם\u202c", "zero\u200bwidth", "e\u0301", "\x01\x1b[31m\x7f", "n" * 63, "漢" * 21,
)  # fmt: skip
CURSOR = 'x\' OR "at" = `1'
TABLES = (
    ('"; DROP TABLE canary; --', "'; DROP TABLE canary; --"),
    ("a.b", "c.d"),
    ("../..", "../../../etc/passwd"),
    ("select", "$$; DROP TABLE canary; $$"),
    ("\\", "%s {0} ${env:SHOP_PASSWORD}"),
    ("漢" * 21, "🤷🏽‍♀️ שלום \u202e `x` "),
    ("line\nbreak", "-- comment\n/*"),
    ("n" * 63, "_delta_log"),
)

TAKEN = tuple(sorted({
    *own_names.words(), *own_names.sql_aliases(), "s", "t", "b", "source", "target", "file_path", "num_records", "path", "version", "value", "key",
} - {"ctid"}))  # fmt: skip
"""What our own code calls, or did call, things of its own, without the prefix that no source may use; and what Delta and Spark do.
PostgreSQL gives no column the name of one that it has itself."""


@scenario(
    "T19",
    f"{len(CORPUS)} hostile texts are the columns of one table, its values in every column and its keys, read with a superuser's account: SQL that drops a canary table, quotes of every kind, comments, formats, paths, markup, emoji, right-to-left marks, control characters, names of 63 bytes",
    holds="every value under every name is equal, through insert, update and an idle look; the canary and everything else in the database are as they were",
    long=True,
)
def test_hostile_columns_and_values(stand: OpenStand) -> None:
    desk = _privileged(stand)
    table = "corpus"
    names = ", ".join(f"{_quoted(text)} text" for text in CORPUS)
    desk.execute(
        f"CREATE TABLE {table} ({names}, {_quoted(CURSOR)} timestamptz DEFAULT now(), PRIMARY KEY ({_quoted(CORPUS[0])}))"
    )
    with desk.shop.connect() as connection:
        for shift in range(len(CORPUS)):
            row = [CORPUS[(place + shift) % len(CORPUS)] for place in range(len(CORPUS))]
            marks = ", ".join(["%s"] * len(row))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # type: ignore[call-overload]
    _configure(
        desk, [{"table": f"public.{table}", "cursor": {"column": CURSOR, "type": "timestamp"}, "strategy": "upsert"}]
    )
    before = _everything_else(desk)
    assert desk.land()[table].rows.inserted == len(CORPUS)
    _assert_equal_texts(desk, "public", table)

    with desk.shop.connect() as connection:
        for text in CORPUS[::5]:
            changed = f"UPDATE {table} SET {_quoted(CORPUS[1])} = %s, {_quoted(CURSOR)} = clock_timestamp() WHERE {_quoted(CORPUS[0])} = %s"
            connection.execute(changed, (text * 2, text))  # type: ignore[call-overload]
    second = desk.land()[table]

    assert (second.rows.inserted, second.rows.updated) == (0, len(CORPUS[::5]))
    _assert_equal_texts(desk, "public", table)
    assert _everything_else(desk) == before
    assert _around(desk) <= {"sources.yaml", "lake", "checkpoints.db", "checkpoints.db-shm", "checkpoints.db-wal"}


@scenario(
    "T19",
    "Tables have columns whose names a sync, Spark or Delta need for themselves: `_metadata`, `_sync_seq`, two that differ by case alone",
    holds="each that cannot be held is refused by name before anything is written, and the others land; the column `_metadata` lands whole where no row is replaced",
    long=True,
)
def test_names_that_are_taken(stand: OpenStand) -> None:
    desk = stand(
        """
        - "public.replaced:at:timestamp!upsert"
        - "public.seq:at:timestamp!append"
        - "public.cases:at:timestamp!append"
        - "public.added:at:timestamp!append"
        - {table: public.read_whole, strategy: full_refresh, refresh_every: 0s}
        """,
        *(
            f'CREATE TABLE {name} (id int PRIMARY KEY, {columns}, at timestamptz DEFAULT now())'
            for name, columns in {
                "replaced": "_metadata text", "seq": "_sync_seq text", "cases": '"Name" text, name text',
                "added": "_metadata text, s int, t int, b int, c0 int, file_path text", "read_whole": "_metadata text",
            }.items()
        ),
        "INSERT INTO added VALUES (1, 'm', 1, 2, 3, 4, 'f')",
        "INSERT INTO read_whole VALUES (1, 'm')",
    )  # fmt: skip
    with desk.runtime() as runtime:
        refused = {problem.table.name: str(problem.error) for problem in runtime.specs("shop").problems}
    assert refused.keys() == {"replaced", "seq", "cases"}
    assert "'_metadata'" in refused["replaced"]
    assert "'_sync_seq'" in refused["seq"]
    assert "differ by case alone" in refused["cases"]

    desk.land()
    desk.execute("INSERT INTO added VALUES (2, NULL, 1, 2, 3, 4, 'f')", "UPDATE read_whole SET _metadata = 'changed'")
    desk.land()
    desk.assert_equal("added")
    desk.assert_equal("read_whole")
    assert not desk.shop.lake("replaced").exists()


@scenario(
    "T19",
    f"Tables have columns, keys and cursors that are called as our own code calls its frames, its columns and the parts of its statements, {len(TAKEN)} names taken from the code, and as Delta and Spark call theirs",
    holds="the first load lands, changes land, quarantine, checks and a comparison row by row work: no name of ours can be mistaken for a column",
    long=True,
)
def test_columns_that_are_called_as_our_own_aliases(stand: OpenStand) -> None:
    given = ", ".join(f"{_quoted(name)} text" for name in TAKEN if name not in ("s", "t", "times"))
    columns = f"s int, t int, times timestamptz NOT NULL, bad numeric(4,1), {given}"
    tables = {
        "keyed": ("upsert", "PRIMARY KEY (s, t)", ""),
        "declared": ("upsert", "UNIQUE (s)", ", primary_key: [t, times]"),
        "versions": ("append", "CHECK (s > 0)", ""),
    }
    desk = stand(
        "\n".join(
            f"- {{table: public.{name}, cursor: {{column: times, type: timestamp}}, strategy: {strategy}{key}, lookback: 9999d}}"
            for name, (strategy, _, key) in tables.items()
        ),
        *(f"CREATE TABLE {name} ({columns}, {key})" for name, (_, key, _) in tables.items()),
        *(
            f"INSERT INTO {name} (s, t, times, bad) VALUES (1, 1, {stamped}, 1), (2, 2, {stamped}, 2), (3, 3, {stamped}, 'NaN')"
            for name in tables
            for stamped in ["'2026-01-10T00:00:00Z'"]
        ),
    )
    first = desk.land()
    desk.execute(
        *(f"INSERT INTO {name} (s, t, times, bad) VALUES (4, 4, now(), 4)" for name in tables),
        *(
            f"UPDATE {name} SET {', '.join(f'{_quoted(each)} = {_literal(each)}' for each in TAKEN if each not in ('s', 't', 'times'))} WHERE s = 2"
            for name in ("keyed", "declared")
        ),
    )
    second = desk.land()

    assert {(found.rows.inserted, found.rows.quarantined) for found in first.values()} == {(2, 1)}
    assert {name: (found.rows.inserted, found.rows.updated) for name, found in second.items()} == {
        "keyed": (1, 1), "declared": (1, 1), "versions": (1, 0),
    }  # fmt: skip
    for name in tables:
        desk.assert_equal(name, f"SELECT * FROM {name} WHERE bad <> 'NaN'")
        with desk.runtime() as runtime:
            spec, lake = desk.spec(name), runtime.ports("shop").lake
            assert lake.duplicates(spec).rows == 0
            found = lake.compare(spec, (Window(None, None),))
            assert (found.missing, found.extra) == (0, 0), found


@scenario(
    "T19",
    f"{len(TABLES)} schemas and tables have hostile names: SQL, paths that climb, dots, line breaks, formats that name a secret, 63 bytes of Chinese",
    holds="each lands in a folder of its own inside the lake, equal; the canary and everything else are as they were, and the secret is nowhere",
    long=True,
)
def test_hostile_tables(stand: OpenStand) -> None:
    desk = _privileged(stand)
    for schema, name in TABLES:
        place = f"{_quoted(schema)}.{_quoted(name)}"
        desk.execute(
            f"CREATE SCHEMA {_quoted(schema)}",
            f"CREATE TABLE {place} (id int PRIMARY KEY, v text, {_quoted(CURSOR)} timestamptz DEFAULT now())",
        )
        with desk.shop.connect() as connection:
            doubled = place.replace("%", "%%")
            connection.execute(f"INSERT INTO {doubled} (id, v) VALUES (1, %s), (2, NULL)", [name])  # type: ignore[call-overload]
    cursor = {"column": CURSOR, "type": "timestamp"}
    _configure(
        desk, [{"table": render_table(schema, name), "cursor": cursor, "strategy": "upsert"} for schema, name in TABLES]
    )
    before = _everything_else(desk)
    desk.land()
    for schema, name in TABLES:
        desk.execute(f"INSERT INTO {_quoted(schema)}.{_quoted(name)} (id, v) VALUES (3, 'later')")
    second = desk.land()

    assert {report.rows.inserted for report in second.values()} == {1}
    for schema, name in TABLES:
        _assert_equal_texts(desk, schema, name)
    assert _everything_else(desk) == before
    assert _around(desk) <= {"sources.yaml", "lake", "checkpoints.db", "checkpoints.db-shm", "checkpoints.db-wal"}
    secret = PASSWORD.encode()
    assert not [path for path in desk.shop.folder.rglob("*") if path.is_file() and secret in path.read_bytes()]


def _privileged(stand: OpenStand) -> Stand:
    """A stand whose reader is a superuser, beside a canary."""
    return stand(
        "[]",
        "CREATE TABLE canary (sings text)",
        "INSERT INTO canary VALUES ('still here')",
        "DO $$ BEGIN CREATE ROLE almighty LOGIN SUPERUSER; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        f"ALTER ROLE almighty PASSWORD '{PASSWORD}'",
    )


def _configure(desk: Stand, tables: list[dict[str, object]]) -> None:
    """Written by a YAML library, as a person's editor would not survive these names."""
    desk.shop.configure("[]", "unlisted: ignore")
    document = yaml.safe_load(desk.shop.config.read_text())
    document["sources"]["shop"] |= {"user": "almighty", "tables": tables}
    desk.shop.config.write_text(yaml.safe_dump(document, allow_unicode=True))


def _everything_else(desk: Stand) -> list[tuple[object, ...]]:
    """The canary's rows, and every relation, schema and role there is."""
    return [
        *desk.source("SELECT sings FROM canary"),
        *desk.source(
            "SELECT relname, relnamespace, relowner, relacl::text, relnatts FROM pg_class WHERE relnamespace > 16000 OR relnamespace = 2200"
        ),
        *desk.source("SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'"),
        *desk.source("SELECT rolname, rolsuper FROM pg_roles"),
    ]


def _around(desk: Stand) -> set[str]:
    """What lies beside the lake."""
    return {path.name for path in desk.shop.folder.iterdir()}


def _frame(desk: Stand, schema: str, name: str) -> DataFrame:
    path = Path(table_path(str(desk.lake), TableId("shop", schema, name)))
    assert path.resolve().is_relative_to(desk.lake.resolve())
    return desk.spark.read.format("delta").load(str(path))


def _assert_equal_texts(desk: Stand, schema: str, name: str) -> None:
    """Column by column under its very name, each value as text and beside the row's first one."""
    frame = _frame(desk, schema, name)
    names = [found for found in frame.columns if not found.startswith("_sync_")]
    place = f"{_quoted(schema)}.{_quoted(name)}"
    columns = [row[0] for row in desk.source(
        f"SELECT attname FROM pg_attribute WHERE attrelid = {_literal(place)}::regclass AND attnum > 0"
    )]  # fmt: skip
    assert sorted(names) == sorted(columns)
    texts = [found for found in names if found != CURSOR]
    copy = [tuple(row) for row in frame.select(*(f"`{found.replace('`', '``')}`" for found in texts)).collect()]
    truth = desk.source(f"SELECT {', '.join(_quoted(found) for found in texts)} FROM {place}")
    assert sorted(copy, key=repr) == truth


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return " E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
