"""The table that is made of files: its columns as the configuration declares them, or as the files that came last name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from incremental_assets.adapters.files.typed_values import spark_type_of
from incremental_assets.core.config.files_settings import FileFormat, Files
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.file_columns import NAMES, OF_FILE, PLACE, is_ordered
from incremental_assets.core.model.schema_drift import delta_type
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.type_widening import widens
from incremental_assets.core.strategies import Strategy, traits_of


@dataclass(frozen=True, slots=True)
class Described:
    """Columns with their types; `why` where nothing tells them."""

    columns: Mapping[str, str]
    why: str = ""
    untyped: frozenset[str] = frozenset()
    """Columns that are there without a value, so that nobody knew their types."""


def declared(files: Files) -> Described | None:
    """As it is configured; None where the files are to tell."""
    return Described({name: coding.type for name, coding in files.columns}) if files.columns else None


def of_header(names: Sequence[str]) -> Described:
    """Of a CSV file all are texts."""
    return Described(dict.fromkeys(names, "string"))


def of_schema(path: str, schema: pa.Schema) -> Described:
    """Of a file that says its types."""
    columns: dict[str, str] = {}
    for field in schema:
        if field.name in columns:
            return Described(
                {}, f"the file {path!r} has two columns {field.name!r}; have it written with one name for each"
            )
        if pa.types.is_null(field.type):
            continue
        kind = spark_type_of(field.type)
        if kind is None:
            return Described(
                {},
                f"the file {path!r} has a column {field.name!r} of the type {field.type}, which no table here holds; have it written as another type",
            )
        columns[field.name] = kind
    return Described(columns, untyped=frozenset(field.name for field in schema if pa.types.is_null(field.type)))


def together(newest_first: Iterable[Described]) -> Described:
    """The columns of all, in the order of the newest, each of its wider type, or of the newest's where they are unlike."""
    columns: dict[str, str] = {}
    for each in newest_first:
        if each.why:
            return each
        for name, kind in each.columns.items():
            if is_wider(kind, columns.setdefault(name, kind)):
                columns[name] = kind
    return Described(columns)


def is_wider(kind: str, than: str) -> bool:
    """Whether a column of the one type holds each value of the other."""
    return widens(delta_type(than), delta_type(kind))


def shape_of(source: str, files: Files, strategy: Strategy, found: Described) -> TableShape:
    """With what tells of the file that a row comes from."""
    table = TableId(source, *files.schema_and_name)
    if found.why:
        return TableShape(table, (), undescribed=found.why)
    taken = sorted(name for name in found.columns if name.lower() in NAMES)
    if taken:
        why = f"the files have a column {taken[0]!r}, which is the name of one that a copy of files has of its own; have it renamed in the files"
        return TableShape(table, (), undescribed=why)
    missing = [name for name in (*files.key, *filter(None, (files.order,))) if name not in found.columns]
    if missing:
        why = f"the files have no column {missing[0]!r}, which `key` or `order` names; correct that, or have it written into the files"
        return TableShape(table, (), undescribed=why)
    if files.order and not is_ordered(found.columns[files.order]):
        why = f"`order` names {files.order!r}, a {found.columns[files.order]} in the files, which has no order that counts; choose a number, a text, a date or a moment"
        return TableShape(table, (), undescribed=why)
    key = PLACE if traits_of(strategy).keeps_versions or not files.key else files.key
    columns = tuple(
        Column(name, _source_type(files, name, kind), kind, Fidelity.EXACT, nullable=name not in key)
        for name, kind in found.columns.items()
    )
    return TableShape(table, (*columns, *OF_FILE), primary_key=key)


def _source_type(files: Files, name: str, kind: str) -> str:
    codings = dict(files.columns)
    return str(codings[name]) if files.format is FileFormat.JSON and name in codings else kind
