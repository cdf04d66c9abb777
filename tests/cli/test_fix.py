"""`doctor --fix`: what is proposed for the configuration is written into its file, once, and shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from incremental_assets.cli.commands import doctor
from incremental_assets.cli.commands.fix import fixed
from incremental_assets.cli.findings.finding import Finding, Health
from incremental_assets.core.config.edits import Edit
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.table_id import TableId
from tests.scenario import ORDERS

CONFIG = """\
lake: ./lake          # ours
checkpoints: sqlite:///c.db
sources:
  shop:
    dialect: sqlite
    database: shop.db
    unlisted: ignore
    tables:
      # stamped by a trigger
      - "main.orders:at:timestamp!upsert"   # all of them
      - table: main.events
        cursor: {column: id, type: timestamp}   # no stamp
"""
FIXED = CONFIG.replace('"main.orders:at:timestamp!upsert"   # all of them', "table: main.orders   # all of them\n        cursor: {column: at, type: datetime}\n        strategy: upsert").replace("{column: id, type: timestamp}", "{column: id, type: integer}")  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.executescript(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, at DATETIME NOT NULL); CREATE TABLE events (id INTEGER PRIMARY KEY);"
        )
    file = tmp_path / "sources.yaml"
    file.write_text(CONFIG)
    file.chmod(0o640)
    return file


def test_a_cursor_gets_the_type_of_its_column_and_nothing_else_is_touched(config: Path) -> None:
    answer = doctor.run(config, (), sql=False, fix=True)

    assert config.read_text() == FIXED
    assert config.stat().st_mode & 0o777 == 0o640
    assert "-        cursor: {column: id, type: timestamp}   # no stamp" in answer.document["difference"]
    assert [each["subject"] for each in answer.document["written"]] == ["shop.main.orders", "shop.main.events"]
    assert [each.name for each in config.parent.glob(".sources-*")] == []


def test_a_second_time_there_is_nothing_to_write(config: Path) -> None:
    doctor.run(config, (), sql=False, fix=True)
    written = config.stat().st_mtime_ns
    answer = doctor.run(config, (), sql=False, fix=True)

    assert answer.document["difference"] == ""
    assert config.stat().st_mtime_ns == written


def test_only_the_chosen_tables_are_fixed(config: Path) -> None:
    doctor.run(config, ("main.events",), sql=False, fix=True)
    assert config.read_text() == CONFIG.replace("{column: id, type: timestamp}", "{column: id, type: integer}")


def test_a_table_that_the_file_does_not_list_is_left_to_a_person_and_named(config: Path) -> None:
    found = Finding("shop.public.orders", "lateness", Health.WARN, "late", "set it", Edit(ORDERS, ("lookback",), "1m"))
    answer = fixed(config, [found])

    assert config.read_text() == CONFIG
    assert answer.document["left"][0]["why"].startswith("no entry of the file is this table's alone")


def test_a_file_that_would_no_longer_load_is_left_as_it_is(config: Path, tmp_path: Path) -> None:
    edit = Edit(TableId("shop", "main", "events"), ("lookback",), "soon")
    with pytest.raises(SelectionError, match="left as it is, as it would no longer load"):
        fixed(config, [Finding("shop.main.events", "lateness", Health.WARN, "late", "", edit)])
    assert config.read_text() == CONFIG
    assert list(tmp_path.glob(".sources-*")) == []


def test_a_link_to_the_file_stays_a_link(config: Path, tmp_path: Path) -> None:
    link = tmp_path / "linked.yaml"
    link.symlink_to(config)
    doctor.run(link, (), sql=False, fix=True)
    assert link.is_symlink()
    assert config.read_text() == FIXED


def test_sql_and_fix_are_for_two_people(call: Callable[..., object], config: Path) -> None:
    told = call("doctor", "--sql", "--fix", "--config", str(config))
    assert "use one of them" in str(told)
