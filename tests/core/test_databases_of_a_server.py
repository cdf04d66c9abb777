"""`databases`: several databases of one server, each a source of its own on the same terms."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.database_settings import database_of
from incremental_assets.core.config.load import load
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId
from tests.core.mistakes import FILE, only_problem, problems

SERVER = "    dialect: postgresql\n    host: localhost\n    user: reader\n"
TWO = FILE + SERVER + "    databases: [eu, us]\n"


def test_each_database_is_a_source_with_a_name_of_its_own_and_the_same_terms(tmp_path: Path) -> None:
    file = tmp_path / "sources.yaml"
    file.write_text(TWO + "    every: 5m\n    tables:\n      - {table: public.orders, capture: log}\n")
    configuration = load(file)
    eu, us = configuration.sources

    assert (eu.name, us.name) == ("shop_eu", "shop_us")
    assert [database_of(each).database for each in (eu, us)] == ["eu", "us"]
    assert (eu.tables, eu.every, eu.line) == (us.tables, us.every, us.line)
    assert [database_of(each).log.slot for each in (eu, us)] == [
        "incremental_assets_shop_eu",
        "incremental_assets_shop_us",
    ]
    assert table_path(configuration.lake, TableId("shop_us", "public", "orders")).endswith("lake/shop_us/public/orders")


@pytest.mark.parametrize(
    ("snippet", "cure"),
    [
        (SERVER + "    databases: [eu, us]  #!\n    database: shop\n", "`database` names the one database of this source"),
        (SERVER + "    databases: [eu, eu]  #!\n", "may appear once"),
        (SERVER + "    databases: [eu, us-1]  #!\n", "write a source of its own for this one"),
        (SERVER + "    databases: []  #!\n", "at least one"),
        (SERVER.replace("postgresql", "mariadb") + "    databases: [eu, us]  #!\n", "write `database` and `schemas: [eu, us]`"),
        ("    dialect: sqlite\n    databases: [eu, us]  #!\n", "a file is a source of its own"),
        (SERVER + "    databases: [eu, us]\n  shop_eu:  #!\n    dialect: sqlite\n    database: a.db\n", "behind that of its source"),
    ],
)  # fmt: skip
def test_what_is_not_several_databases_of_a_server_is_refused_with_its_line(
    tmp_path: Path, snippet: str, cure: str
) -> None:
    assert cure in only_problem(tmp_path, FILE + snippet).cure


def test_a_source_without_a_database_is_told_to_name_one(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, FILE + SERVER)
    assert (found.line, found.cure) == (4, "the key `database` is missing; add it")


def test_copies_of_two_databases_do_not_lie_in_one_folder(tmp_path: Path) -> None:
    found = problems(tmp_path, TWO + '    target: "raw/{schema}/{table}"\n')
    assert "write `{source}`" in found[0].cure


def test_one_slot_is_not_read_by_two_databases(tmp_path: Path) -> None:
    found = problems(
        tmp_path, TWO + "    log: {slot: ours}\n    tables:\n      - {table: public.orders, capture: log}\n"
    )
    assert "already" in found[0].cure
