"""Single values of a configuration file that are written into its text: comments and layout stay, and nothing else is meant than before. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from incremental_assets.core.config.shorthand import Direction, Shorthand, parse
from incremental_assets.core.config.yaml_places import (
    NotWritten,
    end_of,
    entry_of,
    flow,
    shared,
    value_at,
    walk,
)
from incremental_assets.core.config.yaml_source import read
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.table_id import TableId

_UNKNOWN = "its entry is written in a way that is not known"


@dataclass(frozen=True, slots=True)
class Edit:
    """What a key of a table is to hold: `keys` leads to it, and `value` is text, or keys with texts."""

    table: TableId
    keys: tuple[str, ...]
    value: str | Mapping[str, str]

    @property
    def told(self) -> str:
        """As it is written."""
        found = flow(self.value)
        for key in reversed(self.keys):
            found = f"{key}: {found}" if key == self.keys[0] else f"{{{key}: {found}}}"
        return found


def edited(text: str, edit: Edit) -> str:
    """The text with the edit. Raises NotWritten where the file does not list the table, or says it in a way that others share."""
    document, problems = read(text, "")
    root = document.root
    if problems or root is None:
        raise NotWritten("the file is no YAML that could be edited")
    entries = value_at(value_at(value_at(root, "sources"), edit.table.source), "tables")
    if not isinstance(entries, yaml.SequenceNode):
        raise NotWritten(f"the file lists no tables of {edit.table.source}")
    number, entry = entry_of(entries, edit.table)
    if shared(root) & {id(each) for each in walk(entry)}:
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


def _set(text: str, node: yaml.Node, keys: Sequence[str], value: str | Mapping[str, str]) -> str:
    if not isinstance(node, yaml.MappingNode):
        raise NotWritten(_UNKNOWN)
    key, *deeper = keys
    there = value_at(node, key)
    if there is None:
        for each in reversed(deeper):
            value = {each: value} if isinstance(value, str) else value
        return _added(text, node, f"{key}: {flow(value)}")
    if deeper:
        return _set(text, there, deeper, value)
    start, end = there.start_mark.index, end_of(there)
    if not isinstance(there, yaml.ScalarNode) or there.style in ("|", ">"):
        raise NotWritten(f"`{key}` is written over several lines")
    return text[:start] + flow(value) + text[end:]


def _added(text: str, node: yaml.MappingNode, line: str) -> str:
    """Behind the last value: on a line of its own, or in the same braces."""
    end = end_of(node.value[-1][1])
    if node.flow_style:
        return f"{text[:end]}, {line}{text[end:]}"
    indent = " " * node.value[0][0].start_mark.column
    if end and text[end - 1] == "\n":  # of a text over several lines
        return f"{text[:end]}{indent}{line}\n{text[end:]}"
    end = next((at for at in range(end, len(text)) if text[at] == "\n"), len(text))
    return f"{text[:end]}\n{indent}{line}{text[end:]}"


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
    first, *rest = (f"{key}: {flow(value)}" for key, value in terms.items())
    end = int(entry.end_mark.index)
    comment = next((at for at in range(end, len(text)) if text[at] == "\n"), len(text))
    written = f"{first}{text[end:comment]}" + "".join(f"\n{' ' * column}{each}" for each in rest)
    return text[: entry.start_mark.index] + written + text[comment:]
