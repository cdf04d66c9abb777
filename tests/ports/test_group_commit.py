"""Events of tables that are synced side by side: few transactions, and none of them is another's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, update
from sqlalchemy.exc import IntegrityError

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.group_commit import GroupCommit
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.adapters.checkpoints.tables import heartbeats, is_table
from incremental_assets.core.errors import Busy, LeaseLost
from incremental_assets.core.model.table_id import TableId
from tests.ports.stories import intent, sync

TABLES = [TableId("shop", "public", f"orders_{number:02}") for number in range(40)]


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Every write transaction; the first one is held until all tables wait to be written."""
    begun: list[bool] = []
    begin, write, waiting = Database.transaction, GroupCommit.write, threading.Semaphore(0)

    @contextmanager
    def counted(self: Database, *, writes: bool = False) -> Iterator[Connection]:
        with begin(self, writes=writes) as connection:
            yield connection
            if writes:
                begun.append(True)
            if begun == [True]:
                assert all(waiting.acquire(timeout=60) for _ in TABLES)

    def noticed(self: GroupCommit, *asked: Any) -> Any:
        waiting.release()
        return write(self, *asked)

    monkeypatch.setattr(Database, "transaction", counted)
    monkeypatch.setattr(GroupCommit, "write", noticed)
    return begun


def test_forty_tables_side_by_side_are_recorded_in_few_transactions(
    checkpoints: SqlCheckpoints, writes: list[bool]
) -> None:
    def play(table: TableId) -> None:
        with checkpoints.lease(table, "run") as lease:
            for event in sync(0, table=table):
                lease.record(event)

    with ThreadPoolExecutor(len(TABLES)) as pool:
        list(pool.map(play, TABLES))

    assert {table: position.last_seq for table, position in checkpoints.positions().items()} == dict.fromkeys(TABLES, 0)
    assert {beat.owner for beat in checkpoints.heartbeats().values()} == {None}
    assert len(writes) <= len(TABLES), "each table alone takes five"


def test_a_table_that_may_not_write_is_told_alone(
    url: str, checkpoints: SqlCheckpoints, request: pytest.FixtureRequest
) -> None:
    held, lost = TABLES[0], TABLES[1]
    taken = update(heartbeats).where(is_table(heartbeats.c, lost)).values(token="another's")

    def play(table: TableId) -> Exception | None:
        try:
            with checkpoints.lease(table, "run") as lease:
                if table == lost:
                    with Database(url).transaction(writes=True) as connection:
                        connection.execute(taken)
                lease.record(intent(0, table=table))
        except (Busy, LeaseLost) as error:
            return error
        return None

    with checkpoints.lease(held, "another"), ThreadPoolExecutor(len(TABLES)) as pool:
        request.getfixturevalue("writes")
        ends = dict(zip(TABLES, pool.map(play, TABLES), strict=True))

    assert {table: type(error) for table, error in ends.items() if error} == {held: Busy, lost: LeaseLost}
    assert set(checkpoints.positions()) == {*TABLES} - {held, lost}


def test_a_write_that_the_database_refuses_takes_no_other_with_it(
    checkpoints: SqlCheckpoints, request: pytest.FixtureRequest
) -> None:
    wrong = TABLES[3]
    unnamed = replace(intent(0, table=wrong), run_id=None)  # type: ignore[arg-type]

    def play(table: TableId) -> Exception | None:
        try:
            with checkpoints.lease(table, "run") as lease:
                lease.record(unnamed if table == wrong else intent(0, table=table))
        except IntegrityError as error:
            return error
        return None

    request.getfixturevalue("writes")
    with ThreadPoolExecutor(len(TABLES)) as pool:
        ends = dict(zip(TABLES, pool.map(play, TABLES), strict=True))

    assert [table for table, error in ends.items() if error] == [wrong]
    assert set(checkpoints.positions()) == {*TABLES} - {wrong}
