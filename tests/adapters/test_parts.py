"""Partitions and children that join and leave: what is known of them, and what a snapshot must still show."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from incremental_assets.adapters.databases.observe import parts
from incremental_assets.adapters.databases.postgresql.rows.read import read_query
from incremental_assets.adapters.databases.postgresql.session import Session
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.observation import numbers
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.planning.plan import CommitIds, NothingToDo, Request
from tests.adapters.source import READER, UPDATED, Source, observe, planned, synced, synced_when_settled
from tests.snapshots import as_read

COLUMNS = "id bigint, updated_at timestamptz NOT NULL DEFAULT now()"
YEARS = (
    f"CREATE TABLE orders ({COLUMNS}) PARTITION BY RANGE (updated_at)",
    "CREATE TABLE now PARTITION OF orders FOR VALUES FROM ('2020-01-01') TO (MAXVALUE)",
    "INSERT INTO orders SELECT g FROM generate_series(1, 3) AS g",
    "CREATE TABLE old (LIKE orders INCLUDING ALL)",
    "INSERT INTO old VALUES (0, '2011-03-04 05:06:07+00')",
    "INSERT INTO old VALUES (0, '2012-03-04 05:06:07+00')",
)
ATTACH = "ALTER TABLE orders ATTACH PARTITION old FOR VALUES FROM ('2010-01-01') TO ('2015-01-01')"


def test_an_attached_partition_is_read_from_its_first_row_on(source: Source) -> None:
    source.execute(*YEARS, f"GRANT SELECT ON orders TO {READER}", f"GRANT pg_read_all_stats TO {READER}")
    probe, spec = source.open(READER), source.spec("orders", UPDATED)
    first = synced(probe, spec)
    assert first.position.members is not None
    assert len(first.position.members) == 1
    source.execute(ATTACH)
    second = planned(probe, spec, first)
    assert str(second.reading.window.lower) == "2011-03-04T05:06:07Z", (
        "asked of the table: the partition itself is not granted"
    )
    assert [told for told in second.warnings if "joined the table" in told]
    with probe.snapshot(second) as snapshot:
        assert snapshot.rows == 5
        after = landed_state(second, as_read(snapshot.rows, snapshot.highest, snapshot.fingerprint))
    assert after.position.members is not None
    assert len(after.position.members) == 2
    quiet = plan(spec, Request("run"), after, CommitIds("app", 1, "b"), observe(probe, spec, after))
    assert isinstance(quiet, NothingToDo)


def test_only_the_new_partition_is_asked_where_it_begins(source: Source) -> None:
    source.execute(*YEARS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    first = synced(probe, spec)
    source.execute(ATTACH)
    blocker = source.connect()
    # A query that looked at the others would wait for this lock.
    blocker.execute("LOCK TABLE ONLY now IN ACCESS EXCLUSIVE MODE")
    known = replace(first, position=replace(first.position, fingerprint=None))
    with pytest.raises(psycopg.errors.LockNotAvailable):
        source.connect().execute("SET lock_timeout = '200ms'; SELECT min(updated_at) FROM orders")
    with source.asked() as asked, asked.beside(lock_timeout="2s"):
        look = ObserveRequest(spec, known)
        session = Session(asked)
        (found,) = parts(session, (look,), session.members((spec.id,)))
    assert found is not None
    assert str(found.lowest) == "2011-03-04T05:06:07Z"


def test_a_child_that_inherits_and_one_that_comes_back_are_read_and_one_that_is_made_anew_costs_nothing(
    source: Source,
) -> None:
    source.execute(
        f"CREATE TABLE orders ({COLUMNS})",
        "INSERT INTO orders VALUES (1)",
        "CREATE TABLE child (LIKE orders INCLUDING ALL)",
        "INSERT INTO child VALUES (0, '2011-03-04 05:06:07+00')",
    )
    probe, spec = source.open(), source.spec("orders", UPDATED)
    first = synced(probe, spec)
    assert first.position.members == ()
    source.execute("ALTER TABLE child INHERIT orders")
    joined = planned(probe, spec, first)
    assert str(joined.reading.window.lower) == "2011-03-04T05:06:07Z"
    second = synced(probe, spec, first)
    source.execute("ALTER TABLE child NO INHERIT orders")
    left = plan(spec, Request("run"), second, CommitIds("app", 1, "b"), observe(probe, spec, second))
    assert isinstance(left, NothingToDo)
    assert [told for told in left.warnings if "left the table" in told]
    assert left.state is not None
    assert left.state.position.members == ()
    source.execute("INSERT INTO child VALUES (5, '2010-03-04 05:06:07+00')", "ALTER TABLE child INHERIT orders")
    again = planned(probe, spec, left.state)
    assert str(again.reading.window.lower) == "2010-03-04T05:06:07Z"
    third = synced(probe, spec, left.state)
    source.execute("CREATE TABLE fresh () INHERITS (orders)")
    empty = plan(spec, Request("run"), third, CommitIds("app", 1, "b"), observe(probe, spec, third))
    assert isinstance(empty, NothingToDo), "it is empty"
    assert empty.state is not None
    assert len(empty.state.position.members or ()) == 2


def test_a_partition_that_was_taken_out_and_put_back_between_two_looks_is_read_whole(source: Source) -> None:
    """Out of its table it has no trigger of it, and its rows change without a stamp."""
    source.execute(*YEARS, ATTACH)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    first = synced(probe, spec)
    source.execute("ALTER TABLE orders DETACH PARTITION old", "UPDATE old SET id = 5", ATTACH)
    second = planned(probe, spec, first)
    assert str(second.reading.window.lower) == "2011-03-04T05:06:07Z"
    assert [told for told in second.warnings if "joined the table" in told]


def test_members_that_an_earlier_release_kept_by_their_numbers_alone_are_not_read_again(source: Source) -> None:
    source.execute(*YEARS, ATTACH)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    first = synced(probe, spec)
    plain = tuple(numbers(first.position.members or ()))
    kept = replace(first, position=replace(first.position, members=plain))
    found = plan(spec, Request("run"), kept, CommitIds("app", 1, "b"), observe(probe, spec, kept))
    assert isinstance(found, NothingToDo)
    assert found.state is not None
    assert found.state.position.members == first.position.members


@pytest.mark.parametrize(
    ("make", "leave"),
    [
        ((*YEARS, ATTACH), "ALTER TABLE orders DETACH PARTITION old"),
        (
            (f"CREATE TABLE orders ({COLUMNS})", "CREATE TABLE old () INHERITS (orders)"),
            "ALTER TABLE old NO INHERIT orders",
        ),
    ],
    ids=["partition", "child"],
)
def test_a_snapshot_that_lacks_a_member_of_the_plan_is_refused(
    source: Source, make: tuple[str, ...], leave: str
) -> None:
    source.execute(*make)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    decision = planned(probe, spec)
    with probe.snapshot(decision):
        pass
    source.execute(leave)
    with pytest.raises(SourceRefused, match="a partition or child left it"), probe.snapshot(decision):
        pass


def test_numbers_and_hashed_partitions_are_asked_too(source: Source) -> None:
    source.execute(
        "CREATE TABLE orders (id bigint PRIMARY KEY) PARTITION BY HASH (id)",
        "CREATE TABLE even PARTITION OF orders FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
        "CREATE TABLE odd (LIKE orders INCLUDING ALL)",
        "INSERT INTO even SELECT g FROM generate_series(1, 100) AS g WHERE satisfies_hash_partition('orders'::regclass, 2, 0, g::bigint)",
        "INSERT INTO odd SELECT g FROM generate_series(1, 100) AS g WHERE satisfies_hash_partition('orders'::regclass, 2, 1, g::bigint)",
    )
    probe = source.open()
    spec = source.spec("orders", Cursor("id", CursorType.INTEGER))
    first = synced_when_settled(probe, spec)
    source.execute("ALTER TABLE orders ATTACH PARTITION odd FOR VALUES WITH (MODULUS 2, REMAINDER 1)")
    with source.connect() as connection:
        (lowest,) = connection.execute("SELECT min(id) FROM odd").fetchone() or (None,)
    assert str(planned(probe, spec, first).reading.window.lower) == str(lowest)


def test_a_partition_that_is_attached_while_a_sync_reads_is_read_by_the_next_one(source: Source) -> None:
    """The list of partitions is not of the snapshot: a reader that comes later would find more than its neighbour counted."""
    source.execute(*YEARS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    decision = planned(probe, spec)
    with probe.snapshot(decision) as snapshot:
        source.execute(ATTACH)
        query = read_query(decision, 1)
        with source.connect() as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            reader.execute(f"SET TRANSACTION SNAPSHOT '{snapshot.handle.snapshot_id}'")  # type: ignore[arg-type]
            assert len(reader.execute(query.sql).fetchall()) == snapshot.rows == 3  # type: ignore[arg-type]
        landed = landed_state(decision, as_read(snapshot.rows, snapshot.highest, snapshot.fingerprint))
    with probe.snapshot(decision) as late:
        assert late.rows == 3
        assert late.fingerprint == landed.position.fingerprint
    following = planned(probe, spec, landed)
    assert str(following.reading.window.lower) == "2011-03-04T05:06:07Z"
    assert len(following.reading.members or ()) == 2
