"""T11, T15, T20 on the databases beside PostgreSQL: several runs of a table, lost checkpoints, and other hands in the lake."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from tests.conformance.conftest import OpenWorld
from tests.conformance.mart import expire
from tests.conformance.meddling import assert_told
from tests.conformance.points import Point, at_points, once
from tests.conformance.scenario import played_on, scenario
from tests.conformance.stand import Stand, statuses
from tests.conformance.two_tables import BOTH, TABLES, moment, row, tables
from tests.conformance.worlds import OTHERS, World

# --- T11 ----------------------------------------------------------------------------------------------


@scenario(
    "T11",
    "while a sync reads a table, a second sync, a backfill and a full refresh of it are started; another run has staged its batch and sleeps past its lease, a second one takes over and lands, and the first wakes",
    holds="each is told in one sentence who holds the table; the sleeper says that another one took the table over; nothing is there twice",
)
@played_on(*OTHERS)
def test_several_runs_of_a_table_on_each_database(world: World, open_world: OpenWorld) -> None:
    desk = open_world(TABLES, *tables(world), *row(1, "first"))
    desk.land()
    others: list[SyncReport] = []
    since = Window(moment(world, "2024-01-01T00:00:00"), None)

    def all_at_once() -> None:
        for mode, window in ((Mode.SYNC, None), (Mode.BACKFILL, since), (Mode.FULL_REFRESH, None)):
            others.append(desk.sync("visits", mode=mode, window=window)["visits"])

    desk.execute(*row(2, "second"))
    landed = desk.land("visits", through=lambda ports: at_points(ports, once(Point.READING, "visits", all_at_once)))
    assert [report.status for report in others] == [Status.BUSY] * 3
    assert "another run is syncing this table" in str(others[0].error)
    assert landed["visits"].rows.inserted == 1

    for name in BOTH:

        def sleep(name: str = name) -> None:
            expire(desk, name)
            desk.land(name)

        desk.execute(*row(10 + BOTH.index(name), "third"))
        slept = desk.sync(
            name, through=lambda ports, name=name, sleep=sleep: at_points(ports, once(Point.BEFORE_COMMIT, name, sleep))
        )[name]
        # Before it commits it reads what it had staged, which the other run has swept.
        assert_told(slept, "a run that took the table over")
    desk.land()
    for name in BOTH:
        desk.assert_equal(name)
    desk.assert_tidy(*BOTH)


# --- T15 ----------------------------------------------------------------------------------------------


@scenario(
    "T15",
    "The checkpoint table is deleted, emptied, or put back from the copy made after the first of three syncs, and rows have changed since",
    holds="the position is rebuilt from the lake's own log and the history says so: nothing is lost or lands twice",
)
@pytest.mark.parametrize("harm", ["deleted", "emptied", "put back"])
@played_on(*OTHERS)
def test_the_checkpoint_table_forgets_on_each_database(world: World, open_world: OpenWorld, harm: str) -> None:
    desk = open_world(TABLES, *tables(world))
    file, copy = world.folder / "checkpoints.db", world.folder / "older.db"
    for number in (1, 2, 3):
        _move(desk, number)
        desk.land()
        if number == 1:
            _backed_up(file, copy)
    match harm:
        case "deleted":
            file.unlink()
        case "emptied":
            with closing(sqlite3.connect(file)) as database, database:
                database.execute("DELETE FROM checkpoints")
        case _:
            _backed_up(copy, file)
    for number in (4, 5):
        _move(desk, number)
        assert {report.rows.inserted for report in desk.land().values()} == {1}
        for name in BOTH:
            desk.assert_equal(name)
    assert ["rebuilt" in desk.kinds(name) for name in BOTH] == [True] * 2
    desk.assert_tidy(*BOTH)


def _move(desk: Stand[World], number: int) -> None:
    """A new row in each table, and a changed one."""
    changed = f"UPDATE orders SET note = 'in {number}', updated_at = {desk.shop.words.now} WHERE id = {number - 1}"
    desk.execute(*row(number, f"new {number}"), changed)


def _backed_up(one: object, other: object) -> None:
    """As SQLite copies a database, write-ahead log included."""
    with closing(sqlite3.connect(str(one))) as source, closing(sqlite3.connect(str(other))) as target:
        source.backup(target)


# --- T20 ----------------------------------------------------------------------------------------------

HARMED = ("deleted", "overwritten", "removed", "older")


@scenario(
    "T20",
    "Another hand deletes or overwrites rows of a copy, removes its folder, or puts an older copy in its place; and `lake:` leads elsewhere for a moment",
    holds="the next run stops with advice in one sentence and writes nothing; with the lake put back, `--full-refresh` makes the table equal, and syncs go on",
)
@played_on(*OTHERS)
def test_another_hand_on_each_database(world: World, open_world: OpenWorld) -> None:
    desk = open_world(
        "\n".join(f'- "{{s}}.{name}:at:{{c}}!upsert"' for name in HARMED),
        *(
            f"CREATE TABLE {name} (id int NOT NULL PRIMARY KEY, note varchar(9), at {world.words.stamp})"
            for name in HARMED
        ),
    )
    _write(desk, 1)
    _write(desk, 2)
    desk.land()
    shutil.copytree(desk.shop.lake("older"), world.folder / "aside")
    _write(desk, 3)
    desk.land()
    right = world.config.read_text()
    world.config.write_text(right.replace("lake: ./lake", "lake: ./elsewhere"))
    _write(desk, 4)
    for report in desk.sync().values():
        assert_told(report, "gone from the lake", "--full-refresh", "reset")
    assert not (world.folder / "elsewhere" / "shop").exists()
    world.config.write_text(right)

    paths = {name: desk.shop.lake(name) for name in HARMED}
    desk.spark.sql(f"DELETE FROM delta.`{paths['deleted']}` WHERE id = 2")
    desk.spark.sql(
        f"INSERT OVERWRITE delta.`{paths['overwritten']}` SELECT * FROM delta.`{paths['older']}` WHERE id = 1"
    )
    shutil.rmtree(paths["removed"])
    shutil.rmtree(paths["older"])
    shutil.copytree(world.folder / "aside", paths["older"])
    words = ("DELETE", "WRITE", "gone from the lake", "restored from an older copy")
    for (name, report), word in zip(desk.sync().items(), words, strict=True):
        assert_told(report, word, "nothing was written", "--full-refresh", "reset")
        assert name == "removed" or 4 not in [number for (number,) in desk.copy(name, "id")]
    desk.land(mode=Mode.FULL_REFRESH)
    for name in HARMED:
        desk.assert_equal(name)
    _write(desk, 5)
    assert statuses(desk.land()) == dict.fromkeys(HARMED, Status.LANDED)
    for name in HARMED:
        desk.assert_equal(name)
    desk.assert_tidy(*HARMED)


def _write(desk: Stand[World], number: int) -> None:
    desk.execute(*(f"INSERT INTO {name} (id, note) VALUES ({number}, 'new')" for name in HARMED))
