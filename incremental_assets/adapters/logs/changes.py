"""Changes of one table as Arrow: a row for each, with the columns of ours before those of the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incremental_assets.adapters.spark.own_names import RAW, REJECT_COLUMN, REJECT_REASON, own

CHANGE = own("change")
"""`insert`, `update`, `delete` or `truncate`, see `Change`."""
LSN = own("lsn")
"""Where the commit of the change's transaction begins: changes are ordered by it, then by the ordinal."""
ORDINAL = own("ordinal")
"""The place of the change in its transaction: it grows, and numbers are left out."""
XID = own("xid")
"""The transaction's number, the 32 bits of it that the log has."""
COMMITTED_AT = own("committed_at")
"""When the transaction was committed, by the source's clock."""
UNSENT = own("unsent")
"""A bit for each of the source's columns, the first one's the highest of the first byte: set where the log does not have the value, as the change left it as it was; NULL where all were sent."""

Offsets = npt.NDArray[np.int64]

OWN = pa.schema(
    [
        pa.field(CHANGE, pa.dictionary(pa.int8(), pa.string())),
        pa.field(LSN, pa.int64()),
        pa.field(ORDINAL, pa.int64()),
        pa.field(XID, pa.int64()),
        pa.field(COMMITTED_AT, pa.timestamp("us", "UTC")),
        pa.field(UNSENT, pa.binary()),
        pa.field(REJECT_COLUMN, pa.string()),
        pa.field(REJECT_REASON, pa.string()),
        pa.field(RAW, pa.string()),
    ]
)


class Change(StrEnum):
    """What happened to a row. The old key of a row whose key was changed is a `delete` of its own, just before the `update`."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    TRUNCATE = "truncate"


_NAMES = pa.array([each.value for each in Change])
CODES: Mapping[Change, int] = {each: place for place, each in enumerate(Change)}
"""The numbers by which the changes are stored."""


def change_column(codes: npt.NDArray[np.int8]) -> pa.Array:
    """The column `CHANGE` from its numbers."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), _NAMES)


def change_codes(rows: pa.Table) -> npt.NDArray[np.int8]:
    """The numbers of the column `CHANGE`, whichever dictionary a file has."""
    texts = rows.column(CHANGE).cast(pa.string())
    return np.array(pa.compute.index_in(texts, _NAMES)).astype(np.int8)


def unsent_column(unsent: Sequence[npt.NDArray[np.bool_]], rows: int) -> pa.Array:
    """The column `UNSENT`, from an array for each of the source's columns."""
    if not any(each.any() for each in unsent):
        return pa.nulls(rows, pa.binary())
    bits = np.packbits(np.stack(unsent, axis=1), axis=1)
    width = bits.shape[1]
    whole = pa.Array.from_buffers(
        pa.binary(),
        rows,
        [None, pa.py_buffer(np.arange(rows + 1, dtype=np.int32) * width), pa.py_buffer(np.ascontiguousarray(bits))],
    )
    return pa.compute.if_else(pa.array(bits.any(axis=1)), whole, None)


def unsent_places(rows: pa.Table, columns: int) -> npt.NDArray[np.bool_]:
    """Row by row and column by column, whether a value was not sent."""
    found = np.zeros((len(rows), columns), bool)
    marked = rows.column(UNSENT).combine_chunks()
    places = np.flatnonzero(np.array(marked.is_valid()))
    if len(places):
        texts = b"".join(marked.drop_null().to_pylist())
        bits = np.frombuffer(texts, np.uint8).reshape(len(places), -1)
        found[places] = np.unpackbits(bits, axis=1, count=columns).astype(bool)
    return found
