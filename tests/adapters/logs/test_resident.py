"""While a transaction stays open the log is read by a session that is kept, in a process of its own: the same rows, each once, whoever dies."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters.logs.postgresql.reading import read_on
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.logs.kept_reader import KeptReader, held, notes, owner_of, reader_of, write_log
from tests.adapters.logs.log_reader import Killed
from tests.adapters.logs.opening import log_database
from tests.adapters.logs.stand import LogStand
from tests.waiting import until


def test_one_session_reads_range_after_range_while_a_transaction_is_open(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    session = kept.session
    for number in range(1, 5):
        stand.execute(
            f"INSERT INTO orders VALUES ({number}, 'row {number}')", f"DELETE FROM orders WHERE id = {number - 1}"
        )
        kept.read()
        assert (kept.session, reader_of(stand)) == (session, session)
    assert notes(kept, oid) == ["before", "row 1", None, "row 2", None, "row 3", None, "row 4", None]


@pytest.mark.acceptance
def test_its_position_is_durable_in_the_source_too(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, kept)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    position = kept.read().standing.position
    until(lambda: stand.confirmed() == position)


@pytest.mark.acceptance
def test_it_ends_with_the_transaction_and_the_log_is_read_by_sql_again(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    blocker.commit()
    write_log(stand)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    kept.read()
    write_log(stand, 1)
    kept.read()
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    kept.read()
    assert (kept.record, reader_of(stand)) == (None, None)
    assert notes(kept, oid) == ["before", "row 1", "row 2"]


def test_without_an_open_transaction_no_session_is_kept(stand: LogStand, kept: KeptReader) -> None:
    oid = kept.follow("orders", "id int PRIMARY KEY, note text")
    for number in range(3):
        write_log(stand)
        stand.execute(f"INSERT INTO orders VALUES ({number}, 'row {number}')")
        kept.read()
        assert kept.record is None
    assert notes(kept, oid) == ["row 0", "row 1", "row 2"]


@pytest.mark.parametrize("step", ["decode", pytest.param("finish", marks=pytest.mark.acceptance)])
def test_a_range_that_was_given_to_a_process_that_died_comes_again(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any], step: str
) -> None:
    oid = held(stand, kept)

    def dies(name: str) -> None:
        if name == step:
            raise Killed

    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    with pytest.raises(Killed):
        kept.read(dies)
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    kept.read()
    assert notes(kept, oid) == ["before", "row 1", "row 2"]


@pytest.mark.acceptance
def test_a_process_that_died_before_it_gave_up_the_range_costs_nothing(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)

    def dies(name: str) -> None:
        if name == "advance":
            raise Killed

    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    with pytest.raises(Killed):
        kept.read(dies)
    session, position = kept.session, kept.read().standing.position
    until(lambda: stand.confirmed() == position)
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    kept.read()
    assert notes(kept, oid) == ["before", "row 1", "row 2"]
    assert session is not None


def test_a_kept_process_that_is_killed_is_replaced(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    first = kept.session
    assert first is not None
    os.kill(owner_of(first, stand).pid, signal.SIGKILL)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    kept.read()
    stand.execute("INSERT INTO orders VALUES (2, 'row 2')")
    kept.read()
    assert notes(kept, oid) == ["before", "row 1", "row 2"]
    assert kept.session not in {None, first}


@pytest.mark.acceptance
def test_one_that_stands_still_on_another_machine_is_ended_by_the_source(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    first = kept.record
    assert first is not None
    owner = owner_of(first.pid, stand)
    replace(first, socket="/nowhere/log").write(kept.shelf.folder)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    kept.read()
    assert notes(kept, oid) == ["before", "row 1"]
    until(lambda: owner.is_gone)


@pytest.mark.acceptance
def test_a_session_that_the_server_ends_is_replaced(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    stand.execute(f"SELECT pg_terminate_backend({kept.session})")
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    kept.read()
    assert notes(kept, oid) == ["before", "row 1"]


def test_a_table_whose_columns_change_meanwhile_is_read_by_the_new_ones(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')", "ALTER TABLE orders ADD COLUMN more int")
    stand.execute("INSERT INTO orders VALUES (2, 'row 2', 22)")
    kept.read()
    stand.execute("INSERT INTO orders VALUES (3, 'row 3', 33)", "ALTER TABLE orders DROP COLUMN more")
    stand.execute("INSERT INTO orders VALUES (4, 'row 4')")
    kept.read()
    stand.execute("INSERT INTO orders VALUES (5, 'row 5')")
    kept.read()
    found = [(row["note"], row.get("more")) for row in kept.rows(oid)]
    assert found == [("before", None), ("row 1", None), ("row 2", 22), ("row 3", 33), ("row 4", None), ("row 5", None)]


def test_a_publication_that_is_altered_is_read_by_a_new_session(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    first = kept.session
    stand.publish("others", "id int PRIMARY KEY")
    stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
    kept.read()
    assert kept.session not in {None, first}
    assert notes(kept, oid) == ["before", "row 1"]


def test_a_table_that_is_partitioned_is_read_by_sql_as_only_a_new_session_names_partitions(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    held(stand, kept)
    oid = kept.follow("parts", "id int PRIMARY KEY) PARTITION BY RANGE (id")
    stand.execute("CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)", "INSERT INTO parts VALUES (1)")
    kept.read()
    stand.execute("INSERT INTO parts VALUES (2)")
    last = kept.read().manifest
    part = int(stand.value("SELECT 'part_1'::regclass::oid::bigint"))
    assert kept.record is None
    assert last is not None
    assert last.parts == {oid: (part,)}


@pytest.mark.acceptance
def test_only_what_was_committed_by_then_is_taken(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    stand.execute(*(f"INSERT INTO orders VALUES ({number}, 'row {number}')" for number in range(1, 50)))
    half = stand.flushed()
    stand.execute(*(f"INSERT INTO orders VALUES ({number}, 'row {number}')" for number in range(50, 100)))
    with stand.asked() as asked:
        before = kept.shelf.standing()
        assert before is not None
        read_on(asked, kept.log, kept.followed, most=half - before.position)
    assert len(kept.rows(oid)) == 50
    kept.read()
    assert notes(kept, oid) == ["before", *(f"row {number}" for number in range(1, 100))]


@pytest.mark.acceptance
def test_a_transaction_of_many_rows_comes_whole(
    stand: LogStand, kept: KeptReader, blocker: psycopg.Connection[Any]
) -> None:
    oid = held(stand, kept)
    stand.execute("INSERT INTO orders SELECT g, 'row' FROM generate_series(1, 20000) AS g", "TRUNCATE orders")
    kept.read()
    assert len(kept.rows(oid)) == 20_002


@pytest.mark.acceptance
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "WIN1252"])
def test_a_database_of_another_encoding_is_read_by_one_too(
    logged: EmbeddedPostgres, tmp_path: Path, encoding: str
) -> None:
    with log_database(logged, encoding) as name:
        stand = LogStand(logged, name, f"slot_{name}")
        stand.execute("CREATE PUBLICATION p WITH (publish_via_partition_root)", "CREATE TABLE elsewhere (id int)")
        stand.make_slot()
        kept, blocker = KeptReader(stand, tmp_path), stand.connect(autocommit=False)
        blocker.execute("INSERT INTO elsewhere VALUES (1)")
        oid = held(stand, kept)
        stand.execute("INSERT INTO orders VALUES (1, 'row 1')")
        kept.read()
        with stand.asked() as asked:
            kept.resident.end(asked)
        stand.close()
        assert notes(kept, oid) == ["before", "row 1"]
