"""Globs over tables: whose terms each table has, what is taken, left out and refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from incremental_assets.core.config.load import load
from incremental_assets.core.config.match_rules import mistakes
from incremental_assets.core.config.resolve import Resolved, resolve_all, unconfigured, vanished
from incremental_assets.core.config.rules import Around
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.config.table_document import DefaultsDocument, TableDocument, TimePartitions
from incremental_assets.core.config.terms import all_terms, terms_of
from incremental_assets.core.model.partition import Every
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_match import TableMatch
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.strategies import Strategy
from incremental_assets.resources.database import address
from tests.core.mistakes import problems
from tests.fakes import World
from tests.scenario import ORDERS_SHAPE, orders, shop

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
TENANTS = f"    - {{match: tenant_*.orders, {CURSOR}, pii: [customer], freshness: {{fail: 1h}}}}\n"


def source(folder: Path, entries: str, **changes: str) -> SourceConfig:
    (folder / "sources.yaml").write_text(FILE + entries)
    found = load(folder / "sources.yaml").source("shop")
    return replace(found, **changes) if changes else found  # type: ignore[arg-type]


def shape(schema: str, name: str = "orders") -> TableShape:
    return replace(ORDERS_SHAPE, id=TableId("shop", schema, name))


def found_of(config: SourceConfig, *shapes: TableShape) -> dict[str, str]:
    """The strategy of each table, or why it cannot be synced."""
    found: Resolved = resolve_all(config, shapes)
    specs = {f"{spec.id.schema}.{spec.id.name}": str(spec.strategy) for spec in found.specs}
    return specs | {f"{each.table.schema}.{each.table.name}": str(each.error) for each in found.problems}


THREE = (shape("tenant_1"), shape("tenant_2"), shape("public"), shape("tenant_1", "notes"))


def test_each_table_that_a_glob_stands_for_has_its_terms_and_no_other_table_has(tmp_path: Path) -> None:
    config = source(tmp_path, TENANTS)
    assert found_of(config, *THREE) == {"tenant_1.orders": "upsert", "tenant_2.orders": "upsert"}
    terms = terms_of(config, TableId("shop", "tenant_2", "orders"))
    assert (terms.schema, terms.name, terms.pii, terms.freshness.fail) == (
        "tenant_2",
        "orders",
        ("customer",),
        timedelta(hours=1),
    )
    assert terms.place.endswith("sources.yaml:11")
    assert [each.schema for each in all_terms(config, THREE)] == ["tenant_1", "tenant_2"]


def test_a_listed_table_wins_and_one_that_exclude_names_is_left_out(tmp_path: Path) -> None:
    own = "    - {table: tenant_2.orders, strategy: full_refresh}\n"
    config = source(tmp_path, TENANTS + own)
    assert found_of(config, *THREE) == {"tenant_2.orders": "full_refresh", "tenant_1.orders": "upsert"}
    left_out = replace(config, exclude=("tenant_1.*",))
    assert found_of(left_out, *THREE) == {"tenant_2.orders": "full_refresh"}


def test_two_globs_that_stand_for_one_table_stop_that_table_and_name_their_lines(tmp_path: Path) -> None:
    config = source(tmp_path, TENANTS + "    - {match: '*_2.*', strategy: full_refresh}\n")
    found = found_of(config, *THREE)
    assert found["tenant_1.orders"] == "upsert"
    assert found["tenant_2.orders"].startswith(
        "shop.tenant_2.orders: tenant_*.orders in line 11 and *_2.* in line 12 stand for it, each with terms of its own; "
        "list the table, write narrower globs, or add it to `exclude`"
    )


def test_beside_globs_tables_that_are_not_listed_are_read_whole_as_before(tmp_path: Path) -> None:
    config = replace(source(tmp_path, TENANTS), unlisted="full_refresh")
    assert found_of(config, *THREE)["public.orders"] == str(Strategy.FULL_REFRESH)


def test_a_table_that_is_no_longer_there_is_told_and_one_that_no_glob_stands_for_is_no_longer_configured(
    tmp_path: Path,
) -> None:
    world = World(shop())
    world.sync(orders())
    landed = world.ports().checkpoints.position(orders().id)
    positions: dict[TableId, Checkpoint] = {
        TableId("shop", schema, "orders"): landed for schema in ("tenant_1", "old_1")
    }
    config = source(tmp_path, TENANTS)
    (gone,) = vanished(config, resolve_all(config, [shape("tenant_2")]), positions)
    assert gone.table.schema == "tenant_1"
    assert [table.schema for table, _ in unconfigured([config], positions)] == ["old_1"]


def test_the_schemas_of_globs_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = source(tmp_path, TENANTS + "    - {match: 'sales.2024_*', strategy: full_refresh}\n")
    found = address(config, tmp_path / "sources.yaml")
    assert (found.schemas, found.schema_globs) == (("public", "sales"), ("tenant_*",))


@pytest.mark.parametrize(
    ("entry", "text", "cure"),
    [
        ("{match: orders_*} #!", "orders_*", "write globs over schema and table like tenant_*.orders"),
        ("{match: public.orders} #!", "public.orders", "write `table: public.orders`, or a glob"),
        ('{match: "public.\\"a b*\\""} #!', 'public."a b*"', "without quotes; list a table whose name has a dot"),
        (
            "{match: a*.b, target: gold/b} #!",
            "gold/b",
            "several tables that this glob stands for would lie in one folder; write `{schema}` into it",
        ),
        (
            "{match: a*.b*, target: gold/b} #!",
            "gold/b",
            "write `{schema}` and `{table}` into it",
        ),
        ("{match: a*.b, capture: log} #!", "log", "are listed one by one"),
        ("{match: a*.b, strategy: upsert, rename: {a: b}, compare: {every: 1h}} #!", "rename", "list that table"),
        ("{match: a*.b, cursr: {column: x, type: date}} #!", "cursr", "did you mean `cursor`?"),
        ("{match: a*.b, strategy: upsert} #!", "upsert", "`upsert` needs a cursor"),
        ("{match: a*.b}\n    - {match: a*.b} #!", "a*.b", "this glob is already written in line 11; keep one of them"),
        ("{mach: a*.b} #!", "mach", "did you mean `match`?"),
        (
            "{match: a*.b, table: public.a} #!",
            "table",
            "`table` does not go with the other key here; remove one of the two",
        ),
    ],
)
def test_a_mistake_in_a_glob_has_its_place_and_its_cure(tmp_path: Path, entry: str, text: str, cure: str) -> None:
    written = f"{FILE}    - {entry}\n"
    (problem,) = problems(tmp_path, written)
    assert (problem.text, written.splitlines()[problem.line - 1][-2:]) == (text, "#!")
    assert cure in problem.cure


def test_a_database_that_is_not_asked_for_its_schemas_takes_globs_over_tables_alone() -> None:
    around = Around("sqlserver", DefaultsDocument(), TimePartitions(every=Every.MONTH), "")

    def cures(text: str) -> list[str]:
        return [cure for _, cure in mistakes(TableMatch.parse(text), TableDocument(table="a.b"), around)]

    assert cures("dbo.orders_*") == []
    assert cures("tenant_*.orders") == [
        "a glob stands for schemas of postgresql, sqlite, mariadb, mysql, and this source is sqlserver; write one entry for each schema"
    ]


def test_a_glob_that_is_written_as_a_table_is_told_how_globs_are_written(tmp_path: Path) -> None:
    config = source(tmp_path, "    - {table: tenant_*.orders, strategy: full_refresh}\n")
    assert (
        "a glob over several tables is written `match: tenant_*.orders`" in found_of(config, *THREE)["tenant_*.orders"]
    )


def test_a_glob_is_matched_by_case() -> None:
    match = TableMatch.parse("tenant_[ab]?.Orders")
    names = [("tenant_a1", "Orders"), ("tenant_c1", "Orders"), ("tenant_a1", "orders")]
    assert [match.stands_for(TableId("shop", *each)) for each in names] == [True, False, False]
