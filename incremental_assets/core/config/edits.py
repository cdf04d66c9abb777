"""Single values of a configuration file that are written into its text: comments and layout stay, and nothing else is meant than before. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from incremental_assets.core.config.shorthand import Direction, Shorthand, parse
from incremental_assets.core.config.yaml_source import read
from incremental_assets.core.model.identifiers import parse_table, render_table
from incremental_assets.core.model.table_id import TableId

_UNKNOWN = "its entry is written in a way that is not known"
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True)
class Edit:
    """What a key of a table is to hold: `keys` leads to it, and `value` is text, or keys with texts."""

    table: TableId
    keys: tuple[str, ...]
    value: str | Mapping[str, str]

    @property
    def told(self) -> str:
        """As it is written."""
        found = _flow(self.value)
        for key in reversed(self.keys):
            found = f"{key}: {found}" if key == self.keys[0] else f"{{{key}: {found}}}"
        return found


class NotWritten(Exception):
    """Why an edit is left to a person."""


def edited(text: str, edit: Edit) -> str:
    """The text with the edit. Raises NotWritten where the file does not list the table, or says it in a way that others share."""
    document, problems = read(text, "")
    root = document.root
    if problems or root is None:
        raise NotWritten("the file is no YAML that could be edited")
    entries = _at(_at(_at(root, "sources"), edit.table.source), "tables")
    if not isinstance(entries, yaml.SequenceNode):
        raise NotWritten(f"the file lists no tables of {edit.table.source}")
    number, entry = _entry(entries, edit.table)
    shared = {id(each) for each, times in _times(root) if times > 1}
    if shared & {id(each) for each in _walk(entry)}:
        raise NotWritten("its entry uses an anchor, which others may share")
    meant: Any = document.data
    listed = meant["sources"][edit.table.source]["tables"]
    if isinstance(entry, yaml.ScalarNode):
        listed[number] = _terms(parse(entry.value))
    _put(listed[number], edit)
    new = (
        _in_full(text, entry, listed[number])
        if isinstance(entry, yaml.ScalarNode)
        else _set(text, entry, edit.keys, edit.value)
    )
    # Nothing is written that means more than was meant.
    if read(new, "")[0].data != meant:
        raise NotWritten(_UNKNOWN)
    return new


def _entry(entries: yaml.SequenceNode, table: TableId) -> tuple[int, yaml.Node]:
    for number, entry in enumerate(entries.value):
        named = entry if isinstance(entry, yaml.ScalarNode) else _at(entry, "table")
        if isinstance(named, yaml.ScalarNode) and _names(named.value, table, short=named is entry):
            return number, entry
    raise NotWritten("no entry of the file is this table's alone; list it with the terms that it is to have")


def _names(written: str, table: TableId, *, short: bool) -> bool:
    try:
        found = parse(written) if short else None
        schema, name = (found.schema, found.name) if found else parse_table(written)
    except ValueError:
        return False
    return (schema, name) == (table.schema, table.name)


def _at(node: yaml.Node | None, key: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for each, value in pairs if isinstance(each, yaml.ScalarNode) and each.value == key), None)


def _set(text: str, node: yaml.Node, keys: Sequence[str], value: str | Mapping[str, str]) -> str:
    if not isinstance(node, yaml.MappingNode):
        raise NotWritten(_UNKNOWN)
    key, *deeper = keys
    there = _at(node, key)
    if there is None:
        for each in reversed(deeper):
            value = {each: value} if isinstance(value, str) else value
        return _added(text, node, f"{key}: {_flow(value)}")
    if deeper:
        return _set(text, there, deeper, value)
    start, end = there.start_mark.index, _end(there)
    if not isinstance(there, yaml.ScalarNode) or there.style in ("|", ">"):
        raise NotWritten(f"`{key}` is written over several lines")
    return text[:start] + _flow(value) + text[end:]


def _added(text: str, node: yaml.MappingNode, line: str) -> str:
    """Behind the last value: on a line of its own, or in the same braces."""
    end = _end(node.value[-1][1])
    if node.flow_style:
        return f"{text[:end]}, {line}{text[end:]}"
    indent = " " * node.value[0][0].start_mark.column
    if end and text[end - 1] == "\n":  # of a text over several lines
        return f"{text[:end]}{indent}{line}\n{text[end:]}"
    end = next((at for at in range(end, len(text)) if text[at] == "\n"), len(text))
    return f"{text[:end]}\n{indent}{line}{text[end:]}"


def _end(node: yaml.Node) -> int:
    """Where it ends: PyYAML has a block end where the next thing begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _terms(short: Shorthand) -> dict[str, Any]:
    """An entry in one line as one with keys."""
    if short.direction is Direction.EXCLUDE:
        raise NotWritten("its entry leaves it out of the incremental sync")
    start = {} if short.start is None else {"start": short.start.text}
    cursor = {"column": short.column, "type": str(short.type)}
    named = {"table": render_table(short.schema, short.name)}
    return named | {"cursor": cursor, "strategy": str(short.strategy)} | start


def _put(terms: dict[str, Any], edit: Edit) -> None:
    *around, last = edit.keys
    for key in around:
        terms = terms.setdefault(key, {})
        if not isinstance(terms, dict):
            raise NotWritten(_UNKNOWN)
    terms[last] = dict(edit.value) if isinstance(edit.value, Mapping) else edit.value


def _in_full(text: str, entry: yaml.ScalarNode, terms: Mapping[str, Any]) -> str:
    """An entry in one line as one with keys, which stands where it stood."""
    column = entry.start_mark.column
    line = text.rfind("\n", 0, entry.start_mark.index) + 1
    if text[line : entry.start_mark.index].strip() != "-":
        raise NotWritten("its entry shares a line with others")
    first, *rest = (f"{key}: {_flow(value)}" for key, value in terms.items())
    end = int(entry.end_mark.index)
    comment = next((at for at in range(end, len(text)) if text[at] == "\n"), len(text))
    written = f"{first}{text[end:comment]}" + "".join(f"\n{' ' * column}{each}" for each in rest)
    return text[: entry.start_mark.index] + written + text[comment:]


def _flow(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(each)}" for key, each in value.items()) + "}"
    text = str(value)
    return text if _PLAIN.fullmatch(text) else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _walk(node: yaml.Node) -> Iterator[yaml.Node]:
    yield node
    for each in node.value if isinstance(node, yaml.CollectionNode) else ():
        for child in each if isinstance(each, tuple) else (each,):
            yield from _walk(child)


def _times(root: yaml.Node) -> list[tuple[yaml.Node, int]]:
    found: dict[int, tuple[yaml.Node, int]] = {}
    for node in _walk(root):
        found[id(node)] = (node, found.get(id(node), (node, 0))[1] + 1)
    return list(found.values())
