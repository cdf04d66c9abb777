"""T15: the checkpoint table is lost, cut short, put back from an older copy, or newer than the program."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.adapters.spark.session import is_remote
from incremental_assets.core.errors import CheckpointsTooNew
from incremental_assets.core.model.state import VERSION
from incremental_assets.core.planning.report import Status
from tests.conformance.conftest import OpenStand
from tests.conformance.meddling import assert_told
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

NAMES = ("orders", "readings", "visits", "countries")
TABLES = """
- "public.orders:at:timestamp!upsert"
- "public.readings:at:timestamp!append"
- "public.visits:at:timestamp!append"
- {table: public.countries, strategy: full_refresh, refresh_every: 0s}
"""
SCHEMA = (
    "CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE readings (id int PRIMARY KEY, value int, at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE visits (who text, at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE countries (code int PRIMARY KEY, name text)",
)


_VERSIONED = "UPDATE checkpoints SET state = replace(state, ?, ?)"


@scenario(
    "T15",
    "The file of the checkpoint table is deleted after three syncs, and rows have changed since",
    holds="the position is rebuilt from the lake's own log and the history says so: nothing is lost or lands twice, for upsert, "
    "append (with and without a key) and full refresh",
    long=True,
)
def test_the_checkpoint_table_is_lost(stand: OpenStand) -> None:
    desk = _three_syncs(stand)
    _file(desk).unlink()
    _goes_on(desk)
    assert [desk.kinds(name)[0] for name in NAMES] == ["rebuilt"] * 4
    assert {event.detail for name in NAMES for event in desk.events(name) if event.kind == "rebuilt"} == {
        "rebuilt from the lake"
    }


@scenario(
    "T15",
    "The checkpoint table is emptied, cut short in the middle of the second sync, or put back from the copy made after the first or second of three syncs",
    holds="nothing is lost or lands twice, sequences only grow, and the history says that the position was rebuilt",
    bugs=("dlt #4052",),
    long=True,
)
@pytest.mark.parametrize("harm", ["emptied", "cut within the second sync", "copy of sync 1", "copy of sync 2"])
def test_the_checkpoint_table_forgets(stand: OpenStand, harm: str) -> None:
    desk = _three_syncs(stand)
    if harm.startswith("copy"):
        _copy(desk.shop.folder / f"{harm.removeprefix('copy of ')}.db", _file(desk))
    else:
        with closing(sqlite3.connect(_file(desk))) as database, database:
            cut = "DELETE FROM checkpoints"
            if harm != "emptied":
                staged = "SELECT c.event_id FROM checkpoints AS c WHERE c.event = 'staged' AND c.table_name = checkpoints.table_name"
                cut += f" WHERE event_id > ({staged} ORDER BY c.event_id LIMIT 1 OFFSET 1)"
            database.execute(cut)
    if harm == "cut within the second sync":
        assert [desk.kinds(name)[-1] for name in NAMES] == ["staged"] * 4
    _goes_on(desk)
    assert ["rebuilt" in desk.kinds(name) for name in NAMES] == [True] * 4


@scenario(
    "T15",
    "The checkpoint table is lost and the lake's log holds no word of ours any more (only maintenance wrote for a month, then Delta cleaned the log)",
    holds="it is said loudly, the tables are read again from the beginning and nothing lands twice: an append is compared with its whole table",
    long=True,
)
def test_neither_checkpoints_nor_words_in_the_log(stand: OpenStand) -> None:
    desk = _three_syncs(stand)
    _file(desk).unlink()
    for name in NAMES:
        _clean_log(desk, name)
    _goes_on(desk, whole=True)
    told = {event.detail for name in NAMES for event in desk.events(name) if event.kind == "rebuilt"}
    assert told == {"the lake's log no longer holds a position: the table is read again from the start"}


@scenario(
    "T15",
    "The checkpoint table, or the state in it, was written by a newer release",
    holds="refused in one sentence that says to upgrade, and nothing is written; the newer release's words stay as they are",
)
def test_a_newer_release_wrote_the_checkpoints(stand: OpenStand) -> None:
    desk = stand('- "public.orders:at:timestamp!upsert"', SCHEMA[0], "INSERT INTO orders VALUES (1, 'a')")
    desk.land()
    desk.execute("INSERT INTO orders VALUES (2, 'b')")
    versions = desk.versions("orders")
    with closing(sqlite3.connect(_file(desk))) as database:
        (known,) = database.execute("SELECT version_num FROM checkpoints_version").fetchone()
        with database:
            database.execute("UPDATE checkpoints_version SET version_num = '9999'")
        with pytest.raises(CheckpointsTooNew, match="upgrade incremental-assets"):
            desk.sync()
        with database:
            database.execute("UPDATE checkpoints_version SET version_num = ?", [known])
            # A state is of the oldest version that can say what it says.
            (state,) = database.execute("SELECT state FROM checkpoints WHERE state IS NOT NULL").fetchone()
            older = f'"version":{json.loads(state)["version"]}'
            database.execute(_VERSIONED, (older, f'"version":{VERSION + 1}'))
        assert_told(desk.sync()["orders"], f"version {VERSION + 1}", "upgrade incremental-assets")
        with database:
            database.execute(_VERSIONED, (f'"version":{VERSION + 1}', older))
    assert desk.versions("orders") == versions
    desk.land()
    desk.assert_equal("orders")


def _three_syncs(stand: OpenStand) -> Stand:
    """Three syncs, each with a new row and a changed one; a copy of the checkpoint table after each."""
    desk = stand(TABLES, *SCHEMA)
    for number in (1, 2, 3):
        _move(desk, number)
        desk.land()
        _copy(_file(desk), desk.shop.folder / f"sync {number}.db")
    return desk


def _move(desk: Stand, number: int) -> None:
    desk.execute(
        f"INSERT INTO orders VALUES ({number}, 'new')",
        f"UPDATE orders SET note = 'changed in {number}', at = now() WHERE id = {number} - 1",
        f"INSERT INTO readings VALUES ({number}, {number})",
        "INSERT INTO visits VALUES ('ada', '2024-01-10Z')" if number == 1 else "INSERT INTO visits VALUES ('ada')",
        f"INSERT INTO countries VALUES ({number}, 'new')",
        "SELECT pg_sleep(1.1 - least(1.1, extract(epoch FROM clock_timestamp() - max(at))::float)) FROM orders WHERE id < "
        f"{number}",
    )


def _goes_on(desk: Stand, *, whole: bool = False) -> None:
    _move(desk, 4)
    reports = desk.land()
    for name in NAMES:
        desk.assert_equal(name)
    if whole:
        assert {name: reports[name].rows.read for name in NAMES} == dict.fromkeys(NAMES, 4)
    _move(desk, 5)
    assert {report.status for report in desk.land().values()} == {Status.LANDED}
    for name in NAMES:
        desk.assert_equal(name)
    desk.assert_tidy(*NAMES)


def _file(desk: Stand) -> Path:
    return desk.shop.folder / "checkpoints.db"


def _copy(one: Path, other: Path) -> None:
    """As SQLite copies a database, write-ahead log included."""
    other.unlink(missing_ok=True)
    with closing(sqlite3.connect(one)) as source, closing(sqlite3.connect(other)) as target:
        source.backup(target)


def _clean_log(desk: Stand, name: str) -> None:
    """As Delta does after a month in which nothing but maintenance has written: a checkpoint stands for all commits before it."""
    if is_remote(desk.spark):
        pytest.skip("a log is cleaned by Java's own hands, which are not in reach through an engine")
    path = desk.shop.lake(name)
    desk.spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('maintained' = 'yes')")
    jvm: Any = desk.spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.forTable(desk.spark._jsparkSession, str(path)).checkpoint()
    for version in desk.versions(name)[:-1]:
        (path / "_delta_log" / f"{version:020d}.json").unlink()
