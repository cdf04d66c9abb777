"""PostgreSQL keeps the contract of all databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.databases.contract import *  # noqa: F403 - the suite
from tests.adapters.databases.contract import Words
from tests.adapters.databases.keys_contract import *  # noqa: F403 - of keys

WORDS = Words(
    "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "timestamptz", CursorType.TIMESTAMP, "numeric(5,2)", "'NaN'"
)


@dataclass(frozen=True)
class Server:
    """A database of the embedded server."""

    postgres: EmbeddedPostgres
    database: str
    words: Words = WORDS

    @property
    def address(self) -> Address:
        return self._at(self.database)

    def execute(self, *statements: str) -> None:
        connection = self._connect()
        connection.autocommit = True
        for statement in statements:
            connection.execute(statement.encode())
        connection.close()

    @contextmanager
    def writing(self, statement: str) -> Iterator[Callable[[], None]]:
        connection = self._connect()
        connection.execute(statement.encode())
        yield connection.commit
        connection.close()

    def elsewhere(self) -> Address:
        self.postgres.create_database(f"{self.database}_other")
        return self._at(f"{self.database}_other")

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.postgres.dsn(self.database))

    def _at(self, database: str) -> Address:
        user = self.postgres.user
        return Address(
            "postgresql", "127.0.0.1", self.postgres.port, database, user, self.postgres.password_of(user) or ""
        )


@pytest.fixture
def world(postgres: EmbeddedPostgres, database: str) -> Server:
    return Server(postgres, database)
