"""A secret that the driver cannot send: one sentence, before a server has said anything of it."""

from __future__ import annotations

import socket

import pymysql
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.core.errors import SourceUnreachable


def test_a_password_too_long_for_the_servers_key_is_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object) -> None:
        raise ValueError("Encryption failed")

    monkeypatch.setattr(pymysql.connections.Connection, "connect", cannot)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(SourceUnreachable) as told:
        Connection(Address("mysql", "127.0.0.1", listener.getsockname()[1], "shop", "reader", "s3cret" * 50, "disable"))

    assert "the secret that `password` refers to cannot be sent (Encryption failed)" in str(told.value)
    assert "s3cret" not in str(told.value)
