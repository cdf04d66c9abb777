"""`init` and `discover` on a real PostgreSQL of two hundred tables that nobody designed for it: what is written loads, and `plan` explains it."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

import psycopg
import pytest

from incremental_assets.cli.entrypoint import run
from incremental_assets.cli.main import commands
from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.model.table import NullPolicy, Strategy
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.cli.conftest import Said

SPRAWL = Path(__file__).parents[1] / "sprawl.sql"
READER, PASSWORD = "newcomer", "s3cret-of-the-newcomer"
LEFT_OUT = {
    "public.film_list", "legacy.customer_list", "legacy.secret", "legacy.by_row", "legacy.two_cases", "legacy.with_sync_name", "public.nothing",
}  # fmt: skip

Call = Callable[..., Said]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """In an empty folder, with no configuration named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INCREMENTAL_ASSETS_CONFIG", raising=False)

    def one(*arguments: str) -> Said:
        # What a command names to Dagster's processes, it names to itself.
        monkeypatch.delenv("INCREMENTAL_ASSETS_CONFIG", raising=False)
        capsys.readouterr()
        return Said(run(commands, arguments), *capsys.readouterr())

    return one


def test_what_is_wrong_with_the_source_is_not_told_of_the_file(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "incremental_assets.resources.database.open_probe",
        lambda *_: (_ for _ in ()).throw(OSError(5, "the disk is gone")),
    )
    said = call("init", "sqlite:///here.db")
    assert "cannot be written" not in said.err
    monkeypatch.undo()
    folder = call("init", f"sqlite:///{tmp_path}", "--config", str(tmp_path / "other.yaml"))
    assert (folder.code, folder.err) == (1, f"{tmp_path}: this is a folder and no SQLite file; check `database`\n")


def test_a_file_that_cannot_be_written_to_its_end_does_not_stay(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)")
    there = sorted(tmp_path.iterdir())
    as_it_is = Path.open

    def full(path: Path, *how: str, **options: Any) -> Any:
        opened = as_it_is(path, *how, **options)
        return Fills(opened) if "x" in how else opened

    monkeypatch.setattr(Path, "open", full)
    said = call("init", "sqlite:///shop.db")
    assert said.code == 2
    assert "sources.yaml cannot be written (No space left on device)" in said.err
    assert sorted(tmp_path.iterdir()) == there


class Fills:
    """A file on a disk that is full after its first letters."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __enter__(self) -> Fills:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, text: str) -> None:
        self._file.write(text[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_is_told_to_type_next_can_be_typed_where_a_path_has_a_space(call: Call, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    (tmp_path / "my shop").mkdir()
    told = call("init", f"sqlite:///{tmp_path}/shop.db", "--config", "my shop/shop.yaml")
    assert "incremental-assets doctor --config 'my shop/shop.yaml'" in f"{told.out}{told.err}".replace("\n", " ")


@pytest.fixture(scope="module")
def sprawl(postgres: EmbeddedPostgres) -> str:
    """The address of the database, for a reader without a right that it does not need."""
    postgres.create_database("sprawl")
    with psycopg.connect(postgres.dsn("sprawl"), autocommit=True) as admin:
        admin.execute(SPRAWL.read_text(encoding="utf-8").encode())
        admin.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}'; GRANT pg_read_all_stats TO {READER}".encode())
        for schema in ("public", "legacy", '"Odd Schema"'):
            grants = (
                f"GRANT USAGE ON SCHEMA {schema} TO {READER}; GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {READER}"
            )
            admin.execute(grants.encode())
        admin.execute(f"REVOKE ALL ON legacy.secret FROM {READER}".encode())
        # What was counted is told once a second.
        admin.execute("SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()")
    return f"postgresql://{READER}@127.0.0.1:{postgres.port}/sprawl"


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPRAWL_PASSWORD", PASSWORD)


def tables(source: SourceConfig) -> dict[str, Any]:
    return {f"{each.schema}.{each.name}": each for each in source.tables}


@pytest.mark.usefixtures("password")
def test_the_file_loads_and_plan_explains_every_table_in_seconds(call: Call, sprawl: str, tmp_path: Path) -> None:
    begun = time.monotonic()
    said = call("init", sprawl, "--json")
    told = call("plan", "--json")
    seconds = time.monotonic() - begun

    assert (said.code, told.code) == (0, 0), (said.err, told.err)
    assert len(said.document["tables"]) > 190
    assert {entry["table"] for entry in said.document["tables"] if entry["strategy"] is None} == LEFT_OUT
    listed = load(tmp_path / "sources.yaml").source("sprawl").tables
    assert len(told.document["tables"]) == len(listed) == len(said.document["tables"]) - len(LEFT_OUT)
    assert {entry["action"] for entry in told.document["tables"]} == {"read"}
    assert all(entry["source_read"]["sql"].startswith("SELECT") for entry in told.document["tables"])
    assert [entry["table"] for entry in told.document["tables"] if entry["source_read"]["rows"] is None] == []
    assert told.tables["public.event_log"]["source_read"]["rows"] == pytest.approx(20_000, rel=0.2)
    assert seconds < 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sources.yaml"]


@pytest.mark.usefixtures("password")
def test_each_table_is_followed_by_what_its_catalogue_shows(call: Call, sprawl: str, tmp_path: Path) -> None:
    call("init", sprawl)

    source = load(tmp_path / "sources.yaml").source("sprawl")
    found = tables(source)
    assert (source.schemas, source.unlisted) == (("Odd Schema", "legacy", "public"), "ignore")

    def terms(name: str) -> tuple[Strategy, str | None]:
        return found[name].strategy, found[name].cursor.column if found[name].cursor else None

    assert terms("public.film") == (Strategy.UPSERT, "last_update")
    assert terms("public.rental") == (Strategy.UPSERT, "last_update")
    # Its rows came in bulk, as a restore brings them: that no update was counted since says nothing.
    event_log = found["public.event_log"].cursor
    assert event_log is not None
    assert (found["public.event_log"].strategy, event_log.by_transaction) == (Strategy.UPSERT, True)
    assert terms("public.country") == (Strategy.FULL_REFRESH, None)
    assert terms("public.heap") == (Strategy.FULL_REFRESH, None)
    assert terms("public.never_stamped") == (Strategy.FULL_REFRESH, None)
    assert terms("legacy.parent") == (Strategy.FULL_REFRESH, None)
    assert terms("Odd Schema.a.b") == (Strategy.UPSERT, "updated at")
    film, language = (found[f"public.{name}"].cursor for name in ("film", "language"))
    assert film is not None
    assert language is not None
    assert (film.within, language.within) == (None, timedelta(minutes=15))
    assert found["public.coupon"].primary_key == ("code",)
    customer = found["public.customer"].cursor
    assert (customer.column, customer.fallback, customer.nulls) == ("updated_at", "created_at", NullPolicy.FAIL)


@pytest.mark.usefixtures("password")
def test_candidates_are_ranked_with_their_reasons(call: Call, sprawl: str) -> None:
    entries = {entry["table"]: entry for entry in call("init", sprawl, "--json").document["tables"]}

    film = entries["public.film"]["candidates"]
    assert [each["column"] for each in film] == ["last_update", "film_id"]
    assert film[0]["reasons"][:3] == ["a trigger writes it at each update", "indexed", "never NULL"]
    event_log = {each["column"]: each["reasons"] for each in entries["public.event_log"]["candidates"]}
    assert "ascending in the last 1,000 rows" in event_log["occurred_at"]
    customer = {each["column"]: each["reasons"] for each in entries["public.customer"]["candidates"]}
    assert "NULL in 400 of the last 600 rows" in customer["updated_at"]
    # A trigger that only reads the key writes nothing.
    assert [each["column"] for each in entries["legacy.audited_app"]["candidates"]] == ["updated_at", "app_id"]
    # Six rows need no index.
    assert not any("create an index" in fix for fix in entries["public.language"]["to_mend"])


@pytest.mark.usefixtures("password")
def test_no_password_is_written_or_shown(call: Call, sprawl: str, tmp_path: Path) -> None:
    said = call("init", sprawl)

    text = (tmp_path / "sources.yaml").read_text(encoding="utf-8")
    assert "password: {env: SPRAWL_PASSWORD}" in text
    assert PASSWORD not in text + said.out + said.err


@pytest.mark.usefixtures("password")
def test_what_is_written_says_how_a_copy_follows_a_wider_type(call: Call, sprawl: str, tmp_path: Path) -> None:
    call("init", sprawl)

    path = tmp_path / "sources.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("# defaults: {", "defaults: {"), encoding="utf-8")
    (source,) = load(path).sources
    assert {table.schema_changes for table in source.tables} == {"widen"}


def test_a_password_in_the_address_is_refused_and_nothing_is_asked(call: Call, sprawl: str, tmp_path: Path) -> None:
    said = call("init", sprawl.replace(READER, f"{READER}:{PASSWORD}"), "--json")

    assert said.code == 2
    assert "leave it out" in said.document["error"]["message"]
    assert PASSWORD not in said.out + said.err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_password_is_asked_for_by_the_name_of_its_variable(call: Call, sprawl: str, tmp_path: Path) -> None:
    said = call("init", sprawl)

    assert said.code == 1
    assert said.err.startswith(
        "the environment variable SPRAWL_PASSWORD is not set, in which `init` looks for a password: `export SPRAWL_PASSWORD=…`; without one: newcomer@"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("password")
def test_a_file_that_is_there_is_never_overwritten(call: Call, sprawl: str, tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text("mine")

    said = call("init", sprawl)

    assert said.code == 2
    assert "was left as it is" in said.err
    assert (tmp_path / "sources.yaml").read_text() == "mine"


@pytest.mark.usefixtures("password")
def test_a_host_that_is_not_loopback_may_be_read_without_tls_and_every_command_warns_of_it(
    call: Call, sprawl: str, tmp_path: Path
) -> None:
    # This machine, by an address that does not say so.
    said = call("init", f"{sprawl.replace('127.0.0.1', '0.0.0.0')}?sslmode=disable")

    sentence = "rows and the password cross the network to 0.0.0.0 unencrypted"
    assert said.code == 0
    assert "tls: disable" in (tmp_path / "sources.yaml").read_text()
    assert sentence in said.out
    assert sentence in call("status").err


@pytest.mark.usefixtures("password")
def test_discover_proposes_what_is_not_listed_and_leaves_the_file(call: Call, sprawl: str, tmp_path: Path) -> None:
    call("init", sprawl)
    path = tmp_path / "sources.yaml"
    whole = path.read_text(encoding="utf-8")
    listed = load(path).source("sprawl").tables
    lines = whole.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.strip() == "- table: public.film")
    path.write_text("".join([*lines[:at], *lines[at + 4 :]]), encoding="utf-8")
    assert len(load(path).source("sprawl").tables) == len(listed) - 1
    before = path.read_text(encoding="utf-8")

    said = call("discover", "--json", "--select", "public.*")

    assert said.code == 0
    assert {entry["table"]: entry["strategy"] for entry in said.document["tables"]} == {
        "public.film": "upsert",
        "public.film_list": None,
        "public.nothing": None,
    }
    assert "- table: public.film\n" in said.document["yaml"]["sprawl"]
    assert path.read_text(encoding="utf-8") == before


def test_hundreds_of_tables_are_a_page_to_read_and_each_has_its_entry_in_the_file(call: Call, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "here.db")) as file:
        for number in range(300):
            file.execute(f"CREATE TABLE t{number:03d} (id INTEGER PRIMARY KEY, updated_at timestamp NOT NULL)")
    said = call("init", "sqlite:///here.db")

    lines = said.out.splitlines()
    assert len(lines) < 90
    assert any("here.main.t000, here.main.t001, here.main.t002 and 297 others" in line for line in lines)
    assert len(load(tmp_path / "sources.yaml").sources[0].tables) == 300


def test_a_file_of_sqlite_is_proposed_too(call: Call, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as file:
        file.executescript(
            """
            CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT, updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
            CREATE INDEX by_time ON orders (updated_at);
            CREATE TRIGGER touched AFTER UPDATE ON orders BEGIN UPDATE orders SET updated_at = CURRENT_TIMESTAMP WHERE id = NEW.id; END;
            CREATE TABLE notes (words TEXT);
            CREATE VIEW latest AS SELECT max(id) AS id FROM orders;
            INSERT INTO orders (note) VALUES ('one'), ('two');
            """
        )
    file.close()

    said, told = call("init", "sqlite:///shop.db", "--json"), call("plan", "--json")

    assert (said.code, told.code) == (0, 0), (said.err, told.err)
    found = tables(load(tmp_path / "sources.yaml").source("shop"))
    assert (found["main.orders"].strategy, found["main.orders"].cursor.column) == (Strategy.UPSERT, "updated_at")
    assert (found["main.notes"].strategy, "main.latest" in found) == (Strategy.FULL_REFRESH, False)
    (first, *_) = next(entry for entry in said.document["tables"] if entry["table"] == "main.orders")["candidates"]
    assert "a trigger writes it at each update" in first["reasons"]
    assert told.tables["main.orders"]["source_read"]["unknown"] == "SQLite does not estimate rows"
    assert json.dumps(told.document).count('"action": "read"') == 2
