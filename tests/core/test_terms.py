"""Which tables are synced, and on which terms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.config.resolve import resolve_all
from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.config.terms import all_terms, terms_of
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.table_id import TableId
from tests.scenario import COUNTRIES_SHAPE

LISTED = TableConfig("archive", "orders", Strategy.APPEND, line=9)
SOURCE = SourceConfig("shop", "postgresql", schemas=("public",), tables=(LISTED,))
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


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (("a",), ["b"]),
        (("public.a",), ["b"]),
        (("public.*",), []),
        (("?",), []),
        (("archive.*", "orders"), ["a", "b"]),
        (("A",), ["a", "b"]),
    ],
)
def test_what_is_excluded_is_not_read_whole_and_what_is_listed_stays(exclude: tuple[str, ...], left: list[str]) -> None:
    source = replace(SOURCE, exclude=exclude)
    assert [terms.name for terms in all_terms(source, SHAPES)] == ["orders", *left]
    resolved = resolve_all(source, [shape for shape in SHAPES if shape.id.source == "shop"])
    assert sorted(spec.id.name for spec in resolved.specs) == left


def test_a_name_that_holds_glob_characters_is_excluded_by_itself() -> None:
    odd = replace(COUNTRIES_SHAPE, id=TableId("shop", "public", "[a]*.b"))
    for pattern in ("[a]*.b", "public.[a]*.b", 'public."[a]*.b"'):
        assert all_terms(replace(SOURCE, exclude=(pattern,)), [odd]) == (LISTED,)
