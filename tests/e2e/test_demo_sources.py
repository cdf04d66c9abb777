"""The demo on the databases beside PostgreSQL, as a stranger runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.places import configuration_of
from incremental_assets.demo.shop import remove_all

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Path]:
    """The folder beside which `.demo-…` and `.lake-…` lie."""
    yield tmp_path
    remove_all(tmp_path)


def demo(clone: Path, name: str, *options: str) -> dict[str, Any]:
    config = clone / "incremental_assets" / "demo" / f"{name}.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(configuration_of(name), config)
    command = Path(sys.executable).with_name("incremental-assets")
    done = subprocess.run(
        [command, "demo", "--scale", "0.01", "--json", "--config", config, *options],
        env={**os.environ, "DAGSTER_HOME": str(clone / ".dagster")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert len(told["tables"]) == 8
    return told


@pytest.mark.parametrize("dialect", ["sqlite", "mariadb", "mysql"])
def test_every_table_is_proven_equal_after_either_sync(
    dialect: str, clone: Path, request: pytest.FixtureRequest
) -> None:
    if dialect != "sqlite":
        # Only where there are programs for one.
        assert isinstance(request.getfixturevalue(dialect), EmbeddedMariaDB)
    tables = demo(clone, dialect)["tables"]
    assert all(table["proof"]["equal"] for table in tables)
    by_name = {table["table"].partition(".")[2]: table for table in tables}
    assert {name for name, table in by_name.items() if table["rows"]["deleted"]} == {"orders", "lineitem"}
    assert {name: table["held"] for name, table in by_name.items() if table["held"]} == {"part": 1}
    assert by_name["customer"]["proof"]["faulty_keys_of_history"] == 0
    assert {table["guarantee"] for table in tables} == {"settled"}
    assert sum(table["rows"]["read"] for table in tables) < 1_000
    late = {table["table"].partition(".")[2]: table["rows"]["late"] for table in tables if table["rows"]["late"]}
    assert set(late) == ({"orders", "lineitem"} if dialect != "sqlite" else set())


def test_the_copies_may_be_in_a_store_for_two_days(clone: Path) -> None:
    brought = subprocess.run([ROOT / ".ci/seaweedfs.sh"], capture_output=True, text=True, check=False)
    if brought.returncode != 0:
        pytest.skip(f"no SeaweedFS: {brought.stderr.strip()}")
    for options in ((), ("--keep",)):
        tables = demo(clone, "s3", *options)["tables"]
        assert all(table["proof"]["equal"] for table in tables)
        assert {table["guarantee"] for table in tables} == {"settled"}
    assert [each.name for each in (clone / ".lake-s3").iterdir() if each.is_dir()] == [], "copies are on this disk"


def test_the_log_tells_of_a_day_with_its_deletes_and_of_another_one(clone: Path) -> None:
    for options in ((), ("--keep",)):
        tables = demo(clone, "log", *options)["tables"]
        assert all(table["proof"]["equal"] for table in tables)
        by_name = {table["table"].partition(".")[2]: table for table in tables}
        assert {name for name, table in by_name.items() if table["rows"]["deleted"]} == {"orders", "lineitem"}
        assert {table["guarantee"] for table in tables} == {"settled"}
        assert 0 < sum(table["rows"]["read"] for table in tables) < 1_000


def test_files_land_once_whenever_they_come_for_two_days(clone: Path) -> None:
    for options in ((), ("--keep",)):
        tables = demo(clone, "files", *options)["tables"]
        assert all(table["proof"]["equal"] for table in tables)
        by_name = {table["table"].partition(".")[2]: table for table in tables}
        assert {name for name, table in by_name.items() if table["rows"]["deleted"]} == {"orders", "lineitem"}
        assert {name: table["held"] for name, table in by_name.items() if table["held"]} == {"part": 1}
        assert by_name["customer"]["proof"]["faulty_keys_of_history"] == 0
        assert {table["guarantee"] for table in tables} == {"settled"}
        assert 0 < sum(table["rows"]["read"] for table in tables) < 10_000
