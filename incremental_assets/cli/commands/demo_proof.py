"""The demo's proof: rows and hash of every table, computed independently by the source and by Spark, and its histories."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import Cell, Grid
from incremental_assets.core.model.file_columns import NAMES
from incremental_assets.core.model.history import History
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.demo.shop import Counting, Shop

if TYPE_CHECKING:
    from incremental_assets.core.planning.report import SyncReport
    from incremental_assets.core.ports import LakeHistorian, SourceRows
    from incremental_assets.resources.runtime import Runtime

_WHOLE = Window(None, None)


@dataclass(frozen=True, slots=True)
class Proven:
    """One table, both sides. `faulty`: keys of which its history tells something wrong, None where it keeps none."""

    table: TableId
    source: Measure
    lake: Measure
    faulty: int | None = None

    @property
    def is_equal(self) -> bool:
        """Whether both count and hash the same, and the history is of these rows."""
        return (self.source.rows, self.source.digest) == (self.lake.rows, self.lake.digest) and not self.faulty


def prove(
    runtime: Runtime, shop: Shop, source: str, specs: Sequence[TableSpec], *, histories: bool = True
) -> list[Proven]:
    """All columns of all rows of every table; with `histories` their versions as well, which Spark reads."""
    ports = runtime.ports(source)

    def one(spec: TableSpec) -> Proven:
        there = _counted_by(shop, spec) if isinstance(shop, Counting) else _asked(ports.source_rows(spec), spec)
        (here,) = ports.auditor.measure(_of_source(spec), (_WHOLE,))()
        return Proven(spec.id, there, here, _faulty(spec, ports.historian) if histories else None)

    # One side counts while the other one does.
    with ThreadPoolExecutor(runtime.configuration.source(source).parallel.tables) as pool:
        return list(pool.map(one, specs))


def _asked(source: SourceRows, spec: TableSpec) -> Measure:
    (found,) = source.measure(spec, (_WHOLE,))
    return found


def _counted_by(shop: Counting, spec: TableSpec) -> Measure:
    rows, digest = shop.counted(spec.id.name)
    return Measure(_WHOLE, rows, str(digest))


def _of_source(spec: TableSpec) -> TableSpec:
    """Without what a copy of files tells of them."""
    return replace(spec, shape=spec.shape.without(NAMES))


def document(proven: Proven) -> dict[str, Any]:
    """One table of the proof."""
    return {
        "source_rows": proven.source.rows,
        "source_hash": proven.source.digest,
        "lake_rows": proven.lake.rows,
        "lake_hash": proven.lake.digest,
        "faulty_keys_of_history": proven.faulty,
        "equal": proven.is_equal,
    }


def grid(proven: Sequence[Proven], source: str) -> Grid:
    """One line per table: rows and hash of the source and of Spark, and whether they are equal."""
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
        numbers = (again.rows.read, again.rows.inserted, again.rows.updated, again.rows.deleted)
        rows.append(
            (
                table.name,
                f"{begun.rows.read:,}",
                f"{begun.seconds:.1f}",
                *(f"{number:,}" for number in numbers),
                Cell(f"{late:,}", "warn" if late else ""),
                f"{again.seconds:.1f}",
                again.promise,
            )
        )
    columns = ("table", "first sync", "s", "second", "inserted", "updated", "deleted", "late", "s ", "guarantee")
    right = frozenset(columns) - {"table", "guarantee"}
    return Grid(
        columns, tuple(rows), right, spare=("guarantee",), title="Rows read by either sync, and what the second one did"
    )


def short(digest: str) -> str:
    """The sum's last 48 bits in hexadecimal: enough for people; the document has it whole."""
    return f"{int(digest) & (1 << 48) - 1:012x}"


def _faulty(spec: TableSpec, historian: LakeHistorian) -> int | None:
    """Keys whose current version is not the row of the copy, or whose versions do not follow each other; one that is not there is a fault."""
    if spec.history is History.NONE:
        return None
    found = (historian.differing_versions(spec), historian.overlapping_versions(spec))
    return sum(1 if each is None else each.keys for each in found)
