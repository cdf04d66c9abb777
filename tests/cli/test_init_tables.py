"""`init --tables`: tables of a source come into the file that is there, which says no more than that besides."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.cli.entrypoint import run
from incremental_assets.cli.main import commands
from incremental_assets.core.config.load import load
from tests.cli.conftest import Said

CONFIG = """\
# ours
lake: ./lake          # on this disk
checkpoints: sqlite:///c.db
sources:
  shop:
    dialect: sqlite
    database: shop.db
    unlisted: ignore
    exclude: ["main.old_*"]
    tables:
      # stamped by a trigger
      - "main.orders:at:datetime!upsert"   # all of them
      - {match: "main.log_*", strategy: full_refresh}
    every: 1m   # the last key
"""
Call = Callable[..., Said]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INCREMENTAL_ASSETS_CONFIG", raising=False)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.executescript(
            """
            CREATE TABLE orders (id INTEGER PRIMARY KEY, at DATETIME NOT NULL);
            CREATE TABLE items (id INTEGER PRIMARY KEY, updated_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP);
            CREATE TABLE "order notes" (words TEXT);
            CREATE TABLE log_2024 (id INTEGER PRIMARY KEY);
            CREATE TABLE old_items (id INTEGER PRIMARY KEY);
            CREATE VIEW newest AS SELECT max(id) AS id FROM orders;
            """
        )
    file = tmp_path / "sources.yaml"
    file.write_text(CONFIG)
    file.chmod(0o640)
    return file


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    def one(*arguments: str) -> Said:
        # What a command names to Dagster's processes, it names to itself.
        monkeypatch.delenv("INCREMENTAL_ASSETS_CONFIG", raising=False)
        capsys.readouterr()
        return Said(run(commands, arguments), *capsys.readouterr())

    return one


def test_what_the_file_does_not_list_is_added_and_what_it_knows_is_told(call: Call, config: Path) -> None:
    said = call("init", "--tables", "main.*")

    assert said.code == 0, said.err
    text = config.read_text()
    start, new, end = text.partition("      # main.items: ")
    assert (start, end[-31:]) == (CONFIG.partition("    every")[0], "    every: 1m   # the last key\n")
    assert new
    assert config.stat().st_mode & 0o777 == 0o640
    assert [f"{each.schema}.{each.name}" for each in load(config).source("shop").tables] == [
        "main.orders",
        "main.items",
        "main.order notes",
    ]
    told = " ".join(said.out.split())
    assert f"added 2 tables to {config}: shop.main.items, shop.main.order notes" in told
    assert "3 tables were there already" in told
    assert "the file lists it: shop.main.orders" in told
    assert "`match: main.log_*` takes it: shop.main.log_2024" in told
    assert "`exclude` leaves it out: shop.main.old_items" in told
    assert "1 left out" in told


def test_a_second_time_there_is_nothing_to_add(call: Call, config: Path) -> None:
    call("init", "--tables", "main.*")
    text, written = config.read_text(), config.stat().st_mtime_ns
    said = call("init", "--tables", "main.items", "--json")

    assert (said.code, config.read_text(), config.stat().st_mtime_ns) == (0, text, written)
    assert said.document["tables"] == []
    assert said.document["already"] == [{"source": "shop", "table": "main.items", "why": "the file lists it"}]


def test_only_the_tables_that_are_meant_are_added_and_a_glob_for_none_is_refused(call: Call, config: Path) -> None:
    call("init", "--tables", "main.it*")
    assert "order notes" not in config.read_text()
    text = config.read_text()
    said = call("init", "--tables", "main.itms")
    assert said.code == 2
    assert "--tables 'main.itms' matches no table; did you mean shop.main.items?" in said.err
    assert config.read_text() == text


def test_tables_of_a_schema_that_the_source_does_not_read_name_the_schema_to_write(
    call: Call, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqlProbe, "schemas", lambda _: ("main", "crm"))
    said = call("init", "--tables", "crm.*")
    assert (said.code, config.read_text()) == (2, CONFIG)
    assert (
        "--tables 'crm.*' matches no table that shop reads, as it reads no schema crm; write `schemas: [main, crm]` at shop"
        in said.err
    )


def test_tables_in_brackets_are_left_to_a_person_who_is_shown_the_entries(call: Call, config: Path) -> None:
    text = CONFIG.partition("    exclude:")[0] + '    tables: ["main.orders:at:datetime!upsert"]\n'
    config.write_text(text)
    said = call("init", "--tables", "main.items")
    assert (said.code, config.read_text()) == (1, text)
    assert "shop: not written, as `tables` is written in brackets; these are the entries:" in said.out
    assert "- table: main.items\n" in said.out


def test_without_a_file_and_without_an_address_it_is_said_what_to_write(call: Call, config: Path) -> None:
    config.unlink()
    assert "write one with `incremental-assets init URL`" in call("init", "--tables", "main.*").err
    assert "name a database's URL, or with --tables" in call("init").err


def test_a_new_file_lists_only_the_tables_that_are_meant(call: Call, config: Path) -> None:
    said = call("init", "sqlite:///shop.db", "--tables", "main.orders", "--config", "new.yaml")
    assert said.code == 0, said.err
    assert [each.name for each in load(config.parent / "new.yaml").source("shop").tables] == ["orders"]
    refused = call("init", "sqlite:///shop.db", "--config", "new.yaml")
    assert "`incremental-assets init --tables 'schema.*'`" in refused.err
