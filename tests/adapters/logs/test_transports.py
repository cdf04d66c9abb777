"""Both transports bring the same messages, again and again, and consume nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.adapters.logs.postgresql import walsender
from incremental_assets.adapters.logs.postgresql.peek import peek
from incremental_assets.adapters.logs.postgresql.session import opened
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Spool
from incremental_assets.adapters.logs.postgresql.switching import Switching
from incremental_assets.adapters.logs.postgresql.transport import Transport
from incremental_assets.adapters.logs.postgresql.walsender import Walsender
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from tests.adapters.logs.stand import LogStand


def messages(spool: Spool) -> list[bytes]:
    return [
        block.data[start : start + length].tobytes()
        for block in spool.blocks()
        for start, length in zip(block.starts, block.lengths, strict=True)
    ]


def fetched(stand: LogStand, transport: Transport, *, binary: bool = True) -> list[bytes]:
    with opened(stand.address()) as asked, Spool(Path("/tmp")) as spool:
        transport(asked, stand.slot, stand.flushed(), spool, binary=binary)
        return messages(spool)


@pytest.fixture(params=["sql", "replication", "switching"])
def transport(request: pytest.FixtureRequest, stand: LogStand) -> Transport:
    every: dict[str, Transport] = {
        "sql": peek,
        "replication": Walsender(stand.address()),
        "switching": Switching(Walsender(stand.address())),
    }
    return every[request.param]


def written(stand: LogStand) -> None:
    stand.publish("orders", "id int PRIMARY KEY, at timestamptz, lasted interval")
    stand.execute(
        "INSERT INTO orders VALUES (1, '2024-01-31 12:00:00.5+02', '1 day 2 hours'), (2, NULL, NULL)",
        "UPDATE orders SET id = 3 WHERE id = 1",
        "DELETE FROM orders",
        "CREATE TABLE other AS SELECT generate_series(1, 100)",
    )


@pytest.mark.parametrize("binary", [True, False])
def test_the_messages_are_the_same_by_each_transport_and_each_time(
    stand: LogStand, transport: Transport, binary: bool
) -> None:
    written(stand)
    before = stand.confirmed()
    found = fetched(stand, transport, binary=binary)
    assert [chr(each[0]) for each in found] == list("BRIICBUCBDDC")
    assert found == fetched(stand, peek, binary=binary) == fetched(stand, transport, binary=binary)
    assert stand.confirmed() == before


def test_nothing_to_send_ends_at_once(stand: LogStand, transport: Transport) -> None:
    stand.execute("CREATE TABLE other AS SELECT generate_series(1, 100)")
    assert fetched(stand, transport) == []


def test_the_settings_of_a_role_alter_no_text(stand: LogStand, transport: Transport) -> None:
    written(stand)
    usual = fetched(stand, transport, binary=False)
    user = stand.postgres.user
    odd = {"datestyle": "German", "timezone": "Asia/Tokyo", "intervalstyle": "iso_8601", "bytea_output": "escape"}
    stand.execute(*(f"ALTER ROLE {user} SET {name} = '{value}'" for name, value in odd.items()))
    try:
        assert fetched(stand, transport, binary=False) == usual
    finally:
        stand.execute(f"ALTER ROLE {user} RESET ALL")


def test_a_name_of_any_letters_is_the_publication(stand: LogStand, transport: Transport) -> None:
    stand.execute("""CREATE PUBLICATION "o'dd, ""name" FOR ALL TABLES""", "CREATE TABLE orders (id int PRIMARY KEY)")
    stand.execute("INSERT INTO orders VALUES (1)")
    with opened(stand.address()) as asked, Spool(Path("/tmp")) as spool:
        transport(asked, Slot(stand.slot_name, "o'dd, \"name"), stand.flushed(), spool, binary=True)
        assert [chr(each[0]) for each in messages(spool)] == list("BRIC")


def test_the_slot_may_be_given_up_at_once_afterwards(stand: LogStand, transport: Transport) -> None:
    written(stand)
    with opened(stand.address()) as asked, Spool(Path("/tmp")) as spool:
        transport(asked, stand.slot, stand.flushed(), spool, binary=True)
        asked.execute("SELECT pg_replication_slot_advance($1::name, pg_current_wal_flush_lsn())", (stand.slot_name,))
    assert fetched(stand, transport) == []


def test_what_is_committed_later_does_not_come(stand: LogStand, transport: Transport) -> None:
    stand.publish("orders", "id int PRIMARY KEY")
    stand.execute("INSERT INTO orders VALUES (1)")
    upto = stand.flushed()
    stand.execute(*(f"INSERT INTO orders VALUES ({number})" for number in range(2, 50)))
    with opened(stand.address()) as asked, Spool(Path("/tmp")) as spool:
        transport(asked, stand.slot, upto, spool, binary=True)
        assert [chr(each[0]) for each in messages(spool)] == list("BRIC")


def test_a_transaction_that_no_temporary_file_may_hold_comes_by_replication(stand: LogStand) -> None:
    stand.publish("orders", "id int PRIMARY KEY, note text")
    stand.execute("INSERT INTO orders SELECT g, repeat('x', 100) FROM generate_series(1, 50000) AS g")
    user = stand.postgres.user
    stand.execute(f"ALTER ROLE {user} SET temp_file_limit = '1MB'", f"ALTER ROLE {user} SET work_mem = '64kB'")
    try:
        with pytest.raises(SourceRefused, match="temporary file size exceeds"):
            fetched(stand, peek)
        transport = Switching(Walsender(stand.address()))
        assert len(fetched(stand, transport)) == 50_003
        assert "temporary file size exceeds" in transport.why
    finally:
        stand.execute(f"ALTER ROLE {user} RESET ALL")
    assert len(fetched(stand, transport)) == 50_003
    assert transport.why == ""


def test_the_stream_has_a_place_of_its_own_beside_who_asks_for_it(
    stand: LogStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(stand)
    held = []
    monkeypatch.setattr(walsender, "_leave", lambda _: held.append(address.budget.open))
    address = replace(stand.address(), connections=2)
    with address.budget.look(), opened(address) as asked, Spool(Path("/tmp")) as spool:
        Walsender(address)(asked, stand.slot, stand.flushed(), spool, binary=True)
        assert (held, address.budget.open) == ([2], 1)
    single = replace(address, connections=1)
    with (
        pytest.raises(SourceRefused, match=r"`parallel: {connections: 2}` or more"),
        single.budget.look(),
        opened(single) as asked,
        Spool(Path("/tmp")) as spool,
    ):
        Walsender(single)(asked, stand.slot, stand.flushed(), spool, binary=True)


def test_a_slot_that_another_session_reads_is_named(stand: LogStand, transport: Transport) -> None:
    other = stand.connect(replication="database").pgconn
    other.send_query(
        f"START_REPLICATION SLOT {stand.slot_name} LOGICAL 0/0 (proto_version '1', publication_names 'p')".encode()
    )
    try:
        assert other.get_result() is not None
        with pytest.raises(SourceUnreachable, match="another session reads the replication slot"):
            fetched(stand, transport)
    finally:
        other.finish()


def test_a_role_that_may_not_read_the_log_is_named_with_the_cure(stand: LogStand, transport: Transport) -> None:
    stand.postgres.create_login("no_reader")
    address = stand.address(user="no_reader", password=stand.postgres.password_of("no_reader"))
    if isinstance(transport, Walsender):
        transport = Walsender(address)
    elif isinstance(transport, Switching):
        transport = Switching(Walsender(address))
    with (
        pytest.raises((SourceRefused, SourceUnreachable), match="REPLICATION"),
        opened(address) as asked,
        Spool(Path("/tmp")) as spool,
    ):
        transport(asked, stand.slot, stand.flushed(), spool, binary=True)


def test_a_role_that_may_replicate_and_nothing_else_is_enough(stand: LogStand, transport: Transport) -> None:
    written(stand)
    expected = fetched(stand, peek)
    stand.postgres.create_login("reader")
    stand.execute("ALTER ROLE reader REPLICATION")
    address = stand.address(user="reader", password=stand.postgres.password_of("reader"))
    chosen: dict[type, Transport] = {Walsender: Walsender(address), Switching: Switching(Walsender(address))}
    with opened(address) as asked, Spool(Path("/tmp")) as spool:
        chosen.get(type(transport), peek)(asked, stand.slot, stand.flushed(), spool, binary=True)
        assert messages(spool) == expected
