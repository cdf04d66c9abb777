"""T19, T21: what there is in files of SQLite alone: tables that a module makes, a journal that a dead process has left, moments as texts."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from tests.conformance.conftest import OpenWorld
from tests.conformance.scenario import played_on, scenario
from tests.conformance.worlds import World


@scenario(
    "T19",
    "A file has a table for the search in texts, one of rectangles and one without row numbers; their rows change",
    holds="all land, as the tables that they show, and again when they change; what their modules keep them in does not",
)
@played_on("sqlite")
def test_tables_that_a_module_makes(world: World, open_world: OpenWorld) -> None:
    names = ("notes", "places", "codes")
    desk = open_world(
        "\n".join(f"- {{table: main.{name}, strategy: full_refresh, refresh_every: 0s}}" for name in names),
        "CREATE VIRTUAL TABLE notes USING fts5(title, body)",
        "INSERT INTO notes VALUES ('one', 'first'), ('two', 'second')",
        "CREATE VIRTUAL TABLE places USING rtree(id, west, east)",
        "INSERT INTO places VALUES (7, 1.5, 2.5)",
        "CREATE TABLE codes (code text PRIMARY KEY, n integer) WITHOUT ROWID",
        "INSERT INTO codes VALUES ('a', 1)",
    )
    first = desk.land()
    desk.execute("INSERT INTO notes VALUES ('three', NULL)", "UPDATE places SET east = 4", "DELETE FROM codes")
    second = desk.land(allow_shrink=True)

    assert {name: (first[name].rows.read, second[name].rows.read) for name in names} == {
        "notes": (2, 3),
        "places": (1, 1),
        "codes": (1, 0),
    }
    assert [desk.copy(name) for name in names] == [
        [("one", "first"), ("three", None), ("two", "second")],
        [(7, 1.5, 4.0)],
        [],
    ]
    with desk.runtime() as runtime:
        assert {shape.id.name for shape in runtime.probe("shop").catalogue()} == set(names)


@scenario(
    "T21",
    "A process that writes to the file dies within a transaction, a part of which is in the file; later somebody opens it, and it is as it was before",
    holds="the sync says what lies there and what puts the file right, and writes nothing to it; then the rows of before land",
)
@played_on("sqlite")
def test_a_journal_that_a_dead_process_has_left(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        '["main.orders:id:integer!append"]',
        "PRAGMA journal_mode = delete",
        "CREATE TABLE orders (id integer PRIMARY KEY AUTOINCREMENT, note text)",
        f"INSERT INTO orders (note) SELECT hex(zeroblob(200)) FROM {world.many(5000)}",
    )
    file, died = desk.shop.folder / "shop.db", desk.shop.folder / "died.db"
    _die_within_a_transaction(file, died)
    shutil.move(died, file)
    shutil.move(f"{died}-journal", f"{file}-journal")
    before = file.read_bytes()
    try:
        desk.land()
        said = ""
    except SourceUnreachable as error:
        said = str(error)

    assert "ended within a transaction and left shop.db-journal" in said
    assert file.read_bytes() == before
    assert desk.source("SELECT count(*) FROM orders WHERE note = 'half'") == [(0,)]
    assert desk.land()["orders"].rows.inserted == 5000
    desk.assert_equal("orders")


@scenario(
    "T21",
    "Moments are stored as seconds since 1970 in a column of the type DATETIME, and as texts in a STRICT table, which knows no type of moments; rows are changed",
    holds="the cursor of times is refused by name with what to declare; declared so, the whole numbers and the texts are cursors, and each change lands",
)
@played_on("sqlite")
def test_moments_are_stored_as_numbers_and_as_texts(world: World, open_world: OpenWorld) -> None:
    declared = (
        "- {table: main.seconds, strategy: upsert, cursor: {column: at, type: TYPE}, lookback: SPAN}\n"
        "- {table: main.texts, strategy: upsert, cursor: {column: at, type: datetime}, lookback: 1h}"
    )
    mistaken = declared.replace("TYPE", "datetime").replace("SPAN", "1h")
    desk = open_world(
        mistaken,
        "CREATE TABLE seconds (id INTEGER PRIMARY KEY, at DATETIME, note TEXT)",
        "INSERT INTO seconds VALUES (1, 1772359200, 'new'), (2, 1772359260, 'new')",
        "CREATE TABLE texts (id INTEGER PRIMARY KEY, at TEXT NOT NULL, note TEXT) STRICT",
        "INSERT INTO texts VALUES (1, '2026-03-01 10:00:00', 'new'), (2, '2026-03-01T10:01:00', 'new')",
    )
    refused = desk.sync()["seconds"].error
    assert "'at' holds numbers, not texts of moments, in 2 rows; declare `cursor: {column: at, type: integer}`" in (
        refused or ""
    )

    written = desk.shop.config.read_text()
    desk.shop.config.write_text(
        written.replace(
            mistaken.split("\n")[0][2:], declared.replace("TYPE", "integer").replace("SPAN", "3600").split("\n")[0][2:]
        )
    )
    first = desk.land()
    desk.execute(
        "UPDATE seconds SET at = 1772359320, note = 'changed' WHERE id = 1",
        "UPDATE texts SET at = CURRENT_TIMESTAMP, note = 'changed' WHERE id = 1",
        "INSERT INTO texts VALUES (3, 'noon', 'odd')",
    )
    second = desk.land()

    # The mistaken cursor kept no other table from landing.
    assert {name: (first[name].rows.inserted, second[name].rows.updated) for name in ("seconds", "texts")} == {
        "seconds": (2, 1),
        "texts": (0, 1),
    }
    assert desk.copy("seconds", "id", "at", "note") == [(1, 1772359320, "changed"), (2, 1772359260, "new")]
    assert desk.copy("texts", "id", "note") == [(1, "changed"), (2, "new")]
    assert len(desk.quarantined("texts")) == 1


def _die_within_a_transaction(file: Path, died: Path) -> None:
    """The file and its journal as they lie there in the middle of a large update."""
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("PRAGMA cache_size = 5")
        writer.execute("UPDATE orders SET note = 'half'")
        shutil.copy(file, died)
        shutil.copy(f"{file}-journal", f"{died}-journal")


SPELLED = ("strftime('%Y-%m-%dT%H:%M:%fZ', 'now')", "datetime('now')", "datetime('now', '+2 hours') || '+02:00'")
"""As JavaScript, SQLite and Go write the time now."""


@scenario(
    "T21",
    "Stamps of one column are spelled with a `Z`, with an offset, and without a zone, as several libraries write them; rows come and change, and old ones are of another day by their offset than in UTC",
    holds="all land as moments of UTC and none is in quarantine, each once; a backfill of a day reads the rows of that day in UTC; a check finds the one that was brought below the watermark",
)
@played_on("sqlite")
def test_stamps_that_say_their_zone(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        "- {table: main.visits, cursor: {column: at, type: datetime}, strategy: upsert, partitions: {every: day, from: 2024-01-01}}",
        "CREATE TABLE visits (id INTEGER PRIMARY KEY, note TEXT, at DATETIME NOT NULL)",
        "INSERT INTO visits VALUES (1, 'a', '2024-01-02T00:30:00+02:00'), (2, 'b', '2024-01-02T00:00:00Z'), (3, 'c', '2024-01-02 23:59:59-01:00')",
    )
    first = desk.land()["visits"]
    assert (first.rows.inserted, first.rows.quarantined) == (3, 0)
    assert [str(row[2]) for row in desk.copy("visits")] == [
        "2024-01-01 22:30:00",
        "2024-01-02 00:00:00",
        "2024-01-03 00:59:59",
    ]
    for number, now in enumerate(SPELLED, 4):
        desk.execute(
            f"INSERT INTO visits VALUES ({number}, 'new', {now})",
            f"UPDATE visits SET note = 'later', at = {now} WHERE id = {number - 3}",
        )
        assert desk.land()["visits"].rows.inserted == 1
    assert [row[:2] for row in desk.copy("visits")] == [
        *((number, "later") for number in (1, 2, 3)),
        *((number, "new") for number in (4, 5, 6)),
    ]
    desk.execute(
        "INSERT INTO visits VALUES (7, 'old', '2024-01-03T01:00:00+02:00'), (8, 'old', '2024-01-03T01:00:00Z')"
    )
    day = Window(*(CursorValue.parse(CursorType.DATETIME, f"2024-01-0{number}T00:00:00") for number in (2, 3)))
    assert desk.land(mode=Mode.BACKFILL, window=day)["visits"].rows.inserted == 1
    assert (7, "old") in [row[:2] for row in desk.copy("visits")]
    assert desk.quarantined("visits") == []
    assert desk.check("visits") == 1, "the other one is below the watermark"
