"""What a kept session has sent is taken up to any commit, and each range says what its tables' columns are, as a session of its own would."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from incremental_assets.adapters.logs.postgresql.replication import BEFORE_BYTES
from incremental_assets.adapters.logs.postgresql.resident.pending import Pending

ORDERS, ITEMS = 7, 8


def sent(letter: str, body: bytes = b"") -> bytes:
    return b"w" + bytes(BEFORE_BYTES - 1) + letter.encode() + body


def said_in(message: bytes) -> bytes:
    return message[BEFORE_BYTES:]


def begin() -> bytes:
    return sent("B", bytes(20))


def commit(end: int) -> bytes:
    return sent("C", struct.pack(">bQQq", 0, end - 1, end, 0))


def columns(table: int, said: str) -> bytes:
    return sent("R", struct.pack(">I", table) + said.encode())


def row(table: int, letter: str = "I") -> bytes:
    return sent(letter, struct.pack(">I", table) + b"N")


def truncated(*tables: int) -> bytes:
    return sent("T", struct.pack(f">Ib{len(tables)}I", len(tables), 0, *tables))


@pytest.fixture
def pending(tmp_path: Path) -> Pending:
    return Pending(tmp_path)


def add(pending: Pending, *messages: bytes) -> None:
    for message in messages:
        pending.add(message)


def taken(pending: Pending, upto: int) -> tuple[list[bytes], list[bytes]]:
    """What is said before the range, without what stands between two tables, and the range."""
    assert pending.reaches(upto)
    found, (messages, lengths) = pending.take(upto)
    messages.seek(0)
    lengths.seek(0)
    sizes = struct.unpack(f"={found.messages}I", lengths.read(4 * found.messages))
    range_ = [messages.read(size) for size in sizes]
    assert sum(sizes) == found.bytes
    return [each for each in found.before if said_in(each) != b"M"], range_


def test_a_range_ends_with_the_transaction_that_reaches_the_position(pending: Pending) -> None:
    first = [begin(), columns(ORDERS, "a"), row(ORDERS), commit(10)]
    second = [begin(), row(ORDERS), commit(20)]
    third = [begin(), row(ORDERS), commit(30)]
    add(pending, *first, *second, *third)
    assert taken(pending, 11) == ([], [*first, *second])
    assert taken(pending, 30) == ([columns(ORDERS, "a")], third)


def test_a_position_is_reached_by_a_commit_or_by_the_server_s_word_between_two_transactions(pending: Pending) -> None:
    add(pending, begin(), columns(ORDERS, "a"), row(ORDERS))
    pending.sent = 50
    assert not pending.reaches(20)
    add(pending, commit(10))
    assert pending.reaches(10)
    assert pending.reaches(50)
    assert not pending.reaches(51)


def test_nothing_is_taken_where_nothing_was_committed(pending: Pending) -> None:
    pending.sent = 50
    assert taken(pending, 50) == ([], [])
    add(pending, begin(), columns(ORDERS, "a"), row(ORDERS), commit(60))
    assert taken(pending, 60)[1] == [begin(), columns(ORDERS, "a"), row(ORDERS), commit(60)]


def test_a_range_says_what_was_said_before_it_of_the_tables_that_it_changes_first(pending: Pending) -> None:
    add(pending, begin(), columns(ORDERS, "a"), row(ORDERS), columns(ITEMS, "x"), row(ITEMS), commit(10))
    taken(pending, 10)
    add(pending, begin(), row(ITEMS), commit(20))
    assert taken(pending, 20) == ([columns(ITEMS, "x")], [begin(), row(ITEMS), commit(20)])
    add(pending, begin(), truncated(ITEMS, ORDERS), commit(30))
    assert taken(pending, 30)[0] == [columns(ITEMS, "x"), columns(ORDERS, "a")]
    add(pending, begin(), row(ORDERS, "D"), row(ITEMS, "U"), commit(40))
    assert taken(pending, 40)[0] == [columns(ORDERS, "a"), columns(ITEMS, "x")]


def test_a_range_that_says_it_itself_before_the_first_change_says_it_once(pending: Pending) -> None:
    add(pending, begin(), columns(ORDERS, "a"), row(ORDERS), commit(10))
    taken(pending, 10)
    add(pending, begin(), columns(ORDERS, "b"), row(ORDERS), commit(20))
    assert taken(pending, 20)[0] == []
    add(pending, begin(), row(ORDERS), columns(ORDERS, "c"), row(ORDERS), commit(30))
    assert taken(pending, 30)[0] == [columns(ORDERS, "b")]


def test_the_rest_of_what_was_sent_is_read_by_the_columns_of_then(pending: Pending) -> None:
    add(pending, begin(), columns(ORDERS, "a"), row(ORDERS), commit(10))
    add(pending, begin(), row(ORDERS), commit(20))
    add(pending, begin(), columns(ORDERS, "b"), row(ORDERS), commit(30))
    add(pending, begin(), row(ORDERS), commit(40))
    taken(pending, 10)
    assert taken(pending, 20)[0] == [columns(ORDERS, "a")]
    assert taken(pending, 30)[0] == []
    assert taken(pending, 40)[0] == [columns(ORDERS, "b")]


def test_the_types_of_columns_are_said_with_them(pending: Pending) -> None:
    kind = sent("Y", struct.pack(">I", 99) + b"mood")
    add(pending, begin(), kind, columns(ORDERS, "a"), row(ORDERS), commit(10))
    taken(pending, 10)
    add(pending, begin(), row(ORDERS), commit(20))
    assert taken(pending, 20)[0] == [kind, columns(ORDERS, "a")]


def test_two_tables_that_are_said_do_not_stand_side_by_side_like_a_table_and_its_partition(pending: Pending) -> None:
    add(pending, begin(), columns(ORDERS, "a"), row(ORDERS), columns(ITEMS, "x"), row(ITEMS), commit(10))
    taken(pending, 10)
    add(pending, begin(), row(ORDERS), row(ITEMS), commit(20))
    assert [said_in(each)[:1] for each in pending.take(20)[0].before] == [b"R", b"M", b"R", b"M"]
