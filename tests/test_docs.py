"""What the pages tell people to copy, to type and to look up is what the product has; every page is found and every link leads somewhere."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import click
import pytest
import yaml

from incremental_assets.cli.main import commands
from incremental_assets.core import errors
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import ConfigurationError, IncrementalAssetsError

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
GENERATED = (DOCS / "benchmarks.md", DOCS / "conformance.md", DOCS / "gameday.md")
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
TROUBLE = DOCS / "troubleshooting.md"
GLOSSARY = DOCS / "glossary.md"
DECISIONS = DOCS / "decisions"
ANY = "\N{HORIZONTAL ELLIPSIS}"
"""In a quoted sentence: whatever stands there."""
FOREIGN = "# Sling"
"""The first line of a block of YAML that another tool reads."""


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, *languages: str) -> list[str]:
    """The blocks of code in these languages."""
    found = re.findall(r"```(\w*)\n(.*?)```", text(page), re.DOTALL)
    return [block for language, block in found if language in languages]


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return re.sub(r"```\w*\n.*?```", "", text(page), flags=re.DOTALL)


def spans(page: Path) -> list[str]:
    """Code within the sentences, on one line each."""
    found = re.findall(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", prose(page), re.DOTALL)
    return [" ".join(words.split()) for _, words in found]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


# --- what is copied and typed ---------------------------------------------------------------------


def configurations() -> list[tuple[str, str]]:
    """Page and text of each block of YAML, and of each file that a block writes with `<<'YAML'`."""
    found = [(name(page), block) for page in PAGES for block in blocks(page, "yaml")]
    shells = [(name(page), block) for page in PAGES for block in blocks(page, "bash")]
    return [
        *found,
        *(
            (page, written)
            for page, block in shells
            for written in re.findall(r"<<'YAML'\n(.*?)\nYAML", block, re.DOTALL)
        ),
    ]


@pytest.mark.parametrize(("page", "block"), configurations(), ids=[page for page, _ in configurations()])
def test_a_configuration_of_a_page_is_without_a_mistake(page: str, block: str, tmp_path: Path) -> None:
    if block.startswith(FOREIGN):
        assert {"source", "target", "streams"} <= yaml.safe_load(block).keys()
        return
    (tmp_path / "sources.yaml").write_text(block, encoding="utf-8")
    if re.search(r"dialect: (oracle|sqlserver)\b", block):
        # Where their package is installed, its own tests load these.
        with pytest.raises(ConfigurationError, match="not installed"):
            load(tmp_path / "sources.yaml")
        return
    assert load(tmp_path / "sources.yaml").sources


def test_the_configuration_of_the_deployment_is_without_a_mistake() -> None:
    (source,) = load(DOCS / "deployment" / "sources.yaml").sources
    assert source.name == "shop"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_program_of_a_page_is_one_that_python_reads(page: Path) -> None:
    for block in blocks(page, "python"):
        ast.parse(block)


def typed() -> list[tuple[str, str]]:
    """Page and words of each `incremental-assets …` that a page has in a block or in a sentence."""
    found = []
    for page in PAGES:
        if page in GENERATED:
            continue
        lines = [line for block in blocks(page, "bash", "console") for line in block.splitlines()]
        for line in [*lines, *spans(page)]:
            words = line.removeprefix("$ ").partition(" > ")[0]
            if words.startswith("incremental-assets ") and not words.split()[1].isupper():
                found.append((name(page), words))
    return sorted(set(found))


@pytest.mark.parametrize(("page", "line"), typed(), ids=[f"{page}: {line}" for page, line in typed()])
def test_a_command_of_a_page_is_one_that_the_product_has(page: str, line: str) -> None:
    words = shlex.split(line.replace(ANY, "x"), comments=True)[1:]
    command = commands.commands[words[0]]
    assert not command.hidden
    with click.Context(command) as context:
        command.parse_args(context, words[1:])


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_an_option_that_a_page_names_with_its_command_is_one_of_that_command(page: Path) -> None:
    for words in spans(page):
        name, *rest = words.removeprefix("incremental-assets ").split()
        if name in commands.commands:
            known = {option for parameter in commands.commands[name].params for option in parameter.opts}
            assert {word.strip("[]") for word in rest if word.strip("[]").startswith("--")} <= known | {"--help"}, words


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_file_that_a_page_names_is_there(page: Path) -> None:
    rooms = (ROOT, ROOT / "incremental_assets", page.parent)
    for path in spans(page):
        if re.fullmatch(r"[\w.-]+(/[\w.-]+)+\.(py|toml|lock|json)", path):
            assert any((room / path).exists() for room in rooms), path


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_make_target_that_a_page_names_is_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text(ROOT / "Makefile"), re.MULTILINE))
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    # What a command printed is no command.
    lines += [line for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]
    told = [
        found[1]
        for line in [*lines, *spans(page)]
        if (found := re.search(r"(?:^|\s)make ([a-z-]+)", line.split("#")[0]))
    ]
    assert set(told) <= targets


# --- what is looked up ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Sentence:
    """A text of the package, with `ANY` for what is filled in, and the error that is raised with it, where that can be read."""

    words: str
    error: type[IncrementalAssetsError] | None

    def says(self, quoted: str) -> bool:
        """Whether the pieces of the quotation stand in it, in their order."""
        at = 0
        for piece in filter(None, (part.strip() for part in quoted.split(ANY))):
            found = self.words.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return True


FAMILY = {
    found.__name__: found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, IncrementalAssetsError)
}


@cache
def sentences() -> tuple[Sentence, ...]:
    """Every text of both packages and of `resources`."""
    packages = ("incremental_assets", "resources", "plugins/experimental/incremental_assets_experimental")
    files = [file for package in packages for file in (ROOT / package).rglob("*.py")]
    return tuple(found for file in files for found in _within(ast.parse(text(file)), None))


def _within(node: ast.AST, error: type[IncrementalAssetsError] | None) -> Iterator[Sentence]:
    if isinstance(node, ast.JoinedStr):
        yield Sentence("".join(_piece(part) for part in node.values), error)
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield Sentence(node.value, error)
        return
    if isinstance(node, ast.ClassDef):
        error = FAMILY.get(node.name)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        error = FAMILY.get(node.func.id, error)
    for below in ast.iter_child_nodes(node):
        yield from _within(below, error)


def _piece(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ANY


@dataclass(frozen=True)
class Row:
    """One message of troubleshooting.md, with what its section's heading and its own say of it."""

    status: str
    kinds: frozenset[type[IncrementalAssetsError]]
    words: str


def rows() -> list[Row]:
    """Every message of the page."""
    found = []
    for section in text(TROUBLE).split("\n## ")[1:]:
        status = re.match(r"Exit status (\d+)", section)
        for part in section.split("\n### "):
            kinds = frozenset(FAMILY[kind] for kind in re.findall(r"`(\w+)`", part.splitlines()[0]) if kind in FAMILY)
            tables = re.findall(r"^\| message \|.*\n\|.*\n((?:\|.*(?:\n|\Z))+)", part, re.MULTILINE)
            for line in [line for table in tables for line in table.splitlines()]:
                message = re.match(r"\| (`+) ?(.+?) ?\1 \|", line)
                assert message, line
                found.append(Row(status[1] if status else "", kinds, message[2]))
    return found


@pytest.mark.parametrize("row", rows(), ids=[row.words for row in rows()])
def test_a_message_that_is_looked_up_is_one_of_the_product_under_its_error_and_exit_status(row: Row) -> None:
    found = [sentence for sentence in sentences() if sentence.says(row.words)]
    assert found, "no such sentence in the package"
    raised = {sentence.error for sentence in found if sentence.error}
    if row.kinds and raised:
        assert raised & row.kinds
    if row.status and not row.kinds & {errors.Interrupted}:
        assert {str(kind.exit_code) for kind in row.kinds} == {row.status}


def test_every_kind_of_error_is_looked_up_somewhere() -> None:
    page = text(TROUBLE)
    missing = [kind for kind in FAMILY if f"`{kind}`" not in page and kind != "IncrementalAssetsError"]
    assert not missing


def test_the_drawn_tree_has_every_kind_of_error() -> None:
    drawn = (errors.__doc__ or "").partition("├")[2]
    assert [kind for kind in FAMILY if not re.search(rf"\b{kind}\b", drawn) and kind != "IncrementalAssetsError"] == []


# --- what is linked -------------------------------------------------------------------------------


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(((?!https?:)[^)\s]+)\)", prose(page))


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), link
        assert not anchor or anchor in anchors(there), link


def test_every_page_is_reached_from_the_index_and_named_there() -> None:
    ahead, seen = [INDEX], {INDEX}
    while ahead:
        page = ahead.pop()
        for link in links(page):
            there = (page.parent / link.partition("#")[0]).resolve()
            if there.suffix == ".md" and there.is_relative_to(DOCS) and there not in seen:
                seen.add(there)
                ahead.append(there)
    assert {page for page in PAGES if page.is_relative_to(DOCS)} == seen
    named = {(DOCS / link.partition("#")[0]).resolve() for link in links(INDEX)}
    assert {page for page in PAGES if page.is_relative_to(DOCS) and page.parent != DECISIONS} - {INDEX} <= named


# --- words and decisions --------------------------------------------------------------------------


def test_no_word_stands_in_the_glossary_twice() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", text(GLOSSARY), re.MULTILINE)
    words = [word.strip() for row in rows[1:] for word in row.split(",")]
    assert len(words) > 20
    assert len(words) == len(set(words))


def test_the_first_words_of_the_readme_mean_what_the_glossary_says() -> None:
    first = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \|$", text(ROOT / "README.md").split("\n## Ten words\n")[1], re.MULTILINE
    )
    words = first[1 : first.index(("page", "content"))]
    assert len(words) == 10
    assert [(word, meaning) for word, meaning in words if f"| {word} | {meaning} |" not in text(GLOSSARY)] == []


REPLACED = (
    "bookmark", "connection string", "data sink", "dead letter", "dead-letter", "destination table", "high-water", "high water mark",
    "incremental column", "replication key", "safe point", "update key", "write disposition",
)  # fmt: skip
"""Words of the glossary's column *also known as* that mean nothing else, so that a page has no need of them."""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_calls_nothing_by_a_second_word(page: Path) -> None:
    if page not in (DOCS / "coming-from.md", DOCS / "coming-from-cdc.md", GLOSSARY, *GENERATED):
        assert [word for word in REPLACED if word in prose(page).casefold()] == []


PARTS = ("## Context", "## Decision", "## Consequences", "## When to reconsider")


def test_decisions_are_numbered_without_a_gap_and_each_says_what_why_and_until_when() -> None:
    records = sorted(DECISIONS.glob("[0-9]*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    for record in records:
        assert in_order([text(record).find(part) for part in PARTS]), record.name
        assert text(record).startswith(f"# {int(record.name[:4])}. "), record.name


def in_order(places: Sequence[int]) -> bool:
    return places[0] >= 0 and all(one < other for one, other in pairwise(places))
