"""Tables that are added to the text of a configuration file: comments and order stay, and nothing else is meant than before. Pure."""

from __future__ import annotations

from typing import Any

import yaml

from incremental_assets.core.config.yaml_places import NotWritten, end_of, entry_of, shared, value_at
from incremental_assets.core.config.yaml_source import read
from incremental_assets.core.model.table_id import TableId


def names(text: str, table: TableId) -> bool:
    """Whether an entry of the file is this table's alone, also one that leaves it out."""
    entries = value_at(_source(text, table.source)[1], "tables")
    if not isinstance(entries, yaml.SequenceNode):
        return False
    try:
        entry_of(entries, table)
    except NotWritten:
        return False
    return True


def with_tables(text: str, source: str, entries: str) -> str:
    """The text with entries, written from the first column on, behind those of the source. Raises NotWritten where they would be others' too, or would mean something else."""
    data, node = _source(text, source)
    there = value_at(node, "tables")
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        raise NotWritten(f"the source {source} is not written over lines of its own")
    new = _without_tables(text, node, entries) if there is None else _behind(text, there, entries)
    data["sources"][source].setdefault("tables", [])
    data["sources"][source]["tables"] += read(entries, "")[0].data
    # Nothing is written that means more than was meant.
    if read(new, "")[0].data != data:
        raise NotWritten(f"`tables` of {source} is written in a way that is not known")
    return new


def _source(text: str, source: str) -> tuple[Any, yaml.Node]:
    document, problems = read(text, "")
    if problems or document.root is None:
        raise NotWritten("the file is no YAML that could be edited")
    node = value_at(value_at(document.root, "sources"), source)
    if node is None:
        raise NotWritten(f"the file has no source {source} of its own")
    if shared(document.root) & {id(node), id(value_at(node, "tables"))}:
        raise NotWritten(f"the source {source} uses an anchor, which others may share")
    return document.data, node


def _behind(text: str, tables: yaml.Node, entries: str) -> str:
    if not isinstance(tables, yaml.SequenceNode) or (tables.flow_style and tables.value):
        raise NotWritten("`tables` is written in brackets")
    if not tables.value:
        # `tables: []`: what stands behind the brackets stays in their line.
        start, end = tables.start_mark.index, tables.end_mark.index
        line = text.rfind("\n", 0, start) + 1
        indent = len(text[line:]) - len(text[line:].lstrip(" ")) + 2
        return _inserted(text[:start].rstrip(" ") + text[end:], len(text[:start].rstrip(" ")), entries, indent)
    return _inserted(text, end_of(tables.value[-1]), entries, tables.start_mark.column)


def _without_tables(text: str, source: yaml.MappingNode, entries: str) -> str:
    column = source.value[0][0].start_mark.column
    listed = "\n".join(["tables:", *(f"  {line}" for line in entries.splitlines())])
    return _inserted(text, end_of(source.value[-1][1]), listed, column)


def _inserted(text: str, end: int, lines: str, indent: int) -> str:
    """On lines of their own, behind the one in which something ends."""
    written = "".join(f"{' ' * indent}{line}\n" for line in lines.splitlines())
    if end and text[end - 1] == "\n":  # of a text over several lines
        return f"{text[:end]}{written}{text[end:]}"
    end = next((at for at in range(end, len(text)) if text[at] == "\n"), len(text))
    return f"{text[:end]}\n{written.rstrip()}{text[end:]}"
