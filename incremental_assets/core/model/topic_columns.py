"""What a row of a topic's copy tells of the record that it comes from: columns that no record has itself. Pure."""

from __future__ import annotations

from incremental_assets.core.model.column import Column, Fidelity

OP, PARTITION, OFFSET, POSITION, RECORD_AT = "_op", "_topic_partition", "_topic_offset", "_log_position", "_record_at"
PLACE = (PARTITION, OFFSET)
"""By which a record is known in its topic."""


def _column(name: str, kind: str, comment: str, *, nullable: bool = False) -> Column:
    return Column(name, "of the record", kind, Fidelity.EXACT, nullable=nullable, comment=comment)


OF_RECORD = (
    _column(PARTITION, "int", "The partition of the record that the row comes from"),
    _column(OFFSET, "bigint", "Its offset there"),
)
OF_POSITION = _column(
    POSITION, "bigint", "Where the source's log has the change, by which changes of a row are ordered", nullable=True
)
OF_CHANGE = (
    _column(
        OP,
        "string",
        "What happened: r read, c created, u updated, d deleted, t truncated, m message, tombstone",
        nullable=True,
    ),
    _column(RECORD_AT, "timestamp", "When the record was written, as its producer or the broker says", nullable=True),
)
NAMES = frozenset(column.name for column in (*OF_RECORD, OF_POSITION, *OF_CHANGE))
