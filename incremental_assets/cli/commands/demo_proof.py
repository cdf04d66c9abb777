"""The demo's proof: rows and hash of every table, computed independently by the source and by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import Cell, Grid
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.table import TableId, TableSpec
from incremental_assets.core.model.window import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from incremental_assets.core.planning.report import SyncReport
    from resources.runtime import Runtime

_WHOLE = Window(None, None)
ORDER_KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}
"""By table, the column that names the order: a cancelled one is gone from the source and not yet from the lake."""


@dataclass(frozen=True, slots=True)
class Proven:
    """One table, both sides. `left_out`: rows of cancelled orders, which the lake still has."""

    table: TableId
    source: Measure
    lake: Measure
    left_out: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether both count and hash the same."""
        return (self.source.rows, self.source.digest) == (self.lake.rows, self.lake.digest)


def prove(runtime: Runtime, source: str, specs: Sequence[TableSpec], cancelled: Sequence[int]) -> list[Proven]:
    """All columns of all rows of every table."""
    ports = runtime.ports(source)

    def one(spec: TableSpec) -> Proven:
        (there,) = ports.probe.measure(spec, (_WHOLE,))
        (here,) = ports.auditor.measure(spec, (_WHOLE,))()
        gone = _of_orders(runtime, spec, cancelled)
        return Proven(spec.id, there, _without(here, gone), gone.rows)

    # One side counts while the other one does.
    with ThreadPoolExecutor(runtime.configuration.source(source).parallel.tables) as pool:
        return list(pool.map(one, specs))


def document(proven: Proven) -> dict[str, Any]:
    """One table of the proof."""
    return {
        "source_rows": proven.source.rows,
        "source_hash": proven.source.digest,
        "lake_rows": proven.lake.rows,
        "lake_hash": proven.lake.digest,
        "deleted_rows_left_out": proven.left_out,
        "equal": proven.is_equal,
    }


def grid(proven: Sequence[Proven], source: str) -> Grid:
    """Both sides, side by side."""
    rows = tuple(
        (
            each.table.name,
            f"{each.source.rows:,}",
            f"{each.lake.rows:,}",
            short(each.source.digest),
            short(each.lake.digest),
            Cell("equal", "good") if each.is_equal else Cell("DIFFERS", "bad"),
        )
        for each in proven
    )
    columns = ("table", source, "Spark", "its hash", "its hash too", "")
    right = frozenset({source, "Spark"})
    return Grid(columns, rows, right, title="Rows and hash of all columns, counted by either side for itself")


def work(first: dict[TableId, SyncReport], second: dict[TableId, SyncReport]) -> Grid:
    """The work of either sync."""
    rows: list[tuple[Cell | str, ...]] = []
    for table, again in second.items():
        begun, late = first[table], again.rows.late
        numbers = (again.rows.read, again.rows.inserted, again.rows.updated)
        rows.append(
            (
                table.name,
                f"{begun.rows.read:,}",
                f"{begun.seconds:.1f}",
                *(f"{number:,}" for number in numbers),
                Cell(f"{late:,}", "warn" if late else ""),
                f"{again.seconds:.1f}",
                str(again.guarantee or ""),
            )
        )
    columns = ("table", "first sync", "s", "second", "inserted", "updated", "late", "s ", "guarantee")
    right = frozenset(columns) - {"table", "guarantee"}
    return Grid(
        columns, tuple(rows), right, spare=("guarantee",), title="Rows read by either sync, and what the second one did"
    )


def short(digest: str) -> str:
    """The sum's last 48 bits in hexadecimal: enough for people; the document has it whole."""
    return f"{int(digest) & (1 << 48) - 1:012x}"


def _without(whole: Measure, part: Measure) -> Measure:
    """Sums of hashes are subtracted as they were added."""
    return Measure(whole.window, whole.rows - part.rows, str(int(whole.digest) - int(part.digest)))


def _of_orders(runtime: Runtime, spec: TableSpec, orders: Sequence[int]) -> Measure:
    """The lake's own rows of some orders, hashed in the same words."""
    column = ORDER_KEYS.get(spec.id.name)
    if column is None or not orders:
        return Measure(_WHOLE, 0, "0")
    from pyspark.sql import functions as sf

    from incremental_assets.adapters.databases.measure import spark_row_hash

    session = runtime.spark.session()
    keys = session.createDataFrame([(key,) for key in orders], f"{column} bigint")
    copy: DataFrame = session.read.format("delta").load(table_path(runtime.configuration.lake, spec.id))
    hashed = copy.join(keys, on=column, how="left_semi").select(
        sf.expr(spark_row_hash(spec.columns)).cast("decimal(38,0)").alias("hash")
    )
    found = hashed.agg(
        sf.count("*").alias("rows"), sf.coalesce(sf.sum("hash"), sf.lit(0)).cast("string").alias("digest")
    ).first()
    return Measure(_WHOLE, 0, "0") if found is None else Measure(_WHOLE, int(found["rows"]), str(found["digest"]))
