"""The source is restored, fails over, loses its slot; its certificate, connections, clock, columns; rows change without a stamp."""

from __future__ import annotations

import psycopg
import pytest

from tests.conformance.backed import Backed
from tests.conformance.clock import ClockedPostgres
from tests.gameday.deployment import SLOT
from tests.gameday.game import Game
from tests.shop import PASSWORD

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]

ORDERS = "shop public.orders"
MAKE_SLOT = f"SELECT pg_create_logical_replication_slot('{SLOT}', 'pgoutput')"


def test_the_source_is_restored_from_an_older_backup(game: Game) -> None:
    site = game.deployment
    backed = Backed(site.server)
    backed.back_up()
    for _ in range(2):
        site.move()
        site.wait(site.is_equal)
    game.breaks("the database is put back from a backup that lacks two syncs, its slot as well", backed.restore)
    site.move()
    game.fires("TableFailing", ORDERS)
    game.looks("table-failing", "restored from an older copy")
    game.looks("source-restored", "restored from an older copy")
    game.by_hand(f"make the slot anew: `{MAKE_SLOT}`", lambda: _slot_anew(game))
    game.fixes("source-restored")
    game.verifies("source-restored")


def _slot_anew(game: Game) -> None:
    game.deployment.execute(
        f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{SLOT}'", MAKE_SLOT
    )


def test_the_source_fails_over(game: Game) -> None:
    site, backed = game.deployment, Backed(game.deployment.server)
    game.breaks("a replica that had received everything is promoted", backed.fail_over)
    # Tables with a cursor go on by themselves; what the log of another timeline lacks, nobody can tell.
    game.stays_quiet("orders", "events")
    game.fires("TableFailing", "shop public.baskets")
    game.looks("table-failing")
    game.looks("slot-lost", SLOT)
    game.by_hand(f"make the slot anew: `{MAKE_SLOT}`", lambda: _slot_anew(game))
    game.fixes("slot-lost")
    site.move()
    game.verifies("slot-lost")


def test_the_slot_is_lost(game: Game) -> None:
    site = game.deployment
    game.breaks("the replication slot is dropped", lambda: site.execute(f"SELECT pg_drop_replication_slot('{SLOT}')"))
    site.move()
    game.fires("TableFailing", "shop public.baskets")
    game.looks("table-failing")
    game.looks("slot-lost", "there is no replication slot", MAKE_SLOT)
    game.by_hand(f"make the slot: `{MAKE_SLOT}`", lambda: site.execute(MAKE_SLOT))
    game.fixes("slot-lost")
    game.verifies("slot-lost")


def test_the_certificate_has_expired(game: Game) -> None:
    site = game.deployment
    game.breaks("the certificate of the source expires", lambda: site.front.renew(days=0))
    game.fires("SourceDown", "shop")
    game.looks("source-down", "certificate")
    game.looks("certificate-expired", "certificate verify failed", "renew the server's certificate")
    game.by_hand("renew the certificate", site.front.renew)
    game.fixes("certificate-expired")
    game.verifies("certificate-expired")


def test_no_connection_is_left(game: Game) -> None:
    site = game.deployment
    held: list[psycopg.Connection] = []

    def take_all() -> None:
        site.execute("ALTER ROLE reader CONNECTION LIMIT 1")
        of_the_role = {"user": "reader", "password": PASSWORD, "application_name": "reports"}
        held.append(psycopg.connect(host=site.server.host, port=site.server.port, dbname="shop", **of_the_role))

    def end_them() -> None:
        for each in held:
            each.close()
        site.execute("ALTER ROLE reader CONNECTION LIMIT -1")

    game.breaks("another program holds every connection that the role may have", take_all)
    game.fires("SourceDown", "shop")
    game.looks("source-down", "no connection left")
    game.looks("no-connection", "no connection left")
    game.by_hand("end who holds them", end_them)
    game.fixes("no-connection")
    game.verifies("no-connection")


def test_a_column_has_another_type(game: Game) -> None:
    site = game.deployment
    site.execute("ALTER TABLE orders ADD weight numeric(9,2)")
    site.move()
    site.wait(site.is_equal)
    game.breaks(
        "a column that had landed as `numeric` becomes `text` in the source",
        lambda: site.execute("ALTER TABLE orders ALTER weight TYPE text"),
    )
    site.move()
    game.fires("TableFailing", ORDERS)
    game.looks("table-failing", "weight")
    game.looks("schema-changed", "weight")
    game.fixes("schema-changed")
    game.verifies("schema-changed")


def test_the_clock_of_the_source_is_put_back(game: Game) -> None:
    server = game.deployment.server
    if not isinstance(server, ClockedPostgres):
        pytest.skip("no clock of its own can be made here")
    game.breaks("the clock of the database server is put back by ten minutes", lambda: server.clock.step(-600))
    game.deployment.move()
    game.looks("clock-stepped", "public.orders")
    game.fixes("clock-stepped")
    game.stays_quiet()
    game.by_hand("have the clock run with all others again", lambda: server.clock.set(0))
    game.verifies("clock-stepped")


def test_rows_change_without_a_stamp(game: Game) -> None:
    site = game.deployment
    game.breaks(
        "a script changes 40 rows with the trigger off that stamps them, and somebody checks",
        lambda: (
            site.execute(
                "ALTER TABLE orders DISABLE TRIGGER touch",
                "UPDATE orders SET note = 'unseen' WHERE id <= 40",
                "ALTER TABLE orders ENABLE TRIGGER touch",
            ),
            site.run("incremental-assets check --select shop.public.orders"),
        ),
    )
    game.fires("Drift", ORDERS)
    game.looks("drift", "unseen")
    game.fixes("drift")
    game.verifies("drift")
