"""A connection to PostgreSQL is closed when the server has ended its session, whatever it was doing: before that its slot is nobody's."""

from __future__ import annotations

import threading

import pytest

from incremental_assets.adapters.databases.postgresql import read_timeout
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.ends import way_to

MANY = "COPY (SELECT n, repeat('x', 1000) FROM generate_series(1, 100000000) n) TO STDOUT"


@pytest.mark.parametrize("reads", [False, True], ids=["at rest", "in the middle of a COPY"])
def test_a_session_is_closed_when_the_server_has_ended_it_and_not_before(
    postgres: EmbeddedPostgres, database: str, monkeypatch: pytest.MonkeyPatch, *, reads: bool
) -> None:
    monkeypatch.setattr(read_timeout, "_CLOSED_WITHIN", 60.0)
    monkeypatch.setattr(read_timeout, "_CANCELLED_WITHIN", 60.0)
    with way_to("127.0.0.1", postgres.port) as way:
        connection = Patient.connect(postgres.dsn(database), host="127.0.0.1", port=way.port)
        connection.execute("SELECT 1")
        if reads:
            connection.pgconn.send_query(MANY.encode())
        closing_it = threading.Thread(target=connection.close)
        closing_it.start()
        assert way.came.wait(60)
        assert closing_it.is_alive()
        way.passes.set()
        closing_it.join(60)
        assert not closing_it.is_alive()
