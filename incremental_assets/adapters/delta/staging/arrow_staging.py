"""Staging a batch by tasks that read it as Arrow: what each part is to count, and what the counts of all parts say together."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.encoding import encoding
from incremental_assets.adapters.delta.erased import Left
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.staging.counting import Counting, Mark, StagedPart
from incremental_assets.adapters.delta.staging.staged import Breaches, Staged, whole_keys
from incremental_assets.adapters.delta.staging.staging_task import Hashed, StageUnit, Trial, staged_schema
from incremental_assets.adapters.spark.arrow_types import unknown_type
from incremental_assets.adapters.spark.own_names import LATE, OPERATION
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.batch import KeyRange, Operation
from incremental_assets.core.model.contract import OnBreach
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.erased import ErasedKeys
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan

_TEXTS = ("boolean", "tinyint", "smallint", "int", "bigint", "string")
"""Types whose values are the same text in Spark and in Arrow."""
_TASK = "incremental_assets.adapters.delta.staging.staging_task"
_UNITS = {"date": CursorType.DATE, "timestamp": CursorType.TIMESTAMP, "timestamp_ntz": CursorType.DATETIME}
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - of moments without a zone; those with one are in UTC
_MICROSECOND = timedelta(microseconds=1)


def refused_to_stage(spec: TableSpec) -> str:
    """Why Spark alone stages these columns; empty where tasks know them. Pure."""
    types = {column.name: column.spark_type for column in spec.columns}
    if why := unknown_type(types.values()):
        return why
    if spec.deletes.drops_marked and spec.deletes.value is not None and types[spec.deletes.column] not in _TEXTS:
        return f"Spark alone writes the mark in {spec.deletes.column!r} as a text"
    kinds = {types[name] for name in _cursor_columns(spec)}
    return "Spark alone orders a cursor that travels as a text" if len(kinds) > 1 or "string" in kinds else ""


def write_parts(
    tasks: Tasks, plan: SyncPlan, parts: Sequence[ReadPart], path: str, erased: ErasedKeys | None = None
) -> Staged:
    """Write all parts to a folder of Parquet, which is there as a whole or not at all under the names that count."""
    spec, store = plan.spec, store_for(path)
    store.own_folder(path)
    types, counting = tuple(column.spark_type for column in spec.columns), counting_of(plan)
    contract, left = trial_of(spec), Left.of(spec, erased) if erased else None
    if contract is not None and len(parts) > 1 and contract.judge.unique:
        from incremental_assets.adapters.delta.staging.contracted import Joined

        parts = (Joined(tuple(parts)),)
    files = [f"{path}/part-{place:05d}-{uuid.uuid4().hex}.parquet" for place in range(len(parts))]
    units = [
        StageUnit(part, types, counting, store.unfinished(file), contract, left)
        for part, file in zip(parts, files, strict=True)
    ]
    counted: list[StagedPart] = tasks.run_all(_TASK, units)
    for file in files:
        store.finish(file)
    return replace(_together(spec, counted), keeps_out=left is not None)


def trial_of(spec: TableSpec) -> Trial | None:
    """What a table's contract asks of a task; None without one. Raises ConfigurationError, ContractBroken."""
    if spec.contract is None:
        return None
    # Only here: a table without a contract does not wait for pandas.
    from incremental_assets.adapters.contracts.packing import judge_of

    judge = judge_of(spec)
    return None if judge is None else Trial(judge, holds=spec.contract.on_breach is OnBreach.QUARANTINE)


def write_gone(spec: TableSpec, staged: Staged, keys: pa.Table, path: str) -> Staged:
    """Write rows for keys that are gone behind the rows of a batch, one for each, of which nothing else is known."""
    schema = staged_schema([column.spark_type for column in spec.columns])
    known = {
        f"c{place}": keys.column(column.name) for place, column in enumerate(spec.columns) if column.name in spec.key
    }
    known[LATE] = pa.chunked_array([pa.repeat(pa.scalar(value=False), keys.num_rows)])
    known[OPERATION] = pa.chunked_array([pa.repeat(Operation.GONE.value, keys.num_rows)])
    nothing = {field.name: pa.nulls(keys.num_rows, field.type) for field in schema}
    with store_for(path).passing(f"{path}/part-gone-{uuid.uuid4().hex}.parquet") as file:
        hashed = Hashed(file)
        pq.write_table(pa.table({**nothing, **known}).cast(schema), hashed, **encoding(schema))
    return replace(
        staged,
        rows=staged.rows + keys.num_rows,
        gone=staged.gone + keys.num_rows,
        digest=_together_digest([staged.digest, hashed.digest]),
    )


def counting_of(plan: SyncPlan) -> Counting:
    """What the parts of a plan's read count."""
    spec = plan.spec
    places = {column.name: place for place, column in enumerate(spec.columns)}
    return Counting(
        key=tuple((places[name], name) for name in spec.key_parts) if spec.traits.one_row_per_key else (),
        names=spec.shape.names,
        ends=tuple(places[name] for name in whole_keys(spec)),
        cursor=tuple(places[name] for name in _cursor_columns(spec)),
        future=_number(plan.reading.told_above) if spec.read_by is not None else None,
        mark=Mark(places[spec.deletes.column], spec.deletes.value) if spec.deletes.drops_marked else None,
    )


def _cursor_columns(spec: TableSpec) -> tuple[str, ...]:
    return spec.read_by.columns if spec.read_by else ()


def _number(value: CursorValue | None) -> int | None:
    """A moment as the tasks order it: days or microseconds; None where it is none that Python has."""
    if value is None or not value.is_finite or not value.type.is_time:
        return None
    try:
        moment = value.moment().replace(tzinfo=None)
    except ValueError:
        return None
    return (moment - _EPOCH).days if value.type is CursorType.DATE else (moment - _EPOCH) // _MICROSECOND


def _together(spec: TableSpec, counted: Sequence[StagedPart]) -> Staged:
    lowest = [each.lower for each in counted if each.lower is not None]
    has_nulls = any(each.nulls for each in counted)
    ranges = []
    for place, name in enumerate(whole_keys(spec)):
        ends = [found for each in counted if (found := each.ends[place]) is not None]
        if ends:
            ranges.append(KeyRange(name, min(low for low, _ in ends), max(high for _, high in ends)))
    return Staged(
        rows=sum(each.rows for each in counted),
        digest=_together_digest([each.digest for each in counted]),
        lower=None if has_nulls or not lowest else _value(spec, min(lowest)),
        rejected=sum(each.rejected for each in counted),
        gone=sum(each.gone for each in counted),
        future=sum(each.future for each in counted),
        keys=tuple(ranges),
        held=sum(each.held for each in counted),
        erased=sum(each.erased for each in counted),
        breaches=Breaches(
            sum(each.broken for each in counted),
            tuple(sum((each.rules for each in counted), Counter[str]()).most_common()),
        ),
    )


def _together_digest(digests: Sequence[str]) -> str:
    return hashlib.blake2b("".join(sorted(digests)).encode(), digest_size=16).hexdigest()


def _value(spec: TableSpec, number: int | Decimal) -> CursorValue | None:
    """The cursor value of a number in the tasks' unit: a day, a microsecond, or a number as it is. None, so that more is compared than need be, where Python has no such moment."""
    kind = spec.cursor_type
    if kind is None:
        return None
    if not kind.is_time:
        # Numbers may carry a fraction: as whole ones, below.
        return CursorValue.of(kind, int(Decimal(number).to_integral_value(ROUND_FLOOR)))
    days = {column.name: column.spark_type for column in spec.columns}[spec.cursor_columns[0]] == "date"
    try:
        moment: Any = _EPOCH + (timedelta(days=int(number)) if days else timedelta(microseconds=int(number)))
        return CursorValue.of(kind, moment.replace(tzinfo=UTC) if kind is CursorType.TIMESTAMP else moment)
    except (OverflowError, ValueError):
        return None
