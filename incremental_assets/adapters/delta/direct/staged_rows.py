"""The rows of a staged batch, in the types of its target."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.direct.query import asked, numbered
from incremental_assets.adapters.delta.direct.unit import ApplyUnit
from incremental_assets.adapters.delta.log.not_direct import readable
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, REJECT_REASON
from incremental_assets.core.model.batch import Operation

UNFIT = "unfit"


def landable(unit: ApplyUnit) -> pa.Table:
    """Rows to put, under the names on disk (`c0`, `c1`, …), with the flag of late ones."""
    names = [staged_name(place) for place in range(len(unit.columns))]
    rows = _read(unit, [*names, LATE], put=True)
    kinds = zip(names, (required_type(each.type) for each in unit.columns), strict=True)
    return rows.cast(pa.schema([*kinds, (LATE, pa.bool_())]))


def leaving(unit: ApplyUnit, key: Sequence[int], rows: pa.Table) -> pa.Table:
    """Keys that are gone, each once (`k0`, `k1`, …), and whether one is because its row cannot land; not those with which one of `rows` lands.

    A key that is not whole can be told apart from no other, and takes none along.
    """
    names = [staged_name(place) for place in key]
    schema = pa.schema(
        [(name, required_type(unit.columns[place].type)) for name, place in zip(names, key, strict=True)]
    )
    gone = _read(unit, [*names, REJECT_REASON], put=False)
    keys = gone.select(names).cast(schema)
    parts = [f"k{place}" for place in range(len(key))]
    listed, whole = ", ".join(parts), " AND ".join(f"{name} IS NOT NULL" for name in parts)
    same = " AND ".join(f"gone.{name} = put.{name}" for name in parts)
    found = asked(
        f"SELECT min(n) AS n, bool_or({UNFIT}) AS {UNFIT} FROM gone ANTI JOIN put ON {same} WHERE {whole} GROUP BY {listed} ORDER BY 1",  # noqa: S608 - our own names
        gone=numbered(keys.columns).append_column(UNFIT, pc.is_valid(gone[REJECT_REASON])),
        put=numbered([rows[name] for name in names]),
    )
    return (
        keys.rename_columns(parts)
        .take(pa.array(found["n"], pa.int64()))
        .append_column(UNFIT, pa.array(found[UNFIT], pa.bool_()))
    )


def staged_name(place: int) -> str:
    """A column's name on disk."""
    return f"c{place}"


def _read(unit: ApplyUnit, names: list[str], *, put: bool) -> pa.Table:
    with readable("the staged batch"):
        rows = pq.read_table(
            unit.staged,
            columns=[*names, OPERATION],
            partitioning=None,
            use_threads=False,
            coerce_int96_timestamp_unit="us",
        )
    wanted = pc.equal(rows[OPERATION], (Operation.PUT if put else Operation.GONE).value)
    rows = rows.select(names)
    # A filter copies, and most batches have nothing else.
    return rows if put and pc.all(wanted).as_py() else rows.filter(wanted)
