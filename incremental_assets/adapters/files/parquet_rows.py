"""Rows of Parquet, whose files say what columns they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.files.raw import Rows, Unfitted
from incremental_assets.adapters.files.typed_values import as_text, numbered_rows, sound

_ROWS = 64 * 1024
_EPOCH, _MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)  # noqa: DTZ001 - as Arrow gives moments of INT96


def schema_of(opened: Any) -> tuple[pa.Schema, tuple[Any, pq.ParquetFile]]:
    """What a file says of its columns, and the file as it was opened and as it is read, its end once. Raises Broken."""
    file = _file(opened)
    return file.schema_arrow, (opened, file)


def rows_of_parquet(read: tuple[Any, pq.ParquetFile], types: Mapping[str, str]) -> Iterator[Rows | Unfitted]:
    """The columns of these names and types. Raises Broken."""
    opened, file = read
    wanted = [name for name in file.schema_arrow.names if name in types]
    with sound():
        # A column of its own for each: a name of a nested field would ask for its parts.
        batches = file.iter_batches(_ROWS, columns=wanted or None, use_threads=False)
        exact = _with_nanoseconds(opened, _of_int96(file, wanted), (batch.select(wanted) for batch in batches))
        yield from numbered_rows(exact, types)


def _file(opened: Any, unit: str = "us") -> pq.ParquetFile:
    with sound():
        return pq.ParquetFile(opened, coerce_int96_timestamp_unit=unit, page_checksum_verification=True)


def _of_int96(file: pq.ParquetFile, wanted: list[str]) -> list[str]:
    """Of the columns, those that hold some, be it inside of what is nested."""
    leaves = [file.schema.column(place) for place in range(len(file.schema))]
    old = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
    return [name for name in wanted if any(f"{path}.".startswith(f"{name}.") for path in old)]


def _with_nanoseconds(opened: Any, names: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Moments of INT96 have nanoseconds, which Arrow cuts; read as such they end in the year 2262. So both are read, and where they differ the column becomes texts with all digits.

    What is nested is text anyway.
    """
    if not names:
        yield from batches
        return
    fine = _file(opened, "ns").iter_batches(_ROWS, columns=names, use_threads=False)
    for batch, counted in zip(batches, fine, strict=True):
        exact = batch
        for name in names:
            values = exactly(batch.column(name), counted.column(name))
            exact = exact.set_column(exact.schema.get_field_index(name), name, values)
        yield exact


def exactly(coarse: pa.Array, fine: pa.Array) -> pa.Array:
    """Moments as two readings have them, of which one has cut nanoseconds and the other goes round: texts with all digits where there are any."""
    if pa.types.is_nested(coarse.type):
        return _nested(coarse, fine) if coarse.cast(fine.type, safe=False) != fine else coarse
    # Beyond what 64 bits count both go round alike.
    rest = pc.subtract(fine.cast(pa.int64()), pc.multiply(coarse.cast(pa.int64()), 1_000))
    is_finer = pc.not_equal(rest, 0)
    if not pc.any(is_finer).as_py():
        return coarse
    text = coarse.cast(pa.string())
    full = pc.binary_join_element_wise(text, pc.utf8_lpad(rest.cast(pa.string()), 3, "0"), "")
    return pc.if_else(is_finer, full, text)


def _nested(coarse: pa.Array, fine: pa.Array) -> pa.Array:
    texts: list[bytes | None] = []
    for both in zip(coarse, fine, strict=True):
        try:
            texts.append(as_text(_together(*(each.as_py() for each in both))).encode() if both[0].is_valid else None)
        except (ValueError, OverflowError):
            # A day that Python does not have, or bytes that are no UTF-8: these are none either, and go where all of them go.
            texts.append(b"\xff")
    return pa.array(texts, pa.binary()).view(pa.string())


def _together(coarse: Any, fine: Any) -> Any:
    """The value with the digits that only one of the two has."""
    if isinstance(coarse, Mapping):
        return {name: _together(each, fine[name]) for name, each in coarse.items()}
    if isinstance(coarse, list | tuple):
        return [_together(*both) for both in zip(coarse, fine, strict=True)]
    if not isinstance(coarse, datetime):
        return coarse
    # Beyond what 64 bits count the fine one has gone round.
    nanoseconds = (fine.value - (coarse - _EPOCH) // _MICROSECOND * 1_000) % 2**64
    return f"{coarse.isoformat(' ', 'microseconds')}{nanoseconds:03d}" if nanoseconds else coarse
