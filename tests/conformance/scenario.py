"""The mark that makes a test a scenario of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from tests.conformance.played import BY_LOG, FILES, ON_CLUSTER, TOPICS

Test = TypeVar("Test", bound=Callable[..., None])


def scenario(
    number: str, done: str, *, holds: str, bugs: Sequence[str] = (), long: bool = False
) -> Callable[[Test], Test]:
    """`done` and `holds` are the report's words; `bugs` are public reports of other tools that it restates; `long` ones are left out of `make test`."""

    def mark(test: Test) -> Test:
        return pytest.mark.scenario(number=number, done=done, holds=holds, bugs=tuple(bugs), long=long)(test)

    return mark


def of_log(number: str, done: str, *, holds: str, bugs: Sequence[str] = ()) -> Callable[[Test], Test]:
    """The same of tables that are read from PostgreSQL's log, which have a column of the report. `make test` has their rules in `tests/adapters/logs`."""
    return _of(BY_LOG, {"number": number, "done": done, "holds": holds, "bugs": tuple(bugs), "long": True})


def of_binlog(number: str, done: str, *, holds: str, bugs: Sequence[str] = ()) -> Callable[[Test], Test]:
    """The same of tables that are read from the binlog of each database that has one. `make test` has their rules in `tests/adapters/logs`."""
    return scenario(number, done, holds=holds, bugs=bugs, long=True)


def of_topic(number: str, done: str, *, holds: str, bugs: Sequence[str] = ()) -> Callable[[Test], Test]:
    """The same of tables that are read from topics. `make test` has their rules in `tests/adapters/topics`."""
    return _of(TOPICS, {"number": number, "done": done, "holds": holds, "bugs": tuple(bugs), "long": True})


def of_files(number: str, done: str, *, holds: str, bugs: Sequence[str] = ()) -> Callable[[Test], Test]:
    """The same of tables that are made of files. `make test` has their rules in `tests/adapters/files`."""
    return _of(FILES, {"number": number, "done": done, "holds": holds, "bugs": tuple(bugs), "long": True})


def of_store(number: str, done: str, *, holds: str, bugs: Sequence[str] = ()) -> Callable[[Test], Test]:
    """The same of copies in a store of objects, by this machine and by a cluster. `make test` has their rules in `tests/adapters/lake_store`."""
    return scenario(number, done, holds=holds, bugs=bugs, long=True)


def of_cluster(number: str, done: str, *, holds: str, bugs: Sequence[str] = ()) -> Callable[[Test], Test]:
    """The same of what only a cluster can meet, played with `--cluster`."""
    return _of(ON_CLUSTER, {"number": number, "done": done, "holds": holds, "bugs": tuple(bugs), "long": True})


def _of(column: str, told: Mapping[str, Any]) -> Callable[[Test], Test]:
    def mark(test: Test) -> Test:
        return pytest.mark.scenario(**told, database=column)(test)

    return mark


def played_on(*databases: str) -> Callable[[Test], Test]:
    """Those of `worlds.ALL` that a scenario is for: the report's columns say the rest."""

    def mark(test: Test) -> Test:
        return pytest.mark.parametrize("world", databases, indirect=True)(test)

    return mark
