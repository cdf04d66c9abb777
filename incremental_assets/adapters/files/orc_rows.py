"""Rows of ORC, whose files say what columns they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc

from incremental_assets.adapters.files.raw import Rows, Unfitted
from incremental_assets.adapters.files.typed_values import numbered_rows, sound

_ROWS = 64 * 1024


def schema_of(opened: Any) -> tuple[pa.Schema, orc.ORCFile]:
    """What a file says of its columns, and the file, whose end is read once. Raises Broken."""
    file = _file(opened)
    return file.schema, file


def rows_of_orc(file: orc.ORCFile, types: Mapping[str, str]) -> Iterator[Rows | Unfitted]:
    """The columns of these names and types. Raises Broken."""
    wanted = [name for name in file.schema.names if name in types]
    with sound():
        yield from numbered_rows(_batches(file, wanted), types)


def _batches(file: orc.ORCFile, wanted: list[str]) -> Iterator[pa.RecordBatch]:
    for place in range(file.nstripes):
        stripe = file.read_stripe(place, columns=wanted or None).select(wanted)
        for begin in range(0, stripe.num_rows, _ROWS):
            yield stripe.slice(begin, _ROWS)


def _file(opened: Any) -> orc.ORCFile:
    with sound():
        return orc.ORCFile(opened)
