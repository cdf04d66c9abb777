"""Changes as the rows of a copy that keeps each of them: with what happened, where in the log, and the values that the log did not send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.logs.batch import versions
from incremental_assets.adapters.logs.changes import (
    CODES,
    COMMITTED_AT,
    LSN,
    ORDINAL,
    Change,
    change_codes,
)
from incremental_assets.adapters.logs.completing import CopyRows, filled
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import LATE, RAW, READ_FLAGS, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_AT, COMMIT_LSN, OP, Op, as_in_source
from incremental_assets.core.model.table import TableSpec

Quarantined = Callable[[TableSpec, Sequence[str]], pa.Table]
"""Some columns of all rows in a copy's quarantine, as texts."""
Held = Callable[[TableSpec, int], pa.Table]
"""The keys of the rows that its contract has held by a sequence, as texts."""
_LETTERS = {
    Change.INSERT: Op.CREATED,
    Change.UPDATE: Op.UPDATED,
    Change.DELETE: Op.DELETED,
    Change.TRUNCATE: Op.TRUNCATED,
}
_PLAIN = ("tinyint", "smallint", "int", "bigint", "string")
"""Types whose values the source prints as they are printed here."""


@dataclass(frozen=True, slots=True)
class Landed:
    """What the copy, and its quarantine, have of a table."""

    copy: CopyRows
    quarantined: Quarantined
    held: Held

    def standing(self, seq: int, spec: TableSpec, names: Sequence[str], keys: pa.Table | None) -> pa.Table:
        """The copy's rows with these keys, unless a contract holds a version that came later with a sequence up to this one: the values of that are not here. Of no keys: all of the copy's."""
        if keys is None or spec.contract is None:
            return self.copy(spec, names, keys)
        kinds = {each.name: each.spark_type for each in spec.columns}
        plain = all(kinds[name] in _PLAIN for name in spec.key)
        held = set(_texts(self.held(spec, seq), spec.key, plain=plain))
        found = self.copy(spec, names, keys)
        return found.filter(pa.array([key not in held for key in _texts(found, spec.key, plain=plain)], pa.bool_()))


def every_change(spec: TableSpec, changes: pa.Table, landed: Landed) -> pa.Table:
    """The copy's columns and the flags of a read, a row for each change, in their order. Raises StageBroken."""
    source = as_in_source(spec)

    def last(_: TableSpec, names: Sequence[str], keys: pa.Table | None) -> pa.Table:
        return _last_versions(spec, names, keys, landed)

    rows = filled(source, versions(changes, spec.key), last)
    told = {
        OP: _letters(rows),
        COMMIT_LSN: rows.column(LSN),
        CHANGE_NUMBER: rows.column(ORDINAL),
        COMMIT_AT: rows.column(COMMITTED_AT),
    }
    values = [
        (told[each.name] if each.of_log else rows.column(each.name)).cast(required_type(each.spark_type))
        for each in spec.columns
    ]
    flags = {
        REJECT_COLUMN: rows.column(REJECT_COLUMN),
        REJECT_REASON: rows.column(REJECT_REASON),
        RAW: _described(rows.column(RAW), told),
        LATE: pa.repeat(pa.scalar(value=False), len(rows)),
    }
    names = [f"c{place}" for place in range(len(values))]
    return pa.table([*values, *(flags[name] for name in READ_FLAGS)], names=[*names, *READ_FLAGS])


def _letters(rows: pa.Table) -> pa.ChunkedArray:
    """A row that got another key is gone, and begins under the new one."""
    codes = change_codes(rows)
    letters = np.array([_LETTERS[change].value for change in sorted(CODES, key=CODES.__getitem__)], object)[codes]
    letters[np.flatnonzero(np.array(rows.column(ORDINAL)) % 2) + 1] = Op.CREATED.value
    return pa.chunked_array([pa.array(letters, pa.string())])


def _described(raws: pa.ChunkedArray, told: dict[str, pa.ChunkedArray]) -> pa.ChunkedArray:
    """Rows that cannot land, with what their quarantine is to tell of the change."""
    if raws.null_count == len(raws):
        return raws
    texts = raws.to_pylist()
    for row in np.flatnonzero(np.array(raws.is_valid())):
        more = {name: str(column[int(row)].as_py()) for name, column in told.items()}
        texts[row] = json.dumps({**json.loads(texts[row]), **more}, ensure_ascii=False)
    return pa.chunked_array([pa.array(texts, pa.string())])


def _last_versions(spec: TableSpec, names: Sequence[str], keys: pa.Table | None, landed: Landed) -> pa.Table:
    """Of each key the row that landed last, unless a later one of it could not: the values of that are not here."""
    more = [name for name in (OP, COMMIT_LSN, CHANGE_NUMBER) if name not in names]
    found = landed.copy(spec, [*names, *more], keys)
    order = _newest(found)
    order = order.append_column("place", pa.array(np.arange(len(order))))
    first = order.group_by(list(spec.key)).aggregate([("place", "min")]).column("place_min")
    last = order.drop_columns(["place"]).take(first)
    stays = pc.not_equal(last.column(OP), Op.DELETED.value)
    return last.filter(pc.and_(stays, pa.array(~_overtaken(spec, last, landed)))).select(list(names))


def _newest(rows: pa.Table) -> pa.Table:
    """The newest first."""
    return rows.sort_by([(COMMIT_LSN, "descending"), (CHANGE_NUMBER, "descending")])


def _overtaken(spec: TableSpec, last: pa.Table, landed: Landed) -> npt.NDArray[np.bool_]:
    kinds = {each.name: each.spark_type for each in spec.columns}
    held = landed.quarantined(spec, [*spec.key, COMMIT_LSN, CHANGE_NUMBER])
    held = held.filter(pc.and_(pc.is_valid(held.column(COMMIT_LSN)), pc.is_valid(held.column(CHANGE_NUMBER))))
    # Of a key whose text may be another one here, any row of the quarantine may be its own.
    plain = all(kinds[name] in _PLAIN for name in spec.key)
    latest: dict[tuple[str | None, ...], tuple[int, int]] = {}
    keys = _texts(held, spec.key, plain=plain)
    places = zip(held.column(COMMIT_LSN).to_pylist(), held.column(CHANGE_NUMBER).to_pylist(), strict=True)
    for key, (lsn, number) in zip(keys, places, strict=True):
        latest[key] = max(latest.get(key, (0, 0)), (int(lsn), int(number)))
    ours = _texts(last, spec.key, plain=plain)
    at = zip(last.column(COMMIT_LSN).to_pylist(), last.column(CHANGE_NUMBER).to_pylist(), strict=True)
    found = [latest.get(key, (0, 0)) > place for key, place in zip(ours, at, strict=True)]
    return np.array(found, bool)


def _texts(rows: pa.Table, key: Sequence[str], *, plain: bool) -> Iterable[tuple[str | None, ...]]:
    if not plain:
        return repeat((), len(rows))
    return zip(*(rows.column(name).cast(pa.string()).to_pylist() for name in key), strict=True)
