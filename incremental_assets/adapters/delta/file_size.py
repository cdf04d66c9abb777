"""How large a file of a copy becomes."""

from __future__ import annotations

from incremental_assets.core.model.table import TableSpec

FILE_BYTES = 512 * 2**20
"""Of the source's, per file: less of it in Parquet. Small enough that an upsert of neighbours leaves most files alone, and that two tasks share a
table's files; large enough that one of spread keys writes few lines of log."""


def rows_per_file(spec: TableSpec) -> int | None:
    """How many rows a file should have; None where the source has no estimate of its rows or of their bytes."""
    rows, size = spec.shape.rows, spec.shape.bytes
    return max(1, rows * FILE_BYTES // size) if rows > 0 and size > 0 else None
