"""Dagster's events are written by kept connections, into the files where Dagster itself has them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import (
    AssetSpec,
    DagsterInstance,
    EventLogEntry,
    MaterializeResult,
    materialize,
    multi_asset,
)
from dagster._core.storage.event_log import SqliteEventLogStorage
from sqlalchemy import event, inspect, text
from sqlalchemy.engine import Engine

from incremental_assets.resources.event_log import KeptSqliteEventLogStorage

SHIPPED = Path(__file__).parents[2] / "dagster.yaml"
MANY = 30


@multi_asset(specs=[AssetSpec(f"table_{number}") for number in range(MANY)])
def tables() -> Iterator[MaterializeResult]:
    for number in range(MANY):
        yield MaterializeResult(asset_key=f"table_{number}")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An instance with the shipped settings."""
    (tmp_path / "dagster.yaml").symlink_to(SHIPPED)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    return tmp_path


def ran(instance: DagsterInstance) -> str:
    """A run of all tables."""
    result = materialize([tables], instance=instance)
    assert result.success
    return result.run_id


def test_the_files_of_a_run_are_opened_once_and_not_for_every_event(home: Path) -> None:
    opened: list[Path] = []

    def note(connection: sqlite3.Connection, _: object) -> None:
        opened.extend(Path(path) for _, _, path in connection.execute("PRAGMA database_list"))

    event.listen(Engine, "connect", note)
    try:
        with DagsterInstance.get() as instance:
            assert isinstance(instance.event_log_storage, KeptSqliteEventLogStorage)
            run_id = ran(instance)
            events = instance.all_logs(run_id)
    finally:
        event.remove(Engine, "connect", note)
    assert len(events) > 2 * MANY
    # A few times each to be made and to be looked at; Dagster's own storage would come to ninety, and to more.
    assert opened.count(home / "history" / "runs" / f"{run_id}.db") < 10
    assert opened.count(home / "history" / "runs" / "index.db") < 10


def test_the_tables_of_a_new_run_are_made_without_waiting_for_the_disk_at_each(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journals: dict[str, str] = {}
    make_tables = SqliteEventLogStorage._initdb

    def note(storage: SqliteEventLogStorage, engine: Engine, **given: bool) -> None:
        with engine.connect() as connection:
            assert not inspect(connection).get_table_names()
            journals[Path(str(engine.url.database)).stem] = connection.execute(text("PRAGMA journal_mode")).scalar_one()
        make_tables(storage, engine, **given)

    with DagsterInstance.get() as instance:
        instance.get_asset_keys()
        monkeypatch.setattr(SqliteEventLogStorage, "_initdb", note)
        run_id = ran(instance)
    assert journals == {run_id: "wal"}


def test_dagsters_own_storage_reads_what_was_written_and_the_other_way_round(home: Path) -> None:
    with DagsterInstance.get() as instance:
        ours = ran(instance)
    (home / "dagster.yaml").unlink()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with DagsterInstance.get() as instance:
        assert not isinstance(instance.event_log_storage, KeptSqliteEventLogStorage)
        assert len(instance.all_logs(ours)) > 2 * MANY
        theirs = ran(instance)
    (home / "dagster.yaml").unlink()
    (home / "dagster.yaml").symlink_to(SHIPPED)
    with DagsterInstance.get() as instance:
        assert len(instance.all_logs(theirs)) == len(instance.all_logs(ours))
        assert len(instance.get_asset_keys()) == MANY


def test_whoever_watches_a_run_hears_of_an_event_while_its_file_stays_open(home: Path) -> None:
    heard, last = threading.Event(), []

    def hear(entry: EventLogEntry, _: str) -> None:
        last.append(entry.user_message)
        if entry.user_message == "more":
            heard.set()

    with DagsterInstance.get() as instance, DagsterInstance.get() as page:
        run_id = ran(instance)
        first = instance.all_logs(run_id)[0]
        page.watch_event_logs(run_id, None, hear)
        instance.store_event(first._replace(user_message="more", dagster_event=None))
        assert heard.wait(30), last


def test_a_log_that_was_wiped_is_begun_anew(home: Path) -> None:
    with DagsterInstance.get() as instance:
        ran(instance)
        instance.wipe()
        again = ran(instance)
        assert len(instance.all_logs(again)) > 2 * MANY
    assert (home / "history" / "runs" / f"{again}.db").is_file()


def test_an_index_that_a_process_left_half_made_is_completed(home: Path) -> None:
    """As one that was interrupted in the middle of it, and Dagster asks for no more than whether the file is there."""
    index = home / "history" / "runs" / "index.db"
    index.parent.mkdir(parents=True)
    with sqlite3.connect(index) as half:
        half.execute("CREATE TABLE daemon_heartbeats (id INTEGER PRIMARY KEY)")
    with DagsterInstance.get() as instance:
        assert instance.get_dynamic_partitions("hours") == []
        ran(instance)
