"""What stands behind each capture's name, and that nobody else asks which one a table has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import incremental_assets
from incremental_assets.core.captures.registry import BUILT_IN, capture_of
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from tests.scenario import countries, orders

ROOT = Path(incremental_assets.__file__).parent
MAY_ASK = (
    "core/captures/",
    "core/config/",  # what people write
    "core/discovery/",  # what is proposed to them
    "core/model/table.py",
    "adapters/databases/",  # the readers behind the captures of a database
    "adapters/logs/",  # and of its log
    "cli/commands/capture.py",  # the command that is about logs alone
)
FLAGS = {"by_transaction", "is_incremental", "compares_rows", "compares_keys"}
OPENERS = {"position_of", "of_database"}
OBJECTS = {name.upper() for name in BUILT_IN}
XMIN = replace(orders(), cursor=Cursor("xmin", CursorType.INTEGER, by_transaction=True))
LOGGED = replace(orders(), cursor=None, capture="log")
COMPARED = replace(orders(), cursor=None, compares=True, refresh_every=timedelta(hours=1))


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (orders(), "cursor"),
        (orders(Strategy.APPEND, cursor="id"), "cursor"),
        (XMIN, "transaction"),
        (countries(), "whole"),
        (replace(orders(), strategy=Strategy.FULL_REFRESH), "whole"),
        (COMPARED, "compare"),
        (LOGGED, "log"),
    ],
)
def test_each_table_has_the_capture_that_its_terms_say(spec: TableSpec, name: str) -> None:
    assert capture_of(spec) is BUILT_IN[name]


@pytest.mark.parametrize(
    ("spec", "words", "turn", "is_whole"),
    [
        (orders(), "read by its cursor", "sync", False),
        (XMIN, "read by its cursor", "sync", False),
        (countries(), "read whole", "refresh", True),
        (COMPARED, "compared as a whole", "comparison", True),
        (LOGGED, "read from the log", "sync", False),
    ],
)
def test_a_capture_says_in_words_how_a_table_is_brought_up_to_date(
    spec: TableSpec, words: str, turn: str, is_whole: bool
) -> None:
    found = capture_of(spec)
    assert (found.words, found.turn, found.is_whole) == (words, turn, is_whole)


def test_only_numbers_of_rows_can_be_counted_in_ranges() -> None:
    numbered = orders(cursor="id")
    assert capture_of(numbered).counted_by(numbered) == numbered.cursor
    assert capture_of(XMIN).counted_by(XMIN) is None
    assert capture_of(countries()).counted_by(countries()) is None


def test_nobody_but_captures_and_their_readers_asks_which_capture_a_table_has() -> None:
    others = [path for path in sorted(ROOT.rglob("*.py")) if not _within(path).startswith(MAY_ASK)]
    assert [f"{_within(path)}:{line}" for path in others for line in asked(path.read_text())] == []


def test_every_place_that_may_ask_is_there() -> None:
    assert [place for place in MAY_ASK if not (ROOT / place).exists()] == []


@pytest.mark.parametrize(
    "source",
    [
        "spec.is_incremental",
        "if not plan.spec.cursor.by_transaction: pass",
        "spec.cursor is None",
        "None is not plan.spec.cursor",
        "if spec.cursor: pass",
        "while terms.cursor: pass",
        "1 if spec.cursor else 2",
        "not spec.cursor",
        "spec.cursor and spec.cursor.column == 'at'",
        "ready or spec.cursor",
        "[each for each in specs if each.cursor]",
        "spec.compares",
        "each.spec.compares",
        "config.compares",
        "spec.capture == 'whole'",
        "capture_of(spec) is CURSOR",
        "capture_of(spec) in (WHOLE, COMPARE)",
        "isinstance(plan.reading, DatabaseReading)",
        "isinstance(state.position, DatabasePosition)",
        "from incremental_assets.core.captures.database.position import position_of",
        "from incremental_assets.core.captures.database.reading import DatabaseReading, of_database",
        "match spec.capture:\n    case 'whole': pass",
    ],
)
def test_what_asks_for_a_capture_is_found(source: str) -> None:
    assert [*asked(source)] == [1]


@pytest.mark.parametrize(
    "source",
    [
        "spec.read_by is None",
        "spec.cursor_columns and spec.cursor_type is None",
        "cursor_of(spec).column",
        "spec.deletes.compares",
        "how.compares",
        "capture_of(spec).is_whole",
        "plan.reading.finds_differing",
        "row.cursor(spec)",
    ],
)
def test_what_a_table_can_be_asked_besides_is_asked(source: str) -> None:
    assert [*asked(source)] == []


def asked(source: str) -> Iterator[int]:
    """The lines at which it is asked which capture a table has."""
    for node in ast.walk(ast.parse(source)):
        yield from (each.lineno for each in _conditions(node) if _is_cursor(each))
        if isinstance(node, ast.Attribute) and (node.attr in FLAGS or _is_comparing(node)):
            yield node.lineno
        elif isinstance(node, ast.Compare | ast.Match) and _compares(node):
            yield node.lineno if isinstance(node, ast.Compare) else node.subject.lineno
        elif (isinstance(node, ast.Call) and _takes_apart(node)) or (isinstance(node, ast.ImportFrom) and _opens(node)):
            yield node.lineno


def _is_comparing(node: ast.Attribute) -> bool:
    """`compares` of a table or of its configuration; of others, it is another question."""
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    return node.attr == "compares" and owner in {"spec", "config", "table", "terms"}


def _is_cursor(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "cursor" and not _is_row(node)


def _is_row(node: ast.Attribute) -> bool:
    """Of a row it is its value, of a task the place of a column, of a sensor what it keeps."""
    return getattr(node.value, "id", "") in ("row", "how", "counting", "unit", "found", "context")


def _conditions(node: ast.AST) -> list[ast.expr]:
    """What is asked whether it is there."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return [*node.values]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.comprehension):
        return [*node.ifs]
    return []


def _compares(node: ast.Compare | ast.Match) -> bool:
    """Whether a cursor is compared with None, or a capture with another."""
    if isinstance(node, ast.Match):
        return isinstance(node.subject, ast.Attribute) and node.subject.attr == "capture"
    sides = [node.left, *node.comparators]
    within = [each for side in sides for each in (side.elts if isinstance(side, ast.Tuple | ast.Set) else [side])]
    nothing = any(isinstance(each, ast.Constant) and each.value is None for each in within)
    found = any(isinstance(each, ast.Call) and getattr(each.func, "id", "") == "capture_of" for each in within)
    named = found and any(isinstance(each, ast.Name) and each.id in OBJECTS for each in within)
    by_name = any(isinstance(each, ast.Attribute) and each.attr == "capture" for each in within)
    return named or by_name or (nothing and any(_is_cursor(each) for each in within))


def _takes_apart(node: ast.Call) -> bool:
    """Whether it is asked whose a position, a reading or an observation is."""
    is_asked = getattr(node.func, "id", "") == "isinstance"
    return is_asked and any(isinstance(each, ast.Name) and each.id.startswith("Database") for each in node.args[1:])


def _opens(node: ast.ImportFrom) -> bool:
    """Whether it takes what tells a database's position or reading from others."""
    return "captures.database" in (node.module or "") and bool(OPENERS & {each.name for each in node.names})


def _within(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
