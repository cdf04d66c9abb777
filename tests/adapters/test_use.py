"""A kept engine is used by as many runs as there are, and nobody ends it under their hands."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

from incremental_assets.adapters.spark.use import Use, last_use, touch, unused

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def since_long_ago(folder: Path) -> None:
    touch(folder)
    os.utime(folder / "engine.use", (LONG_AGO.timestamp(), LONG_AGO.timestamp()))


def test_it_is_unused_since_the_last_of_its_uses_has_ended(tmp_path: Path) -> None:
    since_long_ago(tmp_path)
    first, second = Use(tmp_path), Use(tmp_path)
    for use in (first, second):
        with unused(tmp_path) as last:
            assert last is None
        use.end()
        use.end()
    with unused(tmp_path) as last:
        assert last is not None
        assert last > LONG_AGO
    assert last_use(tmp_path) == last


def test_to_look_is_no_use(tmp_path: Path) -> None:
    since_long_ago(tmp_path)
    with unused(tmp_path) as last:
        assert last == LONG_AGO
    assert last_use(tmp_path) == LONG_AGO


def test_who_decides_that_nobody_uses_it_is_not_overtaken_by_a_use(tmp_path: Path) -> None:
    decided: list[str] = []

    def begin() -> None:
        use = Use(tmp_path)
        decided.append("used")
        use.end()

    beginning = threading.Thread(target=begin)
    with unused(tmp_path) as last:
        assert last is not None
        beginning.start()
        beginning.join(0.2)
        assert beginning.is_alive(), "it waits"
        decided.append("withdrawn")
    beginning.join(60)
    assert decided == ["withdrawn", "used"]


def test_the_file_is_for_this_user_alone(tmp_path: Path) -> None:
    Use(tmp_path).end()
    assert (tmp_path / "engine.use").stat().st_mode & 0o777 == 0o600
