"""Who is second writes nothing: threads and processes that commit to one log at the same moment."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.commit_file import put_if_absent
from incremental_assets.adapters.delta.log.log_state import commit_path
from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from tests.adapters.tasks.tables import Table

VERSIONS = 1000
ROOT = Path(__file__).parents[3]
WRITER = """
import sys
from incremental_assets.adapters.delta.log.commit_file import put_if_absent
table, name, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
for version in range(1, last + 1):
    if put_if_absent(table, version, [{"commitInfo": {"engineInfo": name}}]):
        print(version)
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, "id bigint, note string")


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def authors(table: Table, last: int) -> list[str]:
    infos = [json.loads(Path(commit_path(str(table.path), version)).read_text()) for version in range(1, last + 1)]
    return [info["commitInfo"]["engineInfo"] for info in infos]


def test_of_two_processes_one_wins_each_version(table: Table) -> None:
    command = [sys.executable, "-c", WRITER, str(table.path)]
    running = {
        name: subprocess.Popen([*command, name, str(VERSIONS)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for name in ("one", "other")
    }
    won = {name: [int(line) for line in process.communicate()[0].split()] for name, process in running.items()}
    assert sorted(won["one"] + won["other"]) == list(range(1, VERSIONS + 1))
    found = authors(table, VERSIONS)
    assert all(found[version - 1] == name for name, versions in won.items() for version in versions)
    assert not [path for path in (table.path / "_delta_log").iterdir() if path.suffix == ".tmp"]


def test_of_eight_threads_one_wins_each_version(table: Table) -> None:
    def racing(name: str) -> list[int]:
        return [
            version
            for version in range(1, 101)
            if put_if_absent(str(table.path), version, [{"commitInfo": {"engineInfo": name}}])
        ]

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(racing, map(str, range(8))))
    assert sorted(version for versions in won for version in versions) == list(range(1, 101))
    assert [won_by for version, won_by in enumerate(authors(table, 100), 1) if version not in won[int(won_by)]] == []


def test_a_version_that_is_there_stays_as_it_is(table: Table) -> None:
    before = Path(commit_path(str(table.path), 0)).read_bytes()
    assert not put_if_absent(str(table.path), 0, [{"commitInfo": {}}])
    assert Path(commit_path(str(table.path), 0)).read_bytes() == before
    assert sorted(path.name for path in (table.path / "_delta_log").iterdir()) == [f"{0:020d}.json"]


def test_a_link_that_was_made_though_it_was_refused_is_ours(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def twice(source: Path, target: Path) -> None:
        link(source, target)
        raise FileExistsError(17, "File exists", str(target))

    monkeypatch.setattr(os, "link", twice)
    assert put_if_absent(str(table.path), 1, [{"commitInfo": {"engineInfo": "ours"}}])
    assert authors(table, 1) == ["ours"]


@pytest.mark.usefixtures("usual_umask")
def test_what_is_written_is_no_other_users_to_read(table: Table) -> None:
    table.land(Replacing((0,), compares=True), [(number, "a") for number in range(40_000)])
    table.land(Replacing((0,), compares=True), [(number, "b") for number in range(0, 40_000, 7)])
    vectors = [name for name in table.files() if name.startswith("deletion_vector")]
    assert vectors, "too large for the log"
    written = [*(table.path / name for name in table.files()), Path(commit_path(str(table.path), 2))]
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o640}


@pytest.mark.parametrize("left", ["half a commit", "a data file", "a vector"])
def test_what_a_killed_writer_leaves_is_no_part_of_the_table(table: Table, left: str) -> None:
    table.land(Replacing((0,), compares=True), [(1, "a"), (2, "b")])
    if left == "half a commit":
        (table.path / "_delta_log" / f".{2:020d}.json.5f3c.tmp").write_text('{"commitInfo"')
    else:
        (table.path / ("part-1.parquet" if left == "a data file" else "deletion_vector_1.bin")).write_bytes(b"PAR")
    table.land(Replacing((0,), compares=True), [(2, "B")])
    assert table.rows() == [(1, "a"), (2, "B")]
    assert DeltaTable(table.path).version() == log_cache.at(str(table.path), 2).version == 2
