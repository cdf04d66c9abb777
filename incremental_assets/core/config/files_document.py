"""A source that is a folder of files, as written."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from incremental_assets.core.config.addresses import bucket_of, checked_key, checked_name
from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.files_settings import FileFormat
from incremental_assets.core.config.scalars import Column, Duration, Strict, TableName, Text
from incremental_assets.core.model.coding import Coding
from incremental_assets.core.model.dropped_file import Changed


def _checked_folder(text: str) -> str:
    if "://" in text and not bucket_of(text):
        raise ValueError(
            "files are read from a folder of this machine or of a store that speaks S3, as in s3://bucket/folder; mount another one, or have its files copied"
        )
    return checked_name(checked_key(text))


def _checked_pattern(text: str) -> str:
    segments = text.split("/")
    if text.startswith("/") or ".." in segments:
        raise ValueError("write a pattern below `folder`, as in orders/*.csv or **/*.parquet")
    if any("**" in each and each != "**" for each in segments) or segments[-1] in ("", "**"):
        raise ValueError("`**` stands for any folders and is written alone between slashes, as in orders/**/*.csv")
    return text


def _checked_coding(text: str) -> str:
    Coding.parse(text)
    return text


def _checked_marker(text: str) -> str:
    if not re.fullmatch(r"[\w.-]+", text):
        raise ValueError("write the end of a name, as in .done")
    return text


class FilesOfTableDocument(Strict):
    """Which files a table is made of, and what they hold."""

    path: Annotated[
        Text,
        AfterValidator(_checked_pattern),
        Field(
            description="A pattern below `folder`: `*`, `?` and `[…]` within a name, `**` for any folders.",
            examples=["orders/*.csv", "**/*.parquet"],
        ),
    ]
    format: Annotated[FileFormat, Field(description="JSON has one object in each line.")]
    columns: Annotated[
        dict[Column, Annotated[Text, AfterValidator(_checked_coding), Field(examples=["timestamp"])]],
        Field(
            description="The columns that are read and their types; those that the files name when absent, of a CSV file as texts."
        ),
    ] = Field(default_factory=dict)
    key: Annotated[
        tuple[Column, ...],
        Field(description="The columns of the key; each row is known by its file and number when absent."),
    ] = ()
    order: Annotated[
        Column | None,
        Field(
            description="The column whose larger value is the newer row of a key; the file's path and the row's number when absent."
        ),
    ] = None
    header: Annotated[bool | None, Field(description="Whether the first row of a CSV file names the columns.")] = None
    delimiter: Annotated[str | None, Field(min_length=1, max_length=1, description="Of a CSV file.")] = None
    quote: Annotated[
        str | Literal["none"] | None, Field(description="One character, or none: what is around values of a CSV file.")
    ] = None
    settle: Annotated[
        Duration | None, Field(description="How long a file stays as it is before it is read; 30s when absent.")
    ] = None
    marker: Annotated[
        Annotated[Text, AfterValidator(_checked_marker)] | None,
        Field(
            description="What the name of a second file ends with that says of the first one that it is complete.",
            examples=[".done"],
        ),
    ] = None
    changed: Annotated[Changed, Field(description="What happens when a file that has landed is another one since.")] = (
        Changed.FAIL
    )


class FilesDocument(SourceDocument):
    """One folder of files."""

    folder: Annotated[
        Text,
        AfterValidator(_checked_folder),
        Field(
            description="Where files are dropped: a folder, relative to this file, or s3://bucket/folder.",
            examples=["./incoming", "s3://bucket/incoming"],
        ),
    ]
    files: Annotated[
        dict[TableName, FilesOfTableDocument], Field(min_length=1, description="For each table its files.")
    ]
