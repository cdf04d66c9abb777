"""Values in the binary format of their types as Arrow has them in a copy: bit for bit what a snapshot's COPY brings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incremental_assets.adapters.logs.changes import Offsets
from incremental_assets.adapters.logs.postgresql.decimals import decimals, is_special
from incremental_assets.adapters.logs.postgresql.octets import numbers, of_bytes, pieces
from incremental_assets.adapters.logs.postgresql.spool import Octets
from incremental_assets.adapters.logs.postgresql.tuples import Places
from incremental_assets.adapters.spark.arrow_types import required_type

Bools = npt.NDArray[np.bool_]
Found = tuple[pa.Array, Bools | None]
"""The values, without a NULL, and which of them no copy can hold; None: it can hold all."""

EPOCH_DAYS = 10_957
EPOCH_MICROS = 946_684_800_000_000
"""PostgreSQL counts from 2000-01-01."""
_MOST = 2**63 - 1
_MOST_DAYS = 2**31 - 1


def binary_values(data: Octets, places: Places, source_type: str, spark_type: str) -> Found:
    """The values of a column that has one in every row."""
    read = _BY_SPARK_TYPE.get(spark_type)
    if read is not None:
        return read(data, places)
    if spark_type.startswith("decimal"):
        precision, scale = (int(part) for part in re.findall(r"\d+", spark_type))
        return decimals(data, places, precision, scale), is_special(data, places)
    return _text(data, places, source_type), None


def _plain(wire: str) -> Callable[[Octets, Places], Found]:
    return lambda data, places: (pa.array(numbers(data, places.at, wire)), None)


def _floating(wire: str) -> Callable[[Octets, Places], Found]:
    def read(data: Octets, places: Places) -> Found:
        values = numbers(data, places.at, wire)
        # Every NaN is the same one, as it is of a text.
        values[np.isnan(values)] = np.nan
        return pa.array(values), None

    return read


def _boolean(data: Octets, places: Places) -> Found:
    return pa.array(data[places.at] != 0), None


def _binary(data: Octets, places: Places) -> Found:
    return pieces(data, places.at, places.lengths, pa.binary()), None


def _date(data: Octets, places: Places) -> Found:
    days = numbers(data, places.at, ">i4")
    bad = (days == _MOST_DAYS) | (days == -_MOST_DAYS - 1)
    return pa.array(np.where(bad, 0, days.astype(np.int64) + EPOCH_DAYS).astype(np.int32)).cast(pa.date32()), bad


def _moment(spark_type: str) -> Callable[[Octets, Places], Found]:
    def read(data: Octets, places: Places) -> Found:
        micros = numbers(data, places.at, ">i8")
        # The last one that there is would be the first that a copy cannot hold.
        bad = (micros >= _MOST - EPOCH_MICROS) | (micros == -_MOST - 1)
        return pa.array(np.where(bad, 0, micros) + np.where(bad, 0, EPOCH_MICROS)).cast(required_type(spark_type)), bad

    return read


_BY_SPARK_TYPE: Mapping[str, Callable[[Octets, Places], Found]] = {
    "smallint": _plain(">i2"),
    "int": _plain(">i4"),
    "bigint": _plain(">i8"),
    "float": _floating(">f4"),
    "double": _floating(">f8"),
    "boolean": _boolean,
    "binary": _binary,
    "date": _date,
    "timestamp": _moment("timestamp"),
    "timestamp_ntz": _moment("timestamp_ntz"),
}


def _text(data: Octets, places: Places, source_type: str) -> pa.Array:
    if source_type == "uuid":
        return _uuid(data, places.at)
    # Before the text of jsonb comes the version of its format.
    version = 1 if source_type == "jsonb" else 0
    return pieces(data, places.at + version, places.lengths - version, pa.string())


_HEXADECIMAL = np.frombuffer("".join(f"{each:02x}" for each in range(256)).encode(), np.uint8).reshape(256, 2)
_UUID_LENGTH = 36
_UUID_DIGITS = np.array([place for place in range(_UUID_LENGTH) if place not in (8, 13, 18, 23)])


def _uuid(data: Octets, at: Offsets) -> pa.Array:
    texts = np.full((len(at), _UUID_LENGTH), ord("-"), np.uint8)
    texts[:, _UUID_DIGITS] = _HEXADECIMAL[data[at[:, None] + np.arange(16)]].reshape(len(at), 32)
    return of_bytes(pa.string(), np.arange(len(at) + 1, dtype=np.int64) * _UUID_LENGTH, texts.reshape(-1))
