"""The checkpoint database three times: in memory, in a SQLite file, in PostgreSQL. A door is what one process has of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.ports import Checkpoints
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.fakes import FakeCheckpoints, Memory

SQL = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))


def postgresql_url(postgres: EmbeddedPostgres, database: str) -> str:
    return f"postgresql://{postgres.user}:{postgres.password}@{postgres.host}:{postgres.port}/{database}"


@pytest.fixture(params=SQL)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of SQL; the SQLite file's folder does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/not/yet/checkpoints.db"
    return postgresql_url(request.getfixturevalue("postgres"), request.getfixturevalue("database"))


@pytest.fixture
def checkpoints(url: str) -> Iterator[SqlCheckpoints]:
    """One door to it."""
    door = SqlCheckpoints(url)
    yield door
    door.close()


@pytest.fixture(params=("fake", *SQL))
def open_door(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Checkpoints]]:
    """Opens doors to one database, SQL or not."""
    opened: list[SqlCheckpoints] = []
    if request.param == "fake":
        memory = Memory()
        yield lambda: FakeCheckpoints(memory)
        return
    if request.param == "sqlite":
        where = f"sqlite:///{tmp_path}/checkpoints.db"
    else:
        where = postgresql_url(request.getfixturevalue("postgres"), request.getfixturevalue("database"))

    def open_one() -> SqlCheckpoints:
        opened.append(SqlCheckpoints(where))
        return opened[-1]

    yield open_one
    for door in opened:
        door.close()
