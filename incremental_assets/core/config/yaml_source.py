"""YAML with line numbers: plain data for pydantic, and for every path in it the line and the text as written.

Scalars stay the text that was written (a date, a number and `on` are all text until a model says otherwise), so nothing is
reinterpreted on the way and errors can quote the file. Text that may hold a secret is never quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from typing import TypeGuard

import yaml

from incremental_assets.core.errors import Problem

Path = tuple[str | int, ...]
Data = str | None | list["Data"] | dict[str, "Data"]

_SECRET = re.compile(r"pass|pwd|secret|token|credential", re.IGNORECASE)
_OF_SSH = ("ssh", "key")
_IN_URL = re.compile(r"(://[^/@:\s]*:)\S*@|((?:password|passwd|pwd|token|secret|key)=)[^&;\s]*", re.IGNORECASE)
_HIDDEN = "…"
_IN_QUOTES = re.compile(r"""'(?!\\(?:.|x..|u....)')[^']{2,}'""")
"""More than one character of the file, which may be of a secret; an escape such as `\\t` is one character."""
_TAB = r"character '\t'"
_LONGEST = 80
_DEEPEST = 20
"""Mappings and lists inside each other; a configuration has half as many."""
_MOST = 1_000_000
"""Values that aliases may make of a file; one of a thousand tables has some ten thousand."""
_NO_TEXT = re.compile(r"[\x00\ud800-\udfff]")
"""What YAML can write by an escape, and no path, name or database takes: NUL, and halves of characters."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. `data` is None when the file is empty."""

    file: str
    root: yaml.Node | None
    data: Data
    first: int = 1
    """The line where the configuration begins, and so the place of what is missing altogether."""

    def problem(self, path: Path, cure: str) -> Problem:
        """A mistake at `path`; parts of it that the file does not have are passed over, so a missing key is placed at its parent."""
        place = _locate(self.root, path, self.first)
        return Problem(self.file, place.line, place.text, cure)

    def key_problem(self, path: Path, cure: str) -> Problem:
        """A key that should not be there, whatever its value is."""
        return Problem(self.file, self.line(path), _quoted(str(path[-1]), path), cure)

    def existing(self, path: Path) -> Path:
        """`path` without the parts that the file does not have."""
        node, found = self.root, list[str | int]()
        for part in path:
            child = _child(node, part)
            if child is not None:
                node = child[1]
                found.append(part)
        return tuple(found)

    def line(self, path: Path) -> int:
        """The line where `path` begins, counted from 1."""
        return _locate(self.root, path, self.first).line


def read(text: str, file: str, number: int = 0) -> tuple[Document, list[Problem]]:
    """The document and what is wrong with it as YAML; after a syntax error it is empty.

    Of a Dagster component's `defs.yaml`, which may hold several components, it is the `attributes` of that number.
    """
    try:
        return _read(text, file, number)
    except RecursionError:
        cure = "this is nested too deeply; write it with fewer brackets or indents"
        return Document(file, None, None), [Problem(file, _deepest(text), "", cure)]
    except _Swollen as error:
        return Document(file, None, None), [error.problem]


class _Swollen(Exception):
    """Aliases of aliases: a few lines stand for more values than fit into memory."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def _deepest(text: str) -> int:
    """The line on which more begins inside each other than any configuration has."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            return event.start_mark.line + 1 if event.start_mark else 1
    return 1


def _read(text: str, file: str, number: int) -> tuple[Document, list[Problem]]:
    try:
        roots = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        return Document(file, None, None), [_syntax_problem(error, text, file)]
    except yaml.reader.ReaderError as error:
        return Document(file, None, None), [_character_problem(error, text, file)]
    root = roots[number] if roots else None
    if _is_component(root):
        key, attributes = _child(root, "attributes") or (root, None)
        document, problems = _document(file, attributes, (key or root).start_mark.line + 1)
        return document, [*problems, *_templates(document, document.data, ())]
    if len(roots) > 1:
        line = roots[1].start_mark.line + 1
        return Document(file, None, None), [Problem(file, line, "", "a second document begins here; keep one of them")]
    return _document(file, root, 1)


def _is_component(root: yaml.Node | None) -> TypeGuard[yaml.MappingNode]:
    """Whether it is a component that Dagster loads rather than a configuration by itself."""
    return isinstance(root, yaml.MappingNode) and _child(root, "type") is not None and _child(root, "sources") is None


def _document(file: str, root: yaml.Node | None, first: int) -> tuple[Document, list[Problem]]:
    problems: list[Problem] = []
    document = Document(file, root, None, first)
    data = None if root is None else _plain(_Walk(document, problems), root, ())
    return replace(document, data=data), problems


def _templates(document: Document, data: Data, path: Path) -> Iterator[Problem]:
    """Dagster's own way to say that a value comes from outside, which would be read when the definitions load."""
    if isinstance(data, str) and "{{" in data:
        yield document.problem(
            path, "`{{ … }}` is not filled in here; write {env: NAME} or {file: path} where a value comes from outside"
        )
    elif isinstance(data, dict):
        for key, value in data.items():
            # That is a template for each table, which Dagster fills in.
            if (*path, key) != ("translation",):
                yield from _templates(document, value, (*path, key))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from _templates(document, item, (*path, index))


# --- to plain data --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Walk:
    document: Document
    problems: list[Problem]
    values: Iterator[int] = field(default_factory=count)
    above: tuple[int, ...] = ()

    def refuse(self, path: Path, cure: str) -> None:
        self.problems.append(self.document.problem(path, cure))

    def under(self, node: yaml.Node) -> _Walk:
        return replace(self, above=(*self.above, id(node)))


def _plain(walk: _Walk, node: yaml.Node, path: Path) -> Data:
    if next(walk.values) > _MOST:
        cure = "its aliases stand for more than a million values; write fewer of them"
        raise _Swollen(walk.document.key_problem(path[:1], cure))
    if id(node) in walk.above:
        walk.refuse(path, "this alias is inside what it refers to; write the value out")
        return None
    if not node.tag.startswith("tag:yaml.org,2002:"):
        walk.refuse(
            path,
            "tags with `!` are not used here; a value from outside is written {env: NAME} or {file: path}, text with a `!` in quotes",
        )
    if isinstance(node, yaml.MappingNode):
        return _mapping(walk.under(node), node, path)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(walk.under(node), item, (*path, index)) for index, item in enumerate(node.value)]
    if _NO_TEXT.search(node.value):
        walk.refuse(path, "a NUL, or half of a character, is not text; remove the escape that stands for it")
    return None if node.tag == "tag:yaml.org,2002:null" else _NO_TEXT.sub("", node.value)


def _mapping(walk: _Walk, node: yaml.MappingNode, path: Path) -> Data:
    data: dict[str, Data] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            walk.refuse(path, "a key is plain text")
        elif key.value in data:
            line = key.start_mark.line + 1
            walk.problems.append(
                Problem(
                    walk.document.file,
                    line,
                    _quoted(key.value, (*path, key.value)),
                    "this key is written twice; keep one of them",
                )
            )
        else:
            data[key.value] = _plain(walk, value, (*path, key.value))
    return data


# --- places ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    line: int
    text: str


def _locate(root: yaml.Node | None, path: Path, first: int) -> _Place:
    """The place of the deepest part of `path` that exists: a key's line, a scalar's text, else the key or the item's name."""
    place = _Place(first, "")
    node, walked = root, tuple[str | int, ...]()
    for part in path:
        found = _child(node, part)
        if found is None:
            continue
        walked = (*walked, part)
        key, node = found
        line = (key or node).start_mark.line + 1
        place = _Place(line, _quoted(_words(key, node), walked))
    return place


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in _scalar_items(node) if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    return None


def _scalar_items(node: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    return ((key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode))


def _words(key: yaml.Node | None, node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode) and (node.value or key is None):
        return str(node.value)
    if key is not None:
        return str(key.value)
    named = next(iter(_scalar_items(node)), None) if isinstance(node, yaml.MappingNode) else None
    return _words(None, named[1]) if named is not None and isinstance(named[1], yaml.ScalarNode) else ""


def _quoted(text: str, path: Sequence[str | int]) -> str:
    keys = (
        part for before, part in pairwise(("", *path)) if isinstance(part, str) and before != "sources"
    )  # a source may be called anything
    if path and path[-1] == "host":
        text = re.sub(r"^\S*@", f"{_HIDDEN}@", text)  # user:password@host contains a secret
    # Some write the key itself where a reference to it belongs.
    secret = "key" if tuple(path[-2:]) == _OF_SSH else next((key for key in keys if _SECRET.search(key)), None)
    return _shown(text) if secret is None or text == secret == path[-1] else f"{_shown(secret)}: {_HIDDEN}"


def _shown(text: str) -> str:
    text = _IN_URL.sub(
        lambda match: f"{match[1] or match[2]}{_HIDDEN}{'@' if match[1] else ''}", " ".join(text.split())
    )
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + _HIDDEN


def _character_problem(error: yaml.reader.ReaderError, text: str, file: str) -> Problem:
    before = text[: error.position]
    line, column = before.count("\n") + 1, error.position - (before.rfind("\n") + 1) + 1
    code = error.character if isinstance(error.character, int) else ord(error.character)
    cure = f"YAML does not allow the character U+{code:04X} in column {column}; remove it, and save the file as plain UTF-8 text"
    return Problem(file, line, "", cure)


_BEGINS_OTHERWISE = re.compile(r"\s*(\*|\{(?=\w+\}\S))")
"""A value that YAML takes for an alias, or for a mapping with something behind it: a glob, a schedule, a folder named by its table."""


def _syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    # PyYAML's own message quotes the file: shown is the head of the line, and nothing near a key that may hold a secret.
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark is not None else 0
    begun = error.context_mark.line if error.context_mark is not None else line
    lines = text.splitlines()
    near = lines[min(begun, max(0, line - 3)) : line + 1]
    head, colon, value = near[-1].partition(":") if near else ("", "", "")
    shown = _HIDDEN if any(_SECRET.search(words) for words in near) else _shown(head.strip(" -\t")) if colon else ""
    reason = _IN_QUOTES.sub(_HIDDEN, " ".join(filter(None, (error.context, error.problem))))
    if _TAB in reason:
        reason = reason.replace(_TAB, "a tab, where YAML indents by spaces,")
    column = f", in column {mark.column + 1}" if mark is not None else ""
    if mark is not None and "expected <block end>" in reason and not lines[line][: mark.column].strip():
        before = next((each for each in reversed(lines[:line]) if each.strip()), "")
        other = len(before) - len(before.lstrip()) + 1
        reason = f"the line begins in column {mark.column + 1}, and the one before it in column {other}"
        column = ""
    begins = _BEGINS_OTHERWISE.match(value)
    cure = (
        f"put the value into quotes, as it begins with `{begins[1]}`"
        if begins
        else "mind quotes, brackets and spaces at the line's head"
    )
    return Problem(file, line + 1, shown, f"this is not YAML: {reason}{column}; {cure}")
