"""The kind of source that a folder of files is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from incremental_assets.core.config.addresses import resolved_place
from incremental_assets.core.config.files_document import FilesDocument, FilesOfTableDocument
from incremental_assets.core.config.files_settings import SETTLE, CsvForm, FileFormat, Files, FilesSettings
from incremental_assets.core.config.rules import Mistake
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.dropped_file import Changed
from incremental_assets.core.model.file_columns import NAMES, is_ordered

_OF_CSV = ("header", "delimiter", "quote")
_NAMES = {FileFormat.PARQUET: "Parquet", FileFormat.ORC: "ORC", FileFormat.AVRO: "Avro"}


class FilesKind:
    """Implements `SourceKind`."""

    capture = "files"
    document = FilesDocument

    def mistakes(self, document: FilesDocument, now: datetime) -> Iterator[Mistake]:  # noqa: ARG002 - it matters to others
        """Of each table's files."""
        for table, files in document.files.items():
            for path, cure in _mistakes(files):
                yield ("files", table, *path), cure

    def configured(self, document: FilesDocument, source: SourceConfig, folder: Path) -> SourceConfig:
        """With its folder and files."""
        files = tuple(_files(table, each) for table, each in document.files.items())
        return replace(source, settings=FilesSettings(folder=resolved_place(document.folder, folder), files=files))


def _files(table: str, document: FilesOfTableDocument) -> Files:
    quote = CsvForm().quote if document.quote is None else "" if document.quote == "none" else document.quote
    form = CsvForm(document.header is not False, document.delimiter or CsvForm().delimiter, quote)
    unsaid = timedelta(0) if document.marker else SETTLE
    return Files(
        table=table,
        path=document.path,
        format=document.format,
        columns=tuple((name, Coding.parse(text)) for name, text in document.columns.items()),
        key=document.key,
        order=document.order or "",
        csv=form,
        settle=unsaid if document.settle is None else document.settle,
        marker=document.marker or "",
        changed=document.changed,
    )


def _mistakes(files: FilesOfTableDocument) -> Iterator[Mistake]:
    if files.format is not FileFormat.CSV:
        for key in _OF_CSV:
            if getattr(files, key) is not None:
                yield (key,), f"`{key}` is for CSV, and these files are {files.format}; remove it"
    elif files.header is False and not files.columns:
        yield (
            ("header",),
            "without a header nothing names the columns; write them in their order: `columns: {id: bigint}`",
        )
    yield from _form_mistakes(files)
    if files.format is FileFormat.JSON and not files.columns:
        yield (
            ("columns",),
            "JSON does not say what types its columns have; write them: `columns: {id: bigint, at: timestamp}`",
        )
    yield from _column_mistakes(files)
    if files.order is not None and not files.key:
        yield ("order",), "rows are ordered where one of a key is newer than another; write `key`, or remove `order`"


def _form_mistakes(files: FilesOfTableDocument) -> Iterator[Mistake]:
    if files.delimiter is not None and not _is_sign(files.delimiter):
        yield ("delimiter",), "write one character of ASCII that ends no line, such as `;` or `\\t`"
    if files.quote is not None and files.quote != "none" and not _is_sign(files.quote):
        yield ("quote",), "write one character of ASCII that ends no line, or none"
    if (files.delimiter or CsvForm().delimiter) == (files.quote or CsvForm().quote):
        yield (
            ("quote" if files.delimiter is None else "delimiter",),
            "one character cannot stand between values and around them; write another one, or `quote: none`",
        )


def _is_sign(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\0\r\n"


def _column_mistakes(files: FilesOfTableDocument) -> Iterator[Mistake]:
    codings = {name: Coding.parse(text) for name, text in files.columns.items()}
    for name, coding in codings.items():
        if name.lower() in NAMES:
            yield (
                ("columns", name),
                "a copy of files has a column of this name of its own; have it renamed in the files",
            )
        elif files.format is FileFormat.CSV and (coding.form or coding.type == "binary"):
            yield (
                ("columns", name),
                "CSV has numbers, days, moments and texts as they are read by people; write the type alone, and `string` for anything else",
            )
        elif files.format.names_types:
            yield (
                ("columns", name),
                f"{_NAMES[files.format]} says itself what columns it has; remove `columns`, or leave some out by `columns: {{exclude: […]}}` at the table",
            )
    for key, names in (("key", files.key), ("order", () if files.order is None else (files.order,))):
        for name in names:
            if codings and name not in codings:
                yield (key,), f"`columns` has no {name!r}; add it, or correct `{key}`"
    ordered = codings.get(files.order or "")
    if ordered is not None and not is_ordered(ordered.type):
        yield ("order",), f"a {ordered.type} has no order that counts; choose a number, a text, a date or a moment"


def misfit(files: Files, *, keeps_all: bool) -> str:
    """What does not go with the strategy of the table, which keeps every row or one of each key; empty where all does."""
    if not keeps_all:
        return ""
    if files.key or files.order:
        return "`strategy: append` lands each row of each file, whatever its key; remove `key` and `order`, or the strategy"
    if files.changed is Changed.AGAIN:
        return "`changed: again` takes rows away, and `strategy: append` only adds some; remove the strategy: without `key` each row is known by its file and number"
    return ""


FILES = FilesKind()
