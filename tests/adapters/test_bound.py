"""The settled bound on a real PostgreSQL: who holds it back, who does not, and what happens where it cannot be known."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from incremental_assets.adapters.databases.postgresql.settled import bound as looked_for
from incremental_assets.core.captures.database.bound import GUARD
from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.errors import ZoneUnknown
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.preview.pending import located, look_over
from tests.adapters.source import READER, UPDATED, Source, observe, planned, synced
from tests.conformance.soak.line import slow_line

ORDERS = "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())"


def test_a_quiet_source_has_settled_up_to_its_clock(source: Source) -> None:
    bound = source.open().bound()
    assert (bound.oldest, bound.holder, bound.prepared, bound.blind, bound.zone) == (None, "", None, "", "UTC")
    assert bound.identity is not None
    assert dict(bound.identity.names)["database"].startswith(f"{source.database}:")
    assert bound.identity.timeline == 1
    assert bound.identity.position > 0


def test_an_open_transaction_holds_the_bound_back_and_is_named(source: Source) -> None:
    writer = source.connect()
    writer.execute("SET application_name = 'nightly report'")
    (began,) = writer.execute("SELECT now()").fetchone() or (None,)
    bound = source.open().bound()
    assert bound.oldest == began
    assert f"pid {writer.info.backend_pid}" in bound.holder
    assert "nightly report" in bound.holder


def test_the_newest_begin_and_our_own_clocks_are_kept_beside_the_sources(source: Source) -> None:
    first, second = source.connect(), source.connect()
    (oldest,) = first.execute("SELECT now()").fetchone() or (None,)
    (newest,) = second.execute("SELECT now()").fetchone() or (None,)
    bound = source.open().bound()
    assert (bound.oldest, bound.newest) == (oldest, newest)
    assert bound.listed is not None
    assert newest < bound.clock < bound.listed
    assert bound.host is not None
    assert bound.host.took < 30
    assert abs(bound.host.wall - bound.clock.timestamp()) < 30, "source and test run on one machine"
    later = source.open().bound()
    assert later.host is not None
    assert (later.host.boot, later.replica) == (bound.host.boot, False)
    passed = (later.clock - bound.clock).total_seconds()
    assert abs(later.host.uptime - bound.host.uptime - passed) <= bound.host.took + later.host.took + 0.1


def test_a_row_that_commits_late_is_never_below_the_bound(source: Source) -> None:
    source.execute(ORDERS)
    probe = source.open()
    spec = source.spec("orders", UPDATED)
    writer = source.connect()
    (stamp,) = writer.execute("INSERT INTO orders DEFAULT VALUES RETURNING updated_at").fetchone() or (None,)
    settled = settle(spec, UPDATED, probe.bound(), None, None)
    writer.commit()
    assert settled.value is not None
    assert settled.value.moment() <= stamp
    assert settled.guarantee is Guarantee.SETTLED


def test_a_number_that_commits_late_is_never_below_the_bound(source: Source) -> None:
    source.execute(ORDERS)
    probe = source.open()
    spec = source.spec("orders", Cursor("id", CursorType.INTEGER))
    writer = source.connect()
    writer.execute("INSERT INTO orders DEFAULT VALUES")
    source.execute("INSERT INTO orders DEFAULT VALUES")
    state = synced(probe, spec)
    assert state.position.watermark is None, "number 1 is still open, so number 2 has not settled"
    writer.commit()
    after = synced(probe, spec, state)
    assert after.position.watermark is not None
    assert after.position.watermark.text == "3"


def test_our_own_readers_do_not_hold_the_bound_back(source: Source) -> None:
    source.execute(ORDERS)
    probe = source.open()
    with probe.snapshot(planned(probe, source.spec("orders", UPDATED))):
        assert probe.bound().oldest is None
        impostor = psycopg.connect(
            source.postgres.dsn(source.database, _login(source)), application_name="incremental-assets"
        )
        impostor.execute("SELECT 1")
        assert source.open().bound().oldest is not None, "the name alone does not make a session ours"
        impostor.close()


def test_a_prepared_transaction_is_told_and_keeps_the_watermark(source: Source) -> None:
    source.execute(ORDERS)
    probe, spec = source.open(), source.spec("orders", UPDATED)
    state = synced(probe, spec)
    writer = source.connect()
    writer.execute(b"BEGIN; INSERT INTO orders DEFAULT VALUES; PREPARE TRANSACTION 'moving house'")
    try:
        bound = probe.bound()
        assert bound.prepared is not None
        assert "'moving house'" in bound.prepared
        assert settle(spec, UPDATED, bound, None, state).value == state.position.watermark
    finally:
        source.execute("ROLLBACK PREPARED 'moving house'")
    assert probe.bound().prepared is None


def test_a_transaction_that_may_not_be_seen_lowers_the_guarantee(source: Source) -> None:
    source.execute(ORDERS)
    _until_ended(source)
    probe = source.open(READER)
    assert probe.bound().blind == ""
    writer = source.connect()
    writer.execute("SELECT 1")
    blind = probe.bound().blind
    assert 'GRANT pg_read_all_stats TO "plain_reader"' in blind
    spec = source.spec("orders", UPDATED)
    assert settle(spec, UPDATED, probe.bound(), None, None).guarantee is Guarantee.BEST_EFFORT
    held_back = source.spec("orders", UPDATED, holdback=timedelta(minutes=5))
    assert settle(held_back, UPDATED, probe.bound(), None, None).guarantee is Guarantee.HOLDBACK
    source.execute(f"GRANT pg_read_all_stats TO {READER}")
    assert probe.bound().blind == ""
    assert probe.bound().oldest is not None


def test_a_session_that_hides_its_transaction_is_found_by_its_lock(source: Source) -> None:
    writer = source.connect()
    writer.execute("SET track_activities = off")
    writer.commit()
    writer.execute("SELECT 1")
    assert "track_activities" in source.open().bound().blind


def test_a_procedure_that_commits_and_goes_on_holds_the_bound_at_its_call(source: Source) -> None:
    source.execute(
        "CREATE TABLE orders (updated_at timestamptz NOT NULL DEFAULT statement_timestamp())",
        "CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO orders DEFAULT VALUES; COMMIT; "
        "PERFORM pg_advisory_lock(1); INSERT INTO orders DEFAULT VALUES; END $$",
    )
    gate, writer = source.connect(), source.connect()
    gate.autocommit = writer.autocommit = True
    gate.execute("SELECT pg_advisory_lock(1)")
    with _running(writer, "CALL fill()"):
        _until(source, "wait_event = 'advisory'", writer)
        bound = source.open().bound()
        gate.execute("SELECT pg_advisory_unlock(1)")
    assert bound.oldest is not None
    assert f"pid {writer.info.backend_pid}" in bound.holder
    stamps = source.connect().execute("SELECT updated_at FROM orders").fetchall()
    assert len(stamps) == 2
    assert bound.oldest <= min(stamps)[0]


def test_the_transactions_of_one_message_hold_the_bound_between_them(source: Source) -> None:
    source.execute(ORDERS)
    probe = source.open()
    # The answers to empty COMMITs fill the line, while no transaction is open.
    one = "BEGIN; INSERT INTO orders DEFAULT VALUES; COMMIT; " + "COMMIT; " * 50_000
    with slow_line(source.postgres.port) as port:
        writer = psycopg.connect(source.postgres.dsn(source.database), host="127.0.0.1", port=port, autocommit=True)
        writer.execute("SET client_min_messages = 'error'")
        pid = writer.info.backend_pid
        with _running(writer, one + one):
            _until(source, "state = 'active' AND xact_start IS NULL AND wait_event = 'ClientWrite'", writer)
            bound = probe.bound()
            (stamp,) = source.connect().execute("SELECT max(updated_at) FROM orders").fetchone() or (None,)
            (rows,) = source.connect().execute("SELECT count(*) FROM orders").fetchone() or (None,)
            source.execute(f"SELECT pg_terminate_backend({pid})")
    assert rows == 1, "the second transaction of the message is still to come"
    assert bound.oldest is not None
    assert bound.oldest <= stamp
    assert f"pid {pid}" in bound.holder


def test_a_transaction_in_another_database_holds_nothing_back(source: Source) -> None:
    with psycopg.connect(source.postgres.dsn("postgres")) as elsewhere:
        elsewhere.execute("SELECT 1")
        bound = source.open().bound()
    assert (bound.oldest, bound.blind) == (None, "")


def test_a_physical_backup_holds_nothing_back(source: Source) -> None:
    probe = source.open()
    with psycopg.connect(f"{source.postgres.dsn()} replication=true", autocommit=True) as walsender:
        walsender.pgconn.send_query(b"BASE_BACKUP")  # its answer is not read, so that it does not end
        _until(source, "state = 'active' AND query = 'BASE_BACKUP'", walsender)
        bound = probe.bound()
        source.execute(f"SELECT pg_terminate_backend({walsender.info.backend_pid})")
        walsender.close()
    assert (bound.oldest, bound.unshown, bound.blind) == (None, None, "")


def test_a_transaction_that_began_before_it_was_tracked_is_found_by_its_lock(source: Source) -> None:
    writer = source.connect()
    writer.execute("SET track_activities = off")
    writer.commit()
    writer.execute("SELECT 1")
    writer.execute("SET track_activities = on")
    bound = source.open().bound()
    assert bound.oldest is None
    assert f"the transaction of pid {writer.info.backend_pid} began before its session was tracked" in bound.blind
    writer.commit()
    writer.execute("SELECT 1")
    assert source.open().bound().blind == ""


def test_a_session_that_hides_what_it_does_may_be_between_two_transactions(source: Source) -> None:
    source.execute(ORDERS)
    probe, writer = source.open(), source.connect()
    writer.autocommit = True
    writer.execute("SET track_activities = off")
    assert probe.bound().blind == "", "it waits for its client"
    plain = source.open(READER)
    assert "GRANT pg_read_all_stats" in plain.bound().blind


@pytest.mark.acceptance
def test_transactions_that_begin_while_they_are_looked_for_do_not_lower_the_guarantee(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe, over = source.open(), threading.Event()
    # Each of them soon shows its start, when a busy machine lets it.
    monkeypatch.setattr(looked_for, "PATIENCE", (*looked_for.PATIENCE, *(0.5,) * 100))

    def write(writer: psycopg.Connection[Any]) -> None:
        writer.autocommit = True
        while not over.is_set():
            writer.execute("BEGIN; COMMIT; " * 2_000)

    writers = [threading.Thread(target=write, args=(source.connect(),)) for _ in range(8)]
    for each in writers:
        each.start()
    try:
        blind = {probe.bound().blind for _ in range(50)}
    finally:
        over.set()
        for each in writers:
            each.join()
    assert blind == {""}


def test_a_database_without_plpgsql_is_read_like_any_other(source: Source) -> None:
    source.execute("DROP EXTENSION plpgsql", ORDERS, "INSERT INTO orders DEFAULT VALUES")
    probe = source.open()
    assert probe.bound().blind == ""
    assert synced(probe, source.spec("orders", UPDATED)).position.watermark is not None


def test_the_zone_is_the_databases_and_not_our_sessions(source: Source) -> None:
    source.execute(f"ALTER DATABASE \"{source.database}\" SET TimeZone = 'America/New_York'")
    assert source.open().bound().zone == "America/New_York"
    source.execute(f"ALTER ROLE {READER} SET TimeZone = 'Asia/Tokyo'")
    assert source.open(READER).bound().zone == "America/New_York", (
        "how the reader likes its clock says nothing of the writers"
    )
    source.execute(f"ALTER DATABASE \"{source.database}\" SET TimeZone = '<+03>-03'")
    assert source.open().bound().zone == "Etc/GMT-3"


def test_a_zone_that_a_reader_of_another_one_cannot_see_is_not_guessed(source: Source) -> None:
    """What the server's own file says is shown to nobody whose role says otherwise."""
    source.execute("CREATE TABLE walls (id int PRIMARY KEY, at timestamp NOT NULL DEFAULT now())")
    source.execute(f"GRANT SELECT ON walls TO {READER}", f"GRANT pg_read_all_stats TO {READER}")
    cursor = Cursor("at", CursorType.DATETIME)
    named = replace(cursor, zone="America/New_York")

    def said(by: Cursor) -> tuple[Guarantee, bool]:
        settled = settle(source.spec("walls", by), by, source.open(READER).bound(), None, None)
        return settled.guarantee, "begins with a TimeZone of its own" in settled.reason

    assert said(cursor) == (Guarantee.SETTLED, False)
    source.execute(f"ALTER ROLE {READER} SET TimeZone = 'UTC'")
    try:
        assert said(cursor) == (Guarantee.BEST_EFFORT, True)
        assert said(named) == (Guarantee.SETTLED, False)
        source.execute(f"ALTER DATABASE \"{source.database}\" SET TimeZone = 'UTC'")
        assert said(cursor) == (Guarantee.SETTLED, False)
    finally:
        source.execute(f"ALTER ROLE {READER} RESET TimeZone")


def test_the_bound_is_taken_before_the_fingerprint(source: Source) -> None:
    source.execute(ORDERS, "INSERT INTO orders DEFAULT VALUES")
    probe, spec = source.open(), source.spec("orders", UPDATED)
    first = synced(probe, spec)
    seen = observe(probe, spec, first)
    assert seen.fingerprint == first.position.fingerprint
    settled = settle(spec, UPDATED, seen.bound, None, first)
    assert settled.value is not None
    assert settled.value.moment() == seen.bound.clock - GUARD


@contextmanager
def _running(writer: psycopg.Connection[Any], message: str) -> Iterator[None]:
    """A message that runs beside the block, which ends when it does."""

    def run() -> None:
        with suppress(psycopg.OperationalError):
            writer.execute(message.encode())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _until(source: Source, condition: str, writer: psycopg.Connection[Any]) -> None:
    """Wait until the view of sessions says that of the writer."""
    asked = source.connect()
    asked.autocommit = True
    sql = f"SELECT {condition} FROM pg_stat_activity WHERE pid = {writer.info.backend_pid}"
    until = time.monotonic() + 30
    while asked.execute(sql.encode()).fetchone() != (True,):
        assert time.monotonic() < until, f"the session never came to {condition}"
        time.sleep(0.001)


def _until_ended(source: Source) -> None:
    """Wait until the server has ended the sessions that the superuser has closed: asked by the reader, as a superuser who asks has one more."""
    place = source.address(READER)
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename <> current_user"
    until = time.monotonic() + 30
    with psycopg.connect(
        host=place.host, port=place.port, dbname=place.database, user=place.user, password=place.password
    ) as asked:
        asked.autocommit = True
        while asked.execute(others).fetchone() != (0,):
            assert time.monotonic() < until, "sessions of this test have not ended"
            time.sleep(0.001)


def _login(source: Source) -> str:
    source.postgres.create_login("someone_else")
    return "someone_else"


# --- the database's own time zone -----------------------------------------------------------------

LOCAL = "CREATE TABLE local (id int PRIMARY KEY, updated_at timestamp NOT NULL DEFAULT localtimestamp)"


@pytest.mark.parametrize(
    ("written", "zone"),
    [
        ("europe/paris", "Europe/Paris"),
        ("utc", "UTC"),
        ("Asia/Kathmandu", "Asia/Kathmandu"),
        ("<+03>-03", "Etc/GMT-3"),
        ("5", "5"),
        ("<+05:30>-05:30", "<+05:30>-05:30"),
        ("<+17>-17", "<+17>-17"),
        ("EST5EDT4,M3.2.0,M11.1.0", "EST5EDT4,M3.2.0,M11.1.0"),
    ],
)
def test_a_zone_is_told_in_its_own_spelling_and_one_that_only_the_database_knows_as_it_is(
    source: Source, written: str, zone: str
) -> None:
    source.execute(f"ALTER DATABASE {source.database} SET TimeZone = '{written}'")
    assert source.open().bound().zone == zone


def test_a_zone_that_only_the_database_knows_stops_the_table_that_is_read_in_it_and_no_other(source: Source) -> None:
    source.execute(LOCAL, "INSERT INTO local VALUES (1)", ORDERS, "INSERT INTO orders DEFAULT VALUES")
    probe = source.open()
    local, orders = source.spec("local", Cursor("updated_at", CursorType.DATETIME)), source.spec("orders", UPDATED)
    before = {local.id: synced(probe, local), orders.id: synced(probe, orders)}
    source.execute(
        f"ALTER DATABASE {source.database} SET TimeZone = '<+05:30>-05:30'",
        "INSERT INTO local VALUES (2)",
        "INSERT INTO orders DEFAULT VALUES",
    )
    probe = source.open()
    looks = [ObserveRequest(spec, before[spec.id]) for spec in (local, orders)]
    positions = {spec.id: Checkpoint(state=before[spec.id]) for spec in (local, orders)}
    moved, stopped, _ = look_over([local, orders], positions, probe.observe(looks))
    assert [each.spec.id for each in located(moved, probe, lambda _: None)] == [orders.id]
    assert [each.table for each in stopped] == [local.id]
    assert "read in the database's own, '<+05:30>-05:30'" in stopped[0].sentence
    assert probe.lag(looks)[1] > 0
    with pytest.raises(ZoneUnknown):
        planned(probe, local, before[local.id])


def test_the_source_says_what_time_it_is_where_its_tables_are_stamped(source: Source) -> None:
    source.execute(LOCAL, ORDERS)
    probe = source.open()
    paris = source.spec("local", Cursor("updated_at", CursorType.DATETIME, zone="Europe/Paris"))
    unheard_of = source.spec("local", Cursor("updated_at", CursorType.DATETIME, zone="Europe/Nowhere"))
    looks = [
        ObserveRequest(paris, None),
        ObserveRequest(source.spec("orders", UPDATED), None),
        ObserveRequest(unheard_of, None),
    ]
    (first, *_) = probe.observe(looks)
    assert {each.zone for each in first.bound.local_times} == {"Europe/Paris"}
    assert first.bound.clock in {each.moment for each in first.bound.local_times}
    assert all(
        each.wall == each.moment.astimezone(ZoneInfo("Europe/Paris")).replace(tzinfo=None)
        for each in first.bound.local_times
    )


def test_a_cursor_that_no_plan_can_hold_is_left_to_its_own_table(source: Source) -> None:
    long = ("CREATE TABLE long (id int PRIMARY KEY, n numeric NOT NULL)", "INSERT INTO long VALUES (1, 7)")
    source.execute(*long, ORDERS, "INSERT INTO orders DEFAULT VALUES")
    probe = source.open()
    far, orders = source.spec("long", Cursor("n", CursorType.INTEGER)), source.spec("orders", UPDATED)
    looks = [ObserveRequest(spec, synced(probe, spec)) for spec in (far, orders)]
    source.execute(f"INSERT INTO long VALUES (2, {'9' * 40})")
    first, second = probe.observe(looks)
    assert first.fingerprint is None
    assert second.fingerprint is not None
