"""The checkpoint database is lost, put back from an older copy, damaged."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.gameday.game import Game

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]


def _file(game: Game) -> Path:
    return game.deployment.folder / "checkpoints.db"


def _removed(game: Game) -> None:
    for file in game.deployment.folder.glob("checkpoints.db*"):
        file.unlink()


def _copied(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def test_the_checkpoints_are_lost(game: Game) -> None:
    game.breaks("the checkpoint database is deleted", lambda: _removed(game))
    game.stays_quiet_and_heals()


def test_the_checkpoints_are_an_older_copy(game: Game) -> None:
    site, copy = game.deployment, game.deployment.folder / "older.db"
    _copied(_file(game), copy)
    for _ in range(2):
        site.move()
        site.wait(site.is_equal)

    def put_back() -> None:
        _removed(game)
        shutil.move(copy, _file(game))

    game.breaks("the checkpoint database is put back from a copy that is two syncs old", put_back)
    game.stays_quiet_and_heals()


def test_the_checkpoints_are_damaged(game: Game) -> None:
    def damage() -> None:
        _removed(game)
        _file(game).write_bytes(b"no database at all " * 4_000)

    game.breaks("the checkpoint database is overwritten with something else", damage)
    game.fires("ExporterDown", "")
    game.looks("exporter-down", "is not a checkpoint database that can be read")
    game.looks("checkpoints-lost", "is not a checkpoint database that can be read")
    game.fixes("checkpoints-lost")
    game.verifies("checkpoints-lost")
