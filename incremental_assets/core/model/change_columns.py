"""What a row of a copy that keeps every change tells of it: columns that come from the source's log, and from none of its tables. Pure."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from incremental_assets.core.errors import NameRefused
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.history import History
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.strategies import Strategy

OP, COMMIT_LSN, CHANGE_NUMBER, COMMIT_AT = "_op", "_commit_lsn", "_change_number", "_commit_at"
"""Changes are ordered by the second and third."""
_PLACES = (COMMIT_LSN, CHANGE_NUMBER, COMMIT_AT)
_LOG = "log"
"""The capture by it."""


class Op(StrEnum):
    """What happened to a row, in the letters that Debezium made common."""

    LOADED = "r"
    """It was there when the table was loaded."""
    CREATED = "c"
    UPDATED = "u"
    DELETED = "d"
    TRUNCATED = "t"
    """All rows before it are gone; it names none of them."""


_COLUMNS = tuple(
    Column(name, "change", kind, Fidelity.EXACT, nullable=False, comment=comment, of_log=True)
    for name, kind, comment in (
        (OP, "string", "What happened: r loaded, c created, u updated, d deleted, t truncated"),
        (COMMIT_LSN, "bigint", "Where in the source's log its transaction was committed"),
        (CHANGE_NUMBER, "bigint", "Its place among the changes of that transaction; numbers are left out"),
        (COMMIT_AT, "timestamp", "When that was committed, or of a row that was loaded, read"),
    )
)


def version_columns(history: History, capture: str) -> tuple[str, ...]:
    """What a version of a row carries beside what every row of the lake does: its place in the source's log, where several come at once and none tells when it was valid."""
    places = _PLACES if capture == _LOG and history is History.APPEND else ()
    return (*history.columns, *places)


def tells_places(spec: TableSpec) -> bool:
    """Whether the versions of its history say where in the source's log they are."""
    return COMMIT_LSN in version_columns(spec.history, spec.capture)


def keeps_changes(spec: TableSpec) -> bool:
    """Whether the copy has a row for every change that the log has."""
    return any(column.of_log for column in spec.columns)


def with_changes(spec: TableSpec) -> TableSpec:
    """The table with these columns behind its own. Raises NameRefused where it has one of their names itself."""
    taken = [name for name in spec.shape.names if name.lower() in {each.name for each in _COLUMNS}]
    if taken:
        raise NameRefused(
            f"{spec.id}: the column {taken[0]!r} has the name of one that `strategy: append` adds to a table which is read from the log; rename it, or leave it out: "
            f"`columns: {{exclude: [{taken[0]}]}}`"
        )
    return replace(spec, shape=replace(spec.shape, columns=(*spec.columns, *_COLUMNS)))


def as_it_is(spec: TableSpec) -> TableSpec:
    """What all changes come to: the source's rows, one for each key."""
    return replace(as_in_source(spec), strategy=Strategy.UPSERT) if keeps_changes(spec) else spec


def as_in_source(spec: TableSpec) -> TableSpec:
    """The table without them, as whoever asks the database for rows knows it."""
    if not keeps_changes(spec):
        return spec
    columns = tuple(column for column in spec.columns if not column.of_log)
    return replace(spec, shape=replace(spec.shape, columns=columns))
