"""What a row of a copy tells of the file that it comes from: columns that no file has itself. Pure."""

from __future__ import annotations

from incremental_assets.core.model.column import Column, Fidelity

FILE, ROW = "_file", "_file_row"
PLACE = (FILE, ROW)
"""By which a row is known in its folder."""
OF_FILE = (
    Column(FILE, "of the file", "string", Fidelity.EXACT, nullable=False, comment="The file that the row comes from"),
    Column(ROW, "of the file", "bigint", Fidelity.EXACT, nullable=False, comment="Its number there, from 1"),
)
NAMES = frozenset(PLACE)
_ORDERED = ("tinyint", "smallint", "int", "bigint", "decimal", "string", "date", "timestamp", "timestamp_ntz")


def is_ordered(spark_type: str) -> bool:
    """Whether of two values of this type the larger one is known: not where one of them may be no number."""
    return spark_type.partition("(")[0] in _ORDERED
