"""A slot or a server that is not what was read stops a read by name, and nothing of the log is given up."""

from __future__ import annotations

import pytest

from incremental_assets.core.errors import SourceExchanged, SourceRefused, SourceUnreachable
from tests.adapters.logs.log_reader import Reader


def test_a_slot_that_somebody_else_has_read_stops_by_name(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    reader.stand.execute(f"SELECT pg_replication_slot_advance('{reader.stand.slot_name}', pg_current_wal_lsn())")
    with pytest.raises(SourceRefused, match=r"stands at .*, ahead of .*: another program reads it"):
        reader.read()
    assert reader.shelf.names() == []


def test_a_slot_that_somebody_else_reads_between_the_look_and_the_read_stops_by_name(reader: Reader) -> None:
    oid = reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)")
    before = reader.shelf.standing()

    def taken(moment: str) -> None:
        if moment == "spool":
            reader.stand.execute(
                f"SELECT pg_replication_slot_advance('{reader.stand.slot_name}', pg_current_wal_flush_lsn())"
            )

    with pytest.raises(SourceRefused, match=r"stands at .*, ahead of .*: another program reads it"):
        reader.read(taken)
    assert reader.shelf.standing() == before
    assert reader.rows(oid) == []


def test_a_slot_that_is_gone_stops_by_name(reader: Reader) -> None:
    reader.read()
    reader.stand.execute(f"SELECT pg_drop_replication_slot('{reader.stand.slot_name}')")
    with pytest.raises(SourceRefused, match=r"there is no replication slot slot_\w+; run SELECT pg_create_logical"):
        reader.read()


def test_a_slot_that_was_made_again_stops_by_name(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute(
        f"SELECT pg_drop_replication_slot('{reader.stand.slot_name}')", "INSERT INTO orders VALUES (1)"
    )
    reader.stand.make_slot()
    with pytest.raises(SourceRefused, match="ahead of"):
        reader.read()


def test_a_slot_that_the_server_has_given_up_stops_by_name(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()")
    try:
        for _ in range(4):
            reader.stand.execute(
                "INSERT INTO orders SELECT coalesce(max(id), 0) + 1 FROM orders", "SELECT pg_switch_wal()"
            )
        reader.stand.execute("CHECKPOINT")
        with pytest.raises(
            SourceRefused, match=r"has given up the replication slot .*_removed.*`max_slot_wal_keep_size`"
        ):
            reader.read()
    finally:
        reader.stand.execute("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")


def test_a_publication_that_is_gone_stops_by_name(reader: Reader) -> None:
    reader.follow("orders", "id int PRIMARY KEY")
    reader.read()
    reader.stand.execute("INSERT INTO orders VALUES (1)", "DROP PUBLICATION p", "INSERT INTO orders VALUES (2)")
    with pytest.raises(SourceRefused, match="there is no publication p, without which the server sends no row"):
        reader.read()


def test_a_publication_that_leaves_deletes_out_stops_by_name(reader: Reader) -> None:
    reader.read()
    reader.stand.execute("ALTER PUBLICATION p SET (publish = 'insert, update')")
    with pytest.raises(SourceRefused, match="leaves out delete, truncate"):
        reader.read()


def test_another_cluster_behind_the_address_stops_by_name(reader: Reader) -> None:
    reader.read()
    path = reader.shelf.folder / "standing.json"
    system = reader.stand.value("SELECT system_identifier::text FROM pg_control_system()")
    path.write_text(path.read_text().replace(system, "7000000000000000001"))
    with pytest.raises(SourceExchanged, match="another database cluster answers"):
        reader.read()


def test_a_slot_that_is_being_read_is_waited_for(reader: Reader) -> None:
    reader.read()
    other = reader.stand.connect(replication="database").pgconn
    start = f"START_REPLICATION SLOT {reader.stand.slot_name} LOGICAL 0/0 (proto_version '1', publication_names 'p')"
    other.send_query(start.encode())
    try:
        assert other.get_result() is not None
        with pytest.raises(SourceUnreachable, match=r"is being read by the session \d+ of the source"):
            reader.read()
    finally:
        other.finish()
