"""While a transaction stays open the log is read by a session that is kept, in a process of its own: the same rows, each once, whoever dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.logs.postgresql.reading import read_on
from incremental_assets.adapters.logs.postgresql.resident.client import Resident
from incremental_assets.adapters.logs.postgresql.resident.record import Record, record_in, why_not
from incremental_assets.adapters.logs.postgresql.session import opened
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.logs.log_reader import Killed, Reader
from tests.adapters.logs.opening import log_database
from tests.adapters.logs.stand import LogStand

MEGABYTE = 2**20


class KeptReader(Reader):
    """A reader who finds a megabyte in vain too much."""

    def __init__(self, stand: LogStand, lake: Path, **changes: Any) -> None:
        super().__init__(stand, lake)
        address = replace(stand.address(), connections=4, **changes)
        own_folder(self.shelf.folder)
        self.resident = Resident(address, stand.slot, self.shelf.folder, begins_at=MEGABYTE, ends_at=MEGABYTE // 4)
        self.log = replace(self.log, resident=self.resident)

    @property
    def record(self) -> Record | None:
        return record_in(self.shelf.folder)

    @property
    def session(self) -> int | None:
        """The session of the source that is kept."""
        return self.record.pid if self.record else None


@pytest.fixture
def reader(stand: LogStand, tmp_path: Path) -> Iterator[KeptReader]:
    found = KeptReader(stand, tmp_path)
    yield found
    with stand.asked() as asked:
        found.resident.end(asked)


@pytest.fixture
def blocker(stand: LogStand) -> psycopg.Connection[Any]:
    """A transaction that has written a table that nobody follows, and stays open."""
    stand.execute("CREATE TABLE elsewhere (id int)")
    session = stand.connect(autocommit=False)
    session.execute("INSERT INTO elsewhere VALUES (1)")
    return session


def write_log(stand: LogStand, megabytes: int = 2) -> None:
    """Of no table, and behind it what tells the server which transactions run."""
    stand.execute(
        *["SELECT pg_logical_emit_message(false, 'x', repeat('x', 1048576))"] * megabytes,
        "SELECT pg_log_standby_snapshot()",
    )


def held(stand: LogStand, reader: KeptReader) -> int:
    """Have the server decode more in vain than is worth it, and the reader keep a session; the table that he follows."""
    oid = reader.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    reader.read()
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    reader.read()
    assert reader.session is not None
    return oid


def notes(reader: KeptReader, oid: int) -> list[object]:
    return [row["note"] for row in reader.rows(oid)]


def reader_of(stand: LogStand) -> int | None:
    found = stand.value(f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{stand.slot_name}'")
    return None if found is None else int(found)


def until(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_one_session_reads_range_after_range_while_a_transaction_is_open(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    session = reader.session
    for number in range(1, 5):
        stand.execute(
            f"INSERT INTO orders VALUES ({number}, 'row {number}')", f"DELETE FROM orders WHERE id = {number - 1}"
        )
        reader.read()
        assert (reader.session, reader_of(stand)) == (session, session)
    assert notes(reader, oid) == ["before", "row 1", None, "row 2", None, "row 3", None, "row 4", None]


@pytest.mark.acceptance
def test_its_position_is_durable_in_the_source_too(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, reader)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    position = reader.read().standing.position
    until(lambda: stand.confirmed() == position)


@pytest.mark.acceptance
def test_it_ends_with_the_transaction_and_the_log_is_read_by_sql_again(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    blocker.commit()
    write_log(stand)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    reader.read()
    write_log(stand, 1)
    reader.read()
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    reader.read()
    assert (reader.record, reader_of(stand)) == (None, None)
    assert notes(reader, oid) == ["before", "row 1", "row 2"]


def test_without_an_open_transaction_no_session_is_kept(stand: LogStand, reader: KeptReader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY, note text")
    for number in range(3):
        write_log(stand)
        stand.execute(f"INSERT INTO orders VALUES ({number}, 'row {number}')")
        reader.read()
        assert reader.record is None
    assert notes(reader, oid) == ["row 0", "row 1", "row 2"]


@pytest.mark.parametrize("step", ["decode", pytest.param("finish", marks=pytest.mark.acceptance)])
def test_a_range_that_was_given_to_a_process_that_died_comes_again(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any], step: str
) -> None:
    oid = held(stand, reader)

    def dies(name: str) -> None:
        if name == step:
            raise Killed

    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    with pytest.raises(Killed):
        reader.read(dies)
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    reader.read()
    assert notes(reader, oid) == ["before", "row 1", "row 2"]


@pytest.mark.acceptance
def test_a_process_that_died_before_it_gave_up_the_range_costs_nothing(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)

    def dies(name: str) -> None:
        if name == "advance":
            raise Killed

    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    with pytest.raises(Killed):
        reader.read(dies)
    session, position = reader.session, reader.read().standing.position
    until(lambda: stand.confirmed() == position)
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    reader.read()
    assert notes(reader, oid) == ["before", "row 1", "row 2"]
    assert session is not None


def owner_of(session: int, stand: LogStand) -> ProcessIdentity:
    """The process of this machine at the other end of a session."""
    port = stand.value(f"SELECT client_port FROM pg_stat_activity WHERE pid = {session}")
    (pid,) = {
        each.pid
        for each in psutil.net_connections("tcp")
        if each.laddr and each.laddr.port == port and each.pid is not None
    }
    return ProcessIdentity.of(pid)


def test_a_kept_process_that_is_killed_is_replaced(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    first = reader.session
    assert first is not None
    os.kill(owner_of(first, stand).pid, signal.SIGKILL)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    reader.read()
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    reader.read()
    assert notes(reader, oid) == ["before", "row 1", "row 2"]
    assert reader.session not in {None, first}


@pytest.mark.acceptance
def test_one_that_stands_still_on_another_machine_is_ended_by_the_source(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    first = reader.record
    assert first is not None
    owner = owner_of(first.pid, stand)
    replace(first, socket="/nowhere/log").write(reader.shelf.folder)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    reader.read()
    assert notes(reader, oid) == ["before", "row 1"]
    until(lambda: owner.is_gone)


@pytest.mark.acceptance
def test_a_session_that_the_server_ends_is_replaced(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    stand.execute(f"SELECT pg_terminate_backend({reader.session})")
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    reader.read()
    assert notes(reader, oid) == ["before", "row 1"]


def test_a_table_whose_columns_change_meanwhile_is_read_by_the_new_ones(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')", "ALTER TABLE orders ADD COLUMN more int")
    stand.execute("INSERT INTO orders VALUES (2, 'row 2', 22)")
    reader.read()
    stand.execute("INSERT INTO orders VALUES (3, 'row 3', 33)", "ALTER TABLE orders DROP COLUMN more")
    stand.execute("INSERT INTO orders VALUES (4, 'row 4')")
    reader.read()
    stand.execute("INSERT INTO orders VALUES (5, 'row 5')")
    reader.read()
    found = [(row["note"], row.get("more")) for row in reader.rows(oid)]
    assert found == [("before", None), ("row 1", None), ("row 2", 22), ("row 3", 33), ("row 4", None), ("row 5", None)]


def test_a_publication_that_is_altered_is_read_by_a_new_session(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    first = reader.session
    stand.publish("others", "id int PRIMARY KEY")
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    reader.read()
    assert reader.session not in {None, first}
    assert notes(reader, oid) == ["before", "row 1"]


def test_a_table_that_is_partitioned_is_read_by_sql_as_only_a_new_session_names_partitions(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, reader)
    oid = reader.follow("parts", "id int PRIMARY KEY) PARTITION BY RANGE (id")
    stand.execute("CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)", "INSERT INTO parts VALUES (1)")
    reader.read()
    stand.execute("INSERT INTO parts VALUES (2)")
    last = reader.read().manifest
    part = int(stand.value("SELECT 'part_1'::regclass::oid::bigint"))
    assert reader.record is None
    assert last is not None
    assert last.parts == {oid: (part,)}


@pytest.mark.acceptance
def test_only_what_was_committed_by_then_is_taken(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    stand.execute(*(f"INSERT INTO orders VALUES ({number}, 'row {number}')" for number in range(1, 50)))
    half = stand.flushed()
    stand.execute(*(f"INSERT INTO orders VALUES ({number}, 'row {number}')" for number in range(50, 100)))
    with stand.asked() as asked:
        before = reader.shelf.standing()
        assert before is not None
        read_on(asked, reader.log, reader.followed, most=half - before.position)
    assert len(reader.rows(oid)) == 50
    reader.read()
    assert notes(reader, oid) == ["before", *(f"row {number}" for number in range(1, 100))]


@pytest.mark.acceptance
def test_a_transaction_of_many_rows_comes_whole(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    stand.execute("INSERT INTO orders SELECT g, 'row' FROM generate_series(1, 20000) AS g", "TRUNCATE orders")
    reader.read()
    assert len(reader.rows(oid)) == 20_002


@pytest.mark.acceptance
def test_a_server_that_is_stopped_does_not_wait_for_it(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    owner = owner_of(reader.session or 0, stand)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    with suppress(psycopg.Error):
        blocker.close()
    began = time.monotonic()
    stand.postgres.restart()
    assert time.monotonic() - began < 30
    until(lambda: owner.is_gone)
    reader.read()
    assert notes(reader, oid) == ["before", "row 1"]


@pytest.mark.acceptance
def test_it_ends_when_its_record_is_no_more(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, reader)
    owner = owner_of(reader.session or 0, stand)
    (reader.shelf.folder / "reader.json").unlink()
    until(lambda: owner.is_gone)
    until(lambda: reader_of(stand) is None)


@pytest.mark.acceptance
def test_few_connections_are_not_kept_busy(stand: LogStand, tmp_path: Path, blocker: psycopg.Connection[Any]) -> None:
    reader = KeptReader(stand, tmp_path)
    few = replace(reader.resident, address=replace(reader.resident.address, connections=3))
    reader.log = replace(reader.log, resident=few)
    reader.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    reader.read()
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    reader.read()
    assert reader.record is None


@pytest.mark.acceptance
def test_the_password_is_neither_in_the_list_of_processes_nor_beside_the_segments(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, reader)
    pid = owner_of(reader.session or 0, stand).pid
    password = stand.address().password
    assert password
    assert password.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert all(password.encode() not in each.read_bytes() for each in reader.shelf.folder.glob("*") if each.is_file())


@pytest.mark.acceptance
def test_none_is_kept_while_others_have_all_places_of_the_source(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any], tmp_path: Path
) -> None:
    address = replace(reader.resident.address, counted_in=str(tmp_path / "counted"))
    reader.log = replace(reader.log, resident=replace(reader.resident, address=address))
    oid = reader.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    reader.read()
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    with address.budget.readers(3) as places:
        assert places == 3
        reader.read()
        assert reader.session is None
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    reader.read()
    assert reader_of(stand) is not None
    assert notes(reader, oid) == ["before", "row 1"]


@pytest.mark.acceptance
def test_a_place_that_another_one_takes_at_the_same_time_is_asked_for_again_with_the_next_range(
    stand: LogStand,
    reader: KeptReader,
    blocker: psycopg.Connection[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = replace(reader.resident.address, counted_in=str(tmp_path / "counted"))
    reader.log = replace(reader.log, resident=replace(reader.resident, address=address))
    reader.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    reader.read()
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    with address.budget.readers(3), monkeypatch.context() as patch:
        patch.setattr(Budget, "kept", lambda _: nullcontext(True))
        reader.read()
    assert (reader.session, why_not(reader.shelf.folder)) == (None, "")
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    reader.read()
    assert reader_of(stand) is not None


@pytest.mark.acceptance
def test_one_that_says_nothing_for_a_minute_is_ended(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    owner = owner_of(reader.session or 0, stand)
    os.kill(owner.pid, signal.SIGSTOP)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    try:
        reader.read()
    finally:
        os.kill(owner.pid, signal.SIGCONT)
    until(lambda: owner.is_gone)
    assert notes(reader, oid) == ["before", "row 1"]


@pytest.mark.acceptance
def test_why_none_can_be_kept_is_told_and_it_is_not_tried_with_every_range(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    reader.read()
    stand.postgres.create_login("narrow")
    password = stand.postgres.password_of("narrow")
    narrow = replace(reader.resident.address, user="narrow", password=password)
    reader.log = replace(reader.log, resident=replace(reader.resident, address=narrow))
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    reader.read()
    assert "REPLICATION" in why_not(reader.shelf.folder)
    stand.execute("ALTER ROLE narrow REPLICATION", "INSERT INTO orders VALUES (1, 'row 1')")
    reader.read()
    assert reader.record is None
    (reader.shelf.folder / "no_reader.txt").unlink()
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    reader.read()
    assert reader.record is not None
    assert notes(reader, oid) == ["before", "row 1", "row 2"]


@pytest.mark.acceptance
def test_one_of_another_user_whom_the_new_one_may_not_end_ends_by_itself(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    owner = owner_of(reader.session or 0, stand)
    user = f"user_{stand.database}"
    stand.execute(f"CREATE ROLE {user} LOGIN REPLICATION PASSWORD 'other' IN ROLE pg_monitor")
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    address = replace(reader.resident.address, user=user, password="other")
    reader.log = replace(reader.log, resident=replace(reader.resident, address=address))
    with opened(address) as asked:
        read_on(asked, reader.log, reader.followed)
    assert notes(reader, oid) == ["before", "row 1"]
    assert owner.is_gone


@pytest.mark.acceptance
def test_the_slot_of_one_that_has_ended_is_waited_for(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, reader)
    session = reader.session or 0
    owner = owner_of(session, stand)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    os.kill(session, signal.SIGSTOP)
    goes_on = threading.Timer(3, os.kill, (session, signal.SIGCONT))
    goes_on.start()
    os.kill(owner.pid, signal.SIGTERM)
    until(lambda: owner.is_gone)
    try:
        reader.read()
    finally:
        goes_on.join()
    assert notes(reader, oid) == ["before", "row 1"]


@pytest.mark.acceptance
def test_a_server_that_asks_every_second_whether_it_is_there_does_not_keep_it_from_ending(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    stand.execute(f"ALTER DATABASE {stand.database} SET wal_sender_timeout = '3s'")
    held(stand, reader)
    owner = owner_of(reader.session or 0, stand)
    (reader.shelf.folder / "reader.json").unlink()
    until(lambda: owner.is_gone)


@pytest.mark.acceptance
def test_a_server_that_says_nothing_any_more_is_not_waited_for_for_ever(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    address = replace(reader.resident.address, socket_timeout=timedelta(seconds=3))
    reader.log = replace(reader.log, resident=replace(reader.resident, address=address))
    oid = held(stand, reader)
    session = reader.session or 0
    os.kill(session, signal.SIGSTOP)
    goes_on = threading.Timer(20, os.kill, (session, signal.SIGCONT))
    goes_on.start()
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    began = time.monotonic()
    try:
        reader.read()
    finally:
        goes_on.join()
    assert reader.session != session, f"it was waited for {time.monotonic() - began:.0f} seconds"
    assert notes(reader, oid) == ["before", "row 1"]


@pytest.mark.acceptance
@pytest.mark.parametrize("named", ["*", "incremental-assets"])
def test_a_commit_that_waits_for_a_standby_does_not_take_it_for_one(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any], named: str
) -> None:
    oid = held(stand, reader)
    reload = "SELECT pg_reload_conf()"
    stand.execute(f"ALTER SYSTEM SET synchronous_standby_names = '\"{named}\"'", reload)
    waiting = stand.connect()
    with ThreadPoolExecutor(1) as pool:
        until(lambda: stand.value("SHOW synchronous_standby_names") == f'"{named}"')
        commit = pool.submit(waiting.execute, "INSERT INTO orders VALUES (1, 'row 1')")
        try:
            until(lambda: stand.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 1)
            reader.read()
            reader.read()
            time.sleep(1)
            assert not commit.done()
            assert notes(reader, oid) == ["before", "row 1"]
        finally:
            stand.execute("ALTER SYSTEM RESET synchronous_standby_names", reload)


@pytest.mark.acceptance
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "WIN1252"])
def test_a_database_of_another_encoding_is_read_by_one_too(
    logged: EmbeddedPostgres, tmp_path: Path, encoding: str
) -> None:
    with log_database(logged, encoding) as name:
        stand = LogStand(logged, name, f"slot_{name}")
        stand.execute("CREATE PUBLICATION p WITH (publish_via_partition_root)", "CREATE TABLE elsewhere (id int)")
        stand.make_slot()
        reader, blocker = KeptReader(stand, tmp_path), stand.connect(autocommit=False)
        blocker.execute("INSERT INTO elsewhere VALUES (1)")
        oid = held(stand, reader)
        stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
        reader.read()
        with stand.asked() as asked:
            reader.resident.end(asked)
        stand.close()
        assert notes(reader, oid) == ["before", "row 1"]


def test_it_finds_what_the_environment_names_where_a_run_does(
    stand: LogStand, reader: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, reader)
    owner = owner_of(reader.session or 0, stand)
    assert Path(f"/proc/{owner.pid}/cwd").readlink() == Path.cwd()
