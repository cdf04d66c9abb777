"""Which tables are synced, and on which terms."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.config import SourceConfig, TableConfig
from incremental_assets.core.resolve import resolve_all
from incremental_assets.core.table import Strategy, TableId
from incremental_assets.core.terms import all_terms, terms_of
from tests.scenario import COUNTRIES_SHAPE

LISTED = TableConfig("archive", "orders", Strategy.APPEND, line=9)
SOURCE = SourceConfig("shop", "postgresql", "localhost", 5432, "shop", "reader", schemas=("public",), tables=(LISTED,))
SHAPES = tuple(
    replace(COUNTRIES_SHAPE, id=TableId(*name))
    for name in (("shop", "public", "b"), ("shop", "public", "a"), ("shop", "archive", "old"), ("other", "public", "c"))
)


def test_listed_tables_come_first_then_those_of_the_configured_schemas_by_name() -> None:
    found = [(terms.schema, terms.name) for terms in all_terms(SOURCE, SHAPES)]
    assert found == [("archive", "orders"), ("public", "a"), ("public", "b")]
    assert all_terms(replace(SOURCE, unlisted="ignore"), SHAPES) == (LISTED,)


def test_the_definitions_show_the_tables_that_a_sync_would_resolve() -> None:
    shapes = tuple(shape for shape in SHAPES if shape.id.source == "shop")
    resolved = resolve_all(SOURCE, shapes)
    wanted = {*(spec.id for spec in resolved.specs), *(problem.table for problem in resolved.problems)}
    assert {terms.id("shop") for terms in all_terms(SOURCE, shapes)} == wanted


def test_a_table_that_is_not_listed_is_read_whole() -> None:
    assert terms_of(SOURCE, TableId("shop", "archive", "orders")) is LISTED
    assert terms_of(SOURCE, TableId("shop", "public", "a")).strategy is Strategy.FULL_REFRESH
