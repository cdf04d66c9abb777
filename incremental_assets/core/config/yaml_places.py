"""Where things stand in the text of a configuration file, for those who write into it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

import yaml

from incremental_assets.core.config.shorthand import parse
from incremental_assets.core.model.identifiers import parse_table
from incremental_assets.core.model.table_id import TableId

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


class NotWritten(Exception):
    """Why an edit is left to a person."""


def entry_of(entries: yaml.SequenceNode, table: TableId) -> tuple[int, yaml.Node]:
    """The entry that is this table's alone, and its number. Raises NotWritten where there is none."""
    for number, entry in enumerate(entries.value):
        named = entry if isinstance(entry, yaml.ScalarNode) else value_at(entry, "table")
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


def value_at(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """What a key holds; None where there is none."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for each, value in pairs if isinstance(each, yaml.ScalarNode) and each.value == key), None)


def end_of(node: yaml.Node) -> int:
    """Where it ends: PyYAML has a block end where the next thing begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return end_of(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def flow(value: object) -> str:
    """A value in one line, as YAML reads it back."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    text = str(value)
    return text if _PLAIN.fullmatch(text) else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def walk(node: yaml.Node) -> Iterator[yaml.Node]:
    """A node and all below it."""
    yield node
    for each in node.value if isinstance(node, yaml.CollectionNode) else ():
        for child in each if isinstance(each, tuple) else (each,):
            yield from walk(child)


def shared(root: yaml.Node) -> frozenset[int]:
    """The nodes, by identity, that stand in several places, as an anchor does."""
    times = Counter(id(node) for node in walk(root))
    return frozenset(node for node, often in times.items() if often > 1)
