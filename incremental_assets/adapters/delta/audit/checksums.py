"""The lake's side of counts and hashes, in the format of `adapters/databases/measure.py`, and the row-by-row comparison with the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.dialect import Reader
from incremental_assets.adapters.databases.measure import readable_key, spark_key_text, spark_row_hash
from incremental_assets.adapters.delta.audit.placed import rows_within, sum_of_hashes, whole_sum
from incremental_assets.adapters.delta.held_frames import without_held
from incremental_assets.adapters.delta.live import live, marks_deletes, standing
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.spark.expressions import column, cursor_column, spark_value
from incremental_assets.adapters.spark.own_names import CURSOR, DELETED_AT, HASH, KEY, SEQ, TIMES, WRITTEN, own
from incremental_assets.core.model.as_copied import in_source
from incremental_assets.core.model.column import Column as SourceColumn
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Comparison, Duplicates, Measure, Outdated
from incremental_assets.core.model.table import NullPolicy, TableSpec
from incremental_assets.core.model.window import Window, disjoint, merge

_SAMPLES = 10
_SOURCE, _LAKE = own("source"), own("lake")
_MORE, _PLACE = own("more"), own("place")


@dataclass(frozen=True, slots=True)
class Held:
    """One table of the lake at the version that its log tells of."""

    session: SparkSession
    path: str
    log: TableLog
    spec: TableSpec
    quarantine: str = ""
    """Where rows lie that its contract holds; only a comparison with the source asks."""
    erased: Callable[[frozenset[str]], frozenset[str]] | None = None
    """What tells those of some keys that were erased, which the copy rightly lacks; None where none was."""

    def erased_among(self, keys: Callable[[], DataFrame]) -> frozenset[str]:
        """Those of some keys, a column of the source's rows, that must not come back. The keys are asked for only where a list keeps some out."""
        if self.erased is None:
            return frozenset()
        return self.erased(frozenset(row[0] for row in keys().distinct().collect()))


def measure(held: Held, windows: Sequence[Window]) -> tuple[Measure, ...]:
    """All windows in one scan of one version, unless they share rows."""
    if not windows:
        return ()
    if not disjoint(windows):
        return tuple(found for window in windows for found in measure(held, (window,)))
    spec = held.spec
    rows = rows_of(held, latest=True).where(in_any(spec, windows))
    hashed = rows.select(*_cursor(spec), sf.expr(spark_row_hash(spec.columns)).alias(HASH))
    found = {
        place: (rows, str(whole_sum(parts)))
        for place, rows, *parts in hashed.groupBy(_place(windows)).agg(sf.count("*"), *sum_of_hashes()).collect()
    }
    return tuple(Measure(window, *found.get(place, (0, "0"))) for place, window in enumerate(windows))


def count(held: Held, windows: Sequence[Window]) -> tuple[int, ...]:
    """Rows of each window, in one scan of the files that can hold them."""
    if not windows:
        return ()
    spec = held.spec
    rows = rows_of(held).where(in_any(spec, windows)).select(*_cursor(spec))
    found = rows.agg(*(sf.count_if(_inside(spec, window)) for window in windows)).first()
    if found is None:
        raise ValueError("an aggregate without a row")
    return tuple(int(number) for number in found)


def compare(
    held: Held,
    windows: Sequence[Window],
    reader: Reader,
    places: KeyParts | None = None,
) -> Comparison:
    """Multisets of (key, hash); every version that an append kept may answer for a row of the source."""
    spec = held.spec
    rows = rows_of(held).where(in_any(spec, windows))
    if places is not None:
        rows = rows_within(spec, rows, places)
    lake = rows.select(key_of(spec).alias(KEY), sf.expr(spark_row_hash(spec.columns)).alias(HASH), _written(spec))
    source = without_held(
        held.session, held.quarantine, spec, reader.row_hashes(held.session, in_source(spec), windows, places)
    )
    if WRITTEN not in source.columns:
        source = source.withColumn(WRITTEN, sf.col(KEY))
    counted = sf.count("*").alias(TIMES), sf.min(WRITTEN).alias(WRITTEN)
    here, there = (side.groupBy(KEY, HASH).agg(*counted) for side in (source, lake))
    both = here.alias(_SOURCE).join(there.alias(_LAKE), on=_same_row(), how="full_outer")
    more = sf.coalesce(column(TIMES, _SOURCE), sf.lit(0)) - sf.coalesce(column(TIMES, _LAKE), sf.lit(0))
    if out := held.erased_among(lambda: both.where(more > 0).select(column(KEY, _SOURCE))):
        both = both.where(~column(KEY, _SOURCE).isin(*out) | column(KEY, _SOURCE).isNull())
    written = sf.coalesce(column(WRITTEN, _SOURCE), column(WRITTEN, _LAKE)).alias(KEY)
    differing = both.select(written, more.alias(_MORE)).where(sf.col(_MORE) != 0)
    placed = differing.withColumn(_PLACE, sf.row_number().over(Over.partitionBy(sf.signum(_MORE)).orderBy(KEY)))
    found = placed.agg(*_sum_and_samples("missing", sf.col(_MORE)), *_sum_and_samples("extra", -sf.col(_MORE))).first()
    if found is None:
        raise ValueError("an aggregate without a row")
    keys = {side: _shown(spec, sorted(found[own(f"{side}_keys")])) for side in ("missing", "extra")}
    return Comparison(int(found[own("missing")]), int(found[own("extra")]), keys["missing"], keys["extra"])


def outdated(held: Held, windows: Sequence[Window], reader: Reader) -> Outdated:
    """Keys of the source's rows that cannot land, searched for in the whole target: there those rows have older cursors."""
    keys = reader.unholdable_keys(held.session, in_source(held.spec), windows)
    # The whole target is not read for nothing.
    if keys is None or keys.isEmpty():
        return Outdated(0)
    rows = rows_of(held).select(key_of(held.spec).alias(KEY), _written(held.spec)).join(keys, on=KEY, how="left_semi")
    found = rows.orderBy(WRITTEN).limit(_SAMPLES).collect()
    return Outdated(
        rows.count() if len(found) == _SAMPLES else len(found), _shown(held.spec, [each[WRITTEN] for each in found])
    )


def duplicates(session: SparkSession, path: str, spec: TableSpec) -> Duplicates:
    """Keys held more than once: one scan of the key's columns, and another for samples where there are any."""
    rows = session.read.format("delta").load(path)
    by_name = {found.name: found for found in spec.columns}
    written = sf.min(_written(spec)).alias(WRITTEN)
    by_key = rows.groupBy(*(_as_key(by_name[name]) for name in spec.key)).agg(sf.count("*").alias(TIMES), written)
    twice = by_key.where(sf.col(TIMES) > 1)
    found = twice.agg(sf.count("*").alias(own("keys")), sf.sum(sf.col(TIMES) - 1).alias(own("rows"))).first()
    if found is None or not found[own("keys")]:
        return Duplicates(0, 0)
    samples = twice.select(WRITTEN).orderBy(WRITTEN).limit(_SAMPLES).collect()
    return Duplicates(
        int(found[own("keys")]), int(found[own("rows")]), _shown(spec, [each[WRITTEN] for each in samples])
    )


def _as_key(found: SourceColumn) -> Column:
    """A column of a key so that two texts which the source takes for one key are one: 1.0 and 1.00 as numbers, texts whose case does not count."""
    value = column(found.name)
    if found.source_type == "numeric" and found.spark_type == "string":
        value = sf.when(value.contains("."), sf.rtrim(sf.rtrim(value, sf.lit("0")), sf.lit("."))).otherwise(value)
    elif found.source_type.endswith("citext"):
        value = sf.lower(value)
    return value.alias(found.name)


def _shown(spec: TableSpec, keys: Sequence[str]) -> tuple[str, ...]:
    columns = spec.key_columns
    return tuple(readable_key(columns, key) if columns else key for key in keys)


def _sum_and_samples(name: str, more: Column) -> list[Column]:
    """A sum, and no more keys than are shown, however many there are."""
    counts = more > 0
    total = sf.coalesce(sf.sum(sf.when(counts, more)), sf.lit(0)).alias(own(name))
    return [
        total,
        sf.collect_list(sf.when(counts & (sf.col(_PLACE) <= _SAMPLES), sf.col(KEY))).alias(own(f"{name}_keys")),
    ]


# --- the two sides ----------------------------------------------------------------------------------


def rows_of(held: Held, *, latest: bool = False) -> DataFrame:
    """The source's columns at the version that the log tells of; one that has not reached the target yet is NULL there.

    Without rows that are marked as gone. `latest`: of versions, the latest of each key.
    """
    spec, columns = held.spec, held.log.columns()
    table = held.session.read.format("delta").option("versionAsOf", str(held.log.version)).load(held.path)
    there = {found.name.lower() for found in columns}
    own = [sf.col(SEQ), *([sf.col(DELETED_AT)] if marks_deletes(columns) else [])]
    rows = table.select(
        *(
            (column(found.name) if found.name.lower() in there else sf.lit(None).cast(found.spark_type)).alias(
                found.name
            )
            for found in spec.columns
        ),
        *own,
    )
    return (standing(spec, rows, columns) if latest else live(rows, columns)).drop(DELETED_AT)


def _written(spec: TableSpec) -> Column:
    """The same of the key as it is written, for people."""
    text = sf.expr(spark_key_text(spec.key_columns)) if spec.key else key_of(spec)
    return text.alias(WRITTEN)


def key_of(spec: TableSpec) -> Column:
    """The canonical text of the key, as the source writes it; of a table without a key the row's hash, as text."""
    if not spec.key:
        return sf.expr(spark_row_hash(spec.columns)).cast("string")
    by_name = {found.name: found for found in spec.columns}
    return sf.expr(spark_key_text([by_name[name] for name in spec.key]))


# --- windows ------------------------------------------------------------------------------------------


def _cursor(spec: TableSpec) -> list[Column]:
    return [cursor_column(spec).alias(CURSOR)] if spec.read_by is not None else []


def _inside(spec: TableSpec, window: Window, cursor: Column | None = None) -> Column:
    """Whether a row lies in a window, as the source decides it. One without a cursor lies only in the window that is open on both sides, and not even there where the table skips such rows."""
    whole = sf.lit("true").cast("boolean")
    if spec.read_by is None:
        return whole
    found = cursor if cursor is not None else sf.col(CURSOR)
    if window.lower is None and window.upper is None:
        return found.isNotNull() if spec.read_by.nulls is NullPolicy.SKIP else whole
    lower, upper = _limit(window.lower), _limit(window.upper)
    tests = [found.isNotNull()]
    tests += [found >= lower] if lower is not None else []
    tests += [found < upper] if upper is not None else []
    return reduce(lambda left, right: left & right, tests)


def _place(windows: Sequence[Window]) -> Column:
    """The number of the window of a row that lies in one: a binary search among their lower ends."""

    def among(first: int, last: int) -> Column:
        middle = (first + last + 1) // 2
        lower = _limit(windows[middle].lower)
        if first == last or lower is None:
            return sf.lit(first)
        return sf.when(sf.col(CURSOR) >= lower, among(middle, last)).otherwise(among(first, middle - 1))

    return among(0, len(windows) - 1).alias(_PLACE)


def in_any(spec: TableSpec, windows: Sequence[Window]) -> Column:
    """Windows that touch are asked for as one: what Spark compiles for two dozen of them is too long for the JVM to compile in turn."""
    cursor = cursor_column(spec) if spec.read_by is not None else None
    if len(windows) == 1 or cursor is None:
        return _inside(spec, windows[0], cursor)
    tests = (_inside(spec, window, cursor) for window in merge(windows))
    return reduce(lambda left, right: left | right, tests, sf.lit("false").cast("boolean")) & cursor.isNotNull()


def _limit(end: CursorValue | None) -> Column | None:
    return None if end is None else spark_value(end)


def _same_row() -> Column:
    return column(KEY, _SOURCE).eqNullSafe(column(KEY, _LAKE)) & column(HASH, _SOURCE).eqNullSafe(column(HASH, _LAKE))
