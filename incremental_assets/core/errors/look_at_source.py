"""Look at the source: its catalogue, its columns or its time zones do not allow what is configured."""

from __future__ import annotations

from datetime import datetime

from incremental_assets.core.errors.family import IncrementalAssetsError
from incremental_assets.core.words import agreeing, counted


class SourceRefused(IncrementalAssetsError):
    """The database answered a question with an error."""


class TableMissing(IncrementalAssetsError):
    """A configured table is not in the source's catalogue, or may not be read."""

    def __init__(self, table: object, hint: str = "") -> None:
        super().__init__(
            f"{table}: this user can see no such table; check the name and its grants, `doctor --sql` prints them{hint}"
        )


class ColumnMissing(IncrementalAssetsError):
    """A configured column is not in the table."""

    def __init__(self, table: object, role: str, column: str, existing: tuple[str, ...]) -> None:
        names = ", ".join(existing[:20]) + (", …" if len(existing) > 20 else "")
        super().__init__(f"{table}: the {role} column {column!r} does not exist; choose one of: {names}")


class CursorMistyped(IncrementalAssetsError):
    """The cursor's declared type does not fit the column's."""

    instead = ""
    """The one type that it can be declared as, where there is one."""

    def __init__(self, table: object, column: str, declared: str, found: str, fits: str) -> None:
        super().__init__(f"{table}: the cursor {column!r} is declared as {declared} but the column is {found}; {fits}")


class CursorIsNull(IncrementalAssetsError):
    """Rows without a cursor under the policy `nulls: fail`."""

    def __init__(self, table: object, column: str, count: int) -> None:
        super().__init__(
            f"{table}: {counted(count, 'row')} {agreeing(count, 'has', 'have')} no {column!r}, so no sync would ever see {agreeing(count, 'it', 'them')}; "
            "fill the column, or choose `nulls: always`, `nulls: skip` or a `fallback` column for this cursor"
        )


class NoPrimaryKey(IncrementalAssetsError):
    """An upsert without a key."""

    def __init__(self, table: object, own: tuple[str, ...] = (), nullable: tuple[str, ...] = ()) -> None:
        """`own`: the source's, which is none of all rows: parts of it may be NULL, or else other tables inherit from this one."""
        why = "the source declares none"
        if nullable:
            why = f"the source's own ({', '.join(own)}) may hold NULL in {' and '.join(nullable)}, which declares no NOT NULL"
        elif own:
            why = f"the source's own ({', '.join(own)}) does not hold for the rows of the tables that inherit from this one"
        super().__init__(
            f"{table}: `upsert` needs a primary key and {why}; name it with `primary_key: [...]` or use `append`"
        )


class NameRefused(IncrementalAssetsError):
    """A name that the lake cannot hold."""


class ZoneUnknown(IncrementalAssetsError):
    """Stamps without a zone, in a zone that only the database knows."""

    def __init__(self, table: object, column: str, zone: str, cure: str) -> None:
        super().__init__(
            f"{table}: the cursor {column!r} has no time zone and is read in the database's own, {zone!r}, which is not in the IANA time zone database; "
            f"name the zone in which it is stamped at this table: {cure}"
        )


class ZoneDisputed(IncrementalAssetsError):
    """The source and this machine know different rules of one time zone."""

    def __init__(self, table: object, column: str, zone: str, *, theirs: datetime, ours: datetime) -> None:
        super().__init__(
            f"{table}: the cursor {column!r} is read in {zone}, where one moment is {theirs:%Y-%m-%d %H:%M} for the source and {ours:%Y-%m-%d %H:%M} "
            "for this machine, so that a watermark would pass over rows: bring the time zone data of both up to date (here the package `tzdata`), "
            "or sync by a `timestamp` column"
        )
