"""One column of some rows, in whatever way its values came."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from incremental_assets.adapters.logs.postgresql.binary_values import Bools, Found, binary_values
from incremental_assets.adapters.logs.postgresql.octets import with_nulls
from incremental_assets.adapters.logs.postgresql.relation import Kind
from incremental_assets.adapters.logs.postgresql.spool import Octets
from incremental_assets.adapters.logs.postgresql.text_values import text_values
from incremental_assets.adapters.logs.postgresql.tuples import BINARY, Places
from incremental_assets.adapters.logs.postgresql.unconverted import converted
from incremental_assets.adapters.spark.arrow_types import required_type


class NotBinary(Exception):
    """A value came in the binary format of a type that is not read from it: the range has to be asked for as texts."""


def values_of(data: Octets, places: Places, kind: Kind) -> Found:
    """The values, NULL where none came or where no copy can hold one; and where that is. Raises NotBinary."""
    binary, sent = places.kinds == BINARY, places.sent
    if binary.any() and not kind.binary:
        raise NotBinary
    if sent.all() and len(sent):
        values, bad = _read(data, places, kind, is_binary=bool(binary.all()))
        return (values, None) if bad is None or not bad.any() else (with_nulls(values, ~bad), bad)
    rows = np.flatnonzero(sent)
    if not len(rows):
        return pa.nulls(len(sent), required_type(kind.spark_type)), None
    some, bad = values_of(data, places.take(rows), kind)
    # Where none came, any index that is NULL.
    index = np.cumsum(sent) - 1
    spread = some.take(pa.array(index, mask=~sent))
    if bad is None:
        return spread, None
    whole = np.zeros(len(sent), bool)
    whole[rows] = bad
    return spread, whole


def _read(data: Octets, places: Places, kind: Kind, *, is_binary: bool) -> tuple[pa.Array, Bools | None]:
    if is_binary:
        return _as_text(binary_values(data, places, kind.source_type, kind.spark_type), kind)
    if (places.kinds == BINARY).any():
        # A column's type has one format as long as it is the same: both mean that they are two.
        raise NotBinary
    return _as_text(text_values(data, places, kind.source_type, kind.spark_type), kind)


def _as_text(found: Found, kind: Kind) -> Found:
    return converted(found[0], kind.encoding) if kind.encoding else found
