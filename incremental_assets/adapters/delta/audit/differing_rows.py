"""The values of rows that differ between a copy and its source, read from both sides by their keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.dialect import Reader
from incremental_assets.adapters.databases.measure import (
    placed_by_value,
    readable_values,
    spark_row_text,
    spark_text_hash,
)
from incremental_assets.adapters.delta.audit.checksums import Held, in_any, key_of, rows_of
from incremental_assets.adapters.delta.audit.placed import rows_within
from incremental_assets.adapters.delta.held_frames import without_held
from incremental_assets.adapters.spark.expressions import column
from incremental_assets.adapters.spark.own_names import HASH, KEY, ROW, TIMES, own
from incremental_assets.core.model.as_copied import in_source
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.row_difference import RowDifference
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import EVERYTHING, Window

_SOURCE, _COPY = own("source"), own("lake")
_MORE, _ROWS = own("more"), own("rows")
_Texts = tuple[str, list[str], list[str]]
"""A key, and the rows that it has in the source and in the copy, as canonical texts."""


def differing_rows(
    held: Held, windows: Sequence[Window], reader: Reader, places: KeyParts | None, most: int
) -> tuple[RowDifference, ...]:
    """The first `most` rows of the windows that differ, by key, or of those alone whose keys lie at some places.

    Of a copy that keeps versions any of them may answer for a row of the source, which stands beside the latest if none does.
    """
    spec = held.spec
    source = without_held(
        held.session, held.quarantine, spec, _hashed(reader.row_texts(held.session, in_source(spec), windows, places))
    )
    every = _differing(source, _rows(held, windows, places), keeps_versions=spec.traits.keeps_versions)
    out = held.erased_among(lambda: every.where(sf.col(_MORE) > 0).select(KEY))
    differing = every.where(~column(KEY).isin(*out) | column(KEY).isNull()) if out else every
    first = column(KEY).cast("bigint") if placed_by_value(spec) else column(KEY)
    # By whole keys: of a row that is cut off one could believe that only one side has it.
    by_key = differing.groupBy(KEY).agg(sf.sort_array(sf.collect_list(sf.struct(_MORE, ROW))).alias(_ROWS))
    texts = [_texts(key, rows, most) for key, rows in by_key.orderBy(first).limit(most).collect()]
    if spec.traits.keeps_versions:
        return _beside(spec, texts, _of_keys(_rows(held, windows, places, latest=True), texts))
    if spec.read_by is None or places is None or not spec.key:
        return tuple(_paired(spec, texts))
    gone = [each for each in texts if not each[1]]
    now = _of_keys(reader.row_texts(held.session, in_source(spec), (EVERYTHING,), places), gone) if gone else {}
    return tuple(
        _paired(spec, ((key, source_rows or now.get(key, []), copy_rows) for key, source_rows, copy_rows in texts), now)
    )


def _rows(held: Held, windows: Sequence[Window], places: KeyParts | None, *, latest: bool = False) -> DataFrame:
    spec = held.spec
    rows = rows_of(held, latest=latest).where(in_any(spec, windows))
    if places is not None:
        rows = rows_within(spec, rows, places)
    return rows.select(key_of(spec).alias(KEY), sf.expr(spark_row_text(spec.columns)).alias(ROW))


def _hashed(source: DataFrame) -> DataFrame:
    return source.withColumn(HASH, sf.expr(spark_text_hash(ROW)))


def _differing(source: DataFrame, copy: DataFrame, *, keeps_versions: bool) -> DataFrame:
    """KEY, ROW and how many more of it the source has, which is negative where the copy has more."""
    here, there = (side.groupBy(KEY, ROW).agg(sf.count("*").alias(TIMES)) for side in (source, copy))
    both = here.alias(_SOURCE).join(there.alias(_COPY), on=_same(KEY) & _same(ROW), how="full_outer")
    more = sf.coalesce(column(TIMES, _SOURCE), sf.lit(0)) - sf.coalesce(column(TIMES, _COPY), sf.lit(0))
    either = [sf.coalesce(column(name, _SOURCE), column(name, _COPY)).alias(name) for name in (KEY, ROW)]
    found = both.select(*either, more.alias(_MORE))
    return found.where(sf.col(_MORE) > 0 if keeps_versions else sf.col(_MORE) != 0)


def _same(name: str) -> Column:
    return column(name, _SOURCE).eqNullSafe(column(name, _COPY))


def _texts(key: str, rows: Iterable[tuple[int, str]], most: int) -> _Texts:
    """No row more often than can be shown: a key that is none may be that of millions of equal rows."""
    source, copy = ([text for more, text in rows for _ in range(min(sign * more, most))] for sign in (1, -1))
    return key, source, copy


def _of_keys(rows: DataFrame, texts: Sequence[_Texts]) -> dict[str, list[str]]:
    """The rows of those keys."""
    if not texts:
        return {}
    found: dict[str, list[str]] = {}
    for row in rows.where(column(KEY).isin([key for key, *_ in texts])).select(KEY, ROW).collect():
        found.setdefault(row[KEY], []).append(row[ROW])
    return found


def _beside(spec: TableSpec, texts: Sequence[_Texts], latest: dict[str, list[str]]) -> tuple[RowDifference, ...]:
    return tuple(_paired(spec, ((key, rows, latest.get(key, []) if spec.key else []) for key, rows, _ in texts)))


def _paired(
    spec: TableSpec, texts: Iterable[_Texts], newer: dict[str, list[str]] | None = None
) -> Iterable[RowDifference]:
    for key, source, copy in texts:
        for there, here in zip_longest(source, copy):
            yield RowDifference(
                None if there is None else readable_values(spec.columns, there),
                None if here is None else readable_values(spec.columns, here),
                is_newer=key in (newer or {}),
            )
