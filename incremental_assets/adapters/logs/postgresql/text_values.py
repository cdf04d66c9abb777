"""Values that come as their types' texts, under the settings of a session of ours, as Arrow has them in a copy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.logs.postgresql.binary_values import Bools, Found
from incremental_assets.adapters.logs.postgresql.octets import of_bytes, pieces
from incremental_assets.adapters.logs.postgresql.spool import Octets
from incremental_assets.adapters.logs.postgresql.tuples import Places
from incremental_assets.adapters.spark.arrow_types import required_type

_USUAL_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_USUAL_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(\+00)?$"
"""Of the years 1 to 9999; the others are few."""
_MOMENT = re.compile(r"(\d+)-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:\+00)?)?( BC)?")
_DAY_MICROS, _SECOND_MICROS = 86_400_000_000, 1_000_000
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_EPOCH = date(1970, 1, 1).toordinal()
_MOST = 2**63 - 1
_NIBBLES = np.zeros(256, np.uint8)
_NIBBLES[list(b"0123456789abcdef")] = np.arange(16)


def text_values(data: Octets, places: Places, source_type: str, spark_type: str) -> Found:
    """The values of a column that has one in every row."""
    if spark_type == "binary":
        return _binary(data, places), None
    texts = pieces(data, places.at, places.lengths, pa.string())
    read = _BY_SPARK_TYPE.get(spark_type)
    if read is not None:
        return read(texts)
    if spark_type.startswith("decimal"):
        bad = _where(pc.equal(texts, "NaN"))
        return _without(texts, bad, "0").cast(required_type(spark_type)), bad
    if spark_type == "string":
        return (_masked(texts) if source_type == "inet" else texts), None
    return texts.cast(required_type(spark_type)), None


def _boolean(texts: pa.Array) -> Found:
    return pc.equal(texts, "t"), None


def _binary(data: Octets, places: Places) -> pa.Array:
    # Behind `\\x`, two digits for each byte.
    digits = _NIBBLES[
        np.frombuffer(pieces(data, places.at + 2, places.lengths - 2, pa.binary()).buffers()[2] or b"", np.uint8)
    ]
    offsets = np.zeros(len(places.at) + 1, np.int64)
    np.cumsum((places.lengths - 2) // 2, out=offsets[1:])
    return of_bytes(pa.binary(), offsets, (digits[0::2] << 4 | digits[1::2]).astype(np.uint8))


def _date(texts: pa.Array) -> Found:
    usual, bad = _where(pc.match_substring_regex(texts, _USUAL_DATE)), _infinite(texts)
    days = np.array(_without(texts, ~usual, "1970-01-01").cast(pa.date32()).cast(pa.int32()))
    for place in np.flatnonzero(~usual & ~bad):
        days[place] = _micros(texts[place].as_py()) // _DAY_MICROS
    return pa.array(days).cast(pa.date32()), bad


def _moment(spark_type: str) -> Callable[[pa.Array], Found]:
    def read(texts: pa.Array) -> Found:
        usual, bad = _where(pc.match_substring_regex(texts, _USUAL_MOMENT)), _infinite(texts)
        micros = np.array(_zoneless(texts, usual).cast(pa.timestamp("us")).cast(pa.int64()))
        for place in np.flatnonzero(~usual & ~bad):
            found = _micros(texts[place].as_py())
            bad[place] = found >= _MOST
            micros[place] = 0 if bad[place] else found
        return pa.array(micros).cast(required_type(spark_type)), bad

    return read


def _zoneless(texts: pa.Array, usual: Bools) -> pa.Array:
    # The zone of any session of ours is UTC.
    plain = _without(texts, ~usual, "1970-01-01 00:00:00")
    return pc.replace_substring_regex(plain, r"\+00$", "")


_BY_SPARK_TYPE: Mapping[str, Callable[[pa.Array], Found]] = {
    "boolean": _boolean,
    "date": _date,
    "timestamp": _moment("timestamp"),
    "timestamp_ntz": _moment("timestamp_ntz"),
}


def _masked(texts: pa.Array) -> pa.Array:
    """A snapshot shows the length of every address's mask."""
    whole = pc.if_else(
        pc.match_substring(texts, ":"),
        pc.binary_join_element_wise(texts, "/128", ""),
        pc.binary_join_element_wise(texts, "/32", ""),
    )
    return pc.if_else(pc.match_substring(texts, "/"), texts, whole)


def _infinite(texts: pa.Array) -> Bools:
    return _where(pc.is_in(texts, pa.array(["infinity", "-infinity"])))


def _micros(text: str) -> int:
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError("a moment in the log is not written as our sessions ask for it")
    year, month, day, *time = (int(part or 0) for part in found.groups()[:6])
    # Before the year 1 comes a year that is none; Python's calendar repeats after 400 years.
    year = 1 - year if found[8] else year
    cycles = (year - 1) // _CYCLE_YEARS
    days = date(year - cycles * _CYCLE_YEARS, month, day).toordinal() + cycles * _CYCLE_DAYS - _EPOCH
    hours, minutes, seconds = time
    fraction = int((found[7] or "").ljust(6, "0"))
    return days * _DAY_MICROS + ((hours * 60 + minutes) * 60 + seconds) * _SECOND_MICROS + fraction


def _where(condition: pa.Array) -> Bools:
    return np.array(condition, dtype=bool)


def _without(texts: pa.Array, bad: Bools, instead: str) -> pa.Array:
    return pc.if_else(pa.array(bad), instead, texts) if bad.any() else texts
