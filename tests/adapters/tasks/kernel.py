"""Rows of a table as Delta Kernel reads them, which shares no code with Spark's reader or with delta-rs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def kernel_rows(spark: SparkSession, path: str, getters: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The first columns of each live row; `getters`: how each is asked for, such as `getLong`."""
    jvm: Any = spark._jvm
    kernel, hadoop = jvm.io.delta.kernel, spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
    engine = kernel.defaults.engine.DefaultEngine.create(hadoop)
    scan = kernel.Table.forPath(engine, path).getLatestSnapshot(engine).getScanBuilder().build()
    state = scan.getScanState(engine)
    physical = kernel.internal.data.ScanStateRow.getPhysicalDataReadSchema(state)
    alone, found = kernel.internal.util.Utils.singletonCloseableIterator, []
    for files in _each(scan.getScanFiles(engine)):
        for file in _each(files.getRows()):
            status = kernel.internal.InternalScanFileUtils.getAddFileStatus(file)
            read = engine.getParquetHandler().readParquetFiles(alone(status), physical, jvm.java.util.Optional.empty())
            for part in _each(read):
                logical = kernel.Scan.transformPhysicalData(engine, state, file, alone(part.getData()))
                for batch in _each(logical):
                    found += [_values(row, getters) for row in _each(batch.getRows())]
    return sorted(found, key=str)


def _values(row: Any, getters: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(None if row.isNullAt(place) else getattr(row, name)(place) for place, name in enumerate(getters))


def _each(iterator: Any) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()
