"""Where the copies lie of tables that a glob stands for: told by name, and never two in one folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from incremental_assets.core.config.load import load
from incremental_assets.core.config.resolve import resolve_all
from incremental_assets.core.model.layout import LaidOut
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table_id import TableId
from tests.core.mistakes import problems
from tests.scenario import ORDERS_SHAPE

FILE = """\
lake: ./lake
checkpoints: sqlite:///c.db
sources:
  shop:
    dialect: postgresql
    host: localhost
    database: shop
    user: reader
    unlisted: ignore
    tables:
"""
CURSOR = "cursor: {column: updated_at, type: timestamp}, strategy: upsert"
STORE = """\
  store:
    dialect: sqlite
    database: store.db
"""


def below(folder: Path, schema: str, name: str) -> str:
    lake = load(folder / "sources.yaml").lake
    assert isinstance(lake, LaidOut)
    return table_path(lake, TableId("shop", schema, name)).removeprefix(f"{lake}/")


def seen(folder: Path, *names: str) -> dict[str, str]:
    """The place of each table that is synced, or why it is not."""
    shapes = [replace(ORDERS_SHAPE, id=TableId("shop", *name.split("."))) for name in names]
    found = resolve_all(load(folder / "sources.yaml").source("shop"), shapes)
    places = {f"{spec.id.schema}.{spec.id.name}": spec.target for spec in found.specs}
    return places | {f"{each.table.schema}.{each.table.name}": str(each.error) for each in found.problems}


def test_copies_and_histories_of_a_globs_tables_lie_where_it_says_and_no_other_does(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(
        FILE
        + f"""\
    - {{match: 'tenant_*.orders', {CURSOR}, history: scd2, target: "gold/orders/{{schema}}"}}
    - {{match: 'sales.2024_*', strategy: full_refresh, target: "sales/{{table}}"}}
    - {{table: tenant_7.orders, {CURSOR}, history: scd2}}
"""
    )
    places = {
        "tenant_1.orders": "gold/orders/tenant_1",
        "tenant_1.orders__history": "gold/orders/tenant_1__history",
        "tenant_7.orders": "shop/tenant_7/orders",
        "tenant_7.orders__history": "shop/tenant_7/orders__history",
        "tenant_1.notes": "shop/tenant_1/notes",
        "sales.2024_05": "sales/2024_05",
        "sales.2024_05__history": "sales/2024_05__history",
    }
    assert {name: below(tmp_path, *name.split(".")) for name in places} == places
    # What a table is synced by, and what its state will keep, is where the lake looks for it.
    tables = ("tenant_1.orders", "tenant_7.orders", "sales.2024_05")
    assert {name: place or f"shop/{name.replace('.', '/')}" for name, place in seen(tmp_path, *tables).items()} == {
        name: places[name] for name in tables
    }


def test_of_tables_that_meet_in_one_folder_the_listed_one_goes_on_and_of_two_that_are_not_neither(
    tmp_path: Path,
) -> None:
    entry = "    - {match: '*.b*', strategy: full_refresh, target: \"gold/{schema}_{table}\"}\n"
    (tmp_path / "sources.yaml").write_text(FILE + entry)
    assert seen(tmp_path, "a_b.b") == {"a_b.b": "gold/a_b_b"}
    # The new one comes first by name: were it to go on alone, it would land in the copy of the other.
    both = seen(tmp_path, "a.b_b", "a_b.b", "c.b")
    assert both["c.b"] == "gold/c_b"
    for name, other in (("a.b_b", "a_b.b"), ("a_b.b", "a.b_b")):
        assert both[name].startswith(
            f"shop.{name}: its copy would lie where that of shop.{other} lies, or in or around it; write another `target`, or add the table to `exclude`"
        )
    (tmp_path / "sources.yaml").write_text(
        FILE + entry + "    - {table: a_b.b, strategy: full_refresh, target: gold/a_b_b}\n"
    )
    listed = seen(tmp_path, "a.b_b", "a_b.b")
    assert listed["a_b.b"] == "gold/a_b_b"
    assert "its copy would lie where that of shop.a_b.b lies" in listed["a.b_b"]


def test_a_table_with_the_name_of_a_globs_history_is_stopped_by_name(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(
        FILE.replace("ignore", "full_refresh").replace("user: reader", "user: reader\n    schemas: [a1]")
        + f"    - {{match: 'a*.orders', {CURSOR}, history: scd2, target: \"gold/{{schema}}\"}}\n"
    )
    found = seen(tmp_path, "a1.orders__history")
    assert found["a1.orders__history"].startswith(
        "shop.a1.orders__history: it has the name of a history of the tables that a*.orders in line 12 stands for; list it, or add it to `exclude`"
    )


def told(folder: Path, text: str) -> tuple[str, str]:
    """The line of the one mistake, and its cure."""
    (problem,) = problems(folder, text)
    return text.splitlines()[problem.line - 1].strip()[-2:], problem.cure


def test_a_glob_whose_tables_could_lie_where_another_sources_do_is_refused_with_its_line(tmp_path: Path) -> None:
    glob = "    - {match: 'a*.b', strategy: full_refresh, target: \"%s/{schema}\"} #!\n"
    mark, cure = told(tmp_path, FILE + glob % "store" + STORE)
    assert (mark, cure) == (
        "#!",
        "copies of store may lie in the same folders; write `{source}`, or a folder of its own, into it",
    )
    # Where the other source says so itself, for its tables, for one of them, or by a glob of its own.
    mark, cure = told(tmp_path, FILE + glob % "gold" + STORE + '    target: "gold/{table}"\n')
    assert (mark, cure.split(";")[0]) == ("#!", "copies of store may lie in the same folders")
    listed = "    unlisted: ignore\n    tables:\n    - {table: main.x, target: gold/a7} #?\n"
    mark, cure = told(tmp_path, FILE + glob % "gold" + STORE + listed)
    assert (mark, cure) == (
        "#?",
        "tables that the glob in line 11 stands for may lie there, too (gold/{schema}); write a folder that is none of theirs",
    )
    second = FILE.partition("sources:\n")[2].replace("shop", "store") + (glob % "gold").replace("#!", "#?")
    mark, cure = told(tmp_path, FILE + glob % "gold" + second)
    assert (mark, cure.split(";")[0]) == ("#?", "copies of shop may lie in the same folders")
    (tmp_path / "sources.yaml").write_text(FILE + glob % "{source}/gold" + second.replace("gold", "{source}/gold"))
    load(tmp_path / "sources.yaml")
