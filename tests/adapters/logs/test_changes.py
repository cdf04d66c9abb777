"""What happened in a source, as the decoder says it: each kind of change, on a real server."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from incremental_assets.adapters.logs.changes import LSN, ORDINAL, XID
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.postgresql.decode import Decoder
from incremental_assets.adapters.logs.postgresql.spool import Spool
from incremental_assets.adapters.logs.postgresql.transactions import Transactions
from incremental_assets.core.errors import SourceRefused
from tests.adapters.logs.stand import LogStand

FORMATS = pytest.mark.parametrize("binary", [True, False])
LONG = "SELECT string_agg(md5(g::text), '') FROM generate_series(1, 500) AS g"
"""A text that does not fit into a row, however it is compressed."""


@FORMATS
def test_inserts_updates_and_deletes_come_in_their_order(stand: LogStand, binary: bool) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY, state text")
    stand.together(
        "INSERT INTO orders VALUES (1, 'new')",
        "DELETE FROM orders",
        "INSERT INTO orders VALUES (1, 'again')",
        "UPDATE orders SET state = NULL",
    )
    assert stand.rows(Followed(oid, ("id",)), binary=binary) == [
        {"change": "insert", "id": 1, "state": "new"},
        {"change": "delete", "id": 1, "state": None},
        {"change": "insert", "id": 1, "state": "again"},
        {"change": "update", "id": 1, "state": None},
    ]


@FORMATS
def test_a_key_that_changes_leaves_the_old_one_first(stand: LogStand, binary: bool) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY, state text")
    stand.execute("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    stand.together("UPDATE orders SET id = 3 WHERE id = 1", "UPDATE orders SET state = 'c' WHERE id = 2")
    assert stand.rows(Followed(oid, ("id",)), binary=binary)[2:] == [
        {"change": "delete", "id": 1, "state": None},
        {"change": "update", "id": 3, "state": "a"},
        {"change": "update", "id": 2, "state": "c"},
    ]


def test_keys_that_are_swapped_in_one_transaction_come_step_by_step(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, state text")
    stand.execute("ALTER TABLE orders REPLICA IDENTITY FULL", "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    stand.together("UPDATE orders SET id = 3 - id")
    assert stand.rows(Followed(oid, ("id",)))[2:] == [
        {"change": "delete", "id": 1, "state": None},
        {"change": "update", "id": 2, "state": "a"},
        {"change": "delete", "id": 2, "state": None},
        {"change": "update", "id": 1, "state": "b"},
    ]


def test_a_table_without_a_key_has_no_change_but_those_that_happened(stand: LogStand) -> None:
    oid = stand.publish("notes", "note text", "ALTER TABLE notes REPLICA IDENTITY FULL")
    stand.execute("INSERT INTO notes VALUES ('a'), ('a')", "UPDATE notes SET note = 'b'")
    stand.execute("DELETE FROM notes WHERE ctid = (SELECT min(ctid) FROM notes)")
    assert [row["change"] for row in stand.rows(Followed(oid))] == ["insert", "insert", "update", "update", "delete"]
    assert stand.rows(Followed(oid))[-1] == {"change": "delete", "note": "b"}


@FORMATS
def test_a_value_that_was_not_sent_is_marked_and_is_no_null(stand: LogStand, binary: bool) -> None:
    oid = stand.publish("pages", "id int PRIMARY KEY, text text, n int, more text")
    stand.execute(f"INSERT INTO pages SELECT 1, t, 1, NULL FROM ({LONG}) AS f(t)", "UPDATE pages SET n = 2")
    last = stand.rows(Followed(oid, ("id",)), binary=binary)[-1]
    assert last == {"change": "update", "id": 1, "text": None, "n": 2, "more": None, "unsent": bytes([0b01000000])}


def test_a_value_that_was_not_sent_comes_from_the_old_row_where_that_is_shown(stand: LogStand) -> None:
    oid = stand.publish("pages", "id int PRIMARY KEY, text text, n int", "ALTER TABLE pages REPLICA IDENTITY FULL")
    stand.execute(f"INSERT INTO pages SELECT 1, t, 1 FROM ({LONG}) AS f(t)", "UPDATE pages SET n = 2")
    stand.execute("UPDATE pages SET id = 2")
    first, second, left, moved = stand.rows(Followed(oid, ("id",)))
    assert (second["n"], second["text"]) == (2, first["text"])
    assert left == {"change": "delete", "id": 1, "text": None, "n": None}
    assert moved == {"change": "update", "id": 2, "text": first["text"], "n": 2}


def test_a_truncation_stands_between_what_was_before_and_after_it(stand: LogStand) -> None:
    parent = stand.publish("orders", "id int PRIMARY KEY")
    child = stand.publish("lines", "id int PRIMARY KEY, o int REFERENCES orders")
    stand.execute("INSERT INTO orders VALUES (1)", "INSERT INTO lines VALUES (1, 1)")
    stand.together("INSERT INTO orders VALUES (2)", "TRUNCATE orders CASCADE", "INSERT INTO orders VALUES (3)")
    assert stand.rows(Followed(parent, ("id",))) == [
        {"change": "insert", "id": 1},
        {"change": "insert", "id": 2},
        {"change": "truncate", "id": None},
        {"change": "insert", "id": 3},
    ]
    assert [row["change"] for row in stand.rows(Followed(child, ("id",)))] == ["insert", "truncate"]


def test_columns_that_change_in_the_middle_of_a_transaction_are_another_layout(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY, a text")
    stand.together(
        "INSERT INTO orders VALUES (1, 'x')",
        "ALTER TABLE orders ADD b int DEFAULT 7",
        "INSERT INTO orders VALUES (2, 'y', 8)",
        "ALTER TABLE orders DROP a, ADD a date",
        "INSERT INTO orders VALUES (3, 9, '2024-01-31')",
    )
    found = stand.changes(Followed(oid, ("id",)))
    assert [each.layout.names for each in found] == [("id", "a"), ("id", "a", "b"), ("id", "b", "a")]
    assert [kind.spark_type for kind in found[2].layout.kinds] == ["int", "int", "date"]


def test_rows_of_a_partitioned_table_are_those_of_its_root(stand: LogStand) -> None:
    oid = stand.publish(
        "days",
        "id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d",
        "CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')",
        "CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')",
    )
    stand.execute("INSERT INTO days VALUES (1, '2024-01-05')", "UPDATE days SET d = '2024-02-05'")
    assert [(row["change"], str(row["d"])) for row in stand.rows(Followed(oid, ("id", "d")))] == [
        ("insert", "2024-01-05"),
        ("delete", "2024-01-05"),
        ("insert", "2024-02-05"),
    ]


@FORMATS
def test_the_log_names_the_partitions_that_were_written_though_they_are_gone(stand: LogStand, binary: bool) -> None:
    oid = stand.publish(
        "days",
        "id int, d date, state mood, PRIMARY KEY (id, d)) PARTITION BY RANGE (d",
        "CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')",
        "CREATE TABLE days_2 (LIKE days INCLUDING ALL) PARTITION BY RANGE (id)",
        "CREATE TABLE days_2_1 PARTITION OF days_2 FOR VALUES FROM (0) TO (9)",
        "ALTER TABLE days ATTACH PARTITION days_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')",
        before=("CREATE TYPE mood AS ENUM ('good')",),
    )
    other = stand.publish("orders", "id int PRIMARY KEY")
    parts = {int(stand.value(f"SELECT '{name}'::regclass::oid::bigint")) for name in ("days_1", "days_2_1")}
    stand.execute(
        "INSERT INTO orders VALUES (1)",
        "INSERT INTO days VALUES (1, '2024-01-05', 'good'), (2, '2024-02-05', 'good')",
        "DELETE FROM days WHERE id = 2",
        "DROP TABLE days_2",
        "TRUNCATE orders, days",
    )
    followed = {each: Followed(each, ("id",)) for each in (oid, other)}
    found = stand.decoder(followed, binary=binary).parts
    assert {each: set(named) for each, named in found.without(followed).items()} == {oid: parts}


def test_a_column_that_is_left_out_is_not_read(stand: LogStand) -> None:
    oid = stand.publish("people", "id int PRIMARY KEY, secret interval, name text")
    stand.execute("INSERT INTO people VALUES (1, '1 day', 'ada')")
    assert stand.rows(Followed(oid, ("id",), frozenset({"secret"}))) == [{"change": "insert", "id": 1, "name": "ada"}]


def test_what_was_rolled_back_is_not_there_and_subtransactions_have_the_number_of_theirs(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY")
    with stand.connect(autocommit=False) as writer:
        writer.execute("INSERT INTO orders VALUES (1)")
        for number in (2, 3):
            writer.execute(f"SAVEPOINT s{number}")
            writer.execute(f"INSERT INTO orders VALUES ({number})")
        writer.execute("ROLLBACK TO s3")
        (xid,) = writer.execute("SELECT pg_current_xact_id()::xid::text::bigint").fetchone() or (None,)
    (changes,) = stand.changes(Followed(oid, ("id",)))
    assert changes.rows.column("id").to_pylist() == [1, 2]
    assert changes.rows.column(XID).to_pylist() == [xid, xid]


def test_a_prepared_transaction_comes_when_it_is_committed(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY")
    stand.together("INSERT INTO orders VALUES (1)", "PREPARE TRANSACTION 'first'")
    stand.execute("INSERT INTO orders VALUES (2)", "COMMIT PREPARED 'first'")
    assert [row["id"] for row in stand.rows(Followed(oid, ("id",)))] == [2, 1]


def test_commits_before_the_position_are_passed_over(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY")
    stand.execute("INSERT INTO orders VALUES (1)", "INSERT INTO orders VALUES (2)")
    before = stand.flushed()
    stand.execute("INSERT INTO orders VALUES (3)")
    assert [row["id"] for row in stand.rows(Followed(oid, ("id",)), position=before)] == [3]


def test_commit_and_ordinal_order_all_changes_of_a_table_also_those_of_one_copy(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY")
    stand.together("INSERT INTO orders SELECT g FROM generate_series(1, 3) AS g", "UPDATE orders SET id = id + 10")
    with stand.connect() as writer, writer.cursor().copy("COPY orders FROM STDIN") as copy:
        copy.write("21\n22\n23\n")
    (changes,) = stand.changes(Followed(oid, ("id",)))
    order = list(zip(changes.rows.column(LSN).to_pylist(), changes.rows.column(ORDINAL).to_pylist(), strict=True))
    assert order == sorted(set(order))
    assert changes.rows.column("id").to_pylist() == [1, 2, 3, 1, 11, 2, 12, 3, 13, 21, 22, 23]


def test_a_transaction_of_more_messages_than_a_block_is_one(stand: LogStand) -> None:
    oid = stand.publish("numbers", "id int PRIMARY KEY, double int")
    stand.execute(
        "INSERT INTO numbers SELECT g, 2 * g FROM generate_series(1, 150000) AS g", "INSERT INTO numbers VALUES (0)"
    )
    found = stand.changes(Followed(oid, ("id",)))
    assert len(found) > 2
    ids = [number for each in found for number in each.rows.column("id").to_pylist()]
    assert ids == [*range(1, 150_001), 0]
    ordinals = [number for each in found for number in each.rows.column(ORDINAL).to_pylist()]
    assert ordinals == [2 * number for number in [*range(1, 150_001), 1]]
    assert len({lsn for each in found for lsn in each.rows.column(LSN).to_pylist()}) == 2


def test_a_table_whose_identity_does_not_show_its_key_fails_alone(stand: LogStand) -> None:
    oid = stand.publish("orders", "id int PRIMARY KEY, code int NOT NULL UNIQUE")
    other = stand.publish("others", "id int PRIMARY KEY")
    stand.execute("INSERT INTO orders VALUES (1, 2)", "INSERT INTO others VALUES (5)")
    followed = {oid: Followed(oid, ("code",)), other: Followed(other, ("id",))}
    changes, failed = stand.decoded(followed)
    assert [each.rows.column("id").to_pylist() for each in changes] == [[5]]
    assert failed[oid].startswith("public.orders: its REPLICA IDENTITY did not show code, by which its copy")


def test_a_message_that_is_not_known_stops_the_read_by_name(tmp_path: Path) -> None:
    with Spool(tmp_path) as spool:
        spool.add(b"Zunknown")
        (block,) = spool.blocks()
        with pytest.raises(SourceRefused, match="the log has a message 'Z' that is not known here"):
            Decoder(Transactions(0), {}, {}).decode(block)


def test_a_type_that_was_dropped_since_fails_its_table_alone(stand: LogStand) -> None:
    stand.execute("CREATE TYPE mood AS ENUM ('sad')")
    oid = stand.publish("moods", "id int PRIMARY KEY, m mood")
    stand.execute("INSERT INTO moods VALUES (1, 'sad')", "DROP TYPE mood CASCADE")
    changes, failed = stand.decoded({oid: Followed(oid, ("id",))})
    assert changes == []
    assert "column 'm' has a type that was dropped since" in failed[oid]


def test_an_update_of_a_published_table_without_identity_is_refused_by_the_source_itself(stand: LogStand) -> None:
    stand.publish("notes", "note text")
    stand.execute("INSERT INTO notes VALUES ('a')")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
        stand.execute("UPDATE notes SET note = 'b'")
