"""Schema changes: columns of the source against those of the target, and what each difference means under the table's policy. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from incremental_assets.core.errors import NameRefused, SchemaChanged
from incremental_assets.core.model.collation_key import NAME
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.readers import Readers, needs_mapping
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.type_widening import widens

OWN_PREFIX = "_sync_"
"""Columns that a sync adds to a target begin with it."""
HIDDEN = "_metadata"
"""The column where Spark keeps the file of each row, by which Delta finds the rows to be replaced."""

_DELTA_WORDS = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte", "real": "float"}

_WIDENS_FOR = "if all that read the copy know Delta's type widening (Spark 4 does, delta-rs and DuckDB do not)"


@dataclass(frozen=True, slots=True)
class Reached:
    """The highest value that had been read of a cursor, which is named as in `Terms`; both as text."""

    cursor: str
    value: str


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column of a Delta table; `type` in Delta's or in SQL's words. `since`: the sequence that added it later, None if it was there first."""

    name: str
    type: str
    since: int | None = None
    since_cursor: Reached | None = None
    """How far had been read before it was added."""


@dataclass(frozen=True, slots=True)
class Retyped:
    """A column whose type in the source is no longer the one that landed; both in SQL's words."""

    name: str
    was: str
    now: str

    @property
    def is_wider(self) -> bool:
        """Whether the column can take the new type in place."""
        return widens(delta_type(self.was), delta_type(self.now))


@dataclass(frozen=True, slots=True)
class Difference:
    """What the source has and the target lacks, what only the target has, and what changed its type."""

    added: tuple[Column, ...] = ()
    dropped: tuple[TargetColumn, ...] = ()
    retyped: tuple[Retyped, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.retyped)


def is_added(name: str) -> bool:
    """Whether a sync itself adds this column to a target; a collation key comes from the source."""
    return name.startswith(OWN_PREFIX) and name != NAME


def difference(columns: Sequence[Column], target: Sequence[TargetColumn]) -> Difference:
    """Names are compared as Delta does, without their case; our own columns take no part, but for one that the source computes."""
    here = {column.name.lower(): column for column in columns}
    there = {
        column.name.lower(): column
        for column in target
        if not column.name.startswith(OWN_PREFIX) or column.name in here
    }
    both = [(column, there[name]) for name, column in here.items() if name in there]
    return Difference(
        added=tuple(column for name, column in here.items() if name not in there),
        dropped=tuple(column for name, column in there.items() if name not in here),
        retyped=tuple(
            Retyped(now.name, sql_type(was.type), now.spark_type)
            for now, was in both
            if delta_type(now.spark_type) != delta_type(was.type)
        ),
    )


def check_columns(spec: TableSpec, found: Difference, *, overwrites: bool) -> None:
    """Raises SchemaChanged where the policy, or the type of rows that have landed, does not allow a difference."""
    if not found:
        return
    # What the configuration leaves out, the source has not dropped.
    kept = replace(found, dropped=tuple(each for each in found.dropped if each.name not in spec.shape.left_out))
    if kept and not spec.evolve:
        raise SchemaChanged(
            f"{spec.id}: the source's columns are no longer those that landed ({_described(kept)}) and `schema_changes: freeze` keeps them: "
            f"put the source back, or set `schema_changes: evolve` for this table"
        )
    if found.retyped and spec.discards:
        raise SchemaChanged(
            f"{spec.id}: columns changed their type ({_described(Difference(retyped=found.retyped))}), which `schema_changes: discard` does not follow: "
            f"put the type back, or set `schema_changes: evolve` and read everything again with {full_refresh(spec)}, or set `widen`, {_WIDENS_FOR}"
        )
    stuck = tuple(each for each in found.retyped if not (spec.widens and each.is_wider))
    if stuck and not overwrites:
        others = (
            ", or put the type back"
            if spec.widens or not all(each.is_wider for each in stuck)
            else f", put the type back, or set `schema_changes: widen` for this table, {_WIDENS_FOR}"
        )
        raise SchemaChanged(
            f"{spec.id}: columns changed their type ({_described(Difference(retyped=stuck))}), which rows that have landed cannot follow: "
            f"read everything again with {full_refresh(spec)}{others}"
        )


def check_comparable(spec: TableSpec, found: Difference) -> None:
    """Raises SchemaChanged where a column landed under a type whose values are none of the source's now: no two rows stand beside each other then."""
    others = tuple(each for each in found.retyped if not each.is_wider)
    if others:
        raise SchemaChanged(
            f"{spec.id}: columns changed their type ({_described(Difference(retyped=others))}), so that rows are not compared: "
            f"read everything again with {full_refresh(spec)}, or put the type back"
        )


def check_columns_kept(spec: TableSpec, landed: Mapping[str, str]) -> None:
    """Raises SchemaChanged where a name belongs to another column than the one that landed under it; `landed` maps names to identities.

    Two columns of one type that exchange their names look as they did, and rows that did not move would go on to show the one's values
    under the other's name. For a recreated table nothing can be concluded.
    """
    others = other_columns(spec, landed)
    if others:
        raise SchemaChanged(
            f"{spec.id}: in the source, {' and '.join(repr(name) for name in others)} now {'names' if len(others) == 1 else 'name'} "
            f"another column than the one that landed under that name, so that old and new values would be mixed: give the columns their names back, "
            f"or read everything again with {full_refresh(spec)}"
        )


def other_columns(spec: TableSpec, landed: Mapping[str, str]) -> list[str]:
    """Names that belong to another column of the same table than the one that landed under them."""
    return sorted(
        column.name
        for column in spec.columns
        if (was := landed.get(column.name))
        and column.identity not in ("", was)
        and _table_of(column.identity) == _table_of(was)
    )


def check_names(spec: TableSpec) -> None:
    """Raises NameRefused for names that a Delta table cannot hold side by side, before anything is written."""
    seen: dict[str, str] = {}
    for column in spec.source_columns:
        if column.name.lower().startswith(OWN_PREFIX):
            raise NameRefused(
                f"{spec.id}: the column {column.name!r} begins with `{OWN_PREFIX}`, which is kept for columns that a sync adds; rename it, or leave it out: `columns: {{exclude: [{column.name}]}}` at this table"
            )
        if column.name.lower() == HIDDEN and spec.traits.one_row_per_key:
            raise NameRefused(
                f"{spec.id}: the column {column.name!r} has the name under which Delta finds the rows that an upsert replaces; "
                f"rename it, leave it out by `columns: {{exclude: [{column.name}]}}`, or sync this table by `append` or `full_refresh`"
            )
        if needs_mapping(column.name) and spec.readers is Readers.ANY:
            raise NameRefused(
                f"{spec.id}: Delta holds a column with the name {column.name!r} only where readers know column mapping, which `copies: {{readers: any}}` rules out; rename it, "
                f"leave it out by `columns: {{exclude: [{column.name!r}]}}`, or remove `copies` at this table"
            )
        other = seen.setdefault(column.name.lower(), column.name)
        if other != column.name:
            raise NameRefused(
                f"{spec.id}: the columns {other!r} and {column.name!r} differ by case alone, which no Delta table can hold; rename one of them, or leave one out by `columns: {{exclude: […]}}` at this table"
            )


def delta_type(text: str) -> str:
    """One spelling of a type, whichever of the two languages wrote it: `bigint` and `long` are both `long`."""
    plain = text.lower().replace(" ", "")
    return _DELTA_WORDS.get(plain, plain)


def sql_type(text: str) -> str:
    """The same type in SQL's words: `long` and `bigint` are both `bigint`."""
    plain = delta_type(text)
    return next((word for word, known in _DELTA_WORDS.items() if known == plain and word != "real"), plain)


def _table_of(identity: str) -> str:
    return identity.rpartition(".")[0]


def _described(found: Difference) -> str:
    added = [f"{column.name} is new" for column in found.added]
    dropped = [f"{column.name} is gone" for column in found.dropped]
    retyped = [f"{column.name} was {column.was} and is {column.now}" for column in found.retyped]
    return ", ".join([*added, *dropped, *retyped])
