"""A light look says whether the log has moved, how far behind the slot is, what holds it, and which tables cannot be read by it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from incremental_assets.adapters.logs.postgresql.fitness import check_log, check_table
from incremental_assets.adapters.logs.postgresql.look import Look, Member, Publication, SlotState, holders, look
from incremental_assets.adapters.logs.postgresql.relation import Identity
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.segments.manifest import Server
from incremental_assets.core.errors import IncrementalAssetsError, SourceExchanged, SourceRefused, SourceUnreachable
from tests.adapters.logs.stand import LogStand


def looked(stand: LogStand) -> Look:
    with stand.asked() as asked:
        return look(asked, stand.slot)


def member(stand: LogStand, name: str) -> Member:
    publication = looked(stand).publication
    assert publication is not None
    return next(each for each in publication.members if each.name == name)


def test_a_source_has_moved_where_its_log_is_on_disk_behind_the_position(stand: LogStand) -> None:
    found = looked(stand)
    assert found.flushed is not None
    assert not found.has_moved(found.flushed)
    stand.execute("CREATE TABLE orders (id int)")
    assert looked(stand).has_moved(found.flushed)


def test_a_look_asks_the_same_few_statements_for_any_number_of_tables(
    stand: LogStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        stand.publish(f"t{number}", "id int PRIMARY KEY")
    with stand.asked() as asked:
        asked_for = []
        execute = asked.execute
        monkeypatch.setattr(asked, "execute", lambda *of: asked_for.append(of[0]) or execute(*of))
        found = look(asked, stand.slot)
        holders(asked)
    assert len(asked_for) == 3
    assert found.publication is not None
    assert len(found.publication.members) == 30


def test_a_transaction_that_wrote_before_its_table_was_published_is_older_than_the_next_number(
    stand: LogStand, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand.execute("CREATE TABLE orders (id int)")
    with stand.asked() as asked, stand.connect(autocommit=False) as slow:
        execute, written = asked.execute, list[int]()

        def between(*of: Any) -> Any:
            answer = execute(*of)
            if not written:
                slow.execute("INSERT INTO orders VALUES (1)")
                written.append(slow.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()[0])
                stand.execute("ALTER PUBLICATION p ADD TABLE orders")
            return answer

        monkeypatch.setattr(asked, "execute", between)
        found = look(asked, stand.slot)
        slow.rollback()
    assert found.publication is not None
    assert [each.name for each in found.publication.members] == ["orders"]
    assert found.next_xid > written[0]


def test_how_far_behind_the_slot_is_and_what_holds_it(stand: LogStand) -> None:
    stand.publish("orders", "id int PRIMARY KEY, note text")
    before = looked(stand)
    with stand.connect(autocommit=False) as slow:
        slow.execute("INSERT INTO orders VALUES (0)")
        stand.execute("INSERT INTO orders SELECT g, repeat('x', 100) FROM generate_series(1, 10000) AS g")
        found = looked(stand)
        assert found.lag_bytes > before.lag_bytes + 1_000_000
        assert found.kept_bytes >= found.lag_bytes
        with stand.asked() as asked:
            oldest = holders(asked)[0]
        assert oldest.what == f"session {slow.info.backend_pid} of {stand.postgres.user}"
        slow.rollback()


def test_a_prepared_transaction_is_named_by_its_own_name(stand: LogStand) -> None:
    stand.publish("orders", "id int PRIMARY KEY")
    stand.together("INSERT INTO orders VALUES (1)", "PREPARE TRANSACTION 'the second'")
    with stand.asked() as asked:
        assert [(each.kind, each.what) for each in holders(asked)] == [("prepared transaction", "the second")]
    stand.execute("ROLLBACK PREPARED 'the second'")


@pytest.mark.parametrize(
    ("definition", "then", "key", "words"),
    [
        ("id int PRIMARY KEY", (), ("id",), ""),
        ("id int PRIMARY KEY, note text", ("ALTER TABLE orders REPLICA IDENTITY FULL",), ("note",), ""),
        ("id int", ("ALTER TABLE orders REPLICA IDENTITY FULL",), (), ""),
        (
            "id int PRIMARY KEY, code int NOT NULL UNIQUE",
            (),
            ("code",),
            "the log names rows of public.orders by id, and its copy by code",
        ),
        (
            "id int PRIMARY KEY, code int NOT NULL UNIQUE",
            ("ALTER TABLE orders REPLICA IDENTITY USING INDEX orders_code_key",),
            ("code",),
            "",
        ),
        (
            "id int PRIMARY KEY DEFERRABLE",
            ("ALTER TABLE orders REPLICA IDENTITY FULL",),
            ("id",),
            "the primary key of public.orders is DEFERRABLE, so that two of its rows may have one key within a transaction",
        ),
        (
            "id int PRIMARY KEY DEFERRABLE, code int NOT NULL UNIQUE",
            ("ALTER TABLE orders REPLICA IDENTITY USING INDEX orders_code_key",),
            ("code",),
            "",
        ),
        ("id int", (), (), "public.orders has no REPLICA IDENTITY"),
        (
            "id int PRIMARY KEY",
            ("ALTER TABLE orders REPLICA IDENTITY NOTHING",),
            ("id",),
            "public.orders has no REPLICA IDENTITY",
        ),
    ],
)
def test_which_tables_can_be_read_by_their_identity(
    stand: LogStand, definition: str, then: tuple[str, ...], key: tuple[str, ...], words: str
) -> None:
    stand.publish("orders", definition, *then)
    found = check_table(member(stand, "orders"), "public.orders", stand.slot, key, ())
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_rows_or_columns_that_a_publication_leaves_out_are_named(stand: LogStand) -> None:
    stand.execute(
        "CREATE TABLE some_rows (id int PRIMARY KEY)",
        "CREATE TABLE some_columns (id int PRIMARY KEY, note text)",
        "ALTER PUBLICATION p ADD TABLE some_rows WHERE (id > 5)",
        "ALTER PUBLICATION p ADD TABLE some_columns (id)",
    )
    for name, words in (("some_rows", "filters the rows"), ("some_columns", "names columns")):
        assert words in check_table(member(stand, name), f"public.{name}", stand.slot, ("id",), ())


def test_a_generated_column_is_named_where_the_copy_has_it(stand: LogStand) -> None:
    stand.publish("orders", "id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED")
    found = member(stand, "orders")
    words = "the log does not have twice of public.orders, which the source generates"
    assert check_table(found, "public.orders", stand.slot, ("id",), ("id", "twice")).startswith(words)
    assert check_table(found, "public.orders", stand.slot, ("id",), ("id",)) == ""


def test_a_table_that_is_not_published_is_named_with_the_cure(stand: LogStand) -> None:
    found = check_table(None, "public.orders", stand.slot, (), ())
    assert found.endswith('as its owner run ALTER PUBLICATION "p" ADD TABLE public.orders')


@pytest.mark.parametrize("which", ["FOR ALL TABLES", "FOR TABLES IN SCHEMA public"])
def test_members_of_a_publication_that_lists_no_tables_are_found(stand: LogStand, which: str) -> None:
    stand.execute("CREATE TABLE orders (id int PRIMARY KEY)", "DROP PUBLICATION p", f"CREATE PUBLICATION p {which}")
    assert member(stand, "orders").identifying == ("id",)


def test_the_root_of_partitions_is_the_member(stand: LogStand) -> None:
    stand.publish(
        "days",
        "d date PRIMARY KEY) PARTITION BY RANGE (d",
        "CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2024-01-01') TO ('2024-02-01')",
    )
    publication = looked(stand).publication
    assert publication is not None
    assert [each.name for each in publication.members] == ["days"]
    assert publication.via_root


def test_a_slot_that_sends_what_is_only_prepared_is_known_by_a_look(stand: LogStand) -> None:
    made = f"SELECT pg_create_logical_replication_slot('{stand.slot_name}', 'pgoutput', false, true)"
    stand.execute(f"SELECT pg_drop_replication_slot('{stand.slot_name}')", made)
    found = looked(stand)
    with pytest.raises(SourceRefused, match="was made with two_phase"):
        check_log(found, stand.slot, None, None)


# --- what a look may say, without a server ----------------------------------------------------------------

SLOT = Slot("s", "p")
STATE = SlotState(100, 50, "pgoutput", "shop", "reserved", "", None, temporary=False, safe_bytes=None)
MEMBER = Member(1, "public", "orders", Identity.DEFAULT, "1", filtered=False, narrowed=False, identifying=("id",))
GOOD = Look(
    at=datetime(2024, 1, 31, tzinfo=UTC),
    wal_level="logical",
    flushed=200,
    server=Server("7", "00000001"),
    database="shop",
    slot=STATE,
    publication=Publication("1", (), via_root=True, members=(MEMBER,)),
    next_xid=10,
)


def test_a_log_that_is_fit_is_read() -> None:
    check_log(GOOD, SLOT, 100, GOOD.server)
    check_log(GOOD, SLOT, 150, GOOD.server)
    check_log(GOOD, SLOT, None, None)


@pytest.mark.parametrize(
    ("found", "kind", "words"),
    [
        (replace(GOOD, flushed=None), SourceRefused, "a standby answers"),
        (replace(GOOD, wal_level="replica"), SourceRefused, "`wal_level = replica`"),
        (replace(GOOD, server=Server("8", "00000001")), SourceExchanged, "another database cluster"),
        (
            replace(GOOD, server=Server("7", "00000002")),
            SourceExchanged,
            "a standby has taken over, or a backup was restored",
        ),
        (replace(GOOD, publication=None), SourceRefused, "there is no publication p"),
        (replace(GOOD, slot=None), SourceRefused, "there is no replication slot s"),
        (replace(GOOD, slot=replace(STATE, plugin="test_decoding")), SourceRefused, "is none of pgoutput"),
        (replace(GOOD, slot=replace(STATE, database="other")), SourceRefused, "is none of pgoutput"),
        (replace(GOOD, slot=replace(STATE, temporary=True)), SourceRefused, "outlives its session"),
        (replace(GOOD, slot=replace(STATE, two_phase=True)), SourceRefused, "was made with two_phase"),
        (replace(GOOD, slot=replace(STATE, wal_status="lost")), SourceRefused, "max_slot_wal_keep_size"),
        (
            replace(GOOD, slot=replace(STATE, invalidated="idle_timeout")),
            SourceRefused,
            "idle_replication_slot_timeout",
        ),
        (
            replace(GOOD, slot=replace(STATE, invalidated="wal_level_insufficient")),
            SourceRefused,
            "wal_level_insufficient",
        ),
        (replace(GOOD, slot=replace(STATE, confirmed=101)), SourceRefused, "ahead of 0/64"),
        (replace(GOOD, slot=replace(STATE, reader=4711)), SourceUnreachable, "by the session 4711"),
    ],
)
def test_a_log_that_cannot_be_read_on_is_named(found: Look, kind: type[IncrementalAssetsError], words: str) -> None:
    with pytest.raises(kind, match=words):
        check_log(found, SLOT, 100, GOOD.server)
