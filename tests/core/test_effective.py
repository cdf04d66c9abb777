"""What the configuration of a source comes to, and what has changed of it, in the words of the file and without a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from incremental_assets.core.config.effective import difference, effective
from incremental_assets.core.config.load import load

FILE = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  shop:
    dialect: postgresql
    host: db.example.com
    database: shop
    user: reader
    password: {command: [vault, read, the-token-of-ana]}
    every: 30s
    tables:
      - {table: public.orders, strategy: upsert, cursor: {column: updated_at, type: timestamp}, where: "tenant_id = 7"}
"""


def read(folder: Path, *changes: tuple[str, str]) -> dict[str, str]:
    text = FILE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    (folder / "sources.yaml").write_text(text)
    return dict(effective(load(folder / "sources.yaml").source("shop")))


def test_values_stand_by_their_paths_and_what_is_as_when_absent_does_not(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert {
        "every": "30s",
        "settings.host": "db.example.com",
        "tables.public.orders.strategy": "upsert",
        "tables.public.orders.where": "tenant_id = 7",
    }.items() <= found.items()
    assert not [path for path in found if path.endswith((".line", ".file", ".future"))]


def test_of_a_secret_there_is_only_where_it_is_kept(tmp_path: Path) -> None:
    assert read(tmp_path)["settings.password"] == "{command: [vault, …]}"


def test_each_part_of_a_list_stands_by_itself(tmp_path: Path) -> None:
    found = read(tmp_path, ("    every: 30s\n", "    every: 30s\n    register: {spark: {database: lake}}\n"))
    assert (found["register.1.kind"], found["register.1.database"]) == ("spark", "lake")


def test_lines_that_move_change_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, ("sources:", "# the shop of the north\n\nsources:")) == read(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("upsert", "append"), "tables.public.orders.strategy is append, was upsert"),
        ((', where: "tenant_id = 7"', ""), "tables.public.orders.where is as when absent, was tenant_id = 7"),
        (("every: 30s", "every: 30s\n    parallel: {connections: 2}"), "parallel.connections is 2, was as when absent"),
    ],
)
def test_a_change_is_told_by_its_path(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    assert difference(read(tmp_path), read(tmp_path, change)) == told


def test_many_changes_are_counted(tmp_path: Path) -> None:
    now = {str(number): "1" for number in range(10)}
    told = difference({}, now)
    assert told.startswith("0 is 1, was as when absent; ")
    assert told.endswith("; and 2 more")
