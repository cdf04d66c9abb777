"""A source that is a folder of files, as the file writes it: its settings, and each mistake at its line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import jsonschema
import pytest
import yaml

from incremental_assets.core.config.files_settings import CsvForm, FileFormat, Files, FilesSettings
from incremental_assets.core.config.json_schema import schema
from incremental_assets.core.config.load import load
from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.errors import ConfigurationError
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.dropped_file import Changed
from incremental_assets.core.strategies import Strategy
from incremental_assets.resources.files import OpenFiles

FILE = """\
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  drop:
    dialect: files
    folder: ./incoming
    files:
      shop.orders: {path: "orders/*.csv", format: csv, columns: {id: bigint, at: timestamp}, key: [id], order: at}
      shop.lines:
        path: "**/lines-*.csv.gz"
        format: csv
        columns: {id: bigint, what: string}
        header: false
        delimiter: "\\t"
        quote: none
        settle: 5m
      shop.stock: {path: "stock/*.parquet", format: parquet, key: [sku], marker: .done, changed: again}
      shop.clicks: {path: "clicks/*.jsonl", format: json, columns: {who: string, at: timestamp as milliseconds}}
    tables:
      - {table: shop.orders, history: scd2}
      - {table: shop.lines}
      - {table: shop.stock}
      - {table: shop.clicks, strategy: append}
"""


def loaded(folder: Path, text: str = FILE) -> Configuration:
    (folder / "sources.yaml").write_text(text)
    return load(folder / "sources.yaml")


def opened(folder: Path, text: str) -> OpenFiles:
    read = loaded(folder, text)
    return OpenFiles(read.source("drop"), read.path, read.lake)


def test_its_settings_are_the_folder_and_the_files_of_each_table(tmp_path: Path) -> None:
    read = loaded(tmp_path)
    half = timedelta(seconds=30)
    assert read.source("drop").settings == FilesSettings(
        folder=str(tmp_path / "incoming"),
        files=(
            Files(
                "shop.orders",
                "orders/*.csv",
                FileFormat.CSV,
                (("id", Coding("bigint")), ("at", Coding("timestamp"))),
                ("id",),
                "at",
                settle=half,
            ),
            Files(
                "shop.lines",
                "**/lines-*.csv.gz",
                FileFormat.CSV,
                (("id", Coding("bigint")), ("what", Coding("string"))),
                csv=CsvForm(header=False, delimiter="\t", quote=""),
                settle=timedelta(minutes=5),
            ),
            Files(
                "shop.stock",
                "stock/*.parquet",
                FileFormat.PARQUET,
                key=("sku",),
                settle=timedelta(0),
                marker=".done",
                changed=Changed.AGAIN,
            ),
            Files(
                "shop.clicks",
                "clicks/*.jsonl",
                FileFormat.JSON,
                (("who", Coding("string")), ("at", Coding("timestamp", "milliseconds"))),
                settle=half,
            ),
        ),
    )
    assert [(each.name, each.strategy, each.capture) for each in read.source("drop").tables] == [
        ("orders", Strategy.UPSERT, "files"),
        ("lines", Strategy.UPSERT, "files"),
        ("stock", Strategy.UPSERT, "files"),
        ("clicks", Strategy.APPEND, "files"),
    ]


@pytest.mark.parametrize(
    ("written", "instead", "line", "cure"),
    [
        (
            "./incoming",
            "gs://bucket/in",
            6,
            "files are read from a folder of this machine or of a store that speaks S3",
        ),
        ("orders/*.csv", "../*.csv", 8, "write a pattern below `folder`, as in orders/*.csv"),
        ("key: [id], order", "key: [id], odrer", 8, "there is no such key here; did you mean `order`?"),
        ("orders/*.csv", "/in/*.csv", 8, "write a pattern below `folder`, as in orders/*.csv"),
        ("orders/*.csv", "**.csv", 8, "`**` stands for any folders and is written alone between slashes"),
        ("orders/*.csv", "orders/**", 8, "`**` stands for any folders and is written alone between slashes"),
        (
            "format: csv, columns: {id: bigint, at",
            "format: xml, columns: {id: bigint, at",
            8,
            "choose one of: parquet, ",
        ),
        ("at: timestamp}, key", "at: moment}, key", 8, "write a type like boolean"),
        (
            "at: timestamp}, key",
            "at: timestamp as milliseconds}, key",
            8,
            "CSV has numbers, days, moments and texts as",
        ),
        (
            "id: bigint, at: timestamp}, key",
            "id: bigint, at: timestamp, _file: string}, key",
            8,
            "a copy of files has a column of this name of its own",
        ),
        ("key: [id]", "key: [ids]", 8, "`columns` has no 'ids'; add it, or correct `key`"),
        ("order: at", "order: ats", 8, "`columns` has no 'ats'; add it, or correct `order`"),
        ("at: timestamp}, key", "at: double}, key", 8, "a double has no order that counts"),
        ("key: [id], order", "order", 8, "rows are ordered where one of a key is newer than another; write `key`"),
        ("columns: {id: bigint, what: string}\n", "marker: a/b\n", 12, "write the end of a name, as in .done"),
        ("        columns: {id: bigint, what: string}\n", "", 12, "without a header nothing names the columns"),
        ("quote: none", "quote: '\"\"'", 15, "write one character of ASCII that ends no line, or none"),
        ("quote: none", 'quote: "\\t"', 14, "one character cannot stand between values and around them"),
        ('delimiter: "\\t"', "delimiter: ¦", 14, "write one character of ASCII that ends no line, such as `;` or"),
        ('delimiter: "\\t"', 'delimiter: "\\n"', 14, "write one character of ASCII that ends no line, such as `;`"),
        ("key: [sku]", "header: true", 17, "`header` is for CSV, and these files are parquet; remove it"),
        ("key: [sku]", "columns: {sku: string}", 17, "Parquet says itself what columns it has; remove `columns`"),
        (
            ", columns: {who: string, at: timestamp as milliseconds}",
            "",
            18,
            "JSON does not say what types its columns have",
        ),
        ("history: scd2", "strategy: full_refresh", 20, "a table of files goes on from where it was read"),
        (
            "history: scd2",
            "cursor: {column: at, type: timestamp}",
            20,
            "`cursor` is for tables of a database, and this source is files",
        ),
    ],
)
def test_a_mistake_is_at_its_line_with_its_cure(
    tmp_path: Path, written: str, instead: str, line: int, cure: str
) -> None:
    assert written in FILE
    with pytest.raises(ConfigurationError) as found:
        loaded(tmp_path, FILE.replace(written, instead, 1))
    assert [(each.line, each.cure[: len(cure)]) for each in found.value.problems] == [(line, cure)]


@pytest.mark.parametrize(
    ("written", "instead", "line", "cure"),
    [
        ("      - {table: shop.stock}\n", "", 7, "no table is made of it; add `- {table: shop.stock}` to `tables`"),
        (
            "{table: shop.stock}",
            "{table: shop.stock, primary_key: [sku]}",
            22,
            "rows of files are known by the `key` below `files`",
        ),
        (
            "{table: shop.orders, history: scd2}",
            "{table: shop.orders, strategy: append}",
            20,
            "`strategy: append` lands each row of each file",
        ),
        ("key: [sku], marker: .done, changed: again}", "changed: again}", 22, "`changed: again` takes rows away"),
    ],
)
def test_files_and_tables_that_do_not_fit_together_are_told_when_they_are_opened(
    tmp_path: Path, written: str, instead: str, line: int, cure: str
) -> None:
    assert written in FILE
    text = FILE.replace(written, instead, 1)
    if line == 22 and "again}" in instead:
        text = text.replace("{table: shop.stock}", "{table: shop.stock, strategy: append}")
    with pytest.raises(ConfigurationError) as found:
        opened(tmp_path, text)
    assert [(each.line, each.cure[: len(cure)]) for each in found.value.problems] == [(line, cure)]


def test_an_editor_knows_its_keys() -> None:
    jsonschema.validate(yaml.safe_load(FILE), schema())
    for written, instead in (("format: parquet", "format: xml"), ("quote: none", "quotes: none")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(yaml.safe_load(FILE.replace(written, instead)), schema())
