"""What ends before a server of MySQL's has said anything: one sentence."""

from __future__ import annotations

import socket
from datetime import timedelta

import psycopg
import pymysql
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.postgresql.errors import explain
from incremental_assets.core.errors import SourceUnreachable


def test_a_password_too_long_for_the_servers_key_is_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object) -> None:
        raise ValueError("Encryption failed")

    monkeypatch.setattr(pymysql.connections.Connection, "connect", cannot)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(SourceUnreachable) as told:
        Connection(Address("mysql", "127.0.0.1", listener.getsockname()[1], "shop", "reader", "s3cret" * 50, "disable"))

    assert "the secret that `password` refers to cannot be sent (Encryption failed)" in str(told.value)
    assert "s3cret" not in str(told.value)


def test_a_server_of_another_kind_is_told_with_what_to_look_at() -> None:
    """It waits for the first word, as PostgreSQL does, while MySQL's protocol waits for it to greet."""
    quick = timedelta(seconds=1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(SourceUnreachable) as told:
            Connection(Address("mysql", "127.0.0.1", port, "shop", "reader", "s3cret", connect_timeout=quick))

    assert str(told.value).startswith(f"reader@127.0.0.1:{port}/shop: what answers there is no server of this dialect")
    assert str(told.value).endswith("check `dialect`, `host` and `port`")


@pytest.mark.parametrize(
    "words",
    [
        "connection failed: expected authentication request from server, but received J",
        "connection failed: received invalid response to SSL negotiation: J",
    ],
)
def test_a_server_of_mysql_at_the_address_of_a_postgresql_is_told(words: str) -> None:
    address = Address("postgresql", "db", 3306, "shop", "reader", "s3cret", "verify-full")
    told = str(explain(psycopg.OperationalError(words), address, None))
    assert told.startswith("reader@db:3306/shop: what answers there is no server of this dialect")
