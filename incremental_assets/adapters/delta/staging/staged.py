"""What is counted of a batch while it is written, by Spark or by tasks."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.model.batch import KeyRange
from incremental_assets.core.model.column import WHOLE
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class Breaches:
    """Rows that break their contract, and how many of them break each of its rules, as far as that is known."""

    rows: int = 0
    rules: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Staged:
    """What was counted while a batch was written; see `Batch`."""

    rows: int
    digest: str
    lower: CursorValue | None
    rejected: int
    gone: int
    future: int
    keys: tuple[KeyRange, ...]
    held: int = 0
    """The rejected rows that a contract holds."""
    breaches: Breaches = Breaches()
    erased: int = 0
    """Rows of the source that were left out, as their keys were erased."""
    keeps_out: bool = False
    """Whether there is a list of such keys."""


def whole_keys(spec: TableSpec) -> list[str]:
    """Columns of an upsert's key that hold whole numbers, which a reader of Parquet compares with the statistics of a row group."""
    whole = {found.name for found in spec.columns if found.spark_type in WHOLE}
    return [name for name in spec.key if name in whole] if spec.traits.one_row_per_key else []
