"""A column: what the catalogue says of it, and as what it lands."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from incremental_assets.core.model.mask import Mask
from incremental_assets.core.model.stamping import Stamping

WHOLE = ("tinyint", "smallint", "int", "bigint")
"""Spark's types for whole numbers of 64 bits at most."""


class Fidelity(StrEnum):
    """How faithfully a Spark type holds a source type."""

    EXACT = "exact"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Sequence:
    """What gives a column its numbers: `cache` of them at once to a session, `step` apart."""

    name: str
    step: int = 1
    cache: int = 1
    cycles: bool = False
    logged: bool = True
    """Whether it continues from its last value after a crash (PostgreSQL: not if it is UNLOGGED)."""
    always: bool = False
    """Whether the source refuses a number that a row brings itself (GENERATED ALWAYS AS IDENTITY)."""
    restarts: bool = True
    """Whether its numbers may begin again without another definition of the table."""
    last: int | None = field(default=None, compare=False)
    """The number that it had drawn last when the catalogue was read; None where it had drawn none, or the source does not show it to this user."""
    seen: bool = field(default=True, compare=False)
    """Whether this user may see how far it has come."""
    trigger: str = ""
    """A trigger that may give a row another number than the one that was drawn; empty where none does."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `source_type` is the catalogue's text, such as `numeric(15,2)`; `spark_type` is DDL, such as `decimal(15,2)`."""

    name: str
    source_type: str
    spark_type: str
    fidelity: Fidelity
    nullable: bool = True
    comment: str = ""
    identity: str = ""
    """What the source knows the column by, whatever it is called (PostgreSQL: numbers of table and column); empty where it has none."""
    sequence: Sequence | None = None
    """The one sequence from which its default, or its identity, draws: in the table and in every partition or child of it."""
    encoding: str = ""
    """The source's name of the encoding of its texts, where one of them may be no UTF-8; empty where none can."""
    stamps: Stamping | None = None
    """What of the source writes it, of a column that holds times: in the table and in every partition or child of it; None: this source does not say."""
    readings: tuple[str, ...] = ()
    """Other Spark types by which its values may be read where it is a cursor, as the source stores values of any kind in it (SQLite)."""
    collation: str = ""
    """How the source compares its values, in the words of its dialect, where it takes some for equal that a copy holds differently; empty where it takes none."""
    no_key: str = ""
    """Why nothing that a copy may hold shows which of its values the source takes for equal, so that it can be no part of a key; empty where something does."""
    shown_by: str = ""
    """What else than its row decides how a value of it shows, as the end of a sentence: no stamp moves when that changes. Empty where nothing does."""
    of: tuple[Column, ...] = ()
    """Of a collation key the columns that it is made of, see `collation_key.py`; none of any other."""
    of_log: bool = False
    """Whether it tells of a change, see `change_columns.py`, and the source has none that is called so."""


@dataclass(frozen=True, slots=True)
class MaskedColumn:
    """A column whose values never leave the task that reads them: as the source has it, and as it lands."""

    name: str
    mask: Mask
    read: Column
    lands: Column
