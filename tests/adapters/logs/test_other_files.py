"""What lies in the folder of a log and is none of it, or is not what its name says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from incremental_assets.adapters.logs.alone import alone
from incremental_assets.adapters.logs.following import record_in
from incremental_assets.adapters.logs.postgresql.session import opened, without_limit
from incremental_assets.adapters.logs.segments.manifest import FILE, name_of
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.errors import LakeRefused
from tests.adapters.logs.stand import LogStand

SEGMENT = name_of(1, 255)


def locked(folder: Path) -> None:
    with alone(folder, 1):
        pass


def test_what_a_file_manager_leaves_beside_segments_is_none_of_them(tmp_path: Path) -> None:
    for name in (SEGMENT, ".DS_Store", "unfinished", f"going-{SEGMENT}", "0000000001-ff"):
        (tmp_path / "segments" / name).mkdir(parents=True)
    assert Shelf(tmp_path).names() == [SEGMENT]


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("followed.json", record_in),
        ("standing.json", lambda folder: Shelf(folder).standing()),
        (f"segments/{SEGMENT}/{FILE}", lambda folder: Shelf(folder).standing()),
        ("lock", locked),
    ],
)
def test_a_folder_with_the_name_of_a_file_is_named(tmp_path: Path, name: str, ask: Callable[[Path], object]) -> None:
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(LakeRefused, match=tmp_path.name):
        ask(tmp_path)


def test_a_file_with_the_name_of_the_folder_of_segments_is_named(tmp_path: Path) -> None:
    (tmp_path / "segments").write_text("no folder")
    with pytest.raises(LakeRefused, match="segments cannot be read"):
        Shelf(tmp_path).names()


def test_decoding_a_slot_takes_longer_than_a_statement_may(stand: LogStand) -> None:
    with opened(stand.address()) as asked:
        asked.execute("SELECT 1")
        with without_limit(asked):
            assert asked.execute("SHOW statement_timeout").fetchall() == [("0",)]
            assert asked.connection.patience is None
        assert asked.execute("SHOW statement_timeout").fetchall() != [("0",)]
        assert asked.connection.patience is not None
        with pytest.raises(psycopg.errors.SyntaxError), without_limit(asked):
            asked.execute("SELECT FROM FROM")
        assert asked.connection.patience is not None
