"""The settled bound on a real PostgreSQL: who holds it back, who does not, and what happens where it cannot be known."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from incremental_assets.core.bound import GUARD, Guarantee, settle
from incremental_assets.core.cursor import CursorType
from incremental_assets.core.table import Cursor
from tests.engine.source import READER, UPDATED, Source, observe, planned, synced

pytestmark = pytest.mark.postgres

ORDERS = "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, updated_at timestamptz NOT NULL DEFAULT now())"


def test_a_quiet_source_has_settled_up_to_its_clock(source: Source) -> None:
    bound = source.open().bound()
    assert (bound.oldest, bound.holder, bound.prepared, bound.blind, bound.zone) == (None, "", None, "", "UTC")
    assert bound.identity is not None
    assert bound.identity.database.startswith(f"{source.database}:")
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
    assert state.watermark is None, "number 1 is still open, so number 2 has not settled"
    writer.commit()
    after = synced(probe, spec, state)
    assert after.watermark is not None
    assert after.watermark.text == "3"


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
        assert settle(spec, UPDATED, bound, None, state).value == state.watermark
    finally:
        source.execute("ROLLBACK PREPARED 'moving house'")
    assert probe.bound().prepared is None


def test_a_transaction_that_may_not_be_seen_lowers_the_guarantee(source: Source) -> None:
    source.execute(ORDERS)
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


def test_the_zone_is_the_databases_and_not_our_sessions(source: Source) -> None:
    source.execute(f"ALTER DATABASE \"{source.database}\" SET TimeZone = 'America/New_York'")
    assert source.open().bound().zone == "America/New_York"
    source.execute(f"ALTER ROLE {READER} SET TimeZone = 'Asia/Tokyo'")
    assert source.open(READER).bound().zone == "America/New_York", (
        "how the reader likes its clock says nothing of the writers"
    )
    source.execute(f"ALTER DATABASE \"{source.database}\" SET TimeZone = '<+03>-03'")
    assert source.open().bound().zone == "Etc/GMT-3"


def test_the_bound_is_taken_before_the_fingerprint(source: Source) -> None:
    source.execute(ORDERS, "INSERT INTO orders DEFAULT VALUES")
    probe, spec = source.open(), source.spec("orders", UPDATED)
    first = synced(probe, spec)
    seen = observe(probe, spec, first)
    assert seen.fingerprint == first.fingerprint
    settled = settle(spec, UPDATED, seen.bound, None, first)
    assert settled.value is not None
    assert settled.value.moment() == seen.bound.clock - GUARD


def _login(source: Source) -> str:
    source.postgres.create_login("someone_else")
    return "someone_else"
