"""A session that is closed has been ended by the server, whatever it was doing: before that its place is nobody's."""

from __future__ import annotations

import threading
from contextlib import closing, suppress
from dataclasses import replace

import pymysql
import pytest

from incremental_assets.adapters.databases.mysql import connect
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.ending import Line, end
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from tests.adapters.databases.mysql_contract import Shop, made, state_of
from tests.adapters.ends import way_to
from tests.waiting import until

MANY = "SELECT seq, REPEAT('x', 1000) FROM seq_1_to_10000"


@pytest.fixture
def shop(mariadb: EmbeddedMariaDB) -> Shop:
    return made(mariadb)


@pytest.mark.parametrize("rows", [0, 100], ids=["at rest", "in the middle of an answer"])
def test_a_session_is_closed_when_the_server_has_ended_it_and_not_before(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(connect, "_ENDED_WITHIN", 60.0)
    with way_to(shop.address.host, shop.address.port) as way:
        connection = Connection(replace(shop.address, port=way.port))
        answer = connection.batches(MANY, (), rows) if rows else None
        if answer is not None:
            next(answer)
        closing_it = threading.Thread(target=connection.close)
        closing_it.start()
        assert way.came.wait(60)
        assert closing_it.is_alive()
        way.passes.set()
        closing_it.join(60)
        assert not closing_it.is_alive()


def sessions(shop: Shop) -> set[int]:
    with shop.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE user = 'reader' AND command <> 'Killed'")
        return {int(number) for (number,) in cursor.fetchall()}


def test_a_session_that_works_on_is_ended_once_nobody_hears_it(shop: Shop) -> None:
    connection = Connection(shop.address)

    def work() -> None:
        with suppress(pymysql.Error):
            connection.rows("SELECT SLEEP(600)")

    working = threading.Thread(target=work)
    working.start()
    until(lambda: state_of(shop, "User sleep"))
    connection.abort()
    working.join(60)
    connection.close()
    assert connection.number not in sessions(shop)


def test_no_session_of_that_number_is_ended_behind_another_line(shop: Shop) -> None:
    with closing(Connection(shop.address)) as connection:
        end(shop.address, Line(connection.number, 1), {"ssl_disabled": True})
        end(shop.address, Line(connection.number, 0), {"ssl_disabled": True})
        assert connection.number in sessions(shop)
        assert connection.row("SELECT 1") == ("1",)
