"""T71: transactions of any length and kind, and how a load and the log beside it become one copy."""

from __future__ import annotations

import random

import pytest

from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs import test_capture_joined as joined
from tests.adapters.logs.shelved import ORDERS, Open
from tests.conformance.accounts import ACCOUNTS, TRANSFERS, Ledger
from tests.conformance.scenario import of_log

WRITERS, MOMENTS = 8, 100


@of_log(
    "T71",
    "Four transactions write first and commit last, in another order than they began, while syncs run between and other rows come; one of them is rolled back",
    holds="each sync lands what has been committed and nothing else; a late commit lands with the next sync, over what was older",
)
def test_transactions_that_stay_open_over_several_syncs(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'old', 0, NULL FROM generate_series(1, 10) AS n")
    late = [shop.stand.shop.connect() for _ in range(4)]
    shop.land()
    late[0].execute("UPDATE orders SET status = 'late' WHERE id = 1")
    for number, session in enumerate(late):
        session.execute(f"INSERT INTO orders VALUES ({100 + number}, 'late', 0, NULL)".encode())
        shop.execute(f"INSERT INTO orders VALUES ({200 + number}, 'new', 0, NULL)")
        shop.land()
        shop.assert_equal()
    for number in (2, 0, 3):
        late[number].commit()
        shop.execute(f"UPDATE orders SET status = 'after {number}' WHERE id = {100 + number}")
        shop.land()
        shop.assert_equal()
    late[1].rollback()
    shop.land()
    shop.assert_equal()
    for session in late:
        session.close()


@of_log(
    "T71",
    "A transaction of 200,000 rows with nested savepoints, half of them rolled back, is spilled to disk by the server; one is prepared, "
    "a sync runs, the server crashes, and another session commits it; one that was prepared is rolled back",
    holds="nothing of what was undone lands, the prepared rows land with their commit, once, and both sides are equal",
)
def test_savepoints_large_transactions_and_two_phase_commits(open_shop: Open) -> None:
    shop = open_shop()
    shop.land()
    with shop.stand.shop.connect() as session:
        for part in range(20):
            session.execute("SAVEPOINT part")
            session.execute(
                f"INSERT INTO orders SELECT n, 'part {part}', n, repeat('x', 300) FROM generate_series({part} * 10000, {part} * 10000 + 9999) AS n".encode()
            )
            session.execute("SAVEPOINT deeper")
            session.execute(f"UPDATE orders SET status = 'undone' WHERE id < {part}".encode())
            session.execute("ROLLBACK TO deeper" if part % 3 else "RELEASE deeper")
            if part % 2:
                session.execute("ROLLBACK TO part")
    for number, note in ((1, "kept"), (2, "undone")):
        with shop.stand.shop.connect() as session:
            session.execute(f"UPDATE orders SET note = '{note}' WHERE id = {number}".encode())
            session.execute(f"INSERT INTO orders VALUES (-{number}, '{note}', 0, NULL)".encode())
            session.execute(f"PREPARE TRANSACTION 'order {number} of {shop.slot}'".encode())
    shop.execute("INSERT INTO orders VALUES (-3, 'beside', 0, NULL)")
    shop.land()
    assert len(shop.stand.copy("orders")) == 100_001
    shop.stand.shop.postgres.restart("immediate")
    shop.execute("UPDATE orders SET status = 'after' WHERE id = -3")
    shop.outside(f"COMMIT PREPARED 'order 1 of {shop.slot}'")
    shop.land()
    shop.outside(f"ROLLBACK PREPARED 'order 2 of {shop.slot}'")
    shop.land()
    shop.assert_equal()


@of_log(
    "T71",
    f"{WRITERS} writers move money between accounts, in part in transactions that stay open for a while, and count what each has done in the same transaction; "
    f"at {MOMENTS} random moments the tables are loaded anew under a snapshot, or synced",
    holds="after each sync the copy is the table at one place of the log, which is not older than the sync: no money is made or lost, each writer's count is that of its rows, "
    "and what was committed before is there; in the end both sides are equal",
)
def test_the_join_of_a_load_and_the_log_under_writers(open_shop: Open) -> None:
    shop, chance = open_shop(ORDERS, ACCOUNTS, TRANSFERS), random.Random(7)
    with Ledger.written_by(shop, WRITERS) as ledger:
        for moment in range(MOMENTS):
            name = ("accounts", "transfers")[moment % 2]
            is_load = moment < 2 or chance.random() < 0.5
            done = ledger.done()
            shop.land(name, mode=Mode.FULL_REFRESH if is_load else Mode.SYNC)
            ledger.assert_consistent(name, done)
    shop.stand.land("accounts", "transfers")
    shop.assert_equal("accounts", "transfers")
    assert ledger.done() > MOMENTS


@of_log(
    "T71",
    "A commit waits for a standby, so that it is decoded and passed before any snapshot shows it; another table is synced meanwhile, and then this one is loaded",
    holds="the load waits for the commit, or names what it waits for; the row is there, once",
)
def test_a_commit_that_waits_for_a_standby(open_shop: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    joined.a_commit_that_waits_for_a_standby(open_shop(ORDERS, joined.ITEMS), monkeypatch)


@of_log(
    "T71",
    "A transaction has written to the table before it came into the publication, so that the log does not have it, and is open while the table is loaded",
    holds="the load waits for its end, and its rows are there, once",
)
def test_a_transaction_that_is_older_than_the_publication(open_shop: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    joined.a_transaction_that_is_older_than_the_publication(open_shop(), monkeypatch)


@of_log(
    "T71",
    "A transaction writes while the table is loaded, after the load has begun and before its snapshot is taken, and commits when the load has landed",
    holds="its rows are there with the next sync, once",
)
def test_a_transaction_that_begins_while_the_table_is_loaded(open_shop: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    joined.a_transaction_that_the_snapshot_does_not_show(open_shop(), monkeypatch)
