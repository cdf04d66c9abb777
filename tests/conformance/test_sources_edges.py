"""T3, T14, T19 on the databases beside PostgreSQL: ties and crashes, keys that read alike, and names that break out of quotes."""

from __future__ import annotations

import time

import yaml

from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenWorld
from tests.conformance.points import Point
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand
from tests.conformance.test_hostile_names import CORPUS, CURSOR
from tests.conformance.test_kills import killed
from tests.conformance.two_tables import GUARD
from tests.conformance.worlds import OTHERS, World

TIE = 50_000

# --- T3 -----------------------------------------------------------------------------------------------


@scenario(
    "T3",
    f"{TIE:,} rows carry one and the same stamp, and the first run that reads them is killed when they are staged; later one more row gets that very stamp",
    holds="the next sync lands all of them once, and the one after it the later row; no tie is ever cut, and what is remembered between syncs does not grow with the tie",
    long=True,
)
@played_on(*OTHERS)
def test_a_tie_on_each_database(world: World, open_world: OpenWorld) -> None:
    tie = world.words.at("2026-01-01 00:00:00.123456")
    desk = open_world(
        "- {table: {s}.visits, cursor: {column: at, type: {c}}, strategy: append, lookback: 36500d}",
        f"CREATE TABLE visits (id int, label varchar(40), at {world.words.bare} NOT NULL)",
        f"INSERT INTO visits SELECT n, 'first', {tie} FROM {world.many(500)}",
        f"INSERT INTO visits SELECT id + 500 * n, 'copied', {tie} FROM visits, {world.many(TIE // 500 - 1)}",
    )
    killed(desk, Point.STAGED, "visits", "first load")
    assert desk.land()["visits"].rows.inserted == TIE
    desk.execute(f"INSERT INTO visits VALUES (0, 'one more', {tie})")
    second = desk.land()["visits"]

    assert (second.rows.read, second.rows.inserted, second.rows.unchanged) == (TIE + 1, 1, TIE)
    assert (desk.shop.folder / "checkpoints.db").stat().st_size < 200_000
    desk.assert_equal("visits")
    desk.assert_tidy("visits")


@scenario(
    "T3",
    "Commits do not wait for the disk, a sync reads their rows, and the source crashes: rows and numbers are gone, and the numbers come again",
    holds="the rows that get those numbers land, and those that get new stamps; the runs are `settled`",
    long=True,
)
@played_on("mariadb", "sqlite")
def test_numbers_that_a_crash_gives_out_again_on_each_database(world: World, open_world: OpenWorld) -> None:
    if world.title == "SQLite":
        world.spares("a file has no server: a process that dies leaves what it has committed to the system")
    # Another server hands each commit to the system at once, whatever it was told: only a machine that dies would lose one there.
    listed = '- "{s}.events:id:integer!append"\n- "{s}.orders:at:{c}!append"'
    desk = open_world(
        listed,
        f"CREATE TABLE events (id {world.words.numbered}, what varchar(9))",
        f"CREATE TABLE orders (id {world.words.numbered}, what varchar(9), at {world.words.stamp})",
    )
    names = ("events", "orders")
    desk.execute(*_filled("first"))
    reports = [desk.land()]
    desk.execute(
        "FLUSH TABLES", *(f"SET GLOBAL innodb_flush_log_at_{each}" for each in ("trx_commit = 0", "timeout = 2000"))
    )
    time.sleep(GUARD)
    try:
        desk.execute(*_filled("lost"))
        reports.append(desk.land())
        assert len(desk.copy("events")) == 2, "the story needs a sync that reads what is not on disk"
    finally:
        world.crash()
    world.configure(listed)
    gone = desk.source("SELECT what FROM events")
    desk.execute(*_filled("again"))
    reports.append(desk.land())
    time.sleep(GUARD)
    desk.execute(*_filled("once more"))
    reports.append(desk.land())

    assert gone == [("first",)], "the rows were on disk already"
    assert desk.source("SELECT id FROM events WHERE what = 'again'") == [(2,)], "the number did not come again"
    for name in names:
        assert {report[name].guarantee for report in reports} == {"settled"}
        there = desk.copy(name, "id", "what")
        assert [each for each in desk.source(f"SELECT id, what FROM {name}") if each not in there] == []


def _filled(what: str) -> tuple[str, ...]:
    return tuple(f"INSERT INTO {name} (what) VALUES ('{what}')" for name in ("events", "orders"))


# --- T14 ----------------------------------------------------------------------------------------------

PAIRS = [("a", "bc"), ("ab", "c"), ("", "a"), ("a", ""), ("a|b", "c"), ("a", "b|c"), ("a,b", "c"), ("a", "b,c")]
PAIRS += [("a\x1fb", "c"), ("a", "b\x1fc"), ("NULL", "x"), ("null", "x"), ("a\\", "x"), ("a", " x"), ("A", "bc")]
PAIRS += [("é", "x"), ("e\u0301", "x"), ("1", "01"), ("10", "1"), ("'", "''"), ("''", "'")]


@scenario(
    "T14",
    "Keys of several columns read alike when they are put together: ('a','bc') and ('ab','c'), ('a','') and ('','a'), and with every separator in them that tools join by",
    holds="every key keeps a row of its own, through insert, update, delete and a check",
)
@played_on(*OTHERS)
def test_keys_that_read_alike_on_each_database(world: World, open_world: OpenWorld) -> None:
    part = f"varchar(20){world.words.exact} NOT NULL"
    desk = open_world(
        "- {table: {s}.pairs, cursor: {column: at, type: {c}}, strategy: upsert, deletes: {mode: diff, every: 0s}}",
        f"CREATE TABLE pairs (a {part}, b {part}, n int, at {world.words.stamp}, PRIMARY KEY (a, b))",
        *(
            f"INSERT INTO pairs (a, b, n) VALUES ({world.literal(a)}, {world.literal(b)}, {n})"
            for n, (a, b) in enumerate(PAIRS)
        ),
    )
    assert desk.land()["pairs"].rows.inserted == len(PAIRS)
    desk.execute(f"UPDATE pairs SET n = n + 100, at = {world.words.now} WHERE n % 2 = 0")
    desk.execute("DELETE FROM pairs WHERE n IN (1, 102)")
    second = desk.land()["pairs"]

    assert (second.rows.inserted, second.rows.updated, second.rows.deleted) == (0, (len(PAIRS) + 1) // 2 - 1, 2)
    desk.assert_equal("pairs")
    with desk.runtime() as runtime:
        assert runtime.ports("shop").lake.duplicates(desk.spec("pairs")).rows == 0


# --- T19 ----------------------------------------------------------------------------------------------


@scenario(
    "T19",
    "Hostile texts are the columns of one table, as far as the database takes them as names, and all of them its values in every column and its keys: SQL that drops a canary table, quotes of every kind, comments, formats, paths, markup, emoji, right-to-left marks, control characters",
    holds="every value under every name is equal, through insert, update and an idle look; the canary is as it was, and no file lies where none belongs",
)
@played_on(*OTHERS)
def test_hostile_columns_and_values_on_each_database(world: World, open_world: OpenWorld) -> None:
    names = [text for text in CORPUS if world.may_name(text)]
    assert len(names) > len(CORPUS) - 5
    texts = ", ".join(f"{_quoted(name)} text{world.words.exact}" for name in names[1:])
    desk = open_world("[]", "CREATE TABLE canary (sings varchar(20))", "INSERT INTO canary VALUES ('still here')")
    key, at = _quoted(names[0]), _quoted(CURSOR)
    desk.execute(
        f"CREATE TABLE corpus ({key} varchar(200){world.words.exact} NOT NULL PRIMARY KEY, {texts}, {at} {world.words.stamp})"
    )
    for shift in range(len(CORPUS)):
        values = [world.literal(CORPUS[(place + shift) % len(CORPUS)]) for place in range(len(names))]
        desk.execute(f"INSERT INTO corpus ({', '.join(map(_quoted, names))}) VALUES ({', '.join(values)})")
    _configured(desk, {"column": CURSOR, "type": world.words.cursor})
    around = {path.name for path in world.folder.iterdir()}
    assert desk.land()["corpus"].rows.inserted == len(CORPUS)
    desk.assert_equal("corpus")
    for text in CORPUS[::5]:
        desk.execute(
            f"UPDATE corpus SET {_quoted(names[1])} = {world.literal(text * 2)}, {at} = {world.words.now} WHERE {key} = {world.literal(text)}"
        )
    second = desk.land()["corpus"]

    assert (second.rows.inserted, second.rows.updated) == (0, len(CORPUS[::5]))
    desk.assert_equal("corpus")
    assert desk.land()["corpus"].status is Status.IDLE
    assert desk.source("SELECT sings FROM canary") == [("still here",)]
    made = {path.name for path in world.folder.iterdir()} - around
    assert made <= {"lake", "checkpoints.db", "checkpoints.db-shm", "checkpoints.db-wal"}


def _configured(desk: Stand[World], cursor: dict[str, str]) -> None:
    """Written by a YAML library, as a person's editor would not survive this name."""
    document = yaml.safe_load(desk.shop.config.read_text())
    table = {"table": f"{desk.shop.schema}.corpus", "cursor": cursor, "strategy": "upsert"}
    document["sources"]["shop"]["tables"] = [table]
    desk.shop.config.write_text(yaml.safe_dump(document, allow_unicode=True))


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
