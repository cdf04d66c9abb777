"""The check of a user's server, played on servers of ours: it leaves nothing behind, and touches nothing that was there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from incremental_assets.core.config.dialects import BUILT_IN, facts_of
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.databases import contract, keys_contract, places_contract
from tests.dialect_check import worlds
from tests.dialect_check.__main__ import main
from tests.dialect_check.worlds import KINDS, PREFIX, Scratch

ROOT = Path(__file__).parents[2]
SHORT = (
    "-k",
    "catalogue or schema_that_is_not_there or nothing_moved or told_apart or names_are_never",
    "-m",
    "not spark",
)


def checked(
    url: str, password: str, *arguments: str, variable: str = "SHOP_PASSWORD"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.dialect_check", url, *arguments],
        cwd=ROOT,
        env={**os.environ, variable: password},
        capture_output=True,
        text=True,
        check=False,
    )


def databases(postgres: EmbeddedPostgres) -> list[str]:
    import psycopg

    with psycopg.connect(postgres.dsn("postgres")) as connection:
        return sorted(name for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall())


def schemas(mariadb: EmbeddedMariaDB) -> list[str]:
    with mariadb.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        return sorted(name for (name,) in cursor.fetchall())


@pytest.mark.timeout(1500)  # on a busy machine
@pytest.mark.parametrize("arguments", [SHORT, pytest.param((), marks=pytest.mark.acceptance)], ids=["short", "whole"])
def test_a_postgresql_keeps_the_contract_and_nothing_is_left(
    postgres: EmbeddedPostgres, database: str, arguments: tuple[str, ...]
) -> None:
    before = databases(postgres)
    url = f"postgresql://{postgres.user}@127.0.0.1:{postgres.port}/{database}"
    found = checked(url, postgres.password_of(postgres.user) or "", *arguments, variable=f"{database.upper()}_PASSWORD")
    assert found.returncode == 0, found.stdout
    assert " passed" in found.stdout
    assert databases(postgres) == before


@pytest.mark.acceptance
@pytest.mark.timeout(1500)
def test_a_mariadb_keeps_the_contract_and_nothing_is_left(mariadb: EmbeddedMariaDB) -> None:
    mariadb.create_database("shop")
    before = schemas(mariadb)
    found = checked(f"mariadb://{mariadb.user}@127.0.0.1:{mariadb.port}/shop", mariadb.password)
    assert found.returncode == 0, found.stdout
    assert schemas(mariadb) == before


def test_what_was_there_is_not_touched_even_if_it_has_the_name_that_was_drawn(
    postgres: EmbeddedPostgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    postgres.create_database(f"{PREFIX}taken")
    monkeypatch.setattr(worlds.secrets, "token_hex", lambda _: "taken")
    made = Scratch.__new__(Scratch)
    made.server, made.kind, made.made = _address(postgres, database), KINDS["postgresql"], []
    with pytest.raises(psycopg.errors.DuplicateDatabase):
        made.elsewhere()
    made.drop()
    assert f"{PREFIX}taken" in databases(postgres)


def _address(postgres: EmbeddedPostgres, database: str) -> worlds.Address:
    password = postgres.password_of(postgres.user) or ""
    return worlds.Address("postgresql", "127.0.0.1", postgres.port, database, postgres.user, password)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "write make dialect-check URL="),
        (["postgresql://u:hunter2@localhost/shop"], "SHOP_PASSWORD"),
        (["sqlite:///shop.db"], "has no server to check"),
        (["db2://u@h/shop"], "no dialect"),
    ],
)
def test_an_address_that_cannot_be_played_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert "hunter2" not in printed
    assert printed.count("\n") == 1


def test_every_dialect_with_a_server_can_be_checked() -> None:
    assert {name for name in BUILT_IN if not facts_of(name).is_file} <= set(KINDS)


def test_what_a_server_cannot_keep_is_a_test_of_the_contract() -> None:
    there = {name for suite in (contract, keys_contract, places_contract) for name in dir(suite)}
    assert {name for kind in KINDS.values() for name in kind.cannot} <= there
