"""Pages, comments, docstrings and messages use the usual words, and not those that only we would understand."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_docs import GENERATED, PAGES, ROOT, name, prose

PRIVATE = re.compile(
    r"\b(another hand|for ever|foresee\w*|foresight|in so many words|mend(s|ed|ing)?|play(s|ed|ing)? (it|them|against)|sought|"
    r"(is|are|was|were|be) told(?! apart)|upkeep|vouch\w*)\b",
    re.IGNORECASE,
)
"""Words of our own: the usual ones are another writer, forever, estimate, fix or repair, run, looked up, reported or known, maintenance, verified."""
PAGES_OF_OURS = (*(page for page in PAGES if page not in GENERATED), ROOT / "CHANGELOG.md")
PRIVATE_NAMES = {
    "direct",
    "foresee",
    "foreseen",
    "foreseeing",
    "foresight",
    "mend",
    "mended",
    "mending",
    "sought",
    "upkeep",
    "vouch",
    "vouched",
}
"""The same in names, and `direct`, which says nothing of who writes."""
NAMES = re.compile(r"`[^`\n]*`|\{[^}\n]*\}|\]\([^)\n]*\)")
"""What is quoted from code, put in or linked to: names stay as they are."""


def private_words(text: str) -> list[str]:
    return [found.group() for found in PRIVATE.finditer(NAMES.sub("", text))]


def sentences(module: Path) -> Iterator[tuple[int, str]]:
    """Comments and texts of more than one word, each with its line."""
    for token in tokenize.generate_tokens(io.StringIO(module.read_text(encoding="utf-8")).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) and " " in token.string:
            yield token.start[0], token.string


@pytest.mark.parametrize("page", PAGES_OF_OURS, ids=name)
def test_a_page_has_no_word_of_our_own(page: Path) -> None:
    assert private_words(prose(page)) == []


@pytest.mark.parametrize("package", ["incremental_assets", "resources"])
def test_no_comment_docstring_or_message_has_one(package: str) -> None:
    found = [
        f"{module.relative_to(ROOT)}:{line}: {word}"
        for module in sorted((ROOT / package).rglob("*.py"))
        for line, text in sentences(module)
        for word in private_words(text)
    ]
    assert found == []


def parts(name: str) -> set[str]:
    """The words of a name of either spelling."""
    return {each.lower() for each in re.findall(r"[A-Z]?[a-z]+", name)}


def defined(module: Path) -> Iterator[str]:
    """The module itself with its folders, and the classes and functions in it."""
    yield from module.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


@pytest.mark.parametrize("package", ["incremental_assets", "resources", "plugins"])
def test_no_room_class_or_function_is_called_by_one(package: str) -> None:
    found = [
        f"{module.relative_to(ROOT)}: {name}"
        for module in sorted((ROOT / package).rglob("*.py"))
        for name in defined(module)
        if parts(name) & PRIVATE_NAMES
    ]
    assert found == []


def test_each_of_these_words_is_found_and_a_name_is_not() -> None:
    line = "It is told by another hand, which mends it for ever; a key is sought, and no server has played them against it. It can be told apart."
    assert private_words(line) == ["is told", "another hand", "mends", "for ever", "sought", "played them"]
    assert private_words("recommended, amended, and `Foreseeing`") == []
