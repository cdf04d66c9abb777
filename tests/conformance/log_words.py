"""What the scenarios of logs do to rows, in the words of the database whose log it is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.adapters.logs import binlogged, shelved


@dataclass(frozen=True)
class Words:
    """`{key}`, `{other}` and `{long}` stand for two keys and a large value."""

    orders: str
    """The definition of the table."""
    long: str
    """A text that PostgreSQL does not keep in its row, and does not shrink."""
    put: str
    """A row that comes unless its key is there."""
    put_over: str
    """One that changes the row of its key where that is there."""
    move: str
    """A row that takes another key unless that is there."""
    numbers: str
    """From one on up to `{rows}`, as `n`."""

    def many(self, rows: int) -> str:
        return self.numbers.format(rows=rows)


POSTGRESQL = Words(
    shelved.ORDERS,
    "(SELECT string_agg(md5(n::text || random()::text), '') FROM generate_series(1, 200) AS n)",
    "INSERT INTO orders VALUES ({key}, 'new', {other}, {long}) ON CONFLICT DO NOTHING",
    "INSERT INTO orders VALUES ({key}, 'put', {other}, NULL) ON CONFLICT (id) DO UPDATE SET total = orders.total + 1",
    "UPDATE orders SET id = {other} WHERE id = {key} AND NOT EXISTS (SELECT 1 FROM orders WHERE id = {other})",
    "generate_series(1, {rows}) AS n",
)
BINLOG = Words(
    binlogged.ORDERS,
    "repeat(md5(rand()), 200)",
    "INSERT IGNORE INTO orders VALUES ({key}, 'new', {other}, {long})",
    "INSERT INTO orders VALUES ({key}, 'put', {other}, NULL) ON DUPLICATE KEY UPDATE total = total + 1",
    "UPDATE IGNORE orders SET id = {other} WHERE id = {key}",
    "(SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 1 AS n FROM {digits}) AS g WHERE n <= {rows}".replace(
        "{digits}",
        ", ".join(
            f"({' UNION ALL '.join(f'SELECT {digit} AS n' for digit in range(10))}) AS {name}" for name in "abcde"
        ),
    ),
)
CHANGE = (
    "INSERT INTO orders SELECT max(id) + 1, 'new', 1, NULL FROM orders",
    "UPDATE orders SET total = total + 1 WHERE id > 3",
    "DELETE FROM orders WHERE id = (SELECT id FROM (SELECT min(id) AS id FROM orders) AS first)",
    "UPDATE orders SET id = id + 1000 WHERE id = (SELECT id FROM (SELECT min(id) AS id FROM orders) AS first)",
    "UPDATE items SET n = n + 1",
    "INSERT INTO items SELECT max(id) + 1, 0 FROM items",
)
"""Of two tables, in any of these databases."""


def statements(chance: random.Random, words: Words = POSTGRESQL) -> Iterator[str]:
    """One transaction of up to eight statements over forty keys: rows come, change, move and go, in part only up to a savepoint."""
    is_undone = False
    for _ in range(chance.randint(1, 8)):
        key, other = chance.randint(1, 40), chance.randint(1, 40)
        if not is_undone and chance.random() < 0.1:
            yield "SAVEPOINT here"
            is_undone = True
        chosen = chance.choice(
            (
                words.put,
                words.put_over,
                "UPDATE orders SET status = 's{other}' WHERE id = {key}",
                "UPDATE orders SET note = 'short {other}' WHERE id = {key}",
                words.move,
                "DELETE FROM orders WHERE id = {key}",
            )
        )
        yield chosen.format(key=key, other=other, long=words.long)
    if is_undone:
        yield "ROLLBACK TO here"
