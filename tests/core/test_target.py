"""Where copies lie in the lake: templates, what is refused, and what a change of them does to a copy that has landed."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.config.load import load
from incremental_assets.core.config.resolve import resolve_all
from incremental_assets.core.errors import TargetChanged, TermsChanged
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.layout import LaidOut, Target
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.core.mistakes import problems
from tests.fakes import World
from tests.scenario import COUNTRIES_SHAPE, ORDERS, ORDERS_SHAPE, order, orders, shop

FILE = """\
lake: ./lake
checkpoints: sqlite:///c.db
sources:
  shop:
    dialect: sqlite
    database: shop.db
    schemas: [main, public]
"""
CURSOR = "cursor: {column: updated_at, type: timestamp}, strategy: upsert"


def written(folder: Path, text: str, name: str = "sources.yaml") -> LaidOut:
    (folder / name).write_text(text)
    lake = load(folder / name).lake
    assert isinstance(lake, LaidOut)
    return lake


def below(lake: str, table: TableId) -> str:
    return table_path(lake, table).removeprefix(f"{lake}/")


def test_a_copy_lies_where_its_source_or_the_table_itself_puts_it_and_its_history_beside_it(tmp_path: Path) -> None:
    lake = written(
        tmp_path,
        FILE
        + f"""\
    target: "raw/{{schema}}/t_{{table}}"
    tables:
    - {{table: public.orders, {CURSOR}, history: scd2}}
    - {{table: public.kept, {CURSOR}, history: append, target: gold/kept}}
    - {{table: public.odd, target: "silver/{{source}}.{{table}}"}}
""",
    )

    def there(name: str) -> str:
        return below(lake, TableId("shop", "public", name))

    assert there("orders") == "raw/public/t_orders"
    assert there("orders__history") == "raw/public/t_orders__history"
    assert there("kept") == "gold/kept"
    assert there("kept__history") == "gold/kept__history"
    assert there("odd") == "silver/shop.odd"
    # Of a table that is not listed, and with a name that no folder has.
    assert there("un/listed") == "raw/public/t_un~2Flisted"
    assert below(lake, TableId("other", "s", "t")) == "other/s/t"
    # What is kept beside copies stays where it is, and what is sent to a worker is the same lake.
    assert quarantine_path(lake, TableId("shop", "public", "kept")) == f"{lake}/_quarantine/shop/public/kept"
    assert below(pickle.loads(pickle.dumps(lake)), TableId("shop", "public", "kept")) == "gold/kept"


MISTAKES = [
    ("    target: gold #!\n", "gold", "all tables of this source would lie in one folder"),
    ('    target: "/gold/{table}" #!\n', "/gold/{table}", "a folder without a name"),
    ('    target: "../{table}" #!\n', "../{table}", "a folder like '..'"),
    ('    target: "_raw/{table}" #!\n', "_raw/{table}", "begins with `_` or `.`"),
    ('    target: "{database}/{table}" #!\n', "{database}/{table}", "the names {source}, {schema} and {table}"),
    (
        "    tables:\n    - {table: public.a, target: gold/x}\n    - {table: public.b, target: gold/x} #!\n",
        "gold/x",
        "its copy would lie in gold/x, where that of the table in line 9 lies",
    ),
    (
        "    tables:\n    - {table: public.a, target: gold}\n    - {table: public.b, target: Gold/x} #!\n",
        "Gold/x",
        "where that of the table in line 9 lies",
    ),
    (
        f"    tables:\n    - {{table: public.a, {CURSOR}, history: scd2, target: x/a}}\n    - {{table: public.b, target: x/a__history}} #!\n",
        "x/a__history",
        "where that of the table in line 9 lies",
    ),
    (
        "    tables:\n    - {table: public.a, target: store/main/x} #!\n  store:\n    dialect: sqlite\n    database: store.db\n",
        "store/main/x",
        "tables of store that are not listed may lie there, too",
    ),
]


@pytest.mark.parametrize(("text", "shown", "cure"), MISTAKES)
def test_a_place_that_cannot_be_or_is_anothers_is_refused_where_it_is_written(
    tmp_path: Path, text: str, shown: str, cure: str
) -> None:
    (problem,) = problems(tmp_path, FILE + text)
    assert (problem.text, (FILE + text).splitlines()[problem.line - 1][-2:]) == (shown, "#!")
    assert cure in problem.cure


def test_a_listed_table_that_lies_as_usual_is_in_nobodys_way(tmp_path: Path) -> None:
    text = "    tables:\n    - {table: public.a, target: shop/public/b}\n    - {table: public.b}\n"
    (problem,) = problems(tmp_path, FILE + text)
    assert (problem.line, "that of the table in line 9 lies" in problem.cure) == (10, True)


def test_two_sources_have_folders_of_their_own_unless_all_of_their_tables_are_listed(tmp_path: Path) -> None:
    both = (
        FILE
        + '    target: "{schema}/{table}"\n  store:\n    dialect: sqlite\n    database: store.db\n    target: "{schema}/{table}"\n'
    )
    (problem,) = problems(tmp_path, both)
    assert (problem.line, problem.cure) == (
        12,
        "copies of shop may lie in the same folders; write `{source}`, or a folder of its own, into it",
    )
    written(tmp_path, both.replace("    target", "    unlisted: ignore\n    target"))
    written(
        tmp_path,
        both.replace('"{schema}/{table}"\n  store', '"eu/{schema}/{table}"\n  store').replace(
            'db\n    target: "{schema}', 'db\n    target: "us/{schema}'
        ),
    )


def test_a_table_that_is_not_listed_yields_to_one_that_is(tmp_path: Path) -> None:
    written(
        tmp_path,
        FILE.replace("main, public", "public")
        + f"    tables:\n    - {{table: public.orders, {CURSOR}, target: shop/public/countries}}\n",
    )
    shapes = [replace(shape, id=TableId("shop", "public", shape.id.name)) for shape in (ORDERS_SHAPE, COUNTRIES_SHAPE)]
    found = resolve_all(load(tmp_path / "sources.yaml").source("shop"), shapes)
    assert [spec.target for spec in found.specs] == ["shop/public/countries"]
    (problem,) = found.problems
    assert "its copy would lie where that of shop.public.orders lies" in str(problem.error)


def test_the_usual_place_written_out_is_the_usual_place(tmp_path: Path) -> None:
    target = Target.parse("{source}/{schema}/{table}")
    shape: TableShape = ORDERS_SHAPE
    written(tmp_path, FILE + f'    tables:\n    - {{table: public.orders, {CURSOR}, target: "{target}"}}\n')
    (spec, *_) = resolve_all(load(tmp_path / "sources.yaml").source("shop"), [shape]).specs
    assert spec.target == ""


def test_another_place_of_a_copy_that_has_landed_is_refused_until_all_is_read_again() -> None:
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.sync(orders())
    moved = replace(orders(), target="gold/orders")
    with pytest.raises(TermsChanged) as refused:
        world.sync(moved)
    assert str(refused.value) == (
        "shop.public.orders: its copy lies in shop/public/orders of the lake, and `target` says gold/orders: put `target` back, or have all rows read again and "
        "the copy written there with `incremental-assets sync --select shop.public.orders --full-refresh`; what lies in shop/public/orders stays until you remove that folder"
    )
    with pytest.raises(TermsChanged, match="its copy lies in shop/public/orders"):
        reset_table(spec=moved, to=None, run_id="r", checkpoints=world.ports().checkpoints)
    assert world.sync(orders()).status is Status.IDLE
    assert world.sync(moved, mode=Mode.FULL_REFRESH).status is Status.LANDED
    state = world.ports().checkpoints.position(ORDERS).state
    assert state is not None
    document = json.loads(state.to_json())
    assert (document["version"], document["terms"]["target"]) == (6, "gold/orders")
    assert state_of(state.to_json()) == state
    with pytest.raises(
        TermsChanged, match="its copy lies in gold/orders of the lake, and `target` says shop/public/orders"
    ):
        world.sync(orders())


@pytest.mark.parametrize("mode", [Mode.SYNC, Mode.FULL_REFRESH])
def test_a_place_where_the_copy_of_another_table_lies_is_refused_though_this_program_made_it(mode: Mode) -> None:
    """Where the other table lay before its own `target` was changed: its rows would stay among these, and be read by its position."""
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.sync(orders())
    twin = replace(ORDERS_SHAPE, id=TableId("shop", "public", "twin"))
    spec = replace(orders(), shape=twin, target="shop/public/orders")
    world.lake.tables[twin.id] = world.lake.tables[ORDERS]
    with pytest.raises(TargetChanged) as refused:
        world.sync(spec, mode=mode)
    assert str(refused.value) == (
        "shop.public.twin: the copy that lies where `target` puts this one is that of shop.public.orders, so nothing was written; remove that folder, where nobody "
        "needs it, or write another `target`"
    )
    assert world.sync(orders()).status is Status.IDLE
