"""One deployment for all games: each heals what it has broken. After a game that failed there is another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.gameday.deployment import Watched, deployed
from tests.gameday.game import Game

GAME = "game"


class Site:
    """The deployment that runs."""

    def __init__(self, folders: Callable[[], Path]) -> None:
        self._folders, self._stack = folders, ExitStack()
        self._deployment: Watched | None = None

    def deployment(self) -> Watched:
        if self._deployment is None:
            self._deployment = self._stack.enter_context(deployed(self._folders()))
        return self._deployment

    def give_up(self) -> None:
        self._stack.close()
        self._deployment = None


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    this = Site(lambda: tmp_path_factory.mktemp("gameday"))
    yield this
    this.give_up()


@pytest.fixture
def deployment(site: Site, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """The one of all games, or the next one."""
    yield site.deployment()
    if request.node.stash.get(FAILED, False):
        site.give_up()


@pytest.fixture
def game(
    deployment: Watched, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Game]:
    """What the test's name says, played on a deployment that is well."""
    title = request.node.name.removeprefix("test_").replace("_", " ")
    this = Game(deployment, title[0].upper() + title[1:])
    yield this
    record_property(GAME, json.dumps(this.told.document))


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remembered, as a fixture does not hear of it."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
    return report
