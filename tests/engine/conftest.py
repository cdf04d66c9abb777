"""The source that the SQL towards PostgreSQL is tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.engine.source import READER, Source


@pytest.fixture
def source(
    postgres: EmbeddedPostgres, database: str, connect: Callable[[], psycopg.Connection[Any]]
) -> Iterator[Source]:
    postgres.create_login(READER)
    found = Source(postgres, database, connect, [])
    yield found
    for probe in found.opened:
        probe.close()
