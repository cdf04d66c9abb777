"""Keys and cursors of the rows that are held, by tasks. Each raises NotByTasks where only Spark has them, see `held_frames`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases.measure import NULL, SEPARATOR
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.readable import readable
from incremental_assets.adapters.delta.quarantine.known import Known
from incremental_assets.adapters.delta.quarantine.texts import as_texts, refused
from incremental_assets.adapters.delta.quarantine.unit import HeldUnit, KeyTexts
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.audit.measure_task import whole
from incremental_assets.adapters.delta.tasks.landing_unit import cursor_types
from incremental_assets.adapters.delta.tasks.matching.sharing import spread
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import CONTENT, HELD, RESOLVED_AT
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.table import TableSpec

_TASK = "incremental_assets.adapters.delta.quarantine.held_task"


def keys(tasks: Tasks, lake: str, spec: TableSpec) -> dict[str, list[KeyTexts]]:
    """The keys of the rows that are held as the quarantine has them, by their canonical texts."""
    kinds = {each.name: each.spark_type for each in spec.columns}
    parts = _held(tasks, lake, spec, spec.key)
    texts = [pc.fill_null(canonical(part, kinds[name]), NULL) for part, name in zip(parts, spec.key, strict=True)]
    found: dict[str, list[KeyTexts]] = {}
    told = zip(*(part.to_pylist() for part in parts), strict=True)
    for text, key in zip(pc.binary_join_element_wise(*texts, SEPARATOR).to_pylist(), told, strict=True):
        found.setdefault(text, []).append(key)
    return found


def cursors(tasks: Tasks, lake: str, spec: TableSpec) -> tuple[CursorValue, ...] | None:
    """The cursors of the rows that are held, each once; None where none is. One without a cursor has none."""
    cursor = spec.read_by
    if cursor is None:
        return () if len(_held(tasks, lake, spec, [CONTENT])[0]) else None
    names = cursor.columns
    kinds = {each.spark_type for each in spec.columns if each.name in names}
    if len(kinds) != 1 or not kinds <= {*cursor_types(cursor.type)}:
        raise NotByTasks("the cursor is no whole number here")
    (kind,) = kinds
    held = _held(tasks, lake, spec, names)
    if not len(held[0]):
        return None
    texts = pc.coalesce(*(as_texts(typed(each, kind), kind) for each in held)).unique().drop_null().to_pylist()
    zone = "Z" if cursor.type is CursorType.TIMESTAMP else ""
    return tuple(CursorValue.parse(cursor.type, text.replace(" ", "T") + zone) for text in texts)


def canonical(texts: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """See `measure.spark_row_text`, of the texts that a quarantine keeps."""
    if kind == "string":
        return pc.binary_join_element_wise(pc.utf8_length(texts).cast(pa.string()), texts, ":")
    if kind == "binary":
        return pc.utf8_lower(texts)
    values = whole(typed(texts, kind))
    return values.cast(pa.string()) if pa.types.is_integer(values.type) else as_texts(values, kind)


def typed(texts: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Values again from such texts, whose moments are those of UTC."""
    with readable("a row that is held"):
        if kind == "timestamp":
            return texts.cast(pa.timestamp("us")).cast(required_type(kind))
        return texts.cast(required_type(kind))


def _held(tasks: Tasks, lake: str, spec: TableSpec, names: Sequence[str]) -> list[pa.ChunkedArray]:
    """What they have in these columns, all of which are texts."""
    path = quarantine_path(lake, spec.id)
    if why := refused(each.spark_type for each in spec.columns if each.name in names):
        raise NotByTasks(why)
    seen = log_cache.latest(path)
    if seen is None:
        return [pa.chunked_array([], pa.string()) for _ in names]
    if why := eligible.refused_to_read(seen.state):
        raise NotByTasks(why)
    there, files = Known(seen.state), tuple(seen.state.files.values())
    marks = there.column(HELD, "boolean"), there.column(RESOLVED_AT, "timestamp")
    columns = tuple(there.columns(names, "string"))
    units = [HeldUnit(path, tuple(files[place] for place in places), columns, *marks) for places in spread(files)]
    found = tasks.run_all(_TASK, units) if units else []
    schema = pa.schema([(str(place), pa.string()) for place in range(len(names))])
    return list(pa.concat_tables([schema.empty_table(), *found]).columns)
