"""A session that is kept of the log holds up nobody: not the server, its standbys, other readers of the source, nor whoever ends it."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.logs.postgresql.reading import read_on
from incremental_assets.adapters.logs.postgresql.resident.record import why_not
from incremental_assets.adapters.logs.postgresql.session import opened
from tests.adapters.logs.kept_reader import KeptReader, held, notes, owner_of, reader_of, write_log
from tests.adapters.logs.stand import LogStand
from tests.waiting import until


@pytest.mark.acceptance
def test_a_server_that_is_stopped_does_not_wait_for_it(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    owner = owner_of(kept.session or 0, stand)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    with suppress(psycopg.Error):
        blocker.close()
    began = time.monotonic()
    stand.postgres.restart()
    assert time.monotonic() - began < 30
    until(lambda: owner.is_gone)
    kept.read()
    assert notes(kept, oid) == ["before", "row 1"]


@pytest.mark.acceptance
def test_it_ends_when_its_record_is_no_more(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, kept)
    owner = owner_of(kept.session or 0, stand)
    (kept.shelf.folder / "reader.json").unlink()
    until(lambda: owner.is_gone)
    until(lambda: reader_of(stand) is None)


@pytest.mark.acceptance
def test_few_connections_are_not_kept_busy(stand: LogStand, tmp_path: Path, blocker: psycopg.Connection[Any]) -> None:
    kept = KeptReader(stand, tmp_path)
    few = replace(kept.resident, address=replace(kept.resident.address, connections=3))
    kept.log = replace(kept.log, resident=few)
    kept.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    kept.read()
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    kept.read()
    assert kept.record is None


@pytest.mark.acceptance
def test_the_password_is_neither_in_the_list_of_processes_nor_beside_the_segments(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, kept)
    pid = owner_of(kept.session or 0, stand).pid
    password = stand.address().password
    assert password
    assert password.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert all(password.encode() not in each.read_bytes() for each in kept.shelf.folder.glob("*") if each.is_file())


@pytest.mark.acceptance
def test_none_is_kept_while_others_have_all_places_of_the_source(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any], tmp_path: Path
) -> None:
    address = replace(kept.resident.address, counted_in=str(tmp_path / "counted"))
    kept.log = replace(kept.log, resident=replace(kept.resident, address=address))
    oid = kept.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    kept.read()
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    with address.budget.readers(3) as places:
        assert places == 3
        kept.read()
        assert kept.session is None
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    kept.read()
    assert reader_of(stand) is not None
    assert notes(kept, oid) == ["before", "row 1"]


@pytest.mark.acceptance
def test_a_place_that_another_one_takes_at_the_same_time_is_asked_for_again_with_the_next_range(
    stand: LogStand,
    kept: KeptReader,
    blocker: psycopg.Connection[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = replace(kept.resident.address, counted_in=str(tmp_path / "counted"))
    kept.log = replace(kept.log, resident=replace(kept.resident, address=address))
    kept.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    kept.read()
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    with address.budget.readers(3), monkeypatch.context() as patch:
        patch.setattr(Budget, "kept", lambda _: nullcontext(True))
        kept.read()
    assert (kept.session, why_not(kept.shelf.folder)) == (None, "")
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    kept.read()
    assert reader_of(stand) is not None


@pytest.mark.acceptance
def test_one_that_says_nothing_for_a_minute_is_ended(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    owner = owner_of(kept.session or 0, stand)
    os.kill(owner.pid, signal.SIGSTOP)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    try:
        kept.read()
    finally:
        os.kill(owner.pid, signal.SIGCONT)
    until(lambda: owner.is_gone)
    assert notes(kept, oid) == ["before", "row 1"]


@pytest.mark.acceptance
def test_why_none_can_be_kept_is_told_and_it_is_not_tried_with_every_range(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = kept.follow("orders", "id int PRIMARY KEY, note text")
    write_log(stand)
    kept.read()
    stand.postgres.create_login("narrow")
    password = stand.postgres.password_of("narrow")
    narrow = replace(kept.resident.address, user="narrow", password=password)
    kept.log = replace(kept.log, resident=replace(kept.resident, address=narrow))
    stand.execute("INSERT INTO orders VALUES (0, 'before')")
    kept.read()
    assert "REPLICATION" in why_not(kept.shelf.folder)
    stand.execute("ALTER ROLE narrow REPLICATION", "INSERT INTO orders VALUES (1, 'row 1')")
    kept.read()
    assert kept.record is None
    (kept.shelf.folder / "no_reader.txt").unlink()
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    kept.read()
    assert kept.record is not None
    assert notes(kept, oid) == ["before", "row 1", "row 2"]


@pytest.mark.acceptance
def test_one_of_another_user_whom_the_new_one_may_not_end_ends_by_itself(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    owner = owner_of(kept.session or 0, stand)
    user = f"user_{stand.database}"
    stand.execute(f"CREATE ROLE {user} LOGIN REPLICATION PASSWORD 'other' IN ROLE pg_monitor")
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    address = replace(kept.resident.address, user=user, password="other")
    kept.log = replace(kept.log, resident=replace(kept.resident, address=address))
    with opened(address) as asked:
        read_on(asked, kept.log, kept.followed)
    assert notes(kept, oid) == ["before", "row 1"]
    assert owner.is_gone


@pytest.mark.acceptance
def test_the_slot_of_one_that_has_ended_is_waited_for(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    session = kept.session or 0
    owner = owner_of(session, stand)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    os.kill(session, signal.SIGSTOP)
    goes_on = threading.Timer(3, os.kill, (session, signal.SIGCONT))
    goes_on.start()
    os.kill(owner.pid, signal.SIGTERM)
    until(lambda: owner.is_gone)
    try:
        kept.read()
    finally:
        goes_on.join()
    assert notes(kept, oid) == ["before", "row 1"]


@pytest.mark.acceptance
def test_a_server_that_asks_every_second_whether_it_is_there_does_not_keep_it_from_ending(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    stand.execute(f"ALTER DATABASE {stand.database} SET wal_sender_timeout = '3s'")
    held(stand, kept)
    owner = owner_of(kept.session or 0, stand)
    (kept.shelf.folder / "reader.json").unlink()
    until(lambda: owner.is_gone)


@pytest.mark.acceptance
def test_a_server_that_says_nothing_any_more_is_not_waited_for_for_ever(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    address = replace(kept.resident.address, socket_timeout=timedelta(seconds=3))
    kept.log = replace(kept.log, resident=replace(kept.resident, address=address))
    oid = held(stand, kept)
    session = kept.session or 0
    os.kill(session, signal.SIGSTOP)
    goes_on = threading.Timer(20, os.kill, (session, signal.SIGCONT))
    goes_on.start()
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    began = time.monotonic()
    try:
        kept.read()
    finally:
        goes_on.join()
    assert kept.session != session, f"it was waited for {time.monotonic() - began:.0f} seconds"
    assert notes(kept, oid) == ["before", "row 1"]


@pytest.mark.acceptance
@pytest.mark.parametrize("named", ["*", "incremental-assets"])
def test_a_commit_that_waits_for_a_standby_does_not_take_it_for_one(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any], named: str
) -> None:
    oid = held(stand, kept)
    reload = "SELECT pg_reload_conf()"
    stand.execute(f"ALTER SYSTEM SET synchronous_standby_names = '\"{named}\"'", reload)
    waiting = stand.connect()
    with ThreadPoolExecutor(1) as pool:
        until(lambda: stand.value("SHOW synchronous_standby_names") == f'"{named}"')
        commit = pool.submit(waiting.execute, "INSERT INTO orders VALUES (1, 'row 1')")
        try:
            until(lambda: stand.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 1)
            kept.read()
            kept.read()
            time.sleep(1)
            assert not commit.done()
            assert notes(kept, oid) == ["before", "row 1"]
        finally:
            stand.execute("ALTER SYSTEM RESET synchronous_standby_names", reload)


def test_it_finds_what_the_environment_names_where_a_run_does(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, kept)
    owner = owner_of(kept.session or 0, stand)
    assert Path(f"/proc/{owner.pid}/cwd").readlink() == Path.cwd()
