"""What stands behind each strategy's word, and that nobody else takes the words apart."""

import ast
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import incremental_assets
from incremental_assets.core import strategies
from incremental_assets.core.strategies import Strategy, traits_of
from tests.scenario import orders

ROOT = Path(incremental_assets.__file__).parent
MAY_COMPARE = ("core/strategies/", "core/config/")
WORDS = {word.value for word in Strategy}
OBJECTS = [traits_of(word) for word in Strategy]
NAMES = {type(found).__name__ for found in OBJECTS} | {
    name for name, value in vars(strategies).items() if any(value is found for found in OBJECTS)
}
"""Of the objects, as the registry imports them, and of their classes."""


@pytest.mark.parametrize(
    ("strategy", "overwrites", "one_row_per_key", "keeps_versions"),
    [
        (Strategy.APPEND, False, False, True),
        (Strategy.UPSERT, False, True, False),
        (Strategy.FULL_REFRESH, True, False, False),
    ],
)
def test_a_strategy_says_what_it_makes_of_a_copy(strategy, overwrites, one_row_per_key, keeps_versions):
    found = traits_of(strategy)

    assert (found.overwrites, found.one_row_per_key, found.keeps_versions) == (
        overwrites,
        one_row_per_key,
        keeps_versions,
    )


@pytest.mark.parametrize("strategy", Strategy)
def test_every_strategy_is_one_frozen_object_that_people_can_be_told_of(strategy):
    found = traits_of(strategy)

    assert found is traits_of(strategy)
    assert found.holds
    with pytest.raises(FrozenInstanceError):
        found.overwrites = True


def test_the_key_is_one_of_the_terms_where_it_decides_which_row_is_replaced():
    assert orders(Strategy.UPSERT).terms.key == ("id",)
    assert orders(Strategy.APPEND).terms.key == ()


def test_a_table_is_read_by_its_cursor_unless_each_sync_replaces_the_whole_copy():
    assert orders(Strategy.APPEND).read_by == orders(Strategy.APPEND).cursor
    assert orders(Strategy.FULL_REFRESH).read_by is None


def test_a_strategy_is_asked_and_compared_nowhere_but_where_it_is_made_and_written():
    others = [path for path in sorted(ROOT.rglob("*.py")) if not _within(path).startswith(MAY_COMPARE)]

    assert [f"{_within(path)}:{line}" for path in others for line in compared(path.read_text())] == []


@pytest.mark.parametrize(
    "source",
    [
        "spec.strategy is Strategy.UPSERT",
        "spec.strategy == 'upsert'",
        "Strategy.APPEND in (spec.strategy, was)",
        "spec.strategy in ('append', 'upsert')",
        "{Strategy.APPEND: 1}[spec.strategy]",
        "match spec.strategy:\n    case Strategy.APPEND: pass",
        "isinstance(spec.traits, Upsert)",
        "traits is UPSERT",
    ],
)
def test_a_comparison_is_noticed_however_it_is_written(source):
    assert compared(source) == [source.count("\n") + 1]


def test_to_name_a_strategy_is_no_comparison():
    assert compared("TableSpec(shape, Strategy.UPSERT)\nwas.strategy == now.strategy\n") == []


def compared(source: str) -> list[int]:
    """Lines that take one strategy, or the object behind it, apart from the others."""
    return sorted({place.lineno for node in ast.walk(ast.parse(source)) for place in _tests(node) if _names_one(place)})


def _tests(node: ast.AST) -> Iterator[ast.expr]:
    """What is compared, matched, looked up by or tested for."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        within = [item for side in sides for item in (side.elts if isinstance(side, ast.Tuple | ast.Set) else [side])]
        asked = any(isinstance(item, ast.Attribute) and item.attr == "strategy" for item in within)
        yield from (item for item in within if asked or not isinstance(item, ast.Constant))
    elif isinstance(node, ast.Dict):
        yield from (key for key in node.keys if isinstance(key, ast.Attribute))
    elif isinstance(node, ast.MatchValue):
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        yield node.args[1]


def _names_one(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.value.id == "Strategy"
    if isinstance(node, ast.Name):
        return node.id in NAMES
    return isinstance(node, ast.Constant) and node.value in WORDS


def _within(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
