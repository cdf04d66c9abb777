"""Writers who move money between accounts: whoever reads the tables at any one place of the log sees all of it, and what each writer has counted."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from tests.adapters.logs.log_shop import LogShop
from tests.conformance.soak.copy import ask

ACCOUNTS = "accounts (id int PRIMARY KEY, money int, done int)"
"""Of the last ones each is a writer's own: `done` is how often it has committed."""
TRANSFERS = "transfers (writer int, number int, what text, PRIMARY KEY (writer, number))"
"""A writer keeps its last ten, so that rows come and go; the one of number zero says how often it has committed."""
HELD = 200


@dataclass
class Ledger:
    """`HELD` accounts, and one more for each writer."""

    shop: LogShop[Any]
    writers: int

    @classmethod
    @contextmanager
    def written_by(cls, shop: LogShop[Any], writers: int) -> Iterator[Ledger]:
        """They write until the block ends."""
        shop.execute(
            f"INSERT INTO accounts VALUES {', '.join(f'({n}, 100, 0)' for n in range(1, HELD + writers + 1))}",
            f"INSERT INTO transfers SELECT id - {HELD}, 0, '0' FROM accounts WHERE id > {HELD}",
        )
        stop, failed = threading.Event(), list[Exception]()

        def write(writer: int) -> None:
            try:
                with closing(shop.writing()) as connection:
                    _write(connection, writer, stop)
            except Exception as error:  # noqa: BLE001 - of any driver
                failed.append(error)

        threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(1, writers + 1)]
        for thread in threads:
            thread.start()
        try:
            yield cls(shop, writers)
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        assert failed == []

    def done(self) -> int:
        """Transactions that have been committed."""
        ((done,),) = self.shop.stand.shop.rows("SELECT sum(done) FROM accounts")
        return int(done)

    def assert_consistent(self, name: str, at_least: int) -> int:
        """The copy is the table at one place of the log, by which so many transactions have been committed; how many."""
        if name == "accounts":
            rows = ask(self.shop.stand.shop.lake("accounts"), "SELECT id, money, done FROM copy")
            assert (len(rows), sum(row[1] for row in rows)) == (HELD + self.writers, 100 * (HELD + self.writers))
            done = sum(row[2] for row in rows)
        else:
            rows = ask(self.shop.stand.shop.lake("transfers"), "SELECT writer, number, what FROM copy")
            told = {writer: int(what) for writer, number, what in rows if number == 0}
            assert sorted(told) == [*range(1, self.writers + 1)]
            wanted = {(writer, number) for writer, last in told.items() for number in range(max(1, last - 9), last + 1)}
            found = Counter((writer, number) for writer, number, _ in rows if number)
            assert found == Counter(wanted)
            done = sum(told.values())
        assert done >= at_least, f"{done} transactions are in the copy, and {at_least} were before"
        return done


def _write(connection: Any, writer: int, stop: threading.Event) -> None:
    chance, number, cursor = random.Random(writer), 0, connection.cursor()
    while not stop.is_set():
        number += 1
        # In one order, so that no two wait for each other.
        one, other = sorted(chance.sample(range(1, HELD + 1), 2))
        for account, money in ((one, 7), (other, -7)):
            cursor.execute("UPDATE accounts SET money = money + %s WHERE id = %s", [money, account])
        cursor.execute("UPDATE accounts SET done = done + 1 WHERE id = %s", [HELD + writer])
        cursor.execute("INSERT INTO transfers VALUES (%s, %s, %s)", [writer, number, f"{one} to {other}"])
        cursor.execute("UPDATE transfers SET what = %s WHERE writer = %s AND number = 0", [str(number), writer])
        cursor.execute("DELETE FROM transfers WHERE writer = %s AND number = %s AND number > 0", [writer, number - 10])
        if chance.random() < 0.05:
            time.sleep(chance.random())
        connection.commit()
        time.sleep(0.05)
